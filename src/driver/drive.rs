//! The loop of one run: feeds it what happens, carries out what it asks for, wakes it when time is up.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use tokio::sync::{mpsc, oneshot};
use tokio::task::{AbortHandle, JoinSet};
use tokio_util::sync::CancellationToken;

use super::attempt::{Message, News, attempt};
use super::drain::{Drains, Tether};
use super::handle::Shared;
use super::lane::{Lane, Lanes};
use super::learned::Times;
use super::purse::Purse;
use crate::domain::failure::{Failure, FailureClass};
use crate::domain::id::{AttemptId, StepIx};
use crate::domain::outcome::Outcome;
use crate::domain::time::Timestamp;
use crate::policy::permit::Stock;
use crate::provider::Broken;
use crate::run::{Effect, Launch, Run};
use serde_json::Value;

/// Messages of attempts that wait for the loop. Signs of life give way where it is full; ends wait.
const INBOX: usize = 256;

/// Tasks and channels of one run.
struct Loop {
    shared: Arc<Shared>,
    lanes: Arc<Lanes>,
    purse: Purse,
    /// The lanes of the run's own providers.
    known: Vec<Arc<Lane>>,
    attempts: JoinSet<()>,
    holds: HashMap<AttemptId, Hold>,
    /// Whether the run must be told what all runs send.
    watches: bool,
    outbox: mpsc::Sender<Message>,
    lessons: Lessons,
}

/// Who is told what attempts have shown, and where losers are read to their end.
#[derive(Clone, Default)]
pub(super) struct Lessons {
    pub(super) times: Option<Arc<Times>>,
    pub(super) drains: Option<Arc<Drains>>,
}

/// An attempt in flight.
struct Hold {
    task: AbortHandle,
    /// Where it may be read to its end should it lose: then its work is a task of the host's, and this one watches it.
    tether: Option<Tether>,
}

/// Drives a run to its end. When this returns, every attempt's task has been ended, but for those that are read to
/// their end.
pub(super) async fn drive(
    shared: Arc<Shared>,
    lanes: Arc<Lanes>,
    purse: Purse,
    reused: Vec<(StepIx, Value)>,
    lessons: Lessons,
) {
    let (outbox, mut inbox) = mpsc::channel(INBOX);
    let (attempts, holds) = (JoinSet::new(), HashMap::new());
    let watches = shared.with_run(Run::hedges_early);
    let known = shared.with_run(|run| {
        let providers = &run.workflow().plan.providers;
        providers.iter().filter_map(|provider| lanes.get(&provider.name)).collect()
    });
    let mut this = Loop { shared, lanes, purse, known, attempts, holds, watches, outbox, lessons };
    let lanes = this.lanes.clone();
    let learned = |provider: &str, model: &str| lanes.get(provider)?.window(model);
    let mut ended = this.feed(|run, now| {
        run.see_windows(learned);
        run.start(reused, now)
    });
    let mut withdrawn = false;
    while !ended {
        let wakeup = this.shared.with_run(Run::next_wakeup).unwrap_or(Timestamp::NEVER);
        let clock = this.shared.clock();
        ended = tokio::select! {
            // What is in the inbox came before what wakes or ends the run: an attempt that has left is paid for. Each
            // message is looked at after the time is, so a full inbox makes nobody late.
            biased;
            message = inbox.recv() => match message {
                Some(message) => this.receive(message),
                None => this.feed(Run::wake),
            },
            () = clock.sleep_until(wakeup) => this.feed(Run::wake),
            () = this.shared.withdrawn(), if !withdrawn => {
                withdrawn = true;
                this.feed(Run::withdraw)
            }
            Some(joined) = this.attempts.join_next() => match joined {
                Err(error) if error.is_panic() => this.broke(error.id()),
                Ok(()) | Err(_) => false,
            },
        };
    }
    for (attempt, hold) in std::mem::take(&mut this.holds) {
        this.observe(attempt);
        hold.close();
    }
    while this.attempts.join_next().await.is_some() {}
}

/// Why something was not launched.
enum Refused {
    /// As though it had been sent and had failed.
    Broken(Failure),
    /// As though its path had been closed.
    TurnedAway(Failure),
}

