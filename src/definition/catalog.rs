//! All workflows of a folder on one configuration: immutable, replaced as a whole by a reload.
//!
//! A bad file never takes another down: it is quarantined with its diagnostics, and its last good version
//! keeps serving.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::definition::config::Configuration;
use crate::definition::diagnostic::{Diagnostic, Severity};
use crate::definition::environment::Environment;
use crate::definition::folder::Folder;
use crate::definition::lower::{Context, Lowered, lower};
use crate::definition::shelf::{FileProblem, Shelf, UNREADABLE, read_file};
use crate::definition::source::Source;
use crate::domain::finding::Code;
use crate::workflow::Workflow;
use crate::workflow::case::Cases;

mod cases;
mod configuration;
mod shelves;
#[cfg(test)]
mod tests;

pub use cases::{cases_beside, load_cases, workflow_beside};
use shelves::{shelves, slashes, stem};

/// Most workflow files of one folder.
pub const WORKFLOW_LIMIT: usize = 1000;
/// Two files that make one tool.
pub const SAME_NAME: Code = Code("P0606");
/// A folder beyond the limit.
pub const TOO_MANY_FILES: Code = Code("P0607");
/// A configuration file that was there and is gone.
pub const GONE: Code = Code("P0609");
/// A folder that is not there.
pub const NO_FOLDER: Code = Code("P0608");

/// Everything that can be called, and everything that is wrong.
#[derive(Clone, Debug)]
pub struct Catalog {
    /// By tool name.
    pub workflows: BTreeMap<String, Arc<Workflow>>,
    /// The cases beside them, by the same names.
    pub cases: BTreeMap<String, Arc<Cases>>,
    /// All problems of all files, by file and place.
    pub diagnostics: Vec<Diagnostic>,
    /// Files that cannot be used.
    pub quarantined: Vec<Quarantined>,
    /// Providers, models, defaults.
    pub configuration: Arc<Configuration>,
    /// Errors of `punctual.yaml`: where there are any, the last good configuration stays, or none is there.
    pub configuration_problems: Vec<Diagnostic>,
    /// Counts loads, from 1.
    pub generation: u64,
    /// Every file and folder this was made of; a change of one calls for a reload.
    pub files: Vec<PathBuf>,
}

/// A file that cannot be used.
#[derive(Clone, Debug, PartialEq)]
pub struct Quarantined {
    /// Its name in diagnostics.
    pub file: String,
    /// The tool it would be.
    pub name: String,
    /// What is wrong with it.
    pub diagnostics: Vec<Diagnostic>,
    /// Whether an earlier version of it is served.
    pub serving_previous: bool,
}

impl Catalog {
    /// Whether `other` holds the same workflows, configuration and problems.
    #[must_use]
    pub fn same_as(&self, other: &Self) -> bool {
        self.workflows.len() == other.workflows.len()
            && self.workflows.iter().all(|(name, one)| {
                other.workflows.get(name).is_some_and(|two| Arc::ptr_eq(one, two))
            })
            && self.same_cases(other)
            && self.diagnostics == other.diagnostics
            && self.quarantined == other.quarantined
            && self.configuration == other.configuration
    }

    /// Whether `other` holds the same cases.
    #[must_use]
    pub fn same_cases(&self, other: &Self) -> bool {
        let versions = |catalog: &Self| -> Vec<(String, u64)> {
            catalog.cases.iter().map(|(name, cases)| (name.clone(), cases.version)).collect()
        };
        versions(self) == versions(other)
    }

    /// Whether no file has an error.
    #[must_use]
    pub fn is_clean(&self) -> bool {
        !self.diagnostics.iter().any(Diagnostic::is_error)
    }
}

/// Loads a folder. Never fails: what is wrong is in the catalog's diagnostics.
///
/// ```
/// use punctual::definition::catalog::load;
/// use punctual::definition::environment::Environment;
/// use punctual::definition::folder::Folder;
/// let catalog = load(&Folder::builtin(), &Environment::default(), None);
/// assert!(catalog.workflows.contains_key("summarize"));
/// assert!(catalog.configuration.is_simulated());
/// ```
#[must_use]
pub fn load(folder: &Folder, environment: &Environment, previous: Option<&Catalog>) -> Catalog {
    let mut loading =
        Loading { previous, diagnostics: Vec::new(), files: Vec::new(), case_files: Vec::new() };
    let configuration = loading.configuration(folder, environment);
    let mut problems = loading.diagnostics.clone();
    problems.retain(Diagnostic::is_error);
    Diagnostic::sort(&mut problems);
    let mut catalog = Catalog {
        workflows: BTreeMap::new(),
        cases: BTreeMap::new(),
        diagnostics: Vec::new(),
        quarantined: Vec::new(),
        configuration: Arc::clone(&configuration),
        configuration_problems: problems,
        generation: previous.map_or(1, |previous| previous.generation + 1),
        files: Vec::new(),
    };
    let mut found: BTreeMap<String, Vec<Entry>> = BTreeMap::new();
    for place in shelves(folder, &configuration) {
        for entry in loading.entries(place, &mut catalog) {
            found.entry(entry.name.clone()).or_default().push(entry);
        }
    }
    for (name, entries) in found {
        loading.workflow(name, &entries, &mut catalog);
    }
    for entry in std::mem::take(&mut loading.case_files) {
        loading.cases(&entry, &mut catalog);
    }
    let Loading { mut diagnostics, mut files, .. } = loading;
    Diagnostic::sort(&mut diagnostics);
    // Whole texts: part by part, as paths compare, takes long for many.
    files.sort_unstable_by(|one, other| one.as_os_str().cmp(other.as_os_str()));
    files.dedup_by(|one, other| one.as_os_str() == other.as_os_str());
    Catalog { diagnostics, files, ..catalog }
}

