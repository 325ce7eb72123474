//! How a workflow would fare: many runs of it in virtual time under one deadline, and the figures they come to.
//!
//! Runs arrive one after another in one world, so that what they share (minutes, slots, pauses after a 429, the share
//! of extra attempts) is as it would be live. The same seed gives the same runs under every deadline: what differs
//! between two deadlines is the deadline's doing.

use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;
use serde_json::Value;

use super::{Ended, World};
use crate::domain::id::RunId;
use crate::domain::outcome::Cause;
use crate::domain::plan::Plan;
use crate::domain::provider::ProviderSettings;
use crate::domain::time::Timestamp;
use crate::latency::book::Book;
use crate::latency::law::Laws;
use crate::planner::{Pilot, SharedPilot};
use crate::provider::simulated::{Recordings, UnknownRegime};
use crate::run::Run;
use crate::trace::report::{AttemptReport, RunReport};
use crate::workflow::Workflow;

/// The 97.5 % quantile of the normal distribution: intervals hold 95 %.
const Z: f64 = 1.96;
/// Tells the runs that others have learned from, from these.
const BEFORE: u64 = 1 << 62;
/// How often they are told anew what was learned.
const QUARTERS: u64 = 4;

/// What is played: a workflow on simulated providers, with the inputs its runs take in turn.
#[derive(Clone, Debug)]
pub struct Trial {
    /// The workflow; its deadline is the runs'.
    pub workflow: Arc<Workflow>,
    /// Validated inputs, at least one.
    pub inputs: Vec<Value>,
    /// Its providers; those that are not simulated have no part in it.
    pub providers: Vec<ProviderSettings>,
    /// How the workflow's paths fare, where that was measured; else as each provider's regime has it.
    pub laws: Option<Arc<Laws>>,
    /// What runs are told of times; nothing where it is as after a first start.
    pub pilot: Option<SharedPilot>,
    /// What models are known to say.
    pub recordings: Arc<Recordings>,
    /// The first run's seed; each run has the next.
    pub seed: u64,
    /// Time between two arrivals.
    pub apart: Duration,
}

/// One run, as far as figures are made of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Sample {
    /// Whether a valid answer was there by the deadline.
    pub on_time: bool,
    /// Whether parts of it were missing or unverified.
    pub degraded: bool,
    /// From its arrival to its end.
    pub elapsed: Duration,
    /// Dollars, losers included.
    pub cost_usd: f64,
    /// Tokens in and out, losers included.
    pub tokens: u64,
    /// First attempts of steps and items.
    pub primaries: u32,
    /// Attempts launched beside one that was cut or is slow.
    pub extras: u32,
    /// Why it failed: a failure class, and the step it names.
    pub failure: Option<(String, Option<String>)>,
    /// By the plan's steps; `None` for those that never began.
    pub steps: Vec<Option<Took>>,
}

/// What one step of a run took, its items together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Took {
    /// When it began, milliseconds from the run's arrival.
    pub from_ms: u64,
    /// When it ended; the run's end where it did not.
    pub to_ms: u64,
    /// Whether it ended with an answer.
    pub done: bool,
    /// Waiting in a provider's line, in its slowest item.
    pub queued_ms: u64,
    /// The path of its longest attempt.
    pub path: Option<String>,
}

/// What many runs under one deadline come to. Field names are those of the printed JSON.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Figures {
    /// The deadline.
    pub deadline_ms: u64,
    /// Runs.
    pub runs: usize,
    /// Share with a valid answer by the deadline, degraded ones included.
    pub on_time: f64,
    /// Lower end of its 95 % interval (Wilson).
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// Share of all runs that answered without some optional part.
    pub degraded: f64,
    /// Milliseconds to the answer at the median; `None` where half of the runs or more have none.
    pub p50_ms: Option<u64>,
    /// The 95th percentile, likewise.
    pub p95_ms: Option<u64>,
    /// The 99th percentile, likewise.
    pub p99_ms: Option<u64>,
    /// Dollars a run, at the mean.
    pub cost_usd: f64,
    /// Tokens a run, in and out, at the mean.
    pub tokens: f64,
    /// Extra attempts beside a running one, as a share of first attempts.
    pub hedges: f64,
}

impl Trial {
    /// The same with its paths faring as `laws` have them, and every answer made up or recorded.
    #[must_use]
    pub fn measured(self, laws: Arc<Laws>) -> Self {
        let mut plan = (*self.workflow.plan).clone();
        for provider in &mut plan.providers {
            provider.simulated = true;
        }
        let workflow = Workflow { plan: Arc::new(plan), ..(*self.workflow).clone() };
        Self { workflow: Arc::new(workflow), laws: Some(laws), ..self }
    }

