//! What runs show of times: written down, kept over restarts, told to runs that follow; losers read to their end.

use super::*;
use crate::latency::book::Book;
use crate::latency::curve::{Curve, Part};
use crate::store::CurveStore;

/// A host that reads one of `drain` losers to its end.
fn learning(
    a: &Arc<Scripted>,
    b: &Arc<Scripted>,
    file: Option<CurveStore>,
    drain: u64,
) -> Arc<Host> {
    let clock = Clock::start();
    let mut lanes = Lanes::default();
    lanes.add("a", a.clone(), Limits::default(), clock);
    lanes.add("b", b.clone(), Limits::default(), clock);
    let (limits, seed) = (ServerLimits::default(), Some(1));
    let settings = HostSettings { lanes, limits, store: None, clock, seed };
    Arc::new(Host::new(settings).learning(file, drain))
}

fn quick() -> Arc<Scripted> {
    Scripted::new(|_| Act::Answer(2_000, json!({"text": "ok"})))
}

fn silent() -> Arc<Scripted> {
    Scripted::new(|_| Act::Hang)
}

/// Weight of the events and of all, of one step on one path: of the time to the complete answer.
fn counted(book: &Book, path: &str) -> (f64, f64) {
    let Some(curve) = book.curve("flow/only", path) else { return (0.0, 0.0) };
    let total = times(curve, book);
    ((total.events() * 10.0).round() / 10.0, (total.total() * 10.0).round() / 10.0)
}

fn times(curve: &Curve, book: &Book) -> crate::latency::histogram::Histogram {
    curve.measured(Part::Total, None, book.fade(Duration::ZERO))
}

/// The time to the complete answer that half of the attempts are within.
fn median(book: &Book, path: &str) -> f64 {
    let curve = book.curve("flow/only", path).unwrap();
    times(curve, book).quantile(0.5).unwrap().at_least()
}

fn near(one: f64, other: f64) -> bool {
    (one / other - 1.0).abs() < 0.05
}

