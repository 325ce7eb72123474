//! What is tested: the workflows that are meant, on a configuration whose providers are all played.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::is_file;
use crate::cli::argument::unreadable;
use crate::cli::house::folder_of;
use crate::cli::place::{Place, shown};
use crate::cli::summary::count;
use crate::definition::case::workflow_of;
use crate::definition::catalog::{
    Catalog, NO_FOLDER, cases_beside, load, load_cases, load_file, workflow_beside,
};
use crate::definition::config::Configuration;
use crate::definition::diagnostic::Diagnostic;
use crate::definition::environment::Environment;
use crate::definition::folder::Folder;
use crate::domain::finding::did_you_mean;
use crate::driver::clock;
use crate::trace::report::RunReport;
use crate::workflow::Workflow;
use crate::workflow::case::Cases;
use crate::world::case::{Difference, play};

/// A workflow with its cases.
#[derive(Debug)]
pub struct Target {
    /// The workflow.
    pub workflow: Arc<Workflow>,
    /// Its sound cases.
    pub cases: Arc<Cases>,
    /// What it was lowered on.
    pub configuration: Arc<Configuration>,
}

/// Everything that is to be tested.
#[derive(Debug, Default)]
pub struct Stage {
    /// In order of names, or as asked for.
    pub targets: Vec<Target>,
    /// Workflows that have no cases.
    pub without_cases: Vec<String>,
    /// What cannot be tested, and why.
    pub unreadable: Vec<String>,
    /// The errors behind that.
    pub diagnostics: Vec<Diagnostic>,
    /// How many problems that is, as a person counts them: each error, and each thing that is not there.
    pub problems: usize,
    /// Cases that are not run because of them, as far as they can be counted.
    pub lost: usize,
}

impl Stage {
    /// The workflows named, or all of the folder.
    #[must_use]
    pub fn set(names: &[String], place: &Place) -> Self {
        let mut stage = Self::default();
        let (files, names): (Vec<&String>, Vec<&String>) =
            names.iter().partition(|name| is_file(name));
        if !names.is_empty() || files.is_empty() {
            let environment = Environment::of_process();
            let folder = Folder::resolve(place.dir.as_deref(), Path::new("."), &environment);
            let catalog = rehearsed(folder, place, &environment);
            stage.configured(&catalog);
            if names.is_empty() {
                stage.all(&catalog);
            }
            for name in names {
                stage.named(name, &catalog);
            }
        }
        for file in files {
            stage.file(Path::new(file), place);
        }
        Diagnostic::sort(&mut stage.diagnostics);
        stage.problems += stage.diagnostics.len();
        stage
    }

    /// Plays the case of that name, which is of the only workflow here: what differs, and the run's report.
    #[must_use]
    pub fn play(&self, name: &str) -> Option<(Vec<Difference>, RunReport)> {
        let target = self.targets.first()?;
        let case = target.cases.named(name)?;
        let providers = &target.configuration.providers;
        let played = play(case, &target.workflow, providers, &clock::wall_time()).ok()?;
        Some((played.differences, played.report))
    }

    /// A configuration with errors may leave models out: that is told first.
    fn configured(&mut self, catalog: &Catalog) {
        if let Some(first) = catalog.configuration_problems.first() {
            self.unreadable.push(format!("{} has errors", first.file));
            self.diagnostics.extend(catalog.configuration_problems.iter().cloned());
        }
    }

    fn all(&mut self, catalog: &Catalog) {
        let mut names: Vec<&String> = catalog.workflows.keys().collect();
        names.extend(catalog.quarantined.iter().map(|bad| &bad.name));
        names.sort();
        for name in &names {
            self.named(name, catalog);
        }
        if names.is_empty() {
            let missing = catalog.diagnostics.iter().find(|found| found.code == NO_FOLDER);
            self.absent(missing.map_or_else(
                || "there is no workflow here; one is a file workflows/NAME.yaml".to_owned(),
                |found| format!("{}: make it, or name another with --dir", found.message),
            ));
        }
        // Cases beside no workflow, and a second file of cases.
        let told = |found: &Diagnostic| self.diagnostics.contains(found);
        let stray: Vec<Diagnostic> = catalog
            .diagnostics
            .iter()
            .filter(|found| found.is_error() && is_cases(&found.file) && !told(found))
            .cloned()
            .collect();
        for found in stray {
            self.unreadable.push(format!("{}: its cases were not run", found.file));
            self.diagnostics.push(found);
        }
    }

