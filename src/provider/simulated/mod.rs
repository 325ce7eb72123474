//! The built-in simulator: a provider without a model. It answers by shape from the prompt's own text, or
//! from recorded answers, and draws latency and faults from a named regime; the same seed draws the same
//! world. It exists so that a new user, a test and the virtual world can run workflows for nothing, and it
//! sends real invalid output where a model would. Answers that fit and are wrong are drawn, but look like any
//! other: by shape there is no right or wrong. Its answers are no answers: every surface says so.
//!
//! [`Simulation`] lays out an exchange without a clock; [`Simulator`] sleeps through it.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::{sleep, sleep_until};

use super::{BoxFuture, Broken, Exchange, Provider, Reply, Sink};
use crate::domain::provider::SimulatorSettings;

mod answer;
pub mod draw;
mod excerpt;
mod garbage;
mod measured;
mod pattern;
pub mod recording;
pub mod regime;
mod script;

#[cfg(test)]
mod tests;

pub use answer::{NoAnswer, answer, tokens_of};
pub use recording::Recordings;
pub use regime::UnknownRegime;
pub use script::{BOUND_PER_MEDIAN, Script, Simulation, Update};

/// Shorter sleeps would be lengthened to this by tokio's timer, at every piece anew.
const TIMER: Duration = Duration::from_millis(1);

/// How fast simulated time passes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pace {
    /// Simulated seconds a real second.
    scale: f64,
}

/// A provider that sleeps through what [`Simulation`] lays out.
#[derive(Clone, Debug)]
pub struct Simulator {
    simulation: Simulation,
    pace: Pace,
}

impl Pace {
    /// A second is a second.
    pub const REAL: Self = Self { scale: 1.0 };

    /// `scale` simulated seconds a real second; `None` unless it lies between 0.001 and 1,000,000.
    #[must_use]
    pub fn of(scale: f64) -> Option<Self> {
        (0.001..=1e6).contains(&scale).then_some(Self { scale })
    }

    /// Real time for a span of simulated time.
    #[must_use]
    pub fn real(self, simulated: Duration) -> Duration {
        simulated.div_f64(self.scale)
    }
}

impl Simulator {
    /// The provider named `provider` in `punctual.yaml`.
    ///
    /// # Errors
    /// There is no such regime.
    pub fn new(
        provider: &str,
        settings: &SimulatorSettings,
        pace: Pace,
        recordings: Arc<Recordings>,
    ) -> Result<Self, UnknownRegime> {
        Ok(Self { simulation: Simulation::new(provider, settings, recordings)?, pace })
    }

    async fn play(&self, exchange: &Exchange, sink: &mut dyn Sink) -> Result<Reply, Broken> {
        let Script { text, invented, updates } = self.simulation.plan_exchange(exchange);
        // Each moment is counted from the start: waits that each end a little late would add up.
        let start = sleep(Duration::ZERO).deadline();
        let (mut waited, mut seen) = (Duration::ZERO, 0);
        for (at, update) in updates {
            let due = self.pace.real(at);
            if due.saturating_sub(waited) >= TIMER {
                sleep_until(start + due).await;
                waited = due;
            }
            match update {
                Update::FirstToken => sink.first_token(),
                Update::Piece { from, to, tokens } => {
                    sink.piece(&text[from..to], tokens);
                    seen = to;
                }
                Update::End(usage) => {
                    sink.usage(usage);
                    return Ok(Reply { text, usage, invented, remaining: None });
                }
                Update::Fail(failure, usage) => {
                    let partial = text[..seen].to_owned();
                    return Err(Broken { failure, partial, usage, remaining: None });
                }
                Update::Stall => break,
            }
        }
        std::future::pending().await
    }
}

impl Provider for Simulator {
    fn exchange<'a>(
        &'a self,
        exchange: &'a Exchange,
        sink: &'a mut dyn Sink,
    ) -> BoxFuture<'a, Result<Reply, Broken>> {
        Box::pin(self.play(exchange, sink))
    }
}
