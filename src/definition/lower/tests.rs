use std::sync::Arc;
use std::time::Duration;

use super::*;
use crate::definition::environment::Environment;
use crate::domain::money::Usd;
use crate::domain::plan::{Cutoff, NeedKind, OnInvalid, OnSlow, Role, StepPlan, Work};
use crate::domain::time::Share;
use crate::workflow::{Answer, WorkContent};

mod guards;
mod laws;

const SHELF: Shelf = Shelf::Builtin(&[
    (
        "schemas/rfp_draft.json",
        include_str!("../../../tests/definitions/good/schemas/rfp_draft.json"),
    ),
    ("prompts/rfp_plan.md", include_str!("../../../tests/definitions/good/prompts/rfp_plan.md")),
    (
        "prompts/rfp_review.md",
        include_str!("../../../tests/definitions/good/prompts/rfp_review.md"),
    ),
]);
const RFP: &str = include_str!("../../../tests/definitions/good/rfp_answers.yaml");
const TRIAGE: &str = include_str!("../../../tests/definitions/good/triage.yaml");
const SHAPES: &str = include_str!("../../../tests/definitions/good/shapes.yaml");

fn lowered(text: &str, configuration: &Configuration) -> Lowered {
    let context = Context { name: "flow", shelf: &SHELF, configuration };
    lower(context, Source::new("flow.yaml", text))
}

fn workflow(text: &str) -> Arc<Workflow> {
    let lowered = lowered(text, &Configuration::simulated("calm", 1));
    let shown: Vec<String> = lowered.diagnostics.iter().map(ToString::to_string).collect();
    lowered.workflow.unwrap_or_else(|| panic!("{}", shown.join("\n")))
}

fn configured(text: &str, configuration: &str) -> Arc<Workflow> {
    let environment = Environment::of([("OPENAI_API_KEY", "k"), ("ANTHROPIC_API_KEY", "k")]);
    let source = Source::new("punctual.yaml", configuration);
    let (configuration, _) = crate::definition::config::load(
        source,
        std::path::Path::new("punctual.yaml"),
        &environment,
    );
    lowered(text, &configuration.unwrap()).workflow.unwrap()
}

fn step<'a>(workflow: &'a Workflow, name: &str) -> &'a StepPlan {
    workflow.plan.steps.iter().find(|step| step.name == name).unwrap()
}

fn needs(workflow: &Workflow, name: &str) -> Vec<(String, NeedKind)> {
    let needs = step(workflow, name).needs.iter();
    needs.map(|need| (workflow.plan.step(need.step).name.clone(), need.kind)).collect()
}

fn names(workflow: &Workflow) -> Vec<&str> {
    workflow.plan.steps.iter().map(|step| step.name.as_str()).collect()
}

#[test]
fn needs_follow_from_every_text_prompt_files_included() {
    let rfp = workflow(RFP);
    assert_eq!(names(&rfp), ["plan", "answer", "gaps", "draft", "review"]);
    let need = |name: &str, kind| (name.to_owned(), kind);
    assert_eq!(needs(&rfp, "answer"), [need("plan", NeedKind::Output)]);
    assert_eq!(
        needs(&rfp, "draft"),
        [need("answer", NeedKind::Output), need("gaps", NeedKind::Guarded)]
    );
    assert_eq!(
        needs(&rfp, "review"),
        [need("answer", NeedKind::Output), need("draft", NeedKind::Judges)]
    );
    let draft = step(&rfp, "draft");
    assert_eq!(draft.judged_by.map(|ix| rfp.plan.step(ix).name.as_str()), Some("review"));
    assert_eq!((step(&rfp, "review").revise, draft.revise), (1, 0));
}

#[test]
fn steps_stand_in_topological_order_and_contents_with_them() {
    let triage = workflow(TRIAGE);
    assert_eq!(names(&triage), ["kind", "search", "reply", "judge", "log"]);
    let contents: Vec<_> = triage.steps.iter().map(|step| step.name.as_str()).collect();
    assert_eq!(contents, names(&triage));
    for (at, step) in triage.plan.steps.iter().enumerate() {
        assert!(step.needs.iter().all(|need| need.step.at() < at), "{}", step.name);
    }
    assert!(needs(&triage, "log").contains(&("search".to_owned(), NeedKind::Order)));
}

