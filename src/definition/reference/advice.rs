//! P08: advice on structure; warnings, the workflow runs all the same.

use super::{Entry, Example};

pub(super) const ENTRIES: &[Entry] = &[
    Entry {
        code: "P0801",
        title: "advice: a step that waits for what it does not read",
        text: "`needs` makes the step wait for another, and nothing of that one stands in its prompt. Steps without a reference \
               between them run side by side; the wait only makes the longest chain longer. Remove it from `needs`, or use \
               what the other step found.",
        example: Example::Workflow {
            wrong: r#"
description: Finds people and places.
input: {text: string}
steps:
  people: {max_tokens: 900, prompt: "The people in {{ input.text }}"}
  places: {needs: [people], max_tokens: 900, prompt: "The places in {{ input.text }}"}
output: {people: people.text, places: places.text}
"#,
            right: r#"
description: Finds people and places.
input: {text: string}
steps:
  people: {max_tokens: 900, prompt: "The people in {{ input.text }}"}
  places: {max_tokens: 900, prompt: "The places in {{ input.text }}"}
output: {people: people.text, places: places.text}
"#,
        },
    },
    Entry {
        code: "P0802",
        title: "advice: two steps that could be one",
        text: "A step is read by one other alone, on the same model. As two they wait for a first token twice and can fail twice. \
               Models answer in the order of the schema: put the first step's fields before the second's in one `output`, \
               and the model thinks in the same order, in one attempt.",
        example: Example::Workflow {
            wrong: r#"
description: Writes an article.
input: {topic: string}
steps:
  outline: {max_tokens: 200, prompt: "Outline {{ input.topic }}"}
  article: {max_tokens: 300, prompt: "Write it: {{ outline.text }}"}
"#,
            right: r#"
description: Writes an article.
input: {topic: string}
steps:
  article:
    max_tokens: 500
    prompt: "Outline and write {{ input.topic }}"
    output: {outline: string, article: string}
"#,
        },
    },
    Entry {
        code: "P0803",
        title: "advice: an optional step that leaves too little time",
        text: "A step waits for an optional one until its `cutoff_at` at worst, and what follows then takes longer than what is left \
               of the deadline. The optional step would make the run late, which is what `optional` is to prevent. Close it \
               earlier: the help says at which share.",
        example: Example::Workflow {
            wrong: r#"
description: Writes a text, with links where they come in time.
deadline: 20s
input: {topic: string}
steps:
  links: {optional: true, max_tokens: 100, prompt: "Links on {{ input.topic }}"}
  draft:
    model: balanced
    max_tokens: 1200
    prompt: "Write {{ input.topic }} {% if links %}{{ links.text }}{% endif %}"
"#,
            right: r#"
description: Writes a text, with links where they come in time.
deadline: 20s
input: {topic: string}
steps:
  links: {optional: true, cutoff_at: 50%, max_tokens: 100, prompt: "Links on {{ input.topic }}"}
  draft:
    model: balanced
    max_tokens: 1200
    prompt: "Write {{ input.topic }} {% if links %}{{ links.text }}{% endif %}"
"#,
        },
    },
    Entry {
        code: "P0804",
        title: "advice: a deadline that the medians do not meet",
        text: "Usual times to a first token and by token, with half of each `max_tokens`, add up to more than the deadline along \
               the longest chain. So most runs would fail or be cut. Raise `deadline`, lower the `max_tokens` of the step that \
               the help names, or make steps run side by side.",
        example: Example::Workflow {
            wrong: r#"
description: Writes a report.
deadline: 10s
input: {topic: string}
steps:
  report: {max_tokens: 4000, prompt: "A report on {{ input.topic }}"}
"#,
            right: r#"
description: Writes a report.
deadline: 45s
input: {topic: string}
steps:
  report: {max_tokens: 1500, prompt: "A report on {{ input.topic }}"}
"#,
        },
    },
    Entry {
        code: "P0805",
        title: "advice: a verdict that mends nothing",
        text: "With `revise: 0` a validator cannot send the step back: a rejected answer fails the run, or goes out all the same. \
               The objections are paid for and never used. `revise: 1` lets the step answer again with them as `feedback`.",
        example: Example::Workflow {
            wrong: r#"
description: Writes a text and checks it.
input: {topic: string}
steps:
  draft: {max_tokens: 300, prompt: "Write {{ input.topic }}"}
  review:
    validates: draft
    revise: 0
    max_tokens: 100
    prompt: "Is this good? {{ draft.text }}"
    output: {pass: boolean, problems: [string]}
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
        code: "P0806",
        title: "advice: a prompt that repeats the schema",
        text: "The schema of `output` goes along with every request, and the answer is held to it. A prompt that says \"respond in \
               JSON\" or writes the fields out costs tokens on every attempt, and contradicts the schema as soon as one of them \
               changes. Leave it out; what a field means is best said in its `$about`.",
        example: Example::Workflow {
            wrong: r#"
description: Names the mood of a text.
input: {text: string}
steps:
  mood:
    max_tokens: 50
    prompt: "The mood of {{ input.text }}? Respond with only valid JSON."
    output: {mood: string}
"#,
            right: r#"
description: Names the mood of a text.
input: {text: string}
steps:
  mood:
    max_tokens: 50
    prompt: "The mood of {{ input.text }}?"
    output:
      mood: {$type: string, $about: "One word, as calm or angry"}
"#,
        },
    },
    Entry {
        code: "P0807",
        title: "advice: a value of which nothing is known",
        text: "Below `any` nothing is checked, neither references at load nor answers at run time: a misspelt field is found by the \
               caller. Name the fields; one that may be missing is `key?`.",
        example: Example::Workflow {
            wrong: r#"
description: Describes a record.
input: {record: any}
steps:
  answer: {max_tokens: 300, prompt: "{{ input.record | tojson }}"}
"#,
            right: r#"
description: Describes a record.
input:
  record: {id: string, "note?": string}
steps:
  answer: {max_tokens: 300, prompt: "{{ input.record | tojson }}"}
"#,
        },
    },
    Entry {
        code: "P0808",
        title: "advice: a constant that nothing reads",
        text: "No text of the workflow refers to the constant. Remove it, or use it as `vars.name`.",
        example: Example::Workflow {
            wrong: r#"
description: Answers a question.
vars: {tone: plain}
input: {question: string}
steps:
  answer: {max_tokens: 300, prompt: "{{ input.question }}"}
"#,
            right: r#"
description: Answers a question.
vars: {tone: plain}
input: {question: string}
steps:
  answer: {max_tokens: 300, prompt: "{{ input.question }} Tone: {{ vars.tone }}"}
"#,
        },
    },
    Entry {
        code: "P0809",
        title: "advice: a shape that nothing uses",
        text: "No input, output or other shape names it. Often the place that should name it has another type by mistake.",
        example: Example::Workflow {
            wrong: r#"
description: Answers a question.
shapes:
  Answer: {text: string}
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
    Entry {
        code: "P0810",
        title: "advice: an input that nothing reads",
        text: "Callers, which are models, fill in every field they are shown. One that no step reads costs them time and misleads \
               them. Remove it, or put it where it matters.",
        example: Example::Workflow {
            wrong: r#"
description: Answers a question.
input: {question: string, language: string}
steps:
  answer: {max_tokens: 300, prompt: "{{ input.question }}"}
"#,
            right: r#"
description: Answers a question.
input: {question: string, language: string}
steps:
  answer: {max_tokens: 300, prompt: "In {{ input.language }}: {{ input.question }}"}
"#,
        },
    },
    Entry {
        code: "P0811",
        title: "advice: a prompt that is always the same",
        text: "A prompt sees what it references and nothing else. This one references neither an input nor a step, or in an `each` \
               step not the item: every attempt sends the same text and gets the same answer. Put what it is about into it.",
        example: Example::Workflow {
            wrong: r#"
description: Answers a question with the rules in mind.
input: {question: string}
steps:
  rules: {max_tokens: 300, prompt: "State the rules of good answers."}
  answer: {max_tokens: 300, prompt: "{{ input.question }} {{ rules.text }}"}
output: {rules: rules.text, answer: answer.text}
"#,
            right: r#"
description: Answers a question with the rules in mind.
input: {question: string}
steps:
  rules: {max_tokens: 300, prompt: "State the rules of answering {{ input.question }}"}
  answer: {max_tokens: 300, prompt: "{{ input.question }} {{ rules.text }}"}
output: {rules: rules.text, answer: answer.text}
"#,
        },
    },
    Entry {
        code: "P0812",
        title: "advice: a list of any length, one attempt for each item",
        text: "The caller decides how many attempts a run makes, up to 1,000: neither its time nor its cost is known. Bound the list \
               where `input` declares it, with `$max`.",
        example: Example::Workflow {
            wrong: r#"
description: Answers every question.
input: {questions: [string]}
steps:
  answer: {each: input.questions, max_tokens: 300, prompt: "{{ item }}"}
"#,
            right: r#"
description: Answers every question.
input:
  questions: {$type: [string], $max: 8}
steps:
  answer: {each: input.questions, max_tokens: 300, prompt: "{{ item }}"}
"#,
        },
    },
    Entry {
        code: "P0813",
        title: "advice: a step that waits for its last item",
        text: "With `min_ok` below 100% the step can do without some items, but those that fail are known only when their attempts are \
               used up: one slow item holds the run. `cutoff_at` closes the step at that share of the deadline, once as many items as \
               `min_ok` asks for are there.",
        example: Example::Workflow {
            wrong: r#"
description: Answers every question.
input:
  questions: {$type: [string], $max: 8}
steps:
  answer: {each: input.questions, min_ok: 80%, max_tokens: 300, prompt: "{{ item }}"}
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
];
