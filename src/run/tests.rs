//! What a run makes of answers, without a driver.

use std::time::Duration;

use serde_json::{Value, json};

use super::fixture::Build;
use super::{Effect, Run};
use crate::domain::failure::{Failure, FailureClass};
use crate::domain::id::{AttemptId, RunId, StepIx};
use crate::domain::message::Usage;
use crate::domain::outcome::Outcome;
use crate::domain::plan::{OnRejected, Plan, Work};
use crate::domain::time::Timestamp;
use crate::policy::cutoff::Shares;
use crate::provider::{Broken, Reply};

fn build() -> Build {
    Build::new(Duration::from_secs(20))
}

/// A run whose first attempt has answered with `text`.
fn answered(build: Build, text: &str) -> (Run, Vec<Effect>) {
    let input = json!({"text": "hello", "list": []});
    let mut run = Run::new(RunId::new(1), build.done(), input, Duration::from_secs(20), 7);
    run.start(Vec::new(), Timestamp::ZERO);
    run.sent(AttemptId(0), Timestamp::ZERO);
    let reply = Reply {
        text: json!({"text": text}).to_string(),
        usage: Usage::default(),
        invented: false,
        remaining: None,
    };
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
    assert!(offered.is_empty(), "nor its validator's word on it: {offered:?}");
}

/// A run whose draft its validator has rejected for good, with these words.
fn rejected(why: &Value) -> Run {
    let flow = build()
        .step("draft", "Write about {{ input.text }}.")
        .judge("judge", "Is {{ draft.text }} right?", 0)
        .output("text", "draft.text");
    let (mut run, _) = answered(flow, "a draft");
    say(&mut run, 1, why, 1_000);
    run
}

