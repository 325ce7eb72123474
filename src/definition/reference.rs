//! What every diagnostic code means: title, reason, remedy, and a smallest wrong and right example.
//!
//! `punctual explain CODE` prints an entry, `docs/codes.md` is made from all of them, and `tests/codes.rs` proves
//! that every code of the source has one, and that every example does what is said of it. Not for messages: those
//! stand where a problem is found, with its place.

#![expect(
    clippy::needless_raw_string_hashes,
    reason = "all examples are written alike, whether they hold quotes or not"
)]

mod advice;
mod case;
mod configuration;
mod expression;
mod file;
mod graph;
mod shape;
mod template;
mod value;
mod work;

/// A code, explained.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// The stable code, `P0207`.
    pub code: &'static str,
    /// What it stands for, a few words without a full stop.
    pub title: &'static str,
    /// What it means, why it is refused, how to mend it; one paragraph.
    pub text: &'static str,
    /// A smallest file with the problem, and the same without it.
    pub example: Example,
}

/// A wrong example and its right version.
#[derive(Clone, Copy, Debug)]
pub enum Example {
    /// A workflow file.
    Workflow {
        /// With the problem.
        wrong: &'static str,
        /// Without it.
        right: &'static str,
    },
    /// A `punctual.yaml`.
    Configuration {
        /// With the problem.
        wrong: &'static str,
        /// Without it.
        right: &'static str,
    },
    /// Cases beside a workflow.
    Cases {
        /// The workflow.
        workflow: &'static str,
        /// Cases with the problem.
        wrong: &'static str,
        /// Cases without it.
        right: &'static str,
    },
    /// Several files of a folder, by their paths.
    Folder {
        /// With the problem.
        wrong: &'static [(&'static str, &'static str)],
        /// Without it.
        right: &'static [(&'static str, &'static str)],
    },
    /// Too large to show, or no text: told in words.
    Told {
        /// With the problem.
        wrong: &'static str,
        /// Without it.
        right: &'static str,
    },
}

/// The families of codes, and what they are about.
const FAMILIES: [(&str, &str); 9] = [
    ("P01", "YAML, keys and values"),
    ("P02", "Expressions and prompts"),
    ("P03", "Shapes and schemas"),
    ("P04", "Steps and their graph"),
    ("P05", "Configuration and models"),
    ("P06", "Files and limits"),
    ("P07", "Cases"),
    ("P08", "Advice"),
    ("P09", "Left for later"),
];

/// Every code, ascending.
#[must_use]
pub fn entries() -> Vec<&'static Entry> {
    let rooms: [&'static [Entry]; 10] = [
        value::ENTRIES,
        expression::ENTRIES,
        template::ENTRIES,
        shape::ENTRIES,
        graph::ENTRIES,
        work::ENTRIES,
        case::ENTRIES,
        advice::ENTRIES,
        configuration::ENTRIES,
        file::ENTRIES,
    ];
    let mut entries: Vec<&Entry> = rooms.into_iter().flatten().collect();
    entries.sort_by_key(|entry| entry.code);
    entries
}

/// The code that a word names: `P0207`, `p0207` or `207`. `None` where the word is no code's.
#[must_use]
pub fn code_of(word: &str) -> Option<String> {
    let digits = word.strip_prefix(['P', 'p']).unwrap_or(word);
    let good = (3..=4).contains(&digits.len()) && digits.bytes().all(|b| b.is_ascii_digit());
    good.then(|| format!("P{digits:0>4}"))
}

/// The entry of a code.
#[must_use]
pub fn find(code: &str) -> Option<&'static Entry> {
    entries().into_iter().find(|entry| entry.code == code)
}

/// Codes that may have been meant: one digit away, or else the code's family; all where it has none.
#[must_use]
pub fn near(code: &str) -> Vec<&'static Entry> {
    let all = entries();
    let close = |limit: usize| {
        let near = all.iter().filter(|e| strsim::damerau_levenshtein(e.code, code) <= limit);
        near.copied().collect::<Vec<_>>()
    };
    let family = |e: &&&Entry| code.get(..3).is_some_and(|family| e.code.starts_with(family));
    let related: Vec<&Entry> = all.iter().filter(family).copied().collect();
    let found = close(1);
    match (found.is_empty(), related.is_empty()) {
        (false, _) => found,
        (true, false) => related,
        (true, true) => all,
    }
}

