//! The latest runs, as JSON lines in the state folder: for `runs`, `trace` and `get_run` after a restart.
//!
//! Two files, the newer one appended to and turned into the older one when it is full, so that the room
//! taken is bounded. Records hold results, so the files are readable by their owner only. Lines that cannot
//! be read (a half-written one, another version's) are skipped and counted, never fatal.

mod curves;

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use crate::trace::report::RunReport;

/// A file that has grown beyond this is turned over.
const FILE_MAX: u64 = 8 << 20;
/// A longer record is kept without its output and decisions.
const LINE_MAX: usize = 1 << 20;

pub use curves::{CurveStore, Learned};

/// See the module.
#[derive(Clone, Debug)]
pub struct RunStore {
    folder: PathBuf,
}

/// Runs read back.
#[derive(Clone, Debug, Default)]
pub struct Kept {
    /// Oldest first.
    pub reports: Vec<RunReport>,
    /// Lines that could not be read.
    pub unreadable: usize,
}

impl RunStore {
    /// The store in `folder`, which is made when the first run is kept.
    #[must_use]
    pub fn at(folder: &Path) -> Self {
        Self { folder: folder.to_owned() }
    }

    /// Where the latest runs are written.
    #[must_use]
    pub fn file(&self) -> PathBuf {
        self.folder.join("runs.jsonl")
    }

    fn older(&self) -> PathBuf {
        self.folder.join("runs.1.jsonl")
    }

    /// Keeps an ended run.
    ///
    /// # Errors
    /// What the file system says: a read-only folder, a full disk.
    pub fn append(&self, report: &RunReport) -> io::Result<()> {
        fs::create_dir_all(&self.folder)?;
        let mut line = serde_json::to_string(report)?;
        if line.len() > LINE_MAX {
            let short = RunReport { output: None, decisions: Vec::new(), ..report.clone() };
            line = serde_json::to_string(&short)?;
        }
        line.push('\n');
        let file = self.file();
        if fs::metadata(&file).is_ok_and(|meta| meta.len() >= FILE_MAX) {
            fs::rename(&file, self.older())?;
        }
        let mut open = private(&file)?;
        if torn(&file) {
            line.insert(0, '\n');
        }
        // One write of a whole line in append mode: processes that share the folder do not mix lines.
        open.write_all(line.as_bytes())
    }

    /// The latest runs, at most `most`.
    #[must_use]
    pub fn latest(&self, most: usize) -> Kept {
        let mut kept = Kept::default();
        for file in [self.older(), self.file()] {
            let Ok(text) = read_bounded(&file) else { continue };
            for line in text.split(|b| *b == b'\n').filter(|line| !line.is_empty()) {
                match serde_json::from_slice(line) {
                    Ok(report) => kept.reports.push(report),
                    Err(_) => kept.unreadable += 1,
                }
            }
        }
        let surplus = kept.reports.len().saturating_sub(most);
        kept.reports.drain(..surplus);
        kept
    }

    /// The run of that id.
    #[must_use]
    pub fn find(&self, id: &str) -> Option<RunReport> {
        self.latest(usize::MAX).reports.into_iter().rev().find(|report| report.run_id == id)
    }

    /// Dollars spent by the kept runs that started on the UTC `day`, `2026-11-30`.
    #[must_use]
    pub fn spent_on(&self, day: &str) -> f64 {
        let reports = self.latest(usize::MAX).reports;
        let of_day = reports.iter().filter(|report| report.started_at.starts_with(day));
        of_day.map(|report| report.cost_usd).sum()
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

#[cfg(test)]
mod tests {
    use super::*;

    fn report(id: usize) -> RunReport {
        RunReport {
            run_id: format!("run_{id}"),
            started_at: "2026-11-30T00:00:00Z".to_owned(),
            cost_usd: 0.5,
            ..RunReport::default()
        }
    }

    #[test]
    fn runs_come_back_in_order_and_half_a_line_loses_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let store = RunStore::at(&folder.path().join("deep/state"));
        store.append(&report(1)).unwrap();
        fs::OpenOptions::new()
            .append(true)
            .open(store.file())
            .unwrap()
            .write_all(b"{\"run_id\": \"run_x\n\xff\xfe\n")
            .unwrap();
        store.append(&report(2)).unwrap();
        let kept = store.latest(10);
        let ids: Vec<&str> = kept.reports.iter().map(|r| r.run_id.as_str()).collect();
        assert_eq!((ids.as_slice(), kept.unreadable), (["run_1", "run_2"].as_slice(), 2));
        assert_eq!(store.find("run_2"), Some(report(2)));
        assert!((store.spent_on("2026-11-30") - 1.0).abs() < 1e-9);
        assert!(store.spent_on("2026-12-01").abs() < 1e-9);
    }

    #[test]
    fn a_line_cut_short_does_not_swallow_the_next_run() {
        let folder = tempfile::tempdir().unwrap();
        let store = RunStore::at(folder.path());
        fs::write(store.file(), b"{\"run_id\": \"run_half").unwrap();
        store.append(&report(7)).unwrap();
        let kept = store.latest(10);
        assert_eq!((kept.reports, kept.unreadable), (vec![report(7)], 1));
    }

    #[cfg(unix)]
    #[test]
    fn a_link_in_the_place_of_the_file_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let store = RunStore::at(folder.path());
        let elsewhere = folder.path().join("elsewhere");
        fs::write(&elsewhere, "precious").unwrap();
        std::os::unix::fs::symlink(&elsewhere, store.file()).unwrap();
        assert!(store.append(&report(1)).is_err());
        assert_eq!(fs::read_to_string(&elsewhere).unwrap(), "precious");
    }

    #[test]
    fn the_room_taken_is_bounded() {
        let folder = tempfile::tempdir().unwrap();
        let store = RunStore::at(folder.path());
        let big = "x".repeat(LINE_MAX - 2_000);
        for id in 0..30 {
            let output = Some(serde_json::json!({ "text": big }));
            store.append(&RunReport { output, ..report(id) }).unwrap();
        }
        let room: u64 = fs::read_dir(folder.path())
            .unwrap()
            .map(|entry| entry.unwrap().metadata().unwrap().len())
            .sum();
        assert!(room <= 2 * (FILE_MAX + LINE_MAX as u64), "{room}");
        assert_eq!(store.latest(1).reports[0].run_id, "run_29");
    }

    #[test]
    fn a_record_that_is_too_long_is_kept_without_its_output() {
        let folder = tempfile::tempdir().unwrap();
        let store = RunStore::at(folder.path());
        let output = Some(serde_json::json!({ "text": "x".repeat(LINE_MAX) }));
        store.append(&RunReport { output, ..report(1) }).unwrap();
        assert_eq!(store.find("run_1"), Some(report(1)));
    }
}
