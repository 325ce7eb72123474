use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};

use super::*;
use crate::domain::failure::{About, FailureClass, Scope};
use crate::domain::id::{ItemIx, RunId, StepIx};
use crate::domain::message::Usage;
use crate::domain::money::Usd;
use crate::engine::Machine;
use crate::planner::{Pilot, Quantiles, Times};
use crate::policy::health::Why;
use crate::policy::permit::{CAP, Shortage, Stock, Traffic};
use crate::provider::{Broken, Reply};
use crate::run::fixture::Build;
use crate::run::replay::replay;
use crate::run::{Effect, Run};

fn failures() -> Vec<Failure> {
    let abouts = |about: &About| match about {
        About::Parameter(_) | About::Size { .. } => {}
    };
    let about = [
        Some(About::Parameter("top_k".to_owned())),
        Some(About::Size { prompt: u64::MAX, most: 7 }),
        None,
    ];
    about.iter().flatten().for_each(abouts);
    let scopes = [Scope::Attempt, Scope::Path, Scope::Quota, Scope::Provider];
    let windows = [None, Some(Duration::new(3, 999_999_999)), Some(Duration::MAX)];
    let of = |(n, class): (usize, FailureClass)| Failure {
        class,
        scope: scopes[n % 4],
        retry_after: windows[n % 3],
        hopeless: n % 2 == 0,
        evidence: format!("429 + \"retry-after\" {n}"),
        message: String::new(),
        about: about[n % 3].clone(),
    };
    FailureClass::ALL.into_iter().enumerate().map(of).collect()
}

/// The place of a variant among its like, so that a new one must be counted, and then be drawn.
fn prepared_place(result: &Prepared) -> (usize, usize) {
    let place = match result {
        Prepared::Skip => 0,
        Prepared::Prompts(_) => 1,
        Prepared::Shrunk(_) => 2,
        Prepared::Done => 3,
        Prepared::Computed(_) => 4,
        Prepared::Judged { .. } => 5,
        Prepared::Impossible(_) => 6,
    };
    (place, 7)
}

fn event_place(event: &Event) -> (usize, usize) {
    let place = match event {
        Event::Started { .. } => 0,
        Event::Prepared { .. } => 1,
        Event::Sent { .. } => 2,
        Event::FirstToken { .. } => 3,
        Event::Emitted { .. } => 4,
        Event::Ended { verdict: Verdict::Valid { .. }, .. } => 5,
        Event::Ended { verdict: Verdict::Invalid { .. }, .. } => 6,
        Event::Failed { .. } => 7,
        Event::Shrunk { .. } => 8,
        Event::TurnedAway { .. } => 9,
        Event::Withdrawn => 10,
        Event::Woke => 11,
    };
    (place, 12)
}

fn all_events() -> Vec<Event> {
    let (step, attempt) = (StepIx(2), AttemptId(u32::MAX));
    let usage = Usage {
        input: u64::MAX,
        cached_input: 3,
        output: 1,
        estimated: true,
        cost: Usd::from_dollars(0.123_456_789_012),
    };
    let failure = failures()[1].clone();
    let computed = [vec![], vec![None, Some(failure.clone())]].map(Prepared::Computed);
    let prepared = [
        Prepared::Skip,
        Prepared::Prompts(vec![0, u64::MAX]),
        Prepared::Shrunk(vec![5]),
        Prepared::Done,
        Prepared::Judged { pass: true },
        Prepared::Judged { pass: false },
        Prepared::Impossible(failure.clone()),
    ];
    let prepared: Vec<Prepared> = prepared.into_iter().chain(computed).collect();
    let seen: BTreeSet<usize> = prepared.iter().map(|one| prepared_place(one).0).collect();
    assert_eq!(seen.len(), prepared_place(&Prepared::Skip).1);
    let mut events = vec![
        Event::Started { reused: vec![] },
        Event::Started { reused: vec![StepIx(0), StepIx(u16::MAX)] },
        Event::Sent { attempt },
        Event::FirstToken { attempt },
        Event::Emitted { attempt, tokens: u64::MAX },
        Event::Shrunk { step, item: ItemIx(u32::MAX), tokens: None },
        Event::Shrunk { step, item: ItemIx(0), tokens: Some(9) },
        Event::Withdrawn,
        Event::Woke,
    ];
    events.extend(prepared.into_iter().map(|result| Event::Prepared { step, round: 7, result }));
    let valid = [None, Some(true), Some(false)].map(|pass| Verdict::Valid { pass });
    let ended = |verdict: Verdict| Event::Ended { attempt, usage, verdict };
    events.extend(valid.map(ended));
    for failure in failures() {
        let verdict = Verdict::Invalid { failure: failure.clone(), repair_tokens: 11 };
        events.push(ended(verdict));
        let usage = Usage::default();
        events.push(Event::Failed { attempt, failure: failure.clone(), usage });
        events.push(Event::TurnedAway { attempt, failure });
    }
    let seen: BTreeSet<usize> = events.iter().map(|one| event_place(one).0).collect();
    assert_eq!(seen.len(), event_place(&Event::Woke).1);
    events
}

