//! Lines of text in a pair of files of bounded size: the newer one is appended to, and turned into the older one when it is
//! full.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

/// A file that has grown beyond this is turned over.
pub(super) const FILE_MAX: u64 = 8 << 20;

/// See the module.
#[derive(Clone, Debug)]
pub(super) struct Lines {
    folder: PathBuf,
    name: &'static str,
}

impl Lines {
    /// The files `name.jsonl` and `name.1.jsonl` in `folder`, which is made when the first line is kept.
    pub(super) fn new(folder: &Path, name: &'static str) -> Self {
        Self { folder: folder.to_owned(), name }
    }

    /// The newer file.
    pub(super) fn file(&self) -> PathBuf {
        self.folder.join(format!("{}.jsonl", self.name))
    }

    fn older(&self) -> PathBuf {
        self.folder.join(format!("{}.1.jsonl", self.name))
    }

    /// Makes room for more: a full newer file becomes the older one.
    pub(super) fn turn(&self) -> io::Result<()> {
        let file = self.file();
        if fs::metadata(&file).is_ok_and(|meta| meta.len() >= FILE_MAX) {
            fs::rename(&file, self.older())?;
        }
        Ok(())
    }

    /// Appends a line, or several with line ends between them.
    pub(super) fn append(&self, text: &str) -> io::Result<()> {
        fs::create_dir_all(&self.folder)?;
        let file = self.file();
        let mut open = private(&file)?;
        let torn = if torn(&file) { "\n" } else { "" };
        // One write of whole lines in append mode: processes that share the folder do not mix them.
        open.write_all(format!("{torn}{text}\n").as_bytes())
    }

    /// What the files hold, the older one first; those that cannot be read are left out.
    pub(super) fn texts(&self) -> impl DoubleEndedIterator<Item = Vec<u8>> {
        [self.older(), self.file()].into_iter().filter_map(|file| read_bounded(&file).ok())
    }

    /// What the newer file holds.
    pub(super) fn newest(&self) -> Vec<u8> {
        read_bounded(&self.file()).unwrap_or_default()
    }

    /// Bytes in the newer file.
    pub(super) fn length(&self) -> u64 {
        fs::metadata(self.file()).map_or(0, |meta| meta.len())
    }
}

/// Whether the last line was written in part, by a process that died or on a disk that was full.
fn torn(path: &Path) -> bool {
    let last = || {
        let mut file = File::open(path)?;
        file.seek(SeekFrom::End(-1))?;
        let mut byte = [0];
        file.read_exact(&mut byte)?;
        io::Result::Ok(byte[0])
    };
    last().is_ok_and(|byte| byte != b'\n')
}

/// Anything but a plain file of ours, a fifo or a link to elsewhere, is refused: opening one may hang, and
/// following one may write into a file that is not ours.
fn plain(path: &Path) -> io::Result<()> {
    match fs::symlink_metadata(path) {
        Ok(meta) if !meta.is_file() => {
            let why = format!("{} is no plain file", path.display());
            Err(io::Error::new(io::ErrorKind::InvalidInput, why))
        }
        Ok(_) | Err(_) => Ok(()),
    }
}

fn private(path: &Path) -> io::Result<File> {
    plain(path)?;
    let mut options = OpenOptions::new();
    options.append(true).create(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

fn read_bounded(path: &Path) -> io::Result<Vec<u8>> {
    plain(path)?;
    let mut bytes = Vec::new();
    File::open(path)?.take(2 * FILE_MAX).read_to_end(&mut bytes)?;
    Ok(bytes)
}
