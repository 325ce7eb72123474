//! Addresses and regions of providers.

use crate::definition::config::read::SECRET_IN_FILE;
use crate::definition::page::{Reader, Spanned, WRONG_VALUE};
use crate::definition::yaml::Node;

pub(super) fn url(reader: &mut Reader<'_>, node: &Node, what: &str) -> Option<Spanned<String>> {
    let text = reader.text(node, what)?;
    let value = text.value.trim().trim_end_matches('/').to_owned();
    let rest = value.strip_prefix("https://").or_else(|| value.strip_prefix("http://"));
    if let Some(name) = secret_parameter(&value) {
        let message = format!("{what} holds a secret: the value of `{name}`");
        let help = "name it by reference: `api_key: {env: NAME}`, or a header under `headers` with {env: NAME}";
        reader.error(SECRET_IN_FILE, &text.span, message).help(help).source_line = None;
        return None;
    }
    let host = rest.and_then(|rest| rest.split(['/', '?', '#']).next()).unwrap_or("");
    if host.is_empty() || value.contains(char::is_whitespace) {
        let message = format!("{what} must be an http or https address");
        reader.error(WRONG_VALUE, &text.span, message).help("as https://api.example.com/v1");
        return None;
    }
    if host.contains('@') {
        reader
            .error(SECRET_IN_FILE, &text.span, format!("{what} holds a user or password"))
            .help("name the key under `api_key` by {env: NAME} or {file: PATH}");
        return None;
    }
    Some(Spanned { value, span: text.span })
}

/// Parameters of addresses that are keys, or prove that somebody has one.
const SECRET_PARAMETERS: [&str; 11] = [
    "key",
    "apikey",
    "api_key",
    "api-key",
    "token",
    "access_token",
    "sig",
    "signature",
    "secret",
    "client_secret",
    "password",
];

/// The first parameter in the addresses of `text` that is a secret.
pub fn secret_parameter(text: &str) -> Option<&'static str> {
    text.split(['?', '&']).skip(1).find_map(|parameter| {
        let (name, value) = parameter.split_once('=')?;
        let secret = SECRET_PARAMETERS.iter().find(|secret| secret.eq_ignore_ascii_case(name))?;
        (!value.is_empty()).then_some(*secret)
    })
}

/// Whether `name` can be a part of a host's name, as an AWS region is.
pub fn is_region(name: &str) -> bool {
    let allowed = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-';
    (1..=32).contains(&name.len()) && name.bytes().all(allowed)
}

pub(super) fn region(reader: &mut Reader<'_>, node: &Node, what: &str) -> Option<String> {
    let text = reader.text(node, what)?;
    if !is_region(&text.value) {
        let message = format!("{what} must be the name of an AWS region");
        reader.error(WRONG_VALUE, &text.span, message).help("as us-east-1");
        return None;
    }
    Some(text.value)
}
