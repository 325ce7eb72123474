//! The only place that prints: results to standard output, everything else to standard error.
//!
//! A reader that goes away (`punctual list | head -1`) is not an error: what is printed after that is dropped.

use std::fmt::Display;
use std::io::{self, IsTerminal, Write};

use serde::Serialize;
use terminal_size::terminal_size_of;

use super::exit::Exit;
use super::terminal::Terminal;

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

/// Prints a result, and a line end.
pub fn result(text: impl Display) {
    put(&mut io::stdout().lock(), &text);
}

/// Prints a result as indented JSON.
pub fn json(value: &impl Serialize) {
    let mut out = io::stdout().lock();
    if serde_json::to_writer_pretty(&mut out, value).is_ok() {
        put(&mut out, &"");
    }
}

/// Prints a line that is no result: progress, a warning, advice.
pub fn note(text: impl Display) {
    put(&mut io::stderr().lock(), &text);
}

/// Prints why a command cannot go on, and returns the code to leave with.
pub fn refuse(exit: Exit, text: impl Display) -> Exit {
    note(format_args!("error: {text}"));
    exit
}

/// Writes to standard error without a line end: for lines that are redrawn.
pub fn redraw(text: &str) {
    let mut err = io::stderr().lock();
    let _ = err.write_all(text.as_bytes());
    let _ = err.flush();
}

/// A pipe that nobody reads and a full disk end the same way: there is nobody left to tell.
fn put(to: &mut impl Write, text: &dyn Display) {
    let _ = writeln!(to, "{text}");
    let _ = to.flush();
}
