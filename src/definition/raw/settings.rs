//! Keys that are merged: `punctual.yaml` < a workflow's `defaults` < a step, key by key.

use std::fmt::Display;
use std::ops::Range;
use std::time::Duration;

use schemars::JsonSchema;

use crate::definition::editor::leaf::{Dollars, Name, Pause};
use crate::definition::editor::mapping::Mapping;
use crate::definition::editor::shape::{Cutoff as CutoffSchema, Hedge as HedgeSchema};
use crate::definition::editor::word::{Effort, OneOf};
use crate::definition::keys::{self, Place};
use crate::definition::page::{Reader, Spanned};
use crate::definition::source::Spot;
use crate::definition::yaml::{Key, Kind, Node};
use crate::domain::model::Efforts;
use crate::domain::money::Usd;
use crate::domain::plan::{
    Cutoff, Hedge, OnInvalid, OnRefused, OnRejected, OnSlow, OnTooLong, OnTrouble, Policy,
    Reactions,
};

/// A value that is merged, and the place that says it.
#[derive(Clone, Debug, PartialEq)]
pub struct Setting<T> {
    /// The value.
    pub value: T,
    /// Where it stands in its own file, which need not be the one at hand.
    pub span: Range<usize>,
    /// The same for people.
    pub spot: Spot,
}

/// Model settings and policy as far as one place says them.
#[derive(Clone, Debug, Default, PartialEq, JsonSchema)]
#[schemars(inline, transform = Mapping::closed())]
pub struct RawSettings {
    /// The name of a model of `punctual.yaml`, as quick or best. Default: the server's default model.
    #[schemars(with = "Name")]
    pub model: Option<Setting<String>>,
    /// The longest answer in tokens, from 1 to 1,000,000; it bounds time and cost. Default: 1024.
    #[schemars(with = "u32", range(min = 1, max = 1_000_000))]
    pub max_tokens: Option<Setting<u32>>,
    /// How freely words are drawn, from 0 to 2; sent where the model takes it. Default: the model's own.
    #[schemars(with = "f64", range(min = 0, max = 2))]
    pub temperature: Option<Setting<f64>>,
    /// How long the model thinks before it answers; sent where the model takes it. Default: the model's own.
    #[schemars(with = "OneOf<Effort>")]
    pub effort: Option<Setting<&'static str>>,
    /// When to stop relying on an attempt, and what to do then. Every key has a default; they are merged one by one:
    /// punctual.yaml, defaults, step.
    pub policy: RawPolicy,
}

/// `policy` as far as one place says it.
#[derive(Clone, Debug, Default, PartialEq, JsonSchema)]
#[schemars(inline, transform = Mapping::closed())]
pub struct RawPolicy {
    /// When a step stops relying on an attempt and starts another: auto (as measured), a duration as 20s, or
    /// `{first_token: 4s, idle: 5s, total: 20s}`. The old attempt is not killed. Default: auto.
    #[schemars(with = "CutoffSchema")]
    pub cutoff: Option<Setting<Cutoff>>,
    /// What becomes of an attempt that was cut: auto keeps it in the race while it can still win, off closes it
    /// before the next one starts; `{after: p95, max_extra: 10%}` lets another one join before the cutoff. Default:
    /// auto.
    #[schemars(with = "HedgeSchema")]
    pub hedge: Option<Setting<Hedge>>,
    /// Most attempts of one step or item, all causes together, from 1 to 8. Default: 4.
    #[schemars(with = "u32", range(min = 1, max = 8))]
    pub attempts: Option<Setting<u32>>,
    /// Most changes of path, from 0 to 7. Default: 3.
    #[schemars(with = "u32", range(min = 0, max = 7))]
    pub max_swaps: Option<Setting<u32>>,
    /// The pause before an attempt on another path, from 0ms to 10s. Default: 50ms.
    #[schemars(with = "Pause")]
    pub swap_delay: Option<Setting<Duration>>,
    /// The reaction by cause.
    pub on: RawReactions,
}

