//! Laws of the format: what is well typed loads and never meets a missing value, what is broken is told at its
//! place, and what cuts texts and lists loses nothing.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::expect_used,
    reason = "a broken law ends the test; only inline test modules are exempt by configuration"
)]

#[path = "properties/flow.rs"]
mod flow;
#[path = "properties/luck.rs"]
mod luck;
#[path = "properties/mutation.rs"]
mod mutation;
#[path = "properties/play.rs"]
mod play;
#[path = "properties/value.rs"]
mod value;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use proptest::prelude::*;
use punctual::definition::config::Configuration;
use punctual::definition::diagnostic::Diagnostic;
use punctual::definition::lower::{Context, Lowered, lower};
use punctual::definition::shelf::Shelf;
use punctual::definition::source::Source;
use punctual::domain::id::RunId;
use punctual::domain::message::estimate_tokens;
use punctual::domain::outcome::Outcome;
use punctual::domain::time::Timestamp;
use punctual::expression::Expression;
use punctual::provider::simulated::Recordings;
use punctual::run::Run;
use punctual::run::journal::Record;
use punctual::run::replay::replay;
use punctual::schema::Schema;
use punctual::workflow::Workflow;
use punctual::world::World;
use serde_json::{Value, json};

use luck::Luck;

/// Workflows that are made up.
const FLOWS: u64 = 300;
/// Broken files.
const MUTANTS: u64 = 1_500;

fn loaded(text: &str, root: &Path, configuration: &Configuration) -> Lowered {
    let shelf = Shelf::Disk { root: root.to_owned(), label: String::new() };
    let context = Context { name: "flow", shelf: &shelf, configuration };
    lower(context, Source::new("flow.yaml", text))
}

/// A made-up workflow, which loads.
fn made_up(seed: u64, configuration: &Configuration) -> (Arc<Workflow>, String) {
    let text = flow::Flow::write(&mut Luck(seed));
    let lowered = loaded(&text, Path::new("."), configuration);
    let found: Vec<&Diagnostic> = lowered.diagnostics.iter().filter(|d| d.is_error()).collect();
    let shown: Vec<String> = found.iter().map(ToString::to_string).collect();
    assert!(found.is_empty(), "seed {seed}\n{text}\n{}", shown.join("\n\n"));
    (lowered.workflow.unwrap(), text)
}

/// Arguments that fit, with gaps.
fn arguments(workflow: &Workflow, luck: &mut Luck) -> Value {
    let input = value::value(&workflow.input, luck);
    assert!(workflow.input_schema.violations(&input).is_empty(), "{input}");
    Schema::fill_defaults(&workflow.input, Schema::drop_absent(&workflow.input, input))
}

/// What no run of a well-typed workflow may say.
fn audit(run: &Run, at: Timestamp, what: &str) {
    let report = run.report("", at);
    let shown = || serde_json::to_string_pretty(&report).unwrap();
    let class = report.failure.as_ref().map(|failure| failure.class.as_str());
    assert_ne!(class, Some("invalid_input"), "{what}\n{}", shown());
    let attempts = report.steps.iter().flat_map(|step| &step.attempts);
    let mut classes = attempts.filter_map(|attempt| attempt.failure.as_ref());
    assert!(classes.all(|failure| failure.class != "invalid_input"), "{what}\n{}", shown());
    match run.outcome().expect("it has ended") {
        Outcome::Delivered | Outcome::Degraded { .. } => {
            let output = report.output.clone().unwrap();
            let violations = run.workflow().output_schema.violations(&output);
            assert!(violations.is_empty(), "{what}\n{violations:?}\n{}", shown());
        }
        Outcome::Failed(_) => {}
        Outcome::Cancelled => panic!("{what}\n{}", shown()),
    }
}

/// What a run has recorded decides the same again.
fn replayed(run: &Run, what: &str) {
    let lines = run.record(|_| false);
    let (line, parts) = lines.split_last().unwrap();
    let part = |name: &str| parts.iter().find(|part| part.contains(name)).cloned();
    let record = Record::read(line, part).unwrap();
    let found = replay(&record);
    assert_eq!((found.divergence, record.whole), (None, true), "{what}");
    assert!(found.events > 0 && found.decisions > 0, "{what}");
}

#[test]
fn a_well_typed_workflow_loads_and_meets_nothing_missing_whatever_the_answers_lack() {
    let configuration = Configuration::simulated("calm", 1);
    let mut good = 0;
    for seed in 0..FLOWS {
        let (workflow, text) = made_up(seed, &configuration);
        for round in 0..3 {
            let mut luck = Luck(seed * 31 + round);
            let input = arguments(&workflow, &mut luck);
            let what = format!("seed {seed} round {round}\n{input}\n{text}");
            let (run, at) = play::play(&workflow, input, seed * 31 + round);
            audit(&run, at, &what);
            if round == 0 {
                replayed(&run, &what);
            }
            good += u64::from(matches!(
                run.outcome(),
                Some(Outcome::Delivered | Outcome::Degraded { .. })
            ));
        }
    }
    assert!(good > FLOWS * 3 / 2, "only {good} of {} came to a result", FLOWS * 3);
}

