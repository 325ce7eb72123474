//! The files that prompts include: read and pinned at load, from inside the folder, in bounds.

use std::collections::BTreeMap;

use crate::definition::lower::Lowering;
use crate::definition::lower::text::Origin;
use crate::definition::source::Source;
use crate::domain::finding::{Code, Finding};
use crate::expression::code;
use crate::template::{Include, Library, MAX_DEPTH, MAX_INCLUDES, Parsed, name, too_many};

/// A file that includes itself, directly or not.
pub const INCLUDE_CYCLE: Code = Code("P0610");

/// The files of one template.
#[derive(Debug, Default)]
struct Walk {
    /// By name; `None` where a file cannot be read.
    read: BTreeMap<String, Option<Source>>,
    /// The files that the one in hand is included from, outermost first.
    open: Vec<String>,
    /// Includes so far.
    count: usize,
    /// Whether something is wrong; it has been said then.
    broken: bool,
    /// Whether it would not end.
    endless: bool,
}

impl Lowering<'_> {
    /// Reads everything that a template includes. `file` is its name where it has a file of its own. `None` where
    /// something is wrong with an include, which has been said.
    pub(super) fn library(
        &mut self,
        found: &[Include],
        origin: Origin<'_>,
        file: Option<&str>,
        owner: &str,
    ) -> Option<Library> {
        if found.is_empty() {
            return Some(Library::default());
        }
        let mut walk = Walk { open: file.map(name).into_iter().collect(), ..Walk::default() };
        self.follow(found, (origin, 1), &mut walk, owner);
        if walk.broken {
            return None;
        }
        let mut library = Library::default();
        for (name, source) in &walk.read {
            if let Some(source) = source {
                library.add(name, &source.text);
            }
        }
        Some(library)
    }

    /// Follows the includes of one text. Ends at the first that would not end.
    fn follow(
        &mut self,
        found: &[Include],
        (origin, depth): (Origin<'_>, usize),
        walk: &mut Walk,
        owner: &str,
    ) {
        for include in found {
            if walk.endless {
                return;
            }
            let file = name(&include.name);
            walk.count += 1;
            let endless = if walk.open.contains(&file) {
                Some((INCLUDE_CYCLE, cycle(&walk.open, &file), "take one of the includes out"))
            } else if walk.count > MAX_INCLUDES {
                Some((code::LIMIT, too_many(true), "put what belongs together into one file"))
            } else if depth > MAX_DEPTH {
                Some((code::LIMIT, too_many(false), "put what belongs together into one file"))
            } else {
                None
            };
            if let Some((code, message, help)) = endless {
                let (range, help) = (include.range.clone(), Some(help.to_owned()));
                self.finding(&Finding { code, range, message, help }, origin, owner);
                (walk.broken, walk.endless) = (true, true);
                return;
            }
            let known = walk.read.contains_key(&file);
            if !known {
                let source = self.included(include, origin, owner);
                walk.broken |= source.is_none();
                walk.read.insert(file.clone(), source);
            }
            let Some(source) = walk.read.get(&file).cloned().flatten() else { continue };
            let origin = Origin::File(&source);
            match Parsed::read(&source.text) {
                Ok(read) => {
                    walk.open.push(file);
                    self.follow(read.includes(), (origin, depth + 1), walk, owner);
                    walk.open.pop();
                }
                Err(finding) => {
                    self.syntax(finding, &source.text, origin, owner);
                    walk.broken = true;
                    walk.read.insert(file, None);
                }
            }
        }
    }

    /// Reads one included file, and pins it.
    fn included(&mut self, include: &Include, origin: Origin<'_>, owner: &str) -> Option<Source> {
        self.files.push(self.context.shelf.path(&include.name));
        match self.context.shelf.read(&include.name) {
            Ok(source) => {
                self.version.add(name(&include.name).as_bytes());
                self.version.add(source.text.as_bytes());
                Some(source)
            }
            Err(problem) => {
                if !self.broken(&problem, owner) {
                    let finding = Finding {
                        code: problem.code,
                        range: include.range.clone(),
                        message: problem.message,
                        help: Some(problem.help),
                    };
                    self.finding(&finding, origin, owner);
                }
                None
            }
        }
    }
}

/// `a.md → b.md → a.md`
fn cycle(open: &[String], file: &str) -> String {
    let from = open.iter().position(|name| name == file).unwrap_or(0);
    let mut names: Vec<&str> = open.iter().skip(from).map(String::as_str).collect();
    names.push(file);
    if names.len() == 2 {
        return format!("'{file}' includes itself");
    }
    format!("includes that never end: {}", names.join(" \u{2192} "))
}
