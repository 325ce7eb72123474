//! The decisions: where a step starts, whether another attempt joins, whether to wait on for a better answer.

use super::belief::{Belief, WEIGHT_MIN};
use super::look::View;
use super::scene::{Joins, Scene};
use super::stage::Lane;
use super::tables::Tables;
use super::worth::interpolate;
use crate::domain::id::PathIx;

/// Waiting is compared as waiting for so many cells before the same launch.
const DELAYS: [usize; 6] = [1, 2, 4, 8, 16, 30];
/// Most attempts of a step in flight to which another is added.
const IN_FLIGHT_MAX: usize = 7;
/// Where a launch is refused with more than this chance, no extra one is tried.
const REFUSED_MAX: f64 = 0.35;
/// A start in a burst of 429s comes so much later, in tries that are refused.
const TRIES: f64 = 1.5;
/// So many 429s of one provider in a step, and others come first,
const REFUSALS: u32 = 3;
/// by so much worth.
const POLITE: f64 = 0.05;
/// A held answer is held for so many cells at most.
const HOLD_MAX: usize = 40;

/// Where to launch a step that has nothing in flight.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Start {
    /// On which path.
    pub path: PathIx,
    /// Seconds until it opens; 0 is at once.
    pub wait: f64,
    /// What the run is worth with it: the chance of a right answer in time, less prices.
    pub value: f64,
}

/// An attempt to launch beside what is in flight.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Extra {
    /// On which path.
    pub path: PathIx,
    /// `with - waiting`; above 0.
    pub gain: f64,
    /// What the run is worth without it.
    pub waiting: f64,
    /// What it is worth with it, its price taken off.
    pub with: f64,
    /// Its price.
    pub price: f64,
}

/// Where a step starts, or starts again when nothing of it is in flight. `None` where no path is left.
#[must_use]
pub fn start(tables: &Tables, belief: &Belief, view: &View<'_>) -> Option<Start> {
    let stage = tables.steps.get(view.step.at())?;
    let mut best: Option<Start> = None;
    for (place, lane) in stage.paths.iter().enumerate() {
        let wait = view.opens_in(lane.path);
        if !wait.is_finite() || !affordable(lane, stage.tokens, view) {
            continue;
        }
        let worth = |left: f64| {
            let weighed = belief.weights.iter().zip(&stage.played);
            let weighed = weighed.filter(|(weight, _)| **weight > WEIGHT_MIN);
            let at = left / tables.cell;
            let fresh = weighed.map(|(weight, played)| {
                let of_path = place * tables.cells..(place + 1) * tables.cells;
                weight * f64::from(interpolate(&played.fresh[of_path], at))
            });
            fresh.sum::<f64>() - lane.start
        };
        let left = view.left - wait;
        let (burst, omen) = (belief.burst(lane.provider), &tables.omens.providers[lane.provider]);
        let mut value = worth(left);
        // What the engine has closed for a known time, it need not try again in vain.
        if burst > 1e-3 && wait <= 0.0 {
            value += burst * (worth(left - TRIES * omen.refused_after) - value);
        }
        if view.refusals.get(lane.provider).is_some_and(|refused| *refused >= REFUSALS) {
            value -= POLITE;
        }
        if best.is_none_or(|best| value > best.value) {
            best = Some(Start { path: path_ix(lane)?, wait, value });
        }
    }
    best
}

/// Another attempt to launch now. `None` is to wait: nothing pays, or it pays more later.
#[must_use]
pub fn extra(tables: &Tables, belief: &Belief, view: &View<'_>) -> Option<Extra> {
    let stage = tables.steps.get(view.step.at())?;
    let in_flight = view.attempts.len();
    if !stage.races || view.held.is_some() || view.attempts_left == 0 {
        return None;
    }
    if in_flight == 0 || in_flight >= IN_FLIGHT_MAX {
        return None;
    }
    let cheapest = stage.paths.iter().map(|lane| lane.extra).reduce(f64::min)?;
    let scene = Scene::of(tables, belief, view)?;
    let waiting = scene.race(None);
    if scene.worth[0] - waiting < cheapest {
        return None;
    }
    let mut best: Option<Extra> = None;
    let mut candidates = Vec::with_capacity(stage.paths.len());
    for (place, lane) in stage.paths.iter().enumerate() {
        let refused = belief.burst(lane.provider) * tables.omens.providers[lane.provider].refused;
        let closed = view.opens_in(lane.path) > 0.0 || refused > REFUSED_MAX;
        let blocked = lane.alone && scene.in_use & 1 << place != 0;
        if closed || blocked || !affordable(lane, stage.tokens, view) {
            continue;
        }
        let done = scene.fresh(place, refused);
        let with = scene.race(Some(&Joins { lane, done: &done, after: 0 })) - lane.extra;
        if with > waiting && best.is_none_or(|best| with > best.with) {
            let (path, gain, price) = (path_ix(lane)?, with - waiting, lane.extra);
            best = Some(Extra { path, gain, waiting, with, price });
        }
        candidates.push((lane, done));
    }
    let best = best?;
    // Better a little later?
    for (lane, done) in &candidates {
        for after in DELAYS.into_iter().filter(|after| *after < scene.cells) {
            let later = scene.race(Some(&Joins { lane, done, after }));
            if later - lane.extra * scene.open_at(after) > best.with + 1e-12 {
                return None;
            }
        }
    }
    Some(best)
}

/// Whether a step that holds an answer ([`View::held`]) waits on for an attempt of more trust.
#[must_use]
pub fn keep_holding(tables: &Tables, belief: &Belief, view: &View<'_>) -> bool {
    let Some(held) = view.held else { return false };
    let Some(scene) = Scene::of(tables, belief, view) else { return false };
    let lane = scene.stage.paths.iter().find(|lane| lane.path == held.at());
    lane.is_some_and(|lane| scene.holds(lane.trust, HOLD_MAX))
}

/// Whether an optional step is to be given up now, because waiting for it lowers what the run is worth.
#[must_use]
pub fn give_up(tables: &Tables, belief: &Belief, view: &View<'_>) -> bool {
    let Some(scene) = Scene::of(tables, belief, view) else { return false };
    let Some(optional) = scene.stage.optional else { return false };
    let now = optional.without * scene.worth[0];
    if view.attempts.is_empty() {
        start(tables, belief, view).is_none_or(|start| start.value < now)
    } else {
        scene.race(None) <= now
    }
}

/// What the run is worth as it stands, left alone: the chance of a right answer in time, less later prices, as far as it
/// hangs on this step.
#[must_use]
pub fn value_left(tables: &Tables, belief: &Belief, view: &View<'_>) -> f64 {
    if view.attempts.is_empty() && view.held.is_none() {
        return start(tables, belief, view).map_or(0.0, |start| start.value);
    }
    let Some(scene) = Scene::of(tables, belief, view) else { return 0.0 };
    let held = view.held.and_then(|held| {
        let lane = scene.stage.paths.iter().find(|lane| lane.path == held.at());
        lane.map(|lane| lane.trust * scene.worth[0])
    });
    scene.race(None).max(held.unwrap_or(0.0))
}

fn affordable(lane: &Lane, tokens: f64, view: &View<'_>) -> bool {
    lane.dollars <= view.dollars_left && tokens <= view.tokens_left
}

fn path_ix(lane: &Lane) -> Option<PathIx> {
    u16::try_from(lane.path).ok().map(PathIx)
}
