//! What the keys of a workflow file do, from the file to the result: every answer is given here, everything else
//! is the program's own.
#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests")]

use std::collections::VecDeque;
use std::time::Duration;

use serde_json::{Value, json};

use punctual::definition::catalog::load_file;
use punctual::definition::config::Configuration;
use punctual::domain::failure::{About, Failure, FailureClass, Scope};
use punctual::domain::id::RunId;
use punctual::domain::message::Usage;
use punctual::domain::time::Timestamp;
use punctual::provider::{Broken, Exchange, Reply};
use punctual::run::{Effect, Run};
use punctual::trace::report::RunReport;

/// What came of a run, and what was sent in it.
struct Played {
    report: RunReport,
    sent: Vec<(String, Exchange)>,
}

impl Played {
    /// The turns of the `n`th prompt of a step, `role: text`.
    fn prompt(&self, step: &str, n: usize) -> Vec<String> {
        let of_step = self.sent.iter().filter(|(name, _)| name == step);
        let (_, exchange) = of_step.into_iter().nth(n).unwrap();
        let turns = exchange.prompt.messages.iter();
        turns.map(|turn| format!("{:?}: {}", turn.speaker, turn.text.trim())).collect()
    }

    fn output(&self) -> &Value {
        self.report.output.as_ref().unwrap_or_else(|| panic!("{:?}", self.report.failure))
    }

    fn status(&self, step: &str) -> Vec<(Option<u32>, &str)> {
        let rows = self.report.steps.iter().filter(|row| row.step == step);
        rows.map(|row| (row.item, row.status.as_str())).collect()
    }
}

/// Loads a workflow and plays it; `answer` is asked with the step's name, the item and the attempt.
fn play(yaml: &str, input: Value, answer: impl Fn(&str, u32, u32) -> Value) -> Played {
    play_with(yaml, input, |step, item, attempt| Ok(answer(step, item, attempt)))
}

/// The same with answers that do not come.
fn play_with(
    yaml: &str,
    input: Value,
    answer: impl Fn(&str, u32, u32) -> Result<Value, Failure>,
) -> Played {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("flow.yaml");
    std::fs::write(&file, format!("description: A test.\n{yaml}")).unwrap();
    let lowered = load_file(&file, &Configuration::simulated("calm", 1));
    let errors: Vec<String> =
        lowered.diagnostics.iter().filter(|d| d.is_error()).map(ToString::to_string).collect();
    let workflow = lowered.workflow.unwrap_or_else(|| panic!("{}", errors.join("\n")));
    let mut run = Run::new(RunId::new(1), workflow, input, Duration::from_secs(40), 7);
    let mut effects: VecDeque<Effect> = run.start(Vec::new(), Timestamp::ZERO).into();
    let mut sent = Vec::new();
    while let Some(effect) = effects.pop_front() {
        let Effect::Launch(launch) = effect else { continue };
        let draw = &launch.exchange.draw;
        let value = answer(&draw.step_name, draw.item, draw.attempt);
        sent.push((draw.step_name.clone(), launch.exchange.clone()));
        let now = Timestamp::from_millis(sent.len() as u64);
        effects.extend(run.sent(launch.attempt, now));
        let reply = value
            .map(|value| {
                let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
                Reply { text, usage: Usage::default(), invented: false, remaining: None }
            })
            .map_err(Broken::from);
        effects.extend(run.replied(launch.attempt, reply, now));
        if let Some(due) = run.next_wakeup().filter(|due| *due < Timestamp::from_millis(1_000)) {
            effects.extend(run.wake(due));
        }
    }
    Played { report: run.report("", Timestamp::from_millis(1_000)), sent }
}

const MERGE: &str = "
input: {parts: [{id: integer, amount: number}]}
vars: {rate: 1.1, labels: [small, large]}
steps:
  total:
    value:
      net: sum(input.parts.amount)
      gross: sum(input.parts.amount) * vars.rate
      label: vars.labels
  marked:
    each: input.parts
    as: part
    value:
      id: part.id
      big: part.amount > 10
      at: index
output:
  net: total.net
  gross: total.gross
  labels: total.label
  marked: marked
";