#[test]
fn roles_and_cutoffs_are_inferred() {
    let rfp = workflow(RFP);
    let roles: Vec<Role> = rfp.plan.steps.iter().map(|step| step.role).collect();
    let executor = Role::Executor;
    assert_eq!(roles, [Role::Planner, executor, executor, executor, Role::Validator]);
    assert_eq!(step(&rfp, "gaps").cutoff_at, Share::percent(70));
    assert_eq!(step(&rfp, "review").cutoff_at, Share::percent(80));
    assert_eq!(step(&rfp, "draft").cutoff_at, None);
    let each = step(&rfp, "answer").each.unwrap();
    assert_eq!((each.max_parallel, each.min_ok), (12, Share::percent(80).unwrap()));
}

const SERVER: &str = "
providers: {one: {kind: openai}, two: {kind: anthropic}}
models:
  quick: {paths: [{provider: one, model: gpt-5-mini}], stronger: balanced}
  balanced: {paths: [{provider: two, model: claude-sonnet-4-6}], faster: quick}
  unused: {paths: [{provider: one, model: gpt-5}]}
defaults:
  model: balanced
  deadline: 30s
  max_tokens: 700
  budget: {usd: 0.5, calls: 9}
  policy: {attempts: 2, cutoff: 9s, on: {slow: next, invalid: stronger}}
";

#[test]
fn defaults_are_merged_key_by_key_from_server_to_step() {
    let text = "
description: d
budget: {usd: 0.1}
defaults: {max_tokens: 300, policy: {max_swaps: 1, on: {slow: fail}}}
steps:
  a: {prompt: x, policy: {swap_delay: 1s, on: {refused: next}}}
  b: {prompt: '{{ a.text }}', model: quick, max_tokens: 50}
";
    let flow = configured(text, SERVER);
    let Work::Model { model, max_tokens, policy } = &step(&flow, "a").work else { panic!() };
    assert_eq!((flow.plan.model(*model).name.as_str(), *max_tokens), ("balanced", 300));
    assert_eq!((policy.attempts, policy.max_swaps), (2, 1));
    assert_eq!(policy.swap_delay, Duration::from_secs(1));
    assert_eq!((policy.on.slow, policy.on.invalid), (OnSlow::Fail, OnInvalid::Stronger));
    let nine = Some(Duration::from_secs(9));
    assert_eq!(policy.cutoff, Cutoff::Fixed { first_token: None, idle: None, total: nine });
    assert_eq!(flow.plan.deadline, Duration::from_secs(30));
    assert_eq!(flow.plan.budget.usd, Usd::from_dollars(0.1));
    assert_eq!((flow.plan.budget.calls, flow.plan.budget.tokens), (Some(9), None));
}

#[test]
fn a_model_that_nothing_knows_is_warned_of_where_the_simulator_stands_in() {
    let text = "description: Answers.\ninput: {q: string}\nsteps:\n  \
                a: {model: balancd, max_tokens: 100, prompt: '{{ input.q }}'}\n  \
                b: {model: balancd, max_tokens: 100, prompt: '{{ a.text }}'}\n  \
                c: {model: best, max_tokens: 100, prompt: '{{ b.text }}'}\n  \
                d: {model: gpt-5, max_tokens: 100, prompt: '{{ c.text }}'}\noutput: {d: d.text}\n";
    let told = |configuration: &Configuration| {
        let lowered = lowered(text, configuration);
        assert!(lowered.workflow.is_some());
        let found = lowered.diagnostics.into_iter().filter(|found| found.code.0 == "P0504");
        found.map(|found| found.to_string()).collect::<Vec<_>>()
    };
    let alone = told(&Configuration::simulated("calm", 1));
    assert_eq!(alone.len(), 2, "{alone:?}");
    assert!(alone[0].contains("warning[P0504]: step 'a': no model 'balancd'"), "{}", alone[0]);
    assert!(
        alone[0].contains("did you mean 'balanced'? models: quick, balanced, best"),
        "{}",
        alone[0]
    );
    let mut stands_in = Configuration::simulated("calm", 1);
    stands_in.stood_for = vec!["balancd".to_owned(), "gpt-5".to_owned()];
    assert!(told(&stands_in).is_empty(), "the file's own names");
}

#[test]
fn a_plan_holds_the_models_it_needs_and_no_others() {
    let text = "description: d\nsteps: {a: {prompt: x, max_tokens: 9, model: quick}}\n";
    let flow = configured(text, SERVER);
    let models: Vec<_> = flow.plan.models.iter().map(|m| m.name.as_str()).collect();
    assert_eq!(models, ["quick", "balanced"]);
    let paths: Vec<_> = flow.plan.paths.iter().map(|p| p.label.as_str()).collect();
    assert_eq!(paths, ["one/gpt-5-mini", "two/claude-sonnet-4-6"]);
    let quick = &flow.plan.models[0];
    assert_eq!(quick.stronger.map(|ix| flow.plan.model(ix).name.as_str()), Some("balanced"));
    assert_eq!(flow.plan.provider_of(quick.paths[0]).name, "one");
}

