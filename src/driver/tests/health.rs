//! What runs of one host know of each other's failures, and how they share a provider's door.

use std::sync::atomic::AtomicBool;

use super::*;
use crate::domain::id::PathIx;
use crate::driver::RunHandle;

/// One step on `a/one` alone.
fn single(deadline_s: u64) -> Arc<Workflow> {
    let build = Build::new(Duration::from_secs(deadline_s)).step("only", "Do: {{ input.text }}");
    let one_path = |plan: &mut crate::domain::plan::Plan| {
        plan.models[0].paths = vec![PathIx(0)];
        plan.models[0].stronger = None;
    };
    build.change(one_path).output("result", "only.text").done()
}

fn start(host: &Arc<Host>, workflow: &Arc<Workflow>, runs: usize) -> Vec<RunHandle> {
    let fresh = CallOptions { fresh: true, ..CallOptions::default() };
    (0..runs).map(|_| host.start(workflow, text("it"), &fresh).unwrap()).collect()
}

async fn reports(handles: Vec<RunHandle>) -> Vec<RunReport> {
    let mut reports = Vec::new();
    for handle in handles {
        reports.push(handle.finished().await);
    }
    reports
}

/// Throttles with this window until it is told that it is well, then answers after so many milliseconds.
fn throttling(window_s: u64, answers_after: u64) -> (Arc<Scripted>, Arc<AtomicBool>) {
    let well = Arc::new(AtomicBool::new(false));
    let seen = well.clone();
    let scripted = Scripted::new(move |_| {
        if seen.load(Ordering::SeqCst) {
            Act::Answer(answers_after, json!({"text": "ok"}))
        } else {
            Act::Fail(300, FailureClass::RateLimited, Some(Duration::from_secs(window_s)))
        }
    });
    (scripted, well)
}

fn limits(concurrent: u32) -> Limits {
    Limits { concurrent: Some(concurrent), ..Limits::default() }
}

#[tokio::test(start_paused = true)]
async fn a_burst_of_two_hundred_runs_sends_a_handful_into_a_window_and_one_behind_it() {
    let (a, well) = throttling(30, 50);
    let b = Scripted::new(|_| Act::Hang);
    let host = host_with(&a, &b, limits(4), ServerLimits::default());
    let handles = start(&host, &single(60), 200);
    sleep(Duration::from_millis(30_290)).await;
    assert_eq!(a.seen(), 4, "in the whole window: those that were out when it began");
    well.store(true, Ordering::SeqCst);
    sleep(Duration::from_millis(40)).await;
    assert_eq!(a.seen(), 5, "then one goes first");
    for report in reports(handles).await {
        assert_eq!(report.outcome, "delivered", "{report:#?}");
        let attempts = &report.steps[0].attempts;
        assert!(attempts.iter().any(|attempt| attempt.queued_ms > 0) || attempts.len() == 2);
        assert!(attempts.iter().all(|attempt| !attempt.end.is_empty()), "one end each");
    }
    assert_eq!(a.seen(), 4 + 200, "and nobody twice");
}

#[tokio::test(start_paused = true)]
async fn after_a_window_no_more_are_out_at_once_than_a_half_of_what_was_throttled() {
    let (a, well) = throttling(5, 200);
    let b = Scripted::new(|_| Act::Hang);
    let host = host_with(&a, &b, limits(20), ServerLimits::default());
    let handles = start(&host, &single(60), 100);
    sleep(Duration::from_secs(1)).await;
    assert_eq!(a.most_open.swap(0, Ordering::SeqCst), 20);
    well.store(true, Ordering::SeqCst);
    assert!(reports(handles).await.iter().all(|report| report.outcome == "delivered"));
    assert_eq!(a.most_open.load(Ordering::SeqCst), 10);
}

