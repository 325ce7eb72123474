use super::*;

/// What MCP Inspector 2.12's `--strict` lint reports, errors and warnings alike, and what clients reject.
fn complaints(schema: &Value, keyword: &str, path: &str, found: &mut Vec<String>) {
    let Value::Object(map) = schema else {
        if !["additionalProperties", "unevaluatedProperties", "unevaluatedItems"].contains(&keyword)
        {
            found.push(format!("{path}: bare boolean"));
        }
        return;
    };
    for gone in ["$ref", "$defs", "$schema", "$id", "definitions", "$anchor"] {
        if map.contains_key(gone) {
            found.push(format!("{path}: {gone}"));
        }
    }
    if map.get("type").is_some_and(Value::is_array) {
        found.push(format!("{path}: array of types"));
    }
    let idle = ["title", "description", "default", "examples", "deprecated"];
    if keyword != "not" && map.keys().all(|key| idle.contains(&key.as_str())) {
        found.push(format!("{path}: empty schema"));
    }
    place::each(map, path, &mut |keyword, path, child| complaints(child, keyword, &path, found));
}

fn awkward() -> Value {
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": "https://example.com/x",
        "type": "object",
        "required": ["anything"],
        "properties": {
            "anything": {"description": "Whatever."},
            "bare": true,
            "never": false,
            "union": {"type": ["string", "integer", "null"], "maxLength": 3, "minimum": 2, "description": "U."},
            "word": {"type": ["string", "null"], "enum": ["a", "b"]},
            "named": {"$ref": "#/$defs/p", "description": "A person."},
            "narrowed": {"$ref": "#/$defs/p", "required": ["age"]},
            "list": {"type": "array", "items": {}},
            "open": {"type": "object", "additionalProperties": true},
            "not": {"not": {"type": "null"}},
            "$ref": {"type": "string"},
        },
        "$defs": {
            "p": {"type": "object", "properties": {"name": {"$ref": "#/$defs/s"}, "age": {"type": "integer"}}},
            "s": {"type": "string", "minLength": 1},
        },
    })
}

#[test]
fn a_portable_schema_gives_no_client_a_reason_to_refuse_it() {
    let portable = inline(&awkward()).unwrap();
    let mut found = Vec::new();
    let mut without_the_odd_name = portable.clone();
    without_the_odd_name["properties"].as_object_mut().unwrap().shift_remove("$ref");
    complaints(&without_the_odd_name, "", "", &mut found);
    assert_eq!(found, [""; 0], "{portable:#}");
    assert_eq!(portable["properties"]["named"]["description"], "A person.");
    assert_eq!(portable["properties"]["named"]["properties"]["name"]["minLength"], 1);
    assert_eq!(
        portable["properties"]["union"],
        json!({"anyOf": [
            {"type": "string", "maxLength": 3}, {"type": "integer", "minimum": 2}, {"type": "null"},
        ], "description": "U."})
    );
    assert_eq!(portable["properties"]["word"], json!({"type": "string", "enum": ["a", "b"]}));
}

#[test]
fn a_portable_schema_accepts_what_the_original_accepts() {
    let original = schema(awkward());
    let portable = schema(inline(&awkward()).unwrap());
    let values = [
        json!(null),
        json!("a"),
        json!("abcd"),
        json!(1),
        json!(5),
        json!(1.5),
        json!([]),
        json!([[1]]),
        json!({}),
        json!({"name": ""}),
        json!({"name": "x", "age": 3}),
        json!({"age": "x"}),
        json!(true),
    ];
    let mut refused = 0;
    for name in awkward()["properties"].as_object().unwrap().keys() {
        for value in &values {
            let mut object = json!({"anything": 1});
            object[name] = value.clone();
            assert_eq!(original.accepts(&object), portable.accepts(&object), "{name}: {value}");
            refused += usize::from(!portable.accepts(&object));
        }
    }
    assert!(refused > 30, "{refused}");
}

#[test]
fn what_cannot_be_made_portable_is_refused_with_its_place() {
    let long = "x".repeat(65);
    let doubling: Value = (0..30)
        .map(|n| {
            let next = json!({"$ref": format!("#/$defs/d{}", n + 1)});
            (format!("d{n}"), json!({"properties": {"a": next, "b": next}}))
        })
        .chain([("d30".to_owned(), json!({"type": "string"}))])
        .collect::<serde_json::Map<_, _>>()
        .into();
    let rows = [
        (json!({"type": "array"}), "/type", "type: object"),
        (json!({"properties": {}}), "/type", "type: object"),
        (json!({"type": ["object", "null"]}), "/type", "type: object"),
        (json!({"type": "object", "anyOf": [{"required": ["a"]}]}), "/anyOf", "at the root"),
        (json!({"type": "object", "oneOf": [{}]}), "/oneOf", "at the root"),
        (json!({"type": "object", "allOf": [{}]}), "/allOf", "at the root"),
        (json!({"type": "object", "if": {"required": ["a"]}, "then": {}}), "/if", "at the root"),
        (json!({"type": "object", "properties": {long: {}}}), "/properties", "longer than 64"),
        (
            json!({"type": "object", "properties": {"c": {"$ref": "#"}}}),
            "/properties/c/$ref",
            "recursive",
        ),
        (
            json!({"type": "object", "properties": {"c": {"$ref": "#/$defs/a"}}, "$defs": {"a": {"items": {"$ref": "#/$defs/a"}}}}),
            "/$defs/a/items/$ref",
            "recursive",
        ),
        (json!({"type": "object", "$ref": "x.json"}), "/$ref", "not in the document"),
        (json!({"type": "object", "$ref": "#/$defs/d0", "$defs": doubling}), "/$defs", "inlined"),
    ];
    for (source, pointer, message) in rows {
        let error = inline(&source).expect_err(&source.to_string());
        assert!(error.pointer.starts_with(pointer), "{source}: {error:?}");
        assert!(error.message.contains(message), "{source}: {error:?}");
    }
}
