//! Reading the files of a folder: bounded, inside the folder only, symbolic links followed and checked.

use std::fs::Metadata;
use std::io::Read;
use std::path::{Component, Path, PathBuf};

use crate::definition::source::Source;
use crate::domain::finding::Code;

/// Most bytes of one file.
pub const FILE_LIMIT: u64 = 1 << 20;
/// A file that cannot be read.
pub const UNREADABLE: Code = Code("P0601");
/// A file beyond the limit.
pub const FILE_TOO_LARGE: Code = Code("P0602");
/// A file outside the folder.
pub const OUTSIDE: Code = Code("P0603");
/// A file that is not UTF-8.
pub const NOT_TEXT: Code = Code("P0604");

/// Where a workflow's files are.
#[derive(Clone, Debug)]
pub enum Shelf {
    /// A folder on disk.
    Disk {
        /// The folder.
        root: PathBuf,
        /// Its name in diagnostics, with `/`; empty for the current one.
        label: String,
    },
    /// The examples built into the program: relative path and content.
    Builtin(&'static [(&'static str, &'static str)]),
}

/// Why a file could not be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileProblem {
    /// The code.
    pub code: Code,
    /// What is wrong.
    pub message: String,
    /// What to do.
    pub help: String,
    /// The bytes up to the first that is not UTF-8, the rest replaced; and where that is.
    pub broken: Option<Box<(Source, usize)>>,
}

impl FileProblem {
    fn new(code: Code, message: impl Into<String>, help: impl Into<String>) -> Self {
        Self { code, message: message.into(), help: help.into(), broken: None }
    }
}

impl Shelf {
    /// The name of a file in diagnostics.
    #[must_use]
    pub fn label(&self, relative: &str) -> String {
        match self {
            Self::Disk { label, .. } if label.is_empty() => relative.to_owned(),
            Self::Disk { label, .. } => format!("{label}/{relative}"),
            Self::Builtin(_) => format!("builtin/{relative}"),
        }
    }

    /// The path of a file; for built-in ones, its name.
    #[must_use]
    pub fn path(&self, relative: &str) -> PathBuf {
        match self {
            Self::Disk { root, .. } => root.join(relative),
            Self::Builtin(_) => PathBuf::from(self.label(relative)),
        }
    }

    /// Reads a file named relative to the folder. It must lie inside, links resolved.
    ///
    /// # Errors
    /// A path that is absolute, has `..` or leads outside; a file that is missing, too large, not a plain
    /// file, or not UTF-8.
    pub fn read(&self, relative: &str) -> Result<Source, FileProblem> {
        let named = Path::new(relative);
        let plain = |c: Component<'_>| matches!(c, Component::Normal(_) | Component::CurDir);
        if relative.is_empty() {
            return Err(FileProblem::new(
                OUTSIDE,
                "no file is named",
                "name one, relative to the workflow",
            ));
        }
        if !named.components().all(plain) || relative.contains('\0') {
            return Err(FileProblem::new(
                OUTSIDE,
                format!("'{relative}' is not a path inside the folder"),
                "name files relative to the workflow, without '..'",
            ));
        }
        match self {
            Self::Builtin(files) => {
                let name = relative.trim_start_matches("./");
                let found = files.iter().find(|(path, _)| *path == name);
                found.map(|(_, text)| Source::new(self.label(name), *text)).ok_or_else(|| {
                    FileProblem::new(UNREADABLE, format!("no file '{relative}'"), "check its name")
                })
            }
            Self::Disk { root, .. } => {
                let full = root.join(named);
                if let Some(about) = plain_below(root, named) {
                    return read_known(&full, &about, self.label(relative), relative);
                }
                let inside = full
                    .canonicalize()
                    .and_then(|full| root.canonicalize().map(|root| (full, root)))
                    .map_err(|error| near_by(unreadable(relative, &error), &full))?;
                if !inside.0.starts_with(&inside.1) {
                    return Err(FileProblem::new(
                        OUTSIDE,
                        format!("'{relative}' leads outside the folder through a link"),
                        "copy the file into the folder",
                    ));
                }
                read_file(&inside.0, self.label(relative), relative)
            }
        }
    }
}

