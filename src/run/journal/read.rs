//! A record read back. What is in a file may be torn, tampered with or of another version: it is told, and never a panic.

use std::sync::Arc;
use std::time::Duration;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::FORMAT;
use super::knowledge::Knowledge;
use super::write::Head;
use crate::domain::id::{AttemptId, ModelIx, PathIx, StepIx};
use crate::domain::plan::{Plan, Work};
use crate::domain::time::{Share, Timestamp};
use crate::engine::{Event, Signals};
use crate::planner::Pilot;

/// Everything that decided a run, and what was decided.
#[derive(Clone, Debug)]
pub struct Record {
    /// The run's name.
    pub run: String,
    /// The version of the build that decided.
    pub by: String,
    /// The workflow's name.
    pub workflow: String,
    /// The run's deadline.
    pub deadline: Duration,
    /// The plan it ran.
    pub plan: Arc<Plan>,
    /// What was known of times at its start.
    pub pilot: Option<Arc<Pilot>>,
    /// What the machine was told, in order.
    pub told: Vec<Told>,
    /// Whether recording went on to the end; where not, `told` is how it began.
    pub whole: bool,
}

/// One event, and what was answered.
#[derive(Clone, Debug)]
pub struct Told {
    /// When.
    pub at: Timestamp,
    /// What happened.
    pub event: Event,
    /// What was known of the paths.
    pub signals: Arc<Signals>,
    /// [`Action`](crate::engine::Action)s in their wire form, as this build need not know them all.
    pub actions: Vec<Value>,
    /// The same of [`Decision`](crate::engine::decision::Decision)s.
    pub decisions: Vec<Value>,
}

/// Why a record cannot be replayed.
#[derive(Debug, thiserror::Error)]
pub enum Unreadable {
    /// It is no JSON, or not all of it is there.
    #[error("it is cut short or damaged ({0})")]
    Torn(String),
    /// It is of another form.
    #[error(
        "punctual {by} wrote it in form {form}, and this one, punctual {}, reads form {FORMAT}: use the version that wrote it",
        env!("CARGO_PKG_VERSION")
    )]
    Form {
        /// The form.
        form: u64,
        /// The version.
        by: String,
    },
    /// A part of it is not understood.
    #[error(
        "{place} is not understood ({error}): punctual {by} wrote it, and this is punctual {}",
        env!("CARGO_PKG_VERSION")
    )]
    Foreign {
        /// Which.
        place: String,
        /// What the reader says.
        error: String,
        /// The version that wrote it.
        by: String,
    },
    /// What it shares with other runs is gone.
    #[error("its {what} ('{name}') is no longer kept, and without it nothing can be decided anew")]
    Gone {
        /// What it is.
        what: &'static str,
        /// The part's name.
        name: String,
    },
}

#[derive(Deserialize)]
struct Read {
    at: Timestamp,
    event: Event,
    #[serde(default)]
    signals: Map<String, Value>,
    #[serde(default)]
    actions: Vec<Value>,
    #[serde(default)]
    decisions: Vec<Value>,
}

#[derive(Deserialize)]
struct Part {
    is: Value,
}

impl Record {
    /// Reads a run's line; `part` finds the line of a shared part by its name.
    ///
    /// # Errors
    /// It is damaged, of another version, or a part is gone.
    pub fn read(line: &str, part: impl Fn(&str) -> Option<String>) -> Result<Self, Unreadable> {
        let torn = |error: serde_json::Error| Unreadable::Torn(error.to_string());
        let mut all: Map<String, Value> = serde_json::from_str(line).map_err(torn)?;
        let by = all.get("by").and_then(Value::as_str).unwrap_or("of no known version").to_owned();
        let form = all.get("format").and_then(Value::as_u64).unwrap_or_default();
        if form != u64::from(FORMAT) {
            return Err(Unreadable::Form { form, by });
        }
        let Some(Value::Array(events)) = all.remove("events") else {
            return Err(foreign("the list of events", &"there is none", &by));
        };
        let whole = all.get("whole") == Some(&Value::Bool(true));
        let head: Head = understood("its head", Value::Object(all), &by)?;
        let plan: Plan = shared("plan", &head.plan, &by, &part)?;
        sound(&plan).map_err(|error| foreign("its plan", &error, &by))?;
        let pilot = match &head.knowledge {
            None => None,
            Some(name) => {
                let known: Knowledge = shared("knowledge of times", name, &by, &part)?;
                Some(Arc::new(known.pilot(&plan, head.deadline)))
            }
        };
        Ok(Self {
            told: told(events, &by)?,
            run: head.run,
            workflow: head.workflow,
            deadline: head.deadline,
            plan: Arc::new(plan),
            pilot,
            whole,
            by,
        })
    }
}

