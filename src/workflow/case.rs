//! Cases of a workflow: known inputs, the model answers recorded for them, and what must come of them.
//!
//! Data alone, checked where it is read; below both the room that reads it and the simulator that answers from it.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::PathBuf;
use std::time::Duration;

use serde_json::{Number, Value};

use crate::domain::failure::FailureClass;
use crate::expression::Expression;

/// The regime of a case that names none.
pub const CASE_REGIME: &str = "calm";
/// The seed of a case that names none.
pub const CASE_SEED: u64 = 1;

/// The cases of one workflow.
#[derive(Clone, Debug, Default)]
pub struct Cases {
    /// The workflow's name.
    pub workflow: String,
    /// Their file.
    pub file: PathBuf,
    /// Its name in diagnostics.
    pub label: String,
    /// Those without an error, in the order of the file.
    pub list: Vec<Case>,
    /// How many the file holds, those with errors included.
    pub written: usize,
    /// Tells them apart, within one process, from the same file with other texts or for another workflow.
    pub version: u64,
}

/// One case.
#[derive(Clone, Debug)]
pub struct Case {
    /// Unique in its file.
    pub name: String,
    /// Its line in the file, from 1.
    pub line: usize,
    /// As a run sees it: fits the workflow's input, defaults filled in.
    pub input: Value,
    /// The simulated world it is tested in.
    pub regime: String,
    /// Seeds that world's luck.
    pub seed: u64,
    /// A caller's own deadline.
    pub deadline: Option<Duration>,
    /// What models say, by step.
    pub answers: Vec<StepAnswers>,
    /// What must come of it.
    pub expect: Expect,
}

/// What the models of one step say.
#[derive(Clone, Debug, PartialEq)]
pub struct StepAnswers {
    /// The step.
    pub step: String,
    /// By item, in the order of its list, then by attempt, of which the last one repeats. A step without `each` has one item; an
    /// item without attempts has nothing recorded.
    pub items: Vec<Vec<Said>>,
}

/// One recorded attempt.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Said {
    /// The answer's text; made up by shape where `None`.
    pub text: Option<String>,
    /// How the attempt fares; as drawn where `None`.
    pub told: Option<Told>,
}

/// How a recorded attempt fares, whatever the regime.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Told {
    /// Well, in the usual time.
    Ok,
    /// Well, eight times slower than drawn.
    Slow,
    /// With an answer that is visibly invalid.
    Garbage,
    /// With a server error.
    Error,
    /// With a 429.
    RateLimited,
    /// Never: not even a first token.
    Hang,
}

/// What must come of a case. What is `None` or empty is not looked at.
#[derive(Clone, Debug)]
pub struct Expect {
    /// One of these.
    pub outcome: Vec<Ending>,
    /// Exactly these parts, in any order.
    pub missing: Option<Vec<String>>,
    /// Exactly these steps, in any order.
    pub unverified: Option<Vec<String>>,
    /// Why it fails.
    pub failure: Option<ExpectedFailure>,
    /// Objects by the keys given here, lists and scalars exactly.
    pub output: Option<Value>,
    /// How steps and items end.
    pub steps: Vec<ExpectedStep>,
    /// Must be true of `output`, `input` and `run`.
    pub checks: Vec<Expression>,
}

/// How a run may end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// With everything.
    Delivered,
    /// Without some optional part.
    Degraded,
    /// Without a result.
    Failed,
}

/// Why a run fails.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ExpectedFailure {
    /// Its class.
    pub class: Option<FailureClass>,
    /// The step that could not be had.
    pub step: Option<String>,
    /// Words that stand in its message.
    pub message: Option<String>,
}

/// How a step or an item of it ends.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ExpectedStep {
    /// The step.
    pub step: String,
    /// The item's place; `None` for the step as a whole.
    pub item: Option<u32>,
    /// `ok`, `skipped`, `failed`, `timed_out` or `cut`; of a whole fan-out, of every item.
    pub status: Option<String>,
    /// How many attempts it took; of a whole fan-out, all items together.
    pub attempts: Option<u32>,
}

impl Cases {
    /// The case of that name.
    #[must_use]
    pub fn named(&self, name: &str) -> Option<&Case> {
        self.list.iter().find(|case| case.name == name)
    }
}

impl Case {
    /// What is recorded for an attempt, numbered from 0 within its step or item.
    #[must_use]
    pub fn said(&self, step: &str, item: u32, attempt: u32) -> Option<&Said> {
        let of_step = self.answers.iter().find(|answers| answers.step == step)?;
        let attempts = of_step.items.get(item as usize)?;
        attempts.get(attempt as usize).or(attempts.last())
    }
}

