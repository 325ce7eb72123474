//! Small ids. Indices point into a [`Plan`](super::plan::Plan)'s tables and never outlive it.

use std::fmt;

use serde::{Deserialize, Serialize};

macro_rules! index {
    ($(#[$doc:meta])* $name:ident, $inner:ty) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        pub struct $name(pub $inner);

        impl $name {
            /// The position in the table this index points into.
            #[must_use]
            pub fn at(self) -> usize {
                self.0 as usize
            }
        }
    };
}

index!(
    /// A step's place in [`Plan::steps`](super::plan::Plan::steps), which is in topological order.
    StepIx,
    u16
);
index!(
    /// An item's place in a fan-out's list, in input order. Steps without `each` have the one item 0.
    ItemIx,
    u32
);
index!(
    /// A path's place in [`Plan::paths`](super::plan::Plan::paths).
    PathIx,
    u16
);
index!(
    /// A logical model's place in [`Plan::models`](super::plan::Plan::models).
    ModelIx,
    u16
);
index!(
    /// A provider's place in [`Plan::providers`](super::plan::Plan::providers).
    ProviderIx,
    u16
);
index!(
    /// An attempt, numbered from 0 in launch order within its run.
    AttemptId,
    u32
);

/// A run's public name, `run_` and 16 lower-case hex digits; unguessable enough to be handed to a client.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RunId(String);

impl RunId {
    /// Makes an id from 64 bits the caller has drawn.
    #[must_use]
    pub fn new(bits: u64) -> Self {
        Self(format!("run_{bits:016x}"))
    }

    /// The bits it was made of.
    #[must_use]
    pub fn number(&self) -> u64 {
        self.0.get("run_".len()..).and_then(|hex| u64::from_str_radix(hex, 16).ok()).unwrap_or(0)
    }

    /// Reads an id as clients send it back. `None` where it is not of the form that [`RunId::new`] makes.
    ///
    /// ```
    /// use punctual::domain::id::RunId;
    /// assert_eq!(RunId::parse("run_00000000000000ff"), Some(RunId::new(255)));
    /// assert_eq!(RunId::parse("run_../../etc"), None);
    /// ```
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let hex = text.strip_prefix("run_")?;
        let plain = hex.len() == 16 && hex.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
        plain.then(|| Self(text.to_owned()))
    }

    /// The id as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for RunId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