#[test]
fn value_steps_compute_without_a_model_item_by_item_too() {
    let input = json!({"parts": [{"id": 7, "amount": 0.1}, {"id": 8, "amount": 20.2}]});
    let played = play(MERGE, input, |_, _, _| panic!("nothing is asked"));
    let expected = json!({
        "net": 20.3, "gross": 22.33, "labels": ["small", "large"],
        "marked": [{"id": 7, "big": false, "at": 0}, {"id": 8, "big": true, "at": 1}],
    });
    assert_eq!(played.output(), &expected);
    assert_eq!(played.report.outcome, "delivered");
    assert!(played.report.steps.iter().all(|step| step.status == "ok"));
}

const QUOTES: &str = "
input: {text: string}
vars: {most: 2}
steps:
  find:
    max_tokens: 100
    prompt: 'Quote from {{ input.text }}'
    output: {quotes: [string]}
    check:
      - all(contains(input.text, quote) for quote in quotes)
      - length(quotes) <= vars.most
";

#[test]
fn an_answer_that_fails_its_check_is_sent_back_with_the_condition_and_what_broke_it() {
    let input = json!({"text": "the quick brown fox"});
    let played = play(QUOTES, input, |_, _, attempt| match attempt {
        0 => json!({"quotes": ["quick", "lazy dog"]}),
        _ => json!({"quotes": ["quick"]}),
    });
    assert_eq!(played.output(), &json!({"quotes": ["quick"]}));
    let repair = played.prompt("find", 1);
    let told = repair.last().unwrap();
    let condition = "not met: all(contains(input.text, quote) for quote in quotes)";
    assert!(told.contains(condition), "{told}");
    assert!(told.contains("(by quotes[1]: \"lazy dog\")"), "{told}");
    let failure = played.report.steps[0].attempts[0].failure.as_ref().unwrap();
    assert_eq!(failure.class, "check_failed");
}

#[test]
fn an_answer_that_never_meets_its_check_fails_the_run_as_check_failed() {
    let input = json!({"text": "the quick brown fox"});
    let played = play(QUOTES, input, |_, _, _| json!({"quotes": ["a", "b", "c"]}));
    let failure = played.report.failure.as_ref().unwrap();
    assert_eq!((failure.class.as_str(), failure.step.as_deref()), ("check_failed", Some("find")));
    assert!(
        failure.message.contains("not met: length(quotes) <= vars.most (3 <= 2)"),
        "{}",
        failure.message
    );
}

#[test]
fn a_check_on_a_value_step_fails_the_run_before_anything_more_is_paid_for() {
    let yaml = "
input: {lines: [number]}
steps:
  total:
    value: {sum: sum(input.lines)}
    check: [sum > 0]
  note:
    max_tokens: 100
    prompt: 'Comment on {{ total.sum }}'
";
    let played = play(yaml, json!({"lines": [1, -1]}), |_, _, _| panic!("nothing is asked"));
    let failure = played.report.failure.as_ref().unwrap();
    assert_eq!(failure.class, "check_failed");
    assert!(failure.message.contains("not met: sum > 0 (0 > 0)"), "{}", failure.message);
}

const LINES: &str = "
input: {lines: [{price: number}]}
steps:
  priced:
    each: input.lines
    as: line
    min_ok: 50%
    value: {net: line.price * 2}
    check: [net >= 0]
  total:
    value:
      net: sum(priced.net)
      places: priced.items.index
output: {net: total.net, places: total.places}
";

#[test]
fn a_check_on_a_value_step_with_each_leaves_out_the_item_that_fails_it_and_names_it() {
    let input = json!({"lines": [{"price": 3}, {"price": -4}, {"price": 5}]});
    let played = play(LINES, input, |_, _, _| panic!("nothing is asked"));
    assert_eq!(played.output(), &json!({"net": 16, "places": [0, 2]}));
    assert_eq!(played.report.outcome, "degraded");
    assert_eq!(played.report.missing, ["priced[1]"]);
    let rows = [(Some(0), "ok"), (Some(1), "failed"), (Some(2), "ok")];
    assert_eq!(played.status("priced"), rows);
    let failure = played.report.steps[1].failure.as_ref().unwrap();
    assert_eq!(failure.class, "check_failed");
    assert_eq!(failure.message, "item 1: not met: net >= 0 (-8 >= 0)");
}

