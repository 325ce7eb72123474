//! The latest runs, as JSON lines in the state folder: for `runs`, `trace` and `get_run` after a restart, and beside them
//! what decided them, for `replay`.
//!
//! Two files each, the newer one appended to and turned into the older one when it is full, so that the room
//! taken is bounded. Records hold results, so the files are readable by their owner only. Lines that cannot
//! be read (a half-written one, another version's) are skipped and counted, never fatal.

mod curves;
mod journals;
mod lines;

use std::io;
use std::path::{Path, PathBuf};

use crate::trace::report::RunReport;

use journals::Journals;
use lines::Lines;

/// A longer record is kept without its output and decisions.
const LINE_MAX: usize = 1 << 20;

pub use curves::{CurveStore, Learned};

/// See the module.
#[derive(Clone, Debug)]
pub struct RunStore {
    lines: Lines,
    journals: Journals,
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
        Self { lines: Lines::new(folder, "runs"), journals: Journals::at(folder) }
    }

    /// What decided these runs.
    #[must_use]
    pub fn journals(&self) -> &Journals {
        &self.journals
    }

    /// Where the latest runs are written.
    #[must_use]
    pub fn file(&self) -> PathBuf {
        self.lines.file()
    }

    /// Keeps an ended run.
    ///
    /// # Errors
    /// What the file system says: a read-only folder, a full disk.
    pub fn append(&self, report: &RunReport) -> io::Result<()> {
        let mut line = serde_json::to_string(report)?;
        if line.len() > LINE_MAX {
            let short = RunReport { output: None, decisions: Vec::new(), ..report.clone() };
            line = serde_json::to_string(&short)?;
        }
        self.lines.turn()?;
        self.lines.append(&line)
    }

    /// The latest runs, at most `most`.
    #[must_use]
    pub fn latest(&self, most: usize) -> Kept {
        let mut kept = Kept::default();
        for text in self.lines.texts() {
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

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io::Write;

    use super::lines::FILE_MAX;
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
