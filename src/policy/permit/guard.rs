//! The last guard: of all attempts of a server, whatever their quotas, a share may be extra.

use std::time::Duration;

use super::{Kind, Traffic, Window};
use crate::domain::time::Share;

/// Extra attempts within ten minutes that are never too many: what a small server does feeds nothing back.
const LEAST: u32 = 20;

/// See the module.
#[derive(Clone, Debug)]
pub struct Guard {
    share: Share,
    window: Window,
}

impl Default for Guard {
    fn default() -> Self {
        Self::new(Self::SHARE)
    }
}

impl Guard {
    /// The share where none is written: half as many extra attempts as first ones. A quota's own permits are a tenth; this
    /// bounds what several quotas add up to.
    pub const SHARE: Share = match Share::percent(50) {
        Some(share) => share,
        None => Share::ALL,
    };

    /// The share that allows none at all.
    const NONE: Share = match Share::percent(0) {
        Some(share) => share,
        None => Share::ALL,
    };

    /// A guard that has counted nothing.
    #[must_use]
    pub fn new(share: Share) -> Self {
        Self { share, window: Window::default() }
    }

    /// Holds to another share from now on; what was counted counts on.
    pub fn bound(&mut self, share: Share) {
        self.share = share;
    }

    /// Whether one more extra attempt is within the share.
    pub fn admits(&mut self, now: Duration) -> bool {
        let Traffic { primaries, extras } = self.window.traffic(now);
        let least = if self.share == Self::NONE { 0 } else { LEAST };
        extras < self.share.of_count_down(primaries).max(least)
    }

    /// Counts an extra attempt, if it is within the share.
    pub fn take(&mut self, now: Duration) -> bool {
        let admits = self.admits(now);
        if admits {
            self.count(Kind::Extra, now);
        }
        admits
    }

    /// Counts an attempt.
    pub fn count(&mut self, kind: Kind, now: Duration) {
        self.window.count(kind, now);
    }
}
