//! P03: shapes and JSON Schemas.

use super::{Entry, Example};

pub(super) const ENTRIES: &[Entry] = &[
    Entry {
        code: "P0301",
        title: "a JSON Schema or pattern that cannot be used",
        text: "A schema does not follow JSON Schema (draft 2020-12), or a pattern is no regular expression that runs in linear \
               time: look-around and back-references are refused, since one answer could keep the server busy for hours.",
        example: Example::Workflow {
            wrong: r#"
description: Answers a question.
input: {question: string}
steps:
  answer:
    max_tokens: 300
    prompt: "{{ input.question }}"
    output_schema: {type: object, properties: {count: {type: intger}}}
"#,
            right: r#"
description: Answers a question.
input: {question: string}
steps:
  answer:
    max_tokens: 300
    prompt: "{{ input.question }}"
    output_schema: {type: object, properties: {count: {type: integer}}}
"#,
        },
    },
    Entry {
        code: "P0302",
        title: "a schema file that is not JSON",
        text: "A file that `output_schema` or `$ref` names must hold JSON: keys and texts in double quotes, no comments, no \
               comma behind the last item. The place shown is where reading stopped; what is wrong often stands just \
               before it.",
        example: Example::Folder {
            wrong: &[
                (
                    "workflows/example.yaml",
                    r#"
description: Answers a question.
input: {question: string}
steps:
  answer:
    max_tokens: 300
    prompt: "{{ input.question }}"
    output_schema: schemas/answer.json
"#,
                ),
                ("workflows/schemas/answer.json", "{\"type\": \"object\",}\n"),
            ],
            right: &[
                (
                    "workflows/example.yaml",
                    r#"
description: Answers a question.
input: {question: string}
steps:
  answer:
    max_tokens: 300
    prompt: "{{ input.question }}"
    output_schema: schemas/answer.json
"#,
                ),
                ("workflows/schemas/answer.json", "{\"type\": \"object\"}\n"),
            ],
        },
    },
    Entry {
        code: "P0303",
        title: "a schema that clients do not take",
        text: "Clients show a tool's schema to their models, and many of them drop the tool over a recursive reference, a root \
               that is no plain object, or a field's name beyond 64 characters. Such a schema works here and fails there, so \
               it is refused. Put the choice into a field, and write nested parts out.",
        example: Example::Workflow {
            wrong: r#"
description: Answers a question.
input:
  $schema:
    type: object
    properties: {question: {type: string}, text: {type: string}}
    anyOf: [{required: [question]}, {required: [text]}]
steps:
  answer: {max_tokens: 300, prompt: "{{ input | tojson }}"}
"#,
            right: r#"
description: Answers a question.
input:
  $schema:
    type: object
    properties: {question: {type: string}, text: {type: string}}
steps:
  answer: {max_tokens: 300, prompt: "{{ input | tojson }}"}
"#,
        },
    },
    Entry {
        code: "P0304",
        title: "a root that is no object",
        text: "The arguments of a tool and the answer of a step are objects: MCP and the models' JSON modes know nothing else \
               at the root. Give the value a name.",
        example: Example::Workflow {
            wrong: r#"
description: Lists key points.
input: {text: string}
steps:
  points: {max_tokens: 300, prompt: "{{ input.text }}", output: [string]}
"#,
            right: r#"
description: Lists key points.
input: {text: string}
steps:
  points: {max_tokens: 300, prompt: "{{ input.text }}", output: {points: [string]}}
"#,
        },
    },
    Entry {
        code: "P0305",
        title: "an unknown shape",
        text: "A shape is `string`, `integer`, `number`, `boolean`, `any`, a list `[T]`, fields `{key: T}`, `T | null`, words \
               `low | high`, or a name from `shapes`. This word is none of them. Words of other systems have other names \
               here: `str` and `text` are `string`, `int` is `integer`, `bool` is `boolean`, `array` is `[T]`.",
        example: Example::Workflow {
            wrong: r#"
description: Answers a question.
input: {question: strng}
steps:
  answer: {max_tokens: 300, prompt: "{{ input.question }}"}
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
        code: "P0306",
        title: "a shape that contains itself",
        text: "Clients and models take finite schemas only. Nest as deep as the data needs, each level under its own name.",
        example: Example::Workflow {
            wrong: r#"
description: Outlines a text.
shapes:
  Part: {title: string, parts: [Part]}
input: {text: string}
steps:
  outline: {max_tokens: 300, prompt: "{{ input.text }}", output: {parts: [Part]}}
"#,
            right: r#"
description: Outlines a text.
shapes:
  Part: {title: string, parts: [Leaf]}
  Leaf: {title: string}
input: {text: string}
steps:
  outline: {max_tokens: 300, prompt: "{{ input.text }}", output: {parts: [Part]}}
"#,
        },
    },
    Entry {
        code: "P0307",
        title: "an annotation that means nothing there",
        text: "A mapping whose keys start with `$` annotates a shape: it needs one of `$type`, `$ref` or `$schema`; `$min` and \
               `$max` bound numbers and the lengths of texts and lists; `$pattern` is for texts; `$about` and `$default` \
               belong to a field. Here one of them would have no effect.",
        example: Example::Workflow {
            wrong: r#"
description: Answers a question.
input:
  question: {$type: string}
  urgent: {$type: boolean, $max: 5}
steps:
  answer: {max_tokens: 300, prompt: "{% if input.urgent %}Now: {% endif %}{{ input.question }}"}
"#,
            right: r#"
description: Answers a question.
input:
  question: {$type: string, $max: 500}
  urgent: boolean
steps:
  answer: {max_tokens: 300, prompt: "{% if input.urgent %}Now: {% endif %}{{ input.question }}"}
"#,
        },
    },
    Entry {
        code: "P0308",
        title: "a default that does not fit its shape",
        text: "The `$default` is filled in where the caller leaves the field out, so it must be a value that the caller could \
               have sent. Nothing is coerced: `\"10\"` is no integer.",
        example: Example::Workflow {
            wrong: r#"
description: Lists key points.
input:
  text: string
  count: {$type: integer, $default: ten}
steps:
  points: {max_tokens: 300, prompt: "{{ input.count }} points of: {{ input.text }}"}
"#,
            right: r#"
description: Lists key points.
input:
  text: string
  count: {$type: integer, $default: 10}
steps:
  points: {max_tokens: 300, prompt: "{{ input.count }} points of: {{ input.text }}"}
"#,
        },
    },
    Entry {
        code: "P0309",
        title: "a choice that shapes do not have",
        text: "`|` stands between words, `low | high`, or between one shape and `null`. A choice between two shapes makes \
               every reference to a field uncertain, and clients handle it badly. Use two optional fields.",
        example: Example::Workflow {
            wrong: r#"
description: Answers a question.
input: {question: string, limit: integer | string}
steps:
  answer: {max_tokens: 300, prompt: "{{ input.question }} At most: {{ input.limit | default(5) }}"}
"#,
            right: r#"
description: Answers a question.
input: {question: string, limit: integer | null}
steps:
  answer: {max_tokens: 300, prompt: "{{ input.question }} At most: {{ input.limit | default(5) }}"}
"#,
        },
    },
    Entry {
        code: "P0310",
        title: "a name that a field or shape cannot have",
        text: "A field's name has 1 to 64 characters, which is what clients allow, and each stands once: `tone` and `tone?` are \
               the same field. A shape's name has letters, digits and `_`, and is no type's name. A field of the top-level \
               `output` has no `?`: whether it may be missing follows from its expression.",
        example: Example::Workflow {
            wrong: r#"
description: Answers a question.
shapes:
  string: {text: string}
input: {question: string}
steps:
  answer: {max_tokens: 300, prompt: "{{ input.question }}"}
"#,
            right: r#"
description: Answers a question.
shapes:
  Answer: {text: string}
input: {question: string}
steps:
  answer: {max_tokens: 300, prompt: "{{ input.question }}", output: Answer}
"#,
        },
    },
];
