//! Other rates of silent errors of the light model, told right and wrong.

use punctual::scenario::file::{Cell, LIGHT};
use punctual::scenario::row::Row;
use punctual::scenario::stage::{Contender, Stage, Terms};

use super::figure::Figure;

/// Rates of silent errors; the published one is 2 %.
const RATES: [f64; 3] = [0.0, 0.01, 0.05];
/// By what factor they are told: right, and wrong either way.
const TOLD: [f64; 3] = [1.0, 3.0, 1.0 / 3.0];

/// A rate's rows: by how much the planner is above the rules in each of the tight cells, at the mean and at worst.
/// Silent errors count by their chance, so that luck does not hide what is looked for.
pub fn silent(stage: &Stage) -> Vec<Figure> {
    RATES.into_iter().flat_map(|rate| at(stage, rate)).collect()
}

fn at(stage: &Stage, rate: f64) -> Vec<Figure> {
    let mut file = stage.file.clone();
    for regime in file.scenarios.values_mut() {
        regime.paths[usize::from(LIGHT)].p_silent = rate;
    }
    let stage = &Stage::with_attempts(file, stage.runs, stage.attempts);
    let cells = stage.file.cells();
    let tight: Vec<Cell> = cells.iter().filter(|cell| is_tight(cell)).cloned().collect();
    let cells = if tight.is_empty() { cells } else { tight };
    let play = |contender, distrust| {
        super::rows(stage, &cells, &[contender], &Terms { distrust, ..Terms::default() })
    };
    let rules = play(Contender::Rules, 1.0);
    let told = TOLD.into_iter().map(|factor| {
        let planner = play(Contender::Planner, factor);
        let ahead: Vec<f64> = planner.iter().zip(&rules).map(|(a, b)| ahead(a, b)).collect();
        #[expect(clippy::cast_precision_loss, reason = "a few cells")]
        let mean = ahead.iter().sum::<f64>() / ahead.len().max(1) as f64;
        let worst = ahead.iter().copied().fold(f64::INFINITY, f64::min);
        let said = match factor {
            1.0 => "told right".to_owned(),
            factor if factor > 1.0 => format!("told {factor:.0} times as often"),
            factor => format!("told {:.0} times as rare", 1.0 / factor),
        };
        Figure::held(
            format!("light model silently wrong in {:.0} %, {said}", 100.0 * rate),
            format!("{mean:+.1} pt on the rules, worst {worst:+.2}"),
            ("reported", true),
            ("never below the rules", worst >= 0.0),
        )
    });
    told.collect()
}

/// One deadline of each workflow, the tightest that the published results name.
fn is_tight(cell: &Cell) -> bool {
    matches!((cell.workflow.as_str(), cell.deadline_s), ("chain3" | "dag9", 60) | ("chain9", 90))
}

fn ahead(planner: &Row, rules: &Row) -> f64 {
    100.0 * (planner.expected - rules.expected)
}
