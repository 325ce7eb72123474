//! What a reaction knows of times.

use std::time::Duration;

use crate::domain::id::{ModelIx, PathIx};

/// What is measured of the paths, for this step; nothing by default.
#[derive(Clone, Copy, Debug, Default)]
pub struct Known<'a> {
    /// Per path: whether its provider is sick in this run. Shorter: the rest is well.
    pub suspect: &'a [bool],
    /// Per path: the median of its complete answers. Shorter: nothing is known of the rest.
    pub usual: &'a [Option<Duration>],
    /// Time left for this step, when what follows it is taken off.
    pub left: Option<Duration>,
    /// The step's own model: where one that has gone on with another may come back to.
    pub home: Option<ModelIx>,
}

impl Known<'_> {
    /// Whether the path's provider is sick in this run.
    #[must_use]
    pub fn suspects(&self, path: PathIx) -> bool {
        self.suspect.get(path.at()).copied().unwrap_or(false)
    }

    /// Whether an answer usually comes in time; also where nothing is known.
    #[must_use]
    pub fn fits(&self, path: PathIx) -> bool {
        let usual = self.usual.get(path.at()).copied().flatten();
        self.left.zip(usual).is_none_or(|(left, usual)| usual <= left)
    }
}
