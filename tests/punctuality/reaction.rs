//! The reaction follows the cause: one test a line of the README's table.

use crate::fault::{Fault, HALF, tag, turns};
use crate::house::{SPARE, mate};
use crate::loopback::journal::Moment;
use crate::played::{Call, played};

/// Each call of a fault met it as one of `stories` tells; each of these at least once.
fn tells(fault: Fault, stories: &[&[&str]]) {
    let played = played();
    let mut seen = vec![0; stories.len()];
    for call in played.of(fault) {
        let story = call.story();
        let which = stories.iter().position(|expected| story == *expected);
        seen[which.unwrap_or_else(|| panic!("{story:?} in {}", call.told()))] += 1;
    }
    assert!(seen[0] > 0, "{fault:?}: {seen:?}");
}

/// Each call of a fault has another attempt beside its first, which is kept until that one has answered.
fn is_raced(fault: Fault, beside: &str, signal: &str) {
    let (played, name) = (played(), fault.name());
    tells(fault, &[&[&format!("{name}/first primary superseded"), &format!("{beside} accepted")]]);
    for call in played.of(fault) {
        assert!(call.why("cut")[0].starts_with(signal), "{}", call.told());
        assert_eq!(played.asked(call, name).len(), 1, "never the same again: {}", call.told());
        let at = |server, moment| played.place(call, server, moment).unwrap();
        let (asked, closed) = (at(mate(fault), Moment::Arrived), at(name, Moment::PeerClosed));
        assert!(asked < closed, "{}", call.told());
    }
}

#[test]
fn no_first_token_by_its_cutoff_races_another_path_and_keeps_the_first() {
    is_raced(Fault::Silent, "silent_mate/second hedge", "no first token on ");
    is_raced(Fault::Mute, "mute_mate/second hedge", "no first token on ");
}

#[test]
fn a_stall_in_mid_stream_races_another_path_and_keeps_the_first() {
    is_raced(Fault::Stuck, "stuck_mate/second hedge", "no further token on ");
}

#[test]
fn a_slow_stream_goes_to_the_faster_model_and_the_same_call_is_never_repeated() {
    is_raced(Fault::Slow, "slow_mate/quick faster", "no complete answer on ");
    let played = played();
    for call in played.of(Fault::Slow) {
        let told = turns(played.asked(call, mate(Fault::Slow))[0], "user");
        assert!(told.iter().any(|turn| turn.contains("[RESUME]")), "{told:?}");
    }
}

