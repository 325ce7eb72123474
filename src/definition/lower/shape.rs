//! Shapes as authors write them → `Shape`, and the JSON Schemas that stand among them.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use crate::definition::keys;
use crate::definition::lower::Lowering;
use crate::definition::page::{NOT_YET, Spanned, WRONG_VALUE, is_null, to_json};
use crate::definition::raw::RawWorkflow;
use crate::definition::yaml::{Key, Kind, Node};
use crate::domain::finding::{Code, did_you_mean};
use crate::domain::shape::{Field, Object, Range, Shape, TextRange};
use crate::schema::{Schema, SchemaError, inline};

mod bound;
mod part;

use bound::bound;
use part::{foreign, has_reference, list, put_field, split_top};

/// A shape name that is not known.
pub const UNKNOWN_SHAPE: Code = Code("P0305");
/// A shape inside itself.
pub const RECURSIVE: Code = Code("P0306");
/// An annotation that means nothing there.
pub const ANNOTATION: Code = Code("P0307");
/// A default that does not fit.
pub const BAD_DEFAULT: Code = Code("P0308");
/// A union other than `| null` and enums.
pub const UNION: Code = Code("P0309");
/// A key or name that shapes cannot hold.
pub const BAD_KEY: Code = Code("P0310");

/// A shape of more than [`PART_LIMIT`] parts.
pub const TOO_MANY_PARTS: Code = Code("P0612");

/// Most parts of one shape, names resolved: a few names can double one another to any size.
pub const PART_LIMIT: usize = 5000;

/// The words for plain types.
pub const TYPES: [&str; 5] = ["string", "integer", "number", "boolean", "any"];

/// A shape, and the JSON Schema where it says more than a shape can.
#[derive(Clone, Debug)]
pub struct Typed {
    /// The shape.
    pub shape: Shape,
    /// The schema, where a JSON Schema stands in it.
    pub embedded: Option<Value>,
    /// That schema as it was compiled to be checked, where it is the whole.
    ready: Option<Schema>,
    /// Whether a problem hides the type.
    pub unknown: bool,
    /// How many parts it has, names resolved.
    parts: usize,
    about: Option<String>,
    default: Option<Value>,
}

/// The named shapes of a workflow.
#[derive(Debug, Default)]
pub struct Shapes<'a> {
    raw: BTreeMap<&'a str, &'a Node>,
    done: BTreeMap<String, Typed>,
    open: Vec<String>,
}

impl Typed {
    /// A shape alone.
    pub fn of(shape: Shape) -> Self {
        Self {
            shape,
            embedded: None,
            ready: None,
            unknown: false,
            parts: 1,
            about: None,
            default: None,
        }
    }

    /// A type that a problem hides.
    pub fn unknown() -> Self {
        Self { unknown: true, ..Self::of(Shape::Any) }
    }

    /// A JSON Schema.
    pub fn embedded(schema: Value, ready: Schema) -> Self {
        let shape = Schema::to_shape(&schema);
        Self { embedded: Some(schema), ready: Some(ready), ..Self::of(shape) }
    }

    /// The JSON Schema, checked. A shape's own was checked where it was read, pattern by pattern.
    pub fn compiled(&self) -> Result<Schema, SchemaError> {
        match (&self.ready, &self.embedded) {
            (Some(ready), _) => Ok(ready.clone()),
            (None, Some(schema)) => Schema::compile(schema.clone()),
            (None, None) => Ok(Schema::shaped(self.shape.clone())),
        }
    }

    /// The JSON Schema.
    pub fn schema(&self) -> Value {
        self.embedded.clone().unwrap_or_else(|| Schema::of_shape(&self.shape))
    }
}

impl<'a> Lowering<'a> {
    /// Reads `shapes`; each is checked whether it is used or not.
    pub(super) fn read_shapes(&mut self, raw: &RawWorkflow<'a>) {
        for (key, node) in raw.shapes {
            let good = key.name.starts_with(|c: char| c.is_ascii_alphabetic())
                && key.name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
            if !good || TYPES.contains(&key.name.as_str()) || key.name == "null" {
                self.reader
                    .error(BAD_KEY, &key.span, format!("'{}' cannot name a shape", key.name))
                    .help("letters, digits and _, and no type's name");
                continue;
            }
            self.shapes.raw.insert(&key.name, node);
        }
        for (key, _) in raw.shapes {
            if self.shapes.raw.contains_key(key.name.as_str()) {
                self.named(&key.name, &key.span);
            }
        }
    }