/// Loads one workflow file on a configuration, wherever it stands. The files it names must be beside it.
#[must_use]
pub fn load_file(path: &Path, configuration: &Configuration) -> Lowered {
    let folder = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let label = if folder == Path::new(".") { String::new() } else { slashes(folder) };
    let shelf = Shelf::Disk { root: folder.to_owned(), label };
    let file = path.file_name().map(|f| f.to_string_lossy().into_owned()).unwrap_or_default();
    let name = stem(&file).unwrap_or(&file).to_owned();
    match read_file(path, shelf.label(&file), &file) {
        Ok(source) => lower(Context { name: &name, shelf: &shelf, configuration }, source),
        Err(problem) => {
            let diagnostics = vec![diagnostic(&problem, &shelf.label(&file))];
            Lowered { workflow: None, diagnostics, files: Vec::new() }
        }
    }
}

/// The text that `workflow` was made of, read once more, under its name in diagnostics. `None` where it is gone.
#[must_use]
pub fn source_of(
    folder: &Folder,
    configuration: &Configuration,
    workflow: &Workflow,
) -> Option<Source> {
    let file = workflow.file.file_name()?.to_string_lossy().into_owned();
    let places = shelves(folder, configuration);
    let place = places.into_iter().find(|place| place.path(&file) == workflow.file);
    match place {
        Some(place) => {
            let (label, name) = (place.label(&file), workflow.name.clone());
            read(&Entry { name, file, shelf: Arc::new(place) }, &label).ok()
        }
        None => read_file(&workflow.file, slashes(&workflow.file), &file).ok(),
    }
}

/// The folder that a new workflow belongs into: the first one that is served. `None` for the built-in examples.
#[must_use]
pub fn shelf_of(folder: &Folder, configuration: &Configuration) -> Option<PathBuf> {
    match shelves(folder, configuration).into_iter().next()? {
        Shelf::Disk { root, .. } => Some(root),
        Shelf::Builtin(_) => None,
    }
}

/// A workflow file.
struct Entry {
    name: String,
    file: String,
    shelf: Arc<Shelf>,
}

struct Loading<'a> {
    previous: Option<&'a Catalog>,
    diagnostics: Vec<Diagnostic>,
    files: Vec<PathBuf>,
    /// Cases files, until their workflows are there.
    case_files: Vec<Entry>,
}

