//! What joins an attempt that stays in flight.

use super::{Choice, View, ready_at};
use crate::domain::id::PathIx;
use crate::domain::outcome::Cause;
use crate::policy::cutoff::Signal;
use crate::policy::fallback::Told;

impl View<'_> {
    /// Beside an attempt that was cut: another path, or, where none is open, fresh luck on the same one. Not
    /// where tokens flowed (the same work would take as long again), nor where the second attempt would only
    /// slow the first. A path that is closed now is used when it opens. A provider that says nothing is given nothing more
    /// while another lacks but a permit, nor is the same path while as much is in flight as may be: what is in flight is
    /// given up for another path in the end, not for more of the same.
    pub(super) fn beside(&self, signal: Signal) -> Option<Choice> {
        if signal == Signal::NoFirstToken && self.permit_is_all() {
            return self.away(Cause::Hedge, Told::Resume, |path| !self.crowded(path));
        }
        let elsewhere = self.away(Cause::Hedge, Told::Resume, |_| true);
        let crowded = self.policy.hedge.races() && self.plan.provider_of(self.path).own_capacity;
        let again = match signal {
            Signal::NoFirstToken | Signal::Stalled if !crowded => {
                self.best([self.path].into_iter())
            }
            Signal::NoFirstToken | Signal::Stalled | Signal::TooSlow | Signal::Sluggish => None,
        };
        let again = again.map(|p| self.choice(self.model, p, Cause::Hedge, Told::Nothing));
        if self.room == 0 { elsewhere.or(again) } else { self.sooner(elsewhere, again) }
    }

    /// Whether a path of a quota that nothing is in flight on could be used now, had it a permit.
    fn permit_is_all(&self) -> bool {
        let (now, pause) = (self.now, self.policy.swap_delay);
        let opens = |p: PathIx| ready_at(self.open_at, self.line_for, p, self.end_at, now);
        let short = |p: PathIx| self.short.get(p.at()).copied().unwrap_or(false);
        self.models().any(|model| {
            let others = self.elsewhere(model).filter(|p| !self.crowded(*p) && self.may_swap);
            let mut fit = others.filter(|p| !self.unfit.contains(p));
            fit.any(|p| short(p) && opens(p) <= now + pause)
        })
    }

    /// Whether something of this item is in flight on the path's quota: another quota's luck is another.
    pub(super) fn crowded(&self, path: PathIx) -> bool {
        let provider = |path: PathIx| self.plan.path(path).provider;
        self.in_flight.iter().any(|other| provider(*other) == provider(path))
    }
}
