//! Keys that are merged: `punctual.yaml` < a workflow's `defaults` < a step, key by key.

use std::time::Duration;

use schemars::JsonSchema;

use crate::definition::editor::leaf::{Dollars, Name, Pause};
use crate::definition::editor::mapping::Mapping;
use crate::definition::editor::shape::{Cutoff as CutoffSchema, Hedge as HedgeSchema};
use crate::definition::editor::word::{Effort, OneOf};
use crate::definition::keys::{self, Place};
use crate::definition::page::{Reader, Spanned};
use crate::definition::yaml::{Key, Kind, Node};
use crate::domain::money::Usd;
use crate::domain::plan::{
    Cutoff, Hedge, OnInvalid, OnRefused, OnRejected, OnSlow, OnTooLong, OnTrouble, Policy,
};

/// Model settings and policy as far as one place says them.
#[derive(Clone, Debug, Default, PartialEq, JsonSchema)]
#[schemars(inline, transform = Mapping::closed())]
pub struct RawSettings {
    /// The name of a model of `punctual.yaml`, as quick or best. Default: the server's default model.
    #[schemars(with = "Name")]
    pub model: Option<Spanned<String>>,
    /// The longest answer in tokens, from 1 to 1,000,000; it bounds time and cost. Default: 1024.
    #[schemars(with = "u32", range(min = 1, max = 1_000_000))]
    pub max_tokens: Option<Spanned<u32>>,
    /// How freely words are drawn, from 0 to 2; sent where the model takes it. Default: the model's own.
    #[schemars(with = "f64", range(min = 0, max = 2))]
    pub temperature: Option<Spanned<f64>>,
    /// How long the model thinks before it answers; sent where the model takes it. Default: the model's own.
    #[schemars(with = "OneOf<Effort>")]
    pub effort: Option<Spanned<&'static str>>,
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
    pub cutoff: Option<Cutoff>,
    /// What becomes of an attempt that was cut: auto keeps it in the race while it can still win, off closes it
    /// before the next one starts. Default: auto.
    #[schemars(with = "HedgeSchema")]
    pub hedge: Option<Hedge>,
    /// Most attempts of one step or item, all causes together, from 1 to 8. Default: 4.
    #[schemars(with = "u32", range(min = 1, max = 8))]
    pub attempts: Option<u32>,
    /// Most changes of path, from 0 to 7. Default: 3.
    #[schemars(with = "u32", range(min = 0, max = 7))]
    pub max_swaps: Option<u32>,
    /// The pause before an attempt on another path, from 0ms to 10s. Default: 50ms.
    #[schemars(with = "Pause")]
    pub swap_delay: Option<Duration>,
    /// The reaction by cause.
    pub on: RawReactions,
}

/// `policy.on` as far as one place says it.
#[derive(Clone, Copy, Debug, Default, PartialEq, JsonSchema)]
#[schemars(inline, transform = Mapping::closed())]
pub struct RawReactions {
    /// After a cutoff: no first token, a stall, or too slow to finish. Default: auto.
    #[schemars(with = "OneOf<OnSlow>")]
    pub slow: Option<OnSlow>,
    /// After a limit (429): the quota rests for its window. Default: next.
    #[schemars(with = "OneOf<OnTrouble>")]
    pub limited: Option<OnTrouble>,
    /// After a server's error, a cut connection, a bad key or an unknown model. Default: next.
    #[schemars(with = "OneOf<OnTrouble>")]
    pub down: Option<OnTrouble>,
    /// After an answer that is empty, cut off, not JSON, or not of the shape. Default: repair.
    #[schemars(with = "OneOf<OnInvalid>")]
    pub invalid: Option<OnInvalid>,
    /// Where the prompt exceeds the model's window. Default: larger.
    #[schemars(with = "OneOf<OnTooLong>")]
    pub too_long: Option<OnTooLong>,
    /// After a refusal or a content filter. Default: stronger.
    #[schemars(with = "OneOf<OnRefused>")]
    pub refused: Option<OnRefused>,
    /// After a validator's no without a revision left. Default: fail.
    #[schemars(with = "OneOf<OnRejected>")]
    pub rejected: Option<OnRejected>,
}

