//! `punctual install`: the entry in a client's configuration that makes it start the server.

pub(crate) mod client;
mod edit;
mod entry;
pub(crate) mod environment;
mod file;
mod json;
mod program;
mod style;
#[cfg(test)]
mod tests;
mod toml;

use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;

use super::exit::Exit;
use super::house::House;
use super::output;
use super::place::{Place, Simulated, shown};
use super::summary::count;
use crate::definition::catalog::NO_FOLDER;
use crate::domain::time::show;
use client::{Client, Format, Passing};
use edit::{Change, Merged, Problem};
use entry::Launch;
use environment::{ClientFound, Environment};
use file::Original;

/// The entry's name where none is given.
pub(crate) const NAME: &str = "punctual";
/// Longest name of an entry: Cursor bounds it and a tool's name, which has 48 at most, to 60 together.
const NAME_MAX: usize = 12;
/// After which a call is answered with its run id.
const HAND_OVER: Duration = Duration::from_secs(55);

const ABOUT: &str = "\
Puts punctual into a client's configuration

The entry names this program and the folder by their absolute paths. Everything else in the file
stays byte for byte as it is, comments included; a file that is broken is left alone. Running it
again brings the entry up to date, or changes nothing and says so. Where bytes of an existing entry
go away, the former file is kept beside it as FILE.bak.";

const EXAMPLES: &str = "\
Examples:
  punctual install claude-desktop               the folder that is served from here
  punctual install cursor --dir ~/flows         another folder
  punctual install claude-code --project        for this project only, in its .mcp.json
  punctual install codex --print                what to add by hand, and where
  punctual install vscode --env OPENAI_API_KEY  has one more variable passed on
  punctual install claude-desktop --uninstall   takes the entry out again

No key is ever written: the entry refers to variables by name, those of punctual.yaml and of --env,
in the form the client knows. Claude Desktop knows none: name key files in punctual.yaml instead, as
in api_key: {file: /path/to/key}.

Exit codes: 0 the entry is as wanted, 2 wrong usage, or a file that cannot be read or written.";

/// Puts punctual into a client's configuration
#[derive(Args, Debug)]
#[command(long_about = ABOUT, after_help = EXAMPLES)]
pub struct Install {
    /// The client
    #[arg(value_enum, value_name = "CLIENT")]
    client: Client,
    /// Shows what belongs into the file, and which file that is, and writes nothing
    #[arg(long)]
    print: bool,
    /// Takes the entry out
    #[arg(long, conflicts_with_all = ["print", "env", "dir", "config"])]
    uninstall: bool,
    /// Writes the configuration of the project in the current folder, not yours
    #[arg(long)]
    project: bool,
    /// The entry's name, where several folders are served
    #[arg(long, value_name = "NAME", default_value = NAME, value_parser = entry_name)]
    name: String,
    /// A variable that must reach the server, beside the keys of punctual.yaml; may be repeated
    #[arg(long, value_name = "KEY", value_parser = variable)]
    env: Vec<String>,
    #[command(flatten)]
    place: Place,
}

impl Install {
    /// Runs the command.
    pub async fn run(self) -> Exit {
        match self.done().await {
            Ok(()) => Exit::Done,
            Err(why) => output::refuse(Exit::Usage, why),
        }
    }

    async fn done(self) -> Result<(), String> {
        let environment = Environment::of_process();
        let path = self.file(&environment)?;
        if self.uninstall {
            return self.take_out(&path);
        }
        if let Some(config) = &self.place.config
            && !config.is_file()
        {
            return Err(format!("--config {}: there is no such file", shown(config)));
        }
        let house = House::open(&self.place, &Simulated::default()).await;
        let missing = house.catalog.diagnostics.iter().find(|found| found.code == NO_FOLDER);
        if let Some(missing) = missing {
            return Err(format!("{}: make it, or name another with --dir", missing.message));
        }
        let launch = self.launch(&house)?;
        // Writing makes the folder that the client is known by.
        let found = environment::found(&environment, &self.name);
        if self.print {
            self.show(&path, &launch)?;
        } else {
            self.put_in(&path, &launch, &house)?;
        }
        if !self.project {
            self.told_found(&found);
        }
        self.warn(&path, &launch, &house);
        Ok(())
    }

