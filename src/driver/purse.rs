//! What all runs of a UTC day may spend together: held before an attempt is sent, settled when it has ended, so that
//! runs under way cannot pass it together.
//!
//! An attempt holds the most it can cost, as in its run's own budget. Where a price is unknown it holds nothing.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use super::clock;
use super::host::FULL_RETRY;
use crate::domain::failure::{Failure, FailureClass};
use crate::domain::id::AttemptId;
use crate::domain::money::Usd;

/// The day's money of one server process.
pub(super) struct Day(Mutex<Books>);

/// What was spent, and what may yet be.
#[derive(Debug)]
struct Books {
    most: Option<Usd>,
    /// The UTC day that `spent` is of.
    day: String,
    spent: Usd,
    /// By attempts in flight.
    held: Usd,
}

/// Why nothing more may be spent now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct NoMoney {
    /// What a person should read.
    pub(super) message: String,
    /// Whether what is in flight may leave enough; else it takes another day.
    soon: bool,
}

impl NoMoney {
    /// When to come back.
    pub(super) fn retry_after(&self) -> Duration {
        if self.soon { FULL_RETRY } else { clock::until_tomorrow() }
    }

    /// As an attempt's failure.
    pub(super) fn failure(&self) -> Failure {
        let failure = Failure::of_attempt(FailureClass::Budget, "usd_per_day", &self.message);
        Failure { retry_after: Some(self.retry_after()), ..failure }
    }
}

impl Books {
    /// Begins a new day where one has begun. What is in flight counts on.
    fn turn(&mut self, today: String) {
        if self.day != today {
            (self.day, self.spent) = (today, Usd::ZERO);
        }
    }

    /// Whether another run may begin.
    fn admit(&self) -> Result<(), NoMoney> {
        let Some(most) = self.most else { return Ok(()) };
        if self.spent >= most {
            let message = format!("today's budget of {most} is spent; it opens at 00:00 UTC");
            return Err(NoMoney { message, soon: false });
        }
        if self.spent.plus(self.held) >= most {
            let message = format!(
                "today's budget of {most} is taken: {} is spent, {} is held by runs under way; what they leave is \
                 free when they end",
                self.spent, self.held
            );
            return Err(NoMoney { message, soon: true });
        }
        Ok(())
    }

    /// Holds what an attempt may cost.
    fn hold(&mut self, cost: Usd) -> Result<(), NoMoney> {
        if let Some(most) = self.most {
            let unspent = most.minus(self.spent);
            let left = unspent.minus(self.held);
            if cost > left {
                let soon = cost <= unspent;
                let held = match self.held {
                    Usd::ZERO => String::new(),
                    held => format!(" beside {held} held by attempts in flight"),
                };
                let free = if soon { "some may be free soon" } else { "it opens at 00:00 UTC" };
                let message = format!(
                    "the server's budget of {most} for today does not cover another attempt: it may cost {cost}, \
                     {left} is left{held}; {free}"
                );
                return Err(NoMoney { message, soon });
            }
        }
        self.held = self.held.plus(cost);
        Ok(())
    }

    fn settle(&mut self, held: Usd, cost: Usd) {
        self.held = self.held.minus(held);
        self.spent = self.spent.plus(cost);
    }
}

impl Day {
    /// Today, of which `spent` dollars are gone.
    pub(super) fn new(most: Option<Usd>, day: String, spent: f64) -> Self {
        let spent = Usd::from_dollars(spent).unwrap_or_default();
        Self(Mutex::new(Books { most, day, spent, held: Usd::ZERO }))
    }

    /// Bounds what is held from now on.
    pub(super) fn bound(&self, most: Option<Usd>) {
        self.today(|books| books.most = most);
    }

    /// Whether another run may begin.
    pub(super) fn admit(&self) -> Result<(), NoMoney> {
        self.today(|books| books.admit())
    }

    fn today<T>(&self, look: impl FnOnce(&mut Books) -> T) -> T {
        // Nothing between the lock and its release can panic half-way through a change.
        let mut books = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        books.turn(clock::utc_day());
        look(&mut books)
    }
}

