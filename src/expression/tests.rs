//! What expressions mean, what is said about wrong ones, and that none of them panics.
use serde_json::{Value, json};

use super::evaluate::Evaluator;
use super::function::TABLE;
use super::*;
use crate::domain::shape::{Field, ListRange, Object, Presence, TextRange};

mod grammar;
mod laws;
pub(crate) mod values;

/// A scope with one of everything, over a plan, a fan-out, optional and nullable parts.
fn scope() -> Scope {
    let question = Shape::from(Object {
        fields: vec![
            field("id", Shape::text(), false),
            field("text", Shape::text(), false),
            field("topics", Shape::list(Shape::text()), false),
            field("weight", Shape::Number(crate::domain::shape::Range::default()), true),
        ],
        open: false,
    });
    let plan = Shape::object([
        ("questions", Shape::list(question)),
        ("count", Shape::Integer(crate::domain::shape::Range::default())),
        ("score", Shape::Number(crate::domain::shape::Range::default())),
        ("note", Shape::Nullable(Shape::text().into())),
        ("urgency", Shape::Enum(["low".into(), "high".into()].into())),
        ("ok", Shape::Boolean),
    ]);
    let read = Shape::list(Shape::object([
        ("claims", Shape::list(Shape::object([("text", Shape::text())]))),
        ("pages", Shape::Integer(crate::domain::shape::Range::default())),
    ]));
    let gaps = Shape::object([
        ("follow_ups", Shape::list(Shape::text())),
        ("score", Shape::Integer(crate::domain::shape::Range::default())),
    ]);
    let input = Shape::from(Object {
        fields: vec![
            field("text", Shape::Text(TextRange::default()), false),
            field("tone", Shape::text(), true),
            Field { default: Some(json!(5)), ..field("limit", integer(), true) },
            field(
                "numbers",
                Shape::list(Shape::Number(crate::domain::shape::Range::default())),
                false,
            ),
            field(
                "filled",
                Shape::List(integer().into(), ListRange { min: Some(1), max: None }),
                false,
            ),
        ],
        open: false,
    });
    let mut scope = Scope::default();
    scope.bind("plan", plan, Presence::Always);
    scope.bind("read", read, Presence::Always);
    let view = Shape::list(Shape::object([("item", Shape::text()), ("index", integer())]));
    scope.bind("read.items", view, Presence::Always);
    scope.bind("gaps", gaps, Presence::Maybe("'gaps' is optional".into()));
    scope.bind("input", input, Presence::Always);
    scope.bind("index", integer(), Presence::Always);
    scope
}

fn integer() -> Shape {
    Shape::Integer(crate::domain::shape::Range::default())
}

fn field(name: &str, shape: Shape, optional: bool) -> Field {
    Field { name: name.into(), shape, optional, default: None, about: None }
}

fn bindings() -> Value {
    json!({
        "plan": {
            "questions": [
                {"id": "q1", "text": "Who?", "topics": ["a", "b"], "weight": 0.5},
                {"id": "q2", "text": "Why?", "topics": ["b"]},
            ],
            "count": 2, "score": 0.1, "note": null, "urgency": "high", "ok": true,
        },
        "read": [
            {"claims": [{"text": "x"}, {"text": "y"}], "pages": 3},
            {"claims": [], "pages": 4},
        ],
        "read.items": [{"item": "a", "index": 0}, {"item": "b", "index": 2}],
        "input": {"text": "One. Two.", "limit": 5, "numbers": [], "filled": [3, 1, 2]},
        "index": 1,
    })
}

/// The type and the value of an expression without problems.
fn good(source: &str) -> (String, Value) {
    let expression = Expression::parse(source).unwrap_or_else(|f| panic!("{source}: {f:?}"));
    let (shape, findings) = expression.check(&scope());
    assert_eq!(findings, [], "{source}");
    (shape.describe(), expression.evaluate(&bindings()))
}

/// `code at range: message (help)` of every problem, a line each.
fn bad(source: &str) -> String {
    let findings = match Expression::parse(source) {
        Ok(expression) => expression.check(&scope()).1,
        Err(finding) => vec![finding],
    };
    assert_ne!(findings, [], "{source}");
    let lines = findings.iter().map(|f| {
        let at = source.get(f.range.clone()).expect("a range within the text");
        let help = f.help.as_deref().map(|h| format!(" ({h})")).unwrap_or_default();
        format!("{} `{at}`: {}{help}", f.code, f.message)
    });
    lines.collect::<Vec<_>>().join("\n")
}

