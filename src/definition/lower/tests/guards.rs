//! What may be missing, and the conditions after which it need not be guarded again.

use super::*;

const FLOW: &str = "description: d
input: {text: string, list: [string], flag?: boolean, obj?: {a: string, b?: {c: string}}}
defaults: {max_tokens: 10}
steps:
  gaps:
    optional: true
    prompt: '{{ input.text }}'
    output: {note: string, items: [string], deep?: {x: string}}
  many:
    optional: true
    each: input.list
    prompt: '{{ item }}'
    output: {v: string}
  use:
";

/// The places that can be missing where nothing guards them: the references of the messages.
fn unguarded(rest: &str) -> Vec<String> {
    let lowered = lowered(&format!("{FLOW}{rest}"), &Configuration::simulated("calm", 1));
    let errors = lowered.diagnostics.iter().filter(|found| found.is_error());
    let quoted = |text: &str| {
        let before = text.split(" can be missing").next().unwrap_or_default();
        before.rsplit('\'').nth(1).unwrap_or_default().to_owned()
    };
    errors.map(|found| format!("{} {}", found.code, quoted(&found.message))).collect()
}

fn prompt(text: &str) -> Vec<String> {
    unguarded(&format!("    prompt: |\n      {text}\noutput: {{text: use.text}}\n"))
}

fn when(condition: &str, text: &str) -> Vec<String> {
    let step = format!("    when: {condition}\n    prompt: |\n      {text}\n");
    unguarded(&format!("{step}output: {{text: run.status.use}}\n"))
}

fn value(expression: &str) -> Vec<String> {
    unguarded(&format!("    value:\n      it: {expression}\noutput: {{it: use.it}}\n"))
}

#[test]
fn a_prompt_may_use_what_the_condition_around_it_proves() {
    for test in [
        "if gaps",
        "if gaps is defined",
        "if gaps is not none",
        "if not gaps is undefined",
        "if gaps.items",
        "if gaps and gaps.note == \"a\"",
        "if run.status.gaps == \"ok\"",
        "if (gaps.items | default([])) | length > 0",
        "if gaps.items | default([]) | length",
        "if (gaps.note | default(\"\")) == \"a\"",
    ] {
        let text = format!("{{% {test} %}}{{{{ gaps.note }}}}{{{{ gaps.items }}}}{{% endif %}}");
        assert_eq!(prompt(&text), Vec::<String>::new(), "{text}");
        let after = format!("{text}{{{{ gaps.note }}}}");
        assert_eq!(prompt(&after), ["P0202 gaps.note"], "{after}");
        let deep = format!("{{% {test} %}}{{{{ gaps.deep.x }}}}{{% endif %}}");
        assert_eq!(prompt(&deep), ["P0202 gaps.deep.x"], "{deep}");
    }
    for test in ["if many", "if many.items", "if many is defined", "if run.status.many == \"ok\""] {
        let text = format!(
            "{{% {test} %}}{{{{ many }}}}{{% for one in many.items %}}{{{{ one.output.v }}}}{{% endfor %}}{{% endif %}}"
        );
        assert_eq!(prompt(&text), Vec::<String>::new(), "{text}");
    }
    for test in [
        "if not gaps",
        "if gaps or many",
        "if run.status.gaps == \"failed\"",
        "if run.status.many == \"ok\"",
        "if (gaps.items | default([])) | length >= 0",
        "if gaps.items | default([\"a\"]) | length",
        "if (gaps.note | default(\"a\")) == \"a\"",
        "set run = {\"status\": {\"gaps\": \"ok\"}} %}{% if run.status.gaps == \"ok\"",
    ] {
        let text = format!("{{% {test} %}}{{{{ gaps.note }}}}{{% endif %}}");
        assert_eq!(prompt(&text), ["P0202 gaps.note"], "{text}");
    }
}

#[test]
fn a_step_may_use_what_its_own_condition_proves() {
    for condition in [
        "many != null",
        "many.items != null",
        "not (many == null)",
        "length(many ?? []) > 0",
        "run.status.many == 'ok'",
    ] {
        let found = when(condition, "{{ many }}{{ many.items }}");
        assert_eq!(found, Vec::<String>::new(), "{condition}");
    }
    let found = when("(gaps.note ?? '') == 'a'", "{{ gaps.items }}");
    assert_eq!(found, Vec::<String>::new());
    assert_eq!(when("input.flag ?? false", "{{ input.flag }}"), Vec::<String>::new());
    for condition in ["many == null", "run.status.many != 'ok'", "many != null or gaps != null"] {
        assert_eq!(when(condition, "{{ many.items }}"), ["P0202 many.items"], "{condition}");
    }
}

#[test]
fn an_expression_may_use_what_stands_before_its_and_proves() {
    for proof in [
        "gaps != null",
        "gaps.items != null",
        "run.status.gaps == 'ok'",
        "length(gaps.items ?? []) > 0",
        "length(gaps.items ?? []) != 0",
        "(gaps.note ?? '') == 'a'",
    ] {
        assert_eq!(
            value(&format!("{proof} and gaps.note == 'b'")),
            Vec::<String>::new(),
            "{proof}"
        );
    }
    for proof in [
        "gaps == null",
        "run.status.gaps != 'ok'",
        "length(gaps.items ?? []) >= 0",
        "(gaps.note ?? 'a') == 'a'",
        "(input.flag ?? true)",
    ] {
        let found = value(&format!("{proof} and gaps.note == 'b'"));
        assert_eq!(found, ["P0202 gaps.note"], "{proof}");
    }
}

#[test]
fn an_object_where_true_or_false_belongs_is_said_once_with_what_to_write() {
    let text =
        format!("{FLOW}    value:\n      it: gaps and gaps.note == 'b'\noutput: {{it: use.it}}\n");
    let found = lowered(&text, &Configuration::simulated("calm", 1)).diagnostics;
    let errors: Vec<&Diagnostic> = found.iter().filter(|found| found.is_error()).collect();
    assert_eq!(errors.len(), 1, "{errors:?}");
    assert_eq!(errors[0].help.as_deref(), Some("write `gaps != null`"));
}
