//! Lines that are no JSON: the protocol library passes over them in silence, so they are logged here.

/// Most lines of nonsense that are logged of one connection.
const LOGGED: u32 = 5;

/// Where input stands in a line, as far as it tells lines that cannot be messages.
#[derive(Debug, Default)]
pub(super) struct Lines {
    /// Whether the first byte of the line that is no blank has been seen.
    begun: bool,
    odd: u32,
}

impl Lines {
    /// Logs lines that begin as no JSON-RPC message can. Never what they hold.
    pub(super) fn look(&mut self, bytes: &[u8]) {
        for byte in bytes {
            match byte {
                b'\n' => self.begun = false,
                b' ' | b'\t' | b'\r' => {}
                _ if self.begun => {}
                first => {
                    self.begun = true;
                    if !matches!(first, b'{' | b'[') {
                        self.odd += 1;
                        self.log();
                    }
                }
            }
        }
    }

    fn log(&self) {
        if self.odd <= LOGGED {
            tracing::warn!("a line on standard input is no JSON message, and is ignored");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_that_cannot_be_messages_are_counted_however_they_arrive() {
        let mut lines = Lines::default();
        for part in ["{\"a\": 1}\n", " hel", "lo\n\n", "  [1]\r\n", "x {}\n"] {
            lines.look(part.as_bytes());
        }
        assert_eq!(lines.odd, 2);
    }
}
