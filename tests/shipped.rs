//! The shipped workflows: they load without a word, and on the documents beside them the simulator gives the
//! answers recorded for them.
#![expect(clippy::unwrap_used, reason = "a test")]

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::Value;

use punctual::definition::catalog::{Catalog, load, load_file};
use punctual::definition::config::Configuration;
use punctual::definition::environment::Environment;
use punctual::definition::folder::Folder;
use punctual::domain::provider::{Dialect, Limits};
use punctual::driver::clock::Clock;
use punctual::driver::{CallOptions, Host, HostSettings, Lanes};
use punctual::provider::simulated::{Pace, Recordings, Simulator};
use punctual::trace::report::RunReport;
use punctual::world::case::play;

/// Every workflow that is shipped.
const WORKFLOWS: [&str; 6] = [
    "invoice_ledger",
    "meeting_actions",
    "release_notes",
    "rfp_answers",
    "summarize",
    "support_triage",
];

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn text(file: &str) -> String {
    std::fs::read_to_string(root().join("tests/inputs").join(file)).unwrap()
}

fn json(file: &str) -> Value {
    let path = root().join("workflows/inputs").join(file);
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

fn catalog(seed: u64) -> Catalog {
    load(&Folder::at(root()).simulated("calm", seed), &Environment::default(), None)
}

/// The shipped workflow files.
fn files() -> Vec<PathBuf> {
    let entries = std::fs::read_dir(root().join("workflows")).unwrap();
    let paths = entries.map(|entry| entry.unwrap().path());
    let workflow = |path: &PathBuf| {
        let name = path.to_string_lossy();
        name.ends_with(".yaml") && !name.ends_with(".cases.yaml")
    };
    let mut files: Vec<PathBuf> = paths.filter(workflow).collect();
    files.sort();
    files
}

/// A document as the arguments hold it: without front matter and without white space at the ends.
fn body(document: &str) -> &str {
    let inner = document.strip_prefix("---\n").and_then(|rest| rest.split_once("\n---\n"));
    inner.map_or(document, |(_, body)| body).trim()
}

/// Runs a shipped workflow on the document beside it, in the simulator's calm world.
async fn run(workflow: &str, seed: u64) -> RunReport {
    run_on(workflow, json(&format!("{workflow}.json")), seed).await
}

async fn run_on(workflow: &str, input: Value, seed: u64) -> RunReport {
    run_in(&catalog(seed), workflow, input, seed).await
}

async fn run_in(catalog: &Catalog, workflow: &str, input: Value, seed: u64) -> RunReport {
    let clock = Clock::start();
    let recordings = Arc::new(Recordings::of(catalog.cases.values().map(AsRef::as_ref)));
    let mut lanes = Lanes::default();
    for provider in &catalog.configuration.providers {
        let Dialect::Simulated(settings) = &provider.dialect else { unreachable!() };
        let simulator =
            Simulator::new(&provider.name, settings, Pace::REAL, recordings.clone()).unwrap();
        lanes.add(&provider.name, Arc::new(simulator), Limits::default(), clock);
    }
    let limits = catalog.configuration.limits;
    let host =
        Arc::new(Host::new(HostSettings { lanes, limits, store: None, clock, seed: Some(seed) }));
    let handle = host.start(&catalog.workflows[workflow], input, &CallOptions::default()).unwrap();
    handle.finished().await
}

fn attempts(report: &RunReport, step: &str) -> Vec<(String, String)> {
    let steps = report.steps.iter().filter(|of| of.step == step);
    steps.flat_map(|of| &of.attempts).map(|a| (a.cause.clone(), a.end.clone())).collect()
}

#[test]
fn every_shipped_file_loads_without_a_diagnostic() {
    assert_eq!(files().len(), WORKFLOWS.len());
    for file in files() {
        let lowered = load_file(&file, &Configuration::simulated("calm", 1));
        let found: Vec<String> = lowered.diagnostics.iter().map(ToString::to_string).collect();
        assert!(found.is_empty(), "{}", found.join("\n"));
        assert!(lowered.workflow.is_some());
    }
    for catalog in [catalog(1), load(&Folder::builtin(), &Environment::default(), None)] {
        let found: Vec<String> = catalog.diagnostics.iter().map(ToString::to_string).collect();
        assert!(found.is_empty(), "{}", found.join("\n"));
        assert_eq!(catalog.workflows.keys().collect::<Vec<_>>(), WORKFLOWS);
        assert!(catalog.workflows.values().all(|w| w.exposed && w.plan.deadline.as_secs() <= 50));
    }
}

#[test]
fn every_shipped_case_passes_and_among_them_are_a_repair_a_loss_and_an_honest_failure() {
    let folder = Folder::at(root()).rehearsed();
    let catalog = load(&folder, &Environment::default(), None);
    assert_eq!(
        catalog.cases.keys().collect::<Vec<_>>(),
        catalog.workflows.keys().collect::<Vec<_>>()
    );
    for (name, cases) in &catalog.cases {
        assert_eq!(cases.list.len(), cases.written, "{name}");
        let workflow = &catalog.workflows[name];
        let plan = &workflow.plan;
        let optional = plan.steps.iter().filter(|step| step.optional);
        let (mut repaired, mut failed, mut lost) = (false, false, false);
        for case in &cases.list {
            let played = play(case, workflow, &catalog.configuration.providers, "").unwrap();
            let told: Vec<String> = played.differences.iter().map(ToString::to_string).collect();
            assert!(told.is_empty(), "{name}: {}: {}", case.name, told.join("\n"));
            let mut attempts = played.report.steps.iter().flat_map(|step| &step.attempts);
            repaired |= attempts.any(|attempt| attempt.cause == "repair");
            failed |= played.report.outcome == "failed";
            let missing =
                |name: &str| played.report.missing.iter().any(|part| part.starts_with(name));
            let unjudged = |ix| played.report.unverified.contains(&plan.step(ix).name);
            lost |= played.report.outcome == "degraded"
                && optional
                    .clone()
                    .any(|step| missing(&step.name) || step.validates.is_some_and(unjudged));
        }
        assert!(repaired && failed && lost, "{name}");
    }
}

#[test]
fn every_step_bounds_its_answer() {
    for file in files() {
        let yaml = std::fs::read_to_string(&file).unwrap();
        let prompts = yaml.matches("\n    prompt").count();
        assert_eq!(yaml.matches("\n    max_tokens: ").count(), prompts, "{}", file.display());
    }
}

#[test]
fn classify_and_the_search_start_at_once_and_the_reply_waits_for_both() {
    let catalog = catalog(1);
    let plan = &catalog.workflows["support_triage"].plan;
    let needs = |name: &str| {
        let step = plan.steps.iter().find(|step| step.name == name).unwrap();
        let needed = step.needs.iter().map(|need| plan.step(need.step).name.as_str());
        needed.collect::<Vec<_>>()
    };
    assert!(needs("classify").is_empty());
    assert!(needs("find_policy").is_empty());
    assert_eq!(needs("reply"), ["classify", "find_policy"]);
    let review = plan.steps.iter().find(|step| step.name == "review").unwrap();
    assert_eq!(review.validates.map(|ix| plan.step(ix).name.as_str()), Some("reply"));
    assert!(review.optional && review.revise == 1);
}

#[test]
fn the_arguments_hold_the_documents_as_they_are() {
    assert_eq!(json("summarize.json")["text"], body(&text("pep-0765.rst")));
    let triage = json("support_triage.json");
    assert_eq!(triage["message"], body(&text("support_message.txt")));
    let policies = triage["policies"].as_array().unwrap();
    assert_eq!(policies.len(), 5);
    for policy in policies {
        let id = policy["id"].as_str().unwrap();
        assert_eq!(policy["text"], body(&text(&format!("policies/{id}.md"))), "{id}");
    }
}

#[tokio::test(start_paused = true)]
async fn summarize_gives_the_recorded_bullets() {
    let report = run("summarize", 3).await;
    assert_eq!(report.outcome, "delivered", "{:?}", report.failure);
    assert!(report.simulated);
    let output = report.output.unwrap();
    let bullets = output["bullets"].as_array().unwrap();
    assert_eq!(bullets.len(), 5);
    assert!(bullets[2].as_str().unwrap().contains("120,964,221 lines"));
}

#[tokio::test(start_paused = true)]
async fn a_part_of_a_document_does_not_get_the_answer_recorded_for_the_whole() {
    let whole = json("summarize.json");
    let part: String = whole["text"].as_str().unwrap().chars().take(3_000).collect();
    let report = run_on("summarize", serde_json::json!({ "text": part }), 3).await;
    let output = report.output.unwrap();
    for bullet in output["bullets"].as_array().unwrap() {
        let words = part.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(
            words.contains(bullet.as_str().unwrap()),
            "made up by shape, from the text: {bullet}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn invoice_ledger_books_each_cent_once_and_asks_about_what_the_invoice_does_not_say() {
    let report = run("invoice_ledger", 3).await;
    assert_eq!(report.outcome, "delivered", "{:?} {:?}", report.failure, report.missing);
    let output = report.output.unwrap();
    let entries = output["entries"].as_array().unwrap();
    let cents = |side: &str| {
        let cents = entries.iter().map(|entry| (entry[side].as_f64().unwrap() * 100.0).round());
        cents.sum::<f64>()
    };
    // The invoice's total, and three discounts on the other side.
    assert_eq!((cents("debit"), cents("credit")), (325_711.0, 325_711.0));
    let input = json("invoice_ledger.json");
    let chart = input["chart"].as_array().unwrap();
    for entry in entries {
        assert!(chart.iter().any(|account| account["number"] == entry["account"]), "{entry}");
    }
    let document = input["document"].as_str().unwrap();
    for remark in output["remarks"].as_array().unwrap() {
        assert!(document.contains(remark["quote"].as_str().unwrap()), "{remark}");
    }
    let unclear = output["unclear"].as_array().unwrap();
    assert_eq!(unclear.len(), 1);
    assert_eq!(unclear[0]["account"], input["control"]["suspense"]);
}

#[tokio::test(start_paused = true)]
async fn support_triage_repairs_its_first_reply_and_quotes_word_for_word() {
    let report = run("support_triage", 4).await;
    assert_eq!(report.outcome, "delivered", "{:?} {:?}", report.failure, report.missing);
    let repaired = [("primary", "failed"), ("repair", "accepted")];
    let repaired = repaired.map(|(cause, end)| (cause.to_owned(), end.to_owned()));
    assert_eq!(attempts(&report, "reply"), repaired);
    assert_eq!(report.steps.iter().filter(|step| step.step == "find_policy").count(), 5);
    let output = report.output.unwrap();
    assert_eq!(output["category"], "refund");
    assert_eq!(output["verified"], true);
    assert_eq!(output["escalate"], true);
    let citations = output["citations"].as_array().unwrap();
    assert_eq!(citations.len(), 7);
    for citation in citations {
        let policy = text(&format!("policies/{}.md", citation["policy"].as_str().unwrap()));
        assert!(policy.contains(citation["quote"].as_str().unwrap()), "{citation}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_reply_that_promises_too_much_is_sent_back_once() {
    let mut input = json("support_triage.json");
    input["tone"] = Value::from("formal");
    let report = run_on("support_triage", input, 5).await;
    assert_eq!(report.outcome, "delivered", "{:?} {:?}", report.failure, report.missing);
    assert_eq!(attempts(&report, "reply").last().unwrap().0, "revision");
    assert_eq!(attempts(&report, "review").len(), 2);
    let output = report.output.unwrap();
    assert_eq!(output["verified"], true);
    assert_eq!(output["escalate"], true);
    let reply = output["reply"].as_str().unwrap();
    assert!(!reply.contains("we will credit") && reply.contains("we would consider"), "{reply}");
}

#[tokio::test(start_paused = true)]
async fn recorded_answers_end_in_time_in_many_worlds() {
    for seed in 0..20 {
        let catalog = catalog(seed);
        for workflow in WORKFLOWS {
            let input = json(&format!("{workflow}.json"));
            let report = run_in(&catalog, workflow, input, seed).await;
            let good = ["delivered", "degraded"].contains(&report.outcome.as_str());
            assert!(good, "seed {seed}: {workflow}: {:?}", report.failure);
            assert!(report.elapsed_ms <= report.deadline_ms, "seed {seed}: {workflow}");
        }
    }
}
