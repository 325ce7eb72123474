//! `usd_per_day`: runs that are under way at once cannot pass it together.

use super::*;
use crate::domain::id::RunId;
use crate::domain::money::Usd;
use crate::domain::time::Timestamp;
use crate::run::{Effect, Run};

/// A server that may spend so much a day, on providers that answer after a second.
fn frugal(dollars: f64, a: &Arc<Scripted>) -> Arc<Host> {
    let usd_per_day = Usd::from_dollars(dollars);
    host_with(a, a, Limits::default(), ServerLimits { usd_per_day, ..ServerLimits::default() })
}

fn slow() -> Arc<Scripted> {
    Scripted::new(|_| Act::Answer(1_000, json!({"text": "done"})))
}

fn start(host: &Arc<Host>, n: usize) -> Result<crate::driver::RunHandle, Refusal> {
    host.start(&one_step(20), text(&format!("{n:03}")), &CallOptions::default())
}

/// What one attempt of such a run holds.
fn held_by_one() -> f64 {
    let deadline = Duration::from_secs(20);
    let mut run = Run::new(RunId::new(1), one_step(20), text("000"), deadline, 1);
    match run.start(Vec::new(), Timestamp::ZERO).as_slice() {
        [Effect::Launch(launch)] => launch.most.dollars(),
        other => panic!("{other:?}"),
    }
}

#[tokio::test(start_paused = true)]
async fn runs_at_once_never_spend_more_than_the_day_allows() {
    let one = held_by_one();
    let a = slow();
    let host = frugal(3.5 * one, &a);
    let runs: Vec<_> = (0..20).map(|n| start(&host, n).unwrap()).collect();
    let (mut delivered, mut refused, mut spent) = (0, 0, 0.0);
    for run in runs {
        let report = run.finished().await;
        spent += report.cost_usd;
        let Some(failure) = &report.failure else {
            delivered += 1;
            continue;
        };
        assert_eq!(failure.class, "budget");
        assert!(failure.message.contains("held by attempts in flight"), "{}", failure.message);
        assert_eq!((failure.retry_after_ms, failure.retryable), (Some(5_000), Some(true)));
        refused += 1;
    }
    assert_eq!((delivered, refused, a.seen()), (3, 17, 3), "what was in flight was held");
    assert!(spent <= 3.5 * one, "{spent}");
    let report = start(&host, 21).unwrap().finished().await;
    assert_eq!(report.outcome, "delivered", "what they left is free again");
}

#[tokio::test(start_paused = true)]
async fn a_day_that_is_spent_takes_no_run_and_says_when_it_does() {
    let host = frugal(90e-6, &Scripted::new(|_| Act::Hang));
    let tomorrow = host.start(&one_step(20), text("1"), &CallOptions::default()).unwrap();
    let failure = tomorrow.finished().await.failure.unwrap();
    assert!(failure.message.ends_with("it opens at 00:00 UTC"), "{}", failure.message);
    let wait = failure.retry_after_ms.unwrap();
    assert!(wait > 0 && wait <= 86_400_000, "{wait}");
    // One that has cost all of it.
    let one = held_by_one();
    let a = Scripted::new(|_| Act::Hang);
    let host = frugal(one, &a);
    start(&host, 1).unwrap().finished().await;
    let Err(Refusal::Full { message, retry_after }) = start(&host, 2) else { panic!("started") };
    assert!(message.ends_with("is spent; it opens at 00:00 UTC"), "{message}");
    assert!(retry_after <= Duration::from_secs(86_400), "{retry_after:?}");
}

#[tokio::test(start_paused = true)]
async fn money_that_runs_under_way_hold_is_asked_for_again_soon() {
    let one = held_by_one();
    let a = slow();
    let host = frugal(one, &a);
    let first = start(&host, 1).unwrap();
    while a.seen() == 0 {
        tokio::task::yield_now().await;
    }
    let Err(Refusal::Full { message, retry_after }) = start(&host, 2) else { panic!("started") };
    assert!(message.contains("is held by runs under way"), "{message}");
    assert_eq!(retry_after, Duration::from_secs(5));
    assert_eq!(first.finished().await.outcome, "delivered");
}

#[tokio::test(start_paused = true)]
async fn a_list_that_the_day_cannot_pay_for_fails_item_by_item_and_not_the_server() {
    let one = held_by_one();
    let a = slow();
    let host = frugal(one, &a);
    let workflow = Build::new(Duration::from_secs(20))
        .step("part", "Do: {{ item }}")
        .each(8, 0)
        .output("result", "length(part)")
        .done();
    let list: Vec<String> = (0..1_000).map(|n| format!("{n:03}")).collect();
    let report = finish(&host, &workflow, json!({"text": "", "list": list})).await;
    assert_eq!(report.outcome, "degraded");
    assert_eq!(report.output, Some(json!({"result": 1})));
    assert_eq!(a.seen(), 1);
}
