//! Drafts → the engine's steps and their contents, in topological order.

use crate::definition::lower::draft::Draft;
use crate::definition::lower::models::Models;
use crate::domain::id::{ModelIx, StepIx};
use crate::domain::plan::{EachPlan, Need, NeedKind, Role, StepPlan, Work};
use crate::domain::time::Share;
use crate::workflow::{EachContent, PromptContent, StepContent, WorkContent};

/// The answer's bound where none is written.
pub const DEFAULT_MAX_TOKENS: u32 = 1024;
/// Items in flight where nothing else is written.
const DEFAULT_MAX_PARALLEL: u32 = 8;
/// Share of the deadline at which an optional step is closed.
const DEFAULT_CUTOFF_PERCENT: u16 = 80;

/// The plans, in `order`.
pub fn plans(drafts: &[Draft<'_>], order: &[usize], models: &Models) -> Vec<StepPlan> {
    let ix = |file: usize| {
        let at = order.iter().position(|at| *at == file).unwrap_or(0);
        StepIx(u16::try_from(at).unwrap_or(u16::MAX))
    };
    order
        .iter()
        .map(|at| {
            let draft = &drafts[*at];
            let mut needs: Vec<Need> = draft
                .needs
                .iter()
                .map(|(step, kind)| Need { step: ix(*step), kind: *kind })
                .collect();
            needs.sort_by_key(|need| need.step);
            StepPlan {
                name: draft.name().to_owned(),
                role: draft.raw.role.as_ref().map_or_else(|| role(*at, drafts), |r| r.value),
                work: work(draft, models.of_step[*at]),
                needs,
                conditional: draft.is_conditional(),
                optional: draft.is_optional(),
                each: draft.raw.each.is_some().then(|| EachPlan {
                    max_parallel: draft
                        .raw
                        .max_parallel
                        .as_ref()
                        .map_or(DEFAULT_MAX_PARALLEL, |n| n.value),
                    min_ok: draft.raw.min_ok.as_ref().map_or(Share::ALL, |s| s.value),
                }),
                cutoff_at: cutoff_at(draft),
                validates: draft.validates.map(ix),
                judged_by: draft.judged_by.map(ix),
                revise: match (&draft.raw.revise, draft.validates) {
                    (Some(revise), Some(_)) => revise.value,
                    (None, Some(_)) => 1,
                    (_, None) => 0,
                },
                shrinks: !draft.shrink.is_empty(),
            }
        })
        .collect()
}

fn work(draft: &Draft<'_>, model: ModelIx) -> Work {
    if draft.value.is_some() {
        return Work::Value;
    }
    let written = draft.settings.max_tokens.as_ref();
    let max_tokens = written.map_or(DEFAULT_MAX_TOKENS, |n| n.value);
    Work::Model { model, max_tokens, policy: draft.settings.policy.lower() }
}

fn cutoff_at(draft: &Draft<'_>) -> Option<Share> {
    let written = draft.raw.cutoff_at.as_ref().map(|share| share.value);
    let usual = || draft.is_optional().then(|| Share::percent(DEFAULT_CUTOFF_PERCENT)).flatten();
    written.or_else(usual)
}

/// A step's part where the file does not say it.
fn role(at: usize, drafts: &[Draft<'_>]) -> Role {
    let draft = &drafts[at];
    if draft.validates.is_some() {
        return Role::Validator;
    }
    let feeds = |other: &Draft<'_>| {
        other.needs.iter().any(|(step, kind)| *step == at && *kind != NeedKind::Judges)
    };
    let feeds_fan = drafts.iter().any(|other| {
        let mut each = other.each.iter().flat_map(|each| each.body.mentions());
        each.any(|mention| mention.name == draft.name())
    });
    if feeds_fan || (draft.needs.is_empty() && drafts.iter().any(feeds)) {
        Role::Planner
    } else {
        Role::Executor
    }
}

/// The contents, in `order`; `None` where a text could not be parsed.
pub fn contents(drafts: Vec<Draft<'_>>, order: &[usize]) -> Option<Vec<StepContent>> {
    let mut drafts: Vec<Option<Draft<'_>>> = drafts.into_iter().map(Some).collect();
    order.iter().map(|at| content(drafts[*at].take()?, order)).collect()
}

fn content(draft: Draft<'_>, order: &[usize]) -> Option<StepContent> {
    let (item, per_item) = (draft.item().to_owned(), draft.when_per_item());
    let when = draft.when.map(|when| when.body);
    let (whole, of_item) = if per_item { (None, when) } else { (when, None) };
    let place = |file: &usize| order.iter().position(|at| at == file);
    let ix = |file: &usize| Some(StepIx(u16::try_from(place(file)?).ok()?));
    let work = match draft.value {
        Some(fields) => {
            WorkContent::Value(fields.into_iter().map(|f| (f.name, f.text.body)).collect())
        }
        None => WorkContent::Prompt(Box::new(PromptContent {
            system: draft.system.map(|text| text.body.template()),
            prompt: draft.prompt?.body.template(),
            history: draft.history.iter().map(ix).collect::<Option<_>>()?,
            shrink: draft.shrink.iter().filter_map(|text| text.body.as_path()).collect(),
            answer: draft.expected.answer,
            temperature: draft.settings.temperature.map(|t| t.value),
            effort: draft.settings.effort.map(|e| e.value.to_owned()),
        })),
    };
    Some(StepContent {
        name: draft.raw.key.name.clone(),
        when: whole,
        each: draft.each.map(|each| EachContent { list: each.body, item, when: of_item }),
        check: draft.check.into_iter().map(|text| text.body).collect(),
        work,
    })
}
