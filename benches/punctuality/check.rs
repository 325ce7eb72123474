//! The baselines against the results they were published with.

use punctual::scenario::baseline::Baseline;
use punctual::scenario::row::Row;
use punctual::scenario::stage::{Contender, Stage, Terms};
use serde::Deserialize;

use super::figure::Figure;

/// Attempts of a step in the published results.
const PUBLISHED: usize = 7;
/// Rows that differ by more standard errors of both counts together disagree: one of 16,000 does by chance.
const ERRORS: f64 = 4.0;

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

/// Plays the baselines as they were published, and holds every row against its own.
pub fn agreement(stage: &Stage) -> Figure {
    let stage = &Stage::with_attempts(stage.file.clone(), stage.runs, PUBLISHED);
    let contenders = Baseline::ALL.map(Contender::Baseline);
    let rows = super::rows(stage, &stage.file.cells(), &contenders, &Terms::default());
    let (compared, found) = disagreements(&rows);
    for line in &found {
        println!("  disagrees: {line}");
    }
    let agree = compared - found.len();
    let met = found.is_empty() && compared > 0;
    let value = format!("{agree} of {compared} rows");
    let name = "baselines agree with the published ones (7 attempts)";
    Figure::held(name, value, ("all", met), ("all", met))
}

fn disagreements(rows: &[Row]) -> (usize, Vec<String>) {
    let reference = include_str!("../../tests/fixtures/tail/reference.json");
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
        if (row.ontime - theirs.ontime).abs() > ERRORS * spread.sqrt() {
            let name = format!("{} {}@{} {}", row.scenario, row.wf, row.deadline_s, row.policy);
            found.push(format!("{name}: {:.4} for {:.4}", row.ontime, theirs.ontime));
        }
    }
    (compared, found)
}
