//! `punctual check`: every problem of every file, with its place.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use serde::Serialize;

use super::argument::unreadable;
use super::exit::Exit;
use super::house::{House, folder_of};
use super::output;
use super::place::{Place, Simulated, shown};
use super::summary::count;
use super::terminal::{Style, Terminal, wrap};
use crate::definition::case::workflow_of;
use crate::definition::catalog::{
    Catalog, NO_FOLDER, cases_beside, load_cases, load_file, workflow_beside,
};
use crate::definition::diagnostic::Diagnostic;
use crate::definition::environment::Environment;
use crate::definition::folder::{CONFIGURATION_FILE, Folder, WORKFLOWS};

const EXAMPLES: &str = "\
Examples:
  punctual check                        the folder that is served: punctual.yaml and every workflow
  punctual check workflows/triage.yaml  one workflow, on the configuration of its folder
  punctual check --format json          the same for editors and CI
  punctual explain P0207                what a code means, and how to mend it

Exit codes: 0 nothing wrong (warnings allowed), 1 errors, 2 a file or folder could not be looked at.";

/// Longer lines of help are harder to read.
const HELP_WIDTH: usize = 100;

/// Shows every mistake in every file, with its place
///
/// Reads punctual.yaml and the workflows, and checks all that can be checked without asking a model:
/// keys, references, shapes, templates, expressions, the graph, models, keys that are set. All problems
/// of all files are shown in one pass.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Check {
    /// Workflow files or folders. Default: the folder that is served
    #[arg(value_name = "PATH")]
    paths: Vec<PathBuf>,
    /// How problems are shown
    #[arg(long, value_enum, default_value_t = Format::Text, value_name = "FORMAT")]
    format: Format,
    #[command(flatten)]
    place: Place,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    /// For people
    Text,
    /// For programs
    Json,
}

/// The version of the JSON form: fields are added in the same one, never changed.
const FORM: u32 = 1;

/// What was found.
#[derive(Debug, Serialize)]
struct Findings {
    version: u32,
    diagnostics: Vec<Diagnostic>,
    /// Workflows that were looked at.
    workflows: usize,
    /// Files that were looked at: workflows, what they name, configuration.
    files: usize,
    /// Files that have a problem.
    files_with_problems: usize,
    errors: usize,
    warnings: usize,
    /// What could not be looked at, and why.
    unreadable: Vec<String>,
    #[serde(skip)]
    looked_at: BTreeSet<PathBuf>,
}

impl Check {
    /// Runs the command.
    pub async fn run(self) -> Exit {
        if let Err(exit) = self.place.there() {
            return exit;
        }
        let mut findings = Findings::new();
        if self.paths.is_empty() {
            let house = House::open(&self.place, &Simulated::default()).await;
            findings.add(&house.catalog, "");
        }
        for path in &self.paths {
            self.look(path, &mut findings).await;
        }
        Diagnostic::sort(&mut findings.diagnostics);
        findings.count();
        match self.format {
            Format::Json => output::json(&findings),
            Format::Text => findings.show(),
        }
        findings.exit()
    }

    async fn look(&self, path: &Path, findings: &mut Findings) {
        let about = match std::fs::metadata(path) {
            Ok(about) => about,
            Err(error) => {
                findings.unreadable.push(unreadable(&shown(path), &error));
                return;
            }
        };
        let environment = Environment::of_process();
        let simulated = Simulated::default();
        if about.is_dir() {
            let mut folder = Folder::at(path);
            // A folder `workflows` alone is served on the configuration beside it.
            let beside = folder_of(&path.join("any")).join(CONFIGURATION_FILE);
            let own = path.join(CONFIGURATION_FILE).is_file() || path.join(WORKFLOWS).is_dir();
            if !own && beside.is_file() {
                folder = folder.with_configuration(beside);
            }
            let house = House::of_folder(folder, &self.place, &simulated, environment).await;
            findings.add(&house.catalog, &prefix(path));
            return;
        }
        let folder = self.place.dir.clone().unwrap_or_else(|| folder_of(path));
        let house =
            House::of_folder(Folder::at(folder), &self.place, &simulated, environment).await;
        let of_configuration = |found: &Diagnostic| found.file.ends_with(CONFIGURATION_FILE);
        let configuration = house.catalog.diagnostics.iter().filter(|f| of_configuration(f));
        findings.diagnostics.extend(configuration.cloned());
        let configuration = house.catalog.files.iter().filter(|f| f.ends_with(CONFIGURATION_FILE));
        configuration.for_each(|file| findings.look_at(file));
        if path.file_name().is_some_and(|name| name == CONFIGURATION_FILE) {
            return;
        }
        findings.workflows += 1;
        let of_cases = path.file_name().and_then(|name| name.to_str()).and_then(workflow_of);
        let workflow = match of_cases {
            Some(_) => workflow_beside(path).unwrap_or_else(|| path.to_owned()),
            None => path.to_owned(),
        };
        let lowered = load_file(&workflow, &house.catalog.configuration);
        let cases = match of_cases {
            Some(_) => Some(path.to_owned()),
            None => cases_beside(path),
        };
        findings.look_at(&workflow);
        if let Some(cases) = &cases {
            findings.look_at(cases);
        }
        let sound = lowered.workflow.as_deref();
        let read = cases.map(|cases| load_cases(&cases, sound).diagnostics);
        lowered.files.iter().for_each(|file| findings.look_at(file));
        findings.diagnostics.extend(read.unwrap_or_default());
        findings.diagnostics.extend(lowered.diagnostics);
    }
}

