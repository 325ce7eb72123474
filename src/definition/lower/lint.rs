//! Warnings: what loads, and will be late, fragile or useless when it matters. One file a kind.
//!
//! The rule is no false alarm: each says only what follows from the graph, the texts and the configuration, with
//! the numbers it used, and what to write instead. Times are priors, see `pace`.

use std::collections::BTreeMap;

use crate::definition::diagnostic::{Diagnostic, Severity};
use crate::definition::lower::draft::Draft;
use crate::definition::lower::text::Origin;
use crate::definition::page::Reader;
use crate::definition::raw::RawWorkflow;
use crate::definition::yaml::ContentMap;
use crate::domain::finding::Finding;
use crate::domain::id::StepIx;
use crate::domain::plan::{Plan, Work};
use crate::domain::shape::Shape;
use crate::expression::{Expression, Mention};

mod bound;
mod deadline;
mod hold;
mod last;
mod order;
mod pace;
mod price;
mod quota;
mod split;
mod unheard;
mod unused;
mod verdict;
mod wording;

use pace::Timeline;

/// A sound workflow, as the lints see it.
pub struct Subject<'a> {
    /// What the file says.
    pub raw: &'a RawWorkflow<'a>,
    /// What follows from it.
    pub plan: &'a Plan,
    /// Its steps, in the order of the file.
    pub drafts: &'a [Draft<'a>],
    /// The shape of its arguments.
    pub input: &'a Shape,
    /// Its result.
    pub output: &'a [(String, Expression)],
}

/// The subject, and what several lints ask of it.
struct Look<'a> {
    subject: &'a Subject<'a>,
    /// What each step mentions, by place in the file.
    mentions: Vec<Vec<&'a Mention>>,
    /// What the result mentions.
    output: Vec<&'a Mention>,
    timeline: Timeline,
    /// Place in the file of each step of the plan.
    places: Vec<usize>,
}

/// Looks for all of them.
pub fn lint(reader: &mut Reader<'_>, subject: &Subject<'_>) {
    let look = Look::at(subject);
    bound::lint(reader, &look);
    quota::lint(reader, &look);
    price::lint(reader, &look);
    order::lint(reader, &look);
    split::lint(reader, &look);
    hold::lint(reader, &look);
    last::lint(reader, &look);
    deadline::lint(reader, &look);
    verdict::lint(reader, &look);
    wording::lint(reader, &look);
    unused::lint(reader, &look);
    unheard::lint(reader, &look);
}

impl<'a> Look<'a> {
    fn at(subject: &'a Subject<'a>) -> Self {
        let by_name: BTreeMap<&str, usize> =
            subject.drafts.iter().enumerate().map(|(at, draft)| (draft.name(), at)).collect();
        let place = |name: &str| by_name.get(name).copied().unwrap_or(0);
        let places: Vec<usize> = subject.plan.steps.iter().map(|step| place(&step.name)).collect();
        let output = subject.output.iter().flat_map(|(_, text)| text.mentions()).collect();
        Self {
            subject,
            mentions: subject
                .drafts
                .iter()
                .map(|draft| draft.mentions().map(|(m, _)| m).collect())
                .collect(),
            output,
            timeline: Timeline::of(subject, &places, &[]),
            places,
        }
    }

    fn draft(&self, ix: StepIx) -> &'a Draft<'a> {
        &self.subject.drafts[self.places[ix.at()]]
    }

    fn mentions(&self, ix: StepIx) -> &[&'a Mention] {
        &self.mentions[self.places[ix.at()]]
    }

    fn plan(&self) -> &'a Plan {
        self.subject.plan
    }

    /// Steps that a model does, in the order of the plan.
    fn asked(&self) -> impl Iterator<Item = StepIx> + use<'_, 'a> {
        let plan = self.plan();
        plan.step_ixs().filter(|ix| matches!(plan.step(*ix).work, Work::Model { .. }))
    }
}

/// Warns of something in a text, where it stands.
fn warn_in(reader: &mut Reader<'_>, finding: &Finding, origin: Origin<'_>) {
    if reader.is_full() {
        return;
    }
    match origin {
        Origin::Here(node) => {
            let range = ContentMap::of(&reader.page.source, node).locate(&finding.range);
            let found = reader.warn(finding.code, &range, &finding.message);
            found.help.clone_from(&finding.help);
        }
        Origin::File(source) => {
            let (code, range) = (finding.code, &finding.range);
            let mut found =
                Diagnostic::at(Severity::Warning, code, source, range, &finding.message);
            found.help.clone_from(&finding.help);
            reader.found.push(found);
        }
    }
}