#[test]
fn fewer_computed_items_than_min_ok_fail_the_run_in_the_words_of_the_last() {
    let input = json!({"lines": [{"price": -3}, {"price": -4}, {"price": 5}]});
    let played = play(LINES, input, |_, _, _| panic!("nothing is asked"));
    let failure = played.report.failure.as_ref().unwrap();
    assert_eq!((failure.class.as_str(), failure.step.as_deref()), ("check_failed", Some("priced")));
    assert_eq!(
        failure.message,
        "step 'priced' could not be had: item 1: not met: net >= 0 (-8 >= 0)"
    );
}

const SOME: &str = "
input: {claims: [{id: string, risky: boolean}]}
steps:
  verify:
    each: input.claims
    as: claim
    when: claim.risky
    max_tokens: 100
    prompt: 'Verify {{ claim.id }} at {{ index }}'
    output: {ok: boolean}
    check: [ok or claim.id != 'd']
output:
  checked: verify.items
";

#[test]
fn a_when_that_names_the_item_leaves_items_out_and_the_others_keep_their_place() {
    let claim = |id: &str, risky: bool| json!({"id": id, "risky": risky});
    let input = json!({"claims": [claim("a", false), claim("b", true), claim("c", false), claim("d", true)]});
    let played = play(SOME, input, |_, _, _| json!({"ok": true}));
    let rows = [(Some(0), "skipped"), (Some(1), "ok"), (Some(2), "skipped"), (Some(3), "ok")];
    assert_eq!(played.status("verify"), rows);
    assert_eq!(played.prompt("verify", 0), ["User: Verify b at 1"]);
    let places: Vec<&Value> =
        played.output()["checked"].as_array().unwrap().iter().map(|of| &of["index"]).collect();
    assert_eq!(places, [1, 3]);
    assert_eq!(played.report.outcome, "delivered");
}

#[test]
fn no_item_left_is_an_empty_list_and_no_failure() {
    let input = json!({"claims": [{"id": "a", "risky": false}]});
    let played = play(SOME, input, |_, _, _| panic!("nothing is asked"));
    assert_eq!(played.output(), &json!({"checked": []}));
}

const TALK: &str = "
input: {topic: string}
steps:
  plan:
    max_tokens: 100
    system: You plan.
    prompt: 'Plan {{ input.topic }}'
    output: {points: [string]}
  check_plan:
    optional: true
    max_tokens: 100
    prompt: 'Doubts about {{ plan.points | length }} points?'
  draft:
    history: [plan, check_plan]
    max_tokens: 100
    prompt: Write it up.
";

#[test]
fn history_puts_prompts_and_validated_answers_before_the_prompt() {
    let played = play(TALK, json!({"topic": "rain"}), |step, _, _| match step {
        "plan" => json!({"points": ["clouds"]}),
        other => json!(format!("said by {other}")),
    });
    let turns = [
        "User: Plan rain",
        "Assistant: {\"points\":[\"clouds\"]}",
        "User: Doubts about 1 points?",
        "Assistant: said by check_plan",
        "User: Write it up.",
    ];
    assert_eq!(played.prompt("draft", 0), turns);
    assert_eq!(played.output(), &json!({"text": "said by draft"}));
}

#[test]
fn a_missing_optional_step_leaves_no_trace_in_a_history() {
    let played = play(TALK, json!({"topic": "rain"}), |step, _, _| match step {
        "plan" => json!({"points": ["clouds"]}),
        "check_plan" => json!(""),
        _ => json!("done"),
    });
    assert_eq!(played.report.outcome, "degraded");
    assert_eq!(played.prompt("draft", 0).len(), 3);
}

