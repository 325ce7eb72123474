//! A run on answers that fit their schemas and little more, with failures and slow ones among them.

use std::sync::Arc;
use std::time::Duration;

use punctual::domain::failure::{Failure, FailureClass};
use punctual::domain::id::{AttemptId, RunId};
use punctual::domain::message::Usage;
use punctual::domain::time::Timestamp;
use punctual::provider::{Broken, Exchange, Reply};
use punctual::run::{Effect, Run};
use punctual::schema::Schema;
use punctual::workflow::Workflow;
use serde_json::Value;

use super::luck::Luck;
use super::value::value;

/// Most events of one run.
const EVENTS: usize = 20_000;

/// Plays one run to its end.
pub fn play(workflow: &Arc<Workflow>, input: Value, seed: u64) -> (Run, Timestamp) {
    let deadline = workflow.plan.deadline;
    let mut run = Run::new(RunId::new(seed), workflow.clone(), input, deadline, seed);
    run.keep_journal();
    let mut luck = Luck(seed);
    let mut flying: Vec<(Timestamp, AttemptId, Exchange)> = Vec::new();
    let mut now = Timestamp::ZERO;
    let mut effects = run.start(Vec::new(), now);
    for _ in 0..EVENTS {
        let mut sent = Vec::new();
        for effect in effects.drain(..) {
            match effect {
                Effect::Launch(launch) => {
                    let at = now + Duration::from_millis(50 + luck.next() % 4_000);
                    sent.push(launch.attempt);
                    flying.push((at, launch.attempt, launch.exchange));
                }
                Effect::Cancel(attempt) => flying.retain(|(_, known, _)| *known != attempt),
                Effect::Finish => return (run, now),
            }
        }
        if let Some((last, others)) = sent.split_last() {
            for attempt in others {
                effects.extend(run.sent(*attempt, now));
            }
            effects.extend(run.sent(*last, now));
            continue;
        }
        let next = flying.iter().enumerate().min_by_key(|(_, (at, attempt, _))| (*at, *attempt));
        let next = next.map(|(place, (at, _, _))| (place, *at));
        let wake = run.next_wakeup().unwrap_or(Timestamp::NEVER);
        effects = match next {
            Some((place, at)) if at <= wake => {
                now = at;
                let (_, attempt, exchange) = flying.swap_remove(place);
                run.replied(attempt, reply(&exchange, &mut luck), now)
            }
            _ => {
                now = wake;
                run.wake(now)
            }
        };
    }
    panic!("no end after {EVENTS} events");
}

fn reply(exchange: &Exchange, luck: &mut Luck) -> Result<Reply, Broken> {
    if luck.percent(4) {
        let failure = Failure::of_attempt(FailureClass::ServerError, "500", "it broke");
        return Err(failure.into());
    }
    let text = match &exchange.schema {
        _ if luck.percent(3) => "{\"not\": ".to_owned(),
        Some(schema) => value(&Schema::to_shape(schema), luck).to_string(),
        None => luck.pick(&["some text", "a", "two\nlines"]).to_string(),
    };
    Ok(Reply { text, usage: Usage::default(), invented: false, remaining: None })
}
