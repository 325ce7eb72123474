//! Time as the orchestrator sees it: a [`Timestamp`] counts from the run's start, so that records replay,
//! and nothing below the drivers ever reads a clock.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// Microseconds since the run's start.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub struct Timestamp(u64);

impl Timestamp {
    /// The run's start.
    pub const ZERO: Self = Self(0);
    /// Later than every run can last.
    pub const NEVER: Self = Self(u64::MAX);

    /// `micros` microseconds after the run's start.
    #[must_use]
    pub const fn from_micros(micros: u64) -> Self {
        Self(micros)
    }

    /// `millis` milliseconds after the run's start.
    #[must_use]
    pub const fn from_millis(millis: u64) -> Self {
        Self(millis.saturating_mul(1000))
    }

    /// The moment `after` the run's start.
    #[must_use]
    pub fn after_start(after: Duration) -> Self {
        Self(u64::try_from(after.as_micros()).unwrap_or(u64::MAX))
    }

    /// Microseconds since the run's start.
    #[must_use]
    pub const fn micros(self) -> u64 {
        self.0
    }

    /// Whole milliseconds since the run's start, rounded down, as traces show them.
    #[must_use]
    pub const fn millis(self) -> u64 {
        self.0 / 1000
    }

    /// Time since the run's start.
    #[must_use]
    pub const fn since_start(self) -> Duration {
        Duration::from_micros(self.0)
    }

    /// Time from `earlier` to this moment; zero where `earlier` is later.
    #[must_use]
    pub const fn since(self, earlier: Self) -> Duration {
        Duration::from_micros(self.0.saturating_sub(earlier.0))
    }
}

impl std::ops::Add<Duration> for Timestamp {
    type Output = Self;
    fn add(self, by: Duration) -> Self {
        Self(self.0.saturating_add(u64::try_from(by.as_micros()).unwrap_or(u64::MAX)))
    }
}

/// A share of a whole, from 0 % to 100 %, kept in hundredths of a percent so that it compares exactly.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Share(u16);

impl Share {
    /// The whole.
    pub const ALL: Self = Self(10_000);

    /// `None` above 100.
    #[must_use]
    pub const fn percent(percent: u16) -> Option<Self> {
        if percent <= 100 { Some(Self(percent * 100)) } else { None }
    }

    /// Reads `70%` or `12.5%` (at most two decimals).
    ///
    /// ```
    /// use punctual::domain::time::Share;
    /// assert_eq!(Share::parse("70%"), Share::percent(70));
    /// assert_eq!(Share::parse("0.7"), None);
    /// ```
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let number = text.trim().strip_suffix('%')?.trim_end();
        let (whole, decimals) = number.split_once('.').unwrap_or((number, ""));
        if decimals.len() > 2 || !number.bytes().all(|b| b.is_ascii_digit() || b == b'.') {
            return None;
        }
        let whole: u16 = whole.parse().ok().filter(|w| *w <= 100)?;
        let hundredths: u16 = format!("{decimals:0<2}").parse().ok()?;
        let share = whole * 100 + hundredths;
        (share <= 10_000).then_some(Self(share))
    }

    /// This share of `whole`.
    #[must_use]
    pub fn of(self, whole: Duration) -> Duration {
        let micros = whole.as_micros() * u128::from(self.0) / 10_000;
        Duration::from_micros(u64::try_from(micros).unwrap_or(u64::MAX))
    }

    /// The largest count that is at most this share of `count`: 10 % of 25 is 2.
    #[must_use]
    pub fn of_count_down(self, count: u32) -> u32 {
        let exact = u64::from(count) * u64::from(self.0);
        u32::try_from(exact / 10_000).unwrap_or(u32::MAX)
    }

    /// The smallest count that is at least this share of `count`: 80 % of 12 is 10.
    #[must_use]
    pub fn of_count(self, count: u32) -> u32 {
        let exact = u64::from(count) * u64::from(self.0);
        u32::try_from(exact.div_ceil(10_000)).unwrap_or(u32::MAX)
    }
}

