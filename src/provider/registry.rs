//! From settings to providers that can be sent exchanges.

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::SystemTime;

use reqwest::Url;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue as WireValue};

use crate::domain::failure::{Failure, FailureClass, Scope};
use crate::domain::provider::{Dialect as Kind, HeaderValue, ProviderSettings, SimulatorSettings};

use super::anthropic::Anthropic;
use super::chat::Chat;
use super::dialect::{Dialect, KeyHeader};
use super::gemini::Gemini;
use super::responses::Responses;
use super::secret::{Secret, SecretError};
use super::transport::{Clients, HttpProvider, Sign};
use super::{BoxFuture, Broken, Exchange, Provider, Reply, Sink};

/// The providers of one configuration, by name.
#[derive(Clone, Default)]
pub struct Providers {
    by_name: BTreeMap<String, Arc<dyn Provider>>,
    unready: Vec<(String, ConnectError)>,
}

/// Why a provider cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConnectError {
    /// Its key or a header's value cannot be had.
    #[error("{0}")]
    Secret(#[from] SecretError),
    /// Its base URL is none that can be used.
    #[error("`base_url` of provider '{name}' {why}")]
    BaseUrl {
        /// The provider.
        name: String,
        /// What is wrong with it.
        why: String,
    },
    /// A header that HTTP does not allow.
    #[error("the header '{header}' of provider '{name}' is not one that HTTP allows")]
    Header {
        /// The provider.
        name: String,
        /// The header's name.
        header: String,
    },
    /// A kind that this build does not speak.
    #[error(
        "provider '{name}' speaks {kind}, which is not in this build: build it with the feature {kind}"
    )]
    NotBuilt {
        /// The provider.
        name: String,
        /// The kind, which is the feature's name too.
        kind: &'static str,
    },
    /// The HTTP client cannot be set up.
    #[error("{0}")]
    Client(String),
}

/// Makes the simulated provider of a configuration.
pub type Simulate<'a> = &'a dyn Fn(&ProviderSettings, &SimulatorSettings) -> Arc<dyn Provider>;

/// Prepares every provider of `settings`; no connection is made yet. Keys are looked up here, once. `now` is asked for
/// the time of each signature, where requests are signed.
///
/// A provider without its key does not keep the others from working: it fails every exchange with
/// [`FailureClass::Auth`] and is listed by [`Providers::unready`].
///
/// # Errors
/// Settings that are wrong in themselves, such as a base URL that is none: one error each.
pub fn connect(
    settings: &[ProviderSettings],
    simulate: Simulate<'_>,
    now: fn() -> SystemTime,
) -> Result<Providers, Vec<ConnectError>> {
    let mut clients = Clients::default();
    let mut providers = Providers::default();
    let mut errors = Vec::new();
    for one in settings {
        let dialect: Box<dyn Dialect> = match &one.dialect {
            Kind::OpenAiChat(quirks) => Box::new(Chat { quirks: *quirks }),
            Kind::OpenAiResponses => Box::new(Responses),
            Kind::Anthropic => Box::new(Anthropic),
            #[cfg(feature = "bedrock")]
            Kind::Bedrock(_) => Box::new(super::bedrock::Bedrock),
            #[cfg(not(feature = "bedrock"))]
            Kind::Bedrock(_) => {
                errors.push(ConnectError::NotBuilt { name: one.name.clone(), kind: "bedrock" });
                continue;
            }
            Kind::Gemini => Box::new(Gemini),
            Kind::Simulated(simulator) => {
                providers.by_name.insert(one.name.clone(), simulate(one, simulator));
                continue;
            }
        };
        match http(one, dialect, &mut clients, now) {
            Ok(provider) => {
                providers.by_name.insert(one.name.clone(), Arc::new(provider));
            }
            Err(ConnectError::Secret(missing)) => {
                let unready = Arc::new(Unready { why: missing.to_string() });
                providers.by_name.insert(one.name.clone(), unready);
                providers.unready.push((one.name.clone(), ConnectError::Secret(missing)));
            }
            Err(error) => errors.push(error),
        }
    }
    if errors.is_empty() { Ok(providers) } else { Err(errors) }
}

