use proptest::prelude::*;

use super::*;

fn decode(parts: &[&[u8]]) -> Vec<Frame> {
    let mut decoder = Decoder::default();
    let mut out = Vec::new();
    for part in parts {
        decoder.push(part, &mut out).unwrap();
    }
    decoder.finish(&mut out);
    out
}

fn data(text: &str) -> Frame {
    Frame::Event(Event { data: text.to_owned(), ..Event::default() })
}

fn named(name: &str, text: &str) -> Frame {
    let (name, data) = (Some(name.to_owned()), text.to_owned());
    Frame::Event(Event { name, data, ..Event::default() })
}

#[test]
fn every_line_ending_and_spacing_is_read() {
    for stream in
        ["data: a\n\ndata:b\n\n", "data: a\r\n\r\ndata:b\r\n\r\n", "data: a\r\rdata:b\r\r"]
    {
        assert_eq!(decode(&[stream.as_bytes()]), [data("a"), data("b")], "{stream:?}");
    }
    assert_eq!(decode(&[b"data:  two\n\n"]), [data(" two")]);
}

#[test]
fn a_carriage_return_at_a_chunks_end_is_one_line_end_with_the_feed_that_follows() {
    assert_eq!(decode(&[b"data: a\r", b"\ndata: b\r", b"\n\r", b"\n"]), [data("a\nb")]);
}

#[test]
fn a_byte_order_mark_is_skipped_at_the_start_alone() {
    assert_eq!(decode(&[b"\xEF", b"\xBB\xBFdata: a\n\n"]), [data("a")]);
    let later = decode(&[b"data: a\n\xEF\xBB\xBFdata: b\n\n"]);
    let unknown = vec!["\u{feff}data: b".to_owned()];
    assert_eq!(later, [Frame::Event(Event { data: "a".to_owned(), unknown, ..Event::default() })]);
}

#[test]
fn several_data_lines_are_one_text_and_names_are_kept() {
    let stream = b"event: delta\nid: 7\nretry: 10\ndata: {\ndata\ndata: }\n\n\n\nevent: ping\n\n";
    assert_eq!(decode(&[stream]), [named("delta", "{\n\n}"), named("ping", "")]);
}

#[test]
fn comments_are_signs_of_life_and_no_events() {
    let stream = b": keep-alive\n\n:\n\ndata: a\n: inside\ndata: b\n\n";
    let comment = Frame::Comment;
    assert_eq!(decode(&[stream]), [comment.clone(), comment.clone(), comment, data("a\nb")]);
}

#[test]
fn what_has_no_end_and_what_is_unknown_is_surfaced() {
    assert_eq!(decode(&[b"data: a\n\ndata: {\"b\""]), [data("a"), data("{\"b\"")]);
    let unknown = vec!["error: {\"code\":400}".to_owned()];
    assert_eq!(
        decode(&[b"error: {\"code\":400}\n\n"]),
        [Frame::Event(Event { unknown, ..Event::default() })]
    );
}

#[test]
fn bytes_that_are_no_text_spoil_one_frame_alone() {
    let frames = decode(&[b"data: \xff\n\ndata: \xe2\x82", b"\xac\n\n"]);
    let garbled = Event { data: "\u{fffd}".to_owned(), garbled: true, ..Event::default() };
    assert_eq!(frames, [Frame::Event(garbled), data("\u{20ac}")]);
}

#[test]
fn bare_lines_are_events_and_the_last_needs_no_end() {
    let mut decoder = Decoder::of_lines();
    let mut out = Vec::new();
    decoder.push(b"{\"a\":1}\r\n\n{\"b\"", &mut out).unwrap();
    decoder.push(b":2}", &mut out).unwrap();
    decoder.finish(&mut out);
    assert_eq!(out, [data("{\"a\":1}"), data("{\"b\":2}")]);
}

#[test]
fn an_event_and_a_stream_have_their_bounds() {
    let mut out = Vec::new();
    let line = vec![b'x'; 64 << 10];
    let mut decoder = Decoder::default();
    let pushed = (0..17).map(|_| decoder.push(&line, &mut out)).find(Result::is_err);
    assert_eq!(pushed, Some(Err(TooLarge::Event)));

    // Many short lines of one event count together; comments between events do not.
    let mut decoder = Decoder::default();
    let lines = b"data: x\n".repeat(1 << 14);
    let pushed = (0..17).map(|_| decoder.push(&lines, &mut out)).find(Result::is_err);
    assert_eq!(pushed, Some(Err(TooLarge::Event)));

    let mut decoder = Decoder::default();
    let comments = format!(":{}\n", "x".repeat(1000)).repeat(256);
    let mut refused = None;
    for _ in 0..200 {
        out.clear();
        if let Err(large) = decoder.push(comments.as_bytes(), &mut out) {
            refused = Some(large);
            break;
        }
    }
    assert_eq!(refused, Some(TooLarge::Stream));
}

fn pieces() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        Just(&b"\n"[..]),
        Just(&b"\r"[..]),
        Just(&b"\r\n"[..]),
        Just(&b"data: "[..]),
        Just(&b"data:"[..]),
        Just(&b"event: e"[..]),
        Just(&b": c"[..]),
        Just(&b"error: x"[..]),
        Just(&b"\xEF\xBB\xBF"[..]),
        Just("\u{20ac}\u{1f600}".as_bytes()),
        Just(&b"\xff"[..]),
        Just(&b"{\"a\":1}"[..]),
    ];
    proptest::collection::vec(piece, 0..24).prop_map(|pieces| pieces.concat())
}

proptest! {
    // Each case is cut at every byte, which makes up for their number.
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn a_stream_reads_the_same_wherever_it_is_cut(stream in pieces()) {
        let whole = decode(&[&stream]);
        for at in 0..=stream.len() {
            let (left, right) = stream.split_at(at);
            prop_assert_eq!(&decode(&[left, right]), &whole, "cut at {}", at);
        }
        let bytes: Vec<&[u8]> = stream.chunks(1).collect();
        prop_assert_eq!(&decode(&bytes), &whole, "byte by byte");
    }
}
