//! P02: what prompts alone can get wrong, and the limits of both languages.

use super::{Entry, Example};

pub(super) const ENTRIES: &[Entry] = &[
    Entry {
        code: "P0211",
        title: "a prompt that cannot be read",
        text: "A tag of the template is not closed or not complete. Prompts know `{{ value }}`, `{% for %}`, `{% if %}`, \
               `{% set %}`, `{% with %}` and their ends. Single braces are plain text; double braces that are meant as text \
               stand between `{% raw %}` and `{% endraw %}`. A default is written `| default(…)` in a prompt, `??` only \
               in expressions.",
        example: Example::Workflow {
            wrong: r#"
description: Answers a question.
input: {question: string}
steps:
  answer: {max_tokens: 300, prompt: "{% if input.question %}{{ input.question }}"}
"#,
            right: r#"
description: Answers a question.
input: {question: string}
steps:
  answer: {max_tokens: 300, prompt: "{% if input.question %}{{ input.question }}{% endif %}"}
"#,
        },
    },
    Entry {
        code: "P0212",
        title: "a construct that prompts do not have",
        text: "Prompts have no macros, calls, inheritance, recursive loops or powers: a prompt is one text, and what the \
               author wrote is what the model sees. Write the text in place, or loop over a list.",
        example: Example::Workflow {
            wrong: r#"
description: Answers a question.
input: {question: string}
steps:
  answer: {max_tokens: 300, prompt: "{{ input.question.upper() }}"}
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
        code: "P0213",
        title: "an expression that is too long or too deep",
        text: "An expression may have 4 KiB and nest 64 levels, chains of operators included, with `all` and `any` at most \
               two deep. So its cost is known before it runs. Let a field of a step's answer hold a part of it.",
        example: Example::Told {
            wrong: "An `output` expression of more than 4,096 bytes.",
            right: "The same in two expressions, each shorter.",
        },
    },
    Entry {
        code: "P0214",
        title: "a loop over something that is no list",
        text: "`{% for x in … %}` in a prompt and `all(… for x in …)` in an expression go through lists. A text, a number or \
               an object has no items. Name the list; a text is made into one with `split`.",
        example: Example::Workflow {
            wrong: r#"
description: Answers a question.
input: {questions: [string], count: integer}
steps:
  answer: {max_tokens: 300, prompt: "{% for q in input.count %}{{ q }}{% endfor %}"}
"#,
            right: r#"
description: Answers a question.
input: {questions: [string], count: integer}
steps:
  answer: {max_tokens: 300, prompt: "{{ input.count }}: {% for q in input.questions %}{{ q }}{% endfor %}"}
"#,
        },
    },
    Entry {
        code: "P0215",
        title: "a prompt's tag that is too long or too deep",
        text: "One tag (`{{ … }}` or `{% … %}`) may hold 256 words and signs and brackets 32 deep, a template 100 `elif`, and a template file 1 MiB: \
               they nest when they are read, and nesting costs stack. Use `{% set name = … %}` for a part, or let a step's \
               answer hold it.",
        example: Example::Told {
            wrong: "A prompt with a tag that adds 300 numbers.",
            right: "The same sum in several `{% set %}` tags.",
        },
    },
];
