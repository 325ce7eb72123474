//! `NAME.cases.yaml` → the cases of `NAME.yaml`, checked against it. What is wrong with a case takes that case out, and
//! nothing else: neither its neighbours nor the workflow.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::ops::Range;
use std::path::PathBuf;
use std::time::Duration;

use schemars::JsonSchema;

use crate::definition::diagnostic::Diagnostic;
use crate::definition::editor::case::{Answer, ExpectKeys};
use crate::definition::editor::mapping::{Mapping, Named};
use crate::definition::editor::word::{OneOf, Regime};
use crate::definition::editor::{self, leaf};
use crate::definition::keys;
use crate::definition::page::{MISSING_KEY, Page, Reader, Spanned, WRONG_VALUE};
use crate::definition::shelf::Shelf;
use crate::definition::source::Source;
use crate::definition::yaml::{Kind, Node};
use crate::domain::finding::Code;
use crate::workflow::Workflow;
use crate::workflow::case::{CASE_REGIME, CASE_SEED, Case, Cases};

mod answer;
mod expect;
mod fit;
mod input;
mod item;
mod text;
pub mod write;

/// Two cases of one name.
pub const DUPLICATE_NAME: Code = Code("P0701");
/// A step that the workflow does not have, or that asks no model.
pub const UNKNOWN_STEP: Code = Code("P0702");
/// What no model can have answered.
pub const NOT_AN_ANSWER: Code = Code("P0703");
/// An input that the workflow refuses.
pub const INPUT_UNFIT: Code = Code("P0704");
/// An answer that its step refuses, with no other to follow.
pub const ANSWER_UNFIT: Code = Code("P0705");
/// More or fewer answers than items.
pub const ITEM_COUNT: Code = Code("P0706");
/// A field that the output does not have.
pub const UNKNOWN_FIELD: Code = Code("P0707");
/// An expectation that nothing can meet.
pub const NEVER_MET: Code = Code("P0708");
/// More cases, or more bytes of input, than are read.
pub const TOO_MANY_CASES: Code = Code("P0709");
/// Cases without their workflow.
pub const NO_WORKFLOW: Code = Code("P0710");
/// A `check` that is neither true nor false.
pub const CHECK_NEEDS_BOOLEAN: Code = Code("P0711");

/// Most cases of one workflow.
pub const CASE_LIMIT: usize = 500;
/// Most attempts recorded of one step or item.
pub const ATTEMPT_LIMIT: usize = 64;
/// Most bytes of all files that the inputs of one cases file name.
pub const INPUT_LIMIT: usize = 16 << 20;
/// Most characters of a case's name.
const NAME_LIMIT: usize = 120;
/// The end of a cases file's name.
const ENDS: [&str; 2] = [".cases.yaml", ".cases.yml"];
/// Least and greatest deadline of a case.
const DEADLINES: std::ops::RangeInclusive<Duration> =
    Duration::from_millis(100)..=Duration::from_secs(600);

/// What cases are checked with.
#[derive(Clone, Copy, Debug)]
pub struct Context<'a> {
    /// The workflow's name.
    pub name: &'a str,
    /// The folder its files are in.
    pub shelf: &'a Shelf,
    /// The workflow; without it nothing but the file's own form can be checked.
    pub workflow: Option<&'a Workflow>,
}

/// A cases file, read and checked.
#[derive(Debug)]
pub struct LoweredCases {
    /// Its sound cases.
    pub cases: Cases,
    /// Everything found.
    pub diagnostics: Vec<Diagnostic>,
    /// The files it names; a change of one is a change of the cases.
    pub files: Vec<PathBuf>,
}

/// The name of the workflow whose cases a file holds; `None` where it is no cases file.
#[must_use]
pub fn workflow_of(file: &str) -> Option<&str> {
    let stem = ENDS.iter().find_map(|end| file.strip_suffix(end))?;
    (!stem.is_empty() && !stem.starts_with('.')).then_some(stem)
}

