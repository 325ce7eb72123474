//! How many items a step will have, as far as a case's input and answers tell, against how many answers it has.

use std::collections::BTreeSet;

use serde_json::Value;

use super::{ITEM_COUNT, Lowering};
use crate::definition::yaml::{Kind, Node};
use crate::domain::id::{ItemIx, StepIx};
use crate::domain::outcome::Status;
use crate::expression::Expression;
use crate::schema::Schema;
use crate::workflow::case::{Said, StepAnswers};
use crate::workflow::content::{Content, Expansion};
use crate::workflow::{Answer, StepContent, WorkContent, Workflow, text_value};

/// Longer lists do not run.
const MOST: usize = 1_000;

impl Lowering<'_> {
    pub(super) fn count_items(
        &mut self,
        node: Option<&Node>,
        answers: &[StepAnswers],
        workflow: &Workflow,
        input: &Value,
        what: &str,
    ) {
        // Statuses are not known before a run.
        let mut known: BTreeSet<&str> = ["input", "vars"].into();
        let mut content = Content::new(workflow, input.clone());
        for (at, step) in workflow.steps.iter().enumerate() {
            let Ok(ix) = u16::try_from(at).map(StepIx) else { return };
            let written = answers.iter().find(|answers| answers.step == step.name);
            let tell = |text: &Expression| {
                text.mentions().iter().all(|mention| known.contains(mention.name.as_str()))
            };
            let each = step.each.as_ref().map(|each| &each.list);
            if !step.when.iter().chain(each).all(tell) {
                continue;
            }
            let Expansion::Items(count) = content.expand(ix, step, MOST) else { continue };
            if let (Some(_), Some(written)) = (&step.each, written) {
                self.compare(node, written, count, what);
            }
            if let WorkContent::Value(fields) = &step.work {
                if fields.iter().all(|(_, field)| tell(field)) {
                    content.compute(ix, step, fields);
                    known.insert(&step.name);
                }
                continue;
            }
            if let Some(values) = written.and_then(|written| accepted(step, written, count)) {
                for (item, value) in (0_u32..).zip(values) {
                    content.accept(ix, ItemIx(item), step, value);
                }
                content.close(ix, step, Status::Ok);
                known.insert(&step.name);
            }
        }
    }

    fn compare(&mut self, node: Option<&Node>, written: &StepAnswers, count: usize, what: &str) {
        let Some(Node { kind: Kind::Map(entries), .. }) = node else { return };
        let Some((key, list)) = entries.iter().find(|(key, _)| key.name == written.step) else {
            return;
        };
        let Kind::List(items) = &list.kind else { return };
        let (step, has) = (&written.step, items.len());
        let answers = if has == 1 { "1 answer".to_owned() } else { format!("{has} answers") };
        let of = if count == 1 { "1 item".to_owned() } else { format!("{count} items") };
        let message = format!("{what}: step '{step}' has {answers} for {of}");
        if let Some(beyond) = items.get(count) {
            self.reader
                .error(ITEM_COUNT, &beyond.span, message)
                .help("one answer an item, in the order of the input; remove the others");
        } else if has < count {
            self.reader.warn(ITEM_COUNT, &key.span, message).help(
                "the others are made up by shape, and no `check` is asked of them; `null` says that this is meant",
            );
        }
    }
}

/// The values of a step's last answers, where all of them are known and valid.
fn accepted(step: &StepContent, written: &StepAnswers, count: usize) -> Option<Vec<Value>> {
    let WorkContent::Prompt(prompt) = &step.work else { return None };
    let value = |attempts: &Vec<Said>| {
        let text = attempts.last()?.text.as_ref()?;
        match &prompt.answer {
            Answer::Text => Some(text_value(text)),
            Answer::Json(schema) => {
                let shape = Schema::to_shape(schema.source());
                let value = Schema::drop_absent(&shape, serde_json::from_str(text).ok()?);
                schema.accepts(&value).then_some(value)
            }
        }
    };
    let values: Option<Vec<Value>> = written.items.iter().map(value).collect();
    values.filter(|values| values.len() == count)
}
