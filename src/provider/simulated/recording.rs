//! Recorded answers: what the simulator says to an input that a case beside its workflow knows. A run is recognized by
//! its validated input as a whole; any other input is answered by shape.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::draw::Ending;
use crate::provider::Draw;
use crate::workflow::case::{Case, Cases, Said, Told, digest};

/// All recorded answers of a simulator, by workflow and input.
#[derive(Clone, Debug, Default)]
pub struct Recordings {
    cases: BTreeMap<String, BTreeMap<u64, Arc<Case>>>,
}

impl Recordings {
    /// What is in store for the inputs of these cases. Where two of a workflow have the same input, the first one
    /// answers.
    #[must_use]
    pub fn of<'a>(all: impl IntoIterator<Item = &'a Cases>) -> Self {
        let mut recordings = Self::default();
        for cases in all {
            for case in &cases.list {
                recordings.add(&cases.workflow, case);
            }
        }
        recordings
    }

    /// What a forecast answers with: of each item the last answer recorded, which is the one that fits, every time it
    /// is asked. How attempts fare is drawn: cases are written to show what happens rarely.
    #[must_use]
    pub fn usual<'a>(all: impl IntoIterator<Item = &'a Cases>) -> Self {
        let mut recordings = Self::default();
        for cases in all {
            for case in &cases.list {
                let mut case = case.clone();
                for attempts in case.answers.iter_mut().flat_map(|answers| &mut answers.items) {
                    let last = attempts.pop().filter(|said| said.told.is_none_or(Told::answers));
                    *attempts = last.map(|said| Said { told: None, ..said }).into_iter().collect();
                }
                recordings.add(&cases.workflow, &case);
            }
        }
        recordings
    }

    /// What is in store for one case alone.
    #[must_use]
    pub fn of_case(workflow: &str, case: &Case) -> Self {
        let mut recordings = Self::default();
        recordings.add(workflow, case);
        recordings
    }

    fn add(&mut self, workflow: &str, case: &Case) {
        let known = self.cases.entry(workflow.to_owned()).or_default();
        known.entry(digest(&case.input)).or_insert_with(|| Arc::new(case.clone()));
    }

    /// What is in store for an attempt.
    #[must_use]
    pub fn find(&self, draw: &Draw) -> Option<&Said> {
        let case = self.cases.get(&draw.workflow)?.get(&draw.input)?;
        case.said(&draw.step_name, draw.place, draw.attempt)
    }
}

impl Told {
    /// The ending it stands for.
    pub(super) const fn ending(self) -> Ending {
        match self {
            Self::Ok | Self::Slow => Ending::Ok,
            Self::Garbage => Ending::Garbage,
            Self::Error => Ending::Error,
            Self::RateLimited => Ending::RateLimited,
            Self::Hang => Ending::Hang,
        }
    }
}
