//! One case, played in virtual time and judged by what it expects.

use std::fmt;
use std::sync::Arc;

use serde::Serialize;
use serde_json::{Value, json};

use super::{World, play_one};
use crate::domain::id::RunId;
use crate::domain::provider::{Dialect, ProviderSettings, SimulatorSettings};
use crate::provider::simulated::{Recordings, UnknownRegime};
use crate::run::Run;
use crate::trace::report::{RunReport, StepReport};
use crate::workflow::Workflow;
use crate::workflow::case::{Case, Ending, Expect, ExpectedFailure, ExpectedStep, same};

mod count;

/// Most differences that one case is told.
const TOLD: usize = 20;

/// A case that was played.
#[derive(Clone, Debug)]
pub struct Played {
    /// The run, in virtual time.
    pub report: RunReport,
    /// What is not as expected; empty where the case passes.
    pub differences: Vec<Difference>,
}

/// Something that is not as expected.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Difference {
    /// JSON pointer into what is expected: `/output/bullets/2`.
    pub pointer: String,
    /// What should be there; `None` where nothing should.
    pub expected: Option<Value>,
    /// What is there; `None` where nothing is.
    pub got: Option<Value>,
    /// In words, where the two values alone do not say it.
    pub note: Option<String>,
}

/// Plays `case` on the providers of `settings`, each of them simulated, whatever it is. The same case has the same
/// course each time.
///
/// # Errors
/// The case names a regime that there is not.
pub fn play(
    case: &Case,
    workflow: &Arc<Workflow>,
    settings: &[ProviderSettings],
    started_at: &str,
) -> Result<Played, UnknownRegime> {
    let simulated = settings.iter().map(|one| {
        let world = SimulatorSettings { regime: case.regime.clone(), seed: case.seed };
        ProviderSettings { dialect: Dialect::Simulated(world), ..one.clone() }
    });
    let simulated: Vec<ProviderSettings> = simulated.collect();
    let recordings = Arc::new(Recordings::of_case(&workflow.name, case));
    let world = World::of(&simulated, &recordings)?;
    let bound = workflow.plan.deadline;
    let deadline = case.deadline.map_or(bound, |own| own.min(bound));
    let id = RunId::new(case.seed);
    let run = Run::new(id, workflow.clone(), case.input.clone(), deadline, case.seed);
    let ended = play_one(world, run);
    let report = ended.as_ref().map(|ended| ended.run.report(started_at, ended.at));
    let report = report.unwrap_or_default();
    // First, as what follows from it may be all the rest.
    let mut differences = ended.map_or_else(Vec::new, |ended| count::miscounted(case, &ended.run));
    differences.extend(judge(&case.expect, &case.input, &report));
    differences.truncate(TOLD);
    Ok(Played { report, differences })
}

/// What of a run is not as expected.
#[must_use]
pub fn judge(expect: &Expect, input: &Value, report: &RunReport) -> Vec<Difference> {
    let mut judging = Judging { differences: Vec::new() };
    judging.outcome(&expect.outcome, report);
    judging.parts("/missing", expect.missing.as_ref(), &report.missing);
    judging.parts("/unverified", expect.unverified.as_ref(), &report.unverified);
    if let Some(failure) = &expect.failure {
        judging.failure(failure, report);
    }
    if let (Some(expected), Some(got)) = (&expect.output, &report.output) {
        judging.value("/output", expected, Some(got), false);
    }
    for step in &expect.steps {
        judging.step(step, report);
    }
    judging.checks(expect, input, report);
    judging.differences.truncate(TOLD);
    judging.differences
}

struct Judging {
    differences: Vec<Difference>,
}

impl Judging {
    fn differ(
        &mut self,
        pointer: impl Into<String>,
        expected: Option<Value>,
        got: Option<Value>,
    ) -> &mut Difference {
        self.differences.push(Difference { pointer: pointer.into(), expected, got, note: None });
        let last = self.differences.len() - 1;
        &mut self.differences[last]
    }

    fn outcome(&mut self, expected: &[Ending], report: &RunReport) {
        if expected.iter().any(|ending| ending.as_str() == report.outcome) {
            return;
        }
        let words: Vec<&str> = expected.iter().map(|ending| ending.as_str()).collect();
        let failure = report.failure.as_ref();
        let found =
            self.differ("/outcome", Some(words.join(" or ").into()), Some(json!(report.outcome)));
        found.note = failure.map(|failure| {
            let at = failure.step.as_ref().map(|step| format!(" at step '{step}'"));
            format!("{}{}: {}", failure.class, at.unwrap_or_default(), failure.message)
        });
    }

    /// The same names, in any order.
    fn parts(&mut self, pointer: &str, expected: Option<&Vec<String>>, got: &[String]) {
        let Some(expected) = expected else { return };
        let (mut one, mut other) = (expected.clone(), got.to_vec());
        one.sort();
        other.sort();
        if one != other {
            self.differ(pointer, Some(json!(expected)), Some(json!(got)));
        }
    }

    fn failure(&mut self, expected: &ExpectedFailure, report: &RunReport) {
        // That there is none is told by the outcome.
        let Some(failure) = &report.failure else { return };
        if let Some(class) = expected.class.filter(|class| class.as_str() != failure.class) {
            let found = self.differ(
                "/failure/class",
                Some(class.as_str().into()),
                Some(json!(failure.class)),
            );
            found.note = Some(failure.message.clone());
        }
        if expected.step.is_some() && expected.step != failure.step {
            self.differ(
                "/failure/step",
                expected.step.clone().map(Value::from),
                failure.step.clone().map(Value::from),
            );
        }
        if let Some(words) =
            expected.message.as_ref().filter(|words| !failure.message.contains(*words))
        {
            let found =
                self.differ("/failure/message", Some(json!(words)), Some(json!(failure.message)));
            found.note = Some("the words expected do not stand in it".to_owned());
        }
    }

