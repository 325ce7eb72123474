//! Laws over random texts and values.
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;

use super::super::chunk::chunks;
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

/// Expressions that are mostly well typed: numbers, texts, conditions and lists, made of one another.
fn typed(depth: u32) -> [BoxedStrategy<String>; 5] {
    fn of(words: &'static [&'static str]) -> BoxedStrategy<String> {
        prop::sample::select(words).prop_map(str::to_owned).boxed()
    }
    let mut number = of(&[
        "1",
        "0.5",
        "plan.count",
        "plan.score",
        "index",
        "gaps.score ?? 2",
        "input.limit",
        "gaps.score",
        "input.filled",
    ]);
    let mut text = of(&[
        "'a'",
        "plan.urgency",
        "plan.note ?? ''",
        "input.text",
        "input.tone ?? 'b'",
        "plan.note",
        "'.'",
    ]);
    let mut truth = of(&[
        "true",
        "plan.ok",
        "gaps != null",
        "gaps != null and gaps.score > 1",
        "input.tone == null or input.tone == 'a'",
        "not plan.ok",
        "any(q.weight != null and q.weight > 1 for q in plan.questions)",
        "all(length(q.topics) > 1 for q in plan.questions)",
    ]);
    let mut numbers = of(&[
        "input.numbers",
        "input.filled",
        "read.pages",
        "[1, 2.5]",
        "[]",
        "plan.questions.weight",
    ]);
    let mut texts = of(&[
        "plan.questions.text",
        "flatten(plan.questions.topics)",
        "gaps.follow_ups ?? []",
        "['a', 'b']",
        "flatten(read.claims).text",
        "read.items.item",
        "keys(plan)",
        "gaps.follow_ups",
        "[]",
    ]);
    for _ in 0..depth {
        let (n, t, b, ns, ts) = (number, text, truth, numbers, texts);
        let pair = |s: &BoxedStrategy<String>| (s.clone(), s.clone());
        number = prop_oneof![
            n.clone(),
            (pair(&n), prop::sample::select(&["+", "-", "*"][..]))
                .prop_map(|((a, b), op)| format!("({a}) {op} ({b})")),
            pair(&n).prop_map(|(a, b)| format!("(({a}) / ({b}) ?? 1)")),
            n.clone().prop_map(|a| format!("-({a})")),
            t.clone().prop_map(|a| format!("length({a})")),
            ns.clone().prop_map(|a| format!("sum({a})")),
            ns.clone().prop_map(|a| format!("(max({a}) ?? 0)")),
            pair(&n).prop_map(|(a, b)| format!("min({a}, {b})")),
            n.clone().prop_map(|a| format!("round({a}, 1)")),
        ]
        .boxed();
        text = prop_oneof![
            t.clone(),
            t.clone().prop_map(|a| format!("lower({a})")),
            t.clone().prop_map(|a| format!("trim({a})")),
            ts.clone().prop_map(|a| format!("join({a}, '-')")),
            pair(&t).prop_map(|(a, b)| format!("({a} ?? {b})")),
        ]
        .boxed();
        truth = prop_oneof![
            b.clone(),
            (pair(&b), prop::sample::select(&["and", "or"][..]))
                .prop_map(|((a, b), op)| format!("({a}) {op} ({b})")),
            (pair(&n), prop::sample::select(&["<", "==", ">=", "!="][..]))
                .prop_map(|((a, b), op)| format!("({a}) {op} ({b})")),
            (pair(&t), prop::sample::select(&["<", "==", ">=", "!="][..]))
                .prop_map(|((a, b), op)| format!("({a}) {op} ({b})")),
            b.clone().prop_map(|a| format!("not ({a})")),
            pair(&t).prop_map(|(a, b)| format!("contains({a}, {b})")),
            pair(&t).prop_map(|(a, b)| format!("starts_with({a}, {b})")),
            (t.clone(), ts.clone()).prop_map(|(a, b)| format!("({a}) in ({b})")),
            (n.clone(), ns.clone()).prop_map(|(a, b)| format!("any(x > ({a}) for x in ({b}))")),
        ]
        .boxed();
        numbers = prop_oneof![
            ns.clone(),
            pair(&n).prop_map(|(a, b)| format!("[{a}, {b}]")),
            ns.clone().prop_map(|a| format!("unique({a})")),
            (ns.clone(), n.clone()).prop_map(|(a, b)| format!("take({a}, round({b}))")),
            ns.clone().prop_map(|a| format!("flatten(batches({a}, 2))")),
        ]
        .boxed();
        texts = prop_oneof![
            ts.clone(),
            t.clone().prop_map(|a| format!("split({a}, ' ')")),
            (t.clone(), n).prop_map(|(a, b)| format!("chunks({a}, round({b}))")),
            (b, ts.clone()).prop_map(|(_, a)| format!("unique({a})")),
            (ts.clone(), ts).prop_map(|(a, b)| format!("({a} ?? {b})")),
        ]
        .boxed();
    }
    [number, text, truth, numbers, texts]
}

#[test]
fn a_checked_expression_fits_its_type_whatever_its_values() {
    let mut runner = TestRunner::deterministic();
    let scope = scope();
    let values = bindings_of(&scope);
    let mut accepted = 0;
    for strategy in typed(2) {
        for _ in 0..60 {
            let source = strategy.new_tree(&mut runner).expect("a text").current();
            let expression =
                Expression::parse(&source).unwrap_or_else(|f| panic!("{source}: {f:?}"));
            let (shape, findings) = expression.check(&scope);
            if !findings.is_empty() {
                continue;
            }
            accepted += 1;
            {
                let bindings = values.new_tree(&mut runner).expect("values").current();
                let mut evaluator = Evaluator::new(&bindings);
                let value = evaluator.value(&expression.root).into_owned();
                assert_eq!(evaluator.mismatches(), 0, "{source} under {bindings}");
                assert!(
                    conforms(&value, &shape),
                    "{source} is {value}, not {shape:?}, under {bindings}"
                );
            }
        }
    }
    assert!(accepted > 100, "only {accepted} of 300 were well typed");
}
