//! What `punctual.yaml` says, checked value by value and spanned.

use std::path::PathBuf;
use std::time::Duration;

use schemars::JsonSchema;

use crate::definition::config::REGIMES;
use crate::definition::config::preset::{PRESETS, Preset};
use crate::definition::editor::leaf::{Flag, Name};
use crate::definition::editor::mapping::{ListOf, Mapping, Named};
use crate::definition::editor::pair::OneMust;
use crate::definition::editor::word::{Kind as KindWord, OneOf, Regime};
use crate::definition::keys;
use crate::definition::page::{MISSING_KEY, Reader, Spanned, WRONG_VALUE, WRONG_WORD};
use crate::definition::raw::{DEADLINES, RawBudget, RawSettings};
use crate::definition::yaml::{Key, Kind, Node};
use crate::domain::finding::{Code, did_you_mean};
use crate::domain::provider::{Capacity, HeaderValue, Limits, OnCancel, SecretRef, ServerLimits};

mod address;
mod model;
mod part;

pub use address::{is_region, secret_parameter};
use address::{region, url};
pub use model::{Ability, RawPath};
use part::{
    ProviderBounds, Secret, ServerBounds, ServerDefaults, address_schema, folders_schema,
    headers_schema, region_schema,
};

/// A secret written into the file.
pub const SECRET_IN_FILE: Code = Code("P0501");

/// The configuration of punctual: where models are reached, under which names workflows know them, and what
/// holds for all workflows. It is read again when it changes.
#[derive(Debug, Default, JsonSchema)]
#[schemars(transform = Mapping::closed().extensible())]
pub struct RawConfiguration {
    /// Folders of workflows, relative to this file: each NAME.yaml in them is one tool. Default: workflows.
    #[schemars(schema_with = "folders_schema")]
    pub workflows: Vec<PathBuf>,
    /// Where models are reached: name → provider. A path's label begins with the name.
    #[schemars(with = "Named<RawProvider>")]
    pub providers: Vec<RawProvider>,
    /// The models that workflows name: name → paths to try in order, with links to quicker and better models.
    #[schemars(with = "Named<RawModel>")]
    pub models: Vec<RawModel>,
    /// What holds where a workflow says nothing; its own defaults and its steps go before, key by key.
    #[schemars(rename = "defaults", with = "ServerDefaults")]
    pub settings: RawSettings,
    #[schemars(skip)]
    pub deadline: Option<Spanned<Duration>>,
    #[schemars(skip)]
    pub budget: RawBudget,
    /// Bounds across all workflows of this server.
    #[schemars(with = "ServerBounds")]
    pub limits: ServerLimits,
}

/// A provider.
#[derive(Debug, JsonSchema)]
#[schemars(inline, transform = Mapping::closed().required(&["kind"]))]
pub struct RawProvider {
    #[schemars(skip)]
    pub key: Key,
    /// The vendor, or `openai_compatible` for any server with /chat/completions. It decides the format, and where not
    /// said otherwise the address and the key's variable.
    #[schemars(rename = "kind", with = "OneOf<KindWord>")]
    pub preset: Option<&'static Preset>,
    /// The address, as the vendor's own SDK takes it: with /v1 for OpenAI-like servers, without for Anthropic and
    /// Gemini; for Azure with /openai/v1, or the deployment's with its api-version. Default: the kind's. No secrets in
    /// it.
    #[schemars(schema_with = "address_schema")]
    pub base_url: Option<Spanned<String>>,
    /// Whether it is written, good or not.
    #[schemars(skip)]
    pub has_base_url: bool,
    /// Where the key is found, never the key itself: {env: NAME} or {file: PATH}. Default: the variable that the
    /// vendor's own SDK reads.
    #[schemars(with = "Secret")]
    pub api_key: Option<Spanned<SecretRef>>,
    /// Extra request headers: name → text, or {env: NAME} or {file: PATH} where it is a secret.
    #[schemars(schema_with = "headers_schema")]
    pub headers: Vec<(String, Spanned<HeaderValue>)>,
    /// What this provider may be sent; kept here, before anything is sent. Default: no limit.
    #[schemars(with = "ProviderBounds")]
    pub limits: Limits,
    /// What an attempt costs that is closed before its end. Default: billed, and free on one's own server.
    #[schemars(with = "OneOf<OnCancel>")]
    pub on_cancel: Option<OnCancel>,
    /// Whose slots its models run in. Default: shared, and own for ollama, `llama_cpp` and vllm.
    #[schemars(with = "OneOf<Capacity>")]
    pub capacity: Option<Capacity>,
    /// Whether its paths are left out, with a warning, where its key is not set. Default: false, which is an error
    /// then.
    #[schemars(with = "Flag")]
    pub optional: bool,
    /// The AWS region, as us-east-1, for kind bedrock alone. Default: `AWS_REGION`, then `AWS_DEFAULT_REGION`.
    #[schemars(schema_with = "region_schema")]
    pub region: Option<String>,
    /// The simulator's world, for kind simulated alone. Default: pooled.
    #[schemars(with = "OneOf<Regime>")]
    pub regime: Option<&'static str>,
    /// The seed of the simulator's draws, for kind simulated alone: a whole number from 0. Default: 1.
    #[schemars(with = "u64")]
    pub seed: Option<u64>,
}

