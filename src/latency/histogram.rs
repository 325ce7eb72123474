//! Durations counted by the logarithm, with those that were broken off counted apart, and the Kaplan-Meier estimate over
//! both in one pass.
//!
//! Buckets grow by 4 %, so that their middles are within 2 % of what they hold (as those of `DDSketch`, Masson et al. 2019).
//! Counts are weights, so they can fade. Only buckets that hold something take room.

use serde::{Deserialize, Serialize};

use super::window::{NOTHING, Tally, Windows};

/// Lower end of the first bucket, in seconds. What is shorter counts as this.
pub const FLOOR_S: f64 = 1e-3;
/// Width of a bucket: the logarithm of the ratio of its ends.
pub const WIDTH: f64 = 0.04;
/// Buckets in all: up to 1.1 hours. What is longer counts as the last.
pub const BUCKETS: u16 = 380;

/// One bucket that holds something: its place, events, and censored ones.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Cell(pub u16, pub f64, pub f64);

/// Counted durations.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Histogram {
    /// Ascending by place.
    cells: Vec<Cell>,
}

/// Where a share of a distribution lies.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Quantile {
    /// There, in seconds.
    At(f64),
    /// Beyond the longest that was watched, in seconds: nobody waited long enough to tell.
    Beyond(f64),
}

impl Quantile {
    /// The number, where there is one.
    #[must_use]
    pub const fn known(self) -> Option<f64> {
        match self {
            Self::At(at) => Some(at),
            Self::Beyond(_) => None,
        }
    }

    /// The number, or the longest that was watched.
    #[must_use]
    pub const fn at_least(self) -> f64 {
        match self {
            Self::At(at) | Self::Beyond(at) => at,
        }
    }
}

/// The bucket of a number of seconds; a number that is none has none.
fn place(seconds: f64) -> Option<u16> {
    if seconds.is_nan() {
        return None;
    }
    let place = ((seconds / FLOOR_S).ln() / WIDTH).clamp(0.0, f64::from(BUCKETS - 1));
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "clamped")]
    Some(place as u16)
}

/// Seconds at a place between buckets: their lower ends are at whole numbers.
fn edge(place: f64) -> f64 {
    FLOOR_S * (place * WIDTH).exp()
}

/// A piece of a Kaplan-Meier estimate: from one place to another, the share that lasts falls from one to another.
struct Step {
    from: f64,
    to: f64,
    before: f64,
    left: f64,
}

/// The middle of a bucket, as the natural logarithm of seconds.
#[must_use]
pub fn middle_ln(place: u16) -> f64 {
    FLOOR_S.ln() + (f64::from(place) + 0.5) * WIDTH
}

impl Histogram {
    /// Counts something that took so many seconds. Numbers that are none are passed over.
    pub fn event(&mut self, seconds: f64, weight: f64) {
        self.add(seconds, weight, 0.0);
    }

    /// Counts something that would have taken longer than so many seconds.
    pub fn censored(&mut self, seconds: f64, weight: f64) {
        self.add(seconds, 0.0, weight);
    }

    fn add(&mut self, seconds: f64, events: f64, censored: f64) {
        if let Some(at) = place(seconds) {
            self.put(at, events, censored);
        }
    }

    fn put(&mut self, at: u16, events: f64, censored: f64) {
        match self.cells.binary_search_by_key(&at, |cell| cell.0) {
            Ok(found) => {
                self.cells[found].1 += events;
                self.cells[found].2 += censored;
            }
            Err(gap) => self.cells.insert(gap, Cell(at, events, censored)),
        }
    }

    /// What it holds, ascending.
    #[must_use]
    pub fn cells(&self) -> &[Cell] {
        &self.cells
    }

    /// Weight of the events.
    #[must_use]
    pub fn events(&self) -> f64 {
        self.cells.iter().map(|cell| cell.1).sum()
    }

    /// Weight of all.
    #[must_use]
    pub fn total(&self) -> f64 {
        self.cells.iter().map(|cell| cell.1 + cell.2).sum()
    }

    /// Adds another, each of its counts multiplied.
    pub fn absorb_times(&mut self, other: &Self, by: f64) {
        if by < NOTHING {
            return;
        }
        let mut merged = Vec::with_capacity(self.cells.len() + other.cells.len());
        let mut mine = self.cells.iter().copied().peekable();
        for &Cell(at, events, censored) in &other.cells {
            while let Some(cell) = mine.next_if(|cell| cell.0 < at) {
                merged.push(cell);
            }
            let same = mine.next_if(|cell| cell.0 == at).unwrap_or(Cell(at, 0.0, 0.0));
            merged.push(Cell(at, same.1 + events * by, same.2 + censored * by));
        }
        merged.extend(mine);
        self.cells = merged;
    }

    /// The same with every count multiplied.
    #[must_use]
    pub fn times(&self, by: f64) -> Self {
        let mut same = self.clone();
        same.scale(by);
        same
    }

    /// The part of it that is usual: of each bucket's events a share `usual(place)`. What is censored is left out where it
    /// was waited for in vain longer than most of that takes.
    #[must_use]
    pub fn usual(&self, usual: impl Fn(u16) -> f64) -> Self {
        let share = |cell: &Cell| Cell(cell.0, cell.1 * usual(cell.0), cell.2 * usual(cell.0));
        Self { cells: self.cells.iter().map(share).collect() }
    }

