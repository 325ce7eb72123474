use super::*;
use crate::trace::report::{DecisionReport, FailureReport};

fn attempt(n: u32, path: &str, cause: &str, times: (u64, u64), end: &str) -> AttemptReport {
    AttemptReport {
        n,
        path: path.to_owned(),
        cause: cause.to_owned(),
        started_ms: times.0,
        ended_ms: Some(times.1),
        end: end.to_owned(),
        ..AttemptReport::default()
    }
}

fn step(name: &str, item: Option<u32>, status: &str, attempts: Vec<AttemptReport>) -> StepReport {
    StepReport {
        step: name.to_owned(),
        item,
        status: status.to_owned(),
        attempts,
        ..StepReport::default()
    }
}

fn hedged() -> RunReport {
    let slow = attempt(1, "sim_a/flagship", "primary", (0, 8_000), "superseded");
    let mut hedge = attempt(2, "sim_b/flagship", "hedge", (4_000, 8_000), "accepted");
    hedge.first_token_ms = Some(6_000);
    let mut broken = attempt(1, "sim_a/flagship", "primary", (8_000, 10_000), "failed");
    broken.first_token_ms = Some(8_500);
    broken.failure =
        Some(FailureReport { class: "schema_violation".to_owned(), ..FailureReport::default() });
    RunReport {
        elapsed_ms: 10_000,
        deadline_ms: 20_000,
        steps: vec![
            step("classify", None, "ok", vec![slow, hedge]),
            step("gaps", None, "skipped", Vec::new()),
            step("reply", None, "failed", vec![broken]),
        ],
        decisions: vec![DecisionReport {
            at_ms: 4_000,
            step: Some("classify".to_owned()),
            action: "cut".to_owned(),
            reason: "no first token on sim_a/flagship within 4 s (cold-start cutoff)".to_owned(),
            ..DecisionReport::default()
        }],
        ..RunReport::default()
    }
}

#[test]
fn attempts_are_drawn_where_they_ran_with_their_cutoff() {
    let report = hedged();
    let lines = Timeline::of_ended(&report, Terminal::plain(100)).lines(100);
    insta::assert_snapshot!(lines.join("\n"));
    assert!(lines.iter().all(|line| line.chars().count() <= 100));
}

#[test]
fn a_run_under_way_keeps_its_scale_for_a_while() {
    let mut report = hedged();
    let scale = |report: &RunReport| Timeline::of_running(report, Terminal::plain(100)).scale;
    let before = scale(&report);
    report.elapsed_ms += 100;
    assert_eq!(scale(&report), before);
    report.elapsed_ms = 19_000;
    assert!(scale(&report) > before);
}

#[test]
fn a_fan_out_of_a_thousand_items_is_shortened_and_says_so() {
    let one = || vec![attempt(1, "a/b", "primary", (0, 10), "accepted")];
    let steps = (0..1_000).map(|item| step("answer", Some(item), "ok", one())).collect();
    let report = RunReport { elapsed_ms: 10, steps, ..RunReport::default() };
    let lines = Timeline::of_ended(&report, Terminal::plain(100)).lines(20);
    assert_eq!(lines.len(), 20);
    assert_eq!(lines[19], "… and 982 more; --json has them all");
}

#[test]
fn an_attempt_that_never_got_a_slot_is_drawn_as_queued() {
    let mut waiting = attempt(1, "a/b", "primary", (0, 10_000), "cancelled");
    waiting.queued_ms = 10_000;
    let steps = vec![step("answer", None, "timed_out", vec![waiting])];
    let report = RunReport { elapsed_ms: 10_000, steps, ..RunReport::default() };
    let lines = Timeline::of_ended(&report, Terminal::plain(100)).lines(20);
    assert!(lines[1].contains("····") && !lines[1].contains(SILENT), "{}", lines[1]);
}
