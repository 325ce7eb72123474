//! The policies that are published for comparison: they know a static 95th percentile at most, and look at nothing
//! while an attempt runs. Run by run the same as the reference implementation that the results came with.

use super::file::{FLAGSHIP, OTHER_FLAGSHIP, PATHS, STRONG, Setting};
use super::row::Measured;
use super::table::Figures;
use crate::provider::simulated::draw::Ending;

/// Simultaneous up to rounding.
const EPSILON: f64 = 1e-9;
/// Never, in seconds.
const NEVER: f64 = 1e18;
/// An attempt of [`Baseline::Temporal`] is given up after so many seconds.
const TEMPORAL_TIMEOUT: f64 = 90.0;
/// Longest pause before another attempt, in seconds.
const PAUSE_MAX: f64 = 8.0;
/// Draws of the oracle on each path.
const ORACLE_DRAWS: u32 = 2;

/// A policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Baseline {
    /// Waits for each attempt, and repeats it where it fails visibly.
    Wait,
    /// The same with a timeout beyond the worst case, as durable workflow engines advise.
    Temporal,
    /// Cuts each attempt at the 95th percentile and starts another.
    Serial95,
    /// Starts every step on both flagships.
    Race2,
    /// Starts the other flagship at the 95th percentile, and keeps the first.
    Hedge95,
    /// Starts the other flagship once, at a time and with a chance that are best for the tail.
    SingleR,
    /// Knows every draw in advance: the best of eight for each step, at one bill.
    Oracle,
}

impl Baseline {
    /// Every one, in the order of the published table.
    pub const ALL: [Self; 7] = [
        Self::Wait,
        Self::Temporal,
        Self::Serial95,
        Self::Race2,
        Self::Hedge95,
        Self::SingleR,
        Self::Oracle,
    ];

    /// The name in rows.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Wait => "wait",
            Self::Temporal => "temporal",
            Self::Serial95 => "serial95",
            Self::Race2 => "race2",
            Self::Hedge95 => "hedge95",
            Self::SingleR => "singler",
            Self::Oracle => "oracle",
        }
    }
}

/// Plays runs of one setting under one policy, one after another.
#[derive(Debug)]
pub struct Player<'a> {
    setting: Setting<'a>,
    figures: &'a [Figures],
    policy: Baseline,
    deadline: f64,
    /// Attempts of a step, at most. The published results have 7, which wedges runs while two quotas are in a burst.
    attempts_max: usize,
    steps: Vec<Step>,
    tokens: f64,
    cost: f64,
    hedges: u32,
    silent: bool,
}

#[derive(Clone, Debug, Default)]
struct Step {
    phase: Phase,
    ended: f64,
    launch_at: f64,
    launch_on: u8,
    hedge_at: f64,
    failures: u32,
    attempts: Vec<Attempt>,
    used: [u32; PATHS as usize],
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Phase {
    #[default]
    Waiting,
    Running,
    Done,
}

#[derive(Clone, Copy, Debug)]
struct Attempt {
    launched: f64,
    ends: f64,
    ending: Ending,
    alive: bool,
}

impl<'a> Player<'a> {
    /// A player; `figures` are those of the setting's steps.
    #[must_use]
    pub fn new(
        setting: Setting<'a>,
        figures: &'a [Figures],
        policy: Baseline,
        deadline_s: u32,
        attempts_max: usize,
    ) -> Self {
        let steps = vec![Step::default(); setting.classes.len()];
        let deadline = f64::from(deadline_s);
        let (tokens, cost, hedges, silent) = (0.0, 0.0, 0, false);
        Self {
            setting,
            figures,
            policy,
            deadline,
            attempts_max,
            steps,
            tokens,
            cost,
            hedges,
            silent,
        }
    }

    /// Plays the run of that number.
    pub fn play(&mut self, run: u64) -> Measured {
        for step in &mut self.steps {
            let attempts = std::mem::take(&mut step.attempts);
            *step = Step { launch_at: NEVER, hedge_at: NEVER, attempts, ..Step::default() };
            step.attempts.clear();
        }
        (self.tokens, self.cost, self.hedges, self.silent) = (0.0, 0.0, 0, false);
        if self.policy == Baseline::Oracle {
            return self.foresee(run);
        }
        let mut now = 0.0_f64;
        loop {
            self.start_ready(run);
            self.launch_due(run, now);
            now = now.max(self.next_event());
            if now >= self.deadline - EPSILON {
                break;
            }
            self.end_due(now);
            if self.steps.iter().all(|step| step.phase == Phase::Done) {
                break;
            }
        }
        self.measured()
    }

