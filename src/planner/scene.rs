//! A step's situation in cells of time: what being done is worth by then, and what is still open of what is in flight.

use super::belief::{Belief, WEIGHT_MIN};
use super::chain::{CELLS_MAX, Chain, state};
use super::look::{Beside, Look, View};
use super::stage::{Lane, Stage};
use super::tables::Tables;

/// A sibling with nothing done by so many cells is joined by a quick attempt, as far as its sibling can tell.
const RESCUED_AFTER: usize = 3;
/// A held answer is not held for less.
const HELD_FOR: f64 = 1e-4;
/// A race is followed until so little of it is open.
const OPEN_MIN: f64 = 1e-4;

/// One step at one moment.
pub(super) struct Scene<'a> {
    tables: &'a Tables,
    belief: &'a Belief,
    pub stage: &'a Stage,
    /// Cells that count, at least 1.
    pub cells: usize,
    /// By cell from now, what it is worth to be done then.
    pub worth: [f64; CELLS_MAX],
    /// By cell from now, the chance that no attempt of less trust is done.
    light: [f64; CELLS_MAX],
    /// The same of the others.
    other: [f64; CELLS_MAX],
    /// Trust in those of less trust, and in the others: sums and numbers.
    trust: [(f64, f64); 2],
    /// Paths with attempts in flight.
    pub in_use: u64,
}

/// An attempt that may join.
pub(super) struct Joins<'a> {
    pub lane: &'a Lane,
    /// By cell from its launch, the chance that it is done.
    pub done: &'a [f64; CELLS_MAX],
    /// Cells until it is launched.
    pub after: usize,
}

impl<'a> Scene<'a> {
    /// `None` where the step takes no time, is none, or there is no time left.
    pub(super) fn of(tables: &'a Tables, belief: &'a Belief, view: &View<'_>) -> Option<Self> {
        let stage = tables.steps.get(view.step.at())?;
        stage.kind?;
        if view.left.is_nan() || view.left <= 0.0 {
            return None;
        }
        let mut scene = Self {
            tables,
            belief,
            stage,
            cells: 1,
            worth: [0.0; CELLS_MAX],
            light: [1.0; CELLS_MAX],
            other: [1.0; CELLS_MAX],
            trust: [(0.0, 0.0); 2],
            in_use: 0,
        };
        scene.weigh(view);
        scene.wait_for(view);
        for look in view.attempts {
            scene.take(look);
        }
        Some(scene)
    }

