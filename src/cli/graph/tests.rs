use std::path::PathBuf;
use std::sync::Arc;

use super::super::mermaid::flowchart;
use super::*;
use crate::definition::config::Configuration;
use crate::definition::lower::{Context, lower};
use crate::definition::shelf::Shelf;
use crate::definition::source::Source;

fn workflow(steps: &str) -> Arc<Workflow> {
    let text = format!(
        "description: d\ninput: {{text: string, items: [string]}}\ndefaults: {{max_tokens: 100}}\nsteps:\n{steps}"
    );
    let shelf = Shelf::Disk { root: PathBuf::from("."), label: String::new() };
    let configuration = Configuration::simulated("calm", 1);
    let context = Context { name: "w", shelf: &shelf, configuration: &configuration };
    let lowered = lower(context, Source::new("w.yaml", text));
    lowered.workflow.unwrap_or_else(|| panic!("{:?}", lowered.diagnostics))
}

const JUDGED: &str =
    "  plan: {model: quick, prompt: 'p {{ input.text }}', output: {parts: [string]}}
  read: {each: plan.parts, as: part, when: 'length(part) > 2', min_ok: 80%, prompt: 'r {{ part }}'}
  extra: {optional: true, prompt: 'e {{ plan.parts }}'}
  draft: {max_tokens: 900, prompt: 'd {{ read }}{% if extra %}{{ extra.text }}{% endif %}'}
  review: {validates: draft, revise: 2, prompt: 'v {{ draft.text }}', output: {pass: boolean}}
  send: {prompt: 's {{ draft.text }}', output: {sent: string}}
output: {sent: send.sent}
";

#[test]
fn a_graph_is_drawn_in_eighty_columns_with_the_way_back_in_its_margin() {
    let drawn = lines(&workflow(JUDGED), Terminal::plain(80));
    assert!(drawn.iter().all(|line| line.chars().count() <= 80), "{drawn:?}");
    insta::assert_snapshot!(drawn.join("\n"));
}

#[test]
fn ways_back_cross_without_hiding_each_other() {
    let two = "  a: {prompt: 'a {{ input.text }}'}
  b: {prompt: 'b {{ input.text }}'}
  v: {validates: a, prompt: 'v {{ a.text }}', output: {pass: boolean}}
  w: {validates: b, prompt: 'w {{ b.text }}', output: {pass: boolean}}
  c: {prompt: 'c {{ a.text }} {{ b.text }}'}
output: {c: c.text}
";
    insta::assert_snapshot!(lines(&workflow(two), Terminal::plain(80)).join("\n"));
}

#[test]
fn a_flowchart_shows_roles_lists_optional_steps_and_ways_back() {
    insta::assert_snapshot!(flowchart(&workflow(JUDGED)));
}

#[test]
fn what_is_computed_has_no_role_and_no_number_at_once() {
    let computed =
        "  sized: {each: input.items, as: word, min_ok: 50%, value: {size: length(word)}}
  said: {prompt: 's {{ sized }}', output: {text: string}}
  rule: {validates: said, revise: 0, value: {pass: said.text != ''}}
output: {said: said.text}
";
    let workflow = workflow(computed);
    let drawn = lines(&workflow, Terminal::plain(100));
    assert_eq!(
        drawn,
        [
            "  ━━ sized             computed               for each word of input.items; 50% must succeed",
            "  ▼",
            "  ━━ said   executor   balanced ≤ 100 tokens  ← sized",
            "  ▼",
            "  ━━ rule   validator  computed               judges said",
        ]
    );
    let chart = flowchart(&workflow);
    assert!(chart.contains("<b>sized</b><br/>computed<br/>for each"), "{chart}");
    assert!(chart.contains("validator · computed"), "{chart}");
}
