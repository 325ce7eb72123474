//! Cases as editors check them. What they hold (inputs, answers, outputs) depends on the workflow beside them, and is
//! left to the loader; what frames it is checked here.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde_json::json;

use crate::definition::editor::leaf::{Anything, Duration, Expression, SomeText, Text};
use crate::definition::editor::mapping::{ListOf, Mapping, Named};
use crate::definition::editor::word::{Class, Ending, Fate, OneOf, Regime, Status};

/// A cases file: a list of cases.
pub struct CaseList;

/// A case: a known input, what models answer to it, and what must come of it. punctual test runs it offline, in
/// virtual time.
#[derive(JsonSchema)]
#[schemars(inline, transform = Mapping::closed().required(&["name"]))]
#[expect(dead_code, reason = "only its schema is used")]
struct Case {
    /// What is special about the case, as a refund outside the window: its own in this file, 1 to 120 characters.
    #[schemars(with = "SomeText")]
    name: SomeText,
    /// The arguments of the call: name → value. {$file: inputs/report.txt} stands for a file's content, at any place
    /// and relative to this file. Default: none.
    #[schemars(schema_with = "input")]
    input: Anything,
    /// The simulated world it is tested in. Default: calm.
    #[schemars(with = "OneOf<Regime>")]
    regime: Regime,
    /// The seed of that world's luck: a whole number from 0. Default: 1.
    #[schemars(with = "u64")]
    seed: u64,
    /// A caller's own deadline, from 100ms to 10m: it shortens the workflow's. Default: the workflow's.
    #[schemars(with = "Duration")]
    deadline: Duration,
    /// What models answer: step → answer; for an each step a list of answers, one an item, null where it is made up.
    /// What is not given is made up by shape.
    #[schemars(with = "Named<Answer>")]
    answers: Anything,
    /// What must come of it. What is not said is not looked at.
    expect: Expect,
}

/// `expect`.
#[derive(JsonSchema)]
#[schemars(inline, transform = Mapping::closed())]
#[expect(dead_code, reason = "only its schema is used")]
struct Expect {
    /// How the run ends: delivered, degraded or failed, or a list of those it may be. Default: delivered; failed where
    /// failure is given.
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
    #[schemars(with = "OneOf<Class>")]
    class: Class,
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
    #[schemars(rename = "$fate", with = "OneOf<Fate>")]
    fate: Fate,
    /// The answer, where a fate stands beside it.
    #[schemars(rename = "$answer", with = "Anything")]
    answer: Anything,
}

/// What a model answers: the answer itself, as an object or as text word for word, or how attempts fare.
struct Answer;

fn input(_: &mut SchemaGenerator) -> Schema {
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
    json_schema!({"anyOf": [word, {"type": "array", "items": word, "minItems": 1}]})
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
        let case = Case::json_schema(generator);
        json_schema!({
            "description": "The cases of the workflow beside this file: known inputs, recorded answers, and what must come of them.",
            "type": ["array", "null"],
            "items": case,
            "maxItems": 500,
            "errorMessage": "A cases file is a list: each case begins with a dash, as - name: a refund outside the window.",
        })
    }
}
