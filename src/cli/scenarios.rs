//! `punctual simulate --scenarios FILE`: a scenario file's cells under the published policies, the rules and the planner.

use std::path::Path;

use super::exit::Exit;
use super::live::Block;
use super::output;
use super::simulate::bar;
use super::table::Table;
use super::terminal::Style;
use crate::driver::crew;
use crate::scenario::row::Row;
use crate::scenario::stage::{Contender, Stage, Terms};

/// Most bytes of a scenario file.
const FILE_MAX: u64 = 16 << 20;

/// Plays every cell of the file at `path` under every policy, with so many measured runs each where `runs` says so, and
/// prints the rows.
pub fn run(path: &str, runs: Option<u64>, json: bool) -> Exit {
    let text = match read(path) {
        Ok(text) => text,
        Err(error) => return output::refuse(Exit::Usage, error),
    };
    let stage = match Stage::new(&text, runs) {
        Ok(stage) => stage,
        Err(error) => return output::refuse(Exit::Usage, format_args!("{path}: {error}")),
    };
    let rows = play(&stage);
    if json {
        output::json(&rows);
    } else {
        output::result(table(&rows).lines(output::screen(), 0).join("\n"));
    }
    Exit::Done
}

fn read(path: &str) -> Result<String, String> {
    let about = std::fs::metadata(Path::new(path));
    let about = about.map_err(|error| super::argument::unreadable(path, &error))?;
    if about.len() > FILE_MAX {
        return Err(format!("{path} is larger than 16 MiB"));
    }
    std::fs::read_to_string(path).map_err(|error| super::argument::unreadable(path, &error))
}

fn play(stage: &Stage) -> Vec<Row> {
    let (cells, terms) = (stage.file.cells(), Terms::default());
    let all = Contender::ALL.len();
    let pieces = cells.len() * all;
    let terminal = output::side_screen();
    let mut block = Block::new(terminal);
    block.draw(&[bar(0, pieces, terminal)]);
    let row = |piece: usize| stage.row(&cells[piece / all], Contender::ALL[piece % all], &terms);
    let mut rows = crew::work(pieces, row, |done| block.draw(&[bar(done, pieces, terminal)]));
    block.clear();
    stage.compare(&mut rows);
    rows
}

fn table(rows: &[Row]) -> Table {
    let mut table = Table::new([
        "scenario",
        "workflow",
        "deadline",
        "policy",
        "on time",
        "p50",
        "p95",
        "p99",
        "tokens",
        "cost",
        "hedges",
        "bound",
        "gap closed",
    ]);
    let mut before = None;
    for row in rows {
        let cell = (&row.scenario, &row.wf, row.deadline_s);
        let first = before.replace(cell) != Some(cell);
        let named = |text: String| if first { text } else { String::new() };
        let percent = |share: f64| format!("{:.1} %", 100.0 * share);
        let seconds = |time: f64| format!("{time:.1}s");
        let cells = [
            named(row.scenario.clone()),
            named(row.wf.clone()),
            named(format!("{}s", row.deadline_s)),
            row.policy.clone(),
            percent(row.ontime),
            seconds(row.p50),
            seconds(row.p95),
            seconds(row.p99),
            format!("{:.2}x", row.tok),
            format!("{:.2}x", row.cost),
            format!("{:.2}", row.hedge),
            percent(row.bound),
            percent(row.gap_closed),
        ];
        table.row(cells.into_iter().map(|cell| (Style::Plain, cell)).collect());
    }
    table
}
