//! The driver under paused time, with in-memory providers.

mod day;
mod fan_out;
mod health;
mod hedge;
mod judge;
mod learned;
mod retry;
mod stall;
mod times;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::sleep;

use super::clock::Clock;
use super::{CallOptions, Host, HostSettings, Lanes, Refusal};
use crate::domain::failure::{Failure, FailureClass, Scope};
use crate::domain::id::StepIx;
use crate::domain::message::Usage;
use crate::domain::plan::{Hedge, Work};
use crate::domain::provider::{Limits, ServerLimits};
use crate::policy::rate::{Left, Told};
use crate::provider::{BoxFuture, Broken, Exchange, Provider, Reply, Sink};
use crate::run::fixture::Build;
use crate::trace::report::RunReport;
use crate::workflow::Workflow;

/// What a scripted provider does with one exchange.
#[derive(Clone)]
enum Act {
    /// Answers after so many milliseconds.
    Answer(u64, Value),
    /// Answers with this text after so many milliseconds.
    Say(u64, &'static str),
    /// Never answers.
    Hang,
    /// Sends this text in two pieces at once, and nothing more.
    Stall(&'static str),
    /// Sends a token every so many milliseconds, for ever.
    Drip(u64),
    /// Sends tokens as fast as they are taken, for ever.
    Flood,
    /// Panics.
    Break,
    /// Says that nothing is left for so many seconds, and answers after so many milliseconds.
    Last(u64, u64, Value),
    /// Fails after so many milliseconds.
    Fail(u64, FailureClass, Option<Duration>),
}

type Script = dyn Fn(&Exchange) -> Act + Send + Sync;

struct Scripted {
    script: Box<Script>,
    seen: AtomicUsize,
    open: Arc<AtomicUsize>,
    most_open: AtomicUsize,
}

struct Open(Arc<AtomicUsize>);

impl Drop for Open {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Scripted {
    fn new(script: impl Fn(&Exchange) -> Act + Send + Sync + 'static) -> Arc<Self> {
        Arc::new(Self {
            script: Box::new(script),
            seen: AtomicUsize::new(0),
            open: Arc::default(),
            most_open: AtomicUsize::new(0),
        })
    }

    fn seen(&self) -> usize {
        self.seen.load(Ordering::SeqCst)
    }

    fn open(&self) -> usize {
        self.open.load(Ordering::SeqCst)
    }

    async fn play(&self, exchange: &Exchange, sink: &mut dyn Sink) -> Result<Reply, Broken> {
        self.seen.fetch_add(1, Ordering::SeqCst);
        let open = self.open.fetch_add(1, Ordering::SeqCst) + 1;
        self.most_open.fetch_max(open, Ordering::SeqCst);
        let _open = Open(self.open.clone());
        let usage = Usage { input: 50, cached_input: 0, output: 10, estimated: false, cost: None };
        let (after, text) = match (self.script)(exchange) {
            Act::Answer(after, value) => (after, value.to_string()),
            Act::Say(after, text) => (after, text.to_owned()),
            Act::Last(full_in, after, value) => {
                let full_in = Duration::from_secs(full_in);
                let requests = Some(Left { left: 0, limit: None, full_in });
                sink.told(&Told { requests, tokens: None });
                (after, value.to_string())
            }
            Act::Hang => std::future::pending().await,
            Act::Stall(text) => {
                let (first, second) = text.split_at(text.len() / 2);
                sink.piece(first, 1);
                sink.piece(second, 1);
                std::future::pending().await
            }
            Act::Flood => loop {
                sink.piece("more and more ", 3);
                tokio::task::yield_now().await;
            },
            Act::Break => panic!("a provider's fault"),
            Act::Drip(every) => loop {
                sleep(Duration::from_millis(every)).await;
                sink.piece("x", 1);
            },
            Act::Fail(after, class, retry_after) => {
                sleep(Duration::from_millis(after)).await;
                let scope = match class {
                    FailureClass::RateLimited => Scope::Quota,
                    FailureClass::Auth => Scope::Provider,
                    _ => Scope::Path,
                };
                let failure = Failure::of_attempt(class, "", format!("it says {class}"));
                return Err(Failure { scope, retry_after, ..failure }.into());
            }
        };
        sleep(Duration::from_millis(after)).await;
        sink.piece(&text, 10);
        Ok(Reply { text, usage, invented: false, remaining: None })
    }
}

impl Provider for Scripted {
    fn exchange<'a>(
        &'a self,
        exchange: &'a Exchange,
        sink: &'a mut dyn Sink,
    ) -> BoxFuture<'a, Result<Reply, Broken>> {
        Box::pin(self.play(exchange, sink))
    }
}

fn host_with(
    a: &Arc<Scripted>,
    b: &Arc<Scripted>,
    limits: Limits,
    server: ServerLimits,
) -> Arc<Host> {
    let clock = Clock::start();
    let mut lanes = Lanes::default();
    lanes.add("a", a.clone(), limits, clock);
    lanes.add("b", b.clone(), limits, clock);
    let settings = HostSettings { lanes, limits: server, store: None, clock, seed: Some(1) };
    Arc::new(Host::new(settings))
}

fn host(a: &Arc<Scripted>, b: &Arc<Scripted>) -> Arc<Host> {
    host_with(a, b, Limits::default(), ServerLimits::default())
}

fn text(text: &str) -> Value {
    json!({ "text": text })
}

fn one_step(deadline_s: u64) -> Arc<Workflow> {
    let build = Build::new(Duration::from_secs(deadline_s)).step("only", "Do: {{ input.text }}");
    build.output("result", "only.text").done()
}

async fn finish(host: &Arc<Host>, workflow: &Arc<Workflow>, input: Value) -> RunReport {
    host.start(workflow, input, &CallOptions::default()).unwrap().finished().await
}

fn class(report: &RunReport) -> &str {
    report.failure.as_ref().map_or("", |failure| failure.class.as_str())
}

#[tokio::test(start_paused = true)]
async fn an_answer_is_delivered_with_its_cost() {
    let a = Scripted::new(|_| Act::Answer(1_000, json!({"text": "done"})));
    let b = Scripted::new(|_| Act::Hang);
    let report = finish(&host(&a, &b), &one_step(20), text("it")).await;
    assert_eq!(
        (report.outcome.as_str(), &report.output),
        ("delivered", &Some(json!({"result": "done"})))
    );
    assert_eq!((report.tokens.input, report.tokens.output), (50, 10));
    assert!((report.cost_usd - 90e-6).abs() < 1e-12, "{}", report.cost_usd);
    assert!(!report.cost_estimated);
    assert_eq!(b.seen(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_provider_that_never_answers_cannot_hold_a_run_past_its_deadline() {
    let silent = || Scripted::new(|_| Act::Hang);
    let (a, b) = (silent(), silent());
    let report = finish(&host(&a, &b), &one_step(20), text("it")).await;
    assert_eq!((report.outcome.as_str(), class(&report)), ("failed", "deadline"));
    assert!(report.elapsed_ms < 20_000 && report.elapsed_ms >= 19_790, "{}", report.elapsed_ms);
    assert_eq!((a.open(), b.open()), (0, 0), "connections are closed");
    let message = &report.failure.as_ref().unwrap().message;
    assert!(message.contains("no token from a/one in"), "{message}");
}

#[tokio::test(start_paused = true)]
async fn a_stream_that_drips_cannot_hold_a_run_past_its_deadline() {
    let drip = || Scripted::new(|_| Act::Drip(700));
    let (a, b) = (drip(), drip());
    let report = finish(&host(&a, &b), &one_step(20), text("it")).await;
    assert_eq!((report.outcome.as_str(), class(&report)), ("failed", "deadline"));
    assert!(report.elapsed_ms < 20_000, "{}", report.elapsed_ms);
    assert!(report.cost_estimated && report.cost_usd > 0.0, "losers are charged");
}

#[tokio::test(start_paused = true)]
async fn a_stuck_attempt_is_raced_on_another_path_and_kept_until_it_loses() {
    let a = Scripted::new(|_| Act::Hang);
    let b = Scripted::new(|_| Act::Answer(2_000, json!({"text": "rescued"})));
    let report = finish(&host(&a, &b), &one_step(40), text("it")).await;
    assert_eq!(report.outcome, "delivered");
    let ends: Vec<(&str, &str)> = report.steps[0]
        .attempts
        .iter()
        .map(|attempt| (attempt.cause.as_str(), attempt.end.as_str()))
        .collect();
    assert_eq!(ends, [("primary", "superseded"), ("hedge", "accepted")]);
    assert!((12_000..12_200).contains(&report.elapsed_ms), "{}", report.elapsed_ms);
    assert_eq!(a.open(), 0, "the loser's connection is closed");
}

#[tokio::test(start_paused = true)]
async fn hedge_off_closes_the_first_before_the_next() {
    let a = Scripted::new(|_| Act::Hang);
    let b = Scripted::new(|_| Act::Answer(100, json!({"text": "ok"})));
    let build = Build::new(Duration::from_secs(40)).step("only", "Do: {{ input.text }}");
    let workflow = build
        .change(|plan| {
            if let Work::Model { policy, .. } = &mut plan.steps[0].work {
                policy.hedge = Hedge::Off;
            }
        })
        .output("result", "only.text")
        .done();
    let report = finish(&host(&a, &b), &workflow, text("it")).await;
    assert_eq!(report.steps[0].attempts[0].end, "cut");
    assert_eq!(report.outcome, "delivered");
}

#[tokio::test(start_paused = true)]
async fn a_throttled_path_is_left_at_once() {
    let window = Some(Duration::from_secs(7));
    let a = Scripted::new(move |_| Act::Fail(300, FailureClass::RateLimited, window));
    let b = Scripted::new(|_| Act::Answer(500, json!({"text": "ok"})));
    let report = finish(&host(&a, &b), &one_step(20), text("it")).await;
    assert_eq!(report.outcome, "delivered");
    let failure = report.steps[0].attempts[0].failure.as_ref().unwrap();
    assert_eq!((failure.class.as_str(), failure.retry_after_ms), ("rate_limited", Some(7_000)));
    assert!(report.elapsed_ms < 1_000, "{}", report.elapsed_ms);
}

#[tokio::test(start_paused = true)]
async fn an_invalid_answer_is_repaired_once_and_then_escalated() {
    let a = Scripted::new(|_| Act::Say(100, "{\"text\": 5}"));
    let b = Scripted::new(|exchange| match exchange.profile.id.as_str() {
        "big" => Act::Answer(100, json!({"text": "right"})),
        other => unreachable!("{other}"),
    });
    let report = finish(&host(&a, &b), &one_step(20), text("it")).await;
    let causes: Vec<&str> = report.steps[0].attempts.iter().map(|a| a.cause.as_str()).collect();
    assert_eq!(causes, ["primary", "repair", "stronger"]);
    let failure = report.steps[0].attempts[0].failure.as_ref().unwrap();
    assert_eq!(failure.class, "schema_violation");
    assert!(failure.message.starts_with("/text: "), "{}", failure.message);
    assert_eq!(report.output, Some(json!({"result": "right"})));
}

#[tokio::test(start_paused = true)]
async fn a_repair_turn_shows_the_answer_and_what_was_wrong() {
    let a = Scripted::new(|exchange| {
        let turns = &exchange.prompt.messages;
        if turns.len() == 1 {
            return Act::Say(10, "no json at all");
        }
        assert_eq!(turns[1].text, "no json at all");
        assert!(turns[2].text.contains("Required output schema: {"), "{}", turns[2].text);
        Act::Answer(10, json!({"text": "repaired"}))
    });
    let b = Scripted::new(|_| Act::Hang);
    let report = finish(&host(&a, &b), &one_step(20), text("it")).await;
    assert_eq!(report.output, Some(json!({"result": "repaired"})));
}

#[tokio::test(start_paused = true)]
async fn an_answer_without_end_is_closed_when_it_is_far_beyond_its_bound() {
    let a = Scripted::new(|_| Act::Flood);
    let b = Scripted::new(|_| Act::Answer(10, json!({"text": "ok"})));
    let report = finish(&host(&a, &b), &one_step(20), text("it")).await;
    assert_eq!((report.outcome.as_str(), a.open()), ("delivered", 0));
    let first = &report.steps[0].attempts[0];
    assert!(first.tokens.output <= 2_403, "{}", first.tokens.output);
    let failure = first.failure.as_ref().unwrap();
    assert!(failure.message.contains("at most 100 were asked for"), "{}", failure.message);
}

#[tokio::test(start_paused = true)]
async fn an_attempt_whose_task_breaks_fails_like_any_other() {
    let a = Scripted::new(|_| Act::Break);
    let b = Scripted::new(|_| Act::Answer(10, json!({"text": "ok"})));
    let report = finish(&host(&a, &b), &one_step(20), text("it")).await;
    assert_eq!(report.outcome, "delivered");
    assert!(report.elapsed_ms < 1_000, "{}", report.elapsed_ms);
}

#[tokio::test(start_paused = true)]
async fn a_swap_tells_the_next_model_where_the_run_stands() {
    let a = Scripted::new(|_| Act::Fail(10, FailureClass::StreamInterrupted, None));
    let b = Scripted::new(|exchange| {
        let told = &exchange.prompt.messages[0].text;
        assert!(told.starts_with("Do: it\n\n[RESUME] Task 'run_"), "{told}");
        assert!(
            told.contains("interrupted at step 1/1 (only, executor): stream_interrupted"),
            "{told}"
        );
        Act::Answer(10, json!({"text": "ok"}))
    });
    let report = finish(&host(&a, &b), &one_step(20), text("it")).await;
    assert_eq!(report.outcome, "delivered");
}

#[tokio::test(start_paused = true)]
async fn withdrawing_a_call_closes_its_connections() {
    let a = Scripted::new(|_| Act::Hang);
    let host = host(&a, &a);
    let run = host.start(&one_step(20), text("it"), &CallOptions::default()).unwrap();
    let mut progress = run.progress.clone();
    progress.wait_for(|p| p.phase.contains("a/one")).await.unwrap();
    sleep(Duration::from_millis(5)).await;
    assert_eq!(a.open(), 1);
    run.cancel();
    let report = run.finished().await;
    assert_eq!((report.outcome.as_str(), class(&report)), ("cancelled", "cancelled"));
    host.drain(Duration::from_secs(1)).await;
    assert_eq!(a.open(), 0);
}

#[tokio::test(start_paused = true)]
async fn an_identical_call_joins_the_run_in_flight_and_survives_the_other_callers_leaving() {
    let a = Scripted::new(|_| Act::Answer(1_000, json!({"text": "shared"})));
    let host = host(&a, &a);
    let workflow = one_step(20);
    let options = CallOptions::default();
    let first = host.start(&workflow, text("it"), &options).unwrap();
    let second = host.start(&workflow, text("it"), &options).unwrap();
    let other = host.start(&workflow, text("other"), &options).unwrap();
    let fresh = CallOptions { fresh: true, ..CallOptions::default() };
    let fresh = host.start(&workflow, text("it"), &fresh).unwrap();
    assert!(first.id == second.id && first.id != other.id && first.id != fresh.id);
    first.cancel();
    assert_eq!(second.finished().await.outcome, "delivered");
    fresh.finished().await;
    other.finished().await;
    assert_eq!(a.seen(), 3);
}

#[tokio::test(start_paused = true)]
async fn a_retry_continues_from_validated_steps() {
    let broken = Arc::new(AtomicUsize::new(1));
    let state = broken.clone();
    let script = move |exchange: &Exchange| match exchange.draw.step_name.as_str() {
        "second" if state.load(Ordering::SeqCst) == 1 => {
            Act::Fail(10, FailureClass::BadRequest, None)
        }
        name => Act::Answer(10, json!({ "text": name })),
    };
    let script = Arc::new(script);
    let (one, two) = (script.clone(), script);
    let (a, b) = (Scripted::new(move |e| one(e)), Scripted::new(move |e| two(e)));
    let host = host(&a, &b);
    let workflow = Build::new(Duration::from_secs(20))
        .step("first", "1: {{ input.text }}")
        .step("second", "2: {{ first.text }}")
        .output("result", "second.text")
        .done();
    let failed = finish(&host, &workflow, text("it")).await;
    assert_eq!(failed.outcome, "failed");
    broken.store(0, Ordering::SeqCst);
    let before = a.seen() + b.seen();
    let again = finish(&host, &workflow, text("it")).await;
    assert_eq!(
        (again.outcome.as_str(), again.reused.as_slice()),
        ("delivered", ["first".to_owned()].as_slice())
    );
    assert_eq!(a.seen() + b.seen() - before, 1, "the first step is not paid again");
    assert_eq!(again.output, Some(json!({"result": "second"})));
}

#[tokio::test(start_paused = true)]
async fn arguments_that_do_not_fit_are_refused_with_every_pointer() {
    let a = Scripted::new(|_| Act::Hang);
    let input = json!({ "text": 5, "list": ["a", 1], "extra": true });
    let refusal = host(&a, &a).start(&one_step(20), input, &CallOptions::default());
    let Err(Refusal::InvalidInput(text)) = refusal else { panic!("started") };
    for pointer in ["/text", "/list/1", "extra"] {
        assert!(text.contains(pointer), "{pointer} in {text}");
    }
    assert_eq!(a.seen(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_full_server_says_when_to_come_back() {
    let a = Scripted::new(|_| Act::Hang);
    let server = ServerLimits { concurrent_runs: Some(1), ..ServerLimits::default() };
    let host = host_with(&a, &a, Limits::default(), server);
    let workflow = one_step(20);
    let running = host.start(&workflow, text("1"), &CallOptions::default()).unwrap();
    let refused = host.start(&workflow, text("2"), &CallOptions::default());
    assert!(matches!(refused, Err(Refusal::Full { .. })));
    running.cancel();
    running.finished().await;
    host.drain(Duration::from_secs(1)).await;
    let closed = host.start(&workflow, text("2"), &CallOptions::default());
    assert!(matches!(closed, Err(Refusal::Closing)));
}

#[tokio::test(start_paused = true)]
async fn budgets_hold_with_losers_included() {
    let a = Scripted::new(|_| Act::Hang);
    let b = Scripted::new(|_| Act::Answer(10, json!({"text": "x"})));
    let build = Build::new(Duration::from_secs(40)).step("only", "Do: {{ input.text }}");
    let workflow = build.change(|plan| plan.budget.calls = Some(1)).output("r", "only.text").done();
    let report = finish(&host(&a, &b), &workflow, text("it")).await;
    assert_eq!((report.outcome.as_str(), b.seen()), ("failed", 0));
    assert_eq!(class(&report), "deadline");
    assert!(report.decisions.iter().any(|d| d.action == "wait" && d.reason.contains("calls")));
}

#[tokio::test(start_paused = true)]
async fn a_step_starts_when_its_needs_are_there_and_independent_steps_run_at_once() {
    let a = Scripted::new(|_| Act::Answer(1_000, json!({"text": "x"})));
    let workflow = Build::new(Duration::from_secs(20))
        .step("left", "L: {{ input.text }}")
        .step("right", "R: {{ input.text }}")
        .step("both", "B: {{ left.text }} {{ right.text }}")
        .output("r", "both.text")
        .done();
    let report = finish(&host(&a, &a), &workflow, text("it")).await;
    let started: Vec<u64> = report.steps.iter().filter_map(|s| s.started_ms).collect();
    assert!(
        started[0] == 0 && started[1] == 0 && (1_000..1_050).contains(&started[2]),
        "{started:?}"
    );
    assert_eq!(StepIx(2).at(), 2);
}

#[tokio::test(start_paused = true)]
async fn two_thousand_runs_at_once_end_in_time() {
    let flaky = |exchange: &Exchange| match exchange.draw.run % 5 {
        0 => Act::Hang,
        1 => Act::Drip(500),
        2 => Act::Fail(50, FailureClass::ServerError, None),
        3 => Act::Say(700, "{\"text\":"),
        _ => Act::Answer(1_500, json!({"text": "ok"})),
    };
    let (a, b) = (Scripted::new(flaky), Scripted::new(flaky));
    let clock = Clock::start();
    let mut lanes = Lanes::default();
    lanes.add("a", a.clone(), Limits::default(), clock);
    lanes.add("b", b.clone(), Limits::default(), clock);
    let limits = ServerLimits::default();
    let host = Arc::new(Host::new(HostSettings { lanes, limits, store: None, clock, seed: None }));
    let workflow = one_step(12);
    let runs: Vec<_> = (0..2_000)
        .map(|n| host.start(&workflow, text(&n.to_string()), &CallOptions::default()).unwrap())
        .collect();
    let (mut delivered, mut late) = (0, 0);
    for run in runs {
        let report = run.finished().await;
        late += usize::from(report.elapsed_ms >= report.deadline_ms);
        delivered += usize::from(report.outcome == "delivered");
    }
    assert_eq!(late, 0);
    assert!(delivered > 0);
    host.drain(Duration::from_secs(1)).await;
    assert_eq!((a.open(), b.open()), (0, 0));
}
