//! `punctual run --record`: a run becomes a case beside its workflow. What stands in the file already is not changed
//! by a byte.

use std::fs::OpenOptions;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value, json};

use super::exit::Exit;
use super::output;
use super::place::{Place, shown};
use super::test::{Stage, told};
use crate::definition::case::write::{MODELINE, entry, is_writable};
use crate::definition::catalog::{cases_beside, load_cases};
use crate::definition::diagnostic::Diagnostic;
use crate::definition::page::Page;
use crate::definition::shelf::{FILE_LIMIT, read_file};
use crate::definition::source::Source;
use crate::definition::yaml::Kind;
use crate::trace::report::RunReport;
use crate::workflow::Workflow;
use crate::workflow::case::{CASE_REGIME, CASE_SEED, Case, Ending, Expect, StepAnswers, digest};

/// Where a run will be recorded.
#[derive(Debug)]
pub struct Record {
    workflow: Arc<Workflow>,
    file: PathBuf,
    /// What stands there now; `None` where there is no file yet.
    before: Option<String>,
    /// Columns before the dash of its entries.
    indent: usize,
    name: Option<String>,
    deadline: Option<Duration>,
}

impl Record {
    /// Looks at the place before anything is spent.
    ///
    /// # Errors
    /// The workflow is built in, its cases cannot be read or extended, or the name is taken; in words.
    pub fn prepare(
        workflow: &Arc<Workflow>,
        builtin: bool,
        name: Option<&str>,
        deadline: Option<Duration>,
    ) -> Result<Self, String> {
        if builtin {
            return Err(format!(
                "'{}' is built into the program, and nothing can be recorded beside it: copy the workflow into a folder, and run it there with --dir",
                workflow.name
            ));
        }
        let beside = || workflow.file.with_file_name(format!("{}.cases.yaml", workflow.name));
        let file = cases_beside(&workflow.file).unwrap_or_else(beside);
        let mut record = Self {
            workflow: workflow.clone(),
            file,
            before: None,
            indent: 0,
            name: name.map(|name| name.trim().to_owned()),
            deadline,
        };
        if record.name.as_ref().is_some_and(|name| name.is_empty() || name.contains('\n')) {
            return Err("--name: give one line of text".to_owned());
        }
        if record.file.exists() {
            record.look()?;
        }
        Ok(record)
    }

    /// What the file holds, and whether an entry can follow.
    fn look(&mut self) -> Result<(), String> {
        let label = shown(&self.file);
        let source = read_file(&self.file, label.clone(), &label).map_err(|problem| problem.message)?;
        let mut found = Vec::new();
        let page = Page::parse(source.clone(), &mut found);
        let page = page.filter(|_| found.is_empty()).ok_or_else(|| {
            format!("{label} has errors, and nothing is added to it: see 'punctual check {label}'")
        })?;
        match &page.root.kind {
            Kind::Map(entries) if entries.is_empty() => {}
            Kind::List(items) => {
                let Some(first) = items.first() else {
                    return Err(format!("{label}: an entry cannot be added to `[]`; remove the brackets"));
                };
                let line = source.line_at(first.span.start);
                let indent = line.len() - line.trim_start_matches(' ').len();
                if !line.trim_start().starts_with("- ") {
                    return Err(format!(
                        "{label}: its cases stand in brackets; write one below the other, each after a dash, to have one added"
                    ));
                }
                self.indent = indent;
                for case in items {
                    let name = case.at_pointer("/name");
                    if let (Some(Kind::Scalar(scalar)), Some(wanted)) =
                        (name.map(|node| &node.kind), &self.name)
                        && scalar.text.trim() == wanted
                    {
                        return Err(format!("{label} has a case named '{wanted}'; give another --name"));
                    }
                }
            }
            Kind::Map(_) | Kind::Scalar(_) => {
                return Err(format!("{label} is no list of cases, and nothing is added to it"));
            }
        }
        self.before = Some(source_text(&self.file, &source));
        Ok(())
    }

    /// Adds the case of an ended run, and says whether it passes.
    pub fn write(self, report: &RunReport, recorded: (Value, Vec<StepAnswers>), place: &Place) -> Exit {
        if !matches!(report.outcome.as_str(), "delivered" | "degraded") {
            output::note("not recorded: a case is made of a run that has a result");
            return Exit::Failed;
        }
        let (input, answers) = recorded;
        let name = self.name.clone().unwrap_or_else(|| format!("recorded {}", report.run_id));
        match self.append(&name, report, input, answers) {
            Ok(()) => self.prove(&name, place),
            Err(why) => output::refuse(Exit::Failed, format_args!("not recorded: {why}")),
        }
    }

