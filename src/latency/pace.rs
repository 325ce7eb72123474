//! How fast a stream was: one pace throughout, or one and from a certain token on a slower one.

use std::time::Duration;

/// How a stream's pace was.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pace {
    /// Seconds a token, before it slowed down.
    pub before: f64,
    /// Seconds a token, after; the same where it did not.
    pub after: f64,
    /// Tokens that had come by then; all of them where it did not slow down.
    pub split: f64,
}

/// A pace may vary by so much within one stream and is still the same.
const STEADY: f64 = 1.8;
/// Fewer tokens tell no pace.
const LEAST: f64 = 4.0;
/// Two paces must leave less than this share of the squared error of one, to be believed.
const BETTER: f64 = 0.25;

#[expect(clippy::cast_precision_loss, reason = "counts of tokens are far below 2^53")]
pub(super) fn real(count: u64) -> f64 {
    count as f64
}

/// The pace of a stream, from its points, ascending: times and the tokens by then. `None` where too few tokens came after
/// the first point, or in no time.
#[must_use]
pub fn pace(points: &[(Duration, u64)]) -> Option<Pace> {
    let points: Vec<(f64, f64)> =
        points.iter().map(|&(at, tokens)| (at.as_secs_f64(), real(tokens))).collect();
    let (&first, &last) = (points.first()?, points.last()?);
    let tokens = last.1 - first.1;
    let whole = (last.0 - first.0) / tokens;
    if tokens < LEAST || !whole.is_finite() || whole <= 0.0 {
        return None;
    }
    let steady = Pace { before: whole, after: whole, split: last.1 };
    let slope = |from: (f64, f64), to: (f64, f64)| (to.0 - from.0) / (to.1 - from.1);
    let mut best = (f64::INFINITY, steady);
    // The break lies between two neighbours; the pieces on both sides of that gap are whole.
    for gap in 1..points.len().saturating_sub(2) {
        let (left, right) = (points[gap], points[gap + 1]);
        let (before, after) = (slope(first, left), slope(right, last));
        let slowed = before > 0.0 && after.is_finite() && after >= STEADY * before;
        if !slowed {
            continue;
        }
        // Where both lines meet, in tokens.
        let meet = (right.0 - left.0 + before * left.1 - after * right.1) / (before - after);
        let meet = meet.max(left.1).min(right.1);
        let at = left.0 + before * (meet - left.1);
        let line = |n: f64| at + (n - meet) * if n < meet { before } else { after };
        let error: f64 = points.iter().map(|&(t, n)| (t - line(n)).powi(2)).sum();
        if error < best.0 {
            best = (error, Pace { before, after, split: meet });
        }
    }
    let line = |n: f64| first.0 + whole * (n - first.1);
    let error: f64 = points.iter().map(|&(t, n)| (t - line(n)).powi(2)).sum();
    Some(if best.0 < BETTER * error { best.1 } else { steady })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn points(of: impl Fn(f64) -> f64) -> Vec<(Duration, u64)> {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "small")]
        let at = |second: u32| (Duration::from_secs(second.into()), of(f64::from(second)) as u64);
        (0..16).map(at).collect()
    }

    #[test]
    fn a_stream_that_slows_down_is_told_from_one_that_is_slow_throughout() {
        let slowed =
            pace(&points(|t| if t < 5.3 { 60.0 * t } else { 318.0 + 12.0 * (t - 5.3) })).unwrap();
        assert!((slowed.before - 1.0 / 60.0).abs() < 2e-4, "{slowed:?}");
        assert!((slowed.after - 1.0 / 12.0).abs() < 2e-3, "{slowed:?}");
        assert!((slowed.split - 318.0).abs() < 4.0, "{slowed:?}");
        let slow = pace(&points(|t| 12.0 * t)).unwrap();
        assert!((slow.before - 1.0 / 12.0).abs() < 1e-3 && slow.after <= slow.before, "{slow:?}");
    }

    #[test]
    fn what_is_no_stream_has_no_pace() {
        assert_eq!(pace(&[]), None);
        assert_eq!(pace(&points(|_| 7.0)), None);
        assert_eq!(pace(&[(Duration::ZERO, 0), (Duration::ZERO, 900)]), None);
        assert_eq!(pace(&[(Duration::MAX, 900), (Duration::ZERO, 0)]), None);
    }
}