#[tokio::test(start_paused = true)]
async fn a_run_goes_where_it_is_open_without_trying_what_another_found_closed() {
    let (a, _) = throttling(30, 0);
    let b = Scripted::new(|_| Act::Answer(100, json!({"text": "ok"})));
    let host = host(&a, &b);
    finish(&host, &one_step(20), text("first")).await;
    let report = finish(&host, &one_step(20), text("second")).await;
    assert_eq!((report.outcome.as_str(), a.seen(), b.seen()), ("delivered", 1, 2));
    assert_eq!(report.steps[0].attempts.len(), 1);
    let launch = report.decisions.iter().find(|d| d.action == "launch").unwrap();
    let passed = "passed over a/one, closed for 29.9 s: rate_limited in another run";
    assert!(launch.reason.contains(passed), "{}", launch.reason);
}

#[tokio::test(start_paused = true)]
async fn who_stands_in_line_when_its_path_closes_is_sent_on_at_no_cost() {
    let (a, _) = throttling(30, 0);
    let b = Scripted::new(|_| Act::Answer(100, json!({"text": "ok"})));
    let host = host_with(&a, &b, limits(1), ServerLimits::default());
    let workflow = one_step(20);
    let first = host.start(&workflow, text("1"), &CallOptions::default()).unwrap();
    let second = finish(&host, &workflow, text("2")).await;
    assert_eq!((second.outcome.as_str(), a.seen()), ("delivered", 1));
    let turned = &second.steps[0].attempts[0];
    assert_eq!((turned.end.as_str(), turned.cost_usd, turned.queued_ms / 100), ("failed", 0.0, 3));
    let failure = turned.failure.as_ref().unwrap();
    assert_eq!(failure.message, "not sent: a/one is closed for 30 s: it says rate_limited");
    assert!(first.finished().await.outcome == "delivered");
}

#[tokio::test(start_paused = true)]
async fn what_cannot_be_sent_in_time_fails_at_once_and_says_when_to_come_back() {
    let (a, _) = throttling(90, 0);
    let b = Scripted::new(|_| Act::Hang);
    let host = host(&a, &b);
    finish(&host, &single(20), text("first")).await;
    let report = finish(&host, &single(20), text("second")).await;
    assert_eq!((report.outcome.as_str(), report.elapsed_ms, a.seen()), ("failed", 0, 1));
    let failure = report.failure.unwrap();
    assert_eq!((failure.class.as_str(), failure.retryable), ("rate_limited", Some(true)));
    assert_eq!(failure.retry_after_ms.map(|ms| ms / 1_000), Some(90));
    assert!(failure.message.contains("a/one is closed for 1 m 30 s"), "{}", failure.message);
}

#[tokio::test(start_paused = true)]
async fn a_full_minute_is_no_place_to_wait_for_a_run_that_ends_before_it_opens() {
    let a = Scripted::new(|_| Act::Answer(100, json!({"text": "ok"})));
    let b = Scripted::new(|_| Act::Hang);
    let limits = Limits { rpm: Some(2), ..Limits::default() };
    let host = host_with(&a, &b, limits, ServerLimits::default());
    let reports = reports(start(&host, &single(20), 5)).await;
    let delivered = reports.iter().filter(|report| report.outcome == "delivered").count();
    assert_eq!((delivered, a.seen()), (2, 2));
    for report in reports.iter().filter(|report| report.outcome == "failed") {
        let failure = report.failure.as_ref().unwrap();
        assert_eq!((failure.class.as_str(), report.elapsed_ms / 100), ("rate_limited", 0));
        assert_eq!(failure.retry_after_ms.map(|ms| ms / 1_000), Some(60));
    }
    let late = finish(&host, &single(90), text("patient")).await;
    assert_eq!(late.outcome, "delivered");
    assert!(late.steps[0].attempts[0].queued_ms >= 59_000, "waiting is told as what it is");
}

#[tokio::test(start_paused = true)]
async fn where_the_minute_is_full_another_path_is_taken() {
    let answers = || Scripted::new(|_| Act::Answer(100, json!({"text": "ok"})));
    let (a, b) = (answers(), answers());
    let limits = Limits { rpm: Some(3), ..Limits::default() };
    let host = host_with(&a, &b, limits, ServerLimits::default());
    for n in 0..6 {
        let report = finish(&host, &one_step(20), text(&n.to_string())).await;
        assert_eq!((report.outcome.as_str(), report.elapsed_ms / 10), ("delivered", 10));
    }
    assert_eq!((a.seen(), b.seen()), (3, 3));
}

