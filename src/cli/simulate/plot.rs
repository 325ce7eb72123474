//! A plot in characters: shares over times, each with its interval.

use std::time::Duration;

use crate::cli::terminal::{Style, Terminal};
use crate::domain::time::show;

/// Lines of the plot: ten even parts.
const HEIGHT: usize = 11;
/// Columns before the axis: `100 % `.
const MARGIN: usize = 9;
/// Columns that names below the axis take at least.
const NAME: usize = 8;

/// One point.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// Milliseconds.
    pub x: u64,
    /// A share, 0 to 1.
    pub y: f64,
    /// Lower end of its interval.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// Whether it stands out.
    pub marked: bool,
}

/// The characters of a plot.
struct Signs {
    point: char,
    marked: char,
    interval: char,
    way: char,
    axis: char,
    tick: char,
    corner: char,
    floor: char,
}

const UNICODE: Signs = Signs {
    point: '●',
    marked: '◆',
    interval: '│',
    way: '·',
    axis: '│',
    tick: '┤',
    corner: '└',
    floor: '─',
};
const ASCII: Signs = Signs {
    point: 'o',
    marked: '#',
    interval: ':',
    way: '.',
    axis: '|',
    tick: '+',
    corner: '+',
    floor: '-',
};

/// The plot's lines; none where there are fewer than two points. Only a terminal gets more than ASCII.
#[must_use]
pub fn plot(points: &[Point], terminal: Terminal) -> Vec<String> {
    let (Some(first), Some(last)) = (points.first(), points.last()) else { return Vec::new() };
    if first.x >= last.x {
        return Vec::new();
    }
    let signs = if terminal.live { &UNICODE } else { &ASCII };
    let width = terminal.width.saturating_sub(MARGIN + NAME / 2 + 2).clamp(30, 90);
    let floor = floor(points);
    let column = |x: u64| {
        let wide = u64::try_from(width - 1).unwrap_or(0);
        usize::try_from((x - first.x) * wide / (last.x - first.x)).unwrap_or(0)
    };
    let row = |y: f64| level((y - floor) / (1.0 - floor));
    let mut cells = vec![vec![' '; width]; HEIGHT];
    for pair in points.windows(2) {
        let (from, to) = (column(pair[0].x), column(pair[1].x));
        for (at, x) in (from..=to).enumerate() {
            let share = ratio(at, (to - from).max(1));
            cells[row(pair[0].y + (pair[1].y - pair[0].y) * share)][x] = signs.way;
        }
    }
    for point in points {
        let x = column(point.x);
        for line in cells.iter_mut().take(row(point.low) + 1).skip(row(point.high)) {
            line[x] = signs.interval;
        }
    }
    for point in points {
        let sign = if point.marked { signs.marked } else { signs.point };
        cells[row(point.y)][column(point.x)] = sign;
    }
    let mut lines: Vec<String> = Vec::new();
    for (at, line) in cells.iter().enumerate() {
        let ticked = at % 5 == 0;
        let share = 1.0 - (1.0 - floor) * ratio(at, HEIGHT - 1);
        let name = if ticked { format!("{:.0} %", share * 100.0) } else { String::new() };
        let axis = if ticked { signs.tick } else { signs.axis };
        let drawn: String = line.iter().collect();
        let left = format!("{name:>MARGIN$} {axis}");
        lines.push(format!("{}{}", terminal.paint(Style::Dim, left), drawn).trim_end().to_owned());
    }
    let ground: String = std::iter::repeat_n(signs.floor, width).collect();
    let ground = format!("{:MARGIN$} {}{ground}", "", signs.corner);
    lines.push(terminal.paint(Style::Dim, ground).to_string());
    lines.push(terminal.paint(Style::Dim, names(points, column)).to_string());
    lines
}

/// The lowest share drawn: a tenth below the lowest interval, or all of it where little is missing.
fn floor(points: &[Point]) -> f64 {
    let lowest = points.iter().map(|point| point.low).fold(1.0, f64::min);
    let tenths = ((lowest - 0.02) * 10.0).floor() / 10.0;
    tenths.clamp(0.0, 0.9)
}

/// The times below the axis, as many as have room, the last one always.
fn names(points: &[Point], column: impl Fn(u64) -> usize) -> String {
    let mut line = String::new();
    let mut free = 0;
    let last = points.last().map_or(0, |point| column(point.x));
    for (at, point) in points.iter().enumerate() {
        let place = column(point.x);
        let is_last = at + 1 == points.len();
        if !is_last && (place < free || place + NAME > last) {
            continue;
        }
        let name = show(Duration::from_millis(point.x));
        let from = (MARGIN + 2 + place).saturating_sub(name.chars().count() / 2);
        let gap = from.saturating_sub(line.chars().count());
        line.push_str(&" ".repeat(gap));
        line.push_str(&name);
        free = place + NAME;
    }
    line
}

#[expect(clippy::cast_precision_loss, reason = "columns and lines of a terminal")]
fn ratio(at: usize, of: usize) -> f64 {
    at as f64 / of as f64
}

/// The line at which a share of the plot's height stands, from the top.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "0 to the height"
)]
fn level(share: f64) -> usize {
    ((1.0 - share.clamp(0.0, 1.0)) * (HEIGHT - 1) as f64).round() as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plot_is_plain_where_there_is_no_terminal_and_shows_each_point_in_its_place() {
        let point =
            |x, y, marked| Point { x, y, low: y - 0.05, high: (y + 0.05_f64).min(1.0), marked };
        let points =
            [point(10_000, 0.5, false), point(20_000, 0.9, false), point(30_000, 1.0, true)];
        let lines = plot(&points, Terminal::plain(60));
        assert!(lines.iter().all(|line| line.is_ascii() && line.len() <= 60), "{lines:#?}");
        assert!(lines[0].starts_with("    100 % +") && lines[0].ends_with('#'), "{lines:#?}");
        let o: Vec<usize> = lines.iter().filter_map(|line| line.find('o')).collect();
        assert_eq!(o.len(), 2, "{lines:#?}");
        assert!(o[0] > o[1], "later and higher: {lines:#?}");
        assert!(lines.last().unwrap().contains("10 s") && lines.last().unwrap().ends_with("30 s"));
        assert!(plot(&points[..1], Terminal::plain(60)).is_empty());
    }
}
