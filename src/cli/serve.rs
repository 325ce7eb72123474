//! `punctual serve`: the MCP server that a client starts.

use std::convert::Infallible;
use std::io::IsTerminal;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use tokio::sync::watch;
use tokio::task::spawn_blocking;
use tokio::time::sleep;

use super::exit::Exit;
use super::house::{House, is_simulated, lanes, prepared};
use super::output;
use super::place::{Place, Simulated, Speed, State};
use super::summary::count;
use crate::definition::catalog::Catalog;
use crate::definition::environment::Environment;
use crate::definition::folder::Folder;
use crate::definition::watch::Watch;
use crate::driver::Host;
use crate::driver::clock::Clock;
use crate::provider::mark::mark;
use crate::server::{ServeEnd, ServerOptions, serve_stdio};

const ABOUT: &str = "\
Serves the workflows as MCP tools on standard input and output

Each workflow is a tool that answers before its deadline. Beside them stand list_workflows,
run_workflow, get_run and cancel_run, for clients that never look at a changed list of tools.";

/// While a provider is out, its key is read again this often.
const LOOK_EVERY: Duration = Duration::from_secs(2);

const EXAMPLES: &str = "\
A client starts this command by itself. Its configuration names the program and its arguments; for
Claude Desktop, Cursor and others it is

  {\"mcpServers\": {\"punctual\": {
    \"command\": \"punctual\", \"args\": [\"serve\", \"--dir\", \"/path/to/folder\"]}}}

and for Claude Code: claude mcp add punctual -- punctual serve --dir /path/to/folder

Standard output is the protocol; logs go to standard error (PUNCTUAL_LOG=debug shows more). A file
that is added, changed or removed in the folder is live within a second. A file with errors is
quarantined: its last good version keeps serving, and list_workflows says what is wrong.

Exit codes: 0 the client closed standard input, 1 it is no MCP client or the connection broke off,
2 wrong usage or configuration. Ctrl-C, SIGTERM and SIGHUP end it with 130, 143 and 129, once calls
in flight had their time to end.";

/// Serves the workflows as MCP tools on standard input and output
///
/// Each workflow is a tool that answers before its deadline.
#[derive(Args, Debug)]
#[command(long_about = ABOUT, after_help = EXAMPLES)]
pub struct Serve {
    /// Offers the workflows alone.
    #[arg(long, help = "Offers the workflows alone, without the four tools beside them")]
    no_fixed_tools: bool,
    /// Keeps what models are sent and say with each run, for 'punctual trace RUN --content'
    #[arg(long)]
    keep_content: bool,
    /// Serves the built-in examples, whatever the current folder holds
    #[arg(long, hide = true, conflicts_with_all = ["dir", "config"])]
    builtin: bool,
    #[command(flatten)]
    place: Place,
    #[command(flatten)]
    simulated: Simulated,
    #[command(flatten)]
    state: State,
}

impl Serve {
    /// Runs the command.
    pub async fn run(self) -> Exit {
        if self.simulated.speed == Some(Speed::Virtual) {
            let why = "a server lives in real time: --speed takes a number from 0.01 to 1000 here";
            return output::refuse(Exit::Usage, why);
        }
        if let Err(exit) = self.place.there() {
            return exit;
        }
        let environment = Environment::of_process();
        let folder = if self.builtin {
            Folder::builtin()
        } else {
            Folder::resolve(self.place.dir.as_deref(), Path::new("."), &environment)
        };
        let (folder, environment) =
            prepared(folder, &self.place, &self.simulated, environment).await;
        let watch = Watch::start(folder.clone(), environment);
        let house = House { folder, catalog: watch.current() };
        let (host, wrong) = match house.host(&self.simulated, &self.state) {
            Ok(host) => host,
            Err(error) => return output::refuse(Exit::Usage, error),
        };
        for error in &wrong {
            tracing::error!("{error}");
        }
        announce(&house);
        let (sender, receiver) = watch::channel(house.catalog.clone());
        let (fixed_tools, content) = (!self.no_fixed_tools, self.keep_content);
        let options = ServerOptions { fixed_tools, content, ..ServerOptions::default() };
        let clock = Clock::sped_up(self.simulated.speed());
        let relay = relay(watch.receiver(), &host, sender, clock);
        let end = tokio::select! {
            end = serve_stdio(host.clone(), receiver, options) => end,
            never = relay => match never {},
        };
        match end {
            Ok(ServeEnd::InputClosed | ServeEnd::Stopped) => Exit::Done,
            Ok(ServeEnd::Signal(number)) => Exit::Signal(u8::try_from(number).unwrap_or(1)),
            Err(error) => output::refuse(Exit::Failed, error),
        }
    }
}

/// Says what is served, in the log.
fn announce(house: &House) {
    let served = count(house.catalog.workflows.len(), "workflow");
    tracing::info!(
        "serving {served} · folder: {} · configuration: {}",
        house.folder_shown(),
        house.origin_shown()
    );
    complain(&house.catalog, None);
    if house.simulated() && house.folder.simulation().is_none() {
        tracing::warn!("no model is configured: every answer is SIMULATED; see 'punctual doctor'");
    }
    if std::io::stdin().is_terminal() {
        output::note(
            "'serve' speaks MCP on standard input and output and is meant to be started by a client; \
             Ctrl-C ends it. To try a workflow from here: 'punctual run NAME', or 'punctual demo'.",
        );
    }
}

/// Logs the errors of a catalog that the one before it did not have.
fn complain(catalog: &Catalog, before: Option<&Catalog>) {
    let known = |found| before.is_some_and(|before| before.diagnostics.contains(found));
    for found in catalog.diagnostics.iter().filter(|found| found.is_error() && !known(found)) {
        tracing::warn!("{found}");
    }
}

/// What tells each provider's settings and key from others.
async fn marks(catalog: &Arc<Catalog>) -> Vec<u64> {
    let catalog = catalog.clone();
    let look = move || catalog.configuration.providers.iter().map(mark).collect();
    // Without an answer nothing has changed: that is looked at again soon.
    spawn_blocking(look).await.unwrap_or_default()
}

/// Passes each new catalog on to the server, once the host can run what is in it.
async fn relay(
    mut catalogs: watch::Receiver<Arc<Catalog>>,
    host: &Arc<Host>,
    server: watch::Sender<Arc<Catalog>>,
    clock: Clock,
) -> Infallible {
    let mut last = server.borrow().clone();
    let mut keys = marks(&last).await;
    loop {
        let changed = tokio::select! {
            changed = catalogs.changed() => match changed {
                Ok(()) => true,
                Err(_) => break,
            },
            () = sleep(LOOK_EVERY) => false,
        };
        // A key is read again where one was refused, and with every reload.
        if !changed && host.out().is_empty() {
            continue;
        }
        let catalog = catalogs.borrow_and_update().clone();
        let (old, new) = (&last.configuration, &catalog.configuration);
        let before = std::mem::replace(&mut keys, marks(&catalog).await);
        // The same providers keep their connections and the counts of their minute.
        let answers = !last.same_cases(&catalog) && new.providers.iter().any(is_simulated);
        let others = old.providers != new.providers || keys != before;
        if others || old.limits != new.limits || answers {
            let (lanes, wrong) = lanes(&catalog, clock);
            for error in wrong {
                tracing::error!("{error}");
            }
            host.reconfigure(lanes, new.limits);
        }
        if !changed {
            continue;
        }
        complain(&catalog, Some(&last));
        let workflows = count(catalog.workflows.len(), "workflow");
        tracing::info!(generation = catalog.generation, "reloaded: {workflows}");
        server.send_replace(catalog.clone());
        last = catalog;
    }
    std::future::pending().await
}
