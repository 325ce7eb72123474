//! What a swap keeps: planner → executor → validator on seeded orders, under ten faults, by a naive router, by
//! retrying alone, and by the product.
//!
//! Two loopback HTTP servers speak the real dialects of two model families with different contracts (`swap/wire.rs`):
//! A has a place for the system prompt and takes the schema; B has neither. What stands for a model knows nothing
//! but the request it was sent, and answers as well as that lets it (`swap/model.rs`). The answer is held against a
//! keyed truth. The servers are the same for all policies, and so are an order, its faults and their luck.
//!
//! Real HTTP, real timers, the product as `serve` sets it up (`swap/product.rs`). Faults and the limits that meet
//! them are set to a fifteenth of what they stand for: a deadline of 3 s for 45 s, cutoffs of 400, 300 and 700 ms
//! for 6, 4.5 and 10.5 s, throttling of 0.2 to 4 s for 3 to 60 s. Constants of the product stay as they are, the
//! second before a path is tried again among them. `SWAP_PARALLEL` runs (128) at a time, most of which wait.
//!
//! ```text
//! cargo bench --bench swap                  100 runs a fault (SWAP_RUNS=1000 for the figures of the README)
//! cargo bench --bench swap -- --markdown    the table of the README
//! cargo bench --bench swap -- --json        the same for programs
//! cargo bench --bench swap -- --misses      each run of ours that fell short, in full (SWAP_SEED=N: from seed N on)
//! ```
//!
//! Fails where a row of ours misses a target: completion and correct value ≥ 99 %, schema integrity and state
//! preservation 100 %, silent corruptions 0, tokens ≤ 1.3 × retrying.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::disallowed_methods,
    clippy::format_push_string,
    missing_docs,
    reason = "a benchmark stops where its setting cannot be made, and measures real time"
)]

#[path = "swap/baseline.rs"]
mod baseline;
#[path = "swap/desk.rs"]
mod desk;
#[path = "swap/fault.rs"]
mod fault;
#[path = "swap/luck.rs"]
mod luck;
#[path = "swap/model.rs"]
mod model;
#[path = "swap/outcome.rs"]
mod outcome;
#[path = "swap/product.rs"]
mod product;
#[path = "swap/server.rs"]
mod server;
#[path = "swap/table.rs"]
mod table;
#[path = "swap/task.rs"]
mod task;
#[path = "swap/wire.rs"]
mod wire;

use std::ops::Range;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Instant;

use punctual::driver::Host;
use punctual::trace::report::RunReport;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use baseline::{Baseline, Targets};
use desk::{Account, Desk};
use fault::{FAULTS, Fault, Store};
use outcome::{Outcome, POLICIES, Policy, Row};
use product::Product;
use server::Server;
use task::Order;
use wire::Family;

/// Runs of each fault and policy where nothing is said; where benchmarks are only tried out.
const RUNS: u64 = 100;
const TRIAL_RUNS: u64 = 20;
/// Runs at a time; where benchmarks are only tried out, on a machine that may be busy.
const PARALLEL: usize = 128;
const TRIAL_PARALLEL: usize = 32;

/// What all runs share.
struct Setting {
    desk: Arc<Desk>,
    targets: Targets,
    product: Product,
    seeds: Range<u64>,
    parallel: usize,
    misses: bool,
}

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let asked = |word: &str| args.iter().any(|arg| arg == word);
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let trial = asked("--test");
    let (runs, parallel) = if trial { (TRIAL_RUNS, TRIAL_PARALLEL) } else { (RUNS, PARALLEL) };
    let runs = number("SWAP_RUNS").unwrap_or(runs).max(1);
    let own = number("SWAP_PARALLEL").and_then(|n| usize::try_from(n).ok());
    let parallel = own.unwrap_or(parallel).max(1);
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let started = Instant::now();
    let first = number("SWAP_SEED").unwrap_or(0);
    let rows = runtime.block_on(measure(first..first + runs, parallel, asked("--misses")));
    if asked("--json") {
        let rows: Vec<_> = rows.iter().map(|row| row.json(&rows)).collect();
        println!("{}", serde_json::to_string_pretty(&rows).unwrap());
    } else if asked("--markdown") {
        print!("{}", table::markdown(&rows));
    } else {
        println!(
            "{runs} runs a row, {parallel} at a time, {:.0} s",
            started.elapsed().as_secs_f64()
        );
        print!("{}", table::aligned(&rows));
    }
    let missed: Vec<String> = rows
        .iter()
        .flat_map(|row| {
            let name = format!("{}, {}", row.fault.name(), row.policy.name());
            row.missed(&rows).into_iter().map(move |what| format!("missed: {name}: {what}"))
        })
        .collect();
    for line in &missed {
        eprintln!("{line}");
    }
    if missed.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

