//! What the server has learned of times, as one file in the state folder that all its processes add to.
//!
//! A process keeps what it has learned since it last wrote, and adds that to whatever the file holds by then: nobody's
//! observations are lost or counted twice. The file is written whole beside the old one and put in its place; a file
//! that cannot be read is put aside, and times are learned anew.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use crate::latency::book::{Book, NoBook};

/// A longer file is none of ours: the bounds of a book keep it far below.
const FILE_MAX: u64 = 64 << 20;

/// See the module.
#[derive(Clone, Debug)]
pub struct CurveStore {
    folder: PathBuf,
}

/// What a file held.
#[derive(Debug, Default)]
pub struct Learned {
    /// All that is known.
    pub book: Book,
    /// What was wrong with the file, for a person; it has been put aside.
    pub broken: Option<String>,
}

impl CurveStore {
    /// The file in `folder`, which is made when it is first written.
    #[must_use]
    pub fn at(folder: &Path) -> Self {
        Self { folder: folder.to_owned() }
    }

    /// Where it is.
    #[must_use]
    pub fn file(&self) -> PathBuf {
        self.folder.join("curves.json")
    }

    /// What it holds; nothing where there is none.
    ///
    /// # Errors
    /// What the file system says of a file that is there.
    pub fn load(&self) -> io::Result<Learned> {
        let Some(text) = self.text()? else { return Ok(Learned::default()) };
        match read(&text) {
            Ok(book) => Ok(Learned { book, broken: None }),
            Err(why) => {
                let aside = self.folder.join("curves.broken.json");
                fs::rename(self.file(), &aside)?;
                let broken = format!("{why}; the file is put aside as {}", aside.display());
                Ok(Learned { book: Book::new(), broken: Some(broken) })
            }
        }
    }

    /// Adds `news` to what the file holds by now, and returns all of it.
    ///
    /// # Errors
    /// What the file system says; [`io::ErrorKind::WouldBlock`] where another process is writing: try again later.
    /// Nothing has been added then.
    pub fn add(&self, news: Book) -> io::Result<Learned> {
        fs::create_dir_all(&self.folder)?;
        let lock = private(&self.folder.join("curves.lock"), OpenOptions::new().create(true))?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(io::ErrorKind::WouldBlock.into()),
            Err(TryLockError::Error(error)) => return Err(error),
        }
        // Given back when the lock's file is closed, whatever happens.
        let Learned { mut book, broken } = self.load()?;
        book.merge(news);
        let text = book.to_json().map_err(io::Error::other)?;
        self.write(text.as_bytes())?;
        Ok(Learned { book, broken })
    }

    fn text(&self) -> io::Result<Option<Vec<u8>>> {
        let file = self.file();
        match fs::symlink_metadata(&file) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
            Ok(about) if !about.is_file() => return Err(not_plain(&file)),
            Ok(_) => {}
        }
        let mut bytes = Vec::new();
        File::open(file)?.take(FILE_MAX + 1).read_to_end(&mut bytes)?;
        Ok(Some(bytes))
    }

    /// Puts a whole file in the place of the old one.
    fn write(&self, bytes: &[u8]) -> io::Result<()> {
        let beside = self.folder.join(format!("curves.{}.tmp", std::process::id()));
        let written = private(&beside, OpenOptions::new().create(true).truncate(true))
            .and_then(|mut file| file.write_all(bytes).and_then(|()| file.sync_data()))
            .and_then(|()| fs::rename(&beside, self.file()));
        if written.is_err() {
            // What is half written is of no use to anyone; that it cannot be removed is no further trouble.
            let _ = fs::remove_file(&beside);
        }
        written
    }
}

fn read(text: &[u8]) -> Result<Book, String> {
    if u64::try_from(text.len()).unwrap_or(u64::MAX) > FILE_MAX {
        return Err(format!("it is larger than {} MiB", FILE_MAX >> 20));
    }
    let text = std::str::from_utf8(text).map_err(|_| "it is not UTF-8".to_owned())?;
    Book::from_json(text).map_err(|why: NoBook| why.to_string())
}

