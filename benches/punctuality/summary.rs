//! Tables over cells, and the figures that sum them up.

use punctual::scenario::row::Row;
use punctual::scenario::stage::Contender;

use super::figure::Figure;

/// Cells of which the published results speak in particular: what on-time share the planner must have at how many
/// tokens, and what is aimed at.
const HEADLINES: [(&str, &str, u32, f64, f64, f64); 3] = [
    ("pooled", "chain9", 90, 0.987, 1.08, 0.991),
    ("brownout", "chain9", 90, 0.93, 1.20, 0.955),
    ("busy", "dag9", 60, 0.90, 1.30, 0.93),
];

fn of<'a>(rows: &'a [Row], policy: &str) -> Vec<&'a Row> {
    rows.iter().filter(|row| row.policy == policy && row.wf != "step1").collect()
}

fn mean(rows: &[&Row], value: impl Fn(&Row) -> f64) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "cells of a benchmark")]
    let n = rows.len().max(1) as f64;
    rows.iter().map(|row| value(row)).sum::<f64>() / n
}

fn name(row: &Row) -> String {
    format!("{} {}@{}", row.scenario, row.wf, row.deadline_s)
}

/// Every policy over the cells of more than one step.
pub fn policies(rows: &[Row], markdown: bool) {
    if markdown {
        println!(
            "| policy | right and on time | gap closed | tokens | cost | late |\n|---|---|---|---|---|---|"
        );
    } else {
        println!(
            "{:10} {:>9} {:>9} {:>8} {:>8} {:>8}",
            "policy", "on time", "gap", "tokens", "cost", "late"
        );
    }
    for contender in Contender::ALL {
        let name = contender.as_str();
        let of = of(rows, name);
        if of.is_empty() {
            continue;
        }
        let [ontime, gap, late] =
            [|row: &Row| row.ontime, |row: &Row| row.gap_closed, |row: &Row| row.late]
                .map(|value| 100.0 * mean(&of, value));
        let (tok, cost) = (mean(&of, |row| row.tok), mean(&of, |row| row.cost));
        if markdown {
            println!(
                "| `{name}` | {ontime:.1} % | {gap:.1} % | {tok:.2}× | {cost:.2}× | {late:.2} % |"
            );
        } else {
            println!("{name:10} {ontime:8.2}% {gap:8.1}% {tok:8.3} {cost:8.3} {late:7.2}%");
        }
    }
    println!();
}

/// Every cell under the engine.
pub fn cells(rows: &[Row]) {
    println!(
        "{:26} {:>7} {:>7} | {:>7} {:>6} {:>6} {:>6} | {:>7} {:>7} {:>6} {:>6} {:>6} {:>6}",
        "cell",
        "wait",
        "bound",
        "rules",
        "gap",
        "tok",
        "cost",
        "planner",
        "expect",
        "gap",
        "tok",
        "cost",
        "late"
    );
    for planner in rows.iter().filter(|row| row.policy == "planner") {
        let other = |policy: &str| {
            let same = |row: &&Row| row.policy == policy && name(row) == name(planner);
            rows.iter().find(same).unwrap_or(planner)
        };
        let (wait, rules) = (other("wait"), other("rules"));
        println!(
            "{:26} {:6.2}% {:6.2}% | {:6.2}% {:5.1}% {:6.3} {:6.3} | {:6.2}% {:6.2}% {:5.1}% {:6.3} {:6.3} {:5.2}%",
            name(planner),
            100.0 * wait.ontime,
            100.0 * planner.bound,
            100.0 * rules.ontime,
            100.0 * rules.gap_closed,
            rules.tok,
            rules.cost,
            100.0 * planner.ontime,
            100.0 * planner.expected,
            100.0 * planner.gap_closed,
            planner.tok,
            planner.cost,
            100.0 * planner.late,
        );
    }
    println!();
}

/// Cells in which the planner neither closes `gap` of the way nor comes within `points` of the bound.
fn short<'a>(rows: &[&'a Row], gap: f64, points: f64) -> Vec<&'a Row> {
    let fails = |row: &&&Row| row.gap_closed < gap && row.bound - row.ontime > points / 100.0;
    rows.iter().filter(fails).copied().collect()
}

