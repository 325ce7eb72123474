//! A book kept, read, merged, and given nonsense.

use std::time::Duration;

use proptest::prelude::*;
use punctual::domain::failure::FailureClass;
use punctual::latency::book::{Book, MAX_CURVES, NoBook};
use punctual::latency::curve::Part;
use punctual::latency::observation::{End, Observation};
use punctual::planner::Pilot;

use super::server::{Server, plan, regime};

fn served(seed: u64, runs: u64) -> Server {
    let mut server = Server::new(seed);
    server.serve(regime("busy"), runs);
    server
}

#[test]
fn a_book_is_read_as_it_was_written() {
    let server = served(1, 300);
    let text = server.book.to_json().unwrap();
    let read = Book::from_json(&text).unwrap();
    assert_eq!(read, server.book);
    assert_eq!(read.to_json().unwrap(), text);
    let (one, other) =
        (Pilot::of(&plan(), &read, server.now()), Pilot::of(&plan(), &server.book, server.now()));
    assert_eq!(one.mark, other.mark);
    println!("{} bytes after 300 runs", text.len());
}

#[test]
fn what_is_no_book_says_so_and_breaks_nothing() {
    let good = served(1, 3).book.to_json().unwrap();
    let other_version = good.replacen("\"version\":1", "\"version\":9", 1);
    assert!(matches!(Book::from_json(&other_version), Err(NoBook::Version(9))));
    assert!(matches!(Book::from_json("{}"), Err(NoBook::Malformed(_))));
    assert!(matches!(Book::from_json(&good[..good.len() / 2]), Err(NoBook::Malformed(_))));
    let negative = good.replacen("\"long\":[[", "\"long\":[[0,-1.0,0.0],[", 1);
    assert_ne!(negative, good);
    assert!(Book::from_json(&negative).is_err());
    let empty = Book::from_json(&Book::new().to_json().unwrap()).unwrap();
    assert_eq!(empty, Book::new());
}

/// Figures of a book, for comparing two up to rounding.
fn figures(book: &Book, now: Duration) -> Vec<f64> {
    let laws = book.laws(&plan(), now);
    let paths = laws.paths.iter().flat_map(|path| {
        [path.first_token.at(0.9), path.per_token.at(0.5), path.error, path.hangs, path.samples]
    });
    let providers = laws.providers.iter().flat_map(|one| [one.spell, one.slow[1], one.burst]);
    let steps = laws.steps.iter().flatten().map(|step| step.tokens);
    paths.chain(providers).chain(steps).collect()
}

#[test]
fn merging_is_the_same_in_any_order() {
    let [a, b, c] = [served(1, 60), served(2, 40), served(3, 80)];
    let now = c.now();
    let merge = |one: &Book, other: &Book| {
        let mut one = one.clone();
        one.merge(other.clone());
        one
    };
    let left = figures(&merge(&merge(&a.book, &b.book), &c.book), now);
    let right = figures(&merge(&a.book, &merge(&b.book, &c.book)), now);
    let swapped = figures(&merge(&c.book, &merge(&b.book, &a.book)), now);
    for ((one, two), three) in left.iter().zip(&right).zip(&swapped) {
        let close = |other: f64| (one - other).abs() <= 1e-6 * one.abs().max(1e-3);
        assert!(close(*two) && close(*three), "{one} {two} {three}");
    }
    let mut alone = a.book.clone();
    alone.merge(Book::new());
    assert_eq!(figures(&alone, now), figures(&a.book, now));
}

#[test]
fn what_is_long_past_is_forgotten() {
    let server = served(5, 200);
    let count = |days: u64| {
        let now = server.now() + Duration::from_secs(days * 86_400);
        let curve = server.book.curve("flow/draft", "a/flagship").unwrap();
        curve.measured(Part::Total, None, server.book.fade(now)).total()
    };
    assert!((count(30) / count(0) - 0.5).abs() < 0.02, "{} {}", count(0), count(30));
    assert!(count(1_000) < 1e-6);
    let laws =
        |days: u64| server.book.laws(&plan(), server.now() + Duration::from_secs(days * 86_400));
    // Ten years later nothing is known again.
    let (old, none) = (laws(3_650), Book::new().laws(&plan(), server.now()));
    assert!((old.paths[0].per_token.at(0.5) - none.paths[0].per_token.at(0.5)).abs() < 1e-3);
    assert!((old.providers[0].spell - 0.05).abs() < 1e-3);
}