/// Opens a file that its owner alone may read. Anything but a plain file is refused.
fn private(path: &Path, options: &mut OpenOptions) -> io::Result<File> {
    match fs::symlink_metadata(path) {
        Ok(about) if !about.is_file() => return Err(not_plain(path)),
        Ok(_) | Err(_) => {}
    }
    options.write(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(options, 0o600);
    options.open(path)
}

fn not_plain(path: &Path) -> io::Error {
    let why = format!("{} is no plain file", path.display());
    io::Error::new(io::ErrorKind::InvalidInput, why)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::latency::observation::{End, Observation};

    fn observation(path: &str, first_ms: u64) -> Observation {
        Observation {
            provider: "a".into(),
            path: path.into(),
            step: "flow/step".into(),
            run: 1,
            prompt_tokens: 100,
            expected_tokens: 50.0,
            first_token: Some(Duration::from_millis(first_ms)),
            tokens: 50,
            lasted: Duration::from_millis(first_ms + 1_000),
            stream: Vec::new(),
            end: End::Answered { valid: true },
        }
    }

    fn book(path: &str, count: u64) -> Book {
        let mut book = Book::new();
        for nth in 0..count {
            book.record(&observation(path, 500 + nth), Duration::from_secs(1_000 + nth));
        }
        book
    }

    #[test]
    fn what_is_written_is_what_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let store = CurveStore::at(&folder.path().join("deep/state"));
        assert_eq!(store.load().unwrap().book, Book::new());
        store.add(book("a/x", 5)).unwrap();
        assert_eq!(store.load().unwrap().book, book("a/x", 5));
        let names = fs::read_dir(folder.path().join("deep/state")).unwrap();
        let mut names: Vec<_> = names.map(|entry| entry.unwrap().file_name()).collect();
        names.sort();
        assert_eq!(names, ["curves.json", "curves.lock"], "nothing half written is left");
    }

    #[test]
    fn two_processes_add_to_each_other_and_neither_counts_twice() {
        let folder = tempfile::tempdir().unwrap();
        let (one, other) = (CurveStore::at(folder.path()), CurveStore::at(folder.path()));
        one.add(book("a/x", 3)).unwrap();
        other.add(book("b/y", 4)).unwrap();
        let all = one.add(book("a/x", 2)).unwrap().book;
        let mut wanted = book("a/x", 3);
        wanted.merge(book("b/y", 4));
        wanted.merge(book("a/x", 2));
        assert_eq!(all, wanted);
        assert_eq!(other.load().unwrap().book, wanted);
    }

    #[test]
    fn a_file_that_is_being_written_is_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let store = CurveStore::at(folder.path());
        let lock = File::create(folder.path().join("curves.lock")).unwrap();
        lock.lock().unwrap();
        let error = store.add(book("a/x", 3)).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::WouldBlock);
        drop(lock);
        store.add(book("a/x", 3)).unwrap();
    }

    #[test]
    fn a_broken_file_is_put_aside_and_said() {
        let folder = tempfile::tempdir().unwrap();
        let store = CurveStore::at(folder.path());
        for text in [&b"{\"version\": 1, \"book\": "[..], b"\xff\xfe", b"[]", b"{\"version\": 9}"] {
            fs::write(store.file(), text).unwrap();
            let learned = store.load().unwrap();
            assert_eq!(learned.book, Book::new());
            assert!(learned.broken.unwrap().contains("curves.broken.json"));
            assert!(!store.file().exists());
            assert_eq!(fs::read(folder.path().join("curves.broken.json")).unwrap(), text);
        }
        store.add(book("a/x", 1)).unwrap();
        assert_eq!(store.load().unwrap().book, book("a/x", 1));
    }

    #[cfg(unix)]
    #[test]
    fn the_file_is_its_owners_and_a_link_in_its_place_is_refused() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let store = CurveStore::at(folder.path());
        store.add(book("a/x", 1)).unwrap();
        let mode = fs::metadata(store.file()).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        let elsewhere = folder.path().join("elsewhere");
        fs::rename(store.file(), &elsewhere).unwrap();
        std::os::unix::fs::symlink(&elsewhere, store.file()).unwrap();
        assert!(store.load().is_err());
    }
}
