//! OpenAI's responses.

mod decode;
mod encode;
#[cfg(test)]
mod tests;

use super::Exchange;
use super::dialect::{Decoder, Dialect, KeyHeader, Request};

/// `POST {base}/responses`.
#[derive(Clone, Copy, Debug)]
pub struct Responses;

impl Dialect for Responses {
    fn encode(&self, exchange: &Exchange) -> Request {
        Request {
            path: "/responses".into(),
            query: None,
            headers: Vec::new(),
            body: encode::body(exchange),
        }
    }

    fn decoder(&self, exchange: &Exchange) -> Box<dyn Decoder> {
        Box::new(decode::ResponseDecoder::new(exchange))
    }

    fn key_header(&self) -> KeyHeader {
        KeyHeader::Bearer
    }
}
