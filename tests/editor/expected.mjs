// What an editor must say, offer and explain. `‸` marks the cursor.

const step = (lines) => `description: d\nsteps:\n  a:\n    prompt: p\n${lines}`;

export const bad = [
  {
    name: "a misspelt key at the top is flagged at its place",
    kind: "workflow",
    text: "description: d\ndeadlin: 20s\nsteps:\n  a: {prompt: p}\n",
    says: ["2:1 Property deadlin is not allowed."],
  },
  {
    name: "a misspelt key in a step is flagged at its place",
    kind: "workflow",
    text: step("    max_token: 5\n"),
    says: ["5:5 Property max_token is not allowed."],
  },
  {
    name: "a step's key at the top is flagged",
    kind: "workflow",
    text: "description: d\nmax_tokens: 5\nsteps:\n  a: {prompt: p}\n",
    says: ["2:1 Property max_tokens is not allowed."],
  },
  {
    name: "misspelt keys in policy and policy.on are flagged",
    kind: "workflow",
    text: step("    policy:\n      hegde: off\n      on:\n        slowly: next\n"),
    says: [
      "6:7 Property hegde is not allowed.",
      "8:9 Property slowly is not allowed.",
    ],
  },
  {
    name: "a word that is none of a key's is flagged, with those that are",
    kind: "workflow",
    text: step("    role: judge\n    policy: {hedge: of, on: {slow: quicker}}\n"),
    says: [
      "5:11 Value is not accepted. Valid values: \"planner\", \"executor\", \"validator\".",
      "6:21 A hedge is auto, off, or {after: p95, max_extra: 10%}.",
      "6:36 Value is not accepted. Valid values: \"auto\", \"next\", \"faster\", \"fail\".",
    ],
  },
  {
    name: "a duration without its unit is flagged in words",
    kind: "workflow",
    text: "description: d\ndeadline: 20\nsteps:\n  a: {prompt: p, policy: {cutoff: 20 sec, swap_delay: soon}}\n",
    says: [
      "2:11 A duration needs its unit, as 250ms, 20s, 1.5s or 2m.",
      "4:35 A cutoff is auto, a duration as 20s, or {first_token: 4s, idle: 5s, total: 20s}.",
      "4:55 A duration needs its unit, as 250ms, 20s, 1.5s or 2m.",
    ],
  },
  {
    name: "a share without its sign is flagged in words",
    kind: "workflow",
    text: step("    optional: true\n    cutoff_at: 0.8\n    min_ok: 120%\n"),
    says: [
      "6:16 A share is from 0% to 100%, with its sign, as 80%.",
      "7:13 A share is from 0% to 100%, with its sign, as 80%.",
    ],
  },
  {
    name: "numbers out of their range and of the wrong type are flagged",
    kind: "workflow",
    text: step("    max_tokens: many\n    temperature: 3\n    policy: {attempts: 9}\n"),
    says: [
      "5:17 Incorrect type. Expected \"integer\".",
      "6:18 Value is above the maximum of 2.",
      "7:24 Value is above the maximum of 8.",
    ],
  },
  {
    name: "prompt and prompt_file together are flagged in words",
    kind: "workflow",
    text: step("    prompt_file: p.md\n"),
    says: [
      "5:5 A step has prompt or prompt_file, not both.",
    ],
  },
  {
    name: "output and output_schema together are flagged in words",
    kind: "workflow",
    text: step("    output: {x: string}\n    output_schema: x.json\n"),
    says: [
      "6:5 A step has output or output_schema, not both.",
    ],
  },
  {
    name: "value beside a model's keys is flagged in words",
    kind: "workflow",
    text: step("    value: {n: length(input.items)}\n"),
    says: [
      "4:5 A step with value has no model, and so none of its keys.",
    ],
  },
  {
    name: "a step without a prompt is flagged in words",
    kind: "workflow",
    text: "description: d\nsteps:\n  a:\n    output: {x: string}\n",
    says: [
      "3:3 A step needs a prompt, a prompt_file, or a value.",
    ],
  },
  {
    name: "a workflow without description and steps is flagged",
    kind: "workflow",
    text: "title: t\n",
    says: [
      "1:1 Missing property \"description\".",
      "1:1 Missing property \"steps\".",
    ],
  },
  {
    name: "an expression that YAML reads as a list or a mapping is flagged in words",
    kind: "workflow",
    text: step("    each: [1, 2]\n    when: {a: b}\n    check: input.a\n"),
    says: [
      "5:11 This must be an expression, as plan.questions: one bare value; where it starts with [ or {, or has ': ' or ' #' in it, write it as a block (|).",
      "6:11 This must be an expression, as plan.questions: one bare value; where it starts with [ or {, or has ': ' or ' #' in it, write it as a block (|).",
      "7:12 This must be a list: an item a line, each behind a dash.",
    ],
  },
  {
    name: "a shape with a misspelt annotation, or without a type, is flagged",
    kind: "workflow",
    text: "description: d\ninput:\n  a: {$typ: string, $about: x}\n  b: {$about: x}\n  c: 5\n  d: [string, integer]\nsteps:\n  a: {prompt: p}\n",
    says: [
      "3:3 An annotated shape has no $type; fields' own names may not start with $.",
      "3:7 Keys that start with $ annotate: $type, $about, $default, $min, $max, $pattern, $ref, $schema.",
      "4:3 An annotated shape has no $type; fields' own names may not start with $.",
      "5:6 A shape says what is allowed: string, integer, number, boolean, any, [T], T | null, low | high, or a mapping of fields.",
      "6:6 Array has too many items. Expected 1 or fewer.",
    ],
  },
  {
    name: "a step's bad name is flagged",
    kind: "workflow",
    text: "description: d\nsteps:\n  My-Step: {prompt: p}\n",
    says: [
      "3:3 A name has lower-case letters, digits and _, starts with a letter, and is at most 48 long.",
    ],
  },
  {
    name: "misspelt keys of the configuration are flagged, place by place",
    kind: "config",
    text: "providers:\n  a: {kind: openai, rmp: 5, limits: {rpmm: 3}}\nmodels:\n  m: {paths: [{provider: a, model: x, colour: red}], strnger: b}\nlimit: {}\n",
    says: [
      "2:21 Property rmp is not allowed.",
      "2:38 Property rpmm is not allowed.",
      "4:39 Property colour is not allowed.",
      "4:54 Property strnger is not allowed.",
      "5:1 Property limit is not allowed.",
    ],
  },
  {
    name: "a key in the clear is flagged",
    kind: "config",
    text: "providers:\n  a: {kind: openai, api_key: sk-1}\n  b: {kind: openai, api_key: {env: A, file: B}}\n",
    says: [
      "2:30 Say where the secret is, never the secret itself: {env: NAME} or {file: PATH}.",
      "3:39 A secret is in one place: env or file.",
    ],
  },
  {
    name: "wrong words and numbers of the configuration are flagged",
    kind: "config",
    text: "providers:\n  a: {kind: opnai, capacity: mine, limits: {rpm: 0}}\nmodels:\n  m: {paths: [{provider: a, model: x, can: [json_scema], trust: 2, price: {in: 1}}]}\n  n: {}\n",
    says: [
      "2:13 Value is not accepted. Valid values: \"openai\", \"openai_responses\", \"openai_compatible\", \"anthropic\", \"gemini\", \"simulated\", \"azure\", \"databricks\", \"openrouter\", \"groq\", \"mistral\", \"together\", \"deepseek\", \"xai\", \"bedrock\", \"ollama\", \"llama_cpp\", \"vllm\".",
      "2:30 Value is not accepted. Valid values: \"shared\", \"own\".",
      "2:50 Value is below the minimum of 1.",
      "4:45 Value is not accepted. Valid values: \"json_schema\", \"json\", \"tools\".",
      "4:65 Value is above the maximum of 1.",
      "4:68 Missing property \"out\".",
      "5:3 A model has paths, or is the same_as another.",
    ],
  },
  {
    name: "misspelt keys and wrong words of cases are flagged, place by place",
    kind: "cases",
    text: "- name: n\n  regim: calm\n  regime: stormy\n  answers: {a: {$attempts: [{$fate: late}, {x: 1}]}}\n  expect: {outcom: failed, outcome: lost, failure: {clas: deadline}, steps: {a: {status: done}}, check: output.x}\n",
    says: [
      "2:3 Property regim is not allowed.",
      "3:11 Value is not accepted. Valid values: \"calm\", \"pooled\", \"busy\", \"brownout\", \"down\", \"fastlong\".",
      "4:37 Value is not accepted. Valid values: \"ok\", \"slow\", \"garbage\", \"error\", \"rate_limited\", \"hang\".",
      "5:12 Property outcom is not allowed.",
      "5:37 Value is not accepted. Valid values: \"delivered\", \"degraded\", \"failed\".",
      "5:53 Property clas is not allowed.",
      "5:90 Value is not accepted. Valid values: \"ok\", \"skipped\", \"failed\", \"timed_out\", \"cut\".",
      "5:105 This must be a list: an item a line, each behind a dash.",
    ],
  },
  {
    name: "a cases file that is no list is flagged in words",
    kind: "cases",
    text: "name: n\n",
    says: [
      "1:1 A cases file is a list: each case begins with a dash, as - name: a refund outside the window.",
    ],
  },
];

