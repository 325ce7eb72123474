//! Everything runs share, and the way a call becomes a run.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde_json::Value;
use tokio::task::JoinSet;
use tokio_util::task::TaskTracker;

use super::clock::{self, Clock};
use super::drain::Drains;
use super::drive::{Lessons, drive};
use super::handle::{RunHandle, Shared};
use super::lane::Lanes;
use super::learned::Times;
use super::purse::{Day, NoMoney, Purse};
use super::register::{CallKey, Register, validated};
use crate::domain::id::{RunId, StepIx};
use crate::domain::plan::Plan;
use crate::domain::provider::ServerLimits;
use crate::latency::book::Book;
use crate::policy::permit::Guard;
use crate::run::Run;
use crate::store::{CurveStore, RunStore};
use crate::trace::report::RunReport;
use crate::workflow::Workflow;

/// How long a full server asks a caller to wait.
pub(super) const FULL_RETRY: Duration = Duration::from_secs(5);

/// Everything runs share: lanes, limits, the register of runs. One per server process.
pub struct Host {
    clock: Clock,
    store: Option<RunStore>,
    seed: Option<u64>,
    tasks: TaskTracker,
    day: Arc<Day>,
    lessons: Lessons,
    state: Mutex<State>,
}

struct State {
    lanes: Arc<Lanes>,
    limits: ServerLimits,
    register: Register,
}

/// How a host is set up.
pub struct HostSettings {
    /// The providers, by name.
    pub lanes: Lanes,
    /// Bounds across all runs.
    pub limits: ServerLimits,
    /// Where ended runs are kept.
    pub store: Option<RunStore>,
    /// The clock runs live by; sped up for the simulator.
    pub clock: Clock,
    /// Seeds the simulator's draws of every run; drawn anew for each where `None`.
    pub seed: Option<u64>,
}

/// How a call wants its run.
#[derive(Clone, Debug, Default)]
pub struct CallOptions {
    /// Shortens the workflow's deadline; never lengthens it.
    pub deadline: Option<Duration>,
    /// Neither joins a run in flight nor reuses validated steps.
    pub fresh: bool,
    /// Keeps what models said after the end, for [`RunHandle::recorded`].
    pub keep: bool,
    /// Keeps what models are sent and say in the run's report, and so in the store.
    pub content: bool,
}

/// A call that was not started.
#[derive(Debug, thiserror::Error)]
pub enum Refusal {
    /// The arguments do not fit; one line per violation, each with its JSON pointer.
    #[error("{0}")]
    InvalidInput(String),
    /// The server is full, or has spent its day's money.
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

impl Host {
    /// A host without runs.
    #[must_use]
    pub fn new(settings: HostSettings) -> Self {
        let HostSettings { lanes, limits, store, clock, seed } = settings;
        let today = clock::utc_day();
        let spent = store.as_ref().map_or(0.0, |store| store.spent_on(&today));
        lanes.bound(limits.hedge_share.unwrap_or(Guard::SHARE));
        let day = Arc::new(Day::new(limits.usd_per_day, today, spent));
        let state = State { lanes: Arc::new(lanes), limits, register: Register::default() };
        let (tasks, lessons) = (TaskTracker::new(), Lessons::default());
        Self { clock, store, seed, tasks, day, lessons, state: Mutex::new(state) }
    }

    /// The same host, learning from its runs how long attempts take, and telling new runs. `file` is where that is kept
    /// over restarts; of `drain` attempts that have lost and are paid for anyway one is read to its end, none where it
    /// is 0.
    #[must_use]
    pub fn learning(self, file: Option<CurveStore>, drain: u64) -> Self {
        let times = Arc::new(Times::new(self.clock, file));
        let drains =
            (drain > 0).then(|| Arc::new(Drains::new(drain, self.tasks.clone(), times.clone())));
        Self { lessons: Lessons { times: Some(times), drains }, ..self }
    }

