//! Executes runs on tokio. The surface that `server` and `cli` use; see `Host`.

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use tokio::sync::watch;

use crate::domain::id::RunId;
use crate::trace::report::RunReport;
use crate::workflow::Workflow;

/// Everything runs share: providers, budgets, slots, the register of runs. One per server process.
pub struct Host {}

/// How a call wants its run.
#[derive(Clone, Debug, Default)]
pub struct CallOptions {
    /// Shortens the workflow's deadline; never lengthens it.
    pub deadline: Option<Duration>,
    /// Neither joins a run in flight nor reuses validated steps.
    pub fresh: bool,
}

/// A call that was not started.
#[derive(Debug, thiserror::Error)]
pub enum Refusal {
    /// The arguments do not fit; one line per violation, each with its JSON pointer.
    #[error("{0}")]
    InvalidInput(String),
    /// The server is full.
    #[error("{message}")]
    Full {
        /// What a person should read.
        message: String,
        /// When to come back.
        retry_after: Duration,
    },
    /// The server is shutting down.
    #[error("the server is shutting down")]
    Closing,
}

/// What a run is at, for progress notifications and timelines. Strictly increasing `tick`.
#[derive(Clone, Debug, Default)]
pub struct Progress {
    /// Increases with every change.
    pub tick: u64,
    /// Steps (and items) ended.
    pub done: u32,
    /// Steps (and items) known so far.
    pub total: u32,
    /// A phase text: `draft (executor) on openai/gpt-…, 2nd attempt`.
    pub phase: String,
    /// Whether the run has ended.
    pub ended: bool,
}

/// A run in flight or ended. Cheap to clone; dropping it does not cancel the run.
#[derive(Clone)]
pub struct RunHandle {
    /// Its public name.
    pub id: RunId,
    /// The workflow it runs.
    pub workflow: Arc<Workflow>,
    /// What it is at.
    pub progress: watch::Receiver<Progress>,
}

impl RunHandle {
    /// Withdraws the call: the outcome is `cancelled` unless it has ended already. Returns at once.
    pub fn cancel(&self) {}

    /// The report as it stands.
    #[must_use]
    pub fn report(&self) -> RunReport {
        RunReport::default()
    }

    /// Waits for the end and returns the final report. Cancel-safe.
    pub async fn finished(&self) -> RunReport {
        RunReport::default()
    }
}

impl Host {
    /// Starts a run of `workflow`, or joins an identical one in flight.
    ///
    /// # Errors
    /// Arguments that do not fit, a full or a closing server.
    pub fn start(
        &self,
        _workflow: &Arc<Workflow>,
        _input: Value,
        _options: CallOptions,
    ) -> Result<RunHandle, Refusal> {
        Err(Refusal::Closing)
    }

    /// A run of this process, in flight or among the latest ended.
    #[must_use]
    pub fn run(&self, _id: &RunId) -> Option<RunHandle> {
        None
    }

    /// Refuses new runs, gives those in flight `grace` to end, then cancels them.
    pub async fn drain(&self, _grace: Duration) {}
}
