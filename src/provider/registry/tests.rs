use std::path::PathBuf;

use super::*;
use crate::domain::provider::{Capacity, Limits, OnCancel, SecretRef};

fn settings(name: &str, base_url: &str) -> ProviderSettings {
    ProviderSettings {
        name: name.to_owned(),
        dialect: Kind::Anthropic,
        base_url: base_url.to_owned(),
        api_key: None,
        headers: Vec::new(),
        limits: Limits::default(),
        on_cancel: OnCancel::Free,
        capacity: Capacity::Shared,
    }
}

fn no_simulator(_: &ProviderSettings, _: &SimulatorSettings) -> Arc<dyn Provider> {
    unreachable!("none is configured")
}

#[test]
fn a_missing_key_leaves_the_other_providers_working() {
    let missing = SecretRef::File(PathBuf::from("no/such/key"));
    let keyless =
        ProviderSettings { api_key: Some(missing), ..settings("far", "https://example.com") };
    let providers =
        connect(&[settings("near", "http://127.0.0.1:1"), keyless], &no_simulator, || {
            std::time::UNIX_EPOCH
        })
        .unwrap();
    assert!(providers.get("near").is_some() && providers.get("far").is_some());
    assert!(providers.get("elsewhere").is_none());
    let unready: Vec<String> = providers.unready().map(|(n, e)| format!("{n}: {e}")).collect();
    assert_eq!(unready.len(), 1);
    assert!(
        unready[0].starts_with("far: the secret file no/such/key cannot be read"),
        "{unready:?}"
    );
}

#[test]
fn settings_that_are_wrong_in_themselves_are_all_reported() {
    let mut header = settings("header", "http://localhost:1");
    header.headers = vec![("bad header".to_owned(), HeaderValue::Plain("x".to_owned()))];
    let list = [
        settings("words", "nowhere"),
        settings("scheme", "ftp://example.com"),
        settings("user", "https://me:hidden@example.com"),
        header,
    ];
    let errors = connect(&list, &no_simulator, || std::time::UNIX_EPOCH).err().unwrap();
    let shown: Vec<String> = errors.iter().map(ToString::to_string).collect();
    assert_eq!(
        shown,
        [
            "`base_url` of provider 'words' is no URL: relative URL without a base",
            "`base_url` of provider 'scheme' must begin with https:// or http:// and name a host",
            "`base_url` of provider 'user' must not hold a user or password: use `api_key` or `headers`",
            "the header 'bad header' of provider 'header' is not one that HTTP allows",
        ]
    );
}

#[cfg(not(feature = "bedrock"))]
#[test]
fn a_kind_that_is_not_built_is_said_by_its_feature() {
    use crate::domain::provider::BedrockSettings;

    let dialect = Kind::Bedrock(BedrockSettings { signing: None, region_variable: None });
    let far = ProviderSettings { dialect, ..settings("far", "https://example.com") };
    let errors = connect(&[far], &no_simulator, || std::time::UNIX_EPOCH).err().unwrap();
    assert_eq!(
        errors[0].to_string(),
        "provider 'far' speaks bedrock, which is not in this build: build it with the feature bedrock"
    );
}