    /// All it has learned of times.
    #[must_use]
    pub fn book(&self) -> Book {
        self.lessons.times.as_ref().map(|times| times.book()).unwrap_or_default()
    }

    /// All it has learned of times that says something of the plan's providers: real ones, or simulated ones.
    #[must_use]
    pub fn learned(&self, plan: &Plan) -> Book {
        self.lessons.times.as_ref().map(|times| times.learned(plan)).unwrap_or_default()
    }

    /// The time that what it learns is written down by.
    #[must_use]
    pub fn since_1970(&self) -> Duration {
        self.lessons.times.as_ref().map(|times| times.now()).unwrap_or_default()
    }

    /// Replaces the providers and limits for runs that start from now on. What was sent to a provider of the
    /// same name counts on: a reload opens no second minute, and brings nothing back that is out unless its settings
    /// or its key have changed.
    pub fn reconfigure(&self, lanes: Lanes, limits: ServerLimits) {
        let mut state = self.state();
        state.lanes = Arc::new(lanes.after(&state.lanes));
        state.lanes.bound(limits.hedge_share.unwrap_or(Guard::SHARE));
        state.limits = limits;
        self.day.bound(limits.usd_per_day);
    }

    /// What is out until its settings or its key change, in words.
    #[must_use]
    pub fn out(&self) -> Vec<String> {
        let lanes = self.state().lanes.clone();
        lanes.out()
    }

    /// Starts a run of `workflow`, or joins an identical one in flight.
    ///
    /// # Errors
    /// Arguments that do not fit, a full or a closing server.
    pub fn start(
        self: &Arc<Self>,
        workflow: &Arc<Workflow>,
        input: Value,
        options: &CallOptions,
    ) -> Result<RunHandle, Refusal> {
        let clock = self.clock.restart();
        if self.tasks.is_closed() {
            return Err(Refusal::Closing);
        }
        let input = fitting(workflow, input)?;
        let deadline = options.deadline.map_or(workflow.plan.deadline, |own| {
            own.clamp(Duration::from_millis(100), workflow.plan.deadline)
        });
        let pilot = self.lessons.times.as_ref();
        let pilot = pilot.and_then(|times| times.pilot(workflow, &self.tasks));
        let mut state = self.state();
        let key = state.register.key(workflow, &input);
        if !options.fresh
            && let Some(running) = state.register.joinable(key)
            && running.shared().with_run(Run::deadline) <= deadline
            && running.shared().join()
        {
            return Ok(running.clone());
        }
        state.admit()?;
        self.day.admit()?;
        let reused = if options.fresh { Vec::new() } else { state.register.continued(key) };
        let id = RunId::new(random());
        let seed = self.seed.unwrap_or_else(random);
        let run = Run::new(id, workflow.clone(), input, deadline, seed);
        let mut run = run.knowing(pilot);
        if options.content {
            run.keep_content();
        }
        if self.store.is_some() {
            run.keep_journal();
        }
        let shared = Arc::new(Shared::new(run, clock, clock::wall_time()));
        let handle = RunHandle::new(shared);
        state.register.begin(key, handle.clone());
        let lanes = state.lanes.clone();
        drop(state);
        let host = self.clone();
        let running = handle.clone();
        let keep = options.keep;
        self.tasks.spawn(async move { host.carry(key, running, lanes, (reused, keep)).await });
        Ok(handle)
    }

    /// A run of this process, in flight or among the latest ended.
    #[must_use]
    pub fn run(&self, id: &RunId) -> Option<RunHandle> {
        self.state().register.get(id).cloned()
    }

    /// The report of a run, of this process or from the store.
    #[must_use]
    pub fn report(&self, id: &RunId) -> Option<RunReport> {
        let running = self.run(id).map(|handle| handle.report());
        running.or_else(|| self.store.as_ref()?.find(id.as_str()))
    }

    /// Ended runs, oldest first, at most `most`.
    #[must_use]
    pub fn latest(&self, most: usize) -> Vec<RunReport> {
        self.store.as_ref().map_or_else(Vec::new, |store| store.latest(most).reports)
    }

