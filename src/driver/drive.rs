//! The loop of one run: feeds it what happens, carries out what it asks for, wakes it when time is up.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use tokio::sync::mpsc;
use tokio::task::{AbortHandle, JoinSet};

use super::attempt::{Message, News, attempt};
use super::handle::Shared;
use super::lane::{Lane, Lanes};
use super::purse::Purse;
use crate::domain::failure::{Failure, FailureClass};
use crate::domain::id::{AttemptId, StepIx};
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
    abort: HashMap<AttemptId, AbortHandle>,
    /// Whether the run must be told what all runs send.
    watches: bool,
    outbox: mpsc::Sender<Message>,
}

/// Drives a run to its end. When this returns, every attempt's task has been ended.
pub(super) async fn drive(
    shared: Arc<Shared>,
    lanes: Arc<Lanes>,
    purse: Purse,
    reused: Vec<(StepIx, Value)>,
) {
    let (outbox, mut inbox) = mpsc::channel(INBOX);
    let (attempts, abort) = (JoinSet::new(), HashMap::new());
    let watches = shared.with_run(Run::hedges_early);
    let known = shared.with_run(|run| {
        let providers = &run.workflow().plan.providers;
        providers.iter().filter_map(|provider| lanes.get(&provider.name)).collect()
    });
    let mut this = Loop { shared, lanes, purse, known, attempts, abort, watches, outbox };
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
    this.attempts.abort_all();
    while this.attempts.join_next().await.is_some() {}
}

/// Why something was not launched.
enum Refused {
    /// As though it had been sent and had failed.
    Broken(Failure),
    /// As though its path had been closed.
    TurnedAway(Failure),
}

impl Loop {
    /// Gives the run one event and carries out what follows. True once it has ended.
    fn feed(&mut self, event: impl FnOnce(&mut Run, Timestamp) -> Vec<Effect>) -> bool {
        let mut effects = self.tell(event);
        // What cannot be launched has ended as soon as it was asked for: one at a time, or a list of many would nest.
        let mut refused: VecDeque<(AttemptId, Refused)> = VecDeque::new();
        loop {
            // A run that has ended is cleaned up as a whole.
            if effects.iter().any(|effect| matches!(effect, Effect::Finish)) {
                return true;
            }
            for effect in effects {
                match effect {
                    Effect::Launch(launch) => {
                        let attempt = launch.attempt;
                        refused.extend(self.launch(*launch).err().map(|why| (attempt, why)));
                    }
                    Effect::Cancel(attempt) => {
                        if let Some(task) = self.abort.remove(&attempt) {
                            task.abort();
                        }
                    }
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
                self.abort.remove(&attempt);
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
                self.abort.remove(&attempt);
                self.feed(|run, now| run.replied(attempt, reply, now))
            }
        }
    }

    /// An attempt's task has panicked, which is a fault of ours: the run hears of it as of any failure.
    fn broke(&mut self, task: tokio::task::Id) -> bool {
        let of_task = self.abort.iter().find(|(_, handle)| handle.id() == task);
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
        let clock = self.shared.clock();
        let task = self.attempts.spawn(attempt(launch, lane, clock, self.outbox.clone()));
        self.abort.insert(id, task);
        Ok(())
    }
}
