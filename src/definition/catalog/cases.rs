//! The cases beside the workflows of a folder, and of single files.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::shelves::slashes;
use super::{Catalog, Entry, Loading, SAME_NAME, diagnostic, read};
use crate::definition::case::{Context, LoweredCases, NO_WORKFLOW, lower, workflow_of};
use crate::definition::config::{list, near};
use crate::definition::diagnostic::Diagnostic;
use crate::definition::shelf::{Shelf, read_file};
use crate::workflow::Workflow;
use crate::workflow::case::Cases;

impl Loading<'_> {
    /// The cases files among the names of a folder.
    pub(super) fn case_entries(names: &[String], place: &Arc<Shelf>) -> Vec<Entry> {
        let of = |file: &String| {
            let name = workflow_of(file)?.to_owned();
            Some(Entry { name, file: file.clone(), shelf: Arc::clone(place) })
        };
        let mut entries: Vec<Entry> = names.iter().filter_map(of).collect();
        entries.sort_by(|a, b| a.file.cmp(&b.file));
        entries
    }

    /// Loads one cases file for the workflow that is served of that name.
    pub(super) fn cases(&mut self, entry: &Entry, catalog: &mut Catalog) {
        let label = entry.shelf.label(&entry.file);
        let path = entry.shelf.path(&entry.file);
        self.files.push(path.clone());
        if let Some(other) = catalog.cases.get(&entry.name) {
            let message = format!("{} and {label} hold the cases of one workflow", other.label);
            let mut found = Diagnostic::of_file(SAME_NAME, label, message);
            found.help("put them into one file");
            self.diagnostics.push(found);
            return;
        }
        let beside = |workflow: &&Arc<Workflow>| workflow.file.parent() == path.parent();
        let workflow = catalog.workflows.get(&entry.name).filter(beside).cloned();
        let quarantined = catalog.quarantined.iter().any(|bad| bad.name == entry.name);
        if workflow.is_none() && !quarantined {
            let names: Vec<&str> = catalog.workflows.keys().map(String::as_str).collect();
            self.diagnostics.push(orphan(&label, &entry.name, &names));
            return;
        }
        let context =
            Context { name: &entry.name, shelf: &entry.shelf, workflow: workflow.as_deref() };
        let lowered = match read(entry, &label) {
            Ok(source) => lower(context, source),
            Err(problem) => LoweredCases {
                cases: Cases {
                    workflow: entry.name.clone(),
                    file: path,
                    label: label.clone(),
                    ..Cases::default()
                },
                diagnostics: vec![diagnostic(&problem, &label)],
                files: Vec::new(),
            },
        };
        self.files.extend(lowered.files);
        self.diagnostics.extend(lowered.diagnostics);
        catalog.cases.insert(entry.name.clone(), Arc::new(lowered.cases));
    }
}

fn orphan(label: &str, name: &str, names: &[&str]) -> Diagnostic {
    let message = format!("there is no workflow '{name}' beside these cases");
    let mut found = Diagnostic::of_file(NO_WORKFLOW, label, message);
    let there =
        if names.is_empty() { String::new() } else { format!("; workflows: {}", list(names)) };
    found.help(format!(
        "{}the cases of NAME.yaml stand in NAME.cases.yaml in the same folder{there}",
        near(name, names)
    ));
    found
}

/// The cases file beside a workflow file, where there is one.
#[must_use]
pub fn cases_beside(workflow: &Path) -> Option<PathBuf> {
    let stem = workflow.file_stem()?.to_str()?;
    let ends = ["cases.yaml", "cases.yml"].into_iter();
    ends.map(|end| workflow.with_file_name(format!("{stem}.{end}"))).find(|path| path.exists())
}

/// The workflow file beside a cases file; the path where it should be, where there is none.
#[must_use]
pub fn workflow_beside(cases: &Path) -> Option<PathBuf> {
    let name = workflow_of(cases.file_name()?.to_str()?)?;
    let other = cases.with_file_name(format!("{name}.yml"));
    Some(if other.exists() { other } else { cases.with_file_name(format!("{name}.yaml")) })
}

/// Loads one cases file, wherever it stands. The files it names must be beside it.
#[must_use]
pub fn load_cases(path: &Path, workflow: Option<&Workflow>) -> LoweredCases {
    let folder = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let label = if folder == Path::new(".") { String::new() } else { slashes(folder) };
    let shelf = Shelf::Disk { root: folder.to_owned(), label };
    let file = path.file_name().map(|f| f.to_string_lossy().into_owned()).unwrap_or_default();
    let name = workflow_of(&file).unwrap_or(&file).to_owned();
    let label = shelf.label(&file);
    match read_file(path, label.clone(), &file) {
        Ok(source) => lower(Context { name: &name, shelf: &shelf, workflow }, source),
        Err(problem) => LoweredCases {
            diagnostics: vec![diagnostic(&problem, &label)],
            cases: Cases { workflow: name, file: path.to_owned(), label, ..Cases::default() },
            files: Vec::new(),
        },
    }
}
