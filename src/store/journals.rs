//! What decided the latest runs, beside their reports and in a pair of files of its own: a line a run, and a line for each
//! part that several runs share. What a run refers to is in the same file as the run, so that the two are forgotten
//! together.

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use super::lines::Lines;

/// See the module. Clones share what they know.
#[derive(Clone, Debug)]
pub struct Journals {
    lines: Lines,
    known: Arc<Mutex<Known>>,
}

/// The shared parts that are in the newer file.
#[derive(Debug, Default)]
struct Known {
    names: BTreeSet<String>,
    /// How long the file was when that was seen; a shorter one is another file.
    length: u64,
}

impl Journals {
    /// Those in `folder`.
    pub(super) fn at(folder: &Path) -> Self {
        Self { lines: Lines::new(folder, "journals"), known: Arc::default() }
    }

    /// Where the latest are written.
    #[must_use]
    pub fn file(&self) -> PathBuf {
        self.lines.file()
    }

    /// Keeps a run: the lines that `of` gives, of which it leaves out the parts that are said to be there by name.
    ///
    /// # Errors
    /// What the file system says: a read-only folder, a full disk.
    pub fn keep(&self, of: impl FnOnce(&dyn Fn(&str) -> bool) -> Vec<String>) -> io::Result<()> {
        self.lines.turn()?;
        // Held until the lines are written: another run's line may rest on a part that this one writes.
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let length = self.lines.length();
        if length == 0 || length < known.length || known.length == 0 {
            known.names = parts(&self.lines.newest());
        }
        let lines = of(&|name| known.names.contains(name));
        if lines.is_empty() {
            return Ok(());
        }
        self.lines.append(&lines.join("\n"))?;
        known.names.extend(lines.iter().filter_map(|line| part(line.as_bytes())));
        known.length = self.lines.length();
        Ok(())
    }

    /// The line of the run of that id.
    #[must_use]
    pub fn find(&self, id: &str) -> Option<String> {
        self.starting(&format!("{{\"run\":\"{id}\""))
    }

    /// The line of the shared part of that name.
    #[must_use]
    pub fn part(&self, name: &str) -> Option<String> {
        self.starting(&format!("{PART}{name}\""))
    }

    /// The latest line that starts so.
    fn starting(&self, start: &str) -> Option<String> {
        self.lines.texts().rev().find_map(|text| {
            let mut lines = text.rsplit(|byte| *byte == b'\n');
            let line = lines.find(|line| line.starts_with(start.as_bytes()))?;
            Some(String::from_utf8_lossy(line).into_owned())
        })
    }
}

/// How the line of a part starts.
const PART: &str = "{\"part\":\"";

/// The name of the part that a line holds.
fn part(line: &[u8]) -> Option<String> {
    let rest = line.strip_prefix(PART.as_bytes())?;
    let end = rest.iter().take(100).position(|byte| *byte == b'"')?;
    // A line that was torn off is none.
    line.ends_with(b"}").then(|| String::from_utf8_lossy(&rest[..end]).into_owned())
}

fn parts(text: &[u8]) -> BTreeSet<String> {
    text.split(|byte| *byte == b'\n').filter_map(part).collect()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::super::lines::FILE_MAX;
    use super::*;

    fn line(id: usize, part: &str) -> String {
        format!("{{\"run\":\"run_{id}\",\"plan\":\"{part}\"}}")
    }

    fn keep(journals: &Journals, id: usize, part: &str, size: usize) {
        let shared = || format!("{PART}{part}\",\"is\":\"{}\"}}", "x".repeat(size));
        let lines = |known: &dyn Fn(&str) -> bool| {
            let parts = (!known(part)).then(shared).into_iter();
            parts.chain([line(id, part)]).collect()
        };
        journals.keep(lines).unwrap();
    }

    #[test]
    fn a_part_is_written_once_and_found_with_every_run_that_refers_to_it() {
        let folder = tempfile::tempdir().unwrap();
        let journals = Journals::at(&folder.path().join("deep/state"));
        keep(&journals, 1, "plan-a", 3);
        keep(&journals, 2, "plan-a", 3);
        keep(&journals, 3, "plan-b", 3);
        // Another process finds what is there.
        keep(&Journals::at(&folder.path().join("deep/state")), 4, "plan-a", 3);
        let text = fs::read_to_string(journals.file()).unwrap();
        assert_eq!(text.lines().count(), 6, "{text}");
        assert_eq!(journals.find("run_2"), Some(line(2, "plan-a")));
        assert_eq!(journals.find("run_"), None);
        assert!(journals.part("plan-b").unwrap().ends_with("\"xxx\"}"));
        assert_eq!(journals.part("plan-c"), None);
    }

    #[test]
    fn a_file_that_was_turned_over_has_its_parts_again_and_the_room_is_bounded() {
        let folder = tempfile::tempdir().unwrap();
        let journals = Journals::at(folder.path());
        let size = 1 << 20;
        for id in 0..40 {
            keep(&journals, id, &format!("plan-{}", id % 20), size);
            let referred = journals.find(&format!("run_{id}")).unwrap();
            assert!(referred.contains(&format!("plan-{}", id % 20)));
        }
        let newest = fs::read_to_string(journals.file()).unwrap();
        for line in newest.lines().filter(|line| line.starts_with("{\"run\"")) {
            let (_, name) = line.split_once("\"plan\":\"").unwrap();
            let name = name.trim_end_matches("\"}");
            assert!(newest.contains(&format!("{PART}{name}\"")), "{name}");
        }
        let entries = fs::read_dir(folder.path()).unwrap();
        let room: u64 = entries.map(|entry| entry.unwrap().metadata().unwrap().len()).sum();
        assert!(room <= 2 * (FILE_MAX + 2 * size as u64), "{room}");
        assert_eq!(journals.find("run_0"), None);
    }

    #[cfg(unix)]
    #[test]
    fn the_file_is_for_its_owner_alone() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let journals = Journals::at(folder.path());
        keep(&journals, 1, "plan-a", 3);
        let mode = fs::metadata(journals.file()).unwrap().permissions().mode();
        assert_eq!(mode & 0o077, 0, "{mode:o}");
    }
}
