//! What an attempt that has ended has shown of its path.

use super::Machine;
use super::state::AttemptState;
use crate::domain::failure::FailureClass;
use crate::domain::id::{AttemptId, PathIx, StepIx};
use crate::domain::outcome::AttemptEnd;
use crate::latency::observation::{End, Observation};

/// What is expected of an answer of which nothing is known, as a share of its bound: bounds are set well above what is
/// usual.
const EXPECTED_SHARE: f64 = 0.5;

impl Machine {
    /// What an attempt of the run `run` has shown, once it has ended. `None` before, and where it was never sent.
    #[must_use]
    pub fn observation(&self, attempt: AttemptId, run: u64) -> Option<Observation> {
        let state = self.attempts.get(attempt.at())?;
        let (ended, end) = state.ended?;
        let sent = state.sent?;
        let path = self.plan.path(state.spec.path);
        let step = format!("{}/{}", self.plan.workflow, self.plan.step(state.spec.step).name);
        let counted = if state.usage.estimated { 0 } else { state.usage.output };
        Some(Observation {
            provider: self.plan.provider_of(state.spec.path).name.as_str().into(),
            path: path.label.as_str().into(),
            step: step.into(),
            run,
            prompt_tokens: state.prompt_tokens,
            expected_tokens: self.expected(state.spec.step, state.spec.path, state.spec.max_tokens),
            first_token: state.first_token.map(|at| at.since(sent)),
            tokens: state.emitted.max(counted),
            lasted: ended.since(sent),
            stream: state.flow.stream.points().to_vec(),
            end: how(state, end),
        })
    }

    /// Tokens to expect of an answer, at the median: as the pilot has it, else a share of its bound.
    pub(super) fn expected(&self, step: StepIx, path: PathIx, max_tokens: u32) -> f64 {
        let times = self.pilot.as_ref().and_then(|pilot| pilot.times(step, path));
        let tokens = times.map(|times| times.tokens).filter(|t| t.is_finite() && *t > 0.0);
        tokens.unwrap_or_else(|| (f64::from(max_tokens) * EXPECTED_SHARE).max(1.0))
    }
}

fn how(state: &AttemptState, end: AttemptEnd) -> End {
    use FailureClass as F;
    let failure = state.failure.as_ref().map(|failure| failure.class);
    match (end, failure) {
        (AttemptEnd::Accepted, _) => End::Answered { valid: true },
        (
            AttemptEnd::Failed,
            Some(
                F::EmptyOutput
                | F::TruncatedOutput
                | F::UnparseableOutput
                | F::SchemaViolation
                | F::CheckFailed,
            ),
        ) => End::Answered { valid: false },
        (AttemptEnd::Failed, Some(class)) => End::Failed(class),
        (AttemptEnd::Failed, None)
        | (AttemptEnd::Cut | AttemptEnd::Superseded | AttemptEnd::Cancelled, _) => End::Closed,
    }
}
