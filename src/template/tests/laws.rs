//! Laws over random texts and values.
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;

use super::*;
use crate::expression::tests::values::{any_json, bindings_of};

/// Words that templates are made of, good and bad ones.
const WORDS: [&str; 53] = [
    "{{",
    "}}",
    "{{",
    "}}",
    "{%",
    "%}",
    "{#",
    "#}",
    "{",
    "}",
    "include",
    "for",
    "in",
    "if",
    "elif",
    "else",
    "endif",
    "endfor",
    "set",
    "raw",
    "endraw",
    "with",
    "endwith",
    "plan",
    "gaps",
    "q",
    "loop",
    ".",
    ".",
    "questions",
    "text",
    "note",
    "|",
    "|",
    "default",
    "length",
    "tojson",
    "map",
    "(",
    ")",
    "[",
    "]",
    "0",
    "'a'",
    "==",
    "+",
    "not",
    "is",
    "none",
    "and",
    "\n",
    "\u{fc}",
    "-",
];

/// Whole parts, so that some of the templates are right.
const PARTS: &[&str] = &[
    "{{ plan.questions | sort(attribute='weight') | length }}",
    "{{ plan.questions | unique | length }}",
    "{{ plan.questions | map(attribute='text') | unique | sort | join }}",
    "{% for k, v in plan.marks | dictsort %}{{ k }}{{ v is odd }}{% endfor %}",
    "{{ plan.questions | batch(2) | length }}",
    "{{ input.text | indent(2) | capitalize | replace('a', 'b') }}",
    "{{ (plan.count / 3) | round(1) }}",
    "{{ 'a' in input.text }}{{ 'a' in plan.marks }}{{ plan.count is in([1, 2]) }}",
    "{{ plan.questions | map(attribute='weight') }}",
    "{{ (plan.questions | last | default({'id': ''})).id }}",
    "{{ input.blob }}",
    "{{ plan.questions[1:] | length }}{{ plan.count * plan.count - 1 }}",
    "{{ read | map(attribute='page') | sum }}{{ read | map(attribute='page') | max | default(0) }}",
    "plain { } % text\n",
    "{{ input.text }}",
    "{{ plan }}",
    "{{ plan.marks | tojson }}",
    "{{ read }}",
    "{% for q in plan.questions %}",
    "{{ q.text }}",
    "{{ q.weight | default(0) }}",
    "{% if q.weight %}{{ q.weight + 1 }}{% endif %}",
    "{{ q.topics | join(', ') }}",
    "{{ loop.index }}",
    "{% endfor %}",
    "{% endfor %}",
    "{% if gaps %}",
    "{{ gaps.score }}",
    "{{ gaps.follow_ups | length }}",
    "{% else %}",
    "{% endif %}",
    "{% endif %}",
    "{% if not gaps %}",
    "{% if gaps and plan.count > 2 %}",
    "{{ gaps.follow_ups | default([]) | length }}",
    "{{ plan.note | default('-') | upper }}",
    "{{ plan.note }}",
    "{% set x = plan.count * 2 %}",
    "{{ x }}",
    "{% for k, v in plan.marks | items %}",
    "{{ k ~ v }}",
    "{{ v + 1 }}",
    "{{ input.tone or 'plain' }}",
    "{{ plan.questions | map(attribute='id') | join('-') }}",
    "{{ plan.questions | first | default('none') }}",
    "{% for r in read.items %}",
    "{{ r.item | trim }}",
    "{{ 'yes' if gaps is defined else 'no' }}",
    "{% if input.tone is none %}",
    "{% elif plan.urgency == 'low' %}",
    "{{ plan.questions | selectattr('weight') | length }}",
    "{{ plan.questions[0].id | default('?') | title }}",
    "{% with n = plan.count %}{{ n - 1 }}{% endwith %}",
];

fn random_text() -> impl Strategy<Value = String> {
    prop_oneof![
        any::<String>(),
        prop::collection::vec(prop::sample::select(&WORDS[..]), 0..24).prop_map(|w| w.join(" ")),
        prop::collection::vec(prop::sample::select(&WORDS[..]), 0..24).prop_map(|w| w.concat()),
        (
            prop::collection::vec(prop::sample::select(PARTS), 0..6),
            any::<prop::sample::Index>(),
            any::<char>()
        )
            .prop_map(|(parts, at, with)| {
                let mut chars: Vec<char> = parts.concat().chars().collect();
                if !chars.is_empty() {
                    let at = at.index(chars.len());
                    chars[at] = with;
                }
                chars.into_iter().collect()
            }),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn no_text_and_no_value_panics(source in random_text(), values in any_json()) {
        match Template::parse(&source) {
            Ok(template) => {
                for found in template.check(&scope()) {
                    prop_assert!(source.get(found.finding.range).is_some());
                }
                for mention in template.mentions() {
                    prop_assert_eq!(&source[mention.range.clone()], &mention.name);
                }
                let _ = template.render(&values);
                let _ = template.render(&bindings());
            }
            Err(finding) => prop_assert!(source.get(finding.range).is_some()),
        }
    }

    #[test]
    fn text_without_tags_and_text_inserted_come_out_as_they_went_in(text in "[^{]*", inner in any::<String>()) {
        let template = Template::parse(&format!("{text}{{{{ input }}}}{text}")).expect("plain");
        let expected = format!("{text}{inner}{text}");
        prop_assert_eq!(template.render(&json!({"input": inner})), Ok(expected));
    }
}

#[test]
fn a_checked_template_renders_whatever_its_values() {
    let mut runner = TestRunner::deterministic();
    let scope = scope();
    let values = bindings_of(&scope);
    let texts = prop::collection::vec(prop::sample::select(PARTS), 1..7);
    let mut accepted = 0;
    for _ in 0..2000 {
        let source = texts.new_tree(&mut runner).expect("a text").current().concat();
        let Ok(template) = Template::parse(&source) else { continue };
        if !template.check(&scope).is_empty() {
            continue;
        }
        accepted += 1;
        if accepted % 4 != 0 {
            continue;
        }
        let bindings = values.new_tree(&mut runner).expect("values").current();
        if let Err(error) = template.render(&bindings) {
            panic!("{source}: {error} under {bindings}");
        }
    }
    assert!(accepted > 100, "only {accepted} of 2000 were right");
}
