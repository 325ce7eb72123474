//! Progress notifications: at every change of phase, and every 5 s while nothing changes.
//!
//! They are told by a future that runs beside the wait for the run, never in its way: rmcp stops serving
//! notifications at the end of input, and a client that does not read stops them too; each send is given
//! [`SEND_LIMIT`] and then forgotten.

use std::convert::Infallible;
use std::time::Duration;

use rmcp::RoleServer;
use rmcp::model::{ProgressNotificationParam, ProgressToken};
use rmcp::service::Peer;
use tokio::time::{sleep, timeout};

use super::runs::Run;
use super::text;
use crate::driver::Progress;

/// Longest wait for one notification to be taken.
pub(super) const SEND_LIMIT: Duration = Duration::from_millis(200);
/// Wait for a change before the next notification is due; with gap and send it stays within 5 s.
const PAUSE: Duration = Duration::from_millis(4700);
/// Shortest time between two notifications: a fan-out of a thousand items must not flood a client.
const GAP: Duration = Duration::from_millis(100);

/// Tells `peer` what `run` is at, for as long as it is polled. Never completes by itself.
pub(super) async fn tell<R: Run>(
    run: &R,
    token: Option<ProgressToken>,
    peer: &Peer<RoleServer>,
) -> Infallible {
    if let Some(token) = token {
        let mut progress = run.progress();
        let mut gauge = Gauge::default();
        loop {
            let now = progress.borrow_and_update().clone();
            if now.ended {
                break;
            }
            let (value, total) = gauge.read(&now);
            let report = run.report();
            let message = text::phase(run.id(), &now.phase, report.elapsed_ms, report.deadline_ms);
            let mut param =
                ProgressNotificationParam::new(token.clone(), value).with_message(message);
            if let Some(total) = total {
                param = param.with_total(total);
            }
            match timeout(SEND_LIMIT, peer.notify_progress(param)).await {
                Ok(Ok(())) => sleep(GAP).await,
                Ok(Err(_)) => break,
                // rmcp keeps what was not taken, so a client that does not read is told little.
                Err(_) => sleep(PAUSE).await,
            }
            if let Ok(Err(_)) = timeout(PAUSE, progress.changed()).await {
                break;
            }
        }
    }
    std::future::pending().await
}

/// Turns steps done into a number that increases with every notification, as the protocol asks, and does not
/// reach the next step before it is done.
#[derive(Default)]
pub(super) struct Gauge {
    last: Option<f64>,
}

impl Gauge {
    /// The number to show, and the number that means "all", where it is known.
    pub fn read(&mut self, progress: &Progress) -> (f64, Option<f64>) {
        let done = f64::from(progress.done);
        let value = match self.last {
            Some(last) if done <= last => {
                let ceiling = (last.floor() + 1.0).max(done + 1.0);
                last + (ceiling - last) / 8.0
            }
            _ => done,
        };
        self.last = Some(value);
        let total = (progress.total > 0).then(|| f64::from(progress.total).max(value.ceil()));
        (value, total)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_increases_with_every_reading_and_waits_for_the_step() {
        let mut gauge = Gauge::default();
        let mut at = Progress { done: 0, total: 3, ..Progress::default() };
        let mut last = -1.0;
        for beat in 0..200 {
            if beat == 100 {
                at.done = 2;
            }
            let (value, total) = gauge.read(&at);
            assert!(value > last, "{value} after {last}");
            assert!(value < f64::from(at.done) + 1.0);
            assert_eq!(total, Some(3.0));
            last = value;
        }
    }

    #[test]
    fn the_total_is_never_below_the_number() {
        let mut gauge = Gauge::default();
        let all_done = Progress { done: 2, total: 2, ..Progress::default() };
        gauge.read(&all_done);
        let (value, total) = gauge.read(&all_done);
        assert!(value > 2.0);
        assert!(total.is_some_and(|total| total >= value));
        assert_eq!(Gauge::default().read(&Progress::default()), (0.0, None));
    }
}
