//! What was measured of one step on one path: times to the first token and to the whole answer, and seconds a token, as
//! histograms from which any quantile can be asked; also apart for prompts of about one size.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::change;
use super::histogram::{Histogram, Quantile};
use super::path::Usual;
use super::seen::{Fate, Seen};
use super::window::{Tally, Windows};

/// Attempts that a foretold curve is worth beside measured ones (the published sketch's).
pub const PRIOR: f64 = 30.0;
/// Attempts with prompts of one size from which on they are asked alone.
const ENOUGH: f64 = 30.0;
/// Answers of one run go alike, so that of a log-rank's surprise not all is news.
const ALIKE: f64 = 0.7;

/// Histograms of one kind of attempts.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
struct Timing {
    first: Windows<Histogram>,
    total: Windows<Histogram>,
    pace: Windows<Histogram>,
}

/// One step on one path.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Curve {
    all: Timing,
    /// By the bucket of the prompt's size; see [`prompt_bucket`].
    by_prompt: BTreeMap<u8, Timing>,
    /// When it was last measured, by the book's clock.
    pub seen: f64,
}

/// Which of a curve's times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// Seconds to the first token.
    FirstToken,
    /// Seconds to the complete, valid answer.
    Total,
    /// Seconds a token, from the first to the last.
    Pace,
}

/// Prompts of about one size: up to 1,000 tokens, then by factors of 4, up to 256,000 and beyond.
#[must_use]
pub fn prompt_bucket(tokens: f64) -> u8 {
    let place = (tokens.max(1.0) / 1_000.0).log2() / 2.0;
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "clamped")]
    let bucket = place.ceil().clamp(0.0, 5.0) as u8;
    bucket
}

impl Timing {
    fn record(&mut self, seen: &Seen, usual: Usual, weight: Windows<f64>) {
        let overdue = usual.first.is_some_and(|first| seen.lasted > 2.0 * first);
        let broken_off = match seen.fate {
            Fate::Closed => true,
            Fate::Fault => overdue,
            Fate::Answered | Fate::Invalid | Fate::Refused | Fate::Unrelated => false,
        };
        match seen.first {
            Some(first) => self.first.event(first, weight),
            None if broken_off => self.first.censored(seen.lasted, weight),
            None => {}
        }
        if seen.fate == Fate::Answered {
            self.total.event(seen.lasted, weight);
        } else if broken_off {
            self.total.censored(seen.lasted, weight);
        }
        if let (Fate::Answered, Some(first)) = (seen.fate, seen.first)
            && seen.tokens >= 4.0
        {
            self.pace.event((seen.lasted - first) / seen.tokens, weight);
        }
    }

    fn parts(&mut self) -> [&mut Windows<Histogram>; 3] {
        [&mut self.first, &mut self.total, &mut self.pace]
    }

    fn part(&self, part: Part) -> &Windows<Histogram> {
        match part {
            Part::FirstToken => &self.first,
            Part::Total => &self.total,
            Part::Pace => &self.pace,
        }
    }

    fn is_sound(&self) -> bool {
        self.first.is_sound() && self.total.is_sound() && self.pace.is_sound()
    }
}

/// Chance that the latest minutes are another regime than the weeks before, by their numbers of events against those that
/// were to be expected.
fn changed(short: &Histogram, long: &Histogram) -> f64 {
    let recent = short.total();
    let before = (long.total() - recent).max(0.0);
    if before < 5.0 || recent < 1.0 {
        return 0.0;
    }
    let (events, expected) = short.against(long);
    let surprise = if events > 0.0 { events * (events / expected.max(1e-6)).ln() } else { 0.0 };
    let surprise = (surprise - (events - expected)).max(0.0);
    change::by_fit(surprise * ALIKE * before / (before + recent), 1.0, recent, change::ODDS)
}

/// All windows as one histogram, in attempts: the weeks, unless the latest minutes disagree, or the latest minute.
fn blended(of: &Windows<Histogram>, fade: Windows<f64>) -> Histogram {
    let Windows { quick, short, long } = of.each().zip(fade).map(|(of, fade)| of.times(fade));
    let mut blended = long;
    for recent in [short, quick] {
        let changed = changed(&recent, &blended);
        blended.scale(1.0 - changed);
        blended.absorb_times(&recent, changed);
    }
    blended
}

impl Curve {
    /// Counts an attempt on a path on which `usual` is usual.
    pub fn record(&mut self, seen: &Seen, usual: Usual, weight: Windows<f64>, now: f64) {
        self.seen = now;
        self.all.record(seen, usual, weight);
        self.by_prompt.entry(prompt_bucket(seen.prompt)).or_default().record(seen, usual, weight);
    }

    /// What was measured, in attempts: on prompts of about `prompt` tokens where enough were seen, else on all. Counts are
    /// multiplied by `fade`.
    #[must_use]
    pub fn measured(&self, part: Part, prompt: Option<f64>, fade: Windows<f64>) -> Histogram {
        let like = prompt.and_then(|tokens| self.by_prompt.get(&prompt_bucket(tokens)));
        let like = like.filter(|like| like.part(part).long.total() * fade.long >= ENOUGH);
        blended(like.unwrap_or(&self.all).part(part), fade)
    }

    /// The same, completed by what is foretold: as [`PRIOR`] attempts, and wherever nobody has waited long enough.
    #[must_use]
    pub fn believed(
        &self,
        part: Part,
        prompt: Option<f64>,
        fade: Windows<f64>,
        foretold: &Histogram,
    ) -> Histogram {
        let mut believed = self.measured(part, prompt, fade);
        let all = foretold.total();
        if all > 0.0 {
            believed.absorb_times(foretold, PRIOR / all);
        }
        believed
    }

    /// Seconds that are left, at a share of the attempts that have gone on for `age` seconds.
    #[must_use]
    pub fn residual(
        &self,
        part: Part,
        age: f64,
        share: f64,
        fade: Windows<f64>,
    ) -> Option<Quantile> {
        self.measured(part, None, fade).residual(age, share)
    }

    /// Multiplies what each window counts.
    pub fn scale(&mut self, by: Windows<f64>) {
        for timing in std::iter::once(&mut self.all).chain(self.by_prompt.values_mut()) {
            for part in timing.parts() {
                part.scale(by);
            }
        }
    }

    /// Adds what another book has counted.
    pub fn absorb(&mut self, other: &Self) {
        self.seen = self.seen.max(other.seen);
        let mut pairs = vec![(&mut self.all, &other.all)];
        let missing = other.by_prompt.keys().copied();
        for bucket in missing {
            self.by_prompt.entry(bucket).or_default();
        }
        for (bucket, mine) in &mut self.by_prompt {
            if let Some(theirs) = other.by_prompt.get(bucket) {
                pairs.push((mine, theirs));
            }
        }
        for (mine, theirs) in pairs {
            mine.first.absorb(&theirs.first);
            mine.total.absorb(&theirs.total);
            mine.pace.absorb(&theirs.pace);
        }
    }

    /// Whether it can be what a book has written.
    #[must_use]
    pub fn is_sound(&self) -> bool {
        self.seen.is_sound()
            && self.all.is_sound()
            && self.by_prompt.iter().all(|(bucket, timing)| *bucket <= 5 && timing.is_sound())
    }
}
