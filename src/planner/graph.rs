//! The shape of a workflow: who follows whom, where branches meet, and how far it is to there.

use super::problem::Problem;

/// The shape of one problem.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Shape {
    /// By step, the steps that wait for it and for nothing that itself waits for it.
    pub children: Vec<Vec<usize>>,
    /// By step, the next step below it that waits for several branches, where every way down leads through one.
    pub join: Vec<Option<usize>>,
    /// By step, seconds from its end to that join's start, at the medians.
    pub to_join: Vec<f64>,
    /// Where a step with several children has its branches meet: the join, and the seconds to it at the medians.
    pub meets: Vec<Option<(usize, f64)>>,
    /// By step, the steps it must wait for, directly or not, as a bit set.
    pub above: Vec<u64>,
}

impl Shape {
    /// `medians`: seconds a step takes, by step. At most 64 steps.
    pub(super) fn of(problem: &Problem, medians: &[f64]) -> Self {
        let count = problem.steps.len();
        let mut above = vec![0_u64; count];
        for (ix, step) in problem.steps.iter().enumerate() {
            above[ix] =
                step.parents.iter().fold(0, |set, parent| set | above[*parent] | 1 << parent);
        }
        // Only edges that no longer way makes redundant.
        let mut children = vec![Vec::new(); count];
        let mut parents = vec![0; count];
        for (ix, step) in problem.steps.iter().enumerate() {
            let over = step.parents.iter().fold(0, |set, parent| set | above[*parent]);
            let direct = step.parents.iter().fold(0_u64, |set, parent| set | 1 << parent) & !over;
            for parent in (0..count).filter(|parent| direct & 1 << parent != 0) {
                children[parent].push(ix);
                parents[ix] += 1;
            }
        }
        // Steps that every way down from a step leads through; of those the nearest has the smallest place.
        let mut through = vec![0_u64; count];
        for ix in (0..count).rev() {
            let all = children[ix].iter().map(|child: &usize| through[*child]);
            through[ix] = all.reduce(|a, b| a & b).unwrap_or(0) | 1 << ix;
        }
        let mut shape = Self {
            children,
            join: vec![None; count],
            to_join: vec![0.0; count],
            meets: vec![None; count],
            above,
        };
        for (ix, through) in through.into_iter().enumerate() {
            let below = (ix + 1..count).filter(|next| through & 1 << next != 0);
            let mut joins = below.filter(|next| parents[*next] > 1);
            let Some(join) = joins.next() else { continue };
            shape.join[ix] = Some(join);
            shape.to_join[ix] = shape.longest(ix, join, medians);
            if shape.children[ix].len() > 1 {
                shape.meets[ix] = Some((join, shape.to_join[ix]));
            }
        }
        shape
    }

    /// Seconds from the end of `from` to the start of `to`, at the medians, on the longest way.
    fn longest(&self, from: usize, to: usize, medians: &[f64]) -> f64 {
        let mut at = vec![f64::NEG_INFINITY; to + 1];
        at[from] = 0.0;
        for ix in from..to {
            if at[ix].is_finite() {
                for child in self.children[ix].iter().filter(|child| **child <= to) {
                    let own = if *child == to { 0.0 } else { medians[*child] };
                    at[*child] = at[*child].max(at[ix] + own);
                }
            }
        }
        at[to].max(0.0)
    }
}
