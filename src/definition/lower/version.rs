//! A workflow's version: a hash over every byte it is made of, after FNV-1a, eight bytes a step. Stable across releases
//! and machines, unlike the standard library's hasher; it names a text, it protects nothing.

/// A running hash.
#[derive(Clone, Copy, Debug)]
pub struct Version(u64);

impl Default for Version {
    /// The offset basis of 64-bit FNV-1a (Fowler, Noll, Vo; draft-eastlake-fnv).
    fn default() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }
}

impl Version {
    /// Takes a text in. Its length is part of it, so that neighbours cannot trade bytes.
    pub fn add(&mut self, bytes: &[u8]) {
        self.step(bytes.len() as u64);
        let (words, rest) = bytes.as_chunks::<8>();
        for word in words {
            self.step(u64::from_le_bytes(*word));
        }
        let mut last = [0; 8];
        last[..rest.len()].copy_from_slice(rest);
        self.step(u64::from_le_bytes(last));
    }

    /// FNV's step, and a fold: its product carries upwards only, and a word's last bytes would stay among themselves.
    fn step(&mut self, word: u64) {
        self.0 = (self.0 ^ word).wrapping_mul(0x0100_0000_01b3);
        self.0 ^= self.0 >> 32;
    }

    /// 16 hex digits.
    #[must_use]
    pub fn hex(self) -> String {
        format!("{:016x}", self.0)
    }
}
