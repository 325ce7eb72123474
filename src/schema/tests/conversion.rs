use super::*;

fn field(name: &str, shape: Shape) -> Field {
    Field { name: name.to_owned(), shape, optional: false, default: None, about: None }
}

fn triage() -> Shape {
    let tone = Field {
        default: Some(json!("warm")),
        about: Some("How it sounds.".to_owned()),
        ..field("tone", Shape::Enum(["warm".to_owned(), "plain".to_owned()].into()))
    };
    let limits = TextRange { min: Some(1), max: Some(20), pattern: Some("^[a-z]".to_owned()) };
    let score = Range { min: Some(0.into()), max: Some(5.into()) };
    Shape::from(Object {
        open: false,
        fields: vec![
            field("reply", Shape::Text(limits)),
            tone,
            Field { optional: true, ..field("score", Shape::Integer(score)) },
            Field { optional: true, ..field("note", Shape::Nullable(Shape::text().into())) },
            field(
                "sources",
                Shape::List(
                    std::sync::Arc::new(Shape::object([
                        ("id", Shape::text()),
                        ("weight", Shape::Number(Range::default())),
                    ])),
                    ListRange { min: Some(1), max: Some(3) },
                ),
            ),
            field("urgent", Shape::Boolean),
        ],
    })
}

#[test]
fn a_shape_becomes_a_closed_schema() {
    assert_eq!(
        Schema::of_shape(&triage()),
        json!({
            "type": "object",
            "properties": {
                "reply": {"type": "string", "minLength": 1, "maxLength": 20, "pattern": "^[a-z]"},
                "tone": {
                    "type": "string", "enum": ["warm", "plain"],
                    "description": "How it sounds.", "default": "warm",
                },
                "score": {"type": "integer", "minimum": 0, "maximum": 5},
                "note": {"anyOf": [{"type": "string"}, {"type": "null"}]},
                "sources": {
                    "type": "array",
                    "items": {
                        "type": "object",
                        "properties": {"id": {"type": "string"}, "weight": {"type": "number"}},
                        "required": ["id", "weight"],
                        "additionalProperties": false,
                    },
                    "minItems": 1, "maxItems": 3,
                },
                "urgent": {"type": "boolean"},
            },
            "required": ["reply", "sources", "urgent"],
            "additionalProperties": false,
        })
    );
}

#[test]
fn a_schema_read_as_a_shape_says_what_it_can() {
    let schema = json!({
        "type": "object",
        "required": ["a", "ghost"],
        "additionalProperties": false,
        "properties": {
            "a": {"type": ["string", "null"], "description": "First."},
            "b": {"anyOf": [{"$ref": "#/$defs/n"}, {"type": "null"}]},
            "c": {"type": ["string", "integer"]},
            "d": {"enum": ["x", "y", null]},
            "e": {"enum": [1, 2], "type": "integer"},
            "f": {"const": "only"},
            "g": {"type": "array"},
            "h": {"type": "object"},
            "i": {"oneOf": [{"type": "string"}, {"type": "object"}]},
            "j": {"$ref": "#/$defs/tree"},
            "k": true,
        },
        "$defs": {
            "n": {"type": "number", "minimum": 1.5},
            "tree": {"type": "array", "items": {"$ref": "#/$defs/tree"}},
        },
    });
    let shape = Schema::to_shape(&schema);
    let Shape::Object(object) = &shape else { panic!("{shape:?}") };
    assert!(!object.open);
    let described = |name: &str| object.field(name).unwrap().shape.describe();
    let rows = [
        ("a", "string | null"),
        ("b", "number | null"),
        ("c", "any"),
        ("d", "x | y | null"),
        ("e", "integer"),
        ("f", "only"),
        ("g", "[any]"),
        ("h", "{}"),
        ("i", "any"),
        ("k", "any"),
        ("ghost", "any"),
    ];
    for (name, expected) in rows {
        assert_eq!(described(name), expected, "{name}");
    }
    assert!(described("j").starts_with("[[[["), "recursion ends in any");
    assert_eq!(object.field("a").unwrap().about.as_deref(), Some("First."));
    assert!(!object.field("a").unwrap().optional && object.field("b").unwrap().optional);
    let Shape::Object(open) = &object.field("h").unwrap().shape else { panic!() };
    assert!(open.open);
}

#[test]
fn null_for_an_optional_field_counts_as_absent_and_nothing_else_does() {
    let value = json!({"score": null, "note": null, "tone": null, "urgent": null, "other": null, "sources": [
        {"id": null}
    ]});
    assert_eq!(
        Schema::drop_absent(&triage(), value),
        json!({"note": null, "urgent": null, "other": null, "sources": [{"id": null}]})
    );
    let inner = Shape::from(Object {
        fields: vec![Field { optional: true, ..field("a", Shape::text()) }],
        open: false,
    });
    let outer = Shape::list(Shape::Nullable(inner.into()));
    assert_eq!(Schema::drop_absent(&outer, json!([{"a": null}, null, 3])), json!([{}, null, 3]));
}

#[test]
fn defaults_fill_absent_fields_at_every_depth() {
    let inner = Shape::from(Object {
        fields: vec![Field {
            default: Some(json!(3)),
            ..field("n", Shape::Integer(Range::default()))
        }],
        open: false,
    });
    let outer = Shape::from(Object {
        fields: vec![
            field("list", Shape::list(inner.clone())),
            Field { default: Some(json!({})), ..field("made", inner) },
        ],
        open: false,
    });
    assert_eq!(
        Schema::fill_defaults(&outer, json!({"list": [{}, {"n": 1}, "odd"]})),
        json!({"list": [{"n": 3}, {"n": 1}, "odd"], "made": {"n": 3}})
    );
    assert_eq!(Schema::fill_defaults(&outer, json!("odd")), json!("odd"));
}

pub(super) fn shapes() -> impl Strategy<Value = Shape> {
    let leaf = prop_oneof![
        Just(Shape::Boolean),
        Just(Shape::text()),
        (0_u64..4, 4_u64..9).prop_map(|(min, max)| Shape::Text(TextRange {
            min: Some(min),
            max: Some(max),
            pattern: None
        })),
        (-5_i64..0, 0_i64..5).prop_map(|(min, max)| Shape::Integer(Range {
            min: Some(min.into()),
            max: Some(max.into())
        })),
        Just(Shape::Number(Range::default())),
        Just(Shape::Enum(["low".to_owned(), "high".to_owned()].into())),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        let fields = proptest::collection::vec((inner.clone(), any::<bool>()), 0..4);
        prop_oneof![
            (inner.clone(), 0_u64..3).prop_map(|(item, min)| Shape::List(
                item.into(),
                ListRange { min: Some(min), max: None }
            )),
            fields.prop_map(|fields| {
                let fields = fields.into_iter().enumerate().map(|(n, (shape, optional))| Field {
                    optional,
                    ..field(&format!("f{n}"), shape)
                });
                Shape::from(Object { fields: fields.collect(), open: false })
            }),
            inner.prop_filter_map("one level of null", |shape| match shape {
                Shape::Nullable(_) => None,
                shape => Some(Shape::Nullable(shape.into())),
            }),
        ]
    })
}

proptest! {
    #[test]
    fn a_shape_survives_the_way_through_its_schema(shape in shapes()) {
        let written = Schema::of_shape(&shape);
        prop_assert!(Schema::compile(written.clone()).is_ok());
        prop_assert_eq!(Schema::to_shape(&written), shape);
    }
}
