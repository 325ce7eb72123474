//! Percentiles of what is cut off at its own percentile, and of what loses races.

use punctual::latency::histogram::{Histogram, Quantile};
use punctual::provider::simulated::draw::{Ending, Key, draw};

use super::server::regime;

/// Seconds that answers of 660 tokens take in the usual month on one of its paths, faults apart.
fn answers(path: u8, provider: u8, count: u64) -> Vec<f64> {
    let fate = |run| {
        draw(regime("pooled"), &Key { seed: 99, run, step: 0, path, attempt: 0 }, provider, 660.0)
    };
    let good =
        (0..count).map(fate).filter(|fate| matches!(fate.ending, Ending::Ok | Ending::Silent));
    good.map(|fate| fate.end_s.unwrap()).collect()
}

fn quantile(of: &[f64], share: f64) -> f64 {
    let mut sorted = of.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    sorted[(share * (sorted.len() - 1) as f64) as usize]
}

/// A generator by which seeds differ; luck's quality does not matter here.
struct Luck(u64);

impl Luck {
    fn below(&mut self, end: usize) -> usize {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) as usize) % end
    }
}

/// Twelve windows of 3,000 attempts, each cut at the P95 that the window before it gave; `of` says what a window gives.
fn last_cut(
    answers: &[f64],
    seed: u64,
    drained: usize,
    of: impl Fn(&Histogram, f64) -> f64,
) -> f64 {
    let mut luck = Luck(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15));
    let mut cut = quantile(answers, 0.95);
    for _ in 0..12 {
        let mut window = Histogram::default();
        for _ in 0..3_000 {
            let lasted = answers[luck.below(answers.len())];
            let watched = if luck.below(100) < drained { 90.0 } else { cut };
            if lasted <= watched {
                window.event(lasted, 1.0);
            } else {
                window.censored(watched, 1.0);
            }
        }
        cut = of(&window, cut);
    }
    cut
}

fn mean(answers: &[f64], drained: usize, of: impl Fn(&Histogram, f64) -> f64) -> f64 {
    (1..=50).map(|seed| last_cut(answers, seed, drained, &of)).sum::<f64>() / 50.0
}

#[test]
fn a_percentile_stays_true_when_attempts_are_cut_at_it() {
    let answers = answers(0, 0, 40_000);
    let truth = quantile(&answers, 0.95);
    // What is foretold is the same shape, half as long again: a prior that is wrong.
    let mut prior = Histogram::default();
    answers.iter().take(2_000).for_each(|lasted| prior.event(1.5 * lasted, 30.0 / 2_000.0));
    let believed = |window: &Histogram, _: f64| {
        let mut all = window.clone();
        all.absorb_times(&prior, 1.0);
        all.quantile(0.95).unwrap().at_least()
    };
    let measured = |window: &Histogram, cut: f64| match window.quantile(0.95).unwrap() {
        Quantile::At(at) => at,
        Quantile::Beyond(_) => 1.15 * cut,
    };
    let completed = |window: &Histogram, _: f64| {
        let mut events = Histogram::default();
        for cell in window.cells() {
            events.event(0.001 * ((f64::from(cell.0) + 0.5) * 0.04).exp(), cell.1);
        }
        events.quantile(0.95).unwrap().at_least()
    };
    let off = |cut: f64| cut / truth - 1.0;
    let (plain, with_prior) = (off(mean(&answers, 0, measured)), off(mean(&answers, 0, believed)));
    let drained = off(mean(&answers, 5, measured));
    let naive = off(mean(&answers, 0, completed));
    println!(
        "after twelve windows, mean of 50 seeds: {plain:+.3} alone, {drained:+.3} with 5 % drained, \
         {with_prior:+.3} with a prior; completed ones alone {naive:+.3}"
    );
    assert!(with_prior.abs() <= 0.05, "{with_prior}");
    assert!(drained.abs() <= 0.05, "{drained}");
    assert!(plain.abs() <= 0.05, "{plain}");
    assert!((-0.50..=-0.36).contains(&naive), "{naive}");
}

#[test]
fn the_tail_of_what_loses_races_is_seen() {
    let (first, second) = (answers(0, 0, 40_000), answers(1, 1, 40_000));
    // Few attempts are watched for a minute when the others are raced at a third of it: one race's figure scatters by a fifth.
    let race = |seed: u64| {
        let mut luck = Luck(seed);
        let (mut all, mut completed) = (Histogram::default(), Histogram::default());
        for _ in 0..60_000 {
            let lasted = first[luck.below(first.len())];
            let closed = 21.6 + second[luck.below(second.len())];
            if lasted <= closed {
                all.event(lasted, 1.0);
                completed.event(lasted, 1.0);
            } else {
                all.censored(closed, 1.0);
            }
        }
        [all, completed].map(|of| of.quantile(0.99).unwrap().at_least() / 20.0)
    };
    let (mut all, mut completed) = (0.0, 0.0);
    for seed in 1..=20 {
        let [one, other] = race(seed);
        all += one;
        completed += other;
    }
    let truth = quantile(&first, 0.99);
    println!(
        "p99 {truth:.1}: {all:.1} by all, {completed:.1} by completed ones, means of 20 races"
    );
    assert!((all / 62.0 - 1.0).abs() < 0.10, "{all}");
    assert!(completed < 0.5 * truth, "{completed}");
}

#[test]
fn what_nobody_waited_for_is_beyond() {
    let mut histogram = Histogram::default();
    assert_eq!(histogram.quantile(0.5), None);
    for _ in 0..90 {
        histogram.event(1.0, 1.0);
    }
    for _ in 0..10 {
        histogram.censored(5.0, 1.0);
    }
    assert!(matches!(histogram.quantile(0.5), Some(Quantile::At(at)) if (at - 1.0).abs() < 0.03));
    assert!(
        matches!(histogram.quantile(0.95), Some(Quantile::Beyond(at)) if (at - 5.0).abs() < 0.2)
    );
    assert!((histogram.survival(2.0) - 0.1).abs() < 1e-9);
    // Of those that have gone on for 2 s nothing is known but that they go on for 3 s more.
    assert!(
        matches!(histogram.residual(2.0, 0.5), Some(Quantile::Beyond(at)) if (at - 3.0).abs() < 0.2)
    );
}

#[test]
fn a_bucket_is_within_two_percent() {
    for lasted in [0.004_f64, 0.1, 0.77, 3.0, 14.2, 61.0, 1_900.0] {
        let mut histogram = Histogram::default();
        histogram.event(lasted, 1.0);
        let found = histogram.quantile(0.5).unwrap().at_least();
        assert!((found / lasted - 1.0).abs() < 0.0205, "{lasted} read as {found}");
    }
}
