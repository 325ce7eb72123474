//! The run report. Field names are fixed: other programs read them.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// One run, finished or under way. Times are milliseconds since its start.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct RunReport {
    /// `run_` and 16 hex digits.
    pub run_id: String,
    /// The workflow's name.
    pub workflow: String,
    /// `delivered`, `degraded`, `failed`, `cancelled` or `running`.
    pub outcome: String,
    /// Whether any answer was made up by the simulator.
    pub simulated: bool,
    /// The result; `None` unless delivered or degraded.
    pub output: Option<Value>,
    /// Optional parts that are not there: `gaps`, `answer[3]`.
    pub missing: Vec<String>,
    /// Steps that no validator vouches for.
    pub unverified: Vec<String>,
    /// Steps whose `check` was not asked of an answer that the simulator made up by shape.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unchecked: Vec<String>,
    /// Why it failed.
    pub failure: Option<FailureReport>,
    /// RFC 3339, UTC.
    pub started_at: String,
    /// Until now, or until it ended.
    pub elapsed_ms: u64,
    /// The whole call's bound.
    pub deadline_ms: u64,
    /// Steps taken over from an earlier run of the same call.
    pub reused: Vec<String>,
    /// Steps that the same call, made again, continues from; empty after a result.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub validated: Vec<String>,
    /// Losers included.
    pub cost_usd: f64,
    /// Whether any part of the cost or of the tokens is our estimate.
    pub cost_estimated: bool,
    /// Losers included.
    pub tokens: Tokens,
    /// Every step and item, in topological and input order.
    pub steps: Vec<StepReport>,
    /// Every decision, in order.
    pub decisions: Vec<DecisionReport>,
}

/// Tokens in and out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tokens {
    /// Input, cached ones included.
    #[serde(rename = "in")]
    pub input: u64,
    /// Output.
    #[serde(rename = "out")]
    pub output: u64,
}

/// Why a run or an attempt failed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct FailureReport {
    /// A failure class.
    pub class: String,
    /// The step that could not be had.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub step: Option<String>,
    /// What a person should read.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub message: String,
    /// Whether the same call, made again, can be expected to fare better. Of a run only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retryable: Option<bool>,
    /// When to come back.
    pub retry_after_ms: Option<u64>,
    /// What the class was read from. Of an attempt only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub evidence: Option<String>,
}

/// One step, or one item of an `each` step.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct StepReport {
    /// The step's name.
    pub step: String,
    /// The item's place, of an `each` step.
    pub item: Option<u32>,
    /// `planner`, `executor` or `validator`.
    pub role: String,
    /// `ok`, `reused`, `skipped`, `failed`, `timed_out`, `cut`, `cancelled`; `waiting` or `running` before.
    pub status: String,
    /// When it began.
    pub started_ms: Option<u64>,
    /// When it ended.
    pub ended_ms: Option<u64>,
    /// Why it failed, where no attempt says it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failure: Option<FailureReport>,
    /// In launch order.
    pub attempts: Vec<AttemptReport>,
}

/// One attempt.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct AttemptReport {
    /// From 1, within its step or item.
    pub n: u32,
    /// `provider/model`.
    pub path: String,
    /// Why it was launched.
    pub cause: String,
    /// Waiting for a slot, before the request was sent.
    pub queued_ms: u64,
    /// When the request was sent; when it was launched, where it never was.
    pub started_ms: u64,
    /// When the first token came.
    pub first_token_ms: Option<u64>,
    /// When it ended.
    pub ended_ms: Option<u64>,
    /// `accepted`, `failed`, `cut`, `superseded`, `cancelled`; empty while it runs.
    pub end: String,
    /// Why it failed.
    pub failure: Option<FailureReport>,
    /// As counted by the provider, or estimated.
    pub tokens: Tokens,
    /// What it cost.
    pub cost_usd: f64,
    /// What the model was sent and what it said; only where that was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub content: Option<ContentReport>,
}

/// What one attempt's model saw and said.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ContentReport {
    /// The system prompt, before it is adapted to the model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub system: Option<String>,
    /// The turns, oldest first.
    pub messages: Vec<TurnReport>,
    /// The JSON Schema of the answer asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub schema: Option<Value>,
    /// What it said, as far as it came.
    pub answer: String,
}

/// One turn of a conversation.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct TurnReport {
    /// `user` or `assistant`.
    pub role: String,
    /// What is said.
    pub text: String,
}

/// One decision of the orchestrator.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct DecisionReport {
    /// When.
    pub at_ms: u64,
    /// About which step.
    pub step: Option<String>,
    /// About which item of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub item: Option<u32>,
    /// `launch`, `cut`, `cancel`, `accept`, `skip`, `fail`, `close`, `finish`, `wait`, …; `correct` where a refused
    /// request was sent once more.
    pub action: String,
    /// Why, in words, with the numbers it used.
    pub reason: String,
}
