//! What the server's runs have shown of times, and what new runs are told of it.
//!
//! Every ended attempt's observation is written down here; a run that begins is given a pilot made of it, which is kept per
//! workflow and made anew where something was learned and a while has passed. Making one takes up to a second where the
//! planner builds its tables, so it is done beside the runs, and the run that asked is given the one before. Locks are
//! held for a look or an exchange, never across an await or a making.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, UNIX_EPOCH};

use tokio_util::task::TaskTracker;

use super::clock::{Clock, system_time};
use crate::domain::plan::Plan;
use crate::domain::time::Timestamp;
use crate::latency::book::Book;
use crate::latency::observation::Observation;
use crate::planner::Pilot;
use crate::store::CurveStore;
use crate::workflow::Workflow;

/// A pilot is made anew at most this often.
const FRESH: Duration = Duration::from_secs(5);
/// The file is written at most this often, but for the end.
const WRITTEN: Duration = Duration::from_secs(30);
/// At the end, how often a file that another process is writing is come back to, and after which pause.
const PATIENCE: (u32, Duration) = (20, Duration::from_millis(25));
/// Pilots kept: more workflows than a server has.
const PILOTS: usize = 256;

/// See the module. What simulated providers show is kept apart, and in memory alone.
pub(super) struct Times {
    real: Arc<Learned>,
    played: Arc<Learned>,
    file: Option<CurveStore>,
}

struct Learned {
    clock: Clock,
    /// Time since 1970 when the clock started: what is learned outlives the process.
    epoch: Duration,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    book: Arc<Book>,
    /// What was learned since the file was last written.
    news: Book,
    /// Counts what was learned.
    version: u64,
    /// What of it the file holds.
    kept: u64,
    kept_at: Option<Timestamp>,
    writing: bool,
    pilots: BTreeMap<String, Kept>,
}

struct Kept {
    /// The workflow's version.
    workflow: String,
    /// The book's.
    version: u64,
    made_at: Timestamp,
    pilot: Arc<Pilot>,
    making: bool,
}

impl Times {
    /// What `file` holds, and nothing of simulated providers.
    pub(super) fn new(clock: Clock, file: Option<CurveStore>) -> Self {
        let book = match file.as_ref().map(CurveStore::load) {
            None => Book::new(),
            Some(Ok(learned)) => {
                if let Some(broken) = &learned.broken {
                    tracing::warn!("what was learned of times is lost: {broken}");
                }
                learned.book
            }
            Some(Err(error)) => {
                tracing::warn!(%error, "what was learned of times cannot be read");
                Book::new()
            }
        };
        let epoch = system_time().duration_since(UNIX_EPOCH).unwrap_or_default();
        let learned = |book: Book| {
            let state = State { book: Arc::new(book), ..State::default() };
            Arc::new(Learned { clock, epoch, state: Mutex::new(state) })
        };
        Self { real: learned(book), played: learned(Book::new()), file }
    }

    fn of(&self, plan: &Plan) -> &Arc<Learned> {
        // One made-up answer among real ones makes what follows made up as well.
        let played = plan.providers.iter().any(|provider| provider.simulated);
        if played { &self.played } else { &self.real }
    }

    /// All that is known of real providers.
    pub(super) fn book(&self) -> Book {
        (*self.real.state().book).clone()
    }

    /// All that is known of a plan's providers.
    pub(super) fn learned(&self, plan: &Plan) -> Book {
        (*self.of(plan).state().book).clone()
    }

    /// The time since 1970 by the clock that runs live by.
    pub(super) fn now(&self) -> Duration {
        self.real.now()
    }

    /// Writes down what an attempt of a run of `plan` has shown.
    pub(super) fn record(&self, plan: &Plan, observation: &Observation) {
        self.of(plan).record(observation);
    }

