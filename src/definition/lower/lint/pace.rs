//! How long steps take at the median, before anything is measured, and the chains they form.
//!
//! A path's first token and seconds a token are the medians of the latency model that the simulator's
//! `scenarios.json` is fitted with (`paths`: `ttft_med`, `tpot_med`): flagship 1.4 s and 16 ms, light 0.6 s and
//! 6.5 ms, strong 2.2 s and 26 ms. An answer is taken to be half its `max_tokens`. Everything unknown counts as
//! what is quickest: an unknown model as light, a list of unknown length as one wave, a step that may be
//! missing as nothing.

use std::time::Duration;

use crate::definition::config::catalogue::{Tier, catalogue};
use crate::definition::lower::lint::Subject;
use crate::domain::id::{ModelIx, StepIx};
use crate::domain::model::ModelProfile;
use crate::domain::plan::{NeedKind, Plan, Work};
use crate::domain::shape::{ListRange, Shape};

/// The share of its bound that a usual answer takes.
const USUAL_LENGTH_PERCENT: u64 = 50;

/// What a path takes at the median.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pace {
    /// Milliseconds to the first token.
    pub first_token_ms: u64,
    /// Microseconds a token.
    pub token_us: u64,
}

const LIGHT: Pace = Pace { first_token_ms: 600, token_us: 6_500 };
const FLAGSHIP: Pace = Pace { first_token_ms: 1_400, token_us: 16_000 };
const STRONG: Pace = Pace { first_token_ms: 2_200, token_us: 26_000 };

impl Pace {
    /// Of the path that a model's first attempts take.
    pub fn of(plan: &Plan, model: ModelIx) -> Self {
        let path = plan.model(model).paths.first();
        path.map_or(LIGHT, |path| Self::of_profile(&plan.path(*path).profile))
    }

    fn of_profile(profile: &ModelProfile) -> Self {
        let id = profile.id.as_str();
        match (catalogue().tier(id), id) {
            (Some(Tier::Balanced), _) | (None, "flagship") => FLAGSHIP,
            (Some(Tier::Best), _) | (None, "strong") => STRONG,
            (Some(Tier::Quick | Tier::Unused) | None, _) => LIGHT,
        }
    }

    /// A whole answer of that bound.
    pub fn answer(self, max_tokens: u32) -> Duration {
        let tokens = u64::from(max_tokens) * USUAL_LENGTH_PERCENT / 100;
        Duration::from_millis(self.first_token_ms)
            + Duration::from_micros(self.token_us.saturating_mul(tokens))
    }

    /// In words.
    pub fn words(self) -> String {
        let first = Duration::from_millis(self.first_token_ms).as_secs_f64();
        let token = Duration::from_micros(self.token_us).as_secs_f64() * 1e3;
        format!("{first} s to the first token, {token} ms a token, half of `max_tokens`")
    }
}

/// Seconds with one decimal, as messages show them.
pub fn seconds(duration: Duration) -> String {
    format!("{:.1} s", duration.as_secs_f64())
}

/// An edge of the graph: the second step waits for the first.
pub type Edge = (StepIx, StepIx);

/// When each step starts and ends at the median, and for which one it waits longest.
#[derive(Debug)]
pub struct Timeline {
    /// What each step takes itself.
    pub own: Vec<Duration>,
    /// In how many rounds its items go at least.
    pub waves: Vec<u64>,
    /// When each starts.
    pub start: Vec<Duration>,
    /// The step each waits for.
    before: Vec<Option<StepIx>>,
}

