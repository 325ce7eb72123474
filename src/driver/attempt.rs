//! One attempt: waits for its slot, sends its request, and reports as the answer streams in. Dropping the
//! task closes the connection.

use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::{Notify, mpsc, oneshot};

use super::clock::Clock;
use super::drain::{Came, Draining};
use super::lane::{Lane, Slot};
use crate::domain::failure::{Failure, FailureClass, Scope};
use crate::domain::id::AttemptId;
use crate::domain::message::Usage;
use crate::domain::time::Timestamp;
use crate::latency::observation::End;
use crate::policy::rate::Told;
use crate::provider::{Broken, Reply, Sink};
use crate::run::Launch;

/// Signs of life are gathered for this long before the run is told again.
const GATHER: Duration = Duration::from_millis(100);

/// Tokens an answer may have beyond four times its bound before it is closed. The estimate errs high and
/// some models think beyond the bound, but a stream that never ends must not fill the memory.
const OVERRUN: u64 = 2_000;

/// What an attempt tells its run.
#[derive(Debug)]
pub(super) struct Message {
    pub(super) attempt: AttemptId,
    pub(super) news: News,
}

#[derive(Debug)]
pub(super) enum News {
    Sent,
    TurnedAway(Failure),
    Emitted { tokens: u64, text: String },
    Corrected(String),
    Replied(Result<Reply, Broken>),
}

/// Runs the attempt to its end.
pub(super) async fn attempt(
    launch: Launch,
    lane: Arc<Lane>,
    clock: Clock,
    run: mpsc::Sender<Message>,
    mut let_go: oneshot::Receiver<Box<Draining>>,
) {
    let attempt = launch.attempt;
    let mut slot = match lane.enter(&launch).await {
        Ok(slot) => slot,
        Err(failure) => {
            let _ = run.send(Message { attempt, news: News::TurnedAway(failure) }).await;
            return;
        }
    };
    if run.send(Message { attempt, news: News::Sent }).await.is_err() {
        return;
    }
    let sent = clock.now();
    let most = 4 * u64::from(launch.exchange.max_tokens) + OVERRUN;
    let overrun = Arc::new(Notify::new());
    let stop = overrun.clone();
    let (arrived, left) = (Mutex::default(), Notify::new());
    let news = Gathering { attempt, run: &run, clock, arrived, left };
    let mut relay = Relay { news: &news, slot: &mut slot, most, overrun, corrected: None };
    // Nobody listens any more where the run has let go of it: it is closed then, or goes on by itself.
    let (mut draining, mut listens) = (None, true);
    let reply = {
        let mut exchange = pin!(lane.provider().exchange(&launch.exchange, &mut relay));
        loop {
            tokio::select! {
                biased;
                () = stop.notified() => break Some(Err(overrun_by(&launch, most))),
                reply = &mut exchange => break Some(reply),
                told = &mut let_go, if listens => {
                    listens = false;
                    draining = told.ok();
                    news.arrived().muted = draining.is_some();
                }
                () = over(draining.as_deref(), clock) => break None,
                () = news.left_behind(), if draining.is_none() => news.tell(),
            }
        }
    };
    if let Some(draining) = draining {
        let arrived = news.arrived();
        let (first_token, tokens) = (arrived.first, arrived.tokens);
        drop(arrived);
        draining.tell(Came { sent, first_token, tokens, now: clock.now() }, end_of(reply.as_ref()));
        return;
    }
    let Some(mut reply) = reply else { return };
    let tokens = news.arrived().tokens;
    if let Err(Broken { usage: usage @ None, .. }) = &mut reply
        && tokens > 0
    {
        let (input, output) = (launch.prompt_tokens, tokens);
        *usage = Some(Usage { input, cached_input: 0, output, estimated: true, cost: None });
    }
    if let Some(how) = relay.corrected.take() {
        let _ = run.send(Message { attempt, news: News::Corrected(how) }).await;
    }
    // Before the run hears of it: what it does next must find the door as it is now.
    slot.settle(&reply);
    let news = News::Replied(reply);
    // A run that has ended no longer listens; it has settled this attempt already.
    let _ = run.send(Message { attempt, news }).await;
}

