//! What the process tells whoever started it.

use std::process::ExitCode;

/// Why the process ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// Delivered or degraded; nothing wrong.
    Done,
    /// A run failed, or a check found errors.
    Failed,
    /// Wrong arguments or configuration: nothing was done.
    Usage,
    /// A signal of this number ended it.
    Signal(u8),
}

/// Ctrl-C.
pub const INTERRUPTED: Exit = Exit::Signal(2);

impl Exit {
    /// The number: 0, 1, 2, or 128 and the signal's.
    #[must_use]
    pub const fn code(self) -> u8 {
        match self {
            Self::Done => 0,
            Self::Failed => 1,
            Self::Usage => 2,
            Self::Signal(number) => 128_u8.saturating_add(number),
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit.code())
    }
}
