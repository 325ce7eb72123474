//! Numbers from outside, held to what they can be.

/// A chance: 0 to 1; 0 where it is no number.
pub(super) const fn chance(p: f64) -> f64 {
    if p.is_finite() { p.clamp(0.0, 1.0) } else { 0.0 }
}

/// A price or an amount: at least 0; 0 where it is no number.
pub(super) const fn amount(of: f64) -> f64 {
    if of.is_finite() && of > 0.0 { of } else { 0.0 }
}

/// In single precision.
#[expect(clippy::cast_possible_truncation, reason = "kept in single precision")]
pub(super) const fn narrow(number: f64) -> f32 {
    number as f32
}
