//! Two log-normal laws, told apart from what they produced together: the usual one, and the one of the few that take
//! several times as long; and a share that never comes. By expectation maximisation over a histogram with censored counts.

use super::histogram::{Cell, Histogram, middle_ln};
use super::normal::{above, density, mean_above};

/// A log-normal law, by the logarithm.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LogNormal {
    /// The logarithm of its median.
    pub mean: f64,
    /// The spread of the logarithm.
    pub spread: f64,
}

/// What is believed before anything is seen, and how firmly: in observations.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Prior {
    /// The usual law.
    pub usual: LogNormal,
    /// Firmness of its median.
    pub mean_weight: f64,
    /// Firmness of its spread.
    pub spread_weight: f64,
    /// Share of the few.
    pub few: f64,
    /// Share that never comes.
    pub never: f64,
    /// Firmness of both shares.
    pub share_weight: f64,
    /// By how much longer the few take.
    pub factor: LogNormal,
}

/// What was found.
#[derive(Clone, Debug, PartialEq)]
pub struct Mixture {
    /// The usual law.
    pub usual: LogNormal,
    /// Share of the few, of what comes.
    pub few: f64,
    /// Share that never comes.
    pub never: f64,
    /// Weight of what follows the usual law.
    pub count: f64,
    /// Weight of what never comes, among what was seen.
    pub missing: f64,
    /// Weight of the few that were broken off.
    pub waiting: f64,
    /// Weight of all that was seen.
    pub total: f64,
}

/// Enough for shares and medians to settle to within a percent.
const ROUNDS: usize = 12;

struct Sums {
    usual: f64,
    first: f64,
    second: f64,
    few: f64,
    waiting: f64,
    never: f64,
}

impl Mixture {
    /// Fits both laws to what `seen` holds.
    #[must_use]
    pub fn fit(seen: &Histogram, prior: &Prior) -> Self {
        let total = seen.total();
        let start = match seen.quantile(0.45) {
            Some(quantile) if seen.events() >= 3.0 => quantile.at_least().ln(),
            _ => prior.usual.mean,
        };
        let usual = LogNormal { mean: start, spread: prior.usual.spread };
        let mut found = Self {
            usual,
            few: prior.few,
            never: prior.never,
            count: 0.0,
            missing: 0.0,
            waiting: 0.0,
            total,
        };
        // Without a single event nothing says how long the usual takes, but what was waited for in vain.
        if seen.events() <= 0.0 {
            found.usual = prior.usual;
        }
        for _ in 0..ROUNDS {
            let sums = found.expect(seen.cells(), prior);
            found.maximise(&sums, prior);
        }
        found
    }

    /// How likely it is that something is usual, one of the few, or never comes, by what was seen of it.
    fn weigh(&self, cell: Cell, factor: LogNormal) -> [f64; 6] {
        let Cell(at, events, censored) = cell;
        let x = middle_ln(at);
        let z = (x - self.usual.mean) / self.usual.spread;
        let few = LogNormal {
            mean: self.usual.mean + factor.mean,
            spread: self.usual.spread.hypot(factor.spread),
        };
        let z_few = (x - few.mean) / few.spread;
        let mut sums = [0.0; 6];
        if events > 0.0 {
            let usual = (1.0 - self.few) * density(z) / self.usual.spread + 1e-300;
            let late = self.few * density(z_few) / few.spread;
            let share = events * usual / (usual + late);
            sums = [share, share * x, share * x * x, events - share, 0.0, 0.0];
        }
        if censored > 0.0 {
            let comes = 1.0 - self.never;
            let usual = comes * (1.0 - self.few) * above(z);
            let late = comes * self.few * above(z_few);
            let all = usual + late + self.never + 1e-300;
            let share = censored * usual / all;
            let beyond = mean_above(z);
            let mean = self.usual.mean + self.usual.spread * beyond;
            let variance =
                self.usual.spread.powi(2) * (1.0 + z * beyond - beyond * beyond).max(0.0);
            sums[0] += share;
            sums[1] += share * mean;
            sums[2] += share * (mean * mean + variance);
            sums[4] = censored * late / all;
            sums[5] = censored * self.never / all;
        }
        sums
    }

    fn expect(&self, cells: &[Cell], prior: &Prior) -> Sums {
        let mut sums =
            Sums { usual: 0.0, first: 0.0, second: 0.0, few: 0.0, waiting: 0.0, never: 0.0 };
        // Buckets of long ago are as good as empty in the quick windows.
        for &cell in cells.iter().filter(|cell| cell.1 + cell.2 > 1e-3) {
            let [usual, first, second, few, waiting, never] = self.weigh(cell, prior.factor);
            sums.usual += usual;
            sums.first += first;
            sums.second += second;
            sums.few += few + waiting;
            sums.waiting += waiting;
            sums.never += never;
        }
        sums
    }

    fn maximise(&mut self, sums: &Sums, prior: &Prior) {
        let weight = sums.usual + prior.mean_weight;
        let mean = (sums.first + prior.mean_weight * prior.usual.mean) / weight.max(1e-9);
        let square = sums.second - 2.0 * mean * sums.first + mean * mean * sums.usual;
        let spread = (square.max(0.0) + prior.spread_weight * prior.usual.spread.powi(2))
            / (sums.usual + prior.spread_weight).max(1e-9);
        self.usual = LogNormal { mean, spread: spread.sqrt().clamp(0.02, 2.0) };
        let firm = prior.share_weight;
        let came = sums.usual + sums.few;
        self.few = ((sums.few + firm * prior.few) / (came + firm).max(1e-9)).clamp(1e-4, 0.95);
        let all = came + sums.never;
        self.never = ((sums.never + firm * prior.never) / (all + firm).max(1e-9)).clamp(0.0, 0.98);
        self.count = sums.usual;
        self.missing = sums.never;
        self.waiting = sums.waiting;
    }

    /// What of a bucket's events follows the usual law, 0 to 1.
    #[must_use]
    pub fn usual_share(&self, at: u16, factor: LogNormal) -> f64 {
        let [share, ..] = self.weigh(Cell(at, 1.0, 0.0), factor);
        share
    }
}
