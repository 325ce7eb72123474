//! Extra attempts before a door, whoever comes in whatever order.

use proptest::prelude::*;

use super::*;
use crate::domain::failure::{FailureClass, Scope};
use crate::domain::id::RunId;
use crate::domain::message::Usage;
use crate::domain::provider::Limits;
use crate::policy::door::{End, Next};
use crate::policy::permit::{EARNED, FLOOR, NO_PERMIT, SUSPENDED, TRICKLE, WHOLE};
use crate::policy::queue::Party;
use crate::policy::rate::{Left, Told};

const fn at(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

fn ask(run: u64, claim: Claim) -> Ask {
    Ask {
        party: Party { flow: "flow".to_owned(), run: RunId::new(run) },
        model: "m".to_owned(),
        tokens: 100,
        until: at(u64::MAX / 2),
        claim,
        epoch: 0,
    }
}

fn throttled() -> Failure {
    let retry_after = Some(Duration::from_secs(1));
    let of = Failure::of_attempt(FailureClass::RateLimited, "429", "slow down");
    Failure { scope: Scope::Quota, retry_after, ..of }
}

/// Who is sent and who is turned away.
fn called(door: &mut Door, now: Duration) -> (Vec<Ticket>, Vec<Failure>) {
    let (mut sent, mut turned) = (Vec::new(), Vec::new());
    loop {
        match door.next(now) {
            Next::Send(ticket) => sent.push(ticket),
            Next::TurnAway(_, failure) => turned.push(failure),
            Next::Wait(_) => return (sent, turned),
        }
    }
}

#[test]
fn two_runs_never_spend_one_permit() {
    let mut door = Door::new("a", Limits::default());
    let (mut sent, mut turned) = (Vec::new(), Vec::new());
    for run in 0..3 {
        door.line_up(ask(run, Claim::Needs), at(0));
        let (in_now, away) = called(&mut door, at(0));
        sent.extend(in_now);
        turned.extend(away);
    }
    assert_eq!((sent.len(), turned.len()), (2, 1));
    assert_eq!((turned[0].class, turned[0].evidence.as_str()), (FailureClass::Budget, NO_PERMIT));
    insta::assert_snapshot!(
        turned[0].message,
        @"not sent: provider 'a' bears no extra attempt: no whole permit is there, but 0.0"
    );
}

#[test]
fn who_leaves_the_line_gives_its_permit_back() {
    // Room for one more, but not for its hundred tokens.
    let mut door = Door::new("a", Limits { tpm: Some(150), ..Limits::default() });
    door.line_up(ask(0, Claim::Earns), at(0));
    called(&mut door, at(0));
    let extra = ask(1, Claim::Needs);
    let ticket = door.line_up(extra.clone(), at(0));
    assert_eq!(door.stock(at(0)).permits, WHOLE);
    door.withdraw(&extra.party, ticket);
    assert_eq!(door.stock(at(0)).permits, FLOOR);
}

#[test]
fn what_follows_a_failure_takes_what_there_is_and_is_never_turned_away() {
    let mut door = Door::new("a", Limits::default());
    for run in 0..5 {
        door.line_up(ask(run, Claim::Takes), at(0));
    }
    let (sent, turned) = called(&mut door, at(0));
    assert_eq!((sent.len(), turned.len(), door.stock(at(0)).permits), (5, 0, 0));
}

#[test]
fn extra_attempts_in_line_are_turned_away_by_a_429() {
    let mut door = Door::new("a", Limits { concurrent: Some(2), ..Limits::default() });
    let first = door.line_up(ask(0, Claim::Earns), at(0));
    called(&mut door, at(0));
    door.line_up(ask(1, Claim::Needs), at(0));
    door.line_up(ask(2, Claim::Earns), at(0));
    door.leave(first, End::Failed(&throttled(), None), at(100));
    let (_, turned) = called(&mut door, at(100));
    // The first attempt in line is turned away by the window, the extra one for want of a permit.
    let mut said: Vec<&str> = turned.iter().map(|failure| failure.class.as_str()).collect();
    said.sort_unstable();
    assert_eq!(said, ["budget", "rate_limited"]);
}

#[test]
fn extra_attempts_leave_the_last_fifth_of_a_limit_to_first_ones() {
    let mut door = Door::new("a", Limits::default());
    let ticket = door.line_up(ask(0, Claim::Earns), at(0));
    called(&mut door, at(0));
    let say = |door: &mut Door, left: u64| {
        let left = Left { left, limit: Some(1_000), full_in: Duration::from_secs(40) };
        door.told(ticket, &Told { requests: None, tokens: Some(left) }, at(0));
        door.stock(at(0)).shortage
    };
    assert_eq!(say(&mut door, 200), None);
    assert_eq!(say(&mut door, 199), Some(Shortage::Low));
    assert_eq!(door.stock(at(1_000)).shortage, None, "it fills up by 20 a second");
    let mut door = Door::new("a", Limits { rpm: Some(10), ..Limits::default() });
    for run in 0..8 {
        door.line_up(ask(run, Claim::Earns), at(0));
    }
    called(&mut door, at(0));
    assert_eq!(door.stock(at(0)).shortage, None);
    door.line_up(ask(9, Claim::Earns), at(0));
    called(&mut door, at(0));
    assert_eq!(door.stock(at(0)).shortage, Some(Shortage::Low));
}

#[derive(Clone, Debug)]
enum Happens {
    Arrive(u64, u8),
    Answer(usize),
    Refuse(usize),
    Close(usize),
    Withdraw(usize),
    Pass(u64),
}

fn happens() -> impl Strategy<Value = Happens> {
    prop_oneof![
        8 => (0_u64..6, 0_u8..4).prop_map(|(run, claim)| Happens::Arrive(run, claim)),
        4 => any::<usize>().prop_map(Happens::Answer),
        1 => any::<usize>().prop_map(Happens::Refuse),
        1 => any::<usize>().prop_map(Happens::Close),
        1 => any::<usize>().prop_map(Happens::Withdraw),
        4 => (0_u64..8_000).prop_map(Happens::Pass),
    ]
}

proptest! {
    #[test]
    fn permits_are_never_exceeded_and_nothing_extra_is_sent_into_a_throttled_quota(
        script in prop::collection::vec(happens(), 1..300),
        concurrent in prop::option::of(1_u32..6),
    ) {
        let mut door = Door::new("a", Limits { concurrent, ..Limits::default() });
        let (mut now, mut earned, mut extra) = (0, 0_u64, 0_u64);
        let mut refused: Option<u64> = None;
        let (mut waiting, mut inside) = (Vec::<(Ticket, Ask)>::new(), Vec::<Ticket>::new());
        for what in script {
            match what {
                Happens::Pass(millis) => now += millis,
                Happens::Arrive(run, claim) => {
                    let claims = [Claim::Earns, Claim::Nothing, Claim::Takes, Claim::Needs];
                    let ask = ask(run, claims[usize::from(claim)]);
                    if ask.claim == Claim::Earns {
                        door.earn(at(now));
                        earned += 1;
                    }
                    waiting.push((door.line_up(ask.clone(), at(now)), ask));
                }
                Happens::Answer(which) if !inside.is_empty() => {
                    let ticket = inside.swap_remove(which % inside.len());
                    door.leave(ticket, End::Answered(&Usage::default()), at(now));
                }
                Happens::Refuse(which) if !inside.is_empty() => {
                    let ticket = inside.swap_remove(which % inside.len());
                    door.leave(ticket, End::Failed(&throttled(), None), at(now));
                    refused = Some(now);
                }
                Happens::Close(which) if !inside.is_empty() => {
                    let ticket = inside.swap_remove(which % inside.len());
                    door.leave(ticket, End::Closed, at(now));
                }
                Happens::Withdraw(which) if !waiting.is_empty() => {
                    let (ticket, ask) = waiting.swap_remove(which % waiting.len());
                    door.withdraw(&ask.party, ticket);
                }
                Happens::Answer(_)
                | Happens::Refuse(_)
                | Happens::Close(_)
                | Happens::Withdraw(_) => {}
            }
            loop {
                match door.next(at(now)) {
                    Next::Wait(_) => break,
                    Next::TurnAway(ticket, failure) => {
                        let place = waiting.iter().position(|(t, _)| *t == ticket).unwrap();
                        let (_, ask) = waiting.swap_remove(place);
                        let unpermitted = failure.evidence == NO_PERMIT;
                        prop_assert!(!unpermitted || ask.claim == Claim::Needs, "{ask:?}");
                    }
                    Next::Send(ticket) => {
                        let place = waiting.iter().position(|(t, _)| *t == ticket).unwrap();
                        let (_, ask) = waiting.swap_remove(place);
                        inside.push(ticket);
                        if ask.claim == Claim::Needs {
                            extra += 1;
                            let lately = refused.is_some_and(|then| at(then) + SUSPENDED > at(now));
                            prop_assert!(!lately, "sent at {now}, refused at {refused:?}");
                        }
                    }
                }
            }
            let trickled = u128::from(WHOLE) * at(now).as_micros() / TRICKLE.as_micros();
            let most = u128::from(FLOOR + earned * EARNED) + trickled;
            prop_assert!(u128::from(extra * WHOLE) <= most, "{extra} of {most} at {now}");
        }
    }
}