#[tokio::test(start_paused = true)]
async fn what_a_reply_says_is_left_is_not_exceeded_by_the_next_run() {
    let a = Scripted::new(|_| Act::Last(40, 100, json!({"text": "ok"})));
    let b = Scripted::new(|_| Act::Answer(100, json!({"text": "ok"})));
    let host = host(&a, &b);
    finish(&host, &one_step(20), text("first")).await;
    finish(&host, &one_step(20), text("second")).await;
    assert_eq!((a.seen(), b.seen()), (1, 1), "another path is taken");
    let shed = finish(&host, &single(20), text("third")).await;
    assert_eq!((class(&shed), shed.elapsed_ms, a.seen()), ("rate_limited", 0, 1));
    let patient = finish(&host, &single(90), text("fourth")).await;
    let attempt = &patient.steps[0].attempts[0];
    assert_eq!((patient.outcome.as_str(), attempt.queued_ms / 1_000), ("delivered", 39));
}

#[tokio::test(start_paused = true)]
async fn a_fan_out_of_a_thousand_does_not_hold_up_another_run_or_another_workflow() {
    let a = Scripted::new(|_| Act::Answer(100, json!({"text": "ok"})));
    let b = Scripted::new(|_| Act::Hang);
    let host = host_with(&a, &b, limits(5), ServerLimits::default());
    let wide = Build::new(Duration::from_secs(60)).step("part", "{{ item }}").each(200, 100);
    let wide = wide.output("parts", "part.text").done();
    let list: Vec<String> = (0..1_000).map(|n| n.to_string()).collect();
    let input = json!({ "text": "", "list": list });
    let wide = host.start(&wide, input, &CallOptions::default()).unwrap();
    sleep(Duration::from_secs(1)).await;
    let small = finish(&host, &single(20), text("same workflow")).await;
    assert!(small.elapsed_ms <= 250, "{}", small.elapsed_ms);
    let mut other = Workflow::clone(&single(20));
    "other".clone_into(&mut other.name);
    let other = finish(&host, &Arc::new(other), text("another")).await;
    assert!(other.elapsed_ms <= 250, "{}", other.elapsed_ms);
    assert_eq!(wide.finished().await.outcome, "delivered");
    assert_eq!((a.seen(), a.most_open.load(Ordering::SeqCst)), (1_002, 5));
}

#[tokio::test(start_paused = true)]
async fn a_dead_key_is_found_out_once_and_stays_out_until_it_changes() {
    let a = Scripted::new(|_| Act::Fail(100, FailureClass::Auth, None));
    let b = Scripted::new(|_| Act::Answer(100, json!({"text": "ok"})));
    let clock = Clock::start();
    let lanes = |key| {
        let mut lanes = Lanes::default();
        lanes.add_marked("a", a.clone(), Limits::default(), clock, key);
        lanes.add_marked("b", b.clone(), Limits::default(), clock, 0);
        lanes
    };
    let limits = ServerLimits::default();
    let settings = HostSettings { lanes: lanes(1), limits, store: None, clock, seed: Some(1) };
    let host = Arc::new(Host::new(settings));
    for n in 0..5 {
        let report = finish(&host, &one_step(20), text(&n.to_string())).await;
        assert_eq!(report.outcome, "delivered");
    }
    assert_eq!((a.seen(), host.out().len()), (1, 1));
    assert!(host.out()[0].starts_with("provider 'a' is out (auth): it says auth."));
    host.reconfigure(lanes(1), limits);
    sleep(Duration::from_secs(100_000)).await;
    let only = finish(&host, &single(20), text("only there")).await;
    assert_eq!((class(&only), a.seen(), only.elapsed_ms), ("auth", 1, 0));
    let failure = only.failure.unwrap();
    assert_eq!((failure.retryable, failure.retry_after_ms), (Some(false), None));
    host.reconfigure(lanes(2), limits);
    assert!(host.out().is_empty());
    finish(&host, &one_step(20), text("again")).await;
    assert_eq!((a.seen(), host.out().len()), (2, 1));
}

