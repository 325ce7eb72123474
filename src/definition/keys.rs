//! Which keys may stand where. Unknown keys, keys in the wrong place and keys that come later are told apart
//! by this table alone.

use crate::domain::finding::did_you_mean;

/// A kind of mapping in a file.
#[derive(Debug, PartialEq, Eq)]
pub struct Place {
    /// What it is called in messages: `a step`.
    pub name: &'static str,
    /// The keys that may stand there.
    pub keys: &'static [&'static str],
    /// Keys of the format that this version does not support yet.
    pub later: &'static [&'static str],
    /// Whether `x-…` keys are ignored.
    pub extensible: bool,
}

const fn place(name: &'static str, keys: &'static [&'static str]) -> Place {
    Place { name, keys, later: &[], extensible: false }
}

/// The top of a workflow file.
pub const WORKFLOW: Place = Place {
    name: "the top level of a workflow",
    keys: &[
        "description",
        "title",
        "deadline",
        "budget",
        "input",
        "vars",
        "shapes",
        "defaults",
        "steps",
        "output",
        "expose",
    ],
    later: &["use"],
    extensible: true,
};
/// `defaults` of a workflow.
pub const DEFAULTS: Place =
    place("`defaults`", &["model", "policy", "max_tokens", "temperature", "effort"]);
/// A step.
pub const STEP: Place = Place {
    name: "a step",
    keys: &[
        "prompt",
        "prompt_file",
        "system",
        "system_file",
        "value",
        "output",
        "output_schema",
        "model",
        "max_tokens",
        "temperature",
        "effort",
        "history",
        "needs",
        "each",
        "as",
        "max_parallel",
        "min_ok",
        "when",
        "optional",
        "cutoff_at",
        "validates",
        "revise",
        "check",
        "shrink",
        "role",
        "policy",
    ],
    later: &["use"],
    extensible: true,
};
/// `budget`.
pub const BUDGET: Place = place("`budget`", &["usd", "tokens", "calls"]);
/// `policy`.
pub const POLICY: Place =
    place("`policy`", &["cutoff", "hedge", "attempts", "max_swaps", "swap_delay", "on"]);
/// `policy.on`.
pub const ON: Place = place(
    "`policy.on`",
    &["slow", "limited", "down", "invalid", "too_long", "refused", "rejected"],
);
/// `policy.cutoff` as a mapping.
pub const CUTOFF: Place = place("`cutoff`", &["first_token", "idle", "total"]);
/// `policy.hedge` as a mapping.
pub const HEDGE: Place = place("`hedge`", &["after", "max_extra"]);
/// An annotated shape.
pub const ANNOTATION: Place = place(
    "an annotated shape",
    &["$type", "$about", "$default", "$min", "$max", "$pattern", "$ref", "$schema"],
);

/// The top of `punctual.yaml`.
pub const CONFIGURATION: Place = Place {
    name: "the top level of punctual.yaml",
    keys: &["workflows", "providers", "models", "defaults", "limits"],
    later: &[],
    extensible: true,
};
/// A provider.
pub const PROVIDER: Place = place(
    "a provider",
    &[
        "kind",
        "base_url",
        "api_key",
        "headers",
        "limits",
        "on_cancel",
        "capacity",
        "optional",
        "region",
        "regime",
        "seed",
    ],
);
/// A provider's `limits`.
pub const PROVIDER_LIMITS: Place = place("a provider's `limits`", &["rpm", "tpm", "concurrent"]);
/// A reference to a secret.
pub const SECRET: Place = place("a secret", &["env", "file"]);
/// A logical model.
pub const MODEL: Place = place("a model", &["paths", "faster", "stronger", "same_as", "not"]);
/// A path of a model.
pub const PATH: Place = place(
    "a path",
    &[
        "provider",
        "model",
        "context",
        "max_output",
        "can",
        "system",
        "token_field",
        "temperature",
        "effort",
        "price",
        "trust",
    ],
);
/// A price.
pub const PRICE: Place = place("`price`", &["in", "out", "cached_in"]);
/// `defaults` of `punctual.yaml`.
pub const SERVER_DEFAULTS: Place = place(
    "`defaults`",
    &["model", "deadline", "budget", "policy", "max_tokens", "temperature", "effort"],
);
/// `limits` of `punctual.yaml`.
pub const SERVER_LIMITS: Place =
    place("`limits`", &["usd_per_day", "concurrent_runs", "hedge_share"]);

/// A case.
pub const CASE: Place =
    place("a case", &["name", "input", "regime", "seed", "deadline", "answers", "expect"]);
/// `expect` of a case.
pub const EXPECT: Place =
    place("`expect`", &["outcome", "missing", "unverified", "failure", "output", "steps", "check"]);
/// `expect.failure` of a case.
pub const EXPECT_FAILURE: Place = place("`failure`", &["class", "step", "message"]);
/// A step in `expect.steps` of a case.
pub const EXPECT_STEP: Place = place("a step of `expect`", &["status", "attempts"]);
/// A recorded answer by attempt.
pub const ATTEMPTS: Place = place("recorded attempts", &["$attempts"]);
/// A recorded answer with its fate.
pub const FATE: Place = place("a recorded attempt", &["$fate", "$answer"]);

const CASE_PLACES: [&Place; 6] = [&CASE, &EXPECT, &EXPECT_FAILURE, &EXPECT_STEP, &ATTEMPTS, &FATE];
const WORKFLOW_PLACES: [&Place; 8] =
    [&WORKFLOW, &DEFAULTS, &STEP, &BUDGET, &POLICY, &ON, &CUTOFF, &HEDGE];
const CONFIGURATION_PLACES: [&Place; 11] = [
    &CONFIGURATION,
    &PROVIDER,
    &PROVIDER_LIMITS,
    &MODEL,
    &PATH,
    &PRICE,
    &SERVER_DEFAULTS,
    &SERVER_LIMITS,
    &BUDGET,
    &POLICY,
    &ON,
];

impl Place {
    /// The other places of the same kind of file where `key` may stand.
    #[must_use]
    pub fn elsewhere(&self, key: &str) -> Vec<&'static str> {
        let places = self.family().iter().filter(|p| **p != self);
        let mut names: Vec<&str> =
            places.filter(|p| p.keys.contains(&key)).map(|p| p.name).collect();
        names.dedup();
        names
    }

    /// Whether `key` is reserved for a later version anywhere in the same kind of file.
    #[must_use]
    pub fn comes_later(&self, key: &str) -> bool {
        self.family().iter().any(|place| place.later.contains(&key))
    }

    /// Whether a key that may not stand here was meant to be `key`.
    #[must_use]
    pub fn misspells(&self, written: &str, key: &str) -> bool {
        !self.keys.contains(&written)
            && did_you_mean(written, self.keys.iter().copied()) == Some(key)
    }

    fn family(&self) -> &'static [&'static Self] {
        if CASE_PLACES.contains(&self) {
            &CASE_PLACES
        } else if WORKFLOW_PLACES.contains(&self) {
            &WORKFLOW_PLACES
        } else {
            &CONFIGURATION_PLACES
        }
    }
}
