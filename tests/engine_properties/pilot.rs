//! What a run may be told of times: nothing, little, much, and what cannot be.

use std::sync::Arc;

use punctual::domain::plan::{Plan, Work};
use punctual::planner::{Pilot, Quantiles, SharedPilot, Times};

use super::world::Draw;

/// A pilot for every second seed.
pub fn pilot(plan: &Plan, seed: u64) -> Option<SharedPilot> {
    let mut draw = Draw::new(!seed);
    if draw.percent(50) {
        return None;
    }
    let times = plan.steps.iter().map(|step| {
        let paths = plan.paths.iter();
        let known =
            paths.map(|_| (step.work != Work::Value && draw.percent(80)).then(|| times(&mut draw)));
        known.collect()
    });
    let times = times.collect();
    let shock = [1.0, 1.0, 1.2, 1.6, 9.0, f64::NAN][usize::try_from(draw.below(6)).unwrap_or(0)];
    Some(Arc::new(Pilot { mark: seed, times, shock, laws: None, tables: None }))
}

fn times(draw: &mut Draw) -> Times {
    let mut odd = |usual: f64| match draw.below(40) {
        0 => f64::INFINITY,
        1 => 0.0,
        2 => f64::NAN,
        _ => usual * seconds(draw, 2_000),
    };
    let first = Quantiles { p50: odd(0.5), p95: odd(1.5), p99: odd(4.0) };
    let total = Quantiles { p50: odd(4.0), p95: odd(9.0), p99: odd(25.0) };
    let tokens = odd(200.0);
    let rate = odd(50.0);
    let samples = if draw.percent(70) { 100.0 } else { 3.0 };
    Times { samples, first_token: first, total, tokens, rate }
}

/// Up to so many thousandths.
fn seconds(draw: &mut Draw, most: u32) -> f64 {
    f64::from(u32::try_from(draw.below(u64::from(most))).unwrap_or(0)) / 1_000.0
}
