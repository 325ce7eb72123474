//! A simulated run in virtual time: over as soon as it is computed.

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;

use super::house::{House, recordings};
use super::output;
use crate::domain::id::RunId;
use crate::domain::time::Timestamp;
use crate::driver::{Refusal, clock, fitting};
use crate::run::Run;
use crate::store::RunStore;
use crate::trace::report::RunReport;
use crate::workflow::Workflow;
use crate::workflow::case::StepAnswers;
use crate::world::World;

/// A run that is over.
pub struct Instant {
    /// Its report.
    pub report: RunReport,
    /// Its input, and what its models have said.
    pub recorded: (Value, Vec<StepAnswers>),
}

/// Plays one run of `workflow`, and keeps it in `store`; its report shows what models were sent and said where that is
/// to be kept.
///
/// # Errors
/// An input that does not fit.
pub fn play(
    house: &House,
    workflow: &Arc<Workflow>,
    input: Value,
    deadline: Option<Duration>,
    seed: u64,
    keep_content: bool,
    store: Option<&RunStore>,
) -> Result<Instant, Refusal> {
    let input = fitting(workflow, input)?;
    let bound = workflow.plan.deadline;
    let deadline = deadline.map_or(bound, |own| own.clamp(Duration::from_millis(100), bound));
    let id = RunId::new(getrandom::u64().unwrap_or(seed));
    let recordings = recordings(&house.catalog);
    let mut world = World::of(&house.catalog.configuration.providers, &recordings)
        .map_err(|error| Refusal::InvalidInput(error.to_string()))?;
    let mut run = Run::new(id, workflow.clone(), input, deadline, seed);
    if keep_content {
        run.keep_content();
    }
    if store.is_some() {
        run.keep_journal();
    }
    world.arrive(run, Timestamp::ZERO);
    let started_at = clock::wall_time();
    let ended = world.play();
    let instant = ended.first().map(|ended| Instant {
        report: ended.run.report(&started_at, ended.at),
        recorded: (ended.run.input().clone(), ended.run.recorded()),
    });
    if let (Some(store), Some(ended), Some(instant)) = (store, ended.first(), &instant) {
        let kept = store.append(&instant.report);
        let journal = |known: &dyn Fn(&str) -> bool| ended.run.record(known);
        if let Err(error) = kept.and_then(|()| store.journals().keep(journal)) {
            output::note(format_args!("warning: the run could not be kept: {error}"));
        }
    }
    Ok(instant.unwrap_or_else(|| Instant {
        report: RunReport::default(),
        recorded: (Value::Null, Vec::new()),
    }))
}
