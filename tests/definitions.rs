//! Every kind of mistake in a file, and the exact text a person reads; files that must load.
//!
//! `UPDATE_EXPECTED=1 cargo test --test definitions` rewrites the expected texts: read the difference.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "helpers of tests")]

use std::path::{Path, PathBuf};

use punctual::definition::catalog::{self, load_file};
use punctual::definition::config::{self, Configuration};
use punctual::definition::diagnostic::Diagnostic;
use punctual::definition::environment::Environment;
use punctual::definition::folder::Folder;
use punctual::definition::source::Source;

const CONFIGURATION: &str = "
providers:
  one: {kind: openai}
  two: {kind: anthropic}
  off: {kind: groq, optional: true}
models:
  quick: {paths: [{provider: one, model: gpt-5-mini}, {provider: two, model: claude-haiku-4-5}]}
  balanced: {paths: [{provider: one, model: gpt-5}, {provider: two, model: claude-sonnet-4-6}]}
  keyless: {paths: [{provider: off, model: openai/gpt-oss-20b}]}
";

fn environment() -> Environment {
    Environment::of([("OPENAI_API_KEY", "k"), ("ANTHROPIC_API_KEY", "k")])
}

fn configuration() -> Configuration {
    let source = Source::new("punctual.yaml", CONFIGURATION);
    config::load(source, Path::new("punctual.yaml"), &environment()).0.unwrap()
}

fn files(folder: &str) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<PathBuf> =
        entries.filter(|path| path.extension().is_some_and(|e| e == "yaml")).collect();
    files.sort();
    files
}

fn render(diagnostics: &[Diagnostic]) -> String {
    let mut diagnostics = diagnostics.to_vec();
    Diagnostic::sort(&mut diagnostics);
    let shown: Vec<String> = diagnostics.iter().map(ToString::to_string).collect();
    shown.join("\n\n").trim_end().to_owned() + "\n"
}

/// Compares with the text beside the file; collects what differs.
fn compare(path: &Path, text: &str, differing: &mut Vec<String>) {
    let expected = path.with_extension("expected");
    if std::env::var_os("UPDATE_EXPECTED").is_some() {
        std::fs::write(&expected, text).unwrap();
        return;
    }
    let said = std::fs::read_to_string(&expected).unwrap_or_default();
    if said != text {
        differing.push(format!("{}\n--- expected\n{said}\n--- found\n{text}", path.display()));
    }
}

#[test]
fn every_mistake_is_told_in_its_exact_words() {
    let configuration = configuration();
    let mut differing = Vec::new();
    let paths = files("tests/definitions/bad");
    assert!(paths.len() >= 50);
    for path in paths {
        let lowered = load_file(&path, &configuration);
        assert!(lowered.workflow.is_none(), "{} loads", path.display());
        assert!(lowered.diagnostics.iter().any(Diagnostic::is_error), "{}", path.display());
        compare(&path, &render(&lowered.diagnostics), &mut differing);
    }
    assert!(differing.is_empty(), "{}", differing.join("\n\n"));
}

#[test]
fn every_mistake_in_a_configuration_is_told_in_its_exact_words() {
    let mut differing = Vec::new();
    for path in files("tests/definitions/config") {
        let text = std::fs::read_to_string(&path).unwrap();
        let source = Source::new(path.to_string_lossy().replace('\\', "/"), text);
        let (_, found) = config::load(source, &path, &environment());
        let text = render(&found);
        assert!(!text.contains("do-not-print-me"), "{text}");
        compare(&path, &text, &mut differing);
    }
    assert!(differing.is_empty(), "{}", differing.join("\n\n"));
}

#[test]
fn good_files_load_without_a_word() {
    let configuration = configuration();
    for path in files("tests/definitions/good") {
        let lowered = load_file(&path, &configuration);
        assert_eq!(render(&lowered.diagnostics), "\n", "{}", path.display());
        assert!(lowered.workflow.is_some());
    }
}

#[test]
fn the_documented_configuration_loads() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::create_dir(dir.path().join("workflows")).unwrap();
    std::fs::copy("tests/definitions/punctual.yaml", dir.path().join("punctual.yaml")).unwrap();
    let keys = ["OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GROQ_API_KEY"];
    let environment = Environment::of(keys.map(|key| (key, "k")));
    let catalog = catalog::load(&Folder::at(dir.path()), &environment, None);
    assert_eq!(render(&catalog.diagnostics), "\n");
    let models: Vec<_> = catalog.configuration.models.iter().map(|m| m.name.as_str()).collect();
    assert_eq!(models, ["quick", "balanced", "best", "judge"]);
    assert_eq!(catalog.configuration.model("quick").unwrap().paths.len(), 3);
    assert_eq!(catalog.configuration.limits.concurrent_runs, Some(8));
}

#[test]
fn every_lint_is_told_in_its_exact_words_and_shown_by_no_file_that_is_fine() {
    let path = Path::new("tests/definitions/lint/config/punctual.yaml");
    let source = Source::new("punctual.yaml", std::fs::read_to_string(path).unwrap());
    let configuration = config::load(source, path, &environment()).0.unwrap();
    let (mut differing, mut codes) = (Vec::new(), std::collections::BTreeSet::new());
    for path in files("tests/definitions/lint") {
        let lowered = load_file(&path, &configuration);
        let text = render(&lowered.diagnostics);
        assert!(lowered.workflow.is_some(), "{text}");
        if path.file_stem().unwrap().to_str().unwrap().ends_with("_fine") {
            assert_eq!(text, "\n", "{}", path.display());
            continue;
        }
        codes.extend(lowered.diagnostics.iter().map(|found| found.code.0));
        compare(&path, &text, &mut differing);
    }
    assert!(differing.is_empty(), "{}", differing.join("\n\n"));
    assert!(codes.len() >= 14, "{codes:?}");
}
