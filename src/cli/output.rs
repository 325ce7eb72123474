//! The only place that prints: results to standard output, everything else to standard error.
//!
//! A reader that goes away (`punctual list | head -1`) is not an error: what is printed after that is dropped.
//! Any other trouble with standard output is one: a result that got lost must not look like a success.

use std::fmt::{Display, Write as _};
use std::io::{self, IsTerminal, Write};
use std::sync::OnceLock;

use serde::Serialize;
use terminal_size::terminal_size_of;

use super::exit::Exit;
use super::side;
use super::terminal::{Terminal, tame};

/// Why a result could not be printed: the first time.
static LOST: OnceLock<String> = OnceLock::new();

/// Where results are shown.
#[must_use]
pub fn screen() -> Terminal {
    let out = io::stdout();
    let size = terminal_size_of(&out).map(|(width, height)| (width.0, height.0));
    Terminal::new(out.is_terminal(), size)
}

/// Where everything else is shown.
#[must_use]
pub fn side_screen() -> Terminal {
    let err = io::stderr();
    let size = terminal_size_of(&err).map(|(width, height)| (width.0, height.0));
    Terminal::new(err.is_terminal(), size)
}

/// Prints a result, and a line end. Controls in it are replaced.
pub fn result(text: impl Display) {
    print(&tame(&text.to_string(), screen().colour));
}

fn print(text: &str) {
    // What was noted before a result is shown before it.
    side::flush();
    let mut out = io::stdout().lock();
    if let Err(error) = writeln!(out, "{text}").and_then(|()| out.flush())
        && error.kind() != io::ErrorKind::BrokenPipe
    {
        let _ = LOST.set(error.to_string());
    }
}

/// JSON with the controls that it may hold raw, but that steer terminals, escaped: they stand in its strings alone.
fn escaped(json: &str) -> String {
    let mut out = String::with_capacity(json.len());
    for c in json.chars() {
        if c.is_control() && c != '\n' {
            let _ = write!(out, "\\u{:04x}", u32::from(c));
        } else {
            out.push(c);
        }
    }
    out
}

/// Prints a result as indented JSON.
pub fn json(value: &impl Serialize) {
    match serde_json::to_string_pretty(value) {
        Ok(text) => print(&escaped(&text)),
        Err(error) => {
            let _ = LOST.set(error.to_string());
        }
    }
}

/// The code to leave with once all is printed: `lost` where all went well but for a result that could not be
/// printed.
#[must_use]
pub fn settled(exit: Exit, lost: Exit) -> Exit {
    let Some(why) = LOST.get() else { return exit };
    note(format_args!("error: the result could not be written to standard output: {why}"));
    if exit == Exit::Done { lost } else { exit }
}

/// Prints a line that is no result: progress, a warning, advice.
pub fn note(text: impl Display) {
    let text = format!("{text}\n");
    side::write(tame(&text, side_screen().colour).as_bytes());
}

/// Prints why a command cannot go on, and returns the code to leave with.
pub fn refuse(exit: Exit, text: impl Display) -> Exit {
    note(format_args!("error: {text}"));
    exit
}

/// Writes to standard error without a line end: for lines that are redrawn.
pub fn redraw(text: &str) {
    side::write(text.as_bytes());
}
