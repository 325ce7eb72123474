use proptest::prelude::*;

use super::*;
use crate::domain::shape::{Field, ListRange, Object, Range, Shape, TextRange};

fn prompt() -> Prompt {
    exchange(None).prompt
}

fn answered(schema: &Value) -> Value {
    let text = answer(&prompt(), Some(schema), 1_024).unwrap();
    serde_json::from_str(&text).unwrap()
}

#[test]
fn strings_words_and_ids_are_taken_from_the_prompt() {
    let value = answered(&triage());
    assert_eq!(value["kind"], "billing", "the one word of the enum that stands in the prompt");
    assert_eq!(value["sources"][0]["id"], "T-1042");
    assert_eq!(value["sources"][1]["id"], "KB-7");
    let quote = value["sources"][1]["quote"].as_str().unwrap();
    assert!(DOCUMENT.contains(quote), "{quote}");
    assert!(value["reply"].as_str().unwrap().starts_with("Ticket T-1042: the kettle"));
    assert!(Schema::compile(triage()).unwrap().accepts(&value));
}

#[test]
fn what_a_swap_says_is_not_quoted() {
    let mut told = exchange(Some(triage()));
    let before = answer(&told.prompt, told.schema.as_deref(), 1_024);
    let resume = " ran out at step 1/2, which is a long sentence of its own. Previous model: a.";
    let asked = &told.prompt.messages[0].text;
    told.prompt.messages[0].text = format!("{asked}\n\n{}{resume}", crate::resume::OPENING);
    assert_eq!(answer(&told.prompt, told.schema.as_deref(), 1_024), before);
}

#[test]
fn a_verdict_passes_and_objects_to_nothing() {
    let verdict = json!({
        "type": "object", "required": ["pass", "problems", "reason"], "additionalProperties": false,
        "properties": {
            "pass": {"type": "boolean"},
            "problems": {"type": "array", "items": {"type": "string"}},
            "reason": {"type": "string"},
        },
    });
    let value = answered(&verdict);
    assert_eq!((&value["pass"], &value["problems"]), (&json!(true), &json!([])));
}

#[test]
fn bounds_patterns_and_references_are_kept_to() {
    for field in [
        json!({"type": "string", "maxLength": 3}),
        json!({"type": "string", "minLength": 2_000}),
        json!({"type": "string", "minLength": 40, "maxLength": 41}),
        json!({"type": "string", "pattern": "^[A-Z]{2}-\\d$"}),
        json!({"type": "string", "pattern": "^\\d{4}-\\d{2}-\\d{2}$"}),
        json!({"type": "string", "pattern": "^[a-z]+$", "minLength": 8, "maxLength": 200}),
        json!({"type": "integer", "minimum": 3, "maximum": 3}),
        json!({"type": "integer", "minimum": 0.5, "maximum": 1.5}),
        json!({"type": "integer", "maximum": -9}),
        json!({"type": "integer", "minimum": i64::MAX}),
        json!({"type": "number", "minimum": 0.999, "maximum": 0.9991}),
        json!({"type": "array", "minItems": 5, "items": {"enum": ["a", "b", "c"]}}),
        json!({"type": "array", "maxItems": 1, "items": {"type": "integer"}}),
        json!({"type": "array", "uniqueItems": true, "items": {"enum": ["a", "b"]}}),
        json!({"$ref": "#/$defs/person"}),
        json!({"type": ["string", "null"]}),
        json!({"anyOf": [{"type": "number"}, {"type": "null"}]}),
        json!({"const": "x"}),
        json!({}),
    ] {
        let schema = json!({
            "type": "object", "required": ["a"], "properties": {"a": field},
            "$defs": {"person": {
                "type": "object", "required": ["name"],
                "properties": {"name": {"type": "string"}, "friends": {"type": "array", "items": {"$ref": "#/$defs/person"}}},
            }},
        });
        let value = answered(&schema);
        assert!(Schema::compile(schema).unwrap().accepts(&value), "{field}: {value}");
    }
}

