//! Gemini's own format. Its OpenAI-like one hides blocked prompts and what was thought.

mod decode;
mod encode;
#[cfg(test)]
mod tests;

use super::Exchange;
use super::dialect::{Decoder, Dialect, KeyHeader, Request};

/// `POST {base}/v1beta/models/{model}:streamGenerateContent?alt=sse`.
#[derive(Clone, Copy, Debug)]
pub struct Gemini;

impl Dialect for Gemini {
    fn encode(&self, exchange: &Exchange) -> Request {
        Request {
            path: encode::path(&exchange.profile.id).into(),
            // Without it the stream is one JSON array.
            query: Some("alt=sse".into()),
            headers: Vec::new(),
            body: encode::body(exchange),
        }
    }

    fn decoder(&self, exchange: &Exchange) -> Box<dyn Decoder> {
        Box::new(decode::ContentDecoder::new(exchange))
    }

    fn key_header(&self) -> KeyHeader {
        KeyHeader::Named("x-goog-api-key")
    }
}
