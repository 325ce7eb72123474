//! Luck that follows from a seed alone: the same parts draw the same number, in whatever order they are asked.

/// Mixes the parts into one number.
pub fn draw(parts: &[u64]) -> u64 {
    parts.iter().fold(0x51AF_D7ED_558C_CD25, |state, part| {
        // SplitMix64's finalizer.
        let z = (state ^ part).wrapping_add(0x9E37_79B9_7F4A_7C15);
        let z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    })
}

/// From 0 to below `count`.
pub fn below(count: u64, parts: &[u64]) -> u64 {
    draw(parts) % count.max(1)
}

/// Whether something of this chance in a hundred happens.
pub fn percent(chance: u64, parts: &[u64]) -> bool {
    below(100, parts) < chance
}

/// A number between `low` and `high`, each doubling as likely as the next.
pub fn doubling(low: f64, high: f64, parts: &[u64]) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "53 bits are taken")]
    let share = (draw(parts) >> 11) as f64 / (1_u64 << 53) as f64;
    low * (high / low).powf(share)
}