#[test]
fn what_cannot_be_made_up_is_said() {
    for field in [
        json!({"type": "string", "pattern": "^\\p{Greek}{9}$"}),
        json!({"type": "integer", "multipleOf": 1_000_003}),
        json!({"enum": [{"a": 1}]}),
        json!({"type": "integer", "minimum": 3, "maximum": 2}),
        json!(false),
    ] {
        let schema = json!({"type": "object", "required": ["a"], "properties": {"a": field}});
        let error = answer(&prompt(), Some(&schema), 100).unwrap_err().to_string();
        assert!(error.contains("/a: ") && error.contains("record one"), "{field}: {error}");
    }
}

#[test]
fn answers_keep_to_their_bound_and_are_the_same_each_time() {
    for max_tokens in [60, 200, 2_000] {
        let text = answer(&prompt(), Some(&triage()), max_tokens).unwrap();
        assert!(tokens_of(&text) <= u64::from(max_tokens), "{max_tokens}: {text}");
        assert_eq!(answer(&prompt(), Some(&triage()), max_tokens).unwrap(), text);
    }
    let prose = answer(&prompt(), None, 200).unwrap();
    assert!(prose.starts_with("Ticket T-1042: the kettle") && tokens_of(&prose) <= 200, "{prose}");
}

fn shapes() -> impl Strategy<Value = Shape> {
    let words = proptest::collection::btree_set("[a-z]{1,6}", 1..4);
    let leaf = prop_oneof![
        Just(Shape::Any),
        Just(Shape::Boolean),
        (0_u64..40, 0_u64..200).prop_map(|(min, more)| Shape::Text(TextRange {
            min: Some(min),
            max: Some(min + more),
            pattern: None
        })),
        ("(\\^[a-z]\\+\\$|\\\\d\\{2,3\\}|[A-Z]-[0-9])", Just(None)).prop_map(|(pattern, max)| {
            Shape::Text(TextRange { min: None, max, pattern: Some(pattern) })
        }),
        (any::<i32>(), 0_i64..9).prop_map(|(min, more)| Shape::Integer(Range {
            min: Some(min.into()),
            max: Some((i64::from(min) + more).into())
        })),
        any::<Option<i32>>()
            .prop_map(|max| Shape::Number(Range { min: None, max: max.map(Into::into) })),
        words.prop_map(|words| Shape::Enum(words.into_iter().collect())),
    ];
    leaf.prop_recursive(8, 32, 4, |inner| {
        let field = ("[a-z]{1,8}", inner.clone(), any::<bool>());
        prop_oneof![
            (inner.clone(), 0_u64..4, 0_u64..3).prop_map(|(item, min, more)| Shape::List(
                item.into(),
                ListRange { min: Some(min), max: Some(min + more) }
            )),
            inner.prop_map(|shape| Shape::Nullable(shape.into())),
            proptest::collection::vec(field, 0..4).prop_map(|fields| {
                let mut object = Object::default();
                for (name, shape, optional) in fields {
                    if object.field(&name).is_none() {
                        object.fields.push(Field {
                            name,
                            shape,
                            optional,
                            default: None,
                            about: None,
                        });
                    }
                }
                Shape::from(object)
            }),
        ]
    })
}

proptest! {
    #[test]
    fn an_answer_by_shape_fits_every_shape(shape in shapes(), text in "[a-zA-Z0-9 .\n:-]{0,200}") {
        let schema = Schema::of_shape(&shape);
        let prompt = Prompt { system: None, messages: vec![Message::user(text)] };
        let text = answer(&prompt, Some(&schema), 4_000).map_err(|e| TestCaseError::fail(e.to_string()))?;
        let value: Value = serde_json::from_str(&text).unwrap();
        let violations = Schema::compile(schema).unwrap().violations(&value);
        prop_assert!(violations.is_empty(), "{:?} in {}", violations, text);
    }
}
