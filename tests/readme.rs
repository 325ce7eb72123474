//! The walk of the README, command by command, in an empty folder.
#![expect(clippy::unwrap_used, reason = "a test")]

use std::path::Path;
use std::process::{Command, Output, Stdio};

/// The lines of the chapter's command blocks.
fn walk() -> Vec<String> {
    let readme = std::fs::read_to_string("README.md").unwrap();
    let chapter = readme.split("\n## A workflow in five minutes\n").nth(1).unwrap();
    let chapter = chapter.split("\n## ").next().unwrap();
    let (mut lines, mut inside, mut wanted) = (Vec::new(), false, false);
    for line in chapter.lines() {
        if line.starts_with("```") {
            inside = !inside;
            wanted = inside && line == "```";
        } else if wanted {
            lines.push(line.to_owned());
        }
    }
    lines
}

/// Runs one line as a shell would in `folder`, with the program under test as `punctual`.
fn shell(line: &str, folder: &Path) -> Output {
    let program = Path::new(env!("CARGO_BIN_EXE_punctual")).parent().unwrap();
    let path = format!("{}:/usr/bin:/bin", program.display());
    let mut command = Command::new("/bin/sh");
    command.args(["-c", line]).current_dir(folder).env_clear().env("PATH", path);
    command.env("HOME", folder.join("home")).env("XDG_STATE_HOME", folder.join("state"));
    command.stdin(Stdio::null()).output().unwrap()
}

#[test]
fn every_command_of_the_walk_does_what_the_readme_says() {
    let lines = walk();
    let commands = lines.iter().filter(|line| line.starts_with("punctual ")).count();
    assert!(commands >= 8, "the walk has lost its commands: {lines:?}");
    let folder = tempfile::tempdir().unwrap();
    let mut here = folder.path().to_owned();
    for line in &lines {
        // In real time a simulated call takes as long as a model.
        let fast = line.contains(" run ") && !line.contains("--dry");
        let line = if fast { format!("{line} --simulate --speed max") } else { line.clone() };
        let output = shell(&line, &here);
        let (out, err) = (
            String::from_utf8_lossy(&output.stdout).into_owned(),
            String::from_utf8_lossy(&output.stderr).into_owned(),
        );
        assert!(output.status.success(), "{line}\n{out}{err}");
        if let Some(inner) = line.strip_prefix("mkdir flows && cd ") {
            here = here.join(inner);
        }
        let expected = match line.split_whitespace().nth(1) {
            Some("new") => "workflows/triage.cases.yaml",
            Some("check") => "nothing wrong",
            Some("test") => "2 passed",
            Some("explain") => "workflows/triage.yaml:4:11",
            Some("run") if line.contains("--dry") => "How long may I keep a book?",
            Some("run") => "confidence",
            Some("trace") => "Decisions",
            Some("install") => "mcpServers",
            _ => "",
        };
        assert!(format!("{out}{err}").contains(expected), "{line}: no '{expected}' in\n{out}{err}");
    }
}
