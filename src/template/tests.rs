//! What templates render, what is said about wrong ones, and that none of them panics.
use serde_json::{Value, json};

use super::*;
use crate::domain::shape::{Field, Object, Presence, Range, Shape};

mod laws;

fn integer() -> Shape {
    Shape::Integer(Range::default())
}

fn optional(name: &str, shape: Shape) -> Field {
    Field { name: name.into(), shape, optional: true, default: None, about: None }
}

/// A scope with one of everything.
fn scope() -> Scope {
    let mut question = Object { fields: vec![optional("weight", integer())], open: false };
    for name in ["id", "text"] {
        question.fields.push(Field { optional: false, ..optional(name, Shape::text()) });
    }
    let topics = Shape::list(Shape::text());
    question.fields.push(Field { optional: false, ..optional("topics", topics) });
    let plan = Shape::object([
        ("questions", Shape::list(Shape::Object(question))),
        ("count", integer()),
        ("note", Shape::Nullable(Box::new(Shape::text()))),
        ("urgency", Shape::Enum(vec!["low".into(), "high".into()])),
        ("marks", Shape::object([("a", integer()), ("b", integer())])),
    ]);
    let gaps = Shape::object([("follow_ups", Shape::list(Shape::text())), ("score", integer())]);
    let input = Object {
        fields: vec![
            Field { optional: false, ..optional("text", Shape::text()) },
            optional("tone", Shape::text()),
            Field { optional: false, ..optional("blob", Shape::Any) },
        ],
        open: false,
    };
    let mut scope = Scope::default();
    scope.bind("plan", plan, Presence::Always);
    scope.bind("gaps", gaps, Presence::Maybe("'gaps' is optional".into()));
    scope.bind("input", Shape::Object(input), Presence::Always);
    scope.bind("read", Shape::list(Shape::object([("page", integer())])), Presence::Always);
    let view = Shape::list(Shape::object([("item", Shape::text()), ("index", integer())]));
    scope.bind("read.items", view, Presence::Always);
    scope
}

fn bindings() -> Value {
    json!({
        "plan": {
            "questions": [
                {"text": "Who <b>?", "id": "q1", "topics": ["a", "b"], "weight": 2},
                {"text": "Wh\u{fc}?", "id": "q2", "topics": []},
            ],
            "count": 2, "note": null, "urgency": "high", "marks": {"b": 1, "a": 2},
        },
        "input": {"text": "It's {{ 1 }} & \"so\"\n", "blob": {"z": 1.0, "a": [true, null, 3, 2.5e-7]}},
        "read": [{"page": 3}, {"page": 4}],
        "read.items": [{"item": "x", "index": 0}, {"item": "y", "index": 5}],
    })
}

fn good(source: &str) -> String {
    let template = Template::parse(source).unwrap_or_else(|f| panic!("{source}: {f:?}"));
    assert_eq!(template.check(&scope()), [], "{source}");
    template.render(&bindings()).unwrap_or_else(|e| panic!("{source}: {e}"))
}

