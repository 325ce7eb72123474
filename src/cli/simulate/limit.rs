//! What keeps runs from being in time: of each that misses, the step that took most beyond its usual time on the way to
//! the end, where it ran or waited, or what it failed of.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::cli::graph::waits;
use crate::domain::failure::FailureClass;
use crate::domain::id::StepIx;
use crate::domain::plan::Plan;
use crate::world::forecast::{Sample, Took};

/// What most misses have in common.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Limit {
    /// The deadline under which it was looked for.
    pub deadline_ms: u64,
    /// Runs that missed it.
    pub misses: usize,
    /// Those of them for which this is the reason.
    pub of_these: usize,
    /// The step.
    pub step: String,
    /// Where its longest attempt ran or waited.
    pub path: Option<String>,
    /// Whether the time was spent in the line of the path's provider.
    pub queued: bool,
    /// The failure class, where it was not time.
    pub class: Option<String>,
    /// Milliseconds that the step takes at the median, where runs are in time.
    pub usual_ms: u64,
    /// Milliseconds that it took at the median in the misses it is the reason of.
    pub took_ms: u64,
}

/// How a step is the reason of a miss.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Manner {
    path: Option<String>,
    queued: bool,
    class: Option<String>,
}

/// The step that is the reason of most misses among `samples`, in the most frequent manner; `None` where none missed.
#[must_use]
pub fn limit(plan: &Plan, deadline_ms: u64, samples: &[Sample]) -> Option<Limit> {
    let usual = usual(plan, samples);
    let missed: Vec<&Sample> = samples.iter().filter(|sample| !sample.on_time).collect();
    let mut by_step: BTreeMap<StepIx, Vec<(Manner, u64)>> = BTreeMap::new();
    for sample in &missed {
        let Some((step, manner, took)) = reason(plan, sample, &usual) else { continue };
        by_step.entry(step).or_default().push((manner, took));
    }
    // Of equal ones the first in the plan.
    let (step, these) = by_step.iter().rev().max_by_key(|(_, these)| these.len())?;
    let mut manners: BTreeMap<&Manner, usize> = BTreeMap::new();
    for (manner, _) in these {
        *manners.entry(manner).or_default() += 1;
    }
    let (manner, _) = manners.into_iter().rev().max_by_key(|(_, count)| *count)?;
    Some(Limit {
        deadline_ms,
        misses: missed.len(),
        of_these: these.len(),
        step: plan.step(*step).name.clone(),
        path: manner.path.clone(),
        queued: manner.queued,
        class: manner.class.clone(),
        usual_ms: usual[step.at()],
        took_ms: median(these.iter().map(|(_, took)| *took).collect()),
    })
}

/// Milliseconds that each step takes at the median: in runs that were in time, else in all.
fn usual(plan: &Plan, samples: &[Sample]) -> Vec<u64> {
    let of = |step: usize, on_time: bool| {
        let wanted = samples.iter().filter(|sample| sample.on_time || !on_time);
        let ended = wanted.filter_map(|sample| sample.steps.get(step)?.as_ref());
        let times: Vec<u64> = ended.filter(|took| took.done).map(Took::whole_ms).collect();
        (!times.is_empty()).then(|| median(times))
    };
    (0..plan.steps.len())
        .map(|step| of(step, true).or_else(|| of(step, false)).unwrap_or(0))
        .collect()
}

/// The step for which a run missed, how, and how long it took.
fn reason(plan: &Plan, sample: &Sample, usual: &[u64]) -> Option<(StepIx, Manner, u64)> {
    let took = |step: StepIx| sample.steps.get(step.at())?.as_ref();
    let late = FailureClass::Deadline.as_str();
    let failed = sample.failure.as_ref().filter(|(class, _)| class != late);
    if let Some((class, step)) = failed {
        let at = plan.step_ixs().find(|ix| Some(&plan.step(*ix).name) == step.as_ref())?;
        let path = took(at).and_then(|took| took.path.clone());
        let manner = Manner { path, queued: false, class: Some(class.clone()) };
        return Some((at, manner, took(at).map_or(0, Took::whole_ms)));
    }
    let over = |step: StepIx| {
        let whole = took(step).map_or(0, Took::whole_ms);
        whole.saturating_sub(usual[step.at()])
    };
    let chain = chain(plan, sample);
    let step = chain.into_iter().max_by_key(|step| (over(*step), std::cmp::Reverse(step.at())))?;
    let took = took(step)?;
    let queued = took.queued_ms > 0 && took.queued_ms * 2 >= over(step);
    let path = took.path.clone();
    Some((step, Manner { path, queued, class: None }, took.whole_ms()))
}

