//! Laws over random texts and values.
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;

use super::super::chunk::chunks;
use super::grammar::{KINDS, expand};
use super::values::{any_json, bindings_of, conforms};
use super::*;
use crate::domain::message::estimate_tokens;

/// Words that expressions are made of, good and bad ones.
const WORDS: [&str; 58] = [
    "plan",
    "gaps",
    "input",
    "index",
    "read",
    "items",
    ".",
    ".",
    ".",
    "questions",
    "text",
    "score",
    "note",
    "claims",
    "tone",
    "x",
    "(",
    ")",
    "(",
    ")",
    "[",
    "]",
    ",",
    "+",
    "-",
    "*",
    "/",
    "==",
    "!=",
    "<",
    "<=",
    ">",
    ">=",
    "and",
    "or",
    "not",
    "in",
    "??",
    "??",
    "all(",
    "any(",
    "for",
    "null",
    "true",
    "false",
    "1",
    "2.5",
    "'a'",
    "\"b\"",
    "length(",
    "min(",
    "chunks(",
    "join(",
    "ü",
    "'",
    "#",
    "1e400",
    "0",
];

fn random_text() -> impl Strategy<Value = String> {
    prop_oneof![
        any::<String>(),
        prop::collection::vec(prop::sample::select(&WORDS[..]), 0..24).prop_map(|w| w.join(" ")),
        prop::collection::vec(prop::sample::select(&WORDS[..]), 0..24).prop_map(|w| w.concat()),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn no_text_and_no_value_panics(source in random_text(), bindings in any_json()) {
        match Expression::parse(&source) {
            Ok(expression) => {
                let (_, findings) = expression.check(&scope());
                for finding in findings {
                    prop_assert!(source.get(finding.range).is_some());
                }
                let _ = expression.mentions();
                let _ = expression.evaluate(&bindings);
                let _ = expression.evaluate(&super::bindings());
            }
            Err(finding) => prop_assert!(source.get(finding.range).is_some()),
        }
    }

    #[test]
    fn chunks_lose_nothing_and_keep_their_bound(text in any::<String>(), tokens in 0..40_u64) {
        let pieces = chunks(&text, tokens);
        prop_assert_eq!(pieces.concat(), text.as_str());
        for piece in pieces {
            prop_assert!(!piece.is_empty());
            prop_assert!(estimate_tokens(piece) <= tokens.max(1));
        }
    }

    #[test]
    fn a_number_reads_back_as_it_was(number in any::<f64>()) {
        prop_assume!(number.is_finite());
        let json = Value::from(number);
        let serde_json::Value::Number(inner) = &json else { return Ok(()) };
        let back = number::Number::from_json(inner).to_json();
        prop_assert_eq!(back.as_f64(), Some(number));
    }
}

#[test]
fn a_checked_expression_fits_its_type_whatever_its_values() {
    let mut runner = TestRunner::deterministic();
    let scope = scope();
    let values = bindings_of(&scope);
    let values: Vec<Value> =
        (0..60).map(|_| values.new_tree(&mut runner).expect("values").current()).collect();
    let mut accepted = 0;
    for at in 0..800 {
        let mut random = runner.new_rng();
        let mut choose = |count: usize| random.next_u32() as usize % count.max(1);
        let source = expand(KINDS[at % KINDS.len()], 1 + at % 3, &mut choose);
        let expression = Expression::parse(&source).unwrap_or_else(|f| panic!("{source}: {f:?}"));
        let (shape, findings) = expression.check(&scope);
        if !findings.is_empty() {
            continue;
        }
        accepted += 1;
        let bindings = &values[at % values.len()];
        let mut evaluator = Evaluator::new(bindings);
        let value = evaluator.value(&expression.0.root).into_owned();
        assert_eq!(evaluator.mismatches(), 0, "{source} under {bindings}");
        assert!(conforms(&value, &shape), "{source} is {value}, not {shape:?}, under {bindings}");
    }
    assert!(accepted > 200, "only {accepted} of 800 were well typed");
}
