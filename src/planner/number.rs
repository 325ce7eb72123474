//! The wire form of a number that may be none: JSON has no infinity, and a percentile that was never reached has no other
//! value.

use serde::{Deserialize, Deserializer, Serializer};

/// A number as it is written.
#[derive(Deserialize)]
#[serde(untagged)]
enum Written {
    Number(f64),
    Word(String),
}

/// Writes numbers as numbers, and the rest as words: `inf`, `-inf`, `NaN`.
///
/// # Errors
/// The writer's own.
pub fn serialize<S: Serializer>(number: &f64, to: S) -> Result<S::Ok, S::Error> {
    if number.is_finite() { to.serialize_f64(*number) } else { to.collect_str(number) }
}

/// Reads them back.
///
/// # Errors
/// The reader's own, and a word that is no number.
pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<f64, D::Error> {
    match Written::deserialize(from)? {
        Written::Number(number) => Ok(number),
        Written::Word(word) => word.parse().map_err(serde::de::Error::custom),
    }
}