impl Loading<'_> {
    /// The workflow files of one folder, sorted.
    fn entries(&mut self, from: Shelf, catalog: &mut Catalog) -> Vec<Entry> {
        let place = Arc::new(from);
        let names: Vec<String> = match place.as_ref() {
            Shelf::Builtin(files) => files.iter().map(|(name, _)| (*name).to_owned()).collect(),
            Shelf::Disk { root, .. } => match self.list(root) {
                Ok(names) => names,
                Err(error) => {
                    self.vanished(root, &place.label(""), &error, catalog);
                    return Vec::new();
                }
            },
        };
        self.case_files.extend(Self::case_entries(&names, &place));
        let mut entries: Vec<Entry> = names
            .into_iter()
            .filter_map(|file| {
                let name = stem(&file)?.to_owned();
                Some(Entry { name, file, shelf: Arc::clone(&place) })
            })
            .collect();
        entries.sort_by(|a, b| a.file.cmp(&b.file));
        if entries.len() > WORKFLOW_LIMIT {
            let message = format!(
                "the folder holds {} workflows; the first {WORKFLOW_LIMIT} are served",
                entries.len()
            );
            let label = place.label("");
            let mut found =
                Diagnostic::of_file(TOO_MANY_FILES, label.trim_end_matches('/'), message);
            found.help("use several folders, with a server each");
            self.diagnostics.push(found);
            entries.truncate(WORKFLOW_LIMIT);
        }
        entries
    }

    fn list(&mut self, root: &Path) -> std::io::Result<Vec<String>> {
        self.files.push(root.to_owned());
        let mut names = Vec::new();
        for entry in std::fs::read_dir(root)? {
            let entry = entry?;
            // Links count as what they lead to; what cannot be looked at is reported when it is read.
            let folder = match entry.file_type() {
                Ok(kind) if !kind.is_symlink() => kind.is_dir(),
                _ => std::fs::metadata(entry.path()).is_ok_and(|about| about.is_dir()),
            };
            if let (Ok(name), false) = (entry.file_name().into_string(), folder) {
                names.push(name);
            }
        }
        Ok(names)
    }

    /// A folder that is gone: what was served from it goes on.
    fn vanished(
        &mut self,
        root: &Path,
        label: &str,
        error: &std::io::Error,
        catalog: &mut Catalog,
    ) {
        let label = label.trim_end_matches('/');
        let label = if label.is_empty() { slashes(root) } else { label.to_owned() };
        let kept = self.previous.into_iter().flat_map(|previous| &previous.workflows);
        let kept: Vec<_> = kept.filter(|(_, w)| w.file.parent() == Some(root)).collect();
        let message = if error.kind() == std::io::ErrorKind::NotFound {
            format!("the folder {} is not there", root.display())
        } else {
            format!("the folder {} cannot be read", root.display())
        };
        let mut found = Diagnostic::of_file(NO_FOLDER, label, message);
        found.help(if kept.is_empty() {
            "make it, or name another with --dir".to_owned()
        } else {
            format!("its {} last good workflows keep serving until it is back", kept.len())
        });
        self.diagnostics.push(found);
        for (name, workflow) in kept {
            catalog.workflows.insert(name.clone(), Arc::clone(workflow));
        }
    }

    fn workflow(&mut self, name: String, entries: &[Entry], catalog: &mut Catalog) {
        let [entry] = entries else {
            let files: Vec<String> = entries.iter().map(|e| e.shelf.label(&e.file)).collect();
            let message =
                format!("{} make one tool, '{name}': {}", files.len(), files.join(" and "));
            let found = files.iter().map(|file| {
                let mut found = Diagnostic::of_file(SAME_NAME, file.clone(), message.clone());
                found.help("keep one of them, or rename it");
                found
            });
            let found: Vec<Diagnostic> = found.collect();
            self.quarantine(files[0].clone(), name, found, catalog);
            return;
        };
        let label = entry.shelf.label(&entry.file);
        let context =
            Context { name: &name, shelf: &entry.shelf, configuration: &catalog.configuration };
        let lowered = match read(entry, &label) {
            Ok(source) => lower(context, source),
            Err(problem) => Lowered {
                workflow: None,
                diagnostics: vec![diagnostic(&problem, &label)],
                files: Vec::new(),
            },
        };
        self.files.push(entry.shelf.path(&entry.file));
        self.files.extend(lowered.files);
        match lowered.workflow {
            Some(workflow) => {
                self.diagnostics.extend(lowered.diagnostics);
                let before = self.previous.and_then(|previous| previous.workflows.get(&name));
                // The same text on the same models is the same workflow: nobody need be told of it.
                let same =
                    before.filter(|b| b.version == workflow.version && b.plan == workflow.plan);
                catalog.workflows.insert(name, same.map_or(workflow, Arc::clone));
            }
            None => self.quarantine(label, name, lowered.diagnostics, catalog),
        }
    }

    fn quarantine(
        &mut self,
        file: String,
        name: String,
        diagnostics: Vec<Diagnostic>,
        catalog: &mut Catalog,
    ) {
        let before = self.previous.and_then(|previous| previous.workflows.get(&name));
        let serving_previous = before.is_some();
        if let Some(before) = before {
            catalog.workflows.insert(name.clone(), Arc::clone(before));
        }
        let mut diagnostics = diagnostics;
        Diagnostic::sort(&mut diagnostics);
        self.diagnostics.extend(diagnostics.iter().cloned());
        catalog.quarantined.push(Quarantined { file, name, diagnostics, serving_previous });
    }
}

fn read(entry: &Entry, label: &str) -> Result<Source, FileProblem> {
    match entry.shelf.as_ref() {
        Shelf::Builtin(_) => entry.shelf.read(&entry.file),
        // The file itself may be a link out of the folder: who put it there meant it to be served.
        Shelf::Disk { root, .. } => {
            read_file(&root.join(&entry.file), label.to_owned(), &entry.file)
        }
    }
}

fn diagnostic(problem: &FileProblem, label: &str) -> Diagnostic {
    let mut found = match problem.broken.as_deref() {
        Some((source, at)) => Diagnostic::at(
            Severity::Error,
            problem.code,
            source,
            &(*at..*at + 1),
            problem.message.clone(),
        ),
        None => Diagnostic::of_file(problem.code, label, problem.message.clone()),
    };
    if problem.code == UNREADABLE {
        found.help("check that the file is there and that the server may read it");
    } else {
        found.help(problem.help.clone());
    }
    found
}