    /// The same under another deadline. A caller can only shorten a workflow's; here the workflow's own is another. Where
    /// runs are told of times, the planner's tables are made anew.
    #[must_use]
    pub fn under(&self, deadline: Duration) -> Self {
        let plan = Plan { deadline, ..(*self.workflow.plan).clone() };
        let pilot = self.pilot.as_ref().map(|pilot| {
            let bare = Pilot { tables: None, ..(**pilot).clone() };
            Arc::new(bare.planned(&plan))
        });
        let workflow = Workflow { plan: Arc::new(plan), ..(*self.workflow).clone() };
        Self { workflow: Arc::new(workflow), pilot, ..self.clone() }
    }

    /// The same with its runs told what `runs` runs before them have shown. Those are other ones, one after another; the
    /// first know nothing, and each quarter of them what those before it have shown, as it would be live.
    ///
    /// # Errors
    /// A provider names a regime that there is not.
    pub fn warmed(self, runs: u64) -> Result<Self, UnknownRegime> {
        let mut before = Self { seed: self.seed ^ BEFORE, pilot: None, ..self.clone() };
        let (mut book, mut now) = (Book::new(), Duration::ZERO);
        let (each, mut from) = (runs.div_ceil(QUARTERS).max(1), 0);
        while from < runs {
            let some = each.min(runs - from);
            book = before.world(from, some)?.learn(book, now);
            now += self.apart.saturating_mul(u32::try_from(some).unwrap_or(u32::MAX));
            from += some;
            let pilot = Pilot::of(&self.workflow.plan, &book, now);
            before.pilot = Some(Arc::new(pilot.planned(&self.workflow.plan)));
        }
        Ok(Self { pilot: before.pilot, ..self })
    }

    /// What `runs` runs show of times.
    ///
    /// # Errors
    /// A provider names a regime that there is not.
    pub fn learn(&self, runs: u64) -> Result<Book, UnknownRegime> {
        Ok(self.world(0, runs)?.learn(Book::new(), Duration::ZERO))
    }

    /// Plays the runs numbered `from` to `from + runs` in a world of their own.
    ///
    /// # Errors
    /// A provider names a regime that there is not.
    pub fn play(&self, from: u64, runs: u64) -> Result<Vec<Sample>, UnknownRegime> {
        Ok(self.world(from, runs)?.play().iter().map(Sample::of).collect())
    }

    fn world(&self, from: u64, runs: u64) -> Result<World, UnknownRegime> {
        let plan = &self.workflow.plan;
        let mut world = match &self.laws {
            Some(laws) => World::measured(&self.providers, plan, laws, self.seed, &self.recordings),
            None => World::of(&self.providers, &self.recordings)?,
        };
        for nth in 0..runs {
            let seed = self.seed.wrapping_add(from + nth);
            let at = usize::try_from(from + nth).unwrap_or(0) % self.inputs.len().max(1);
            let input = self.inputs.get(at).cloned().unwrap_or_default();
            let run = Run::new(RunId::new(seed), self.workflow.clone(), input, plan.deadline, seed);
            let arrives = self.apart.saturating_mul(u32::try_from(nth).unwrap_or(u32::MAX));
            world.arrive(run.knowing(self.pilot.clone()), Timestamp::after_start(arrives));
        }
        Ok(world)
    }
}

impl Sample {
    fn of(ended: &Ended) -> Self {
        let report = ended.run.report("", ended.at);
        let plan = &ended.run.workflow().plan;
        let causes = |wanted: fn(&str) -> bool| {
            let attempts = report.steps.iter().flat_map(|step| &step.attempts);
            let of = attempts.filter(|attempt| wanted(&attempt.cause)).count();
            u32::try_from(of).unwrap_or(u32::MAX)
        };
        let failure = report.failure.as_ref();
        Self {
            on_time: matches!(report.outcome.as_str(), "delivered" | "degraded"),
            degraded: report.outcome == "degraded",
            elapsed: ended.at.since_start(),
            cost_usd: report.cost_usd,
            tokens: report.tokens.input + report.tokens.output,
            primaries: causes(|cause| cause == Cause::Primary.as_str()),
            extras: causes(|cause| {
                cause == Cause::Hedge.as_str() || cause == Cause::Faster.as_str()
            }),
            failure: failure.map(|failure| (failure.class.clone(), failure.step.clone())),
            steps: plan.steps.iter().map(|step| Took::of(&step.name, &report)).collect(),
        }
    }
}

impl Took {
    /// From its beginning to its end, in milliseconds.
    #[must_use]
    pub fn whole_ms(&self) -> u64 {
        self.to_ms.saturating_sub(self.from_ms)
    }

