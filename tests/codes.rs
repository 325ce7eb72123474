//! The reference of diagnostic codes is complete and true: every code of the source has an entry and every entry
//! a code, every wrong example gives exactly its code, and every right one loads without a word.
//!
//! `UPDATE_EXPECTED=1 cargo test --test codes` rewrites `docs/codes.md`.
#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests")]

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use punctual::definition::catalog::{self, Catalog};
use punctual::definition::diagnostic::Diagnostic;
use punctual::definition::environment::Environment;
use punctual::definition::folder::Folder;
use punctual::definition::reference::{Entry, Example, entries, markdown};

#[path = "codes/told.rs"]
mod told;

use told::{Files, told};

const CONFIGURATION: &str = "
providers: {openai: {kind: openai}, anthropic: {kind: anthropic}}
models:
  quick:
    paths: [{provider: openai, model: gpt-5-mini}, {provider: anthropic, model: claude-haiku-4-5}]
  balanced:
    paths: [{provider: openai, model: gpt-5}, {provider: anthropic, model: claude-sonnet-4-6}]
";

/// Every code that the program can report: `Code("P….")` outside of tests and of the reference itself.
fn codes_of_the_source() -> BTreeSet<String> {
    let mut codes = BTreeSet::new();
    let mut queue = vec![PathBuf::from("src")];
    while let Some(folder) = queue.pop() {
        for entry in std::fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.to_string_lossy().replace('\\', "/");
            if path.is_dir() {
                if !name.ends_with("/tests") {
                    queue.push(path);
                }
            } else if path.extension().is_some_and(|e| e == "rs") && !name.ends_with("tests.rs") {
                codes.extend(codes_of(&std::fs::read_to_string(&path).unwrap()));
            }
        }
    }
    codes
}

fn codes_of(text: &str) -> Vec<String> {
    let code = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or(text);
    let quoted = code.split("Code(\"").skip(1);
    quoted.filter_map(|rest| rest.split('"').next()).map(str::to_owned).collect()
}

fn load(files: &Files) -> Catalog {
    let dir = tempfile::tempdir().unwrap();
    if !files.iter().any(|(name, _)| name == "punctual.yaml") {
        write(dir.path(), "punctual.yaml", CONFIGURATION.as_bytes());
    }
    std::fs::create_dir_all(dir.path().join("workflows")).unwrap();
    for (name, bytes) in files {
        write(dir.path(), name, bytes);
    }
    if files.iter().any(|(name, _)| name.starts_with("tools/")) {
        std::fs::remove_dir(dir.path().join("workflows")).unwrap();
    }
    let keys = Environment::of([("OPENAI_API_KEY", "k"), ("ANTHROPIC_API_KEY", "k")]);
    catalog::load(&Folder::at(dir.path()), &keys, None)
}

fn write(folder: &Path, name: &str, bytes: &[u8]) {
    let path = folder.join(name);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, bytes).unwrap();
}

fn files(entry: &Entry) -> Option<[Files; 2]> {
    if let Example::Told { .. } = entry.example {
        return told(entry.code);
    }
    let owned = |files: Vec<(&str, &str)>| {
        files.into_iter().map(|(n, t)| (n.to_owned(), t.as_bytes().to_vec())).collect()
    };
    Some(entry.files().map(owned))
}

fn found(catalog: &Catalog) -> BTreeSet<&str> {
    catalog.diagnostics.iter().map(|found| found.code.0).collect()
}

fn words(catalog: &Catalog) -> String {
    catalog.diagnostics.iter().map(Diagnostic::to_string).collect::<Vec<_>>().join("\n")
}

#[test]
fn every_code_has_an_entry_and_every_entry_a_code() {
    let source = codes_of_the_source();
    let explained: BTreeSet<String> = entries().iter().map(|e| e.code.to_owned()).collect();
    let missing: Vec<_> = source.difference(&explained).collect();
    assert!(missing.is_empty(), "without an entry in src/definition/reference/: {missing:?}");
    let unused: Vec<_> = explained.difference(&source).collect();
    assert!(unused.is_empty(), "entries of codes that nothing reports: {unused:?}");
    assert!(source.len() >= 60);
}

