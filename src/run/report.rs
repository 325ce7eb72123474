//! The run report, and where a run stands for those who wait.

use std::collections::BTreeMap;

use serde_json::Value;

use super::Run;
use crate::domain::failure::{Failure, FailureClass};
use crate::domain::id::{AttemptId, ItemIx, StepIx};
use crate::domain::message::Message;
use crate::domain::money::Usd;
use crate::domain::outcome::{Outcome, Part, Status};
use crate::domain::time::Timestamp;
use crate::engine::{AttemptView, StepView};
use crate::trace::report::{
    AttemptReport, ContentReport, DecisionReport, FailureReport, RunReport, StepReport, Tokens,
    TurnReport,
};

/// What a run is at, for progress notifications and timelines.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// Increases with every event.
    pub tick: u64,
    /// Steps and items ended.
    pub done: u32,
    /// Steps and items known so far; grows when a list becomes known.
    pub total: u32,
    /// What is going on: `draft (executor) on openai/gpt, attempt 2`.
    pub phase: String,
    /// Whether the run has ended.
    pub ended: bool,
}

impl Run {
    /// The report as it stands at `now`; `started_at` is the wall-clock time of the run's start, RFC 3339.
    #[must_use]
    pub fn report(&self, started_at: &str, now: Timestamp) -> RunReport {
        let attempts: Vec<AttemptView<'_>> = self.machine.attempts().collect();
        let cost = attempts.iter().fold(Usd::ZERO, |sum, a| sum.plus(a.cost));
        let (mut missing, mut unverified) = (Vec::new(), Vec::new());
        let outcome = match self.machine.outcome() {
            None => "running",
            Some(Outcome::Delivered) => "delivered",
            Some(Outcome::Degraded { missing: parts, unverified: steps, shrunk }) => {
                missing.extend(parts.iter().map(|part| self.part(*part)));
                let in_step = |step: &StepIx| {
                    let name = self.step_name(*step);
                    self.left_off(*step).into_iter().map(move |list| format!("{list} in {name}"))
                };
                missing.extend(shrunk.iter().flat_map(in_step));
                unverified.extend(steps.iter().map(|step| self.step_name(*step)));
                "degraded"
            }
            Some(Outcome::Failed(_)) => "failed",
            Some(Outcome::Cancelled) => "cancelled",
        };
        let reused = self.named(|step| step.status == Status::Reused);
        RunReport {
            run_id: self.id.to_string(),
            workflow: self.workflow.name.clone(),
            outcome: outcome.to_owned(),
            simulated: self.simulated,
            output: self.output.clone(),
            missing,
            unverified,
            unchecked: self.unchecked.iter().map(|step| self.step_name(*step)).collect(),
            failure: self.failure(),
            started_at: started_at.to_owned(),
            elapsed_ms: now.millis(),
            deadline_ms: u64::try_from(self.machine.deadline().as_millis()).unwrap_or(u64::MAX),
            reused,
            validated: self.validated(),
            cost_usd: cost.dollars(),
            cost_estimated: attempts.iter().any(|a| a.cost_estimated),
            tokens: Tokens {
                input: attempts.iter().map(|a| a.usage.input).sum(),
                output: attempts.iter().map(|a| a.usage.output).sum(),
            },
            steps: self.step_reports(&attempts),
            decisions: self.decision_reports(),
        }
    }

    /// What the run is at.
    #[must_use]
    pub fn progress(&self) -> Progress {
        let (mut done, mut total) = (0, 0);
        let mut working: Option<String> = None;
        for (plan, step) in self.workflow.plan.steps.iter().zip(self.machine.steps()) {
            let items = step.items().count().max(1);
            total += u32::try_from(items).unwrap_or(u32::MAX);
            let ended = step.items().filter(|i| i.status.ended()).count();
            let ended = if step.status.ended() { items } else { ended };
            done += u32::try_from(ended).unwrap_or(u32::MAX);
            if step.status == Status::Running {
                let of =
                    if plan.each.is_some() { format!(" {ended}/{items}") } else { String::new() };
                working = Some(format!("{}{of} ({})", plan.name, plan.role.as_str()));
            }
        }
        let latest = self.machine.attempts().filter(|a| a.ended.is_none()).last().map(|a| {
            let label = &self.workflow.plan.path(a.spec.path).label;
            let again =
                if a.spec.n > 1 { format!(", attempt {}", a.spec.n) } else { String::new() };
            format!(" on {label}{again}")
        });
        let ended = self.machine.outcome().is_some();
        let phase = match working {
            Some(working) => format!("{working}{}", latest.unwrap_or_default()),
            None if ended => "done".to_owned(),
            None => "starting".to_owned(),
        };
        Progress { tick: self.ticks, done, total, phase, ended }
    }

