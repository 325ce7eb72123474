//! Writing a client's file: the whole of it or nothing, at its place, as it was permitted.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use super::environment::{read, said};

/// Most symbolic links from a name to its file.
const LINKS_MAX: usize = 16;

/// A client's file as it was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Original {
    /// The file itself, behind symbolic links.
    path: PathBuf,
    /// Its text; `None` where there is none.
    text: Option<String>,
}

impl Original {
    /// Reads the file that `path` names, directly or by symbolic links.
    ///
    /// # Errors
    /// It cannot be read, is too large, or is not UTF-8; in words, without the file's name.
    pub fn read(path: &Path) -> Result<Self, String> {
        let path = behind_links(path)?;
        if path.is_dir() {
            return Err("it is a folder".to_owned());
        }
        let text = read(&path)?;
        Ok(Self { path, text })
    }

    /// The text; empty where there is no file.
    pub fn text(&self) -> &str {
        self.text.as_deref().unwrap_or_default()
    }

    /// Whether there is a file.
    pub const fn exists(&self) -> bool {
        self.text.is_some()
    }

    /// Puts a new text in the file's place, in one step. With `keep` the former text is kept beside it, under the
    /// name that is returned.
    ///
    /// # Errors
    /// It cannot be written, or has changed since it was read; in words. The file is as it was.
    pub fn replace(&self, new: &str, keep: bool) -> Result<Option<PathBuf>, String> {
        let folder = self.path.parent().unwrap_or(Path::new("."));
        fs::create_dir_all(folder).map_err(|error| said(&error))?;
        let permissions = match fs::metadata(&self.path) {
            Ok(about) if about.permissions().readonly() => {
                return Err("it is read-only".to_owned());
            }
            Ok(about) => Some(about.permissions()),
            Err(_) => None,
        };
        let kept = match (&self.text, keep) {
            (Some(former), true) => {
                let kept = beside(&self.path, ".bak");
                self.put(&kept, former, permissions.clone())?;
                Some(kept)
            }
            (Some(_) | None, _) => None,
        };
        self.put(&self.path, new, permissions)?;
        Ok(kept)
    }

    fn put(
        &self,
        place: &Path,
        text: &str,
        permissions: Option<fs::Permissions>,
    ) -> Result<(), String> {
        let temporary = beside(place, &format!(".{}.tmp", std::process::id()));
        let written = write_new(&temporary, text, permissions)
            .map_err(|error| said(&error))
            .and_then(|()| self.unchanged())
            .and_then(|()| fs::rename(&temporary, place).map_err(|error| said(&error)));
        if written.is_err() {
            let _ = fs::remove_file(&temporary);
        }
        written
    }

    /// Clients write their files too.
    fn unchanged(&self) -> Result<(), String> {
        if read(&self.path)? == self.text {
            Ok(())
        } else {
            Err("it was changed by another program meanwhile: run this again".to_owned())
        }
    }
}

fn write_new(path: &Path, text: &str, permissions: Option<fs::Permissions>) -> std::io::Result<()> {
    let mut file = fs::OpenOptions::new().write(true).create_new(true).open(path)?;
    // Before the text is in it: a file that only its owner may read must at no time be readable by others.
    if let Some(permissions) = permissions {
        file.set_permissions(permissions)?;
    }
    file.write_all(text.as_bytes())?;
    file.sync_all()
}

/// The path with something behind its name.
fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(suffix);
    path.with_file_name(name)
}

/// Where a chain of symbolic links ends, though there be no file yet.
fn behind_links(path: &Path) -> Result<PathBuf, String> {
    let mut path = path.to_owned();
    for _ in 0..LINKS_MAX {
        match fs::read_link(&path) {
            Ok(target) => path = path.parent().unwrap_or(Path::new(".")).join(target),
            Err(_) => return Ok(path),
        }
    }
    Err("its symbolic links lead in a circle".to_owned())
}

#[cfg(test)]
mod tests;
