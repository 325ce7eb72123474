//! The whole corpus of recorded failures, each row read the way its bytes arrive.

use std::collections::BTreeMap;

use proptest::prelude::*;
use serde_json::Value;

use super::anthropic::Anthropic;
use super::chat::Chat;
use super::classify::{Head, Lost, exception, lost};
use super::dialect::Dialect;
use super::fixture::{exchange, of_type, read};
use super::gemini::Gemini;
use super::responses::Responses;
use super::{Broken, Reply};
use crate::domain::failure::FailureClass;
use crate::domain::model::Structured;
use crate::domain::provider::ChatQuirks;

/// Rows that want the decoder of Bedrock's replies, which a build without the feature `bedrock` does not have:
/// documents of Converse with status 200. With it none is passed over.
const AWAITING_BEDROCK: &[&str] = if cfg!(feature = "bedrock") {
    &[]
} else {
    &["bedrock-guardrail", "bedrock-malformed-output"]
};

/// Rows of the corpus.
const ROWS: usize = 236;

fn corpus() -> Vec<Value> {
    let lines = include_str!("../../tests/fixtures/provider/failures.jsonl").lines();
    lines.map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn text<'a>(case: &'a Value, key: &str) -> &'a str {
    case[key].as_str().unwrap_or_default()
}

/// How a row is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum By {
    /// A response, through the reader and its dialect.
    Response,
    /// The payload of a frame whose headers name an exception.
    Exception,
    /// What the HTTP library says of a connection.
    Connection,
    /// A model's text, through the JSON gate: read in the tests of the schema room.
    Gate,
    /// Not in this build.
    Bedrock,
}

fn by(case: &Value) -> By {
    match (text(case, "kind"), text(case, "body_is")) {
        _ if AWAITING_BEDROCK.contains(&text(case, "id")) => By::Bedrock,
        ("transport", _) if case["status"].is_null() => By::Connection,
        (_, "model_text") => By::Gate,
        (_, "aws_eventstream_payload") => By::Exception,
        _ => By::Response,
    }
}

fn head(case: &Value) -> Head {
    let headers = case["headers"].as_object().unwrap();
    let status = u16::try_from(case["status"].as_u64().unwrap()).unwrap();
    let headers = headers.iter().map(|(n, v)| (n, v.as_str().unwrap_or_default())).collect();
    Head { status, headers }
}

/// The dialect of a row. A failure's body is read the same in all of them.
fn dialect(case: &Value) -> Box<dyn Dialect> {
    match (text(case, "provider"), text(case, "api")) {
        ("anthropic", _) => Box::new(Anthropic),
        #[cfg(feature = "bedrock")]
        ("bedrock", _) => Box::new(super::bedrock::Bedrock),
        ("gemini" | "gemini_vertex", _) => Box::new(Gemini),
        (_, "responses") => Box::new(Responses),
        _ => Box::new(Chat { quirks: ChatQuirks::NONE }),
    }
}

fn response(case: &Value, parts: &[&[u8]]) -> Result<Reply, Broken> {
    read(&*dialect(case), &exchange(Structured::Instruct, None), head(case), parts).0
}

fn outcome(case: &Value, by: By) -> Result<Reply, Broken> {
    let body = text(case, "body");
    match by {
        By::Exception => {
            let name = text(&case["headers"], ":exception-type");
            Err(exception(name, body.as_bytes()).into())
        }
        By::Connection => {
            // The library tells these apart by kind; the corpus has its words alone.
            let said = |word: &str| body.contains(word);
            let of = Lost {
                connecting: said("(Connect)"),
                timed_out: said("timed out"),
                answered: said("response body"),
                words: body,
            };
            Err(lost(&of).into())
        }
        By::Response | By::Gate | By::Bedrock => response(case, &[body.as_bytes()]),
    }
}

/// What is wrong with the reading of one row; `None` where it is right.
fn judge(case: &Value, by: By) -> Option<String> {
    let read = outcome(case, by);
    let (class, wait) = match &read {
        Ok(_) => ("valid_output_after_extraction", None),
        Err(broken) => (broken.failure.class.as_str(), broken.failure.retry_after),
    };
    let expected = &case["expect"];
    let also = expected["also_ok"].as_array().into_iter().flatten();
    let allowed: Vec<&str> =
        expected["class"].as_str().into_iter().chain(also.filter_map(Value::as_str)).collect();
    let asked = expected["retry_after_ms"].as_u64();
    let waits = wait.map(|wait| u64::try_from(wait.as_millis()).unwrap());
    let right = allowed.contains(&class) && waits == asked;
    (!right).then(|| {
        let id = text(case, "id");
        format!("{id}: {class}, wait {waits:?}; expected {allowed:?}, {asked:?}: {read:?}")
    })
}

