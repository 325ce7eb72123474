//! The feedback of hedges on load: calls of one step against a shared token limit, through a spike of two minutes, under the
//! published policies and under the product's own permits. Prints how many were on time before, in and after the spike.
//!
//! `cargo bench --bench feedback -- [--seeds N] [--markdown]`. Fails where the product's hedges do harm: in the spike on the
//! same quota more than two points below no hedge, or after it below 99.5 %. `--test` plays two seeds and judges nothing.
#![expect(clippy::print_stdout, reason = "a benchmark's figures")]

#[path = "feedback/baseline.rs"]
mod baseline;
#[path = "feedback/luck.rs"]
mod luck;
#[path = "feedback/product.rs"]
mod product;
#[path = "feedback/world.rs"]
mod world;

use std::process::ExitCode;

use baseline::Baseline;
use product::Setting;
use world::{Tally, WINDOWS};

/// Paired seeds.
const SEEDS: u64 = 100;
/// How far below no hedge the spike may be, in points, and how much must be on time after it, in percent.
const MUST: (f64, f64) = (2.0, 99.5);
const AIM: (f64, f64) = (0.0, 99.9);

#[derive(Clone, Copy)]
enum Policy {
    Published(Baseline),
    Product(Setting),
}

const PUNCTUAL: Setting = Setting { other: false, told: false, hedges: true };
const POLICIES: &[(&str, Policy)] = &[
    ("no hedge", Policy::Published(Baseline::None)),
    ("naive hedge, same quota", Policy::Published(Baseline::Naive)),
    ("cut and retry, same quota", Policy::Published(Baseline::Cut)),
    ("hedge with a budget of 10 %", Policy::Published(Baseline::Budget)),
    ("budget, suspended by 429s", Policy::Published(Baseline::Suspended)),
    ("budget, other quota", Policy::Published(Baseline::Other)),
    ("punctual without hedges", Policy::Product(Setting { hedges: false, ..PUNCTUAL })),
    ("**punctual, same quota**", Policy::Product(PUNCTUAL)),
    ("**the same, told what is left**", Policy::Product(Setting { told: true, ..PUNCTUAL })),
    ("**punctual, other quota**", Policy::Product(Setting { other: true, ..PUNCTUAL })),
];
/// Their places in the list.
const NO_HEDGE: usize = 0;
const SAME_QUOTA: usize = 7;

impl Policy {
    fn play(self, seed: u64) -> Tally {
        match self {
            Self::Published(baseline) => baseline::play(baseline, seed),
            Self::Product(setting) => product::play(setting, seed),
        }
    }
}

/// Mean and half a confidence interval of 95 %.
#[expect(clippy::cast_precision_loss, reason = "hundreds of seeds")]
fn mean(values: &[f64]) -> (f64, f64) {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let spread = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / n;
    (mean, 1.96 * (spread / n).sqrt())
}

/// One policy's seeds.
struct Row {
    name: &'static str,
    tallies: Vec<Tally>,
}

impl Row {
    fn of(&self, window: usize, what: usize) -> Vec<f64> {
        self.tallies.iter().map(|tally| tally.rates(window)[what]).collect()
    }

    fn line(&self, none: &Self, separator: &str) -> String {
        let on_time = (0..WINDOWS.len()).map(|window| {
            let (rate, half) = mean(&self.of(window, 0));
            format!("{rate:.2} ± {half:.2}")
        });
        let (own, nothing) = (self.of(1, 0), none.of(1, 0));
        let paired: Vec<f64> = own.iter().zip(&nothing).map(|(a, b)| a - b).collect();
        let (by, half) = mean(&paired);
        let others = [(1, 1), (1, 2), (0, 2), (2, 2), (1, 3)];
        let others = others.map(|(window, what)| format!("{:.3}", mean(&self.of(window, what)).0));
        let cells = [self.name.to_owned()].into_iter().chain(on_time);
        let cells = cells.chain([format!("{by:+.2} ± {half:.2}")]).chain(others);
        cells.collect::<Vec<_>>().join(separator)
    }
}

fn print(rows: &[Row], markdown: bool) {
    let head = [
        "policy",
        "before, %",
        "spike, %",
        "after, %",
        "spike against no hedge",
        "429s a call in it",
        "extra attempts a call in it",
        "before",
        "after",
        "attempts a call in it",
    ];
    let (start, separator) = if markdown { ("| ", " | ") } else { ("", "\t") };
    let end = if markdown { " |" } else { "" };
    println!("{start}{}{end}", head.join(separator));
    if markdown {
        println!("|{}", "---|".repeat(head.len()));
    }
    for row in rows {
        let name = if markdown { row.name.to_owned() } else { row.name.replace("**", "") };
        let line = row.line(&rows[NO_HEDGE], separator).replacen(row.name, &name, 1);
        println!("{start}{line}{end}");
    }
}

/// What the product reaches against its targets; whether it reaches what it must.
fn judge(rows: &[Row]) -> bool {
    let rate = |row: usize, window: usize| mean(&rows[row].of(window, 0)).0;
    let below = rate(NO_HEDGE, 1) - rate(SAME_QUOTA, 1);
    let after = rate(SAME_QUOTA, 2);
    let word = |(most, least): (f64, f64)| below <= most && after >= least;
    println!(
        "\nsame quota: {:+.2} points against no hedge in the spike, {after:.2} % after it: must {}, aim {}",
        -below,
        if word(MUST) { "reached" } else { "MISSED" },
        if word(AIM) { "reached" } else { "missed" },
    );
    word(MUST)
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().collect();
    let has = |name: &str| arguments.iter().any(|argument| argument == name);
    let trial = has("--test");
    let place = arguments.iter().position(|argument| argument == "--seeds");
    let asked = place.and_then(|at| arguments.get(at + 1)?.parse().ok());
    let seeds = if trial { 2 } else { asked.unwrap_or(SEEDS).max(2) };
    let row = |(name, policy): &(&'static str, Policy)| Row {
        name,
        tallies: (0..seeds).map(|seed| policy.play(seed)).collect(),
    };
    let rows: Vec<Row> = POLICIES.iter().map(row).collect();
    print(&rows, has("--markdown"));
    let good = judge(&rows);
    if good || trial { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
