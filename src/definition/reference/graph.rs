//! P04: steps and their graph.

use super::{Entry, Example};

pub(super) const ENTRIES: &[Entry] = &[
    Entry {
        code: "P0401",
        title: "steps that wait for one another",
        text: "A step starts when the steps it refers to are done. Here each waits for the next and the last for the first, \
               so none could ever start. The message names them all. Remove one of the references. A step that is judged \
               reads the verdict as `feedback`, not by the validator's name.",
        example: Example::Workflow {
            wrong: r#"
description: Writes a text.
input: {topic: string}
steps:
  plan: {max_tokens: 300, prompt: "Plan {{ input.topic }} along {{ draft.text }}"}
  draft: {max_tokens: 300, prompt: "Write {{ plan.text }}"}
output: {plan: plan.text, text: draft.text}
"#,
            right: r#"
description: Writes a text.
input: {topic: string}
steps:
  plan: {max_tokens: 300, prompt: "Plan {{ input.topic }}"}
  draft: {max_tokens: 300, prompt: "Write {{ plan.text }}"}
output: {plan: plan.text, text: draft.text}
"#,
        },
    },
    Entry {
        code: "P0402",
        title: "a name that clients or references cannot hold",
        text: "Tools, steps and items are named `^[a-z][a-z0-9_]{0,47}$`: a lower-case letter, then lower-case letters, digits \
               and `_`, at most 48 in all. Some clients reject other tool names, and a step's name must be readable in an \
               expression, where `my-step` is a subtraction. A tool's name is its file's, without `.yaml`.",
        example: Example::Workflow {
            wrong: r#"
description: Answers a question.
input: {question: string}
steps:
  My-Answer: {max_tokens: 300, prompt: "{{ input.question }}"}
"#,
            right: r#"
description: Answers a question.
input: {question: string}
steps:
  my_answer: {max_tokens: 300, prompt: "{{ input.question }}"}
"#,
        },
    },
    Entry {
        code: "P0403",
        title: "a reserved name",
        text: "`input`, `vars`, `run`, `feedback` and `index` mean something of their own in every text, and so do the words of \
               the languages (`and`, `or`, `not`, `in`, `is`, `if`, `else`, `true`, `false`, `null`). A step or item of that name could \
               not be referred to. A file may not take the name of one of the server's own tools either. Choose another.",
        example: Example::Workflow {
            wrong: r#"
description: Answers a question.
input: {question: string}
steps:
  run: {max_tokens: 300, prompt: "{{ input.question }}"}
"#,
            right: r#"
description: Answers a question.
input: {question: string}
steps:
  answer: {max_tokens: 300, prompt: "{{ input.question }}"}
"#,
        },
    },
    Entry {
        code: "P0404",
        title: "a step that is not there",
        text: "`needs` or `validates` names a step that the workflow does not have. The help lists its steps.",
        example: Example::Workflow {
            wrong: r#"
description: Writes a text.
input: {topic: string}
steps:
  plan: {max_tokens: 300, prompt: "Plan {{ input.topic }}"}
  draft: {needs: [plna], max_tokens: 300, prompt: "Write {{ plan.text }}"}
output: {plan: plan.text, text: draft.text}
"#,
            right: r#"
description: Writes a text.
input: {topic: string}
steps:
  plan: {max_tokens: 300, prompt: "Plan {{ input.topic }}"}
  draft: {needs: [plan], max_tokens: 300, prompt: "Write {{ plan.text }}"}
output: {plan: plan.text, text: draft.text}
"#,
        },
    },
    Entry {
        code: "P0405",
        title: "a step that refers to itself",
        text: "A step cannot read its own answer, since it has none while its prompt is written. Where a validator sends it \
               back, `feedback` holds what was wrong, and the rejected answer goes along by itself.",
        example: Example::Workflow {
            wrong: r#"
description: Writes a text.
input: {topic: string}
steps:
  draft: {max_tokens: 300, prompt: "Write {{ input.topic }}, better than {{ draft.text }}"}
output: {text: draft.text}
"#,
            right: r#"
description: Writes a text.
input: {topic: string}
steps:
  draft: {max_tokens: 300, prompt: "Write {{ input.topic }}"}
output: {text: draft.text}
"#,
        },
    },
    Entry {
        code: "P0406",
        title: "a validator that cannot judge",
        text: "A validator judges one plain step: it has `pass: boolean` in its output, reads the judged step in its prompt, and \
               judges neither itself, nor another validator, nor a step that another one judges already.",
        example: Example::Workflow {
            wrong: r#"
description: Writes a text and checks it.
input: {topic: string}
steps:
  draft: {max_tokens: 300, prompt: "Write {{ input.topic }}"}
  review:
    validates: draft
    max_tokens: 100
    prompt: "Is this good? {{ draft.text }}"
    output: {good: boolean}
"#,
            right: r#"
description: Writes a text and checks it.
input: {topic: string}
steps:
  draft: {max_tokens: 300, prompt: "Write {{ input.topic }}"}
  review:
    validates: draft
    max_tokens: 100
    prompt: "Is this good? {{ draft.text }}"
    output: {pass: boolean, problems: [string]}
"#,
        },
    },
    Entry {
        code: "P0407",
        title: "`each` over something that is no list",
        text: "`each` runs the step once for every item, so its expression must be a list: of a step, of an input, or made by \
               `split`, `chunks` or `batches`. A list that may be null needs a default, `?? []`.",
        example: Example::Workflow {
            wrong: r#"
description: Answers every question.
input:
  topic: string
  questions: {$type: [string], $max: 8}
steps:
  answer: {each: input.topic, max_tokens: 300, prompt: "{{ input.topic }}: {{ item }}"}
"#,
            right: r#"
description: Answers every question.
input:
  topic: string
  questions: {$type: [string], $max: 8}
steps:
  answer: {each: input.questions, max_tokens: 300, prompt: "{{ input.topic }}: {{ item }}"}
"#,
        },
    },
    Entry {
        code: "P0408",
        title: "`when` that is neither true nor false",
        text: "A condition must be a boolean. A text or a list is not true because something is in it: in another system \
               `\"false\"` is true, and that is a bug nobody sees. Compare it with a value, or ask for its length.",
        example: Example::Workflow {
            wrong: r#"
description: Answers a question where there is one.
input: {question: string}
steps:
  answer: {when: input.question, max_tokens: 300, prompt: "{{ input.question }}"}
output:
  answer: answer.text ?? ""
"#,
            right: r#"
description: Answers a question where there is one.
input: {question: string}
steps:
  answer: {when: input.question != "", max_tokens: 300, prompt: "{{ input.question }}"}
output:
  answer: answer.text ?? ""
"#,
        },
    },
    Entry {
        code: "P0409",
        title: "a key that means nothing without another",
        text: "`as`, `max_parallel` and `min_ok` belong to `each`, `revise` to `validates`, `cutoff_at` to `optional: true` or \
               `each`. Alone they would have no effect. Add the other key, or remove this one.",
        example: Example::Workflow {
            wrong: r#"
description: Answers a question.
input: {question: string}
steps:
  answer: {min_ok: 80%, max_tokens: 300, prompt: "{{ input.question }}"}
"#,
            right: r#"
description: Answers every question.
input:
  questions: {$type: [string], $max: 8}
steps:
  answer: {each: input.questions, min_ok: 80%, cutoff_at: 60%, max_tokens: 300, prompt: "{{ item }}"}
"#,
        },
    },
    Entry {
        code: "P0410",
        title: "a result that is not clear",
        text: "Without `output` the result is the answer of the step that no other one uses. Here there are several of them, or \
               the only one may be missing. Write `output` and say what the caller gets, with a default for what may be \
               missing.",
        example: Example::Workflow {
            wrong: r#"
description: Summarises a text and names it.
input: {text: string}
steps:
  summary: {max_tokens: 300, prompt: "Summarise {{ input.text }}"}
  title: {max_tokens: 30, prompt: "A title for {{ input.text }}"}
"#,
            right: r#"
description: Summarises a text and names it.
input: {text: string}
steps:
  summary: {max_tokens: 300, prompt: "Summarise {{ input.text }}"}
  title: {max_tokens: 30, prompt: "A title for {{ input.text }}"}
output:
  summary: summary.text
  title: title.text
"#,
        },
    },
    Entry {
        code: "P0411",
        title: "advice: an answer without a bound on the longest chain",
        text: "The step is on the chain that decides how long the run takes, and has no `max_tokens`: 1,024 is assumed. A bound \
               near the usual length cuts a model that does not stop, and lets the deadline be shared out by real needs.",
        example: Example::Workflow {
            wrong: r#"
description: Answers a question.
input: {question: string}
steps:
  answer: {prompt: "{{ input.question }}"}
"#,
            right: r#"
description: Answers a question.
input: {question: string}
steps:
  answer: {max_tokens: 300, prompt: "{{ input.question }}"}
"#,
        },
    },
];
