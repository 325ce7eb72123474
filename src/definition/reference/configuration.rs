//! P05: `punctual.yaml` and models.

use super::{Entry, Example};

pub(super) const ENTRIES: &[Entry] = &[
    Entry {
        code: "P0501",
        title: "a secret written into the file",
        text: "Keys never stand in `punctual.yaml`, neither as a value nor in an address: files end up in backups and commits. \
               Name the place where the key is, `{env: NAME}` or `{file: PATH}`. A key that stood in a file should be \
               revoked.",
        example: Example::Configuration {
            wrong: r#"
providers:
  openai: {kind: openai, api_key: sk-not-a-real-key}
models:
  quick: {paths: [{provider: openai, model: gpt-5-mini}]}
"#,
            right: r#"
providers:
  openai: {kind: openai, api_key: {env: OPENAI_API_KEY}}
models:
  quick: {paths: [{provider: openai, model: gpt-5-mini}]}
"#,
        },
    },
    Entry {
        code: "P0502",
        title: "a key that is not set",
        text: "The variable or file that a provider's key is read from is not there. Set it where the server is started: a \
               desktop client does not see the variables of your shell, so put it under `env` in the client's own entry. \
               A provider that may lack its key says `optional: true`; its paths are then left out, with a warning.",
        example: Example::Configuration {
            wrong: r#"
providers:
  openai: {kind: openai}
  anthropic: {kind: anthropic, api_key: {env: NO_SUCH_VARIABLE}}
models:
  quick: {paths: [{provider: openai, model: gpt-5-mini}, {provider: anthropic, model: claude-haiku-4-5}]}
"#,
            right: r#"
providers:
  openai: {kind: openai}
  anthropic: {kind: anthropic, api_key: {env: ANTHROPIC_API_KEY}}
models:
  quick: {paths: [{provider: openai, model: gpt-5-mini}, {provider: anthropic, model: claude-haiku-4-5}]}
"#,
        },
    },
    Entry {
        code: "P0503",
        title: "an unknown provider",
        text: "A path names a provider that `providers` does not have. The help lists them.",
        example: Example::Configuration {
            wrong: r#"
providers:
  openai: {kind: openai}
models:
  quick: {paths: [{provider: openai, model: gpt-5-mini}, {provider: opnai, model: gpt-5}]}
"#,
            right: r#"
providers:
  openai: {kind: openai}
models:
  quick: {paths: [{provider: openai, model: gpt-5-mini}, {provider: openai, model: gpt-5}]}
"#,
        },
    },
    Entry {
        code: "P0504",
        title: "an unknown model",
        text: "A step, `defaults`, `faster`, `stronger` or `same_as` names a logical model that `punctual.yaml` does not have. \
               Workflows name logical models (`quick`), never a vendor's ids, so that one file can change them all. Without a configuration the simulator knows `quick`, \
               `balanced` and `best`; any other name is warned of, and `balanced` answers for it.",
        example: Example::Workflow {
            wrong: r#"
description: Answers a question.
input: {question: string}
steps:
  answer: {model: quik, max_tokens: 300, prompt: "{{ input.question }}"}
"#,
            right: r#"
description: Answers a question.
input: {question: string}
steps:
  answer: {model: quick, max_tokens: 300, prompt: "{{ input.question }}"}
"#,
        },
    },
    Entry {
        code: "P0505",
        title: "a model without a usable path",
        text: "The model exists, but none of its paths can be used: their providers lack a key, or are not there. The message \
               says why for each. Set a key, or name another model. In `punctual.yaml` it is a warning, since other models \
               may do; for a workflow that uses the model it is an error.",
        example: Example::Configuration {
            wrong: r#"
providers:
  openai: {kind: openai}
models:
  quick: {paths: [{provider: openai, model: gpt-5-mini}]}
  best: {paths: []}
"#,
            right: r#"
providers:
  openai: {kind: openai}
models:
  quick: {paths: [{provider: openai, model: gpt-5-mini}]}
  best: {paths: [{provider: openai, model: gpt-5}]}
"#,
        },
    },
    Entry {
        code: "P0506",
        title: "`same_as` that leads back to itself",
        text: "A model that says `same_as` takes the paths of another one; here that one takes them from the first again. Give \
               one of them `paths`.",
        example: Example::Configuration {
            wrong: r#"
providers:
  openai: {kind: openai}
models:
  quick: {same_as: judge}
  judge: {same_as: quick}
"#,
            right: r#"
providers:
  openai: {kind: openai}
models:
  quick: {paths: [{provider: openai, model: gpt-5-mini}]}
  judge: {same_as: quick}
"#,
        },
    },
    Entry {
        code: "P0507",
        title: "a name that a provider or model cannot have",
        text: "Names of providers and models stand in traces, as `openai/gpt-5`, and on the command line: letters, digits, `_`, \
               `-` and `.`, at most 48.",
        example: Example::Configuration {
            wrong: r#"
providers:
  "my provider": {kind: openai}
models:
  quick: {paths: [{provider: "my provider", model: gpt-5-mini}]}
"#,
            right: r#"
providers:
  my_provider: {kind: openai}
models:
  quick: {paths: [{provider: my_provider, model: gpt-5-mini}]}
"#,
        },
    },
    Entry {
        code: "P0508",
        title: "no model at all",
        text: "The workflow asks a model, and `punctual.yaml` has none. Add one under `models`, with at least one path; or remove \
               the file: then what is found is used, keys in the environment, a local server, or the simulator.",
        example: Example::Folder {
            wrong: &[
                (
                    "punctual.yaml",
                    r#"
providers:
  openai: {kind: openai}
"#,
                ),
                ("workflows/example.yaml", WORKFLOW),
            ],
            right: &[("punctual.yaml", TWO_PATHS), ("workflows/example.yaml", WORKFLOW)],
        },
    },
    Entry {
        code: "P0509",
        title: "advice: an essential step with a single path",
        text: "Racing and falling back need a second path. With one alone the step waits out every slow answer, rate limit and \
               outage of its provider, and the deadline with it. Add a path at another provider to the model.",
        example: Example::Folder {
            wrong: &[
                (
                    "punctual.yaml",
                    r#"
providers:
  openai: {kind: openai}
models:
  quick: {paths: [{provider: openai, model: gpt-5-mini}]}
"#,
                ),
                ("workflows/example.yaml", WORKFLOW),
            ],
            right: &[("punctual.yaml", TWO_PATHS), ("workflows/example.yaml", WORKFLOW)],
        },
    },
    Entry {
        code: "P0510",
        title: "advice: a budget in dollars on a model of unknown price",
        text: "What an attempt costs is reserved before it is sent; without a price it counts as nothing, and the budget cannot \
               be kept. Add `price: {in: …, out: …}` (dollars per million tokens) to the path, or bound `tokens` or `calls`.",
        example: Example::Folder {
            wrong: &[
                (
                    "punctual.yaml",
                    r#"
providers:
  openai: {kind: openai}
  own: {kind: vllm}
models:
  quick: {paths: [{provider: openai, model: gpt-5-mini}, {provider: own, model: my-model}]}
"#,
                ),
                ("workflows/example.yaml", BUDGETED),
            ],
            right: &[("punctual.yaml", TWO_PATHS), ("workflows/example.yaml", BUDGETED)],
        },
    },
    Entry {
        code: "P0511",
        title: "a kind of provider that this build does not speak",
        text: "Bedrock's signatures and event streams need 23 crates that few want, so they are in the program only where it is \
               built with `--features bedrock`. Build it so, or use another provider. A provider that may be missing \
               says `optional: true`; its paths are then left out, with a warning.",
        example: Example::Configuration {
            wrong: r#"
providers:
  openai: {kind: openai}
  aws: {kind: bedrock, region: us-east-1}
models:
  quick: {paths: [{provider: openai, model: gpt-5-mini}, {provider: aws, model: amazon.nova-lite-v1:0}]}
"#,
            right: r#"
providers:
  openai: {kind: openai}
  anthropic: {kind: anthropic}
models:
  quick: {paths: [{provider: openai, model: gpt-5-mini}, {provider: anthropic, model: claude-haiku-4-5}]}
"#,
        },
    },
    Entry {
        code: "P0512",
        title: "advice: a model id that nothing is known of",
        text: "The catalogue that the program carries has this vendor's models, and this id is not among them: it is misspelt, \
               or newer than the catalogue. It is used as written, without a window, a price and an answer's longest length, \
               and is asked for nothing that only some models take. What you know of it can stand at its path; with `context` \
               there, nothing is said any more.",
        example: Example::Configuration {
            wrong: r#"
providers:
  openai: {kind: openai}
models:
  quick: {paths: [{provider: openai, model: gpt-5-mni}]}
"#,
            right: r#"
providers:
  openai: {kind: openai}
models:
  quick: {paths: [{provider: openai, model: gpt-5-mini}]}
"#,
        },
    },
];

const WORKFLOW: &str = r#"
description: Answers a question.
input: {question: string}
steps:
  answer: {max_tokens: 300, prompt: "{{ input.question }}"}
"#;

const BUDGETED: &str = r#"
description: Answers a question.
budget: {usd: 0.05}
input: {question: string}
steps:
  answer: {max_tokens: 300, prompt: "{{ input.question }}"}
"#;

const TWO_PATHS: &str = r#"
providers:
  openai: {kind: openai}
  anthropic: {kind: anthropic}
models:
  quick: {paths: [{provider: openai, model: gpt-5-mini}, {provider: anthropic, model: claude-haiku-4-5}]}
"#;