fn every_signal() -> Vec<Signals> {
    let event = failures()[0].throttle().unwrap();
    let why = Some(Arc::new(Why { event, said: String::new() }));
    let traffic = |n: u32| Traffic { primaries: n, extras: u32::MAX };
    vec![
        Signals::default(),
        Signals { traffic: vec![traffic(1)], ..Signals::default() },
        Signals {
            closed_for: vec![Duration::ZERO, Duration::MAX],
            why: vec![None, why],
            line_for: vec![Duration::new(0, 1)],
            traffic: vec![traffic(2), traffic(3)],
            windows: vec![None, Some(u64::MAX)],
            permits: vec![Stock::of(0), Stock::of(CAP).short_of(Shortage::Throttled)],
        },
        Signals { windows: vec![Some(4)], ..Signals::default() },
    ]
}

fn workflow() -> Arc<crate::workflow::Workflow> {
    let build = Build::new(Duration::from_secs(20)).step("draft", "Write about {{ input.text }}.");
    build.output("text", "draft.text").done()
}

/// The record read back from its lines.
fn read(lines: &[String]) -> Result<Record, Unreadable> {
    let (line, parts) = lines.split_last().unwrap();
    let part = |name: &str| parts.iter().find(|part| part.contains(name)).cloned();
    Record::read(line, part)
}

/// A machine that has nothing to do with the journal.
fn machine() -> Machine {
    Machine::new(workflow().plan.clone(), Duration::from_secs(20))
}

#[test]
fn every_event_and_signal_survives_to_the_bit() {
    let mut journal = Journal::default();
    let (events, signals) = (all_events(), every_signal());
    let told = |n: usize| (Timestamp::from_micros(u64::MAX - 100_000 + n as u64), &signals[n % 4]);
    for (n, event) in events.iter().enumerate() {
        let (at, signals) = told(n);
        journal.told(event, signals, at);
    }
    let record = read(&journal.lines(&RunId::new(1), &machine(), |_| false)).unwrap();
    assert!(record.whole);
    assert_eq!(record.told.len(), events.len());
    assert_eq!(*record.plan, *workflow().plan);
    assert_eq!(record.deadline, Duration::from_secs(20));
    for (n, (told_back, event)) in record.told.iter().zip(&events).enumerate() {
        let (at, signals) = told(n);
        assert_eq!((&told_back.event, told_back.at), (event, at));
        assert_eq!(*told_back.signals, *signals, "{event:?}");
    }
}

