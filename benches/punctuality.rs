//! Punctuality: the published benchmark of policies under tail latency, with the engine itself among them. Every regime,
//! workflow and deadline of a scenario file, in virtual time, under draws that all policies share.
//!
//! ```text
//! cargo bench --bench punctuality                    all that follows, and whether targets are met
//! cargo bench --bench punctuality -- --check         the baselines against the published results
//! cargo bench --bench punctuality -- --table         every policy over the 72 cells, and every cell
//! cargo bench --bench punctuality -- --given         the same with curves given instead of learned
//! cargo bench --bench punctuality -- --sweep         other rates of silent errors, told right and wrong
//! cargo bench --bench punctuality -- --change        a change of regime in mid-flight
//! cargo bench --bench punctuality -- --extras        workflows with optional and terminal steps
//! cargo bench --bench punctuality -- --speed         runs a second and core, and what a decision costs
//! cargo bench --bench punctuality -- --json [FILE]   rows for programs; FILE: another scenario file
//! cargo bench --bench punctuality -- --markdown      the tables of the README
//! cargo bench --bench punctuality -- --svg FILE      the plot of the README
//! ```
//!
//! `--runs N` measures so many runs of each cell instead of 2,000. The published rows were computed with 7 attempts a
//! step; what is quoted has 40, because 7 wedge runs while two quotas are in a burst. Fails where a target is missed.
#![expect(
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a benchmark's figures and its clock"
)]

#[path = "punctuality/change.rs"]
mod change;
#[path = "punctuality/check.rs"]
mod check;
#[path = "punctuality/figure.rs"]
mod figure;
#[path = "punctuality/plot.rs"]
mod plot;
#[path = "punctuality/speed.rs"]
mod speed;
#[path = "punctuality/summary.rs"]
mod summary;
#[path = "punctuality/sweep.rs"]
mod sweep;

use std::io::{IsTerminal, Write};
use std::process::ExitCode;

use punctual::driver::crew;
use punctual::provider::simulated::regime::SCENARIOS_JSON;
use punctual::scenario::file::Cell;
use punctual::scenario::row::Row;
use punctual::scenario::stage::{Contender, Curves, Stage, Terms};

use figure::Figure;

/// Runs of each cell where nothing else is asked for; the published rows have 20,000 and more.
const RUNS: u64 = 2_000;
/// The same where it is only tried whether all this works.
const TRIED: u64 = 40;
/// Workflows with optional and terminal steps.
const EXTRAS_JSON: &str = include_str!("punctuality/extras.json");

/// What is asked for.
#[derive(Debug, Default)]
struct Asked {
    parts: Vec<String>,
    runs: Option<u64>,
    file: Option<String>,
    svg: Option<String>,
    tried: bool,
}

impl Asked {
    fn read() -> Self {
        let mut asked = Self::default();
        let mut arguments = std::env::args().skip(1);
        while let Some(argument) = arguments.next() {
            match argument.as_str() {
                "--bench" => {}
                "--test" => asked.tried = true,
                "--runs" => asked.runs = arguments.next().and_then(|n| n.parse().ok()),
                "--svg" => asked.svg = arguments.next(),
                part if part.starts_with("--") => asked.parts.push(part[2..].to_owned()),
                file => asked.file = Some(file.to_owned()),
            }
        }
        asked
    }

    /// Whether a part was asked for, or nothing was.
    fn wants(&self, part: &str) -> bool {
        let nothing = self.parts.is_empty() && self.svg.is_none();
        nothing || self.parts.iter().any(|asked| asked == part)
    }

    fn names(&self, part: &str) -> bool {
        self.parts.iter().any(|asked| asked == part)
    }

    fn text(&self) -> Result<String, String> {
        match &self.file {
            Some(path) => std::fs::read_to_string(path).map_err(|error| format!("{path}: {error}")),
            None => Ok(SCENARIOS_JSON.to_owned()),
        }
    }
}

/// Rows of these cells under these policies, on all cores, compared.
fn rows(stage: &Stage, cells: &[Cell], contenders: &[Contender], terms: &Terms) -> Vec<Row> {
    let pieces = cells.len() * contenders.len();
    let row = |piece: usize| {
        let (cell, contender) = (piece / contenders.len(), piece % contenders.len());
        stage.row(&cells[cell], contenders[contender], terms)
    };
    let shown = std::io::stderr().is_terminal();
    let mut rows = crew::work(pieces, row, |done| {
        if shown {
            eprint!("\r{done} of {pieces} rows ");
            let _ = std::io::stderr().flush();
        }
    });
    if shown {
        eprint!("\r\x1b[K");
    }
    stage.compare(&mut rows);
    rows
}

/// So little that it takes seconds.
fn try_out(stage: &mut Stage) {
    (stage.runs, stage.file.warmup_runs) = (TRIED, TRIED);
    stage.file.cells = Some(stage.file.cells().into_iter().take(2).collect());
}

fn go(asked: &Asked) -> Result<Vec<Figure>, String> {
    let runs = asked.runs.unwrap_or(RUNS);
    let of = |text: &str| Stage::new(text, Some(runs)).map_err(|error| error.to_string());
    let mut stage = of(&asked.text()?)?;
    let mut figures = Vec::new();
    // Also where it is only tried out: it takes seconds, and fewer runs would prove nothing.
    if asked.file.is_none() && asked.wants("check") {
        figures.push(check::agreement(&stage));
    }
    if asked.tried {
        try_out(&mut stage);
    }
    let cells = stage.file.cells();
    let terms = Terms::default();
    if asked.names("json") {
        let rows = rows(&stage, &cells, &Contender::ALL, &terms);
        println!("{}", serde_json::to_string_pretty(&rows).unwrap_or_default());
        return Ok(Vec::new());
    }
    if asked.wants("table") || asked.names("markdown") {
        let rows = rows(&stage, &cells, &Contender::ALL, &terms);
        summary::policies(&rows, asked.names("markdown"));
        if asked.names("table") {
            summary::cells(&rows);
        }
        figures.extend(summary::figures(&rows));
    }
    if asked.wants("given") {
        let given = Terms { curves: Curves::Given, ..terms };
        let contenders = [Contender::ALL[0], Contender::Planner, Contender::ALL[8]];
        figures.extend(summary::given(&rows(&stage, &cells, &contenders, &given)));
    }
    if asked.wants("sweep") {
        figures.extend(sweep::silent(&stage));
    }
    if asked.wants("extras") {
        let mut extras = of(EXTRAS_JSON)?;
        if asked.tried {
            try_out(&mut extras);
        }
        let cells = extras.file.cells();
        summary::extras(&rows(&extras, &cells, &Contender::ALL, &terms));
    }
    if asked.wants("change") {
        figures.extend(change::mid_flight(&stage, asked.tried));
    }
    if asked.wants("speed") {
        figures.extend(speed::figures(&stage));
    }
    if let Some(path) = &asked.svg {
        std::fs::write(path, plot::svg(&stage)).map_err(|error| format!("{path}: {error}"))?;
    }
    Ok(figures)
}

fn main() -> ExitCode {
    let asked = Asked::read();
    let figures = match go(&asked) {
        Ok(figures) => figures,
        Err(error) => {
            eprintln!("{error}");
            return ExitCode::from(2);
        }
    };
    let missed = figure::show(&figures, asked.names("markdown"));
    // So few runs prove nothing but that the baselines are right.
    let right = figures.first().is_none_or(|figure| figure.met != Some(false));
    if missed == 0 || (asked.tried && right) { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