/// `code at range: message (help)` of every problem, a line each.
fn bad(source: &str) -> String {
    let findings = match Template::parse(source) {
        Ok(template) => template.check(&scope()),
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
fn a_template_renders_as_it_is_written() {
    let table = [
        ("plain {text} and } { %\n", "plain {text} and } { %\n"),
        ("{{ input.text }}", "It's {{ 1 }} & \"so\"\n"),
        ("{% raw %}{{ x }}{% endraw %}", "{{ x }}"),
        ("{{ plan.marks }}", r#"{"b":1,"a":2}"#),
        ("{{ input.blob }}", r#"{"z":1.0,"a":[true,null,3,2.5e-7]}"#),
        ("{{ input.blob.z }} {{ plan.count }} {{ true }}", "1.0 2 true"),
        ("{{ input.blob.a | tojson }}", "[true,null,3,2.5e-7]"),
        ("{{ input.text | tojson }}", r#""It's {{ 1 }} & \"so\"\n""#),
        ("{{ plan.marks | tojson(2) }}", "{\n  \"b\": 1,\n  \"a\": 2\n}"),
        ("{{ plan.marks | tojson(indent=1) }}", "{\n \"b\": 1,\n \"a\": 2\n}"),
        (
            "{% for q in plan.questions %}{{ loop.index }}. {{ q.text }}\n{% endfor %}",
            "1. Who <b>?\n2. Wh\u{fc}?\n",
        ),
        ("{% for q in plan.questions if q.weight %}{{ q.weight }}{% endfor %}", "2"),
        ("{% for q in plan.questions %}{{ q.weight | default(1) }}{% endfor %}", "21"),
        ("{% for q in plan.questions %}{{ q.topics | join(', ') }};{% endfor %}", "a, b;;"),
        ("{{ plan.questions | map(attribute='id') | join('-') }}", "q1-q2"),
        ("{% for k, v in plan.marks | items %}{{ k }}={{ v + 1 }} {% endfor %}", "b=2 a=3 "),
        ("{% for k, v in plan.marks | dictsort %}{{ k }}={{ v }} {% endfor %}", "a=2 b=1 "),
        ("{% for k in plan.marks %}{{ k }}{% endfor %}", "ba"),
        ("{% if gaps %}{{ gaps.score }}{% else %}none{% endif %}", "none"),
        ("{% if not gaps %}none{% else %}{{ gaps.score }}{% endif %}", "none"),
        ("{% if gaps is defined %}{{ gaps.score }}{% endif %}.", "."),
        ("{% if gaps is none %}.{% else %}{{ gaps.score }}{% endif %}", "."),
        ("{% if gaps and gaps.score > 3 %}{{ gaps.score }}{% endif %}.", "."),
        ("{% if not gaps or gaps.score > 3 %}.{% endif %}", "."),
        ("{% if plan.count > 3 %}a{% elif gaps %}{{ gaps.score }}{% else %}c{% endif %}", "c"),
        ("{{ gaps.follow_ups | default([]) | length }}", "0"),
        ("{{ gaps.follow_ups | d(['x']) }}", r#"["x"]"#),
        ("{% for f in gaps.follow_ups | default([]) %}{{ f }}{% else %}-{% endfor %}", "-"),
        ("{{ plan.note | default('none') }}", "none"),
        ("{% if plan.note %}{{ plan.note | upper }}{% endif %}.", "."),
        ("{{ gaps.score if gaps else 0 }}", "0"),
        ("{{ input.tone or 'plain' }}", "plain"),
        ("{% set n = plan.count * 2 %}{{ n }}", "4"),
        ("{% set t %}a{{ plan.count }}{% endset %}{{ t | upper }}", "A2"),
        ("{% if plan.count %}{% set x = 1 %}{% else %}{% set x = 2 %}{% endif %}{{ x }}", "1"),
        ("{% with a = plan.marks %}{{ a.b }}{% endwith %}", "1"),
        ("{{ plan.questions[0].id | default('') }}", "q1"),
        ("{{ plan['count'] }}", "2"),
        ("{{ (plan.questions | first | default({'id': '?'})).id }}", "q1"),
        ("{{ 'a' ~ plan.count ~ plan.marks }}", r#"a2{"b":1,"a":2}"#),
        ("{{ 'b' in plan.marks }} {{ 'z' in plan.marks }}", "true false"),
        ("{% if plan.urgency == 'high' %}!{% endif %}", "!"),
        (
            "{% for r in read.items %}{{ r.item }}{{ r.index }} {% endfor %}{{ read | length }}",
            "x0 y5 2",
        ),
        ("{{ read }}", r#"[{"page":3},{"page":4}]"#),
        ("{{ input.blob.a[0] | default(false) }}", "true"),
        (
            "{% for x in [1, 2] %}{% for y in plan.questions %}{{ y.id }}{% endfor %}{% endfor %}",
            "q1q2q1q2",
        ),
        ("\u{fc}\u{fc} {#  a note #}{{- plan.count -}}  \nx", "\u{fc}\u{fc} 2x"),
    ];
    let mut wrong = Vec::new();
    for (source, expected) in table {
        let found = std::panic::catch_unwind(|| good(source));
        match found {
            Ok(found) if found == expected => {}
            Ok(found) => wrong.push(format!("{source}\n  {found:?}\n  {expected:?}")),
            Err(_) => wrong.push(format!("{source}: failed")),
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn print_bad() {
    for source in [
        "{{ plam.count }}",
        "\u{fc} {{ plan.qestions }}",
        "{% for q in plan.questions %}{{ q.txt }}{% endfor %}",
        "{% for q in plan.questions %}{{ q.weight }}{% endfor %}",
        "{{ gaps.score }}",
        "{{ gaps }}",
        "{% for f in gaps.follow_ups %}{% endfor %}",
        "{{ gaps.follow_ups | length }}",
        "{{ 'a' | replace('a', gaps.follow_ups | join) }}",
        "{{ plan.count is divisibleby(gaps.score) }}",
        "{% if gaps %}{% endif %}{{ gaps.score }}",
        "{% if not gaps %}{{ gaps.score }}{% endif %}",
        "{% if gaps or plan.count %}{{ gaps.score }}{% endif %}",
        "{{ plan.note }}",
        "{{ input.tone | upper }}",
        "{% for x in plan.count %}{% endfor %}",
        "{% for x in input.text %}{% endfor %}",
        "{{ plan.questions.text }}",
        "{{ plan.count.x }}",
        "{{ plan.questions | first }}",
        "{{ plan.questions[1].id }}",
        "{{ plan.marks | upper }}",
        "{{ plan.count | join }}",
        "{{ plan.count | lenght }}",
        "{{ plan.count | safe }}",
        "{{ plan.count is even_ish }}",
        "{{ plan.questions | map(attribute='di') | join }}",
        "{{ plan.questions | map('upper') | join }}",
        "{{ plan.questions | map(attribute='weight') | join }}",
        "{{ plan.count + 'a' }}",
        "{{ plan.count * 'a' }}",
        "{{ plan.urgency == 'hihg' }}",
        "{{ plan.urgency == 3 }}",
        "{{ plan.note == none }}",
        "{{ 'a' if plan.count }}",
        "{{ range(3) }}",
        "{{ upper(plan.note) }}",
        "{{ input.text.upper() }}",
        "{% include 'x' %}",
        "{% import 'x' as y %}",
        "{% macro f() %}{% endmacro %}",
        "{% block x %}{% endblock %}",
        "{% extends 'x' %}",
        "{% call f() %}{% endcall %}",
        "{% do f() %}",
        "{% autoescape true %}{{ plan.count }}{% endautoescape %}",
        "{% filter upper %}a{% endfilter %}",
        "{% for x in read recursive %}{% endfor %}",
        "{% set x.y = 1 %}",
        "{% if plan.count %}{% set x = 1 %}{% endif %}{{ x }}",
        "{% for x in read %}{% set y = 1 %}{% endfor %}{{ y }}",
        "{% for x in read %}{% endfor %}{{ loop.index }}",
        "{{ loop }}",
        "{{ input.blob.x.y.z + 1 }}{{ x }}",
        "{{ plan.count",
        "{{ plan. }}",
        "{{ }}",
        "a {% if plan.count %} b",
        "{% endfor %}",
        "{% whatever %}",
        "{{ {\"a\": 1 }}",
        "{{ plan.count ? 1 : 2 }}",
        "{% for a, b in plan.questions %}{{ a }}{% endfor %}",
        "{{ gaps.score is defined and gaps.score }}",
        "{% set gaps2 = gaps %}{{ gaps2 }}",
        "{{ gaps.score > 3 }}",
        "{{ plan.questions | selectattr('wieght') | list }}",
    ] {
        println!(
            "{source}\n{}",
            std::panic::catch_unwind(|| bad(source)).unwrap_or_else(|_| "NONE".into())
        );
    }
}
