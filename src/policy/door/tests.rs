use std::collections::BTreeSet;

use proptest::prelude::*;

use super::*;
use crate::domain::id::RunId;
use crate::policy::rate::Left;

const USAGE: Usage = Usage { input: 50, cached_input: 0, output: 50, estimated: false, cost: None };

const fn at(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

fn slots(most: u32) -> Limits {
    Limits { concurrent: Some(most), ..Limits::default() }
}

fn ask(flow: u64, run: u64) -> Ask {
    Ask {
        party: Party { flow: format!("flow{flow}"), run: RunId::new(flow * 1_000 + run) },
        model: "m".to_owned(),
        tokens: 100,
        until: at(1_000_000),
        claim: Claim::Nothing,
        epoch: 0,
    }
}

fn throttled(seconds: u64) -> Failure {
    let retry_after = Some(Duration::from_secs(seconds));
    let of = Failure::of_attempt(FailureClass::RateLimited, "429 + retry-after", "slow down");
    Failure { scope: Scope::Quota, retry_after, ..of }
}

fn dead() -> Failure {
    let of = Failure::of_attempt(FailureClass::Auth, "401 key refused", "HTTP 401: no such key.");
    Failure { scope: Scope::Provider, ..of }
}

/// Those who are sent and those who are turned away until the door says to wait.
fn called(door: &mut Door, now: u64) -> (Vec<Ticket>, Vec<(Ticket, Failure)>, Option<u64>) {
    let (mut sent, mut turned) = (Vec::new(), Vec::new());
    loop {
        match door.next(at(now)) {
            Next::Send(ticket) => sent.push(ticket),
            Next::TurnAway(ticket, failure) => turned.push((ticket, failure)),
            Next::Wait(opens) => return (sent, turned, opens.map(|at| at.as_secs())),
        }
    }
}

fn sent(door: &mut Door, now: u64) -> Vec<Ticket> {
    let (sent, turned, _) = called(door, now);
    assert!(turned.is_empty(), "{turned:?}");
    sent
}

fn line_up(door: &mut Door, count: u64, flow: u64, run: u64, now: u64) -> Vec<Ticket> {
    (0..count).map(|_| door.line_up(ask(flow, run), at(now))).collect()
}

#[test]
fn a_fan_out_of_a_thousand_does_not_keep_another_run_waiting() {
    let mut door = Door::new("a", slots(4));
    line_up(&mut door, 1_000, 0, 0, 0);
    let inside = sent(&mut door, 0);
    let other = door.line_up(ask(0, 1), at(1));
    assert_eq!(sent(&mut door, 1), []);
    door.leave(inside[0], End::Answered(&USAGE), at(2));
    door.leave(inside[1], End::Answered(&USAGE), at(2));
    assert!(sent(&mut door, 2).contains(&other), "it is in with the second place that is free");
}

#[test]
fn a_workflow_that_holds_its_share_of_the_slots_waits_while_another_wants_in() {
    let mut door = Door::new("a", slots(4));
    for run in 0..20 {
        door.line_up(ask(0, run), at(0));
    }
    let first = sent(&mut door, 0);
    assert_eq!(first.len(), 4, "alone it may have them all");
    let others: BTreeSet<Ticket> = (0..5).map(|run| door.line_up(ask(1, run), at(1))).collect();
    let mut inside = first;
    for (second, mine) in [(2, true), (3, true)] {
        door.leave(inside.remove(0), End::Answered(&USAGE), at(second));
        let next = sent(&mut door, second);
        assert_eq!(next.len(), 1);
        assert_eq!(others.contains(&next[0]), mine);
        inside.extend(next);
    }
    // Two each: from here on they take turns.
    door.leave(inside.remove(0), End::Answered(&USAGE), at(4));
    assert!(!others.contains(&sent(&mut door, 4)[0]));
}

#[test]
fn a_workflow_that_has_used_its_share_of_the_minute_waits_while_another_wants_in() {
    let mut door = Door::new("a", Limits { rpm: Some(10), ..Limits::default() });
    for second in 0..10 {
        let ticket = door.line_up(ask(0, 0), at(second));
        assert_eq!(sent(&mut door, second), [ticket]);
        door.leave(ticket, End::Answered(&USAGE), at(second));
    }
    line_up(&mut door, 5, 0, 0, 20);
    let others = line_up(&mut door, 5, 1, 0, 30);
    let (_, _, opens) = called(&mut door, 30);
    assert_eq!(opens, Some(60));
    for second in 60..65 {
        assert_eq!(sent(&mut door, second), [others[usize::try_from(second).unwrap() - 60]]);
    }
    assert_eq!(sent(&mut door, 65).len(), 1, "then its own turn comes");
}

#[test]
fn whoever_waits_for_a_path_that_closes_is_turned_away_with_what_closed_it() {
    let mut door = Door::new("a", slots(2));
    let all = line_up(&mut door, 10, 0, 0, 0);
    let inside = sent(&mut door, 0);
    door.leave(inside[0], End::Failed(&throttled(30), None), at(1));
    let (sent, turned, opens) = called(&mut door, 1);
    assert_eq!((sent.len(), opens), (0, None));
    assert_eq!(turned.iter().map(|(t, _)| *t).collect::<Vec<_>>(), all[2..]);
    let failure = &turned[0].1;
    assert_eq!((failure.class, failure.scope), (FailureClass::RateLimited, Scope::Quota));
    assert_eq!(failure.retry_after, Some(at(30)));
    assert_eq!(failure.message, "not sent: a/m is closed for 30 s: slow down");
    let late = door.line_up(ask(1, 0), at(11));
    let (_, turned, _) = called(&mut door, 11);
    assert_eq!((turned[0].0, turned[0].1.retry_after), (late, Some(at(20))));
}

#[test]
fn after_a_window_one_goes_first_and_the_rest_follows_its_first_token() {
    let mut door = Door::new("a", Limits::default());
    let first = door.line_up(ask(0, 0), at(0));
    sent(&mut door, 0);
    door.leave(first, End::Failed(&throttled(9), None), at(1));
    let waiting = line_up(&mut door, 50, 0, 1, 10);
    let (sent_first, _, opens) = called(&mut door, 10);
    assert_eq!((sent_first.as_slice(), opens), (&waiting[..1], Some(20)));
    assert_eq!(door.view("m", at(10)).line_for, PROBED_FOR);
    assert_eq!(sent(&mut door, 12), []);
    door.alive(waiting[0]);
    assert_eq!(sent(&mut door, 12), waiting[1..]);
    assert!(door.is_calm());
}

#[test]
fn a_provider_that_is_out_is_told_once_and_turns_everybody_away_until_its_key_changes() {
    let mut door = Door::new("a", slots(1));
    let all = line_up(&mut door, 3, 0, 0, 0);
    sent(&mut door, 0);
    let text = door.leave(all[0], End::Failed(&dead(), None), at(1)).unwrap();
    insta::assert_snapshot!(text, @"provider 'a' is out (auth): HTTP 401: no such key. Nothing is sent there until the settings or the key of 'a' change, or the server is started anew");
    assert_eq!(door.out(), [text]);
    let (_, turned, _) = called(&mut door, 1);
    assert_eq!((turned.len(), turned[0].1.class), (2, FailureClass::Auth));
    assert_eq!(door.view("m", at(9_999)).closed_for, Duration::MAX);
    door.relimit(slots(2));
    door.line_up(ask(0, 0), at(2));
    assert_eq!(called(&mut door, 2).1.len(), 1, "other limits are no other key");
    door.renew();
    let again = door.line_up(Ask { epoch: door.epoch(), ..ask(0, 0) }, at(3));
    assert_eq!(sent(&mut door, 3), [again]);
    assert_eq!(door.out(), Vec::<String>::new());
}

#[test]
fn what_was_sent_with_the_old_key_says_nothing_about_the_new_one() {
    let mut door = Door::new("a", slots(2));
    let old = door.line_up(ask(0, 0), at(0));
    sent(&mut door, 0);
    door.renew();
    assert_eq!(door.leave(old, End::Failed(&dead(), None), at(1)), None);
    assert_eq!(door.view("m", at(1)), View::default());
    assert_eq!(door.load(), (0, 0));
}

#[test]
fn who_cannot_be_sent_before_its_runs_end_is_turned_away_at_once() {
    let mut door = Door::new("a", Limits { rpm: Some(1), ..Limits::default() });
    door.line_up(ask(0, 0), at(0));
    sent(&mut door, 0);
    let hopeless = door.line_up(Ask { until: at(50), ..ask(0, 1) }, at(5));
    let patient = door.line_up(Ask { until: at(70), ..ask(0, 2) }, at(5));
    let (_, turned, opens) = called(&mut door, 5);
    assert_eq!((turned.len(), turned[0].0, opens), (1, hopeless, Some(60)));
    assert_eq!(turned[0].1.retry_after, Some(at(55)));
    insta::assert_snapshot!(turned[0].1.message, @"not sent: the limits of provider 'a' let nothing through for 55 s");
    assert_eq!(door.view("m", at(5)).line_for, at(55));
    assert_eq!(sent(&mut door, 60), [patient]);
}

#[test]
fn what_the_provider_says_is_left_holds_up_the_line() {
    let mut door = Door::new("a", Limits::default());
    let first = door.line_up(ask(0, 0), at(0));
    sent(&mut door, 0);
    let requests = Some(Left { left: 2, limit: None, full_in: at(20) });
    door.told(first, &Told { requests, tokens: None }, at(1));
    line_up(&mut door, 5, 0, 0, 1);
    let (sent_now, _, opens) = called(&mut door, 1);
    assert_eq!((sent_now.len(), opens), (2, Some(21)));
    assert_eq!(sent(&mut door, 21).len(), 3);
}

#[test]
fn a_line_that_is_full_turns_away_who_comes_later() {
    let mut door = Door::new("a", slots(1));
    line_up(&mut door, 1, 0, 0, 0);
    assert_eq!(sent(&mut door, 0).len(), 1);
    line_up(&mut door, LINE_MAX as u64 - 1, 0, 0, 0);
    let last = door.line_up(ask(0, 1), at(1));
    assert_eq!(sent(&mut door, 1), []);
    let beyond = door.line_up(ask(0, 2), at(1));
    let (_, turned, _) = called(&mut door, 1);
    assert!(last < beyond);
    assert_eq!(
        turned.iter().map(|(t, f)| (*t, f.class)).collect::<Vec<_>>(),
        [(beyond, FailureClass::Overloaded)]
    );
}

#[test]
fn who_leaves_the_line_leaves_no_trace() {
    let mut door = Door::new("a", slots(1));
    let all = line_up(&mut door, 3, 0, 0, 0);
    sent(&mut door, 0);
    door.withdraw(&ask(0, 0).party, all[1]);
    assert_eq!(door.load(), (1, 1));
    door.leave(all[0], End::Failed(&throttled(30), None), at(1));
    door.withdraw(&ask(0, 0).party, all[2]);
    assert_eq!(called(&mut door, 1).1, [], "it had been turned away, and had not heard it yet");
    assert_eq!(door.load(), (0, 0));
}

/// What may happen before a door.
#[derive(Clone, Debug)]
enum Happens {
    Arrive { flow: u64, run: u64, tokens: u64, patience: u64 },
    Answer(usize),
    Fail(usize, u8),
    Close(usize),
    Withdraw(usize),
    Pass(u64),
}

fn happens() -> impl Strategy<Value = Happens> {
    prop_oneof![
        6 => (0_u64..3, 0_u64..4, 1_u64..600, 1_u64..200)
            .prop_map(|(flow, run, tokens, patience)| Happens::Arrive { flow, run, tokens, patience }),
        4 => any::<usize>().prop_map(Happens::Answer),
        1 => (any::<usize>(), any::<u8>()).prop_map(|(which, how)| Happens::Fail(which, how)),
        1 => any::<usize>().prop_map(Happens::Close),
        1 => any::<usize>().prop_map(Happens::Withdraw),
        3 => (0_u64..20).prop_map(Happens::Pass),
    ]
}

fn some_failure(how: u8) -> Failure {
    match how % 4 {
        0 => throttled(u64::from(how % 40)),
        1 => {
            Failure { scope: Scope::Path, ..Failure::of_attempt(FailureClass::ServerError, "", "") }
        }
        2 => Failure::of_attempt(FailureClass::BadRequest, "", ""),
        _ => Failure::of_attempt(FailureClass::StreamInterrupted, "", ""),
    }
}

proptest! {
    #[test]
    fn limits_hold_and_everybody_is_told_exactly_once(
        script in prop::collection::vec(happens(), 1..300),
        concurrent in prop::option::of(1_u32..6),
        rpm in prop::option::of(1_u32..20),
        tpm in prop::option::of(200_u64..3_000),
    ) {
        let mut door = Door::new("a", Limits { rpm, tpm, concurrent });
        let mut now = 0;
        let (mut waiting, mut inside) = (Vec::<(Ticket, Ask)>::new(), Vec::<(Ticket, Ask)>::new());
        // When each was sent, and the tokens it is known to have taken so far.
        let mut minute: Vec<(Ticket, u64, u64)> = Vec::new();
        for what in script {
            match what {
                Happens::Pass(seconds) => now += seconds,
                Happens::Arrive { flow, run, tokens, patience } => {
                    let ask = Ask { tokens, until: at(now + patience), ..ask(flow, run) };
                    waiting.push((door.line_up(ask.clone(), at(now)), ask));
                }
                Happens::Answer(which) if !inside.is_empty() => {
                    let (ticket, ask) = inside.swap_remove(which % inside.len());
                    let usage = Usage { input: ask.tokens / 2, output: 0, ..Usage::default() };
                    door.alive(ticket);
                    door.leave(ticket, End::Answered(&usage), at(now));
                    for entry in minute.iter_mut().filter(|(t, ..)| *t == ticket) {
                        entry.2 = ask.tokens / 2;
                    }
                }
                Happens::Fail(which, how) if !inside.is_empty() => {
                    let (ticket, _) = inside.swap_remove(which % inside.len());
                    let usage = Usage::default();
                    door.leave(ticket, End::Failed(&some_failure(how), Some(&usage)), at(now));
                    for entry in minute.iter_mut().filter(|(t, ..)| *t == ticket) {
                        entry.2 = 0;
                    }
                }
                Happens::Close(which) if !inside.is_empty() => {
                    let (ticket, _) = inside.swap_remove(which % inside.len());
                    door.leave(ticket, End::Closed, at(now));
                }
                Happens::Withdraw(which) if !waiting.is_empty() => {
                    let (ticket, ask) = waiting.swap_remove(which % waiting.len());
                    door.withdraw(&ask.party, ticket);
                }
                Happens::Answer(_) | Happens::Fail(..) | Happens::Close(_) | Happens::Withdraw(_) => {}
            }
            let mut calls = 0;
            let opens = loop {
                calls += 1;
                prop_assert!(calls < 2_000, "it never says to wait");
                let ticket = match door.next(at(now)) {
                    Next::Wait(opens) => break opens,
                    Next::TurnAway(ticket, failure) => {
                        prop_assert!(failure.retry_after.is_none_or(|wait| !wait.is_zero()));
                        ticket
                    }
                    Next::Send(ticket) => {
                        let ask = waiting.iter().find(|(t, _)| *t == ticket).unwrap().1.clone();
                        minute.retain(|(_, at, _)| at + 60 > now);
                        minute.push((ticket, now, ask.tokens));
                        inside.push((ticket, ask));
                        ticket
                    }
                };
                let before = waiting.len();
                waiting.retain(|(other, _)| *other != ticket);
                prop_assert_eq!(waiting.len() + 1, before, "told twice, or nobody");
            };
            prop_assert!(opens.is_none_or(|opens| opens > at(now)), "asked to come back at once");
            prop_assert!(concurrent.is_none_or(|most| inside.len() <= most as usize));
            prop_assert!(rpm.is_none_or(|most| minute.len() <= most as usize));
            let tokens: u64 = minute.iter().map(|(.., tokens)| tokens).sum();
            // What is larger than the whole minute passes alone.
            let alone = minute.iter().filter(|(.., tokens)| *tokens > 0).count() <= 1;
            prop_assert!(alone || tpm.is_none_or(|most| tokens <= most), "{tokens}");
            prop_assert_eq!(door.load(), (waiting.len(), inside.len()));
            let blocked = opens.is_some() || !inside.is_empty();
            prop_assert!(waiting.is_empty() || blocked, "they wait for nothing");
        }
    }
}

/// A provider that lets `per_minute` through, `burst` of them at once, and refuses the rest with this window.
struct Quota {
    per_minute: u64,
    burst: u64,
    window_s: u64,
    /// In thousandths of a request.
    left: u64,
    at_ms: u64,
}

impl Quota {
    fn take(&mut self, now_ms: u64) -> bool {
        let gained = (now_ms - self.at_ms) * self.per_minute / 60;
        (self.left, self.at_ms) = ((self.left + gained).min(self.burst * 1_000), now_ms);
        let passes = self.left >= 1_000;
        self.left -= if passes { 1_000 } else { 0 };
        passes
    }
}

const MINUTES: u64 = 6;

/// Runs arrive at `demand` a minute before that provider: how many are answered, and how many requests it refuses.
fn under_pressure(demand: u64, mut quota: Quota) -> (u64, u64) {
    let ms = Duration::from_millis;
    let mut door = Door::new("a", Limits::default());
    let (mut answered, mut refused, mut arrived) = (0, 0, 0);
    // When each one's reply comes, and whether it is an answer.
    let mut replies: Vec<(u64, Ticket, bool)> = Vec::new();
    // Those who were turned away and come again when they were told to.
    let mut again: Vec<u64> = Vec::new();
    for now in (0..MINUTES * 60_000).step_by(50) {
        while arrived * 60_000 / demand <= now {
            again.push(now);
            arrived += 1;
        }
        for (_, ticket, good) in replies.extract_if(.., |(at, ..)| *at <= now) {
            if good {
                answered += 1;
                door.leave(ticket, End::Answered(&USAGE), ms(now));
            } else {
                refused += 1;
                door.leave(ticket, End::Failed(&throttled(quota.window_s), None), ms(now));
                again.push(now + quota.window_s * 1_000);
            }
        }
        for run in again.extract_if(.., |at| *at <= now).enumerate().collect::<Vec<_>>() {
            door.line_up(Ask { until: ms(10_000_000), ..ask(0, run.0 as u64 + now) }, ms(now));
        }
        loop {
            match door.next(ms(now)) {
                Next::Wait(_) => break,
                Next::Send(ticket) => {
                    let good = quota.take(now);
                    if good {
                        door.alive(ticket);
                    }
                    replies.push((now + if good { 4_000 } else { 300 }, ticket, good));
                }
                Next::TurnAway(_, failure) => {
                    let wait = failure.retry_after.unwrap().as_millis();
                    again.push(now + u64::try_from(wait).unwrap());
                }
            }
        }
    }
    (answered, refused)
}

#[test]
fn twice_the_quota_is_refused_seldom_and_nearly_all_of_the_quota_is_used() {
    for (per_minute, burst, window_s) in [(60, 5, 1), (60, 60, 5), (20, 3, 5)] {
        let quota = Quota { per_minute, burst, window_s, left: 0, at_ms: 0 };
        let (answered, refused) = under_pressure(2 * per_minute, quota);
        let most = per_minute * MINUTES;
        assert!(answered * 100 > most * 80, "{per_minute}/{burst}: {answered} of {most}");
        assert!(refused * 2 < answered, "{per_minute}/{burst}: {refused} beside {answered}");
    }
}