/// A logical model.
#[derive(Debug, JsonSchema)]
#[schemars(inline, transform = Mapping::closed())]
#[schemars(transform = OneMust(&["paths", "same_as"], "A model has paths, or is the same_as another."))]
pub struct RawModel {
    #[schemars(skip)]
    pub key: Key,
    /// Where it is served, best first. Two paths on two providers are worth more than any setting.
    #[schemars(with = "ListOf<RawPath>")]
    pub paths: Vec<RawPath>,
    /// The name of a quicker model: taken where an answer would come too late.
    #[schemars(with = "Name")]
    pub faster: Option<Spanned<String>>,
    /// The name of a more capable model: taken after refusals and invalid answers.
    #[schemars(with = "Name")]
    pub stronger: Option<Spanned<String>>,
    /// The name of a model that this one is another name for, so that all its uses change in one line.
    #[schemars(with = "Name")]
    pub same_as: Option<Spanned<String>>,
    /// Providers that are never used for this model.
    #[schemars(with = "ListOf<Name>")]
    pub not: Vec<Spanned<String>>,
}

impl RawConfiguration {
    pub fn read(reader: &mut Reader<'_>) -> Self {
        let mut raw = Self::default();
        let root = &reader.page.root;
        for (key, value) in reader.map(root, &keys::CONFIGURATION) {
            match key.name.as_str() {
                "workflows" => raw.workflows = folders(reader, value),
                "providers" => {
                    let entries = reader.entries(value, "`providers`");
                    raw.providers =
                        entries.iter().map(|(k, v)| RawProvider::read(reader, k, v)).collect();
                }
                "models" => {
                    let entries = reader.entries(value, "`models`");
                    raw.models =
                        entries.iter().map(|(k, v)| RawModel::read(reader, k, v)).collect();
                }
                "defaults" => raw.read_defaults(reader, value),
                _ => raw.limits = server_limits(reader, value),
            }
        }
        raw
    }

    fn read_defaults(&mut self, reader: &mut Reader<'_>, node: &Node) {
        for (key, value) in reader.map(node, &keys::SERVER_DEFAULTS) {
            let what = format!("`defaults.{}`", key.name);
            match key.name.as_str() {
                "deadline" => self.deadline = reader.duration(value, &what, DEADLINES),
                "budget" => self.budget = RawBudget::read(reader, value),
                _ => self.settings.read_key(reader, key, value, &what),
            }
        }
    }
}

fn folders(reader: &mut Reader<'_>, node: &Node) -> Vec<PathBuf> {
    let items = match &node.kind {
        Kind::List(items) => items.as_slice(),
        Kind::Scalar(_) | Kind::Map(_) => std::slice::from_ref(node),
    };
    let read = items.iter().filter_map(|item| reader.text(item, "`workflows`"));
    read.map(|folder| PathBuf::from(folder.value)).collect()
}

fn server_limits(reader: &mut Reader<'_>, node: &Node) -> ServerLimits {
    let mut limits = ServerLimits::default();
    for (key, value) in reader.map(node, &keys::SERVER_LIMITS) {
        let what = format!("`limits.{}`", key.name);
        if key.name == "usd_per_day" {
            limits.usd_per_day = reader.dollars(value, &what).map(|d| d.value);
        } else if key.name == "hedge_share" {
            limits.hedge_share = reader.share(value, &what).map(|s| s.value);
        } else {
            limits.concurrent_runs = reader.small(value, &what, 1..=100_000).map(|n| n.value);
        }
    }
    limits
}

impl RawProvider {
    fn read(reader: &mut Reader<'_>, name: &Key, node: &Node) -> Self {
        let mut provider = Self {
            key: name.clone(),
            preset: None,
            base_url: None,
            has_base_url: false,
            api_key: None,
            headers: Vec::new(),
            limits: Limits::default(),
            on_cancel: None,
            capacity: None,
            optional: false,
            region: None,
            regime: None,
            seed: None,
        };
        let mut said = false;
        for (key, value) in reader.map(node, &keys::PROVIDER) {
            let what = format!("provider '{}': `{}`", name.name, key.name);
            match key.name.as_str() {
                "kind" => {
                    said = true;
                    provider.preset = kind(reader, value, &what);
                }
                "base_url" => {
                    provider.has_base_url = true;
                    provider.base_url = url(reader, value, &what);
                }
                "api_key" => provider.api_key = secret(reader, value, &what),
                "headers" => provider.headers = headers(reader, value, &what),
                "limits" => provider.limits = limits(reader, value),
                "on_cancel" => {
                    let words = [("free", OnCancel::Free), ("billed", OnCancel::Billed)];
                    provider.on_cancel = reader.word(value, &what, &words).map(|w| w.value);
                }
                "capacity" => {
                    let words = [("shared", Capacity::Shared), ("own", Capacity::Own)];
                    provider.capacity = reader.word(value, &what, &words).map(|w| w.value);
                }
                "optional" => {
                    provider.optional = reader.boolean(value, &what).is_some_and(|b| b.value);
                }
                "region" => provider.region = region(reader, value, &what),
                "regime" => {
                    let words = REGIMES.map(|regime| (regime, regime));
                    provider.regime = reader.word(value, &what, &words).map(|w| w.value);
                }
                _ => {
                    let seed = reader.integer(value, &what, 0..=u64::MAX);
                    provider.seed = seed.map(|n| n.value);
                }
            }
        }
        if !said {
            let message = format!("provider '{}' has no `kind`", name.name);
            reader.error(MISSING_KEY, &name.span, message).help(format!("one of: {}", kinds()));
        }
        provider
    }
}

