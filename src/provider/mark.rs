//! Tells a provider's settings and its keys from others, without keeping either.
//!
//! A provider whose key was refused is left alone until its settings or its key change: this is how that is seen. What
//! bounds our own sending is none of it: other limits make no other key.

use std::hash::{BuildHasher, RandomState};
use std::sync::LazyLock;

use super::secret::Secret;
use crate::domain::provider::{Capacity, Limits, OnCancel, ProviderSettings};

/// Keyed anew in each process, so that a mark says nothing outside of it.
static HASH: LazyLock<RandomState> = LazyLock::new(RandomState::new);

/// The mark of these settings with their secrets as they are now. Reads the environment and files.
#[must_use]
pub fn mark(settings: &ProviderSettings) -> u64 {
    let theirs = ProviderSettings {
        limits: Limits::default(),
        on_cancel: OnCancel::Billed,
        capacity: Capacity::Shared,
        ..settings.clone()
    };
    let secrets: Vec<Option<String>> = settings
        .secrets()
        .map(|reference| Secret::resolve(reference).ok().map(|secret| secret.reveal().to_owned()))
        .collect();
    HASH.hash_one((format!("{theirs:?}"), secrets))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::provider::{Dialect, HeaderValue, SecretRef};

    fn settings(file: &std::path::Path) -> ProviderSettings {
        ProviderSettings {
            name: "a".to_owned(),
            dialect: Dialect::Anthropic,
            base_url: "https://a.example".to_owned(),
            api_key: Some(SecretRef::File(file.to_owned())),
            headers: Vec::new(),
            limits: Limits::default(),
            on_cancel: OnCancel::Billed,
            capacity: Capacity::Shared,
        }
    }

    #[test]
    fn another_key_in_the_same_file_is_another_mark_and_other_limits_are_not() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("key");
        let one = settings(&file);
        let missing = mark(&one);
        std::fs::write(&file, "sk-1").unwrap();
        let first = mark(&one);
        assert!(first != missing && first == mark(&one));
        let limits = Limits { rpm: Some(5), ..Limits::default() };
        assert_eq!(mark(&ProviderSettings { limits, ..one.clone() }), first);
        let elsewhere =
            ProviderSettings { base_url: "https://b.example".to_owned(), ..one.clone() };
        assert_ne!(mark(&elsewhere), first);
        let key = SecretRef::File(folder.path().join("other"));
        let header = ("x-team".to_owned(), HeaderValue::Secret(key));
        assert_ne!(mark(&ProviderSettings { headers: vec![header], ..one.clone() }), first);
        std::fs::write(&file, "sk-2").unwrap();
        assert_ne!(mark(&one), first);
    }
}
