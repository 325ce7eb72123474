//! `punctual explain P0207`: what a diagnostic code means, and how to mend it.

use super::exit::Exit;
use super::output;
use super::terminal::{Style, Terminal, wrap};
use crate::definition::reference::{Entry, code_of, find, near};

/// Longer lines of text are harder to read.
const WIDTH: usize = 100;
/// Most codes that are offered in place of one that does not exist.
const OFFERED: usize = 16;

/// Explains the code that `word` names. `None` where it names none: then it is a workflow.
pub fn explain(word: &str) -> Option<Exit> {
    let code = code_of(word)?;
    let Some(entry) = find(&code) else {
        return Some(output::refuse(Exit::Usage, unknown(&code)));
    };
    output::result(explained(entry, output::screen()).join("\n"));
    Some(Exit::Done)
}

fn unknown(code: &str) -> String {
    let near = near(code);
    let shown = near.iter().take(OFFERED).map(|e| format!("\n  {}  {}", e.code, e.title));
    let rest = near.len().saturating_sub(OFFERED);
    let more =
        if rest > 0 { format!("\n  and {rest} more: see docs/codes.md") } else { String::new() };
    format!("there is no code {code}; near it:{}{more}", shown.collect::<String>())
}

fn explained(entry: &Entry, terminal: Terminal) -> Vec<String> {
    let head = |text: &str| terminal.paint(Style::Bold, text).to_string();
    let mut text = vec![format!("{} · {}", head(entry.code), entry.title), String::new()];
    text.extend(wrap(entry.text, terminal.width.min(WIDTH)));
    for (title, right) in [("Wrong", false), ("Right", true)] {
        text.push(String::new());
        text.push(head(title));
        text.extend(
            entry.shown(right).lines().map(|line| format!("  {line}").trim_end().to_owned()),
        );
    }
    text
}
