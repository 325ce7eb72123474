//! A run as its callers hold it.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use serde_json::Value;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::clock::Clock;
use crate::domain::failure::FailureClass;
use crate::domain::id::RunId;
use crate::domain::time::Timestamp;
use crate::run::{Effect, Progress, Run};
use crate::trace::report::{FailureReport, RunReport};
use crate::workflow::Workflow;
use crate::workflow::case::StepAnswers;

/// A run in flight or ended. Cheap to clone; dropping it does not cancel the run.
#[derive(Clone)]
pub struct RunHandle {
    /// Its public name.
    pub id: RunId,
    /// The workflow it runs.
    pub workflow: Arc<Workflow>,
    /// What it is at.
    pub progress: watch::Receiver<Progress>,
    shared: Arc<Shared>,
}

/// What the loop of a run and its handles share. The lock is never held across an await.
pub(super) struct Shared {
    run: Mutex<Run>,
    clock: Clock,
    started_at: String,
    progress: watch::Sender<Progress>,
    withdraw: CancellationToken,
    /// Callers that still want the result.
    callers: AtomicU32,
    /// When the run ended. Its report is made later, by whoever asks first: when many runs end at once, each
    /// must be given its end before any is given its report.
    ended_at: OnceLock<Timestamp>,
    last: OnceLock<RunReport>,
}

impl Shared {
    pub(super) fn new(run: Run, clock: Clock, started_at: String) -> Self {
        Self {
            progress: watch::Sender::new(run.progress()),
            run: Mutex::new(run),
            clock,
            started_at,
            withdraw: CancellationToken::new(),
            callers: AtomicU32::new(1),
            ended_at: OnceLock::new(),
            last: OnceLock::new(),
        }
    }

    fn ended(&self) -> bool {
        self.ended_at.get().is_some()
    }

    /// The final report; `None` while the run is under way.
    fn last(&self) -> Option<&RunReport> {
        let at = *self.ended_at.get()?;
        let report = || self.with_run(|run| run.report(&self.started_at, at));
        Some(self.last.get_or_init(report))
    }

    pub(super) fn clock(&self) -> Clock {
        self.clock
    }

    pub(super) async fn withdrawn(&self) {
        self.withdraw.cancelled().await;
    }

    pub(super) fn withdraw(&self) {
        self.withdraw.cancel();
    }

    /// Whether it will give no more results: it has ended, or is being cancelled.
    pub(super) fn leaving(&self) -> bool {
        self.ended() || self.withdraw.is_cancelled()
    }

    /// One more caller wants the result. `false` where the run is being cancelled: it will have none.
    pub(super) fn join(&self) -> bool {
        let more = |callers| (callers > 0).then_some(callers + 1);
        !self.leaving()
            && self.callers.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more).is_ok()
    }

    pub(super) fn with_run<T>(&self, look: impl FnOnce(&Run) -> T) -> T {
        look(&self.run.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Gives the run one event, at the time the clock shows, and publishes what it is at.
    pub(super) fn feed(
        &self,
        event: impl FnOnce(&mut Run, Timestamp) -> Vec<Effect>,
    ) -> Vec<Effect> {
        let mut run = self.run.lock().unwrap_or_else(PoisonError::into_inner);
        let now = self.clock.now();
        let effects = event(&mut run, now);
        if run.outcome().is_some() {
            let _ = self.ended_at.set(now);
            self.progress.send_if_modified(|shown| !std::mem::replace(&mut shown.ended, true));
        } else if !effects.is_empty() {
            // Signs of life alone change nothing that a caller is shown.
            let progress = run.progress();
            self.progress.send_if_modified(|shown| {
                let changed = *shown != progress;
                if changed {
                    *shown = progress;
                }
                changed
            });
        }
        effects
    }
}

impl Shared {
    /// The run has ended and been kept: only its report is asked for from now on.
    pub(super) fn forget(&self) {
        self.run.lock().unwrap_or_else(PoisonError::into_inner).forget();
    }

    /// The loop itself has broken, which is a fault of ours: callers get an honest failure and not silence.
    pub(super) fn broke(&self) {
        let mut report = RunReport { outcome: "failed".to_owned(), ..RunReport::default() };
        self.with_run(|run| {
            report.run_id = run.id().to_string();
            report.workflow.clone_from(&run.workflow().name);
        });
        report.started_at.clone_from(&self.started_at);
        report.elapsed_ms = self.clock.now().millis();
        report.failure = Some(FailureReport {
            class: FailureClass::ServerError.to_string(),
            message: "the orchestrator broke; this is a fault of punctual, please report it"
                .to_owned(),
            retryable: Some(true),
            ..FailureReport::default()
        });
        let _ = self.last.set(report);
        let _ = self.ended_at.set(self.clock.now());
        self.progress.send_modify(|progress| progress.ended = true);
    }
}

impl RunHandle {
    /// The input as the run sees it, and what the models of its steps have said. Kept after the end only where the
    /// call asked for it.
    #[must_use]
    pub fn recorded(&self) -> (Value, Vec<StepAnswers>) {
        self.shared.with_run(|run| (run.input().clone(), run.recorded()))
    }

    pub(super) fn new(shared: Arc<Shared>) -> Self {
        let (id, workflow) = shared.with_run(|run| (run.id().clone(), run.workflow().clone()));
        Self { id, workflow, progress: shared.progress.subscribe(), shared }
    }

    pub(super) fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }

    /// Tells what was known of times when the run began from anything else; `None` where nothing was.
    #[must_use]
    pub fn pilot_mark(&self) -> Option<u64> {
        self.shared.with_run(|run| run.pilot().map(|pilot| pilot.mark))
    }

    /// This caller no longer wants the result. The run is cancelled when the last of its callers says so,
    /// unless it has ended already. Returns at once.
    pub fn cancel(&self) {
        let before = self
            .shared
            .callers
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |n| Some(n.saturating_sub(1)));
        if before.is_ok_and(|before| before <= 1) {
            self.shared.withdraw();
        }
    }

    /// Cancels the run whoever waits for it, unless it has ended already. Returns at once.
    pub fn stop(&self) {
        self.shared.withdraw();
    }

    /// The report as it stands.
    #[must_use]
    pub fn report(&self) -> RunReport {
        match self.shared.last() {
            Some(last) => last.clone(),
            None => self
                .shared
                .with_run(|run| run.report(&self.shared.started_at, self.shared.clock.now())),
        }
    }

    /// Whether the run has ended.
    #[must_use]
    pub fn ended(&self) -> bool {
        self.shared.ended()
    }

    /// Waits for the end and returns the final report. Cancel-safe.
    pub async fn finished(&self) -> RunReport {
        let mut progress = self.progress.clone();
        // The sender lives as long as this handle does, so the wait cannot end early.
        let _ = progress.wait_for(|progress| progress.ended).await;
        self.report()
    }
}
