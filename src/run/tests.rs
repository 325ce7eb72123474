//! What a run makes of answers, without a driver.

use std::time::Duration;

use serde_json::json;

use super::fixture::Build;
use super::{Effect, Run};
use crate::domain::id::{AttemptId, RunId, StepIx};
use crate::domain::message::Usage;
use crate::domain::outcome::Outcome;
use crate::domain::plan::{OnRejected, Plan, Work};
use crate::domain::time::Timestamp;
use crate::policy::cutoff::Shares;
use crate::provider::Reply;

fn build() -> Build {
    Build::new(Duration::from_secs(20))
}

/// A run whose first attempt has answered with `text`.
fn answered(build: Build, text: &str) -> (Run, Vec<Effect>) {
    let input = json!({"text": "hello", "list": []});
    let mut run = Run::new(RunId::new(1), build.done(), input, Duration::from_secs(20), 7);
    run.start(Vec::new(), Timestamp::ZERO);
    run.sent(AttemptId(0), Timestamp::ZERO);
    let reply = Reply { text: json!({"text": text}).to_string(), usage: Usage::default() };
    let effects = run.replied(AttemptId(0), Ok(reply), Timestamp::from_millis(900));
    (run, effects)
}

fn accept_rejected(plan: &mut Plan) {
    if let Work::Model { policy, .. } = &mut plan.steps[0].work {
        policy.on.rejected = OnRejected::Accept;
    }
}

#[test]
fn a_validator_made_of_expressions_passes_or_rejects_by_its_own_word() {
    let flow = || {
        build()
            .step("draft", "Write about {{ input.text }}.")
            .judge("judge", "", 0)
            .computed("pass", "length(draft.text) > 3")
            .output("text", "draft.text")
    };
    let (run, _) = answered(flow(), "long enough");
    assert_eq!(run.outcome(), Some(&Outcome::Delivered));
    let (run, _) = answered(flow(), "no");
    assert!(matches!(run.outcome(), Some(Outcome::Failed(_))), "{:?}", run.outcome());
}

#[test]
fn a_computed_answer_is_seen_by_its_validator() {
    let flow = build()
        .step("draft", "Write about {{ input.text }}.")
        .step("sum", "{{ draft.text }}")
        .computed("size", "length(draft.text)")
        .judge("judge", "Is {{ sum.size }} right?", 0)
        .output("size", "sum.size");
    let (_, effects) = answered(flow, "four");
    let Some(Effect::Launch(launch)) = effects.first() else { panic!("{effects:?}") };
    assert!(launch.exchange.prompt.messages[0].text.contains("Is 4 right?"), "{launch:?}");
}

#[test]
fn an_answer_that_no_validator_vouches_for_is_not_offered_to_the_next_run() {
    let flow = build()
        .step("draft", "Write about {{ input.text }}.")
        .judge("judge", "", 0)
        .computed("pass", "length(draft.text) > 3")
        .output("text", "draft.text")
        .change(accept_rejected);
    let (run, _) = answered(flow, "no");
    assert!(matches!(run.outcome(), Some(Outcome::Degraded { .. })), "{:?}", run.outcome());
    let offered: Vec<u16> = run.accepted().into_iter().map(|(step, _)| step.0).collect();
    assert_eq!(offered, [1], "its validator's word alone, which the engine then leaves aside");
}

#[test]
fn what_follows_a_judged_step_shares_its_time_with_the_judge() {
    let workflow = Build::new(Duration::from_secs(40))
        .step("draft", "{{ input.text }}")
        .judge("review", "{{ draft.text }}", 0)
        .step("send", "{{ draft.text }}")
        .done();
    let shares = Shares::of(&workflow.plan);
    let chains = [0, 1, 2].map(|ix| shares.chain(StepIx(ix)));
    assert_eq!(chains, [300, 200, 100]);
    assert_eq!(shares.share(StepIx(1), Duration::from_secs(20), 1), Duration::from_secs(10));
}