impl Entry {
    /// The wrong and the right example as files: name and text, in the order to show them.
    #[must_use]
    pub fn files(&self) -> [Vec<(&'static str, &'static str)>; 2] {
        const WORKFLOW: &str = "workflows/example.yaml";
        const CASES: &str = "workflows/example.cases.yaml";
        const CONFIGURATION: &str = "punctual.yaml";
        match self.example {
            Example::Workflow { wrong, right } => [wrong, right].map(|t| vec![(WORKFLOW, text(t))]),
            Example::Configuration { wrong, right } => {
                [wrong, right].map(|t| vec![(CONFIGURATION, text(t))])
            }
            Example::Cases { workflow, wrong, right } => {
                [wrong, right].map(|t| vec![(WORKFLOW, text(workflow)), (CASES, text(t))])
            }
            Example::Folder { wrong, right } => {
                [wrong, right].map(|files| files.iter().map(|(n, t)| (*n, text(t))).collect())
            }
            Example::Told { .. } => [Vec::new(), Vec::new()],
        }
    }

    /// An example as lines to show: its text, each file under its name where there are several.
    #[must_use]
    pub fn shown(&self, right: bool) -> String {
        if let Example::Told { wrong, right: good } = self.example {
            return format!("{}\n", if right { good } else { wrong });
        }
        let files = &self.files()[usize::from(right)];
        let one = files.len() == 1 && !matches!(self.example, Example::Folder { .. });
        let shown = files
            .iter()
            .map(|(name, text)| if one { (*text).to_owned() } else { format!("# {name}\n{text}") });
        shown.collect::<Vec<_>>().join("\n")
    }
}

/// Raw strings start behind their first line end.
fn text(raw: &'static str) -> &'static str {
    raw.strip_prefix('\n').unwrap_or(raw)
}

/// The reference of all codes, as it stands in `docs/codes.md`.
#[must_use]
pub fn markdown() -> String {
    let mut out = String::from(
        "# Diagnostic codes\n\n\
         Every problem that `punctual check` reports has a stable code. `punctual explain P0207` prints what stands\n\
         here. This file is generated: see `tests/codes.rs`.\n",
    );
    let all = entries();
    for (family, title) in FAMILIES {
        let of_family: Vec<&&Entry> = all.iter().filter(|e| e.code.starts_with(family)).collect();
        if of_family.is_empty() {
            continue;
        }
        out.extend(["\n## ", family, ": ", title, "\n"]);
        for entry in of_family {
            out.push_str(&section(entry));
        }
    }
    out
}

fn section(entry: &Entry) -> String {
    let block = |right: bool| match entry.example {
        Example::Told { .. } => entry.shown(right),
        _ => format!("```yaml\n{}```\n", entry.shown(right)),
    };
    format!(
        "\n### {}: {}\n\n{}\n\nWrong:\n\n{}\nRight:\n\n{}",
        entry.code,
        entry.title,
        entry.text,
        block(false),
        block(true)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_recognised_as_people_write_them() {
        for word in ["P0207", "p0207", "0207", "207", "p207"] {
            assert_eq!(code_of(word).as_deref(), Some("P0207"), "{word}");
        }
        for word in ["", "P", "p02071", "20", "p02a7", "triage", "P-207", "02٠7"] {
            assert_eq!(code_of(word), None, "{word}");
        }
    }

    #[test]
    fn an_unknown_code_is_met_with_those_near_it() {
        let codes = |code| near(code).iter().map(|e| e.code).collect::<Vec<_>>();
        assert!(codes("P0277").contains(&"P0207"));
        assert!(codes("P0299").iter().all(|code| code.starts_with("P02")));
        assert_eq!(codes("P9999").len(), entries().len());
    }

    #[test]
    fn every_code_belongs_to_a_family_and_stands_once() {
        let codes: Vec<&str> = entries().iter().map(|e| e.code).collect();
        assert!(codes.windows(2).all(|pair| pair[0] < pair[1]), "{codes:?}");
        assert!(codes.iter().all(|c| FAMILIES.iter().any(|(f, _)| c.starts_with(f))));
    }
}
