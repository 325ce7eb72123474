//! What included texts see, what is said about them, and that they end.
use super::*;
use crate::template::include::Library;

fn library(texts: &[(&str, &str)]) -> Library {
    let mut library = Library::default();
    for (name, text) in texts {
        library.add(name, text);
    }
    library
}

fn template(source: &str, texts: &[(&str, &str)]) -> Template {
    Template::with(source, library(texts)).expect("a template")
}

fn rendered(source: &str, texts: &[(&str, &str)]) -> String {
    let template = template(source, texts);
    assert_eq!(template.check(&scope()), [], "{source}");
    template.render(&bindings()).expect("a text")
}

/// `file code at range: message` of every problem.
fn wrong(source: &str, texts: &[(&str, &str)]) -> Vec<String> {
    let template = template(source, texts);
    let lines = template.check(&scope()).into_iter().map(|found| {
        let text =
            found.file.as_ref().map_or(source, |file| template.0.library.text(file).unwrap());
        let at = text.get(found.finding.range.clone()).expect("a range within its text");
        let file = found.file.as_deref().unwrap_or("-");
        format!("{file} {} `{at}`: {}", found.finding.code, found.finding.message)
    });
    lines.collect()
}

#[test]
fn an_included_text_stands_as_it_is_but_for_its_last_line_end() {
    let texts: &[(&str, &str)] = &[
        ("a.md", "  Be {kind} & <b>.\n\n"),
        ("crlf.md", "one\r\ntwo\r\n"),
        ("none.md", "bare"),
        ("empty.md", ""),
    ];
    assert_eq!(rendered("x\n{% include \"a.md\" %}\ny", texts), "x\n  Be {kind} & <b>.\n\ny");
    assert_eq!(rendered("[{% include 'crlf.md' %}]", texts), "[one\r\ntwo]");
    assert_eq!(rendered("[{% include 'none.md' %}{% include 'empty.md' %}]", texts), "[bare]");
    assert_eq!(rendered("x {%- include 'a.md' -%} y", texts), "x  Be {kind} & <b>.\ny");
    assert_eq!(
        rendered("{% raw %}{% include 'a.md' %}{% endraw %}", texts),
        "{% include 'a.md' %}"
    );
}

#[test]
fn an_included_text_sees_what_stands_around_the_tag() {
    let texts: &[(&str, &str)] = &[
        ("q.md", "{{ loop.index }}:{{ q.id }} of {{ plan.count }};"),
        ("gaps.md", "{{ gaps.score }}"),
        ("deep/b.md", "{% include './deep/c.md' %}!"),
        ("deep/c.md", "{{ plan.count }}"),
    ];
    let each = "{% for q in plan.questions %}{% include 'q.md' %}{% endfor %}";
    assert_eq!(rendered(each, texts), "1:q1 of 2;2:q2 of 2;");
    assert_eq!(rendered("{% if gaps %}{% include 'gaps.md' %}{% endif %}.", texts), ".");
    assert_eq!(rendered("{% include 'deep//b.md' %}", texts), "2!");
    assert_eq!(
        wrong("{% include 'q.md' %}", texts),
        ["q.md P0201 `loop`: there is no 'loop' here", "q.md P0201 `q`: there is no 'q' here"]
    );
    assert_eq!(
        wrong("{{ plan.x }}{% include 'gaps.md' %}{% include 'gaps.md' %}", texts),
        [
            "- P0207 `x`: 'plan' has no field 'x'",
            "gaps.md P0202 `gaps.score`: 'gaps.score' can be missing: 'gaps' is optional",
        ]
    );
}

#[test]
fn the_names_that_an_included_text_sets_are_its_own() {
    let texts: &[(&str, &str)] =
        &[("set.md", "{% set plan = 7 %}{% set mine = 8 %}{{ plan }}{{ mine }}")];
    assert_eq!(rendered("{% include 'set.md' %} {{ plan.count }}", texts), "78 2");
    assert_eq!(
        wrong("{% include 'set.md' %}{{ mine }}", texts),
        ["- P0201 `mine`: there is no 'mine' here"]
    );
    let in_loop = "{% for x in read %}{% include 'set.md' %}{{ plan.count }}{% endfor %}";
    assert_eq!(rendered(in_loop, texts), "782782");
}

