//! The commands, through the program as it is shipped: what it prints, where, and the code it leaves with.
//!
//! Every run here is simulated, most in virtual time; no test needs a network, a key or a clock.
#![expect(clippy::unwrap_used, reason = "a test")]

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value;

const HELLO: &str = "\
description: Greets a person.
deadline: 10s
input: {name: string}
steps:
  greet:
    max_tokens: 50
    prompt: Say hello to {{ input.name }}.
    output: {greeting: string}
";

const BROKEN: &str = "\
description: Greets a person.
input: {name: string}
steps:
  greet:
    max_tokens: 50
    prompt: Say hello to {{ input.nme }}.
    output: {greeting: string}
";

/// A folder of its own, with a state folder of its own.
struct Bench {
    folder: tempfile::TempDir,
}

/// What a command left.
struct Left {
    code: i32,
    out: String,
    err: String,
}

impl Bench {
    fn new(files: &[(&str, &str)]) -> Self {
        let bench = Self { folder: tempfile::tempdir().unwrap() };
        std::fs::create_dir_all(bench.path("workflows")).unwrap();
        for (name, text) in files {
            bench.write(name, text.as_bytes());
        }
        bench
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn write(&self, name: &str, bytes: &[u8]) {
        std::fs::write(self.path(name), bytes).unwrap();
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_punctual"));
        command.args(arguments).current_dir(self.folder.path()).env_clear();
        command.env("HOME", self.path("home")).env("XDG_STATE_HOME", self.path("state"));
        command
    }

    fn run(&self, arguments: &[&str]) -> Left {
        self.left(self.command(arguments).stdin(Stdio::null()).output().unwrap())
    }

    fn fed(&self, arguments: &[&str], input: &[u8]) -> Left {
        let mut command = self.command(arguments);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        // A command that does not read is no fault of the test's.
        let _ = child.stdin.take().unwrap().write_all(input);
        self.left(child.wait_with_output().unwrap())
    }

    fn left(&self, output: Output) -> Left {
        let home = self.folder.path().to_string_lossy().into_owned();
        let text = |bytes| String::from_utf8(bytes).unwrap().replace(&home, "[FOLDER]");
        Left {
            code: output.status.code().unwrap_or(-1),
            out: text(output.stdout),
            err: text(output.stderr),
        }
    }
}

fn manifest() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// A result of which ids and dates are taken out.
fn steady(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find("run_") {
        let (before, from) = rest.split_at(at);
        out.push_str(before);
        let hex = from[4..].chars().take_while(char::is_ascii_hexdigit).count();
        out.push_str(if hex == 16 { "[RUN]" } else { "run_" });
        rest = &from[if hex == 16 { 20 } else { 4 }..];
    }
    out.push_str(rest);
    let lines = out.lines().map(|line| match line.split_once("[RUN] · 2") {
        Some((before, _)) => format!("{before}[RUN] · [TIME]"),
        None => line.to_owned(),
    });
    lines.collect::<Vec<_>>().join("\n")
}

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

const SIMULATED: [&str; 6] = ["--simulate", "calm", "--seed", "3", "--speed", "max"];

fn simulated<'a>(arguments: &[&'a str]) -> Vec<&'a str> {
    arguments.iter().copied().chain(SIMULATED).collect()
}

#[test]
fn a_schema_is_printed_as_committed_and_an_unknown_kind_names_the_known() {
    let bench = Bench::new(&[]);
    for kind in ["workflow", "config", "cases"] {
        let left = bench.run(&["schema", kind]);
        let file = manifest().join(format!("schemas/{kind}.schema.json"));
        let committed = std::fs::read_to_string(file).unwrap();
        assert_eq!((left.code, left.err.as_str()), (0, ""));
        assert_eq!(left.out, committed);
    }
    let left = bench.run(&["schema", "workflw"]);
    assert_eq!((left.code, left.out.as_str()), (2, ""));
    insta::assert_snapshot!("schema_unknown_kind", left.err);
}

#[test]
fn every_command_has_a_help_that_teaches() {
    let bench = Bench::new(&[]);
    let top = bench.run(&["--help"]);
    let (_, listed) = top.out.split_once("Commands:\n").unwrap();
    let listed = listed.lines().take_while(|line| line.starts_with("  "));
    let commands: Vec<&str> = listed.filter_map(|line| line.split_whitespace().next()).collect();
    assert!(commands.contains(&"new") && commands.contains(&"test"), "{commands:?}");
    for command in commands {
        let left = bench.run(&[command, "--help"]);
        assert_eq!((left.code, left.err.as_str()), (0, ""), "{command}");
        assert!(left.out.contains("Examples:") || left.out.contains("mcpServers"), "{command}");
        assert!(left.out.lines().all(|line| line.chars().count() <= 100), "{command}");
        // tests/install.rs has the one of `install`.
        if command != "install" {
            insta::assert_snapshot!(format!("help_{command}"), left.out);
        }
    }
    insta::assert_snapshot!("help", top.out);
}

#[test]
fn wrong_arguments_are_usage_errors_and_print_no_result() {
    let bench = Bench::new(&[("workflows/hello.yaml", HELLO)]);
    for arguments in [
        &[][..],
        &["nonsense"],
        &["run"],
        &["run", "hello", "--deadline", "5"],
        &["run", "hello", "--simulate", "stormy"],
        &["run", "hello", "--simulate", "calm", "--speed", "0"],
        &["run", "hello", "--set", "name"],
        &["run", "hello", "--input", "[1]"],
        &["run", "hello", "--input", "{"],
        &["run", "hello", "--input", "@none.json"],
        &["run", "none"],
        &["run", "./none.yaml"],
        &["explain", "none"],
        &["trace", "last"],
        &["replay"],
        &["replay", "last"],
        &["list", "--dir", "none"],
        &["list", "--config", "none.yaml"],
        &["check", "--config", "none.yaml"],
        &["explain", "hello", "--config", "none.yaml"],
        &["run", "hello", "--config", "none.yaml"],
        &["serve", "--config", "none.yaml"],
        &["doctor", "--config", "none.yaml"],
        &["check", "none.yaml"],
    ] {
        let left = bench.run(arguments);
        assert_eq!(left.code, 2, "{arguments:?}: {} {}", left.out, left.err);
        assert_eq!(left.out, "", "{arguments:?}");
        assert!(!left.err.is_empty() && !left.err.contains("panicked"), "{arguments:?}");
    }
    let left = bench.run(&["run", "hello", "--config", "none.yaml"]);
    assert_eq!(left.err, "error: --config: cannot read none.yaml: no such file or directory\n");
    let left = bench.run(&["run", "helo", "--set", "name=x"]);
    assert!(left.err.contains("did you mean 'hello'?"), "{}", left.err);
}

