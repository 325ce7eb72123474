//! Doors in virtual time, many runs before them: limits hold, windows are kept, lines are told of.

use std::collections::BTreeMap;

use super::*;
use crate::domain::failure::{Failure, FailureClass, Scope};
use crate::domain::provider::{Dialect, Limits};
use crate::policy::health::PROBE_BOUND;
use crate::provider::simulated::Simulation;

/// An attempt that was sent, in the world's time.
struct Sent {
    at: Duration,
    /// Its first sign of life, its end.
    alive: Option<Duration>,
    ended: Duration,
    tokens: u64,
    failure: Option<Failure>,
}

/// `runs` of a flow, one every `apart`, before doors with these limits.
pub(super) fn played(regime: &str, limits: Limits, runs: u64, apart: Duration) -> Vec<(Ended, Duration)> {
    let configuration = Configuration::simulated(regime, 7);
    let flow = workflow(FLOW, &configuration);
    let recordings = Arc::new(Recordings::default());
    let mut world = World::default();
    for one in &configuration.providers {
        let Dialect::Simulated(settings) = &one.dialect else { continue };
        let simulation = Simulation::new(&one.name, settings, recordings.clone()).unwrap();
        world.add(&one.name, simulation, limits);
    }
    let arrival = |seed: u64| apart * u32::try_from(seed).unwrap();
    for seed in 0..runs {
        let deadline = flow.plan.deadline;
        let run = Run::new(RunId::new(seed), flow.clone(), input(), deadline, seed);
        world.arrive(run, Timestamp::after_start(arrival(seed)));
    }
    world.play().into_iter().zip(0..).map(|(ended, seed)| (ended, arrival(seed))).collect()
}

/// What each provider was sent, in order of time.
fn sent(played: &[(Ended, Duration)]) -> BTreeMap<String, Vec<Sent>> {
    let mut all: BTreeMap<String, Vec<Sent>> = BTreeMap::new();
    for (ended, arrived) in played {
        let plan = &ended.run.workflow().plan;
        for attempt in ended.run.machine().attempts() {
            let Some(at) = attempt.sent else { continue };
            let time = |at: Timestamp| *arrived + at.since_start();
            let of = all.entry(plan.provider_of(attempt.spec.path).name.clone()).or_default();
            of.push(Sent {
                at: time(at),
                alive: attempt.first_token.map(time),
                ended: time(attempt.ended.unwrap().0),
                tokens: attempt.usage.input + attempt.usage.output,
                failure: attempt.failure.cloned(),
            });
        }
    }
    for of in all.values_mut() {
        of.sort_by_key(|sent| sent.at);
    }
    all
}

fn in_time(played: &[(Ended, Duration)]) -> usize {
    let mut good = 0;
    for (Ended { run, at }, _) in played {
        assert!(at.since_start() < run.deadline(), "{at:?}");
        match run.outcome() {
            Some(Outcome::Delivered | Outcome::Degraded { .. }) => good += 1,
            Some(Outcome::Failed(_)) => {}
            Some(Outcome::Cancelled) | None => panic!("{:?}", run.outcome()),
        }
        let report = run.report("", *at);
        let attempts = report.steps.iter().flat_map(|step| &step.attempts);
        assert!(attempts.clone().all(|attempt| !attempt.end.is_empty()), "one end each");
    }
    good
}

#[test]
fn a_thousand_runs_before_narrow_doors_keep_every_limit() {
    let limits = Limits { rpm: Some(400), tpm: Some(400_000), concurrent: Some(40) };
    let played = played("busy", limits, 1_000, Duration::from_millis(200));
    let good = in_time(&played);
    for (name, sent) in sent(&played) {
        let mut edges: Vec<(Duration, i32)> =
            sent.iter().flat_map(|s| [(s.at, 1), (s.ended, -1)]).collect();
        // Who leaves makes room for who comes in the same instant.
        edges.sort_unstable();
        let (mut open, mut most) = (0, 0);
        for (_, edge) in edges {
            open += edge;
            most = most.max(open);
        }
        assert!(most <= 40, "{name}: {most} at once");
        let mut first = 0;
        for (last, one) in sent.iter().enumerate() {
            while sent[first].at + Duration::from_secs(60) <= one.at {
                first += 1;
            }
            let minute = &sent[first..=last];
            assert!(minute.len() <= 400, "{name}: {} in a minute", minute.len());
            let settled = minute.iter().filter(|s| s.ended <= one.at);
            let tokens: u64 = settled.map(|s| s.tokens).sum();
            assert!(tokens <= 400_000, "{name}: {tokens} tokens in a minute");
        }
        assert!(sent.len() > 700, "{name}: {} were sent", sent.len());
    }
    assert!(good > 300, "{good}");
}

#[test]
fn who_is_late_before_a_narrow_door_says_that_it_was_queued() {
    let limits = Limits { concurrent: Some(3), ..Limits::default() };
    let played = played("calm", limits, 300, Duration::from_millis(100));
    in_time(&played);
    let mut late = 0;
    for (Ended { run, at }, _) in &played {
        let Some(Outcome::Failed(failure)) = run.outcome() else { continue };
        if failure.class != FailureClass::Deadline {
            continue;
        }
        let report = run.report("", *at);
        let attempts = report.steps.iter().flat_map(|step| &step.attempts);
        let queued: u64 = attempts.map(|attempt| attempt.queued_ms).sum();
        assert!(queued > 1_000, "{failure:?}");
        late += 1;
    }
    assert!(late > 100, "{late}");
}

/// Windows that all runs were told of: from when until when.
fn windows(sent: &[Sent]) -> Vec<(Duration, Duration)> {
    let told = sent.iter().filter_map(|s| {
        let failure = s.failure.as_ref()?;
        let quota = failure.class == FailureClass::RateLimited && failure.scope == Scope::Quota;
        Some((s.ended, s.ended + failure.retry_after.filter(|_| quota)?))
    });
    told.collect()
}

#[test]
fn no_run_sends_into_a_window_that_another_was_told_of_and_one_goes_first_behind_it() {
    let (mut all, mut firsts) = (0, 0);
    for regime in ["busy", "brownout"] {
        let played = played(regime, Limits::default(), 500, Duration::from_millis(300));
        in_time(&played);
        for (name, sent) in sent(&played) {
            let windows = windows(&sent);
            all += windows.len();
            for (from, until) in &windows {
                let inside = sent.iter().filter(|s| s.at > *from && s.at < *until).count();
                assert_eq!(inside, 0, "{regime} {name}: sent between {from:?} and {until:?}");
                if windows.iter().any(|(f, u)| f < until && u > until) {
                    continue;
                }
                let Some(first) = sent.iter().position(|s| s.at >= *until) else { continue };
                let (first, rest) = (&sent[first], &sent[first + 1..]);
                let word = first.alive.unwrap_or(first.ended).min(first.at + PROBE_BOUND);
                let before = rest.iter().take_while(|s| s.at < word).count();
                assert_eq!(before, 0, "{regime} {name}: {before} did not wait for the first");
                firsts += 1;
            }
        }
    }
    assert!(all > 50 && firsts > 20, "{all} windows, {firsts} trials");
}

#[test]
fn what_runs_tell_each_other_keeps_them_in_time_and_saves_attempts() {
    for (regime, least, most_sent) in [("pooled", 395, 2_200), ("brownout", 360, 2_400)] {
        let played = played(regime, Limits::default(), 400, Duration::from_millis(700));
        let good = in_time(&played);
        let sent: usize = sent(&played).values().map(Vec::len).sum();
        assert!(good >= least && sent <= most_sent, "{regime}: {good} of 400, {sent} sent");
    }
}
