//! `punctual replay`: a run decided anew from what was recorded of it, and whether it comes out the same.

use clap::Args;
use serde::Serialize;

use super::exit::Exit;
use super::output;
use super::place::{State, shown};
use super::runs::homeless;
use super::summary::count;
use super::terminal::{Style, Terminal, wrap};
use super::trace;
use crate::domain::id::RunId;
use crate::domain::time::Timestamp;
use crate::run::journal::{BYTES_MAX, EVENTS_MAX, Record};
use crate::run::replay::{Divergence, Replayed, replay};
use crate::store::RunStore;

/// This build.
const VERSION: &str = env!("CARGO_PKG_VERSION");
/// Most lines of a divergence that are shown.
const LINES_MAX: usize = 40;

const EXAMPLES: &str = "\
Examples:
  punctual replay                      the latest run
  punctual replay run_5f3a             a run by the beginning of its id; 5f3a does, too
  punctual replay last --json          for programs

Every run records what its decisions follow from: its plan, what was known of times at its start,
and each event with its time, such as the verdicts of checks and conditions; no prompt, no answer.
Told the same again, the same build decides the same. Where another build decides otherwise, the
first event at which it does is shown: what was decided then beside what is decided now. Nothing
is sent and nothing is spent.

Exit codes: 0 identical, 1 a divergence, 2 no such run, or a record that cannot be read.";

/// Decides a recorded run anew, and shows where it comes out otherwise
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Replay {
    /// A run's id, or the beginning of one; else the latest run
    #[arg(value_name = "RUN", default_value = "last", hide_default_value = true)]
    run: String,
    /// The finding, as JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    state: State,
}

/// The finding, for programs.
#[derive(Serialize)]
struct Finding<'a> {
    run_id: &'a str,
    workflow: &'a str,
    /// The version that decided.
    recorded_by: &'a str,
    /// The version that has decided anew.
    replayed_by: &'a str,
    events: usize,
    decisions: usize,
    /// Whether the record goes on to the run's end.
    whole: bool,
    identical: bool,
    divergence: Option<Otherwise<'a>>,
}

#[derive(Serialize)]
struct Otherwise<'a> {
    event: usize,
    at_us: u64,
    happened: &'a str,
    then: &'a [String],
    now: &'a [String],
}

impl Replay {
    /// Runs the command.
    pub fn run(self) -> Exit {
        let Some(store) = self.state.store() else { return homeless() };
        let record = match self.record(&store) {
            Ok(record) => record,
            Err(error) => return output::refuse(Exit::Usage, error),
        };
        let found = replay(&record);
        if self.json {
            output::json(&finding(&record, &found));
        } else {
            output::result(told(&record, &found, output::screen()).join("\n"));
        }
        if found.divergence.is_none() { Exit::Done } else { Exit::Failed }
    }

    /// What is recorded of the run.
    fn record(&self, store: &RunStore) -> Result<Record, String> {
        let journals = store.journals();
        // A run that was named whole is found even where its report is gone.
        let named = RunId::parse(&self.run).map(|id| id.to_string());
        let (id, line) = match named.and_then(|id| Some((journals.find(&id)?, id))) {
            Some((line, id)) => (id, line),
            None => self.find(store)?,
        };
        Record::read(&line, |name| journals.part(name))
            .map_err(|error| format!("{id} cannot be replayed: {error}"))
    }

    /// The run's id and line, by its report.
    fn find(&self, store: &RunStore) -> Result<(String, String), String> {
        let reports = store.latest(usize::MAX).reports;
        if reports.is_empty() {
            return Err(format!("no run is kept in {}", shown(&store.file())));
        }
        let report = trace::find(&reports, &self.run).map_err(|error| {
            format!(
                "{error}; a run leaves its record at its end, and none where its process was killed"
            )
        })?;
        let id = report.run_id.clone();
        match store.journals().find(&id) {
            Some(line) => Ok((id, line)),
            None => Err(format!(
                "{id} is kept without what decided it: there is nothing of it in {}. It was run by an earlier version, \
                 or its record could not be written, or has made room for later ones",
                shown(&store.journals().file())
            )),
        }
    }
}