#[test]
fn a_well_typed_workflow_meets_nothing_missing_in_any_regime_and_its_record_decides_the_same() {
    for (regime, from) in
        [("pooled", 10_000), ("busy", 20_000), ("brownout", 30_000), ("down", 40_000)]
    {
        let configuration = Configuration::simulated(regime, 7);
        let recordings = Arc::new(Recordings::default());
        let mut world = World::of(&configuration.providers, &recordings).unwrap();
        let mut texts = Vec::new();
        for seed in from..from + 30 {
            let (workflow, text) = made_up(seed, &configuration);
            let input = arguments(&workflow, &mut Luck(seed));
            let deadline = workflow.plan.deadline;
            let mut run = Run::new(RunId::new(seed), workflow, input, deadline, seed);
            run.keep_journal();
            world.arrive(run, Timestamp::from_millis((seed - from) * 60_000));
            texts.push(format!("{regime}, seed {seed}\n{text}"));
        }
        for (ended, text) in world.play().iter().zip(&texts) {
            audit(&ended.run, ended.at, text);
            replayed(&ended.run, text);
        }
    }
}

/// Good files with the folder their prompts are in, and made-up ones.
fn good_files() -> Vec<(String, PathBuf)> {
    let mut good = Vec::new();
    for folder in ["workflows", "tests/definitions/good", "tests/definitions/lint"] {
        let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
        let mut paths: Vec<PathBuf> =
            entries.filter(|path| path.extension().is_some_and(|e| e == "yaml")).collect();
        paths.sort();
        good.extend(
            paths
                .iter()
                .map(|path| (std::fs::read_to_string(path).unwrap(), PathBuf::from(folder))),
        );
    }
    good.extend((0..20).map(|seed| (flow::Flow::write(&mut Luck(seed)), PathBuf::from("."))));
    good
}

#[test]
fn a_broken_file_is_told_at_its_place_and_never_ends_in_a_panic() {
    let configuration = Configuration::simulated("calm", 1);
    let good = good_files();
    let mut broken = 0;
    for seed in 0..MUTANTS {
        let mut luck = Luck(seed);
        let ((text, root), (other, _)) = (luck.pick(&good).clone(), luck.pick(&good).clone());
        let mutant = mutation::mutate(&text, &other, &mut luck);
        let load = std::panic::AssertUnwindSafe(|| loaded(&mutant, &root, &configuration));
        let lowered = std::panic::catch_unwind(load)
            .unwrap_or_else(|_| panic!("a panic with seed {seed}:\n{mutant}"));
        let errors = lowered.diagnostics.iter().filter(|found| found.is_error()).count();
        assert_eq!(errors == 0, lowered.workflow.is_some(), "seed {seed}\n{mutant}");
        broken += usize::from(errors > 0);
        for found in &lowered.diagnostics {
            let place = found.span.unwrap_or_else(|| panic!("seed {seed}: no place: {found}"));
            let lines = mutant.lines().count() + 1;
            let here = found.file != "flow.yaml" || place.start.line <= lines;
            assert!(here && place.start <= place.end, "seed {seed}: {found}");
            assert!(!found.message.is_empty(), "seed {seed}: {found}");
        }
    }
    let most = usize::try_from(MUTANTS).unwrap();
    assert!(broken > most / 2 && broken < most, "{broken} of {most} are broken");
}

fn evaluated(expression: &str, bindings: &Value) -> Value {
    Expression::parse(expression).unwrap().evaluate(bindings)
}

fn texts(value: &Value) -> Vec<String> {
    value.as_array().unwrap().iter().map(|v| v.as_str().unwrap().to_owned()).collect()
}

proptest! {
    #[test]
    fn chunks_put_together_are_the_text_and_none_is_larger_than_asked(
        text in "([a-zA-Z .!?。！]|\\r?\\n|\\n\\n|\\PC){0,200}",
        tokens in 1_u64..60,
    ) {
        let bindings = json!({"input": {"text": text}, "n": tokens});
        let pieces = texts(&evaluated("chunks(input.text, n)", &bindings));
        prop_assert_eq!(pieces.concat(), text);
        for piece in &pieces {
            prop_assert!(!piece.is_empty());
            let one = piece.chars().count() == 1;
            prop_assert!(one || estimate_tokens(piece) <= tokens, "{:?} of {}", piece, tokens);
        }
    }

    #[test]
    fn the_parts_of_a_split_joined_again_are_the_text(
        text in "[a-c,; é\u{1F600}]{0,60}",
        separator in "[,; é]{1,2}",
    ) {
        let bindings = json!({"text": text, "by": separator});
        let parts = evaluated("split(text, by)", &bindings);
        prop_assert_eq!(evaluated("join(parts, by)", &json!({"parts": parts, "by": separator})), text);
        let holds = texts(&parts).iter().any(|part| part.contains(&separator));
        prop_assert!(!holds);
    }

    #[test]
    fn batches_keep_every_item_in_order_and_all_but_the_last_are_full(
        list in proptest::collection::vec(0_i64..100, 0..60),
        size in 1_usize..20,
    ) {
        let bindings = json!({"list": list, "size": size});
        let batches = evaluated("batches(list, size)", &bindings);
        let batches = batches.as_array().unwrap();
        prop_assert_eq!(evaluated("flatten(batches(list, size))", &bindings), json!(list));
        for (at, batch) in batches.iter().enumerate() {
            let count = batch.as_array().unwrap().len();
            let full = count == size;
            prop_assert!(full || (at + 1 == batches.len() && count > 0 && count < size));
        }
    }
}
