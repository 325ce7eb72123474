//! Decodes server-sent events, as LLM servers really send them.
//!
//! The crates for it drop what a failing server says last: an unterminated frame, a line of an unknown
//! field (`error: {..}`), or panic on a byte-order mark. This decoder keeps all of it and bounds the rest.

#[cfg(test)]
mod tests;

use std::borrow::Cow;

/// Most bytes of one event, its line breaks and field names included.
pub const MAX_EVENT: usize = 1 << 20;
/// Most bytes of one stream.
pub const MAX_STREAM: usize = 32 << 20;

/// What a stream consists of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Frame {
    /// An event, closed by a blank line or by the stream's end.
    Event(Event),
    /// A comment line: a sign of life that says nothing.
    Comment,
}

/// One event.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Event {
    /// The `event` field.
    pub name: Option<String>,
    /// The `data` fields, joined by line feeds.
    pub data: String,
    /// Lines of fields this decoder does not know, as they came; a bare `error: {..}` is one.
    pub unknown: Vec<String>,
    /// Whether bytes of it were no UTF-8, so that its data are not what was sent.
    pub garbled: bool,
}

/// A stream that grew beyond its bounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TooLarge {
    /// One event did.
    #[error("one event is larger than {} KiB", MAX_EVENT >> 10)]
    Event,
    /// The whole did.
    #[error("the stream is larger than {} MiB", MAX_STREAM >> 20)]
    Stream,
}

/// A decoder's state: feed it chunks as they come, then [`finish`](Decoder::finish).
#[derive(Debug, Default)]
pub struct Decoder {
    line: Vec<u8>,
    event: Event,
    has_data: bool,
    event_bytes: usize,
    total: usize,
    after_cr: bool,
    lines: u64,
    bare: bool,
}

impl Decoder {
    /// A decoder of bare lines, each the data of an event: `application/x-ndjson`.
    #[must_use]
    pub fn of_lines() -> Self {
        Self { bare: true, ..Self::default() }
    }

    /// Takes the next bytes, however they were cut, and appends the frames they complete to `out`.
    ///
    /// # Errors
    /// A stream beyond [`MAX_EVENT`] or [`MAX_STREAM`]. The decoder is of no use afterwards.
    pub fn push(&mut self, bytes: &[u8], out: &mut Vec<Frame>) -> Result<(), TooLarge> {
        self.total += bytes.len();
        if self.total > MAX_STREAM {
            return Err(TooLarge::Stream);
        }
        let mut rest = bytes;
        while !rest.is_empty() {
            if std::mem::take(&mut self.after_cr) && rest[0] == b'\n' {
                rest = &rest[1..];
                continue;
            }
            let end = rest.iter().position(|b| matches!(b, b'\n' | b'\r'));
            let part = &rest[..end.unwrap_or(rest.len())];
            self.event_bytes += part.len() + 1;
            if self.event_bytes > MAX_EVENT {
                return Err(TooLarge::Event);
            }
            self.line.extend_from_slice(part);
            let Some(end) = end else { break };
            self.after_cr = rest[end] == b'\r';
            rest = &rest[end + 1..];
            self.end_line(out);
        }
        Ok(())
    }

    /// Ends the stream: a line or event without its end is surfaced, not dropped.
    pub fn finish(mut self, out: &mut Vec<Frame>) {
        if !self.line.is_empty() {
            self.end_line(out);
        }
        self.end_event(out);
    }

    fn end_line(&mut self, out: &mut Vec<Frame>) {
        let bytes = std::mem::take(&mut self.line);
        self.lines += 1;
        let bytes = match bytes.strip_prefix(b"\xEF\xBB\xBF") {
            Some(rest) if self.lines == 1 => rest,
            _ => &bytes,
        };
        if bytes.is_empty() {
            self.end_event(out);
            return;
        }
        let line = String::from_utf8_lossy(bytes);
        let garbled = matches!(line, Cow::Owned(_));
        if self.bare {
            self.event = Event { data: line.into_owned(), garbled, ..Event::default() };
            self.has_data = true;
            self.end_event(out);
            return;
        }
        let (field, value) = line.split_once(':').unwrap_or((&line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "" => {
                self.event_bytes = self.event_bytes.saturating_sub(bytes.len() + 1);
                out.push(Frame::Comment);
            }
            "data" => {
                if self.has_data {
                    self.event.data.push('\n');
                }
                self.has_data = true;
                self.event.garbled |= garbled;
                self.event.data.push_str(value);
            }
            "event" => self.event.name = Some(value.to_owned()),
            "id" | "retry" => {}
            _ => self.event.unknown.push(line.into_owned()),
        }
    }

    fn end_event(&mut self, out: &mut Vec<Frame>) {
        self.event_bytes = 0;
        let event = std::mem::take(&mut self.event);
        let has_data = std::mem::take(&mut self.has_data);
        if has_data || event.name.is_some() || !event.unknown.is_empty() {
            out.push(Frame::Event(event));
        }
    }
}
