//! Workflows from YAML, in every regime, by the thousand.

mod gates;
mod permits;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};

use super::forecast::{Figures, Trial};
use super::{Ended, World};
use crate::definition::catalog::load_file;
use crate::definition::config::Configuration;
use crate::domain::id::RunId;
use crate::domain::outcome::Outcome;
use crate::domain::time::Timestamp;
use crate::provider::simulated::Recordings;
use crate::run::Run;
use crate::workflow::Workflow;

const FLOW: &str = "
description: Plans, answers in parallel, drafts and is judged.
deadline: 45s
budget: {calls: 60}
input: {text: string}
steps:
  plan:
    max_tokens: 300
    prompt: 'Split into questions: {{ input.text }}'
    output: {questions: [string]}
  answer:
    each: plan.questions
    as: q
    min_ok: 50%
    max_tokens: 300
    prompt: 'Answer {{ q }} from {{ input.text }}'
    output: {answer: string}
  extra:
    optional: true
    cutoff_at: 60%
    max_tokens: 200
    prompt: 'Open points in {{ input.text }}'
    output: {points: [string]}
  draft:
    max_tokens: 600
    prompt: 'Draft from {{ answer | tojson }} {% if extra %}{{ extra.points | join(\", \") }}{% endif %}'
    output: {text: string}
  review:
    validates: draft
    optional: true
    max_tokens: 100
    prompt: 'Judge {{ draft.text }}'
    output: {pass: boolean, problems: [string]}
output:
  text: draft.text
  answers: answer
  points: extra.points ?? []
";

fn workflow(yaml: &str, configuration: &Configuration) -> Arc<Workflow> {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("flow.yaml");
    std::fs::write(&file, yaml).unwrap();
    let lowered = load_file(Path::new(&file), configuration);
    lowered.workflow.unwrap_or_else(|| panic!("{:#?}", lowered.diagnostics))
}

fn input() -> Value {
    json!({ "text": "The pump failed on Monday. Why did it fail? Who fixes it? What does it cost?" })
}

fn play(regime: &str, runs: u64, apart: Duration) -> Vec<Ended> {
    let configuration = Configuration::simulated(regime, 7);
    let flow = workflow(FLOW, &configuration);
    let recordings = Arc::new(Recordings::default());
    let mut world = World::of(&configuration.providers, &recordings).unwrap();
    for seed in 0..runs {
        let deadline = flow.plan.deadline;
        let run = Run::new(RunId::new(seed), flow.clone(), input(), deadline, seed);
        let at = apart * u32::try_from(seed).unwrap();
        world.arrive(run, Timestamp::after_start(at));
    }
    world.play()
}

#[test]
fn every_run_of_every_regime_ends_once_and_in_time() {
    for regime in ["calm", "pooled", "busy", "brownout", "down", "fastlong"] {
        let ended = play(regime, 60, Duration::from_secs(30));
        assert_eq!(ended.len(), 60);
        let mut good = 0;
        for Ended { run, at } in &ended {
            let report = run.report("", *at);
            assert!(report.elapsed_ms < report.deadline_ms, "{regime}: {report:#?}");
            let attempts = report.steps.iter().flat_map(|step| &step.attempts);
            assert!(attempts.clone().all(|a| !a.end.is_empty()), "{regime}: {report:#?}");
            assert!(attempts.count() <= 60, "{regime}");
            match run.outcome() {
                Some(Outcome::Delivered | Outcome::Degraded { .. }) => {
                    good += 1;
                    let output = report.output.unwrap();
                    assert!(run.workflow().output_schema.violations(&output).is_empty());
                }
                Some(Outcome::Failed(_)) => assert!(report.failure.is_some()),
                Some(Outcome::Cancelled) | None => panic!("{regime}: {report:#?}"),
            }
        }
        assert!(regime != "calm" || good >= 50, "{regime}: {good} of 60");
    }
}

#[test]
fn the_same_seed_plays_the_same_run_to_the_letter() {
    let reports = || {
        let ended = play("brownout", 20, Duration::ZERO);
        let reports = ended.iter().map(|e| e.run.report("", e.at));
        serde_json::to_string(&reports.collect::<Vec<_>>()).unwrap()
    };
    assert_eq!(reports(), reports());
}

#[test]
fn two_thousand_runs_at_once_end_in_time() {
    let ended = play("pooled", 2_000, Duration::from_millis(1));
    let late = ended.iter().filter(|e| e.at.since_start() >= e.run.deadline()).count();
    assert_eq!((ended.len(), late), (2_000, 0));
}

#[test]
fn hedges_before_the_cutoff_stay_within_their_share_of_all_runs() {
    let hedge = "defaults: {policy: {hedge: {after: 2s, max_extra: 10%}}}\nsteps:\n";
    let configuration = Configuration::simulated("pooled", 7);
    let flow = workflow(&FLOW.replacen("steps:\n", hedge, 1), &configuration);
    let recordings = Arc::new(Recordings::default());
    let mut world = World::of(&configuration.providers, &recordings).unwrap();
    for seed in 0..60 {
        let run = Run::new(RunId::new(seed), flow.clone(), input(), flow.plan.deadline, seed);
        world.arrive(run, Timestamp::after_start(Duration::from_secs(5 * seed)));
    }
    let (mut early, mut primaries) = (0, 0);
    for Ended { run, at } in world.play() {
        let report = run.report("", at);
        early +=
            report.decisions.iter().filter(|d| d.reason.contains("no answer after 2 s")).count();
        let attempts = report.steps.iter().flat_map(|step| &step.attempts);
        primaries += attempts.filter(|attempt| attempt.cause == "primary").count();
    }
    let providers = configuration.providers.len();
    assert!(early > 0 && early <= primaries / 10 + providers, "{early} of {primaries}");
}

#[test]
fn a_longer_deadline_is_met_more_often_and_the_same_seed_gives_the_same_figures() {
    let configuration = Configuration::simulated("busy", 7);
    let trial = Trial {
        workflow: workflow(FLOW, &configuration),
        inputs: vec![input()],
        providers: configuration.providers.clone(),
        laws: None,
        pilot: None,
        recordings: Arc::new(Recordings::default()),
        seed: 1,
        apart: Duration::from_secs(30),
    };
    let figures = |seconds: u64| {
        let deadline = Duration::from_secs(seconds);
        let samples = trial.under(deadline).play(0, 40).unwrap();
        assert!(samples.iter().all(|sample| sample.elapsed < deadline));
        Figures::of(deadline, &samples)
    };
    let shares: Vec<f64> = [10, 20, 90].into_iter().map(|s| figures(s).on_time).collect();
    assert!(shares[0] < shares[1] && shares[1] < shares[2], "{shares:?}");
    assert_eq!(figures(20), figures(20));
    let (one, other) = (trial.play(0, 4).unwrap(), trial.play(2, 2).unwrap());
    assert_eq!(
        one[2..],
        other[..],
        "a run's luck is its number's, whichever world it is played in"
    );
}