/// `budget` as far as one place says it.
#[derive(Clone, Debug, Default, PartialEq, JsonSchema)]
#[schemars(inline, transform = Mapping::closed())]
pub struct RawBudget {
    /// Dollars, from 0 to 1,000,000. Default: no bound.
    #[schemars(with = "Dollars")]
    pub usd: Option<Spanned<Usd>>,
    /// Tokens, prompts and answers together, from 1. Default: no bound.
    #[schemars(with = "u64", range(min = 1))]
    pub tokens: Option<Spanned<u64>>,
    /// Attempts, extra ones included, from 1 to 100,000. Default: no bound.
    #[schemars(with = "u32", range(min = 1, max = 100_000))]
    pub calls: Option<Spanned<u32>>,
}

mod hedge;

const EFFORTS: [(&str, &str); 7] = [
    ("none", "none"),
    ("minimal", "minimal"),
    ("low", "low"),
    ("medium", "medium"),
    ("high", "high"),
    ("xhigh", "xhigh"),
    ("max", "max"),
];
const TROUBLE: [(&str, OnTrouble); 2] = [("next", OnTrouble::Next), ("fail", OnTrouble::Fail)];

/// Shortest and longest fixed cutoff.
const CUTOFFS: std::ops::RangeInclusive<Duration> =
    Duration::from_millis(10)..=Duration::from_secs(600);

impl RawSettings {
    /// Reads a mapping of settings; keys of `place` that are no settings are left to the caller.
    pub fn read(reader: &mut Reader<'_>, node: &Node, place: &Place) -> Self {
        let mut settings = Self::default();
        for (key, value) in reader.map(node, place) {
            settings.read_key(reader, key, value, &format!("`{}`", key.name));
        }
        settings
    }

    /// Reads one key, where it is a setting.
    pub fn read_key(&mut self, reader: &mut Reader<'_>, key: &Key, value: &Node, what: &str) {
        match key.name.as_str() {
            "model" => self.model = reader.text(value, what),
            "max_tokens" => self.max_tokens = reader.small(value, what, 1..=1_000_000),
            "temperature" => self.temperature = reader.number(value, what, 0.0..=2.0),
            "effort" => self.effort = reader.word(value, what, &EFFORTS),
            "policy" => self.policy = RawPolicy::read(reader, value),
            _ => {}
        }
    }

    /// These settings, and where they are silent those of `base`.
    #[must_use]
    pub fn over(&self, base: &Self) -> Self {
        Self {
            model: self.model.clone().or_else(|| base.model.clone()),
            max_tokens: self.max_tokens.clone().or_else(|| base.max_tokens.clone()),
            temperature: self.temperature.clone().or_else(|| base.temperature.clone()),
            effort: self.effort.clone().or_else(|| base.effort.clone()),
            policy: self.policy.over(&base.policy),
        }
    }
}

impl RawPolicy {
    fn read(reader: &mut Reader<'_>, node: &Node) -> Self {
        let mut policy = Self::default();
        for (key, value) in reader.map(node, &keys::POLICY) {
            let what = format!("`policy.{}`", key.name);
            match key.name.as_str() {
                "cutoff" => policy.cutoff = cutoff(reader, value),
                "hedge" => policy.hedge = hedge::read(reader, value, &what),
                "attempts" => {
                    policy.attempts = reader.small(value, &what, 1..=8).map(|n| n.value);
                }
                "max_swaps" => {
                    policy.max_swaps = reader.small(value, &what, 0..=7).map(|n| n.value);
                }
                "swap_delay" => {
                    let bounds = Duration::ZERO..=Duration::from_secs(10);
                    policy.swap_delay = reader.duration(value, &what, bounds).map(|d| d.value);
                }
                "on" => policy.on = RawReactions::read(reader, value),
                _ => {}
            }
        }
        policy
    }

    fn over(&self, base: &Self) -> Self {
        Self {
            cutoff: self.cutoff.or(base.cutoff),
            hedge: self.hedge.or(base.hedge),
            attempts: self.attempts.or(base.attempts),
            max_swaps: self.max_swaps.or(base.max_swaps),
            swap_delay: self.swap_delay.or(base.swap_delay),
            on: RawReactions {
                slow: self.on.slow.or(base.on.slow),
                limited: self.on.limited.or(base.on.limited),
                down: self.on.down.or(base.on.down),
                invalid: self.on.invalid.or(base.on.invalid),
                too_long: self.on.too_long.or(base.on.too_long),
                refused: self.on.refused.or(base.on.refused),
                rejected: self.on.rejected.or(base.on.rejected),
            },
        }
    }