/// What one run holds of the day's money. What is not settled when it is dropped counts as spent.
pub(super) struct Purse {
    day: Arc<Day>,
    held: HashMap<AttemptId, Usd>,
}

impl Purse {
    pub(super) fn new(day: Arc<Day>) -> Self {
        Self { day, held: HashMap::new() }
    }

    /// Holds what an attempt may cost.
    pub(super) fn hold(&mut self, attempt: AttemptId, cost: Usd) -> Result<(), NoMoney> {
        self.day.today(|books| books.hold(cost))?;
        self.held.insert(attempt, cost);
        Ok(())
    }

    /// Settles the attempts that `cost` knows the cost of: those that have ended.
    pub(super) fn settle(&mut self, cost: impl Fn(AttemptId) -> Option<Usd>) {
        let day = &self.day;
        self.held.retain(|attempt, held| match cost(*attempt) {
            Some(cost) => {
                day.today(|books| books.settle(*held, cost));
                false
            }
            None => true,
        });
    }
}

impl Drop for Purse {
    fn drop(&mut self) {
        for held in self.held.values() {
            self.day.today(|books| books.settle(*held, *held));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn usd(dollars: f64) -> Usd {
        Usd::from_dollars(dollars).unwrap()
    }

    fn books(most: f64) -> Books {
        let day = "2026-11-30".to_owned();
        Books { most: Some(usd(most)), day, spent: Usd::ZERO, held: Usd::ZERO }
    }

    #[test]
    fn what_is_held_is_not_held_twice_and_what_is_left_of_it_is_free_again() {
        let mut books = books(1.0);
        assert_eq!(books.hold(usd(0.6)), Ok(()));
        let refused = books.hold(usd(0.6)).unwrap_err();
        assert!(refused.soon);
        assert_eq!(
            refused.message,
            "the server's budget of $1.00 for today does not cover another attempt: it may cost $0.60, $0.40 is left \
             beside $0.60 held by attempts in flight; some may be free soon"
        );
        books.settle(usd(0.6), usd(0.1));
        assert_eq!(books.hold(usd(0.6)), Ok(()));
        books.settle(usd(0.6), usd(0.6));
        let refused = books.hold(usd(0.6)).unwrap_err();
        assert!(!refused.soon && refused.message.ends_with("it opens at 00:00 UTC"), "{refused:?}");
    }

    #[test]
    fn a_new_day_begins_with_nothing_spent_and_what_is_in_flight_held() {
        let mut books = books(1.0);
        books.hold(usd(0.7)).unwrap();
        books.settle(usd(0.0), usd(1.0));
        assert!(!books.admit().unwrap_err().soon);
        books.turn("2026-12-01".to_owned());
        assert_eq!(books.admit(), Ok(()));
        assert!(books.hold(usd(0.4)).unwrap_err().soon);
        books.hold(usd(0.3)).unwrap();
        let refused = books.admit().unwrap_err();
        assert!(refused.soon && refused.message.contains("$1.00 is held by runs under way"));
    }

    #[test]
    fn without_a_bound_everything_is_held_and_settled() {
        let mut books = Books { most: None, ..books(0.0) };
        books.hold(usd(500.0)).unwrap();
        books.settle(usd(500.0), usd(400.0));
        assert_eq!((books.held, books.spent), (Usd::ZERO, usd(400.0)));
    }

    #[test]
    fn a_purse_that_is_dropped_has_spent_what_it_held() {
        let day = Arc::new(Day::new(Some(usd(1.0)), clock::utc_day(), 0.25));
        let mut purse = Purse::new(day.clone());
        purse.hold(AttemptId(0), usd(0.25)).unwrap();
        purse.hold(AttemptId(1), usd(0.5)).unwrap();
        assert!(purse.hold(AttemptId(2), usd(0.1)).is_err());
        purse.settle(|attempt| (attempt == AttemptId(0)).then_some(usd(0.125)));
        drop(purse);
        assert_eq!(day.today(|books| (books.spent, books.held)), (usd(0.875), Usd::ZERO));
    }
}
