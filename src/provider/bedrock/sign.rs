//! Signatures of AWS's version 4, by AWS's own crate.

use std::time::SystemTime;

use aws_credential_types::Credentials;
use aws_sigv4::http_request::{SignableBody, SignableRequest, SigningSettings, sign};
use aws_sigv4::sign::v4::SigningParams;
use reqwest::Url;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};

use crate::provider::secret::Secret;
use crate::provider::transport::Sign;

/// The service that signatures are made for.
const SERVICE: &str = "bedrock";

/// Signs requests with one pair of keys, for one region.
pub struct Signer {
    credentials: Credentials,
    region: String,
    service: &'static str,
    now: fn() -> SystemTime,
}

impl Signer {
    /// A signer for Bedrock in `region`. `now` is asked for the time of each signature; servers refuse one that is
    /// more than five minutes off.
    #[must_use]
    pub fn new(
        region: String,
        access: &Secret,
        secret: &Secret,
        session: Option<&Secret>,
        now: fn() -> SystemTime,
    ) -> Self {
        let session = session.map(|token| token.reveal().to_owned());
        let credentials =
            Credentials::new(access.reveal(), secret.reveal(), session, None, "punctual");
        Self { credentials, region, service: SERVICE, now }
    }
}

impl Sign for Signer {
    fn sign(
        &self,
        url: &Url,
        headers: &HeaderMap,
        body: &[u8],
    ) -> Result<Vec<(HeaderName, HeaderValue)>, String> {
        // AWS wants its own headers signed where they are sent; of the others, proxies change what they like.
        let signed = headers.iter().filter_map(|(name, value)| {
            let name = name.as_str();
            let counts = name == "content-type" || name.starts_with("x-amz-");
            counts.then_some(())?;
            value.to_str().ok().map(|value| (name, value))
        });
        let body = SignableBody::Bytes(body);
        let request = SignableRequest::new("POST", url.as_str(), signed, body)
            .map_err(|error| error.to_string())?;
        let identity = self.credentials.clone().into();
        let settings = SigningParams::builder()
            .identity(&identity)
            .region(&self.region)
            .name(self.service)
            .time((self.now)())
            .settings(SigningSettings::default())
            .build()
            .map_err(|error| error.to_string())?
            .into();
        let (instructions, _) =
            sign(request, &settings).map_err(|error| error.to_string())?.into_parts();
        let header = |(name, value): (&str, &str)| {
            let unfit = |_| format!("`{name}` is not one that HTTP allows");
            let mut value = HeaderValue::from_str(value).map_err(unfit)?;
            value.set_sensitive(true);
            let name = HeaderName::from_bytes(name.as_bytes()).map_err(|e| e.to_string())?;
            Ok((name, value))
        };
        instructions.headers().map(header).collect()
    }
}