#[test]
fn what_exceeds_every_window_loses_tail_items_in_the_order_named_and_is_degraded() {
    let yaml = "
input: {documents: [string], notes: [string]}
steps:
  read:
    max_tokens: 100
    shrink: [input.notes, input.documents]
    prompt: |
      {% for note in input.notes %}{{ note }}{% endfor %}
      {% for d in input.documents %}[{{ d }}]{% endfor %}
";
    let document = "word ".repeat(40_000);
    let input = json!({"documents": [document, document, document, document, document], "notes": ["x", "y", "z"]});
    let played = play(yaml, input, |_, _, _| json!("read"));
    assert_eq!(played.report.outcome, "degraded");
    let [notes, documents] = played.report.missing.as_slice() else {
        panic!("{:?}", played.report.missing)
    };
    assert_eq!(notes, "input.notes[1..3] in read");
    assert!(documents.starts_with("input.documents["), "{documents}");
    assert!(documents.ends_with("..5] in read"), "{documents}");
    let prompt = &played.prompt("read", 0)[0];
    assert!(prompt.contains('x') && !prompt.contains('y'), "the last notes went first");
}

/// Why the run failed, which named `step`.
fn failure(played: &Played, step: &str) -> String {
    let failure = played.report.failure.as_ref().unwrap();
    assert_eq!((failure.class.as_str(), failure.step.as_deref()), ("invalid_input", Some(step)));
    assert_eq!(failure.retryable, Some(false));
    failure.message.clone()
}

#[test]
fn a_list_of_more_than_a_thousand_items_fails_its_step_and_says_what_to_do() {
    let yaml = "
input: {parts: [string]}
steps:
  read: {each: input.parts, max_tokens: 100, prompt: 'Read {{ item }}'}
";
    let parts = |count: usize| json!({"parts": vec!["x"; count]});
    let played = play(yaml, parts(1_000), |_, _, _| json!("read"));
    assert_eq!(played.report.outcome, "delivered");
    let played = play(yaml, parts(1_001), |_, _, _| panic!("nothing is asked"));
    assert_eq!(
        failure(&played, "read"),
        "step 'read' could not be had: its list, `input.parts`, has 1001 items, and a step runs at most 1000; put \
         several into one item, as batches(list, 20), or bound the list with `$max`"
    );
    let computed = "
input: {parts: [string]}
steps:
  read: {each: input.parts, value: {text: item}}
";
    let played = play(computed, parts(1_001), |_, _, _| panic!("nothing is asked"));
    assert!(failure(&played, "read").contains("has 1001 items, and a step runs at most 1000"));
}

const LONG: &str = "
input: {texts: [string]}
steps:
  all:
    max_tokens: 100
    prompt: '{% for text in input.texts %}{{ text }}{% endfor %}'
";

/// Texts of 2 MiB.
fn texts(count: usize) -> Value {
    json!({"texts": vec!["x".repeat(2 << 20); count]})
}

#[test]
fn a_prompt_of_more_than_4_mib_fails_its_step_and_says_what_to_do() {
    let played = play(LONG, texts(3), |_, _, _| panic!("nothing is asked"));
    assert_eq!(
        failure(&played, "all"),
        "step 'all' could not be had: its prompt cannot be rendered: the prompt is longer than 4 MiB; bound the \
         input with `$max`, name its lists in `shrink`, or take it in parts, as each: chunks(input.text, 2000)"
    );
    let each = LONG.replace("    max_tokens", "    each: split(\"a,b\", \",\")\n    max_tokens");
    let each = each.replace("input.texts %}", "input.texts if item == \"b\" %}");
    let played = play(&each, texts(3), |_, _, _| panic!("nothing is asked"));
    let said = failure(&played, "all");
    assert!(
        said.contains("its prompt of item 1 cannot be rendered: the prompt is longer than"),
        "{said}"
    );
}

#[test]
fn a_prompt_of_more_than_4_mib_loses_tail_items_where_it_may_shrink() {
    let shrinks = LONG.replace("    max_tokens", "    shrink: [input.texts]\n    max_tokens");
    // Twenty texts of 256 KiB, of which the window of 200,000 tokens holds two.
    let many = json!({"texts": vec!["x".repeat(256 << 10); 20]});
    let played = play(&shrinks, many, |_, _, _| json!("read"));
    assert_eq!(played.report.outcome, "degraded");
    assert_eq!(played.report.missing, ["input.texts[2..20] in all"]);
}

