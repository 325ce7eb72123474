//! Names that clients, references and labels can hold.

use crate::definition::diagnostic::{Diagnostic, Severity};
use crate::definition::lower::Lowering;
use crate::definition::raw::RawWorkflow;
use crate::definition::source::Source;
use crate::domain::finding::Code;

/// A name that does not fit `^[a-z][a-z0-9_]{0,47}$`.
pub const BAD_NAME: Code = Code("P0402");
/// A name that means something else.
pub const RESERVED_NAME: Code = Code("P0403");

/// Names that texts use for other things.
pub const RESERVED: [&str; 5] = ["input", "vars", "run", "feedback", "index"];

/// Words of the two languages: a step of that name could not be referenced.
const KEYWORDS: [&str; 10] =
    ["and", "or", "not", "in", "is", "if", "else", "true", "false", "null"];

/// The tools that stand beside the workflows.
const FIXED_TOOLS: [&str; 4] = ["list_workflows", "run_workflow", "get_run", "cancel_run"];

/// Whether clients and references can hold the name.
#[must_use]
pub fn is_name(name: &str) -> bool {
    let mut bytes = name.bytes();
    bytes.next().is_some_and(|b| b.is_ascii_lowercase())
        && name.len() <= 48
        && bytes.all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_')
}

/// A name near `name` that is valid.
#[must_use]
pub fn suggestion(name: &str) -> String {
    let mut out: String = name
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '_' })
        .skip_while(|c| !c.is_ascii_lowercase())
        .take(48)
        .collect();
    if out.is_empty() && name.starts_with(|c: char| c.is_ascii_digit()) {
        out = suggestion(&format!("s{name}"));
    }
    if out.is_empty() {
        "step".clone_into(&mut out);
    }
    out
}

/// Checks a tool's name, which is its file's stem.
pub fn check_tool(name: &str, source: &Source, found: &mut Vec<Diagnostic>) {
    if !is_name(name) {
        let message = format!("the file's name makes a tool named '{name}', which clients reject");
        let mut problem = Diagnostic::at(Severity::Error, BAD_NAME, source, &(0..0), message);
        problem.source_line = None;
        problem.help(format!(
            "rename the file to {}.yaml: lower-case letters, digits and _, at most 48",
            suggestion(name)
        ));
        found.push(problem);
    } else if FIXED_TOOLS.contains(&name) {
        let message = format!("'{name}' is one of the server's own tools");
        let mut problem = Diagnostic::at(Severity::Error, RESERVED_NAME, source, &(0..0), message);
        problem.source_line = None;
        problem.help("rename the file");
        found.push(problem);
    }
}

impl Lowering<'_> {
    /// Where a step has the name of something else, takes out what only follows from that: its texts mean the other.
    pub(super) fn drop_consequences(&mut self, raw: &RawWorkflow<'_>) {
        let names = raw.steps.iter().map(|step| step.key.name.as_str());
        for name in names.filter(|name| RESERVED.contains(name)) {
            let follows =
                [format!(": '{name}' has no field "), format!("step '{name}' refers to itself")];
            let (before, behind) = (format!("→ {name}"), format!("{name} →"));
            let round = |message: &str| {
                message.starts_with("steps wait for one another")
                    && (message.contains(&before) || message.contains(&behind))
            };
            self.reader.found.retain(|found| {
                !round(&found.message) && !follows.iter().any(|f| found.message.contains(f))
            });
        }
    }

    pub(super) fn check_step_names(&mut self, raw: &RawWorkflow<'_>) {
        for step in &raw.steps {
            let name = step.key.name.as_str();
            if !is_name(name) {
                self.reader
                    .error(BAD_NAME, &step.key.span, format!("'{name}' cannot name a step"))
                    .help(format!(
                        "as '{}': lower-case letters, digits and _, at most 48",
                        suggestion(name)
                    ));
            } else if RESERVED.contains(&name) || KEYWORDS.contains(&name) {
                let taken = if RESERVED.contains(&name) {
                    RESERVED.as_slice()
                } else {
                    KEYWORDS.as_slice()
                };
                self.reader
                    .error(RESERVED_NAME, &step.key.span, format!("'{name}' is reserved"))
                    .help(format!("choose another name; reserved: {}", taken.join(", ")));
            }
            let Some(item) = &step.item else { continue };
            let taken = raw.steps.iter().any(|other| other.key.name == item.value);
            if !is_name(&item.value) {
                let message = format!("'{}' cannot name an item", item.value);
                self.reader
                    .error(BAD_NAME, &item.span, message)
                    .help(format!("as '{}'", suggestion(&item.value)));
            } else if taken
                || RESERVED.contains(&item.value.as_str())
                || KEYWORDS.contains(&item.value.as_str())
            {
                let what = if taken { "the name of a step" } else { "reserved" };
                let message = format!("`as`: '{}' is {what}", item.value);
                self.reader.error(RESERVED_NAME, &item.span, message).help("choose another name");
            }
        }
    }
}
