//! What the static policies know: medians, 95th percentiles and the best single reissue of each class of step, from
//! draws of one regime (the published results: of the ordinary month).

use super::file::{FLAGSHIP, OTHER_FLAGSHIP, PATHS, Setting, StepClass};
use crate::provider::simulated::draw::Ending;
use crate::provider::simulated::regime::Regime;

/// Draws of each class and path.
const DRAWS: u64 = 30_000;
/// Their seed.
const SEED: u64 = 777;
/// Seconds of the grid.
const SECONDS: usize = 181;
/// No cutoff is later, in seconds: what the published figures were cut at.
const LATEST: f64 = 90.0;
/// Share of attempts that may be reissued.
const REISSUED: f64 = 0.10;
/// Tail that is aimed at: the last percent, and what fails in any case.
const TAIL: f64 = 0.01 + 0.03;

/// Figures of one class of step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Figures {
    /// Seconds within which 95 % of answers of the flagship come.
    pub p95: f64,
    /// When the best single reissue leaves, in seconds, and with what chance.
    pub reissue: (f64, f64),
}

/// The figures of each of `classes` in `regime`.
#[must_use]
pub fn figures(regime: &Regime, classes: &[StepClass]) -> Vec<Figures> {
    let mut known: Vec<(StepClass, Figures)> = Vec::new();
    let of = |class: &StepClass| {
        if let Some((_, figures)) = known.iter().find(|(one, _)| one == class) {
            return *figures;
        }
        let first = Sample::of(regime, *class, FLAGSHIP);
        let other = Sample::of(regime, *class, OTHER_FLAGSHIP);
        let p95 = quantile(&first.ends, 0.95).min(LATEST);
        let figures = Figures { p95, reissue: best_reissue(&first.within, &other.within) };
        known.push((*class, figures));
        figures
    };
    classes.iter().map(of).collect()
}

struct Sample {
    /// When attempts ended that answered, sorted.
    ends: Vec<f64>,
    /// Share that has answered validly within so many seconds.
    within: Vec<f64>,
}

impl Sample {
    fn of(regime: &Regime, class: StepClass, path: u8) -> Self {
        debug_assert!(path < PATHS, "a path of the regime");
        let classes = [class];
        let setting =
            Setting { seed: SEED, regime, classes: &classes, parents: &[], optional: &[] };
        let mut ends = Vec::new();
        let mut counts = vec![0_u32; SECONDS];
        for run in 0..DRAWS {
            let fate = setting.draw(run, 0, path, 0);
            let Some(end) = fate.end_s else { continue };
            if matches!(fate.ending, Ending::Ok | Ending::Silent | Ending::Garbage) {
                ends.push(end);
            }
            let second = ceiling(end);
            if matches!(fate.ending, Ending::Ok | Ending::Silent) && second < SECONDS {
                counts[second] += 1;
            }
        }
        ends.sort_unstable_by(f64::total_cmp);
        #[expect(clippy::cast_precision_loss, reason = "thirty thousand fits a double exactly")]
        let within = counts
            .iter()
            .scan(0_u64, |sum, count| {
                *sum += u64::from(*count);
                Some((*sum as f64 / DRAWS as f64).min(1.0))
            })
            .collect();
        Self { ends, within }
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "seconds of an attempt that ended; what is beyond the grid is beyond any use"
)]
fn ceiling(seconds: f64) -> usize {
    seconds.clamp(0.0, 1e6).ceil() as usize
}

/// The `share` quantile of sorted numbers, interpolated between the two beside it; 0 where there are none.
#[must_use]
pub fn quantile(sorted: &[f64], share: f64) -> f64 {
    let Some(last) = sorted.len().checked_sub(1) else { return 0.0 };
    #[expect(clippy::cast_precision_loss, reason = "places in a list that fits the memory")]
    let place = share.clamp(0.0, 1.0) * last as f64;
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "at most `last`")]
    let below = place.floor() as usize;
    let above = (below + 1).min(last);
    sorted[below] + (sorted[above] - sorted[below]) * place.fract()
}

/// `SingleR` (Kaler, He, Elnikety, SPAA 2017): one reissue after `d` with probability `q`, of all that keep to the
/// share of reissues the one whose tail ends first.
fn best_reissue(first: &[f64], other: &[f64]) -> (f64, f64) {
    let mut best: Option<(usize, f64, f64, f64)> = None;
    for delay in 0..60_u8 {
        let late = usize::from(delay);
        let q = (REISSUED / (1.0 - first[late]).max(1e-9)).min(1.0);
        let open = |u: usize| {
            let answered = if u >= late { other[u - late] } else { 0.0 };
            (1.0 - first[u]) * (1.0 - q * answered)
        };
        let tail = (0..SECONDS).find(|u| open(*u) <= TAIL).unwrap_or(SECONDS);
        let left = open(tail.min(SECONDS - 1));
        if best.is_none_or(|(t, l, ..)| (tail, left) < (t, l)) {
            best = Some((tail, left, f64::from(delay), q));
        }
    }
    best.map_or((0.0, 0.0), |(_, _, delay, q)| (delay, q))
}
