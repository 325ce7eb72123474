//! How many items a step will have, as far as a case's input and answers tell, against how many answers it has.

use std::collections::BTreeSet;
use std::ops::Range;

use serde_json::Value;

use super::answer::may_fail;
use super::{ANSWER_UNFIT, ITEM_COUNT, Lowering};
use crate::definition::yaml::{Key, Kind, Node};
use crate::domain::id::{ItemIx, StepIx};
use crate::domain::outcome::Status;
use crate::expression::Expression;
use crate::schema::Schema;
use crate::workflow::case::{Expect, Said, StepAnswers};
use crate::workflow::content::{Content, Expansion};
use crate::workflow::{Answer, StepContent, WorkContent, Workflow, text_value};

/// Longer lists do not run.
const MOST: usize = 1_000;

/// What a case's answers are counted and checked against.
struct Counted<'a> {
    what: &'a str,
    expect: &'a Expect,
    /// Where the case begins.
    begins: usize,
    /// `answers` as it is written.
    node: Option<&'a Node>,
    /// Names whose values are known before any run.
    known: BTreeSet<String>,
    content: Content,
}

impl Lowering<'_> {
    /// Goes through the steps as a run would, as far as the case tells what they yield: are there as many answers
    /// as items, and do the last ones meet the step's `check`?
    pub(super) fn count_items(
        &mut self,
        (begins, node): (usize, Option<&Node>),
        case: (&[StepAnswers], &Expect, &Value),
        workflow: &Workflow,
        what: &str,
    ) {
        let (answers, expect, input) = case;
        // Statuses are not known before a run.
        let known = ["input", "vars"].map(str::to_owned).into();
        let content = Content::new(workflow, input.clone());
        let mut counted = Counted { what, expect, begins, node, known, content };
        for (at, step) in workflow.steps.iter().enumerate() {
            let Ok(ix) = u16::try_from(at).map(StepIx) else { return };
            let each = step.each.as_ref();
            let outer = step.when.iter().chain(each.map(|each| &each.list));
            if !outer.clone().all(|text| counted.tells(text, &[]))
                || !each
                    .iter()
                    .filter_map(|e| e.when.as_ref())
                    .all(|t| counted.tells(t, &locals(step)))
            {
                continue;
            }
            let Expansion::Items(count) = counted.content.expand(ix, step, MOST) else { continue };
            let items: Vec<ItemIx> = (0..u32::try_from(count).unwrap_or(0)).map(ItemIx).collect();
            let written = answers.iter().find(|answers| answers.step == step.name);
            if let (Some(_), Some(written)) = (each, written) {
                self.compare(&counted, written, ix, &items);
            }
            let values = match &step.work {
                WorkContent::Value(fields) => counted.computed(ix, &items, step, fields),
                WorkContent::Prompt(_) => written.and_then(|written| {
                    let place = |item: &ItemIx| counted.content.place(ix, *item);
                    let values: Option<Vec<Option<Value>>> = items
                        .iter()
                        .map(|item| accepted(step, written.items.get(place(item) as usize)?))
                        .map(|value| value.map(Some))
                        .collect();
                    self.check_answers(&mut counted, step, (ix, &items), written);
                    values
                }),
            };
            let Some(values) = values else { continue };
            for (item, value) in items.iter().zip(values) {
                if let Some(value) = value {
                    counted.content.accept(ix, *item, step, value);
                }
            }
            counted.content.close(ix, step, Status::Ok);
            counted.known.insert(step.name.clone());
        }
    }

    fn compare(
        &mut self,
        counted: &Counted<'_>,
        written: &StepAnswers,
        ix: StepIx,
        items: &[ItemIx],
    ) {
        let Some((key, list)) = counted.of_step(&written.step) else { return };
        let Kind::List(nodes) = &list.kind else { return };
        let all = items.len() + counted.content.left_out(ix).len();
        let (step, what, has) = (&written.step, counted.what, nodes.len());
        let message = format!(
            "{what}: step '{step}' has {} for {}",
            plural(has, "answer"),
            plural(all, "item")
        );
        let unanswered = items.iter().any(|item| counted.content.place(ix, *item) as usize >= has);
        if let Some(beyond) = nodes.get(all) {
            let (span, aliased) = counted.place(key, list, beyond);
            let at = self.line(beyond.span.start);
            let help = "one answer an item, in the order of the list; remove the others";
            let help = if aliased {
                format!("{help}: the first of them stands in line {at}, which an alias brings here")
            } else {
                help.to_owned()
            };
            self.reader.error(ITEM_COUNT, &span, message).help(help);
        } else if unanswered {
            self.reader.warn(ITEM_COUNT, &key.span, message).help(
                "the others are made up by shape, and no `check` is asked of them; `null` says that this is meant",
            );
        }
    }

    /// Warns of last answers that their step's `check` refuses.
    fn check_answers(
        &mut self,
        counted: &mut Counted<'_>,
        step: &StepContent,
        (ix, items): (StepIx, &[ItemIx]),
        written: &StepAnswers,
    ) {
        if step.check.is_empty() || may_fail(&step.name, counted.expect) {
            return;
        }
        for item in items.iter().copied() {
            let place = counted.content.place(ix, item) as usize;
            let Some(value) = written.items.get(place).and_then(|said| accepted(step, said)) else {
                continue;
            };
            let mut names = locals(step);
            names.extend(value.as_object().into_iter().flatten().map(|(name, _)| name.as_str()));
            if !step.check.iter().all(|check| counted.tells(check, &names)) {
                continue;
            }
            let unmet = counted.content.unmet(ix, item, step, &value);
            let (Some(first), Some((key, list))) = (unmet.first(), counted.of_step(&step.name))
            else {
                continue;
            };
            let node = list;
            let node = match &node.kind {
                Kind::List(nodes) if step.each.is_some() => nodes.get(place).unwrap_or(node),
                _ => node,
            };
            let message = format!(
                "{}: step '{}': its `check` refuses the answer: {first}",
                counted.what, step.name
            );
            let (span, _) = counted.place(key, list, last(node));
            self.reader.warn(ANSWER_UNFIT, &span, message).help(
                "the step will refuse it each time; to test its repair, add the answer that follows: {$attempts: [this, then that]}",
            );
        }
    }
}

