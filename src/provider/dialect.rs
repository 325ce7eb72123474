//! What a wire format must be able to do: encode an exchange, decode the reply. Pure; no I/O.

use std::borrow::Cow;

use serde_json::Value;

use crate::domain::failure::Failure;

use super::sse::Event;
use super::{Broken, Exchange, Reply, Sink};

/// A request's parts that depend on the dialect.
#[derive(Clone, Debug, PartialEq)]
pub struct Request {
    /// Appended to the base URL's path, percent-encoded already.
    pub path: Cow<'static, str>,
    /// The query, without its question mark; takes the place of the base URL's where it is given.
    pub query: Option<Cow<'static, str>>,
    /// Headers of the dialect's own.
    pub headers: Vec<(&'static str, &'static str)>,
    /// The JSON body.
    pub body: Value,
}

/// The header a key is sent in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyHeader {
    /// `Authorization: Bearer KEY`
    Bearer,
    /// `NAME: KEY`
    Named(&'static str),
}

/// A wire format.
pub trait Dialect: Send + Sync {
    /// The request for `exchange`, streaming.
    fn encode(&self, exchange: &Exchange) -> Request;
    /// A decoder for the reply to `exchange`.
    fn decoder(&self, exchange: &Exchange) -> Box<dyn Decoder>;
    /// Where the key goes.
    fn key_header(&self) -> KeyHeader;
}

/// How far a reply has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// More of the answer may follow.
    Open,
    /// The answer is complete; counts may follow.
    Finished,
    /// Nothing more will follow.
    Closed,
}

/// A reply being read. An error ends it.
pub trait Decoder: Send {
    /// Takes one event of a stream.
    ///
    /// # Errors
    /// A failure that the event reports, or an event that cannot be read.
    fn event(&mut self, event: &Event, sink: &mut dyn Sink) -> Result<Progress, Failure>;

    /// Takes a reply that came as one JSON document.
    ///
    /// # Errors
    /// A failure that the document reports, or a document that is no reply.
    fn whole(&mut self, body: &Value, sink: &mut dyn Sink) -> Result<(), Failure>;

    /// Ends a reply after which the connection ended in good order.
    ///
    /// # Errors
    /// An answer that is incomplete, refused, filtered or empty.
    fn finish(self: Box<Self>) -> Result<Reply, Broken>;

    /// Ends a reply that failed, keeping what had arrived.
    fn abort(self: Box<Self>, failure: Failure) -> Broken;
}
