//! `punctual new`: a workflow to start from, with its cases, that checks and passes at once.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use clap::Args;

use super::argument::unreadable;
use super::exit::Exit;
use super::house::House;
use super::output;
use super::place::{Simulated, shown};
use super::terminal::Style;
use crate::definition::catalog::shelf_of;
use crate::definition::config::Configuration;
use crate::definition::diagnostic::Diagnostic;
use crate::definition::editor::Document;
use crate::definition::lower::{Context, is_name, lower, suggestion};
use crate::definition::shelf::Shelf;
use crate::definition::source::Source;

const WORKFLOW: &str = include_str!("new/workflow.yaml");
const CASES: &str = include_str!("new/cases.yaml");

const EXAMPLES: &str = "\
Examples:
  punctual new answer_questions               workflows/answer_questions.yaml and its cases
  punctual new answer_questions --dir ./team  the same in another folder

Nothing that is there is ever overwritten.";

/// Writes a commented workflow with its cases, ready to edit
///
/// It checks and passes its cases at once. Editors complete and check it as it is typed: the schemas they need are
/// written beside it where they are not there yet.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct New {
    /// The name of the tool: lower-case letters, digits and _, at most 48
    #[arg(value_name = "NAME")]
    name: String,
    #[command(flatten)]
    place: super::place::Place,
}

/// A file to write.
struct File {
    path: PathBuf,
    text: String,
    /// Whether it may be there already: then it stays as it is.
    shared: bool,
    what: &'static str,
}

impl New {
    /// Runs the command.
    pub async fn run(self) -> Exit {
        match self.go().await {
            Ok(()) => Exit::Done,
            Err(why) => output::refuse(Exit::Usage, why),
        }
    }

    async fn go(&self) -> Result<(), String> {
        self.place.there().map_err(|_| "nothing was written".to_owned())?;
        let name = self.name()?;
        let house = House::open(&self.place, &Simulated::default()).await;
        let base = house.folder.path().unwrap_or(Path::new("."));
        let configuration = &house.catalog.configuration;
        let folder =
            shelf_of(&house.folder, configuration).unwrap_or_else(|| base.join("workflows"));
        let (schemas, seen_from) = schemas(base, &folder);
        let text = workflow(&seen_from, configuration);
        checks(name, &folder, &text, configuration)?;
        let files = files(name, &folder, &schemas, &seen_from, text);
        refuse_existing(&files, &folder, name)?;
        for file in &files {
            write(file)?;
        }
        Self::show(name, &files, base);
        Ok(())
    }

    /// The name, where it can be one.
    fn name(&self) -> Result<&str, String> {
        let name = self.name.as_str();
        if is_name(name) {
            return Ok(name);
        }
        let bare = Path::new(name).file_stem().map(|stem| stem.to_string_lossy().into_owned());
        let near = suggestion(bare.as_deref().unwrap_or(name));
        Err(format!(
            "'{name}' cannot name a tool: lower-case letters, digits and _, at most 48, a letter first; \
             try 'punctual new {near}'"
        ))
    }

    fn show(name: &str, files: &[File], base: &Path) {
        let terminal = output::screen();
        let width = files.iter().map(|file| shown(&plain(&file.path)).chars().count()).max();
        let width = width.unwrap_or(0);
        for file in files {
            let path = format!("{:width$}", shown(&plain(&file.path)));
            output::result(format_args!("{}  {}", terminal.paint(Style::Bold, path), file.what));
        }
        let dir = if base == Path::new(".") {
            String::new()
        } else {
            format!(" --dir {}", base.display())
        };
        let asked = "--set document=@README.md --set question='What is it for?'";
        output::result(format_args!(
            "\n{}\n  punctual check{dir}\n  punctual test {name}{dir}\n  punctual run {name}{dir} {asked}",
            terminal.paint(Style::Bold, "Next")
        ));
    }
}