    fn named(&self, which: impl Fn(&StepView<'_>) -> bool) -> Vec<String> {
        let steps = self.workflow.steps.iter().zip(self.machine.steps());
        steps.filter(|(_, view)| which(view)).map(|(step, _)| step.name.clone()).collect()
    }

    /// What the same call, made again, continues from: nothing after a result.
    fn validated(&self) -> Vec<String> {
        match self.machine.outcome() {
            Some(Outcome::Delivered | Outcome::Degraded { .. }) => Vec::new(),
            Some(Outcome::Failed(_) | Outcome::Cancelled) | None => {
                let steps = self.whole().into_iter();
                steps.map(|ix| self.workflow.plan.step(ix).name.clone()).collect()
            }
        }
    }

    fn part(&self, part: Part) -> String {
        let name = self.step_name(part.step);
        match part.item {
            Some(item) => format!("{name}[{}]", self.content.place(part.step, item)),
            None => name,
        }
    }

    fn step_name(&self, step: StepIx) -> String {
        self.workflow.plan.step(step).name.clone()
    }

    fn failure(&self) -> Option<FailureReport> {
        let plan = &self.workflow.plan;
        match self.machine.outcome()? {
            Outcome::Failed(failure) => Some(FailureReport {
                class: failure.class.to_string(),
                step: failure.step.map(|step| plan.step(step).name.clone()),
                message: self.told(failure),
                // Who says when to come back expects more of it then.
                retryable: Some(failure.class.retryable() || failure.retry_after.is_some()),
                retry_after_ms: failure.retry_after.map(millis),
                evidence: None,
            }),
            Outcome::Cancelled => Some(FailureReport {
                class: FailureClass::Cancelled.to_string(),
                message: "the caller withdrew the call".to_owned(),
                retryable: Some(true),
                ..FailureReport::default()
            }),
            Outcome::Delivered | Outcome::Degraded { .. } => None,
        }
    }

    fn step_reports(&self, attempts: &[AttemptView<'_>]) -> Vec<StepReport> {
        let mut of_item: BTreeMap<(StepIx, ItemIx), Vec<AttemptReport>> = BTreeMap::new();
        for attempt in attempts {
            let place = (attempt.spec.step, attempt.spec.item);
            of_item.entry(place).or_default().push(self.attempt_report(attempt));
        }
        let mut reports = Vec::new();
        let steps = self.workflow.plan.step_ixs().zip(self.machine.steps());
        for (ix, view) in steps {
            let plan = self.workflow.plan.step(ix);
            let base = StepReport {
                step: plan.name.clone(),
                role: plan.role.as_str().to_owned(),
                ..StepReport::default()
            };
            if plan.each.is_none() || view.items().next().is_none() {
                let attempts = of_item.remove(&(ix, ItemIx(0))).unwrap_or_default();
                reports.push(StepReport {
                    status: view.status.as_str().to_owned(),
                    started_ms: view.started.map(Timestamp::millis),
                    ended_ms: view.ended.map(Timestamp::millis),
                    failure: view.failure.filter(|_| attempts.is_empty()).map(failure_report),
                    attempts,
                    ..base
                });
                continue;
            }
            let left_out = self.content.left_out(ix).iter();
            reports.extend(left_out.map(|place| StepReport {
                item: Some(*place),
                status: Status::Skipped.as_str().to_owned(),
                ..base.clone()
            }));
            for (item, item_view) in (0_u32..).zip(view.items()) {
                let attempts = of_item.remove(&(ix, ItemIx(item))).unwrap_or_default();
                reports.push(StepReport {
                    item: Some(self.content.place(ix, ItemIx(item))),
                    status: item_view.status.as_str().to_owned(),
                    started_ms: item_view.started.map(Timestamp::millis),
                    ended_ms: item_view.ended.or(view.ended).map(Timestamp::millis),
                    failure: item_view.failure.filter(|_| attempts.is_empty()).map(failure_report),
                    attempts,
                    ..base.clone()
                });
            }
            // By place in the list, those its condition left out among them.
            let rows = reports.iter().rposition(|row| row.step != plan.name).map_or(0, |at| at + 1);
            reports[rows..].sort_by_key(|row| row.item);
        }
        reports
    }

    fn attempt_report(&self, attempt: &AttemptView<'_>) -> AttemptReport {
        let begun = attempt.sent.unwrap_or(attempt.launched);
        let queued_until = attempt.sent.or(attempt.ended.map(|(at, _)| at));
        AttemptReport {
            n: attempt.spec.n,
            path: self.workflow.plan.path(attempt.spec.path).label.clone(),
            cause: attempt.spec.cause.as_str().to_owned(),
            queued_ms: queued_until.map_or(0, |until| millis(until.since(attempt.launched))),
            started_ms: begun.millis(),
            first_token_ms: attempt.first_token.map(Timestamp::millis),
            ended_ms: attempt.ended.map(|(at, _)| at.millis()),
            end: attempt.ended.map_or("", |(_, end)| end.as_str()).to_owned(),
            failure: attempt.failure.map(failure_report),
            tokens: Tokens { input: attempt.usage.input, output: attempt.usage.output },
            cost_usd: attempt.cost.dollars(),
            content: self.content_report(attempt.spec.attempt),
        }
    }

    /// What an attempt's model saw and said, where that is kept.
    fn content_report(&self, attempt: AttemptId) -> Option<ContentReport> {
        let sent = self.sent.as_ref()?.get(&attempt)?;
        let turn = |message: &Message| TurnReport {
            role: message.speaker.as_str().to_owned(),
            text: message.text.clone(),
        };
        Some(ContentReport {
            system: sent.prompt.system.clone(),
            messages: sent.prompt.messages.iter().map(turn).collect(),
            schema: sent.schema.as_deref().cloned(),
            answer: self.answers.get(&attempt).map(|a| a.text.clone()).unwrap_or_default(),
        })
    }

    fn decision_reports(&self) -> Vec<DecisionReport> {
        let plan = &self.workflow.plan;
        let corrected = self.corrections.iter().filter_map(|(at, attempt, how)| {
            let spec = self.machine.attempt(*attempt)?.spec;
            let step = plan.step(spec.step);
            let label = &plan.path(spec.path).label;
            Some(DecisionReport {
                at_ms: at.millis(),
                step: Some(step.name.clone()),
                item: step.each.map(|_| self.content.place(spec.step, spec.item)),
                action: "correct".to_owned(),
                reason: format!("{label} refused a part of the request; sent again: {how}"),
            })
        });
        let corrected: Vec<DecisionReport> = corrected.collect();
        let mut reports: Vec<DecisionReport> = self
            .decisions
            .iter()
            .map(|decision| DecisionReport {
                at_ms: decision.at.millis(),
                step: decision.step.map(|step| plan.step(step).name.clone()),
                item: decision
                    .item
                    .zip(decision.step)
                    .map(|(item, step)| self.content.place(step, item)),
                action: decision.kind.as_str().to_owned(),
                reason: self.because(decision),
            })
            .chain(corrected)
            .collect();
        reports.sort_by_key(|report| report.at_ms);
        reports
    }

    /// The result, once there is one.
    #[must_use]
    pub fn output(&self) -> Option<&Value> {
        self.output.as_ref()
    }
}

fn failure_report(failure: &Failure) -> FailureReport {
    FailureReport {
        class: failure.class.to_string(),
        step: None,
        message: failure.message.clone(),
        retryable: None,
        retry_after_ms: failure.retry_after.map(millis),
        evidence: Some(failure.evidence.clone()),
    }
}

fn millis(duration: std::time::Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
