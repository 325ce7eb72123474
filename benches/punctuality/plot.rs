//! Completion times of a few cells as a plot: waiting against the planner.

use std::fmt::Write as _;

use punctual::scenario::baseline::Baseline;
use punctual::scenario::file::Cell;
use punctual::scenario::row::Measured;
use punctual::scenario::stage::{Contender, Stage, Terms};

/// The cells, and what their regimes are called for a reader.
const CELLS: [(&str, &str, u32, &str); 3] = [
    ("pooled", "chain9", 90, "an ordinary month, nine steps in a row"),
    ("busy", "dag9", 60, "a busy one, nine steps in three branches"),
    ("brownout", "chain9", 90, "the first provider in a brownout"),
];
/// Waiting is shown until so many times the deadline.
const BEYOND: f64 = 2.0;
/// A panel's size, and its places.
const WIDTH: f64 = 290.0;
const HEIGHT: f64 = 190.0;
const LEFT: f64 = 46.0;
const TOP: f64 = 64.0;
const APART: f64 = 34.0;
/// Points of a curve.
const POINTS: u32 = 290;

/// The plot.
pub fn svg(stage: &Stage) -> String {
    let width = LEFT + 3.0 * WIDTH + 2.0 * APART + 24.0;
    let height = TOP + HEIGHT + 66.0;
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width:.0} {height:.0}\" width=\"{width:.0}\" \
         height=\"{height:.0}\" font-family=\"system-ui, sans-serif\" font-size=\"12\" fill=\"#333\">\n\
         <title>Share of runs with a right answer by a time: waiting against punctual</title>\n\
         <rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n\
         <text x=\"{LEFT}\" y=\"22\" font-size=\"15\" font-weight=\"600\">Runs with a right answer by then</text>\n"
    );
    legend(&mut out);
    for (place, cell) in (0..).zip(CELLS) {
        let left = LEFT + f64::from(place) * (WIDTH + APART);
        panel(&mut out, stage, cell, left, place == 0);
    }
    out.push_str("</svg>\n");
    out
}

fn legend(out: &mut String) {
    let (wait, ours) = (LEFT + 330.0, LEFT + 560.0);
    let _ = writeln!(
        out,
        "<path d=\"M{wait} 18h28\" stroke=\"#a15c1b\" stroke-width=\"2\" stroke-dasharray=\"6 3\" fill=\"none\"/>\
         <text x=\"{}\" y=\"22\">waiting, failures repeated</text>\n\
         <path d=\"M{ours} 18h28\" stroke=\"#0b5cad\" stroke-width=\"2.5\" fill=\"none\"/>\
         <text x=\"{}\" y=\"22\">punctual</text>",
        wait + 34.0,
        ours + 34.0,
    );
}

fn panel(
    out: &mut String,
    stage: &Stage,
    (scenario, workflow, deadline_s, title): (&str, &str, u32, &str),
    left: f64,
    first: bool,
) {
    let cell = |deadline_s| Cell {
        scenario: scenario.to_owned(),
        workflow: workflow.to_owned(),
        deadline_s,
    };
    let horizon = BEYOND * f64::from(deadline_s);
    let ours = stage.measure(&cell(deadline_s), Contender::Planner, &Terms::default());
    let wait = Contender::Baseline(Baseline::Wait);
    // Without a deadline, so that it shows when its answers would have come.
    let waiting = stage.measure(&cell(3 * deadline_s), wait, &Terms::default());
    let (x, y) = (
        |seconds: f64| left + WIDTH * seconds / horizon,
        |share: f64| TOP + HEIGHT * (1.0 - share),
    );
    let _ =
        writeln!(out, "<text x=\"{left}\" y=\"{}\" font-weight=\"600\">{title}</text>", TOP - 12.0);
    grid(out, left, first);
    let mut seconds = 0;
    while f64::from(seconds) <= horizon {
        let at = x(f64::from(seconds));
        let below = TOP + HEIGHT + 17.0;
        let _ = writeln!(
            out,
            "<path d=\"M{at} {}v4\" stroke=\"#999\"/><text x=\"{at}\" y=\"{below}\" text-anchor=\"middle\">{seconds}</text>",
            TOP + HEIGHT
        );
        seconds += 30;
    }
    let (due, bottom) = (x(f64::from(deadline_s)), TOP + HEIGHT);
    // Where the curve of waiting does not run through it.
    let high = share(&waiting, 1.3 * f64::from(deadline_s)) > 0.4;
    let label = if high { bottom - 8.0 } else { TOP + HEIGHT / 2.0 };
    let _ = writeln!(
        out,
        "<path d=\"M{due} {TOP}V{bottom}\" stroke=\"#555\" stroke-dasharray=\"2 3\"/>\
         <text x=\"{}\" y=\"{}\" fill=\"#555\">deadline {deadline_s} s</text>\n\
         <text x=\"{}\" y=\"{}\" text-anchor=\"middle\">seconds</text>",
        due + 5.0,
        label,
        left + WIDTH / 2.0,
        bottom + 36.0,
    );
    curve(
        out,
        &waiting,
        horizon,
        horizon,
        (&x, &y),
        "#a15c1b\" stroke-width=\"2\" stroke-dasharray=\"6 3",
    );
    let until = f64::from(deadline_s);
    curve(out, &ours, until, horizon, (&x, &y), "#0b5cad\" stroke-width=\"2.5");
    let by = |runs: &[Measured]| 100.0 * share(runs, f64::from(deadline_s));
    let _ = writeln!(
        out,
        "<text x=\"{left}\" y=\"{}\" fill=\"#555\">by the deadline: waiting {:.1} %, punctual {:.1} %</text>",
        bottom + 56.0,
        by(&waiting),
        by(&ours),
    );
}

/// Lines at each quarter, named beside the first panel.
fn grid(out: &mut String, left: f64, named: bool) {
    for quarter in 0..=4_u8 {
        let share = f64::from(quarter) / 4.0;
        let at = TOP + HEIGHT * (1.0 - share);
        let _ = writeln!(out, "<path d=\"M{left} {at}h{WIDTH}\" stroke=\"#e3e3e3\"/>");
        if named {
            let _ = writeln!(
                out,
                "<text x=\"{}\" y=\"{}\" text-anchor=\"end\">{:.0} %</text>",
                left - 6.0,
                at + 4.0,
                100.0 * share
            );
        }
    }
}

/// Share of the runs with a right answer by `seconds`.
fn share(runs: &[Measured], seconds: f64) -> f64 {
    let by = runs.iter().filter(|run| run.on_time && run.elapsed_s <= seconds).count();
    #[expect(clippy::cast_precision_loss, reason = "runs of a benchmark")]
    let share = by as f64 / runs.len().max(1) as f64;
    share
}

fn curve(
    out: &mut String,
    runs: &[Measured],
    until: f64,
    horizon: f64,
    (x, y): (&dyn Fn(f64) -> f64, &dyn Fn(f64) -> f64),
    stroke: &str,
) {
    let points = (0..=POINTS).map(|point| horizon * f64::from(point) / f64::from(POINTS));
    let mut line = String::new();
    for seconds in points.filter(|seconds| *seconds <= until) {
        let _ = write!(line, "{:.1} {:.1} ", x(seconds), y(share(runs, seconds)));
    }
    let _ = writeln!(out, "<path d=\"M{}\" stroke=\"{stroke}\" fill=\"none\"/>", line.trim_end());
}
