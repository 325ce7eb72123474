//! Decodes AWS's binary event streams, `application/vnd.amazon.eventstream`, into the events that dialects read.
//!
//! A frame is a prelude (its length, its headers' length, a CRC of both), headers, a payload, and a CRC of it all.
//! `aws-smithy-eventstream` reads a frame; bounds, cuts at any byte and errors among the events are seen to here.
//! An error (`:message-type` `exception` or `error`) becomes an event `{"error": {"type": .., ..}}`, as
//! [`classify`](super::classify) reads it.

/// What the tests here and those on loopback write streams with.
#[cfg(test)]
#[path = "../../tests/loopback/frames.rs"]
#[allow(dead_code, reason = "the tests on loopback need all of it")]
pub(super) mod frames;
#[cfg(test)]
mod tests;

use aws_smithy_eventstream::frame::read_message_from;
use serde_json::{Map, Value, json};

use super::sse::{Event, Frame, MAX_EVENT, MAX_STREAM, TooLarge};

/// The content type.
pub const CONTENT_TYPE: &str = "application/vnd.amazon.eventstream";
/// Bytes of a prelude: two lengths and their CRC.
const PRELUDE: usize = 12;
/// Bytes of the smallest frame: a prelude and the CRC of the whole.
const SMALLEST: usize = PRELUDE + 4;

/// A stream that cannot be read on.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unreadable {
    /// It grew beyond its bounds.
    #[error(transparent)]
    TooLarge(#[from] TooLarge),
    /// A checksum or a length is wrong.
    #[error("a frame of the event stream is damaged: {0}")]
    Damaged(String),
    /// It ended within a frame.
    #[error("the event stream ended within a frame")]
    Cut,
}

/// A decoder's state: feed it chunks as they come, then [`finish`](Decoder::finish).
#[derive(Debug, Default)]
pub struct Decoder {
    buffer: Vec<u8>,
    total: usize,
}

impl Decoder {
    /// Takes the next bytes, however they were cut, and appends the frames they complete to `out`.
    ///
    /// # Errors
    /// A damaged frame, one beyond [`MAX_EVENT`], a stream beyond [`MAX_STREAM`]. What stood before is in `out`;
    /// the decoder is of no use afterwards.
    pub fn push(&mut self, bytes: &[u8], out: &mut Vec<Frame>) -> Result<(), Unreadable> {
        self.total += bytes.len();
        if self.total > MAX_STREAM {
            return Err(TooLarge::Stream.into());
        }
        self.buffer.extend_from_slice(bytes);
        let mut start = 0;
        while let Some(length) = length(&self.buffer[start..])? {
            let end = start + length;
            let Some(frame) = self.buffer.get(start..end) else { break };
            out.push(Frame::Event(read(frame)?));
            start = end;
        }
        self.buffer.drain(..start);
        Ok(())
    }

    /// Ends the stream.
    ///
    /// # Errors
    /// Half a frame, which says nothing that could be relied on.
    pub fn finish(self) -> Result<(), Unreadable> {
        if self.buffer.is_empty() { Ok(()) } else { Err(Unreadable::Cut) }
    }
}

/// The length of the frame that `bytes` begin with; `None` while its prelude is not there. Its checksum is looked at
/// before the length is believed, so that a damaged one is not waited for.
fn length(bytes: &[u8]) -> Result<Option<usize>, Unreadable> {
    let Some(prelude) = bytes.first_chunk::<PRELUDE>() else { return Ok(None) };
    let [l0, l1, l2, l3, .., c0, c1, c2, c3] = *prelude;
    if crc32fast::hash(&prelude[..8]) != u32::from_be_bytes([c0, c1, c2, c3]) {
        return Err(Unreadable::Damaged("the checksum of its prelude is wrong".to_owned()));
    }
    let length = usize::try_from(u32::from_be_bytes([l0, l1, l2, l3])).unwrap_or(usize::MAX);
    match length {
        ..SMALLEST => Err(Unreadable::Damaged("its length is none".to_owned())),
        _ if length > MAX_EVENT => Err(TooLarge::Event.into()),
        _ => Ok(Some(length)),
    }
}

fn read(frame: &[u8]) -> Result<Event, Unreadable> {
    let message = read_message_from(frame).map_err(|e| Unreadable::Damaged(e.to_string()))?;
    let header = |wanted: &str| {
        let header = message.headers().iter().find(|header| header.name().as_str() == wanted)?;
        header.value().as_string().ok().map(|value| value.as_str().to_owned())
    };
    let payload = String::from_utf8_lossy(message.payload());
    Ok(match header(":message-type").as_deref() {
        Some("exception") => {
            let said = match serde_json::from_str(&payload) {
                Ok(Value::Object(said)) => said,
                _ => Map::from_iter([("message".to_owned(), Value::from(payload))]),
            };
            failed(header(":exception-type"), said)
        }
        Some("error") => {
            let words = header(":error-message").unwrap_or_default();
            failed(
                header(":error-code"),
                Map::from_iter([("message".to_owned(), Value::from(words))]),
            )
        }
        _ => Event {
            name: header(":event-type"),
            data: payload.into_owned(),
            unknown: Vec::new(),
            garbled: false,
        },
    })
}

/// The event of an error.
fn failed(kind: Option<String>, mut said: Map<String, Value>) -> Event {
    let kind = kind.unwrap_or_default();
    said.insert("type".to_owned(), kind.clone().into());
    Event {
        name: Some(kind),
        data: json!({"error": said}).to_string(),
        unknown: Vec::new(),
        garbled: false,
    }
}
