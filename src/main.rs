//! The `punctual` command.
#![forbid(unsafe_code)]

use std::process::ExitCode;

fn main() -> ExitCode {
    punctual::cli::main()
}