    fn named(&mut self, name: &str, span: &std::ops::Range<usize>) -> Option<Typed> {
        if let Some(typed) = self.shapes.done.get(name) {
            return Some(typed.clone());
        }
        if self.shapes.open.iter().any(|open| open == name) {
            let cycle = self.shapes.open.join(" → ");
            let message = format!("the shape '{name}' contains itself: {cycle} → {name}");
            self.reader.error(RECURSIVE, span, message).help(
                "clients and models take finite shapes only: nest as deep as needed, by name",
            );
            return Some(Typed::unknown());
        }
        let node = *self.shapes.raw.get(name)?;
        self.shapes.open.push(name.to_owned());
        let typed = self.shape(node, &format!("shape '{name}'"));
        self.shapes.open.pop();
        self.shapes.done.insert(name.to_owned(), typed.clone());
        Some(typed)
    }

    /// Lowers a shape that no field holds: it cannot carry a field's annotations.
    pub(super) fn shape(&mut self, node: &Node, owner: &str) -> Typed {
        let typed = self.field_shape(node, owner);
        if typed.default.is_some() || typed.about.is_some() {
            self.reader.error(
                ANNOTATION,
                &node.span,
                format!("{owner}: `$about` and `$default` annotate a field, and this is none"),
            );
        }
        typed
    }

    fn field_shape(&mut self, node: &Node, owner: &str) -> Typed {
        match &node.kind {
            Kind::Scalar(_) => {
                // A bare number or nothing at all is no shape; the words true and false are none either.
                let Some(text) = self.reader.words(node, format_args!("{owner}: a shape")) else {
                    if !is_null(node)
                        && let Some(last) = self.reader.found.last_mut()
                    {
                        last.help(format!("a shape says what is allowed: {}", TYPES.join(", ")));
                    }
                    return Typed::unknown();
                };
                self.words(text, &node.span, owner)
            }
            Kind::List(items) => {
                let [item] = items.as_slice() else {
                    let message = format!(
                        "{owner}: a list's shape names one item shape, and here are {}",
                        items.len()
                    );
                    self.reader
                        .error(WRONG_VALUE, &node.span, message)
                        .help("write [string]; a choice of words is `low | high`");
                    return Typed::unknown();
                };
                list(self.shape(item, owner))
            }
            Kind::Map(entries) => {
                if entries.iter().any(|(key, _)| key.name.starts_with('$')) {
                    return self.annotated(node, owner);
                }
                self.object(entries, owner)
            }
        }
    }

    fn object(&mut self, entries: &[(Key, Node)], owner: &str) -> Typed {
        let mut object = Object::default();
        let mut embedded: Vec<(String, Value)> = Vec::new();
        let (mut unknown, mut parts) = (false, 1);
        for (key, value) in entries {
            let (name, optional) = match key.name.strip_suffix('?') {
                Some(name) => (name, true),
                None => (key.name.as_str(), false),
            };
            if name.is_empty() || name.chars().count() > 64 || object.field(name).is_some() {
                let message = format!("{owner}: '{name}' cannot be a field here");
                self.reader
                    .error(BAD_KEY, &key.span, message)
                    .help("1 to 64 characters, each field once");
                continue;
            }
            let typed = self.field_shape(value, owner);
            unknown |= typed.unknown;
            parts += typed.parts;
            if parts > PART_LIMIT {
                let message = format!("{owner}: the shape has more than {PART_LIMIT} parts");
                self.reader
                    .error(TOO_MANY_PARTS, &key.span, message)
                    .help("a named shape counts wherever it is used: use fewer fields");
                return Typed::unknown();
            }
            if let Some(default) = &typed.default {
                self.check_default(default, &typed, value, owner);
            }
            embedded.extend(typed.embedded.map(|schema| (name.to_owned(), schema)));
            object.fields.push(Field {
                name: name.to_owned(),
                shape: typed.shape,
                optional,
                default: typed.default,
                about: typed.about,
            });
        }
        let shape = Shape::from(object);
        let mut typed = Typed { unknown, parts, ..Typed::of(shape) };
        if !embedded.is_empty() {
            let mut schema = Schema::of_shape(&typed.shape);
            for (name, part) in embedded {
                put_field(&mut schema, &name, part);
            }
            typed.embedded = Some(schema);
        }
        typed
    }

