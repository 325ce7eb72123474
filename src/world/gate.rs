//! The providers' gates in virtual time, with those who wait before them in line.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use crate::domain::provider::Limits;
use crate::policy::permit::{Kind, Traffic, Window};
use crate::policy::rate::{Gate, Pass};

/// A place in line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Ticket(u64);

#[derive(Default)]
pub(super) struct Gates {
    gates: BTreeMap<String, Line>,
    tickets: u64,
}

struct Line {
    gate: Gate,
    window: Window,
    waiting: VecDeque<(Ticket, u64)>,
    opens: Option<Duration>,
}

impl Gates {
    pub(super) fn add(&mut self, name: &str, limits: Limits) {
        let (window, waiting) = (Window::default(), VecDeque::new());
        let line = Line { gate: Gate::new(limits), window, waiting, opens: None };
        self.gates.insert(name.to_owned(), line);
    }

    pub(super) fn queue(&mut self, name: &str, tokens: u64) -> Ticket {
        self.tickets += 1;
        let ticket = Ticket(self.tickets);
        if let Some(line) = self.gates.get_mut(name) {
            line.waiting.push_back((ticket, tokens));
        }
        ticket
    }

    /// Lets the first in line through, if the gate is open.
    pub(super) fn pass(&mut self, name: &str, now: Duration) -> Option<Ticket> {
        let line = self.gates.get_mut(name)?;
        let (ticket, tokens) = *line.waiting.front()?;
        match line.gate.enter(now, tokens) {
            Pass::Open => {
                line.waiting.pop_front();
                Some(ticket)
            }
            Pass::Slot => None,
            Pass::Until(at) => {
                line.opens = Some(at);
                None
            }
        }
    }

    /// When to ask again, where the last answer was a time: said once.
    pub(super) fn opens_at(&mut self, name: &str) -> Option<Duration> {
        self.gates.get_mut(name)?.opens.take()
    }

    /// Counts an attempt among those of ten minutes.
    pub(super) fn count(&mut self, name: &str, kind: Kind, now: Duration) {
        if let Some(line) = self.gates.get_mut(name) {
            line.window.count(kind, now);
        }
    }

    /// What was counted for each provider in the last ten minutes.
    pub(super) fn traffic(&mut self, now: Duration) -> BTreeMap<String, Traffic> {
        let lines = self.gates.iter_mut();
        lines.map(|(name, line)| (name.clone(), line.window.traffic(now))).collect()
    }

    pub(super) fn leave(&mut self, name: &str) {
        if let Some(line) = self.gates.get_mut(name) {
            line.gate.leave();
        }
    }
}