/// How files of a folder begin, where another one than the current is named.
fn prefix(folder: &Path) -> String {
    let shown: PathBuf = folder.components().collect();
    let text = shown.to_string_lossy().replace('\\', "/");
    if shown == Path::new(".") { String::new() } else { format!("{}/", text.trim_end_matches('/')) }
}

impl Findings {
    const fn new() -> Self {
        Self {
            version: FORM,
            diagnostics: Vec::new(),
            workflows: 0,
            files: 0,
            files_with_problems: 0,
            errors: 0,
            warnings: 0,
            unreadable: Vec::new(),
            looked_at: BTreeSet::new(),
        }
    }

    fn look_at(&mut self, file: &Path) {
        if file.is_file() {
            self.looked_at.insert(file.canonicalize().unwrap_or_else(|_| file.to_owned()));
        }
    }

    fn add(&mut self, catalog: &Catalog, prefix: &str) {
        let quarantined = catalog.quarantined.iter().filter(|q| !q.serving_previous).count();
        self.workflows += catalog.workflows.len() + quarantined;
        catalog.files.iter().for_each(|file| self.look_at(file));
        for found in &catalog.diagnostics {
            if found.code == NO_FOLDER {
                self.unreadable.push(found.message.clone());
            } else {
                let file = if Path::new(&found.file).is_absolute() || found.file.starts_with(prefix)
                {
                    found.file.clone()
                } else {
                    format!("{prefix}{}", found.file)
                };
                self.diagnostics.push(Diagnostic { file, ..found.clone() });
            }
        }
    }

    fn count(&mut self) {
        self.errors = self.diagnostics.iter().filter(|found| found.is_error()).count();
        self.warnings = self.diagnostics.len() - self.errors;
        let files: BTreeSet<&str> = self.diagnostics.iter().map(|f| f.file.as_str()).collect();
        self.files_with_problems = files.len();
        // Built-in files are on no disk, and a problem can be a file's that is not there.
        self.files = self.looked_at.len().max(self.workflows).max(files.len());
    }

    fn show(&self) {
        let terminal = output::screen();
        for found in &self.diagnostics {
            output::result(painted(found, terminal));
            output::result("");
        }
        for why in &self.unreadable {
            output::refuse(Exit::Usage, why);
        }
        if self.workflows == 0 && !self.unreadable.is_empty() {
            return;
        }
        if self.diagnostics.is_empty() {
            let good = terminal.paint(Style::Good, "nothing wrong".to_owned());
            output::result(format_args!("{} checked: {good}", count(self.files, "file")));
            return;
        }
        let style = if self.errors > 0 { Style::Bad } else { Style::Odd };
        let found = match (self.errors, self.warnings) {
            (0, n) => count(n, "warning"),
            (n, 0) => count(n, "error"),
            (n, m) => format!("{}, {}", count(n, "error"), count(m, "warning")),
        };
        let (bad, all) = (self.files_with_problems, count(self.files, "file"));
        output::result(format_args!("{} in {bad} of {all}", terminal.paint(style, found)));
        let first = self.diagnostics.iter().find(|found| found.is_error());
        if let Some(first) = first.or(self.diagnostics.first()) {
            let hint = format!("more on a code: punctual explain {}", first.code);
            output::result(terminal.paint(Style::Dim, hint));
        }
    }

    fn exit(&self) -> Exit {
        if !self.unreadable.is_empty() {
            Exit::Usage
        } else if self.errors > 0 {
            Exit::Failed
        } else {
            Exit::Done
        }
    }
}

/// Its help in lines as wide as the terminal; what is quoted stays as it is.
fn wrapped(text: &str, terminal: Terminal) -> String {
    const HELP: &str = "help: ";
    let lines = text.lines().flat_map(|line| match line.strip_prefix(HELP) {
        Some(help) => {
            let lines = wrap(help, terminal.width.min(HELP_WIDTH) - HELP.len()).into_iter();
            let begun = |(at, line)| format!("{:6}{line}", if at == 0 { HELP } else { "" });
            lines.enumerate().map(begun).collect()
        }
        None => vec![line.to_owned()],
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// A diagnostic, its place and severity standing out.
#[must_use]
pub fn painted(found: &Diagnostic, terminal: Terminal) -> String {
    let text = wrapped(&found.to_string(), terminal);
    if !terminal.colour {
        return text;
    }
    let style = if found.is_error() { Style::Bad } else { Style::Odd };
    let word = format!("{}[{}]", found.severity.as_str(), found.code);
    let mut lines = text.lines().map(|line| {
        let caret = !line.is_empty() && line.trim_start().bytes().all(|b| b == b'^');
        if caret { terminal.paint(style, line).to_string() } else { line.to_owned() }
    });
    let first = lines.next().unwrap_or_default();
    let first = first.replacen(&word, &terminal.paint(style, &word).to_string(), 1);
    std::iter::once(first).chain(lines).collect::<Vec<_>>().join("\n")
}
