//! The figures as people read them.

use crate::fault::FAULTS;
use crate::outcome::{POLICIES, Policy, Row};

/// Every row, in columns.
pub fn aligned(rows: &[Row]) -> String {
    let heads = [
        "fault",
        "policy",
        "completed",
        "schema",
        "correct",
        "state",
        "silent",
        "attempts",
        "tokens",
        "added ms p50",
        "p99",
    ];
    let mut lines = vec![heads.map(str::to_owned).to_vec()];
    lines.extend(rows.iter().map(|row| {
        let (p50, p99) = row.added(rows).unzip();
        vec![
            row.fault.name().to_owned(),
            row.policy.name().to_owned(),
            percent(row.completion()),
            percent(row.integrity()),
            percent(row.correct()),
            percent(row.preserved()),
            row.silent().to_string(),
            format!("{:.2}", row.attempts()),
            whole(row.tokens()),
            whole(p50),
            whole(p99),
        ]
    }));
    let width = |at: usize| lines.iter().map(|line| line[at].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..heads.len()).map(width).collect();
    let mut text = String::new();
    for line in &lines {
        let cells = line.iter().zip(&widths).enumerate().map(|(at, (cell, width))| {
            if at < 2 { format!("{cell:<width$}") } else { format!("{cell:>width$}") }
        });
        text.push_str(cells.collect::<Vec<_>>().join("  ").trim_end());
        text.push('\n');
    }
    text
}

/// One row a fault, for a document: naive router / retry only / punctual.
pub fn markdown(rows: &[Row]) -> String {
    let mut text = String::from(
        "| fault | completed % | schema % | correct % | state % | silent | attempts | tokens | added ms, p50 | p99 |\n\
         |---|---|---|---|---|---|---|---|---|---|\n",
    );
    let shown = POLICIES.into_iter().filter(|policy| *policy != Policy::Shared);
    for fault in FAULTS {
        let of: Vec<&Row> = shown
            .clone()
            .filter_map(|policy| rows.iter().find(|r| r.fault == fault && r.policy == policy))
            .collect();
        let cell = |show: &dyn Fn(&Row) -> String| -> String {
            of.iter().map(|row| show(row)).collect::<Vec<_>>().join(" / ")
        };
        let bare = |value: Option<f64>| percent(value).replace(" %", "");
        text.push_str(&format!(
            "| {} | {} | {} | {} | {} | {} | {} | {} | {} | {} |\n",
            fault.name(),
            cell(&|row| bare(row.completion())),
            cell(&|row| bare(row.integrity())),
            cell(&|row| bare(row.correct())),
            cell(&|row| bare(row.preserved())),
            cell(&|row| row.silent().to_string()),
            cell(&|row| format!("{:.1}", row.attempts())),
            cell(&|row| whole(row.tokens())),
            cell(&|row| whole(row.added(rows).map(|(p50, _)| p50))),
            cell(&|row| whole(row.added(rows).map(|(_, p99)| p99))),
        ));
    }
    text
}

/// A share in per cent: never rounded up to 100.
fn percent(share: Option<f64>) -> String {
    let Some(share) = share else { return "–".to_owned() };
    let tenths = (share * 1_000.0).floor() / 10.0;
    if tenths.fract() == 0.0 { format!("{tenths:.0} %") } else { format!("{tenths:.1} %") }
}

fn whole(value: Option<f64>) -> String {
    value.map_or_else(|| "–".to_owned(), |value| format!("{:.0}", value + 0.0))
}
