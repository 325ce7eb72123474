//! Validators, and the answers they send back.

use super::*;
use crate::domain::plan::OnRejected;

fn judged(revise: u32, deadline_s: u64) -> Build {
    Build::new(Duration::from_secs(deadline_s))
        .step("draft", "Draft: {{ input.text }}")
        .judge("review", "Judge: {{ draft.text }}", revise)
        .output("result", "draft.text")
}

/// Drafts, and a validator that never passes.
fn strict() -> impl Fn(&Exchange) -> Act + Send + Sync + 'static {
    |exchange| match exchange.draw.step_name.as_str() {
        "review" => Act::Answer(100, json!({"pass": false, "why": "dull"})),
        _ => Act::Answer(100, json!({"text": "draft"})),
    }
}

#[tokio::test(start_paused = true)]
async fn a_validator_that_never_passes_ends_in_a_rejection() {
    let (a, b) = (Scripted::new(strict()), Scripted::new(strict()));
    let report = finish(&host(&a, &b), &judged(2, 40).done(), text("it")).await;
    assert_eq!((report.outcome.as_str(), class(&report)), ("failed", "rejected"));
    let drafts: Vec<&str> = report.steps[0].attempts.iter().map(|a| a.cause.as_str()).collect();
    assert_eq!(drafts, ["primary", "revision", "revision"]);
    assert_eq!(report.steps[1].attempts.len(), 3);
}

#[tokio::test(start_paused = true)]
async fn a_rejected_answer_can_be_accepted_by_policy_and_is_named() {
    let (a, b) = (Scripted::new(strict()), Scripted::new(strict()));
    let accept = |plan: &mut crate::domain::plan::Plan| {
        for step in &mut plan.steps {
            if let Work::Model { policy, .. } = &mut step.work {
                policy.on.rejected = OnRejected::Accept;
            }
        }
    };
    let report = finish(&host(&a, &b), &judged(1, 40).change(accept).done(), text("it")).await;
    assert_eq!(report.outcome, "degraded");
    assert_eq!(report.unverified, ["draft"]);
}

#[tokio::test(start_paused = true)]
async fn a_revision_is_told_what_the_reviewer_said() {
    let script = |exchange: &Exchange| {
        let turns = &exchange.prompt.messages;
        match (exchange.draw.step_name.as_str(), turns.len()) {
            ("review", _) if turns[0].text.contains("better") => {
                Act::Answer(10, json!({"pass": true}))
            }
            ("review", _) => Act::Answer(10, json!({"pass": false, "why": "dull"})),
            (_, 1) => Act::Answer(10, json!({"text": "first"})),
            _ => {
                assert_eq!(turns[1].text, "{\"text\":\"first\"}");
                assert!(turns[2].text.contains("dull"), "{}", turns[2].text);
                Act::Answer(10, json!({"text": "better"}))
            }
        }
    };
    let (a, b) = (Scripted::new(script), Scripted::new(script));
    let report = finish(&host(&a, &b), &judged(1, 40).done(), text("it")).await;
    assert_eq!(report.output, Some(json!({"result": "better"})), "{:?}", report.failure);
}

#[tokio::test(start_paused = true)]
async fn an_optional_validator_that_hangs_leaves_the_answer_unverified() {
    let script = |exchange: &Exchange| match exchange.draw.step_name.as_str() {
        "review" => Act::Hang,
        _ => Act::Answer(100, json!({"text": "draft"})),
    };
    let (a, b) = (Scripted::new(script), Scripted::new(script));
    let workflow = judged(1, 20).change(|plan| plan.steps[1].optional = true).done();
    let report = finish(&host(&a, &b), &workflow, text("it")).await;
    assert_eq!(
        (report.outcome.as_str(), report.unverified.as_slice()),
        ("degraded", ["draft".to_owned()].as_slice())
    );
    assert_eq!(report.output, Some(json!({"result": "draft"})));
    assert!(report.elapsed_ms < 20_000);
}
