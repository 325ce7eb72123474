//! What the server asks of whoever executes runs. The driver's `Host` is the one that serves; tests script
//! another, so that the protocol is tested without providers.

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use tokio::sync::watch;

use crate::domain::id::RunId;
use crate::driver::{CallOptions, Host, Progress, Refusal, RunHandle};
use crate::trace::report::RunReport;
use crate::workflow::Workflow;

/// Starts runs and knows those of this process.
pub trait Runs: Send + Sync + 'static {
    /// A run in flight or ended.
    type Run: Run;

    /// Starts a run of `workflow`, or joins an identical one in flight. Must not wait.
    ///
    /// # Errors
    /// Arguments that do not fit, a full or a closing host.
    fn start(
        self: &Arc<Self>,
        workflow: &Arc<Workflow>,
        input: Value,
        options: &CallOptions,
    ) -> Result<Self::Run, Refusal>;

    /// A run of this process, in flight or among the latest ended.
    fn run(&self, id: &RunId) -> Option<Self::Run>;

    /// The report of a run that ended before this process began, or is no longer among its latest. Blocks.
    fn stored(&self, id: &RunId) -> Option<RunReport>;

    /// The latest ended runs, oldest first, at most `most`. Blocks.
    fn latest(&self, most: usize) -> Vec<RunReport>;

    /// Providers and models that nothing is sent to until settings or keys change, in words.
    fn out(&self) -> Vec<String> {
        Vec::new()
    }

    /// Refuses new runs, gives those in flight `grace` to end, then cancels them.
    fn drain(&self, grace: Duration) -> impl Future<Output = ()> + Send;
}

/// One run. Cheap to clone; dropping it does not cancel the run.
pub trait Run: Clone + Send + Sync + 'static {
    /// Its public name.
    fn id(&self) -> &RunId;
    /// What it is at.
    fn progress(&self) -> watch::Receiver<Progress>;
    /// This caller no longer wants the result; at most once a caller. Returns at once.
    fn cancel(&self);
    /// Cancels the run whoever waits for it. Returns at once.
    fn stop(&self);
    /// The report as it stands.
    fn report(&self) -> RunReport;
    /// Waits for the end and returns the final report. Cancel-safe.
    fn finished(&self) -> impl Future<Output = RunReport> + Send;
}

impl Runs for Host {
    type Run = RunHandle;

    fn start(
        self: &Arc<Self>,
        workflow: &Arc<Workflow>,
        input: Value,
        options: &CallOptions,
    ) -> Result<RunHandle, Refusal> {
        Self::start(self, workflow, input, options)
    }

    fn run(&self, id: &RunId) -> Option<RunHandle> {
        Self::run(self, id)
    }

    fn stored(&self, id: &RunId) -> Option<RunReport> {
        Self::report(self, id)
    }

    fn latest(&self, most: usize) -> Vec<RunReport> {
        Self::latest(self, most)
    }

    fn out(&self) -> Vec<String> {
        Self::out(self)
    }

    async fn drain(&self, grace: Duration) {
        Self::drain(self, grace).await;
    }
}

impl Run for RunHandle {
    fn id(&self) -> &RunId {
        &self.id
    }

    fn progress(&self) -> watch::Receiver<Progress> {
        self.progress.clone()
    }

    fn cancel(&self) {
        Self::cancel(self);
    }

    fn stop(&self) {
        Self::stop(self);
    }

    fn report(&self) -> RunReport {
        Self::report(self)
    }

    async fn finished(&self) -> RunReport {
        Self::finished(self).await
    }
}
