//! Mappings whose keys are known: closed, so that editors flag a key that may not stand there.

use schemars::transform::Transform;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde_json::{Value, json};

use std::borrow::Cow;
use std::marker::PhantomData;

/// Closes a mapping that was derived from a struct, and says which of its keys must stand there.
#[derive(Clone, Copy, Debug, Default)]
pub struct Mapping {
    required: &'static [&'static str],
    extensible: bool,
}

/// A mapping from names to `T`.
pub struct Named<T>(PhantomData<T>);

/// A list of `T`.
pub struct ListOf<T>(PhantomData<T>);

/// What is said where a list should stand.
const NO_LIST: &str = "This must be a list: an item a line, each behind a dash.";

impl Mapping {
    /// No other keys than the struct's.
    #[must_use]
    pub const fn closed() -> Self {
        Self { required: &[], extensible: false }
    }

    /// Keys that start with `x-` are ignored.
    #[must_use]
    pub const fn extensible(mut self) -> Self {
        self.extensible = true;
        self
    }

    /// These keys must be there.
    #[must_use]
    pub const fn required(mut self, keys: &'static [&'static str]) -> Self {
        self.required = keys;
        self
    }
}

impl Transform for Mapping {
    fn transform(&mut self, schema: &mut Schema) {
        schema.remove("required");
        if !self.required.is_empty() {
            schema.insert("required".to_owned(), json!(self.required));
        }
        if self.extensible {
            schema.insert("patternProperties".to_owned(), json!({"^x-": true}));
        }
        schema.insert("additionalProperties".to_owned(), Value::Bool(false));
    }
}

impl<T: JsonSchema> JsonSchema for Named<T> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        format!("Named{}", T::schema_name()).into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let value = generator.subschema_for::<T>();
        schemars::json_schema!({"type": "object", "additionalProperties": value})
    }
}

impl<T: JsonSchema> JsonSchema for ListOf<T> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        format!("ListOf{}", T::schema_name()).into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let item = generator.subschema_for::<T>();
        schemars::json_schema!({"type": "array", "items": item, "errorMessage": NO_LIST})
    }
}
