//! When each step stops relying on an attempt.

use std::time::Duration;

use super::super::graph::waits;
use super::super::table::Table;
use super::super::terminal::{Style, Terminal};
use crate::domain::id::StepIx;
use crate::domain::plan::{Plan, Work};
use crate::domain::time::show;
use crate::policy::cutoff::{COLD_FIRST_TOKEN, COLD_STALL, Shares, decide};

/// When each step stops relying on an attempt, and by which rule.
#[must_use]
pub fn cutoffs(plan: &Plan, terminal: Terminal) -> Vec<String> {
    let shares = Shares::of(plan);
    let end = Plan::end_at(plan.deadline).since_start();
    let mut table = Table::new([
        "step",
        "no first token",
        "stalled",
        "in all",
        "share of the deadline",
        "rule",
    ]);
    let (mut automatic, mut waves) = (false, false);
    for ix in plan.step_ixs() {
        let step = plan.step(ix);
        let Work::Model { policy, .. } = &step.work else { continue };
        let share = shares.share(ix, left_at_best(plan, &shares, ix, end), 1);
        let limits = decide(policy.cutoff, share);
        automatic |= limits.automatic;
        waves |= step.each.is_some();
        let time = |limit: Option<Duration>| limit.map_or_else(|| "–".to_owned(), show);
        let percent = share.as_micros() * 100 / plan.deadline.as_micros().max(1);
        let each = if step.each.is_some() { ", in one wave" } else { "" };
        table.row(
            [
                step.name.clone(),
                time(limits.first_token),
                time(limits.idle),
                time(limits.total),
                format!("{} ({percent} %{each})", show(share)),
                if limits.automatic { "auto".to_owned() } else { "as written".to_owned() },
            ]
            .map(|cell| (Style::Plain, cell))
            .into(),
        );
    }
    let mut text = table.lines(terminal, 2);
    let mut say = |line: &str| text.extend(super::indented(line, terminal, 2));
    if automatic {
        say(&format!(
            "auto: while too little is measured, only a missing first token ({}) and a stall ({}) cut, \
             and neither later than the step's share of the time left, which is by max_tokens along the \
             longest chain. The shares above are those of a run in which every step takes its share.",
            show(COLD_FIRST_TOKEN),
            show(COLD_STALL)
        ));
    }
    if waves {
        say(
            "A step with items shares its time among the waves that its list and max_parallel make.",
        );
    }
    text
}

/// Time left when the step begins, where every step before it takes its share by tokens.
fn left_at_best(plan: &Plan, shares: &Shares, ix: StepIx, end: Duration) -> Duration {
    let mut left: Vec<Duration> = vec![end; plan.steps.len()];
    for step in plan.step_ixs() {
        for earlier in waits(plan, step) {
            let before = left[earlier.at()];
            let after = before.saturating_sub(shares.share(earlier, before, 1));
            left[step.at()] = left[step.at()].min(after);
        }
    }
    left[ix.at()]
}

/// The same for programs.
#[must_use]
pub fn record(plan: &Plan) -> Vec<serde_json::Value> {
    let shares = Shares::of(plan);
    let end = Plan::end_at(plan.deadline).since_start();
    let millis = |time: Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
    let steps = plan.step_ixs().filter_map(|ix| {
        let step = plan.step(ix);
        let Work::Model { policy, .. } = &step.work else { return None };
        let share = shares.share(ix, left_at_best(plan, &shares, ix, end), 1);
        let limits = decide(policy.cutoff, share);
        Some(serde_json::json!({
            "step": step.name,
            "first_token_ms": limits.first_token.map(millis),
            "idle_ms": limits.idle.map(millis),
            "total_ms": limits.total.map(millis),
            "share_ms": millis(share),
            "rule": if limits.automatic { "auto" } else { "as written" },
        }))
    });
    steps.collect()
}
