//! A record as lines of text: one for the run, and one for each part that several runs share.

use std::hash::{DefaultHasher, Hasher};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::knowledge::Knowledge;
use super::{BYTES_MAX, Entry, FORMAT, Journal};
use crate::domain::id::RunId;
use crate::domain::time::Timestamp;
use crate::engine::decision::Decision;
use crate::engine::{Action, Event, Machine, Signals};

/// Longest part, in bytes: a plan of two hundred steps takes a tenth of it.
const PART_MAX: usize = 2 << 20;

/// The fixed part of a run's line. `events` and `whole` stand after it, in the same object.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Head {
    /// First, so that a line is found without reading it.
    pub run: String,
    pub format: u32,
    /// The version of the build that decided.
    pub by: String,
    pub workflow: String,
    pub deadline: Duration,
    /// The name of the part that holds the plan.
    pub plan: String,
    /// The same of what was known of times; `None` where nothing was.
    pub knowledge: Option<String>,
}

/// An event with what was answered. A sign of life from which nothing followed is an array instead: `[at, attempt, tokens]`.
#[derive(Debug, Serialize)]
struct Written<'a> {
    at: Timestamp,
    event: &'a Event,
    /// The fields of the signals that are others than before.
    #[serde(skip_serializing_if = "Map::is_empty")]
    signals: Map<String, Value>,
    #[serde(skip_serializing_if = "no_actions")]
    actions: &'a [Action],
    #[serde(skip_serializing_if = "no_decisions")]
    decisions: &'a [Decision],
}

fn no_actions(actions: &&[Action]) -> bool {
    actions.is_empty()
}

fn no_decisions(decisions: &&[Decision]) -> bool {
    decisions.is_empty()
}

/// The line of a shared part; `None` where it is too long to be kept.
fn part(name: &str, text: &str) -> Option<String> {
    (text.len() <= PART_MAX).then(|| format!("{{\"part\":\"{name}\",\"is\":{text}}}"))
}

impl Journal {
    /// The record of `run`, which `machine` has decided, as lines without line ends: the parts it shares with other runs,
    /// but for those that `known` says are stored, and the run's own line last.
    #[must_use]
    pub fn lines(
        &self,
        run: &RunId,
        machine: &Machine,
        known: impl Fn(&str) -> bool,
    ) -> Vec<String> {
        let plan = serde_json::to_string(&**machine.plan()).unwrap_or_default();
        let mut hasher = DefaultHasher::new();
        hasher.write(plan.as_bytes());
        let pilot = machine.pilot();
        let head = Head {
            run: run.to_string(),
            format: FORMAT,
            by: env!("CARGO_PKG_VERSION").to_owned(),
            workflow: machine.plan().workflow.clone(),
            deadline: machine.deadline(),
            plan: format!("plan-{:016x}", hasher.finish()),
            knowledge: pilot.map(|pilot| Knowledge::name(pilot.mark)),
        };
        let mut lines = Vec::new();
        if !known(&head.plan) {
            lines.extend(part(&head.plan, &plan));
        }
        if let (Some(pilot), Some(name)) = (pilot, &head.knowledge)
            && !known(name)
        {
            let text = serde_json::to_string(&Knowledge::of(pilot)).unwrap_or_default();
            lines.extend(part(name, &text));
        }
        lines.push(self.line(&head));
        lines
    }

    fn line(&self, head: &Head) -> String {
        let mut line = serde_json::to_string(head).unwrap_or_default();
        line.truncate(line.len().saturating_sub(1));
        line.push_str(",\"events\":[");
        let mut whole = self.whole;
        let mut before = Map::new();
        for (at, entry) in self.entries.iter().enumerate() {
            let entry = entry.written(&mut before);
            if line.len() + entry.len() > BYTES_MAX {
                whole = false;
                break;
            }
            if at > 0 {
                line.push(',');
            }
            line.push_str(&entry);
        }
        line.push_str("],\"whole\":");
        line.push_str(if whole { "true}" } else { "false}" });
        line
    }
}

impl Entry {
    fn written(&self, before: &mut Map<String, Value>) -> String {
        match self {
            Self::Sign { at, attempt, tokens } => {
                format!("[{},{},{tokens}]", at.micros(), attempt.0)
            }
            Self::Told(entered) => {
                let changed = entered.signals.as_ref().map(|signals| changes(signals, before));
                let written = Written {
                    at: entered.at,
                    event: &entered.event,
                    signals: changed.unwrap_or_default(),
                    actions: &entered.actions,
                    decisions: &entered.decisions,
                };
                serde_json::to_string(&written).unwrap_or_default()
            }
        }
    }
}

/// The fields of `signals` that are others than `before`, which holds all of them afterwards.
fn changes(signals: &Signals, before: &mut Map<String, Value>) -> Map<String, Value> {
    let Ok(Value::Object(now)) = serde_json::to_value(signals) else { return Map::new() };
    let changed = now.iter().filter(|(name, value)| before.get(*name) != Some(*value));
    let changed = changed.map(|(name, value)| (name.clone(), value.clone())).collect();
    *before = now;
    changed
}
