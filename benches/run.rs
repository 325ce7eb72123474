//! CPU of one run: the engine's decisions, a whole chain of three in virtual time, and on tokio against an
//! instant in-memory provider. Baseline: the same three exchanges awaited one after another without an
//! orchestrator. `cargo bench --bench run`
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a benchmark stops where its setting cannot be made"
)]

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use divan::{Bencher, black_box};
use punctual::definition::catalog::load_file;
use punctual::definition::config::Configuration;
use punctual::domain::id::{AttemptId, RunId, StepIx};
use punctual::domain::message::{Prompt, Usage};
use punctual::domain::provider::{Limits, ServerLimits};
use punctual::domain::time::Timestamp;
use punctual::driver::clock::Clock;
use punctual::driver::{CallOptions, Host, HostSettings, Lanes};
use punctual::engine::{Event, Machine, Prepared, Signals, Verdict};
use punctual::provider::simulated::Recordings;
use punctual::provider::{BoxFuture, Broken, Draw, Exchange, Provider, Reply, Sink};
use punctual::run::Run;
use punctual::workflow::Workflow;
use punctual::world::World;
use serde_json::{Value, json};

const CHAIN: &str = "
description: A chain of three.
deadline: 60s
input: {text: string}
steps:
  plan: {max_tokens: 300, prompt: 'Plan {{ input.text }}', output: {text: string}}
  work: {max_tokens: 300, prompt: 'Work {{ plan.text }}', output: {text: string}}
  check: {max_tokens: 300, prompt: 'Check {{ work.text }}', output: {text: string}}
output: {text: check.text}
";

fn main() {
    divan::main();
}

fn chain() -> Arc<Workflow> {
    let folder = std::env::temp_dir().join(format!("punctual-bench-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let file = folder.join("chain.yaml");
    std::fs::write(&file, CHAIN).unwrap();
    let lowered = load_file(Path::new(&file), &Configuration::simulated("calm", 1));
    let _ = std::fs::remove_dir_all(&folder);
    lowered.workflow.unwrap_or_else(|| panic!("{:?}", lowered.diagnostics))
}

fn input() -> Value {
    json!({ "text": "the pump failed on Monday" })
}

const USAGE: Usage = Usage { input: 50, cached_input: 0, output: 10, estimated: false, cost: None };

struct Instant;

impl Provider for Instant {
    fn exchange<'a>(
        &'a self,
        exchange: &'a Exchange,
        sink: &'a mut dyn Sink,
    ) -> BoxFuture<'a, Result<Reply, Broken>> {
        Box::pin(async move {
            black_box(exchange.prompt.bytes());
            sink.first_token();
            let text = String::from("{\"text\": \"done\"}");
            sink.piece(&text, 5);
            Ok(Reply { text, usage: USAGE, invented: false, remaining: None })
        })
    }
}

/// Twelve events of a run of three steps: the whole of what the engine decides in it.
#[divan::bench]
fn engine_twelve_decisions(bencher: Bencher<'_, '_>) {
    let plan = chain().plan.clone();
    let signals = Signals::default();
    bencher.bench(|| {
        let mut machine = Machine::new(plan.clone(), Duration::from_secs(60));
        let mut now = 0;
        let mut feed = |event: Event| {
            now += 1_000;
            black_box(machine.handle(event, &signals, Timestamp::from_micros(now)));
            black_box(machine.next_wakeup());
        };
        feed(Event::Started { reused: Vec::new() });
        for ix in 0..3_u16 {
            let (step, attempt) = (StepIx(ix), AttemptId(u32::from(ix)));
            feed(Event::Prepared { step, round: 0, result: Prepared::Prompts(vec![100]) });
            feed(Event::Sent { attempt });
            feed(Event::Emitted { attempt, tokens: 5 });
            feed(Event::Ended { attempt, usage: USAGE, verdict: Verdict::Valid { pass: None } });
        }
        assert!(machine.outcome().is_some());
    });
}

/// The same run with its prompts, answers, schemas and latencies, in virtual time.
#[divan::bench]
fn world_chain_of_three(bencher: Bencher<'_, '_>) {
    let configuration = Configuration::simulated("calm", 1);
    let (workflow, recordings) = (chain(), Arc::new(Recordings::default()));
    bencher.bench(|| {
        let mut world = World::of(&configuration.providers, &recordings).unwrap();
        let deadline = Duration::from_secs(60);
        let run = Run::new(RunId::new(1), workflow.clone(), input(), deadline, 1);
        world.arrive(run, Timestamp::ZERO);
        black_box(world.play());
    });
}

/// The same, recording what decides it.
#[divan::bench]
fn world_chain_of_three_recorded(bencher: Bencher<'_, '_>) {
    let configuration = Configuration::simulated("calm", 1);
    let (workflow, recordings) = (chain(), Arc::new(Recordings::default()));
    bencher.bench(|| {
        let mut world = World::of(&configuration.providers, &recordings).unwrap();
        let deadline = Duration::from_secs(60);
        let mut run = Run::new(RunId::new(1), workflow.clone(), input(), deadline, 1);
        run.keep_journal();
        world.arrive(run, Timestamp::ZERO);
        black_box(world.play());
    });
}

/// A run's record is written, once, at its end.
#[divan::bench]
fn record_written(bencher: Bencher<'_, '_>) {
    let configuration = Configuration::simulated("calm", 1);
    let mut world = World::of(&configuration.providers, &Arc::default()).unwrap();
    let mut run = Run::new(RunId::new(1), chain(), input(), Duration::from_secs(60), 1);
    run.keep_journal();
    world.arrive(run, Timestamp::ZERO);
    let ended = world.play();
    bencher.bench(|| ended[0].run.record(|_| true));
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap()
}

/// The same run on tokio against a provider that answers at once.
#[divan::bench]
fn tokio_chain_of_three(bencher: Bencher<'_, '_>) {
    let workflow = chain();
    let runtime = runtime();
    let host = runtime.block_on(async {
        let clock = Clock::start();
        let mut lanes = Lanes::default();
        for provider in &workflow.plan.providers {
            lanes.add(&provider.name, Arc::new(Instant), Limits::default(), clock);
        }
        let limits = ServerLimits::default();
        Arc::new(Host::new(HostSettings { lanes, limits, store: None, clock, seed: Some(1) }))
    });
    let options = CallOptions { fresh: true, ..CallOptions::default() };
    bencher.bench_local(|| {
        runtime.block_on(async {
            let run = host.start(&workflow, input(), &options).unwrap();
            assert_eq!(run.finished().await.outcome, "delivered");
        });
    });
}

struct Nothing;

impl Sink for Nothing {
    fn first_token(&mut self) {}
    fn piece(&mut self, _text: &str, _tokens: u64) {}
    fn usage(&mut self, _usage: Usage) {}
}

/// Baseline: the three exchanges awaited one after another, parsed as JSON, and nothing else.
#[divan::bench]
fn baseline_three_exchanges(bencher: Bencher<'_, '_>) {
    let workflow = chain();
    let profile = Arc::new(workflow.plan.paths[0].profile.clone());
    let runtime = runtime();
    bencher.bench_local(|| {
        runtime.block_on(async {
            for _ in 0..3 {
                let exchange = Exchange {
                    prompt: Prompt::default(),
                    schema: None,
                    max_tokens: 300,
                    temperature: None,
                    effort: None,
                    profile: profile.clone(),
                    draw: Draw::default(),
                };
                let reply = Instant.exchange(&exchange, &mut Nothing).await.unwrap();
                black_box(serde_json::from_str::<Value>(&reply.text).unwrap());
            }
        });
    });
}
