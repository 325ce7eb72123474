use serde_json::json;

use super::*;

fn said(headers: &[(&str, &str)]) -> Option<Remaining> {
    read(&headers.iter().copied().collect())
}

const SECONDS: fn(u64) -> Option<Duration> = |seconds| Some(Duration::from_secs(seconds));

#[test]
fn openai_groq_and_azure_name_requests_and_tokens() {
    let headers = [
        ("x-ratelimit-limit-requests", "14400"),
        ("x-ratelimit-limit-tokens", "18000"),
        ("x-ratelimit-remaining-requests", "14370"),
        ("x-ratelimit-remaining-tokens", "17997"),
        ("x-ratelimit-reset-requests", "3m"),
        ("x-ratelimit-reset-tokens", "7.66s"),
    ];
    let expected = Remaining {
        requests: Some(14_370),
        requests_limit: Some(14_400),
        requests_reset: SECONDS(180),
        tokens: Some(17_997),
        tokens_limit: Some(18_000),
        tokens_reset: Some(Duration::from_millis(7_660)),
    };
    assert_eq!(said(&headers), Some(expected));
    let unsaid = [
        ("x-ratelimit-remaining-tokens", "-1"),
        ("x-ratelimit-reset-tokens", "0"),
        ("x-ratelimit-remaining-requests", "5"),
    ];
    let expected = Remaining { requests: Some(5), ..Remaining::default() };
    assert_eq!(said(&unsaid), Some(expected));
}

#[test]
fn anthropics_resets_count_from_the_responses_date() {
    let date = ("date", "Wed, 01 Jan 2025 12:00:00 GMT");
    let sum = [
        date,
        ("anthropic-ratelimit-requests-remaining", "49"),
        ("anthropic-ratelimit-requests-reset", "2025-01-01T12:00:02Z"),
        ("anthropic-ratelimit-tokens-limit", "60000"),
        ("anthropic-ratelimit-tokens-remaining", "59000"),
        ("anthropic-ratelimit-input-tokens-remaining", "1"),
        ("anthropic-ratelimit-tokens-reset", "2025-01-01T12:01:00Z"),
    ];
    let read = said(&sum).unwrap();
    assert_eq!((read.requests, read.requests_reset), (Some(49), SECONDS(2)));
    assert_eq!(
        (read.tokens, read.tokens_limit, read.tokens_reset),
        (Some(59_000), Some(60_000), SECONDS(60))
    );
    let apart = [
        date,
        ("anthropic-ratelimit-input-tokens-remaining", "50000"),
        ("anthropic-ratelimit-input-tokens-limit", "50000"),
        ("anthropic-ratelimit-output-tokens-remaining", "7000"),
        ("anthropic-ratelimit-output-tokens-limit", "10000"),
        ("anthropic-ratelimit-output-tokens-reset", "2025-01-01T12:00:18Z"),
    ];
    let read = said(&apart).unwrap();
    assert_eq!(
        (read.tokens, read.tokens_limit, read.tokens_reset),
        (Some(57_000), Some(60_000), SECONDS(18))
    );
}

#[test]
fn other_vendors_names_are_known() {
    let mistral = [
        ("x-ratelimit-limit-tokens-minute", "5000000"),
        ("x-ratelimit-remaining-tokens-minute", "4999911"),
        ("x-ratelimit-remaining-req-minute", "717"),
    ];
    let read = said(&mistral).unwrap();
    assert_eq!((read.requests, read.tokens), (Some(717), Some(4_999_911)));
    let together = [
        ("x-ratelimit-limit", "10"),
        ("x-ratelimit-remaining", "9"),
        ("x-ratelimit-reset", "1"),
        ("x-tokenlimit-remaining", "7000"),
    ];
    let read = said(&together).unwrap();
    assert_eq!(
        (read.requests, read.requests_reset, read.tokens),
        (Some(9), SECONDS(1), Some(7_000))
    );
}

#[test]
fn openrouter_puts_its_limits_into_the_errors_body() {
    let date: Headers = [("date", "Thu, 06 Mar 2025 23:59:00 GMT")].into_iter().collect();
    let body = |headers: Value| json!({"error": {"code": 429, "metadata": {"headers": headers}}});
    let named = json!({
        "X-RateLimit-Limit": "20", "X-RateLimit-Remaining": 0, "X-RateLimit-Reset": "1741305600000",
    });
    let expected = Remaining {
        requests: Some(0),
        requests_limit: Some(20),
        requests_reset: SECONDS(60),
        ..Remaining::default()
    };
    assert_eq!(in_error(&date, &body(named)), Some(expected));
    for nothing in [json!({}), json!([]), json!(null), json!({"X-RateLimit-Remaining": [1]})] {
        assert_eq!(in_error(&date, &body(nothing)), None);
    }
    assert_eq!(in_error(&date, &json!([])), None);
}

#[test]
fn nonsense_says_nothing() {
    assert_eq!(said(&[]), None);
    for value in ["", "-1", "many", "1.5", "99999999999999999999999", "NaN"] {
        assert_eq!(said(&[("x-ratelimit-remaining-tokens", value)]), None, "{value}");
    }
    let reset_alone = [("x-ratelimit-reset-tokens", "1s")];
    assert_eq!(said(&reset_alone), None, "a moment without a number is no limit");
}
