//! `punctual doctor`: what this machine has and what is missing, each with what to do about it.

use clap::Args;

use super::exit::Exit;
use super::house::House;
use super::output;
use super::place::{Place, Simulated, State};
use super::terminal::{Style, Terminal, wrap};

mod client;
mod definition;
mod machine;
mod provider;

const EXAMPLES: &str = "\
Examples:
  punctual doctor               the folder that is served
  punctual doctor --dir ./team  another folder

Keys are looked for, never shown and never sent. Exit codes: 0 nothing is broken, 1 something is.";

/// Looks over program, definitions, keys, providers, state and clients, with advice
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Doctor {
    #[command(flatten)]
    place: Place,
    #[command(flatten)]
    state: State,
}

/// One thing that was looked at.
struct Finding {
    verdict: Verdict,
    what: String,
    /// What to do about it.
    advice: Option<String>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Verdict {
    /// As it should be.
    Good,
    /// Works, and could be better.
    Note,
    /// Does not work.
    Broken,
}

impl Finding {
    fn good(what: impl Into<String>) -> Self {
        Self { verdict: Verdict::Good, what: what.into(), advice: None }
    }

    fn note(what: impl Into<String>, advice: impl Into<String>) -> Self {
        Self { verdict: Verdict::Note, what: what.into(), advice: Some(advice.into()) }
    }

    fn broken(what: impl Into<String>, advice: impl Into<String>) -> Self {
        Self { verdict: Verdict::Broken, what: what.into(), advice: Some(advice.into()) }
    }
}

impl Doctor {
    /// Runs the command.
    pub async fn run(self) -> Exit {
        if let Err(exit) = self.place.there() {
            return exit;
        }
        let terminal = output::screen();
        let house = House::open(&self.place, &Simulated::default()).await;
        let mut broken = false;
        let mut section = |title: &str, findings: Vec<Finding>| {
            output::result(terminal.paint(Style::Bold, title));
            for finding in findings {
                broken |= finding.verdict == Verdict::Broken;
                output::result(finding.shown(terminal));
            }
        };
        section("Program", machine::program());
        section("Definitions", definition::findings(&house, &self.place));
        section("Models", provider::models(&house));
        let mut providers = provider::findings(&house).await;
        providers.extend(provider::refused(&house, &self.state));
        section("Providers", providers);
        section("State", machine::state(&self.state));
        section("Clients", client::findings());
        if broken { Exit::Failed } else { Exit::Done }
    }
}

impl Finding {
    fn shown(&self, terminal: Terminal) -> String {
        let (mark, style) = match self.verdict {
            Verdict::Good => ("✓", Style::Good),
            Verdict::Note => ("·", Style::Dim),
            Verdict::Broken => ("✗", Style::Bad),
        };
        let mut lines = wrap(&self.what, terminal.width - 4).into_iter();
        let first = lines.next().unwrap_or_default();
        let mut text = format!("  {} {first}", terminal.paint(style, mark));
        for line in lines {
            text.push_str("\n    ");
            text.push_str(&line);
        }
        for line in self.advice.iter().flat_map(|advice| wrap(advice, terminal.width - 6)) {
            text.push_str("\n      ");
            text.push_str(&line);
        }
        text
    }
}
