//! A simulated run in virtual time: over as soon as it is computed.

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;

use super::house::{House, recordings};
use crate::domain::id::RunId;
use crate::domain::time::Timestamp;
use crate::driver::{Refusal, clock, fitting};
use crate::run::Run;
use crate::trace::report::RunReport;
use crate::workflow::Workflow;
use crate::world::World;

/// Plays one run of `workflow` and returns its report.
///
/// # Errors
/// An input that does not fit.
pub fn play(
    house: &House,
    workflow: &Arc<Workflow>,
    input: Value,
    deadline: Option<Duration>,
    seed: u64,
) -> Result<RunReport, Refusal> {
    let input = fitting(workflow, input)?;
    let bound = workflow.plan.deadline;
    let deadline = deadline.map_or(bound, |own| own.clamp(Duration::from_millis(100), bound));
    let id = RunId::new(getrandom::u64().unwrap_or(seed));
    let recordings = recordings(&house.catalog);
    let mut world = World::of(&house.catalog.configuration.providers, &recordings)
        .map_err(|error| Refusal::InvalidInput(error.to_string()))?;
    world.arrive(Run::new(id, workflow.clone(), input, deadline, seed), Timestamp::ZERO);
    let started_at = clock::wall_time();
    let ended = world.play();
    let report = ended.first().map(|ended| ended.run.report(&started_at, ended.at));
    Ok(report.unwrap_or_default())
}
