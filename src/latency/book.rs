//! Everything a server has learned of times, put together from observations alone.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::curve::Curve;
use super::observation::Observation;
use super::path::PathCounts;
use super::provider::Provider;
use super::seen::{Fate, Seen};
use super::shape::Shape;
use super::step::StepCounts;
use super::window::{Clock, Tally, Windows};

/// Of what a book's file is made, so that another form is not misread.
const VERSION: u32 = 1;
/// Most that is remembered; the longest unseen is forgotten first.
pub const MAX_PATHS: usize = 256;
/// See [`MAX_PATHS`].
pub const MAX_PROVIDERS: usize = 64;
/// See [`MAX_PATHS`].
pub const MAX_STEPS: usize = 512;
/// Steps on paths.
pub const MAX_CURVES: usize = 1_024;
/// Longer names are cut, in bytes.
const NAME: usize = 256;

/// What a server has learned.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Book {
    pub(super) clock: Clock,
    pub(super) paths: BTreeMap<String, PathCounts>,
    pub(super) providers: BTreeMap<String, Provider>,
    pub(super) steps: BTreeMap<String, StepCounts>,
    /// By step and path, a line break between them.
    curves: BTreeMap<String, Curve>,
    pub(super) shape: Shape,
}

/// A book as it is kept.
#[derive(Serialize, Deserialize)]
struct Kept<B> {
    version: u32,
    book: B,
}

/// A text that holds no book.
#[derive(Debug, thiserror::Error)]
pub enum NoBook {
    /// It is not JSON of the expected shape.
    #[error("not a book of latencies: {0}")]
    Malformed(#[from] serde_json::Error),
    /// It was written by another version.
    #[error(
        "a book of latencies of version {0}, where version {VERSION} is read; it is learned anew"
    )]
    Version(u32),
    /// Its numbers cannot be.
    #[error("a book of latencies whose numbers cannot be: it was damaged, and is learned anew")]
    Unsound,
}

fn name(text: &str) -> &str {
    let mut end = text.len().min(NAME);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

fn key(step: &str, path: &str) -> String {
    format!("{}\n{}", name(step), name(path))
}

/// The entry of a name, made where there is none; the longest unseen makes room for it.
fn entry<'a, T: Default>(
    of: &'a mut BTreeMap<String, T>,
    name: &str,
    most: usize,
    seen: impl Fn(&T) -> f64,
) -> &'a mut T {
    if !of.contains_key(name) {
        bound(of, most.saturating_sub(1), seen);
        return of.entry(name.to_owned()).or_default();
    }
    of.entry(name.to_owned()).or_default()
}

/// Forgets the longest unseen.
fn bound<T>(of: &mut BTreeMap<String, T>, most: usize, seen: impl Fn(&T) -> f64) {
    while of.len() > most {
        let oldest = of.iter().min_by(|a, b| seen(a.1).total_cmp(&seen(b.1)));
        let Some(oldest) = oldest.map(|(name, _)| name.clone()) else { return };
        of.remove(&oldest);
    }
}

impl Book {
    /// A book in which nothing is written.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Writes down what an attempt has shown. `now` is any clock that goes on from one start of the server to the next, such
    /// as the time since 1970; where it goes back, it counts as standing still.
    pub fn record(&mut self, observation: &Observation, now: Duration) {
        if let Some(by) = self.clock.advance(now) {
            self.scale(by);
        }
        let seen = Seen::of(observation);
        if seen.fate == Fate::Unrelated && seen.first.is_none() {
            return;
        }
        let (weight, now) = (self.clock.weight(), self.clock.latest());
        let fade = weight.map(|weight| 1.0 / weight);
        let step = entry(&mut self.steps, name(&observation.step), MAX_STEPS, |step| step.seen);
        step.record(&seen, weight.long, now);
        let size = step.size(fade.long);

        let path = entry(&mut self.paths, name(&observation.path), MAX_PATHS, |path| path.seen);
        name(&observation.provider).clone_into(&mut path.provider);
        path.seen = now;
        let usual = path.usual(fade);
        let evidence = path.record(&seen, size, usual, weight);
        self.shape.record(&seen, size, usual, weight.long);
        let key = key(&observation.step, &observation.path);
        let curve = entry(&mut self.curves, &key, MAX_CURVES, |curve| curve.seen);
        curve.record(&seen, usual, weight, now);

        let provider = name(&observation.provider);
        let provider = entry(&mut self.providers, provider, MAX_PROVIDERS, |one| one.seen);
        provider.record(observation.run, &evidence, weight, now);
        if seen.fate == Fate::Refused {
            provider.refusals.count(weight, 1.0);
            provider.refusal_s.count(weight, seen.lasted);
        }
    }

