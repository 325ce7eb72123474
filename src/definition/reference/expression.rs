//! P02: what expressions and prompts refer to and do.

use super::{Entry, Example};

pub(super) const ENTRIES: &[Entry] = &[
    Entry {
        code: "P0201",
        title: "a name that is not visible here",
        text: "The text mentions a name that is neither a step nor `input`, `run`, the item of an `each` step, or a name of \
               a loop around it. A name of a step is visible everywhere; `item` (or the name given by `as`) and `index` \
               only in the step that has `each`; `feedback` only in a step that a validator judges. The help lists what \
               is visible.",
        example: Example::Workflow {
            wrong: r#"
description: Answers a question.
input: {question: string}
steps:
  answer: {max_tokens: 300, prompt: "{{ inptu.question }}"}
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
        code: "P0202",
        title: "something that may be missing is used as if it were there",
        text: "An optional step, a step with `when`, an optional input or field without a default can be missing when the \
               run gets here. Say what then happens: in a prompt guard it, `{% if input.tone %}…{% endif %}`, or give a \
               default, `{{ input.tone | default(\"plain\") }}`; in an expression write `input.tone ?? \"plain\"`. This \
               is found at load, because at run time it would cost the whole run.",
        example: Example::Workflow {
            wrong: r#"
description: Answers a question.
input: {question: string, tone?: string}
steps:
  answer:
    max_tokens: 300
    prompt: "{{ input.question }} Tone: {{ input.tone }}"
"#,
            right: r#"
description: Answers a question.
input: {question: string, tone?: string}
steps:
  answer:
    max_tokens: 300
    prompt: '{{ input.question }} Tone: {{ input.tone | default("plain") }}'
"#,
        },
    },
    Entry {
        code: "P0203",
        title: "a value that may be null where one is needed",
        text: "The field is there, but its type says `| null`, or the function may have no result (`min` of an empty list, a \
               division by zero). An operator or function that needs a value cannot take it as it is. Give a default \
               with `??`.",
        example: Example::Workflow {
            wrong: r#"
description: Counts the words of a note.
input: {note: string | null}
steps:
  answer: {max_tokens: 300, prompt: "{{ input.note | default('') }}"}
output:
  length: length(input.note)
  answer: answer.text
"#,
            right: r#"
description: Counts the words of a note.
input: {note: string | null}
steps:
  answer: {max_tokens: 300, prompt: "{{ input.note | default('') }}"}
output:
  length: length(input.note ?? "")
  answer: answer.text
"#,
        },
    },
    Entry {
        code: "P0204",
        title: "an operand that its operator does not take",
        text: "`+ - * /` reckon with numbers, `and`, `or` and `not` with true and false, `in` looks into a list. Nothing is \
               turned into something else: a text that holds digits is no number, a list is not true. The help says what \
               to write.",
        example: Example::Workflow {
            wrong: r#"
description: Answers a question.
input: {question: string, count: integer}
steps:
  answer: {max_tokens: 300, prompt: "{{ input.question }}"}
output:
  label: input.question + input.count
  answer: answer.text
"#,
            right: r#"
description: Answers a question.
input: {question: string, count: integer}
steps:
  answer: {max_tokens: 300, prompt: "{{ input.question }}"}
output:
  next: input.count + 1
  answer: answer.text
"#,
        },
    },
    Entry {
        code: "P0205",
        title: "two values that can never be equal or ordered",
        text: "The two sides have types that share no value, so the comparison has the same result whatever the model \
               answers. Often it is a word that the enum does not have, or a number compared with a text. Compare values \
               of one type.",
        example: Example::Workflow {
            wrong: r#"
description: Answers a question, at length where it matters.
input: {question: string, urgency: low | high}
steps:
  answer:
    when: input.urgency == "hihg"
    max_tokens: 300
    prompt: "{{ input.question }}"
output:
  answer: answer.text ?? ""
"#,
            right: r#"
description: Answers a question, at length where it matters.
input: {question: string, urgency: low | high}
steps:
  answer:
    when: input.urgency == "high"
    max_tokens: 300
    prompt: "{{ input.question }}"
output:
  answer: answer.text ?? ""
"#,
        },
    },
    Entry {
        code: "P0206",
        title: "a function, filter or test that does not exist",
        text: "Expressions have a closed list of functions, prompts a closed list of filters and tests; there is no way to \
               add one. Functions belong to expressions, `length(x)`; filters to prompts, `x | length`. The help lists \
               them.",
        example: Example::Workflow {
            wrong: r#"
description: Answers a question.
input: {question: string}
steps:
  answer: {max_tokens: 300, prompt: "{{ input.question | uper }}"}
"#,
            right: r#"
description: Answers a question.
input: {question: string}
steps:
  answer: {max_tokens: 300, prompt: "{{ input.question | upper }}"}
"#,
        },
    },
    Entry {
        code: "P0207",
        title: "a field that its shape does not have",
        text: "The value is known, and so are its fields; the one that is named is not among them. It is found in loops, \
               filters and prompt files too. Without this check the prompt would hold nothing in that place, and the \
               model would answer all the same. The help names the fields that exist.",
        example: Example::Workflow {
            wrong: r#"
description: Answers a question.
input: {question: string}
steps:
  answer: {max_tokens: 300, prompt: "{{ input.questoin }}"}
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
        code: "P0208",
        title: "an argument that the function or filter does not take",
        text: "There are too many arguments, too few, or one has the wrong type. The help shows how the function is called.",
        example: Example::Workflow {
            wrong: r#"
description: Answers a question.
input: {question: string, count: integer}
steps:
  answer: {max_tokens: 300, prompt: "{{ input.question }}"}
output:
  size: length(input.count)
  answer: answer.text
"#,
            right: r#"
description: Answers a question.
input: {question: string, count: integer}
steps:
  answer: {max_tokens: 300, prompt: "{{ input.question }}"}
output:
  size: length(input.question) + input.count
  answer: answer.text
"#,
        },
    },
    Entry {
        code: "P0209",
        title: "values of one place that have no common type",
        text: "The two sides of `??` stand for the same thing and must have the same type, and so must the items of a list; \
               otherwise nobody could say what type the result has. Choose a default of the value's own type: `\"\"` for \
               a text, `0` for a number, `[]` for a list.",
        example: Example::Workflow {
            wrong: r#"
description: Answers a question.
input: {question: string, tone?: string}
steps:
  answer: {max_tokens: 300, prompt: "{{ input.question }}"}
output:
  tone: input.tone ?? 0
  answer: answer.text
"#,
            right: r#"
description: Answers a question.
input: {question: string, tone?: string}
steps:
  answer: {max_tokens: 300, prompt: "{{ input.question }}"}
output:
  tone: input.tone ?? "plain"
  answer: answer.text
"#,
        },
    },
    Entry {
        code: "P0210",
        title: "an expression that cannot be read",
        text: "The text does not follow the grammar of expressions: paths (`plan.questions.id`), numbers, texts in quotes, \
               lists, `+ - * /`, `== != < <= > >=`, `and or not`, `??`, `in`, `all(… for x in …)`, `any(…)` and the listed \
               functions. There is no index, no `if`, no filter; the help says what to write instead.",
        example: Example::Workflow {
            wrong: r#"
description: Answers a question.
input: {question: string, urgent: boolean, short: boolean}
steps:
  answer:
    when: input.urgent && input.short
    max_tokens: 300
    prompt: "{{ input.question }}"
output:
  answer: answer.text ?? ""
"#,
            right: r#"
description: Answers a question.
input: {question: string, urgent: boolean, short: boolean}
steps:
  answer:
    when: input.urgent and input.short
    max_tokens: 300
    prompt: "{{ input.question }}"
output:
  answer: answer.text ?? ""
"#,
        },
    },
];
