use proptest::prelude::*;
use serde_json::json;

use super::*;

fn decode(parts: &[&[u8]]) -> (Vec<Frame>, Result<(), Unreadable>) {
    let mut decoder = Decoder::default();
    let mut out = Vec::new();
    for part in parts {
        if let Err(error) = decoder.push(part, &mut out) {
            return (out, Err(error));
        }
    }
    (out, decoder.finish())
}

fn event(name: &str, data: &Value) -> Frame {
    let data = data.to_string();
    Frame::Event(Event { name: Some(name.to_owned()), data, unknown: Vec::new(), garbled: false })
}

fn hello() -> Vec<Value> {
    vec![
        json!({"messageStart": {"role": "assistant"}}),
        json!({"contentBlockDelta": {"contentBlockIndex": 0, "delta": {"text": "Grüße"}}}),
        json!({"messageStop": {"stopReason": "end_turn"}}),
    ]
}

fn said(events: &[Value]) -> Vec<Frame> {
    let pairs = events.iter().flat_map(|each| each.as_object().unwrap().iter());
    pairs.map(|(name, data)| event(name, data)).collect()
}

/// A frame of the specification, byte by byte: no headers, the payload `{'foo':'bar'}`.
#[test]
fn the_specifications_own_frame_is_read() {
    let bytes = b"\x00\x00\x00\x1d\x00\x00\x00\x00\xfd\x52\x8c\x5a{'foo':'bar'}\xc3\x65\x39\x36";
    assert_eq!(frames::frame(&[], b"{'foo':'bar'}"), bytes);
    let nameless = Event { data: "{'foo':'bar'}".to_owned(), ..Event::default() };
    assert_eq!(decode(&[bytes]), (vec![Frame::Event(nameless)], Ok(())));
}

#[test]
fn a_stream_reads_the_same_wherever_it_is_cut() {
    let bytes = frames::stream(&hello());
    let whole = (said(&hello()), Ok(()));
    assert_eq!(decode(&[&bytes]), whole);
    for at in 0..=bytes.len() {
        let (left, right) = bytes.split_at(at);
        assert_eq!(decode(&[left, right]), whole, "at {at}");
    }
    let single: Vec<&[u8]> = bytes.chunks(1).collect();
    assert_eq!(decode(&single), whole);
}

#[test]
fn a_stream_that_ends_within_a_frame_says_so_and_keeps_what_was_whole() {
    let bytes = frames::stream(&hello());
    let ends: Vec<usize> = (0..=3).map(|n| frames::stream(&hello()[..n]).len()).collect();
    for at in 0..bytes.len() {
        let whole = ends.iter().filter(|end| **end <= at).count() - 1;
        let expected = if ends.contains(&at) { Ok(()) } else { Err(Unreadable::Cut) };
        assert_eq!(decode(&[&bytes[..at]]), (said(&hello()[..whole]), expected), "at {at}");
    }
}

#[test]
fn a_flipped_bit_anywhere_is_damage() {
    let bytes = frames::stream(&hello());
    let first = frames::stream(&hello()[..1]).len();
    for bit in 0..bytes.len() * 8 {
        let mut flipped = bytes.clone();
        flipped[bit / 8] ^= 1 << (bit % 8);
        let (frames, end) = decode(&[&flipped]);
        assert!(matches!(end, Err(Unreadable::Damaged(_))), "{bit}: {end:?}");
        assert_eq!(!frames.is_empty(), bit / 8 >= first, "{bit}");
    }
}

#[test]
fn an_exception_becomes_an_error_of_its_type() {
    let said = json!({"message": "Slow down."});
    let expected = json!({"error": {"message": "Slow down.", "type": "throttlingException"}});
    let (frames, end) = decode(&[&frames::exception("throttlingException", &said)]);
    assert_eq!((frames, end), (vec![event("throttlingException", &expected)], Ok(())));
}