    /// What was measured of `workflow/step` on a path. `None` where nothing was.
    #[must_use]
    pub fn curve(&self, step: &str, path: &str) -> Option<&Curve> {
        self.curves.get(&key(step, path))
    }

    /// By how much a curve's counts are multiplied when they are read at `now`.
    #[must_use]
    pub fn fade(&self, now: Duration) -> Windows<f64> {
        self.clock.fade(now)
    }

    fn scale(&mut self, by: Windows<f64>) {
        self.paths.values_mut().for_each(|path| path.scale(by));
        self.providers.values_mut().for_each(|provider| provider.scale(by));
        self.steps.values_mut().for_each(|step| step.scale(by));
        self.curves.values_mut().for_each(|curve| curve.scale(by));
        self.shape.scale(by.long);
    }

    /// Adds what another book holds, as though its observations had been written into this one.
    pub fn merge(&mut self, mut other: Self) {
        let [mine, theirs] = self.clock.join(&other.clock);
        self.scale(mine);
        other.scale(theirs);
        for (name, path) in &other.paths {
            self.paths.entry(name.clone()).or_default().absorb(path);
        }
        for (name, provider) in &other.providers {
            self.providers.entry(name.clone()).or_default().absorb(provider);
        }
        for (name, step) in &other.steps {
            self.steps.entry(name.clone()).or_default().absorb(step);
        }
        for (name, curve) in &other.curves {
            self.curves.entry(name.clone()).or_default().absorb(curve);
        }
        self.shape.absorb(&other.shape);
        bound(&mut self.paths, MAX_PATHS, |path| path.seen);
        bound(&mut self.providers, MAX_PROVIDERS, |provider| provider.seen);
        bound(&mut self.steps, MAX_STEPS, |step| step.seen);
        bound(&mut self.curves, MAX_CURVES, |curve| curve.seen);
    }

    /// The book as JSON.
    ///
    /// # Errors
    /// Where a number in it is none, which its keeping excludes.
    pub fn to_json(&self) -> Result<String, NoBook> {
        Ok(serde_json::to_string(&Kept { version: VERSION, book: self })?)
    }

    /// The book that [`Book::to_json`] has written.
    ///
    /// # Errors
    /// Where the text holds none, or one that was damaged: start with an empty one then.
    pub fn from_json(text: &str) -> Result<Self, NoBook> {
        #[derive(Deserialize)]
        struct Version {
            version: u32,
        }
        let Version { version } = serde_json::from_str(text)?;
        if version != VERSION {
            return Err(NoBook::Version(version));
        }
        let book = serde_json::from_str::<Kept<Self>>(text)?.book;
        if book.is_sound() { Ok(book) } else { Err(NoBook::Unsound) }
    }

    fn is_sound(&self) -> bool {
        self.clock.is_sound()
            && self.paths.len() <= MAX_PATHS
            && self.providers.len() <= MAX_PROVIDERS
            && self.steps.len() <= MAX_STEPS
            && self.curves.len() <= MAX_CURVES
            && self.paths.values().all(PathCounts::is_sound)
            && self.providers.values().all(Provider::is_sound)
            && self.steps.values().all(StepCounts::is_sound)
            && self.curves.values().all(Curve::is_sound)
            && self.shape.is_sound()
    }
}