    /// What a run of `workflow` that begins now is told; what is made for later runs is made on `tasks`.
    pub(super) fn pilot(
        &self,
        workflow: &Arc<Workflow>,
        tasks: &TaskTracker,
    ) -> Option<Arc<Pilot>> {
        let learned = self.of(&workflow.plan);
        let now = learned.clock.now();
        let mut state = learned.state();
        if state.version == 0 && *state.book == Book::new() {
            return None;
        }
        let version = state.version;
        if let Some(kept) = state.pilots.get_mut(&workflow.name)
            && kept.workflow == workflow.version
        {
            let outdated = kept.version != version && now.since(kept.made_at) >= FRESH;
            if outdated && !std::mem::replace(&mut kept.making, true) {
                let (learned, workflow) = (learned.clone(), workflow.clone());
                tasks.spawn_blocking(move || learned.make(&workflow, true));
            }
            return Some(kept.pilot.clone());
        }
        drop(state);
        // The first is without tables, which are made for the runs that follow.
        let first = learned.make(workflow, false);
        let (learned, workflow) = (learned.clone(), workflow.clone());
        tasks.spawn_blocking(move || learned.make(&workflow, true));
        Some(first)
    }

    /// Writes the file where something was learned since and a while has passed; on `tasks`, as disks can be slow.
    pub(super) fn keep_at_times(&self, tasks: &TaskTracker) {
        let Some(file) = self.file.clone() else { return };
        let now = self.real.clock.now();
        let mut state = self.real.state();
        let due = state.kept_at.is_none_or(|at| now.since(at) >= WRITTEN);
        if state.version == state.kept || !due || state.writing {
            return;
        }
        state.writing = true;
        state.kept_at = Some(now);
        drop(state);
        let real = self.real.clone();
        tasks.spawn_blocking(move || {
            if let Err(error) = real.keep(&file) {
                tracing::warn!(%error, "what was learned of times could not be kept");
            }
            real.state().writing = false;
        });
    }

    /// Writes the file where something was learned since, once and for all.
    pub(super) async fn keep(&self) {
        let Some(file) = &self.file else { return };
        let mut last = Ok(());
        for _ in 0..PATIENCE.0 {
            if self.real.is_kept() {
                return;
            }
            last = self.real.keep(file);
            match &last {
                Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {}
                Ok(()) | Err(_) => break,
            }
            tokio::time::sleep(PATIENCE.1).await;
        }
        if let Err(error) = last {
            tracing::warn!(%error, "what was learned of times could not be kept");
        }
    }
}

impl Learned {
    fn state(&self) -> MutexGuard<'_, State> {
        // Nothing between a lock and its release can panic half-way through a change.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The time since 1970, by the clock that runs live by.
    fn now(&self) -> Duration {
        self.epoch + self.clock.now().since_start()
    }

    /// Whether the file holds all that was learned.
    fn is_kept(&self) -> bool {
        let state = self.state();
        state.version == state.kept
    }

    fn record(&self, observation: &Observation) {
        let now = self.now();
        let mut state = self.state();
        Arc::make_mut(&mut state.book).record(observation, now);
        state.news.record(observation, now);
        state.version += 1;
    }

    /// Makes a pilot of what is known now, and keeps it for the runs that follow. With the planner's tables it takes its
    /// time.
    fn make(&self, workflow: &Workflow, planned: bool) -> Arc<Pilot> {
        let (now, made_at) = (self.now(), self.clock.now());
        let state = self.state();
        let (book, version) = (state.book.clone(), state.version);
        drop(state);
        let pilot = Pilot::of(&workflow.plan, &book, now);
        let pilot = if planned { pilot.planned(&workflow.plan) } else { pilot };
        let (name, pilot) = (workflow.name.clone(), Arc::new(pilot));
        let kept = Kept {
            workflow: workflow.version.clone(),
            version,
            made_at,
            pilot: pilot.clone(),
            making: !planned,
        };
        let mut state = self.state();
        if state.pilots.len() >= PILOTS && !state.pilots.contains_key(&name) {
            state.pilots.clear();
        }
        state.pilots.insert(name, kept);
        pilot
    }

    /// Adds the news to the file; what other processes have learned comes back with it.
    fn keep(&self, file: &CurveStore) -> std::io::Result<()> {
        let mut state = self.state();
        let (news, version) = (std::mem::take(&mut state.news), state.version);
        drop(state);
        let written = file.add(news.clone());
        let mut state = self.state();
        match written {
            Ok(learned) => {
                let mut book = learned.book;
                // What was learned while the file was written.
                book.merge(state.news.clone());
                state.book = Arc::new(book);
                state.kept = version;
                drop(state);
                if let Some(broken) = learned.broken {
                    tracing::warn!("what others have learned of times is lost: {broken}");
                }
                Ok(())
            }
            Err(error) => {
                let since = std::mem::replace(&mut state.news, news);
                state.news.merge(since);
                Err(error)
            }
        }
    }
}