impl fmt::Display for Share {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (whole, rest) = (self.0 / 100, self.0 % 100);
        if rest == 0 { write!(f, "{whole}%") } else { write!(f, "{whole}.{rest:02}%") }
    }
}

/// Reads a duration with its unit: `250ms`, `20s`, `1.5s`, `2m`, `1h`. Bare numbers are refused: a unit is
/// never guessed. Zero is allowed; callers bound it.
///
/// ```
/// use std::time::Duration;
/// use punctual::domain::time::parse_duration;
/// assert_eq!(parse_duration("1.5s"), Some(Duration::from_millis(1500)));
/// assert_eq!(parse_duration("20"), None);
/// ```
#[must_use]
pub fn parse_duration(text: &str) -> Option<Duration> {
    let text = text.trim();
    let split = text.find(|c: char| !c.is_ascii_digit() && c != '.')?;
    let (number, unit) = text.split_at(split);
    let unit_micros: u64 = match unit.trim_start() {
        "ms" => 1_000,
        "s" => 1_000_000,
        "m" => 60_000_000,
        "h" => 3_600_000_000,
        _ => return None,
    };
    let (whole, decimals) = number.split_once('.').unwrap_or((number, ""));
    if decimals.len() > 6 || (number.contains('.') && decimals.is_empty()) {
        return None;
    }
    let whole: u64 = whole.parse().ok()?;
    let fraction: u64 = format!("{decimals:0<6}").parse().ok()?;
    let micros = whole
        .checked_mul(unit_micros)?
        .checked_add(fraction.checked_mul(unit_micros)? / 1_000_000)?;
    Some(Duration::from_micros(micros))
}

/// A duration as people write it: `850 ms`, `4.1 s`, `2 m 5 s`. For messages, never for parsing back.
#[must_use]
pub fn show(duration: Duration) -> String {
    let millis = duration.as_millis();
    if millis < 1000 {
        format!("{millis} ms")
    } else if millis < 60_000 {
        let tenths = (millis + 50) / 100;
        if tenths.is_multiple_of(10) {
            format!("{} s", tenths / 10)
        } else {
            format!("{}.{} s", tenths / 10, tenths % 10)
        }
    } else if millis >= 5_400_000 {
        let minutes = (millis + 30_000) / 60_000;
        let rest = minutes % 60;
        if rest == 0 {
            format!("{} h", minutes / 60)
        } else {
            format!("{} h {rest} m", minutes / 60)
        }
    } else {
        let seconds = (millis + 500) / 1000;
        if seconds.is_multiple_of(60) {
            format!("{} m", seconds / 60)
        } else {
            format!("{} m {} s", seconds / 60, seconds % 60)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_duration_needs_its_unit_and_keeps_its_fraction() {
        assert_eq!(parse_duration("250ms"), Some(Duration::from_millis(250)));
        assert_eq!(parse_duration("2 m"), Some(Duration::from_secs(120)));
        for bad in ["", "s", "20", "-1s", "1.s", "1e3s", "1.2.3s", "99999999999999999999h", "20sec"]
        {
            assert_eq!(parse_duration(bad), None, "{bad}");
        }
    }

    #[test]
    fn a_share_of_a_count_rounds_up() {
        let share = Share::parse("80%").unwrap();
        assert_eq!((share.of_count(12), share.of_count(10), share.of_count(0)), (10, 8, 0));
        assert_eq!(Share::parse("33.33%").unwrap().to_string(), "33.33%");
        for bad in ["101%", "70", "-1%", "1.234%", "%", "a%", "100.01%"] {
            assert_eq!(Share::parse(bad), None, "{bad}");
        }
    }

    #[test]
    fn durations_read_as_people_write_them() {
        let shown: Vec<String> = [85, 4_100, 59_960, 60_000, 125_000, 7_260_000]
            .map(|ms| show(Duration::from_millis(ms)))
            .into();
        assert_eq!(shown, ["85 ms", "4.1 s", "60 s", "1 m", "2 m 5 s", "2 h 1 m"]);
    }
}
