//! Anthropic's messages.

mod decode;
mod encode;
#[cfg(test)]
mod tests;

use super::Exchange;
use super::dialect::{Decoder, Dialect, KeyHeader, Request};

/// `POST {base}/v1/messages`.
#[derive(Clone, Copy, Debug)]
pub struct Anthropic;

impl Dialect for Anthropic {
    fn encode(&self, exchange: &Exchange) -> Request {
        Request {
            path: "/v1/messages".into(),
            query: None,
            headers: vec![("anthropic-version", "2023-06-01")],
            body: encode::body(exchange),
        }
    }

    fn decoder(&self, exchange: &Exchange) -> Box<dyn Decoder> {
        Box::new(decode::MessageDecoder::new(exchange))
    }

    fn key_header(&self) -> KeyHeader {
        KeyHeader::Named("x-api-key")
    }
}
