use super::conversion::shapes;
use super::subset::rules;
use super::*;

fn bounded() -> Value {
    json!({
        "type": "object",
        "additionalProperties": false,
        "required": ["id"],
        "properties": {
            "id": {"type": "string", "pattern": "^[a-z]+$", "description": "The id."},
            "score": {"type": "integer", "minimum": 1, "maximum": 5},
            "tags": {"type": "array", "items": {"enum": ["a", "b"]}, "minItems": 1, "description": "Tags."},
            "note": {"anyOf": [{"type": "string", "maxLength": 9}, {"type": "null"}]},
            "kind": {"const": "x", "title": "Kind", "default": "x"},
        },
    })
}

#[test]
fn openai_strict_requires_every_key_and_says_bounds_in_words() {
    assert_eq!(
        project(&bounded(), Subset::OpenAi).unwrap(),
        json!({
            "type": "object",
            "properties": {
                "id": {"type": "string", "description": "The id. Matches the regular expression ^[a-z]+$"},
                "score": {"anyOf": [{"type": "integer"}, {"type": "null"}], "description": "At least 1. At most 5."},
                "tags": {"anyOf": [
                    {"type": "array", "items": {"type": "string", "enum": ["a", "b"]}}, {"type": "null"},
                ], "description": "Tags. At least 1 items."},
                "note": {"anyOf": [
                    {"type": "string", "description": "At most 9 characters."}, {"type": "null"},
                ]},
                "kind": {"anyOf": [{"type": "string", "enum": ["x"]}, {"type": "null"}]},
            },
            "required": ["id", "score", "tags", "note", "kind"],
            "additionalProperties": false,
        })
    );
}

#[test]
fn anthropic_keeps_optional_keys_and_drops_bounds() {
    let projected = project(&bounded(), Subset::Anthropic).unwrap();
    assert_eq!(projected["required"], json!(["id"]));
    assert_eq!(
        projected["properties"]["score"],
        json!({"type": "integer", "description": "At least 1. At most 5."})
    );
    let text = projected.to_string();
    for keyword in ["minimum", "maximum", "minItems", "maxLength", "\"pattern\""] {
        assert!(!text.contains(keyword), "{keyword}");
    }
}

#[test]
fn what_a_subset_cannot_say_is_left_to_instructions() {
    let with = |field: Value| {
        json!({
            "type": "object", "required": ["a"], "properties": {"a": field}, "additionalProperties": false,
        })
    };
    for field in [
        json!({}),
        json!({"type": "object"}),
        json!({"type": "object", "additionalProperties": {"type": "string"}}),
        json!({"type": "array"}),
        json!({"type": "array", "prefixItems": [{"type": "string"}]}),
        json!({"allOf": [{"type": "string"}]}),
        json!({"$ref": "#"}),
    ] {
        for subset in [Subset::OpenAi, Subset::Anthropic] {
            assert_eq!(project(&with(field.clone()), subset), None, "{subset:?} {field}");
        }
    }
    let many: serde_json::Map<String, Value> =
        (0..25).map(|n| (format!("f{n}"), json!({"type": "string"}))).collect();
    let many = json!({"type": "object", "properties": many, "additionalProperties": false});
    assert_eq!(project(&many, Subset::Anthropic), None);
    assert!(project(&many, Subset::OpenAi).is_some());
    assert!(project(&with(json!({})), Subset::Standard).is_some());
}

#[test]
fn each_vendor_keeps_what_it_knows_and_is_told_the_rest_in_words() {
    let score = |subset| project(&bounded(), subset).unwrap()["properties"]["score"].clone();
    assert_eq!(score(Subset::Gemini), json!({"type": "integer", "minimum": 1, "maximum": 5}));
    assert_eq!(score(Subset::Grammar), score(Subset::Gemini));
    let said = json!({"type": "integer", "description": "At least 1. At most 5."});
    assert_eq!(score(Subset::Bedrock), said);
    assert_eq!(score(Subset::Xai)["anyOf"], json!([{"type": "integer"}, {"type": "null"}]));
    let id = |subset| project(&bounded(), subset).unwrap()["properties"]["id"].clone();
    assert_eq!(id(Subset::Grammar).get("pattern"), None);
    assert_eq!(id(Subset::Standard)["pattern"], "^[a-z]+$");
    assert_eq!(project(&bounded(), Subset::Databricks), None, "it knows no alternatives");
}

