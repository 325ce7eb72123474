//! The smaller mappings of `punctual.yaml`, as editors check them: they are read into types of the domain, which
//! know nothing of files.

use schemars::transform::Transform;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde_json::json;

use crate::definition::editor::leaf::{Dollars, Duration, File, Share, Text};
use crate::definition::editor::mapping::{Mapping, Named};
use crate::definition::editor::pair::Exclusive;
use crate::definition::raw::{RawBudget, RawSettings};

/// `defaults`.
#[derive(JsonSchema)]
#[schemars(inline, transform = Mapping::closed())]
#[expect(dead_code, reason = "only its schema is used")]
pub struct ServerDefaults {
    /// The deadline of workflows that name none, from 1s to 10m. Default: 45s, below the 60s after which many
    /// clients hang up.
    #[schemars(with = "Duration")]
    deadline: Duration,
    /// What one run of a workflow that names no budget may spend. Default: no bound.
    budget: RawBudget,
    #[schemars(flatten)]
    settings: RawSettings,
}

/// `limits`.
#[derive(JsonSchema)]
#[schemars(inline, transform = Mapping::closed())]
#[expect(dead_code, reason = "only its schema is used")]
pub struct ServerBounds {
    /// Dollars that all runs of a UTC day may spend together. Default: no bound.
    #[schemars(with = "Dollars")]
    usd_per_day: Dollars,
    /// Runs at once, from 1 to 100,000; a call beyond it is refused with a time to come back. Default: no bound.
    #[schemars(with = "u32", range(min = 1, max = 100_000))]
    concurrent_runs: u32,
    /// Extra attempts of all runs together, beside others that may still win, over ten minutes: a share of the first
    /// attempts, `0%` to `100%`. Twenty are always allowed, unless it is `0%`. Default: 50%.
    #[schemars(with = "Share")]
    hedge_share: Share,
}

/// A provider's `limits`.
#[derive(JsonSchema)]
#[schemars(inline, transform = Mapping::closed())]
#[expect(dead_code, reason = "only its schema is used")]
pub struct ProviderBounds {
    /// Requests a minute, from 1. Default: no limit.
    #[schemars(with = "u32", range(min = 1, max = 4_294_967_295_u32))]
    rpm: u32,
    /// Tokens a minute, from 1: prompts as estimated and `max_tokens` together. Default: no limit.
    #[schemars(with = "u64", range(min = 1))]
    tpm: u64,
    /// Requests at once, from 1 to 100,000. Default: no limit.
    #[schemars(with = "u32", range(min = 1, max = 100_000))]
    concurrent: u32,
}

/// A path's `price`.
#[derive(JsonSchema)]
#[schemars(inline, transform = Mapping::closed().required(&["in", "out"]))]
#[expect(dead_code, reason = "only its schema is used")]
pub struct Cost {
    /// Dollars per million tokens of the prompt.
    #[schemars(rename = "in", with = "Dollars")]
    input: Dollars,
    /// Dollars per million tokens of the answer.
    #[schemars(rename = "out", with = "Dollars")]
    output: Dollars,
    /// Dollars per million tokens of the prompt that the vendor had in its cache. Default: as in.
    #[schemars(with = "Dollars")]
    cached_in: Dollars,
}

/// The places of a secret.
#[derive(JsonSchema)]
#[schemars(inline, transform = Mapping::closed())]
#[expect(dead_code, reason = "only its schema is used")]
struct SecretKeys {
    /// The name of the environment variable that holds it, as `OPENAI_API_KEY`.
    #[schemars(schema_with = "variable")]
    env: Text,
    /// A file that holds it and nothing else, relative to this file.
    #[schemars(with = "File")]
    file: File,
}

/// Where a secret is found.
pub struct Secret;

/// A header's value.
struct Header;

const ONE_PLACE: [(&str, &[&str], &str); 1] =
    [("env", &["file"], "A secret is in one place: env or file.")];
const NO_SECRET: &str =
    "Say where the secret is, never the secret itself: {env: NAME} or {file: PATH}.";

fn variable(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "string",
        "pattern": "^[A-Za-z0-9_]{1,128}$",
        "errorMessage": "Write the variable's name, not its value, as {env: OPENAI_API_KEY}.",
    })
}

fn secret(generator: &mut SchemaGenerator) -> Schema {
    let mut schema = SecretKeys::json_schema(generator);
    schema.remove("description");
    schema.insert("minProperties".to_owned(), json!(1));
    Exclusive(&ONE_PLACE).transform(&mut schema);
    schema.insert("errorMessage".to_owned(), json!(NO_SECRET));
    schema
}

impl JsonSchema for Secret {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Secret".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        secret(generator)
    }
}

impl JsonSchema for Header {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Header".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let mut schema = secret(generator);
        schema.insert("type".to_owned(), json!(["string", "object"]));
        schema
    }
}

/// `headers`.
pub fn headers_schema(generator: &mut SchemaGenerator) -> Schema {
    let mut schema = Named::<Header>::json_schema(generator);
    schema.insert(
        "propertyNames".to_owned(),
        json!({
            "pattern": r"^[A-Za-z0-9!#$%&'*+.^_`|~-]+$",
            "patternErrorMessage": "This is no header's name.",
        }),
    );
    schema
}

/// `workflows`: a folder, or several.
pub fn folders_schema(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"type": ["string", "array"], "items": {"type": "string"}, "examples": ["./workflows"]})
}

/// `region`.
pub fn region_schema(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "string",
        "pattern": "^[a-z0-9-]{1,32}$",
        "patternErrorMessage": "This must be the name of an AWS region, as us-east-1.",
    })
}

/// `base_url`.
pub fn address_schema(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "string",
        "pattern": r"^\s*https?://[^\s/?#@]+([/?#]\S*)?\s*$",
        "patternErrorMessage": "This must be an http or https address without user and password, as https://api.example.com/v1.",
    })
}