    fn check_default(&mut self, default: &Value, typed: &Typed, node: &Node, owner: &str) {
        if plainly_fits(&typed.shape, default) {
            return;
        }
        let Ok(schema) = Schema::compile(typed.schema()) else { return };
        if let (Some(violation), false) = (schema.violations(default).first(), typed.unknown) {
            let span = node.at_pointer("/$default").map_or(&node.span, |n| &n.span).clone();
            let message = format!("{owner}: the default does not fit: {violation}");
            let quoted =
                typed.shape == Shape::text() && !default.is_object() && !default.is_array();
            let found = self.reader.error(BAD_DEFAULT, &span, message);
            if quoted {
                found.help("nothing is coerced: quote it");
            }
        }
    }

    fn annotated(&mut self, node: &Node, owner: &str) -> Typed {
        let (mut base, mut about, mut default) = (None, None, None);
        let mut bounds: Vec<(&Key, &Node)> = Vec::new();
        for (key, value) in self.reader.map(node, &keys::ANNOTATION) {
            match key.name.as_str() {
                "$about" => {
                    let text = self.reader.words(value, format_args!("{owner}: `$about`"));
                    about = text.map(str::to_owned);
                }
                "$default" => default = Some(to_json(value)),
                "$min" | "$max" | "$pattern" => bounds.push((key, value)),
                _ if base.is_some() => {
                    let message = format!("{owner}: keep one of `$type`, `$ref`, `$schema`");
                    self.reader.error(ANNOTATION, &key.span, message);
                }
                "$type" => base = Some(self.shape(value, owner)),
                "$ref" => base = Some(self.reference(value, owner)),
                _ => {
                    let typed = self.inline_schema(value, owner);
                    base =
                        Some(typed.map_or_else(Typed::unknown, |t| self.portable(t, value, owner)));
                }
            }
        }
        let Some(mut typed) = base else {
            self.reader
                .error(
                    ANNOTATION,
                    &node.span,
                    format!("{owner}: an annotated shape has no `$type`"),
                )
                .help("{$type: string, $about: \"…\"}; fields' own names may not start with $");
            return Typed::unknown();
        };
        for (key, value) in bounds {
            bound(&mut self.reader, &mut typed.shape, key, value, owner);
        }
        Typed { about, default, ..typed }
    }

    fn reference(&mut self, node: &Node, owner: &str) -> Typed {
        let Some(name) = self.reader.text(node, format_args!("{owner}: `$ref`")) else {
            return Typed::unknown();
        };
        if name.value.contains("://") || name.value.starts_with('#') {
            let message = format!("{owner}: `$ref` names a file in the folder");
            self.reader
                .error(WRONG_VALUE, &name.span, message)
                .help("as schemas/draft.json; nothing is loaded from the network");
            return Typed::unknown();
        }
        let typed = self.schema_file(&Spanned { value: name.value, span: name.span }, owner);
        typed.map_or_else(Typed::unknown, |typed| self.portable(typed, node, owner))
    }

    /// A schema that will be part of a larger one: references to its own root would lead elsewhere there.
    fn portable(&mut self, typed: Typed, node: &Node, owner: &str) -> Typed {
        let Some(schema) = typed.embedded.clone().filter(has_reference) else {
            return typed;
        };
        let mut part = schema;
        let mut outer = Map::from_iter([("type".to_owned(), Value::from("object"))]);
        if let Some(defs) = part.as_object_mut().and_then(|map| map.remove("$defs")) {
            outer.insert("$defs".to_owned(), defs);
        }
        outer.insert("properties".to_owned(), serde_json::json!({ "part": part }));
        match inline(&Value::Object(outer)) {
            Ok(inlined) => {
                let part = inlined.pointer("/properties/part").cloned().unwrap_or(Value::Null);
                Typed { embedded: Some(part), ready: None, ..typed }
            }
            Err(error) => {
                let message = format!("{owner}: this reference is not yet supported: {error}");
                self.reader
                    .error(NOT_YET, &node.span, message)
                    .help("refer to `#/$defs/…` of the same schema, without recursion");
                Typed::unknown()
            }
        }
    }

