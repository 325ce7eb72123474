//! Shapes, `policy.cutoff` and `policy.hedge`: values that are written short or long.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde_json::{Value, json};

use crate::definition::editor::leaf::{Anything, Duration, Text};
use crate::definition::editor::mapping::Mapping;
use crate::definition::editor::word::word_or;

/// A shape in any of its forms; recursive, and so the one definition that is referred to.
pub struct Shape;

/// The keys of an annotated shape.
#[derive(JsonSchema)]
#[schemars(inline, transform = Mapping::closed())]
#[expect(dead_code, reason = "only its schema is used")]
struct Annotation {
    /// The shape itself: string, integer, number, boolean, any, [T], T | null, low | high, a name of shapes, or
    /// a mapping of fields.
    #[schemars(rename = "$type", with = "Shape")]
    base: Shape,
    /// What the field means, for people and for the model, which sees it in its schema.
    #[schemars(rename = "$about", with = "Text")]
    about: Text,
    /// What stands in where the field is absent. It must fit the shape; the field then need not be given.
    #[schemars(rename = "$default", with = "Anything")]
    default: Anything,
    /// The least number, the fewest characters or the fewest items, itself included.
    #[schemars(rename = "$min", with = "f64")]
    min: f64,
    /// The greatest number, the most characters or the most items, itself included.
    #[schemars(rename = "$max", with = "f64")]
    max: f64,
    /// A regular expression that must be found in the text; it runs in linear time, so without look-around and
    /// back-references.
    #[schemars(rename = "$pattern", with = "Text")]
    pattern: Text,
    /// A file with a JSON Schema (2020-12) in the workflow's folder, as schemas/draft.json.
    #[schemars(rename = "$ref", with = "Text")]
    reference: Text,
    /// A JSON Schema (2020-12), in place. Nothing is loaded from the network.
    #[schemars(rename = "$schema", with = "std::collections::BTreeMap<String, Anything>")]
    schema: Anything,
}

/// What a step waits for before it stops relying on an attempt.
#[derive(JsonSchema)]
#[schemars(inline, transform = Mapping::closed())]
#[expect(dead_code, reason = "only its schema is used")]
struct Cutoffs {
    /// How long to wait for the first token, from 10ms to 10m, counted from when the request was sent. Absent: as
    /// long as it takes.
    #[schemars(with = "Duration")]
    first_token: Duration,
    /// How long to wait for a further token, from 10ms to 10m. Absent: as long as it takes.
    #[schemars(with = "Duration")]
    idle: Duration,
    /// How long to wait for the whole answer, from 10ms to 10m, counted from when the request was sent. Absent: as
    /// long as it takes.
    #[schemars(with = "Duration")]
    total: Duration,
}

/// `policy.cutoff`.
pub struct Cutoff;

/// `policy.hedge`.
pub struct Hedge;

const NO_SHAPE: &str = "A shape says what is allowed: string, integer, number, boolean, any, [T], T | null, low | high, or a mapping of fields.";
const SHAPE_WORDS: [&str; 7] =
    ["string", "integer", "number", "boolean", "any", "string | null", "low | high"];

impl JsonSchema for Shape {
    fn schema_name() -> Cow<'static, str> {
        "shape".into()
    }

    /// One flat schema of three types, not a choice of three: what an editor says of a wrong key is then about
    /// that key, and what it offers is all that may stand there.
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let shape = generator.subschema_for::<Self>();
        let mut schema = Annotation::json_schema(generator);
        schema.remove("description");
        schema.insert("type".to_owned(), json!(["string", "array", "object"]));
        schema.insert("pattern".to_owned(), json!(r"\S"));
        schema.insert("errorMessage".to_owned(), json!(NO_SHAPE));
        schema.insert("examples".to_owned(), json!(SHAPE_WORDS));
        schema.insert("items".to_owned(), shape.clone().into());
        schema.insert("minItems".to_owned(), json!(1));
        schema.insert("maxItems".to_owned(), json!(1));
        // A pattern would be enough for validation, but editors offer words for `additionalProperties` alone.
        schema.insert("additionalProperties".to_owned(), shape.into());
        schema.insert("propertyNames".to_owned(), names(&schema));
        schema.insert("dependencies".to_owned(), annotated());
        schema
    }
}

/// Fields, and the annotations that there are.
fn names(schema: &Schema) -> Value {
    let keys = schema.get("properties").and_then(Value::as_object);
    let keys: Vec<&str> = keys.into_iter().flatten().map(|(key, _)| key.as_str()).collect();
    let words: Vec<&str> = keys.iter().map(|key| key.trim_start_matches('$')).collect();
    json!({
        "pattern": format!(r"^([^$]|\$({})$)", words.join("|")),
        "patternErrorMessage": format!("Keys that start with $ annotate: {}.", keys.join(", ")),
    })
}

/// An annotation annotates a `$type`, `$ref` or `$schema`, and one of them only.
fn annotated() -> Value {
    let none = json!({
        "if": {"anyOf": [{"required": ["$type"]}, {"required": ["$ref"]}, {"required": ["$schema"]}]},
        "else": {"required": ["$type"], "errorMessage": "An annotated shape has no $type; fields' own names may not start with $."},
    });
    let one = |others: [&str; 2]| {
        let others = others.map(|key| (key.to_owned(), Value::Bool(false)));
        json!({
            "properties": serde_json::Map::from_iter(others),
            "errorMessage": "Keep one of $type, $ref, $schema.",
        })
    };
    json!({
        "$about": none, "$default": none, "$min": none, "$max": none, "$pattern": none,
        "$type": one(["$ref", "$schema"]),
        "$ref": one(["$type", "$schema"]),
    })
}

impl JsonSchema for Cutoff {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Cutoff".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let mut mapping = Cutoffs::json_schema(generator);
        mapping.remove("description");
        let pattern = r"^(auto|[0-9]+(\.[0-9]{1,6})? *(ms|s|m|h))$";
        let message =
            "A cutoff is auto, a duration as 20s, or {first_token: 4s, idle: 5s, total: 20s}.";
        word_or(pattern, message, &json!(["auto", "20s"]), &mapping)
    }
}

impl JsonSchema for Hedge {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Hedge".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"enum": ["auto", "off"], "enumDescriptions": [
            "It stays in the race while it can still win. The default.",
            "It is closed before the next one starts.",
        ]})
    }
}
