//! What happened and what was done, in words.

use crate::domain::failure::Failure;
use crate::domain::id::{AttemptId, ItemIx, PathIx, StepIx};
use crate::domain::message::Usage;
use crate::domain::outcome::Outcome;
use crate::domain::plan::Plan;
use crate::domain::time::show;
use crate::engine::decision::{Decision, Words};
use crate::engine::{Action, AttemptSpec, Event, Machine, Prepared, Verdict};
use crate::policy::fallback::Told;

/// An event. Attempts are named as `machine` knows them.
pub(super) fn event(event: &Event, machine: &Machine) -> String {
    let plan = machine.plan();
    let of = |attempt: &AttemptId| attempt_of(*attempt, machine);
    match event {
        Event::Started { reused } if reused.is_empty() => "the run began".to_owned(),
        Event::Started { reused } => {
            let names: Vec<String> = reused.iter().map(|ix| step(*ix, plan)).collect();
            format!("the run began with {} of an earlier one", names.join(", "))
        }
        Event::Prepared { step: ix, round, result } => {
            let again = if *round == 0 { String::new() } else { format!(" (round {round})") };
            format!("{}{again}: {}", step(*ix, plan), prepared(result))
        }
        Event::Sent { attempt } => format!("{} was sent", of(attempt)),
        Event::FirstToken { attempt } => format!("{}: its first token came", of(attempt)),
        Event::Emitted { attempt, tokens } => format!("{}: {tokens} tokens so far", of(attempt)),
        Event::Ended { attempt, usage, verdict } => {
            format!("{} answered, {}, {}", of(attempt), used(usage), judged(verdict))
        }
        Event::Failed { attempt, failure, usage } => {
            format!("{} failed: {}, {}", of(attempt), told(failure), used(usage))
        }
        Event::Shrunk { step: ix, item, tokens } => match tokens {
            Some(tokens) => {
                format!("{}: its prompt is {tokens} tokens now", place(*ix, *item, plan))
            }
            None => format!("{}: its prompt cannot be shorter", place(*ix, *item, plan)),
        },
        Event::TurnedAway { attempt, failure } => {
            format!("{} was turned away: {}", of(attempt), told(failure))
        }
        Event::Withdrawn => "the caller withdrew the call".to_owned(),
        Event::Woke => "time had passed".to_owned(),
    }
}

fn prepared(result: &Prepared) -> String {
    match result {
        Prepared::Skip => "its condition is false".to_owned(),
        Prepared::Prompts(tokens) => format!("prepared, prompt tokens {}", few(tokens)),
        Prepared::Shrunk(tokens) => format!("prepared and cut down, prompt tokens {}", few(tokens)),
        Prepared::Done => "computed".to_owned(),
        Prepared::Computed(items) => {
            let bad = items.iter().flatten().count();
            format!("{} items computed, {bad} cannot be had", items.len())
        }
        Prepared::Judged { pass } => format!("judged, {}", passes(*pass)),
        Prepared::Impossible(failure) => format!("cannot be prepared: {}", told(failure)),
    }
}

fn judged(verdict: &Verdict) -> String {
    match verdict {
        Verdict::Valid { pass: None } => "valid".to_owned(),
        Verdict::Valid { pass: Some(pass) } => format!("valid, {}", passes(*pass)),
        Verdict::Invalid { failure, repair_tokens } => {
            format!("invalid: {}, {repair_tokens} tokens to repair", told(failure))
        }
    }
}

const fn passes(pass: bool) -> &'static str {
    if pass { "passed" } else { "rejected" }
}

/// A failure without the provider's words.
fn told(failure: &Failure) -> String {
    let window = failure.retry_after.map(|after| format!(", retry after {}", show(after)));
    let evidence = if failure.evidence.is_empty() {
        String::new()
    } else {
        format!(" ({})", failure.evidence)
    };
    format!("{}{evidence}{}", failure.class, window.unwrap_or_default())
}

fn used(usage: &Usage) -> String {
    format!("{} in and {} out", usage.input, usage.output)
}

/// The first few of a list.
fn few(tokens: &[u64]) -> String {
    let first: Vec<String> = tokens.iter().take(5).map(u64::to_string).collect();
    let more =
        if tokens.len() > 5 { format!(" and {} more", tokens.len() - 5) } else { String::new() };
    format!("{}{more}", first.join(", "))
}

