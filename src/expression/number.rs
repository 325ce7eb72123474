//! Numbers as JSON writes them, reckoned exactly where 28 digits suffice.
//!
//! `0.1 + 0.2` is `0.3`. A value that a decimal cannot hold (beyond 7.9e28, or finer than 1e-28) is reckoned
//! as a 64-bit float instead, and what exceeds even that stays at its largest value: arithmetic is total.
use std::cmp::Ordering;

use rust_decimal::prelude::FromStr;
use rust_decimal::{Decimal, RoundingStrategy};
use serde_json::Value;

/// A number.
#[derive(Clone, Copy, Debug)]
pub enum Number {
    /// Exact.
    Exact(Decimal),
    /// Finite, and beyond what a decimal holds.
    Float(f64),
}

impl Number {
    /// The value of a JSON number, by its shortest text.
    pub fn from_json(number: &serde_json::Number) -> Self {
        if let Some(whole) = number.as_i64() {
            return Self::Exact(Decimal::from(whole));
        }
        Self::from_text(&number.to_string())
            .unwrap_or_else(|| Self::float(number.as_f64().unwrap_or_default()))
    }

    /// The value of a JSON number's text; `None` where it is no number or not finite.
    pub fn from_text(text: &str) -> Option<Self> {
        let exact = if text.contains(['e', 'E']) {
            Decimal::from_scientific(text)
        } else {
            Decimal::from_str_exact(text)
        };
        if let Ok(exact) = exact {
            return Some(Self::Exact(exact));
        }
        f64::from_str(text).ok().filter(|f| f.is_finite()).map(Self::Float)
    }

    /// As JSON: whole numbers without a point, all others as the nearest float's shortest text.
    pub fn to_json(self) -> Value {
        if let Self::Exact(exact) = self {
            let exact = exact.normalize();
            if exact.scale() == 0 {
                let whole = exact.mantissa();
                if let Ok(whole) = i64::try_from(whole) {
                    return Value::from(whole);
                }
                if let Ok(whole) = u64::try_from(whole) {
                    return Value::from(whole);
                }
            }
        }
        Value::from(self.as_float())
    }

    /// The sum.
    pub fn add(self, other: Self) -> Self {
        self.reckon(other, Decimal::checked_add, |a, b| a + b)
    }

    /// The difference.
    pub fn subtract(self, other: Self) -> Self {
        self.reckon(other, Decimal::checked_sub, |a, b| a - b)
    }

    /// The product.
    pub fn multiply(self, other: Self) -> Self {
        self.reckon(other, Decimal::checked_mul, |a, b| a * b)
    }

    /// The quotient, to 28 digits; `None` where `other` is zero.
    pub fn divide(self, other: Self) -> Option<Self> {
        if other.is_zero() {
            return None;
        }
        Some(self.reckon(other, Decimal::checked_div, |a, b| a / b))
    }

    /// With the sign turned.
    pub fn negate(self) -> Self {
        match self {
            Self::Exact(exact) => Self::Exact(-exact),
            Self::Float(float) => Self::Float(-float),
        }
    }

    /// To `digits` after the point, halves away from zero.
    pub fn round(self, digits: u32) -> Self {
        match self {
            Self::Exact(exact) => Self::Exact(
                exact
                    .round_dp_with_strategy(digits.min(28), RoundingStrategy::MidpointAwayFromZero),
            ),
            // Beyond a decimal lie only whole numbers and what rounds to nothing.
            Self::Float(float) if float.abs() < 1.0 => Self::Exact(Decimal::ZERO),
            Self::Float(_) => self,
        }
    }

    /// The order of two numbers by value.
    pub fn compare(self, other: Self) -> Ordering {
        match (self, other) {
            (Self::Exact(a), Self::Exact(b)) => a.cmp(&b),
            _ => self.as_float().total_cmp(&other.as_float()),
        }
    }

    /// The whole number it is, where it is one of 64 bits.
    pub fn as_integer(self) -> Option<i64> {
        match self {
            Self::Exact(exact) => {
                let exact = exact.normalize();
                (exact.scale() == 0).then(|| i64::try_from(exact.mantissa()).ok()).flatten()
            }
            Self::Float(_) => None,
        }
    }

    fn is_zero(self) -> bool {
        match self {
            Self::Exact(exact) => exact.is_zero(),
            Self::Float(float) => float == 0.0,
        }
    }

    fn as_float(self) -> f64 {
        match self {
            // By text, because it is rounded once only.
            Self::Exact(exact) => f64::from_str(&exact.to_string()).unwrap_or_default(),
            Self::Float(float) => float,
        }
    }

    fn float(float: f64) -> Self {
        Self::Float(if float.is_nan() { 0.0 } else { float.clamp(f64::MIN, f64::MAX) })
    }

    fn reckon(
        self,
        other: Self,
        exact: fn(Decimal, Decimal) -> Option<Decimal>,
        float: fn(f64, f64) -> f64,
    ) -> Self {
        if let (Self::Exact(a), Self::Exact(b)) = (self, other)
            && let Some(result) = exact(a, b)
        {
            return Self::Exact(result);
        }
        Self::float(float(self.as_float(), other.as_float()))
    }
}
