//! The baselines against the published results.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::baseline::{Baseline, Player, silent_floor};
use super::file::{Cell, ScenarioFile};
use super::row::{Measured, Row};
use super::table;
use crate::provider::simulated::regime::SCENARIOS_JSON;

/// Attempts of a step in the published results.
const PUBLISHED_ATTEMPTS: usize = 7;

#[derive(Deserialize)]
struct Published {
    scenario: String,
    wf: String,
    #[serde(rename = "D")]
    deadline_s: u32,
    policy: String,
    ontime: f64,
    tok: f64,
    cost: f64,
    hedge: f64,
    p50: f64,
    p95: f64,
    std: f64,
}

fn file() -> ScenarioFile {
    ScenarioFile::parse(SCENARIOS_JSON).unwrap()
}

#[test]
fn a_hundred_runs_come_out_as_those_of_the_reference_implementation() {
    let published: Vec<Published> =
        serde_json::from_str(include_str!("../../tests/fixtures/tail/hundred_runs.json")).unwrap();
    assert_eq!(published.len(), 6 * 3 * Baseline::ALL.len());
    let file = file();
    let mut figures = BTreeMap::new();
    for row in published {
        let graph = &file.workflows[&row.wf];
        let classes = file.classes(graph);
        let regime = &file.scenarios[&row.scenario];
        let setting = file.setting(regime, graph, &classes);
        let month = &file.scenarios["pooled"];
        let figures =
            figures.entry(row.wf.clone()).or_insert_with(|| table::figures(month, &classes));
        let policy = Baseline::ALL.into_iter().find(|p| p.as_str() == row.policy).unwrap();
        let mut player = Player::new(setting, figures, policy, row.deadline_s, PUBLISHED_ATTEMPTS);
        let runs: Vec<Measured> = (0..100).map(|run| player.play(run)).collect();
        let cell = Cell {
            scenario: row.scenario.clone(),
            workflow: row.wf.clone(),
            deadline_s: row.deadline_s,
        };
        let ours = Row::of(&cell, policy.as_str(), &runs);
        let pairs = [
            (ours.ontime, row.ontime, 1e-9),
            (ours.tok, row.tok, 1e-4),
            (ours.cost, row.cost, 1e-4),
            (ours.hedge, row.hedge, 1e-4),
            (ours.p50, row.p50, 0.01),
            (ours.p95, row.p95, 0.01),
            (ours.std, row.std, 0.01),
        ];
        for (place, (ours, theirs, slack)) in pairs.into_iter().enumerate() {
            let name = format!("{} {} {} {}", row.scenario, row.wf, row.deadline_s, row.policy);
            assert!((ours - theirs).abs() <= slack, "{name}, figure {place}: {ours} for {theirs}");
        }
    }
}

#[test]
fn the_bound_is_the_oracle_less_what_no_model_can_help() {
    let file = file();
    let graph = &file.workflows["chain9"];
    let classes = file.classes(graph);
    let regime = &file.scenarios["pooled"];
    let setting = file.setting(regime, graph, &classes);
    assert!((silent_floor(&setting) - 0.995_51).abs() < 5e-6);
}

#[test]
fn a_file_may_choose_its_cells() {
    let all = file().cells();
    assert_eq!(all.len(), 78, "72 of the workflows, and a single step in each regime");
    let chosen = Cell { scenario: "calm".to_owned(), workflow: "dag9".to_owned(), deadline_s: 75 };
    let cells = r#""cells": [{"scenario": "calm", "workflow": "dag9", "deadline_s": 75}],"#;
    let text = SCENARIOS_JSON.replacen('{', &format!("{{{cells}"), 1);
    assert_eq!(ScenarioFile::parse(&text).unwrap().cells(), [chosen]);
}

#[test]
fn what_is_wrong_with_a_file_is_told_at_its_place() {
    let told = |from: &str, to: &str| {
        assert!(SCENARIOS_JSON.contains(from), "{from}");
        ScenarioFile::parse(&SCENARIOS_JSON.replacen(from, to, 1)).unwrap_err().to_string()
    };
    assert!(told("\"version\"", "version").starts_with("line 2, column "));
    let cells = r#"{"cells": [{"scenario": "calm", "workflow": "chain4", "deadline_s": 75}],"#;
    assert!(told("{", cells).starts_with("/cells/0: names a scenario or workflow"));
}

mod drive;
mod replay;
