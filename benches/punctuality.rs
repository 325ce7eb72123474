//! The published benchmark of policies under tail latency: every regime, workflow and deadline of a scenario file, under
//! the baselines. Prints whether they agree with the published results, and how many runs a second are simulated.
//!
//! `cargo bench --bench punctuality -- [--runs N] [--json] [FILE]`. Published rows were computed with 7 attempts a step;
//! what is quoted elsewhere has 40, because 7 wedge runs while two quotas are in a burst.
#![expect(
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a benchmark's figures and its clock"
)]

use std::collections::BTreeMap;
use std::process::ExitCode;
use std::time::Instant;

use punctual::provider::simulated::regime::SCENARIOS_JSON;
use punctual::scenario::baseline::{Baseline, Player, silent_floor};
use punctual::scenario::file::{Cell, ScenarioFile, Setting, StepClass};
use punctual::scenario::row::{Measured, Row};
use punctual::scenario::table::{self, Figures};
use serde::Deserialize;

/// Runs of each cell where nothing else is asked for; the published rows have 20,000 and more.
const RUNS: u64 = 2_000;
/// Attempts of a step in the published results.
const PUBLISHED: usize = 7;
/// Attempts of a step in what is quoted.
const QUOTED: usize = 40;
/// The regime whose month the static policies know; of a regime with other models they know its own, as the published
/// results have it.
const MONTH: &str = "pooled";

#[derive(Deserialize)]
struct Reference {
    scenario: String,
    wf: String,
    #[serde(rename = "D")]
    deadline_s: u32,
    policy: String,
    n: f64,
    ontime: f64,
}

/// What is played: a file, and what the static policies know of each regime and workflow.
struct Bench {
    file: ScenarioFile,
    known: BTreeMap<(String, String), (Vec<StepClass>, Vec<Figures>)>,
    runs: u64,
}

impl Bench {
    fn new(text: &str, runs: u64) -> Result<Self, String> {
        let file = ScenarioFile::parse(text).map_err(|error| error.to_string())?;
        let month = file.scenarios.get(MONTH).or_else(|| file.scenarios.values().next());
        let month = month.ok_or("/scenarios: there is none")?;
        let mut known = BTreeMap::new();
        for (workflow, graph) in &file.workflows {
            let classes = file.classes(graph);
            let usual = table::figures(month, &classes);
            for (scenario, regime) in &file.scenarios {
                let same = (&regime.paths, &regime.shape) == (&month.paths, &month.shape);
                let figures = if same { usual.clone() } else { table::figures(regime, &classes) };
                known.insert((scenario.clone(), workflow.clone()), (classes.clone(), figures));
            }
        }
        Ok(Self { file, known, runs })
    }

    fn play(&self, cell: &Cell, policy: Baseline, attempts: usize) -> Row {
        let (classes, figures) = self.known(cell);
        let mut player =
            Player::new(self.setting(cell, classes), figures, policy, cell.deadline_s, attempts);
        let runs: Vec<Measured> = (0..self.runs).map(|run| player.play(run)).collect();
        Row::of(cell, policy.as_str(), &runs)
    }

    fn known(&self, cell: &Cell) -> &(Vec<StepClass>, Vec<Figures>) {
        &self.known[&(cell.scenario.clone(), cell.workflow.clone())]
    }

    fn setting<'a>(&'a self, cell: &Cell, classes: &'a [StepClass]) -> Setting<'a> {
        let regime = &self.file.scenarios[&cell.scenario];
        let parents = &self.file.workflows[&cell.workflow].parents;
        Setting { seed: self.file.seed, regime, classes, parents }
    }

    /// Every policy's row of a cell, put between waiting and the bound.
    fn cell(&self, cell: &Cell, attempts: usize) -> Vec<Row> {
        let mut rows: Vec<Row> =
            Baseline::ALL.iter().map(|policy| self.play(cell, *policy, attempts)).collect();
        let share = |policy: Baseline| {
            rows.iter().find(|row| row.policy == policy.as_str()).map_or(0.0, |row| row.ontime)
        };
        let floor = silent_floor(&self.setting(cell, &self.known(cell).0));
        let (wait, bound) = (share(Baseline::Wait), share(Baseline::Oracle) * floor);
        for row in &mut rows {
            row.compare(wait, bound);
        }
        rows
    }

    /// Rows of all cells, on two threads.
    fn all(&self, attempts: usize) -> Vec<Row> {
        let cells = self.file.cells();
        let half = cells.len().div_ceil(2);
        let rows = |cells: &[Cell]| -> Vec<Row> {
            cells.iter().flat_map(|cell| self.cell(cell, attempts)).collect()
        };
        std::thread::scope(|scope| {
            let other = scope.spawn(|| rows(&cells[half..]));
            let mut first = rows(&cells[..half]);
            first.extend(other.join().unwrap_or_default());
            first
        })
    }
}