    fn named(&mut self, name: &str, catalog: &Catalog) {
        let cases = catalog.cases.get(name);
        if let Some(bad) = catalog.quarantined.iter().find(|bad| bad.name == name) {
            self.broken(&bad.file, &bad.diagnostics, cases.map(AsRef::as_ref));
            return;
        }
        let Some(workflow) = catalog.workflows.get(name) else {
            self.missing(name, catalog);
            return;
        };
        let found = |cases: &Arc<Cases>| {
            let of = |found: &&Diagnostic| found.is_error() && found.file == cases.label;
            catalog.diagnostics.iter().filter(of).cloned().collect()
        };
        let problems: Vec<Diagnostic> = cases.map(found).unwrap_or_default();
        self.add(workflow, cases.cloned(), problems, &catalog.configuration);
    }

    fn file(&mut self, file: &Path, place: &Place) {
        let file = if file
            .file_name()
            .and_then(|n| n.to_str())
            .is_some_and(|n| workflow_of(n).is_some())
        {
            workflow_beside(file).unwrap_or_else(|| file.to_owned())
        } else {
            file.to_owned()
        };
        if let Err(error) = std::fs::metadata(&file) {
            self.absent(unreadable(&shown(&file), &error));
            return;
        }
        let folder: PathBuf = place.dir.clone().unwrap_or_else(|| folder_of(&file));
        let catalog = rehearsed(Folder::at(folder), place, &Environment::of_process());
        self.configured(&catalog);
        let lowered = load_file(&file, &catalog.configuration);
        let beside = cases_beside(&file);
        let read = beside.map(|path| load_cases(&path, lowered.workflow.as_deref()));
        let Some(workflow) = lowered.workflow else {
            let cases = read.map(|read| read.cases);
            self.broken(&shown(&file), &lowered.diagnostics, cases.as_ref());
            return;
        };
        let (cases, problems) = match read {
            Some(read) => (Some(Arc::new(read.cases)), read.diagnostics),
            None => (None, Vec::new()),
        };
        let problems = problems.into_iter().filter(Diagnostic::is_error).collect();
        self.add(&workflow, cases, problems, &catalog.configuration);
    }

    fn add(
        &mut self,
        workflow: &Arc<Workflow>,
        cases: Option<Arc<Cases>>,
        problems: Vec<Diagnostic>,
        configuration: &Arc<Configuration>,
    ) {
        let Some(cases) = cases.filter(|cases| cases.written > 0 || !problems.is_empty()) else {
            self.without_cases.push(workflow.name.clone());
            return;
        };
        if !problems.is_empty() {
            let lost = cases.written.saturating_sub(cases.list.len());
            self.lost += lost;
            let what = match lost {
                0 => "errors".to_owned(),
                lost => format!("errors: {} not run", count(lost, "case")),
            };
            self.unreadable.push(format!("{} has {what}", cases.label));
            self.diagnostics.extend(problems);
        }
        if !cases.list.is_empty() {
            let (workflow, configuration) = (workflow.clone(), configuration.clone());
            self.targets.push(Target { workflow, cases, configuration });
        }
    }

    /// A workflow that cannot be run: its cases are not passed over in silence.
    fn broken(&mut self, file: &str, diagnostics: &[Diagnostic], cases: Option<&Cases>) {
        let lost = cases.map_or(0, |cases| cases.written);
        self.lost += lost;
        let what =
            if lost == 0 { String::new() } else { format!(": {} not run", count(lost, "case")) };
        self.unreadable.push(format!("{file} has errors{what}"));
        self.diagnostics.extend(diagnostics.iter().filter(|found| found.is_error()).cloned());
    }

    /// What is not there at all.
    fn absent(&mut self, why: String) {
        self.problems += 1;
        self.unreadable.push(why);
    }

    fn missing(&mut self, name: &str, catalog: &Catalog) {
        let names: Vec<&str> = catalog.workflows.keys().map(String::as_str).collect();
        let meant = did_you_mean(name, names.iter().copied());
        let meant = meant.map(|meant| format!("; did you mean '{meant}'?")).unwrap_or_default();
        let there = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
        self.absent(format!("there is no workflow '{name}'{meant} (there is: {there})"));
    }
}

fn is_cases(file: &str) -> bool {
    workflow_of(file.rsplit('/').next().unwrap_or(file)).is_some()
}

/// The folder's catalog with every provider played.
fn rehearsed(folder: Folder, place: &Place, environment: &Environment) -> Catalog {
    let folder = match &place.config {
        Some(file) => folder.with_configuration(file),
        None => folder,
    };
    load(&folder.rehearsed(), environment, None)
}