#[test]
fn what_was_known_of_times_survives_to_the_bit() {
    let mut bits = 0x9E37_79B9_7F4A_7C15_u64;
    let mut drawn = || loop {
        bits = bits.wrapping_mul(0xBF58_476D_1CE4_E5B9).rotate_left(29) ^ 0x94D0;
        let number = f64::from_bits(bits);
        if number.is_finite() {
            return number;
        }
    };
    for mark in [0, 1, u64::MAX] {
        let mut times = || {
            let mut quantiles = || Quantiles { p50: drawn(), p95: drawn(), p99: -0.0 };
            let (first_token, total) = (quantiles(), quantiles());
            Times { samples: drawn(), first_token, total, tokens: drawn(), rate: drawn() }
        };
        let times = (0..200).map(|_| vec![Some(times()), None]).collect();
        let pilot = Pilot { mark, times, shock: 1.1, laws: None, tables: None };
        let machine = machine().with_pilot(Some(Arc::new(pilot.clone())));
        let lines = Journal::default().lines(&RunId::new(1), &machine, |_| false);
        assert_eq!(lines.len(), 3);
        let back = read(&lines).unwrap().pilot.unwrap();
        assert_eq!(format!("{back:?}"), format!("{pilot:?}"));
        // Stored once, and told where it is gone.
        let name = Knowledge::name(mark);
        let lines = Journal::default().lines(&RunId::new(1), &machine, |part| part == name);
        assert_eq!(lines.len(), 2);
        let error = read(&lines).unwrap_err().to_string();
        assert!(error.contains("its knowledge of times") && error.contains(&name), "{error}");
    }
}

const CANARIES: [&str; 5] = ["heron", "bittern", "curlew", "lapwing", "dunlin"];

/// A run that meets an invalid answer that is quoted, a failure in the provider's words, and an answer a check refuses.
fn troubled() -> Run {
    let workflow = Build::new(Duration::from_secs(20))
        .step("draft", "Write about {{ input.text }}, curlew.")
        .check("text != 'lapwing'")
        .step("end", "End {{ draft.text }}.")
        .output("text", "end.text")
        .done();
    let input = json!({"text": "heron", "list": []});
    let mut run = Run::new(RunId::new(1), workflow, input, Duration::from_secs(20), 7);
    run.keep_journal();
    let reply = |value: Value| Reply {
        text: value.to_string(),
        usage: Usage::default(),
        invented: false,
        remaining: None,
    };
    let mut effects = run.start(Vec::new(), Timestamp::ZERO);
    let (mut now, mut turn) = (0, 0);
    for _ in 0..20 {
        now += 400;
        let at = Timestamp::from_millis(now);
        let launched = effects.iter().find_map(|effect| match effect {
            Effect::Launch(launch) => Some(launch.attempt),
            Effect::Cancel(_) | Effect::Finish => None,
        });
        let Some(attempt) = launched else {
            if run.outcome().is_some() {
                return run;
            }
            let at = run.next_wakeup().unwrap();
            now = at.millis() + 1;
            effects = run.wake(Timestamp::from_millis(now));
            continue;
        };
        run.sent(attempt, at);
        run.emitted(attempt, 3, "bittern", at);
        turn += 1;
        effects = match turn {
            1 => run.replied(attempt, Ok(reply(json!({"text": 7, "bittern": "dunlin"}))), at),
            2 => run.replied(attempt, Ok(reply(json!({"text": "lapwing"}))), at),
            3 => {
                let words = "you said: Write about heron, curlew.";
                let failure =
                    Failure::of_attempt(FailureClass::ServerError, "500", words.to_owned());
                run.replied(attempt, Err(Broken::from(failure)), at)
            }
            _ => run.replied(attempt, Ok(reply(json!({"text": "bittern"}))), at),
        };
    }
    run
}

#[test]
fn a_record_holds_no_prompt_and_no_answer_and_none_that_a_failure_quotes() {
    let run = troubled();
    let report = serde_json::to_string(&run.report("", Timestamp::ZERO)).unwrap();
    assert!(report.contains("lapwing") && report.contains("heron"), "{report}");
    let lines = run.record(|_| false);
    let text = lines.join("\n");
    for canary in CANARIES {
        assert!(!text.contains(canary), "{canary} in {text}");
    }
    let record = read(&lines).unwrap();
    let found = replay(&record);
    assert_eq!(found.divergence, None);
    assert!(found.events > 10 && found.decisions > 5, "{found:?}");
}