#[test]
fn mentions_of_an_included_text_count_and_have_the_place_of_the_include() {
    let texts: &[(&str, &str)] =
        &[("a.md", "{{ plan.count }}{% include 'b.md' %}"), ("b.md", "{{ feedback.notes }}")];
    let source = "{{ input.text }}{% if feedback %}{% include 'a.md' %}{% endif %}";
    let template = template(source, texts);
    let mentions: Vec<_> = template
        .mentions()
        .iter()
        .map(|m| (m.name.clone(), m.guarded, source[m.range.clone()].to_owned()))
        .collect();
    let of = |name: &str, guarded, at: &str| (name.to_owned(), guarded, at.to_owned());
    assert_eq!(
        mentions,
        [
            of("input", false, "input"),
            of("feedback", true, "feedback"),
            of("plan", false, "'a.md'"),
            of("feedback", true, "'a.md'"),
        ]
    );
}

#[test]
fn a_failure_while_rendering_names_the_included_text_and_its_line() {
    let texts: &[(&str, &str)] =
        &[("a.md", "x\n{% include 'b.md' %}"), ("b.md", "1\n2\n{{ input.blob.q }}")];
    let template = template("\n{% include 'a.md' %}", texts);
    assert_eq!(template.check(&scope()), []);
    let error = template.render(&bindings()).expect_err("missing").message;
    assert_eq!(error, "line 3 of b.md: what is printed here is missing");
}

#[test]
fn work_in_included_texts_counts() {
    let loops = "{% for x in input.blob %}{% for y in input.blob %}{% endfor %}{% endfor %}";
    let template = template("{% include 'a.md' %}", &[("a.md", loops)]);
    let list: Vec<usize> = (0..5000).collect();
    let error = template.render(&json!({"input": {"blob": list}})).expect_err("too much").message;
    assert_eq!(error, "line 1 of a.md: the prompt takes too much work to render");
    let text = "x".repeat(MAX_SOURCE);
    let long = Template::with(&"{% include 'a.md' %}".repeat(5), library(&[("a.md", &text)]));
    let error = long.expect("a template").render(&bindings()).expect_err("too long").message;
    assert_eq!(error, "the prompt is longer than 4 MiB");
}

#[test]
fn includes_end() {
    let cycle: &[(&str, &str)] =
        &[("a.md", "{% include 'b.md' %}"), ("b.md", "{% include 'a.md' %}")];
    assert_eq!(
        wrong("{% include 'a.md' %}", cycle),
        ["b.md P0213 `'a.md'`: includes in includes, more than 8 deep"]
    );
    let many = "{% include 'c.md' %}".repeat(65);
    assert_eq!(
        wrong(&many, &[("c.md", "x")]),
        ["- P0213 `'c.md'`: more than 64 includes in one template"]
    );
    let tree: &[(&str, &str)] = &[("d.md", &"{% include 'd.md' %}".repeat(60))];
    assert!(!wrong(&"{% include 'd.md' %}".repeat(60), tree).is_empty());
}

#[test]
fn includes_are_named_with_their_places() {
    let source =
        "a {% if x %}{% include \"p/q.md\" %}{% endif %}{% include './r.md' %}{% include y %}";
    let found = Parsed::read(source).expect("includes").includes().to_vec();
    let shown: Vec<_> = found.iter().map(|i| (i.name.as_str(), &source[i.range.clone()])).collect();
    assert_eq!(shown, [("p/q.md", "\"p/q.md\""), ("./r.md", "'./r.md'")]);
    assert_eq!(name("./a//./b.md"), "a/b.md");
    assert_eq!(Parsed::read("{% if %}").err().map(|f| f.code), Some(code::TEMPLATE_SYNTAX));
}