#[test]
fn more_than_a_subset_takes_is_asked_for_in_another_way() {
    let words = |count: usize| {
        let words: Vec<String> = (0..count).map(|n| format!("word{n}")).collect();
        json!({
            "type": "object", "required": ["a"], "additionalProperties": false,
            "properties": {"a": {"enum": words}},
        })
    };
    for (subset, most) in [(Subset::OpenAi, 1_000), (Subset::Gemini, 300)] {
        assert!(project(&words(most), subset).is_some(), "{subset:?}");
        assert_eq!(project(&words(most + 1), subset), None, "{subset:?}");
    }
    let mut deep = json!({"type": "string"});
    for _ in 0..11 {
        deep = json!({
            "type": "object", "required": ["a"], "additionalProperties": false, "properties": {"a": deep},
        });
    }
    assert_eq!(project(&deep, Subset::OpenAi), None);
    assert!(project(&deep["properties"]["a"], Subset::OpenAi).is_some());
    let fields: serde_json::Map<String, Value> =
        (0..65).map(|n| (format!("f{n}"), json!({"type": "string"}))).collect();
    let names: Vec<&String> = fields.keys().collect();
    let wide = json!({"type": "object", "required": names, "properties": fields, "additionalProperties": false});
    assert_eq!(project(&wide, Subset::Databricks), None);
}

#[test]
fn nulls_that_nobody_takes_out_again_are_never_asked_for() {
    let branch = |key: &str, optional: bool| {
        let required = if optional { json!([]) } else { json!([key]) };
        json!({
            "type": "object", "required": required, "additionalProperties": false,
            "properties": {key: {"type": "string"}},
        })
    };
    let of = |alternatives: Value| {
        json!({
            "type": "object", "required": ["a"], "additionalProperties": false,
            "properties": {"a": {"anyOf": alternatives}},
        })
    };
    let nothing = json!({"type": "null"});
    assert!(
        project(&of(json!([branch("x", false), branch("y", false)])), Subset::OpenAi).is_some()
    );
    assert_eq!(project(&of(json!([branch("x", true), branch("y", false)])), Subset::OpenAi), None);
    assert!(project(&of(json!([branch("x", true), nothing])), Subset::OpenAi).is_some());
}

#[test]
fn free_keys_are_open_where_the_subset_knows_them() {
    let map = json!({
        "type": "object", "required": ["a"], "additionalProperties": false,
        "properties": {"a": {"type": "object", "additionalProperties": {"type": "integer", "multipleOf": 2}}},
    });
    assert_eq!(project(&map, Subset::OpenAi), None);
    assert_eq!(
        project(&map, Subset::Gemini).unwrap()["properties"]["a"],
        json!({
            "type": "object", "properties": {}, "required": [],
            "additionalProperties": {"type": "integer", "description": "A multiple of 2."},
        })
    );
}

/// A value of the shape; what is optional as a strict model sends it, null, or as any other leaves it out.
fn value(shape: &Shape, nulls: bool) -> Value {
    match shape {
        Shape::Any | Shape::Nullable(_) => Value::Null,
        Shape::Boolean => json!(true),
        Shape::Integer(_) | Shape::Number(_) => json!(0),
        Shape::Text(range) => json!("x".repeat(usize::try_from(range.min.unwrap_or(1)).unwrap())),
        Shape::Enum(words) => json!(words[0]),
        Shape::List(item, range) => {
            let count = usize::try_from(range.min.unwrap_or(0)).unwrap();
            vec![value(item, nulls); count].into()
        }
        Shape::Object(object) => {
            let fields = object.fields.iter().filter(|field| nulls || !field.optional);
            let of = |field: &Field| {
                let value = if field.optional { Value::Null } else { value(&field.shape, nulls) };
                (field.name.clone(), value)
            };
            fields.map(of).collect::<serde_json::Map<_, _>>().into()
        }
    }
}

proptest! {
    #[test]
    fn what_fits_a_projection_fits_the_whole_schema_once_absent_nulls_are_out(shape in shapes()) {
        let root = Shape::object([("a", shape.clone()), ("b", Shape::Nullable(Arc::new(shape)))]);
        let source = Schema::of_shape(&root);
        let whole = schema(source.clone());
        for subset in SUBSETS {
            let Some(projected) = project(&source, subset) else { continue };
            let projected = Schema::compile(projected).unwrap();
            let sent = value(&root, rules(subset).all_required);
            prop_assert!(projected.accepts(&sent), "{subset:?} {sent} {}", projected.source());
            let dropped = Schema::drop_absent(&root, sent.clone());
            prop_assert!(whole.accepts(&dropped), "{subset:?} {sent} {source}");
        }
    }
}

#[test]
fn a_grammar_is_given_the_bounds_that_a_small_model_keeps_to_nothing_else_for() {
    let text = json!({"type": "string", "minLength": 2, "maxLength": 80, "pattern": "^[A-Z]"});
    let list = json!({"type": "array", "items": {"type": "integer", "minimum": 1}, "maxItems": 3});
    let schema = json!({
        "type": "object", "properties": {"text": text, "list": list}, "required": ["text", "list"],
        "additionalProperties": false,
    });
    let asked = project(&schema, Subset::Grammar).unwrap();
    let text = &asked["properties"]["text"];
    assert_eq!((&text["minLength"], &text["maxLength"]), (&json!(2), &json!(80)));
    assert_eq!(text.get("pattern"), None);
    let list = &asked["properties"]["list"];
    assert_eq!((&list["maxItems"], &list["items"]["minimum"]), (&json!(3), &json!(1)));
}
