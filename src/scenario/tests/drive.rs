//! The engine in a scenario's setting.

use std::time::Duration;

use crate::latency::observation::End;
use crate::provider::simulated::draw::Ending;
use crate::provider::simulated::regime::SCENARIOS_JSON;
use crate::scenario::baseline::Baseline;
use crate::scenario::drive::Driver;
use crate::scenario::file::{Cell, Graph, ScenarioFile};
use crate::scenario::plan::Trust;
use crate::scenario::row::Measured;
use crate::scenario::stage::{Contender, Stage, Terms};

fn file() -> ScenarioFile {
    ScenarioFile::parse(SCENARIOS_JSON).unwrap()
}

/// What is played in a regime with a graph, by run.
fn played(file: &ScenarioFile, regime: &str, graph: &Graph, deadline_s: u32) -> Vec<Measured> {
    let classes = file.classes(graph);
    let setting = file.setting(&file.scenarios[regime], graph, &classes);
    let mut driver = Driver::new(setting, "w", deadline_s, &Trust::right(&setting));
    (0..200).map(|run| driver.play(run)).collect()
}

#[test]
fn a_run_comes_out_the_same_whatever_was_played_before_it() {
    let file = file();
    let graph = &file.workflows["dag9"];
    let forth = played(&file, "busy", graph, 90);
    let classes = file.classes(graph);
    let setting = file.setting(&file.scenarios["busy"], graph, &classes);
    let mut driver = Driver::new(setting, "w", 90, &Trust::right(&setting));
    for run in (0..200).rev() {
        assert_eq!(driver.play(run), forth[usize::try_from(run).unwrap()], "run {run}");
    }
}

#[test]
fn a_run_without_trouble_is_the_one_that_waits() {
    let stage = Stage::new(SCENARIOS_JSON, Some(200)).unwrap();
    for (scenario, workflow) in [("calm", "chain3"), ("pooled", "dag9")] {
        let cell =
            Cell { scenario: scenario.to_owned(), workflow: workflow.to_owned(), deadline_s: 120 };
        let wait = Contender::Baseline(Baseline::Wait);
        let wait = stage.measure(&cell, wait, &Terms::default());
        let graph = &stage.file.workflows[workflow];
        let ours = played(&stage.file, scenario, graph, 120);
        let (setting, _) = stage.setting(&cell).unwrap();
        let well = |run: u64, step| {
            matches!(setting.draw(run, step, 0, 0).ending, Ending::Ok | Ending::Silent)
        };
        let pairs = (0..).zip(ours.iter().zip(&wait)).filter(|(run, (ours, _))| {
            (ours.tokens - 1.0).abs() < 1e-9
                && (0..graph.classes.len()).all(|step| well(*run, step))
        });
        let clean: Vec<_> = pairs.map(|(_, pair)| pair).collect();
        assert!(clean.len() > 100, "{scenario}: {} of 200 went well", clean.len());
        for (ours, wait) in clean {
            assert_eq!((ours.on_time, ours.hedges), (wait.on_time, 0.0));
            assert!((ours.elapsed_s - wait.elapsed_s).abs() < 1e-4, "{ours:?} for {wait:?}");
            assert!((ours.cost - wait.cost).abs() < 1e-9);
        }
    }
}

#[test]
fn what_is_silently_wrong_is_answered_but_not_right() {
    let mut file = file();
    let regime = file.scenarios.get_mut("calm").unwrap();
    regime.paths.iter_mut().for_each(|path| path.p_silent = 1.0);
    let runs = played(&file, "calm", &file.workflows["chain3"].clone(), 180);
    assert!(runs.iter().all(|run| !run.on_time && run.right == 0.0));
    assert!(runs.iter().filter(|run| run.answered).count() > 150);
}

#[test]
fn a_run_without_its_optional_steps_is_on_time() {
    let file = file();
    let classes = ["M", "XL"].map(str::to_owned).to_vec();
    let graph =
        |optional| Graph { classes: classes.clone(), parents: vec![vec![], vec![]], optional };
    // An XL answer takes 20 s at the median, and no attempt of it ends in 9.
    let needed = played(&file, "calm", &graph(vec![]), 9);
    assert!(needed.iter().all(|run| !run.answered && run.elapsed_s >= 9.0));
    let spared = played(&file, "calm", &graph(vec![false, true]), 9);
    let answered = spared.iter().filter(|run| run.answered).count();
    assert!((120..200).contains(&answered), "{answered}");
    assert!(spared.iter().all(|run| run.extras == 0.0));
    let time = played(&file, "calm", &graph(vec![false, true]), 120);
    assert!(time.iter().filter(|run| run.extras > 0.0).count() > 190);
}

#[test]
fn every_attempt_is_observed_to_its_true_end() {
    let file = file();
    let graph = &file.workflows["chain3"];
    let classes = file.classes(graph);
    let setting = file.setting(&file.scenarios["brownout"], graph, &classes);
    let mut driver = Driver::new(setting, "w", 60, &Trust::right(&setting));
    let mut ends = std::collections::BTreeMap::new();
    for run in 0..100 {
        driver.play(run);
        for (_, seen) in driver.observations(run) {
            let kind = match seen.end {
                End::Answered { valid } => {
                    let first = seen.first_token.unwrap();
                    let (last, tokens) = *seen.stream.last().unwrap();
                    assert_eq!(tokens, seen.tokens);
                    let written = seen.lasted.saturating_sub(first) + Duration::from_micros(1);
                    assert!(last <= written && seen.stream.is_sorted(), "{seen:?}");
                    if valid { "valid" } else { "invalid" }
                }
                End::Failed(class) => class.as_str(),
                End::Closed => "closed",
            };
            *ends.entry(kind).or_insert(0) += 1;
        }
    }
    let kinds: Vec<&str> = ends.keys().copied().collect();
    assert_eq!(kinds, ["closed", "invalid", "rate_limited", "server_error", "valid"]);
    // Only what hangs is closed: whoever lost, or was under way when the run ended, is watched on.
    let mut hung = 0;
    for run in 0..100 {
        driver.play(run);
        let first = setting.draw(run, 0, 0, 0);
        hung += u32::from(first.ending == Ending::Hang);
        let (_, seen) = driver.observations(run).next().unwrap();
        assert_eq!(seen.end == End::Closed, first.ending == Ending::Hang, "{seen:?}");
    }
    assert!(hung > 0);
}

#[test]
fn a_machine_is_never_woken_without_end() {
    let mut stage = Stage::new(SCENARIOS_JSON, Some(1)).unwrap();
    stage.file.warmup_runs = 60;
    let cell = |workflow: &str| Cell {
        scenario: "busy".to_owned(),
        workflow: workflow.to_owned(),
        deadline_s: 60,
    };
    for (workflow, contender) in [("dag9", Contender::Rules), ("chain3", Contender::Planner)] {
        let cell = cell(workflow);
        let (setting, _) = stage.setting(&cell).unwrap();
        let mut driver = stage.driver(setting, &cell, contender, &Terms::default());
        for run in 0..150 {
            let before = driver.events();
            driver.play(run);
            let events = driver.events() - before;
            // Three branches with three attempts that show their tokens twice a second, and as many ticks.
            assert!(events < 1_500, "{workflow}, run {run}: {events} events");
        }
    }
}