fn kinds() -> String {
    PRESETS.map(|preset| preset.kind).join(", ")
}

fn kind(reader: &mut Reader<'_>, node: &Node, what: &str) -> Option<&'static Preset> {
    let word = reader.text(node, what)?;
    if let Some(preset) = Preset::of(&word.value) {
        return Some(preset);
    }
    let near = did_you_mean(&word.value, PRESETS.iter().map(|p| p.kind))
        .map(|near| format!("did you mean '{near}'? "))
        .unwrap_or_default();
    let message = format!("{what} may not be '{}'", word.value);
    reader.error(WRONG_WORD, &word.span, message).help(format!("{near}one of: {}", kinds()));
    None
}

fn secret(reader: &mut Reader<'_>, node: &Node, what: &str) -> Option<Spanned<SecretRef>> {
    if !matches!(node.kind, Kind::Map(_)) {
        let message = format!("{what} must name where the key is, not hold it");
        reader
            .error(SECRET_IN_FILE, &node.span, message)
            .help(
                "a key in a file ends up in backups and commits: write {env: NAME} or {file: PATH}",
            )
            .source_line = None;
        return None;
    }
    let mut found = None;
    for (key, value) in reader.map(node, &keys::SECRET) {
        let Some(text) = reader.text(value, what) else { continue };
        if found.is_some() {
            reader.error(WRONG_VALUE, &key.span, format!("{what} names two places; keep one"));
            return None;
        }
        let word = text.value.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
        if key.name == "env" && !(word && text.value.len() <= 128) {
            reader
                .error(SECRET_IN_FILE, &text.span, format!("{what}: `env` names no variable"))
                .help("write the variable's name, not its value, as {env: OPENAI_API_KEY}");
            return None;
        }
        let reference = if key.name == "env" {
            SecretRef::Env(text.value)
        } else {
            SecretRef::File(PathBuf::from(text.value))
        };
        found = Some(Spanned { value: reference, span: node.span.clone() });
    }
    if found.is_none() {
        reader
            .error(MISSING_KEY, &node.span, format!("{what} names no place"))
            .help("{env: NAME} or {file: PATH}");
    }
    found
}

/// Header names whose values are secrets.
fn is_secret_header(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    ["authorization", "api-key", "apikey", "token", "secret", "cookie", "password"]
        .iter()
        .any(|part| name.contains(part))
}

fn headers(
    reader: &mut Reader<'_>,
    node: &Node,
    what: &str,
) -> Vec<(String, Spanned<HeaderValue>)> {
    let mut headers = Vec::new();
    for (key, value) in reader.entries(node, what) {
        let what = format!("{what}: '{}'", key.name);
        let token = |b: u8| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b);
        if key.name.is_empty() || !key.name.bytes().all(token) {
            reader.error(WRONG_VALUE, &key.span, format!("{what} is no header name"));
            continue;
        }
        let read = if matches!(value.kind, Kind::Map(_)) || is_secret_header(&key.name) {
            secret(reader, value, &what)
                .map(|s| Spanned { value: HeaderValue::Secret(s.value), span: s.span })
        } else {
            reader.text(value, &what).and_then(|text| plain_header(reader, &text, &what))
        };
        headers.extend(read.map(|value| (key.name.clone(), value)));
    }
    headers
}

fn plain_header(
    reader: &mut Reader<'_>,
    text: &Spanned<String>,
    what: &str,
) -> Option<Spanned<HeaderValue>> {
    if !text.value.bytes().all(|b| (0x20..0x7f).contains(&b)) {
        reader.error(WRONG_VALUE, &text.span, format!("{what} must be printable ASCII"));
        return None;
    }
    Some(Spanned { value: HeaderValue::Plain(text.value.clone()), span: text.span.clone() })
}

fn limits(reader: &mut Reader<'_>, node: &Node) -> Limits {
    let mut limits = Limits::default();
    for (key, value) in reader.map(node, &keys::PROVIDER_LIMITS) {
        let what = format!("`limits.{}`", key.name);
        match key.name.as_str() {
            "rpm" => limits.rpm = reader.small(value, &what, 1..=u32::MAX).map(|n| n.value),
            "tpm" => limits.tpm = reader.integer(value, &what, 1..=u64::MAX).map(|n| n.value),
            _ => limits.concurrent = reader.small(value, &what, 1..=100_000).map(|n| n.value),
        }
    }
    limits
}
