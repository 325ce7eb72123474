//! Made-up attempts that stand for all that can happen on a path: a few thousand, spread evenly over the laws, more of
//! them where it is rare but matters, each with its weight in and out of a spell.

use super::sound::chance as sound;
use crate::latency::law::{Laws, Points, StepLaw};

/// What the draws of one attempt are used for.
const DIMENSIONS: usize = 9;
/// Attempts in each of the four modes (neither, late, slow, both).
const PER_MODE: [usize; 4] = [1_200, 400, 1_000, 400];
/// Chances nearer to 0 or 1 than this are taken as this, so that everything that may be seen has a law.
const CHANCE_MIN: f64 = 1e-4;
/// No answer's size is spread wider.
const SPREAD_MAX: f64 = 3.0;

/// One made-up attempt that answers, and what else could have become of it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fate {
    /// Weight among all of its path: outside a spell, and in one.
    pub weight: [f64; 2],
    /// Seconds to the first token.
    pub first: f64,
    /// Tokens.
    pub tokens: f64,
    /// Seconds a token before it slows down.
    pub pace: f64,
    /// Tokens before it slows down.
    pub onset: f64,
    /// By how much it slows down.
    pub factor: f64,
    /// Share of the writing after which an invalid answer ends.
    pub invalid_at: f64,
    /// Share of the wait after which an error comes.
    pub error_at: f64,
    /// Share of the writing after which a stalled one stops.
    pub stall_at: f64,
}

/// Evenly spread draws, the same for every path.
#[derive(Clone, Debug)]
pub(super) struct Draws {
    modes: [Vec<[f64; DIMENSIONS]>; 4],
}

impl Fate {
    /// Seconds from the first token to the last.
    pub(super) fn writing(&self) -> f64 {
        self.pace * (self.onset + (self.tokens - self.onset) * self.factor)
    }

    /// Tokens that have come so many seconds after the first.
    pub(super) fn emitted(&self, after: f64) -> f64 {
        if after <= 0.0 {
            0.0
        } else if after <= self.onset * self.pace {
            after / self.pace
        } else {
            self.onset + (after - self.onset * self.pace) / (self.pace * self.factor)
        }
    }
}

impl Draws {
    /// Latin hypercubes with shuffles of a fixed seed: the same tables for the same laws, everywhere.
    pub(super) fn new() -> Self {
        let mut state = 0x5EED_u64;
        let modes = PER_MODE.map(|count| {
            let mut rows = vec![[0.0; DIMENSIONS]; count];
            for dimension in 0..DIMENSIONS {
                let mut order: Vec<usize> = (0..count).collect();
                for at in (1..count).rev() {
                    #[expect(clippy::cast_possible_truncation, reason = "below `count`")]
                    order.swap(at, (next(&mut state) % (at as u64 + 1)) as usize);
                }
                for (row, place) in rows.iter_mut().zip(order) {
                    #[expect(clippy::cast_precision_loss, reason = "a few thousand")]
                    let share = (place as f64 + 0.5) / count as f64;
                    row[dimension] = share;
                }
            }
            rows
        });
        Self { modes }
    }

    /// The attempts of a step on the path at `path`. With `blended`, a spell weighs nothing: both weights are the same.
    pub(super) fn fates<'a>(
        &'a self,
        laws: &'a Laws,
        step: &StepLaw,
        path: usize,
        blended: bool,
    ) -> impl Iterator<Item = Fate> + 'a {
        let (law, step) = (&laws.paths[path], *step);
        let provider = &laws.providers[law.provider];
        let chance = |of: [f64; 2]| {
            let of = of.map(|p| sound(p).clamp(CHANCE_MIN, 1.0 - CHANCE_MIN));
            let mixed = of[0] + (of[1] - of[0]) * sound(provider.spell);
            if blended { [mixed, mixed] } else { of }
        };
        let (late, slow) = (chance(provider.late), chance(provider.slow));
        let spread = step.spread_shared.hypot(step.spread_own);
        let spread = if spread.is_finite() { spread.min(SPREAD_MAX) } else { 0.0 };
        self.modes.iter().enumerate().flat_map(move |(mode, rows)| {
            let (is_late, is_slow) = (mode & 1 == 1, mode & 2 == 2);
            #[expect(clippy::cast_precision_loss, reason = "a few thousand")]
            let each = 1.0 / rows.len() as f64;
            let weight = [0, 1].map(|spell| {
                let late = if is_late { late[spell] } else { 1.0 - late[spell] };
                let slow = if is_slow { slow[spell] } else { 1.0 - slow[spell] };
                late * slow * each
            });
            rows.iter().map(move |row| {
                let tokens = (step.tokens * (spread * normal(row[2])).exp()).max(1e-3);
                let later = if is_late { at(&laws.late, row[1]).max(0.0) } else { 1.0 };
                let (factor, onset) = if is_slow {
                    (at(&laws.slow, row[4]).max(1.0), sound(at(&laws.onset, row[5])))
                } else {
                    (1.0, 0.0)
                };
                Fate {
                    weight,
                    first: at(&law.first_token, row[0]).max(0.0) * later,
                    tokens,
                    pace: at(&law.per_token, row[3]).max(1e-7),
                    onset: onset * tokens,
                    factor,
                    invalid_at: sound(at(&law.invalid_at, row[6])),
                    error_at: at(&law.error_at, row[7]).max(0.0),
                    stall_at: row[8],
                }
            })
        })
    }
}

/// The point below which a share of a distribution lies, its points being the middles of equal shares.
fn at(points: &Points, share: f64) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "a few hundred")]
    let count = points.all().len() as f64;
    if count < 2.0 { points.at(0.0) } else { points.at((share * count - 0.5) / (count - 1.0)) }
}

/// `SplitMix64`.
fn next(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let z = (*state ^ (*state >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

/// The normal distribution's quantile, by Giles's single-precision inverse of the error function (2012; relative error
/// below 1e-6 here).
pub(super) fn normal(share: f64) -> f64 {
    let x = 2.0 * share - 1.0;
    let w = -((1.0 - x) * (1.0 + x)).max(1e-300).ln();
    let (start, terms): (f64, [f64; 9]) = if w < 5.0 {
        let terms = [
            2.810_226_36e-8,
            3.432_739_39e-7,
            -3.523_387_7e-6,
            -4.391_506_54e-6,
            0.000_218_580_87,
            -0.001_253_725_03,
            -0.004_177_681_64,
            0.246_640_727,
            1.501_409_41,
        ];
        (w - 2.5, terms)
    } else {
        let terms = [
            -0.000_200_214_257,
            0.000_100_950_558,
            0.001_349_343_22,
            -0.003_673_428_44,
            0.005_739_507_73,
            -0.007_622_461_3,
            0.009_438_870_47,
            1.001_674_06,
            2.832_976_82,
        ];
        (w.sqrt() - 3.0, terms)
    };
    std::f64::consts::SQRT_2 * x * terms.iter().fold(0.0, |sum, term| sum * start + term)
}