#[test]
fn an_expression_has_a_type_and_a_value() {
    let table = [
        ("plan.questions.text", "[string]", json!(["Who?", "Why?"])),
        ("plan.questions.topics", "[[string]]", json!([["a", "b"], ["b"]])),
        ("plan.questions.weight", "[number | null]", json!([0.5, null])),
        ("read.claims", "[[{text: string}]]", json!([[{"text": "x"}, {"text": "y"}], []])),
        ("read.claims.text", "[[string]]", json!([["x", "y"], []])),
        ("flatten(read.claims).text", "[string]", json!(["x", "y"])),
        ("read.items.item", "[string]", json!(["a", "b"])),
        ("read.items", "[{item: string, index: integer}]", bindings()["read.items"].clone()),
        ("plan.score + 0.2", "number", json!(0.3)),
        ("index + 1", "integer", json!(2)),
        ("2 * 3 - 4 / 8", "number", json!(5.5)),
        ("plan.count / plan.count ?? 0", "number", json!(1)),
        ("1 / (index - 1) ?? -1", "number", json!(-1)),
        ("1 / (index - 1)", "number | null", json!(null)),
        ("-index", "integer", json!(-1)),
        ("0.1 + 0.2 == 0.3", "boolean", json!(true)),
        ("plan.count == 2.0", "boolean", json!(true)),
        ("plan.urgency == 'high'", "boolean", json!(true)),
        ("plan.urgency in ['low', \"high\"]", "boolean", json!(true)),
        ("'a' not in plan.questions.id", "boolean", json!(true)),
        ("not plan.ok or index > 0 and index <= 1", "boolean", json!(true)),
        ("plan.note", "string | null", json!(null)),
        ("plan.note ?? 'none'", "string", json!("none")),
        ("gaps.follow_ups ?? []", "[string]", json!([])),
        ("gaps.follow_ups ?? plan.questions.text", "[string]", json!(["Who?", "Why?"])),
        ("gaps.score ?? input.tone ?? null", "", json!(null)),
        ("length(gaps.follow_ups) ?? 0", "integer", json!(0)),
        ("gaps.score + 1 ?? 7", "integer", json!(7)),
        ("gaps != null and gaps.score > 3", "boolean", json!(false)),
        ("gaps == null or gaps.score > 3", "boolean", json!(true)),
        ("not (gaps == null) and length(gaps.follow_ups) > 0", "boolean", json!(false)),
        ("input.tone != null and starts_with(input.tone, 'f')", "boolean", json!(false)),
        ("input.limit", "integer", json!(5)),
        ("all(q.text != '' for q in plan.questions)", "boolean", json!(true)),
        ("any(all(t == 'b' for t in q.topics) for q in plan.questions)", "boolean", json!(true)),
        (
            "any(q.weight != null and q.weight > 0.4 for q in plan.questions)",
            "boolean",
            json!(true),
        ),
        ("all(false for x in [])", "boolean", json!(true)),
        ("[1, 2.5]", "[number]", json!([1, 2.5])),
        ("[]", "[any]", json!([])),
        ("min(input.numbers) ?? 0", "number", json!(0)),
        ("max(input.filled)", "integer", json!(3)),
        ("min(index, plan.score)", "number", json!(0.1)),
        ("sum(plan.questions.weight)", "number", json!(0.5)),
        ("round(2.5)", "integer", json!(3)),
        ("round(-2.345, 2)", "number", json!(-2.35)),
        ("length('né')", "integer", json!(2)),
        ("contains(input.text, 'Two')", "boolean", json!(true)),
        ("contains(input.filled, 3.0)", "boolean", json!(true)),
        ("lower(trim('  Ab '))", "string", json!("ab")),
        ("split('a,b,', ',')", "[string]", json!(["a", "b", ""])),
        ("chunks(input.text, 2)", "[string]", json!(["One. ", "Two."])),
        ("batches(input.filled, 2)", "[[integer]]", json!([[3, 1], [2]])),
        ("batches(input.filled, -2)", "[[integer]]", json!([[3], [1], [2]])),
        ("unique([1, 2, 1.0])", "[integer]", json!([1, 2])),
        ("take(input.filled, 2)", "[integer]", json!([3, 1])),
        ("join(plan.questions.id, ', ')", "string", json!("q1, q2")),
        ("keys(plan)", "[string]", json!(["questions", "count", "score", "note", "urgency", "ok"])),
    ];
    for (source, shape, value) in table {
        if shape.is_empty() {
            continue;
        }
        assert_eq!(good(source), (shape.to_owned(), value), "{source}");
    }
}