/// The figures of the planner whose curves are learned.
pub fn figures(rows: &[Row]) -> Vec<Figure> {
    let planner = of(rows, "planner");
    if planner.is_empty() {
        return Vec::new();
    }
    let mut figures = vec![closed(
        "gap closed, at tokens, at cost (curves learned)",
        &planner,
        ("≥ 92 % at ≤ 1.12×, ≤ 1.06×", [0.92, 1.12, 1.06]),
        ("≥ 95 % at ≤ 1.12×, ≤ 1.05×", [0.95, 1.12, 1.05]),
    )];
    let luckless = |row: &Row| {
        let wait = (row.ontime - row.gap_closed * row.bound) / (1.0 - row.gap_closed).max(1e-9);
        (row.expected - wait) / (row.bound - wait).max(1e-9)
    };
    figures.push(Figure::told(
        "gap closed, silent errors by their chance",
        format!("{:.2} %", 100.0 * mean(&planner, luckless)),
    ));
    let worst = planner.iter().min_by(|a, b| a.gap_closed.total_cmp(&b.gap_closed));
    if let Some(worst) = worst {
        let (must, aim) = (short(&planner, 0.80, 0.5), short(&planner, 0.85, 0.3));
        for row in &must {
            println!(
                "  short: {} closes {:.1} %, {:.2} pt below the bound",
                name(row),
                100.0 * row.gap_closed,
                100.0 * (row.bound - row.ontime)
            );
        }
        let below = 100.0 * (worst.bound - worst.ontime);
        let gap = 100.0 * worst.gap_closed;
        figures.push(Figure::held(
            format!("worst cell ({})", name(worst)),
            format!("{gap:.1} %, {below:.2} pt below; {} short", must.len()),
            ("each ≥ 80 % or ≤ 0.5 pt", must.is_empty()),
            ("each ≥ 85 % or ≤ 0.3 pt", aim.is_empty()),
        ));
    }
    let late = 100.0 * mean(&planner, |row| row.late);
    figures.push(Figure::held(
        "misses by time alone, mean",
        format!("{late:.2} %"),
        ("≤ 0.4 %", late <= 0.4),
        ("≤ 0.1 %", late <= 0.1),
    ));
    figures.extend(headlines(&planner));
    figures.extend(against_rules(rows, &planner));
    figures
}

fn closed(
    title: &str,
    rows: &[&Row],
    (must, least): (&str, [f64; 3]),
    (aim, best): (&str, [f64; 3]),
) -> Figure {
    let gap = mean(rows, |row| row.gap_closed);
    let (tok, cost) = (mean(rows, |row| row.tok), mean(rows, |row| row.cost));
    let within = |[share, tokens, money]: [f64; 3]| gap >= share && tok <= tokens && cost <= money;
    let value = format!("{:.2} % at {tok:.3}×, {cost:.3}×", 100.0 * gap);
    Figure::held(title, value, (must, within(least)), (aim, within(best)))
}

fn headlines(planner: &[&Row]) -> Vec<Figure> {
    let figure =
        |(scenario, wf, deadline_s, must, tokens, aim): (&str, &str, u32, f64, f64, f64)| {
            let same = |row: &&&Row| {
                (row.scenario.as_str(), row.wf.as_str(), row.deadline_s)
                    == (scenario, wf, deadline_s)
            };
            let row = planner.iter().find(same)?;
            let (ontime, tok) = (row.ontime, row.tok);
            let percent = |share: f64| format!("{:.1} %", 100.0 * share);
            Some(Figure::held(
                name(row),
                format!("{:.2} % at {tok:.3}×", 100.0 * ontime),
                (
                    &format!("≥ {} at ≤ {tokens:.2}×", percent(must)),
                    ontime >= must && tok <= tokens,
                ),
                (&format!("≥ {}", percent(aim)), ontime >= aim),
            ))
        };
    HEADLINES.into_iter().filter_map(figure).collect()
}

fn against_rules(rows: &[Row], planner: &[&Row]) -> Option<Figure> {
    let rules = of(rows, "rules");
    let pairs = planner.iter().filter_map(|row| {
        let same = |rules: &&&Row| name(rules) == name(row);
        Some((row, 100.0 * (row.ontime - rules.iter().find(same)?.ontime)))
    });
    let pairs: Vec<_> = pairs.collect();
    let worse = pairs.iter().filter(|(_, points)| *points < -0.5).count();
    let (row, points) = pairs.iter().min_by(|a, b| a.1.total_cmp(&b.1))?;
    Some(Figure::held(
        "cells worse than the rules by > 0.5 pt",
        format!("{worse} (worst {points:+.2} pt: {})", name(row)),
        ("≤ 2", worse <= 2),
        ("none", worse == 0),
    ))
}

/// The figure of the planner whose curves are given.
pub fn given(rows: &[Row]) -> Option<Figure> {
    let planner = of(rows, "planner");
    (!planner.is_empty()).then(|| {
        closed(
            "the same with curves given",
            &planner,
            ("≥ 94.5 %", [0.945, f64::MAX, f64::MAX]),
            ("≥ 96 %", [0.96, f64::MAX, f64::MAX]),
        )
    })
}

/// Workflows with optional and terminal steps, under every policy.
pub fn extras(rows: &[Row]) {
    println!(
        "{:28} {:10} {:>8} {:>8} {:>7} {:>7} {:>7} {:>7} {:>8}",
        "optional and terminal steps",
        "policy",
        "on time",
        "bound",
        "p50",
        "p95",
        "tok",
        "cost",
        "extras"
    );
    for row in rows {
        println!(
            "{:28} {:10} {:7.2}% {:7.2}% {:6.1}s {:6.1}s {:7.3} {:7.3} {:8.2}",
            name(row),
            row.policy,
            100.0 * row.ontime,
            100.0 * row.bound,
            row.p50,
            row.p95,
            row.tok,
            row.cost,
            row.extras,
        );
    }
    println!();
}