    /// The file that the entry belongs into.
    fn file(&self, environment: &Environment) -> Result<PathBuf, String> {
        let title = self.client.title();
        if !self.project {
            let none =
                || format!("where {title} keeps its configuration is unknown: HOME is not set");
            return self.client.file(environment).ok_or_else(none);
        }
        let Some(file) = self.client.project_file() else {
            return Err(format!("{title} has no configuration by project: leave --project out"));
        };
        let here = std::env::current_dir();
        here.map(|here| here.join(file)).map_err(|error| format!("the current folder: {error}"))
    }

    fn launch(&self, house: &House) -> Result<Launch, String> {
        let mut args = vec!["serve".to_owned()];
        let folder = house.folder.path().map(|path| ("--dir", path));
        let config = self.place.config.as_deref().map(|path| ("--config", path));
        for (option, path) in folder.into_iter().chain(config) {
            args.extend([option.to_owned(), program::text(&program::absolute(path)?)?]);
        }
        let command = program::text(&program::path()?)?;
        let mut keys = program::keys(&house.catalog);
        keys.extend(self.env.iter().filter(|key| !keys.contains(key)).cloned().collect::<Vec<_>>());
        Ok(Launch { name: self.name.clone(), command, args, keys })
    }

    fn show(&self, path: &Path, launch: &Launch) -> Result<(), String> {
        let snippet = launch.snippet(self.client).map_err(|problem| problem.what)?;
        output::note(format_args!("# belongs into {}", shown(path)));
        output::result(snippet.trim_end());
        Ok(())
    }

    fn put_in(&self, path: &Path, launch: &Launch, house: &House) -> Result<(), String> {
        let client = self.client;
        let (change, kept) = merge(path, |text| {
            program::ours(client, text, launch)?;
            launch.put(client, text)
        })?;
        let (name, file) = (&self.name, shown(path));
        let title = client.title();
        output::result(match change {
            Change::Added => format!("{title}: '{name}' is added to {file}"),
            Change::Updated | Change::Removed => format!("{title}: '{name}' is updated in {file}"),
            Change::Nothing => {
                format!("{title}: '{name}' stands in {file} already; nothing changed")
            }
        });
        let workflows = count(house.catalog.workflows.len(), "workflow");
        output::result(format_args!("  serves {} ({workflows})", folder_shown(house)));
        output::result(format_args!("  starts {} {}", launch.command, launch.args.join(" ")));
        told_kept(kept.as_deref());
        if change != Change::Nothing {
            output::result(client.restart());
        }
        Ok(())
    }

    fn take_out(&self, path: &Path) -> Result<(), String> {
        let client = self.client;
        let launch = Launch::named(&self.name, program::text(&program::path()?)?);
        let (change, kept) = merge(path, |text| {
            program::ours(client, text, &launch)?;
            launch.take(client, text)
        })?;
        let (name, file, title) = (&self.name, shown(path), client.title());
        if change == Change::Nothing {
            output::result(format_args!(
                "{title}: there is no '{name}' in {file}; nothing changed"
            ));
            return Ok(());
        }
        output::result(format_args!("{title}: '{name}' is taken out of {file}"));
        told_kept(kept.as_deref());
        output::result(client.restart());
        Ok(())
    }

    /// That the client is not on this machine, and which ones are that have no entry yet.
    fn told_found(&self, found: &[ClientFound]) {
        if found.iter().any(|one| one.client == self.client) {
            return;
        }
        let free = found.iter().filter(|one| one.configured.is_none() && one.unreadable.is_none());
        let free: Vec<&str> = free.map(|one| one.client.word()).collect();
        let others = match free.as_slice() {
            [] => String::new(),
            free => format!("; there are: {}", free.join(", ")),
        };
        output::note(format_args!("note: {} was not found here{others}", self.client.title()));
    }

    /// What a person must know for the entry to work.
    fn warn(&self, path: &Path, launch: &Launch, house: &House) {
        let title = self.client.title();
        if let Some(advice) = program::fleeting(&launch.command) {
            output::note(format_args!("warning: {advice}"));
        }
        if house.folder.is_builtin() {
            output::note(
                "note: no folder of workflows was found: the built-in examples are served until \
                 ~/.config/punctual holds some; or name a folder with --dir",
            );
        }
        if let Some(keys) = self.passed_on(path, launch, house) {
            output::note(keys);
        }
        let Format::Json { comments: false, .. } = self.client.format() else {
            return self.warn_of_deadlines(house);
        };
        if let Ok(original) = Original::read(path)
            && original.exists()
            && let Some(problem) = json::not_strict(original.text())
        {
            let place = problem.place(original.text());
            output::note(format_args!(
                "warning: {}{place}: {}; {title} reads JSON without comments and trailing commas",
                shown(path),
                problem.what
            ));
        }
        self.warn_of_deadlines(house);
    }

