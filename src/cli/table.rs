//! Rows in columns as wide as their widest cell.

use super::terminal::{Style, Terminal, clip};

/// Spaces between columns.
const GAP: usize = 2;

/// A table. The last column gets what room is left, and is clipped to it.
#[derive(Clone, Debug)]
pub struct Table {
    heads: Vec<&'static str>,
    rows: Vec<Vec<(Style, String)>>,
}

impl Table {
    /// An empty one with these headings.
    #[must_use]
    pub fn new(heads: impl Into<Vec<&'static str>>) -> Self {
        Self { heads: heads.into(), rows: Vec::new() }
    }

    /// Adds a row; missing cells are empty.
    pub fn row(&mut self, cells: Vec<(Style, String)>) {
        self.rows.push(cells);
    }

    /// Whether it has no rows.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The drawing, each line indented by `indent`.
    #[must_use]
    pub fn lines(&self, terminal: Terminal, indent: usize) -> Vec<String> {
        let heads = self.heads.iter().map(|head| (Style::Dim, (*head).to_owned())).collect();
        let mut widths: Vec<usize> = self.heads.iter().map(|h| h.chars().count()).collect();
        for row in &self.rows {
            for (width, (_, cell)) in widths.iter_mut().zip(row) {
                *width = (*width).max(cell.chars().count());
            }
        }
        let last = widths.len().saturating_sub(1);
        let before: usize = widths.iter().take(last).map(|w| w + GAP).sum();
        if let Some(width) = widths.last_mut() {
            *width = (*width).min(terminal.width.saturating_sub(indent + before).max(8));
        }
        let line = |cells: &Vec<(Style, String)>| {
            let mut line = " ".repeat(indent);
            for (at, ((style, cell), width)) in cells.iter().zip(&widths).enumerate() {
                let cell = clip(cell, *width);
                let pad = if at == last { 0 } else { width + GAP - cell.chars().count() };
                line.push_str(&terminal.paint(*style, cell).to_string());
                line.push_str(&" ".repeat(pad));
            }
            line.truncate(line.trim_end().len());
            line
        };
        std::iter::once(&heads).chain(&self.rows).map(line).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_line_up_and_the_last_is_clipped() {
        let mut table = Table::new(["name", "what"]);
        table.row(vec![(Style::Bold, "é".to_owned()), (Style::Plain, "short".to_owned())]);
        table.row(vec![(Style::Plain, "longer_name".to_owned()), (Style::Plain, "x".repeat(99))]);
        let lines = table.lines(Terminal::plain(30), 2);
        assert_eq!(lines[0], "  name         what");
        assert_eq!(lines[1], "  é            short");
        assert_eq!(lines[2], format!("  longer_name  {}…", "x".repeat(14)));
    }
}
