//! `punctual schema`: the JSON Schemas that editors complete and check files by.

use clap::{Args, ValueEnum};

use super::exit::Exit;
use super::output;
use crate::definition::editor::Document;

const EXAMPLES: &str = "\
Examples:
  mkdir -p schemas
  punctual schema workflow > schemas/workflow.schema.json
  punctual schema config > schemas/config.schema.json
  punctual schema cases > schemas/cases.schema.json

Editors with YAML support (yaml-language-server: VS Code, Neovim, Helix, Zed and others) then offer
keys and words, explain them, and flag mistakes, in files whose first line names the schema as it
lies from there:

  # yaml-language-server: $schema=../schemas/workflow.schema.json   in workflows/NAME.yaml
  # yaml-language-server: $schema=../schemas/cases.schema.json      in workflows/NAME.cases.yaml
  # yaml-language-server: $schema=schemas/config.schema.json        in punctual.yaml

References, shapes and the graph are beyond a schema: 'punctual check' finds those mistakes too.";

/// Prints the JSON Schema of a kind of file, for editors
///
/// The schema is the one of this version of punctual (JSON Schema draft-07).
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Schema {
    /// The kind of file
    #[arg(value_name = "KIND")]
    kind: Kind,
}

/// A kind of file.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Kind {
    /// workflows/NAME.yaml
    Workflow,
    /// punctual.yaml
    Config,
    /// workflows/NAME.cases.yaml
    Cases,
}

impl Schema {
    /// Runs the command.
    pub fn run(self) -> Exit {
        let document = match self.kind {
            Kind::Workflow => Document::Workflow,
            Kind::Config => Document::Config,
            Kind::Cases => Document::Cases,
        };
        output::result(document.text().trim_end());
        Exit::Done
    }
}
