//! Words of which a key takes one, and what each means.

use std::borrow::Cow;
use std::marker::PhantomData;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde_json::{Value, json};

use crate::definition::config::REGIMES;
use crate::definition::config::preset::{PRESETS, Preset, Wire};
use crate::definition::lower::STATUSES;
use crate::domain::failure::FailureClass;
use crate::domain::model::{SystemPrompt, TokenField};
use crate::domain::plan::{OnInvalid, OnRefused, OnRejected, OnSlow, OnTooLong, OnTrouble, Role};
use crate::domain::provider::{Capacity, OnCancel};
use crate::workflow::case::{Ending, Told};

/// A type that is written as one of a few words.
pub trait Worded {
    /// Each word, and what it means.
    fn words() -> Vec<(&'static str, String)>;
}

/// One of the words of `T`.
pub struct OneOf<T>(PhantomData<T>);

/// How hard a model thinks.
pub struct Effort;
/// A provider's kind.
pub struct Kind;
/// A world of the simulator.
pub struct Regime;
/// What a model at a provider can.
pub struct Can;
/// How a step of a case ends.
pub struct Status;

impl<T: Worded> JsonSchema for OneOf<T> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "OneOf".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let (words, about): (Vec<&str>, Vec<String>) = T::words().into_iter().unzip();
        let mut schema = json_schema!({"enum": words});
        if about.iter().any(|about| !about.is_empty()) {
            schema.insert("enumDescriptions".to_owned(), json!(about));
        }
        schema
    }
}

macro_rules! worded {
    ($name:ty: $($word:literal => $about:literal),+ $(,)?) => {
        impl Worded for $name {
            fn words() -> Vec<(&'static str, String)> {
                vec![$(($word, $about.to_owned())),+]
            }
        }
    };
}

worded!(Role:
    "planner" => "Lays out the work.",
    "executor" => "Does it.",
    "validator" => "Judges it.",
);
worded!(Effort:
    "none" => "No thinking before the answer.",
    "minimal" => "As little as the model can.",
    "low" => "A little: quick answers.",
    "medium" => "What vendors take by default.",
    "high" => "Long: slow and costly.",
    "xhigh" => "Longer, where the model takes it.",
    "max" => "As long as the model will.",
);
worded!(OnSlow:
    "auto" => "By the signal: no token, the next path; too slow to finish, the model's faster link. The default.",
    "next" => "The next path.",
    "faster" => "The model's faster link.",
    "fail" => "The step or item fails.",
);
worded!(OnTrouble:
    "next" => "The next path. The default.",
    "fail" => "The step or item fails.",
);
worded!(OnInvalid:
    "repair" => "One repair turn on the same path, then the model's stronger link. The default.",
    "stronger" => "The model's stronger link at once.",
    "next" => "The next path.",
    "fail" => "The step or item fails.",
);
worded!(OnTooLong:
    "larger" => "A path with a larger window; where there is none, what shrink allows is dropped. The default.",
    "fail" => "The step or item fails.",
);
worded!(OnRefused:
    "stronger" => "The model's stronger link, once. The default.",
    "next" => "The next path, once.",
    "fail" => "The step or item fails.",
);
worded!(OnRejected:
    "fail" => "The run fails. The default.",
    "accept" => "The answer goes out, degraded and named as unverified.",
);
worded!(OnCancel:
    "free" => "What was received until then is paid, as on one's own server.",
    "billed" => "The whole answer is paid, up to max_tokens: what most vendors do.",
);
worded!(Capacity:
    "shared" => "A vendor's: another attempt on the same path draws new luck.",
    "own" => "One's own server: another attempt on the same path would only slow the first, so there is none.",
);
worded!(Can:
    "json_schema" => "Answers by a JSON Schema.",
    "json" => "Answers in JSON of any form.",
    "tools" => "Calls tools: the answer is asked for as a tool's arguments.",
);

worded!(SystemPrompt:
    "native" => "In the vendor's own place. The default.",
    "merged" => "In front of the first user message.",
);
worded!(TokenField:
    "max_tokens" => "What most servers know.",
    "max_completion_tokens" => "What OpenAI's reasoning models and Groq want.",
);

