//! What templates render, what is said about wrong ones, and that none of them panics.
use serde_json::{Value, json};

use super::*;
use crate::domain::shape::{Field, Object, Presence, Range, Shape};

mod include;
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
        ("questions", Shape::list(question.into())),
        ("count", integer()),
        ("note", Shape::Nullable(Shape::text().into())),
        ("urgency", Shape::Enum(["low".into(), "high".into()].into())),
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
    scope.bind("input", input.into(), Presence::Always);
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
        Err(finding) => vec![Located { file: None, finding }],
    };
    assert_ne!(findings, [], "{source}");
    let lines = findings.iter().map(|Located { finding: f, .. }| {
        let at = source.get(f.range.clone()).expect("a range within the text");
        let help = f.help.as_deref().map(|h| format!(" ({h})")).unwrap_or_default();
        format!("{} `{at}`: {}{help}", f.code, f.message)
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// Templates, and what comes of them.
const RIGHT: &[(&str, &str)] = &[
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
    ("{{ 'a\n\nb' | indent(2) }}|{{ 'a' | indent(2, true) }}", "a\n\n  b|  a"),
    ("{{ [1, 2, 3] | batch(2) }}", "[[1,2],[3]]"),
    ("{{ 'éa B' | capitalize }} {{ 'a b' | title }} {{ 'aba' | replace('a', '') }}", "Éa b A B b"),
    (
        "{{ plan.questions | sort(attribute='id', reverse=true) | map(attribute='id') | list }}",
        r#"["q2","q1"]"#,
    ),
    ("{{ plan.questions | selectattr('id', 'eq', 'q2') | length }}", "1"),
    (
        "{{ [3, 1, 2] | sort }} {{ [1, 1] | unique }} {{ [1, 2] | reverse }} {{ 2.45 | round(1) }}",
        "[1,2,3] [1] [2,1] 2.5",
    ),
    ("{{ [1, 2] | sum }} {{ [1, 2] | max }} {{ -3 | abs }} {{ [1, 2] | last }}", "3 2 3 2"),
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

#[test]
fn brackets_that_nest_too_deep_are_refused_before_they_are_parsed() {
    let nested = |deep: usize| format!("{{{{ {}x{} }}}}", "f(".repeat(deep), ")".repeat(deep));
    let finding = Template::parse(&nested(33)).err().map(|finding| finding.message);
    assert_eq!(finding.as_deref(), Some("brackets more than 32 deep"));
    assert!(Template::parse(&nested(32)).is_ok());
    assert!(Template::parse(&format!("{}{}", nested(20), nested(20))).is_ok());
}

#[test]
fn a_template_renders_as_it_is_written() {
    let mut wrong = Vec::new();
    for (source, expected) in RIGHT {
        let found = std::panic::catch_unwind(|| good(source));
        match found {
            Ok(found) if found == *expected => {}
            Ok(found) => wrong.push(format!("{source}\n  {found:?}\n  {expected:?}")),
            Err(_) => wrong.push(format!("{source}: failed")),
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Templates with a problem each, or more.
const WRONG: &[&str] = &[
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
    "{{ plan.note | default('a', true) }}",
    "{{ input.text | default(value='a') }}",
    "{{ input.text | replace('a') }}",
    "{{ input.text | replace('a', 1) }}",
    "{{ plan.questions | join(sep=',') }}",
    "{{ plan.questions | sort(attribute='wieght') | length }}",
    "{{ plan.questions | selectattr('id', 'eqq', 'a') | length }}",
    "{{ plan.questions | selectattr('id', 'eq') | length }}",
    "{{ plan.count is divisibleby }}",
    "{{ input.text is odd }}",
    "{{ 1 / plan.count }}",
    "{{ plan.count % 0 }}",
    "{{ 2 ** plan.count }}",
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
    "{% include plan.note %}",
    "{% include ['x', 'y'] %}",
    "{% include 'x' ~ plan.count %}",
    "{% include 'x' ignore missing %}",
    "{% include 'x' with context %}",
    "{% include 'x' ignore missing without context %}",
    "{% include 'x' if plan.count %}",
    "{% include %}",
    "{% from 'x' import y %}",
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
    "{% set gaps2 = gaps %}{{ gaps2 }}",
    "{{ gaps.score > 3 }}",
    "{{ plan.questions | selectattr('wieght') | list }}",
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
        let template = Template::parse(source).expect("a template");
        let lines = template.mentions().iter().map(|m| {
            assert_eq!(&source[m.range.clone()], m.name);
            let guard = if m.guarded { "?" } else { "" };
            format!("{}{guard}: {}", m.name, m.path.join("."))
        });
        lines.collect()
    };
    assert_eq!(mentions("\u{fc}{{ plan.a.b[0].c }}"), ["plan: a.b"]);
    assert_eq!(
        mentions("{% for q in plan.a %}{{ q.x }}{{ loop.index }}{% endfor %}{{ q }}"),
        ["plan: a", "q: "]
    );
    assert_eq!(
        mentions("{% if gaps.x %}{{ gaps.y }}{% endif %}{{ gaps }}"),
        ["gaps?: x", "gaps?: y", "gaps: "]
    );
    assert_eq!(mentions("{{ gaps.x | default(plan.y) }}"), ["gaps?: x", "plan: y"]);
    assert_eq!(
        mentions("{% set a = b %}{{ a }}{% with c = a %}{{ c ~ d }}{% endwith %}"),
        ["b: ", "d: "]
    );
    assert_eq!(mentions("{% set gaps = 1 %}{{ gaps }}"), Vec::<String>::new());
    assert_eq!(mentions("{{ a if b else c }}{{ d['e'].f }}"), ["a: ", "b?: ", "c: ", "d: e.f"]);
    assert_eq!(mentions("{% raw %}{{ a }}{% endraw %}{# {{ b }} #}"), Vec::<String>::new());
}

#[test]
fn what_any_hides_fails_when_it_is_rendered() {
    let error = |source: &str| {
        let template = Template::parse(source).expect("a template");
        assert_eq!(template.check(&scope()), [], "{source}");
        template.render(&bindings()).expect_err(source).message
    };
    assert_eq!(
        error("\n{{ input.blob.q }}"),
        "line 2 of the prompt: what is printed here is missing"
    );
    assert_eq!(
        error("{{ input.blob.a[1] }}"),
        "line 1 of the prompt: what is printed here is missing"
    );
    assert_eq!(
        error("{{ input.blob.q | upper }}"),
        "line 1 of the prompt: a text is needed here, not nothing"
    );
    assert_eq!(error("{{ input.blob.q | length }}"), "line 1 of the prompt: nothing has no length");
    assert_eq!(
        error("{{ input.blob.a | join }}"),
        "line 1 of the prompt: an item that `join` is given is missing"
    );
    assert!(error("{% for x in input.blob.q %}{% endfor %}").contains("not iterable"));
    assert!(error("{{ input.blob.q + 1 }}").contains("unsupported"));
}

#[test]
fn a_template_is_bounded() {
    let parse = |source: &str| Template::parse(source).map(|_| ()).map_err(|f| f.code);
    assert_eq!(parse(&"x".repeat(MAX_SOURCE + 1)), Err(code::TEMPLATE_LIMIT));
    for (open, inner, close) in
        [("(", "1", ")"), ("[", "", "]"), ("-", "1", ""), ("not ", "1", ""), ("{1: ", "1", "}")]
    {
        for n in [10, 50, 120, 250, 5000] {
            let source = format!("{{{{ {}{inner}{} }}}}", open.repeat(n), close.repeat(n));
            if let Ok(template) = Template::parse(&source) {
                let _ = template.check(&scope());
                let _ = template.render(&bindings());
            }
        }
    }
    for chain in [
        "+ 1 ",
        "| upper ",
        ".a ",
        "[0] ",
        "and 1 ",
        "if 1 else 2 ",
        "~ 1 ",
        "is defined ",
        "== 1 ",
    ] {
        assert_eq!(
            parse(&format!("{{{{ a {} }}}}", chain.repeat(300))),
            Err(code::TEMPLATE_LIMIT),
            "{chain}"
        );
        let template = Template::parse(&format!("{{{{ a {} }}}}", chain.repeat(60))).expect(chain);
        let _ = template.check(&scope());
        let _ = template.render(&bindings());
    }
    let elif = format!("{{% if a %}}{}{{% endif %}}", "{% elif b %}".repeat(5000));
    assert_eq!(parse(&elif), Err(code::TEMPLATE_LIMIT));
    let elif = format!("{{% if a %}}{}{{% endif %}}", "{% elif b %}".repeat(100));
    let _ = Template::parse(&elif).expect("few enough").check(&scope());
    assert_eq!(parse(&"{% if a %}".repeat(5000)), Err(code::TEMPLATE_SYNTAX));
    let nested = format!("{}{}", "{% for a in b %}".repeat(100), "{% endfor %}".repeat(100));
    let _ = Template::parse(&nested).expect("few enough").check(&scope());
}

#[test]
fn a_rendering_is_bounded() {
    let error = |source: &str, n: usize| {
        let list: Vec<usize> = (0..n).collect();
        let template = Template::parse(source).expect("a template");
        let error = template.render(&json!({"a": list, "t": "x".repeat(n)})).expect_err(source);
        assert!(error.too_much, "{error}");
        error.message
    };
    let long = "the prompt is longer than 4 MiB";
    assert_eq!(error("{% for x in a %}{{ t }}{% endfor %}", 5000), long);
    let work = "the prompt takes too much work to render";
    let endless = error("{% for x in a %}{% for y in a %}{% endfor %}{% endfor %}", 5000);
    assert!(endless.ends_with(work), "{endless}");
    let doubling = format!("{{% set x = t %}}{}", "{% set x = x ~ x %}".repeat(40));
    let doubling = error(&doubling, 1000);
    assert!(doubling.ends_with(work), "{doubling}");
    let filter = "the text a filter makes is too long, more than 4 MiB";
    let joined = error("{{ a | join(t) }}", 5000);
    let indented = error("{{ t | replace('x', '\n.') | indent(5000) }}", 5000);
    assert!(indented.ends_with(filter), "{indented}");
    assert!(joined.ends_with(filter), "{joined}");
}

#[test]
fn a_place_beyond_65535_lines_is_still_right() {
    let source = format!("{}\u{fc} {{{{ plan.qestions }}}}", "\n".repeat(70_000));
    let findings = Template::parse(&source).expect("a template").check(&scope());
    assert_eq!(&source[findings[0].finding.range.clone()], "qestions");
}

#[test]
fn a_construct_that_prompts_do_not_have_is_an_error_to_render_and_no_panic() {
    for text in ["{% import 'x' as y - 1 %}", "{% from 'x' import y %}", "{% extends 'x' %}"] {
        let Ok(template) = Template::parse(text) else { continue };
        let error = template.render(&serde_json::json!({})).unwrap_err();
        assert_eq!(error.message, "the template uses what prompts do not have; see its check");
    }
    assert!(
        Template::parse("{% import 'x' as y - 1 %}").is_ok(),
        "it is the check that refuses it"
    );
}
