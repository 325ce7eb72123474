//! Every effective setting beside the place that says it.

use super::super::table::Table;
use super::super::terminal::{Style, Terminal};
use crate::definition::effective::{Effective, Settings};

/// What stands where no file says a setting.
pub const DEFAULT: &str = "default";

/// The settings, those that all steps share told once.
#[must_use]
pub fn lines(settings: Option<&Settings>, terminal: Terminal) -> Vec<String> {
    let Some(settings) = settings else {
        return vec!["  the file has changed since it was loaded: ask again".to_owned()];
    };
    let mut groups = vec![("the workflow".to_owned(), settings.workflow.iter().collect())];
    let shared: Vec<&Effective> = match settings.steps.split_first() {
        Some((first, others)) => {
            let everywhere = |one: &&Effective| others.iter().all(|o| o.settings.contains(one));
            first.settings.iter().filter(everywhere).collect()
        }
        None => Vec::new(),
    };
    let every = if settings.steps.len() == 1 { "the step" } else { "every step" };
    for of in &settings.steps {
        let own = of.settings.iter().filter(|one| !shared.contains(one));
        groups.push((of.step.clone(), own.collect::<Vec<&Effective>>()));
    }
    groups.push((every.to_owned(), shared));
    let mut table = Table::new(["setting", "value", "from"]);
    let mut heads = Vec::new();
    for (name, settings) in groups {
        heads.push((name, settings.len()));
        for one in settings {
            let style = if one.spot.is_some() { Style::Plain } else { Style::Dim };
            let cells = [(Style::Plain, one.key.to_owned()), (Style::Plain, one.value.clone())];
            table.row(cells.into_iter().chain([(style, from(one))]).collect());
        }
    }
    let mut rows = table.lines(terminal, 4).into_iter().skip(1);
    let mut text = Vec::new();
    for (name, count) in heads.into_iter().filter(|(_, count)| *count > 0) {
        text.push(format!("  {}", terminal.paint(Style::Bold, name)));
        text.extend(rows.by_ref().take(count));
    }
    text
}

/// The place that says a setting.
#[must_use]
pub fn from(one: &Effective) -> String {
    one.spot.as_ref().map_or_else(|| DEFAULT.to_owned(), ToString::to_string)
}
