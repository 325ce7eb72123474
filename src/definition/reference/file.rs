//! P06: files and limits.

use super::{Entry, Example};

pub(super) const ENTRIES: &[Entry] = &[
    Entry {
        code: "P0601",
        title: "a file that cannot be read",
        text: "A file that is named is not there, is no plain file, or may not be read by the server's user. Names are relative \
               to the workflow's own folder.",
        example: Example::Folder {
            wrong: &[
                (
                    "workflows/example.yaml",
                    r#"
description: Answers a question.
input: {question: string}
steps:
  answer: {max_tokens: 300, prompt_file: answer.md}
"#,
                ),
                ("workflows/prompts/answer.md", "{{ input.question }}\n"),
            ],
            right: &[
                (
                    "workflows/example.yaml",
                    r#"
description: Answers a question.
input: {question: string}
steps:
  answer: {max_tokens: 300, prompt_file: prompts/answer.md}
"#,
                ),
                ("workflows/prompts/answer.md", "{{ input.question }}\n"),
            ],
        },
    },
    Entry {
        code: "P0602",
        title: "a file beyond 1 MiB",
        text: "Workflows, prompts, schemas and `punctual.yaml` are read up to 1 MiB each. Documents belong into the input: there \
               they are counted against the model's window, and can be cut into chunks.",
        example: Example::Told {
            wrong: "A workflow file of more than 1,048,576 bytes, for example with a whole manual in its prompt.",
            right: "A workflow with `input: {manual: string}`, and the manual sent as an argument.",
        },
    },
    Entry {
        code: "P0603",
        title: "a file outside the folder",
        text: "A workflow reads files of its own folder and below only, symbolic links followed. A definition that somebody \
               else wrote can so never put a file of the machine into a prompt. Copy the file into the folder.",
        example: Example::Folder {
            wrong: &[(
                "workflows/example.yaml",
                r#"
description: Answers a question.
input: {question: string}
steps:
  answer: {max_tokens: 300, prompt_file: ../answer.md}
"#,
            )],
            right: &[
                (
                    "workflows/example.yaml",
                    r#"
description: Answers a question.
input: {question: string}
steps:
  answer: {max_tokens: 300, prompt_file: answer.md}
"#,
                ),
                ("workflows/answer.md", "{{ input.question }}\n"),
            ],
        },
    },
    Entry {
        code: "P0604",
        title: "a file that is not UTF-8",
        text: "All files are read as UTF-8, with or without a byte order mark. The place shown is the first byte that is not: \
               the file is in another encoding (UTF-16, Latin-1), or is no text at all. Save it as UTF-8.",
        example: Example::Told {
            wrong: "A workflow saved as UTF-16, which Windows editors call \"Unicode\".",
            right: "The same, saved as UTF-8.",
        },
    },
    Entry {
        code: "P0605",
        title: "more than 200 steps",
        text: "A workflow has at most 200 steps. Work that repeats is one step with `each`, which runs up to 1,000 items.",
        example: Example::Told {
            wrong: "A workflow with 201 steps, one for each chapter.",
            right: "One step with `each: input.chapters`.",
        },
    },
    Entry {
        code: "P0606",
        title: "two files that make one tool",
        text: "A tool's name is its file's name without the ending, and two files have the same: in two folders of `workflows`, \
               or as `.yaml` and `.yml`. Neither is served, since either could be the wrong one. Keep one, or rename it.",
        example: Example::Folder {
            wrong: &[("workflows/example.yaml", WORKFLOW), ("workflows/example.yml", WORKFLOW)],
            right: &[("workflows/example.yaml", WORKFLOW), ("workflows/other.yaml", WORKFLOW)],
        },
    },
    Entry {
        code: "P0607",
        title: "more than 1,000 workflows in a folder",
        text: "The first 1,000 files by name are served and the others are not. Use several folders, with a server each: no \
               client can show so many tools.",
        example: Example::Told {
            wrong: "A folder with 1,001 workflow files.",
            right: "Two folders, each with its own server.",
        },
    },
    Entry {
        code: "P0608",
        title: "a folder that is not there",
        text: "A folder of workflows that `--dir` or `workflows` names does not exist or cannot be read. Where it was there \
               before, its last good workflows keep serving until it is back.",
        example: Example::Folder {
            wrong: &[("punctual.yaml", ELSEWHERE), ("workflows/example.yaml", WORKFLOW)],
            right: &[("punctual.yaml", ELSEWHERE), ("tools/example.yaml", WORKFLOW)],
        },
    },
    Entry {
        code: "P0609",
        title: "a configuration file that is gone",
        text: "`punctual.yaml` was there when the server started and is not there now. The last good one stays in use until \
               it is back; a server that starts without it would use what it finds.",
        example: Example::Told {
            wrong: "`punctual.yaml` is deleted while the server runs.",
            right: "The file is put back.",
        },
    },
    Entry {
        code: "P0610",
        title: "a file that nests too deep",
        text: "YAML may nest 64 levels, aliases included. Deeper files are written by accident or to exhaust a reader. Name \
               inner shapes under `shapes`.",
        example: Example::Told {
            wrong: "`input: {a: [[[…]]]}` with 70 brackets.",
            right: "At most 64 levels, inner shapes named under `shapes`.",
        },
    },
    Entry {
        code: "P0611",
        title: "a file with too many values",
        text: "A file may hold 200,000 values, where an alias counts as all that it stands for. A few lines of aliases to \
               aliases would otherwise fill the memory (\"billion laughs\").",
        example: Example::Told {
            wrong: "Nine anchored lists, each with nine aliases to the one before.",
            right: "Each value written once, shared settings under `defaults`.",
        },
    },
    Entry {
        code: "P0612",
        title: "a shape with too many parts",
        text: "A shape may have 5,000 parts, its named parts counted where they are used: names that use names double quickly, \
               and the schema that models and clients read grows with them. Use fewer fields.",
        example: Example::Told {
            wrong: "Thirteen shapes, each with two fields of the shape before it.",
            right: "Flat shapes with the fields that are really needed.",
        },
    },
    Entry {
        code: "P0613",
        title: "more items than a step may have",
        text: "An `each` step runs at most 1,000 items. Where the list is written in the file, or its `$min` is larger, that is \
               found at load; otherwise the step fails when its list is longer. Put several into one item with \
               `batches(list, n)`.",
        example: Example::Workflow {
            wrong: r#"
description: Answers every question.
input:
  questions: {$type: [string], $min: 2000}
steps:
  answer: {each: input.questions, max_tokens: 300, prompt: "{{ item }}"}
"#,
            right: r#"
description: Answers every question.
input:
  questions: {$type: [string], $max: 1000}
steps:
  answer: {each: input.questions, max_tokens: 300, prompt: "{{ item }}"}
"#,
        },
    },
    Entry {
        code: "P0614",
        title: "more problems than are shown",
        text: "A file's first 100 problems are shown. So many usually have one cause: another file's content, a wrong indentation, \
               a generator's slip. Mend the first ones and check again.",
        example: Example::Told {
            wrong: "A file with 150 unknown keys.",
            right: "The same with keys of the format.",
        },
    },
];

const WORKFLOW: &str = r#"
description: Answers a question.
input: {question: string}
steps:
  answer: {max_tokens: 300, prompt: "{{ input.question }}"}
"#;

const ELSEWHERE: &str = r#"
workflows: tools
providers:
  openai: {kind: openai}
  anthropic: {kind: anthropic}
models:
  quick: {paths: [{provider: openai, model: gpt-5-mini}, {provider: anthropic, model: claude-haiku-4-5}]}
"#;
