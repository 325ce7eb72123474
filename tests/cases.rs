//! Cases beside a workflow: every mistake in its exact words, the text of a failing test, and runs that are recorded
//! and tested again, through the program as it is shipped.
//!
//! `UPDATE_EXPECTED=1 cargo test --test cases` rewrites the expected texts: read the difference.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test")]

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use punctual::definition::case::LoweredCases;
use punctual::definition::catalog::{load_cases, load_file};
use punctual::definition::config::Configuration;
use punctual::definition::diagnostic::Diagnostic;
use serde_json::{Value, json};

const FOLDER: &str = "tests/cases";

fn files(folder: &str) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(Path::new(FOLDER).join(folder)).unwrap();
    let entries = entries.map(|entry| entry.unwrap().path());
    let mut files: Vec<PathBuf> =
        entries.filter(|path| path.extension().is_some_and(|e| e == "yaml")).collect();
    files.sort();
    files
}

fn cases(path: &Path) -> LoweredCases {
    let configuration = Configuration::simulated("calm", 1);
    let lowered = load_file(&Path::new(FOLDER).join("triage.yaml"), &configuration);
    let workflow = lowered.workflow.unwrap_or_else(|| panic!("{:#?}", lowered.diagnostics));
    load_cases(path, Some(&workflow))
}

fn compare(path: &Path, mut diagnostics: Vec<Diagnostic>) {
    Diagnostic::sort(&mut diagnostics);
    let shown: Vec<String> = diagnostics.iter().map(ToString::to_string).collect();
    let text = format!("{}\n", shown.join("\n\n"));
    let expected = path.with_extension("expected");
    if std::env::var_os("UPDATE_EXPECTED").is_some() {
        std::fs::write(&expected, &text).unwrap();
    }
    let said = std::fs::read_to_string(&expected).unwrap_or_default();
    assert_eq!(said, text, "{}", path.display());
}

#[test]
fn every_mistake_is_told_in_its_exact_words_and_takes_its_case_out() {
    let paths = files("bad");
    assert!(paths.len() >= 7);
    for path in paths {
        let lowered = cases(&path);
        let sound = lowered.cases.list.iter().map(|case| case.name.as_str());
        let sound: Vec<&str> = sound.collect();
        // The first of two of one name is as good as any.
        assert!(sound.iter().all(|name| *name == "twice"), "{}: {sound:?}", path.display());
        assert!(lowered.diagnostics.iter().any(Diagnostic::is_error));
        compare(&path, lowered.diagnostics);
    }
}

#[test]
fn answers_that_nothing_makes_good_are_warned_of_unless_the_case_is_about_them() {
    for path in files("warned") {
        let lowered = cases(&path);
        assert_eq!(lowered.cases.list.len(), lowered.cases.written);
        compare(&path, lowered.diagnostics);
    }
}

/// A folder of its own, with the workflow of these tests.
struct Bench {
    folder: tempfile::TempDir,
}

struct Left {
    code: i32,
    out: String,
    err: String,
}

impl Bench {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("workflows")).unwrap();
        let bench = Self { folder };
        bench.write("workflows/triage.yaml", &text("triage.yaml"));
        bench
    }

    fn write(&self, name: &str, text: &str) {
        std::fs::write(self.folder.path().join(name), text).unwrap();
    }

    fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.folder.path().join(name)).unwrap()
    }

    fn run(&self, arguments: &[&str]) -> Left {
        let mut command = Command::new(env!("CARGO_BIN_EXE_punctual"));
        command.args(arguments).current_dir(self.folder.path()).env_clear();
        let home = self.folder.path().join("home");
        command.env("HOME", &home).env("XDG_STATE_HOME", home.join("state"));
        let output = command.stdin(Stdio::null()).output().unwrap();
        Left {
            code: output.status.code().unwrap(),
            out: String::from_utf8(output.stdout).unwrap(),
            err: String::from_utf8(output.stderr).unwrap(),
        }
    }
}

fn text(file: &str) -> String {
    std::fs::read_to_string(Path::new(FOLDER).join(file)).unwrap()
}