#[test]
fn a_rejection_tells_the_caller_what_the_validator_said() {
    let message = |run: Run| {
        let report = run.report("", Timestamp::from_millis(1_000));
        report.failure.map(|failure| failure.message).unwrap_or_default()
    };
    let said = message(rejected(&json!({"pass": false, "why": "no sources"})));
    assert!(said.ends_with(r#"no revision is left; it said {"why":"no sources"}"#), "{said}");
    let long = message(rejected(&json!({"pass": false, "why": "ä".repeat(2_000)})));
    assert!(long.ends_with('…') && long.chars().count() < 450, "{long}");
}

fn say(run: &mut Run, attempt: u32, answer: &Value, at: u64) -> Vec<Effect> {
    run.sent(AttemptId(attempt), Timestamp::from_millis(at));
    let reply = Reply {
        text: answer.to_string(),
        usage: Usage::default(),
        invented: false,
        remaining: None,
    };
    run.replied(AttemptId(attempt), Ok(reply), Timestamp::from_millis(at))
}

/// The first turn of what is launched.
fn asked(effects: &[Effect]) -> Vec<&str> {
    let launches = effects.iter().filter_map(|effect| match effect {
        Effect::Launch(launch) => Some(launch.exchange.prompt.messages[0].text.as_str()),
        Effect::Cancel(_) | Effect::Finish => None,
    });
    launches.collect()
}

#[test]
fn a_decision_that_follows_a_failed_check_names_the_condition() {
    let flow = build()
        .step("draft", "Write about {{ input.text }}.")
        .check("length(text) > 3")
        .output("text", "draft.text");
    let (run, _) = answered(flow, "no");
    let report = run.report("", Timestamp::from_millis(1_000));
    let told = report.decisions.iter().find(|d| d.reason.starts_with("check_failed on"));
    let told = told.map(|d| d.reason.as_str()).unwrap_or_default();
    assert!(told.contains("length(text) > 3"), "{told}: {:#?}", report.decisions);
}

#[test]
fn every_attempt_of_a_revision_sees_its_own_feedback_whatever_is_prepared_meanwhile() {
    let flow = build()
        .step("draft", "Write.{% if feedback %} Fix: {{ feedback.why }}{% endif %}")
        .judge("judge", "Is {{ draft.text }} right?", 1)
        .step("side", "Aside of {{ input.text }}.")
        .step("later", "After {{ side.text }}.")
        .output("text", "draft.text");
    let input = json!({"text": "hello", "list": []});
    let mut run = Run::new(RunId::new(1), flow.done(), input, Duration::from_secs(20), 7);
    run.start(Vec::new(), Timestamp::ZERO);
    say(&mut run, 0, &json!({"text": "first"}), 100);
    let effects = say(&mut run, 2, &json!({"pass": false, "why": "dull"}), 200);
    assert_eq!(asked(&effects), ["Write. Fix: dull"]);
    // Another step is prepared, in its first round.
    say(&mut run, 1, &json!({"text": "aside"}), 300);
    // The revision's attempt breaks off and is followed by another.
    let failure = Failure::of_attempt(FailureClass::StreamInterrupted, "", "cut");
    let broken = Broken::from(failure);
    run.sent(AttemptId(3), Timestamp::from_millis(400));
    let mut effects = run.replied(AttemptId(3), Err(broken), Timestamp::from_millis(400));
    effects.extend(run.wake(Timestamp::from_millis(2_000)));
    let asked = asked(&effects);
    assert!(asked[0].starts_with("Write. Fix: dull"), "{asked:?}");
}

#[test]
fn a_revision_reserves_what_its_rejected_answer_and_review_add_to_the_prompt() {
    let flow = build()
        .step("draft", "Write about {{ input.text }}.")
        .judge("judge", "Is {{ draft.text }} right?", 1)
        .output("text", "draft.text")
        .change(|plan| plan.budget.tokens = Some(6_000));
    let long = "word ".repeat(3_000);
    let (mut run, _) = answered(flow, &long);
    // The judge's prompt repeats the draft: about 5,000 tokens. The revision would repeat it once more.
    run.sent(AttemptId(1), Timestamp::from_millis(1_000));
    let usage = Usage { input: 4_000, output: 20, ..Usage::default() };
    let reply =
        Reply { text: json!({"pass": false}).to_string(), usage, invented: false, remaining: None };
    let effects = run.replied(AttemptId(1), Ok(reply), Timestamp::from_millis(1_000));
    assert!(asked(&effects).is_empty(), "the budget has 1,980 tokens left");
    assert!(matches!(run.outcome(), Some(Outcome::Failed(f)) if f.class == FailureClass::Budget));
}

#[test]
fn a_fan_out_that_is_taken_over_shows_its_items_too() {
    let flow = build()
        .step("part", "Part: {{ item }}")
        .each(2, 100)
        .step("sum", "{% for p in part.items %}{{ p.item }}={{ p.output.text }};{% endfor %}")
        .output("text", "sum.text");
    let input = json!({"text": "", "list": ["a", "b"]});
    let mut run = Run::new(RunId::new(1), flow.done(), input, Duration::from_secs(20), 7);
    let outputs = json!([{"text": "A"}, {"text": "B"}]);
    let effects = run.start(vec![(StepIx(0), outputs)], Timestamp::ZERO);
    assert_eq!(asked(&effects), ["a=A;b=B;"]);
}

#[test]
fn what_was_made_of_an_answer_that_is_not_taken_over_is_not_taken_over_either() {
    let flow = build()
        .step("draft", "Write about {{ input.text }}.")
        .judge("judge", "", 0)
        .computed("pass", "length(draft.text) > 3")
        .step("use", "Use {{ draft.text }}")
        .step("last", "Last {{ use.text }}")
        .output("text", "last.text")
        .change(accept_rejected);
    let (mut run, _) = answered(flow, "no");
    say(&mut run, 1, &json!({"text": "used"}), 1_000);
    let offered: Vec<u16> = run.accepted().into_iter().map(|(step, _)| step.0).collect();
    assert!(!offered.contains(&2), "{offered:?}");
}

#[test]
fn the_prompts_of_a_fan_out_share_one_conversion_of_the_input() {
    let flow = build()
        .step("part", "{{ index }}: {{ item }} of {{ input.text }}")
        .each(10, 100)
        .step("sum", "{% for p in part %}{{ p.text }}{% endfor %}")
        .output("text", "sum.text");
    let list: Vec<String> = (0..100).map(|n| n.to_string()).collect();
    let input = json!({"text": "all", "list": list});
    let mut run = Run::new(RunId::new(1), flow.done(), input, Duration::from_secs(20), 7);
    let mut effects = run.start(Vec::new(), Timestamp::ZERO);
    assert_eq!(asked(&effects)[9], "9: 9 of all");
    for attempt in 0..100 {
        effects = say(&mut run, attempt, &json!({"text": "."}), 100);
    }
    assert_eq!(asked(&effects), [".".repeat(100)]);
    assert_eq!(run.content.conversions(), 2, "of the input, and of that with the answers");
}

#[test]
fn a_failed_run_names_only_what_a_retry_will_take_over() {
    let flow = build()
        .step("plan", "Plan {{ input.text }}.")
        .step("draft", "Write {{ plan.text }}.")
        .judge("judge", "", 0)
        .computed("pass", "length(draft.text) > 3")
        .output("text", "draft.text");
    let (mut run, _) = answered(flow, "planned");
    say(&mut run, 1, &json!({"text": "no"}), 1_000);
    let report = run.report("", Timestamp::from_millis(1_000));
    assert_eq!((report.outcome.as_str(), report.validated), ("failed", vec!["plan".to_owned()]));
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

#[test]
fn what_needs_no_model_is_computed_of_what_is_there_when_time_is_up() {
    let flow = build()
        .step("part", "{{ item }}")
        .each(2, 50)
        .step("count", "{{ part }}")
        .computed("size", "length(part)")
        .step("double", "{{ count.size }}")
        .computed("size", "count.size + count.size")
        .output("size", "double.size");
    let input = json!({"text": "", "list": ["a", "b"]});
    let mut run = Run::new(RunId::new(1), flow.done(), input, Duration::from_secs(20), 7);
    run.start(Vec::new(), Timestamp::ZERO);
    say(&mut run, 0, &json!({"text": "A"}), 100);
    run.wake(Timestamp::from_millis(19_800));
    assert!(matches!(run.outcome(), Some(Outcome::Degraded { .. })), "{:?}", run.outcome());
    assert_eq!(run.output(), Some(&json!({"size": 2})));
}

#[test]
fn a_corrected_request_is_one_attempt_and_a_line_in_the_report() {
    let flow = build().step("draft", "Write about {{ input.text }}.").output("text", "draft.text");
    let input = json!({"text": "hello", "list": []});
    let mut run = Run::new(RunId::new(1), flow.done(), input, Duration::from_secs(20), 7);
    run.start(Vec::new(), Timestamp::ZERO);
    run.sent(AttemptId(0), Timestamp::from_millis(5));
    run.corrected(
        AttemptId(0),
        "`temperature` is not sent (400)".to_owned(),
        Timestamp::from_millis(9),
    );
    let text = json!({"text": "hi"}).to_string();
    let reply = Reply { text, usage: Usage::default(), invented: false, remaining: None };
    run.replied(AttemptId(0), Ok(reply), Timestamp::from_millis(900));
    let report = run.report("", Timestamp::from_millis(900));
    assert_eq!((report.outcome.as_str(), report.steps[0].attempts.len()), ("delivered", 1));
    let told: Vec<(&str, u64)> =
        report.decisions.iter().map(|row| (row.action.as_str(), row.at_ms)).collect();
    assert_eq!(
        told,
        [
            ("prepare", 0),
            ("launch", 0),
            ("correct", 9),
            ("accept", 900),
            ("close", 900),
            ("finish", 900)
        ]
    );
    assert_eq!(
        report.decisions[2].reason,
        "a/one refused a part of the request; sent again: `temperature` is not sent (400)"
    );
}

mod swap;
