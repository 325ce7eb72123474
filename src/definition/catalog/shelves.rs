//! Which folders of a place hold workflows, and which of their files are some.

use std::path::{Path, PathBuf};

use crate::definition::builtin;
use crate::definition::config::{Configuration, Origin};
use crate::definition::folder::{Folder, WORKFLOWS};
use crate::definition::shelf::Shelf;

/// The folders, in the order of the configuration.
pub fn shelves(folder: &Folder, configuration: &Configuration) -> Vec<Shelf> {
    let Some(base) = folder.path() else { return vec![Shelf::Builtin(builtin::FILES)] };
    let file = match &configuration.origin {
        Origin::File(file) => file.parent().filter(|p| !p.as_os_str().is_empty()),
        Origin::Found(_) | Origin::Simulated => None,
    };
    let root = file.unwrap_or(base);
    let usual = configuration.workflows == [PathBuf::from(WORKFLOWS)];
    if usual && !base.join(WORKFLOWS).is_dir() && holds_workflows(base) {
        // A folder of nothing but workflows is served as it is.
        return vec![Shelf::Disk { root: base.to_owned(), label: String::new() }];
    }
    let root = if usual { base } else { root };
    let named = configuration.workflows.iter().map(|named| {
        let path = if named == Path::new(".") { root.to_owned() } else { root.join(named) };
        let path: PathBuf = path.components().collect();
        let label = named.strip_prefix(".").unwrap_or(named);
        Shelf::Disk { root: path, label: slashes(label).trim_end_matches('/').to_owned() }
    });
    named.collect()
}

fn holds_workflows(folder: &Path) -> bool {
    let Ok(entries) = std::fs::read_dir(folder) else { return false };
    let mut names = entries.flatten().filter_map(|entry| entry.file_name().into_string().ok());
    names.any(|name| stem(&name).is_some())
}

/// A workflow's name; `None` where the file is none.
pub fn stem(file: &str) -> Option<&str> {
    let stem = file.strip_suffix(".yaml").or_else(|| file.strip_suffix(".yml"))?;
    let workflow = !stem.is_empty()
        && !stem.starts_with('.')
        && !stem.to_ascii_lowercase().ends_with(".cases")
        && stem != "punctual";
    workflow.then_some(stem)
}

/// A path with `/`, as diagnostics show it.
pub fn slashes(path: &Path) -> String {
    path.to_string_lossy().replace('\\', "/")
}
