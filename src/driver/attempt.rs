//! One attempt: waits for its slot, sends its request, and reports as the answer streams in. Dropping the
//! task closes the connection.

use std::sync::Arc;
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
    let (tokens, text, told) = (0, String::new(), None);
    let slot_of = &mut slot;
    let mut relay =
        Relay { attempt, run: &run, slot: slot_of, clock, tokens, text, told, most, overrun };
    let mut reply = tokio::select! {
        biased;
        () = stop.notified() => Err(overrun_by(&launch, most)),
        reply = lane.provider().exchange(&launch.exchange, &mut relay) => reply,
    };
    if let Err(Broken { usage: usage @ None, .. }) = &mut reply
        && relay.tokens > 0
    {
        let (input, output) = (launch.prompt_tokens, relay.tokens);
        *usage = Some(Usage { input, cached_input: 0, output, estimated: true });
    }
    // Before the run hears of it: what it does next must find the door as it is now.
    slot.settle(&reply);
    let news = News::Replied(reply);
    // A run that has ended no longer listens; it has settled this attempt already.
    let _ = run.send(Message { attempt, news }).await;
}

/// Passes signs of life on without ever waiting: what does not fit now goes along with the next.
struct Relay<'a> {
    attempt: AttemptId,
    run: &'a mpsc::Sender<Message>,
    slot: &'a mut Slot,
    clock: Clock,
    tokens: u64,
    text: String,
    told: Option<Timestamp>,
    most: u64,
    overrun: Arc<Notify>,
}

fn overrun_by(launch: &Launch, most: u64) -> Broken {
    let asked = launch.exchange.max_tokens;
    let message = format!(
        "it sent more than {most} tokens though at most {asked} were asked for, and was closed"
    );
    let failure = Failure::of_attempt(FailureClass::ServerError, "endless answer", message);
    Broken {
        failure: Failure { scope: Scope::Path, ..failure },
        partial: String::new(),
        usage: None,
    }
}

impl Relay<'_> {
    fn tell(&mut self) {
        let now = self.clock.now();
        if self.told.is_some_and(|told| now.since(told) < GATHER) {
            return;
        }
        let Ok(place) = self.run.try_reserve() else { return };
        let (tokens, text) = (self.tokens.max(1), std::mem::take(&mut self.text));
        place.send(Message { attempt: self.attempt, news: News::Emitted { tokens, text } });
        self.told = Some(now);
    }
}

impl Sink for Relay<'_> {
    fn first_token(&mut self) {
        self.slot.alive();
        if self.told.is_none() {
            self.tell();
        }
    }

    fn piece(&mut self, text: &str, tokens: u64) {
        self.slot.alive();
        self.tokens += tokens;
        if self.tokens > self.most {
            self.overrun.notify_one();
            return;
        }
        self.text.push_str(text);
        self.tell();
    }

    fn usage(&mut self, usage: Usage) {
        self.tokens = self.tokens.max(usage.output);
    }

    fn told(&mut self, told: &Told) {
        self.slot.told(told);
    }
}