impl Worded for Ending {
    fn words() -> Vec<(&'static str, String)> {
        let about = |ending| match ending {
            Self::Delivered => "With everything.",
            Self::Degraded => "Without some optional part, or with an unverified one.",
            Self::Failed => "Without a result.",
        };
        Self::ALL.map(|ending| (ending.as_str(), about(ending).to_owned())).into()
    }
}

impl Worded for Told {
    fn words() -> Vec<(&'static str, String)> {
        let about = |told| match told {
            Self::Ok => "Well, in the usual time.",
            Self::Slow => "Well, eight times slower than drawn.",
            Self::Garbage => "With an answer that is visibly invalid.",
            Self::Error => "With a server's error.",
            Self::RateLimited => "With a limit (429).",
            Self::Hang => "Never: not even a first token.",
        };
        Self::ALL.map(|(word, told)| (word, about(told).to_owned())).into()
    }
}

impl Worded for Status {
    fn words() -> Vec<(&'static str, String)> {
        let about = |status: &str| match status {
            "ok" => "With an accepted answer.",
            "skipped" => "Not started: its when was false.",
            "failed" => "Without an accepted answer.",
            "timed_out" => "Not done when the run ended.",
            "cut" => "Closed at its cutoff_at.",
            _ => "",
        };
        STATUSES.map(|status| (status, about(status).to_owned())).into()
    }
}

impl Worded for FailureClass {
    fn words() -> Vec<(&'static str, String)> {
        Self::ALL.map(|class| (class.as_str(), String::new())).into()
    }
}

impl Worded for Regime {
    fn words() -> Vec<(&'static str, String)> {
        let about = |regime: &str| match regime {
            "calm" => "Quick and faultless.",
            "pooled" => "A vendor on a good day: few stragglers, few faults. The default.",
            "busy" => "A vendor under load: stragglers and limits.",
            "brownout" => "A vendor in trouble: slow, with many faults.",
            "down" => "A vendor that is out.",
            "fastlong" => "Quick first tokens, long answers.",
            _ => "",
        };
        REGIMES.map(|regime| (regime, about(regime).to_owned())).into()
    }
}

impl Worded for Kind {
    fn words() -> Vec<(&'static str, String)> {
        PRESETS.iter().map(|preset| (preset.kind, preset_about(preset))).collect()
    }
}

fn preset_about(preset: &Preset) -> String {
    let speaks = match preset.wire {
        Wire::Chat => "Speaks chat completions",
        Wire::Responses => "Speaks OpenAI's responses",
        Wire::Anthropic => "Speaks Anthropic's messages",
        Wire::Bedrock => {
            return "Speaks Bedrock Converse in your AWS region, where the program is built with the feature bedrock; \
                    the key is read from AWS_BEARER_TOKEN_BEDROCK, or requests are signed with AWS_ACCESS_KEY_ID and \
                    AWS_SECRET_ACCESS_KEY."
                .to_owned();
        }
        Wire::Gemini => "Speaks Gemini's own format",
        Wire::Simulated => {
            return "Made-up answers, drawn from a regime: no key, no network.".to_owned();
        }
    };
    let place = match preset.base_url {
        Some(url) => format!("at {url}"),
        None => "at the base_url you give".to_owned(),
    };
    let key = match preset.key {
        Some(name) => format!("the key is read from {name}"),
        None => "no key is needed".to_owned(),
    };
    format!("{speaks} {place}; {key}.")
}

/// A word, or what a mapping says in its place.
pub fn word_or(pattern: &str, message: &str, examples: &Value, mapping: &Schema) -> Schema {
    let mut schema = mapping.clone();
    schema.insert("type".to_owned(), json!(["string", "object"]));
    schema.insert("pattern".to_owned(), json!(pattern));
    schema.insert("patternErrorMessage".to_owned(), json!(message));
    schema.insert("examples".to_owned(), examples.clone());
    schema
}