    /// How keys reach the server, or that they do not.
    fn passed_on(&self, path: &Path, launch: &Launch, house: &House) -> Option<String> {
        let title = self.client.title();
        let keys = launch.keys.join(", ");
        if keys.is_empty() {
            return None;
        }
        Some(match self.client.passing() {
            Passing::Never => {
                let text = Original::read(path).ok()?;
                let there = json::variables(text.text(), "mcpServers", &self.name);
                let missing: Vec<&String> =
                    launch.keys.iter().filter(|key| !there.contains(key)).collect();
                let first = missing.first()?;
                let folder = if house.folder.is_builtin() {
                    "~/.config/punctual".to_owned()
                } else {
                    folder_shown(house)
                };
                let names = missing.iter().map(|key| key.as_str()).collect::<Vec<_>>().join(", ");
                format!(
                    "warning: {title} passes no variables on, and expands none: {names} will not reach the \
                     server.\n  Put each key into a file that only you can read, and name it in \
                     {folder}/punctual.yaml:\n    api_key: {{file: /path/to/{first}}}"
                )
            }
            Passing::Reference(_) | Passing::Names => format!(
                "note: {title} passes on {keys} from the environment it is started in; no value is written"
            ),
            Passing::Input => {
                format!("note: {title} asks once for {keys} and keeps it; no value is written")
            }
        })
    }

    /// Workflows whose calls are handed over before they end.
    fn warn_of_deadlines(&self, house: &House) {
        let workflows = house.catalog.workflows.values();
        let long = workflows.filter(|one| one.exposed && one.plan.deadline > HAND_OVER);
        let long: Vec<_> = long.map(|one| (&one.name, one.plan.deadline)).collect();
        let Some(longest) = long.iter().map(|(_, deadline)| *deadline).max() else { return };
        let names: Vec<String> =
            long.iter().map(|(name, deadline)| format!("{name} ({})", show(*deadline))).collect();
        let title = self.client.title();
        let why = match self.client.patience() {
            Some(patience) if longest > patience => {
                format!("warning: {title} may hang up after {}", show(patience))
            }
            Some(_) | None => "note: not every client waits that long".to_owned(),
        };
        output::note(format_args!(
            "{why}: a call of {} that still runs after {} is answered with its run id, and get_run fetches \
             the result",
            names.join(", "),
            show(HAND_OVER)
        ));
    }
}

/// Reads the file, merges, and writes what has changed.
fn merge(
    path: &Path,
    how: impl FnOnce(&str) -> Result<Merged, Problem>,
) -> Result<(Change, Option<PathBuf>), String> {
    let original =
        Original::read(path).map_err(|why| format!("cannot read {}: {why}", shown(path)))?;
    let merged = how(original.text()).map_err(|problem| {
        let place = problem.place(original.text());
        format!("{}{place}: {}; the file is left as it is", shown(path), problem.what)
    })?;
    let kept = match merged.change {
        Change::Nothing => None,
        Change::Added | Change::Updated | Change::Removed => {
            let keep = !edit::keeps_all(original.text(), &merged.text);
            let kept = original.replace(&merged.text, keep);
            kept.map_err(|why| format!("cannot write {}: {why}", shown(path)))?
        }
    };
    Ok((merged.change, kept))
}

fn told_kept(kept: Option<&Path>) {
    if let Some(kept) = kept {
        output::result(format_args!("  before {}", shown(kept)));
    }
}

/// The folder that the entry names.
fn folder_shown(house: &House) -> String {
    let path = house.folder.path().and_then(|path| program::absolute(path).ok());
    path.map_or_else(|| house.folder_shown(), |path| shown(&path))
}

fn entry_name(text: &str) -> Result<String, String> {
    let good = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-');
    if text.is_empty() || text.len() > NAME_MAX || !text.bytes().all(good) {
        return Err(format!("use letters, digits, _ and -, at most {NAME_MAX}"));
    }
    Ok(text.to_owned())
}

fn variable(text: &str) -> Result<String, String> {
    if text.contains('=') {
        return Err("give the name alone: no value is ever written into a client's file".to_owned());
    }
    let good = |b: u8| b.is_ascii_alphanumeric() || b == b'_';
    let starts = text.bytes().next().is_some_and(|b| !b.is_ascii_digit());
    if !starts || !text.bytes().all(good) {
        return Err("a variable's name has letters, digits and _".to_owned());
    }
    Ok(text.to_owned())
}
