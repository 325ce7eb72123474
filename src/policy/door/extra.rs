//! Extra attempts before a door: what there is for them, and who has paid.

use std::time::Duration;

use super::{Ask, Door, refusal};
use crate::domain::failure::Failure;
use crate::policy::permit::{Claim, Kind, RECHECK, Shortage, Stock, Traffic};
use crate::policy::queue::Ticket;

impl Door {
    /// Counts an attempt among those of ten minutes.
    pub fn count(&mut self, kind: Kind, now: Duration) {
        self.window.count(kind, now);
    }

    /// What was counted in the last ten minutes.
    pub fn traffic(&mut self, now: Duration) -> Traffic {
        self.window.traffic(now)
    }

    /// A first attempt was launched that may turn here.
    pub fn earn(&mut self, now: Duration) {
        self.bucket.earn(now);
    }

    /// What there is for extra attempts.
    pub fn stock(&mut self, now: Duration) -> Stock {
        let stock = Stock::of(self.bucket.permits(now));
        let suspended = self.bucket.suspended_for(now);
        let rests = self.health.rests_until(now).saturating_sub(now);
        let throttled = suspended.max(rests);
        let full = self.gate.slots(now).is_some_and(|most| self.gate.in_flight() >= most);
        let (shortage, wait) = if !throttled.is_zero() {
            (Shortage::Throttled, throttled)
        } else if full || !self.line.is_empty() || !self.gate.waits_for(now, 1).is_zero() {
            (Shortage::Line, self.gate.waits_for(now, 1).max(RECHECK))
        } else if self.gate.is_low(now) {
            (Shortage::Low, RECHECK)
        } else {
            return stock;
        };
        Stock { shortage: Some(shortage), wait, ..stock }
    }

    /// Takes the permit of who lines up; why it cannot be had.
    pub(super) fn charge(&mut self, ask: &Ask, ticket: Ticket, now: Duration) -> Option<Failure> {
        let paid = match ask.claim {
            Claim::Earns | Claim::Nothing => return None,
            Claim::Takes => self.bucket.take_some(now),
            Claim::Needs => {
                let stock = self.stock(now);
                let paid = stock.permit().ok().and_then(|_| self.bucket.take(now));
                match paid {
                    Some(paid) => paid,
                    None => return Some(refusal::no_permit(&self.name, &stock)),
                }
            }
        };
        self.paid.insert(ticket, paid);
        None
    }

    /// It is not sent after all.
    pub(super) fn refund(&mut self, ticket: Ticket) {
        if let Some(paid) = self.paid.remove(&ticket) {
            self.bucket.give_back(paid);
        }
    }

    /// The quota has refused something: extra attempts that wait for their turn are turned away as well.
    pub(super) fn refused(&mut self, now: Duration) {
        self.bucket.refused(now);
        let extra = self.line.sweep(|ask| ask.claim == Claim::Needs);
        if extra.is_empty() {
            return;
        }
        let stock = self.stock(now);
        let failure = refusal::no_permit(&self.name, &stock);
        for (ticket, _) in extra {
            self.refund(ticket);
            self.turned.push_back((ticket, failure.clone()));
        }
    }
}

#[cfg(test)]
mod tests;