/// `policy.on` as far as one place says it.
#[derive(Clone, Debug, Default, PartialEq, JsonSchema)]
#[schemars(inline, transform = Mapping::closed())]
pub struct RawReactions {
    /// After a cutoff: no first token, a stall, or too slow to finish. Default: auto.
    #[schemars(with = "OneOf<OnSlow>")]
    pub slow: Option<Setting<OnSlow>>,
    /// After a limit (429): the quota rests for its window. Default: next.
    #[schemars(with = "OneOf<OnTrouble>")]
    pub limited: Option<Setting<OnTrouble>>,
    /// After a server's error, a cut connection, a bad key or an unknown model. Default: next.
    #[schemars(with = "OneOf<OnTrouble>")]
    pub down: Option<Setting<OnTrouble>>,
    /// After an answer that is empty, cut off, not JSON, or not of the shape. Default: repair.
    #[schemars(with = "OneOf<OnInvalid>")]
    pub invalid: Option<Setting<OnInvalid>>,
    /// Where the prompt exceeds the model's window. Default: larger.
    #[schemars(with = "OneOf<OnTooLong>")]
    pub too_long: Option<Setting<OnTooLong>>,
    /// After a refusal or a content filter. Default: stronger.
    #[schemars(with = "OneOf<OnRefused>")]
    pub refused: Option<Setting<OnRefused>>,
    /// After a validator's no without a revision left. Default: fail.
    #[schemars(with = "OneOf<OnRejected>")]
    pub rejected: Option<Setting<OnRejected>>,
}

/// `budget` as far as one place says it.
#[derive(Clone, Debug, Default, PartialEq, JsonSchema)]
#[schemars(inline, transform = Mapping::closed())]
pub struct RawBudget {
    /// Dollars, from 0 to 1,000,000. Default: no bound.
    #[schemars(with = "Dollars")]
    pub usd: Option<Setting<Usd>>,
    /// Tokens, prompts and answers together, from 1. Default: no bound.
    #[schemars(with = "u64", range(min = 1))]
    pub tokens: Option<Setting<u64>>,
    /// Attempts, extra ones included, from 1 to 100,000. Default: no bound.
    #[schemars(with = "u32", range(min = 1, max = 100_000))]
    pub calls: Option<Setting<u32>>,
}

mod hedge;

/// The words of `policy.hedge`.
pub const HEDGE: [(&str, Hedge); 2] = [("off", Hedge::Off), ("auto", Hedge::Auto)];
/// The words of `policy.on.slow`.
pub const SLOW: [(&str, OnSlow); 4] = [
    ("auto", OnSlow::Auto),
    ("next", OnSlow::Next),
    ("faster", OnSlow::Faster),
    ("fail", OnSlow::Fail),
];
/// The words of `policy.on.limited` and `policy.on.down`.
pub const TROUBLE: [(&str, OnTrouble); 2] = [("next", OnTrouble::Next), ("fail", OnTrouble::Fail)];
/// The words of `policy.on.invalid`.
pub const INVALID: [(&str, OnInvalid); 4] = [
    ("repair", OnInvalid::Repair),
    ("stronger", OnInvalid::Stronger),
    ("next", OnInvalid::Next),
    ("fail", OnInvalid::Fail),
];
/// The words of `policy.on.too_long`.
pub const TOO_LONG: [(&str, OnTooLong); 2] =
    [("larger", OnTooLong::Larger), ("fail", OnTooLong::Fail)];
/// The words of `policy.on.refused`.
pub const REFUSED: [(&str, OnRefused); 3] =
    [("stronger", OnRefused::Stronger), ("next", OnRefused::Next), ("fail", OnRefused::Fail)];
/// The words of `policy.on.rejected`.
pub const REJECTED: [(&str, OnRejected); 2] =
    [("fail", OnRejected::Fail), ("accept", OnRejected::Accept)];

/// Shortest and longest fixed cutoff.
const CUTOFFS: std::ops::RangeInclusive<Duration> =
    Duration::from_millis(10)..=Duration::from_secs(600);

impl RawSettings {
    /// Reads a mapping of settings; keys of `place` that are no settings are left to the caller.
    pub fn read(reader: &mut Reader<'_>, node: &Node, place: &Place) -> Self {
        let mut settings = Self::default();
        for (key, value) in reader.map(node, place) {
            settings.read_key(reader, key, value, format_args!("`{}`", key.name));
        }
        settings
    }