    /// Without its optional steps a run's answer is there at the deadline, with what there is by then.
    fn measured(&self) -> Measured {
        let done = |step: &Step| step.phase == Phase::Done;
        let all = self.steps.iter().all(done);
        let mut steps = self.steps.iter().enumerate();
        let enough = steps.all(|(ix, step)| done(step) || self.setting.is_optional(ix));
        let latest = self.steps.iter().map(|step| step.ended).fold(0.0, f64::max);
        let elapsed_s = if all { latest } else { self.deadline };
        let answered = enough && elapsed_s <= self.deadline;
        let on_time = answered && !self.silent;
        let (tokens, cost) = self.setting.clean();
        let extras = self.steps.iter().enumerate().filter(|(ix, _)| self.setting.is_optional(*ix));
        let there = extras.filter(|(_, step)| done(step) && answered).count();
        #[expect(clippy::cast_precision_loss, reason = "at most 250 steps")]
        let (steps, extras) = (self.steps.len() as f64, there as f64);
        Measured {
            on_time,
            answered,
            right: f64::from(u8::from(on_time)),
            elapsed_s,
            tokens: self.tokens / tokens,
            cost: self.cost / cost,
            hedges: f64::from(self.hedges) / steps,
            extras,
        }
    }

    /// The step may start when the last of the steps it waits for has ended.
    fn ready_at(&self, step: usize) -> Option<f64> {
        let mut at = 0.0_f64;
        for parent in &self.setting.parents[step] {
            let parent = &self.steps[*parent];
            if parent.phase != Phase::Done {
                return None;
            }
            at = at.max(parent.ended);
        }
        Some(at)
    }

    fn start_ready(&mut self, run: u64) {
        for ix in 0..self.steps.len() {
            if self.steps[ix].phase != Phase::Waiting {
                continue;
            }
            let Some(at) = self.ready_at(ix) else { continue };
            let figures = self.figures[ix];
            let hedge_at = match self.policy {
                Baseline::Hedge95 => at + figures.p95,
                Baseline::SingleR => {
                    let (delay, chance) = figures.reissue;
                    // Draws of the policy's own: no path has this number.
                    let drawn = self.setting.uniform(run, ix, 253, 50) < chance;
                    if drawn { at + delay } else { NEVER }
                }
                Baseline::Wait
                | Baseline::Temporal
                | Baseline::Serial95
                | Baseline::Race2
                | Baseline::Oracle => NEVER,
            };
            let step = &mut self.steps[ix];
            (step.phase, step.launch_at, step.launch_on) = (Phase::Running, at, FLAGSHIP);
            step.hedge_at = hedge_at;
        }
    }

    fn launch_due(&mut self, run: u64, now: f64) {
        for ix in 0..self.steps.len() {
            let step = &mut self.steps[ix];
            if step.phase == Phase::Running
                && step.launch_at <= now + EPSILON
                && step.attempts.len() < self.attempts_max
            {
                let (path, at, first) = (step.launch_on, step.launch_at, step.attempts.is_empty());
                step.launch_at = NEVER;
                self.launch(run, ix, path, at);
                if self.policy == Baseline::Race2 && first {
                    self.launch(run, ix, OTHER_FLAGSHIP, at);
                    self.hedges += 1;
                }
            }
            let step = &mut self.steps[ix];
            if step.attempts.len() >= self.attempts_max {
                step.launch_at = NEVER;
            }
        }
    }

    /// Launched attempts are billed in full; an error bills its input only, a 429 nothing.
    fn launch(&mut self, run: u64, ix: usize, path: u8, at: f64) {
        let used = self.steps[ix].used[usize::from(path)];
        let fate = self.setting.draw(run, ix, path, used);
        let step = &mut self.steps[ix];
        step.used[usize::from(path)] += 1;
        let ends = fate.end_s.map_or(NEVER, |end| at + end);
        step.attempts.push(Attempt { launched: at, ends, ending: fate.ending, alive: true });
        let (tokens, cost) = self.setting.bill(ix, path, fate.ending);
        self.tokens += tokens;
        self.cost += cost;
    }