#[test]
fn every_function_has_its_own_row() {
    for entry in &TABLE {
        assert_eq!(entry.function.entry().name, entry.name);
        assert!(entry.signature.starts_with(entry.name));
    }
}

/// Expressions with a problem each, or more.
const WRONG: &[&str] = &[
    "plam.count",
    "plan.qestions.text",
    "plan.questions.txt",
    "plan.count.x",
    "gaps.follow_ups",
    "gaps",
    "gaps.score + 1",
    "length(gaps.follow_ups)",
    "input.tone",
    "plan.note + 1",
    "length(plan.note)",
    "gaps.score == 3",
    "gaps == null and gaps.score > 1",
    "gaps != null or gaps.score > 1",
    "\"1\" + 1",
    "plan.count + plan.score + plan.ok",
    "-plan.urgency",
    "[1] + [2]",
    "plan.urgency == 'hihg'",
    "plan.count == '2'",
    "plan.count < 'a'",
    "plan.ok < plan.ok",
    "1 in 'a'",
    "'a' in input.text",
    "1 in plan.questions.id",
    "plan.questions and plan.ok",
    "not plan.count",
    "not gaps",
    "plan.urgency or true",
    "gaps.follow_ups ?? 0",
    "[1, 'a']",
    "null + 1",
    "1 / index + 1",
    "min(input.numbers) + 1",
    "min([]) + 1",
    "lenght(plan.questions)",
    "foo(1)",
    "take(plan.questions)",
    "length(1, 2)",
    "take(1, 2)",
    "split(input.text, input.text)",
    "join(input.numbers, ',')",
    "sum(plan.questions.id)",
    "flatten(input.numbers)",
    "contains(input.text, 1)",
    "contains(input.numbers, 'a')",
    "round('1')",
    "chunks(input.text, 1.5)",
    "keys(read)",
    "all(q for q in plan.questions)",
    "all(true for q in plan.count)",
    "all(x.weight > 1 for x in plan.questions)",
    "all(q.id == x for q in plan.questions)",
    "all(true)",
    "all(true for in x)",
    "all(true for x on x)",
    "a b",
    "a[0]",
    "a.",
    "a.1",
    "(a",
    "a)",
    "[1, 2",
    "",
    "  ",
    "1 +",
    "a == ",
    "a = b",
    "a && b",
    "!a",
    "a || b",
    "a | upper",
    "a ? b : c",
    "x if y else z",
    "a is none",
    "{a: 1}",
    "'abc",
    "\"a\\q\"",
    "1abc",
    "1 < 2 < 3",
    "a not b",
    "and",
    "x %2",
    "1e999",
    "\u{fc}ber",
    "a.b(1)",
    "\u{20ac}",
    "for",
    "a - - b c",
    "any(any(any(true for a in read) for b in read) for c in read)",
];

#[test]
fn every_problem_is_said_with_its_place_and_what_to_do() {
    let said: Vec<String> =
        WRONG.iter().map(|source| format!("{source}\n{}", indent(&bad(source)))).collect();
    insta::assert_snapshot!(said.join("\n"));
}

fn indent(text: &str) -> String {
    text.lines().map(|line| format!("    {line}")).collect::<Vec<_>>().join("\n")
}

#[test]
fn mentions_are_root_names_with_their_paths_and_guards() {
    let mentions = |source: &str| -> Vec<String> {
        let expression = Expression::parse(source).expect("an expression");
        let lines = expression.mentions().iter().map(|m| {
            assert_eq!(&source[m.range.clone()], m.name);
            let guard = if m.guarded { "?" } else { "" };
            format!("{}{guard}: {}", m.name, m.path.join("."))
        });
        lines.collect()
    };
    assert_eq!(mentions("plan.questions"), ["plan: questions"]);
    assert_eq!(mentions("gaps.a.b ?? plan.c"), ["gaps?: a.b", "plan: c"]);
    assert_eq!(mentions("gaps != null and gaps.x > index"), ["gaps?: ", "gaps?: x", "index: "]);
    assert_eq!(mentions("gaps.x == null or gaps.y"), ["gaps?: x", "gaps?: y"]);
    assert_eq!(mentions("gaps != null or gaps.y"), ["gaps?: ", "gaps: y"]);
    assert_eq!(mentions("all(x.a == y for x in plan.b)"), ["y: ", "plan: b"]);
    assert_eq!(mentions("any(true for gaps in gaps.x)"), ["gaps: x"]);
    assert_eq!(mentions("length(a.b) + 1 ?? c"), ["a?: b", "c: "]);
}

