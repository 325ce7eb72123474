//! One attempt: waits for its slot, sends its request, and reports as the answer streams in. Dropping the
//! task closes the connection.

use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::{Notify, mpsc};

use super::clock::Clock;
use super::lane::{Lane, Slot};
use crate::domain::failure::{Failure, FailureClass, Scope};
use crate::domain::id::AttemptId;
use crate::domain::message::Usage;
use crate::domain::time::Timestamp;
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
    let most = 4 * u64::from(launch.exchange.max_tokens) + OVERRUN;
    let overrun = Arc::new(Notify::new());
    let stop = overrun.clone();
    let (arrived, left) = (Mutex::default(), Notify::new());
    let news = Gathering { attempt, run: &run, clock, arrived, left };
    let mut relay = Relay { news: &news, slot: &mut slot, most, overrun, corrected: None };
    let mut reply = {
        let mut exchange = pin!(lane.provider().exchange(&launch.exchange, &mut relay));
        loop {
            tokio::select! {
                biased;
                () = stop.notified() => break Err(overrun_by(&launch, most)),
                reply = &mut exchange => break reply,
                () = news.left_behind() => news.tell(),
            }
        }
    };
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
        if self.news.arrived().told.is_none() {
            self.news.tell();
        }
    }

    fn piece(&mut self, text: &str, tokens: u64) {
        self.slot.alive();
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
