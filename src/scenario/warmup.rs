//! What a policy has learned before it is measured: runs one after another, whose attempts are observed to their true
//! ends and written into a server's book.
//!
//! Nothing else is told but prices, sizes of answers, and trust. A path that runs do not use would stay unknown, so while
//! little is known of one, now and then an extra attempt is sent there: as `punctual calibrate` does, and paid for.

use std::sync::Arc;
use std::time::Duration;

use super::drive::Driver;
use super::file::ScenarioFile;
use super::stage::Contender;
use crate::domain::id::PathIx;
use crate::domain::plan::Plan;
use crate::latency::book::Book;
use crate::planner::{Pilot, SharedPilot};

/// Numbers of warm-up runs begin here: no measured run shares their luck.
const FIRST: u64 = 1 << 40;
/// Numbers of runs whose attempts are given begin here.
const GIVEN: u64 = 1 << 41;
/// Runs whose attempts are given: some 30,000 and more on every path.
const GIVEN_RUNS: u64 = 4_000;
/// Seconds between them.
const GIVEN_ARRIVAL_S: f64 = 30.0;
/// A path is explored until so many of its attempts were observed,
const EXPLORED: u64 = 30;
/// in every so-manieth run.
const EXPLORE_EACH: u64 = 3;
/// What is known is looked at anew after so many runs, and then each time they have become so many times as many.
const REFRESHED: (u64, u64) = (4, 3);

/// How long is learned before runs are measured.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Warmup {
    /// Runs.
    pub runs: u64,
    /// Seconds from the start of one to the start of the next.
    pub arrival_s: f64,
}

impl Warmup {
    /// What a file says.
    #[must_use]
    pub fn of(file: &ScenarioFile) -> Self {
        Self { runs: file.warmup_runs, arrival_s: file.arrival_s }
    }
}

/// A server's book, with its clock.
#[derive(Clone, Debug)]
pub struct Learner {
    book: Book,
    arrival: Duration,
    now: Duration,
    /// By path: attempts observed.
    observed: Vec<u64>,
    runs: u64,
}

impl Learner {
    /// One that knows nothing; runs begin `arrival_s` seconds after each other.
    #[must_use]
    pub fn new(arrival_s: f64) -> Self {
        let arrival = Duration::from_secs_f64(arrival_s.clamp(0.0, 1e9));
        Self { book: Book::new(), arrival, now: Duration::ZERO, observed: Vec::new(), runs: 0 }
    }

    /// Plays the run of that number, and observes its attempts. Returns what came of it.
    pub fn play(&mut self, driver: &mut Driver<'_>, run: u64) -> super::row::Measured {
        let measured = driver.play(run);
        self.observed.resize(driver.plan().paths.len(), 0);
        for (path, seen) in driver.observations(run) {
            self.observed[path.at()] += 1;
            self.book.record(&seen, self.now);
        }
        if self.runs.is_multiple_of(EXPLORE_EACH) {
            self.explore(driver, run);
        }
        self.runs += 1;
        self.now += self.arrival;
        measured
    }

    /// One more attempt on the path that is known least, where it is known too little.
    fn explore(&mut self, driver: &Driver<'_>, run: u64) {
        let paths = (0..).map(PathIx).zip(&self.observed);
        let least = paths.filter(|(_, observed)| **observed < EXPLORED).min_by_key(|(_, n)| **n);
        let Some((path, _)) = least else { return };
        let steps = driver.plan().steps.len() as u64;
        let Ok(step) = usize::try_from(self.runs / EXPLORE_EACH % steps.max(1)) else { return };
        self.book.record(&driver.probe(run, step, path), self.now);
        self.observed[path.at()] += 1;
    }

    /// Observes an attempt of every step on every path, as though a run had launched it.
    fn observe_all(&mut self, driver: &mut Driver<'_>, run: u64) {
        driver.forget();
        for step in 0..driver.plan().steps.len() {
            for path in (0..).map(PathIx).take(driver.plan().paths.len()) {
                self.book.record(&driver.probe(run, step, path), self.now);
            }
        }
        self.now += self.arrival;
    }

    /// What runs of `plan` are told of it now.
    #[must_use]
    pub fn pilot(&self, plan: &Plan, contender: Contender) -> Option<SharedPilot> {
        let pilot = Pilot::of(plan, &self.book, self.now);
        let planned = contender == Contender::Planner;
        Some(Arc::new(if planned { pilot.planned(plan) } else { pilot }))
    }
}

/// Lets a driver's runs learn; what they have learned is what it tells its runs from then on.
pub fn learn(driver: &mut Driver<'_>, contender: Contender, warmup: &Warmup) -> Learner {
    let mut learner = Learner::new(warmup.arrival_s);
    let (mut refresh, grown) = REFRESHED;
    for run in 0..warmup.runs {
        if run == refresh {
            refresh *= grown;
            driver.tell(learner.pilot(driver.plan(), contender));
        }
        learner.play(driver, FIRST + run);
    }
    driver.tell(learner.pilot(driver.plan(), contender));
    learner
}

/// Gives a driver's runs what they would know after very many attempts on every path.
pub fn give(driver: &mut Driver<'_>, contender: Contender) {
    let mut learner = Learner::new(GIVEN_ARRIVAL_S);
    for run in 0..GIVEN_RUNS {
        learner.observe_all(driver, GIVEN + run);
    }
    driver.tell(learner.pilot(driver.plan(), contender));
}
