//! Reads a response, whatever it turns out to be: events, one document, or an error page. Pure.
//!
//! A provider that is asked to stream may answer with a JSON document, with HTML from a gateway, or with a
//! 200 whose body is an error. What it is, is decided by status and content type before anything is parsed.

#[cfg(test)]
mod tests;

use crate::domain::failure::{Failure, FailureClass, Scope};
use crate::domain::provider::Remaining;

use super::classify::{self, Head};
use super::dialect::{Decoder, Progress};
#[cfg(feature = "bedrock")]
use super::event_stream;
use super::sse::{self, Frame};
use super::{Broken, Reply, Sink, remaining};

/// Most bytes of an error body that are read.
pub const MAX_ERROR_BODY: usize = 64 << 10;
/// Most bytes of an answer that comes as one document: as much text as the JSON gate looks at.
pub const MAX_DOCUMENT: usize = 8 << 20;
/// Most values in it. Parsed, a value of two bytes takes 72, so that bytes alone bound no memory.
const MAX_VALUES: usize = 100_000;
/// Most bytes that are read behind the last event of a stream.
const MAX_BEHIND: usize = 64 << 10;

/// A response being read.
pub struct Reader {
    head: Head,
    decoder: Box<dyn Decoder>,
    body: Body,
    failed: Option<Failure>,
    progress: Progress,
    remaining: Option<Box<Remaining>>,
    /// Bytes behind the last event.
    behind: usize,
}

enum Body {
    Events(Framing, Vec<Frame>),
    Document(Vec<u8>),
    Failure(Vec<u8>),
    /// Its type says too little, and too little has arrived to tell.
    Unnamed(Vec<u8>),
}

/// How events are put into bytes.
enum Framing {
    Sse(sse::Decoder),
    #[cfg(feature = "bedrock")]
    Binary(event_stream::Decoder),
}

impl Framing {
    fn push(&mut self, bytes: &[u8], frames: &mut Vec<Frame>) -> Result<(), Failure> {
        match self {
            Self::Sse(decoder) => {
                decoder.push(bytes, frames).map_err(|large| beyond(large.to_string()))
            }
            #[cfg(feature = "bedrock")]
            Self::Binary(decoder) => decoder.push(bytes, frames).map_err(|error| broken(&error)),
        }
    }

    /// Ends the stream, once, and says what is wrong with its end.
    fn finish(&mut self, frames: &mut Vec<Frame>) -> Option<Failure> {
        match self {
            Self::Sse(decoder) => {
                std::mem::take(decoder).finish(frames);
                None
            }
            #[cfg(feature = "bedrock")]
            Self::Binary(decoder) => std::mem::take(decoder).finish().err().map(|e| broken(&e)),
        }
    }
}

/// Whether more of the response is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wants {
    /// All of it.
    More,
    /// Counts that may follow a complete answer.
    Counts,
    /// The connection's end, for its reuse.
    End,
    /// Nothing: the outcome is known.
    Nothing,
}

impl Reader {
    /// Begins with the response's head.
    #[must_use]
    pub fn new(head: Head, decoder: Box<dyn Decoder>) -> Self {
        let kind = head.content_type();
        let remaining = remaining::read(&head.headers).map(Box::new);
        if let Some(coding) = head.coding() {
            let failed = Some(classify::compressed(&head, coding));
            let body = Body::Failure(Vec::new());
            let progress = Progress::Open;
            return Self { head, decoder, body, failed, progress, remaining, behind: 0 };
        }
        let body = if !(200..300).contains(&head.status) {
            Body::Failure(Vec::new())
        } else if kind == "application/json" || kind.ends_with("+json") {
            Body::Document(Vec::new())
        } else if kind == "text/event-stream" {
            Body::Events(Framing::Sse(sse::Decoder::default()), Vec::new())
        } else if matches!(kind.as_str(), "application/x-ndjson" | "application/jsonl") {
            Body::Events(Framing::Sse(sse::Decoder::of_lines()), Vec::new())
        } else if let Some(framing) = binary(&kind) {
            Body::Events(framing, Vec::new())
        } else if matches!(kind.as_str(), "" | "text/plain" | "application/octet-stream") {
            Body::Unnamed(Vec::new())
        } else {
            Body::Failure(Vec::new())
        };
        let progress = Progress::Open;
        Self { head, decoder, body, failed: None, progress, remaining, behind: 0 }
    }

    /// What the head says is left of the provider's limits.
    #[must_use]
    pub fn remaining(&self) -> Option<&Remaining> {
        self.remaining.as_deref()
    }

