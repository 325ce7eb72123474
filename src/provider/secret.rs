//! Keys: looked up once, sent in headers, never shown.

use std::fmt;
use std::io::Read;

use crate::domain::provider::SecretRef;

/// Most bytes of a secret; longer files are not keys.
const MAX_SECRET: u64 = 16 << 10;

/// A secret. `Debug` and `Display` never show it.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

/// A secret that cannot be had. Says where it was looked for, never what was found.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SecretError {
    /// The variable is not set, or not text.
    #[error("the environment variable {0} is not set: export it, or name another with `api_key`")]
    NoVariable(String),
    /// The file cannot be read.
    #[error("the secret file {path} cannot be read: {why}")]
    NoFile {
        /// Where it was looked for.
        path: String,
        /// The operating system's reason.
        why: String,
    },
    /// Nothing but white space.
    #[error("{0} is empty: put the key there")]
    Empty(String),
    /// Characters no header can carry, such as a line break.
    #[error("{0} holds characters that no header can carry: keep nothing but the key there")]
    NotHeader(String),
}

impl Secret {
    /// Looks a secret up in the environment or in its file.
    ///
    /// # Errors
    /// Not there, empty, too long, or not fit for a header.
    pub fn resolve(reference: &SecretRef) -> Result<Self, SecretError> {
        match reference {
            SecretRef::Env(name) => {
                let found =
                    std::env::var(name).map_err(|_| SecretError::NoVariable(name.clone()))?;
                Self::checked(&found, &format!("the environment variable {name}"))
            }
            SecretRef::File(path) => {
                let shown = path.display().to_string();
                let found = read_bounded(path)
                    .map_err(|e| SecretError::NoFile { path: shown.clone(), why: e.to_string() })?;
                Self::checked(&found, &format!("the secret file {shown}"))
            }
        }
    }

    fn checked(found: &str, place: &str) -> Result<Self, SecretError> {
        let trimmed = found.trim();
        if trimmed.is_empty() {
            return Err(SecretError::Empty(place.to_owned()));
        }
        if !trimmed.bytes().all(|b| (0x20..0x7f).contains(&b)) {
            return Err(SecretError::NotHeader(place.to_owned()));
        }
        Ok(Self(trimmed.to_owned()))
    }

    /// The secret itself, for the header it is sent in.
    #[must_use]
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

fn read_bounded(path: &std::path::Path) -> std::io::Result<String> {
    let mut text = String::new();
    let read = std::fs::File::open(path)?.take(MAX_SECRET + 1).read_to_string(&mut text)?;
    if read as u64 > MAX_SECRET {
        return Err(std::io::Error::other("it is larger than 16 KiB"));
    }
    Ok(text)
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}

impl fmt::Display for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("…")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(content: &[u8]) -> (tempfile::TempDir, SecretRef) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("key");
        std::fs::write(&path, content).unwrap();
        (dir, SecretRef::File(path))
    }

    #[test]
    fn a_secret_is_trimmed_and_never_shown() {
        let (_dir, reference) = file(b"  sk-hidden\r\n");
        let secret = Secret::resolve(&reference).unwrap();
        assert_eq!(secret.reveal(), "sk-hidden");
        assert!(!format!("{secret:?} {secret}").contains("hidden"));
    }

    #[test]
    fn what_cannot_be_a_key_is_refused_without_being_quoted() {
        let long = vec![b'a'; 20_000];
        for content in [&b" \n"[..], b"sk-a\nsk-b", "schl\u{fc}ssel".as_bytes(), b"\xff\xfe", &long]
        {
            let (_dir, reference) = file(content);
            let message = Secret::resolve(&reference).unwrap_err().to_string();
            assert!(!message.contains("sk-") && message.contains("key"), "{message}");
        }
        let unset = SecretRef::Env("PUNCTUAL_TEST_NO_SUCH_VARIABLE".to_owned());
        let message = Secret::resolve(&unset).unwrap_err().to_string();
        assert!(message.contains("PUNCTUAL_TEST_NO_SUCH_VARIABLE is not set"), "{message}");
    }
}
