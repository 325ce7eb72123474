//! Logs: to standard error, without colour, without prompts and answers. They never hold the program up.

use std::io;

use tracing_subscriber::EnvFilter;

use super::terminal::tame;
use super::{output, side};
use crate::server::LOG_CEILING;

/// Variables that say what is logged; the first that is set counts.
const VARIABLES: [&str; 2] = ["PUNCTUAL_LOG", "RUST_LOG"];

/// What is logged where nobody says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// Warnings and errors: for commands with a person before them.
    Quiet,
    /// What the server does, too.
    Serving,
}

/// Begins to log. Once a process.
pub fn start(level: Level) {
    let usual = match level {
        // The run itself tells the person that a provider is out.
        Level::Quiet => "warn,punctual::out=off",
        Level::Serving => "warn,punctual=info",
    };
    let named = VARIABLES.iter().find_map(|name| {
        let value = std::env::var(name).ok()?;
        (!value.trim().is_empty()).then_some((*name, value))
    });
    let wanted = named.as_ref().map_or(usual, |(_, value)| value);
    let filter = EnvFilter::try_new(held(wanted)).unwrap_or_else(|error| {
        if let Some((name, _)) = named {
            output::note(format_args!("warning: {name} is no log filter ({error}); it is ignored"));
        }
        EnvFilter::new(held(usual))
    });
    let subscriber = tracing_subscriber::fmt()
        .with_writer(|| Lines)
        .with_ansi(false)
        .with_env_filter(filter)
        .finish();
    // Only a second start fails, and then the first one's logs go on.
    let _ = tracing::subscriber::set_global_default(subscriber);
    // The usual one writes to standard error itself, and would wait for a reader.
    std::panic::set_hook(Box::new(|panic| {
        side::log(tame(&format!("{panic}\n"), false).as_bytes());
    }));
}

/// Takes what is logged, one event a write.
struct Lines;

impl io::Write for Lines {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        side::log(tame(&String::from_utf8_lossy(line), false).as_bytes());
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The filter without what would let prompts and answers through.
fn held(wanted: &str) -> String {
    let kept = wanted.split(',').map(str::trim).filter(|d| !d.is_empty() && !d.starts_with("rmcp"));
    kept.chain([LOG_CEILING]).collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_protocol_library_cannot_be_made_to_log_whole_messages() {
        assert_eq!(
            held("debug, rmcp::service=trace,punctual=info"),
            "debug,punctual=info,rmcp=warn"
        );
        assert_eq!(held(""), "rmcp=warn");
    }
}