    /// Reads one key, where it is a setting.
    pub fn read_key(
        &mut self,
        reader: &mut Reader<'_>,
        key: &Key,
        value: &Node,
        what: impl Display,
    ) {
        match key.name.as_str() {
            "model" => self.model = Setting::of(reader.text(value, what), reader),
            "max_tokens" => {
                self.max_tokens = Setting::of(reader.small(value, what, 1..=1_000_000), reader);
            }
            "temperature" => {
                self.temperature = Setting::of(reader.number(value, what, 0.0..=2.0), reader);
            }
            "effort" => {
                let words = Efforts::WORDS.map(|word| (word, word));
                self.effort = Setting::of(reader.word(value, what, &words), reader);
            }
            "policy" => self.policy = RawPolicy::read(reader, value),
            _ => {}
        }
    }

    /// These settings, and where they are silent those of `base`.
    #[must_use]
    pub fn over(&self, base: &Self) -> Self {
        Self {
            model: first(self.model.as_ref(), base.model.as_ref()),
            max_tokens: first(self.max_tokens.as_ref(), base.max_tokens.as_ref()),
            temperature: first(self.temperature.as_ref(), base.temperature.as_ref()),
            effort: first(self.effort.as_ref(), base.effort.as_ref()),
            policy: self.policy.over(&base.policy),
        }
    }
}

impl RawPolicy {
    fn read(reader: &mut Reader<'_>, node: &Node) -> Self {
        let mut policy = Self::default();
        for (key, value) in reader.map(node, &keys::POLICY) {
            let what = format_args!("`policy.{}`", key.name);
            match key.name.as_str() {
                "cutoff" => {
                    let read = cutoff(reader, value);
                    let read =
                        read.map(|cutoff| Spanned { value: cutoff, span: value.span.clone() });
                    policy.cutoff = Setting::of(read, reader);
                }
                "hedge" => {
                    let read = hedge::read(reader, value, what);
                    let read = read.map(|hedge| Spanned { value: hedge, span: value.span.clone() });
                    policy.hedge = Setting::of(read, reader);
                }
                "attempts" => {
                    policy.attempts = Setting::of(reader.small(value, what, 1..=8), reader);
                }
                "max_swaps" => {
                    policy.max_swaps = Setting::of(reader.small(value, what, 0..=7), reader);
                }
                "swap_delay" => {
                    let bounds = Duration::ZERO..=Duration::from_secs(10);
                    policy.swap_delay = Setting::of(reader.duration(value, what, bounds), reader);
                }
                "on" => policy.on = RawReactions::read(reader, value),
                _ => {}
            }
        }
        policy
    }

    fn over(&self, base: &Self) -> Self {
        Self {
            cutoff: first(self.cutoff.as_ref(), base.cutoff.as_ref()),
            hedge: first(self.hedge.as_ref(), base.hedge.as_ref()),
            attempts: first(self.attempts.as_ref(), base.attempts.as_ref()),
            max_swaps: first(self.max_swaps.as_ref(), base.max_swaps.as_ref()),
            swap_delay: first(self.swap_delay.as_ref(), base.swap_delay.as_ref()),
            on: RawReactions {
                slow: first(self.on.slow.as_ref(), base.on.slow.as_ref()),
                limited: first(self.on.limited.as_ref(), base.on.limited.as_ref()),
                down: first(self.on.down.as_ref(), base.on.down.as_ref()),
                invalid: first(self.on.invalid.as_ref(), base.on.invalid.as_ref()),
                too_long: first(self.on.too_long.as_ref(), base.on.too_long.as_ref()),
                refused: first(self.on.refused.as_ref(), base.on.refused.as_ref()),
                rejected: first(self.on.rejected.as_ref(), base.on.rejected.as_ref()),
            },
        }
    }