const INPUT: &str = r#"{"message": "I was charged twice.\nPlease pay it back.", "policies": [{"id": "refund", "text": "We pay back what was charged twice."}, {"id": "sla", "text": "We are up."}]}"#;

#[test]
fn a_failing_case_shows_what_was_expected_what_came_and_how_it_came_about() {
    let bench = Bench::new();
    bench.write("workflows/triage.cases.yaml", &text("failing.cases.yaml"));
    let left = bench.run(&["test"]);
    assert_eq!((left.code, left.err.as_str()), (1, ""));
    insta::assert_snapshot!(left.out);
    let report: Value = serde_json::from_str(&bench.run(&["test", "--json"]).out).unwrap();
    assert_eq!((&report["passed"], &report["failed"]), (&json!(1), &json!(2)));
    let differences = &report["cases"][1]["differences"];
    assert_eq!(differences[0]["pointer"], "/outcome");
    assert_eq!(report["cases"][1]["report"]["simulated"], true);
}

#[test]
fn what_cannot_be_tested_is_told_and_nothing_is_passed_over() {
    let bench = Bench::new();
    let left = bench.run(&["test"]);
    assert_eq!((left.code, left.out.as_str()), (2, ""));
    insta::assert_snapshot!("nothing_to_test", left.err);
    bench.write("workflows/triage.cases.yaml", &text("bad/names.cases.yaml"));
    bench.write(
        "workflows/broken.yaml",
        "description: Broken.\nsteps: {a: {prompt: '{{ input.x }}'}}\n",
    );
    bench.write("workflows/broken.cases.yaml", "- {name: one}\n- {name: two}\n");
    bench.write("workflows/triag.cases.yaml", "- {name: one}\n");
    let left = bench.run(&["test"]);
    assert_eq!(left.code, 2);
    insta::assert_snapshot!("not_testable", left.err);
    assert!(left.out.contains("twice"), "sound cases are run all the same: {}", left.out);
    let left = bench.run(&["test", "triagge"]);
    assert_eq!((left.code, left.out.as_str()), (2, ""));
    insta::assert_snapshot!("no_such_workflow", left.err);
}

#[test]
fn tests_need_no_key_and_no_network_whatever_the_configuration_says() {
    let bench = Bench::new();
    bench.write(
        "punctual.yaml",
        "providers:\n  far: {kind: openai, base_url: 'https://nowhere.invalid/v1', api_key: {env: NOT_SET}}\n\
         models:\n  balanced: {paths: [{provider: far, model: gpt-5}]}\n",
    );
    bench.write("workflows/triage.cases.yaml", &text("failing.cases.yaml"));
    let left = bench.run(&["test", "triage", "--json"]);
    assert_eq!(left.code, 1, "{}", left.err);
    let report: Value = serde_json::from_str(&left.out).unwrap();
    assert_eq!(report["passed"], 1);
    let attempt = &report["cases"][0]["report"]["steps"][0]["attempts"][0];
    assert_eq!(attempt["path"], "far/gpt-5", "the workflow's own paths are played");
}

#[test]
fn a_run_that_is_recorded_passes_at_once_and_leaves_what_stands_there_as_it_is() {
    let bench = Bench::new();
    let simulated = ["--simulate", "calm", "--seed", "3", "--speed", "max"];
    let run = |more: &[&str]| {
        let base = ["run", "triage", "--input", INPUT, "--record"];
        bench.run(&[&base[..], &simulated[..], more].concat())
    };
    let left = run(&["--name", "charged twice"]);
    assert_eq!(left.code, 0, "{}", left.err);
    let first = bench.read("workflows/triage.cases.yaml");
    assert!(first.starts_with("# yaml-language-server: $schema="), "{first}");
    insta::assert_snapshot!("recorded", first);
    assert!(left.err.contains("it passes 'punctual test'"), "{}", left.err);
    // As someone writes it who knows YAML: comments, no line end.
    let edited = format!("{}\n# the last word", first.trim_end());
    bench.write("workflows/triage.cases.yaml", &edited);
    let left = run(&["--name", "charged twice"]);
    assert_eq!(left.code, 2);
    assert!(
        left.err.contains("has a case named 'charged twice'; give another --name"),
        "{}",
        left.err
    );
    let left = run(&["--set", "tone=plain", "--deadline", "15s"]);
    assert_eq!(left.code, 0, "{}", left.err);
    let both = bench.read("workflows/triage.cases.yaml");
    assert!(both.starts_with(&edited) && both.len() > edited.len());
    let left = bench.run(&["test"]);
    assert_eq!(left.code, 0, "{}{}", left.out, left.err);
    assert!(left.out.ends_with("2 passed\n"), "{}", left.out);
}