    /// Whether what is read is an error's body, which need not be waited for.
    #[must_use]
    pub fn is_failure(&self) -> bool {
        matches!(self.body, Body::Failure(_))
    }

    /// What is wanted of the body before any of it has come.
    #[must_use]
    pub fn wants(&self) -> Wants {
        if self.failed.is_some() { Wants::Nothing } else { Wants::More }
    }

    /// Takes the next bytes of the body and says whether more are wanted.
    pub fn push(&mut self, bytes: &[u8], sink: &mut dyn Sink) -> Wants {
        if self.failed.is_some() {
            return Wants::Nothing;
        }
        if self.progress == Progress::Closed {
            // Behind the last event only the connection's end is of use, and not at any price.
            self.behind += bytes.len();
            return if self.behind > MAX_BEHIND { Wants::Nothing } else { Wants::End };
        }
        if let Body::Unnamed(start) = &mut self.body {
            start.extend_from_slice(bytes);
            let start = std::mem::take(start);
            let Some(body) = sniff(&start) else {
                self.body = Body::Unnamed(start);
                return Wants::More;
            };
            self.body = body;
            return self.push(&start, sink);
        }
        match &mut self.body {
            Body::Failure(body) => {
                let room = MAX_ERROR_BODY - body.len();
                body.extend_from_slice(&bytes[..bytes.len().min(room)]);
                return if body.len() < MAX_ERROR_BODY { Wants::More } else { Wants::Nothing };
            }
            Body::Document(body) => {
                if body.len() + bytes.len() > MAX_DOCUMENT {
                    let most = MAX_DOCUMENT >> 20;
                    self.failed = Some(beyond(format!("the answer is larger than {most} MiB")));
                    return Wants::Nothing;
                }
                body.extend_from_slice(bytes);
                return Wants::More;
            }
            Body::Unnamed(_) => return Wants::More,
            Body::Events(framing, frames) => {
                let pushed = framing.push(bytes, frames);
                self.take_frames(sink);
                if let Err(failure) = pushed {
                    // A bound that is met behind a complete answer takes nothing from it.
                    if self.progress == Progress::Open {
                        self.failed.get_or_insert(failure);
                    }
                    return Wants::Nothing;
                }
            }
        }
        match self.progress {
            _ if self.failed.is_some() => Wants::Nothing,
            Progress::Open => Wants::More,
            Progress::Finished => Wants::Counts,
            Progress::Closed => Wants::End,
        }
    }

    fn take_frames(&mut self, sink: &mut dyn Sink) {
        let Body::Events(_, frames) = &mut self.body else { return };
        for frame in std::mem::take(frames) {
            let Frame::Event(event) = frame else { continue };
            if self.progress == Progress::Closed {
                continue;
            }
            let told = if event.garbled {
                Err(classify::unreadable_event())
            } else {
                self.decoder.event(&event, sink)
            };
            match told {
                Ok(progress) => self.progress = progress,
                Err(failure) => self.fail(failure),
            }
            if self.failed.is_some() {
                return;
            }
        }
    }

    /// The first failure counts. Half a frame behind a complete answer takes nothing from it.
    fn fail(&mut self, failure: Failure) {
        let complete = self.progress != Progress::Open;
        if !(complete && failure.class == FailureClass::StreamInterrupted) {
            self.failed.get_or_insert(failure);
        }
    }

    /// Ends the response, its last byte having arrived (or, for a complete answer, not been waited for).
    ///
    /// # Errors
    /// Everything but a complete answer.
    pub fn end(mut self, sink: &mut dyn Sink) -> Result<Reply, Broken> {
        if self.failed.is_none() {
            self.drain(sink);
        }
        let ended = match self.failed.take() {
            Some(failure) => Err(self.decoder.abort(failure)),
            None => self.decoder.finish(),
        };
        with_remaining(ended, self.remaining)
    }

    /// Ends the response whose connection broke. An answer that was complete by then stands.
    ///
    /// # Errors
    /// Everything but a complete answer: what the provider itself had said by then, or else `failure`.
    pub fn broken(mut self, failure: Failure, sink: &mut dyn Sink) -> Result<Reply, Broken> {
        if matches!(self.body, Body::Events(..)) && self.failed.is_none() {
            self.drain(sink);
        }
        let ended = match self.failed.take() {
            Some(said) if said.class != FailureClass::StreamInterrupted => {
                Err(self.decoder.abort(said))
            }
            None if self.progress != Progress::Open => self.decoder.finish(),
            _ => Err(self.decoder.abort(failure)),
        };
        with_remaining(ended, self.remaining)
    }

