//! Runs a second and core, and what one decision costs.

use std::hint::black_box;
use std::time::{Duration, Instant};

use punctual::engine::Machine;
use punctual::scenario::baseline::Baseline;
use punctual::scenario::file::Cell;
use punctual::scenario::stage::{Contender, Stage, Terms};

use super::figure::Figure;

/// How long each is measured, at least.
const LEAST: Duration = Duration::from_millis(700);
/// The best of blocks that take so long, at least: the system's clock is read in ticks of a few milliseconds.
const BLOCK: Duration = Duration::from_millis(150);
/// The regime.
const MONTH: &str = "pooled";

/// What is asked for, in runs a second: must and aim.
const WANTED: [(Contender, &str, f64, f64); 4] = [
    (Contender::Baseline(Baseline::Wait), "chain3", 50e3, 100e3),
    (Contender::Baseline(Baseline::Wait), "dag9", 15e3, 20e3),
    (Contender::Planner, "chain3", 2e3, 10e3),
    (Contender::Planner, "dag9", 1e3, 2e3),
];

fn cell(workflow: &str) -> Cell {
    Cell { scenario: MONTH.to_owned(), workflow: workflow.to_owned(), deadline_s: 60 }
}

/// The figures.
pub fn figures(stage: &Stage) -> Vec<Figure> {
    let mut figures: Vec<Figure> = WANTED.into_iter().filter_map(|w| speed(stage, w)).collect();
    figures.extend(decision(stage));
    figures
}

fn speed(
    stage: &Stage,
    (contender, workflow, must, aim): (Contender, &str, f64, f64),
) -> Option<Figure> {
    let cell = cell(workflow);
    let mut player = stage.player(&cell, contender, &Terms::default())?;
    let mut best = 0.0_f64;
    let clock = Clock::new();
    let mut run = 0;
    while clock.elapsed() < LEAST {
        let (from, first) = (Clock::new(), run);
        let mut took = Duration::ZERO;
        while took < BLOCK {
            // Enough for the clock to be read rarely.
            for _ in 0..200 {
                black_box(player(run));
                run += 1;
            }
            took = from.elapsed();
        }
        #[expect(clippy::cast_precision_loss, reason = "runs of a second")]
        let runs = (run - first) as f64;
        best = best.max(runs / took.as_secs_f64());
    }
    let thousands = |n: f64| format!("{:.0}k", n / 1e3);
    Some(Figure::held(
        format!("{} {workflow}: runs a second and core", contender.as_str()),
        format!("{best:.0}"),
        (&format!("≥ {}", thousands(must)), best >= must),
        (&format!("≥ {}", thousands(aim)), best >= aim),
    ))
}

/// The time this thread has been running, where the system says it, so that others' work does not count; else what has
/// passed.
struct Clock {
    since: Instant,
    ran: Option<Duration>,
}

impl Clock {
    fn new() -> Self {
        Self { since: Instant::now(), ran: Self::ran() }
    }

    fn ran() -> Option<Duration> {
        let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
        let nanos = text.split(' ').next()?.parse().ok()?;
        Some(Duration::from_nanos(nanos)).filter(|ran| !ran.is_zero())
    }

    fn elapsed(&self) -> Duration {
        let ran = self.ran.zip(Self::ran()).map(|(from, to)| to.saturating_sub(from));
        ran.unwrap_or_else(|| self.since.elapsed())
    }
}

/// What the machine takes for one event of a graph of nine steps, the 99th of a hundred.
fn decision(stage: &Stage) -> Option<Figure> {
    let cell = cell("dag9");
    let (setting, _) = stage.setting(&cell)?;
    let mut driver = stage.driver(setting, &cell, Contender::Planner, &Terms::default());
    let mut took: Vec<Duration> = Vec::new();
    for run in 0..500 {
        driver.play_by(run, &mut |machine: &mut Machine, event, signals: &_, now| {
            let from = Instant::now();
            let actions = machine.handle(event, signals, now);
            took.push(from.elapsed());
            actions
        });
    }
    took.sort_unstable();
    let at = |share: usize| took.get(took.len() * share / 1_000).copied().unwrap_or_default();
    let (p50, p99, p999) = (at(500), at(990), at(999));
    let micros = |time: Duration| format!("{:.1} µs", time.as_secs_f64() * 1e6);
    let met = p99 < Duration::from_micros(50);
    Some(Figure::held(
        "a decision on dag9: p99 (p50, p99.9)",
        format!("{} ({}, {})", micros(p99), micros(p50), micros(p999)),
        ("< 50 µs", met),
        ("< 50 µs", met),
    ))
}
