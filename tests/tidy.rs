//! The house rules that the compiler does not check: floors, purity, stdout, sleeps, lengths, docs.
#![allow(clippy::unwrap_used, reason = "a file that cannot be read fails the rule")]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// Rooms by floor. Imports go to a lower floor, or stay in the room.
const FLOORS: [&[&str]; 9] = [
    &["domain"],
    &["latency", "resume", "schema", "expression", "template"],
    &["policy", "planner"],
    &["engine", "workflow", "trace"],
    &["definition", "provider", "store"],
    &["run"],
    &["driver", "world", "scenario"],
    &["server"],
    &["cli"],
];

/// Templates share the expression language's mentions and codes; the only step sideways.
const SIDEWAYS: [(&str, &str); 1] = [("template", "expression")];

/// Rooms without clock, lock, task, I/O or luck.
const PURE: [&str; 13] = [
    "domain",
    "latency",
    "policy",
    "planner",
    "resume",
    "schema",
    "expression",
    "template",
    "engine",
    "workflow",
    "run",
    "world",
    "scenario",
];

/// What a pure room must not name outside its tests.
const IMPURE: [&str; 14] = [
    "tokio",
    "Instant::now",
    "SystemTime",
    "Mutex",
    "RwLock",
    "std::fs",
    "std::net",
    "std::env",
    "std::process",
    "std::thread",
    "getrandom",
    "reqwest",
    "RandomState",
    "tracing::",
];

/// The places that write to stdout: the protocol, and the commands' results. The terminal asks how wide it is.
const STDOUT: [&str; 3] = ["src/cli/output.rs", "src/cli/terminal.rs", "src/server/stdio.rs"];

/// Most lines of a source file, its tests apart.
const FILE_MAX: usize = 450;

struct File {
    path: PathBuf,
    name: String,
    text: String,
}

impl File {
    fn room(&self) -> &str {
        let inside = self.name.strip_prefix("src/").unwrap_or("");
        inside.split(['/', '.']).next().unwrap_or("")
    }

    fn is_test(&self) -> bool {
        let name = &self.name;
        name.starts_with("tests/")
            || name.contains("/tests/")
            || name.ends_with("/tests.rs")
            || name.ends_with("fixture.rs")
    }

    /// The lines before an inline test module, without comments.
    fn code(&self) -> impl Iterator<Item = (usize, &str)> {
        let lines = self.text.lines().enumerate().map(|(ix, line)| (ix + 1, line));
        let inline_tests = self
            .text
            .lines()
            .collect::<Vec<_>>()
            .windows(2)
            .position(|pair| pair[0] == "#[cfg(test)]" && pair[1].starts_with("mod tests {"));
        let end = inline_tests.unwrap_or(usize::MAX);
        let before = lines.take(end);
        before.filter(|(_, line)| !line.trim_start().starts_with("//"))
    }
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn files(folders: &[&str]) -> Vec<File> {
    let mut found = Vec::new();
    let mut queue: Vec<PathBuf> = folders.iter().map(|folder| root().join(folder)).collect();
    while let Some(folder) = queue.pop() {
        let Ok(entries) = fs::read_dir(&folder) else { continue };
        for entry in entries.map(Result::unwrap) {
            let path = entry.path();
            if path.is_dir() {
                queue.push(path);
            } else if path.extension().is_some_and(|e| e == "rs") {
                let name = path.strip_prefix(root()).unwrap().to_string_lossy().replace('\\', "/");
                found.push(File { text: fs::read_to_string(&path).unwrap(), name, path });
            }
        }
    }
    found.sort_by(|a, b| a.path.cmp(&b.path));
    found
}

fn report(what: &str, offences: &[String]) {
    assert!(offences.is_empty(), "{what}:\n{}", offences.join("\n"));
}

fn floors() -> BTreeMap<&'static str, usize> {
    let rooms = FLOORS.iter().enumerate();
    rooms.flat_map(|(floor, rooms)| rooms.iter().map(move |room| (*room, floor))).collect()
}