    fn drain(&mut self, sink: &mut dyn Sink) {
        match &mut self.body {
            Body::Failure(body) | Body::Unnamed(body) => {
                if self.remaining.is_none()
                    && let Ok(error) = serde_json::from_slice(body)
                {
                    self.remaining = remaining::in_error(&self.head.headers, &error).map(Box::new);
                }
                self.failed = Some(classify::response(&self.head, body));
            }
            Body::Document(body) if values(body) > MAX_VALUES => {
                let message = format!("the answer's JSON holds more than {MAX_VALUES} values");
                self.failed = Some(beyond(message));
            }
            Body::Document(body) => match serde_json::from_slice(body) {
                Ok(document) => {
                    if let Err(failure) = self.decoder.whole(&document, sink) {
                        if self.remaining.is_none() {
                            let left = remaining::in_error(&self.head.headers, &document);
                            self.remaining = left.map(Box::new);
                        }
                        self.failed = Some(if classify::is_error(&document) {
                            classify::response(&self.head, body)
                        } else {
                            failure
                        });
                    }
                }
                Err(error) => self.failed = Some(unreadable(&error)),
            },
            Body::Events(framing, frames) => {
                let cut = framing.finish(frames);
                self.take_frames(sink);
                if let Some(failure) = cut {
                    self.fail(failure);
                }
            }
        }
    }
}

/// The binary framing of a content type, where this build reads it.
#[cfg(feature = "bedrock")]
fn binary(kind: &str) -> Option<Framing> {
    (kind == event_stream::CONTENT_TYPE).then(|| Framing::Binary(event_stream::Decoder::default()))
}

#[cfg(not(feature = "bedrock"))]
fn binary(_: &str) -> Option<Framing> {
    None
}

#[cfg(feature = "bedrock")]
fn broken(error: &event_stream::Unreadable) -> Failure {
    use event_stream::Unreadable;
    let evidence = match error {
        Unreadable::TooLarge(large) => return beyond(large.to_string()),
        Unreadable::Damaged(_) => "damaged frame",
        Unreadable::Cut => "end of stream within a frame",
    };
    Failure::of_attempt(FailureClass::StreamInterrupted, evidence, error.to_string())
}

/// The outcome together with what the response's head said.
fn with_remaining(
    ended: Result<Reply, Broken>,
    remaining: Option<Box<Remaining>>,
) -> Result<Reply, Broken> {
    match ended {
        Ok(reply) => Ok(Reply { remaining, ..reply }),
        Err(broken) => Err(Broken { remaining, ..broken }),
    }
}

/// The failure of an answer beyond a bound.
fn beyond(message: String) -> Failure {
    let failure =
        Failure::of_attempt(FailureClass::ServerError, "answer beyond its bound", message);
    Failure { scope: Scope::Path, ..failure }
}

/// At most how many values a JSON text holds: one more than its commas and opening brackets outside of strings.
fn values(text: &[u8]) -> usize {
    let (mut in_string, mut escaped, mut count) = (false, false, 1);
    for byte in text {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_string => escaped = true,
            b'"' => in_string = !in_string,
            b',' | b'[' | b'{' if !in_string => count += 1,
            _ => {}
        }
    }
    count
}

/// The failure of a document that cannot be parsed. It may hold half an answer, so it is not quoted.
fn unreadable(error: &serde_json::Error) -> Failure {
    let (class, message) = if error.is_eof() {
        (FailureClass::StreamInterrupted, "the server's JSON answer breaks off")
    } else {
        (FailureClass::ServerError, "the server announced JSON and sent something else")
    };
    Failure::of_attempt(class, "200 with unreadable JSON", message)
}

/// What a body without a telling type is, by its first bytes; `None` while they are too few.
fn sniff(body: &[u8]) -> Option<Body> {
    const FIELDS: [&[u8]; 5] = [b"data:", b"event:", b"id:", b"error:", b"retry:"];
    let start = body.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(body).trim_ascii_start();
    let events = start.first() == Some(&b':') || FIELDS.iter().any(|f| start.starts_with(f));
    match start.first() {
        Some(b'{' | b'[') => Some(Body::Document(Vec::new())),
        _ if events => Some(Body::Events(Framing::Sse(sse::Decoder::default()), Vec::new())),
        _ if start.len() < 6 && body.len() < MAX_ERROR_BODY => None,
        _ => Some(Body::Failure(Vec::new())),
    }
}
