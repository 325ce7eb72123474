//! A workflow's version: FNV-1a over every byte it is made of. Stable across releases and machines, unlike
//! the standard library's hasher; it names a text, it protects nothing.

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
        let length = (bytes.len() as u64).to_le_bytes();
        for byte in length.iter().chain(bytes) {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }

    /// 16 hex digits.
    #[must_use]
    pub fn hex(self) -> String {
        format!("{:016x}", self.0)
    }
}