#[test]
fn a_run_prints_its_output_alone_and_says_that_it_is_simulated() {
    let bench = Bench::new(&[("workflows/hello.yaml", HELLO)]);
    let left = bench.run(&simulated(&["run", "hello", "--set", "name=Ada"]));
    assert_eq!(left.code, 0, "{}", left.err);
    assert!(json(&left.out)["greeting"].is_string());
    assert!(
        left.err.contains("SIMULATED") && left.err.contains("hello delivered in"),
        "{}",
        left.err
    );
}

#[test]
fn a_run_in_real_time_sped_up_ends_like_one_in_virtual_time() {
    let bench = Bench::new(&[("workflows/hello.yaml", HELLO)]);
    let fast = ["run", "hello", "--set", "name=Ada", "--simulate", "calm", "--seed", "3"];
    let left = bench.run(&[&fast[..], &["--speed", "50", "--json"]].concat());
    assert_eq!(left.code, 0, "{}", left.err);
    let real = json(&left.out);
    let instant = json(&bench.run(&[&fast[..], &["--speed", "max", "--json"]].concat()).out);
    assert_eq!(real["output"], instant["output"]);
    assert_eq!(real["outcome"], "delivered");
    assert_eq!(real["simulated"], true);
}

#[test]
fn input_comes_from_files_standard_input_and_fields() {
    let bench = Bench::new(&[("workflows/hello.yaml", HELLO)]);
    bench.write("in.json", br#"{"name": "Ada"}"#);
    bench.write("name.txt", "Ada\n".as_bytes());
    for arguments in [
        &["run", "hello", "--input", "@in.json"][..],
        &["run", "hello", "--input", "-"],
        &["run", "hello", "--set", "name=@name.txt"],
        &["run", "hello", "--set", "name:=\"Ada\""],
        &["run", "./workflows/hello.yaml", "--set", "name=Ada"],
    ] {
        let left = bench.fed(&simulated(arguments), br#"{"name": "Ada"}"#);
        assert_eq!(left.code, 0, "{arguments:?}: {}", left.err);
    }
}

#[test]
fn an_input_that_does_not_fit_is_refused_with_what_to_write() {
    let bench = Bench::new(&[("workflows/hello.yaml", HELLO)]);
    let left = bench.run(&simulated(&["run", "hello", "--set", "nme=Ada"]));
    assert_eq!((left.code, left.out.as_str()), (2, ""));
    insta::assert_snapshot!(left.err);
}

#[test]
fn a_prompt_of_ten_megabytes_fails_honestly() {
    let bench = Bench::new(&[("workflows/hello.yaml", HELLO)]);
    bench.write("big.txt", &b"word ".repeat(2_000_000));
    let left = bench.run(&simulated(&["run", "hello", "--set", "name=@big.txt"]));
    assert_eq!((left.code, left.out.as_str()), (1, ""), "{}", left.err);
    assert!(left.err.contains("the prompt is longer than 4 MiB"), "{}", left.err);
    bench.write("big.txt", &b"word ".repeat(200_000));
    let left = bench.run(&simulated(&["run", "hello", "--set", "name=@big.txt"]));
    assert_eq!((left.code, left.out.as_str()), (1, ""), "{}", left.err);
    assert!(left.err.contains("context_overflow"), "{}", left.err);
}

#[cfg(unix)]
#[test]
fn bytes_that_are_no_text_are_refused_and_never_a_panic() {
    use std::os::unix::ffi::OsStrExt;
    let bench = Bench::new(&[("workflows/hello.yaml", HELLO)]);
    bench.write("workflows/bad.yaml", b"description: \xff\n");
    bench.write("bad.txt", b"\xff\xfe");
    let left = bench.run(&["check"]);
    assert_eq!(left.code, 1, "{}", left.err);
    assert!(left.out.contains("is not UTF-8"), "{}", left.out);
    let left = bench.run(&simulated(&["run", "hello", "--set", "name=@bad.txt"]));
    assert!(left.code == 2 && left.err.contains("not UTF-8"), "{}", left.err);
    let bad = std::ffi::OsStr::from_bytes(b"\xff\xfe");
    for command in ["run", "check", "explain", "trace", "replay"] {
        let output = bench.command(&[command]).arg(bad).stdin(Stdio::null()).output().unwrap();
        let left = bench.left(output);
        assert!(left.code == 2 && !left.err.contains("panicked"), "{command}: {}", left.err);
    }
}

#[test]
fn check_shows_every_problem_with_its_place() {
    let bench = Bench::new(&[("workflows/good.yaml", HELLO), ("workflows/bad.yaml", BROKEN)]);
    let left = bench.run(&["check"]);
    assert_eq!((left.code, left.err.as_str()), (1, ""));
    insta::assert_snapshot!("check_text", left.out);
    let left = bench.run(&["check", "--format", "json", "workflows/bad.yaml"]);
    assert_eq!(left.code, 1);
    insta::assert_snapshot!("check_json", left.out);
    let left = bench.run(&["check", "workflows/good.yaml"]);
    assert_eq!((left.code, left.out.as_str()), (0, "1 file checked: nothing wrong\n"));
}

/// Two providers, so that nothing is warned of but what the files say.
const MODELS: &str = "\
providers: {one: {kind: simulated}, two: {kind: simulated}}
models: {m: {paths: [{provider: one, model: a}, {provider: two, model: b}]}}
";

#[test]
fn check_counts_the_files_of_a_folder_and_reports_them_all_in_order() {
    let unbounded = HELLO.replace("    max_tokens: 50\n", "");
    let prompted = "\
description: Greets a person.
input: {name: string}
steps:
  greet: {max_tokens: 50, prompt_file: prompts/greet.md}
";
    let bench = Bench::new(&[
        ("punctual.yaml", MODELS),
        ("workflows/d_good.yaml", HELLO),
        ("workflows/c_bad.yaml", BROKEN),
        ("workflows/b_unbounded.yaml", &unbounded),
        ("workflows/a_prompted.yaml", prompted),
    ]);
    std::fs::create_dir(bench.path("workflows/prompts")).unwrap();
    bench.write("workflows/prompts/greet.md", b"Hello {{ input.nam }}, {{ input.age }}\n");
    let left = bench.run(&["check"]);
    assert_eq!((left.code, left.err.as_str()), (1, ""));
    insta::assert_snapshot!("check_folder", left.out);
    // The folder of workflows alone has the same files, models and problems.
    let inside = bench.run(&["check", "workflows"]);
    assert_eq!(inside.out, left.out);
    let above = bench.run(&["check", &bench.path("").to_string_lossy()]);
    assert!(above.out.contains("[FOLDER]/workflows/c_bad.yaml:6:35 error[P0207]"), "{}", above.out);
}

#[test]
fn warnings_alone_leave_with_0_and_what_cannot_be_looked_at_with_2() {
    let unbounded = HELLO.replace("    max_tokens: 50\n", "");
    let bench = Bench::new(&[("punctual.yaml", MODELS), ("workflows/a.yaml", &unbounded)]);
    let left = bench.run(&["check"]);
    assert_eq!(left.code, 0);
    assert!(left.out.contains("\n1 warning in 1 of 2 files\n"), "{}", left.out);
    let left = bench.run(&["check", "--format", "json", "workflows/none.yaml"]);
    assert_eq!((left.code, json(&left.out)["unreadable"].as_array().unwrap().len()), (2, 1));
}

#[test]
fn explain_tells_what_a_code_means_however_it_is_written() {
    let bench = Bench::new(&[]);
    let left = bench.run(&["explain", "P0207"]);
    assert_eq!((left.code, left.err.as_str()), (0, ""));
    insta::assert_snapshot!("explain_code", left.out);
    for word in ["p0207", "0207", "207"] {
        assert_eq!(bench.run(&["explain", word]).out, left.out, "{word}");
    }
    let left = bench.run(&["explain", "P0277"]);
    assert_eq!((left.code, left.out.as_str()), (2, ""));
    insta::assert_snapshot!("explain_unknown_code", left.err);
}

#[test]
fn a_broken_workflow_runs_nothing_and_says_why() {
    let bench = Bench::new(&[("workflows/bad.yaml", BROKEN)]);
    for name in ["bad", "workflows/bad.yaml"] {
        let left = bench.run(&simulated(&["run", name, "--set", "name=x"]));
        assert_eq!((left.code, left.out.as_str()), (2, ""));
        assert!(left.err.contains("did you mean 'name'"), "{}", left.err);
    }
}

#[test]
fn list_shows_what_can_be_called_and_what_is_quarantined() {
    let bench = Bench::new(&[("workflows/hello.yaml", HELLO), ("workflows/bad.yaml", BROKEN)]);
    let left = bench.run(&["list", "--simulate", "calm"]);
    assert_eq!((left.code, left.err.as_str()), (0, ""));
    insta::assert_snapshot!(left.out);
}

#[test]
fn explain_draws_the_graph_and_spells_out_the_cutoffs() {
    let bench = Bench::new(&[]);
    let folder = manifest().to_string_lossy();
    let left = bench.run(&["explain", "support_triage", "--dir", &folder, "--simulate", "calm"]);
    assert_eq!((left.code, left.err.as_str()), (0, ""));
    let out = left.out.replace(&*folder, "[PROJECT]");
    assert!(out.lines().all(|line| line.chars().count() <= 100), "{out}");
    // Where exactly things stand is for tests/explain.rs: the shipped file may change.
    let lines = out.lines().map(|line| match line.split_once(".yaml:") {
        Some((before, _)) => format!("{before}.yaml:[PLACE]"),
        None => line.to_owned(),
    });
    insta::assert_snapshot!(lines.collect::<Vec<_>>().join("\n"));
}

#[test]
fn simulate_foretells_by_deadline_and_is_the_same_each_time() {
    let bench = Bench::new(&[("workflows/hello.yaml", HELLO)]);
    let asked =
        ["simulate", "hello", "--regime", "busy", "--runs", "40", "--deadlines", "2s,3s,5s,15s"];
    let asked = [&asked[..], &["--warmup", "0"]].concat();
    let left = bench.run(&[&asked[..], &["--set", "name=Ada"]].concat());
    assert_eq!((left.code, left.err.as_str()), (0, ""));
    insta::assert_snapshot!("simulate", left.out);
    let again = bench.run(&[&asked[..], &["--set", "name=Ada", "--json"]].concat());
    let told = json(&again.out);
    let shares: Vec<f64> = told["deadlines"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| row["on_time"].as_f64().unwrap())
        .collect();
    assert!(shares.is_sorted() && shares.len() == 4, "{shares:?}");
    for share in &shares {
        assert!(left.out.contains(&format!("{:.1} %", share * 100.0)), "{share}: {}", left.out);
    }
    assert_eq!(told["limit"]["step"], "greet");
    let none = bench.run(&asked);
    assert_eq!((none.code, none.out.as_str()), (2, ""));
    assert!(none.err.contains("has no case to take inputs from"), "{}", none.err);
    let wrong = bench.run(&["simulate", "hello", "--deadlines", "0s"]);
    assert_eq!(wrong.code, 2);
    assert!(wrong.err.contains("between 1s and 10m"), "{}", wrong.err);
}

#[test]
fn simulate_plays_the_cells_of_a_scenario_file_under_every_policy() {
    let published = include_str!("../src/provider/simulated/scenarios.json");
    let mut file = json(published);
    file["cells"] =
        serde_json::json!([{"scenario": "calm", "workflow": "chain3", "deadline_s": 60}]);
    file["runs"] = 20.into();
    file["warmup_runs"] = 10.into();
    let bench = Bench::new(&[("own.json", &file.to_string()), ("bad.json", "{\"seed\": 1}")]);
    let left = bench.run(&["simulate", "--scenarios", "own.json", "--json"]);
    assert_eq!((left.code, left.err.as_str()), (0, ""));
    let rows = json(&left.out);
    let rows = rows.as_array().unwrap();
    let policies: Vec<&str> = rows.iter().map(|row| row["policy"].as_str().unwrap()).collect();
    let all = "wait temporal serial95 race2 hedge95 singler rules planner oracle";
    assert_eq!(policies.join(" "), all);
    let keys =
        "scenario wf D policy n ontime lo hi p50 p95 p99 std tok cost hedge bound gap_closed";
    for row in rows {
        let row = row.as_object().unwrap();
        assert_eq!(row.keys().map(String::as_str).collect::<Vec<_>>().join(" "), keys);
        assert_eq!((row["n"].as_u64(), row["D"].as_u64()), (Some(20), Some(60)));
    }
    assert_eq!(bench.run(&["simulate", "--scenarios", "own.json", "--json"]).out, left.out);
    let shown = bench.run(&["simulate", "--scenarios", "own.json", "--runs", "10"]).out;
    assert!(shown.lines().nth(1).unwrap().starts_with("calm"), "{shown}");
    for (file, said) in
        [("bad.json", "missing field `runs`"), ("none.json", "cannot read none.json")]
    {
        let left = bench.run(&["simulate", "--scenarios", file]);
        assert_eq!((left.code, left.out.as_str()), (2, ""));
        assert!(left.err.contains(said), "{}", left.err);
    }
}

/// A provider that is there and cannot be reached: nothing is sent in these tests.
const NOWHERE: &str = "\
providers:
  nowhere: {kind: openai_compatible, base_url: 'http://127.0.0.1:9/v1'}
models:
  balanced:
    paths: [{provider: nowhere, model: some, context: 8000, price: {in: 1, out: 4}}]
";

#[test]
fn calibrate_shows_times_and_the_cutoffs_that_follow() {
    let bench = Bench::new(&[
        ("workflows/hello.yaml", HELLO),
        ("inputs.jsonl", "{\"name\": \"Ada\"}\n\n{\"name\": \"Grace\"}\n"),
        ("wrong.jsonl", "{\"name\": \"Ada\"}\n{\"nam\n"),
    ]);
    let asked = ["calibrate", "hello", "--simulate", "pooled", "--runs", "60", "--inputs"];
    let left = bench.run(&[&asked[..], &["inputs.jsonl"]].concat());
    assert_eq!(left.code, 0, "{}", left.err);
    assert!(left.err.contains("SIMULATED: no model was asked; 60 runs"), "{}", left.err);
    for told in ["sim_a/flagship", "P95", "cold, "] {
        assert!(left.out.contains(told), "no '{told}' in\n{}", left.out);
    }
    let again = json(&bench.run(&[&asked[..], &["inputs.jsonl", "--json"]].concat()).out);
    let row = &again["measured"][0];
    assert_eq!((&row["step"], &row["path"]), (&"greet".into(), &"sim_a/flagship".into()));
    assert!(row["attempts"].as_f64().unwrap() > 50.0, "{row}");
    let (p50, p95) = (&row["total_s"]["p50"], &row["total_s"]["p95"]);
    assert!(p50.as_f64().unwrap() < p95.as_f64().unwrap(), "{row}");
    assert!(row["cutoff"]["total_ms"].as_u64().unwrap() > 0, "{row}");
    assert!(!bench.path("state/punctual/curves.json").exists(), "made-up times are not kept");
    let wrong = bench.run(&[&asked[..], &["wrong.jsonl"]].concat());
    assert_eq!((wrong.code, wrong.out.as_str()), (2, ""));
    assert!(wrong.err.contains("wrong.jsonl:2 is not JSON"), "{}", wrong.err);
}

#[test]
fn calibrate_says_what_it_will_spend_and_waits_for_a_yes_above_a_dollar() {
    let dear = NOWHERE.replace("{in: 1, out: 4}", "{in: 500, out: 500}");
    let bench = Bench::new(&[
        ("workflows/hello.yaml", HELLO),
        ("inputs.json", "[{\"name\": \"Ada\"}]"),
        ("punctual.yaml", &dear),
    ]);
    let left = bench.run(&["calibrate", "hello", "--inputs", "inputs.json", "--runs", "1000"]);
    assert_eq!((left.code, left.out.as_str()), (2, ""), "{}", left.err);
    assert!(left.err.contains("1000 runs of 'hello': about"), "{}", left.err);
    assert!(left.err.contains("with --yes"), "{}", left.err);
}

#[test]
fn simulate_and_explain_go_by_what_was_measured_where_something_was() {
    let bench = Bench::new(&[("workflows/hello.yaml", HELLO), ("punctual.yaml", NOWHERE)]);
    let asked = ["simulate", "hello", "--runs", "20", "--warmup", "0", "--set", "name=Ada"];
    let before = bench.run(&asked);
    assert_eq!(before.code, 0, "{}", before.err);
    assert!(before.err.contains("nothing is measured"), "{}", before.err);
    assert!(before.out.contains("Regime pooled"), "{}", before.out);
    let mut book = punctual::latency::book::Book::new();
    for nth in 0..40 {
        book.record(&observation(2_000 + 10 * nth), std::time::Duration::from_secs(1_800_000_000));
    }
    let folder = bench.path("state/punctual");
    punctual::store::CurveStore::at(&folder).add(book).unwrap();
    let after = bench.run(&asked);
    assert_eq!((after.code, after.err.as_str()), (0, ""));
    assert!(after.out.contains("As measured on 40 attempts"), "{}", after.out);
    let told = bench.run(&["explain", "hello"]);
    assert_eq!(told.code, 0, "{}", told.err);
    assert!(told.out.contains("Times and cutoffs") && told.out.contains("P95"), "{}", told.out);
}

fn observation(lasted_ms: u64) -> punctual::latency::observation::Observation {
    let ms = std::time::Duration::from_millis;
    punctual::latency::observation::Observation {
        provider: "nowhere".into(),
        path: "nowhere/some".into(),
        step: "hello/greet".into(),
        run: lasted_ms,
        prompt_tokens: 30,
        expected_tokens: 20.0,
        first_token: Some(ms(600)),
        tokens: 20,
        lasted: ms(lasted_ms),
        stream: Vec::new(),
        end: punctual::latency::observation::End::Answered { valid: true },
    }
}

#[test]
fn a_run_can_be_looked_at_afterwards() {
    let bench = Bench::new(&[]);
    let folder = manifest().to_string_lossy();
    let input = format!("@{folder}/workflows/inputs/support_triage.json");
    let run = ["run", "support_triage", "--dir", &folder, "--input", &input];
    let left = bench.run(&simulated(&run));
    assert_eq!(left.code, 0, "{}", left.err);
    let left = bench.run(&["trace", "last"]);
    assert_eq!(left.code, 0, "{}", left.err);
    assert!(left.out.lines().all(|line| line.chars().count() <= 100), "{}", left.out);
    insta::assert_snapshot!(steady(&left.out));
    let report = json(&bench.run(&["trace", "last", "--json"]).out);
    let id = report["run_id"].as_str().unwrap();
    let left = bench.run(&["trace", &id[..12]]);
    assert_eq!(left.code, 0, "{}", left.err);
    let left = bench.run(&["runs", "--workflow", "support_triage", "--outcome", "delivered"]);
    assert!(left.code == 0 && left.out.contains(id), "{}", left.out);
    let left = bench.run(&["runs", "--outcome", "failed"]);
    assert_eq!((left.code, left.out.as_str()), (0, ""));
}

/// A bench on which one run has been made, and where its record is.
fn recorded() -> (Bench, PathBuf) {
    let bench = Bench::new(&[("workflows/hello.yaml", HELLO)]);
    let left = bench.run(&simulated(&["run", "hello", "--set", "name=Ada"]));
    assert_eq!(left.code, 0, "{}", left.err);
    let file = bench.path("state/punctual/journals.jsonl");
    (bench, file)
}

#[test]
fn a_run_that_is_replayed_decides_the_same() {
    let (bench, file) = recorded();
    let left = bench.run(&["replay"]);
    assert_eq!((left.code, left.err.as_str()), (0, ""));
    insta::assert_snapshot!(steady(&left.out));
    let id = json(&bench.run(&["trace", "last", "--json"]).out)["run_id"].to_string();
    let id = id.trim_matches('"');
    for name in [id, &id[..12], "last"] {
        let found = json(&bench.run(&["replay", name, "--json"]).out);
        assert_eq!((&found["identical"], &found["divergence"]), (&Value::Bool(true), &Value::Null));
        assert_eq!(found["run_id"].as_str(), Some(id));
    }
    assert!(!std::fs::read_to_string(file).unwrap().contains("Ada"));
    // A run in real time, and one that fails.
    let fast = ["run", "hello", "--set", "name=Ada", "--simulate", "calm", "--speed", "50"];
    assert_eq!(bench.run(&fast).code, 0);
    assert_eq!(bench.run(&["replay"]).code, 0);
    let down = ["run", "hello", "--set", "name=Ada", "--simulate", "down", "--deadline", "400ms"];
    assert_eq!(bench.run(&[&down[..], &["--speed", "max"]].concat()).code, 1);
    let left = bench.run(&["replay"]);
    assert!(left.code == 0 && left.out.ends_with("identical\n"), "{}{}", left.out, left.err);
}

#[test]
fn a_run_of_the_server_is_replayed_too() {
    let bench = Bench::new(&[("workflows/hello.yaml", HELLO)]);
    let messages = concat!(
        r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","#,
        r#""capabilities":{},"clientInfo":{"name":"test","version":"1"}}}"#,
        "\n",
        r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
        "\n",
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":"#,
        r#"{"name":"hello","arguments":{"name":"Ada"}}}"#,
        "\n",
    );
    let serve = ["serve", "--simulate", "calm", "--speed", "1000"];
    assert_eq!(bench.fed(&serve, messages.as_bytes()).code, 0);
    let left = bench.run(&["replay"]);
    assert!(left.code == 0 && left.out.ends_with("identical\n"), "{}{}", left.out, left.err);
}

#[test]
fn a_run_that_is_decided_otherwise_shows_both_sides() {
    let (bench, file) = recorded();
    let text = std::fs::read_to_string(&file).unwrap();
    let otherwise = text.replace("\"max_tokens\":50,\"after\"", "\"max_tokens\":70,\"after\"");
    assert_ne!(text, otherwise);
    bench.write("state/punctual/journals.jsonl", otherwise.as_bytes());
    let left = bench.run(&["replay"]);
    assert_eq!((left.code, left.err.as_str()), (1, ""));
    assert!(left.out.lines().all(|line| line.chars().count() <= 100), "{}", left.out);
    insta::assert_snapshot!(steady(&left.out));
    let found = json(&bench.run(&["replay", "--json"]).out);
    assert_eq!(found["identical"], false);
    assert_eq!(
        (&found["divergence"]["event"], &found["divergence"]["at_us"]),
        (&2.into(), &0.into())
    );
}

#[test]
fn a_record_that_cannot_be_replayed_says_why() {
    let (bench, file) = recorded();
    let text = std::fs::read_to_string(&file).unwrap();
    let refused = |text: &str, said: &str| {
        bench.write("state/punctual/journals.jsonl", text.as_bytes());
        for arguments in [&["replay"][..], &["replay", "--json"]] {
            let left = bench.run(arguments);
            assert_eq!((left.code, left.out.as_str()), (2, ""), "{}", left.err);
            assert!(left.err.contains(said), "{said}: {}", left.err);
        }
    };
    refused(&text[..text.len() - 40], "cannot be replayed: it is cut short or damaged");
    refused(&text.replace("\"format\":1", "\"format\":7"), "wrote it in form 7");
    refused(&text[text.find("{\"run\"").unwrap()..], "its plan ('plan-");
    refused(
        &text.replace("\"woke\"", "\"slept\"").replace("\"sent\"", "\"posted\""),
        "is not understood",
    );
    refused("", "is kept without what decided it");
    let left = bench.run(&["replay", "run_none"]);
    assert_eq!(left.code, 2);
    assert!(left.err.contains("none where its process was killed"), "{}", left.err);
}

#[test]
fn a_reader_that_goes_away_is_not_an_error() {
    let bench = Bench::new(&[("workflows/hello.yaml", HELLO)]);
    let mut command = bench.command(&["list", "--simulate", "calm"]);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    drop(child.stdout.take());
    let left = bench.left(child.wait_with_output().unwrap());
    assert_eq!((left.code, left.err.as_str()), (0, ""));
}

#[test]
fn a_missing_key_is_named_before_anything_is_sent() {
    let bench = Bench::new(&[("workflows/hello.yaml", HELLO)]);
    bench.write(
        "punctual.yaml",
        b"providers:\n  o: {kind: openai}\nmodels:\n  m: {paths: [{provider: o, model: gpt}]}\n",
    );
    let left = bench.run(&["run", "hello", "--set", "name=x"]);
    assert_eq!((left.code, left.out.as_str()), (2, ""), "{}", left.err);
    assert!(left.err.contains("OPENAI_API_KEY"), "{}", left.err);
    let left = bench.run(&["doctor"]);
    assert_eq!(left.code, 1, "{}", left.out);
    assert!(left.out.contains("OPENAI_API_KEY"), "{}", left.out);
}

#[test]
fn an_unreachable_provider_is_a_failure_that_names_it() {
    let bench = Bench::new(&[("workflows/hello.yaml", HELLO)]);
    // Port 1 of this machine: nothing listens there, and nothing leaves the machine.
    bench.write(
        "punctual.yaml",
        b"providers:\n  o: {kind: openai_compatible, base_url: \"http://127.0.0.1:1/v1\"}\nmodels:\n  m: {paths: [{provider: o, model: gpt}]}\n",
    );
    let left = bench.run(&["run", "hello", "--set", "name=x", "--deadline", "3s"]);
    assert_eq!((left.code, left.out.as_str()), (1, ""), "{}", left.err);
    assert!(left.err.contains("cannot reach http://127.0.0.1:1/v1"), "{}", left.err);
}

#[test]
fn the_demo_shows_a_cut_a_swap_and_a_repair_from_anywhere() {
    // An empty folder, no environment, standard input closed.
    let bench = Bench::new(&[]);
    let left = bench.run(&["demo", "--speed", "10"]);
    assert_eq!(left.code, 0, "{} {}", left.out, left.err);
    for happening in [" s  cut ", " s  swap ", " s  repair "] {
        assert!(left.out.contains(happening), "{happening}: {}", left.out);
    }
    for said in ["support_triage   Support triage", "SIMULATED", "  verified ", "punctual doctor"] {
        assert!(left.out.contains(said), "{said}: {}", left.out);
    }
    assert!(left.out.lines().all(|line| line.chars().count() <= 100), "{}", left.out);
    assert!(left.err.contains("progress: "), "{}", left.err);
    assert_eq!(bench.run(&["trace", "last"]).code, 0);
}

#[test]
fn the_demo_comes_about_by_the_same_decisions_in_virtual_time() {
    let bench = Bench::new(&[]);
    let folder = manifest().to_string_lossy();
    let input = format!("@{folder}/workflows/inputs/support_triage.json");
    let run = ["run", "support_triage", "--dir", &folder, "--input", &input, "--json"];
    let luck = ["--simulate", "brownout", "--seed", "68", "--speed", "max"];
    let report = json(&bench.run(&[&run[..], &luck[..]].concat()).out);
    assert_eq!(report["outcome"], "delivered");
    let attempts = report["steps"].as_array().unwrap().iter();
    let attempts = attempts.flat_map(|step| step["attempts"].as_array().unwrap());
    let causes: Vec<&str> = attempts.map(|attempt| attempt["cause"].as_str().unwrap()).collect();
    assert!(causes.contains(&"hedge") && causes.contains(&"repair"), "{causes:?}");
    let decisions = report["decisions"].as_array().unwrap();
    assert!(decisions.iter().any(|decision| decision["action"] == "cut"));
}

#[test]
fn a_server_speaks_the_protocol_alone_and_leaves_when_its_input_ends() {
    let bench = Bench::new(&[("workflows/hello.yaml", HELLO), ("workflows/bad.yaml", BROKEN)]);
    let messages = concat!(
        r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","#,
        r#""capabilities":{},"clientInfo":{"name":"test","version":"1"}}}"#,
        "\n",
        r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
        "\n",
        r#"{"jsonrpc":"2.0","id":2,"method":"tools/list"}"#,
        "\n",
    );
    for (arguments, fixed) in [(&["serve"][..], true), (&["serve", "--no-fixed-tools"], false)] {
        let left = bench.fed(arguments, messages.as_bytes());
        assert_eq!(left.code, 0, "{}", left.err);
        let lines: Vec<Value> = left.out.lines().map(json).collect();
        let list = lines.iter().find(|line| line["id"] == 2).unwrap();
        let tools = list["result"]["tools"].as_array().unwrap().iter();
        let names: Vec<&str> = tools.map(|tool| tool["name"].as_str().unwrap()).collect();
        assert!(names.contains(&"hello") && !names.contains(&"bad"), "{names:?}");
        assert_eq!(names.contains(&"list_workflows"), fixed, "{names:?}");
        assert!(left.err.contains("error[P0207]") && !left.err.contains('\u{1b}'), "{}", left.err);
    }
    let left = bench.fed(&["serve"], b"this is no protocol\n");
    assert!(left.out.lines().all(|line| serde_json::from_str::<Value>(line).is_ok()));
    assert!(!left.err.contains("panicked"), "{}", left.err);
}

/// A server whose standard error nobody reads, and what it answers to `messages`.
fn unread(bench: &Bench, messages: &str) -> (Option<i32>, Vec<Value>) {
    use std::io::Read;
    let mut command = bench.command(&["serve", "--simulate", "calm", "--speed", "1000"]);
    command.env("PUNCTUAL_LOG", "trace");
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    let mut output = child.stdout.take().unwrap();
    let messages = messages.to_owned();
    let feed = std::thread::spawn(move || input.write_all(messages.as_bytes()));
    let mut text = String::new();
    output.read_to_string(&mut text).unwrap();
    feed.join().unwrap().unwrap();
    // The pipe stays open, and unread, to the end.
    let left = child.wait().unwrap();
    let mut logged = String::new();
    child.stderr.take().unwrap().read_to_string(&mut logged).unwrap();
    // A pipe is 16 pages, and a line that does not fit the rest of one begins the next.
    assert!(logged.len() >= 32_000, "the pipe was not filled: {} bytes", logged.len());
    (left.code(), text.lines().map(json).collect())
}

#[test]
fn a_server_whose_log_nobody_reads_still_answers_and_leaves() {
    // Each run is at least one line of the log, and a pipe holds 64 KiB.
    const CALLS: usize = 600;
    let bench = Bench::new(&[("workflows/hello.yaml", HELLO)]);
    let mut messages = concat!(
        r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","#,
        r#""capabilities":{},"clientInfo":{"name":"test","version":"1"}}}"#,
        "\n",
        r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
        "\n",
    )
    .to_owned();
    for id in 1..=CALLS {
        let arguments = format!(r#"{{"name":"n{id}{}"}}"#, "x".repeat(20));
        let parameters = format!(r#"{{"name":"hello","arguments":{arguments}}}"#);
        let head = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":"#);
        messages.extend([head, parameters, "}\n".to_owned()]);
    }
    let (code, answers) = unread(&bench, &messages);
    assert_eq!(code, Some(0));
    let answered = answers.iter().filter(|answer| answer["result"].is_object()).count();
    assert_eq!(answered, CALLS + 1);
}

#[cfg(target_os = "linux")]
#[test]
fn a_result_that_cannot_be_written_is_no_success() {
    let bench = Bench::new(&[("workflows/hello.yaml", HELLO)]);
    let run = simulated(&["run", "hello", "--set", "name=Ada"]);
    for (arguments, code) in [(&run[..], 1), (&["check"], 2), (&["list"], 1), (&["--help"], 1)] {
        let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
        let mut command = bench.command(arguments);
        let output = command.stdin(Stdio::null()).stdout(full).output().unwrap();
        let left = bench.left(output);
        assert_eq!(left.code, code, "{arguments:?}: {}", left.err);
        assert!(left.err.contains("could not be written"), "{arguments:?}: {}", left.err);
    }
}

#[test]
fn what_files_and_arguments_hold_cannot_steer_the_terminal() {
    let steered = HELLO.replace("Greets a person.", "\"Clears \\e[2J the screen.\"");
    let bench = Bench::new(&[("workflows/hello.yaml", &steered)]);
    bench.write("workflows/bad\u{1b}[2J.yaml", BROKEN.as_bytes());
    let odd = "no\u{1b}[2Jne";
    for arguments in [
        &["check"][..],
        &["list", "--simulate", "calm"],
        &["explain", "hello", "--simulate", "calm"],
        &["explain", odd],
        &["run", odd],
        &["run", "hello", "--set", odd],
        &["check", odd],
        &["trace", odd],
        &["replay", odd],
        &["runs", "--outcome", odd],
        &[odd],
        &["serve"],
    ] {
        let left = bench.run(arguments);
        let text = left.out + &left.err;
        assert!(!text.contains('\u{1b}'), "{arguments:?}: {text}");
    }
}

#[test]
fn a_field_that_is_text_where_a_number_belongs_is_shown_as_json() {
    let counted = HELLO.replace("{name: string}", "{name: string, n: integer}");
    let bench = Bench::new(&[("workflows/hello.yaml", &counted)]);
    let left = bench.run(&simulated(&["run", "hello", "--set", "n=5", "--set", "name=7"]));
    let hint = "--set n=5 gives text; for what it says as JSON write --set 'n:=5'\n";
    assert!(left.code == 2 && left.err.ends_with(hint), "{}", left.err);
    assert!(!left.err.contains("name:="), "{}", left.err);
}

#[test]
fn refusals_of_options_say_what_to_give() {
    let bench = Bench::new(&[]);
    for (arguments, said) in [
        (&["demo", "--speed", "max"][..], "'max' is for 'run'"),
        (&["runs", "--limit", "0"], "give at least 1"),
    ] {
        let left = bench.run(arguments);
        assert!(left.code == 2 && left.err.contains(said), "{arguments:?}: {}", left.err);
    }
}

#[test]
fn a_trace_is_offered_of_runs_that_are_kept_alone() {
    let bench = Bench::new(&[("workflows/hello.yaml", HELLO)]);
    let run = simulated(&["run", "hello", "--set", "name=Ada"]);
    assert!(bench.run(&run).err.contains("punctual trace run_"));
    bench.write("file", b"");
    let left = bench.run(&[&run[..], &["--state", "file"]].concat());
    assert!(left.code == 0 && !left.err.contains("punctual trace"), "{}", left.err);
    let left = bench.run(&[&run[..], &["--state", "other"]].concat());
    assert!(left.err.contains("--state other"), "{}", left.err);
}

#[test]
fn long_helps_are_wrapped_and_torn_lines_counted() {
    let bench =
        Bench::new(&[("workflows/bad.yaml", &HELLO.replace("max_tokens", "tokens_maximum"))]);
    let left = bench.run(&["check"]);
    assert!(left.out.contains("\n      "), "{}", left.out);
    assert!(left.out.lines().all(|line| line.chars().count() <= 100), "{}", left.out);
    std::fs::create_dir_all(bench.path("state/punctual")).unwrap();
    bench.write("state/punctual/runs.jsonl", b"{torn\n");
    let left = bench.run(&["runs"]);
    assert!(left.err.contains("warning: 1 line of "), "{}", left.err);
}

#[test]
fn errors_of_the_configuration_stop_run_and_explain() {
    let bench = Bench::new(&[("workflows/hello.yaml", HELLO)]);
    bench.write("punctual.yaml", b"limits: {concurrent_runs: many}\n");
    let run = simulated(&["run", "hello", "--set", "name=Ada"]);
    let file = simulated(&["run", "./workflows/hello.yaml", "--set", "name=Ada"]);
    for arguments in [&run[..], &file, &["explain", "hello"], &["explain", "workflows/hello.yaml"]]
    {
        let left = bench.run(arguments);
        assert_eq!((left.code, left.out.as_str()), (2, ""), "{arguments:?}");
        assert!(left.err.contains("concurrent_runs: many"), "{arguments:?}: {}", left.err);
        assert!(left.err.ends_with("error: punctual.yaml has errors; nothing was spent\n"));
    }
}

/// Waits until a process catches signal 15, so that sending it one cannot come too early.
#[cfg(target_os = "linux")]
fn until_it_listens(id: u32) {
    for _ in 0..10_000_000 {
        let status = std::fs::read_to_string(format!("/proc/{id}/status")).unwrap();
        let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:")).unwrap();
        if u64::from_str_radix(caught.trim(), 16).unwrap() & (1 << 14) != 0 {
            return;
        }
        std::thread::yield_now();
    }
    unreachable!("it never listens");
}

#[cfg(target_os = "linux")]
#[test]
fn a_run_that_is_told_to_end_is_cancelled_kept_and_reported() {
    let bench = Bench::new(&[("workflows/hello.yaml", HELLO)]);
    for (signal, code) in [("TERM", 143), ("HUP", 129), ("INT", 130)] {
        let slow = ["--simulate", "calm", "--speed", "0.01"];
        let mut command =
            bench.command(&[&["run", "hello", "--set", "name=Ada"], &slow[..]].concat());
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let child = command.spawn().unwrap();
        until_it_listens(child.id());
        let id = child.id().to_string();
        assert!(Command::new("kill").args(["-s", signal, &id]).status().unwrap().success());
        let left = bench.left(child.wait_with_output().unwrap());
        assert_eq!((left.code, left.out.as_str()), (code, ""), "{}", left.err);
        assert!(left.err.contains("hello cancelled after"), "{}", left.err);
        let left = bench.run(&["trace", "last", "--json"]);
        assert_eq!(json(&left.out)["outcome"], "cancelled");
        let left = bench.run(&["replay"]);
        assert!(left.code == 0 && left.out.ends_with("identical\n"), "{}{}", left.out, left.err);
    }
}

#[test]
fn explain_counts_the_judge_between_a_step_and_its_consumers() {
    let judged = "\
description: Judged.
deadline: 30s
input: {text: string}
steps:
  a: {max_tokens: 100, prompt: 'a {{ input.text }}'}
  v: {max_tokens: 1000, validates: a, prompt: 'v {{ a.text }}', output: {pass: boolean}}
  c: {max_tokens: 100, prompt: 'c {{ a.text }}'}
output: {t: c.text}
";
    let bench = Bench::new(&[("workflows/judged.yaml", judged)]);
    let left = bench.run(&["explain", "judged", "--simulate", "calm"]);
    assert!(left.out.contains("a (100) → v (1000) → c (100) = 1200 tokens"), "{}", left.out);
    // The shares of the chain are the whole time there is: 29.8 s.
    for row in ["2.5 s (8 %) ", "24.8 s (82 %) "] {
        assert!(left.out.contains(row), "{row}: {}", left.out);
    }
    let place = |text: &str| left.out.find(text).unwrap_or_else(|| panic!("{text}: {}", left.out));
    assert!(place("━━ v ") < place("━━ c "));
}

#[test]
fn a_client_that_speaks_something_else_is_told_so_in_words() {
    let bench = Bench::new(&[("workflows/hello.yaml", HELLO)]);
    let first = b"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n";
    let left = bench.fed(&["serve"], first);
    assert_eq!(left.code, 1, "{}", left.err);
    let said = "the client did not begin an MCP session: its first message is 'notifications/initialized', not 'initialize'; \
                'serve' is meant to be started by an MCP client, see 'punctual serve --help'";
    assert!(left.err.contains(said), "{}", left.err);
}