    /// `string`, `low | high`, `Answer | null`, `[string] | null`.
    fn words(&mut self, text: &str, span: &std::ops::Range<usize>, owner: &str) -> Typed {
        let text = text.trim();
        if text != "null" && !text.contains('|') {
            return self.word(text, span, owner);
        }
        let mut parts: Vec<&str> = split_top(text);
        let before = parts.len();
        parts.retain(|part| *part != "null");
        let nullable = parts.len() < before;
        let typed = match parts.as_slice() {
            [] => {
                self.reader.error(UNION, span, format!("{owner}: null alone is no shape"));
                return Typed::unknown();
            }
            [one] => self.word(one, span, owner),
            many => self.enumeration(many, span, owner),
        };
        if !nullable || typed.unknown {
            return typed;
        }
        let embedded =
            typed.embedded.map(|schema| serde_json::json!({"anyOf": [schema, {"type": "null"}]}));
        let parts = typed.parts + 1;
        Typed { embedded, parts, ..Typed::of(Shape::Nullable(typed.shape.into())) }
    }

    fn word(&mut self, word: &str, span: &std::ops::Range<usize>, owner: &str) -> Typed {
        if let Some(inner) = word.strip_prefix('[').and_then(|w| w.strip_suffix(']')) {
            return list(self.words(inner.trim(), span, owner));
        }
        match word {
            "string" => Typed::of(Shape::text()),
            "integer" => Typed::of(Shape::Integer(Range::default())),
            "number" => Typed::of(Shape::Number(Range::default())),
            "boolean" => Typed::of(Shape::Boolean),
            "any" => Typed::of(Shape::Any),
            name => self.named(name, span).unwrap_or_else(|| {
                let known = TYPES.iter().copied().chain(self.shapes.raw.keys().copied());
                let near = did_you_mean(name, known.clone())
                    .map(|near| format!("did you mean '{near}'? "))
                    .unwrap_or_default();
                let known: Vec<&str> = known.collect();
                let message = format!("{owner}: no shape '{name}'");
                let help =
                    foreign(name).unwrap_or_else(|| format!("{near}shapes: {}", known.join(", ")));
                self.reader.error(UNKNOWN_SHAPE, span, message).help(help);
                Typed::unknown()
            }),
        }
    }

    fn enumeration(&mut self, words: &[&str], span: &std::ops::Range<usize>, owner: &str) -> Typed {
        for (at, word) in words.iter().enumerate() {
            let shape = TYPES.contains(word)
                || word.starts_with(['[', '{'])
                || self.shapes.raw.contains_key(*word);
            let problem = if word.is_empty() {
                "an enum's word is empty".to_owned()
            } else if shape {
                format!("'{word}' is a shape, and a choice of shapes is not supported")
            } else if words[..at].contains(word) {
                format!("the word '{word}' stands twice")
            } else {
                continue;
            };
            self.reader.error(UNION, span, format!("{owner}: {problem}")).help(
                "a choice is of words, `low | high`, or of a shape and null, `string | null`",
            );
            return Typed::unknown();
        }
        Typed::of(Shape::Enum(words.iter().map(|w| (*w).to_owned()).collect()))
    }
}

/// Whether a default fits at first sight, which spares compiling a schema for it.
fn plainly_fits(shape: &Shape, default: &Value) -> bool {
    match (shape, default) {
        (Shape::Enum(words), Value::String(word)) => words.contains(word),
        (Shape::Text(bounds), Value::String(_)) => *bounds == TextRange::default(),
        (Shape::Boolean, Value::Bool(_)) | (Shape::Nullable(_), Value::Null) => true,
        _ => false,
    }
}
