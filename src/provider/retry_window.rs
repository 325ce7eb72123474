//! How long a provider asks to be left alone, from whichever of the many places it says so.

#[cfg(test)]
mod tests;

use std::time::Duration;

use super::classify::Headers;

/// Longest wait that is passed on; what asks for more is out of reach for every run all the same.
pub const LONGEST: Duration = Duration::from_secs(24 * 3600);

/// What an error's body says about waiting.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Hints {
    /// `RetryInfo.retryDelay`: `38s`.
    pub delay: Option<String>,
    /// When a limit is reset, in milliseconds since 1970.
    pub reset_at_ms: Option<i64>,
    /// The words for people.
    pub text: String,
}

/// The wait asked for, best source first: `retry-after-ms`, `retry-after`, the body's delay, its words,
/// and, where a rate limit was hit, the moments at which limits are reset. Zero, negative and past ones say
/// nothing; at most [`LONGEST`].
///
/// Dates count from the response's own `Date`, so that no clock is read.
#[must_use]
pub fn wait(headers: &Headers, hints: &Hints, limited: bool) -> Option<Duration> {
    let in_ms = |value: &str| parse(value).map(|d| d / 1000);
    let named = headers
        .get("retry-after-ms")
        .and_then(in_ms)
        .or_else(|| headers.get("retry-after").and_then(|v| parse(v).or_else(|| until(headers, v))))
        .or_else(|| hints.delay.as_deref().and_then(parse))
        .or_else(|| in_words(&hints.text));
    let found = named
        .or_else(|| limited.then(|| resets(headers)).flatten())
        .or_else(|| hints.reset_at_ms.and_then(|at| from_date(headers, at)));
    found.map(round_up).filter(|wait| !wait.is_zero()).map(|wait| wait.min(LONGEST))
}

/// Reads `1s`, `28ms`, `6m0s`, `2h3m`, `1.984999999s`, `50 seconds`, or a bare number of seconds.
#[must_use]
pub fn parse(text: &str) -> Option<Duration> {
    let (duration, rest) = leading(text.trim())?;
    rest.is_empty().then_some(duration)
}

/// The duration a text begins with, and what follows it.
fn leading(text: &str) -> Option<(Duration, &str)> {
    let mut rest = text;
    let mut total = Duration::ZERO;
    let mut parts = 0;
    while parts < 4 && rest.starts_with(|c: char| c.is_ascii_digit()) {
        let (nanos, after) = number(rest)?;
        let (unit, after) = unit(after);
        rest = after;
        let part = nanos.checked_mul(u128::from(unit.unwrap_or(1_000)))?.div_ceil(1_000);
        total = total.checked_add(Duration::from_nanos(u64::try_from(part).unwrap_or(u64::MAX)))?;
        parts += 1;
        if unit.is_none() {
            break;
        }
    }
    (parts > 0).then_some((total, rest))
}

/// A decimal number in billionths, and what follows it. A full stop that ends a sentence is none of it.
fn number(text: &str) -> Option<(u128, &str)> {
    let digits = |s: &str| s.find(|c: char| !c.is_ascii_digit()).unwrap_or(s.len());
    let whole = digits(text);
    let mut nanos =
        text[..whole].parse::<u64>().map_or(u128::from(u64::MAX), u128::from) * 1_000_000_000;
    let mut rest = &text[whole..];
    if let Some(after) = rest.strip_prefix('.') {
        let length = digits(after);
        if length > 0 {
            let decimals = &after[..length];
            let kept: u128 = format!("{:0<9}", &decimals[..length.min(9)]).parse().ok()?;
            nanos += kept + u128::from(length > 9);
            rest = &after[length..];
        }
    }
    Some((nanos, rest))
}