#[test]
fn imports_go_down_only() {
    let floors = floors();
    let mut offences = Vec::new();
    for file in files(&["src"]) {
        let room = file.room().to_owned();
        let Some(floor) = floors.get(room.as_str()) else { continue };
        for (line, text) in (1_usize..).zip(file.text.lines()) {
            if text.trim_start().starts_with("//") {
                continue;
            }
            for after in text.split("crate::").skip(1) {
                let other: String =
                    after.chars().take_while(|c| c.is_ascii_lowercase() || *c == '_').collect();
                let Some(other_floor) = floors.get(other.as_str()) else { continue };
                let allowed = *other_floor < *floor
                    || other == room
                    || SIDEWAYS.contains(&(room.as_str(), other.as_str()));
                if !allowed {
                    offences.push(format!("{}:{line}: {room} must not import {other}", file.name));
                }
            }
        }
    }
    report("imports that do not go down", &offences);
}

#[test]
fn every_room_has_a_floor() {
    let floors = floors();
    let unknown: Vec<String> = files(&["src"])
        .iter()
        .map(|file| file.room().to_owned())
        .filter(|room| !["main", "lib"].contains(&room.as_str()))
        .filter(|room| !floors.contains_key(room.as_str()))
        .collect();
    report("rooms that no floor names", &unknown);
}

#[test]
fn pure_rooms_hold_no_clock_lock_task_or_io() {
    let mut offences = Vec::new();
    for file in files(&["src"]) {
        if !PURE.contains(&file.room()) || file.is_test() {
            continue;
        }
        for (line, text) in file.code() {
            for word in IMPURE.iter().filter(|word| text.contains(**word)) {
                offences.push(format!("{}:{line}: {word}", file.name));
            }
        }
    }
    report("impurities in pure rooms", &offences);
}

#[test]
fn only_the_server_knows_rmcp_and_only_the_transport_knows_reqwest() {
    let mut offences = Vec::new();
    for file in files(&["src"]).iter().filter(|file| !file.is_test()) {
        for (line, text) in file.code() {
            let http = file.room() == "provider" || file.room() == "cli";
            if (text.contains("rmcp::") && file.room() != "server")
                || (text.contains("reqwest::") && !http)
            {
                offences.push(format!("{}:{line}: {}", file.name, text.trim()));
            }
        }
    }
    report("protocol libraries outside their rooms", &offences);
}

#[test]
fn nothing_but_the_designated_places_writes_to_stdout() {
    let words = ["println!(", "print!(", "io::stdout()", "dbg!("];
    let mut offences = Vec::new();
    let elsewhere = |file: &&File| !STDOUT.contains(&file.name.as_str()) && !file.is_test();
    for file in files(&["src"]).iter().filter(elsewhere) {
        for (line, text) in file.code() {
            let text = text.replace("eprintln!(", "").replace("eprint!(", "");
            if words.iter().any(|word| text.contains(word)) {
                offences.push(format!("{}:{line}: {}", file.name, text.trim()));
            }
        }
    }
    report("writes to stdout", &offences);
}

#[test]
fn no_test_sleeps_in_real_time_or_is_ignored() {
    let mut offences = Vec::new();
    for file in files(&["src", "tests", "benches"]) {
        if file.name == "tests/tidy.rs" {
            continue;
        }
        if file.text.contains("#[ignore") {
            offences.push(format!("{}: an ignored test", file.name));
        }
        let paused = file.text.matches("#[tokio::test").count()
            == file.text.matches("#[tokio::test(start_paused = true)]").count();
        let sleeps = file.text.contains("thread::sleep") || file.text.contains("time::sleep");
        let tests = file.is_test() || file.text.contains("#[test]");
        let real = !paused || file.text.contains("thread::sleep");
        if tests && sleeps && real {
            offences.push(format!("{}: sleeps in a test", file.name));
        }
    }
    report("tests that wait for real time", &offences);
}

#[test]
fn every_task_is_owned_and_every_channel_bounded() {
    let mut offences = Vec::new();
    for file in files(&["src"]) {
        for (line, text) in file.code() {
            if text.contains("tokio::spawn") || text.contains("unbounded_channel") {
                offences.push(format!("{}:{line}: {}", file.name, text.trim()));
            }
        }
    }
    report("detached tasks or unbounded channels", &offences);
}

#[test]
fn every_file_says_why_it_exists_and_stays_readable() {
    let mut offences = Vec::new();
    for file in files(&["src"]) {
        let tests = file.is_test();
        if !file.text.starts_with("//!") && !tests {
            offences.push(format!("{}: no module docs", file.name));
        }
        let length = file.code().last().map_or(0, |(line, _)| line);
        if length > FILE_MAX && !tests {
            offences.push(format!("{}: {length} lines of code; split it by noun", file.name));
        }
    }
    report("files", &offences);
}
