//! The documentation says what the program does: every example in it loads, every expression has the value that stands
//! beside it, and the tables are made from the code.
//!
//! `UPDATE_EXPECTED=1 cargo test --test docs` rewrites the generated parts: read the difference.
#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests")]

use std::fmt::Write as _;
use std::path::Path;

use serde_json::{Value, json};

use punctual::definition::catalog::{load, load_file};
use punctual::definition::config::Configuration;
use punctual::definition::environment::Environment;
use punctual::definition::folder::Folder;
use punctual::domain::failure::FailureClass;
use punctual::domain::shape::{Presence, Range, Scope, Shape};
use punctual::expression::{Expression, TABLE};
use punctual::world::case::play;

fn read(file: &str) -> String {
    std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(file)).unwrap()
}

/// The fenced blocks of a language.
fn blocks(text: &str, language: &str) -> Vec<String> {
    let mut blocks = Vec::new();
    let mut open: Option<String> = None;
    for line in text.lines() {
        match &mut open {
            Some(_) if line == "```" => blocks.extend(open.take()),
            Some(block) => {
                block.push_str(line);
                block.push('\n');
            }
            None if line == format!("```{language}") => open = Some(String::new()),
            None => {}
        }
    }
    blocks
}

#[test]
fn every_workflow_in_the_reference_loads_without_a_word() {
    let text = read("docs/format.md");
    let blocks = blocks(&text, "yaml");
    assert!(blocks.len() > 8, "{}", blocks.len());
    for (at, block) in blocks.iter().enumerate().filter(|(_, block)| !block.starts_with(CASES)) {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join(format!("example_{at}.yaml"));
        std::fs::write(&file, block).unwrap();
        let lowered = load_file(&file, &Configuration::simulated("calm", 1));
        let found: Vec<String> = lowered.diagnostics.iter().map(ToString::to_string).collect();
        assert!(found.is_empty(), "{block}\n{}", found.join("\n"));
    }
}

/// How a list of cases begins.
const CASES: &str = "- name: ";

#[test]
fn every_case_in_the_reference_passes() {
    let text = read("docs/format.md");
    let blocks = blocks(&text, "yaml");
    let workflow = blocks.iter().find(|block| block.contains("  apology:")).unwrap();
    let lists: Vec<&String> = blocks.iter().filter(|block| block.starts_with(CASES)).collect();
    assert_eq!(lists.len(), 1);
    for list in lists {
        let folder = tempfile::tempdir().unwrap();
        let workflows = folder.path().join("workflows");
        std::fs::create_dir(&workflows).unwrap();
        std::fs::write(workflows.join("example.yaml"), workflow).unwrap();
        std::fs::write(workflows.join("example.cases.yaml"), list).unwrap();
        let folder = Folder::at(folder.path()).rehearsed();
        let catalog = load(&folder, &Environment::default(), None);
        let found: Vec<String> = catalog.diagnostics.iter().map(ToString::to_string).collect();
        assert!(found.is_empty(), "{}", found.join("\n"));
        for case in &catalog.cases["example"].list {
            let workflow = &catalog.workflows["example"];
            let played = play(case, workflow, &catalog.configuration.providers, "").unwrap();
            let told: Vec<String> = played.differences.iter().map(ToString::to_string).collect();
            assert!(told.is_empty(), "{}: {}", case.name, told.join("\n"));
        }
    }
}

fn scope() -> (Scope, Value) {
    let mut scope = Scope::default();
    let vars = Shape::object([("limit", Shape::Integer(Range::default()))]);
    scope.bind("vars", vars, Presence::Always);
    (scope, json!({"vars": {"limit": 3}}))
}

/// What an expression comes to, as the tables write it.
fn value_of(text: &str) -> String {
    let (scope, bindings) = scope();
    let Ok(expression) = Expression::parse(text) else { return "*syntax error*".to_owned() };
    if !expression.check(&scope).1.is_empty() {
        return "*load error*".to_owned();
    }
    let value = expression.evaluate(&bindings);
    serde_json::to_string(&value)
        .unwrap()
        .replace("\",\"", "\", \"")
        .replace(',', ", ")
        .replace(",  ", ", ")
}

#[test]
fn every_expression_in_the_reference_has_the_value_beside_it() {
    let text = read("docs/format.md");
    let table = text.split("| expression | value |").nth(1).unwrap();
    let rows: Vec<&str> = table.lines().skip(2).take_while(|line| line.starts_with('|')).collect();
    assert!(rows.len() > 5);
    for row in rows {
        let cells: Vec<&str> = row.split('`').collect();
        let expected = cells.get(3).map_or("*load error*", |cell| cell);
        assert_eq!(value_of(cells[1]), expected, "{row}");
    }
}

