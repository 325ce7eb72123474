//! Draws keyed by what they are for, so that policies share their luck: `SplitMix64` over (seed, call, attempt, field).

/// What a draw is for.
#[derive(Clone, Copy)]
pub enum Field {
    Arrivals = 1,
    Call,
    Size,
    SizeToo,
    Slow,
    SlowSize,
    SlowSizeToo,
    Resubmit,
    Backoff,
    Admit,
}

/// A key of keys.
#[must_use]
pub fn key(of: u64, with: u64) -> u64 {
    let mut z = of ^ with.wrapping_mul(0x9E37_79B9_7F4A_7C15).wrapping_add(0x9E37_79B9_7F4A_7C15);
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

/// From 0, below 1.
#[must_use]
#[expect(clippy::cast_precision_loss, reason = "53 bits are all a double holds")]
pub fn uniform(of: u64, attempt: u64, field: Field) -> f64 {
    (key(key(of, attempt), field as u64) >> 11) as f64 / (1_u64 << 53) as f64
}

/// Of mean 0 and deviation 1, by Box and Muller.
#[must_use]
pub fn normal(of: u64, attempt: u64, fields: [Field; 2]) -> f64 {
    let [a, b] = fields.map(|field| uniform(of, attempt, field));
    (-2.0 * (1.0 - a).ln()).sqrt() * (std::f64::consts::TAU * b).cos()
}

/// How many arrive where `mean` are expected: Knuth's product of uniform draws.
#[must_use]
pub fn poisson(of: u64, mean: f64) -> u64 {
    let least = (-mean).exp();
    let mut product = 1.0;
    for count in 0..64 {
        product *= uniform(of, count, Field::Arrivals);
        if product < least {
            return count;
        }
    }
    64
}
