//! What editors are told of the files: JSON Schemas, generated from the very types the loader reads into.
//!
//! The committed files under `schemas/` are what people point their editors at; [`Document::text`] is such a file
//! as it is built in, [`Document::generate`] what the types say today, and a test holds the two together. Doc
//! comments of the raw types are what an editor shows where the mouse rests, so they are written for users.
//!
//! The schemas are draft-07, because yaml-language-server supports that one in full. They are strict, so that a
//! misspelt key shows while it is typed; what takes more than one place to know (references, the fields of a
//! shape, a graph) is left to `punctual check`.

use schemars::generate::SchemaSettings;
use schemars::transform::RecursiveTransform;
use schemars::{JsonSchema, Schema};
use serde_json::Value;

use crate::definition::config::RawConfiguration;
use crate::definition::editor::case::CaseList;
use crate::definition::raw::RawWorkflow;

pub mod case;
pub mod leaf;
pub mod mapping;
pub mod pair;
pub mod shape;
pub mod word;

/// A kind of file that has a schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Document {
    /// A workflow: `workflows/NAME.yaml`.
    Workflow,
    /// The configuration: `punctual.yaml`.
    Config,
    /// The cases beside a workflow: `workflows/NAME.cases.yaml`.
    Cases,
}

impl Document {
    /// Every kind.
    pub const ALL: [Self; 3] = [Self::Workflow, Self::Config, Self::Cases];

    /// The name of the schema's file, as committed under `schemas/`.
    #[must_use]
    pub const fn file_name(self) -> &'static str {
        match self {
            Self::Workflow => "workflow.schema.json",
            Self::Config => "config.schema.json",
            Self::Cases => "cases.schema.json",
        }
    }

    /// The schema as committed, ending in a line break.
    #[must_use]
    pub const fn text(self) -> &'static str {
        match self {
            Self::Workflow => include_str!("../../schemas/workflow.schema.json"),
            Self::Config => include_str!("../../schemas/config.schema.json"),
            Self::Cases => include_str!("../../schemas/cases.schema.json"),
        }
    }

    /// The first line of a file of this kind: editors find the schema by it. `folder` is where the schema lies
    /// as seen from the file, as `../schemas`.
    ///
    /// ```
    /// use punctual::definition::editor::Document;
    /// let line = Document::Workflow.modeline("../schemas");
    /// assert_eq!(line, "# yaml-language-server: $schema=../schemas/workflow.schema.json");
    /// ```
    #[must_use]
    pub fn modeline(self, folder: &str) -> String {
        format!("# yaml-language-server: $schema={folder}/{}", self.file_name())
    }

    /// The schema as the types say it today.
    #[must_use]
    pub fn generate(self) -> String {
        let schema = match self {
            Self::Workflow => of::<RawWorkflow>(),
            Self::Config => of::<RawConfiguration>(),
            Self::Cases => of::<CaseList>(),
        };
        // A value of strings, numbers and maps always has a text.
        let text = serde_json::to_string_pretty(&schema).unwrap_or_default();
        format!("{text}\n")
    }
}

fn of<T: JsonSchema>() -> Schema {
    let settings = SchemaSettings::draft07().with_transform(RecursiveTransform(tidy));
    let mut schema = settings.into_generator().into_root_schema_for::<T>();
    // Editors would show a Rust name, or offer a title as if it were a key.
    schema.remove("title");
    schema
}

/// Descriptions as editors show them, one line a paragraph and without marks; no formats that only Rust has.
fn tidy(schema: &mut Schema) {
    schema.remove("format");
    if let Some(Value::String(about)) = schema.get_mut("description") {
        let paragraphs: Vec<String> = about
            .split("\n\n")
            .map(|text| text.split_whitespace().collect::<Vec<_>>().join(" ").replace('`', ""))
            .collect();
        *about = paragraphs.join("\n\n");
    }
}