impl Timeline {
    /// Of a plan whose steps stand in the order of `places`, as if there were no edges `without`.
    pub fn of(subject: &Subject<'_>, places: &[usize], without: &[Edge]) -> Self {
        let plan = subject.plan;
        let mut line =
            Self { own: Vec::new(), waves: Vec::new(), start: Vec::new(), before: Vec::new() };
        for ix in plan.step_ixs() {
            let waves = waves(subject, ix, places[ix.at()]);
            line.own.push(own(plan, ix, waves));
            line.waves.push(waves);
            let mut start = (Duration::ZERO, None);
            for before in waits_for(plan, ix).filter(|before| !without.contains(&(*before, ix))) {
                let end = line.end(before);
                if end > start.0 {
                    start = (end, Some(before));
                }
            }
            line.start.push(start.0);
            line.before.push(start.1);
        }
        line
    }

    /// When a step ends. Zero for one that stands later in the plan.
    pub fn end(&self, ix: StepIx) -> Duration {
        let at = |list: &[Duration]| list.get(ix.at()).copied().unwrap_or_default();
        at(&self.start) + at(&self.own)
    }

    /// The step that ends last.
    fn last(&self, plan: &Plan) -> Option<StepIx> {
        plan.step_ixs().rev().max_by_key(|ix| self.end(*ix))
    }

    /// When the last step ends.
    pub fn total(&self, plan: &Plan) -> Duration {
        self.last(plan).map_or(Duration::ZERO, |ix| self.end(ix))
    }

    /// The longest chain of steps that take time, from root to end.
    pub fn chain(&self, plan: &Plan) -> Vec<StepIx> {
        let mut chain = Vec::new();
        let mut at = self.last(plan);
        while let Some(ix) = at {
            if self.own[ix.at()] > Duration::ZERO {
                chain.push(ix);
            }
            at = self.before[ix.at()];
        }
        chain.reverse();
        chain
    }

    /// What remains from a step's start to the end of the longest chain that begins with it.
    pub fn remaining(&self, plan: &Plan, from: StepIx) -> Duration {
        let mut reached: Vec<Option<Duration>> = vec![None; plan.steps.len()];
        reached[from.at()] = Some(self.own[from.at()]);
        for ix in plan.step_ixs().skip(from.at() + 1) {
            let before = waits_for(plan, ix).filter_map(|before| reached[before.at()]).max();
            reached[ix.at()] = before.map(|before| before + self.own[ix.at()]);
        }
        reached.into_iter().flatten().max().unwrap_or_default()
    }
}

/// The steps that one waits for, verdicts included.
fn waits_for(plan: &Plan, ix: StepIx) -> impl Iterator<Item = StepIx> + '_ {
    plan.step(ix).needs.iter().flat_map(move |need| {
        let judge = plan.step(need.step).judged_by.filter(|_| need.kind != NeedKind::Judges);
        std::iter::once(need.step).chain(judge.filter(|judge| *judge != ix))
    })
}

fn own(plan: &Plan, ix: StepIx, waves: u64) -> Duration {
    let step = plan.step(ix);
    let Work::Model { model, max_tokens, .. } = &step.work else { return Duration::ZERO };
    if step.optional || step.conditional {
        return Duration::ZERO;
    }
    let one = Pace::of(plan, *model).answer(*max_tokens);
    one.saturating_mul(u32::try_from(waves).unwrap_or(u32::MAX))
}

fn waves(subject: &Subject<'_>, ix: StepIx, place: usize) -> u64 {
    let Some(each) = &subject.plan.step(ix).each else { return 1 };
    let least = list_of(subject, place).and_then(|range| range.min).unwrap_or(1);
    least.div_ceil(u64::from(each.max_parallel.max(1))).max(1)
}

/// The bounds of the list of an `each` that is a path into the arguments and nothing else.
pub fn list_of<'a>(subject: &'a Subject<'_>, place: usize) -> Option<&'a ListRange> {
    let each = subject.drafts[place].each.as_ref()?;
    let mut names = each.body.source().trim().split('.');
    if names.next() != Some("input") {
        return None;
    }
    let found = names.try_fold(subject.input, |shape, name| match shape {
        Shape::Object(object) => object.field(name).map(|field| &field.shape),
        _ => None,
    })?;
    match found {
        Shape::List(_, range) => Some(range),
        _ => None,
    }
}