    /// What the step of that name took; `None` where it never began.
    fn of(step: &str, report: &RunReport) -> Option<Self> {
        let items = || report.steps.iter().filter(|item| item.step == step);
        let from_ms = items().filter_map(|item| item.started_ms).min()?;
        let ends = items().filter(|item| item.started_ms.is_some());
        let to_ms = ends.map(|item| item.ended_ms.unwrap_or(report.elapsed_ms)).max()?;
        let lasted = |a: &&AttemptReport| {
            a.ended_ms.unwrap_or(report.elapsed_ms).saturating_sub(a.started_ms) + a.queued_ms
        };
        let queued = |item: &crate::trace::report::StepReport| {
            item.attempts.iter().map(|attempt| attempt.queued_ms).sum::<u64>()
        };
        Some(Self {
            from_ms,
            to_ms,
            done: items().any(|item| item.status == "ok"),
            queued_ms: items().map(queued).max().unwrap_or(0),
            path: items()
                .flat_map(|item| &item.attempts)
                .max_by_key(lasted)
                .map(|attempt| attempt.path.clone()),
        })
    }
}

impl Figures {
    /// The figures of `samples`, played under `deadline`.
    #[must_use]
    pub fn of(deadline: Duration, samples: &[Sample]) -> Self {
        let n = count(samples.len().max(1));
        let mean = |of: fn(&Sample) -> f64| samples.iter().map(of).sum::<f64>() / n;
        let on_time = mean(|sample| f64::from(u8::from(sample.on_time)));
        let (low, high) = wilson(on_time, n);
        let good = samples.iter().filter(|sample| sample.on_time);
        let mut times: Vec<u64> = good.map(|sample| millis(sample.elapsed)).collect();
        times.sort_unstable();
        let at = |share| percentile(&times, samples.len(), share);
        let primaries = mean(|sample| f64::from(sample.primaries));
        Self {
            deadline_ms: millis(deadline),
            runs: samples.len(),
            on_time,
            low,
            high,
            degraded: mean(|sample| f64::from(u8::from(sample.degraded))),
            p50_ms: at(0.5),
            p95_ms: at(0.95),
            p99_ms: at(0.99),
            cost_usd: mean(|sample| sample.cost_usd),
            tokens: mean(|sample| count(usize::try_from(sample.tokens).unwrap_or(usize::MAX))),
            hedges: mean(|sample| f64::from(sample.extras)) / primaries.max(f64::MIN_POSITIVE),
        }
    }
}

/// The smallest of `times`, ascending, within which a share `share` of `all` has answered; who is not among `times`
/// never answers.
fn percentile(times: &[u64], all: usize, share: f64) -> Option<u64> {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a share of runs that fit the memory"
    )]
    let rank = (count(all) * share).ceil() as usize;
    times.get(rank.max(1) - 1).copied()
}

#[expect(clippy::cast_precision_loss, reason = "runs and tokens of a forecast")]
fn count(n: usize) -> f64 {
    n as f64
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

/// The 95 % interval of a share among `n` (Wilson, 1927).
fn wilson(share: f64, n: f64) -> (f64, f64) {
    let z = Z * Z;
    let width = 1.0 + z / n;
    let middle = (share + z / (2.0 * n)) / width;
    let half = Z * (share * (1.0 - share) / n + z / (4.0 * n * n)).sqrt() / width;
    ((middle - half).max(0.0), (middle + half).min(1.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(on_time: bool, seconds: u64) -> Sample {
        Sample {
            on_time,
            degraded: false,
            elapsed: Duration::from_secs(seconds),
            cost_usd: 0.5,
            tokens: 100,
            primaries: 4,
            extras: 1,
            failure: None,
            steps: Vec::new(),
        }
    }

    #[test]
    fn a_percentile_that_falls_among_the_misses_is_none() {
        let mut samples: Vec<Sample> = (1..=96).map(|s| sample(true, s)).collect();
        samples.extend((0..4).map(|_| sample(false, 200)));
        let figures = Figures::of(Duration::from_secs(200), &samples);
        assert!((figures.on_time - 0.96).abs() < 1e-12);
        assert_eq!(figures.p50_ms, Some(50_000));
        assert_eq!(figures.p95_ms, Some(95_000));
        assert_eq!(figures.p99_ms, None);
        assert!((figures.hedges - 0.25).abs() < 1e-12);
        assert!((figures.tokens - 100.0).abs() < 1e-12 && (figures.cost_usd - 0.5).abs() < 1e-12);
    }

    /// 96 of 100: 90.16 % to 98.43 % (Wilson's formula by hand).
    #[test]
    fn the_interval_of_a_share_is_wilsons() {
        let (low, high) = wilson(0.96, 100.0);
        assert!((low - 0.9016).abs() < 2e-4 && (high - 0.9843).abs() < 2e-4, "{low} {high}");
        let (low, high) = wilson(1.0, 100.0);
        assert!((low - 0.963).abs() < 1e-3 && (high - 1.0).abs() < 1e-12, "{low} {high}");
    }
}