/// What stands there, where no part of the path below the folder is a link, so that it cannot lead outside. Cheaper
/// than resolving both, part by part from the root of the disk.
fn plain_below(root: &Path, named: &Path) -> Option<Metadata> {
    let (mut at, mut last) = (root.to_owned(), None);
    for part in named.components() {
        at.push(part);
        last = Some(std::fs::symlink_metadata(&at).ok().filter(|about| !about.is_symlink())?);
    }
    last
}

fn unreadable(name: &str, error: &std::io::Error) -> FileProblem {
    let help = if error.kind() == std::io::ErrorKind::NotFound {
        "check the name; paths are relative to the workflow file"
    } else {
        "check that the server may read it"
    };
    FileProblem::new(UNREADABLE, format!("cannot read '{name}': {}", reason(error)), help)
}

/// Most names of a folder that are looked at for the one that was meant.
const LOOKED_AT: usize = 1000;

/// Names the file beside a missing one that may have been meant.
fn near_by(problem: FileProblem, path: &Path) -> FileProblem {
    let (Some(folder), Some(name)) = (path.parent(), path.file_name().and_then(|n| n.to_str()))
    else {
        return problem;
    };
    let Ok(entries) = std::fs::read_dir(folder) else { return problem };
    let names = entries.take(LOOKED_AT).flatten().filter_map(|e| e.file_name().into_string().ok());
    let near = names.map(|other| (strsim::damerau_levenshtein(&other, name), other)).min();
    match near.filter(|(away, _)| (1..=2).contains(away)) {
        Some((_, near)) => {
            FileProblem { help: format!("did you mean '{near}'? {}", problem.help), ..problem }
        }
        None => problem,
    }
}

/// The system's words without its numbers.
fn reason(error: &std::io::Error) -> String {
    let text = error.to_string();
    text.split(" (os error").next().unwrap_or(&text).to_lowercase()
}

/// Reads a plain file of text, up to the limit.
///
/// # Errors
/// See [`Shelf::read`].
pub fn read_file(path: &Path, label: String, name: &str) -> Result<Source, FileProblem> {
    // Opening a FIFO would wait for its writer.
    let about = std::fs::metadata(path).map_err(|error| unreadable(name, &error))?;
    read_known(path, &about, label, name)
}

fn read_known(
    path: &Path,
    about: &Metadata,
    label: String,
    name: &str,
) -> Result<Source, FileProblem> {
    if !about.is_file() {
        let help = if about.is_dir() { "it is a folder: name a file in it" } else { "name a file" };
        return Err(FileProblem::new(UNREADABLE, format!("'{name}' is not a plain file"), help));
    }
    let mut bytes =
        Vec::with_capacity(usize::try_from(about.len().min(FILE_LIMIT) + 1).unwrap_or(0));
    let file = std::fs::File::open(path).map_err(|error| unreadable(name, &error))?;
    // One byte more than the limit tells a larger file apart, even one that grows while it is read.
    file.take(FILE_LIMIT + 1).read_to_end(&mut bytes).map_err(|e| unreadable(name, &e))?;
    if bytes.len() as u64 > FILE_LIMIT {
        return Err(FileProblem::new(
            FILE_TOO_LARGE,
            format!("'{name}' is larger than 1 MiB"),
            "pass large documents as input; a definition is small",
        ));
    }
    text(bytes, label, name)
}

/// Bytes as text.
///
/// # Errors
/// The first byte that is not UTF-8, with its place.
pub fn text(bytes: Vec<u8>, label: String, name: &str) -> Result<Source, FileProblem> {
    match String::from_utf8(bytes) {
        Ok(text) => Ok(Source::new(label, text)),
        Err(error) => {
            let mut at = error.utf8_error().valid_up_to();
            let bytes = error.into_bytes();
            let byte = bytes.get(at).copied().unwrap_or_default();
            if bytes.starts_with("\u{feff}".as_bytes()) {
                at = at.saturating_sub('\u{feff}'.len_utf8());
            }
            let source = Source::new(label, String::from_utf8_lossy(&bytes));
            let wide = bytes.starts_with(&[0xff, 0xfe]) || bytes.starts_with(&[0xfe, 0xff]);
            let help = if wide {
                "it is UTF-16: save it as UTF-8, with your editor's `save with encoding`"
            } else {
                "save the file as UTF-8"
            };
            let message = format!("'{name}' is not UTF-8: byte 0x{byte:02x}");
            let mut problem = FileProblem::new(NOT_TEXT, message, help);
            problem.broken = Some(Box::new((source, at)));
            Err(problem)
        }
    }
}