    /// Refuses new runs, gives those in flight `grace` to end, then cancels them and waits for their tasks.
    pub async fn drain(&self, grace: Duration) {
        self.tasks.close();
        if let Some(drains) = &self.lessons.drains {
            drains.close();
        }
        self.end_runs(grace).await;
        if let Some(times) = &self.lessons.times {
            times.keep().await;
        }
    }

    async fn end_runs(&self, grace: Duration) {
        if tokio::time::timeout(grace, self.tasks.wait()).await.is_ok() {
            return;
        }
        let running: Vec<RunHandle> = self.state().register.all().cloned().collect();
        for handle in running.iter().filter(|handle| !handle.ended()) {
            handle.stop();
        }
        // A cancelled run ends at once; the bound is for a machine that is too busy to notice.
        let _ = tokio::time::timeout(Duration::from_secs(2), self.tasks.wait()).await;
    }

    async fn carry(
        &self,
        key: CallKey,
        handle: RunHandle,
        lanes: Arc<Lanes>,
        (reused, keep): (Vec<(StepIx, Value)>, bool),
    ) {
        let mut task = JoinSet::new();
        let purse = Purse::new(self.day.clone());
        let lessons = self.lessons.clone();
        task.spawn(drive(handle.shared().clone(), lanes, purse, reused, lessons));
        if let Some(Err(error)) = task.join_next().await {
            tracing::error!(run = %handle.id, %error, "the loop of a run broke");
            handle.shared().broke();
        }
        let report = handle.report();
        let validated = handle.shared().with_run(validated);
        self.state().register.end(key, &handle.id, validated);
        if let Some(store) = &self.store {
            let record =
                |known: &dyn Fn(&str) -> bool| handle.shared().with_run(|run| run.record(known));
            if let Err(error) = store.journals().keep(record) {
                tracing::warn!(run = %handle.id, %error, "what decided the run could not be kept");
            }
        }
        if !keep {
            handle.shared().forget();
        }
        if let Some(times) = &self.lessons.times {
            times.keep_at_times(&self.tasks);
        }
        tracing::info!(
            run = %handle.id, workflow = %report.workflow, outcome = %report.outcome,
            elapsed_ms = report.elapsed_ms, cost_usd = report.cost_usd, "run ended"
        );
        if let Some(store) = &self.store
            && let Err(error) = store.append(&report)
        {
            tracing::warn!(run = %handle.id, %error, "the run could not be kept");
        }
    }

    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        // Nothing between a lock and its release can panic half-way through a change.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn admit(&self) -> Result<(), Refusal> {
        let running = self.register.running();
        if self.limits.concurrent_runs.is_some_and(|most| running >= most as usize) {
            let message = format!("{running} runs are under way, the most this server takes");
            return Err(Refusal::Full { message, retry_after: FULL_RETRY });
        }
        Ok(())
    }
}

impl From<NoMoney> for Refusal {
    fn from(no: NoMoney) -> Self {
        Self::Full { retry_after: no.retry_after(), message: no.message }
    }
}

/// The input as the workflow sees it: explicit nulls of optional fields dropped, defaults filled in.
///
/// # Errors
/// [`Refusal::InvalidInput`] where it does not fit.
pub fn fitting(workflow: &Workflow, input: Value) -> Result<Value, Refusal> {
    let violations = match workflow.fitting(input) {
        Ok(input) => return Ok(input),
        Err(violations) => violations,
    };
    let lines = violations.iter().map(|violation| {
        let place = if violation.pointer.is_empty() { "/" } else { &violation.pointer };
        format!("{place}: {}", violation.message)
    });
    Err(Refusal::InvalidInput(lines.collect::<Vec<_>>().join("\n")))
}

fn random() -> u64 {
    getrandom::u64().unwrap_or_else(|_| {
        use std::hash::{BuildHasher, RandomState};
        RandomState::new().hash_one(0_u64)
    })
}
