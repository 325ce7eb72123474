//! Amazon Bedrock's Converse, one format for the models of many vendors.
//!
//! Shapes are those of the service's own model, `bedrock-runtime/2023-09-30` in `botocore` 1.44.8.

mod decode;
mod encode;
mod sign;
#[cfg(test)]
mod tests;

pub use sign::Signer;

use super::Exchange;
use super::dialect::{Decoder, Dialect, KeyHeader, Request};

/// `POST {base}/model/{id}/converse-stream`.
#[derive(Clone, Copy, Debug)]
pub struct Bedrock;

impl Dialect for Bedrock {
    fn encode(&self, exchange: &Exchange) -> Request {
        Request {
            path: encode::path(&exchange.profile.id).into(),
            query: None,
            headers: vec![("accept", "application/vnd.amazon.eventstream, application/json")],
            body: encode::body(exchange),
        }
    }

    fn decoder(&self, exchange: &Exchange) -> Box<dyn Decoder> {
        Box::new(decode::ConverseDecoder::new(exchange))
    }

    fn key_header(&self) -> KeyHeader {
        KeyHeader::Bearer
    }
}