/// The steps that the end of the run waited for, each the last of those its successor waited for.
fn chain(plan: &Plan, sample: &Sample) -> Vec<StepIx> {
    let took = |step: &StepIx| sample.steps.get(step.at()).and_then(Option::as_ref);
    let open = plan
        .step_ixs()
        .filter(|step| !plan.step(*step).optional && took(step).is_some_and(|took| !took.done));
    let last = open.max_by_key(|step| took(step).map(|took| took.from_ms));
    let last =
        last.or_else(|| plan.step_ixs().max_by_key(|step| took(step).map(|took| took.to_ms)));
    let before = |step: &StepIx| {
        let began = waits(plan, *step).filter(|need| need < step && took(need).is_some());
        began.max_by_key(|need| took(need).map(|took| took.to_ms))
    };
    std::iter::successors(last, before).collect()
}

fn median(mut times: Vec<u64>) -> u64 {
    times.sort_unstable();
    times.get(times.len() / 2).copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::definition::catalog::load_file;
    use crate::definition::config::Configuration;
    use std::time::Duration;

    const FLOW: &str = "
description: Plans, looks and writes.
steps:
  plan: {max_tokens: 100, prompt: plan}
  look: {max_tokens: 100, prompt: 'look {{ plan.text }}'}
  list: {max_tokens: 100, prompt: 'list {{ plan.text }}'}
  write: {max_tokens: 100, prompt: 'write {{ look.text }} {{ list.text }}'}
output: {text: write.text}
";

    fn plan() -> Plan {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("flow.yaml");
        std::fs::write(&file, FLOW).unwrap();
        let lowered = load_file(&file, &Configuration::simulated("calm", 1));
        let workflow = lowered.workflow.unwrap_or_else(|| panic!("{:#?}", lowered.diagnostics));
        (*workflow.plan).clone()
    }

    /// A run whose steps took so many seconds each; the last one did not end where it is late.
    fn sample(plan: &Plan, on_time: bool, seconds: [(&str, u64); 4], queued: u64) -> Sample {
        let of = |name: &str| seconds.iter().find(|(step, _)| *step == name).unwrap().1 * 1_000;
        let second = of("plan");
        let third = second + of("look").max(of("list"));
        let took = |name: &str| {
            let from_ms = match name {
                "plan" => 0,
                "look" | "list" => second,
                _ => third,
            };
            let done = on_time || name != "write";
            let path = Some(format!("a/{name}"));
            let queued_ms = if name == "look" { queued * 1_000 } else { 0 };
            Some(Took { from_ms, to_ms: from_ms + of(name), done, queued_ms, path })
        };
        Sample {
            on_time,
            degraded: false,
            elapsed: Duration::from_secs(30),
            cost_usd: 0.0,
            tokens: 0,
            primaries: 4,
            extras: 0,
            failure: (!on_time).then(|| ("deadline".to_owned(), Some("write".to_owned()))),
            steps: plan.steps.iter().map(|step| took(&step.name)).collect(),
        }
    }

    #[test]
    fn the_step_that_took_too_long_is_the_reason_and_not_the_one_that_was_cut_short() {
        let plan = plan();
        let usual = [("plan", 2), ("look", 4), ("list", 3), ("write", 5)];
        let mut samples = vec![sample(&plan, true, usual, 0); 5];
        assert_eq!(limit(&plan, 30_000, &samples), None);
        let late = [("plan", 2), ("look", 20), ("list", 9), ("write", 8)];
        samples.push(sample(&plan, false, late, 0));
        let found = limit(&plan, 30_000, &samples).unwrap();
        assert_eq!((found.step.as_str(), found.misses, found.of_these), ("look", 1, 1));
        assert_eq!((found.usual_ms, found.took_ms, found.queued), (4_000, 20_000, false));
        assert_eq!(found.path.as_deref(), Some("a/look"));
    }

    #[test]
    fn a_line_is_the_reason_where_most_of_the_time_went_into_it() {
        let plan = plan();
        let late = [("plan", 2), ("look", 20), ("list", 3), ("write", 8)];
        let mut samples =
            vec![sample(&plan, true, [("plan", 2), ("look", 4), ("list", 3), ("write", 5)], 0)];
        samples.push(sample(&plan, false, late, 15));
        assert!(limit(&plan, 30_000, &samples).unwrap().queued);
    }

    #[test]
    fn what_failed_of_something_else_than_time_is_told_by_its_class() {
        let plan = plan();
        let mut lost =
            sample(&plan, false, [("plan", 2), ("look", 4), ("list", 3), ("write", 5)], 0);
        lost.failure = Some(("schema_violation".to_owned(), Some("list".to_owned())));
        let found = limit(&plan, 30_000, &[lost]).unwrap();
        assert_eq!(found.step, "list");
        assert_eq!(found.class.as_deref(), Some("schema_violation"));
    }
}