    /// The policy, what is not said as documented.
    #[must_use]
    pub fn lower(&self) -> Policy {
        fn or<T: Copy>(said: Option<&Setting<T>>, usual: T) -> T {
            said.map_or(usual, |said| said.value)
        }
        let usual = Policy::default();
        Policy {
            cutoff: or(self.cutoff.as_ref(), usual.cutoff),
            hedge: or(self.hedge.as_ref(), usual.hedge),
            attempts: or(self.attempts.as_ref(), usual.attempts),
            max_swaps: or(self.max_swaps.as_ref(), usual.max_swaps),
            swap_delay: or(self.swap_delay.as_ref(), usual.swap_delay),
            on: Reactions {
                slow: or(self.on.slow.as_ref(), usual.on.slow),
                limited: or(self.on.limited.as_ref(), usual.on.limited),
                down: or(self.on.down.as_ref(), usual.on.down),
                invalid: or(self.on.invalid.as_ref(), usual.on.invalid),
                too_long: or(self.on.too_long.as_ref(), usual.on.too_long),
                refused: or(self.on.refused.as_ref(), usual.on.refused),
                rejected: or(self.on.rejected.as_ref(), usual.on.rejected),
            },
        }
    }
}

/// What is said here, else what is said there.
fn first<T: Clone>(here: Option<&Setting<T>>, there: Option<&Setting<T>>) -> Option<Setting<T>> {
    here.or(there).cloned()
}

impl<T> Setting<T> {
    /// A value that was read, with its place.
    fn of(read: Option<Spanned<T>>, reader: &Reader<'_>) -> Option<Self> {
        let Spanned { value, span } = read?;
        let spot = reader.spot(&span);
        Some(Self { value, span, spot })
    }
}

fn cutoff(reader: &mut Reader<'_>, node: &Node) -> Option<Cutoff> {
    let (mut first_token, mut idle, mut total) = (None, None, None);
    match &node.kind {
        Kind::Scalar(scalar) if scalar.text == "auto" => return Some(Cutoff::Auto),
        Kind::Map(_) => {
            for (key, value) in reader.map(node, &keys::CUTOFF) {
                let what = format_args!("`cutoff.{}`", key.name);
                let read = reader.duration(value, what, CUTOFFS).map(|d| d.value);
                match key.name.as_str() {
                    "first_token" => first_token = read,
                    "idle" => idle = read,
                    _ => total = read,
                }
            }
        }
        Kind::Scalar(_) | Kind::List(_) => {
            total = Some(reader.duration(node, "`cutoff`", CUTOFFS)?.value);
        }
    }
    Some(Cutoff::Fixed { first_token, idle, total })
}

impl RawReactions {
    fn read(reader: &mut Reader<'_>, node: &Node) -> Self {
        let mut on = Self::default();
        for (key, value) in reader.map(node, &keys::ON) {
            let what = format_args!("`policy.on.{}`", key.name);
            match key.name.as_str() {
                "slow" => on.slow = Setting::of(reader.word(value, what, &SLOW), reader),
                "limited" => on.limited = Setting::of(reader.word(value, what, &TROUBLE), reader),
                "down" => on.down = Setting::of(reader.word(value, what, &TROUBLE), reader),
                "invalid" => on.invalid = Setting::of(reader.word(value, what, &INVALID), reader),
                "too_long" => {
                    on.too_long = Setting::of(reader.word(value, what, &TOO_LONG), reader);
                }
                "refused" => on.refused = Setting::of(reader.word(value, what, &REFUSED), reader),
                _ => on.rejected = Setting::of(reader.word(value, what, &REJECTED), reader),
            }
        }
        on
    }
}

impl RawBudget {
    /// Reads `budget`.
    pub fn read(reader: &mut Reader<'_>, node: &Node) -> Self {
        let mut budget = Self::default();
        for (key, value) in reader.map(node, &keys::BUDGET) {
            let what = format_args!("`budget.{}`", key.name);
            match key.name.as_str() {
                "usd" => budget.usd = Setting::of(reader.dollars(value, what), reader),
                "tokens" => {
                    let read = reader.integer(value, what, 1..=u64::MAX);
                    budget.tokens = Setting::of(read, reader);
                }
                _ => budget.calls = Setting::of(reader.small(value, what, 1..=100_000), reader),
            }
        }
        budget
    }

    /// This budget, and where it is silent that of `base`.
    #[must_use]
    pub fn over(&self, base: &Self) -> Self {
        Self {
            usd: first(self.usd.as_ref(), base.usd.as_ref()),
            tokens: first(self.tokens.as_ref(), base.tokens.as_ref()),
            calls: first(self.calls.as_ref(), base.calls.as_ref()),
        }
    }
}
