//! MCP clients on this machine: whether they know punctual, and which program they would start.

use std::path::{Path, PathBuf};

use super::super::install::NAME;
use super::super::install::environment::{ClientFound, Environment, found};
use super::super::place::shown;
use super::Finding;
use super::machine::same;

/// Every client that is there.
pub fn findings() -> Vec<Finding> {
    let environment = Environment::of_process();
    if environment.home().is_none() {
        return vec![Finding::note(
            "HOME is not set: clients were not looked for",
            "set it, or name the client's file yourself: 'punctual install CLIENT --print' shows what belongs into it",
        )];
    }
    let own = std::env::current_exe().ok();
    let found: Vec<Finding> =
        found(&environment, NAME).iter().map(|client| finding(client, own.as_deref())).collect();
    if found.is_empty() {
        return vec![Finding::note(
            "none found: no Claude Desktop, Claude Code, Cursor, VS Code or Codex",
            "any MCP client works: it starts 'punctual serve'",
        )];
    }
    found
}

fn finding(found: &ClientFound, own: Option<&Path>) -> Finding {
    let (title, word) = (found.client.title(), found.client.word());
    let file = shown(&found.path);
    if let Some(why) = &found.unreadable {
        return Finding::broken(
            format!("{title}: {file}: {why}"),
            "mend the file: the client may ignore all of it",
        );
    }
    let Some(command) = &found.configured else {
        return Finding::note(
            format!("{title}: is here and does not know punctual"),
            format!("'punctual install {word}' connects it ({file})"),
        );
    };
    let again = format!("'punctual install {word}' has it start this program");
    match started(command) {
        None => {
            Finding::broken(format!("{title}: would start {command}, which is not there"), again)
        }
        Some(program) if own.is_some_and(|own| same(&program, own)) => {
            Finding::good(format!("{title}: starts this program ({file})"))
        }
        Some(program) => {
            Finding::note(format!("{title}: starts another program: {}", shown(&program)), again)
        }
    }
}

/// The program that a client's command means, where it is there.
fn started(command: &str) -> Option<PathBuf> {
    let program = Path::new(command);
    if program.components().count() > 1 {
        return program.is_file().then(|| program.to_owned());
    }
    let paths = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&paths).map(|folder| folder.join(program)).find(|path| path.is_file())
}
