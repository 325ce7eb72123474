//! P04: constants, computed steps, conditions on answers, conversations, lists that may be cut.

use super::{Entry, Example};

pub(super) const ENTRIES: &[Entry] = &[
    Entry {
        code: "P0412",
        title: "a constant that no text could use",
        text: "A constant under `vars` is a text, a number, true or false, a list of values of one type, or a mapping of them. \
               An empty value has no type, and a list of mixed items has none that a step could rely on. Give it a value, or \
               give the items names in a mapping.",
        example: Example::Workflow {
            wrong: r#"
description: Answers a question.
vars:
  tone:
input: {question: string}
steps:
  answer: {max_tokens: 300, prompt: "{{ input.question }} Tone: {{ vars.tone }}"}
"#,
            right: r#"
description: Answers a question.
vars:
  tone: plain
input: {question: string}
steps:
  answer: {max_tokens: 300, prompt: "{{ input.question }} Tone: {{ vars.tone }}"}
"#,
        },
    },
    Entry {
        code: "P0413",
        title: "a `check` that is neither true nor false",
        text: "A `check` is a condition that the answer must meet; where it is false the answer is invalid, and its text tells \
               the model what to mend. A number or a list is no condition. Compare it, or use `all(… for x in …)`.",
        example: Example::Workflow {
            wrong: r#"
description: Lists key points.
input: {text: string}
steps:
  points:
    max_tokens: 300
    prompt: "{{ input.text }}"
    output: {points: [string]}
    check:
      - length(points)
"#,
            right: r#"
description: Lists key points.
input: {text: string}
steps:
  points:
    max_tokens: 300
    prompt: "{{ input.text }}"
    output: {points: [string]}
    check:
      - length(points) <= 5
"#,
        },
    },
    Entry {
        code: "P0414",
        title: "a name in a `check` that could mean two things",
        text: "In a `check` the fields of the step's own answer stand bare, beside `input`, `vars` and other steps. Here a field \
               has the name of one of these, so the condition could mean either. Rename the field or the step.",
        example: Example::Workflow {
            wrong: r#"
description: Plans and writes a text.
input: {topic: string}
steps:
  plan: {max_tokens: 100, prompt: "Plan {{ input.topic }}"}
  draft:
    max_tokens: 300
    prompt: "Write {{ plan.text }}"
    output: {plan: string, body: string}
    check:
      - plan != ""
"#,
            right: r#"
description: Plans and writes a text.
input: {topic: string}
steps:
  plan: {max_tokens: 100, prompt: "Plan {{ input.topic }}", output: {points: [string]}}
  draft:
    max_tokens: 300
    model: balanced
    prompt: "Write {{ plan.points | tojson }}"
    output: {outline: string, body: string}
    check:
      - outline != ""
"#,
        },
    },
    Entry {
        code: "P0415",
        title: "a step whose conversation cannot precede another's",
        text: "`history` puts the prompt and the answer of other steps before this one's prompt, as a conversation. A step with \
               `each` has many of them, a step with `value` has none, and no step can precede itself. Name plain steps, each \
               once; what else is needed goes into the prompt.",
        example: Example::Workflow {
            wrong: r#"
description: Answers, then shortens the answer.
input: {question: string}
steps:
  facts: {value: {size: length(input.question)}}
  answer: {max_tokens: 300, prompt: "{{ input.question }}, {{ facts.size }}"}
  short: {history: [facts], model: balanced, max_tokens: 60, prompt: "Shorten {{ answer.text }}"}
"#,
            right: r#"
description: Answers, then shortens the answer.
input: {question: string}
steps:
  answer: {max_tokens: 300, prompt: "{{ input.question }}"}
  short: {history: [answer], model: balanced, max_tokens: 60, prompt: "Say that in one sentence."}
"#,
        },
    },
    Entry {
        code: "P0416",
        title: "something in `shrink` that is no list of the prompt",
        text: "`shrink` names lists whose last items may be left out where the prompt does not fit the model's window. Each must \
               be a plain reference to a list, and stand in the step's own prompt: leaving out anything else would not make \
               it shorter. Nothing but these lists is ever cut.",
        example: Example::Workflow {
            wrong: r#"
description: Answers a question from documents.
input: {question: string, documents: [string]}
steps:
  answer:
    max_tokens: 300
    shrink: [input.question]
    prompt: "{{ input.question }} {{ input.documents | tojson }}"
"#,
            right: r#"
description: Answers a question from documents.
input: {question: string, documents: [string]}
steps:
  answer:
    max_tokens: 300
    shrink: [input.documents]
    prompt: "{{ input.question }} {{ input.documents | tojson }}"
"#,
        },
    },
];
