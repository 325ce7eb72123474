//! A plan as a Mermaid flowchart, for documents and pull requests.

use std::fmt::Write as _;

use super::graph::{critical_path, often, revisions, role, work};
use crate::domain::id::StepIx;
use crate::domain::plan::NeedKind;
use crate::workflow::Workflow;

/// The flowchart: a box for a step, a double one for a fan-out, a hexagon for a validator; dotted where something
/// may be missing, thick on the critical path.
///
/// Ids are `s0`, `s1`, … in the plan's order, so that no name can be a word of the language; names stand in quoted
/// labels alone.
#[must_use]
pub fn flowchart(workflow: &Workflow) -> String {
    let plan = &workflow.plan;
    let mut text = "flowchart TD\n".to_owned();
    for ix in plan.step_ixs() {
        let step = plan.step(ix);
        let mut label = vec![format!("<b>{}</b>", escaped(&step.name))];
        let role = role(step).map(|role| format!("{role} · ")).unwrap_or_default();
        label.push(escaped(&format!("{role}{}", work(plan, step))));
        let content = workflow.steps.get(ix.at());
        if let Some(each) = content.and_then(|content| content.each.as_ref()) {
            label.push(escaped(&format!(
                "for each {} of {}",
                each.item,
                each.list.source().trim()
            )));
        }
        if let Some(when) = content.and_then(|content| content.when.as_ref()) {
            label.push(escaped(&format!("when {}", when.source().trim())));
        }
        if step.optional {
            label.push("optional".to_owned());
        }
        let (open, close) = match (step.validates, step.each) {
            (Some(_), _) => ("{{", "}}"),
            (None, Some(_)) => ("[[", "]]"),
            (None, None) => ("[", "]"),
        };
        let _ = writeln!(text, "  {}{open}\"{}\"{close}", id(ix), label.join("<br/>"));
    }
    text.push_str(&edges(workflow));
    let (critical, _) = critical_path(plan);
    let optional = plan.step_ixs().filter(|ix| plan.step(*ix).optional);
    for (class, style, steps) in [
        ("critical", "stroke-width:3px", critical),
        ("optional", "stroke-dasharray:5 4", optional.collect::<Vec<StepIx>>()),
    ] {
        if !steps.is_empty() {
            let steps: Vec<String> = steps.into_iter().map(id).collect();
            let _ = writeln!(text, "  classDef {class} {style}");
            let _ = writeln!(text, "  class {} {class}", steps.join(","));
        }
    }
    text.truncate(text.trim_end().len());
    text
}

fn edges(workflow: &Workflow) -> String {
    let plan = &workflow.plan;
    let mut text = String::new();
    for ix in plan.step_ixs() {
        for need in &plan.step(ix).needs {
            let from = plan.step(need.step).judged_by.filter(|judge| *judge != ix);
            let arrow = match need.kind {
                NeedKind::Output => "-->",
                NeedKind::Judges => "-- judged by -->",
                NeedKind::Guarded => "-. if there .->",
                NeedKind::Order => "-. order only .->",
            };
            let _ = writeln!(text, "  {} {arrow} {}", id(from.unwrap_or(need.step)), id(ix));
        }
        let back = revisions(plan, ix);
        if let (Some(judged), 1..) = (plan.step(ix).validates, back) {
            let (judge, judged) = (id(ix), id(judged));
            let _ = writeln!(text, "  {judge} -. \"sent back, {}\" .-> {judged}", often(back));
        }
    }
    text
}

fn id(ix: StepIx) -> String {
    format!("s{}", ix.0)
}

/// Text inside a quoted label: what Mermaid or HTML would read is written as an entity.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '"' => out.push_str("#quot;"),
            '#' => out.push_str("#35;"),
            '&' => out.push_str("#amp;"),
            '<' => out.push_str("#lt;"),
            '>' => out.push_str("#gt;"),
            '`' => out.push_str("#96;"),
            '\\' => out.push_str("#92;"),
            c if c.is_control() => out.push(' '),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_language_would_read_is_an_entity() {
        assert_eq!(escaped("a < \"b\" & #c"), "a #lt; #quot;b#quot; #amp; #35;c");
        assert_eq!(escaped("`x`\n\\y"), "#96;x#96; #92;y");
    }
}