    fn append(
        &self,
        name: &str,
        report: &RunReport,
        input: Value,
        answers: Vec<StepAnswers>,
    ) -> Result<(), String> {
        if !is_writable(&input) {
            return Err("its input has a field named `$file`, which names files in cases".to_owned());
        }
        let case = Case {
            name: name.to_owned(),
            line: 0,
            input,
            regime: CASE_REGIME.to_owned(),
            seed: CASE_SEED,
            deadline: self.deadline,
            answers,
            expect: Expect { outcome: Ending::ALL.to_vec(), ..Expect::default() },
        };
        let each = |step: &str| {
            let of = self.workflow.step_named(step).map(|at| &self.workflow.steps[at]);
            of.is_some_and(|of| of.each.is_some())
        };
        let added = entry(&case, each, &expected(report), self.indent);
        let text = self.text_to_add(&added);
        let before = self.before.as_deref().unwrap_or_default();
        if (before.len() + text.len()) as u64 > FILE_LIMIT {
            return Err(format!(
                "{} would be larger than 1 MiB; put the input into a file beside the workflow and name it, `input: {{$file: …}}`",
                shown(&self.file)
            ));
        }
        self.verify(&format!("{before}{text}"), &case)?;
        let mut open = OpenOptions::new();
        let opened = if self.before.is_some() {
            open.append(true).open(&self.file)
        } else {
            open.write(true).create_new(true).open(&self.file)
        };
        opened
            .and_then(|mut file| file.write_all(text.as_bytes()))
            .map_err(|error| format!("{} cannot be written: {error}", shown(&self.file)))
    }

    /// What goes behind the text that is there.
    fn text_to_add(&self, added: &str) -> String {
        match self.before.as_deref() {
            None => format!("{MODELINE}{added}"),
            Some(before) if before.trim().is_empty() => added.to_owned(),
            Some(before) if before.ends_with('\n') => format!("\n{added}"),
            Some(_) => format!("\n\n{added}"),
        }
    }

    /// Reads the text that would stand there: its last case must be the one that was added.
    fn verify(&self, text: &str, case: &Case) -> Result<(), String> {
        let mut found = Vec::new();
        let page = Page::parse(Source::new(shown(&self.file), text), &mut found);
        let last = page.as_ref().and_then(|page| match &page.root.kind {
            Kind::List(items) => items.last(),
            Kind::Map(_) | Kind::Scalar(_) => None,
        });
        let input = last.and_then(|last| last.at_pointer("/input"));
        let input = input.map(crate::definition::page::to_json);
        let same = input.is_some_and(|input| digest(&input) == digest(&case.input));
        if same && found.is_empty() {
            return Ok(());
        }
        Err(format!("no case can be added at the end of {}; what follows its list?", shown(&self.file)))
    }

    /// Plays the new case as 'punctual test' does.
    fn prove(&self, name: &str, place: &Place) -> Exit {
        let file = shown(&self.file);
        let stage = Stage::set(&[self.workflow.file.to_string_lossy().into_owned()], place);
        let played = stage.play(name);
        let Some((differences, report)) = played else {
            let read = load_cases(&self.file, Some(&self.workflow));
            let first = read.diagnostics.iter().find(|found| found.is_error());
            output::note(format_args!("recorded as '{name}' in {file}"));
            let why = first.map(Diagnostic::to_string).unwrap_or_default();
            return output::refuse(Exit::Failed, format_args!("it cannot be tested as it stands: {why}"));
        };
        if differences.is_empty() {
            output::note(format_args!("recorded as '{name}' in {file}; it passes 'punctual test'"));
            return Exit::Done;
        }
        output::note(format_args!("recorded as '{name}' in {file}"));
        output::note("warning: it does not pass 'punctual test' yet; edit what it expects, or its answers:");
        for line in told(&differences, &report, output::side_screen()) {
            output::note(format_args!("  {line}"));
        }
        Exit::Done
    }
}

/// `expect` of a run, as it is written.
fn expected(report: &RunReport) -> Value {
    let mut expect = Map::new();
    expect.insert("outcome".to_owned(), json!(report.outcome));
    if !report.missing.is_empty() {
        expect.insert("missing".to_owned(), json!(report.missing));
    }
    if !report.unverified.is_empty() {
        expect.insert("unverified".to_owned(), json!(report.unverified));
    }
    if let Some(output) = &report.output {
        expect.insert("output".to_owned(), output.clone());
    }
    Value::Object(expect)
}

/// The text as it stands in the file: a byte order mark is no part of a [`Source`].
fn source_text(file: &Path, source: &Source) -> String {
    std::fs::read_to_string(file).unwrap_or_else(|_| source.text.clone())
}
