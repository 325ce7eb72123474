//! `punctual list`: what can be called, on which models, and what cannot be used and why.

use clap::Args;

use super::check::painted;
use super::exit::Exit;
use super::house::{House, is_simulated};
use super::output;
use super::place::{Place, Regime};
use super::summary::count;
use super::table::Table;
use super::terminal::{Style, Terminal};
use crate::definition::catalog::NO_FOLDER;
use crate::definition::config::Configuration;
use crate::domain::provider::{ProviderSettings, SecretRef};
use crate::domain::time::show;

const EXAMPLES: &str = "\
Examples:
  punctual list                 the folder that is served
  punctual list --dir ./team    another folder
  punctual explain NAME         one workflow in full: graph, policies, cutoffs
  punctual check                the mistakes of quarantined files, with their places";

/// Shows workflows, models and providers, and what cannot be used and why
///
/// A file with errors is quarantined: it is no tool until it is corrected, and takes no other file down.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct List {
    #[command(flatten)]
    place: Place,
    #[command(flatten)]
    regime: Regime,
}

impl List {
    /// Runs the command.
    pub async fn run(self) -> Exit {
        if let Err(exit) = self.place.there() {
            return exit;
        }
        let house = House::open(&self.place, &self.regime.into()).await;
        let terminal = output::screen();
        let missing = house.catalog.diagnostics.iter().find(|found| found.code == NO_FOLDER);
        if let Some(missing) = missing {
            return output::refuse(
                Exit::Usage,
                format_args!("{}: make it, or name another with --dir", missing.message),
            );
        }
        output::result(format_args!("Folder         {}", house.folder_shown()));
        output::result(format_args!("Configuration  {}", house.origin_shown()));
        let configuration = &house.catalog.configuration;
        let none = if house.catalog.quarantined.is_empty() {
            "none: add one as workflows/NAME.yaml"
        } else {
            "none that can be served"
        };
        section("Workflows", &workflows(&house), terminal, none);
        section("Models", &models(configuration), terminal, "none");
        section("Providers", &providers(configuration), terminal, "none");
        quarantined(&house, terminal);
        Exit::Done
    }
}

fn section(title: &str, table: &Table, terminal: Terminal, none: &str) {
    output::result(format_args!("\n{}", terminal.paint(Style::Bold, title)));
    if table.is_empty() {
        output::result(format_args!("  {none}"));
    } else {
        output::result(table.lines(terminal, 2).join("\n"));
    }
}

fn workflows(house: &House) -> Table {
    let mut table = Table::new(["name", "deadline", "steps", "cases", "what"]);
    for (name, workflow) in &house.catalog.workflows {
        let what = workflow.title.as_deref().unwrap_or(workflow.description.trim());
        let hidden = if workflow.exposed { "" } else { " (not a tool)" };
        table.row(vec![
            (Style::Bold, name.clone()),
            (Style::Plain, show(workflow.plan.deadline)),
            (Style::Plain, workflow.plan.steps.len().to_string()),
            match house.catalog.cases.get(name).map_or(0, |cases| cases.written) {
                0 => (Style::Dim, "none".to_owned()),
                cases => (Style::Plain, cases.to_string()),
            },
            (Style::Plain, format!("{}{hidden}", what.lines().next().unwrap_or_default())),
        ]);
    }
    table
}

fn models(configuration: &Configuration) -> Table {
    let mut table = Table::new(["name", "links", "paths, best first"]);
    for model in &configuration.models {
        let link = |word: &str, to: &Option<String>| {
            to.as_ref().map(|to| format!("{word} {to}")).unwrap_or_default()
        };
        let links = [link("faster", &model.faster), link("stronger", &model.stronger)];
        let links: Vec<String> = links.into_iter().filter(|link| !link.is_empty()).collect();
        let paths: Vec<String> = model
            .paths
            .iter()
            .map(|path| format!("{}/{}", path.provider, path.profile.id))
            .collect();
        table.row(vec![
            (Style::Bold, model.name.clone()),
            (Style::Dim, links.join(", ")),
            (Style::Plain, paths.join(" → ")),
        ]);
    }
    for (name, why) in &configuration.unusable {
        table.row(vec![
            (Style::Bold, name.clone()),
            (Style::Plain, String::new()),
            (Style::Bad, format!("unusable: {why}")),
        ]);
    }
    table
}

fn providers(configuration: &Configuration) -> Table {
    let mut table = Table::new(["name", "key", "where"]);
    for provider in &configuration.providers {
        let (style, key) = key_state(provider);
        let place = match &provider.dialect {
            _ if !is_simulated(provider) => provider.base_url.clone(),
            crate::domain::provider::Dialect::Simulated(s) => {
                format!("simulator, regime {}, seed {}", s.regime, s.seed)
            }
            _ => String::new(),
        };
        table.row(vec![(Style::Bold, provider.name.clone()), (style, key), (Style::Plain, place)]);
    }
    table
}

/// Where a provider's keys are, and whether they are there; never a key.
#[must_use]
pub fn key_state(provider: &ProviderSettings) -> (Style, String) {
    let states: Vec<(Style, String)> = provider.keys().map(state_of).collect();
    let bad = states.iter().find(|(style, _)| *style == Style::Bad);
    match (bad, states.is_empty()) {
        (Some(bad), _) => bad.clone(),
        (None, true) => (Style::Dim, "none needed".to_owned()),
        (None, false) => {
            let all: Vec<&str> = states.iter().map(|(_, said)| said.as_str()).collect();
            (Style::Good, all.join(", "))
        }
    }
}

fn state_of(key: &SecretRef) -> (Style, String) {
    match key {
        SecretRef::Env(name) => {
            let set = std::env::var_os(name).is_some_and(|value| !value.is_empty());
            if set {
                (Style::Good, format!("{name} is set"))
            } else {
                (Style::Bad, format!("{name} is not set"))
            }
        }
        SecretRef::File(path) => {
            let there = std::fs::metadata(path).is_ok_and(|about| about.len() > 0);
            let shown = super::place::shown(path);
            if there {
                (Style::Good, format!("in {shown}"))
            } else {
                (Style::Bad, format!("{shown} cannot be read or is empty"))
            }
        }
    }
}

fn quarantined(house: &House, terminal: Terminal) {
    for quarantined in &house.catalog.quarantined {
        let errors = quarantined.diagnostics.iter().filter(|found| found.is_error()).count();
        let head = format!("\nQuarantined: {} ({})", quarantined.file, count(errors, "error"));
        output::result(terminal.paint(Style::Bad, head));
        for found in quarantined.diagnostics.iter().filter(|found| found.is_error()).take(3) {
            output::result(painted(found, terminal));
        }
        if errors > 3 {
            output::result(format_args!("… 'punctual check' shows them all"));
        }
    }
    let others = house.catalog.diagnostics.iter().filter(|found| found.is_error());
    let of_workflows: usize = house
        .catalog
        .quarantined
        .iter()
        .map(|q| q.diagnostics.iter().filter(|found| found.is_error()).count())
        .sum();
    if others.count() > of_workflows {
        let head = "\nThe configuration has errors: 'punctual check' shows them";
        output::result(terminal.paint(Style::Bad, head));
    }
}