#[test]
fn an_error_without_a_payload_has_its_words_in_its_headers() {
    let headers = [
        (":message-type", "error"),
        (":error-code", "InternalFailure"),
        (":error-message", "An internal server error occurred."),
    ];
    let expected = json!({"error": {
        "message": "An internal server error occurred.", "type": "InternalFailure",
    }});
    let frame = frames::frame(&headers, b"");
    assert_eq!(decode(&[&frame]).0, [event("InternalFailure", &expected)]);
    let bare = frames::frame(&[(":message-type", "exception")], b"not JSON");
    let expected = json!({"error": {"message": "not JSON", "type": ""}});
    assert_eq!(decode(&[&bare]).0, [event("", &expected)]);
}

#[test]
fn frames_and_streams_are_read_up_to_their_bounds() {
    let most = frames::frame(&[], &vec![b'x'; MAX_EVENT - SMALLEST]);
    assert_eq!((decode(&[&most]).0.len(), most.len()), (1, MAX_EVENT));
    let larger = frames::frame(&[], &vec![b'x'; MAX_EVENT - SMALLEST + 1]);
    // Its prelude is enough to refuse it.
    assert_eq!(decode(&[&larger[..PRELUDE]]).1, Err(Unreadable::TooLarge(TooLarge::Event)));
    let mut decoder = Decoder::default();
    let mut out = Vec::new();
    for _ in 0..MAX_STREAM / MAX_EVENT {
        decoder.push(&most, &mut out).unwrap();
        out.clear();
    }
    let beyond = decoder.push(b"\0", &mut out);
    assert_eq!(beyond, Err(Unreadable::TooLarge(TooLarge::Stream)));
}

#[test]
fn a_length_that_cannot_be_is_damage() {
    let mut frame = Vec::from(11_u32.to_be_bytes());
    frame.extend([0; 4]);
    frame.extend(crc32fast::hash(&frame).to_be_bytes());
    assert!(matches!(decode(&[&frame]).1, Err(Unreadable::Damaged(_))));
    // Headers longer than their frame, with checksums that are right.
    let mut frame = Vec::from(16_u32.to_be_bytes());
    frame.extend(9_u32.to_be_bytes());
    frame.extend(crc32fast::hash(&frame).to_be_bytes());
    frame.extend(crc32fast::hash(&frame).to_be_bytes());
    assert!(matches!(decode(&[&frame]).1, Err(Unreadable::Damaged(_))));
}

proptest! {
    #[test]
    fn any_cuts_of_any_stream_give_the_same_events(
        texts in prop::collection::vec("\\PC{0,40}", 0..6),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..8),
    ) {
        let events: Vec<Value> =
            texts.iter().map(|text| json!({"contentBlockDelta": {"delta": {"text": text}}})).collect();
        let bytes = frames::stream(&events);
        let mut places: Vec<usize> = cuts.iter().map(|cut| cut.index(bytes.len() + 1)).collect();
        places.extend([0, bytes.len()]);
        places.sort_unstable();
        let parts: Vec<&[u8]> = places.windows(2).map(|pair| &bytes[pair[0]..pair[1]]).collect();
        prop_assert_eq!(decode(&parts), (said(&events), Ok(())));
    }

    #[test]
    fn no_bytes_are_too_much(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = decode(&[&bytes]);
    }

    /// Headers of any form behind a prelude that is right.
    #[test]
    fn no_headers_are_too_much(
        head in prop::collection::vec(any::<u8>(), 0..80), length in 0_u32..100,
    ) {
        let mut frame = Vec::from(u32::try_from(head.len() + SMALLEST).unwrap().to_be_bytes());
        frame.extend(length.to_be_bytes());
        frame.extend(crc32fast::hash(&frame).to_be_bytes());
        frame.extend(&head);
        frame.extend(crc32fast::hash(&frame).to_be_bytes());
        let _ = decode(&[&frame]);
    }
}