fn foreign(place: impl Into<String>, error: &impl ToString, by: &str) -> Unreadable {
    Unreadable::Foreign { place: place.into(), error: error.to_string(), by: by.to_owned() }
}

fn understood<T: DeserializeOwned>(place: &str, value: Value, by: &str) -> Result<T, Unreadable> {
    serde_json::from_value(value).map_err(|error| foreign(place, &error, by))
}

fn shared<T: DeserializeOwned>(
    what: &'static str,
    name: &str,
    by: &str,
    part: impl Fn(&str) -> Option<String>,
) -> Result<T, Unreadable> {
    let line = part(name).ok_or_else(|| Unreadable::Gone { what, name: name.to_owned() })?;
    let torn = |error: serde_json::Error| Unreadable::Torn(format!("{what}: {error}"));
    let Part { is } = serde_json::from_str(&line).map_err(torn)?;
    understood(&format!("its {what}"), is, by)
}

/// The events, each with the signals that held.
fn told(events: Vec<Value>, by: &str) -> Result<Vec<Told>, Unreadable> {
    let mut told = Vec::with_capacity(events.len());
    let mut fields = Map::new();
    let mut signals = Arc::new(Signals::default());
    for (n, event) in (1_usize..).zip(events) {
        let place = format!("event {n}");
        if event.is_array() {
            let (at, attempt, tokens): (Timestamp, AttemptId, u64) = understood(&place, event, by)?;
            let event = Event::Emitted { attempt, tokens };
            let (actions, decisions) = (Vec::new(), Vec::new());
            told.push(Told { at, event, signals: signals.clone(), actions, decisions });
            continue;
        }
        let read: Read = understood(&place, event, by)?;
        if !read.signals.is_empty() {
            fields.extend(read.signals);
            signals = Arc::new(understood(&place, Value::Object(fields.clone()), by)?);
        }
        told.push(Told {
            at: read.at,
            event: read.event,
            signals: signals.clone(),
            actions: read.actions,
            decisions: read.decisions,
        });
    }
    Ok(told)
}

/// Whether every index of a plan points into it, as those that were loaded do.
fn sound(plan: &Plan) -> Result<(), String> {
    let step = |ix: &StepIx| ix.at() < plan.steps.len();
    let model = |ix: &ModelIx| ix.at() < plan.models.len();
    let path = |ix: &PathIx| ix.at() < plan.paths.len();
    let share = |share: &Share| *share <= Share::ALL;
    for (at, of) in plan.steps.iter().enumerate() {
        let needs = of.needs.iter().all(|need| need.step.at() < at);
        let judges = of.validates.iter().chain(&of.judged_by).all(step);
        let work = match &of.work {
            Work::Model { model: ix, .. } => model(ix),
            Work::Value => true,
        };
        let shares = of.cutoff_at.iter().chain(of.each.iter().map(|each| &each.min_ok)).all(share);
        if !(needs && judges && work && shares) {
            return Err(format!("step '{}' points beyond it", of.name));
        }
    }
    for of in &plan.models {
        let links = of.stronger.iter().chain(&of.faster).all(model);
        if of.paths.is_empty() || !of.paths.iter().all(path) || !links {
            return Err(format!("model '{}' points beyond it", of.name));
        }
    }
    match plan.paths.iter().find(|of| of.provider.at() >= plan.providers.len()) {
        Some(of) => Err(format!("path '{}' points beyond it", of.label)),
        None => Ok(()),
    }
}