#[test]
fn a_run_that_keeps_no_journal_has_no_record() {
    let input = json!({"text": "heron", "list": []});
    let run = Run::new(RunId::new(1), workflow(), input, Duration::from_secs(20), 7);
    assert_eq!(run.record(|_| false), Vec::<String>::new());
}

/// The troubled run's record with `change` made to its line.
fn tampered(change: impl FnOnce(&mut Value)) -> Record {
    let mut lines = troubled().record(|_| false);
    let mut line: Value = serde_json::from_str(lines.last().unwrap()).unwrap();
    change(&mut line);
    *lines.last_mut().unwrap() = line.to_string();
    read(&lines).unwrap()
}

/// The place of the first event of a kind in a record's line.
fn place_of(line: &Value, kind: &str) -> usize {
    let events = line["events"].as_array().unwrap();
    events.iter().position(|event| event["event"].get(kind).is_some()).unwrap()
}

#[test]
fn an_event_at_another_time_diverges_there_and_is_told() {
    let mut place = 0;
    let record = tampered(|line| {
        place = place_of(line, "ended");
        line["events"][place]["at"] = json!(400_001);
    });
    let divergence = replay(&record).divergence.unwrap();
    assert_eq!(divergence.event, place + 1);
    assert_eq!(divergence.at, Timestamp::from_micros(400_001));
    assert!(divergence.happened.starts_with("draft attempt 1 on a/one answered"), "{divergence:?}");
    assert!(divergence.then.iter().any(|line| line.contains("400000")), "{divergence:?}");
    assert!(divergence.now.iter().any(|line| line.contains("400001")), "{divergence:?}");
}

#[test]
fn a_decision_that_is_another_diverges_there_and_both_are_told_in_words() {
    let mut place = 0;
    let record = tampered(|line| {
        place = place_of(line, "ended");
        let reason = &mut line["events"][place]["decisions"][0]["reason"];
        assert!(reason.get("follows").is_some(), "{reason}");
        *reason = json!({"attempts_used": {"attempts": 2}});
    });
    let found = replay(&record);
    let divergence = found.divergence.unwrap();
    assert_eq!((divergence.event, found.events), (place + 1, place + 1));
    assert_eq!(divergence.then[0], "launch draft: all 2 attempts are used");
    assert!(divergence.now[0].starts_with("launch draft: schema_violation on "), "{divergence:?}");
    assert_eq!(divergence.then[1..], divergence.now[1..]);
}

#[test]
fn a_decision_of_a_kind_unknown_here_is_shown_as_it_is_written() {
    let record = tampered(|line| {
        let place = place_of(line, "ended");
        line["events"][place]["decisions"][0]["reason"] = json!({"by_the_stars": {"sign": 2}});
        line["events"][place]["actions"][0]["launch"]["path"] = json!(99);
    });
    let divergence = replay(&record).divergence.unwrap();
    assert!(divergence.then[0].contains("by_the_stars"), "{divergence:?}");
    assert!(divergence.then.iter().any(|line| line.contains("\"path\":99")), "{divergence:?}");
}

#[test]
fn recording_stops_at_its_bound_and_says_so() {
    let mut journal = Journal::default();
    let mut machine = machine();
    let mut tell = |event: Event, at: u64| {
        let (signals, at) = (Signals::default(), Timestamp::from_micros(at));
        journal.told(&event, &signals, at);
        let actions = machine.handle(event, &signals, at);
        journal.answered(&actions, &machine.take_decisions());
    };
    tell(Event::Started { reused: vec![] }, 0);
    let result = Prepared::Prompts(vec![100]);
    tell(Event::Prepared { step: StepIx(0), round: 0, result }, 1);
    for n in 0..EVENTS_MAX as u64 + 10 {
        tell(Event::Emitted { attempt: AttemptId(0), tokens: n }, 2 + n);
    }
    let lines = journal.lines(&RunId::new(1), &machine, |_| false);
    assert!(lines.last().unwrap().len() <= BYTES_MAX + 20);
    let record = read(&lines).unwrap();
    assert!(!record.whole);
    assert_eq!(record.told.len(), EVENTS_MAX);
    let found = replay(&record);
    assert_eq!((found.divergence, found.events), (None, EVENTS_MAX));
}