/// Where the schemas lie, and how that is written in a workflow's file.
fn schemas(base: &Path, folder: &Path) -> (PathBuf, String) {
    let up = match folder.strip_prefix(base) {
        Ok(below) if below.as_os_str().is_empty() => {
            return (base.join("schemas"), "schemas".to_owned());
        }
        Ok(below) => below.components().count(),
        // A folder elsewhere has its schemas beside it.
        Err(_) => 1,
    };
    let mut root = folder.to_owned();
    for _ in 0..up {
        root.pop();
    }
    (root.join("schemas"), format!("{}schemas", "../".repeat(up)))
}

/// The workflow's text; it names a model only where there is no default one.
fn workflow(schemas: &str, configuration: &Configuration) -> String {
    let modeline = Document::Workflow.modeline(schemas);
    let mut text = format!("{modeline}\n{WORKFLOW}");
    if configuration.default_model().is_none()
        && let Some(first) = configuration.models.first()
    {
        let defaults = format!("defaults:\n  model: {}\n\nsteps:", first.name);
        text = text.replacen("steps:", &defaults, 1);
    }
    text
}

/// The text must pass before it is written.
fn checks(
    name: &str,
    folder: &Path,
    text: &str,
    configuration: &Configuration,
) -> Result<(), String> {
    let shelf = Shelf::Disk { root: folder.to_owned(), label: String::new() };
    let context = Context { name, shelf: &shelf, configuration };
    let lowered = lower(context, Source::new(format!("{name}.yaml"), text));
    match lowered.diagnostics.iter().find(|found| found.is_error()) {
        Some(Diagnostic { message, help, .. }) => {
            let help = help.as_ref().map(|help| format!("; {help}")).unwrap_or_default();
            Err(format!("it could not be served here, and was not written: {message}{help}"))
        }
        None => Ok(()),
    }
}

fn files(
    name: &str,
    folder: &Path,
    schemas: &Path,
    seen_from: &str,
    workflow: String,
) -> Vec<File> {
    let modeline = Document::Cases.modeline(seen_from);
    let cases = format!("{modeline}\n{}", CASES.replace("NAME", name));
    let mut files = vec![
        File {
            path: folder.join(format!("{name}.yaml")),
            text: workflow,
            shared: false,
            what: "the workflow: every line says what it does",
        },
        File {
            path: folder.join(format!("{name}.cases.yaml")),
            text: cases,
            shared: false,
            what: "its cases: inputs with recorded answers",
        },
    ];
    for (document, what) in [
        (Document::Workflow, "what editors check workflows by"),
        (Document::Cases, "what editors check cases by"),
    ] {
        let path = schemas.join(document.file_name());
        let text = document.text().to_owned();
        files.push(File { path, text, shared: true, what });
    }
    files.retain(|file| !(file.shared && file.path.exists()));
    files
}

fn refuse_existing(files: &[File], folder: &Path, name: &str) -> Result<(), String> {
    let other = folder.join(format!("{name}.yml"));
    let mut there = files.iter().map(|file| &file.path).chain([&other]);
    match there.find(|path| path.symlink_metadata().is_ok()) {
        Some(path) => Err(format!(
            "{} is there already, and nothing was written: choose another name, or remove it",
            shown(&plain(path))
        )),
        None => Ok(()),
    }
}

fn write(file: &File) -> Result<(), String> {
    let told = |error: std::io::Error| {
        unreadable(&shown(&plain(&file.path)), &error).replacen("cannot read", "cannot write", 1)
    };
    if let Some(folder) = file.path.parent() {
        std::fs::create_dir_all(folder).map_err(told)?;
    }
    // What came to be there since we looked is not overwritten either.
    let made = std::fs::File::options().write(true).create_new(true).open(&file.path);
    made.and_then(|mut made| made.write_all(file.text.as_bytes())).map_err(told)
}

/// A path without a leading `./`.
fn plain(path: &Path) -> PathBuf {
    path.strip_prefix(".").unwrap_or(path).to_owned()
}
