use super::*;

const NOON: &str = "Wed, 01 Jan 2025 12:00:00 GMT";

fn limited(headers: &[(&str, &str)], text: &str) -> Option<u64> {
    let headers: Headers = headers.iter().copied().collect();
    let hints = Hints { text: text.to_owned(), ..Hints::default() };
    wait(&headers, &hints, true).map(|wait| u64::try_from(wait.as_millis()).unwrap())
}

#[test]
fn durations_are_read_as_every_provider_writes_them() {
    let read = [
        ("1s", 1_000_000_000),
        ("28ms", 28_000_000),
        ("6m0s", 360_000_000_000),
        ("1h2m3s", 3_723_000_000_000),
        ("37.856s", 37_856_000_000),
        ("1.984999999s", 1_984_999_999),
        ("36.42976004801s", 36_429_760_049),
        ("20", 20_000_000_000),
        ("0.5", 500_000_000),
        ("50 seconds", 50_000_000_000),
        ("2 minutes", 120_000_000_000),
    ];
    for (text, nanos) in read {
        assert_eq!(parse(text), Some(Duration::from_nanos(nanos)), "{text}");
    }
    for text in ["", "-1", "-5s", "s", "1x", "soon", "1.2.3s", "1e3", "NaN", "20 sheep", "5s later"]
    {
        assert_eq!(parse(text), None, "{text}");
    }
    assert!(parse(&"9".repeat(40)).is_some_and(|d| d > LONGEST), "huge numbers saturate");
}

#[test]
fn the_more_exact_source_wins() {
    let text = "Please try again in 6m0s.";
    let resets = ("x-ratelimit-reset-requests", "30s");
    assert_eq!(
        limited(&[("retry-after-ms", "19500"), ("retry-after", "20"), resets], text),
        Some(19_500)
    );
    assert_eq!(limited(&[("retry-after", "20"), resets], text), Some(20_000));
    assert_eq!(limited(&[resets], text), Some(360_000));
    assert_eq!(limited(&[resets], "Slow down."), Some(30_000));
    let headers = Headers::default();
    let delay =
        Hints { delay: Some("34.4s".to_owned()), text: text.to_owned(), ..Hints::default() };
    assert_eq!(wait(&headers, &delay, true), Some(Duration::from_millis(34_400)));
}

#[test]
fn words_are_read_up_to_their_full_stop_and_rounded_up() {
    assert_eq!(limited(&[], "Please retry in 36.429760048s."), Some(36_430));
    assert_eq!(limited(&[], "Please retry after 86400 seconds. Go here."), Some(86_400_000));
    assert_eq!(limited(&[], "Try again in 50 seconds."), Some(50_000));
    assert_eq!(limited(&[], "Please try again in a while, in 5s or so."), None);
}

#[test]
fn dates_count_from_the_responses_own_date() {
    let date = ("date", NOON);
    assert_eq!(
        limited(&[date, ("retry-after", "Wed, 01 Jan 2025 12:00:12 GMT")], ""),
        Some(12_000)
    );
    assert_eq!(limited(&[("retry-after", "Wed, 01 Jan 2025 12:00:12 GMT")], ""), None);
    let reset = ("anthropic-ratelimit-input-tokens-reset", "2025-01-01T12:01:28Z");
    let remaining = ("anthropic-ratelimit-input-tokens-remaining", "0");
    assert_eq!(limited(&[date, reset, remaining], ""), Some(88_000));
    assert_eq!(limited(&[date, ("x-ratelimit-reset", "1735732830")], ""), Some(30_000));
}

#[test]
fn what_lies_in_the_past_or_is_no_time_says_nothing() {
    let date = ("date", NOON);
    assert_eq!(limited(&[date, ("retry-after", "Wed, 01 Jan 2025 11:59:00 GMT")], ""), None);
    for value in ["-1", "0", "", "never", "-5s"] {
        assert_eq!(limited(&[("retry-after", value)], ""), None, "{value}");
        assert_eq!(limited(&[("x-ratelimit-reset-tokens", value)], ""), None, "{value}");
    }
}

#[test]
fn a_wait_is_never_longer_than_a_day() {
    let longest = Some(86_400_000);
    assert_eq!(limited(&[("retry-after", "31536000")], ""), longest);
    assert_eq!(
        limited(&[("date", NOON), ("retry-after", "Fri, 01 Jan 2027 00:00:00 GMT")], ""),
        longest
    );
    assert_eq!(limited(&[("retry-after", &"9".repeat(30))], ""), longest);
}

#[test]
fn the_limit_that_is_used_up_says_when_it_is_reset() {
    let tokens = [("x-ratelimit-reset-tokens", "1s"), ("x-ratelimit-remaining-tokens", "149984")];
    let requests =
        [("x-ratelimit-reset-requests", "6m0s"), ("x-ratelimit-remaining-requests", "0")];
    assert_eq!(limited(&[tokens, requests].concat(), ""), Some(360_000));
    assert_eq!(limited(&tokens, ""), None, "a limit with room left is not what was hit");
    let not_limited = wait(&requests.into_iter().collect(), &Hints::default(), false);
    assert_eq!(not_limited, None, "resets stand in every response");
}