export const completions = [
  {
    name: "the top of a workflow offers its keys, without those that stand there",
    kind: "workflow",
    text: "description: d\n‸\n",
    offers: ["title", "deadline", "budget", "input", "vars", "shapes", "defaults", "steps", "output", "expose"],
    only: true,
  },
  {
    name: "a step offers its keys, without what its prompt excludes",
    kind: "workflow",
    text: step("    ‸\n"),
    offers: ["system", "output", "output_schema", "model", "max_tokens", "each", "as", "when", "optional", "validates", "policy"],
    never: ["prompt", "description", "steps"],
  },
  {
    name: "policy offers its keys",
    kind: "workflow",
    text: step("    policy:\n      ‸\n"),
    offers: ["cutoff", "hedge", "attempts", "max_swaps", "swap_delay", "on"],
    only: true,
  },
  {
    name: "role offers its words",
    kind: "workflow",
    text: step("    role: ‸\n"),
    offers: ["planner", "executor", "validator"],
    only: true,
  },
  {
    name: "policy.on.invalid offers its words",
    kind: "workflow",
    text: step("    policy:\n      on:\n        invalid: ‸\n"),
    offers: ["repair", "stronger", "next", "fail"],
    only: true,
  },
  {
    name: "hedge offers its words",
    kind: "workflow",
    text: step("    policy:\n      hedge: ‸\n"),
    // In quotes, because older readers take it for false; here it is the same word.
    offers: ["auto", '"off"'],
    only: true,
  },
  {
    name: "a field offers the types",
    kind: "workflow",
    text: "description: d\ninput:\n  text: ‸\nsteps:\n  a: {prompt: p}\n",
    offers: ["string", "integer", "number", "boolean", "any"],
  },
  {
    name: "an annotated shape offers its annotations",
    kind: "workflow",
    text: "description: d\ninput:\n  text:\n    $type: string\n    ‸\nsteps:\n  a: {prompt: p}\n",
    offers: ["$about", "$default", "$min", "$max", "$pattern"],
    never: ["$type"],
  },
  {
    name: "the top of punctual.yaml offers its keys",
    kind: "config",
    text: "‸\n",
    offers: ["workflows", "providers", "models", "defaults", "limits"],
    only: true,
  },
  {
    name: "a provider offers its keys",
    kind: "config",
    text: "providers:\n  a:\n    kind: openai\n    ‸\n",
    offers: ["base_url", "api_key", "headers", "limits", "on_cancel", "capacity", "optional", "regime", "seed", "region"],
    only: true,
  },
  {
    name: "kind offers the kinds",
    kind: "config",
    text: "providers:\n  a:\n    kind: ‸\n",
    offers: ["openai", "openai_compatible", "anthropic", "simulated", "azure", "groq", "ollama", "llama_cpp", "vllm"],
  },
  {
    name: "a path offers its keys",
    kind: "config",
    text: "models:\n  m:\n    paths:\n      - provider: a\n        ‸\n",
    offers: ["model", "context", "max_output", "can", "price", "trust", "system", "token_field", "temperature", "effort"],
    only: true,
  },
  {
    name: "a case offers its keys",
    kind: "cases",
    text: "- name: n\n  ‸\n",
    offers: ["input", "regime", "seed", "deadline", "answers", "expect"],
    only: true,
  },
  {
    name: "expect.outcome offers its words",
    kind: "cases",
    text: "- name: n\n  expect:\n    outcome: ‸\n",
    offers: ["delivered", "degraded", "failed"],
  },
  {
    name: "a recorded attempt offers its fates",
    kind: "cases",
    text: "- name: n\n  answers:\n    a:\n      $fate: ‸\n",
    offers: ["ok", "slow", "garbage", "error", "rate_limited", "hang"],
    only: true,
  },
  {
    name: "hedge offers its keys as a mapping",
    kind: "workflow",
    text: step("    policy:\n      hedge:\n        after: p95\n        ‸\n"),
    offers: ["max_extra"],
    only: true,
  },
];