    /// What it is worth to be done, by cell from now.
    fn weigh(&mut self, view: &View<'_>) {
        let left = (view.left / self.tables.cell).min(1e6);
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "bounded")]
        let (whole, part) = ((left as usize).min(self.tables.cells - 2), left.fract());
        let mut blend = [0.0_f64; CELLS_MAX];
        for (weight, done) in self.belief.weights.iter().zip(&self.stage.done) {
            if *weight > WEIGHT_MIN {
                for (into, worth) in blend[..whole + 2].iter_mut().zip(done) {
                    *into += weight * f64::from(*worth);
                }
            }
        }
        self.cells = whole + 1;
        for (at, into) in self.worth[..=whole].iter_mut().enumerate() {
            *into = blend[whole - at] * (1.0 - part) + blend[whole - at + 1] * part;
        }
        if let Some(optional) = self.stage.optional {
            let open = ((view.left - optional.closes) / self.tables.cell).clamp(0.0, 1e6);
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "bounded")]
            self.worth[(open as usize + 1).min(whole + 1)..=whole].fill(0.0);
        }
    }

    /// Siblings that are to be waited for at the next join: being done before them is worth no more.
    fn wait_for(&mut self, view: &View<'_>) {
        let shape = &self.tables.shape;
        let step = view.step.at();
        let Some(join) = shape.join[step] else { return };
        let mut ready = [1.0_f64; CELLS_MAX];
        let mut any = false;
        for beside in view.beside {
            let other = beside.step.at();
            if other == step || shape.join.get(other).copied().flatten() != Some(join) {
                continue;
            }
            any = true;
            let open = self.open(beside);
            let later = (shape.to_join[other] - shape.to_join[step]) / self.tables.cell;
            #[expect(clippy::cast_possible_truncation, reason = "a few hundred")]
            let later = later.round() as isize;
            for (at, ready) in ready[..self.cells].iter_mut().enumerate() {
                *ready *= match at.checked_add_signed(-later) {
                    None => 0.0,
                    Some(own) => 1.0 - open[own.min(self.cells - 1)],
                };
            }
        }
        if !any {
            return;
        }
        let mut later = 0.0;
        for at in (0..self.cells).rev() {
            let own = self.worth[at];
            self.worth[at] = ready[at] * own + later;
            if at > 0 {
                later += (ready[at] - ready[at - 1]) * own;
            }
        }
    }

    /// By cell from now, the chance that another step is not done.
    fn open(&self, beside: &Beside<'_>) -> [f64; CELLS_MAX] {
        let mut open = [1.0; CELLS_MAX];
        let stage = self.tables.steps.get(beside.step.at());
        let Some((stage, kind)) = stage.and_then(|stage| Some((stage, stage.kind?))) else {
            return [0.0; CELLS_MAX];
        };
        if beside.held {
            return [0.0; CELLS_MAX];
        }
        for look in beside.attempts {
            self.close(stage, kind, look, &mut open);
        }
        let kind = &self.tables.kinds[kind];
        let rescue = &kind.chains[kind.rescue][0].fresh;
        for (open, done) in open[..self.cells].iter_mut().skip(RESCUED_AFTER).zip(rescue) {
            *open *= 1.0 - f64::from(*done);
        }
        open
    }

    /// Takes one attempt's chance to be done off what is open. Returns its path's place in the step.
    fn close(
        &self,
        stage: &Stage,
        kind: usize,
        look: &Look,
        open: &mut [f64; CELLS_MAX],
    ) -> Option<usize> {
        let place = stage.paths.iter().position(|lane| lane.path == look.path.at())?;
        let spell = self.belief.spell(stage.paths[place].provider);
        let now = state(look, stage.expected, self.tables.cell);
        let [out, within] = &self.tables.kinds[kind].chains[place];
        let (out, within) = (out.rest(now), within.rest(now));
        for (open, (out, within)) in open[..self.cells].iter_mut().zip(out.iter().zip(within)) {
            *open *= 1.0 - ((1.0 - spell) * f64::from(*out) + spell * f64::from(*within));
        }
        Some(place)
    }

    fn take(&mut self, look: &Look) {
        let Some(kind) = self.stage.kind else { return };
        let mut open = [1.0; CELLS_MAX];
        let Some(place) = self.close(self.stage, kind, look, &mut open) else { return };
        let lane = &self.stage.paths[place];
        let into = if lane.light { &mut self.light } else { &mut self.other };
        for (into, open) in into[..self.cells].iter_mut().zip(&open) {
            *into *= open;
        }
        let (sum, number) = &mut self.trust[usize::from(!lane.light)];
        *sum += lane.trust;
        *number += 1.0;
        self.in_use |= 1 << place;
    }

    /// By cell, the chance that an attempt launched at this place is done, 429s taken into account.
    pub(super) fn fresh(&self, place: usize, refused: f64) -> [f64; CELLS_MAX] {
        let mut done = [0.0; CELLS_MAX];
        let Some(kind) = self.stage.kind else { return done };
        let spell = self.belief.spell(self.stage.paths[place].provider);
        let [out, within]: &[Chain; 2] = &self.tables.kinds[kind].chains[place];
        let both = out.fresh.iter().zip(&within.fresh);
        for (done, (out, within)) in done[..self.cells].iter_mut().zip(both) {
            let mixed = (1.0 - spell) * f64::from(*out) + spell * f64::from(*within);
            *done = (1.0 - refused) * mixed;
        }
        done
    }

    /// Chance that nothing in flight is done by so many cells.
    pub(super) fn open_at(&self, cell: usize) -> f64 {
        self.light[cell.min(self.cells - 1)] * self.other[cell.min(self.cells - 1)]
    }

    /// What the race is worth, with or without another attempt; an answer of less trust may be held for a better one, and an
    /// optional step be given up.
    pub(super) fn race(&self, joins: Option<&Joins<'_>>) -> f64 {
        let mut trust = self.trust;
        if let Some(joins) = joins {
            let (sum, number) = &mut trust[usize::from(!joins.lane.light)];
            *sum += joins.lane.trust;
            *number += 1.0;
        }
        let [light_trust, other_trust] = trust.map(|(sum, n)| if n > 0.0 { sum / n } else { 0.0 });
        let without = self.stage.optional.map_or(0.0, |optional| optional.without);
        let (mut light_open, mut other_open) = (1.0, 1.0);
        let (mut sum, mut patient, mut gain, mut given_up) = (0.0, 0.0, 0.0_f64, 0.0_f64);
        let holds = trust[0].1 > 0.0 && trust[1].1 > 0.0;
        for at in 0..self.cells {
            let (mut light, mut other) = (self.light[at], self.other[at]);
            if let Some(joins) = joins.filter(|joins| at >= joins.after) {
                let open = 1.0 - joins.done[at - joins.after];
                *(if joins.lane.light { &mut light } else { &mut other }) *= open;
            }
            let worth = self.worth[at];
            let of_other = other_open - other;
            sum += (of_other * 0.5 * (light_open + light) * other_trust
                + (light_open - light) * 0.5 * (other_open + other) * light_trust)
                * worth;
            if holds {
                patient += of_other * other_trust * worth;
                gain = gain.max(patient + other * (1.0 - light) * light_trust * worth - sum);
            }
            given_up = given_up.max(sum + other * light * without * worth);
            (light_open, other_open) = (light, other);
            if other < OPEN_MIN
                || light * other < OPEN_MIN
                    && (!holds || patient + other * other_trust * worth - sum <= gain)
            {
                break;
            }
        }
        (sum + gain).max(given_up)
    }

    /// Whether to wait on with an answer of this trust in hand for what is in flight of more.
    pub(super) fn holds(&self, trust: f64, cells: usize) -> bool {
        let (sum, number) = self.trust[1];
        if number <= 0.0 {
            return false;
        }
        let better = sum / number;
        let (mut open, mut gained) = (1.0, 0.0);
        for at in 0..self.cells.min(cells) {
            let worth = self.worth[at];
            gained += (open - self.other[at]) * better * worth;
            open = self.other[at];
            if at > 0 && gained + open * trust * worth > trust * self.worth[0] + HELD_FOR {
                return true;
            }
        }
        false
    }
}
