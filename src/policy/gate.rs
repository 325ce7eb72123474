//! A run's budgets: reserved before an attempt is launched, settled when it has ended, losers included.
//!
//! An attempt reserves the most it can cost (prompt estimate plus its answer's bound), so that what is
//! spent never passes a budget as long as the prompt estimate holds. Not a rate limiter: see [`super::rate`].

use serde::{Deserialize, Serialize};

use crate::domain::message::Usage;
use crate::domain::money::{Price, Usd};
use crate::domain::plan::Budget;

/// What one attempt may cost at most.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reservation {
    /// Dollars; zero where the path's price is unknown.
    pub usd: Usd,
    /// Input and output tokens.
    pub tokens: u64,
}

impl Reservation {
    /// For a prompt of `input` tokens and an answer of at most `max_tokens`.
    #[must_use]
    pub fn most(input: u64, max_tokens: u32, price: Option<&Price>) -> Self {
        let output = u64::from(max_tokens);
        let usd = price.map_or(Usd::ZERO, |p| p.charge(input, 0, output));
        Self { usd, tokens: input.saturating_add(output) }
    }
}

/// Which budget refuses, and by how much.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Refusal {
    /// Dollars: needed, and left.
    Usd(Usd, Usd),
    /// Tokens: needed, and left.
    Tokens(u64, u64),
    /// All attempts are used.
    Calls(u32),
}

impl std::fmt::Display for Refusal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Usd(need, left) => write!(f, "it may cost {need}, {left} of the budget is left"),
            Self::Tokens(need, left) => {
                write!(f, "it may take {need} tokens, {left} of the budget are left")
            }
            Self::Calls(calls) => write!(f, "all {calls} calls of the budget are used"),
        }
    }
}

/// Whether an attempt may be launched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Grant {
    /// Reserved.
    Granted,
    /// Not now, but what is in flight may cost less than it has reserved.
    Later(Refusal),
    /// Not in this run.
    Never(Refusal),
}

/// What a run has spent and reserved.
#[derive(Clone, Debug, Default)]
pub struct Ledger {
    budget: Budget,
    spent: Reservation,
    reserved: Reservation,
    calls: u32,
}

impl Ledger {
    /// Nothing spent yet.
    #[must_use]
    pub fn new(budget: Budget) -> Self {
        Self { budget, ..Self::default() }
    }

    /// Reserves `most` and counts one attempt, if every budget covers it.
    pub fn reserve(&mut self, most: Reservation) -> Grant {
        if let Some(refusal) = self.refusal(most, self.reserved) {
            return match self.refusal(most, Reservation::default()) {
                Some(certain) => Grant::Never(certain),
                None => Grant::Later(refusal),
            };
        }
        self.reserved.usd = self.reserved.usd.plus(most.usd);
        self.reserved.tokens = self.reserved.tokens.saturating_add(most.tokens);
        self.calls += 1;
        Grant::Granted
    }

    /// Replaces what an attempt had reserved by what it cost.
    pub fn settle(&mut self, reserved: Reservation, cost: Usd, usage: Usage) {
        self.reserved.usd = self.reserved.usd.minus(reserved.usd);
        self.reserved.tokens = self.reserved.tokens.saturating_sub(reserved.tokens);
        self.spent.usd = self.spent.usd.plus(cost);
        self.spent.tokens =
            self.spent.tokens.saturating_add(usage.input).saturating_add(usage.output);
    }

    /// Gives back what an attempt had reserved that was never sent.
    pub fn release(&mut self, reserved: Reservation) {
        self.settle(reserved, Usd::ZERO, Usage::default());
        self.calls = self.calls.saturating_sub(1);
    }

    /// Dollars and tokens settled so far.
    #[must_use]
    pub fn spent(&self) -> Reservation {
        self.spent
    }

    /// Dollars and tokens that may still be reserved; infinite where there is no bound.
    #[must_use]
    pub fn left(&self) -> (f64, f64) {
        let (spent, reserved) = (self.spent, self.reserved);
        let dollars = self.budget.usd.map(|usd| usd.minus(spent.usd).minus(reserved.usd).dollars());
        let tokens = self.budget.tokens.map(|most| {
            let left = most.saturating_sub(spent.tokens).saturating_sub(reserved.tokens);
            #[expect(clippy::cast_precision_loss, reason = "a budget of tokens")]
            let left = left as f64;
            left
        });
        (dollars.unwrap_or(f64::INFINITY), tokens.unwrap_or(f64::INFINITY))
    }

    fn refusal(&self, most: Reservation, reserved: Reservation) -> Option<Refusal> {
        if let Some(calls) = self.budget.calls.filter(|calls| self.calls >= *calls) {
            return Some(Refusal::Calls(calls));
        }
        if let Some(budget) = self.budget.usd {
            let left = budget.minus(self.spent.usd).minus(reserved.usd);
            if most.usd > left {
                return Some(Refusal::Usd(most.usd, left));
            }
        }
        if let Some(budget) = self.budget.tokens {
            let left = budget.saturating_sub(self.spent.tokens).saturating_sub(reserved.tokens);
            if most.tokens > left {
                return Some(Refusal::Tokens(most.tokens, left));
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tokens(tokens: u64) -> Reservation {
        Reservation { usd: Usd::ZERO, tokens }
    }

    #[test]
    fn what_is_reserved_is_not_spent_twice_and_comes_back_when_settled() {
        let mut ledger = Ledger::new(Budget { tokens: Some(100), ..Budget::default() });
        assert_eq!(ledger.reserve(tokens(60)), Grant::Granted);
        assert_eq!(ledger.reserve(tokens(60)), Grant::Later(Refusal::Tokens(60, 40)));
        ledger.settle(tokens(60), Usd::ZERO, Usage { input: 10, output: 10, ..Usage::default() });
        assert_eq!(ledger.reserve(tokens(60)), Grant::Granted);
        assert_eq!(ledger.reserve(tokens(90)), Grant::Never(Refusal::Tokens(90, 80)));
    }

    #[test]
    fn the_last_call_is_the_last() {
        let mut ledger = Ledger::new(Budget { calls: Some(1), ..Budget::default() });
        assert_eq!(ledger.reserve(tokens(1)), Grant::Granted);
        assert_eq!(ledger.reserve(tokens(1)), Grant::Never(Refusal::Calls(1)));
        ledger.release(tokens(1));
        assert_eq!(ledger.reserve(tokens(1)), Grant::Granted);
    }

    #[test]
    fn an_unknown_price_reserves_tokens_only() {
        assert_eq!(Reservation::most(10, 5, None), tokens(15));
        let price = Price { input: Usd::from_dollars(1.0).unwrap(), ..Price::default() };
        assert_eq!(Reservation::most(1_000_000, 5, Some(&price)).usd, price.input);
    }
}
