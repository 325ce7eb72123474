use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::domain::failure::FailureClass;
use crate::domain::model::Subset;
use crate::domain::shape::{Field, ListRange, Object, Range, TextRange};

mod conversion;
mod extraction;
mod portability;
mod projection;

const SUBSETS: [Subset; 8] = [
    Subset::Standard,
    Subset::OpenAi,
    Subset::Anthropic,
    Subset::Gemini,
    Subset::Bedrock,
    Subset::Databricks,
    Subset::Xai,
    Subset::Grammar,
];

fn schema(source: Value) -> Schema {
    Schema::compile(source).unwrap()
}

fn told(schema: &Schema, value: &Value) -> Vec<String> {
    schema.violations(value).iter().map(ToString::to_string).collect()
}

fn order() -> Schema {
    schema(json!({
        "type": "object",
        "required": ["reply", "items", "tone"],
        "additionalProperties": false,
        "properties": {
            "reply": {"type": "string", "maxLength": 5, "pattern": "^[A-Z]"},
            "tone": {"enum": ["warm", "plain"]},
            "items": {"type": "array", "minItems": 1, "items": {
                "type": "object",
                "required": ["price"],
                "properties": {"price": {"type": "number", "minimum": 1}},
            }},
            "note": {"anyOf": [{"type": "string", "minLength": 2}, {"type": "null"}]},
        },
    }))
}

#[test]
fn violations_say_where_what_was_expected_and_what_was_there_in_document_order() {
    let value = json!({
        "note": "x",
        "items": [{"price": 2}, {"price": "12"}, {}, {"price": 0}],
        "tone": "cold",
        "extra": 1,
    });
    assert_eq!(
        told(&order(), &value),
        [
            "missing field 'reply'",
            "field 'extra' is not allowed",
            "/note: expected at least 2 characters, got 1: string \"x\"",
            "/items/1/price: expected number, got string \"12\"",
            "/items/2: missing field 'price'",
            "/items/3/price: expected at least 1, got number 0",
            "/tone: expected one of 'warm', 'plain', got string \"cold\"",
        ]
    );
}

#[test]
fn other_bounds_read_as_sentences() {
    let rows = [
        (
            json!({"type": "string", "pattern": "^a$"}),
            json!("b"),
            "expected text matching ^a$, got string \"b\"",
        ),
        (
            json!({"type": "string", "maxLength": 2}),
            json!("abc"),
            "expected at most 2 characters, got 3: string \"abc\"",
        ),
        (json!({"minItems": 2}), json!([1]), "expected at least 2 items, got 1"),
        (json!({"maxItems": 1}), json!([1, 2]), "expected at most 1 items, got 2"),
        (json!({"const": 3}), json!(4), "expected 3, got number 4"),
        (json!({"type": ["string", "null"]}), json!(4), "expected null or string, got number 4"),
        (
            json!({"anyOf": [{"type": "string"}, {"type": "null"}]}),
            json!(4),
            "expected string or null, got number 4",
        ),
        (json!({"type": "integer"}), json!(1.5), "expected integer, got number 1.5"),
        (json!({"not": {"type": "null"}}), json!(null), "this is excluded by 'not': null"),
        (
            json!({"uniqueItems": true}),
            json!([1, 1]),
            "expected different items, got the same one twice",
        ),
        (json!({"multipleOf": 5}), json!(7), "expected a multiple of 5, got number 7"),
        (
            json!({"properties": {"a": false}}),
            json!({"a": 1}),
            "/a: nothing is allowed here, got number 1",
        ),
        (
            json!({"propertyNames": {"maxLength": 1}}),
            json!({"ab": 1}),
            "a field's name does not fit: expected at most 1 characters, got 2: string \"ab\"",
        ),
        (json!({"dependentRequired": {"a": ["b"]}}), json!({"a": 1}), "missing field 'b'"),
    ];
    for (source, value, expected) in rows {
        assert_eq!(told(&schema(source.clone()), &value), [expected], "{source}");
    }
}

#[test]
fn a_value_that_fits_has_no_violations() {
    let value = json!({"reply": "Yes", "tone": "warm", "items": [{"price": 1.5}], "note": null});
    assert_eq!(told(&order(), &value), [""; 0]);
}

#[test]
fn a_long_value_is_quoted_in_part_and_a_long_list_of_violations_is_cut() {
    let source = json!({"type": "array", "items": {"type": "number"}});
    let value: Value = (0..500).map(|_| Value::from("é".repeat(5_000))).collect();
    let violations = schema(source).violations(&value);
    assert_eq!(violations.len(), MAX_VIOLATIONS);
    assert_eq!(violations[0].pointer, "/0");
    assert_eq!(violations[19].pointer, "/19");
    let quoted = violations[0].message.strip_prefix("expected number, got string ").unwrap();
    assert_eq!(quoted.chars().count(), 81, "{quoted}");
    assert!(quoted.ends_with('…'));
}

#[test]
fn pointers_are_escaped_and_ordered_by_place_not_by_name() {
    let source = json!({"additionalProperties": {"type": "string"}});
    let told = told(&schema(source), &json!({"z/y": 1, "a~b": 2, "10": 3, "9": 4}));
    let pointers: Vec<&str> = told.iter().map(|line| line.split(':').next().unwrap()).collect();
    assert_eq!(pointers, ["/z~1y", "/a~0b", "/10", "/9"]);
}

