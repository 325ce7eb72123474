//! The order of the steps: cycles named whole, otherwise topological, the file's order among equals.

use crate::definition::lower::Lowering;
use crate::definition::lower::draft::Draft;
use crate::domain::finding::Code;
use crate::domain::plan::NeedKind;

/// Steps that wait for one another.
pub const CYCLE: Code = Code("P0401");

impl Lowering<'_> {
    /// The places of the steps in topological order; `None` where they wait for one another.
    pub(super) fn order(&mut self, drafts: &[Draft<'_>]) -> Option<Vec<usize>> {
        let edges = edges(drafts);
        let mut order: Vec<usize> = Vec::with_capacity(drafts.len());
        let mut placed = vec![false; drafts.len()];
        while let Some(next) =
            (0..drafts.len()).find(|at| !placed[*at] && edges[*at].iter().all(|on| placed[*on]))
        {
            placed[next] = true;
            order.push(next);
        }
        if order.len() == drafts.len() {
            return Some(order);
        }
        let cycle = find_cycle(&edges, &placed);
        let mut names: Vec<&str> = cycle.iter().map(|at| drafts[*at].name()).collect();
        names.extend(names.first().copied());
        let first = cycle.first().map_or(0, |at| *at);
        let judged = cycle.iter().find_map(|judge| {
            drafts[*judge].validates.map(|step| (drafts[step].name(), drafts[*judge].name(), step))
        });
        let help = match judged {
            Some((step, _, at)) if cycle.contains(&at) => {
                format!("'{step}' reads its verdict as `feedback`, not by its validator's name")
            }
            Some((step, judge, _)) => {
                format!(
                    "who uses '{step}' waits for the verdict of '{judge}', which must not wait for them"
                )
            }
            None => "each waits for the next: remove one of the references".to_owned(),
        };
        let message = format!("steps wait for one another: {}", names.join(" → "));
        self.reader.error(CYCLE, &drafts[first].raw.key.span, message).help(help);
        None
    }
}

/// What each step waits for, verdicts included: who uses a judged answer waits for its judge.
fn edges(drafts: &[Draft<'_>]) -> Vec<Vec<usize>> {
    let of = |draft: &Draft<'_>| {
        let mut on: Vec<usize> = draft.needs.iter().map(|(step, _)| *step).collect();
        for (step, kind) in &draft.needs {
            if *kind != NeedKind::Judges {
                on.extend(drafts[*step].judged_by);
            }
        }
        on
    };
    drafts.iter().map(of).collect()
}

/// A cycle among the steps that could not be placed, starting with the one that is first in the file.
fn find_cycle(edges: &[Vec<usize>], placed: &[bool]) -> Vec<usize> {
    let Some(start) = placed.iter().position(|placed| !placed) else { return Vec::new() };
    let mut path = vec![start];
    // Every step here waits for another one here, so walking on must come back.
    for _ in 0..=edges.len() {
        let last = path[path.len() - 1];
        let Some(next) = edges[last].iter().find(|on| !placed[**on]) else { return path };
        if let Some(at) = path.iter().position(|step| step == next) {
            let mut cycle = path.split_off(at);
            let lowest = cycle.iter().enumerate().min_by_key(|(_, step)| **step);
            let turn = lowest.map_or(0, |(at, _)| at);
            cycle.rotate_left(turn);
            return cycle;
        }
        path.push(*next);
    }
    path
}