    /// The policy, what is not said as documented.
    #[must_use]
    pub fn lower(&self) -> Policy {
        let mut policy = Policy::default();
        let on = &mut policy.on;
        on.slow = self.on.slow.unwrap_or(on.slow);
        on.limited = self.on.limited.unwrap_or(on.limited);
        on.down = self.on.down.unwrap_or(on.down);
        on.invalid = self.on.invalid.unwrap_or(on.invalid);
        on.too_long = self.on.too_long.unwrap_or(on.too_long);
        on.refused = self.on.refused.unwrap_or(on.refused);
        on.rejected = self.on.rejected.unwrap_or(on.rejected);
        policy.cutoff = self.cutoff.unwrap_or(policy.cutoff);
        policy.hedge = self.hedge.unwrap_or(policy.hedge);
        policy.attempts = self.attempts.unwrap_or(policy.attempts);
        policy.max_swaps = self.max_swaps.unwrap_or(policy.max_swaps);
        policy.swap_delay = self.swap_delay.unwrap_or(policy.swap_delay);
        policy
    }
}

fn cutoff(reader: &mut Reader<'_>, node: &Node) -> Option<Cutoff> {
    let (mut first_token, mut idle, mut total) = (None, None, None);
    match &node.kind {
        Kind::Scalar(scalar) if scalar.text == "auto" => return Some(Cutoff::Auto),
        Kind::Map(_) => {
            for (key, value) in reader.map(node, &keys::CUTOFF) {
                let what = format!("`cutoff.{}`", key.name);
                let read = reader.duration(value, &what, CUTOFFS).map(|d| d.value);
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
            let what = format!("`policy.on.{}`", key.name);
            match key.name.as_str() {
                "slow" => {
                    let words = [
                        ("auto", OnSlow::Auto),
                        ("next", OnSlow::Next),
                        ("faster", OnSlow::Faster),
                        ("fail", OnSlow::Fail),
                    ];
                    on.slow = reader.word(value, &what, &words).map(|w| w.value);
                }
                "limited" => on.limited = reader.word(value, &what, &TROUBLE).map(|w| w.value),
                "down" => on.down = reader.word(value, &what, &TROUBLE).map(|w| w.value),
                "invalid" => {
                    let words = [
                        ("repair", OnInvalid::Repair),
                        ("stronger", OnInvalid::Stronger),
                        ("next", OnInvalid::Next),
                        ("fail", OnInvalid::Fail),
                    ];
                    on.invalid = reader.word(value, &what, &words).map(|w| w.value);
                }
                "too_long" => {
                    let words = [("larger", OnTooLong::Larger), ("fail", OnTooLong::Fail)];
                    on.too_long = reader.word(value, &what, &words).map(|w| w.value);
                }
                "refused" => {
                    let words = [
                        ("stronger", OnRefused::Stronger),
                        ("next", OnRefused::Next),
                        ("fail", OnRefused::Fail),
                    ];
                    on.refused = reader.word(value, &what, &words).map(|w| w.value);
                }
                _ => {
                    let words = [("fail", OnRejected::Fail), ("accept", OnRejected::Accept)];
                    on.rejected = reader.word(value, &what, &words).map(|w| w.value);
                }
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
            let what = format!("`budget.{}`", key.name);
            match key.name.as_str() {
                "usd" => budget.usd = reader.dollars(value, &what),
                "tokens" => budget.tokens = reader.integer(value, &what, 1..=u64::MAX),
                _ => budget.calls = reader.small(value, &what, 1..=100_000),
            }
        }
        budget
    }

    /// This budget, and where it is silent that of `base`.
    #[must_use]
    pub fn over(&self, base: &Self) -> Self {
        Self {
            usd: self.usd.clone().or_else(|| base.usd.clone()),
            tokens: self.tokens.clone().or_else(|| base.tokens.clone()),
            calls: self.calls.clone().or_else(|| base.calls.clone()),
        }
    }
}
