//! How late 2,000 concurrent runs end, in real time, against providers that hang or drip for ever: each must
//! end by its own timer. Baseline: 2,000 bare timers in the same process. `cargo bench --bench lateness`
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

use punctual::definition::catalog::load_file;
use punctual::definition::config::Configuration;
use punctual::domain::plan::Plan;
use punctual::domain::provider::{Limits, ServerLimits};
use punctual::driver::clock::Clock;
use punctual::driver::{CallOptions, Host, HostSettings, Lanes};
use punctual::provider::{BoxFuture, Broken, Exchange, Provider, Reply, Sink};
use punctual::workflow::Workflow;
use serde_json::json;
use tokio::task::JoinSet;

const RUNS: u64 = 2_000;
const FLOW: &str = "
description: Never answered.
deadline: 20s
input: {text: string}
steps:
  left: {max_tokens: 300, prompt: 'L {{ input.text }}', output: {text: string}}
  right: {max_tokens: 300, prompt: 'R {{ input.text }}', output: {text: string}}
output: {left: left.text, right: right.text}
";

/// Sends nothing, or a token every 200 ms, for ever.
struct Endless;

impl Provider for Endless {
    fn exchange<'a>(
        &'a self,
        exchange: &'a Exchange,
        sink: &'a mut dyn Sink,
    ) -> BoxFuture<'a, Result<Reply, Broken>> {
        Box::pin(async move {
            if exchange.draw.step == 0 {
                std::future::pending::<()>().await;
            }
            let mut tick = tokio::time::interval(Duration::from_millis(200));
            loop {
                tick.tick().await;
                sink.piece("x", 1);
            }
        })
    }
}

fn flow() -> Arc<Workflow> {
    let folder = std::env::temp_dir().join(format!("punctual-late-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let file = folder.join("endless.yaml");
    std::fs::write(&file, FLOW).unwrap();
    let lowered = load_file(Path::new(&file), &Configuration::simulated("calm", 1));
    let _ = std::fs::remove_dir_all(&folder);
    lowered.workflow.unwrap_or_else(|| panic!("{:?}", lowered.diagnostics))
}

/// Milliseconds by which each run ended after its own end, and whether any missed its deadline.
async fn runs(flow: &Arc<Workflow>) -> (Vec<u64>, usize) {
    let clock = Clock::start();
    let mut lanes = Lanes::default();
    for provider in &flow.plan.providers {
        lanes.add(&provider.name, Arc::new(Endless), Limits::default(), clock);
    }
    let limits = ServerLimits::default();
    let host = Arc::new(Host::new(HostSettings { lanes, limits, store: None, clock, seed: None }));
    let end = Plan::end_at(flow.plan.deadline).millis();
    let started: Vec<_> = (0..RUNS)
        .map(|n| {
            let input = json!({ "text": n.to_string() });
            host.start(flow, input, &CallOptions::default()).unwrap()
        })
        .collect();
    let (mut late, mut missed) = (Vec::new(), 0);
    for run in started {
        let report = run.finished().await;
        assert_eq!(report.outcome, "failed");
        missed += usize::from(report.elapsed_ms >= report.deadline_ms);
        late.push(report.elapsed_ms.saturating_sub(end));
    }
    (late, missed)
}

/// Milliseconds by which bare timers of the same length fire late.
async fn timers(length: Duration) -> Vec<u64> {
    let mut tasks = JoinSet::new();
    for _ in 0..RUNS {
        tasks.spawn(async move {
            let clock = Clock::start();
            clock.sleep(length).await;
            clock.now().since_start().saturating_sub(length).as_millis()
        });
    }
    let mut late = Vec::new();
    while let Some(ms) = tasks.join_next().await {
        late.push(u64::try_from(ms.unwrap()).unwrap_or(u64::MAX));
    }
    late
}

fn row(name: &str, mut late: Vec<u64>) {
    late.sort_unstable();
    let at = |share: f64| {
        #[expect(
            clippy::cast_sign_loss,
            clippy::cast_possible_truncation,
            reason = "0 ≤ share < 1"
        )]
        #[expect(clippy::cast_precision_loss, reason = "thousands")]
        let ix = (late.len() as f64 * share) as usize;
        late.get(ix.min(late.len().saturating_sub(1))).copied().unwrap_or(0)
    };
    let (p50, p99, p999) = (at(0.5), at(0.99), at(0.999));
    println!(
        "{name:34} p50 {p50:4} ms   p99 {p99:4} ms   p99.9 {p999:4} ms   max {:4} ms",
        at(1.0)
    );
}

fn main() {
    let flow = flow();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        row("baseline: 2,000 bare timers", timers(Duration::from_secs(4)).await);
        let (late, missed) = runs(&flow).await;
        row("2,000 runs past their own end", late);
        let reserve =
            flow.plan.deadline.saturating_sub(Plan::end_at(flow.plan.deadline).since_start());
        println!(
            "runs after their deadline: {missed} of {RUNS} (reserve {} ms)",
            reserve.as_millis()
        );
    });
}