impl Hold {
    /// Ends the attempt, which closes its connection.
    fn close(self) {
        match self.tether {
            // Its watcher ends with it.
            Some(tether) => drop(tether),
            None => self.task.abort(),
        }
    }
}

impl Loop {
    /// Gives the run one event and carries out what follows. True once it has ended.
    fn feed(&mut self, event: impl FnOnce(&mut Run, Timestamp) -> Vec<Effect>) -> bool {
        let mut effects = self.tell(event);
        // What cannot be launched has ended as soon as it was asked for: one at a time, or a list of many would nest.
        let mut refused: VecDeque<(AttemptId, Refused)> = VecDeque::new();
        loop {
            // A run that has ended is cleaned up as a whole, once what lost before is let go.
            if effects.iter().any(|effect| matches!(effect, Effect::Finish)) {
                for effect in effects {
                    if let Effect::Cancel(attempt) = effect {
                        self.let_go(attempt);
                    }
                }
                return true;
            }
            for effect in effects {
                match effect {
                    Effect::Launch(launch) => {
                        let attempt = launch.attempt;
                        refused.extend(self.launch(*launch).err().map(|why| (attempt, why)));
                    }
                    Effect::Cancel(attempt) => self.let_go(attempt),
                    Effect::Finish => {}
                }
            }
            let Some((attempt, why)) = refused.pop_front() else { return false };
            effects = self.tell(|run, now| match why {
                Refused::Broken(failure) => run.replied(attempt, Err(failure.into()), now),
                Refused::TurnedAway(failure) => run.turned_away(attempt, failure, now),
            });
        }
    }

    /// Gives the run one event; what has ended by it is settled.
    fn tell(&mut self, event: impl FnOnce(&mut Run, Timestamp) -> Vec<Effect>) -> Vec<Effect> {
        let effects = self.shared.feed(|run, now| {
            if self.watches {
                let lane = |name: &str| self.lanes.get(name).map(|lane| lane.traffic());
                run.see_traffic(|name| lane(name).unwrap_or_default());
            }
            run.see_permits(|name| match self.lanes.get(name) {
                Some(lane) => self.lanes.stock(&lane),
                None => Stock::of(0),
            });
            self.look(run);
            event(run, now)
        });
        let (purse, shared) = (&mut self.purse, &self.shared);
        shared.with_run(|run| purse.settle(|attempt| run.cost(attempt)));
        effects
    }

    /// Tells the run what all runs know of its paths.
    fn look(&self, run: &mut Run) {
        if self.known.iter().all(|lane| lane.is_calm()) {
            run.see_no_path();
            return;
        }
        run.see_paths(|provider, model| {
            self.lanes.get(provider).map(|lane| lane.view(model)).unwrap_or_default()
        });
    }

    fn receive(&mut self, message: Message) -> bool {
        let Message { attempt, news } = message;
        match news {
            News::Sent => self.feed(|run, now| run.sent(attempt, now)),
            News::TurnedAway(failure) => {
                self.holds.remove(&attempt);
                self.feed(|run, now| run.turned_away(attempt, failure, now))
            }
            News::Emitted { tokens, text } => {
                self.feed(|run, now| run.emitted(attempt, tokens, &text, now))
            }
            News::Corrected(how) => {
                tracing::warn!(attempt = attempt.0, how, "a refused request is sent once more");
                self.shared.feed(|run, now| {
                    run.corrected(attempt, how, now);
                    Vec::new()
                });
                false
            }
            News::Replied(reply) => {
                let held = self.holds.remove(&attempt).is_some();
                let ended = self.feed(|run, now| run.replied(attempt, reply, now));
                if held {
                    self.observe(attempt);
                }
                ended
            }
        }
    }

    /// Writes down what an attempt that has ended has shown.
    fn observe(&self, attempt: AttemptId) {
        let Some(times) = &self.lessons.times else { return };
        self.shared.with_run(|run| {
            if let Some(seen) = run.observe(attempt) {
                times.record(&run.workflow().plan, &seen);
            }
        });
    }

