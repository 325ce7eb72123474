//! A change of regime in mid-flight, with curves that go on learning: how many runs until the planner fares as well as one
//! that knows the new regime.
//!
//! Both play the same runs, so that luck counts on neither side; silent errors count by their chance.

use punctual::driver::crew;
use punctual::scenario::drive::Driver;
use punctual::scenario::file::Cell;
use punctual::scenario::plan::Trust;
use punctual::scenario::stage::{Contender, Stage};
use punctual::scenario::warmup::{self, Learner, Warmup};

use super::figure::Figure;

/// Where it happens.
const WORKFLOW: (&str, u32) = ("chain3", 60);
/// From the first to the second, and back.
const REGIMES: [&str; 2] = ["pooled", "brownout"];
/// How often it is played.
const REPLICATIONS: usize = 200;
/// Runs after each change.
const RUNS: usize = 80;
/// After so many runs in a regime what is known is looked at anew: often at first, when there is most to learn.
const REFRESHED: [usize; 12] = [1, 2, 3, 4, 6, 8, 11, 15, 20, 30, 45, 60];
/// A rate is that of so many runs in a row, all replications together.
const WINDOW: usize = 10;
/// What counts as having learned: so much below one that knew.
const WITHIN: f64 = 0.03;
/// Numbers of these runs begin here: nobody has learned from them.
const FIRST: u64 = 1 << 42;

/// What one replication has shown: by run, how much better one would have fared that knew the regime.
type Behind = Vec<f64>;

/// The figures.
pub fn mid_flight(stage: &Stage, tried: bool) -> Vec<Figure> {
    let (replications, runs) = if tried { (2, 2 * WINDOW) } else { (REPLICATIONS, RUNS) };
    let cells = REGIMES.map(|scenario| {
        let (workflow, deadline_s) = WORKFLOW;
        Cell { scenario: scenario.to_owned(), workflow: workflow.to_owned(), deadline_s }
    });
    let settings = [&cells[0], &cells[1]].map(|cell| stage.setting(cell));
    let [Some((before, _)), Some((after, _))] = settings else { return Vec::new() };
    let driver = |setting| Driver::new(setting, WORKFLOW.0, WORKFLOW.1, &Trust::right(&setting));
    let season = Warmup::of(&stage.file);
    let knows = |setting| {
        let mut own = driver(setting);
        let book = warmup::learn(&mut own, Contender::Planner, &season);
        (book.pilot(own.plan(), Contender::Planner), book)
    };
    let ((usual, learner), (changed, _)) = (knows(before), knows(after));
    let replication = |at: usize| {
        let mut learner = learner.clone();
        let first = FIRST + (at as u64) * 2 * RUNS as u64;
        // There, and back again.
        let phases = [(after, &changed, first), (before, &usual, first + RUNS as u64)];
        let mut told = usual.clone();
        phases.map(|(setting, known, first)| {
            let (mut live, mut knowing) = (driver(setting), driver(setting));
            live.tell(told.clone());
            knowing.tell(known.clone());
            let behind = play(&mut learner, &mut live, &mut knowing, first, runs);
            told = learner.pilot(live.plan(), Contender::Planner);
            behind
        })
    };
    let all = crew::work(replications, replication, |_| {});
    let names = ["pooled → brownout", "brownout → pooled"];
    let figures = names.into_iter().enumerate().map(|(phase, name)| {
        let of: Vec<&Behind> = all.iter().map(|both| &both[phase]).collect();
        figure(name, &of)
    });
    figures.collect()
}

fn play(
    learner: &mut Learner,
    live: &mut Driver<'_>,
    knowing: &mut Driver<'_>,
    first: u64,
    runs: usize,
) -> Behind {
    let run = |at: usize| {
        if REFRESHED.contains(&at) {
            live.tell(learner.pilot(live.plan(), Contender::Planner));
        }
        let number = first + at as u64;
        knowing.play(number).right - learner.play(live, number).right
    };
    (0..runs).map(run).collect()
}

fn figure(name: &str, all: &[&Behind]) -> Figure {
    #[expect(clippy::cast_precision_loss, reason = "a few thousand runs")]
    let rate = |from: usize| {
        let of = all.iter().flat_map(|behind| &behind[from..from + WINDOW]);
        of.sum::<f64>() / (all.len() * WINDOW) as f64
    };
    let last = all.first().map_or(0, |behind| behind.len() - WINDOW);
    // The last window that is further behind, and what follows it.
    let far = (0..=last).rev().find(|from| rate(*from) > WITHIN);
    let until = far.map_or(0, |from| from + 1);
    let value = if until > last {
        format!("more than {last} (at first {:.1} pt behind)", 100.0 * rate(0))
    } else {
        format!("{until} (at first {:.1} pt behind)", 100.0 * rate(0))
    };
    Figure::held(
        format!("{name}: runs until within 3 pt"),
        value,
        ("≤ 50", until <= 50),
        ("≤ 20", until <= 20),
    )
}