#[test]
fn the_only_sink_is_the_result_wrapped_where_it_is_a_list() {
    let object = workflow(
        "description: d\nsteps: {a: {prompt: x, max_tokens: 9, output: {b: string, c: integer}}}\n",
    );
    let fields: Vec<_> =
        object.output.iter().map(|(name, e)| format!("{name}={}", e.source())).collect();
    assert_eq!(fields, ["b=a.b", "c=a.c"]);
    let list = workflow(
        "description: d\ninput: {l: [string]}\nsteps: {a: {each: input.l, prompt: '{{ item }}', max_tokens: 9}}\n",
    );
    assert_eq!((list.output[0].0.as_str(), list.output[0].1.source()), ("a", "a"));
    let kind = list.output_schema.source().pointer("/properties/a/type");
    assert_eq!(kind, Some(&serde_json::json!("array")));
}

#[test]
fn a_json_schema_inside_a_shape_keeps_what_a_shape_cannot_say() {
    let flow = workflow(SHAPES);
    let file = flow.steps.iter().find(|step| step.name == "file").unwrap();
    let WorkContent::Prompt(prompt) = &file.work else { panic!() };
    let Answer::Json(schema) = &prompt.answer else { panic!() };
    let long = "x".repeat(1300);
    let value = serde_json::json!({"level": "low", "draft": {"summary": long, "sections": []}});
    assert_eq!(schema.violations(&value).len(), 1);
    let input = flow.input_schema.source();
    assert_eq!(input.pointer("/properties/extra/properties/x/type"), Some(&"integer".into()));
    assert_eq!(input.pointer("/properties/limit/default"), Some(&3.into()));
    assert!(!flow.exposed);
}

#[test]
fn the_version_is_of_the_bytes_alone() {
    let text = "description: d\nsteps: {a: {prompt: x, max_tokens: 9}}\n";
    let one = workflow(text);
    let other = configured(text, SERVER);
    assert_eq!(one.version, other.version);
    assert_ne!(one.version, workflow(&text.replace(": x", ": y")).version);
    assert_eq!(one.version.len(), 16);
    // FNV-1a of the empty input, and of "a" behind its length: fixed, as versions are stored.
    assert_eq!(Version::default().hex(), "cbf29ce484222325");
}

#[test]
fn more_steps_than_the_limit_are_refused() {
    let steps: Vec<String> = (0..=STEP_LIMIT).map(|n| format!("  s{n}: {{prompt: x}}\n")).collect();
    let steps = steps.concat();
    let text = format!("description: d\nsteps:\n{steps}");
    let found = lowered(&text, &Configuration::simulated("calm", 1));
    assert!(found.diagnostics.iter().any(|d| d.code == TOO_MANY_STEPS));
}

#[test]
fn shapes_that_double_one_another_end_at_a_limit() {
    let shapes: Vec<String> =
        (0..40).map(|n| format!("  S{n}: {{a: S{}, b: S{}}}\n", n + 1, n + 1)).collect();
    let text = format!(
        "description: d\nshapes:\n{}  S40: string\nsteps: {{a: {{prompt: x}}}}\n",
        shapes.concat()
    );
    let found = lowered(&text, &Configuration::simulated("calm", 1));
    assert!(found.diagnostics.iter().any(|d| d.code.0 == "P0612"));
}

#[test]
fn a_file_of_mistakes_alone_is_reported_up_to_a_limit() {
    let keys: Vec<String> = (0..50_000).map(|n| format!("k{n}: 1\n")).collect();
    let found = lowered(&keys.concat(), &Configuration::simulated("calm", 1));
    assert_eq!(found.diagnostics.len(), crate::definition::yaml::PROBLEM_LIMIT + 1);
}

#[test]
fn what_will_not_hold_the_deadline_is_warned_of() {
    let text = "description: d\nbudget: {usd: 1}\nsteps: {a: {prompt: x, model: m}}\n";
    let server =
        "providers: {o: {kind: openai}}\nmodels: {m: {paths: [{provider: o, model: own}]}}\n";
    let environment = Environment::of([("OPENAI_API_KEY", "k")]);
    let source = Source::new("punctual.yaml", server);
    let (configuration, _) =
        crate::definition::config::load(source, std::path::Path::new("p"), &environment);
    let found = lowered(text, &configuration.unwrap());
    let codes: Vec<_> = found.diagnostics.iter().map(|d| d.code.0).collect();
    assert!(found.workflow.is_some());
    for code in ["P0411", "P0509", "P0510"] {
        assert!(codes.contains(&code), "{code}: {codes:?}");
    }
}
