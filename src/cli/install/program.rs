//! What the entry starts: this program, by a path that lasts, on a folder, with the keys that it needs.

use std::path::{Component, Path, PathBuf};

use super::client::{Client, Format};
use super::edit::Problem;
use super::entry::Launch;
use super::{json, toml};
use crate::definition::catalog::Catalog;
use crate::definition::config::KEY_NOT_SET;
use crate::domain::provider::{Dialect, SecretRef};

/// This program: as it is found on `PATH` where that is the very same, because packages' own folders carry their
/// version in their name; else where it is.
///
/// # Errors
/// The system does not say where it is.
pub fn path() -> Result<PathBuf, String> {
    let own = std::env::current_exe()
        .map_err(|error| format!("where this program is cannot be found out: {error}"))?;
    let paths = std::env::var_os("PATH").unwrap_or_default();
    Ok(on_path(&own, std::env::split_paths(&paths)).unwrap_or(own))
}

/// The absolute path by which a folder of `paths` has the program `own`.
pub fn on_path(own: &Path, paths: impl Iterator<Item = PathBuf>) -> Option<PathBuf> {
    let real = own.canonicalize().ok()?;
    let name = own.file_name()?;
    paths
        .filter(|folder| folder.is_absolute())
        .map(|folder| folder.join(name))
        .find(|candidate| candidate.canonicalize().is_ok_and(|path| path == real))
}

/// A path that holds from every folder. One with `..` in it is resolved; symbolic links stay, because they may be
/// meant to change.
///
/// # Errors
/// There is no current folder.
pub fn absolute(path: &Path) -> Result<PathBuf, String> {
    let up = path.components().any(|part| part == Component::ParentDir);
    let resolved = if up { path.canonicalize() } else { std::path::absolute(path) };
    let clean = resolved.map(|path| path.components().collect());
    clean.map_err(|error| format!("{}: {error}", path.display()))
}

/// A path as a client's file can hold it.
///
/// # Errors
/// It is not Unicode.
pub fn text(path: &Path) -> Result<String, String> {
    let text = path.to_str().map(str::to_owned);
    text.ok_or_else(|| format!("{} is not Unicode: a client's file cannot name it", path.display()))
}

/// Why the program may be gone tomorrow.
pub fn fleeting(command: &str) -> Option<String> {
    let parts: Vec<&str> = command.split(['/', '\\']).collect();
    let built = parts.windows(2).any(|two| matches!(two, ["target", "debug" | "release"]));
    built.then(|| {
        format!(
            "{command} lies in a folder of build results: 'cargo install --path .' puts the program where \
             it stays, then run this again from there"
        )
    })
}

/// The variables that providers' keys and headers are in, set or not, in the order of the configuration.
pub fn keys(catalog: &Catalog) -> Vec<String> {
    let mut keys: Vec<String> = Vec::new();
    let mut take = |name: &str| {
        if !keys.iter().any(|key| key == name) {
            keys.push(name.to_owned());
        }
    };
    for provider in &catalog.configuration.providers {
        for secret in provider.secrets() {
            match secret {
                SecretRef::Env(name) => take(name),
                SecretRef::File(_) => {}
            }
        }
        if let Dialect::Bedrock(bedrock) = &provider.dialect {
            bedrock.region_variable.iter().for_each(|name| take(name));
        }
    }
    // Providers whose key is not set here are left out of the configuration; the client may have it.
    for found in catalog.diagnostics.iter().filter(|found| found.code == KEY_NOT_SET) {
        let name =
            found.message.strip_suffix(" is not set").and_then(|said| said.rsplit(' ').next());
        name.into_iter().for_each(&mut take);
    }
    keys
}

/// An entry of our name must be ours before it is changed.
///
/// # Errors
/// It starts another program.
pub fn ours(client: Client, text: &str, launch: &Launch) -> Result<(), Problem> {
    let found = match client.format() {
        Format::Json { servers, .. } => json::command(text, servers, &launch.name)?,
        Format::Toml => toml::command(text, &launch.name)?,
    };
    let Some((at, command)) = found else { return Ok(()) };
    let stem = |path: &str| {
        let file = path.rsplit(['/', '\\']).next().unwrap_or(path).to_lowercase();
        file.strip_suffix(".exe").map_or(file.clone(), str::to_owned)
    };
    let theirs = stem(&command);
    if theirs.contains(super::NAME) || theirs == stem(&launch.command) {
        return Ok(());
    }
    let program = if command.is_empty() { "no program" } else { command.as_str() };
    let name = &launch.name;
    Err(Problem::at(
        at,
        format!("there is a '{name}' that starts {program}: choose another --name"),
    ))
}
