//! Money in whole picodollars, so that sums are exact and replay bit for bit.
//!
//! A price of 0.10 USD per million tokens is 100,000 picodollars a token; `u64` holds 18 million dollars.

use std::fmt;

use serde::{Deserialize, Serialize};

/// An amount of US dollars, in picodollars (1e-12 USD).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Usd(u64);

impl Usd {
    /// Nothing.
    pub const ZERO: Self = Self(0);

    /// The amount nearest to `dollars`; `None` where it is negative, not finite or above 18 million.
    #[must_use]
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "the range is checked first"
    )]
    pub fn from_dollars(dollars: f64) -> Option<Self> {
        (dollars.is_finite() && (0.0..=1.844_67e7).contains(&dollars))
            .then(|| Self((dollars * 1e12).round() as u64))
    }

    /// Picodollars.
    #[must_use]
    pub const fn picos(self) -> u64 {
        self.0
    }

    /// Dollars, for reports.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "reports show at most 15 digits")]
    pub fn dollars(self) -> f64 {
        self.0 as f64 / 1e12
    }

    /// The sum, held at the largest amount.
    #[must_use]
    pub const fn plus(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }

    /// The difference, held at zero.
    #[must_use]
    pub const fn minus(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }
}

impl fmt::Display for Usd {
    /// Four significant places for small amounts, cents otherwise: `$0.0031`, `$1.25`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let dollars = self.dollars();
        if self.0 == 0 {
            f.write_str("$0")
        } else if dollars >= 0.1 {
            write!(f, "${dollars:.2}")
        } else if dollars >= 0.0001 {
            write!(f, "${dollars:.4}")
        } else {
            write!(f, "${dollars:.6}")
        }
    }
}

/// What a path charges, per million tokens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Price {
    /// Per million input tokens.
    pub input: Usd,
    /// Per million output tokens.
    pub output: Usd,
    /// Per million input tokens read from the provider's cache; `None` charges them as input.
    pub cached_input: Option<Usd>,
}

impl Price {
    /// The charge for so many tokens; `cached` of the `input` tokens came from the provider's cache.
    #[must_use]
    pub fn charge(&self, input: u64, cached: u64, output: u64) -> Usd {
        let cached = cached.min(input);
        let fresh = u128::from(input - cached) * u128::from(self.input.0);
        let reread = u128::from(cached) * u128::from(self.cached_input.unwrap_or(self.input).0);
        let made = u128::from(output) * u128::from(self.output.0);
        let per_million = fresh.saturating_add(reread).saturating_add(made).div_ceil(1_000_000);
        Usd(u64::try_from(per_million).unwrap_or(u64::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_charge_is_exact_and_rounds_up_to_the_picodollar() {
        let price = Price {
            input: Usd::from_dollars(0.1).unwrap(),
            output: Usd::from_dollars(0.4).unwrap(),
            cached_input: None,
        };
        assert_eq!(price.charge(812, 0, 240).picos(), 812 * 100_000 + 240 * 400_000);
        assert_eq!(price.charge(u64::MAX, 0, u64::MAX).picos(), u64::MAX);
    }

    #[test]
    fn amounts_show_the_digits_that_matter() {
        let shown: Vec<String> = [0.0, 0.0031, 1.254, 0.000_012]
            .map(|d| Usd::from_dollars(d).unwrap().to_string())
            .into();
        assert_eq!(shown, ["$0", "$0.0031", "$1.25", "$0.000012"]);
        assert_eq!(Usd::from_dollars(-1.0), None);
        assert_eq!(Usd::from_dollars(f64::NAN), None);
    }
}
