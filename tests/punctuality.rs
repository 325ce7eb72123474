//! Runs against providers that fail in every way they can, over real sockets: two hundred calls at once, looked
//! at by order and count, and by the driver's clock.
//!
//! They are played once; each test below looks at one side of what came of them. What must come late never
//! comes, and what must come comes at once, so nothing here depends on how fast the machine is.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a broken fixture fails its test"
)]

#[path = "punctuality/fault.rs"]
mod fault;
#[path = "punctuality/gone.rs"]
mod gone;
#[path = "punctuality/house.rs"]
mod house;
mod loopback;
#[path = "punctuality/played.rs"]
mod played;
#[path = "punctuality/reaction.rs"]
mod reaction;

use std::collections::BTreeSet;

use fault::{CALLS, Fault};
use house::{MOST, PRICE, bills};
use loopback::journal::Moment;
use played::{played, unsent};

/// Attempts that are closed by us, at least: the first of each call that is raced, meek, or left by its caller.
const LOSERS: usize = 12 + 16 + 12 + 12 + 12 + 10;

#[test]
fn each_call_has_one_outcome() {
    let played = played();
    assert_eq!(played.calls.len(), 200);
    assert_eq!(played.calls.len(), CALLS.iter().map(|(_, calls)| calls).sum::<usize>());
    for call in &played.calls {
        let finished = call.report.decisions.iter().filter(|d| d.action == "finish").count();
        assert_eq!(finished, 1, "{}", call.told());
        let expected = match call.fault {
            Fault::Aside => "degraded",
            Fault::Hopeless => "failed",
            Fault::Left => "cancelled",
            // Some of them; see `reaction`.
            Fault::Full | Fault::Meek => call.report.outcome.as_str(),
            _ => "delivered",
        };
        assert_eq!(call.report.outcome, expected, "{}", call.told());
        assert_eq!(call.report.output.is_some(), matches!(expected, "delivered" | "degraded"));
    }
    let ids: BTreeSet<&str> = played.kept.iter().map(|report| report.run_id.as_str()).collect();
    assert_eq!((ids.len(), played.kept.len()), (201, 201), "each is kept once");
    let reports = played.calls.iter().map(|call| &call.report).chain([&played.warm]);
    for report in reports {
        assert!(played.kept.contains(report), "{report:?}");
    }
}

#[test]
fn no_call_is_answered_after_its_deadline() {
    for call in &played().calls {
        let report = &call.report;
        assert!(report.elapsed_ms <= report.deadline_ms, "{}", call.told());
        assert!(report.decisions.iter().all(|d| d.at_ms <= report.elapsed_ms), "{}", call.told());
        for attempt in call.attempts() {
            assert!(attempt.ended_ms.is_some_and(|at| at <= report.elapsed_ms), "{}", call.told());
        }
    }
}

#[test]
fn each_call_gets_its_own_answer() {
    for call in played().calls.iter().filter(|call| call.report.output.is_some()) {
        let output = call.report.output.as_ref().unwrap();
        assert_eq!(output["note"], call.tag.as_str(), "{}", call.told());
    }
}

#[test]
fn the_record_and_the_wire_tell_of_the_same_attempts() {
    let played = played();
    for (server, requests) in &played.requests {
        let warm = played.warm.steps.iter().flat_map(|step| &step.attempts);
        let attempts = played.calls.iter().flat_map(played::Call::attempts).chain(warm);
        let on = attempts.filter(|a| played::provider(a) == *server && !unsent(a));
        let (closed, ended): (Vec<_>, Vec<_>) = on.partition(|attempt| played::closed(attempt));
        // A request that is withdrawn as it leaves may never arrive; a connection that breaks before its first byte
        // was read is tried once more within the attempt.
        let again = if *server == "reset" { ended.len() } else { 0 };
        let sent = ended.len()..=ended.len() + closed.len() + again;
        assert!(sent.contains(&requests.len()), "{server}: {} of {sent:?}", requests.len());
        assert!(requests.iter().all(|request| !fault::tag(request).is_empty()), "{server}");
    }
}

#[test]
fn what_lost_and_what_was_cut_short_is_paid_for() {
    let played = played();
    let mut losers = 0;
    for call in &played.calls {
        let (mut cost, mut input, mut output) = (0.0, 0, 0);
        for attempt in call.attempts() {
            let (tokens, provider) = (attempt.tokens, played::provider(attempt));
            cost += attempt.cost_usd;
            (input, output) = (input + tokens.input, output + tokens.output);
            #[expect(clippy::cast_precision_loss, reason = "dozens")]
            let listed = (tokens.input as f64 * PRICE.0 + tokens.output as f64 * PRICE.1) / 1e6;
            assert!((attempt.cost_usd - listed).abs() < 1e-9, "{}", call.told());
            // That what left is told from what did not, the wire proves above.
            if played::closed(attempt) && !unsent(attempt) {
                losers += 1;
                assert!(call.report.cost_estimated, "{}", call.told());
                let all = tokens.output == MOST;
                assert_eq!(all, bills(provider), "{provider}: {}", call.told());
            }
        }
        assert!((call.report.cost_usd - cost).abs() < 1e-9, "{}", call.told());
        assert_eq!((call.report.tokens.input, call.report.tokens.output), (input, output));
    }
    assert!(losers >= LOSERS, "{losers}");
}

#[test]
fn the_connections_of_losers_and_of_cancelled_calls_are_closed() {
    let played = played();
    for (server, requests) in &played.requests {
        let count = |moment| played.count(server, moment);
        assert_eq!(count(Moment::Arrived), requests.len(), "{server}");
        let ends = count(Moment::Answered) + count(Moment::PeerClosed);
        assert_eq!(ends, requests.len(), "{server}");
    }
    // Nobody but us ends these.
    for fault in [Fault::Silent, Fault::Mute, Fault::Stuck, Fault::Slow, Fault::Left, Fault::Aside]
    {
        let name = fault.name();
        assert_eq!(played.count(name, Moment::PeerClosed), played.requests[name].len(), "{name}");
    }
}