#[tokio::test(start_paused = true)]
async fn every_attempt_is_written_down_a_loser_as_broken_off() {
    let slow = Scripted::new(|_| Act::Answer(25_000, json!({"text": "late"})));
    let (a, b) = (slow, quick());
    let host = learning(&a, &b, None, 0);
    let report = finish(&host, &one_step(40), text("it")).await;
    assert_eq!(report.outcome, "delivered");
    let book = host.book();
    assert_eq!(counted(&book, "b/two"), (1.0, 1.0));
    assert!(near(median(&book, "b/two"), 2.0), "{}", median(&book, "b/two"));
    assert_eq!(counted(&book, "a/one"), (0.0, 1.0), "it would have gone on");
    assert_eq!(a.open(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_loser_that_is_read_to_its_end_tells_its_true_time_and_nothing_else() {
    let slow = Scripted::new(|_| Act::Answer(25_000, json!({"text": "late"})));
    let (a, b) = (slow, quick());
    let host = learning(&a, &b, None, 1);
    let handle = host.start(&one_step(40), text("it"), &CallOptions::default()).unwrap();
    let report = handle.finished().await;
    assert_eq!((report.outcome.as_str(), a.open()), ("delivered", 1), "it goes on");
    assert_eq!(counted(&host.book(), "a/one"), (0.0, 0.0), "nothing is said of it yet");
    sleep(Duration::from_secs(15)).await;
    assert_eq!(a.open(), 0);
    let book = host.book();
    assert_eq!(counted(&book, "a/one"), (1.0, 1.0));
    assert!(near(median(&book, "a/one"), 25.0), "{}", median(&book, "a/one"));
    assert_eq!(handle.report(), report, "the run does not hear of it");
    assert_eq!((a.seen(), b.seen()), (1, 1));
}

#[tokio::test(start_paused = true)]
async fn a_loser_that_never_ends_is_closed_at_twice_its_runs_deadline() {
    let (a, b) = (silent(), quick());
    let host = learning(&a, &b, None, 1);
    finish(&host, &one_step(40), text("it")).await;
    sleep(Duration::from_secs(60)).await;
    assert_eq!(a.open(), 1);
    sleep(Duration::from_secs(10)).await;
    assert_eq!(a.open(), 0);
    let book = host.book();
    assert_eq!(counted(&book, "a/one"), (0.0, 1.0));
    let longest = times(book.curve("flow/only", "a/one").unwrap(), &book);
    assert!(near(longest.quantile(0.5).unwrap().at_least(), 80.0));
}

#[tokio::test(start_paused = true)]
async fn a_server_that_leaves_closes_losers_at_once() {
    let (a, b) = (silent(), quick());
    let host = learning(&a, &b, None, 1);
    finish(&host, &one_step(40), text("it")).await;
    assert_eq!(a.open(), 1);
    let left = tokio::time::timeout(Duration::from_secs(1), host.drain(Duration::from_secs(30)));
    left.await.unwrap();
    assert_eq!(a.open(), 0);
    assert_eq!(counted(&host.book(), "a/one"), (0.0, 1.0));
}

#[tokio::test(start_paused = true)]
async fn losers_that_cost_nothing_more_or_are_one_too_many_are_closed() {
    let (a, b) = (silent(), quick());
    let host = learning(&a, &b, None, 1);
    let free = Build::new(Duration::from_secs(40)).step("only", "Do: {{ input.text }}");
    let free = free.change(|plan| plan.providers[0].billed_on_cancel = false);
    finish(&host, &free.output("result", "only.text").done(), text("it")).await;
    assert_eq!(a.open(), 0);
    let fresh = CallOptions { fresh: true, ..CallOptions::default() };
    let workflow = one_step(40);
    let start = |_| host.start(&workflow, text("it"), &fresh).unwrap();
    let handles: Vec<_> = (0..20).map(start).collect();
    for handle in handles {
        handle.finished().await;
    }
    sleep(Duration::from_millis(1)).await;
    assert_eq!(a.open(), 16);
}

#[tokio::test(start_paused = true)]
async fn nothing_goes_on_of_a_call_that_was_withdrawn_or_is_late() {
    let (a, b) = (silent(), silent());
    let host = learning(&a, &b, None, 1);
    let handle = host.start(&one_step(40), text("it"), &CallOptions::default()).unwrap();
    sleep(Duration::from_secs(15)).await;
    assert_eq!((a.open(), b.open()), (1, 1));
    handle.cancel();
    handle.finished().await;
    sleep(Duration::from_millis(1)).await;
    assert_eq!((a.open(), b.open()), (0, 0));
    finish(&host, &one_step(40), text("another")).await;
    sleep(Duration::from_millis(1)).await;
    assert_eq!((a.open(), b.open()), (0, 0));
}

#[tokio::test(start_paused = true)]
async fn what_was_learned_outlives_the_server() {
    let folder = tempfile::tempdir().unwrap();
    let file = CurveStore::at(folder.path());
    let (a, b) = (quick(), silent());
    let host = learning(&a, &b, Some(file.clone()), 0);
    let before = host.start(&one_step(40), text("it"), &CallOptions::default()).unwrap();
    assert_eq!(before.pilot_mark(), None, "nothing is known yet");
    before.finished().await;
    host.drain(Duration::from_secs(1)).await;
    assert_eq!(counted(&file.load().unwrap().book, "a/one"), (1.0, 1.0));
    let next = learning(&a, &b, Some(file.clone()), 0);
    assert_eq!(next.book(), file.load().unwrap().book);
    let told = next.start(&one_step(40), text("it"), &CallOptions::default()).unwrap();
    assert!(told.pilot_mark().is_some());
    told.finished().await;
    next.drain(Duration::from_secs(1)).await;
    assert_eq!(counted(&file.load().unwrap().book, "a/one"), (2.0, 2.0));
}

#[tokio::test(start_paused = true)]
async fn the_file_is_written_every_half_minute_at_most_and_at_the_end() {
    let folder = tempfile::tempdir().unwrap();
    let file = CurveStore::at(folder.path());
    let (a, b) = (quick(), silent());
    let host = learning(&a, &b, Some(file.clone()), 0);
    let kept = || counted(&file.load().unwrap().book, "a/one").1;
    for (pause, expected) in [(1, 1.0), (1, 1.0), (22, 1.0), (1, 4.0), (1, 4.0)] {
        finish(&host, &one_step(40), text("it")).await;
        sleep(Duration::from_secs(pause)).await;
        assert!((kept() - expected).abs() < 0.1, "{}, not {expected}", kept());
    }
    host.drain(Duration::from_secs(1)).await;
    assert!((kept() - 5.0).abs() < 0.1, "{}", kept());
}

#[tokio::test(start_paused = true)]
async fn two_servers_learn_from_each_other_by_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let file = CurveStore::at(folder.path());
    let (a, b) = (quick(), silent());
    let (one, other) =
        (learning(&a, &b, Some(file.clone()), 0), learning(&a, &b, Some(file.clone()), 0));
    finish(&one, &one_step(40), text("it")).await;
    finish(&other, &one_step(40), text("it")).await;
    one.drain(Duration::from_secs(1)).await;
    other.drain(Duration::from_secs(1)).await;
    assert_eq!(counted(&file.load().unwrap().book, "a/one"), (2.0, 2.0));
    assert_eq!(counted(&other.book(), "a/one"), (2.0, 2.0));
}

#[tokio::test(start_paused = true)]
async fn simulated_providers_teach_nothing_about_real_ones() {
    let folder = tempfile::tempdir().unwrap();
    let file = CurveStore::at(folder.path());
    let (a, b) = (quick(), silent());
    let host = learning(&a, &b, Some(file.clone()), 0);
    let build = Build::new(Duration::from_secs(40)).step("only", "Do: {{ input.text }}");
    let build = build.change(|plan| plan.providers.iter_mut().for_each(|one| one.simulated = true));
    let workflow = build.output("result", "only.text").done();
    finish(&host, &workflow, text("it")).await;
    assert_eq!(host.book(), Book::new());
    let fresh = CallOptions { fresh: true, ..CallOptions::default() };
    let next = host.start(&workflow, text("it"), &fresh).unwrap();
    assert!(next.pilot_mark().is_some(), "but to other simulated runs");
    next.finished().await;
    host.drain(Duration::from_secs(1)).await;
    assert!(!file.file().exists());
}

#[tokio::test(start_paused = true)]
async fn a_pilot_is_made_anew_where_something_was_learned_and_five_seconds_have_passed() {
    let (a, b) = (quick(), silent());
    let host = learning(&a, &b, None, 0);
    let workflow = one_step(40);
    let fresh = CallOptions { fresh: true, ..CallOptions::default() };
    let mut marks = Vec::new();
    for _ in 0..6 {
        let run = host.start(&workflow, text("it"), &fresh).unwrap();
        marks.push(run.pilot_mark());
        run.finished().await;
    }
    // A run each 2 s: the first pilot is made for the second run, at 2 s; what is made at 8 s is told from 10 s on.
    assert_eq!(marks[0], None);
    assert_eq!(marks[1], marks[2]);
    assert_eq!(marks[1], marks[4]);
    assert_ne!(marks[4], marks[5]);
}