#[test]
fn an_invalid_answer_is_told_what_was_wrong_with_it() {
    let played = played();
    let mended = ["wrong/first primary failed schema_violation", "wrong/first repair accepted"];
    tells(Fault::Wrong, &[&mended]);
    for call in played.of(Fault::Wrong) {
        let asked = played.asked(call, "wrong");
        let told = turns(asked[1], "user").pop().unwrap();
        assert!(told.contains("/note"), "{told}");
        assert_eq!(turns(asked[1], "assistant"), [r#"{"note": 5}"#]);
    }
}

#[test]
fn an_answer_that_stays_invalid_goes_to_the_stronger_model_with_what_was_wrong() {
    let played = played();
    let story = [
        "stubborn/first primary failed unparseable_output",
        "stubborn/first repair failed unparseable_output",
        "spare/sage stronger accepted",
    ];
    tells(Fault::Stubborn, &[&story]);
    for call in played.of(Fault::Stubborn) {
        let stronger = turns(played.asked(call, SPARE)[0], "user").join("\n");
        assert!(stronger.contains("[RESUME]") && stronger.contains("not JSON"), "{stronger}");
    }
}

#[test]
fn a_throttled_quota_is_left_at_once_and_nothing_is_sent_into_its_window_by_any_run() {
    left_at_once(Fault::Limited, "rate_limited");
}

#[test]
fn an_empty_account_costs_one_request() {
    left_at_once(Fault::Bust, "quota_exhausted");
}

#[test]
fn a_refused_key_costs_one_request() {
    left_at_once(Fault::Locked, "auth");
}

/// One attempt is refused. Who stood in line behind it is sent elsewhere, and who comes later begins there.
fn left_at_once(fault: Fault, class: &str) {
    let name = fault.name();
    let refused = format!("{name}/first primary failed {class}");
    let unsent = format!("{name}/first primary unsent");
    let stories: [&[&str]; 4] = [
        &[&refused, "spare/second next accepted"],
        &[&unsent, "spare/second next accepted"],
        &[&unsent, "spare/second primary accepted"],
        &["spare/second primary accepted"],
    ];
    tells(fault, &stories);
    let played = played();
    assert_eq!(played.requests[name].len(), 1, "one request tells all runs");
    let met = |call: &&Call| call.story()[0] == refused;
    assert_eq!(played.of(fault).filter(met).count(), 1);
    let warned = played.of(fault).filter(|call| !met(call));
    for call in warned {
        let words = [call.why("wait"), call.why("launch"), call.why("cut")].concat().join("\n");
        let told = words.contains(class) && words.contains(&format!("{name}/first"));
        assert!(told || call.told().contains("not sent: "), "{}", call.told());
    }
}

#[test]
fn a_sick_or_unreachable_path_and_a_broken_stream_go_to_the_next_path() {
    let ways = [
        (Fault::Sick, "overloaded"),
        (Fault::Gone, "server_error"),
        (Fault::Cut, "stream_interrupted"),
        (Fault::Reset, "stream_interrupted"),
    ];
    for (fault, class) in ways {
        let failed = format!("{}/first primary failed {class}", fault.name());
        let unsent = format!("{}/first primary unsent", fault.name());
        let stories: [&[&str]; 4] = [
            &[&failed, "spare/second next accepted"],
            &[&unsent, "spare/second next accepted"],
            &[&unsent, "spare/second primary accepted"],
            &["spare/second primary accepted"],
        ];
        tells(fault, &stories);
    }
}

#[test]
fn what_had_arrived_of_a_broken_answer_goes_along() {
    let played = played();
    for call in played.of(Fault::Cut) {
        let next = turns(played.asked(call, SPARE)[0], "user").join("\n");
        assert!(next.contains("[RESUME]") && next.contains(HALF), "{next}");
    }
}

#[test]
fn a_line_that_is_longer_than_the_time_left_sheds_the_call_at_once_with_a_time_to_come_back() {
    let played = played();
    let of = |outcome: &str| played.of(Fault::Full).filter(|c| c.report.outcome == outcome).count();
    assert_eq!((of("delivered"), of("failed")), (2, 6));
    assert_eq!(played.requests["full"].len(), 2, "its minute holds two");
    for call in played.of(Fault::Full).filter(|call| call.report.outcome == "failed") {
        let failure = call.report.failure.as_ref().unwrap();
        assert_eq!(failure.class, "rate_limited");
        let wait = failure.retry_after_ms.unwrap();
        assert!(wait > call.report.deadline_ms && wait <= 60_000, "{}", call.told());
        assert_eq!(call.report.cost_usd.to_bits(), 0, "{}", call.told());
    }
}

#[test]
fn a_deadline_that_cannot_be_met_ends_in_an_honest_failure_before_it_and_stops_the_spending() {
    let played = played();
    for call in played.of(Fault::Hopeless) {
        let failure = call.report.failure.as_ref().unwrap();
        assert_eq!(failure.class, "deadline", "{}", call.told());
        let sent = call.story();
        assert!(sent.len() <= 2, "{sent:?}");
        // The end may come before the second has left.
        let closed =
            |attempt: &String| [" cancelled", " unsent"].iter().any(|end| attempt.ends_with(end));
        assert!(sent.iter().all(closed), "{sent:?}");
        assert!(played.asked(call, SPARE).is_empty(), "nothing more is begun");
        assert!(call.report.output.is_none());
    }
}

#[test]
fn an_optional_step_is_dropped_so_that_the_rest_is_in_time() {
    for call in played().of(Fault::Aside) {
        assert_eq!(call.report.missing, ["draft"], "{}", call.told());
        assert_eq!(call.report.outcome, "degraded", "{}", call.told());
        assert!(call.why("close")[0].contains("of the deadline has passed"), "{}", call.told());
    }
}

#[test]
fn a_call_whose_caller_leaves_is_cancelled_once_and_begins_nothing_more() {
    let played = played();
    for call in played.of(Fault::Left) {
        assert_eq!(call.story(), ["left/first primary cancelled"], "{}", call.told());
        assert_eq!(played.asked(call, "left").len(), 1);
        assert!(played.asked(call, SPARE).is_empty());
    }
}

#[test]
fn extra_attempts_never_exceed_what_their_quota_permits() {
    let played = played();
    let calls: Vec<&Call> = played.of(Fault::Meek).collect();
    let extras = calls.iter().filter(|call| call.story().len() > 1).count();
    let most = calls.len() / 4;
    assert!((1..=most).contains(&extras), "{extras} of {most}");
    for call in calls {
        let story = call.story();
        match story.get(1) {
            Some(extra) => assert_eq!(extra, "meek_mate/second hedge accepted"),
            // It waits on, until its caller leaves.
            None => assert!(call.refused() && call.report.outcome == "cancelled"),
        }
    }
    assert!(played.requests["meek"].iter().all(|request| tag(request).starts_with("meek-")));
}
