use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use super::*;
use crate::domain::failure::{About, FailureClass};
use crate::domain::id::{AttemptId, RunId};
use crate::domain::message::Prompt;
use crate::provider::lesson::Lessons;
use crate::provider::{BoxFuture, Draw, Exchange, Sink};
use crate::run::fixture::path;

struct Nobody;

impl Provider for Nobody {
    fn exchange<'a>(
        &'a self,
        _: &'a Exchange,
        _: &'a mut dyn Sink,
    ) -> BoxFuture<'a, Result<Reply, Broken>> {
        Box::pin(std::future::pending())
    }
}

/// One whose refusals teach.
#[derive(Default)]
struct Learner(Lessons);

impl Provider for Learner {
    fn exchange<'a>(
        &'a self,
        _: &'a Exchange,
        _: &'a mut dyn Sink,
    ) -> BoxFuture<'a, Result<Reply, Broken>> {
        Box::pin(std::future::pending())
    }

    fn lessons(&self) -> Option<&Lessons> {
        Some(&self.0)
    }
}

#[tokio::test(start_paused = true)]
async fn what_a_server_has_taught_is_not_believed_of_another_one_under_its_name() {
    let reloaded = |mark| {
        let lanes = |mark| {
            let mut lanes = Lanes::default();
            let limits = Limits::default();
            lanes.add_marked("a", Arc::new(Learner::default()), limits, Clock::start(), mark);
            lanes
        };
        let before = lanes(1);
        let overflow = Failure {
            about: Some(About::Size { prompt: 9_000, most: 8_000 }),
            ..Failure::of_attempt(FailureClass::ContextOverflow, "", "")
        };
        let launch = of(1, "m");
        before
            .get("a")
            .unwrap()
            .provider()
            .lessons()
            .unwrap()
            .overflowed(&launch.exchange, &overflow);
        lanes(mark).after(&before).get("a").unwrap().window("m")
    };
    assert_eq!(reloaded(1), Some(8_001), "the limit and the answer's bound");
    assert_eq!(reloaded(2), None);
}

fn lanes(limits: Limits, clock: Clock) -> Lanes {
    let mut lanes = Lanes::default();
    lanes.add("a", Arc::new(Nobody), limits, clock);
    lanes
}

fn lane(limits: Limits) -> Arc<Lane> {
    lanes(limits, Clock::start()).get("a").unwrap()
}

/// One attempt of a run, on `model`.
fn of(run: u64, model: &str) -> Launch {
    Launch {
        attempt: AttemptId(0),
        most: crate::domain::money::Usd::ZERO,
        provider: "a".to_owned(),
        exchange: Exchange {
            prompt: Prompt::default(),
            schema: None,
            max_tokens: 1,
            temperature: None,
            effort: None,
            profile: Arc::new(path(0, "a", model).profile),
            draw: Draw::default(),
        },
        prompt_tokens: 0,
        party: Party { flow: "flow".to_owned(), run: RunId::new(run) },
        ends_in: Duration::from_secs(3_600),
        counts: None,
        claim: Claim::Nothing,
        earns: Vec::new(),
    }
}

async fn enter(lane: &Arc<Lane>) -> Slot {
    lane.enter(&of(0, "one")).await.unwrap()
}

/// Who has waited that long and is not yet in.
const SOON: Duration = Duration::from_millis(5);

#[tokio::test(start_paused = true)]
async fn who_leaves_the_line_takes_no_wake_up_along() {
    let lane = lane(Limits { rpm: Some(1), concurrent: Some(1), ..Limits::default() });
    let slot = enter(&lane).await;
    let mut waiting = JoinSet::new();
    let mut wait = || {
        let lane = lane.clone();
        waiting.spawn(async move { drop(enter(&lane).await) })
    };
    let first = wait();
    wait();
    sleep(SOON).await;
    drop(slot);
    // The first has been woken for the slot and waits for the minute now.
    sleep(SOON).await;
    first.abort();
    let left = waiting.join_next().await.unwrap();
    assert!(left.is_err_and(|error| error.is_cancelled()));
    let entered = timeout(Duration::from_secs(61), waiting.join_next()).await;
    assert!(entered.is_ok(), "the second still waits though nothing is in flight");
}

#[tokio::test(start_paused = true)]
async fn the_line_is_served_in_order() {
    let lane = lane(Limits { rpm: Some(1), ..Limits::default() });
    drop(enter(&lane).await);
    let served = Arc::new(AtomicU32::new(0));
    let mut waiting = JoinSet::new();
    for place in 0..5 {
        let (lane, served) = (lane.clone(), served.clone());
        waiting.spawn(async move {
            drop(enter(&lane).await);
            assert_eq!(served.fetch_add(1, Ordering::SeqCst), place);
        });
        sleep(SOON).await;
    }
    while let Some(one) = waiting.join_next().await {
        one.unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn another_configuration_opens_no_second_minute_and_no_second_set_of_slots() {
    let clock = Clock::start();
    let limits = Limits { rpm: Some(2), concurrent: Some(1), ..Limits::default() };
    let before = lanes(limits, clock);
    let old = before.get("a").unwrap();
    let slot = enter(&old).await;
    let after = lanes(limits, clock).after(&before).get("a").unwrap();
    assert!(timeout(SOON, enter(&after)).await.is_err(), "the slot is taken");
    drop(slot);
    drop(enter(&after).await);
    assert!(timeout(SOON, enter(&after)).await.is_err(), "the minute is full");
}

#[tokio::test(start_paused = true)]
async fn who_waits_in_line_is_let_in_by_wider_limits() {
    let clock = Clock::start();
    let narrow = Limits { concurrent: Some(1), ..Limits::default() };
    let wide = Limits { concurrent: Some(2), ..Limits::default() };
    let before = lanes(narrow, clock);
    let old = before.get("a").unwrap();
    let _slot = enter(&old).await;
    let waiting = enter(&old);
    tokio::pin!(waiting);
    assert!(timeout(SOON, &mut waiting).await.is_err());
    let _after = lanes(wide, clock).after(&before);
    assert!(timeout(SOON, waiting).await.is_ok());
}
