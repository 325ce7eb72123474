//! The figures for people: a table, a plot, and what follows.

use std::time::Duration;

use super::limit::Limit;
use super::plot::{Point, plot};
use super::survey::{Row, Survey};
use crate::cli::summary::count;
use crate::cli::table::Table;
use crate::cli::terminal::{Style, Terminal, wrap};
use crate::domain::money::Usd;
use crate::domain::time::show;
use crate::workflow::Workflow;

/// The whole text.
#[must_use]
pub fn text(survey: &Survey, workflow: &Workflow, terminal: Terminal) -> Vec<String> {
    let runs = survey.rows.first().map_or(0, |row| row.figures.runs);
    let runs = count(runs, "run");
    let mut text = vec![terminal.paint(Style::Bold, &survey.name).to_string()];
    let about = format!(
        "SIMULATED: no model was asked. {}, {}, {runs} a deadline, seed {}.",
        survey.world, survey.inputs, survey.seed
    );
    text.extend(
        wrap(&about, terminal.width)
            .into_iter()
            .map(|line| terminal.paint(Style::Dim, line).to_string()),
    );
    text.push(String::new());
    text.extend(table(survey, workflow.plan.deadline).lines(terminal, 2));
    text.push(String::new());
    let points = survey.rows.iter().enumerate().map(|(at, row)| Point {
        x: row.figures.deadline_ms,
        y: row.figures.on_time,
        low: row.figures.low,
        high: row.figures.high,
        marked: at == survey.recommended,
    });
    let drawn = plot(&points.collect::<Vec<_>>(), terminal);
    if !drawn.is_empty() {
        text.push("  on time, by deadline".to_owned());
        text.extend(drawn);
        text.push(String::new());
    }
    text.extend(advice(survey, workflow.plan.deadline, terminal));
    text
}

fn table(survey: &Survey, own: Duration) -> Table {
    let mut table = Table::new([
        "deadline",
        "on time",
        "95 % interval",
        "p50",
        "p95",
        "p99",
        "cost",
        "tokens",
        "hedges",
        "",
    ]);
    for (at, row) in survey.rows.iter().enumerate() {
        let figures = &row.figures;
        let style = if at == survey.recommended { Style::Good } else { Style::Plain };
        let time = |ms: Option<u64>| {
            ms.map_or_else(|| "missed".to_owned(), |ms| show(Duration::from_millis(ms)))
        };
        let mut notes = Vec::new();
        if at == survey.recommended {
            notes.push(if survey.is_good() { "recommended" } else { "best" });
        }
        if deadline(row) == own {
            notes.push("its own");
        }
        let cells = [
            show(deadline(row)),
            percent(figures.on_time),
            format!("{:.1}–{:.1} %", figures.low * 100.0, figures.high * 100.0),
            time(figures.p50_ms),
            time(figures.p95_ms),
            time(figures.p99_ms),
            Usd::from_dollars(figures.cost_usd).unwrap_or(Usd::ZERO).to_string(),
            format!("{:.0}", figures.tokens),
            percent(figures.hedges),
            notes.join(", "),
        ];
        table.row(cells.map(|cell| (style, cell)).into());
    }
    table
}

fn deadline(row: &Row) -> Duration {
    Duration::from_millis(row.figures.deadline_ms)
}

/// `97.3 %`.
fn percent(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}

/// What to write into the file, and what is in the way of less.
fn advice(survey: &Survey, own: Duration, terminal: Terminal) -> Vec<String> {
    let Some(row) = survey.rows.get(survey.recommended) else { return Vec::new() };
    let best = show(deadline(row));
    let first = if survey.is_good() {
        let than = match deadline(row).cmp(&own) {
            std::cmp::Ordering::Equal => ", which is its own".to_owned(),
            std::cmp::Ordering::Greater if survey.rows.iter().any(|row| deadline(row) == own) => {
                format!("; its own of {} is too short", show(own))
            }
            std::cmp::Ordering::Less | std::cmp::Ordering::Greater => {
                format!("; its own is {}", show(own))
            }
        };
        format!("Recommended: {best}, the least looked at with 99 % in time{than}.")
    } else {
        format!(
            "No deadline looked at has 99 % in time; {best} has {}, the most.",
            percent(row.figures.on_time)
        )
    };
    let mut lines = vec![first];
    lines.extend(survey.limit.as_ref().map(limited));
    if survey.is_good() && survey.recommended == 0 {
        lines.push("A shorter one may do as well: name some with --deadlines.".to_owned());
    }
    let degraded = row.figures.degraded;
    if degraded > 0.005 {
        lines.push(format!(
            "Of all runs {} answer without some optional part; they count as in time.",
            percent(degraded)
        ));
    }
    lines.iter().flat_map(|line| wrap(line, terminal.width)).collect()
}

/// `Limited by: draft on sim_a/flagship, the reason of 12 of 15 misses under 30 s: 21 s in these, 9 s as a rule.`
fn limited(limit: &Limit) -> String {
    let on = limit.path.as_ref().map(|path| format!(" on {path}")).unwrap_or_default();
    let place = match (limit.queued, &limit.path) {
        (true, Some(path)) => {
            let provider = path.split('/').next().unwrap_or(path);
            format!("the line before '{provider}', in which '{}' waits", limit.step)
        }
        _ => format!("step '{}'{on}", limit.step),
    };
    let under = show(Duration::from_millis(limit.deadline_ms));
    let ms = |ms: u64| show(Duration::from_millis(ms));
    let why = match &limit.class {
        Some(class) => format!("it fails ({class})"),
        None => format!("{} in these, {} as a rule", ms(limit.took_ms), ms(limit.usual_ms)),
    };
    let misses = match limit.misses {
        1 => "the one miss".to_owned(),
        misses => format!("{} of {misses} misses", limit.of_these),
    };
    format!("Limited by {place}: the reason of {misses} under {under}; {why}.")
}
