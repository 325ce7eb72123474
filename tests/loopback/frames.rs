//! AWS's binary event streams as a server writes them, made without the crate that reads them.

use serde_json::Value;

/// The content type of such a stream.
pub const CONTENT_TYPE: &str = "application/vnd.amazon.eventstream";

/// One frame: string headers and a payload.
pub fn frame(headers: &[(&str, &str)], payload: &[u8]) -> Vec<u8> {
    let mut head = Vec::new();
    for (name, value) in headers {
        head.push(u8::try_from(name.len()).expect("short names"));
        head.extend_from_slice(name.as_bytes());
        // 7: a string, of two bytes' length.
        head.push(7);
        head.extend_from_slice(&u16::try_from(value.len()).expect("short values").to_be_bytes());
        head.extend_from_slice(value.as_bytes());
    }
    let total = 12 + head.len() + payload.len() + 4;
    let mut frame = Vec::with_capacity(total);
    frame.extend_from_slice(&u32::try_from(total).expect("small frames").to_be_bytes());
    frame.extend_from_slice(&u32::try_from(head.len()).expect("small heads").to_be_bytes());
    frame.extend_from_slice(&crc32(&frame).to_be_bytes());
    frame.extend_from_slice(&head);
    frame.extend_from_slice(payload);
    frame.extend_from_slice(&crc32(&frame).to_be_bytes());
    frame
}

/// The frame of one event, as Bedrock writes it: `event("messageStop", json!({"stopReason": "end_turn"}))`.
pub fn event(kind: &str, payload: &Value) -> Vec<u8> {
    let headers =
        [(":event-type", kind), (":content-type", "application/json"), (":message-type", "event")];
    frame(&headers, payload.to_string().as_bytes())
}

/// The frame of an error in mid-stream: `exception("throttlingException", json!({"message": ".."}))`.
pub fn exception(kind: &str, payload: &Value) -> Vec<u8> {
    let headers = [
        (":exception-type", kind),
        (":content-type", "application/json"),
        (":message-type", "exception"),
    ];
    frame(&headers, payload.to_string().as_bytes())
}

/// The frames of a list of events, each `{"KIND": {..}}`, as the service's union has them; a kind that ends in
/// `Exception` is one.
pub fn stream(events: &[Value]) -> Vec<u8> {
    let one = |each: &Value| {
        let (kind, payload) = each.as_object().and_then(|o| o.iter().next()).expect("{kind: ..}");
        let ends_it = kind.ends_with("Exception");
        if ends_it { exception(kind, payload) } else { event(kind, payload) }
    };
    events.iter().flat_map(one).collect()
}

/// CRC-32 of zlib and Ethernet, bit by bit.
fn crc32(bytes: &[u8]) -> u32 {
    let mut crc = u32::MAX;
    for byte in bytes {
        crc ^= u32::from(*byte);
        for _ in 0..8 {
            crc = if crc & 1 == 1 { (crc >> 1) ^ 0xEDB8_8320 } else { crc >> 1 };
        }
    }
    !crc
}