#[test]
fn an_expression_is_bounded() {
    let refused = |source: String| {
        Expression::parse(&source).err().map(|f| (f.code, f.message)).expect("refused")
    };
    let long = (code::LIMIT, "the expression is longer than 4096 bytes".to_owned());
    assert_eq!(refused("1".repeat(4097)), long);
    let deep = (code::LIMIT, "the expression nests deeper than 64".to_owned());
    for (open, inner, close) in [
        ("(", "1", ")"),
        ("[", "", "]"),
        ("-", "1", ""),
        ("not ", "true", ""),
        ("length(", "a", ")"),
    ] {
        let source = |n: usize| format!("{}{inner}{}", open.repeat(n), close.repeat(n));
        assert_eq!(refused(source(500)), deep, "{open}");
        assert!(Expression::parse(&source(30)).is_ok(), "{open}");
    }
    for chain in ["1 + ", "a and ", "a ?? ", "1 * ", "a or "] {
        assert_eq!(refused(format!("{}1", chain.repeat(500))), deep, "{chain}");
    }
}

#[test]
fn what_nests_too_deep_can_be_written_with_flatten() {
    let deep = "any(any(any(w == 'a' for w in c.words) for c in r.claims) for r in read)";
    let finding = Expression::parse(deep).expect_err("three deep");
    assert!(finding.help.is_some_and(|help| help.contains("flatten(read.claims)")));
    let flat = "any(any(w == 'a' for w in c.words) for c in flatten(read.claims))";
    let bindings =
        |word: &str| json!({"read": [{"claims": [{"words": ["b", word]}]}, {"claims": []}]});
    let flat = Expression::parse(flat).expect("two deep");
    assert_eq!(flat.evaluate(&bindings("a")), json!(true));
    assert_eq!(flat.evaluate(&bindings("c")), json!(false));
}

#[test]
fn a_loop_over_more_than_it_may_visit_is_null() {
    let expression = Expression::parse("all(any(y == x for y in a) for x in b)").expect("fine");
    let numbers: Vec<usize> = (0..30).collect();
    let bindings = json!({"a": numbers, "b": numbers});
    assert_eq!(expression.evaluate(&bindings), json!(true));
    let bounded =
        |visits| Evaluator::bounded(&bindings, visits).value(&expression.0.root).into_owned();
    assert_eq!(bounded(1000), json!(null));
    assert_eq!(bounded(2000), json!(true));
}

#[test]
fn who_writes_a_comprehension_is_told_what_filters_and_counts() {
    for source in [
        "length([r for r in rows])",
        "[r for r in rows if r.high]",
        "count(r for r in rows)",
        "sum(1 for r in rows)",
        "(r for r in rows)",
        "length(filter(rows))",
        "length(r.high for r in rows)",
    ] {
        let found = Expression::parse(source).expect_err(source);
        let help = found.help.unwrap_or_default();
        assert!(help.contains("there is no filter: use a step with `each`"), "{source}: {help}");
    }
}

#[test]
fn what_a_false_condition_compared_is_told_with_the_item_that_breaks_it() {
    let bindings = json!({
        "net": 0.1, "tax": 0.2, "gross": 0.4, "name": "a",
        "groups": [{"lines": [{"net": 1}], "base": 1}, {"lines": [{"net": 1.5}, {"net": -1}], "base": 1}],
    });
    let told = |source: &str| {
        let expression = Expression::parse(source).expect("fine");
        let why = expression.counterexample(&bindings);
        (why.item.map(|(list, place, _)| format!("{list}[{place}]")), why.compared)
    };
    let some = |text: &str| Some(text.to_owned());
    assert_eq!(told("net + tax == gross"), (None, some("0.3 == 0.4")));
    assert_eq!(told("gross <= net"), (None, some("0.4 <= 0.1")));
    let sums = "all(sum(g.lines.net) == g.base for g in groups)";
    assert_eq!(told(sums), (some("groups[1]"), some("0.5 == 1")));
    // Texts can be long, and both sides of `and` are two conditions.
    assert_eq!(told("name == \"b\""), (None, None));
    assert_eq!(told("net > 1 and tax > 1"), (None, None));
    assert_eq!(told("any(g.base > 2 for g in groups)"), (None, None));
    assert_eq!(told("all(g.base > 1 and net > 0 for g in groups)"), (some("groups[0]"), None));
}