fn finding<'a>(record: &'a Record, found: &'a Replayed) -> Finding<'a> {
    let otherwise = |divergence: &'a Divergence| Otherwise {
        event: divergence.event,
        at_us: divergence.at.micros(),
        happened: &divergence.happened,
        then: &divergence.then,
        now: &divergence.now,
    };
    Finding {
        run_id: &record.run,
        workflow: &record.workflow,
        recorded_by: &record.by,
        replayed_by: VERSION,
        events: found.events,
        decisions: found.decisions,
        whole: record.whole,
        identical: found.divergence.is_none(),
        divergence: found.divergence.as_ref().map(otherwise),
    }
}

/// The finding, for people.
fn told(record: &Record, found: &Replayed, terminal: Terminal) -> Vec<String> {
    let events = count(found.events, "event");
    let decisions = count(found.decisions, "decision");
    let mut lines = Vec::new();
    match &found.divergence {
        None => {
            let identical = terminal.paint(Style::Good, "identical");
            lines.push(format!("{}: {events}, {decisions}, {identical}", of(record)));
        }
        Some(divergence) => {
            let otherwise = terminal.paint(Style::Bad, "decided otherwise");
            let place = format!("event {} of {}", divergence.event, record.told.len());
            lines.push(format!("{}: {otherwise} at {place}", of(record)));
            lines.push(format!("{decisions} before it identical"));
            lines.push(String::new());
            let at = moment(divergence.at);
            lines.extend(wrap(&format!("{at}  {}", divergence.happened), terminal.width));
            lines.push(String::new());
            lines.extend(sides(record, divergence, terminal));
        }
    }
    if !record.whole {
        let most = format!(
            "the record ends here: of a run, {EVENTS_MAX} events and {} MiB are recorded at most, and of what came after \
             nothing is shown",
            BYTES_MAX >> 20
        );
        lines.extend(wrap(&most, terminal.width));
    }
    if record.by != VERSION && found.divergence.is_none() {
        lines.push(format!("decided by punctual {}, and anew by {VERSION}", record.by));
    }
    lines
}

fn of(record: &Record) -> String {
    format!("{} of {}", record.run, record.workflow)
}

/// To the microsecond: decisions follow from these times.
fn moment(at: Timestamp) -> String {
    let micros = at.micros();
    format!("{}.{:06} s", micros / 1_000_000, micros % 1_000_000)
}

/// What was decided then beside what is decided now. A row whose sides differ has `≠` between them.
fn sides(record: &Record, divergence: &Divergence, terminal: Terminal) -> Vec<String> {
    let width = terminal.width.saturating_sub(3) / 2;
    let heads = [format!("then (punctual {})", record.by), format!("now (punctual {VERSION})")];
    let mut lines =
        vec![terminal.paint(Style::Dim, row(&heads[0], ' ', &heads[1], width)).to_string()];
    let (then, now) = (&divergence.then, &divergence.now);
    for at in 0..then.len().max(now.len()) {
        let (left, right) = (then.get(at), now.get(at));
        let mark = if left == right { '│' } else { '≠' };
        let style = if left == right { Style::Plain } else { Style::Odd };
        let side = |side: Option<&String>| match side {
            Some(text) => wrap(text, width),
            None => vec!["(nothing)".to_owned()],
        };
        let (left, right) = (side(left), side(right));
        for at in 0..left.len().max(right.len()) {
            let part = |side: &[String]| side.get(at).cloned().unwrap_or_default();
            let line = row(&part(&left), if at == 0 { mark } else { '│' }, &part(&right), width);
            lines.push(terminal.paint(style, line).to_string());
        }
    }
    if then.is_empty() && now.is_empty() {
        lines.push("(nothing)".to_owned());
    }
    let more = lines.len().saturating_sub(LINES_MAX);
    if more > 0 {
        lines.truncate(LINES_MAX);
        lines.push(format!("… and {}; --json has them all", count(more, "line")));
    }
    lines
}

fn row(left: &str, mark: char, right: &str, width: usize) -> String {
    let pad = width.saturating_sub(left.chars().count());
    format!("{left}{:pad$} {mark} {right}", "").trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_has_its_sides_in_two_columns() {
        assert_eq!(row("ab", '≠', "cd", 5), "ab    ≠ cd");
        assert_eq!(row("ab", ' ', "", 5), "ab");
        assert_eq!(moment(Timestamp::from_micros(2_000_017)), "2.000017 s");
    }
}
