//! What was out of the ordinary in a run, in words, read from its report alone: cuts, swaps, repairs,
//! revisions, and who won.

use super::summary::few;
use super::terminal::{Style, Terminal, clip, wrap};
use super::timeline::label;
use super::trace::seconds;
use crate::trace::report::{AttemptReport, RunReport, StepReport};

/// One thing that happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Happening {
    /// When, in milliseconds since the run's start.
    pub at_ms: u64,
    /// Of which kind.
    pub kind: Kind,
    /// What, in words.
    pub text: String,
}

/// Kinds of what happens, in the order in which they follow from each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// A step stopped relying on an attempt.
    Cut,
    /// An attempt on another path.
    Swap,
    /// A second turn after an invalid answer.
    Repair,
    /// A validator sent a step back.
    Revision,
    /// One of several attempts was accepted.
    Won,
}

impl Kind {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Cut => "cut",
            Self::Swap => "swap",
            Self::Repair => "repair",
            Self::Revision => "revision",
            Self::Won => "won",
        }
    }

    const fn style(self) -> Style {
        match self {
            Self::Cut | Self::Repair | Self::Revision => Style::Odd,
            Self::Swap => Style::Bold,
            Self::Won => Style::Good,
        }
    }
}

/// Everything out of the ordinary, in order of time.
#[must_use]
pub fn happenings(report: &RunReport) -> Vec<Happening> {
    let mut all = Vec::new();
    for decision in report.decisions.iter().filter(|decision| decision.action == "cut") {
        let step = decision.step.as_deref().unwrap_or_default();
        let item = decision.item.map(|item| format!("[{item}]")).unwrap_or_default();
        let text = format!("{step}{item}: {}; no longer relied on", decision.reason);
        all.push(Happening { at_ms: decision.at_ms, kind: Kind::Cut, text });
    }
    for step in &report.steps {
        for (at, attempt) in step.attempts.iter().enumerate() {
            all.extend(launched(step, at, attempt));
            all.extend(won(step, attempt));
        }
    }
    all.sort_by_key(|happening| (happening.at_ms, happening.kind));
    all
}

/// Why an attempt that is not its step's first was launched.
fn launched(step: &StepReport, at: usize, attempt: &AttemptReport) -> Option<Happening> {
    let name = label(step);
    let path = &attempt.path;
    let before = step.attempts.get(..at)?.last()?;
    let launched = attempt.started_ms.saturating_sub(attempt.queued_ms);
    let still = before.ended_ms.is_none_or(|ended| ended > launched);
    let class = before.failure.as_ref().map_or("no valid answer", |failure| failure.class.as_str());
    let (kind, text) = match attempt.cause.as_str() {
        "repair" => {
            let what = before.failure.as_ref().map_or("", |failure| failure.message.as_str());
            let what = clip(&few(what), 200);
            let text =
                format!("{name}: invalid answer ({class}: {what}); {path} is told what was wrong");
            (Kind::Repair, text)
        }
        "revision" => {
            (Kind::Revision, format!("{name}: sent back by its validator, again on {path}"))
        }
        _ if still => {
            let text = format!("{name}: {path} now races {}, which may still win", before.path);
            (Kind::Swap, text)
        }
        "stronger" => {
            (Kind::Swap, format!("{name}: {class} on {}; now on the stronger {path}", before.path))
        }
        _ => (Kind::Swap, format!("{name}: {class} on {}; now on {path}", before.path)),
    };
    Some(Happening { at_ms: launched, kind, text })
}

fn won(step: &StepReport, attempt: &AttemptReport) -> Option<Happening> {
    if attempt.end != "accepted" || step.attempts.len() < 2 {
        return None;
    }
    let raced = step.attempts.iter().filter(|other| other.end == "superseded");
    let beaten: Vec<&str> = raced.map(|other| other.path.as_str()).collect();
    let against = if beaten.is_empty() {
        "a valid answer".to_owned()
    } else {
        format!("the first valid answer; {} is cancelled", beaten.join(" and "))
    };
    let text = format!("{}: {} gives {against}", label(step), attempt.path);
    Some(Happening { at_ms: attempt.ended_ms?, kind: Kind::Won, text })
}

/// The happenings as lines.
#[must_use]
pub fn lines(happenings: &[Happening], terminal: Terminal) -> Vec<String> {
    const BEFORE: usize = 21;
    let mut lines = Vec::new();
    for happening in happenings {
        let word = terminal.paint(happening.kind.style(), format!("{:8}", happening.kind.as_str()));
        let mut text = wrap(&happening.text, terminal.width.saturating_sub(BEFORE)).into_iter();
        let first = text.next().unwrap_or_default();
        lines.push(format!("{:>9}  {word}  {first}", seconds(happening.at_ms)));
        lines.extend(text.map(|more| format!("{:BEFORE$}{more}", "")));
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::report::{DecisionReport, FailureReport};

    fn attempt(path: &str, cause: &str, times: (u64, u64), end: &str) -> AttemptReport {
        AttemptReport {
            path: path.to_owned(),
            cause: cause.to_owned(),
            started_ms: times.0,
            ended_ms: Some(times.1),
            end: end.to_owned(),
            ..AttemptReport::default()
        }
    }

    #[test]
    fn a_cut_a_swap_and_a_repair_are_told_in_order() {
        let mut invalid = attempt("a/x", "primary", (7_000, 8_000), "failed");
        invalid.failure = Some(FailureReport {
            class: "schema_violation".to_owned(),
            message: "/pass: must be boolean".to_owned(),
            ..FailureReport::default()
        });
        let raced = vec![
            attempt("a/x", "primary", (0, 6_000), "superseded"),
            attempt("b/y", "hedge", (4_050, 6_000), "accepted"),
        ];
        let repaired = vec![invalid, attempt("a/x", "repair", (8_050, 9_000), "accepted")];
        let step = |name: &str, attempts| StepReport {
            step: name.to_owned(),
            attempts,
            ..StepReport::default()
        };
        let report = RunReport {
            steps: vec![step("classify", raced), step("reply", repaired)],
            decisions: vec![DecisionReport {
                at_ms: 4_000,
                step: Some("classify".to_owned()),
                action: "cut".to_owned(),
                reason: "no first token on a/x within 4 s (cutoff as written)".to_owned(),
                ..DecisionReport::default()
            }],
            ..RunReport::default()
        };
        let lines = lines(&happenings(&report), Terminal::plain(100));
        assert_eq!(
            lines.join("\n"),
            "   4.00 s  cut       classify: no first token on a/x within 4 s (cutoff as written); no longer\n\
             \x20                    relied on\n   \
             4.05 s  swap      classify: b/y now races a/x, which may still win\n   \
             6.00 s  won       classify: b/y gives the first valid answer; a/x is cancelled\n   \
             8.05 s  repair    reply: invalid answer (schema_violation: /pass: must be boolean); a/x is told\n\
             \x20                    what was wrong\n   \
             9.00 s  won       reply: a/x gives a valid answer"
        );
    }
}