#[test]
fn signals_that_change_with_every_event_are_bounded_too() {
    let mut journal = Journal::default();
    let closed = |n: u64| Signals {
        closed_for: vec![Duration::from_nanos(u64::MAX - n); 4],
        line_for: vec![Duration::from_nanos(n); 4],
        ..Signals::default()
    };
    for n in 0..EVENTS_MAX as u64 {
        let event = Event::Emitted { attempt: AttemptId(0), tokens: n };
        journal.told(&event, &closed(n), Timestamp::from_micros(n));
    }
    let lines = journal.lines(&RunId::new(1), &machine(), |_| false);
    assert!(lines.last().unwrap().len() <= BYTES_MAX + 20);
    let record = read(&lines).unwrap();
    assert!(!record.whole && record.told.len() > 1_000, "{}", record.told.len());
    for (n, told) in (0..).zip(&record.told) {
        assert_eq!(*told.signals, closed(n));
    }
}

#[test]
fn a_record_cut_short_anywhere_is_refused_in_words() {
    let lines = troubled().record(|_| false);
    for (at, _) in lines.last().unwrap().char_indices().step_by(5) {
        let mut cut = lines.clone();
        cut.last_mut().unwrap().truncate(at);
        let error = read(&cut).unwrap_err();
        assert!(matches!(error, Unreadable::Torn(_)), "{error}");
    }
    for part in 0..lines.len() - 1 {
        let mut cut = lines.clone();
        let half = cut[part].len() / 2;
        cut[part].truncate(half);
        let error = read(&cut).unwrap_err().to_string();
        assert!(error.contains("cut short") && error.contains("plan"), "{error}");
    }
}

#[test]
fn a_record_of_another_form_or_with_what_is_unknown_here_names_its_version() {
    let lines = troubled().record(|_| false);
    let change = |from: &str, to: &str| {
        let mut lines = lines.clone();
        let line = lines.last().unwrap().replacen(from, to, 1);
        assert_ne!(line, *lines.last().unwrap());
        *lines.last_mut().unwrap() = line.replace("\"by\":\"0.1.0\"", "\"by\":\"9.9.9\"");
        read(&lines).unwrap_err().to_string()
    };
    let error = change("\"format\":1", "\"format\":2");
    assert!(error.contains("punctual 9.9.9 wrote it in form 2"), "{error}");
    let error = change("\"event\":{\"failed\":", "\"event\":{\"wilted\":");
    assert!(error.contains("unknown variant `wilted`") && error.contains("9.9.9"), "{error}");
    assert!(error.starts_with("event "), "{error}");
    let error = change("\"events\"", "\"evenings\"");
    assert!(error.contains("the list of events"), "{error}");
    let error = read(&lines[lines.len() - 1..]).unwrap_err().to_string();
    assert!(error.starts_with("its plan ('plan-") && error.contains("no longer kept"), "{error}");
}

#[test]
fn bytes_changed_at_random_never_end_in_a_panic() {
    let lines = troubled().record(|_| false);
    let mut luck = 7_u64;
    let mut draw = |below: usize| {
        luck = luck.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(luck >> 33).unwrap() % below
    };
    let (mut read_back, mut otherwise) = (0, 0);
    for _ in 0..1_000 {
        let mut lines = lines.clone();
        let line = draw(lines.len());
        let mut bytes = std::mem::take(&mut lines[line]).into_bytes();
        for _ in 0..=draw(3) {
            // A digit for a digit: most of these are still records.
            let digits: Vec<usize> =
                (0..bytes.len()).filter(|at| bytes[*at].is_ascii_digit()).collect();
            bytes[digits[draw(digits.len())]] = b'0' + u8::try_from(draw(10)).unwrap();
        }
        lines[line] = String::from_utf8(bytes).unwrap();
        if let Ok(record) = read(&lines) {
            read_back += 1;
            otherwise += usize::from(replay(&record).divergence.is_some());
        }
    }
    assert!(read_back > 500 && otherwise > 100, "{read_back} read, {otherwise} otherwise");
}
