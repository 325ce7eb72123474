//! P07: cases beside a workflow.

use super::{Entry, Example};

const FLOW: &str = r#"
description: Sorts a message.
input: {message: string}
steps:
  sort: {max_tokens: 50, prompt: "Sort {{ input.message }}", output: {kind: refund | other}}
"#;

const EACH: &str = r#"
description: Sorts messages.
input: {messages: [string]}
steps:
  sort:
    each: input.messages
    max_tokens: 50
    prompt: "Sort {{ item }}"
    output: {kind: refund | other}
"#;

const ASKED: &str = r#"
- name: a question
  input: {message: Where is my money?}
"#;

pub(super) const ENTRIES: &[Entry] = &[
    Entry {
        code: "P0701",
        title: "two cases of one name",
        text: "A case is known by its name: in the lines of `punctual test`, and to `--name` of `run --record`. Say \
               what is special about each of them.",
        example: Example::Folder {
            wrong: &[
                ("workflows/example.yaml", FLOW),
                (
                    "workflows/example.cases.yaml",
                    r#"
- name: money
  input: {message: Where is my money?}
- name: money
  input: {message: I want it back.}
"#,
                ),
            ],
            right: &[
                ("workflows/example.yaml", FLOW),
                (
                    "workflows/example.cases.yaml",
                    r#"
- name: a question
  input: {message: Where is my money?}
- name: a demand
  input: {message: I want it back.}
"#,
                ),
            ],
        },
    },
    Entry {
        code: "P0702",
        title: "a step that a case cannot name",
        text: "`answers` and `expect` name steps of the workflow, and items as `step[0]`. A `value` step is \
               computed: no model answers there, so that none can be recorded.",
        example: Example::Folder {
            wrong: &[
                ("workflows/example.yaml", FLOW),
                (
                    "workflows/example.cases.yaml",
                    r#"
- name: a question
  input: {message: Where is my money?}
  answers: {srot: {kind: refund}}
"#,
                ),
            ],
            right: &[
                ("workflows/example.yaml", FLOW),
                (
                    "workflows/example.cases.yaml",
                    r#"
- name: a question
  input: {message: Where is my money?}
  answers: {sort: {kind: refund}}
"#,
                ),
            ],
        },
    },
    Entry {
        code: "P0703",
        title: "what no model can have answered",
        text: "An answer is an object, which is sent as JSON, or text, which is sent as it stands; of an `each` \
               step a list of them, one an item. Several attempts are `{$attempts: […]}`, and `$fate` says how one \
               fares: an attempt that ends in `error`, `rate_limited` or `hang` has no answer.",
        example: Example::Folder {
            wrong: &[
                ("workflows/example.yaml", FLOW),
                (
                    "workflows/example.cases.yaml",
                    r#"
- name: a question
  input: {message: Where is my money?}
  answers: {sort: 42}
"#,
                ),
            ],
            right: &[
                ("workflows/example.yaml", FLOW),
                (
                    "workflows/example.cases.yaml",
                    r#"
- name: a question
  input: {message: Where is my money?}
  answers: {sort: {kind: refund}}
"#,
                ),
            ],
        },
    },
    Entry {
        code: "P0704",
        title: "an input that the workflow refuses",
        text: "The input of a case is checked as the arguments of a call are, files that it names included: a case \
               that cannot be called would test nothing.",
        example: Example::Folder {
            wrong: &[
                ("workflows/example.yaml", FLOW),
                (
                    "workflows/example.cases.yaml",
                    r#"
- name: a question
  input: {mesage: Where is my money?}
"#,
                ),
            ],
            right: &[
                ("workflows/example.yaml", FLOW),
                (
                    "workflows/example.cases.yaml",
                    r#"
- name: a question
  input: {message: Where is my money?}
"#,
                ),
            ],
        },
    },
    Entry {
        code: "P0705",
        title: "a last answer that its step refuses",
        text: "The last answer that is recorded repeats. Where it fits neither the step's shape nor its `check`, \
               the step can only fail. That is what some cases are about, and then they expect it: `outcome: \
               failed`, or the step among `missing`. To test a repair, add the answer that follows.",
        example: Example::Folder {
            wrong: &[
                ("workflows/example.yaml", FLOW),
                (
                    "workflows/example.cases.yaml",
                    r#"
- name: a question
  input: {message: Where is my money?}
  answers: {sort: {kind: money}}
"#,
                ),
            ],
            right: &[
                ("workflows/example.yaml", FLOW),
                (
                    "workflows/example.cases.yaml",
                    r#"
- name: a question, repaired
  input: {message: Where is my money?}
  answers: {sort: {$attempts: [{kind: money}, {kind: refund}]}}
"#,
                ),
            ],
        },
    },
    Entry {
        code: "P0706",
        title: "more or fewer answers than items",
        text: "An `each` step answers once for each item, in the order of its list. Answers beyond the list are an \
               error. Items without one are made up by shape, and not held to `check`: that is a warning, unless \
               `null` says that it is meant.",
        example: Example::Folder {
            wrong: &[
                ("workflows/example.yaml", EACH),
                (
                    "workflows/example.cases.yaml",
                    r#"
- name: two messages
  input: {messages: [One., Two.]}
  answers: {sort: [{kind: refund}]}
"#,
                ),
            ],
            right: &[
                ("workflows/example.yaml", EACH),
                (
                    "workflows/example.cases.yaml",
                    r#"
- name: two messages
  input: {messages: [One., Two.]}
  answers: {sort: [{kind: refund}, null]}
"#,
                ),
            ],
        },
    },
    Entry {
        code: "P0707",
        title: "a field that the output does not have",
        text: "`expect.output` is compared key by key with what the workflow yields, whose shape is known: a key \
               that it does not have would never be equal.",
        example: Example::Folder {
            wrong: &[
                ("workflows/example.yaml", FLOW),
                (
                    "workflows/example.cases.yaml",
                    r#"
- name: a question
  input: {message: Where is my money?}
  expect: {output: {kid: refund}}
"#,
                ),
            ],
            right: &[
                ("workflows/example.yaml", FLOW),
                (
                    "workflows/example.cases.yaml",
                    r#"
- name: a question
  input: {message: Where is my money?}
  expect: {output: {kind: refund}}
"#,
                ),
            ],
        },
    },
    Entry {
        code: "P0708",
        title: "an expectation that nothing can meet",
        text: "What is expected has a type or a word that the output never has there; leaves out a field of an \
               object in a list, where all is compared exactly; or asks a failed run for an output.",
        example: Example::Folder {
            wrong: &[
                ("workflows/example.yaml", FLOW),
                (
                    "workflows/example.cases.yaml",
                    r#"
- name: a question
  input: {message: Where is my money?}
  expect: {output: {kind: money}}
"#,
                ),
            ],
            right: &[
                ("workflows/example.yaml", FLOW),
                (
                    "workflows/example.cases.yaml",
                    r#"
- name: a question
  input: {message: Where is my money?}
  expect: {output: {kind: refund}}
"#,
                ),
            ],
        },
    },
    Entry {
        code: "P0709",
        title: "too many cases, or too large inputs",
        text: "Of one cases file 500 cases are read, and of the files that their inputs name 16 MiB together. Keep \
               the cases that differ in what they test; lay fields over one document instead of keeping a copy for \
               each.",
        example: Example::Told {
            wrong: "A cases file of 501 cases.",
            right: "A cases file of the ten that differ in what they test.",
        },
    },
    Entry {
        code: "P0710",
        title: "cases without their workflow",
        text: "The cases of NAME.yaml stand in NAME.cases.yaml, in the same folder. Rename the file, or remove it.",
        example: Example::Folder {
            wrong: &[("workflows/example.yaml", FLOW), ("workflows/exampel.cases.yaml", ASKED)],
            right: &[("workflows/example.yaml", FLOW), ("workflows/example.cases.yaml", ASKED)],
        },
    },
    Entry {
        code: "P0711",
        title: "a check of a case that is no condition",
        text: "Each line of `expect.check` is an expression over `output`, `input` and `run` that is true or false.",
        example: Example::Folder {
            wrong: &[
                ("workflows/example.yaml", FLOW),
                (
                    "workflows/example.cases.yaml",
                    r#"
- name: a question
  input: {message: Where is my money?}
  expect: {check: [output.kind]}
"#,
                ),
            ],
            right: &[
                ("workflows/example.yaml", FLOW),
                (
                    "workflows/example.cases.yaml",
                    r#"
- name: a question
  input: {message: Where is my money?}
  expect:
    check:
      - output.kind == "refund"
"#,
                ),
            ],
        },
    },
];