impl Default for Expect {
    /// Any result.
    fn default() -> Self {
        Self {
            outcome: vec![Ending::Delivered, Ending::Degraded],
            missing: None,
            unverified: None,
            failure: None,
            output: None,
            steps: Vec::new(),
            checks: Vec::new(),
        }
    }
}

impl Ending {
    /// Every ending.
    pub const ALL: [Self; 3] = [Self::Delivered, Self::Degraded, Self::Failed];

    /// The word in files and reports.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Delivered => "delivered",
            Self::Degraded => "degraded",
            Self::Failed => "failed",
        }
    }
}

impl Told {
    /// Every fate with its word in files.
    pub const ALL: [(&'static str, Self); 6] = [
        ("ok", Self::Ok),
        ("slow", Self::Slow),
        ("garbage", Self::Garbage),
        ("error", Self::Error),
        ("rate_limited", Self::RateLimited),
        ("hang", Self::Hang),
    ];

    /// Whether an answer arrives.
    #[must_use]
    pub const fn answers(self) -> bool {
        match self {
            Self::Ok | Self::Slow | Self::Garbage => true,
            Self::Error | Self::RateLimited | Self::Hang => false,
        }
    }
}

/// Tells inputs apart within one process: the same for values that are equal as JSON, whatever the order of their keys
/// and the form of their numbers.
#[must_use]
pub fn digest(value: &Value) -> u64 {
    let mut hasher = DefaultHasher::new();
    add(value, &mut hasher);
    hasher.finish()
}

fn add(value: &Value, hasher: &mut DefaultHasher) {
    match value {
        Value::Null => 0_u8.hash(hasher),
        Value::Bool(value) => (1_u8, value).hash(hasher),
        Value::Number(number) => (2_u8, written(number)).hash(hasher),
        Value::String(text) => (3_u8, text).hash(hasher),
        Value::Array(items) => {
            (4_u8, items.len()).hash(hasher);
            for item in items {
                add(item, hasher);
            }
        }
        Value::Object(map) => {
            (5_u8, map.len()).hash(hasher);
            let mut entries: Vec<_> = map.iter().collect();
            entries.sort_by(|a, b| a.0.cmp(b.0));
            for (key, value) in entries {
                key.hash(hasher);
                add(value, hasher);
            }
        }
    }
}

/// Whether two values are equal as JSON: the order of keys and the form of numbers do not matter.
#[must_use]
pub fn same(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Number(one), Value::Number(other)) => written(one) == written(other),
        (Value::Array(one), Value::Array(other)) => {
            one.len() == other.len() && one.iter().zip(other).all(|(a, b)| same(a, b))
        }
        (Value::Object(one), Value::Object(other)) => {
            let equal = |(key, a): (&String, &Value)| other.get(key).is_some_and(|b| same(a, b));
            one.len() == other.len() && one.iter().all(equal)
        }
        _ => one == other,
    }
}

/// One form of a number: `1.0` is `1`.
fn written(number: &Number) -> String {
    let text = number.to_string();
    match text.strip_suffix(".0") {
        Some("-0") => "0".to_owned(),
        Some(whole) => whole.to_owned(),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn inputs_are_told_apart_by_value_and_not_by_form() {
        let one = json!({"a": 1.0, "b": [true, null, "x"]});
        let same_one = json!({"b": [true, null, "x"], "a": 1});
        assert_eq!(digest(&one), digest(&same_one));
        assert!(same(&one, &same_one));
        for other in [
            json!({"a": 1, "b": [null, true, "x"]}),
            json!({"a": "1", "b": [true, null, "x"]}),
            json!({"a": 1, "b": [true, null, "x"], "c": null}),
            json!({"a": 1.5, "b": [true, null, "x"]}),
        ] {
            assert_ne!(digest(&one), digest(&other), "{other}");
            assert!(!same(&one, &other), "{other}");
        }
    }

    #[test]
    fn the_last_attempt_that_is_recorded_repeats() {
        let said = |text: &str| Said { text: Some(text.to_owned()), told: None };
        let case = Case {
            name: "a".to_owned(),
            line: 1,
            input: Value::Null,
            regime: CASE_REGIME.to_owned(),
            seed: CASE_SEED,
            deadline: None,
            answers: vec![StepAnswers {
                step: "find".to_owned(),
                items: vec![vec![said("x"), said("y")], Vec::new()],
            }],
            expect: Expect::default(),
        };
        assert_eq!(case.said("find", 0, 0), Some(&said("x")));
        assert_eq!(case.said("find", 0, 1), Some(&said("y")));
        assert_eq!(case.said("find", 0, 9), Some(&said("y")));
        assert_eq!(case.said("find", 1, 0), None, "nothing is recorded for this item");
        assert_eq!(case.said("find", 2, 0), None);
        assert_eq!(case.said("draft", 0, 0), None);
    }
}
