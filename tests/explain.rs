//! What can be known of a workflow without a model: explain, dry runs, new, doctor; through the program as shipped.
#![expect(clippy::unwrap_used, reason = "a test")]

use std::path::PathBuf;
use std::process::{Command, Stdio};

use serde_json::Value;

/// A folder of its own, with a home of its own.
struct Bench {
    folder: tempfile::TempDir,
}

struct Left {
    code: i32,
    out: String,
    err: String,
}

impl Bench {
    fn new(files: &[(&str, &str)]) -> Self {
        let bench = Self { folder: tempfile::tempdir().unwrap() };
        for (name, text) in files {
            bench.write(name, text);
        }
        bench
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn write(&self, name: &str, text: &str) {
        std::fs::create_dir_all(self.path(name).parent().unwrap()).unwrap();
        std::fs::write(self.path(name), text).unwrap();
    }

    fn run(&self, arguments: &[&str]) -> Left {
        self.run_with(arguments, &[])
    }

    fn run_with(&self, arguments: &[&str], variables: &[(&str, &str)]) -> Left {
        let mut command = Command::new(env!("CARGO_BIN_EXE_punctual"));
        command.args(arguments).current_dir(self.folder.path()).env_clear();
        command.env("HOME", self.path("home")).env("XDG_STATE_HOME", self.path("state"));
        command.envs(variables.iter().copied());
        let output = command.stdin(Stdio::null()).output().unwrap();
        let home = self.folder.path().to_string_lossy().into_owned();
        let own = env!("CARGO_BIN_EXE_punctual");
        let text = |bytes| {
            let text = String::from_utf8(bytes).unwrap();
            text.replace(own, "[PUNCTUAL]").replace(&home, "[FOLDER]")
        };
        Left {
            code: output.status.code().unwrap_or(-1),
            out: text(output.stdout),
            err: text(output.stderr),
        }
    }
}

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

const CONFIGURATION: &str = "\
providers:
  one: {kind: simulated, regime: calm}
  two: {kind: simulated, regime: pooled}
models:
  balanced:
    paths:
      - {provider: one, model: flagship, context: 32000, price: {in: 1, out: 4}, trust: 0.95}
      - {provider: two, model: flagship, context: 32000, price: {in: 2, out: 8}, trust: 0.95}
    faster: quick
  quick:
    paths: [{provider: two, model: light, context: 32000, price: {in: 0.1, out: 0.4}, trust: 0.9}]
defaults:
  temperature: 0.2
  budget: {usd: 0.5}
  policy: {attempts: 3, on: {limited: fail}}
";

const LAYERED: &str = "\
description: Three places say something.
deadline: 20s
input:
  text: string
  parts: {$type: [string], $min: 1}
  fast?: boolean
budget: {calls: 40}
vars: {tone: plain}
defaults:
  max_tokens: 200
  policy: {hedge: 'off', on: {slow: next}}
steps:
  head:
    value:
      all: join(input.parts, ' and ')
      count: length(input.parts)
  read:
    each: input.parts
    as: part
    model: quick
    min_ok: 50%
    system: Be {{ vars.tone }}.
    prompt: Read part {{ index }} of {{ head.count }}, {{ part }}
    output: {points: [string]}
  skipped:
    when: input.fast ?? false
    prompt: Hurry with {{ input.text }}
  draft:
    max_tokens: 400
    prompt: |
      Write about {{ input.text }} from:
      {% for one in read %}- {{ one.points }}
      {% endfor %}{% if skipped %}{{ skipped.text }}{% endif %}
    policy: {cutoff: {first_token: 3s, total: 12s}}
output:
  text: draft.text
  about: head.all
";

fn layered() -> Bench {
    Bench::new(&[("punctual.yaml", CONFIGURATION), ("workflows/layered.yaml", LAYERED)])
}

#[test]
fn every_setting_stands_beside_the_place_that_says_it() {
    let bench = layered();
    let left = bench.run(&["explain", "layered"]);
    assert_eq!((left.code, left.err.as_str()), (0, ""));
    insta::assert_snapshot!(left.out);
    let record = json(&bench.run(&["explain", "layered", "--json"]).out);
    let settings = |step: &str| {
        let steps = record["settings"]["steps"].as_array().unwrap();
        let of = steps.iter().find(|of| of["step"] == step).unwrap();
        of["settings"].as_array().unwrap().clone()
    };
    let said = |step: &str, key: &str| {
        let settings = settings(step);
        let one = settings.iter().find(|one| one["key"] == key).unwrap();
        (one["value"].as_str().unwrap().to_owned(), one["from"].as_str().unwrap().to_owned())
    };
    for (step, key, value, from) in [
        ("read", "model", "quick", "workflows/layered.yaml:20:12"),
        ("draft", "model", "balanced", "default"),
        ("read", "max_tokens", "200", "workflows/layered.yaml:10:15"),
        ("draft", "max_tokens", "400", "workflows/layered.yaml:29:17"),
        ("draft", "temperature", "0.2", "punctual.yaml:13:16"),
        ("draft", "policy.attempts", "3", "punctual.yaml:15:22"),
        ("draft", "policy.on.limited", "fail", "punctual.yaml:15:39"),
        ("draft", "policy.on.slow", "next", "workflows/layered.yaml:11:37"),
        ("draft", "policy.hedge", "off", "workflows/layered.yaml:11:19"),
        ("draft", "policy.cutoff", "{first_token: 3s, total: 12s}", "workflows/layered.yaml:34:22"),
        ("read", "policy.cutoff", "auto", "default"),
        ("read", "min_ok", "50%", "workflows/layered.yaml:21:13"),
    ] {
        assert_eq!(said(step, key), (value.to_owned(), from.to_owned()), "{step} {key}");
    }
    let whole = record["settings"]["workflow"].as_array().unwrap();
    let places: Vec<&str> = whole.iter().map(|one| one["from"].as_str().unwrap()).collect();
    let calls = "workflows/layered.yaml:7:17";
    assert_eq!(places, ["workflows/layered.yaml:2:11", "punctual.yaml:14:17", "default", calls]);
}

#[test]
fn explain_knows_the_places_of_a_file_by_its_path_and_of_the_built_in_examples() {
    let bench = layered();
    let left = bench.run(&["explain", "./workflows/layered.yaml"]);
    assert!(left.out.contains(" workflows/layered.yaml:20:12"), "{}", left.out);
    let empty = Bench::new(&[]);
    let left = empty.run(&["explain", "summarize"]);
    assert!(left.out.contains(" builtin/summarize.yaml:"), "{}", left.out);
}

#[test]
fn a_flowchart_can_be_had_alone() {
    let left = layered().run(&["explain", "layered", "--mermaid"]);
    assert_eq!((left.code, left.err.as_str()), (0, ""));
    insta::assert_snapshot!(left.out);
}

const INPUT: &str = r#"{"text": "tea", "parts": ["green", "black", "white"]}"#;

#[test]
fn a_dry_run_renders_what_the_input_decides_and_sends_nothing() {
    let bench = layered();
    let left = bench.run(&["run", "layered", "--dry", "--input", INPUT]);
    assert_eq!((left.code, left.err.as_str()), (0, ""));
    insta::assert_snapshot!(left.out);
    assert_eq!(bench.run(&["runs"]).out, "");
    assert!(!bench.path("state").exists(), "a dry run is not kept");
    let record = json(&bench.run(&["run", "layered", "--dry", "--json", "--input", INPUT]).out);
    assert_eq!(record["sent"], false);
    let state = |at: usize| record["steps"][at]["state"].as_str().unwrap().to_owned();
    let states: Vec<String> = (0..4).map(state).collect();
    assert_eq!(states, ["computed", "skipped", "rendered", "waits"]);
    let prompts = record["steps"][2]["prompts"].as_array().unwrap();
    assert_eq!(prompts.len(), 3);
    assert_eq!(prompts[2]["user"], "Read part 2 of 3, white");
    assert_eq!(prompts[2]["system"], "Be plain.");
    assert_eq!(record["steps"][3]["waits_for"], serde_json::json!(["read"]));
    assert_eq!(record["worst"]["steps"][0]["attempts"], 9);
}

const CASES: &str = "\
- name: three teas
  input: {parts: [green, black, white], text: tea}
  answers:
    read: [{points: [grassy]}, {points: [malty]}, {$attempts: [no JSON, {points: [soft]}]}]
- name: others
  input: {parts: [red], text: tea}
";

#[test]
fn a_dry_run_makes_later_prompts_of_the_answers_that_a_case_has_for_its_input() {
    let bench = layered();
    bench.write("workflows/layered.cases.yaml", CASES);
    let left = bench.run(&["run", "layered", "--dry", "--input", INPUT]);
    assert_eq!((left.code, left.err.as_str()), (0, ""));
    let (steps, _) = left.out.split_once("At most").unwrap();
    insta::assert_snapshot!(steps);
    let record = json(&bench.run(&["run", "layered", "--dry", "--json", "--input", INPUT]).out);
    assert_eq!(record["case"]["name"], "three teas");
    let draft = &record["steps"][3];
    assert_eq!((&draft["state"], &draft["recorded"]), (&"rendered".into(), &true.into()));
    // The simulator made nothing up, and what no case has stays open.
    let other = INPUT.replace("green", "yellow");
    let record = json(&bench.run(&["run", "layered", "--dry", "--json", "--input", &other]).out);
    assert_eq!((&record["case"], &record["steps"][3]["state"]), (&Value::Null, &"waits".into()));
    let red = r#"{"text": "tea", "parts": ["red"]}"#;
    let record = json(&bench.run(&["run", "layered", "--dry", "--json", "--input", red]).out);
    assert_eq!(record["case"]["at"], "workflows/layered.cases.yaml:5");
    assert_eq!(record["steps"][3]["state"], "waits", "the case has no answers");
}

const WINDOWED: &str = "\
description: Reads more than a window holds.
input: {documents: [string], question: string}
steps:
  plan:
    max_tokens: 100
    prompt: Plan {{ input.question }}
  read:
    history: [plan]
    max_tokens: 1000
    shrink: [input.documents]
    prompt: |
      {% for document in input.documents %}{{ loop.index }} of {{ loop.length }}, {{ document | length }}:
      {{ document }}
      {% endfor %}
  whole:
    max_tokens: 1000
    prompt: |
      {{ input.documents | join(' ') }}
output: {read: read.text, whole: whole.text}
";

#[test]
fn a_dry_run_shows_what_is_left_out_where_no_window_holds_a_prompt_and_the_conversation_before_it()
{
    let bench = Bench::new(&[
        ("punctual.yaml", CONFIGURATION),
        ("workflows/windowed.yaml", WINDOWED),
        (
            "workflows/windowed.cases.yaml",
            "- name: one\n  input: {$file: input.json}\n  answers: {plan: First this.}\n",
        ),
    ]);
    let document = "word ".repeat(8_000);
    let documents = vec![document; 5];
    let input = serde_json::json!({"documents": documents, "question": "what?"}).to_string();
    bench.write("workflows/input.json", &input);
    let run = ["run", "windowed", "--dry", "--json", "--input", "@workflows/input.json"];
    let record = json(&bench.run(&run).out);
    let read = record["steps"].as_array().unwrap().iter().find(|s| s["step"] == "read").unwrap();
    assert_eq!(read["left_out"], serde_json::json!(["input.documents[2..5]"]));
    let prompt = &read["prompts"][0];
    let user = prompt["user"].as_str().unwrap();
    assert!(user.contains("2 of 2, 40000") && !user.contains("3 of"), "{}", &user[..40]);
    assert!(prompt["estimated_tokens"].as_u64().unwrap() < 31_000);
    let turns = prompt["history"].as_array().unwrap();
    assert_eq!(turns[0], serde_json::json!({"speaker": "user", "text": "Plan what?"}));
    assert_eq!(turns[1], serde_json::json!({"speaker": "assistant", "text": "First this."}));
    let whole = record["steps"].as_array().unwrap().iter().find(|s| s["step"] == "whole").unwrap();
    assert!(whole["why"].as_str().unwrap().contains("takes 31000 ("), "{whole}");
    let text = bench.run(&["run", "windowed", "--dry", "--input", "@workflows/input.json"]).out;
    assert!(
        text.contains("left out, to fit the window: input.documents[2..5]"),
        "{}",
        &text[..600]
    );
    assert!(text.contains("beside an answer of 1000 the largest window of model"), "{text}");
}

#[test]
fn a_dry_run_takes_no_input_that_a_run_would_refuse() {
    let left = layered().run(&["run", "layered", "--dry", "--set", "text=tea"]);
    assert_eq!((left.code, left.out.as_str()), (2, ""));
    assert!(left.err.contains("the input does not fit 'layered'"), "{}", left.err);
}

#[test]
fn a_dry_run_says_where_the_deadline_cannot_be_met() {
    let slow = LAYERED.replace("max_tokens: 400", "max_tokens: 8000");
    let bench = Bench::new(&[("punctual.yaml", CONFIGURATION), ("workflows/layered.yaml", &slow)]);
    let left = bench.run(&["run", "layered", "--dry", "--input", INPUT]);
    assert!(
        left.out.contains("It cannot be met even with answers of the usual size"),
        "{}",
        left.out
    );
    let left =
        bench.run(&["run", "layered", "--dry", "--input", INPUT, "--deadline", "2s", "--json"]);
    assert_eq!(json(&left.out)["deadline"]["can_be_met"], "no");
}

#[test]
fn a_new_workflow_checks_at_once_and_nothing_is_ever_overwritten() {
    let bench = Bench::new(&[]);
    let left = bench.run(&["new", "ask_docs"]);
    assert_eq!((left.code, left.err.as_str()), (0, ""));
    insta::assert_snapshot!(left.out);
    let left = bench.run(&["check"]);
    assert_eq!((left.code, left.out.as_str()), (0, "2 files checked: nothing wrong\n"));
    let left = bench.run(&[
        "run",
        "ask_docs",
        "--set",
        "document=Tea.",
        "--set",
        "question=What?",
        "--dry",
    ]);
    assert_eq!((left.code, left.err.as_str()), (0, ""));
    let left = bench.run(&["test"]);
    assert_eq!(left.code, 0, "{} {}", left.out, left.err);
    assert!(left.out.ends_with("2 passed\n"), "{}", left.out);
    let left = bench.run(&["list"]);
    assert!(left.out.contains("ask_docs  30 s      2      2      Answers"), "{}", left.out);
    bench.write("workflows/mine.yml", "# mine\n");
    for (name, said) in [
        ("ask_docs", "workflows/ask_docs.yaml is there already, and nothing was written"),
        ("mine", "workflows/mine.yml is there already, and nothing was written"),
        ("Ask Docs.yaml", "'Ask Docs.yaml' cannot name a tool"),
        ("Ask Docs.yaml", "try 'punctual new ask_docs'"),
        ("run_workflow", "'run_workflow' is one of the server's own tools"),
    ] {
        let left = bench.run(&["new", name]);
        assert_eq!((left.code, left.out.as_str()), (2, ""), "{name}");
        assert!(left.err.contains(said), "{name}: {}", left.err);
    }
    let mut files: Vec<String> = std::fs::read_dir(bench.path("workflows"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    files.sort();
    assert_eq!(files, ["ask_docs.cases.yaml", "ask_docs.yaml", "mine.yml"]);
}

#[test]
fn a_new_workflow_fits_the_folder_that_it_is_written_into() {
    let own = "providers:\n  sim: {kind: simulated}\nmodels:\n  a: {paths: [{provider: sim, model: m}]}\n  b: {same_as: a}\nworkflows: [flows/own]\n";
    let bench = Bench::new(&[("team/punctual.yaml", own)]);
    std::fs::create_dir_all(bench.path("team/flows/own")).unwrap();
    let left = bench.run(&["new", "ask_docs", "--dir", "team"]);
    assert_eq!((left.code, left.err.as_str()), (0, ""));
    let text = std::fs::read_to_string(bench.path("team/flows/own/ask_docs.yaml")).unwrap();
    let first = "# yaml-language-server: $schema=../../schemas/workflow.schema.json\n";
    assert!(text.starts_with(first), "{text}");
    assert!(text.contains("\ndefaults:\n  model: a\n\nsteps:"), "{text}");
    assert!(bench.path("team/schemas/workflow.schema.json").is_file());
    let left = bench.run(&["check", "--dir", "team"]);
    assert_eq!(left.code, 0, "{}", left.out);
}

#[test]
fn doctor_says_what_to_do_about_everything_it_finds() {
    let configuration = "\
providers:
  local: {kind: openai_compatible, base_url: \"http://127.0.0.1:1/v1\"}
  openai: {kind: openai, optional: true}
models:
  balanced: {paths: [{provider: local, model: own-model}]}
  best: {paths: [{provider: openai, model: gpt-5}]}
";
    let bench = Bench::new(&[
        ("punctual.yaml", configuration),
        ("workflows/a.yaml", "description: d\nsteps: {a: {max_tokens: 9, prompt: Hello}}\n"),
        ("workflows/b.yaml", "description: [\n"),
        (
            "home/.cursor/mcp.json",
            "{\"mcpServers\": {\"punctual\": {\"command\": \"/gone/punctual\"}}}",
        ),
        ("home/.codex/config.toml", "model = \"x\"\n"),
        ("home/.claude.json", "{\"mcpServers\": {"),
    ]);
    let command = format!("{:?}", env!("CARGO_BIN_EXE_punctual"));
    bench.write(
        "home/.config/Code/User/mcp.json",
        &format!("{{\"servers\": {{\"punctual\": {{\"command\": {command}}}}}}}"),
    );
    let left = bench.run_with(&["doctor"], &[("SECRET_KEY", "sk-never-shown")]);
    assert_eq!((left.code, left.err.as_str()), (1, ""));
    assert!(!left.out.contains("sk-never-shown"));
    insta::assert_snapshot!(left.out.replace(env!("CARGO_PKG_VERSION"), "[VERSION]"));
}

#[test]
fn doctor_on_a_bare_machine_breaks_nothing_off() {
    let bench = Bench::new(&[]);
    let left = bench.run(&["doctor"]);
    assert_eq!((left.code, left.err.as_str()), (0, ""));
    assert!(left.out.contains("'punctual new NAME' begins one here"), "{}", left.out);
    assert!(left.out.contains("Set ANTHROPIC_API_KEY or OPENAI_API_KEY"), "{}", left.out);
}
