//! A run that is not made, as text and as JSON.

use std::time::Duration;

use serde_json::{Value, json};

use super::super::graph::work;
use super::super::output;
use super::super::summary::count;
use super::super::table::Table;
use super::super::terminal::{Style, Terminal, wrap};
use super::super::worst::OfStep;
use super::{Dry, Recorded, Rendered, Step, What, paths};
use crate::domain::id::StepIx;
use crate::domain::money::Usd;
use crate::domain::plan::Plan;
use crate::domain::time::show;
use crate::schema::Schema;
use crate::workflow::{Answer, StepContent, WorkContent};

/// Prompts of a fan-out that are shown in full; JSON has them all.
const SHOWN: usize = 2;

impl Dry {
    /// Prints it.
    pub fn show(&self, as_json: bool) {
        if as_json {
            output::json(&self.record());
        } else {
            output::result(self.text(output::screen()).join("\n"));
        }
    }

    fn text(&self, terminal: Terminal) -> Vec<String> {
        let head = |text: &str| terminal.paint(Style::Bold, text).to_string();
        let name = &self.workflow.name;
        let mut text = vec![format!("{}: dry, nothing is sent", head(name))];
        if let Some(Recorded { name, at }) = &self.case {
            text.extend(indented(
                &format!("models answer as in the case '{name}', {at}"),
                terminal,
            ));
        }
        for (ix, step) in self.in_order() {
            text.push(String::new());
            text.extend(self.step(ix, step, terminal));
        }
        text.push(String::new());
        text.push(head("At most"));
        text.extend(self.most(terminal));
        text.push(String::new());
        text.push(head("Deadline"));
        text.extend(indented(&self.verdict(), terminal));
        text.push(String::new());
        text.push(head("Chance of success"));
        let (valid, right) = (&self.chances.valid_arithmetic, &self.chances.right_arithmetic);
        text.extend(indented(&format!("valid: {valid}"), terminal));
        text.extend(indented(&format!("and right: {right}"), terminal));
        let note =
            format!("priors until something is measured; 'punctual explain {name}' shows how");
        text.extend(indented(&note, terminal));
        text
    }

    fn step(&self, ix: StepIx, step: &Step, terminal: Terminal) -> Vec<String> {
        let plan = &self.workflow.plan;
        let of = &self.workflow.steps[ix.at()];
        let items = match (&of.each, step.items_known) {
            (None, _) => String::new(),
            (Some(_), true) => format!(" × {}", count(step.items as usize, "item")),
            (Some(_), false) => " × items that are not known yet".to_owned(),
        };
        let title = terminal.paint(Style::Bold, format!("{}. {}", step.wave, step.name));
        let mut text = vec![format!("{title}{items}  {}", work(plan, plan.step(ix)))];
        let paths = paths(plan, ix);
        if !paths.is_empty() {
            text.extend(indented(&format!("paths: {}", paths.join(" → ")), terminal));
        }
        text.extend(
            expected(of)
                .into_iter()
                .flat_map(|shape| indented(&format!("answer: {shape}"), terminal)),
        );
        if step.recorded {
            text.push("  from recorded answers".to_owned());
        }
        match &step.what {
            What::Rendered { prompts, left_out } => {
                if !left_out.is_empty() {
                    let lists = left_out.join(", ");
                    text.extend(indented(
                        &format!("left out, to fit the window: {lists}"),
                        terminal,
                    ));
                }
                for prompt in prompts.iter().take(SHOWN) {
                    let item = prompt.item.map(|item| format!("item {item}, "));
                    text.extend(rendered(prompt, &item.unwrap_or_default(), terminal));
                }
                if prompts.len() > SHOWN {
                    let more = count(prompts.len() - SHOWN, "more prompt");
                    text.push(format!("  … {more}; --json has them all"));
                }
            }
            What::Skipped { why } => text.push(format!("  skipped: {why}")),
            What::Computed { value, without } => {
                text.push(format!("  = {value}"));
                let without = without.iter().map(|why| format!("left out: {why}"));
                text.extend(without.flat_map(|why| indented(&why, terminal)));
            }
            What::Impossible { why } => text.extend(indented(&format!("fails: {why}"), terminal)),
            What::Waits { waits_for, .. } if matches!(of.work, WorkContent::Value(_)) => {
                let waits = format!("waits for {}; as written:", waits_for.join(", "));
                text.extend(indented(&waits, terminal));
                text.extend(written(of));
            }
            What::Waits { waits_for, system, prompt } => {
                let waits = format!(
                    "waits for {}; about {} tokens at most; as written:",
                    waits_for.join(", "),
                    step.prompt_tokens
                );
                text.extend(indented(&waits, terminal));
                text.extend(system.iter().flat_map(|system| quoted("system", system, terminal)));
                text.extend(prompt.iter().flat_map(|prompt| quoted("user", prompt, terminal)));
            }
        }
        text
    }

