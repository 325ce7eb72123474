//! The program itself, its clock, and where it keeps runs.

use std::path::{Path, PathBuf};

use super::super::argument::unreadable;
use super::super::place::{State, shown};
use super::Finding;
use crate::driver::clock;

/// This version was made after that day: a clock that shows an earlier one is wrong.
const MADE: &str = "2026-11-01";

/// Version, place and clock.
pub fn programs_own(path: Option<&Path>, now: &str) -> Vec<Finding> {
    let version = env!("CARGO_PKG_VERSION");
    let mut findings = vec![match path {
        Some(path) => Finding::good(format!("punctual {version}: {}", shown(path))),
        None => Finding::good(format!("punctual {version}")),
    }];
    let day: String = now.chars().take(10).collect();
    findings.push(if day.as_str() < MADE {
        Finding::broken(
            format!("the clock shows {day}, which is before this version was made"),
            "set it: connections to providers need certificates that are valid now, and budgets by the day \
             need the day",
        )
    } else {
        Finding::good("the clock shows a time that can be right")
    });
    findings
}

/// Of this process, and whether the shell starts another program of that name.
pub fn program() -> Vec<Finding> {
    let own = std::env::current_exe().ok();
    let mut findings = programs_own(own.as_deref(), &clock::wall_time());
    let paths = std::env::var_os("PATH").unwrap_or_default();
    let first = std::env::split_paths(&paths)
        .map(|folder| folder.join(if cfg!(windows) { "punctual.exe" } else { "punctual" }))
        .find(|program| program.is_file());
    if let (Some(first), Some(own)) = (first, own)
        && !same(&first, &own)
    {
        findings.push(Finding::note(
            format!("the shell's 'punctual' is another program: {}", shown(&first)),
            "where that is an older one, install this one over it: 'cargo install --path .'",
        ));
    }
    findings
}

/// Whether two paths lead to one file.
pub fn same(one: &Path, other: &Path) -> bool {
    let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| PathBuf::from(path));
    real(one) == real(other)
}

/// Whether runs can be kept.
pub fn state(state: &State) -> Vec<Finding> {
    let Some(folder) = state.folder() else {
        return vec![Finding::note(
            "neither HOME nor XDG_STATE_HOME is set: runs are not kept",
            "name a folder with --state, or set XDG_STATE_HOME where the client starts the server",
        )];
    };
    let mark = folder.join(".doctor");
    let written = std::fs::create_dir_all(&folder).and_then(|()| std::fs::write(&mark, b""));
    let _ = std::fs::remove_file(&mark);
    vec![match written {
        Ok(()) => Finding::good(format!("runs are kept in {}", shown(&folder))),
        Err(error) => {
            let why = unreadable(&shown(&folder), &error);
            let why = why.replacen("cannot read", "cannot write to", 1);
            let advice = "runs cannot be looked at afterwards: make it writable, or name another with --state";
            Finding::broken(why, advice)
        }
    }]
}

#[cfg(test)]
mod tests {
    use super::super::Verdict;
    use super::*;

    #[test]
    fn a_clock_before_this_version_is_told_of() {
        let at = |now| programs_own(None, now).pop().unwrap();
        assert!(at("2026-12-01T10:00:00.000Z").verdict == Verdict::Good);
        let wrong = at("1970-01-01T00:00:07.000Z");
        assert!(wrong.verdict == Verdict::Broken && wrong.what.contains("1970-01-01"));
    }
}