    /// The Kaplan-Meier estimate, from one bucket with events to the next. Within a bucket events come before what is
    /// censored.
    fn steps(&self) -> impl Iterator<Item = Step> + '_ {
        let mut at_risk = self.total();
        let mut left = 1.0;
        let mut end = None;
        self.cells.iter().filter_map(move |&Cell(at, events, censored)| {
            let before = left;
            if events > 0.0 && at_risk > 0.0 {
                left *= (1.0 - events / at_risk).max(0.0);
            }
            at_risk -= events + censored;
            let from = end.unwrap_or(f64::from(at));
            (events > 0.0).then(|| {
                let to = f64::from(at) + 1.0;
                end = Some(to);
                Step { from, to, before, left }
            })
        })
    }

    /// Share that lasts longer than so many seconds; 1 where nothing is known.
    #[must_use]
    pub fn survival(&self, seconds: f64) -> f64 {
        if seconds.is_nan() {
            return 1.0;
        }
        let at = (seconds / FLOOR_S).max(1e-9).ln() / WIDTH;
        let mut survival = 1.0;
        for step in self.steps() {
            if at <= step.from {
                break;
            }
            let share = ((at - step.from) / (step.to - step.from)).min(1.0);
            survival = step.before + (step.left - step.before) * share;
        }
        survival
    }

    /// The number of seconds below which a share of all lies, those that were broken off included as though they had been
    /// left to go on. `None` where nothing is known.
    #[must_use]
    pub fn quantile(&self, share: f64) -> Option<Quantile> {
        self.at_survival((1.0 - share.clamp(0.0, 1.0)).max(0.0))
    }

    /// Seconds that are left, at a share of what has lasted `age` seconds already. `None` where nothing is known.
    #[must_use]
    pub fn residual(&self, age: f64, share: f64) -> Option<Quantile> {
        let left = self.survival(age) * (1.0 - share.clamp(0.0, 1.0));
        Some(match self.at_survival(left)? {
            Quantile::At(at) => Quantile::At((at - age).max(0.0)),
            Quantile::Beyond(at) => Quantile::Beyond((at - age).max(0.0)),
        })
    }

    fn at_survival(&self, wanted: f64) -> Option<Quantile> {
        // Rounding must not keep the last event out of reach.
        let reached = |step: &Step| step.left <= wanted + 1e-9 && step.before > step.left;
        if let Some(step) = self.steps().find(reached) {
            // Between two buckets with events the estimate is a straight line: a jump at the second one would read the
            // next of a few long ones for each quantile.
            let share = ((step.before - wanted) / (step.before - step.left)).clamp(0.0, 1.0);
            return Some(Quantile::At(edge(step.from + (step.to - step.from) * share)));
        }
        let longest = self.cells.iter().rev().find(|cell| cell.1 + cell.2 > 0.0)?;
        Some(Quantile::Beyond(edge(f64::from(longest.0) + 1.0)))
    }

    /// Weight of the events, and how many were to be expected had they followed `other`: the one-sample log-rank
    /// comparison.
    #[must_use]
    pub fn against(&self, other: &Self) -> (f64, f64) {
        let (mut hazard, mut expected) = (0.0, 0.0);
        let mut theirs = other.steps().peekable();
        for &Cell(at, events, censored) in &self.cells {
            let mut within = 0.0;
            while let Some(step) = theirs.next_if(|step| step.to <= f64::from(at) + 1.0) {
                let more = (step.before.max(1e-3) / step.left.max(1e-3)).ln().max(0.0);
                if step.to <= f64::from(at) {
                    hazard += more;
                } else {
                    within = more;
                }
            }
            // What ended in a bucket was at risk in half of it.
            expected += (events + censored) * (hazard + within / 2.0);
            hazard += within;
        }
        (self.events(), expected)
    }
}

impl Windows<Histogram> {
    /// Counts an event in every window.
    pub fn event(&mut self, seconds: f64, weight: Windows<f64>) {
        let Some(at) = place(seconds) else { return };
        for (window, weight) in self.list_mut().into_iter().zip(weight.list()) {
            window.put(at, weight, 0.0);
        }
    }

    /// Counts something broken off in every window.
    pub fn censored(&mut self, seconds: f64, weight: Windows<f64>) {
        let Some(at) = place(seconds) else { return };
        for (window, weight) in self.list_mut().into_iter().zip(weight.list()) {
            window.put(at, 0.0, weight);
        }
    }
}

impl Tally for Histogram {
    fn scale(&mut self, by: f64) {
        for cell in &mut self.cells {
            cell.1 *= by;
            cell.2 *= by;
        }
        self.cells.retain(|cell| cell.1 + cell.2 > NOTHING);
    }

    fn absorb(&mut self, other: &Self) {
        self.absorb_times(other, 1.0);
    }

    fn is_sound(&self) -> bool {
        self.cells.is_sorted_by(|a, b| a.0 < b.0)
            && self
                .cells
                .iter()
                .all(|cell| cell.0 < BUCKETS && cell.1.is_sound() && cell.2.is_sound())
    }
}
