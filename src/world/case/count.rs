//! A case's answers against the items that a run asked for. Answers go by the items that are there: where an item of an
//! earlier fan-out is lost, those behind it move up, and an answer meant for one would be taken for another.

use serde_json::json;

use super::Difference;
use crate::domain::id::StepIx;
use crate::run::Run;
use crate::workflow::case::Case;
use crate::workflow::{StepContent, WorkContent, Workflow};

/// Answers that no item asks for, and items over another fan-out's results that have none. Of a list that no fan-out
/// has made, too few answers are warned of where the case is read.
pub(super) fn miscounted(case: &Case, run: &Run) -> Vec<Difference> {
    let workflow = run.workflow();
    let mut found = Vec::new();
    for answers in &case.answers {
        let Some(at) = workflow.step_named(&answers.step) else { continue };
        let Some(listed) = u16::try_from(at).ok().and_then(|at| run.listed(StepIx(at))) else {
            continue;
        };
        let has = answers.items.len();
        let source = of_fan_out(workflow, &workflow.steps[at]);
        if has == listed || (has < listed && source.is_none()) {
            continue;
        }
        let why = source.map_or_else(String::new, |source| {
            format!(
                "; answers go by the items that are there, and an item that '{source}' has lost is not: \
                 remove its answer, or write `null` for one to be made up"
            )
        });
        found.push(Difference {
            pointer: format!("/answers/{}", answers.step),
            expected: Some(json!(plural(listed, "answer"))),
            got: Some(json!(plural(has, "answer"))),
            note: Some(format!("P0706: its list had {} in this run{why}", plural(listed, "item"))),
        });
    }
    found
}

/// The fan-out whose results a step's list is made of, itself or through steps without a model.
fn of_fan_out<'w>(workflow: &'w Workflow, step: &'w StepContent) -> Option<&'w str> {
    // A step can only mention those before it: each is looked at once at most.
    let mut open: Vec<&StepContent> =
        step.each.iter().flat_map(|e| named(workflow, &e.list)).collect();
    let mut seen: Vec<&str> = Vec::new();
    while let Some(of) = open.pop() {
        if of.each.is_some() {
            return Some(&of.name);
        }
        if seen.contains(&of.name.as_str()) {
            continue;
        }
        seen.push(&of.name);
        if let WorkContent::Value(fields) = &of.work {
            open.extend(fields.iter().flat_map(|(_, field)| named(workflow, field)));
        }
    }
    None
}

fn named<'w>(
    workflow: &'w Workflow,
    text: &crate::expression::Expression,
) -> impl Iterator<Item = &'w StepContent> {
    let names: Vec<usize> =
        text.mentions().iter().filter_map(|m| workflow.step_named(&m.name)).collect();
    names.into_iter().map(|at| &workflow.steps[at])
}

fn plural(count: usize, what: &str) -> String {
    if count == 1 { format!("1 {what}") } else { format!("{count} {what}s") }
}
