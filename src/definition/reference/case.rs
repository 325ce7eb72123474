//! P07: cases beside a workflow.

use super::{Entry, Example};

pub(super) const ENTRIES: &[Entry] = &[
    Entry {
        code: "P0701",
        title: "two cases of one name",
        text: "Reports and `punctual test` name a case by its name alone, so each has its own within a file. Say what is special \
               about each.",
        example: Example::Cases {
            workflow: SORT,
            wrong: r#"
- name: a refund
  input: {message: My money back please.}
- name: a refund
  input: {message: Where is my parcel?}
"#,
            right: r#"
- name: a refund
  input: {message: My money back please.}
- name: a question
  input: {message: Where is my parcel?}
"#,
        },
    },
    Entry {
        code: "P0702",
        title: "a case names a step that is not there",
        text: "`answers`, `missing`, `unverified` and `steps` name steps of the workflow, `answers` those that ask a model. This \
               one does not exist, or is computed; an item is named `step[0]`. An answer to no step would never be given, and \
               the case would test something else than it says.",
        example: Example::Cases {
            workflow: SORT,
            wrong: r#"
- name: a refund
  input: {message: My money back please.}
  answers: {srot: {kind: refund}}
"#,
            right: r#"
- name: a refund
  input: {message: My money back please.}
  answers: {sort: {kind: refund}}
"#,
        },
    },
    Entry {
        code: "P0703",
        title: "what no model can have answered",
        text: "A step without `each` answers once: an object for JSON, text for what the model sends word for word. A step with \
               `each` has a list, one answer for each item. Several attempts are written `{$attempts: [first, second]}`, \
               and a failing one `{$fate: error}`.",
        example: Example::Cases {
            workflow: SORT,
            wrong: r#"
- name: a refund
  input: {message: My money back please.}
  answers:
    sort: [{kind: refund}]
"#,
            right: r#"
- name: a refund
  input: {message: My money back please.}
  answers:
    sort: {kind: refund}
"#,
        },
    },
    Entry {
        code: "P0704",
        title: "an input that the workflow refuses",
        text: "The input of a case is checked like a caller's arguments: a field is missing, unknown or of the wrong type. The help \
               shows the input that the workflow takes.",
        example: Example::Cases {
            workflow: SORT,
            wrong: r#"
- name: a refund
  input: {mesage: My money back please.}
"#,
            right: r#"
- name: a refund
  input: {message: My money back please.}
"#,
        },
    },
    Entry {
        code: "P0705",
        title: "advice: an answer that its step refuses each time",
        text: "The recorded answer fits neither the step's `output` nor its `check`, and no other follows it: the step will fail in \
               this case. To test the repair, record what comes after it, `{$attempts: [this, then that]}`; otherwise mend \
               the answer.",
        example: Example::Cases {
            workflow: SORT,
            wrong: r#"
- name: a refund
  input: {message: My money back please.}
  answers: {sort: {kind: refunds}}
"#,
            right: r#"
- name: a refund after a repair
  input: {message: My money back please.}
  answers: {sort: {$attempts: [{kind: refunds}, {kind: refund}]}}
"#,
        },
    },
    Entry {
        code: "P0706",
        title: "more or fewer answers than items",
        text: "A step with `each` has one answer for each item, in the order of the input. More are an error; fewer are a warning, as \
               the others are made up by shape and no `check` is asked of them. `null` says that this is meant. Answers go by the items that are \
               there: what an earlier fan-out has lost is no item of the step behind it. How many there are is then known \
               in the run alone, so more or fewer answers fail the case in `punctual test`.",
        example: Example::Cases {
            workflow: SORT_ALL,
            wrong: r#"
- name: one message
  input: {messages: [My money back please.]}
  answers:
    sort:
      - {kind: refund}
      - {kind: other}
"#,
            right: r#"
- name: two messages
  input: {messages: [My money back please., Where is my parcel?]}
  answers:
    sort:
      - {kind: refund}
      - {kind: other}
"#,
        },
    },
    Entry {
        code: "P0707",
        title: "a case expects a field that the output does not have",
        text: "`expect.output` is compared field by field with the workflow's result. It can never have this field, so the case could \
               never pass. The help names the fields that exist.",
        example: Example::Cases {
            workflow: SORT,
            wrong: r#"
- name: a refund
  input: {message: My money back please.}
  expect: {output: {knd: refund}}
"#,
            right: r#"
- name: a refund
  input: {message: My money back please.}
  expect: {output: {kind: refund}}
"#,
        },
    },
    Entry {
        code: "P0708",
        title: "an expectation that nothing can meet",
        text: "The value has a type or a word that the output cannot have, or two expectations exclude each other: a failed run has no \
               output, a delivered one no failure. The case could never pass, whatever the model answers.",
        example: Example::Cases {
            workflow: SORT,
            wrong: r#"
- name: a refund
  input: {message: My money back please.}
  expect: {output: {kind: refunds}}
"#,
            right: r#"
- name: a refund
  input: {message: My money back please.}
  expect: {output: {kind: refund}}
"#,
        },
    },
    Entry {
        code: "P0709",
        title: "more cases, or more input, than are read",
        text: "A cases file holds at most 500 cases, and their input files 16 MiB together: they are read whenever the folder is loaded. \
               Keep the cases that show something different.",
        example: Example::Told {
            wrong: "A file with 501 cases.",
            right: "A file with the few that differ.",
        },
    },
    Entry {
        code: "P0710",
        title: "cases without their workflow",
        text: "The cases of `NAME.yaml` stand in `NAME.cases.yaml` in the same folder, and there is no such workflow. They would never \
               be run. Rename the file, or put it beside its workflow.",
        example: Example::Folder {
            wrong: &[("workflows/example.yaml", SORT), ("workflows/exmple.cases.yaml", CASE)],
            right: &[("workflows/example.yaml", SORT), ("workflows/example.cases.yaml", CASE)],
        },
    },
    Entry {
        code: "P0711",
        title: "a case's `check` that is neither true nor false",
        text: "A condition of `expect.check` is met where it is true. A text, number or list is no condition: compare it, as \
               `length(output.bullets) <= 5`.",
        example: Example::Cases {
            workflow: SORT,
            wrong: r#"
- name: a refund
  input: {message: My money back please.}
  expect:
    check:
      - output.kind
"#,
            right: r#"
- name: a refund
  input: {message: My money back please.}
  expect:
    check:
      - output.kind == "refund"
"#,
        },
    },
];

const SORT: &str = r#"
description: Sorts a message.
input: {message: string}
steps:
  sort: {max_tokens: 50, prompt: "{{ input.message }}", output: {kind: refund | other}}
"#;

const SORT_ALL: &str = r#"
description: Sorts messages.
input:
  messages: {$type: [string], $max: 8}
steps:
  sort:
    each: input.messages
    max_tokens: 50
    prompt: "{{ item }}"
    output: {kind: refund | other}
"#;

const CASE: &str = r#"
- name: a refund
  input: {message: My money back please.}
"#;
