//! A recorded run decided anew: the same events, at the same times, to a new machine of the recorded plan.
//!
//! What is compared is data in its wire form, never words: a decision that is told otherwise is the same decision.

mod happening;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::journal::{Record, Told};
use crate::domain::plan::Plan;
use crate::domain::time::Timestamp;
use crate::engine::Machine;

/// What came of deciding a run anew.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Replayed {
    /// Events that were told, the diverging one among them.
    pub events: usize,
    /// Decisions that are the same.
    pub decisions: usize,
    /// Where it was decided otherwise, if anywhere.
    pub divergence: Option<Divergence>,
}

/// The first event that was answered otherwise. What follows it need not be comparable any more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Divergence {
    /// Which event, from 1.
    pub event: usize,
    /// When it happened.
    pub at: Timestamp,
    /// What happened, in words.
    pub happened: String,
    /// What was decided then, and so done; a line each.
    pub then: Vec<String>,
    /// What is decided now.
    pub now: Vec<String>,
}

/// Decides a recorded run anew.
#[must_use]
pub fn replay(record: &Record) -> Replayed {
    let machine = Machine::new(record.plan.clone(), record.deadline);
    let mut machine = machine.with_pilot(record.pilot.clone());
    let mut decisions = 0;
    for (n, told) in (1..).zip(&record.told) {
        let actions = written(&machine.handle(told.event.clone(), &told.signals, told.at));
        let decided = written(&machine.take_decisions());
        if actions != told.actions || decided != told.decisions {
            let divergence = Some(divergence(n, told, (&decided, &actions), &machine));
            return Replayed { events: n, decisions, divergence };
        }
        decisions += decided.len();
    }
    Replayed { events: record.told.len(), decisions, divergence: None }
}

/// In wire form.
fn written(all: &[impl Serialize]) -> Vec<Value> {
    all.iter().map(|one| serde_json::to_value(one).unwrap_or_default()).collect()
}

fn divergence(
    event: usize,
    told: &Told,
    (decided, actions): (&[Value], &[Value]),
    machine: &Machine,
) -> Divergence {
    let plan = &**machine.plan();
    let lines = |decided: &[Value], actions: &[Value]| -> Vec<String> {
        let decided = decided.iter().map(|one| words(one, plan, happening::decision));
        decided.chain(actions.iter().map(|one| words(one, plan, happening::action))).collect()
    };
    let mut then = lines(&told.decisions, &told.actions);
    let mut now = lines(decided, actions);
    if then == now {
        // What differs is finer than the words are.
        let exact = |decided: &[Value], actions: &[Value]| -> Vec<String> {
            decided.iter().chain(actions).map(exactly).collect()
        };
        (then, now) = (exact(&told.decisions, &told.actions), exact(decided, actions));
    }
    let happened = happening::event(&told.event, machine);
    Divergence { event, at: told.at, happened, then, now }
}

/// In words; as it is written where this build does not know it, or where it points beyond the plan.
fn words<T: DeserializeOwned>(value: &Value, plan: &Plan, tell: fn(&T, &Plan) -> String) -> String {
    let known = (!beyond(value, plan)).then(|| serde_json::from_value(value.clone()).ok());
    known.flatten().map_or_else(|| exactly(value), |known| tell(&known, plan))
}

/// Whether a place in it is none of the plan's: in a file that was tampered with.
fn beyond(value: &Value, plan: &Plan) -> bool {
    // An attempt's `after` is another attempt; a reason's, a path.
    let launch = value.get("max_tokens").is_some();
    let place = |name: &str, value: &Value| {
        let most = match name {
            "step" | "missing" | "unverified" | "shrunk" => plan.steps.len(),
            "path" | "from" | "extra_of" => plan.paths.len(),
            "after" if !launch => plan.paths.len(),
            _ => return false,
        };
        let over = |value: &Value| value.as_u64().is_some_and(|ix| ix >= most as u64);
        over(value) || value.as_array().is_some_and(|all| all.iter().any(over))
    };
    match value {
        Value::Object(fields) => {
            fields.iter().any(|(name, value)| place(name, value) || beyond(value, plan))
        }
        Value::Array(items) => items.iter().any(|item| beyond(item, plan)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}

/// As it is written, with spaces at which a line can be broken.
fn exactly(value: &Value) -> String {
    value.to_string().replace(",\"", ", \"")
}