/// A unit in milliseconds, and what follows it.
fn unit(text: &str) -> (Option<u32>, &str) {
    const UNITS: [(&str, u32); 11] = [
        ("milliseconds", 1),
        ("ms", 1),
        ("seconds", 1_000),
        ("second", 1_000),
        ("sec", 1_000),
        ("s", 1_000),
        ("minutes", 60_000),
        ("minute", 60_000),
        ("m", 60_000),
        ("hours", 3_600_000),
        ("h", 3_600_000),
    ];
    let word = text.strip_prefix(' ').unwrap_or(text);
    for (name, millis) in UNITS {
        if let Some(rest) = word.strip_prefix(name)
            && !rest.starts_with(|c: char| c.is_ascii_alphabetic())
        {
            return (Some(millis), rest);
        }
    }
    (None, text)
}

/// `Please try again in 6m0s.`, `retry after 86400 seconds`.
fn in_words(text: &str) -> Option<Duration> {
    const MARKERS: [&str; 4] = ["try again in ", "retry after ", "retry in ", "try again after "];
    let lower = text.to_ascii_lowercase();
    MARKERS.iter().find_map(|marker| {
        let at = lower.find(marker)? + marker.len();
        leading(&lower[at..]).map(|(duration, _)| duration)
    })
}

/// The latest reset of a limit that is used up, or of one that does not say.
fn resets(headers: &Headers) -> Option<Duration> {
    const NAMES: [(&str, &str); 8] = [
        ("x-ratelimit-reset-requests", "x-ratelimit-remaining-requests"),
        ("x-ratelimit-reset-tokens", "x-ratelimit-remaining-tokens"),
        ("x-rate-limit-reset-tokens", "x-rate-limit-remaining-tokens"),
        ("x-ratelimit-reset", "x-ratelimit-remaining"),
        ("anthropic-ratelimit-requests-reset", "anthropic-ratelimit-requests-remaining"),
        ("anthropic-ratelimit-tokens-reset", "anthropic-ratelimit-tokens-remaining"),
        ("anthropic-ratelimit-input-tokens-reset", "anthropic-ratelimit-input-tokens-remaining"),
        ("anthropic-ratelimit-output-tokens-reset", "anthropic-ratelimit-output-tokens-remaining"),
    ];
    let mut used_up: Option<Duration> = None;
    let mut unsaid: Option<Duration> = None;
    for (reset, remaining) in NAMES {
        let Some(wait) = headers.get(reset).and_then(|value| reset_in(headers, value)) else {
            continue;
        };
        let slot = match headers.get(remaining).map(str::trim) {
            Some("0") => &mut used_up,
            None | Some("-1") => &mut unsaid,
            Some(_) => continue,
        };
        *slot = (*slot).max(Some(wait));
    }
    used_up.or(unsaid)
}

/// A reset as a duration, seconds, a moment since 1970 in seconds or milliseconds, or a date.
pub(super) fn reset_in(headers: &Headers, value: &str) -> Option<Duration> {
    let value = value.trim();
    let wait = match value.parse::<i64>() {
        Ok(ms) if ms >= 100_000_000_000 => from_date(headers, ms),
        Ok(s) if s >= 1_000_000_000 => from_date(headers, s.checked_mul(1000)?),
        _ => parse(value).or_else(|| until(headers, value)),
    };
    wait.filter(|wait| !wait.is_zero())
}

/// From the response's date to the date in `value`.
fn until(headers: &Headers, value: &str) -> Option<Duration> {
    from_date(headers, millis(value)?)
}

fn from_date(headers: &Headers, at_ms: i64) -> Option<Duration> {
    let now = millis(headers.get("date")?)?;
    let wait = at_ms.checked_sub(now)?;
    u64::try_from(wait).ok().map(Duration::from_millis)
}

/// An HTTP or RFC 3339 date in milliseconds since 1970.
fn millis(date: &str) -> Option<i64> {
    let date = date.trim();
    if let Ok(timestamp) = date.parse::<jiff::Timestamp>() {
        return Some(timestamp.as_millisecond());
    }
    jiff::fmt::rfc2822::parse(date).ok().map(|zoned| zoned.timestamp().as_millisecond())
}

fn round_up(wait: Duration) -> Duration {
    let nanos = wait.as_nanos().div_ceil(1_000_000);
    Duration::from_millis(u64::try_from(nanos).unwrap_or(u64::MAX))
}
