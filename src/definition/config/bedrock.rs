//! Where Bedrock is reached, and what vouches for requests to it: a key, or a signature.

#[cfg(test)]
mod tests;

use crate::definition::config::read::{RawProvider, is_region};
use crate::definition::environment::Environment;
use crate::domain::provider::{BedrockSettings, SecretRef, SigningKeys};

/// The variables that AWS's own SDKs read.
const BEARER: &str = "AWS_BEARER_TOKEN_BEDROCK";
const ACCESS: &str = "AWS_ACCESS_KEY_ID";
const SECRET: &str = "AWS_SECRET_ACCESS_KEY";
const SESSION: &str = "AWS_SESSION_TOKEN";

/// How Bedrock is used.
pub(super) struct Access {
    /// The region's own address; `None` where no region is named.
    pub base_url: Option<String>,
    /// A key that is sent as it is.
    pub api_key: Option<SecretRef>,
    /// What is sent in its place.
    pub settings: BedrockSettings,
    /// What it cannot be used without.
    pub missing: Option<String>,
}

/// The address of a region. Source: the endpoint rules of the service's own model in `botocore` 1.44.8.
fn address(region: &str) -> String {
    let suffix = match region.split_once('-') {
        Some(("cn", _)) => "amazonaws.com.cn",
        Some(("eusc", _)) => "amazonaws.eu",
        Some(_) | None => "amazonaws.com",
    };
    format!("https://bedrock-runtime.{region}.{suffix}")
}

/// How the environment lets Bedrock be used where no file says anything: with a key made for it, in a named region.
/// Access keys alone do not count, because they are mostly there for something else.
pub(super) fn found(environment: &Environment) -> Option<Access> {
    let (_, region) = environment.region().filter(|(_, region)| is_region(region))?;
    environment.is_set(BEARER).then(|| Access {
        base_url: Some(address(region)),
        api_key: Some(SecretRef::Env(BEARER.to_owned())),
        settings: BedrockSettings { signing: None, region_variable: variable(environment) },
        missing: None,
    })
}

fn variable(environment: &Environment) -> Option<String> {
    environment.region().map(|(name, _)| name.to_owned())
}

/// How a provider of the file is used: the key it names, a header that vouches for it, else the variables of AWS's SDKs
/// in their order. A key of the environment is not sent to an address of its own.
pub(super) fn access(raw: &RawProvider, environment: &Environment) -> Access {
    let found = environment.region().map(|(_, region)| region.to_owned());
    let region = raw.region.clone().or(found).filter(|region| is_region(region));
    let region_variable = variable(environment).filter(|_| raw.region.is_none());
    let mut access = Access {
        base_url: region.as_deref().map(address),
        api_key: raw.api_key.as_ref().map(|key| key.value.clone()),
        settings: BedrockSettings { signing: None, region_variable },
        missing: None,
    };
    let vouched = raw.headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("authorization"));
    if access.api_key.is_none() && !vouched {
        let own = raw.base_url.is_some();
        if !own && environment.is_set(BEARER) || environment.assumes_keys() {
            access.api_key = Some(SecretRef::Env(BEARER.to_owned()));
        } else {
            access.missing = missing(own, environment);
            access.settings.signing = Some(SigningKeys {
                region: region.clone().unwrap_or_default(),
                access: SecretRef::Env(ACCESS.to_owned()),
                secret: SecretRef::Env(SECRET.to_owned()),
                session: environment.is_set(SESSION).then(|| SecretRef::Env(SESSION.to_owned())),
            });
        }
    }
    let needs_region = raw.base_url.is_none() || access.settings.signing.is_some();
    if region.is_none() && needs_region && !environment.assumes_keys() {
        let missing = match environment.region() {
            Some((name, _)) => format!("{name} does not hold a region's name, as us-east-1"),
            None => "it has no `region`, and AWS_REGION is not set".to_owned(),
        };
        access.missing.get_or_insert(missing);
    }
    if environment.assumes_keys() {
        access.base_url.get_or_insert_with(|| address("us-east-1"));
    }
    access
}

fn missing(own_address: bool, environment: &Environment) -> Option<String> {
    match (environment.is_set(ACCESS), environment.is_set(SECRET)) {
        (true, true) => None,
        (true, false) => Some(format!("{SECRET} is not set")),
        (false, _) if own_address => Some(format!(
            "{BEARER} is sent to a `base_url` only where `api_key` names it, and {ACCESS} is not set"
        )),
        (false, _) => Some(format!("neither {BEARER} nor {ACCESS} is set")),
    }
}