fn attempt_of(attempt: AttemptId, machine: &Machine) -> String {
    match machine.attempt(attempt) {
        Some(view) => named(view.spec, machine.plan()),
        None => format!("an attempt that there is not (#{})", attempt.0),
    }
}

/// `review[3] attempt 2 on openai/gpt`
fn named(spec: &AttemptSpec, plan: &Plan) -> String {
    let AttemptSpec { step, item, n, path, .. } = spec;
    format!("{} attempt {n} on {}", place(*step, *item, plan), label(*path, plan))
}

fn label(path: PathIx, plan: &Plan) -> &str {
    plan.paths.get(path.at()).map_or("a path that there is not", |path| &path.label)
}

fn step(ix: StepIx, plan: &Plan) -> String {
    plan.steps.get(ix.at()).map_or_else(|| format!("step #{}", ix.0), |step| step.name.clone())
}

fn place(ix: StepIx, item: ItemIx, plan: &Plan) -> String {
    let fans = plan.steps.get(ix.at()).is_some_and(|step| step.each.is_some());
    let name = step(ix, plan);
    if fans { format!("{name}[{}]", item.0) } else { name }
}

/// A decision, as `trace` shows it, and when it was made.
pub(super) fn decision(decision: &Decision, plan: &Plan) -> String {
    let about = match (decision.step, decision.item) {
        (Some(step), Some(item)) => format!(" {}", place(step, item, plan)),
        (Some(ix), None) => format!(" {}", step(ix, plan)),
        (None, _) => String::new(),
    };
    format!("{}{about}: {}", decision.kind.as_str(), Words { decision, plan })
}

/// An action, with all it is made of.
pub(super) fn action(action: &Action, plan: &Plan) -> String {
    let done = match action {
        Action::Prepare { step: ix, round } => {
            format!("prepare {}, round {round}", step(*ix, plan))
        }
        Action::Shrink { step, item, most } => {
            format!("shorten the prompt of {} to {most} tokens", place(*step, *item, plan))
        }
        Action::Launch(spec) => launch(spec, plan),
        Action::Cancel { attempt } => format!("close attempt #{}", attempt.0),
        Action::Accept { attempt } => format!("take the answer of attempt #{}", attempt.0),
        Action::Close { step: ix, status } => {
            format!("end {} as {}", step(*ix, plan), status.as_str())
        }
        Action::Finish(outcome) => format!("end the run: {}", ended(outcome, plan)),
    };
    format!("→ {done}")
}

fn launch(spec: &AttemptSpec, plan: &Plan) -> String {
    let AttemptSpec { attempt, cause, max_tokens, after, extra_of, .. } = spec;
    let follows = after.map_or_else(String::new, |(from, told)| {
        let told = match told {
            Told::Nothing => "told nothing",
            Told::Violations => "told what was wrong",
            Told::Resume => "told where the run stands",
        };
        format!(", after #{}, {told}", from.0)
    });
    let extra = extra_of.map(|path| format!(", an extra attempt of {}", label(path, plan)));
    format!(
        "launch #{}: {} ({}), at most {max_tokens} tokens{follows}{}",
        attempt.0,
        named(spec, plan),
        cause.as_str(),
        extra.unwrap_or_default()
    )
}

fn ended(outcome: &Outcome, plan: &Plan) -> String {
    let names =
        |steps: &[StepIx]| -> Vec<String> { steps.iter().map(|ix| step(*ix, plan)).collect() };
    match outcome {
        Outcome::Delivered => "delivered".to_owned(),
        Outcome::Degraded { missing, unverified, shrunk } => {
            let missing = missing.iter().map(|part| match part.item {
                Some(item) => place(part.step, item, plan),
                None => step(part.step, plan),
            });
            let missing: Vec<String> = missing.collect();
            let said = |what: &str, names: Vec<String>| {
                (!names.is_empty()).then(|| format!("{what} {}", names.join(", ")))
            };
            let all = [
                said("without", missing),
                said("unverified", names(unverified)),
                said("cut down", names(shrunk)),
            ];
            let all: Vec<String> = all.into_iter().flatten().collect();
            format!("degraded, {}", all.join("; "))
        }
        Outcome::Failed(failure) => {
            let of = failure.step.map(|ix| format!(" by {}", step(ix, plan)));
            format!("failed{}, {}", of.unwrap_or_default(), failure.class)
        }
        Outcome::Cancelled => "cancelled".to_owned(),
    }
}