/// Records a run of an input whose case has a repair, a loss and a revision; what is added to the file.
fn recorded_again(bench: &Bench) -> String {
    let before = text("recorded.cases.yaml");
    bench.write("workflows/triage.cases.yaml", &before);
    let input =
        r#"{"message": "Where is my invoice?", "policies": [{"id": "sla", "text": "We are up."}]}"#;
    let run = ["run", "triage", "--input", input, "--record", "--name", "again"];
    let simulated = ["--simulate", "calm", "--seed", "5", "--speed", "max"];
    let left = bench.run(&[&run[..], &simulated[..]].concat());
    assert_eq!(left.code, 0, "{}", left.err);
    assert!(left.err.contains("it passes 'punctual test'"), "{}", left.err);
    let after = bench.read("workflows/triage.cases.yaml");
    after.strip_prefix(&before).unwrap().to_owned()
}

#[test]
fn what_was_repaired_revised_and_lost_is_recorded_as_it_was() {
    insta::assert_snapshot!("recorded_again", recorded_again(&Bench::new()));
}

const FILTERED: &str = "
description: Looks at the lines that count.
deadline: 20s
input: {lines: [{text: string, price: number}]}
steps:
  priced:
    each: input.lines
    as: line
    min_ok: 0%
    value: {text: line.text, net: line.price}
    check: [net >= 0]
  look:
    each: priced
    as: line
    max_tokens: 100
    prompt: 'Look at {{ line.text }}'
    output: {said: string}
output: {said: look.said}
";

#[test]
fn an_item_that_a_computed_step_leaves_out_needs_no_answer() {
    let bench = Bench::new();
    bench.write("workflows/looks.yaml", FILTERED);
    bench.write(
        "workflows/looks.cases.yaml",
        "- name: two of three
  input: {lines: [{text: a, price: 1}, {text: b, price: -1}, {text: c, price: 2}]}
  answers: {look: [{said: A}, {said: C}]}
  expect: {outcome: degraded, missing: ['priced[1]'], output: {said: [A, C]}, steps: {'priced[1]': {status: failed}}}
",
    );
    let left = bench.run(&["check", "workflows/looks.yaml"]);
    assert_eq!((left.code, left.out.contains("P0706")), (0, false), "{}", left.out);
    let left = bench.run(&["test", "looks"]);
    assert_eq!(left.code, 0, "{}{}", left.out, left.err);
}

const CLAUSES: &str = "
description: Looks at clauses, and has those that were looked at advised on.
deadline: 60s
input: {clauses: [string]}
steps:
  look:
    each: input.clauses
    as: clause
    min_ok: 50%
    max_tokens: 100
    prompt: 'Look at {{ clause }}'
    output: {risk: string}
  advise:
    each: look
    as: looked
    max_tokens: 100
    prompt: 'Advise on {{ looked.risk }}'
    output: {advice: string}
output: {advice: advise.advice}
";