fn http(
    settings: &ProviderSettings,
    dialect: Box<dyn Dialect>,
    clients: &mut Clients,
    now: fn() -> SystemTime,
) -> Result<HttpProvider, ConnectError> {
    let base = base_url(settings)?;
    let mut headers = HeaderMap::new();
    let mut secrets = Vec::new();
    if let Some(reference) = &settings.api_key {
        let key = Secret::resolve(reference)?;
        let (header, value) = match dialect.key_header() {
            KeyHeader::Bearer => ("authorization", format!("Bearer {}", key.reveal())),
            KeyHeader::Named(header) => (header, key.reveal().to_owned()),
        };
        headers.insert(HeaderName::from_static(header), hidden(settings, header, &value)?);
        secrets.push(key);
    }
    for (header, value) in &settings.headers {
        let wrong = || ConnectError::Header { name: settings.name.clone(), header: header.clone() };
        let name = HeaderName::from_bytes(header.as_bytes()).map_err(|_| wrong())?;
        let value = match value {
            HeaderValue::Plain(text) => WireValue::from_str(text).map_err(|_| wrong())?,
            HeaderValue::Secret(reference) => {
                let secret = Secret::resolve(reference)?;
                let value = hidden(settings, header, secret.reveal())?;
                secrets.push(secret);
                value
            }
        };
        headers.insert(name, value);
    }
    let signer = signer(settings, &mut secrets, now)?;
    let client = clients.client_for(&base).map_err(ConnectError::Client)?;
    let provider = HttpProvider::new(dialect, base, client, headers, secrets);
    Ok(match signer {
        Some(signer) => provider.signed(signer),
        None => provider,
    })
}

/// What signs the requests, where they are signed; what it signs with is added to `secrets`.
#[cfg(feature = "bedrock")]
fn signer(
    settings: &ProviderSettings,
    secrets: &mut Vec<Secret>,
    now: fn() -> SystemTime,
) -> Result<Option<Box<dyn Sign>>, SecretError> {
    let Kind::Bedrock(bedrock) = &settings.dialect else { return Ok(None) };
    let Some(keys) = &bedrock.signing else { return Ok(None) };
    let [access, secret] = [Secret::resolve(&keys.access)?, Secret::resolve(&keys.secret)?];
    let session = keys.session.as_ref().map(Secret::resolve).transpose()?;
    let region = keys.region.clone();
    let signer = super::bedrock::Signer::new(region, &access, &secret, session.as_ref(), now);
    secrets.extend([access, secret].into_iter().chain(session));
    Ok(Some(Box::new(signer)))
}

#[cfg(not(feature = "bedrock"))]
#[expect(clippy::unnecessary_wraps, reason = "as where something is signed")]
fn signer(
    _: &ProviderSettings,
    _: &mut Vec<Secret>,
    _: fn() -> SystemTime,
) -> Result<Option<Box<dyn Sign>>, SecretError> {
    Ok(None)
}

/// A header's value that no log shows.
fn hidden(
    settings: &ProviderSettings,
    header: &str,
    value: &str,
) -> Result<WireValue, ConnectError> {
    let mut value = WireValue::from_str(value).map_err(|_| ConnectError::Header {
        name: settings.name.clone(),
        header: header.to_owned(),
    })?;
    value.set_sensitive(true);
    Ok(value)
}

fn base_url(settings: &ProviderSettings) -> Result<Url, ConnectError> {
    let wrong =
        |why: &str| ConnectError::BaseUrl { name: settings.name.clone(), why: why.to_owned() };
    let url =
        Url::parse(settings.base_url.trim()).map_err(|e| wrong(&format!("is no URL: {e}")))?;
    if !matches!(url.scheme(), "http" | "https") || url.host_str().is_none_or(str::is_empty) {
        return Err(wrong("must begin with https:// or http:// and name a host"));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(wrong("must not hold a user or password: use `api_key` or `headers`"));
    }
    Ok(url)
}

impl Providers {
    /// The provider of that name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<Arc<dyn Provider>> {
        self.by_name.get(name).cloned()
    }

    /// Adds a provider, or replaces the one of that name.
    pub fn insert(&mut self, name: impl Into<String>, provider: Arc<dyn Provider>) {
        self.by_name.insert(name.into(), provider);
    }

    /// The providers that fail every exchange for want of a secret, and what each is missing.
    pub fn unready(&self) -> impl Iterator<Item = (&str, &ConnectError)> {
        self.unready.iter().map(|(name, error)| (name.as_str(), error))
    }
}

/// A provider whose key is missing.
struct Unready {
    why: String,
}

impl Provider for Unready {
    fn exchange<'a>(
        &'a self,
        _exchange: &'a Exchange,
        _sink: &'a mut dyn Sink,
    ) -> BoxFuture<'a, Result<Reply, Broken>> {
        let failure = Failure {
            scope: Scope::Provider,
            ..Failure::of_attempt(FailureClass::Auth, "no key", self.why.clone())
        };
        Box::pin(async move { Err(failure.into()) })
    }
}
