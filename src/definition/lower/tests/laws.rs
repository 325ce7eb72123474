//! Whatever the bytes: no panic, and every diagnostic can be shown.

use proptest::prelude::*;

use super::*;
use crate::definition::config;
use crate::definition::shelf;

const CONFIGURATION: &str = include_str!("../../../../tests/definitions/punctual.yaml");

/// Pieces that have a meaning somewhere in a file.
const PIECES: [&str; 30] = [
    "\n", "  ", "\t", ":", ": ", "- ", "[", "]", "{", "}", "{{ ", " }}", "{% if ", "%}", "|", ">-",
    "'", "\"", "#", "&a ", "*a", "<<", "!!", "$ref", "?", "null", "ü", "\u{feff}", "\r", "plan",
];

#[derive(Clone, Debug)]
enum Change {
    Insert(prop::sample::Index, usize),
    Remove(prop::sample::Index, usize),
    Double(prop::sample::Index, prop::sample::Index),
}

fn changes() -> impl Strategy<Value = Vec<Change>> {
    let index = any::<prop::sample::Index>;
    let change = prop_oneof![
        (index(), 0..PIECES.len()).prop_map(|(at, piece)| Change::Insert(at, piece)),
        (index(), 1_usize..20).prop_map(|(at, count)| Change::Remove(at, count)),
        (index(), index()).prop_map(|(from, to)| Change::Double(from, to)),
    ];
    prop::collection::vec(change, 1..6)
}

fn apply(text: &str, changes: &[Change]) -> String {
    let mut chars: Vec<char> = text.chars().collect();
    for change in changes {
        if chars.is_empty() {
            break;
        }
        match change {
            Change::Insert(at, piece) => {
                let at = at.index(chars.len());
                chars.splice(at..at, PIECES[*piece].chars());
            }
            Change::Remove(at, count) => {
                let at = at.index(chars.len());
                let end = (at + count).min(chars.len());
                chars.drain(at..end);
            }
            Change::Double(from, to) => {
                let (from, to) = (from.index(chars.len()), to.index(chars.len()));
                let part: Vec<char> = chars[from..(from + 40).min(chars.len())].to_vec();
                chars.splice(to..to, part);
            }
        }
    }
    chars.into_iter().collect()
}

fn shown(found: &[Diagnostic], lines: usize) {
    for diagnostic in found {
        let text = diagnostic.to_string();
        assert!(text.contains(diagnostic.code.0));
        serde_json::to_string(diagnostic).unwrap();
        if let Some(span) = diagnostic.span.filter(|_| diagnostic.file == "flow.yaml") {
            assert!(span.start.line <= lines && span.start <= span.end, "{text}");
        }
    }
}

fn check(text: &str) {
    let found = lowered(text, &Configuration::simulated("calm", 1));
    shown(&found.diagnostics, text.lines().count() + 1);
    let error = found.diagnostics.iter().any(Diagnostic::is_error);
    assert_eq!(found.workflow.is_none(), error, "{text}");
}

fn check_configuration(text: &str) {
    let source = Source::new("punctual.yaml", text);
    let (_, found) =
        config::load(source, std::path::Path::new("punctual.yaml"), &Environment::default());
    shown(&found, usize::MAX);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_damaged_workflow_is_refused_with_places_or_loads(
        which in 0..3_usize,
        changes in changes(),
    ) {
        check(&apply([RFP, TRIAGE, SHAPES][which], &changes));
    }

    #[test]
    fn a_damaged_configuration_is_refused_with_places_or_loads(changes in changes()) {
        check_configuration(&apply(CONFIGURATION, &changes));
    }

    #[test]
    fn any_bytes_at_all_are_survived(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        if let Ok(source) = shelf::text(bytes, "flow.yaml".to_owned(), "flow.yaml") {
            check(&source.text);
            check_configuration(&source.text);
        }
    }

    #[test]
    fn any_pieces_at_all_are_survived(pieces in prop::collection::vec(0..PIECES.len(), 0..60)) {
        let text: String = pieces.iter().map(|piece| PIECES[*piece]).collect();
        check(&text);
        check(&format!("description: d\nsteps:\n  a:\n    prompt: {text}\n    output: {text}\n"));
    }
}
