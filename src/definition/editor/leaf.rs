//! Single values as editors check them: texts of other languages, durations, shares, money.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde_json::{Value, json};

/// A leaf: a type without fields whose schema stands where it is used.
macro_rules! leaf {
    ($(#[$about:meta])* $name:ident, $schema:expr) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug)]
        pub struct $name;

        impl JsonSchema for $name {
            fn inline_schema() -> bool {
                true
            }

            fn schema_name() -> Cow<'static, str> {
                stringify!($name).into()
            }

            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                $schema
            }
        }
    };
}

leaf!(
    /// Any text.
    Text,
    json_schema!({"type": "string"})
);
leaf!(
    /// `true` or `false`.
    Flag,
    json_schema!({"type": "boolean"})
);
leaf!(
    /// Text with something in it.
    SomeText,
    filled("This must be text, and not empty.")
);
leaf!(
    /// The text of a prompt.
    Template,
    filled("This must be text: write it as a block (|), or quote it.")
);
leaf!(
    /// A file in the workflow's folder.
    File,
    filled("This must be a file's path, relative to this file.")
);
leaf!(
    /// The name of a step, of an item, or of another thing of this file or of `punctual.yaml`.
    Name,
    filled("This must be a name.")
);
leaf!(
    /// A name that expressions can hold.
    Identifier,
    json_schema!({
        "type": "string",
        "pattern": NAME,
        "patternErrorMessage": "A name has lower-case letters, digits and _, starts with a letter, and is at most 48 long.",
    })
);
leaf!(
    /// An expression: bare, and so a number or a truth value where YAML reads one.
    Expression,
    json_schema!({
        "type": ["string", "number", "boolean"],
        "pattern": SOMETHING,
        "errorMessage": "This must be an expression, as plan.questions: one bare value; where it starts with [ or {, or has ': ' or ' #' in it, write it as a block (|).",
    })
);
leaf!(
    /// A reference: the simplest expression.
    Reference,
    filled("This must be a reference, as input.documents.")
);
leaf!(
    /// A duration with its unit.
    Duration,
    duration(&json!(["20s"]))
);
leaf!(
    /// A short duration with its unit.
    Pause,
    duration(&json!(["50ms"]))
);
leaf!(
    /// A share with its percent sign.
    Share,
    json_schema!({
        "type": "string",
        "pattern": SHARE,
        "errorMessage": "A share is from 0% to 100%, with its sign, as 80%.",
        "examples": ["80%"],
    })
);
leaf!(
    /// Dollars.
    Dollars,
    json_schema!({"type": "number", "minimum": 0, "maximum": 1_000_000})
);
leaf!(
    /// Any JSON value.
    Anything,
    json_schema!({})
);

/// Something that is no space.
const SOMETHING: &str = r"\S";
/// A step's or an item's name.
pub const NAME: &str = "^[a-z][a-z0-9_]{0,47}$";
/// A duration with its unit.
pub const DURATION: &str = r"^[0-9]+(\.[0-9]{1,6})? *(ms|s|m|h)$";
/// What is said of other texts.
pub const NO_DURATION: &str = "A duration needs its unit, as 250ms, 20s, 1.5s or 2m.";
/// A share from 0 % to 100 %.
const SHARE: &str = r"^(100(\.0{0,2})?|[0-9]{1,2}(\.[0-9]{0,2})?) *%$";

fn filled(message: &str) -> Schema {
    json_schema!({"type": "string", "pattern": SOMETHING, "errorMessage": message})
}

fn duration(examples: &Value) -> Schema {
    json_schema!({
        "type": "string",
        "pattern": DURATION,
        "errorMessage": NO_DURATION,
        "examples": examples,
    })
}
