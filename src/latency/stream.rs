//! What is kept of an attempt's stream while it flows: enough for its pace of late, and for where it slowed down.

use std::time::Duration;

/// What "of late" means. The published policies look back as far.
pub const WINDOW: Duration = Duration::from_secs(3);
/// Silence of less than this is no news: signs of life are gathered, and those of several attempts come one by one.
const SILENCE: Duration = Duration::from_secs(1);
/// Less signal than this says nothing of a pace.
const LEAST: Duration = Duration::from_millis(500);
/// Points of the window: signs of life closer together than this move the latest point.
const SPACING: Duration = Duration::from_millis(200);
/// More than the window holds at that spacing.
const RECENT: usize = 18;
/// Points of the whole stream; when they are used up, every second one goes and their spacing doubles.
const POINTS: usize = 16;

/// The stream of one attempt. Times count from its first token.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Stream {
    /// The latest points, ascending, the oldest at or before the window's start.
    recent: [(Duration, u64); RECENT],
    held: usize,
    /// The whole stream in few points.
    points: Vec<(Duration, u64)>,
    spacing: Duration,
}

impl Stream {
    /// So many tokens had come `since_first` after the first one. Times and counts never go back; one that does is left out.
    pub fn push(&mut self, since_first: Duration, tokens: u64) {
        let latest = self.recent[..self.held].last().copied().unwrap_or_default();
        if since_first < latest.0 || tokens < latest.1 {
            return;
        }
        self.push_recent(since_first, tokens);
        self.push_point(since_first, tokens);
    }

    fn push_recent(&mut self, at: Duration, tokens: u64) {
        if !apart(&self.recent[..self.held], SPACING) {
            self.recent[self.held - 1] = (at, tokens);
            return;
        }
        let outside = self.recent[1..self.held.max(1)].iter();
        let gone = outside.take_while(|(then, _)| then.saturating_add(WINDOW) <= at).count();
        let gone = if self.held - gone.min(self.held) == RECENT { 1 } else { gone };
        self.recent.copy_within(gone..self.held, 0);
        self.held -= gone;
        self.recent[self.held] = (at, tokens);
        self.held += 1;
    }

    fn push_point(&mut self, at: Duration, tokens: u64) {
        if !apart(&self.points, self.spacing) {
            if let Some(latest) = self.points.last_mut() {
                *latest = (at, tokens);
            }
            return;
        }
        if self.points.len() == POINTS {
            let mut nth = 0_usize;
            self.points.retain(|_| {
                nth += 1;
                nth % 2 == 1
            });
            self.spacing = (self.spacing * 2).max(SPACING);
        }
        self.points.push((at, tokens));
    }

    /// Tokens a second over the [`WINDOW`] before the latest sign of life, or since the first token where that is less; `None`
    /// in the first half second. Once nothing has come for a second, silence counts. `now` counts from the first token, as
    /// all times here.
    #[must_use]
    pub fn rate(&self, now: Duration) -> Option<f64> {
        let (at, latest) = *self.recent[..self.held].last()?;
        let until = if now > at.saturating_add(SILENCE) { now } else { at };
        let span = until.min(WINDOW);
        if span < LEAST {
            return None;
        }
        #[expect(clippy::cast_precision_loss, reason = "tokens of one answer")]
        let came = latest as f64 - self.tokens_at(until.saturating_sub(span));
        Some(came.max(0.0) / span.as_secs_f64())
    }

    /// Tokens that had come at `at`, a straight line between the points beside it.
    #[expect(clippy::cast_precision_loss, reason = "tokens of one answer")]
    fn tokens_at(&self, at: Duration) -> f64 {
        let points = &self.recent[..self.held];
        let after = points.partition_point(|(then, _)| *then <= at);
        let Some((from, low)) = after.checked_sub(1).map(|ix| points[ix]) else { return 0.0 };
        let Some((to, high)) = points.get(after).copied() else { return low as f64 };
        let share =
            at.saturating_sub(from).as_secs_f64() / to.saturating_sub(from).as_secs_f64().max(1e-9);
        low as f64 + (high - low) as f64 * share
    }

    /// The whole stream in at most 16 points, ascending: the time since the first token, and the tokens by then.
    #[must_use]
    pub fn points(&self) -> &[(Duration, u64)] {
        &self.points
    }
}

/// Whether the latest point stays, because it is so far from the one before it; else it moves.
fn apart(points: &[(Duration, u64)], spacing: Duration) -> bool {
    let [.., (before, _), (latest, _)] = points else { return true };
    latest.saturating_sub(*before) >= spacing
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    #[test]
    fn the_pace_of_late_forgets_what_was_before_three_seconds() {
        let mut stream = Stream::default();
        assert_eq!(stream.rate(ms(400)), None);
        for tick in 0..=60_u64 {
            // 50 tokens a second for 3 s, then 10.
            let at = tick * 100;
            let tokens = if at <= 3_000 { at * 50 / 1_000 } else { 150 + (at - 3_000) / 100 };
            stream.push(ms(at), tokens);
            if at == 2_000 {
                assert_eq!(stream.rate(ms(2_000)), Some(50.0));
            }
        }
        assert!(
            (stream.rate(ms(6_000)).unwrap() - 10.0).abs() < 0.8,
            "{:?}",
            stream.rate(ms(6_000))
        );
        // What comes late is no news yet; then nothing comes any more.
        assert_eq!(stream.rate(ms(6_900)), stream.rate(ms(6_000)));
        assert!((stream.rate(ms(8_000)).unwrap() - 10.0 / 3.0).abs() < 0.8);
        assert_eq!(stream.rate(ms(60_000)), Some(0.0));
    }

    #[test]
    fn a_stream_of_any_length_is_kept_in_few_points_that_span_it() {
        let mut stream = Stream::default();
        for tick in 0..36_000_u64 {
            stream.push(ms(tick * 100), tick);
        }
        let points = stream.points();
        assert!(points.len() <= 16 && points.len() >= 8, "{points:?}");
        assert_eq!((points[0], *points.last().unwrap()), ((ms(0), 0), (ms(3_599_900), 35_999)));
        assert!(points.windows(2).all(|pair| pair[0].0 < pair[1].0));
    }

    #[test]
    fn what_goes_back_is_left_out() {
        let mut stream = Stream::default();
        stream.push(ms(1_000), 10);
        stream.push(ms(900), 20);
        stream.push(ms(1_100), 5);
        stream.push(Duration::MAX, u64::MAX);
        assert_eq!(stream.points().len(), 2);
        assert!(stream.rate(Duration::MAX).is_some());
    }
}