export const hovers = [
  {
    name: "deadline says its range and default",
    kind: "workflow",
    text: "description: d\ndead‸line: 20s\nsteps:\n  a: {prompt: p}\n",
    says: ["from 1s to 10m", "Default: the server's, else 45s"],
  },
  {
    name: "a step's max_tokens says its unit, range and default",
    kind: "workflow",
    text: step("    max_to‸kens: 5\n"),
    says: ["The longest answer in tokens, from 1 to 1,000,000", "Default: 1024"],
  },
  {
    name: "a word says what it means",
    kind: "workflow",
    text: step("    policy:\n      on:\n        invalid: stron‸ger\n"),
    says: ["The model's stronger link at once."],
  },
  {
    name: "a step's output says what it is, not what any shape is",
    kind: "workflow",
    text: step("    out‸put: {x: string}\n"),
    says: ["The shape of the answer", "Default: {text: string}"],
  },
  {
    name: "api_key says where keys are found",
    kind: "config",
    text: "providers:\n  a:\n    kind: openai\n    api_‸key: {env: OPENAI_API_KEY}\n",
    says: ["never the key itself"],
  },
  {
    name: "a case's deadline says its range and default",
    kind: "cases",
    text: "- name: n\n  dead‸line: 5s\n",
    says: ["from 100ms to 10m", "Default: the workflow's"],
  },
];