/// Reads and checks a cases file.
#[must_use]
pub fn lower(context: Context<'_>, source: Source) -> LoweredCases {
    let file = context.shelf.path(source.label.rsplit('/').next().unwrap_or(&source.label));
    let mut cases = Cases {
        workflow: context.name.to_owned(),
        label: source.label.clone(),
        file,
        ..Cases::default()
    };
    let mut hasher = DefaultHasher::new();
    source.text.hash(&mut hasher);
    context.workflow.map(|workflow| &workflow.version).hash(&mut hasher);
    let mut diagnostics = Vec::new();
    let Some(page) = Page::parse(source, &mut diagnostics) else {
        cases.version = hasher.finish();
        return LoweredCases { cases, diagnostics, files: Vec::new() };
    };
    let reader = Reader::new(&page, &mut diagnostics);
    let mut lowering = Lowering { context, reader, files: Vec::new(), bytes: 0, hasher };
    lowering.run(&mut cases);
    let Lowering { files, hasher, .. } = lowering;
    cases.version = hasher.finish();
    LoweredCases { cases, diagnostics, files }
}

struct Lowering<'a> {
    context: Context<'a>,
    reader: Reader<'a>,
    files: Vec<PathBuf>,
    /// Of the files read so far.
    bytes: usize,
    hasher: DefaultHasher,
}

/// A case: a known input, what models answer to it, and what must come of it. punctual test runs it offline, in
/// virtual time.
#[derive(Default, JsonSchema)]
#[schemars(inline, transform = Mapping::closed().required(&["name"]))]
pub(in crate::definition) struct RawCase<'n> {
    /// What is special about the case, as a refund outside the window: its own in this file, 1 to 120 characters.
    #[schemars(with = "leaf::SomeText")]
    name: Option<Spanned<String>>,
    /// The arguments of the call: name → value. {$file: inputs/report.txt} stands for a file's content, at any place
    /// and relative to this file. Default: none.
    #[schemars(schema_with = "editor::case::input")]
    input: Option<&'n Node>,
    /// The simulated world it is tested in. Default: calm.
    #[schemars(with = "OneOf<Regime>")]
    regime: Option<String>,
    /// The seed of that world's luck: a whole number from 0. Default: 1.
    #[schemars(with = "u64")]
    seed: Option<u64>,
    /// A caller's own deadline, from 100ms to 10m: it shortens the workflow's. Default: the workflow's.
    #[schemars(with = "leaf::Duration")]
    deadline: Option<Duration>,
    /// What models answer: step → answer; for an each step a list of answers, one an item, null where it is made up.
    /// What is not given is made up by shape.
    #[schemars(with = "Named<Answer>")]
    answers: Option<&'n Node>,
    /// What must come of it. What is not said is not looked at.
    #[schemars(with = "ExpectKeys")]
    expect: Option<&'n Node>,
}