#[test]
fn answers_to_more_or_fewer_items_than_a_fan_out_has_left_fail_the_case() {
    let bench = Bench::new();
    bench.write("workflows/clauses.yaml", CLAUSES);
    let case = |answers: &str| {
        let text = format!(
            "- name: the second is lost
  input: {{clauses: [a, b, c]}}
  answers:
    look: [{{risk: A}}, {{$fate: error}}, {{risk: C}}]
    advise: {answers}
  expect: {{outcome: degraded, missing: ['look[1]']}}
"
        );
        bench.write("workflows/clauses.cases.yaml", &text);
        bench.run(&["test", "clauses"])
    };
    let left = case("[{advice: a}, {advice: b}, {advice: c}]");
    assert_eq!((left.code, left.err.as_str()), (1, ""), "{}", left.out);
    insta::assert_snapshot!("miscounted", left.out);
    let left = case("[{advice: a}]");
    assert_eq!(left.code, 1, "{}", left.out);
    assert!(left.out.contains("P0706: its list had 2 items in this run"), "{}", left.out);
    for right in ["[{advice: a}, {advice: c}]", "[{advice: a}, null]"] {
        assert_eq!(case(right).code, 0, "{right}");
    }
}

#[test]
fn a_case_whose_yaml_was_refused_does_not_run_without_what_was_left_out() {
    let bench = Bench::new();
    bench.write("workflows/looks.yaml", FILTERED);
    bench.write(
        "workflows/looks.cases.yaml",
        "- name: sound
  input: {lines: [{text: a, price: 1}]}
  answers: &good {look: [{said: A}]}
- name: merged
  input: {lines: [{text: b, price: 1}]}
  answers: {<<: *good}
  expect: {output: {said: [B]}}
- name: twice
  input: {lines: [{text: c, price: 1}]}
  input: {lines: [{text: d, price: 1}]}
- name: sound as well
  input: {lines: [{text: e, price: 1}]}
",
    );
    let left = bench.run(&["test", "looks"]);
    assert_eq!(left.code, 2);
    assert!(left.out.ends_with("2 passed\n"), "{}", left.out);
    insta::assert_snapshot!("refused_yaml", left.err);
}

#[test]
fn the_step_that_failed_is_shown_first_and_the_words_that_differ_in_full() {
    let bench = Bench::new();
    bench.write("workflows/clauses.yaml", CLAUSES);
    bench.write(
        "workflows/clauses.cases.yaml",
        "- name: six stumble
  input: {clauses: [a, b, c, d, e, f]}
  answers:
    look:
      - $attempts: [{$fate: error}, {risk: A}]
      - $attempts: [{$fate: error}, {risk: B}]
      - $attempts: [{$fate: error}, {risk: C}]
      - $attempts: [{$fate: error}, {risk: D}]
      - $attempts: [{$fate: error}, {risk: E}]
      - $fate: error
    advise: [{$fate: error}, {advice: b}, {advice: c}, {advice: d}, {advice: e}]
  expect: {failure: {class: server_error, message: 'the advice on the first clause could not be had, as it is said here at length'}}
",
    );
    let left = bench.run(&["test", "clauses"]);
    assert_eq!(left.code, 1, "{}", left.err);
    insta::assert_snapshot!("failed_first", left.out);
}

#[test]
fn a_known_input_is_answered_from_its_case_and_another_by_shape() {
    let bench = Bench::new();
    bench.write("workflows/triage.cases.yaml", &text("failing.cases.yaml"));
    let run = |message: &str| {
        let input = format!(r#"{{"policies": [], "message": "{message}"}}"#);
        let left = bench.run(&[
            "run",
            "triage",
            "--input",
            &input,
            "--simulate",
            "calm",
            "--speed",
            "max",
        ]);
        assert_eq!(left.code, 0, "{}", left.err);
        serde_json::from_str::<Value>(&left.out).unwrap()["reply"].clone()
    };
    assert_eq!(run("Where is my invoice?"), "It is attached.");
    assert_eq!(
        run("Where is my receipt?"),
        "Reply to Where is my receipt?",
        "made up from the prompt"
    );
}

#[test]
fn what_is_built_in_cannot_be_recorded() {
    let folder = tempfile::tempdir().unwrap();
    let bench = Bench { folder };
    let left = bench.run(&["run", "summarize", "--set", "text=hello", "--record", "--simulate"]);
    assert_eq!((left.code, left.out.as_str()), (2, ""));
    insta::assert_snapshot!("built_in", left.err);
}
