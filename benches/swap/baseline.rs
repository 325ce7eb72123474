//! The two policies compared with: what most pipelines do today.
//!
//! - **naive router**: any refusal and any lost connection sends the same payload, with the model's name replaced,
//!   to the next address, A and B in turn, at once. Whatever text comes with a 200 is the step's output. It has no
//!   timeout of its own, as routers' defaults of minutes amount to none here.
//! - **retry only**: the same payload to the same address, after 100 ms and twice as long each time, or after
//!   what the refusal says where that is longer. An answer counts as a failure where it is not JSON of the step's
//!   schema, and so does an attempt that takes longer than the cutoff of 700 ms.
//!
//! Both have four attempts a step and the same deadline, build A's payload as its API wants it, and hand a step's
//! text to the next as it came. A validator's `pass: false` marks the result as doubtful.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio::time::{sleep, timeout};

use crate::desk::fits;
use crate::model::{seal_in, total_in, warns};
use crate::outcome::Outcome;
use crate::task::{ATTEMPTS, DEADLINE_MS, Order, STEPS, Step, TOTAL_MS};
use crate::wire::{Family, heard};

/// What is done about a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Baseline {
    Naive,
    Retry,
}

/// First pause of "retry only".
const PAUSE: Duration = Duration::from_millis(100);

/// Where both families are reached.
pub struct Targets {
    pub client: reqwest::Client,
    pub a: String,
    pub b: String,
}

/// Why an attempt has no text.
enum Failed {
    /// Refused; how long to wait, where that was said.
    Refused(Option<Duration>),
    Lost,
}

/// Runs the chain.
pub async fn run(policy: Baseline, targets: &Targets, order: &Order) -> Outcome {
    let started = Instant::now();
    let chain = chain(policy, targets, order, started);
    let texts = timeout(Duration::from_millis(DEADLINE_MS), chain).await.ok().flatten();
    let elapsed = started.elapsed();
    let Some([plan, result, verdict]) = texts else {
        return Outcome { elapsed, ..Outcome::default() };
    };
    let right = total_in(&result) == Some(order.total) && seal_in(&verdict) == Some(order.seal);
    let valid =
        fits(Step::Plan, &plan) && fits(Step::Execute, &result) && fits(Step::Review, &verdict);
    Outcome { completed: true, valid, right, flagged: warns(&verdict), elapsed }
}

/// The three texts; `None` where a step has none.
async fn chain(
    policy: Baseline,
    targets: &Targets,
    order: &Order,
    started: Instant,
) -> Option<[String; 3]> {
    let mut texts: [String; 3] = Default::default();
    for step in STEPS {
        let (system, prompt) = order.texts(step, &texts[0], &texts[1]);
        let payload = payload(step, &system, &prompt);
        texts[step.at()] = match policy {
            Baseline::Naive => routed(targets, payload).await?,
            Baseline::Retry => retried(targets, step, &payload, started).await?,
        };
    }
    Some(texts)
}

fn payload(step: Step, system: &str, prompt: &str) -> Value {
    json!({
        "model": "claude-large",
        "max_tokens": 1024,
        "system": system,
        "messages": [{"role": "user", "content": prompt}],
        "output_config": {"format": {"type": "json_schema", "schema": step.schema()}},
        "stream": true,
    })
}

async fn routed(targets: &Targets, mut payload: Value) -> Option<String> {
    for attempt in 0..ATTEMPTS {
        let family = if attempt % 2 == 0 { Family::A } else { Family::B };
        payload["model"] = match family {
            Family::A => "claude-large",
            Family::B => "open-large",
        }
        .into();
        match send(targets, family, &payload).await {
            Ok(text) if !text.is_empty() => return Some(text),
            Ok(_) | Err(_) => {}
        }
    }
    None
}

async fn retried(
    targets: &Targets,
    step: Step,
    payload: &Value,
    started: Instant,
) -> Option<String> {
    let mut pause = PAUSE;
    for attempt in 0..ATTEMPTS {
        let sent =
            timeout(Duration::from_millis(TOTAL_MS), send(targets, Family::A, payload)).await;
        let wait = match sent.unwrap_or(Err(Failed::Lost)) {
            Ok(text) if fits(step, &text) => return Some(text),
            Err(Failed::Refused(Some(wait))) => wait.max(pause),
            Ok(_) | Err(_) => pause,
        };
        let left = Duration::from_millis(DEADLINE_MS).saturating_sub(started.elapsed());
        if attempt + 1 == ATTEMPTS || wait >= left {
            return None;
        }
        sleep(wait).await;
        pause *= 2;
    }
    None
}

/// The text that comes with a 200; how it ended is not asked.
async fn send(targets: &Targets, family: Family, payload: &Value) -> Result<String, Failed> {
    let url = match family {
        Family::A => format!("{}/v1/messages", targets.a),
        Family::B => format!("{}/v1/chat/completions", targets.b),
    };
    let request = targets
        .client
        .post(url)
        .header("content-type", "application/json")
        .header("anthropic-version", "2023-06-01")
        .body(payload.to_string());
    let response = request.send().await.map_err(|_| Failed::Lost)?;
    if !response.status().is_success() {
        let wait =
            response.headers().get("retry-after-ms").and_then(|v| v.to_str().ok()?.parse().ok());
        // Read to its end, so that the connection can be used again.
        let _ = response.bytes().await;
        return Err(Failed::Refused(wait.map(Duration::from_millis)));
    }
    let body = response.bytes().await.map_err(|_| Failed::Lost)?;
    let body = String::from_utf8_lossy(&body);
    let events = body.lines().filter_map(|line| line.strip_prefix("data: "));
    let values = events.filter_map(|data| serde_json::from_str::<Value>(data).ok());
    Ok(values.map(|value| heard(family, &value).to_owned()).collect())
}