#[test]
fn a_book_holds_only_so_much() {
    let mut book = Book::new();
    for at in 0..3 * MAX_CURVES as u64 {
        book.record(&strange(at, 1.0), Duration::from_secs(at));
    }
    let text = book.to_json().unwrap();
    assert!(Book::from_json(&text).is_ok());
    let late = 3 * MAX_CURVES as u64 - 1;
    assert!(book.curve(&format!("w/{late}"), &format!("p/{late}")).is_some());
    assert!(book.curve("w/0", "p/0").is_none());
    assert!(text.len() < 4 << 20, "{}", text.len());
}

fn strange(at: u64, expected: f64) -> Observation {
    Observation {
        provider: format!("p{at}").into(),
        path: format!("p/{at}").into(),
        step: format!("w/{at}").into(),
        run: at,
        prompt_tokens: at,
        expected_tokens: expected,
        first_token: Some(Duration::from_millis(at)),
        tokens: at,
        lasted: Duration::from_millis(3 * at),
        stream: vec![(Duration::from_millis(at), at)],
        end: End::Answered { valid: true },
    }
}

fn duration() -> impl Strategy<Value = Duration> {
    prop_oneof![
        Just(Duration::ZERO),
        Just(Duration::MAX),
        any::<u64>().prop_map(Duration::from_nanos),
        (0_u64..100_000).prop_map(Duration::from_millis),
    ]
}

fn observation() -> impl Strategy<Value = Observation> {
    let end = prop_oneof![
        any::<bool>().prop_map(|valid| End::Answered { valid }),
        (0..FailureClass::ALL.len()).prop_map(|at| End::Failed(FailureClass::ALL[at])),
        Just(End::Closed),
    ];
    let count = || prop_oneof![Just(0_u64), Just(u64::MAX), 0_u64..5_000];
    let expected = prop_oneof![Just(f64::NAN), Just(f64::INFINITY), Just(-1.0), 0.0..1e4_f64];
    let stream = proptest::collection::vec((duration(), count()), 0..20);
    let first = proptest::option::of(duration());
    ((0_u8..4, 0_u8..4, 0_u64..5), count(), expected, first, (count(), duration(), stream, end))
        .prop_map(|((path, step, run), prompt_tokens, expected_tokens, first_token, rest)| {
            let (tokens, lasted, stream, end) = rest;
            Observation {
                provider: super::server::PROVIDERS[usize::from(path % 3)].into(),
                path: super::server::PATHS[usize::from(path)].into(),
                step: if step < 3 {
                    format!("flow/{}", super::server::STEPS[usize::from(step)].0).into()
                } else {
                    "\u{1F40C}".repeat(200).into()
                },
                run,
                prompt_tokens,
                expected_tokens,
                first_token,
                tokens,
                lasted,
                stream,
                end,
            }
        })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn nonsense_breaks_nothing(seen in proptest::collection::vec((observation(), duration()), 1..40)) {
        let mut book = Book::new();
        for (observation, now) in &seen {
            book.record(observation, *now);
        }
        for now in [Duration::ZERO, seen[0].1, Duration::MAX] {
            let pilot = Pilot::of(&plan(), &book, now);
            let laws = pilot.laws.unwrap();
            for path in &laws.paths {
                let chances = [path.invalid, path.error, path.hangs, path.stalls];
                prop_assert!(chances.iter().all(|chance| (0.0..=1.0).contains(chance)), "{path:?}");
                let points = path.first_token.all().iter().chain(path.per_token.all());
                prop_assert!(points.copied().all(|point| point.is_finite() && point > 0.0), "{path:?}");
            }
            for one in &laws.providers {
                let chances = [one.spell, one.slow[0], one.slow[1], one.late[0], one.late[1], one.burst, one.refused];
                prop_assert!(chances.iter().all(|chance| (0.0..=1.0).contains(chance)), "{one:?}");
            }
            let times = pilot.times.iter().flatten().flatten();
            for times in times {
                let all = [times.total.p50, times.total.p95, times.total.p99, times.rate, times.tokens];
                prop_assert!(all.iter().all(|figure| figure.is_finite() && *figure >= 0.0), "{times:?}");
            }
            prop_assert!(pilot.shock.is_finite() && pilot.shock >= 1.0);
        }
        let text = book.to_json().unwrap();
        prop_assert_eq!(Book::from_json(&text).unwrap(), book);
    }
}