#[test]
fn an_unusable_schema_is_refused_with_its_place() {
    let deep = (0..80).fold(json!({}), |inner, _| json!({"items": inner}));
    let wide: Value = (0..21_000).map(|n| Value::from(n.to_string())).collect();
    let rows = [
        (json!({"type": "strnig"}), "/type", "strnig"),
        (json!({"properties": {"a": {"minLength": -1}}}), "/properties/a/minLength", "-1"),
        (
            json!({"items": {"$ref": "https://example.com/a.json"}}),
            "/items/$ref",
            "nothing is fetched",
        ),
        (json!({"items": {"$ref": "file:///etc/passwd"}}), "/items/$ref", "nothing is fetched"),
        (json!({"items": {"$ref": "other.json#/a"}}), "/items/$ref", "nothing is fetched"),
        (json!({"items": {"$ref": "#/$defs/none"}}), "/items/$ref", "is not in the document"),
        (json!({"$ref": "#"}), "", "leads back to itself"),
        (
            json!({"$defs": {"a": {"allOf": [{"$ref": "#/$defs/b"}]}, "b": {"$ref": "#/$defs/a"}}}),
            "/$defs/",
            "leads back to itself",
        ),
        (json!({"$schema": "http://json-schema.org/draft-07/schema#"}), "/$schema", "2020-12"),
        (json!({"$defs": {"a": {"$id": "x"}}}), "/$defs/a/$id", "only the root"),
        (json!({"pattern": "(?=a)b"}), "/pattern", "(?=a)b"),
        (json!({"pattern": "["}), "/pattern", "["),
        (deep, "", "levels deep"),
        (json!({"enum": wide}), "", "more than 20000 values"),
    ];
    for (source, pointer, message) in rows {
        let text: String = source.to_string().chars().take(120).collect();
        let error = Schema::compile(source).expect_err(&text);
        assert!(error.pointer.starts_with(pointer), "{text}: {error:?}");
        assert!(error.message.contains(message), "{text}: {error:?}");
    }
}

#[test]
fn a_property_named_ref_and_data_that_holds_one_are_no_references() {
    let source = json!({
        "properties": {"$ref": {"type": "string"}},
        "const": {"$ref": "https://example.com"},
    });
    assert!(Schema::compile(source).is_ok());
}

#[test]
fn local_references_anchors_and_recursion_are_validated() {
    let tree = schema(json!({
        "$ref": "#/$defs/node",
        "$defs": {
            "node": {"type": "object", "properties": {
                "children": {"type": "array", "items": {"$ref": "#/$defs/node"}},
                "name": {"$ref": "#word"},
            }},
            "word": {"$anchor": "word", "type": "string"},
        },
    }));
    let value = json!({"name": "a", "children": [{"children": [{"name": 3}]}]});
    assert_eq!(told(&tree, &value), ["/children/0/children/0/name: expected string, got number 3"]);
}

#[test]
fn a_pattern_that_would_backtrack_for_ages_is_linear_here() {
    let schema = schema(json!({"pattern": "^(a+)+$"}));
    assert!(!schema.accepts(&Value::from(format!("{}b", "a".repeat(50_000)))));
}

#[test]
fn formats_are_not_asserted() {
    assert!(schema(json!({"format": "date"})).accepts(&json!("not a date")));
}

fn schema_like() -> impl Strategy<Value = Value> {
    let keyword = prop_oneof![
        Just("type"),
        Just("properties"),
        Just("items"),
        Just("required"),
        Just("anyOf"),
        Just("enum"),
        Just("$ref"),
        Just("$defs"),
        Just("not"),
        Just("additionalProperties"),
        Just("pattern"),
        Just("minLength"),
        Just("const"),
        Just("allOf"),
        Just("description"),
        Just("a"),
    ];
    let leaf = prop_oneof![
        Just(json!("object")),
        Just(json!("string")),
        Just(json!("#")),
        Just(json!("#/$defs/a")),
        Just(json!("#/properties/a")),
        Just(json!(true)),
        Just(json!(null)),
        any::<i64>().prop_map(Value::from),
        "[a-z\\[(?+*]{0,4}".prop_map(Value::from),
    ];
    leaf.prop_recursive(6, 40, 4, move |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
            proptest::collection::vec((keyword.clone(), inner), 0..4).prop_map(|entries| {
                entries.into_iter().map(|(key, value)| (key.to_owned(), value)).collect::<Value>()
            }),
        ]
    })
}

proptest! {
    #[test]
    fn no_schema_makes_this_room_panic_or_loop(source in schema_like(), value in schema_like()) {
        let _ = Schema::to_shape(&source);
        let _ = inline(&source);
        for subset in SUBSETS {
            let _ = project(&source, subset);
        }
        if let Ok(schema) = Schema::compile(source) {
            prop_assert_eq!(schema.violations(&value).is_empty(), schema.accepts(&value));
        }
    }
}

#[test]
fn a_compiled_schema_can_be_shared_between_threads() {
    fn shared<T: Send + Sync + 'static>() {}
    shared::<Schema>();
}

#[test]
fn a_long_chain_of_references_does_not_exhaust_the_stack() {
    let mut defs = serde_json::Map::new();
    for n in 0..4_900 {
        let next = format!("#/$defs/d{}", n + 1);
        defs.insert(format!("d{n}"), json!({"properties": {"a": {"$ref": next}}}));
    }
    defs.insert("d4900".to_owned(), json!({"type": "string"}));
    let source = json!({"type": "object", "$ref": "#/$defs/d0", "$defs": defs});
    assert!(inline(&source).is_err());
    let _ = Schema::to_shape(&source);
    let _ = Schema::compile(source);
}
