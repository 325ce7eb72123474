//! What is fuzzed, and with what to begin.

#[path = "reply.rs"]
mod reply;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use punctual::definition::config::{self, Configuration};
use punctual::definition::diagnostic::Diagnostic;
use punctual::definition::environment::Environment;
use punctual::definition::lower::{Context, lower};
use punctual::definition::shelf::Shelf;
use punctual::definition::source::Source;
use punctual::domain::finding::Finding;
use punctual::domain::shape::{Presence, Range, Scope, Shape};
use punctual::expression::Expression;
use punctual::template::Template;
use serde_json::{Value, json};

/// One thing that reads text.
pub struct Target {
    pub name: &'static str,
    /// What its inputs are made from.
    pub corpus: fn() -> Vec<String>,
    /// Reads an input, and sums up what it had to say.
    pub look: fn(&str) -> String,
}

pub const TARGETS: [Target; 5] = [
    Target { name: "workflow", corpus: workflows, look: workflow },
    Target { name: "configuration", corpus: configurations, look: configuration },
    Target { name: "expression", corpus: expressions, look: expression },
    Target { name: "template", corpus: templates, look: template },
    Target { name: "reply", corpus: reply::bodies, look: reply::reply },
];

/// Every file of that ending below a folder, sorted.
fn files(folder: &Path, ending: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files(&path, ending));
        } else if path.extension().is_some_and(|e| e == ending) {
            found.push(path);
        }
    }
    found.sort();
    found
}

fn read(folders: &[&str], ending: &str) -> Vec<String> {
    let files = folders.iter().flat_map(|folder| files(Path::new(folder), ending));
    files.filter_map(|path| fs::read_to_string(path).ok()).collect()
}

fn workflows() -> Vec<String> {
    read(
        &["workflows", "tests/definitions/good", "tests/definitions/bad", "tests/definitions/lint"],
        "yaml",
    )
}

fn configurations() -> Vec<String> {
    let mut texts = read(&["tests/definitions/config", "tests/definitions/lint/config"], "yaml");
    texts.push(fs::read_to_string("tests/definitions/punctual.yaml").unwrap());
    texts
}

/// The values behind keys and dashes: what is no expression among them is a start as well.
fn expressions() -> Vec<String> {
    let values = workflows().into_iter().flat_map(|text| {
        let lines = text.lines().filter_map(|line| {
            let value =
                line.split_once(": ").map_or(line.trim().trim_start_matches("- "), |(_, v)| v);
            let short = value.len() < 200 && value.contains(['.', '(', '?']);
            short.then(|| value.trim().to_owned())
        });
        lines.collect::<Vec<_>>()
    });
    let mut values: Vec<String> = values.collect();
    values.sort();
    values.dedup();
    values
}

fn templates() -> Vec<String> {
    let mut texts = read(&["workflows", "tests/definitions"], "md");
    texts.extend(workflows().iter().flat_map(|text| {
        text.lines()
            .filter(|line| line.contains("{{") || line.contains("{%"))
            .map(str::to_owned)
            .collect::<Vec<_>>()
    }));
    texts
}

fn codes(found: &[Diagnostic]) -> String {
    for one in found {
        let place = one.span.expect("a problem in a text has its place");
        assert!(place.start <= place.end, "{one}");
    }
    let mut codes: Vec<&str> = found.iter().map(|one| one.code.0).collect();
    codes.sort_unstable();
    codes.dedup();
    codes.join(" ")
}

fn workflow(text: &str) -> String {
    static SERVER: OnceLock<(Configuration, Shelf)> = OnceLock::new();
    let (configuration, shelf) = SERVER.get_or_init(|| {
        let root = PathBuf::from("tests/definitions/good");
        (Configuration::simulated("calm", 1), Shelf::Disk { root, label: String::new() })
    });
    let context = Context { name: "flow", shelf, configuration };
    let lowered = lower(context, Source::new("flow.yaml", text));
    let broken = lowered.diagnostics.iter().any(Diagnostic::is_error);
    assert_eq!(broken, lowered.workflow.is_none(), "an error and a workflow, or neither");
    codes(&lowered.diagnostics)
}

fn configuration(text: &str) -> String {
    let environment = Environment::of([("OPENAI_API_KEY", "k"), ("ANTHROPIC_API_KEY", "k")]);
    let source = Source::new("punctual.yaml", text);
    codes(&config::load(source, Path::new("punctual.yaml"), &environment).1)
}

/// What texts may refer to, and a value of it.
fn scope() -> &'static (Scope, Value) {
    static SCOPE: OnceLock<(Scope, Value)> = OnceLock::new();
    SCOPE.get_or_init(|| {
        let item =
            || Shape::object([("id", Shape::text()), ("score", Shape::Number(Range::default()))]);
        let input = Shape::object([
            ("text", Shape::text()),
            ("documents", Shape::list(item())),
            ("count", Shape::Integer(Range::default())),
            ("note", Shape::Nullable(Shape::text().into())),
        ]);
        let mut scope = Scope::default();
        scope.bind("input", input.clone(), Presence::Always);
        scope.bind("plan", Shape::object([("questions", Shape::list(item()))]), Presence::Always);
        scope.bind("answer", Shape::list(item()), Presence::Maybe("it is optional".into()));
        scope.bind("any", Shape::Any, Presence::Always);
        let items = json!([{"id": "a", "score": 0.1}, {"id": "\u{1F600}", "score": 1e30}]);
        let value = json!({
            "input": {"text": "One. Two!\n\nThree", "documents": items, "count": 3, "note": null},
            "plan": {"questions": items}, "any": {"x": [1, "a", null]},
        });
        (scope, value)
    })
}

fn said(findings: &[Finding], text: &str) -> String {
    for one in findings {
        assert!(text.get(one.range.clone()).is_some(), "{one:?}");
    }
    let mut codes: Vec<String> = findings
        .iter()
        .map(|one| format!("{} {}", one.code, one.message.chars().take(12).collect::<String>()))
        .collect();
    codes.sort();
    codes.dedup();
    codes.join(", ")
}

fn expression(text: &str) -> String {
    let (scope, bindings) = scope();
    match Expression::parse(text) {
        Err(finding) => said(&[finding], text),
        Ok(parsed) => {
            let (shape, findings) = parsed.check(scope);
            // Total, checked or not.
            let value = parsed.evaluate(bindings);
            let kind = if value.is_null() { "null" } else { "value" };
            let mentions = parsed.mentions().len();
            format!("{} {} {kind} {mentions}", said(&findings, text), shape.describe())
        }
    }
}

fn template(text: &str) -> String {
    let (scope, bindings) = scope();
    match Template::parse(text) {
        Err(finding) => said(&[finding], text),
        Ok(parsed) => {
            let findings: Vec<Finding> =
                parsed.check(scope).into_iter().map(|located| located.finding).collect();
            let rendered = match parsed.render(bindings) {
                Ok(_) => String::new(),
                Err(error) => {
                    error.message.chars().filter(|c| !c.is_ascii_digit()).take(40).collect()
                }
            };
            format!("{} {rendered} {}", said(&findings, text), parsed.mentions().len().min(4))
        }
    }
}