async fn measure(seeds: Range<u64>, parallel: usize, misses: bool) -> Vec<Row> {
    let desk = Arc::new(Desk::default());
    let (a, b) = (
        Server::start(Family::A, desk.clone()).await,
        Server::start(Family::B, desk.clone()).await,
    );
    let product = Product::load(&a.url(), &b.url());
    let client = reqwest::Client::builder().no_proxy().build().unwrap();
    let targets = Targets { client, a: a.url(), b: b.url() };
    let setting = Setting { desk, targets, product, seeds, parallel, misses };
    runs_of(&Arc::new(setting)).await
}

/// All runs. Rows take turns, so that whatever else the machine does meets all of them alike.
async fn runs_of(setting: &Arc<Setting>) -> Vec<Row> {
    let kinds = FAULTS.into_iter().flat_map(|fault| POLICIES.map(|policy| (fault, policy)));
    let mut rows: Vec<Row> = kinds.map(|(fault, policy)| Row::new(fault, policy)).collect();
    let hosts: Vec<Arc<Host>> = rows.iter().map(|_| setting.product.host()).collect();
    let permits = Arc::new(Semaphore::new(setting.parallel));
    let mut tasks = JoinSet::new();
    for n in setting.seeds.clone() {
        for (at, row) in rows.iter().enumerate() {
            let permit = permits.clone().acquire_owned().await.expect("never closed");
            let (setting, host) = (setting.clone(), hosts[at].clone());
            let (fault, policy) = (row.fault, row.policy);
            tasks.spawn(async move {
                // Numbers are of the same length, so that no policy's prompts are longer than another's.
                let order = Order::new(100_000_000 + at as u64 * 1_000_000 + n, n);
                let run = one(&setting, fault, policy, &host, &order, n).await;
                drop(permit);
                (at, n, run)
            });
        }
        while let Some(joined) = tasks.try_join_next() {
            note(setting, &mut rows, joined.expect("a run panicked"));
        }
    }
    while let Some(joined) = tasks.join_next().await {
        note(setting, &mut rows, joined.expect("a run panicked"));
    }
    rows
}

/// What one run came to; a report where it was one of ours.
type Ran = (Outcome, Account, Option<RunReport>);

fn note(setting: &Setting, rows: &mut [Row], (at, n, ran): (usize, u64, Ran)) {
    let (outcome, account, report) = ran;
    let row = &mut rows[at];
    row.add(&outcome, &account);
    let short = !outcome.right || account.kept < account.swaps;
    if let Some(report) = report.filter(|_| short && setting.misses) {
        eprintln!("{}, {}, seed {n}: {outcome:?} {account:?}", row.fault.name(), row.policy.name());
        eprintln!("{}", serde_json::to_string_pretty(&report).unwrap());
    }
}

async fn one(
    setting: &Setting,
    fault: Fault,
    policy: Policy,
    host: &Arc<Host>,
    order: &Order,
    seed: u64,
) -> Ran {
    setting.desk.open(order.number, Store { fault, seed });
    let (outcome, report) = match policy {
        Policy::Naive => (baseline::run(Baseline::Naive, &setting.targets, order).await, None),
        Policy::Retry => (baseline::run(Baseline::Retry, &setting.targets, order).await, None),
        Policy::Punctual => {
            let (outcome, report) =
                setting.product.run(&setting.product.host(), order, setting.misses).await;
            (outcome, Some(report))
        }
        Policy::Shared => {
            let (outcome, report) = setting.product.run(host, order, setting.misses).await;
            (outcome, Some(report))
        }
    };
    (outcome, setting.desk.close(order.number), report)
}