impl<'a> Counted<'a> {
    /// Whether everything that `text` mentions is known.
    fn tells(&self, text: &Expression, locals: &[&str]) -> bool {
        let known = |name: &str| locals.contains(&name) || self.known.contains(name);
        text.mentions().iter().all(|mention| known(&mention.name))
    }

    /// What a step without a model yields, item by item: nothing where its `check` is not met. `None` where that is not
    /// known, or the step fails.
    fn computed(
        &mut self,
        ix: StepIx,
        items: &[ItemIx],
        step: &StepContent,
        fields: &[(String, Expression)],
    ) -> Option<Vec<Option<Value>>> {
        let mut names = locals(step);
        if !fields.iter().all(|(_, field)| self.tells(field, &names)) {
            return None;
        }
        names.extend(fields.iter().map(|(name, _)| name.as_str()));
        if !step.check.iter().all(|check| self.tells(check, &names)) {
            return None;
        }
        let content = &mut self.content;
        let values = items.iter().map(|item| {
            let value = content.compute(ix, *item, step, fields);
            content.unmet(ix, *item, step, &value).is_empty().then_some(value)
        });
        let values: Vec<Option<Value>> = values.collect();
        (step.each.is_some() || values.iter().all(Option::is_some)).then_some(values)
    }

    /// Where to point at what is wrong with a step's answers: at the part itself, or, where an alias brings it here from
    /// elsewhere in the file, at the alias's line. Anchors stand before their aliases.
    fn place(&self, key: &Key, answers: &Node, part: &Node) -> (Range<usize>, bool) {
        let all = self.node.map_or(self.begins, |node| node.span.start);
        if all < self.begins {
            (self.begins..self.begins, true)
        } else if answers.span.start < key.span.start {
            (key.span.clone(), true)
        } else if part.span.start < answers.span.start {
            (answers.span.clone(), true)
        } else {
            (part.span.clone(), false)
        }
    }

    fn of_step(&self, step: &str) -> Option<(&'a Key, &'a Node)> {
        let Some(Node { kind: Kind::Map(entries), .. }) = self.node else { return None };
        entries.iter().find(|(key, _)| key.name == step).map(|(key, node)| (key, node))
    }
}

/// The names that stand for an item.
fn locals(step: &StepContent) -> Vec<&str> {
    step.each.iter().flat_map(|each| [each.item.as_str(), "index"]).collect()
}

/// The last of several attempts.
fn last(node: &Node) -> &Node {
    let Kind::Map(entries) = &node.kind else { return node };
    let attempts = entries.iter().find(|(key, _)| key.name == "$attempts");
    match attempts.map(|(_, list)| &list.kind) {
        Some(Kind::List(items)) => items.last().unwrap_or(node),
        _ => node,
    }
}

fn plural(count: usize, what: &str) -> String {
    if count == 1 { format!("1 {what}") } else { format!("{count} {what}s") }
}

/// The value of an item's last answer, where it is known and fits.
fn accepted(step: &StepContent, said: &[Said]) -> Option<Value> {
    let WorkContent::Prompt(prompt) = &step.work else { return None };
    let text = said.last()?.text.as_ref()?;
    match &prompt.answer {
        Answer::Text => Some(text_value(text)),
        Answer::Json(schema) => {
            let shape = Schema::to_shape(schema.source());
            let value = Schema::drop_absent(&shape, serde_json::from_str(text).ok()?);
            schema.accepts(&value).then_some(value)
        }
    }
}