/// When an attempt that goes on by itself must end.
async fn over(draining: Option<&Draining>, clock: Clock) {
    match draining {
        Some(draining) => draining.over(clock).await,
        None => std::future::pending().await,
    }
}

/// How an attempt ended that nobody listened to; `None` where it was closed. Whether its answer fits was looked at by
/// nobody: it counts as valid, as nearly all are.
fn end_of(reply: Option<&Result<Reply, Broken>>) -> End {
    match reply {
        None => End::Closed,
        Some(Ok(_)) => End::Answered { valid: true },
        Some(Err(broken)) => End::Failed(broken.failure.class),
    }
}

/// Signs of life on their way to the run, passed on without ever waiting: what does not fit now goes along with the
/// next, or by itself a while later where nothing more comes.
struct Gathering<'a> {
    attempt: AttemptId,
    run: &'a mpsc::Sender<Message>,
    clock: Clock,
    arrived: Mutex<Arrived>,
    /// Something is not told yet.
    left: Notify,
}

/// What has arrived of the answer.
#[derive(Default)]
struct Arrived {
    tokens: u64,
    /// What of its text is not told yet.
    text: String,
    told: Option<Timestamp>,
    /// When its first sign of life came.
    first: Option<Timestamp>,
    /// Whether nobody listens any more.
    muted: bool,
}

struct Relay<'a> {
    news: &'a Gathering<'a>,
    slot: &'a mut Slot,
    most: u64,
    overrun: Arc<Notify>,
    /// A correction that had no place among the messages yet.
    corrected: Option<String>,
}

fn overrun_by(launch: &Launch, most: u64) -> Broken {
    let asked = launch.exchange.max_tokens;
    let message = format!(
        "it sent more than {most} tokens though at most {asked} were asked for, and was closed"
    );
    let failure = Failure::of_attempt(FailureClass::ServerError, "endless answer", message);
    Failure { scope: Scope::Path, ..failure }.into()
}

impl Gathering<'_> {
    fn arrived(&self) -> MutexGuard<'_, Arrived> {
        // Nothing between a lock and its release can panic half-way through a change.
        self.arrived.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn tell(&self) {
        let now = self.clock.now();
        let mut arrived = self.arrived();
        if arrived.muted {
            arrived.text.clear();
            return;
        }
        let lately = arrived.told.is_some_and(|told| now.since(told) < GATHER);
        let place = if lately { None } else { self.run.try_reserve().ok() };
        let Some(place) = place else {
            self.left.notify_one();
            return;
        };
        let (tokens, text) = (arrived.tokens.max(1), std::mem::take(&mut arrived.text));
        place.send(Message { attempt: self.attempt, news: News::Emitted { tokens, text } });
        arrived.told = Some(now);
    }

    /// The first sign of life has come, now or before.
    fn begun(&self) {
        let now = self.clock.now();
        self.arrived().first.get_or_insert(now);
    }

    /// Waits until something has been left untold for a while: a stream may stop after its first words, and
    /// whoever follows is to know them.
    async fn left_behind(&self) {
        loop {
            self.left.notified().await;
            self.clock.sleep(GATHER).await;
            if !self.arrived().text.is_empty() {
                return;
            }
        }
    }
}

impl Sink for Relay<'_> {
    fn first_token(&mut self) {
        self.slot.alive();
        self.news.begun();
        if self.news.arrived().told.is_none() {
            self.news.tell();
        }
    }

    fn piece(&mut self, text: &str, tokens: u64) {
        self.slot.alive();
        self.news.begun();
        let mut arrived = self.news.arrived();
        arrived.tokens += tokens;
        if arrived.tokens > self.most {
            self.overrun.notify_one();
            return;
        }
        arrived.text.push_str(text);
        drop(arrived);
        self.news.tell();
    }

    fn usage(&mut self, usage: Usage) {
        let mut arrived = self.news.arrived();
        arrived.tokens = arrived.tokens.max(usage.output);
    }

    fn corrected(&mut self, how: &str) {
        match self.news.run.try_reserve() {
            Ok(place) => {
                let news = News::Corrected(how.to_owned());
                place.send(Message { attempt: self.news.attempt, news });
            }
            Err(_) => self.corrected = Some(how.to_owned()),
        }
    }

    fn told(&mut self, told: &Told) {
        self.slot.told(told);
    }
}