    fn most(&self, terminal: Terminal) -> Vec<String> {
        let mut table =
            Table::new(["step", "items", "attempts", "prompt", "tokens in", "tokens out", "cost"]);
        let known = |name: &str| {
            self.steps
                .iter()
                .find(|step| step.name == name)
                .is_some_and(|step| matches!(step.what, What::Rendered { .. }) && step.items_known)
        };
        for step in self.worst.steps.iter().filter(|step| step.items > 0) {
            table.row(row(step, known(&step.step)));
        }
        let mut text = table.lines(terminal, 2);
        let cost = |usd: Option<f64>| dollars(usd);
        let worst = &self.worst;
        text.extend(indented(
            &format!(
                "{}, {} tokens, {} were every attempt to fail; {} where each step needs one and fills its bound",
                count(usize::try_from(worst.attempts).unwrap_or(usize::MAX), "attempt"),
                worst.tokens,
                cost(worst.usd),
                cost(worst.smooth_usd)
            ),
            terminal,
        ));
        if !worst.held_by.is_empty() {
            let held = format!("the budget holds a run at {}", worst.held_by.join(", "));
            text.extend(indented(&held, terminal));
        }
        if !worst.unpriced.is_empty() {
            let unpriced = format!("no price is known of {}", worst.unpriced.join(", "));
            text.extend(indented(&unpriced, terminal));
        }
        if self.steps.iter().any(|step| !matches!(step.what, What::Rendered { .. })) {
            let note = "≈ is a bound: the template, the whole input, and the answers waited for at their own bounds; \
                        a list that is not known counts as many items as run at once";
            text.extend(indented(note, terminal));
        }
        text
    }

    /// Whether the deadline can be met, as far as priors tell.
    fn verdict(&self) -> String {
        let end = Plan::end_at(self.deadline).since_start();
        let (usual, full) = self.time;
        let can = match self.can_be_met() {
            "yes" => "can be met, with every answer at its bound",
            "usually" => {
                "can be met with answers of the usual size, not with every answer at its bound"
            }
            _ => {
                "cannot be met even with answers of the usual size: raise it, lower max_tokens, or use a faster model"
            }
        };
        format!(
            "{}, a run ends by {}. With one attempt for each step: {} with answers of the usual size, {} with all at \
             their bounds. It {can}. Priors, until something is measured.",
            show(self.deadline),
            show(end),
            show(usual),
            show(full)
        )
    }

    fn can_be_met(&self) -> &'static str {
        let end = Plan::end_at(self.deadline).since_start();
        let (usual, full) = self.time;
        if full <= end {
            "yes"
        } else if usual <= end {
            "usually"
        } else {
            "no"
        }
    }

    fn record(&self) -> Value {
        let millis = |time: Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        json!({
            "workflow": self.workflow.name,
            "sent": false,
            "case": self.case,
            "steps": self.in_order().into_iter().map(|(_, step)| step).collect::<Vec<_>>(),
            "worst": self.worst,
            "deadline": {
                "deadline_ms": millis(self.deadline),
                "usual_ms": millis(self.time.0),
                "at_bounds_ms": millis(self.time.1),
                "can_be_met": self.can_be_met(),
            },
            "chance": self.chances,
        })
    }
}

fn row(step: &OfStep, known: bool) -> Vec<(Style, String)> {
    let prompt = format!("{}{}", if known { "" } else { "≈ " }, step.prompt_tokens);
    let cells = [
        step.step.clone(),
        step.items.to_string(),
        step.attempts.to_string(),
        prompt,
        step.input_tokens.to_string(),
        step.output_tokens.to_string(),
        dollars(step.usd),
    ];
    cells.into_iter().map(|cell| (Style::Plain, cell)).collect()
}

fn dollars(usd: Option<f64>) -> String {
    let known = usd.and_then(Usd::from_dollars);
    known.map_or_else(|| "cost unknown".to_owned(), |usd| usd.to_string())
}

/// The answer that is asked for, where it is JSON.
fn expected(of: &StepContent) -> Option<String> {
    let WorkContent::Prompt(prompt) = &of.work else { return None };
    match &prompt.answer {
        Answer::Text => Some("text".to_owned()),
        Answer::Json(schema) => Some(Schema::to_shape(schema.source()).describe()),
    }
}

/// The expressions of a step without a model, one a line.
fn written(of: &StepContent) -> Vec<String> {
    let WorkContent::Value(fields) = &of.work else { return Vec::new() };
    fields.iter().map(|(name, value)| format!("    {name} = {}", value.source().trim())).collect()
}

fn rendered(prompt: &Rendered, item: &str, terminal: Terminal) -> Vec<String> {
    let mut text = vec![format!("  {item}about {} tokens:", prompt.estimated_tokens)];
    text.extend(prompt.system.iter().flat_map(|system| quoted("system", system, terminal)));
    let turns = prompt.history.iter().flat_map(|turn| quoted(turn.speaker, &turn.text, terminal));
    text.extend(turns);
    text.extend(quoted("user", &prompt.user, terminal));
    text
}

/// A text as it stands, marked as such.
fn quoted(name: &str, text: &str, terminal: Terminal) -> Vec<String> {
    let mark = terminal.paint(Style::Dim, "│").to_string();
    let lines = text.lines().map(|line| format!("    {mark} {line}").trim_end().to_owned());
    std::iter::once(format!("    {}", terminal.paint(Style::Dim, name))).chain(lines).collect()
}

fn indented(text: &str, terminal: Terminal) -> Vec<String> {
    wrap(text, terminal.width - 2).into_iter().map(|line| format!("  {line}")).collect()
}