    /// Objects by the keys that are expected, unless `exactly`.
    fn value(&mut self, pointer: &str, expected: &Value, got: Option<&Value>, exactly: bool) {
        match (expected, got) {
            (Value::Object(expected), Some(Value::Object(got))) => {
                for (key, value) in expected {
                    let inner = format!("{pointer}/{}", escape(key));
                    self.value(&inner, value, got.get(key), exactly);
                }
                for (key, value) in
                    got.iter().filter(|(key, _)| exactly && !expected.contains_key(*key))
                {
                    self.differ(format!("{pointer}/{}", escape(key)), None, Some(value.clone()));
                }
            }
            (Value::Array(expected), Some(Value::Array(got))) => {
                for at in 0..expected.len().max(got.len()) {
                    let inner = format!("{pointer}/{at}");
                    match expected.get(at) {
                        Some(value) => self.value(&inner, value, got.get(at), true),
                        None => {
                            self.differ(inner, None, got.get(at).cloned());
                        }
                    }
                }
            }
            // What may be absent and is, is null to those who expect null.
            (Value::Null, None) => {}
            _ if got.is_some_and(|got| same(expected, got)) => {}
            _ => {
                self.differ(pointer, Some(expected.clone()), got.cloned());
            }
        }
    }

    fn step(&mut self, expected: &ExpectedStep, report: &RunReport) {
        let item = expected.item.map(|item| format!("[{item}]")).unwrap_or_default();
        let pointer = format!("/steps/{}{item}", expected.step);
        let of = |step: &&StepReport| {
            step.step == expected.step && (expected.item.is_none() || step.item == expected.item)
        };
        let these: Vec<&StepReport> = report.steps.iter().filter(of).collect();
        if these.is_empty() {
            let found = self.differ(pointer, None, None);
            found.note = Some("the step had no such item".to_owned());
            return;
        }
        if let Some(status) = &expected.status {
            // Items that a condition left out say nothing about the others.
            let asked = |step: &&&StepReport| step.item.is_none() || step.status != "skipped";
            let all_skipped = !these.iter().any(|step| asked(&step));
            let mut looked = these.iter().filter(|step| all_skipped || asked(step));
            let other = looked.find(|step| step.status != *status);
            if let Some(other) = other {
                let found = self.differ(
                    format!("{pointer}/status"),
                    Some(json!(status)),
                    Some(json!(other.status)),
                );
                let item = other.item.filter(|_| these.len() > 1);
                found.note = item.map(|item| format!("item {item}"));
            }
        }
        let made: usize = these.iter().map(|step| step.attempts.len()).sum();
        if let Some(attempts) = expected.attempts.filter(|attempts| *attempts as usize != made) {
            self.differ(format!("{pointer}/attempts"), Some(attempts.into()), Some(made.into()));
        }
    }

    fn checks(&mut self, expect: &Expect, input: &Value, report: &RunReport) {
        if expect.checks.is_empty() {
            return;
        }
        let bindings = bindings(input, report);
        for (at, check) in expect.checks.iter().enumerate() {
            let value = check.evaluate(&bindings);
            if value != true {
                let found = self.differ(format!("/check/{at}"), Some(true.into()), Some(value));
                found.note = Some(check.source().trim().to_owned());
            }
        }
    }
}

/// What the checks of a case see.
fn bindings(input: &Value, report: &RunReport) -> Value {
    let mut statuses = serde_json::Map::new();
    let mut attempts = serde_json::Map::new();
    for step in &report.steps {
        let made = attempts.entry(step.step.clone()).or_insert_with(|| json!(0));
        *made = json!(made.as_u64().unwrap_or(0) + step.attempts.len() as u64);
        // Of a fan-out, the first item that did not end well speaks for all.
        let known = statuses.entry(step.step.clone()).or_insert_with(|| json!(step.status));
        if *known == "skipped" || (*known == "ok" && step.status != "skipped") {
            *known = json!(step.status);
        }
    }
    let mut run = json!({
        "outcome": report.outcome, "missing": report.missing, "unverified": report.unverified,
        "elapsed_ms": report.elapsed_ms, "deadline_ms": report.deadline_ms,
        "cost_usd": report.cost_usd, "status": statuses, "attempts": attempts,
    });
    if let Some(failure) = &report.failure {
        run["failure"] = json!({
            "class": failure.class, "step": failure.step.clone().unwrap_or_default(),
            "message": failure.message,
        });
    }
    let mut all = json!({ "input": input, "run": run });
    if let Some(output) = &report.output {
        all["output"] = output.clone();
    }
    all
}

fn escape(key: &str) -> String {
    key.replace('~', "~0").replace('/', "~1")
}

impl fmt::Display for Difference {
    /// `/output/category: expected "refund", got "billing"`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = |value: &Option<Value>| {
            value.as_ref().map_or("nothing".to_owned(), ToString::to_string)
        };
        write!(
            f,
            "{}: expected {}, got {}",
            self.pointer,
            shown(&self.expected),
            shown(&self.got)
        )?;
        self.note.as_ref().map_or(Ok(()), |note| write!(f, " ({note})"))
    }
}