    /// After how many seconds an attempt of this step is given up.
    fn patience(&self, ix: usize) -> f64 {
        match self.policy {
            Baseline::Temporal => TEMPORAL_TIMEOUT,
            Baseline::Serial95 => self.figures[ix].p95,
            Baseline::Wait
            | Baseline::Race2
            | Baseline::Hedge95
            | Baseline::SingleR
            | Baseline::Oracle => NEVER,
        }
    }

    fn next_event(&self) -> f64 {
        let mut next = self.deadline;
        for (ix, step) in self.steps.iter().enumerate() {
            if step.phase != Phase::Running {
                continue;
            }
            let patience = self.patience(ix);
            next = next.min(step.launch_at).min(step.hedge_at);
            for attempt in step.attempts.iter().filter(|attempt| attempt.alive) {
                next = next.min(attempt.ends).min(attempt.launched + patience);
            }
        }
        next
    }

    fn end_due(&mut self, now: f64) {
        for ix in 0..self.steps.len() {
            if self.steps[ix].phase != Phase::Running {
                continue;
            }
            let patience = self.patience(ix);
            for at in 0..self.steps[ix].attempts.len() {
                let attempt = self.steps[ix].attempts[at];
                let ended = attempt.ends <= now + EPSILON;
                if !attempt.alive || !(ended || now >= attempt.launched + patience - EPSILON) {
                    continue;
                }
                self.steps[ix].attempts[at].alive = false;
                let ending = ended.then_some(attempt.ending);
                if let Some(Ending::Ok | Ending::Silent) = ending {
                    self.silent |= attempt.ending == Ending::Silent;
                    (self.steps[ix].phase, self.steps[ix].ended) = (Phase::Done, attempt.ends);
                    break;
                }
                self.failed(ix, ending, now);
            }
            let step = &mut self.steps[ix];
            if step.phase == Phase::Running && step.hedge_at <= now + EPSILON {
                step.hedge_at = NEVER;
                if step.launch_at >= NEVER {
                    (step.launch_at, step.launch_on) = (now, OTHER_FLAGSHIP);
                    self.hedges += 1;
                }
            }
        }
    }

    /// An attempt has failed visibly, or was given up (`None`).
    fn failed(&mut self, ix: usize, ending: Option<Ending>, now: f64) {
        let step = &mut self.steps[ix];
        step.failures += 1;
        if step.attempts.iter().any(|attempt| attempt.alive) || step.launch_at < NEVER {
            return;
        }
        let pauses = match ending {
            Some(Ending::RateLimited) => true,
            Some(Ending::Error) => self.policy == Baseline::Temporal,
            _ => false,
        };
        let doublings = i32::try_from(step.failures - 1).unwrap_or(i32::MAX);
        let pause = if pauses { 2.0_f64.powi(doublings).min(PAUSE_MAX) } else { 0.0 };
        (step.launch_at, step.launch_on) = (now + pause, FLAGSHIP);
    }

    /// The oracle's run.
    fn foresee(&mut self, run: u64) -> Measured {
        for ix in 0..self.steps.len() {
            let ready = self.setting.parents[ix].iter().map(|p| self.steps[*p].ended);
            let ready = ready.fold(0.0, f64::max);
            let (mut soonest, mut on) = (1e9, FLAGSHIP);
            let optional = self.setting.is_optional(ix);
            for path in 0..PATHS {
                for attempt in 0..ORACLE_DRAWS {
                    let fate = self.setting.draw(run, ix, path, attempt);
                    let end = fate.end_s.unwrap_or(1e9);
                    if fate.ending == Ending::Ok && end < soonest {
                        (soonest, on) = (end, path);
                    }
                }
            }
            // Nobody has to wait for what a run can do without.
            let took = if optional { 0.0 } else { soonest };
            (self.steps[ix].phase, self.steps[ix].ended) = (Phase::Done, ready + took);
            let (tokens, cost) = self.setting.bill(ix, on, Ending::Ok);
            self.tokens += tokens;
            self.cost += cost;
        }
        self.measured()
    }
}

/// Chance that a run of so many steps meets no silent error on the strong path: what the bound is scaled by.
#[must_use]
pub fn silent_floor(setting: &Setting<'_>) -> f64 {
    let right = 1.0 - setting.regime.paths[usize::from(STRONG)].p_silent;
    let needed = (0..setting.classes.len()).filter(|step| !setting.is_optional(*step)).count();
    right.powi(i32::try_from(needed).unwrap_or(i32::MAX))
}
