//! The providers' doors in virtual time: the same as live, asked by whoever plays.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::domain::failure::Failure;
use crate::domain::provider::Limits;
use crate::policy::door::{Ask, Door, End, Next, View};
use crate::policy::permit::{Guard, Kind, Shortage, Stock, Traffic};
use crate::policy::queue::{Party, Ticket};

/// A place before or behind the door of one provider.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Place {
    pub(super) provider: String,
    pub(super) ticket: Ticket,
}

/// What is to be done for those who wait before one door.
pub(super) enum Call {
    Send(Place),
    TurnAway(Place, Failure),
    /// Nothing now; ask again then, where that was not said before.
    Wait(Option<Duration>),
}

#[derive(Default)]
pub(super) struct Gates {
    doors: BTreeMap<String, Watched>,
    guard: Guard,
}

struct Watched {
    door: Door,
    /// The times at which it will be asked again already: the earliest counts.
    opens: Option<Duration>,
}

impl Gates {
    pub(super) fn add(&mut self, name: &str, limits: Limits) {
        let watched = Watched { door: Door::new(name, limits), opens: None };
        self.doors.insert(name.to_owned(), watched);
    }

    pub(super) fn line_up(&mut self, name: &str, ask: Ask, now: Duration) -> Option<Place> {
        let ticket = self.doors.get_mut(name)?.door.line_up(ask, now);
        Some(Place { provider: name.to_owned(), ticket })
    }

    pub(super) fn next(&mut self, name: &str, now: Duration) -> Call {
        let Some(watched) = self.doors.get_mut(name) else { return Call::Wait(None) };
        let place = |ticket| Place { provider: name.to_owned(), ticket };
        match watched.door.next(now) {
            Next::Send(ticket) => Call::Send(place(ticket)),
            Next::TurnAway(ticket, failure) => Call::TurnAway(place(ticket), failure),
            Next::Wait(at) => {
                let known = watched.opens.filter(|known| *known > now);
                let new = at.filter(|at| known.is_none_or(|known| *at < known));
                watched.opens = new.or(known);
                Call::Wait(new)
            }
        }
    }

    pub(super) fn withdraw(&mut self, place: &Place, party: &Party) {
        if let Some(watched) = self.doors.get_mut(&place.provider) {
            watched.door.withdraw(party, place.ticket);
        }
    }

    pub(super) fn alive(&mut self, place: &Place) {
        if let Some(watched) = self.doors.get_mut(&place.provider) {
            watched.door.alive(place.ticket);
        }
    }

    pub(super) fn leave(&mut self, place: &Place, end: End<'_>, now: Duration) {
        if let Some(watched) = self.doors.get_mut(&place.provider) {
            watched.door.leave(place.ticket, end, now);
        }
    }

    pub(super) fn view(&self, name: &str, model: &str, now: Duration) -> View {
        self.doors.get(name).map(|watched| watched.door.view(model, now)).unwrap_or_default()
    }

    pub(super) fn is_calm(&self) -> bool {
        self.doors.values().all(|watched| watched.door.is_calm())
    }

    /// A first attempt was launched that may turn to these providers.
    pub(super) fn earn(&mut self, names: &[String], now: Duration) {
        if !names.is_empty() {
            self.guard.count(Kind::Primary, now);
        }
        for name in names {
            if let Some(watched) = self.doors.get_mut(name) {
                watched.door.earn(now);
            }
        }
    }

    /// Whether the server's share bears an extra attempt; it counts as launched then.
    pub(super) fn guard(&mut self, now: Duration) -> bool {
        self.guard.take(now)
    }

    /// What a provider has for extra attempts.
    pub(super) fn stock(&mut self, name: &str, now: Duration) -> Stock {
        let door = self.doors.get_mut(name);
        let stock = door.map_or_else(|| Stock::of(0), |watched| watched.door.stock(now));
        if self.guard.admits(now) { stock } else { stock.short_of(Shortage::Share) }
    }

    /// Counts an attempt among those of ten minutes.
    pub(super) fn count(&mut self, name: &str, kind: Kind, now: Duration) {
        if let Some(watched) = self.doors.get_mut(name) {
            watched.door.count(kind, now);
        }
    }

    /// What was counted for each provider in the last ten minutes.
    pub(super) fn traffic(&mut self, now: Duration) -> BTreeMap<String, Traffic> {
        let doors = self.doors.iter_mut();
        doors.map(|(name, watched)| (name.clone(), watched.door.traffic(now))).collect()
    }
}