#[test]
fn every_function_yields_what_its_example_says() {
    for entry in &TABLE {
        let (example, expected) = entry.example;
        let expected: Value = serde_json::from_str(expected).unwrap();
        let (scope, bindings) = scope();
        let expression = Expression::parse(example).unwrap();
        assert!(expression.check(&scope).1.is_empty(), "{example}");
        assert_eq!(expression.evaluate(&bindings), expected, "{example}");
    }
}

#[test]
fn every_failure_class_that_a_case_may_expect_is_listed() {
    let text = read("docs/format.md");
    let list = text.split("A failure is of one of these classes:").nth(1).unwrap();
    let list = list.split("\n\n").next().unwrap();
    let listed: Vec<&str> = list.split('`').skip(1).step_by(2).collect();
    assert_eq!(listed, FailureClass::ALL.map(FailureClass::as_str));
}

#[test]
fn the_grammar_is_the_parsers() {
    let text = read("docs/format.md");
    let written = &blocks(&text, "text")[0];
    let source = read("src/expression/parse.rs");
    let code: String = source
        .lines()
        .skip_while(|line| *line != "//! ```text")
        .skip(1)
        .take_while(|line| *line != "//! ```")
        .flat_map(|line| [line.strip_prefix("//! ").unwrap_or_default(), "\n"])
        .collect();
    assert_eq!(*written, code);
}

fn functions() -> String {
    let mut table = String::from("| function | yields | example |\n|---|---|---|\n");
    for entry in &TABLE {
        let cell = |text: &str| text.replace('|', "\\|");
        let (example, result) = entry.example;
        let (signature, about) = (cell(entry.signature), cell(entry.about));
        writeln!(table, "| `{signature}` | {about} | `{example}` is `{result}` |").unwrap();
    }
    table
}

/// The keys at a place of a schema, with what editors say of them.
fn keys(file: &str, place: &str) -> String {
    let schema: Value = serde_json::from_str(&read(file)).unwrap();
    let properties = schema.pointer(place).and_then(Value::as_object).unwrap();
    let mut table = String::from("| key | meaning |\n|---|---|\n");
    for (key, value) in properties {
        let about = value["description"].as_str().unwrap().replace('|', "\\|").replace('\n', " ");
        writeln!(table, "| `{key}` | {about} |").unwrap();
    }
    table
}

/// The filters and what each is applied to.
fn filters() -> String {
    let mut table = String::from("| filter | applied to |\n|---|---|\n");
    for (name, takes) in punctual::template::filters() {
        writeln!(table, "| `{name}` | {takes} |").unwrap();
    }
    table
}

/// Puts what is made from the code between its marks.
fn generated(text: &str, part: &str, body: &str) -> String {
    let mark = format!("<!-- generated: {part} -->\n");
    let (before, after) = text.split_once(&mark).unwrap_or_else(|| panic!("no part '{part}'"));
    let (_, after) = after.split_once("<!-- end -->").unwrap();
    format!("{before}{mark}{body}<!-- end -->{after}")
}

#[test]
fn the_generated_parts_are_those_of_the_code() {
    let written = read("docs/format.md");
    let (workflow, config) = ("schemas/workflow.schema.json", "schemas/config.schema.json");
    let cases = "schemas/cases.schema.json";
    let parts = [
        ("keys of a workflow", keys(workflow, "/properties")),
        ("keys of a step", keys(workflow, "/properties/steps/additionalProperties/properties")),
        ("functions", functions()),
        ("filters", filters()),
        ("keys of a case", keys(cases, "/items/properties")),
        ("keys of what is expected", keys(cases, "/items/properties/expect/properties")),
        ("keys of the configuration", keys(config, "/properties")),
        (
            "keys of a provider",
            keys(config, "/properties/providers/additionalProperties/properties"),
        ),
        ("keys of a model", keys(config, "/properties/models/additionalProperties/properties")),
    ];
    let made =
        parts.iter().fold(written.clone(), |text, (part, body)| generated(&text, part, body));
    if std::env::var_os("UPDATE_EXPECTED").is_some() {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/format.md");
        std::fs::write(file, made).unwrap();
        return;
    }
    assert!(
        made == written,
        "run UPDATE_EXPECTED=1 cargo test --test docs, and read the difference"
    );
}
