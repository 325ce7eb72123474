//! OpenAI's chat completions, and the many servers that speak them with an accent.

mod decode;
mod encode;
#[cfg(test)]
mod tests;

use crate::domain::provider::{ChatQuirks, KeyPlace};

use super::Exchange;
use super::dialect::{Decoder, Dialect, KeyHeader, Request};

/// `POST {base}/chat/completions`.
#[derive(Clone, Copy, Debug)]
pub struct Chat {
    /// What this server does differently.
    pub quirks: ChatQuirks,
}

impl Dialect for Chat {
    fn encode(&self, exchange: &Exchange) -> Request {
        Request {
            path: "/chat/completions".into(),
            query: None,
            headers: Vec::new(),
            body: encode::body(self.quirks, exchange),
        }
    }

    fn decoder(&self, exchange: &Exchange) -> Box<dyn Decoder> {
        Box::new(decode::ChatDecoder::new(exchange))
    }

    fn key_header(&self) -> KeyHeader {
        match self.quirks.key {
            KeyPlace::Bearer => KeyHeader::Bearer,
            KeyPlace::ApiKey => KeyHeader::Named("api-key"),
        }
    }
}
