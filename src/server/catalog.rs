//! What the server serves: the workflows that loaded, and the files that did not.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use crate::workflow::Workflow;

/// One generation of a folder's workflows. Immutable: a reload publishes another.
#[derive(Clone, Debug, Default)]
pub struct Catalog {
    /// By name, which gives `tools/list` its order.
    pub workflows: BTreeMap<String, Arc<Workflow>>,
    /// Files that are not served as they stand.
    pub quarantined: Vec<Quarantined>,
    /// Increases with every reload.
    pub generation: u64,
}

/// A file with errors.
#[derive(Clone, Debug)]
pub struct Quarantined {
    /// The file.
    pub file: PathBuf,
    /// The tool it would be.
    pub name: String,
    /// What is wrong, each with its place and what to do.
    pub diagnostics: Vec<String>,
    /// Whether its last good version is still served.
    pub serving_previous: bool,
}

/// A workflow's paths are all simulated: every answer is made up.
pub(super) fn simulated(workflow: &Workflow) -> bool {
    let providers = &workflow.plan.providers;
    !providers.is_empty() && providers.iter().all(|p| p.simulated)
}
