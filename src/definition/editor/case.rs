//! Cases as editors check them. What they hold (inputs, answers, outputs) depends on the workflow beside them, and is
//! left to the loader; what frames it is checked here.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde_json::json;

use crate::definition::case::{CASE_LIMIT, RawCase};
use crate::definition::editor::leaf::{Anything, Expression, Text};
use crate::definition::editor::mapping::{ListOf, Mapping, Named};
use crate::definition::editor::word::{OneOf, Status};
use crate::domain::failure::FailureClass;
use crate::workflow::case::{Ending, Told};

/// A cases file: a list of cases.
pub struct CaseList;

/// `expect`.
#[derive(JsonSchema)]
#[schemars(inline, transform = Mapping::closed())]
#[expect(dead_code, reason = "only its schema is used")]
pub struct ExpectKeys {
    /// How the run ends: delivered, degraded or failed, or a list of those it may be. Default: delivered or degraded;
    /// failed where failure is given.
    #[schemars(schema_with = "outcome")]
    outcome: Ending,
    /// The steps and items that are missing, exactly these in any order, as [gaps, "answer[3]"].
    #[schemars(with = "ListOf<Text>")]
    missing: Text,
    /// The steps whose answers nobody could verify, exactly these in any order.
    #[schemars(with = "ListOf<Text>")]
    unverified: Text,
    /// Why the run fails.
    failure: Failure,
    /// What comes out: name → value. Of mappings the keys given here, lists and single values exactly.
    #[schemars(with = "Named<Anything>")]
    output: Anything,
    /// How steps end: a step, or an item as answer[3] → {status, attempts}.
    #[schemars(with = "Named<Step>")]
    steps: Step,
    /// Conditions that must be true, each an expression over output, input and run, as length(output.bullets) <= 5.
    #[schemars(with = "ListOf<Expression>")]
    check: Expression,
}

/// `expect.failure`.
#[derive(JsonSchema)]
#[schemars(inline, transform = Mapping::closed())]
#[expect(dead_code, reason = "only its schema is used")]
struct Failure {
    /// The failure's class.
    #[schemars(with = "OneOf<FailureClass>")]
    class: FailureClass,
    /// The step that could not be had.
    #[schemars(with = "Text")]
    step: Text,
    /// Words that stand in the failure's message.
    #[schemars(with = "Text")]
    message: Text,
}

/// How a step or an item ends.
#[derive(JsonSchema)]
#[schemars(inline, transform = Mapping::closed())]
#[expect(dead_code, reason = "only its schema is used")]
struct Step {
    /// How it ends; of a whole each step, how every item ends.
    #[schemars(with = "OneOf<Status>")]
    status: Status,
    /// How many attempts it takes, from 0 to 100,000; of a whole each step, all items together.
    #[schemars(with = "u32", range(min = 0, max = 100_000))]
    attempts: u32,
}

/// What one attempt is told.
#[derive(JsonSchema)]
#[schemars(inline)]
#[expect(dead_code, reason = "only its schema is used")]
struct AnswerKeys {
    /// One answer an attempt, at least one; the last one repeats.
    #[schemars(rename = "$attempts", with = "ListOf<Answer>")]
    attempts: Anything,
    /// How the attempt fares, whatever the world. Default: as drawn.
    #[schemars(rename = "$fate", with = "OneOf<Told>")]
    fate: Told,
    /// The answer, where a fate stands beside it.
    #[schemars(rename = "$answer", with = "Anything")]
    answer: Anything,
}

/// What a model answers: the answer itself, as an object or as text word for word, or how attempts fare.
pub struct Answer;

/// `input` of a case.
pub fn input(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "object",
        "properties": {"$file": {
            "type": "string",
            "pattern": r"\S",
            "description": "A file whose content stands here, relative to this file: JSON where it ends in .json, text otherwise. Fields beside it are laid over its own.",
        }},
    })
}

fn outcome(generator: &mut SchemaGenerator) -> Schema {
    let word = OneOf::<Ending>::json_schema(generator);
    json_schema!({"anyOf": [word, {"type": "array", "items": word}]})
}

impl JsonSchema for Answer {
    fn schema_name() -> Cow<'static, str> {
        "answer".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let answer = generator.subschema_for::<Self>();
        let mut schema = AnswerKeys::json_schema(generator);
        schema.remove("description");
        schema.remove("required");
        schema.insert("type".to_owned(), json!(["string", "object", "array", "null"]));
        schema.insert("items".to_owned(), answer.into());
        schema.insert("errorMessage".to_owned(), json!(NO_ANSWER));
        schema
    }
}

const NO_ANSWER: &str = "An answer is an object, text (quoted where YAML would read a number), or a list of answers for an each step.";

impl JsonSchema for CaseList {
    fn schema_name() -> Cow<'static, str> {
        "Cases".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let case = RawCase::json_schema(generator);
        json_schema!({
            "description": "The cases of the workflow beside this file: known inputs, recorded answers, and what must come of them.",
            "type": ["array", "null"],
            "items": case,
            "maxItems": CASE_LIMIT,
            "errorMessage": "A cases file is a list: each case begins with a dash, as - name: a refund outside the window.",
        })
    }
}
