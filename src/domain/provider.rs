//! A provider as the configuration names it. Secrets appear by reference only.

use std::path::PathBuf;
use std::time::Duration;

use super::money::Usd;
use super::time::Share;

/// One account at one vendor, or one local server.
#[derive(Clone, Debug, PartialEq)]
pub struct ProviderSettings {
    /// Its name in `punctual.yaml`, the first part of a path's label.
    pub name: String,
    /// Its wire format.
    pub dialect: Dialect,
    /// What requests' paths are appended to, without a trailing slash. Unused by the simulator.
    pub base_url: String,
    /// Where the key is found; `None` where the server wants none.
    pub api_key: Option<SecretRef>,
    /// Extra request headers.
    pub headers: Vec<(String, HeaderValue)>,
    /// What may be sent in a minute and at once.
    pub limits: Limits,
    /// What a cancelled attempt costs.
    pub on_cancel: OnCancel,
    /// Whether the model's slots are ours alone.
    pub capacity: Capacity,
}

impl ProviderSettings {
    /// What vouches for its requests: its key, or what they are signed with.
    pub fn keys(&self) -> impl Iterator<Item = &SecretRef> {
        let signing = match &self.dialect {
            Dialect::Bedrock(bedrock) => bedrock.signing.as_ref(),
            Dialect::OpenAiChat(_)
            | Dialect::OpenAiResponses
            | Dialect::Anthropic
            | Dialect::Gemini
            | Dialect::Simulated(_) => None,
        };
        let signing = signing
            .into_iter()
            .flat_map(|keys| [&keys.access, &keys.secret].into_iter().chain(&keys.session));
        self.api_key.iter().chain(signing)
    }

    /// Every secret that is looked up for it: its keys, and its headers.
    pub fn secrets(&self) -> impl Iterator<Item = &SecretRef> {
        let headers = self.headers.iter().filter_map(|(_, value)| match value {
            HeaderValue::Secret(secret) => Some(secret),
            HeaderValue::Plain(_) => None,
        });
        self.keys().chain(headers)
    }
}

/// The wire formats spoken.
#[derive(Clone, Debug, PartialEq)]
pub enum Dialect {
    /// `POST {base}/chat/completions`.
    OpenAiChat(ChatQuirks),
    /// `POST {base}/responses`.
    OpenAiResponses,
    /// `POST {base}/v1/messages`.
    Anthropic,
    /// `POST {base}/model/{id}/converse-stream`.
    Bedrock(BedrockSettings),
    /// `POST {base}/v1beta/models/{model}:streamGenerateContent`.
    Gemini,
    /// No wire: drawn from a named regime.
    Simulated(SimulatorSettings),
}

/// What differs among servers that speak OpenAI's chat format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChatQuirks {
    /// Whether `stream_options: {include_usage: true}` is accepted.
    pub stream_options: bool,
    /// Whether an answer constrained to a schema can be streamed; it comes as one document where not.
    pub streamed_schema: bool,
    /// Where the key goes.
    pub key: KeyPlace,
    /// Who does the work.
    pub routing: Routing,
}

impl ChatQuirks {
    /// As `OpenAI` itself has it.
    pub const NONE: Self = Self {
        stream_options: true,
        streamed_schema: true,
        key: KeyPlace::Bearer,
        routing: Routing::Direct,
    };
}

impl Default for ChatQuirks {
    fn default() -> Self {
        Self::NONE
    }
}

/// The header in which an OpenAI-like server wants its key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyPlace {
    /// `Authorization: Bearer KEY`
    Bearer,
    /// `api-key: KEY`, at Azure.
    ApiKey,
}

/// Whether a server answers itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Routing {
    /// It does.
    Direct,
    /// It chooses among other providers (`OpenRouter`): it is asked for one that takes every parameter sent, and
    /// for what it charged.
    Behind,
}

/// How requests to Bedrock are vouched for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BedrockSettings {
    /// What requests are signed with; `None` where `api_key` or a header vouches for them.
    pub signing: Option<SigningKeys>,
    /// The variable that the region was read from; `None` where the configuration says it.
    pub region_variable: Option<String>,
}

/// What AWS requests are signed with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SigningKeys {
    /// The region that signatures hold for, `us-east-1`.
    pub region: String,
    /// The access key's id.
    pub access: SecretRef,
    /// Its secret.
    pub secret: SecretRef,
    /// The token of temporary credentials.
    pub session: Option<SecretRef>,
}

/// Which simulated world a provider draws from.
#[derive(Clone, Debug, PartialEq)]
pub struct SimulatorSettings {
    /// A regime of `scenarios.json`: `calm`, `pooled`, `busy`, `brownout`, `down`, `fastlong`.
    pub regime: String,
    /// Seeds every draw.
    pub seed: u64,
}

/// A secret, named but not held.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SecretRef {
    /// An environment variable.
    Env(String),
    /// A file whose trimmed content is the secret.
    File(PathBuf),
}

/// A header's value, in the clear or by reference.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HeaderValue {
    /// As written in the configuration.
    Plain(String),
    /// Looked up when the configuration is loaded.
    Secret(SecretRef),
}

/// What one provider may be sent; `None` is unlimited.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    /// Requests a minute.
    pub rpm: Option<u32>,
    /// Tokens a minute, prompt estimate and `max_tokens` together.
    pub tpm: Option<u64>,
    /// Requests at once.
    pub concurrent: Option<u32>,
}

/// What a provider says is left of its limits, as of one response. What it does not say is `None`.
///
/// The period is the provider's: a minute with most, for requests a day at Groq. So what is left and when it
/// is whole again can be trusted everywhere; a limit is a rate of a minute only where its reset lies within one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Remaining {
    /// Requests that may still be sent.
    pub requests: Option<u64>,
    /// Requests of a whole period.
    pub requests_limit: Option<u64>,
    /// From the response until `requests` is whole again.
    pub requests_reset: Option<Duration>,
    /// Tokens that may still be used. Where a provider counts input and output apart, both together.
    pub tokens: Option<u64>,
    /// Tokens of a whole period.
    pub tokens_limit: Option<u64>,
    /// From the response until `tokens` is whole again.
    pub tokens_reset: Option<Duration>,
}

/// What an attempt costs whose stream we close.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnCancel {
    /// What was received until then.
    Free,
    /// The whole answer: it is charged up to its bound, as an estimate.
    Billed,
}

/// Whose slots a provider's models run in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Capacity {
    /// A vendor's: another attempt on the same path draws new luck.
    Shared,
    /// Our own: another attempt on the same path only slows the first.
    Own,
}

/// Bounds across all workflows of one server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ServerLimits {
    /// Dollars a UTC day.
    pub usd_per_day: Option<Usd>,
    /// Runs at once; a call beyond it is refused at once with a time to come back.
    pub concurrent_runs: Option<u32>,
    /// Extra attempts of all runs over ten minutes, as a share of first attempts.
    pub hedge_share: Option<Share>,
}
