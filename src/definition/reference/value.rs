//! P01: YAML, keys and values; P09, what is left for later.

use super::{Entry, Example};

pub(super) const ENTRIES: &[Entry] = &[
    Entry {
        code: "P0101",
        title: "not valid YAML",
        text: "The file cannot be read as YAML, so nothing else in it can be checked. The usual causes are `: ` or ` #` \
               inside a bare text, a quote or bracket that is not closed, a tab used to indent, and a value that starts \
               with a sign YAML keeps for itself (`*`, `&`, `!`, `%`, `@`, or a backtick). Put the value in quotes, or \
               write it as a block: `|` and the text indented below it.",
        example: Example::Workflow {
            wrong: r#"
description: Answers one thing: the question.
input: {question: string}
steps:
  answer: {max_tokens: 300, prompt: "{{ input.question }}"}
"#,
            right: r#"
description: "Answers one thing: the question."
input: {question: string}
steps:
  answer: {max_tokens: 300, prompt: "{{ input.question }}"}
"#,
        },
    },
    Entry {
        code: "P0102",
        title: "a key that stands twice",
        text: "A mapping has the same key two times. Many YAML readers keep the last one and say nothing; then an edit of \
               the first has no effect, and nobody knows why. Remove one of them.",
        example: Example::Workflow {
            wrong: r#"
description: Answers a question.
input: {question: string}
deadline: 20s
deadline: 30s
steps:
  answer: {max_tokens: 300, prompt: "{{ input.question }}"}
"#,
            right: r#"
description: Answers a question.
input: {question: string}
deadline: 30s
steps:
  answer: {max_tokens: 300, prompt: "{{ input.question }}"}
"#,
        },
    },
    Entry {
        code: "P0103",
        title: "YAML that the format does without",
        text: "Tags (`!!str`), merges (`<<`), more than one document in a file, and keys that are not text are refused: \
               each of them makes a file mean something else than it seems to say. Plain anchors and aliases are allowed \
               for whole values. What several steps share belongs under `defaults`.",
        example: Example::Workflow {
            wrong: r#"
description: Answers a question.
input: {question: string}
x-usual: &usual {max_tokens: 300}
steps:
  answer:
    <<: *usual
    max_tokens: 200
    prompt: "{{ input.question }}"
"#,
            right: r#"
description: Answers a question.
input: {question: string}
defaults: {max_tokens: 300}
steps:
  answer:
    max_tokens: 200
    prompt: "{{ input.question }}"
"#,
        },
    },
    Entry {
        code: "P0104",
        title: "an unknown key",
        text: "The key is not part of the format. It is an error and not a warning, because a misspelt key that is dropped \
               in silence looks as if it worked. The help names the key that was probably meant and all that may stand \
               there. Keys of your own start with `x-`.",
        example: Example::Workflow {
            wrong: r#"
description: Answers a question.
deadlin: 20s
input: {question: string}
steps:
  answer: {max_tokens: 300, prompt: "{{ input.question }}"}
"#,
            right: r#"
description: Answers a question.
deadline: 20s
input: {question: string}
steps:
  answer: {max_tokens: 300, prompt: "{{ input.question }}"}
"#,
        },
    },
    Entry {
        code: "P0105",
        title: "a key in the wrong place",
        text: "The key exists, but not here: `attempts` belongs under `policy`, `deadline` at the top of the file. Here it \
               would have no effect. Move it to the place that the help names.",
        example: Example::Workflow {
            wrong: r#"
description: Answers a question.
input: {question: string}
steps:
  answer:
    max_tokens: 300
    attempts: 2
    prompt: "{{ input.question }}"
"#,
            right: r#"
description: Answers a question.
input: {question: string}
steps:
  answer:
    max_tokens: 300
    policy: {attempts: 2}
    prompt: "{{ input.question }}"
"#,
        },
    },
    Entry {
        code: "P0106",
        title: "something that must be there is missing",
        text: "A key without which the file has no meaning is absent or empty: `description` and `steps` of a workflow, a \
               step's `prompt`, a provider's `kind`. Clients choose a tool by its description, so it cannot be left out. \
               Write the key.",
        example: Example::Workflow {
            wrong: r#"
input: {question: string}
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
        code: "P0107",
        title: "a value of the wrong type",
        text: "Text, number, true or false, list and mapping are five different things, and nothing is turned into another. \
               A bare `429` is a number and not text; `\"429\"` is text. Only `true` and `false` are true and false: `yes`, \
               `no`, `on` and `off` are text. Quote what is meant as text, and do not quote numbers.",
        example: Example::Workflow {
            wrong: r#"
description: Answers a question.
title: 429
input: {question: string}
steps:
  answer: {max_tokens: "300", prompt: "{{ input.question }}"}
"#,
            right: r#"
description: Answers a question.
title: "429"
input: {question: string}
steps:
  answer: {max_tokens: 300, prompt: "{{ input.question }}"}
"#,
        },
    },
    Entry {
        code: "P0108",
        title: "a value out of its range, or without its unit",
        text: "The value has the right type and cannot be used: it is too small or too large, or a duration or share lacks \
               its unit. Durations are written `250ms`, `20s` or `2m`, shares `80%`; a bare `20` could be seconds or \
               milliseconds, and a guess would be wrong for someone.",
        example: Example::Workflow {
            wrong: r#"
description: Answers a question.
deadline: 20
input: {question: string}
steps:
  answer: {max_tokens: 300, prompt: "{{ input.question }}"}
"#,
            right: r#"
description: Answers a question.
deadline: 20s
input: {question: string}
steps:
  answer: {max_tokens: 300, prompt: "{{ input.question }}"}
"#,
        },
    },
    Entry {
        code: "P0109",
        title: "a word that is not one of the choices",
        text: "The key takes one of a few words, and this is none of them. The help lists them all.",
        example: Example::Workflow {
            wrong: r#"
description: Answers a question.
input: {question: string}
steps:
  answer:
    max_tokens: 300
    policy: {hedge: maybe}
    prompt: "{{ input.question }}"
"#,
            right: r#"
description: Answers a question.
input: {question: string}
steps:
  answer:
    max_tokens: 300
    policy: {hedge: auto}
    prompt: "{{ input.question }}"
"#,
        },
    },
    Entry {
        code: "P0110",
        title: "two keys that exclude each other",
        text: "Both keys say the same thing in two ways: `prompt` and `prompt_file`, `system` and `system_file`, `output` \
               and `output_schema`. Which one wins would be a guess. Keep one of them.",
        example: Example::Workflow {
            wrong: r#"
description: Answers a question.
input: {question: string}
steps:
  answer:
    max_tokens: 300
    prompt: "{{ input.question }}"
    output: {answer: string}
    output_schema: {type: object}
"#,
            right: r#"
description: Answers a question.
input: {question: string}
steps:
  answer:
    max_tokens: 300
    prompt: "{{ input.question }}"
    output: {answer: string}
"#,
        },
    },
    Entry {
        code: "P0111",
        title: "YAML reads something else than the expression",
        text: "An expression is one bare value: `plan.questions`. YAML takes a leading `[` or `{` as a list or mapping, and \
               a comma in a flow list as the next item, before the expression is read. Write such an expression as a \
               block: `|` and the expression on the next line, or in quotes. The grammar itself needs neither.",
        example: Example::Workflow {
            wrong: r#"
description: Answers every question.
input:
  questions: {$type: [string], $max: 8}
steps:
  answer:
    each: [input.questions]
    max_tokens: 300
    prompt: "{{ item }}"
"#,
            right: r#"
description: Answers every question.
input:
  questions: {$type: [string], $max: 8}
steps:
  answer:
    each: input.questions
    max_tokens: 300
    prompt: "{{ item }}"
"#,
        },
    },
    Entry {
        code: "P0901",
        title: "not yet supported",
        text: "The name is reserved for a later version of the format, so that files written today keep their meaning then. \
               It is refused and not ignored: a step that silently did not do what it says would be worse. Remove it, or \
               do what the help proposes.",
        example: Example::Workflow {
            wrong: r#"
description: Answers a question.
input: {question: string}
steps:
  answer: {use: other_workflow}
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