#[tokio::test(start_paused = true)]
async fn a_run_that_still_uses_the_old_key_does_not_take_the_new_one_out() {
    let a = Scripted::new(|_| Act::Fail(5_000, FailureClass::Auth, None));
    let b = Scripted::new(|_| Act::Answer(100, json!({"text": "ok"})));
    let fixed = Scripted::new(|_| Act::Answer(100, json!({"text": "ok"})));
    let clock = Clock::start();
    let lanes = |a: &Arc<Scripted>, key| {
        let mut lanes = Lanes::default();
        lanes.add_marked("a", a.clone(), Limits::default(), clock, key);
        lanes.add_marked("b", b.clone(), Limits::default(), clock, 0);
        lanes
    };
    let limits = ServerLimits::default();
    let settings = HostSettings { lanes: lanes(&a, 1), limits, store: None, clock, seed: Some(1) };
    let host = Arc::new(Host::new(settings));
    let old = host.start(&one_step(20), text("old"), &CallOptions::default()).unwrap();
    sleep(Duration::from_secs(1)).await;
    host.reconfigure(lanes(&fixed, 2), limits);
    assert_eq!(old.finished().await.outcome, "delivered");
    assert!(host.out().is_empty(), "{:?}", host.out());
    finish(&host, &one_step(20), text("new")).await;
    assert_eq!((a.seen(), fixed.seen()), (1, 1));
}

#[tokio::test(start_paused = true)]
async fn callers_that_leave_the_line_leave_no_trace() {
    let a = Scripted::new(|_| Act::Answer(1_000, json!({"text": "ok"})));
    let b = Scripted::new(|_| Act::Hang);
    let host = host_with(&a, &b, limits(1), ServerLimits::default());
    let mut handles = start(&host, &single(60), 50);
    sleep(Duration::from_millis(500)).await;
    for handle in handles.drain(1..49) {
        handle.cancel();
        assert_eq!(handle.finished().await.outcome, "cancelled");
    }
    let reports = reports(handles).await;
    assert!(reports.iter().all(|report| report.outcome == "delivered"));
    assert_eq!((reports[1].elapsed_ms / 100, a.seen()), (20, 2));
}

#[tokio::test(start_paused = true)]
async fn two_thousand_runs_before_narrow_doors_end_in_time_and_say_what_they_waited_for() {
    let flaky = |exchange: &Exchange| match exchange.draw.run % 7 {
        0 => Act::Fail(100, FailureClass::RateLimited, Some(Duration::from_secs(2))),
        1 => Act::Fail(50, FailureClass::ServerError, None),
        2 => Act::Hang,
        _ => Act::Answer(300, json!({"text": "ok"})),
    };
    let (a, b) = (Scripted::new(flaky), Scripted::new(flaky));
    let clock = Clock::start();
    let mut lanes = Lanes::default();
    let narrow = Limits { concurrent: Some(20), rpm: Some(600), tpm: Some(200_000) };
    lanes.add("a", a.clone(), narrow, clock);
    lanes.add("b", b.clone(), narrow, clock);
    let limits = ServerLimits::default();
    let host = Arc::new(Host::new(HostSettings { lanes, limits, store: None, clock, seed: None }));
    let reports = reports(start(&host, &one_step(20), 2_000)).await;
    let mut delivered = 0;
    for report in &reports {
        assert!(report.elapsed_ms < report.deadline_ms, "{report:#?}");
        delivered += usize::from(report.outcome == "delivered");
        let Some(failure) = &report.failure else { continue };
        if failure.class == "deadline" {
            let attempts = &report.steps[0].attempts;
            let sent = attempts.iter().any(|attempt| attempt.first_token_ms.is_some());
            let told =
                failure.message.contains("queued for") || failure.message.contains("no token");
            assert!(sent || told, "{}", failure.message);
        }
    }
    assert!(delivered > 0 && a.most_open.load(Ordering::SeqCst) <= 20);
    host.drain(Duration::from_secs(1)).await;
    assert_eq!((a.open(), b.open()), (0, 0));
}
