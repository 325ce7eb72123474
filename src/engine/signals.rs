//! What all runs know, as one run is told.

use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::policy::health::Why;
use crate::policy::permit::{Stock, Traffic};

/// Shared facts the machine may look at, as they were when the event was recorded.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Signals {
    /// Per path of the plan: how long it is known to be closed for everyone; [`Duration::MAX`] where it is out for
    /// good. Shorter than the plan's paths: the rest is open.
    pub closed_for: Vec<Duration>,
    /// Per path that is closed: why.
    #[serde(with = "crate::policy::health::shared")]
    pub why: Vec<Option<Arc<Why>>>,
    /// Per path: how long at least nobody is let through who lines up now. Shorter: the rest has no line.
    pub line_for: Vec<Duration>,
    /// Per path of the plan: what its quota has been sent in ten minutes, all runs together. Shorter: the rest
    /// has been sent nothing.
    pub traffic: Vec<Traffic>,
    /// Per path of the plan: what its quota has for extra attempts. Shorter: nobody counts the rest.
    pub permits: Vec<Stock>,
    /// Per path of the plan: its window in tokens, prompt and answer together, as refusals of earlier runs have told
    /// it. Shorter: nothing was learned of the rest.
    pub windows: Vec<Option<u64>>,
}