/// Rows that lie outside what chance explains: four standard errors of both counts together.
fn disagreements(rows: &[Row]) -> (usize, Vec<String>) {
    let reference = include_str!("../tests/fixtures/tail/reference.json");
    let published: Vec<Reference> = serde_json::from_str(reference).unwrap_or_default();
    let (mut compared, mut found) = (0, Vec::new());
    for row in rows {
        let same = |p: &&Reference| {
            (&p.scenario, &p.wf, p.deadline_s, &p.policy)
                == (&row.scenario, &row.wf, row.deadline_s, &row.policy)
        };
        let Some(theirs) = published.iter().find(same) else { continue };
        compared += 1;
        let share = theirs.ontime.clamp(1e-4, 1.0 - 1e-4);
        #[expect(clippy::cast_precision_loss, reason = "runs of a benchmark")]
        let spread = share * (1.0 - share) * (1.0 / row.n as f64 + 1.0 / theirs.n);
        if (row.ontime - theirs.ontime).abs() > 4.0 * spread.sqrt() {
            let name = format!("{} {}@{} {}", row.scenario, row.wf, row.deadline_s, row.policy);
            found.push(format!("{name}: {:.4} for {:.4}", row.ontime, theirs.ontime));
        }
    }
    (compared, found)
}

fn averages(rows: &[Row]) {
    println!("{:10} {:>8} {:>8} {:>8} {:>8}", "policy", "on time", "gap", "tokens", "cost");
    for policy in Baseline::ALL {
        let of: Vec<&Row> =
            rows.iter().filter(|r| r.policy == policy.as_str() && r.wf != "step1").collect();
        #[expect(clippy::cast_precision_loss, reason = "cells of a benchmark")]
        let n = of.len().max(1) as f64;
        let mean = |value: fn(&Row) -> f64| of.iter().map(|row| value(row)).sum::<f64>() / n;
        println!(
            "{:10} {:7.2}% {:7.1}% {:8.3} {:8.3}",
            policy.as_str(),
            100.0 * mean(|row| row.ontime),
            100.0 * mean(|row| row.gap_closed),
            mean(|row| row.tok),
            mean(|row| row.cost),
        );
    }
}

fn speed(bench: &Bench) {
    for workflow in ["chain3", "dag9"] {
        let cell =
            Cell { scenario: MONTH.to_owned(), workflow: workflow.to_owned(), deadline_s: 60 };
        if !bench.known.contains_key(&(MONTH.to_owned(), workflow.to_owned())) {
            continue;
        }
        let mut best = f64::MAX;
        for _ in 0..5 {
            let from = Instant::now();
            bench.play(&cell, Baseline::Wait, QUOTED);
            best = best.min(from.elapsed().as_secs_f64());
        }
        #[expect(clippy::cast_precision_loss, reason = "runs of a benchmark")]
        let speed = bench.runs as f64 / best;
        println!("wait {workflow}: {speed:.0} runs a second and core");
    }
}

fn main() -> ExitCode {
    let (mut runs, mut json, mut path) = (RUNS, false, None);
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            // Tried out it is no shorter: it takes seconds, and fewer runs would prove nothing.
            "--bench" | "--test" => {}
            "--json" => json = true,
            "--runs" => runs = arguments.next().and_then(|n| n.parse().ok()).unwrap_or(RUNS),
            _ => path = Some(argument),
        }
    }
    let text = match &path {
        Some(path) => std::fs::read_to_string(path).map_err(|error| format!("{path}: {error}")),
        None => Ok(SCENARIOS_JSON.to_owned()),
    };
    let bench = match text.and_then(|text| Bench::new(&text, runs)) {
        Ok(bench) => bench,
        Err(error) => {
            eprintln!("{error}");
            return ExitCode::from(2);
        }
    };
    if json {
        let rows = bench.all(QUOTED);
        println!("{}", serde_json::to_string_pretty(&rows).unwrap_or_default());
        return ExitCode::SUCCESS;
    }
    println!("{runs} runs of each cell; averages over the cells of more than one step\n");
    println!("as published, {PUBLISHED} attempts a step:");
    let rows = bench.all(PUBLISHED);
    averages(&rows);
    let (compared, found) = if path.is_none() { disagreements(&rows) } else { (0, Vec::new()) };
    for line in &found {
        println!("  disagrees: {line}");
    }
    println!("{} of {compared} rows agree with the published ones\n", compared - found.len());
    println!("with {QUOTED} attempts a step:");
    averages(&bench.all(QUOTED));
    println!();
    speed(&bench);
    if found.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
