//! Bedrock on this machine: an account with keys, answers in binary frames, and a check of signatures that shares
//! nothing with the code that makes them.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use punctual::domain::provider::{
    BedrockSettings, Capacity, Dialect, Limits, OnCancel, ProviderSettings, SecretRef, SigningKeys,
};
use ring::{digest, hmac};
use serde_json::Value;

use super::{Request, Script, chunk_of, frames, head_of, last_chunk};

/// The keys of AWS's own examples.
pub const ACCESS: &str = "AKIDEXAMPLE";
/// See [`ACCESS`].
pub const SECRET: &str = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY";
/// A session's token, as long as real ones.
pub const SESSION: &str = concat!(
    "IQoJb3JpZ2luX2VjEXAMPLE/session+token/that+is+longer+than+what+is+quoted+of+a+message/",
    "0123456789abcdefghijklmnopqrstuvwxyz0123456789abcdefghijklmnopqrstuvwxyz0123456789abcdef/",
    "0123456789abcdefghijklmnopqrstuvwxyz0123456789abcdefghijklmnopqrstuvwxyz0123456789abcdef/",
    "0123456789abcdefghijklmnopqrstuvwxyz0123456789abcdefghijklmnopqrstuvwxyz0123456789abcdef/",
    "0123456789abcdefghijklmnopqrstuvwxyz0123456789abcdefghijklmnopqrstuvwxyz0123456789abcd=="
);
/// The region of the account.
pub const REGION: &str = "eu-central-1";

/// The moment of every signature, 2015-08-30T12:36:00Z.
pub fn then() -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_secs(1_440_938_160)
}

/// An account, whose keys are files of a folder that goes with it.
pub struct Account {
    folder: tempfile::TempDir,
}

impl Account {
    /// An account with keys.
    pub fn new() -> Self {
        Self { folder: tempfile::tempdir().expect("a folder for keys") }
    }

    fn key(&self, name: &str, content: &str) -> SecretRef {
        let path: PathBuf = self.folder.path().join(name);
        std::fs::write(&path, content).expect("keys can be written");
        SecretRef::File(path)
    }

    /// A provider at `base_url` whose requests are signed.
    pub fn signed(&self, base_url: String) -> ProviderSettings {
        let keys = SigningKeys {
            region: REGION.to_owned(),
            access: self.key("access", ACCESS),
            secret: self.key("secret", SECRET),
            session: None,
        };
        settings(base_url, Some(keys))
    }

    /// The same with the token of a session.
    pub fn session(&self, base_url: String) -> ProviderSettings {
        let mut settings = self.signed(base_url);
        if let Dialect::Bedrock(BedrockSettings { signing: Some(keys), .. }) = &mut settings.dialect
        {
            keys.session = Some(self.key("session", SESSION));
        }
        settings
    }

    /// A provider at `base_url` whose requests carry a key.
    pub fn bearer(&self, base_url: String) -> ProviderSettings {
        ProviderSettings {
            api_key: Some(self.key("bearer", "bedrock-api-key-hidden")),
            ..settings(base_url, None)
        }
    }
}

fn settings(base_url: String, signing: Option<SigningKeys>) -> ProviderSettings {
    ProviderSettings {
        name: "local".to_owned(),
        dialect: Dialect::Bedrock(BedrockSettings { signing, region_variable: None }),
        base_url,
        api_key: None,
        headers: Vec::new(),
        limits: Limits::default(),
        on_cancel: OnCancel::Free,
        capacity: Capacity::Own,
    }
}

/// A whole stream of events, each `{"KIND": {..}}` (see [`frames::stream`]), one chunk each.
pub fn stream(events: &[Value]) -> Script {
    let chunks = events.iter().map(|event| chunk_of(&frames::stream(std::slice::from_ref(event))));
    [head()].into_iter().chain(chunks).chain([last_chunk()]).collect()
}

/// The head of a stream.
pub fn head() -> super::Step {
    head_of(frames::CONTENT_TYPE)
}

/// Whether a request is signed by the account at [`then`], by AWS's description of signature version 4.
///
/// # Errors
/// What is wrong with it.
pub fn verify(request: &Request) -> Result<(), String> {
    let header = |name: &str| request.header(name).ok_or(format!("no {name}"));
    let line = request.head.lines().next().unwrap_or_default();
    let [method, target, _] = line.split(' ').collect::<Vec<_>>()[..] else {
        return Err(format!("no request line: {line}"));
    };
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let authorization = header("authorization")?;
    let part = |name: &str| {
        let rest = authorization.split([' ', ',']).find_map(|part| part.strip_prefix(name));
        rest.ok_or(format!("no {name} in {authorization}"))
    };
    let (scope, names) = (part("Credential=")?, part("SignedHeaders=")?);
    let date = header("x-amz-date")?;
    let day = date.get(..8).unwrap_or_default();
    if scope != format!("{ACCESS}/{day}/{REGION}/bedrock/aws4_request")
        || date != "20150830T123600Z"
    {
        return Err(format!("signed for {scope} at {date}"));
    }
    let names: Vec<&str> = names.split(';').collect();
    let mut sent = request.head.lines().skip(1).filter_map(|line| line.split(':').next());
    if let Some(unsigned) = sent.find(|name| {
        let name = name.to_ascii_lowercase();
        (name == "host" || name.starts_with("x-amz-")) && !names.contains(&name.as_str())
    }) {
        return Err(format!("{unsigned} is not signed"));
    }
    let mut canonical = format!("{method}\n{}\n{query}\n", encoded(path));
    for name in &names {
        let _ = writeln!(canonical, "{name}:{}", header(name)?);
    }
    let body = hex(digest::digest(&digest::SHA256, &request.body).as_ref());
    let _ = write!(canonical, "\n{}\n{body}", names.join(";"));
    let scope = scope.split_once('/').unwrap_or_default().1;
    let hashed = hex(digest::digest(&digest::SHA256, canonical.as_bytes()).as_ref());
    let text = format!("AWS4-HMAC-SHA256\n{date}\n{scope}\n{hashed}");
    let first = format!("AWS4{SECRET}").into_bytes();
    let key = scope.split('/').fold(first, |key, part| mac(&key, part));
    let expected = hex(&mac(&key, &text));
    if part("Signature=")? == expected {
        Ok(())
    } else {
        Err(format!("signed wrongly:\n{canonical}"))
    }
}

/// A path whose segments are encoded once more.
fn encoded(path: &str) -> String {
    let one = |byte: u8| {
        if byte.is_ascii_alphanumeric() || b"-._~/".contains(&byte) {
            char::from(byte).to_string()
        } else {
            format!("%{byte:02X}")
        }
    };
    path.bytes().map(one).collect()
}

fn mac(key: &[u8], text: &str) -> Vec<u8> {
    hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, key), text.as_bytes()).as_ref().to_vec()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}