#[test]
fn an_optional_step_whose_prompt_is_too_long_is_missing_and_the_report_says_why() {
    let optional = LONG.replace("    max_tokens", "    optional: true\n    max_tokens");
    let yaml = format!(
        "{optional}  done: {{value: {{text: \"all.text ?? 'none'\"}}}}\noutput: {{text: done.text}}\n"
    );
    let played = play(&yaml, texts(3), |_, _, _| panic!("nothing is asked"));
    assert_eq!(played.output(), &json!({"text": "none"}));
    assert_eq!(played.report.missing, ["all"]);
    let failure = played.report.steps[0].failure.as_ref().unwrap();
    assert!(failure.message.contains("longer than 4 MiB"), "{}", failure.message);
}

/// A prompt that its provider counts as longer than we do.
fn overflow(prompt: u64, most: u64) -> Failure {
    let failure =
        Failure::of_attempt(FailureClass::ContextOverflow, "prompt beyond the window", "too long");
    Failure { scope: Scope::Path, about: Some(About::Size { prompt, most }), ..failure }
}

#[test]
fn a_prompt_that_a_provider_finds_too_long_is_shortened_and_sent_again() {
    let yaml = "
input: {documents: [string]}
steps:
  read:
    max_tokens: 100
    shrink: [input.documents]
    prompt: '{% for d in input.documents %}[{{ d }}]{% endfor %}'
";
    let document = "word ".repeat(600);
    let input = json!({"documents": [document, document, document, document]});
    // Some 4,000 tokens by our estimate, which holds far more: the path counts five times as many, and takes half.
    let played = play_with(yaml, input, |_, _, attempt| match attempt {
        0 => Err(overflow(20_000, 10_000)),
        _ => Ok(json!("read")),
    });
    assert_eq!(played.report.outcome, "degraded", "{:?}", played.report.failure);
    assert_eq!(played.report.missing, ["input.documents[1..4] in read"]);
    let lengths: Vec<usize> =
        played.sent.iter().map(|(_, exchange)| exchange.prompt.bytes()).collect();
    assert_eq!(lengths, [4 * 3_002, 3_002]);
}

#[test]
fn what_no_window_holds_is_never_sent_and_the_failure_names_estimate_window_and_remedy() {
    let yaml = "
input: {text: string}
steps:
  read:
    max_tokens: 100
    prompt: 'Read this: {{ input.text }}'
";
    let input = json!({"text": "word ".repeat(150_000)});
    let played = play(yaml, input, |_, _, _| panic!("nothing is asked"));
    assert_eq!(played.sent.len(), 0);
    let failure = played.report.failure.as_ref().unwrap();
    assert_eq!((failure.class.as_str(), failure.retryable), ("context_overflow", Some(false)));
    for words in
        ["about 250008 tokens", "takes 199900", "`shrink`", "`max_tokens`", "larger window"]
    {
        assert!(failure.message.contains(words), "{words}: {}", failure.message);
    }
}

#[test]
fn what_fits_is_never_shortened() {
    let yaml = "
input: {documents: [string]}
steps:
  read:
    max_tokens: 100
    shrink: [input.documents]
    prompt: '{{ input.documents | join(\" \") }}'
";
    let played = play(yaml, json!({"documents": ["a", "b"]}), |_, _, _| json!("read"));
    assert_eq!(played.report.outcome, "delivered");
    assert!(played.report.missing.is_empty());
}

#[test]
fn long_texts_are_read_in_chunks_at_once_and_merged_without_a_model() {
    let yaml = "
input: {text: string}
steps:
  read:
    each: chunks(input.text, 200)
    as: chunk
    max_tokens: 100
    prompt: 'Read {{ chunk }}'
    output: {actions: [string]}
    check: ['all(contains(chunk, action) for action in actions)']
  merge:
    value: {actions: unique(flatten(read.actions))}
output: {actions: merge.actions}
";
    let text = "Another sentence says do it. ".repeat(120);
    let played = play(yaml, json!({"text": text}), |_, _, _| json!({"actions": ["do it"]}));
    assert!(played.sent.len() > 2, "{}", played.sent.len());
    assert_eq!(played.output(), &json!({"actions": ["do it"]}));
}