#[test]
fn wrong_examples_give_exactly_their_code_and_right_ones_load_without_a_word() {
    let mut wrong = Vec::new();
    for entry in entries() {
        // Both need a past or more than one code; each has a test of its own below.
        if ["P0609", "P0614"].contains(&entry.code) {
            continue;
        }
        // A build with the feature speaks what its absence is about.
        if cfg!(feature = "bedrock") && entry.code == "P0511" {
            continue;
        }
        let Some([bad, good]) = files(entry) else {
            wrong.push(format!("{}: told in words, and no files in `told`", entry.code));
            continue;
        };
        let (bad, good) = (load(&bad), load(&good));
        if found(&bad) != BTreeSet::from([entry.code]) {
            wrong.push(format!("{} wrong example:\n{}", entry.code, words(&bad)));
        }
        if !good.diagnostics.is_empty() {
            wrong.push(format!("{} right example:\n{}", entry.code, words(&good)));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

#[test]
fn a_configuration_that_is_gone_has_its_code() {
    let dir = tempfile::tempdir().unwrap();
    write(dir.path(), "punctual.yaml", CONFIGURATION.as_bytes());
    std::fs::create_dir(dir.path().join("workflows")).unwrap();
    let keys = Environment::of([("OPENAI_API_KEY", "k"), ("ANTHROPIC_API_KEY", "k")]);
    let folder = Folder::at(dir.path());
    let before = catalog::load(&folder, &keys, None);
    assert!(before.diagnostics.is_empty(), "{}", words(&before));
    std::fs::remove_file(dir.path().join("punctual.yaml")).unwrap();
    let after = catalog::load(&folder, &keys, Some(&before));
    assert_eq!(found(&after), BTreeSet::from(["P0609"]));
    write(dir.path(), "punctual.yaml", CONFIGURATION.as_bytes());
    assert!(catalog::load(&folder, &keys, Some(&after)).diagnostics.is_empty());
}

#[test]
fn a_file_with_more_than_a_hundred_problems_says_so_once() {
    let keys = |count: usize| {
        let keys = (0..count).map(|n| format!("k{n}: 1\n")).collect::<Vec<_>>().concat();
        let text = format!("description: d\n{keys}steps: {{s: {{max_tokens: 9, prompt: x}}}}\n");
        load(&vec![("workflows/example.yaml".to_owned(), text.into_bytes())])
    };
    let many = keys(150);
    assert_eq!(found(&many), BTreeSet::from(["P0104", "P0614"]));
    assert_eq!(many.diagnostics.len(), 101);
    let enough = keys(100);
    assert_eq!((enough.diagnostics.len(), found(&enough)), (100, BTreeSet::from(["P0104"])));
}

#[test]
fn limits_of_files_and_folders_are_told_in_their_exact_words() {
    let said = |code: &str| words(&load(&told(code).unwrap()[0]));
    assert_eq!(
        said("P0602"),
        "workflows/example.yaml error[P0602]: 'example.yaml' is larger than 1 MiB\n\
         help: pass large documents as input; a definition is small"
    );
    assert_eq!(
        said("P0607"),
        "workflows error[P0607]: the folder holds 1001 workflows; the first 1000 are served\n\
         help: use several folders, with a server each"
    );
    let text = said("P0605");
    assert!(text.contains(":3:1 error[P0605]: the workflow has 201 steps; at most 200"), "{text}");
}

#[test]
fn the_reference_is_committed_as_it_is_generated() {
    let path = "docs/codes.md";
    if std::env::var_os("UPDATE_EXPECTED").is_some() {
        write(Path::new("."), path, markdown().as_bytes());
    }
    let committed = std::fs::read_to_string(path).unwrap_or_default();
    assert!(
        committed == markdown(),
        "{path} is out of date: UPDATE_EXPECTED=1 cargo test --test codes"
    );
}

#[test]
fn entries_are_texts_that_can_be_read() {
    for entry in entries() {
        let text = entry.text;
        assert!(text.ends_with('.') && text.len() > 60 && !text.contains("  "), "{}", entry.code);
        assert!(!entry.title.ends_with('.') && entry.title.len() <= 72, "{}", entry.code);
        for right in [false, true] {
            assert!(entry.shown(right).ends_with('\n'), "{}", entry.code);
            assert!(entry.shown(right).lines().all(|l| l.chars().count() <= 120), "{}", entry.code);
        }
    }
}