#[test]
fn every_recorded_failure_is_classified_as_it_was_meant() {
    let rows = corpus();
    assert_eq!(rows.len(), ROWS);
    let mut counts: BTreeMap<By, usize> = BTreeMap::new();
    let mut wrong = Vec::new();
    for case in &rows {
        let by = by(case);
        *counts.entry(by).or_default() += 1;
        if !matches!(by, By::Gate | By::Bedrock) {
            wrong.extend(judge(case, by));
        }
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
    // A corpus that shrinks proves less.
    let awaiting = AWAITING_BEDROCK.len();
    let expected = [
        (By::Response, 208 - awaiting),
        (By::Exception, 2),
        (By::Connection, 6),
        (By::Gate, 20),
        (By::Bedrock, awaiting),
    ];
    assert_eq!(counts, expected.into_iter().filter(|(_, rows)| *rows > 0).collect());
}

#[test]
fn a_failure_says_what_the_provider_said_and_never_the_models_words() {
    for case in corpus().iter().filter(|case| by(case) == By::Response) {
        let Err(broken) = outcome(case, By::Response) else { continue };
        let id = text(case, "id");
        assert!(!broken.failure.message.is_empty(), "{id}");
        assert!(broken.failure.message.chars().count() <= 500, "{id}: {broken:?}");
        let partial = broken.partial.trim();
        let quoted = partial.len() > 12 && broken.failure.message.contains(partial);
        assert!(!quoted, "{id}: {broken:?}");
    }
}

#[test]
fn a_recorded_stream_reads_the_same_wherever_it_is_cut() {
    let streams = |case: &&Value| text(case, "kind") == "stream" && by(case) == By::Response;
    for case in corpus().iter().filter(streams) {
        let body = text(case, "body").as_bytes();
        let whole = response(case, &[body]);
        // Every third place is enough here: the event decoder's own test cuts at every byte.
        for at in (0..body.len()).step_by(3) {
            let (left, right) = body.split_at(at);
            assert_eq!(response(case, &[left, right]), whole, "{} at {at}", case["id"]);
        }
    }
}

/// Recorded streams of the same answer, and who speaks so.
fn answers() -> Vec<(&'static str, Box<dyn Dialect>, &'static str)> {
    macro_rules! body {
        ($folder:literal) => {
            include_str!(concat!("../../tests/fixtures/provider/", $folder, "/answer.sse"))
        };
    }
    let chat = || Box::new(Chat { quirks: ChatQuirks::NONE });
    vec![
        ("chat", chat(), body!("chat")),
        ("azure", chat(), body!("azure")),
        ("databricks", chat(), body!("databricks")),
        ("deepseek", chat(), body!("deepseek")),
        ("groq", chat(), body!("groq")),
        ("mistral", chat(), body!("mistral")),
        ("openrouter", chat(), body!("openrouter")),
        ("anthropic", Box::new(Anthropic), body!("anthropic")),
        ("gemini", Box::new(Gemini), body!("gemini")),
        ("openai_responses", Box::new(Responses), body!("openai_responses")),
    ]
}

fn streamed(dialect: &dyn Dialect, body: &[u8]) -> Result<Reply, Broken> {
    read(dialect, &exchange(Structured::Instruct, None), of_type("text/event-stream"), &[body]).0
}

const ANSWER: &str = "The capital is Paris.";

#[test]
fn a_stream_that_breaks_off_anywhere_is_the_whole_answer_or_a_failure_that_keeps_its_part() {
    for (name, dialect, body) in answers() {
        let mut complete = false;
        for at in 0..=body.len() {
            match streamed(&*dialect, &body.as_bytes()[..at]) {
                Ok(reply) => {
                    assert_eq!(reply.text, ANSWER, "{name} at {at}");
                    complete = true;
                }
                Err(broken) => {
                    assert!(!complete, "{name} at {at}: {broken:?}");
                    let class = broken.failure.class;
                    assert_eq!(class, FailureClass::StreamInterrupted, "{name} at {at}");
                    assert!(ANSWER.starts_with(&broken.partial), "{name} at {at}: {broken:?}");
                }
            }
        }
        assert!(complete, "{name}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn a_stream_that_was_tampered_with_never_panics_and_is_never_a_blank_answer(
        which in 0_usize..10, at in 0.0..1.0, length in 0_usize..40, byte in any::<u8>(), how in 0_u8..3,
    ) {
        let (name, dialect, body) = answers().swap_remove(which);
        let mut bytes = body.as_bytes().to_vec();
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, clippy::cast_precision_loss, reason = "a place in a short text")]
        let start = (at * bytes.len() as f64) as usize;
        let end = (start + length).min(bytes.len());
        match how {
            0 => drop(bytes.drain(start..end)),
            1 => bytes[start..end].fill(byte),
            _ => {
                let again = bytes[start..end].to_vec();
                bytes.splice(end..end, again);
            }
        }
        if let Ok(reply) = streamed(&*dialect, &bytes) {
            prop_assert!(!reply.text.trim().is_empty(), "{}", name);
        }
    }
}