    /// Ends an attempt that has lost, or lets it go on by itself.
    fn let_go(&mut self, attempt: AttemptId) {
        let Some(hold) = self.holds.remove(&attempt) else { return };
        let Hold { task, tether } = hold;
        let Some(tether) = tether else {
            self.observe(attempt);
            task.abort();
            return;
        };
        let draining = self.lessons.drains.as_ref().and_then(|drains| {
            self.shared.with_run(|run| {
                // Who has withdrawn or waited in vain is owed that nothing goes on.
                let well = match run.outcome() {
                    None | Some(Outcome::Delivered | Outcome::Degraded { .. }) => true,
                    Some(Outcome::Failed(_) | Outcome::Cancelled) => false,
                };
                let seen = run.observe(attempt).filter(|_| well)?;
                // Nobody waits for the place it keeps.
                let calm = self.lanes.get(&seen.provider).is_some_and(|lane| lane.is_calm());
                let plan = run.workflow().plan.clone();
                calm.then(|| drains.admit(seen, plan, run.deadline())).flatten()
            })
        });
        match draining.map(|draining| tether.leave.send(draining)) {
            Some(Ok(())) => {
                drop(tether.closes.disarm());
                task.abort();
            }
            // It has just ended, or may not.
            Some(Err(_)) | None => self.observe(attempt),
        }
    }

    /// An attempt's task has panicked, which is a fault of ours: the run hears of it as of any failure.
    fn broke(&mut self, task: tokio::task::Id) -> bool {
        let of_task = self.holds.iter().find(|(_, hold)| hold.task.id() == task);
        let Some(attempt) = of_task.map(|(attempt, _)| *attempt) else { return false };
        tracing::error!(attempt = attempt.0, "the task of an attempt broke");
        let text = "the attempt's task broke; this is a fault of punctual, please report it";
        let failure = Failure::of_attempt(FailureClass::ServerError, "panic", text);
        let broken = Broken::from(failure);
        self.receive(Message { attempt, news: News::Replied(Err(broken)) })
    }

    /// Sends a request, unless there is no provider, no money or no leave for it.
    fn launch(&mut self, launch: Launch) -> Result<(), Refused> {
        let id = launch.attempt;
        let Some(lane) = self.lanes.get(&launch.provider) else {
            let message =
                format!("provider '{}' is not in the configuration in use", launch.provider);
            let class = FailureClass::ModelNotFound;
            let failure = Failure::of_attempt(class, "no such provider", message);
            return Err(Refused::Broken(failure));
        };
        self.lanes.settle(&lane, &launch).map_err(Refused::TurnedAway)?;
        self.purse.hold(id, launch.most).map_err(|no| Refused::Broken(no.failure()))?;
        if let Some((provider, kind)) = &launch.counts
            && let Some(lane) = self.lanes.get(provider)
        {
            lane.count(*kind);
        }
        let (leave, left) = oneshot::channel();
        let work = attempt(launch, lane, self.shared.clock(), self.outbox.clone(), left);
        let hold = match self.lessons.drains.as_ref().filter(|drains| self.drains(drains, id)) {
            None => Hold { task: self.attempts.spawn(work), tether: None },
            Some(drains) => {
                let stop = CancellationToken::new();
                let closes = stop.clone().drop_guard();
                let work = drains.tasks().spawn(async move {
                    tokio::select! {
                        biased;
                        () = stop.cancelled() => {}
                        () = work => {}
                    }
                });
                let task = self.attempts.spawn(async move {
                    // A fault of the work's is the watcher's too: the loop hears of it as of any other's.
                    if let Err(error) = work.await
                        && let Ok(panic) = error.try_into_panic()
                    {
                        std::panic::resume_unwind(panic);
                    }
                });
                Hold { task, tether: Some(Tether { leave, closes }) }
            }
        };
        self.holds.insert(id, hold);
        Ok(())
    }

    /// Whether an attempt is read to its end should it lose: a share of those that are paid for anyway, on capacity that
    /// is not the user's own.
    fn drains(&self, drains: &Drains, attempt: AttemptId) -> bool {
        self.shared.with_run(|run| {
            let path = run.path_of(attempt);
            let provider = path.map(|path| run.workflow().plan.provider_of(path));
            provider.is_some_and(|one| one.billed_on_cancel && !one.own_capacity)
                && drains.wants(run.id(), attempt)
        })
    }
}
