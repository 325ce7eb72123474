//! A provider as the configuration names it. Secrets appear by reference only.

use std::path::PathBuf;

use super::money::Usd;

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
            Dialect::OpenAiChat(_) | Dialect::Anthropic | Dialect::Simulated(_) => None,
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
    /// `POST {base}/v1/messages`.
    Anthropic,
    /// `POST {base}/model/{id}/converse-stream`.
    Bedrock(BedrockSettings),
    /// No wire: drawn from a named regime.
    Simulated(SimulatorSettings),
}

/// What differs among servers that speak OpenAI's chat format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChatQuirks {
    /// Whether `stream_options: {include_usage: true}` is accepted.
    pub stream_options: bool,
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
}
