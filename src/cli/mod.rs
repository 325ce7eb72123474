//! The commands. Each one parses its arguments, puts the rooms below to work and prints what came of it;
//! nothing here decides anything about a run.

mod argument;
mod calibrate;
mod chance;
mod check;
mod conversation;
mod demo;
mod doctor;

mod dry;
mod exit;
mod explain;
mod explain_code;
mod graph;
mod instant;

mod house;
mod install;
mod list;
mod live;
mod log;
mod measure;
mod mermaid;
mod new;
mod outage;
mod output;
mod place;
mod prior;
mod probe;
mod record;
mod replay;
mod run;
mod runs;
mod scenarios;
mod schema;
mod serve;
mod side;
mod simulate;
mod story;
mod summary;
mod table;
mod terminal;
mod test;
mod timeline;
mod trace;
mod worst;

use std::process::ExitCode;
use std::time::Duration;

use clap::{Parser, Subcommand};

use exit::Exit;
use log::Level;

/// LLM workflows as MCP tools that answer before a deadline.
#[derive(Debug, Parser)]
#[command(name = "punctual", version, max_term_width = 100, after_help = EXAMPLES)]
#[command(
    arg_required_else_help = true,
    subcommand_required = true,
    disable_help_subcommand = true
)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

const EXAMPLES: &str = "\
A workflow is one YAML file in a folder; every MCP client that is connected has it as a tool.

  punctual demo                                    see it work: no key, nothing to set up
  punctual run summarize --set text=@report.txt    run a workflow from the shell
  punctual check                                   every mistake in every file, with its place
  punctual serve                                   what an MCP client starts

'punctual COMMAND --help' has examples for each. Exit codes: 0 delivered or degraded, 1 failed,
2 wrong usage or configuration, 130 interrupted.";

#[derive(Debug, Subcommand)]
enum Command {
    Demo(demo::Demo),
    Serve(serve::Serve),
    New(new::New),
    Run(run::Run),
    Test(test::Test),
    Check(check::Check),
    Explain(explain::Explain),
    Simulate(simulate::Simulate),
    Calibrate(calibrate::Calibrate),
    List(list::List),
    Doctor(doctor::Doctor),
    Install(install::Install),
    Runs(runs::Runs),
    Trace(trace::Trace),
    Replay(replay::Replay),
    Schema(schema::Schema),
}

/// Threads that are still busy when a command has ended get this long.
const LEAVE: Duration = Duration::from_millis(100);

/// The whole program: arguments in, exit code out.
#[must_use]
pub fn main() -> ExitCode {
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(error) => {
            let exit = output::settled(refused(&error), Exit::Failed);
            side::flush();
            return exit.into();
        }
    };
    let runtime = match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => {
            return output::refuse(Exit::Failed, format_args!("cannot start: {error}")).into();
        }
    };
    log::start(arguments.command.log_level());
    let lost = arguments.command.lost();
    let exit = output::settled(runtime.block_on(arguments.command.run()), lost);
    // A thread may still be blocked in reading standard input.
    runtime.shutdown_timeout(LEAVE);
    side::flush();
    exit.into()
}

impl Command {
    async fn run(self) -> Exit {
        match self {
            Self::Demo(demo) => demo.run().await,
            Self::Serve(serve) => serve.run().await,
            Self::New(new) => new.run().await,
            Self::Run(run) => run.run().await,
            Self::Test(test) => test.run(),
            Self::Check(check) => check.run().await,
            Self::Explain(explain) => explain.run().await,
            Self::Simulate(simulate) => simulate.run().await,
            Self::Calibrate(calibrate) => calibrate.run().await,
            Self::List(list) => list.run().await,
            Self::Doctor(doctor) => doctor.run().await,
            Self::Install(install) => install.run().await,
            Self::Runs(runs) => runs.run(),
            Self::Trace(trace) => trace.run(),
            Self::Replay(replay) => replay.run(),
            Self::Schema(schema) => schema.run(),
        }
    }

    /// The code to leave with where the result cannot be printed.
    const fn lost(&self) -> Exit {
        match self {
            // 1 would say that something is wrong with the files, or was decided otherwise.
            Self::Check(_) | Self::Test(_) | Self::Replay(_) => Exit::Usage,
            Self::Demo(_)
            | Self::Serve(_)
            | Self::New(_)
            | Self::Run(_)
            | Self::Explain(_)
            | Self::Simulate(_)
            | Self::Calibrate(_)
            | Self::List(_)
            | Self::Doctor(_)
            | Self::Install(_)
            | Self::Runs(_)
            | Self::Trace(_)
            | Self::Schema(_) => Exit::Failed,
        }
    }

    const fn log_level(&self) -> Level {
        match self {
            Self::Serve(_) => Level::Serving,
            Self::Demo(_)
            | Self::New(_)
            | Self::Run(_)
            | Self::Test(_)
            | Self::Check(_)
            | Self::Explain(_)
            | Self::Simulate(_)
            | Self::Calibrate(_)
            | Self::List(_)
            | Self::Doctor(_)
            | Self::Install(_)
            | Self::Runs(_)
            | Self::Trace(_)
            | Self::Replay(_)
            | Self::Schema(_) => Level::Quiet,
        }
    }
}

/// Help and version are results; everything else is wrong usage.
fn refused(error: &clap::Error) -> Exit {
    use clap::error::ErrorKind;
    let text = error.render();
    let shown = |colour: bool| if colour { text.ansi().to_string() } else { text.to_string() };
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => {
            output::result(shown(output::screen().colour).trim_end());
            Exit::Done
        }
        _ => {
            output::note(shown(output::side_screen().colour).trim_end());
            Exit::Usage
        }
    }
}
