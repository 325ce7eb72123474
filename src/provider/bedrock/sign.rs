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

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::domain::provider::SecretRef;

    /// 2015-08-30T12:36:00Z, the time of AWS's own test suite.
    fn then() -> SystemTime {
        SystemTime::UNIX_EPOCH + Duration::from_secs(1_440_938_160)
    }

    fn secret(content: &str) -> Secret {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("key");
        std::fs::write(&path, content).unwrap();
        Secret::resolve(&SecretRef::File(path)).unwrap()
    }

    fn signer(token: Option<&str>) -> Signer {
        let access = secret("AKIDEXAMPLE");
        let key = secret("wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY");
        Signer::new("us-east-1".to_owned(), &access, &key, token.map(secret).as_ref(), then)
    }

    fn signed(
        signer: &Signer,
        url: &str,
        headers: &HeaderMap,
        body: &[u8],
    ) -> Vec<(String, String)> {
        let found = signer.sign(&Url::parse(url).unwrap(), headers, body).unwrap();
        assert!(found.iter().all(|(_, value)| value.is_sensitive()), "no log shows them");
        let text = |value: &HeaderValue| value.to_str().unwrap().to_owned();
        found.iter().map(|(name, value)| (name.to_string(), text(value))).collect()
    }

    fn authorization(signed_headers: &str, service: &str, signature: &str) -> (String, String) {
        let value = format!(
            "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/{service}/aws4_request, \
             SignedHeaders={signed_headers}, Signature={signature}"
        );
        ("authorization".to_owned(), value)
    }

    fn date() -> (String, String) {
        ("x-amz-date".to_owned(), "20150830T123600Z".to_owned())
    }

    fn json() -> HeaderMap {
        HeaderMap::from_iter([
            (HeaderName::from_static("content-type"), HeaderValue::from_static("application/json")),
            (HeaderName::from_static("accept"), HeaderValue::from_static("*/*")),
        ])
    }

    /// `post-vanilla` of AWS's signature test suite.
    #[test]
    fn the_test_suites_plain_request_is_signed_as_it_should_be() {
        let signer = Signer { service: "service", ..signer(None) };
        let found = signed(&signer, "https://example.amazonaws.com/", &HeaderMap::new(), b"");
        let signature = "5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b";
        assert_eq!(found, [date(), authorization("host;x-amz-date", "service", signature)]);
    }

    /// The same request signed by `botocore` 1.44.8.
    #[test]
    fn an_arn_and_a_session_token_are_signed_as_awss_own_library_signs_them() {
        let path = super::super::encode::path(
            "arn:aws:bedrock:us-east-1:123456789012:inference-profile/us.anthropic.claude-x-v1:0",
        );
        let url = format!("https://bedrock-runtime.us-east-1.amazonaws.com{path}");
        let found = signed(&signer(Some("TOKEN/EXAMPLE+0=")), &url, &json(), b"{\"messages\":[]}");
        let token = ("x-amz-security-token".to_owned(), "TOKEN/EXAMPLE+0=".to_owned());
        let headers = "content-type;host;x-amz-date;x-amz-security-token";
        let signature = "e0d62422929847a90316e6209928fee2a44a454b723fb1c1d6d3bfdf7a33dda9";
        assert_eq!(found, [date(), authorization(headers, "bedrock", signature), token]);
    }

    /// The same request signed by `botocore` 1.44.8.
    #[test]
    fn a_port_is_part_of_what_is_signed() {
        let url = "http://127.0.0.1:8123/model/small/converse-stream";
        let found = signed(&signer(None), url, &json(), b"{\"messages\":[]}");
        let signature = "7ac285ee50ab45e63227e26b4e2d06c3c8640eeebbc055030c6a5c76bedc7ef0";
        let expected = authorization("content-type;host;x-amz-date", "bedrock", signature);
        assert_eq!(found, [date(), expected]);
    }

    #[test]
    fn awss_own_headers_are_signed_where_they_are_sent() {
        let mut headers = json();
        headers.insert("x-amzn-note", HeaderValue::from_static("not AWS's own prefix"));
        headers.insert("x-amz-note", HeaderValue::from_static("a note"));
        let found = signed(&signer(None), "http://127.0.0.1/", &headers, b"");
        let expected = "SignedHeaders=content-type;host;x-amz-date;x-amz-note,";
        assert!(found[1].1.contains(expected), "{found:?}");
    }
}