impl Lowering<'_> {
    fn run(&mut self, cases: &mut Cases) {
        let page = self.reader.page;
        // A file of comments alone is an empty list.
        if matches!(&page.root.kind, Kind::Map(entries) if entries.is_empty()) {
            return;
        }
        let items = self.reader.items(&page.root, "a cases file");
        if items.is_empty()
            && let Some(last) = self.reader.found.last_mut()
        {
            last.help(
                "each case begins with a dash: `- name: …`, below it `input`, `answers`, `expect`",
            );
        }
        cases.written = items.len();
        if items.len() > CASE_LIMIT {
            let message =
                format!("the file holds {} cases; the first {CASE_LIMIT} are read", items.len());
            let at = items[CASE_LIMIT].span.clone();
            self.reader
                .error(TOO_MANY_CASES, &at, message)
                .help("keep those that differ in what they test");
        }
        let mut names: Vec<(String, usize)> = Vec::new();
        let broken = self.broken(items);
        for (node, broken) in items.iter().zip(broken).take(CASE_LIMIT) {
            let before = self.errors();
            let case = self.case(node, &mut names);
            if self.errors() == before && !broken && !self.reader.is_full() {
                cases.list.extend(case);
            }
        }
    }

    /// Which cases the file's YAML was refused in: what was refused there has been left out, and the case would test
    /// something else than it says. So would one with an alias, which may stand for such a part.
    fn broken(&self, items: &[Node]) -> Vec<bool> {
        let source = &self.reader.page.source;
        let errors = self.reader.found.iter().filter(|found| found.is_error());
        let refused: Vec<usize> =
            errors.filter_map(|found| found.span.as_ref()).map(|span| span.start.line).collect();
        let begins = |node: &Node| self.line(node.span.start);
        let of = |(at, node): (usize, &Node)| {
            let end = items.get(at + 1).map_or(usize::MAX, begins);
            let text = source.text.get(node.span.clone()).unwrap_or_default();
            refused.iter().any(|line| (begins(node)..end).contains(line))
                || (!refused.is_empty() && has_alias(text))
        };
        items.iter().enumerate().map(of).collect()
    }

    fn errors(&self) -> usize {
        self.reader.found.iter().filter(|found| found.is_error()).count()
    }

    fn line(&self, at: usize) -> usize {
        self.reader.page.source.position(at).line
    }

    fn case(&mut self, node: &Node, names: &mut Vec<(String, usize)>) -> Option<Case> {
        let raw = self.raw(node);
        let line = self.line(node.span.start);
        let name = self.name(raw.name.as_ref(), node, names)?;
        let what = format!("case '{name}'");
        let workflow = self.context.workflow?;
        let top = node.span.start..node.span.start;
        let input = self.input(raw.input, &top, workflow, &what);
        let expect = raw.expect.map(|node| self.expect(node, workflow, &what)).unwrap_or_default();
        let answers = raw
            .answers
            .map(|node| self.answers(node, workflow, &expect, &what))
            .unwrap_or_default();
        let input = input?;
        let stands = (node.span.start, raw.answers);
        self.count_items(stands, (&answers, &expect, &input), workflow, &what);
        Some(Case {
            name,
            line,
            input,
            regime: raw.regime.unwrap_or_else(|| CASE_REGIME.to_owned()),
            seed: raw.seed.unwrap_or(CASE_SEED),
            deadline: raw.deadline,
            answers,
            expect,
        })
    }

    fn raw<'n>(&mut self, node: &'n Node) -> RawCase<'n> {
        let mut raw = RawCase::default();
        let reader = &mut self.reader;
        for (key, value) in reader.map(node, &keys::CASE) {
            let what = format!("`{}`", key.name);
            match key.name.as_str() {
                "name" => raw.name = reader.text(value, &what),
                "input" => raw.input = Some(value),
                "regime" => {
                    let words = crate::definition::config::REGIMES.map(|word| (word, word));
                    raw.regime = reader.word(value, &what, &words).map(|w| w.value.to_owned());
                }
                "seed" => raw.seed = reader.integer(value, &what, 0..=u64::MAX).map(|n| n.value),
                "deadline" => {
                    raw.deadline = reader.duration(value, &what, DEADLINES).map(|d| d.value);
                }
                "answers" => raw.answers = Some(value),
                "expect" => raw.expect = Some(value),
                _ => {}
            }
        }
        raw
    }

    /// The case's name, which must be its own.
    fn name(
        &mut self,
        written: Option<&Spanned<String>>,
        node: &Node,
        names: &mut Vec<(String, usize)>,
    ) -> Option<String> {
        let Some(Spanned { value: name, span }) = written else {
            self.unnamed(node);
            return None;
        };
        let name = name.trim().to_owned();
        if name.is_empty() || name.chars().count() > NAME_LIMIT || name.contains('\n') {
            let message = format!("a case's name has 1 to {NAME_LIMIT} characters, on one line");
            self.reader
                .error(WRONG_VALUE, span, message)
                .help("say what is special about it: `a refund outside the window`");
            return None;
        }
        if let Some((_, line)) = names.iter().find(|(known, _)| *known == name) {
            let message = format!("two cases are named '{name}'; the first is in line {line}");
            self.reader.error(DUPLICATE_NAME, span, message).help("say what is special about each");
            return None;
        }
        let line = self.line(span.start);
        names.push((name.clone(), line));
        Some(name)
    }

    fn unnamed(&mut self, node: &Node) {
        let Kind::Map(entries) = &node.kind else { return };
        // A name of the wrong type, or misspelt, has been told.
        let near = |key: &str| key == "name" || keys::CASE.misspells(key, "name");
        if !entries.iter().any(|(key, _)| near(&key.name)) {
            let at: Range<usize> = node.span.start..node.span.start + 1;
            self.reader
                .error(MISSING_KEY, &at, "the case has no `name`")
                .help("say what is special about it: `name: a refund outside the window`");
        }
    }
}

/// Whether a YAML text looks as if it holds an alias.
fn has_alias(text: &str) -> bool {
    let named = |c: char| c.is_alphanumeric() || c == '_';
    let mut words = text.split([' ', ',', '[', '{', '\n']);
    words.any(|word| word.strip_prefix('*').is_some_and(|name| name.starts_with(named)))
}
