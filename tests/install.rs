//! `punctual install` through the program: what it says, what it writes, and the code it leaves with. The places
//! of other systems, and the merging itself, are tested beside the code.
#![expect(clippy::unwrap_used, reason = "a test")]

use std::path::PathBuf;
use std::process::{Command, Stdio};

const HELLO: &str = "\
description: Greets a person.
deadline: 10s
input: {name: string}
steps:
  greet:
    max_tokens: 50
    prompt: Say hello to {{ input.name }}.
    output: {greeting: string}
";

const CONFIGURATION: &str = "\
providers:
  a: {kind: anthropic, api_key: {env: FIRST_KEY}}
  b: {kind: openai, api_key: {env: SECOND_KEY}, optional: true}
models:
  m: {paths: [{provider: a, model: x}, {provider: b, model: y}]}
defaults: {model: m}
";

/// A home of its own, with a folder `flows` in it.
struct Home {
    folder: tempfile::TempDir,
}

/// What a command left.
#[derive(Debug)]
struct Left {
    code: i32,
    out: String,
    err: String,
}

impl Home {
    fn new() -> Self {
        let home = Self { folder: tempfile::tempdir().unwrap() };
        home.write("flows/workflows/hello.yaml", HELLO);
        home.write("flows/punctual.yaml", CONFIGURATION);
        home
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().canonicalize().unwrap().join(name)
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    fn read(&self, name: &str) -> String {
        self.steady(&std::fs::read_to_string(self.path(name)).unwrap())
    }

    /// Without what differs from machine to machine. The note about build results is a test's alone.
    fn steady(&self, text: &str) -> String {
        let program = env!("CARGO_BIN_EXE_punctual");
        let text = text.replace(&*self.path("").to_string_lossy(), "[HOME]/");
        let lines = text.lines().filter(|line| !line.contains("folder of build results"));
        lines.map(|line| line.replace(program, "[PROGRAM]") + "\n").collect()
    }

    fn install(&self, line: &str) -> Left {
        let mut command = Command::new(env!("CARGO_BIN_EXE_punctual"));
        command.arg("install").args(line.split(' ')).current_dir(self.folder.path()).env_clear();
        command.env("HOME", self.path("")).env("FIRST_KEY", "sk-first").stdin(Stdio::null());
        let output = command.output().unwrap();
        let text = |bytes| self.steady(&String::from_utf8(bytes).unwrap());
        let code = output.status.code().unwrap_or(-1);
        Left { code, out: text(output.stdout), err: text(output.stderr) }
    }
}

impl std::fmt::Display for Left {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}{}exit code {}", self.out, self.err, self.code)
    }
}

#[cfg(target_os = "linux")]
const DESKTOP: &str = ".config/Claude/claude_desktop_config.json";

#[cfg(target_os = "linux")]
#[test]
fn claude_desktop_is_connected_and_told_that_keys_do_not_reach_it() {
    let home = Home::new();
    home.write(DESKTOP, "{\n  \"mcpServers\": {}\n}\n");
    let left = home.install("claude-desktop --dir flows");
    insta::assert_snapshot!(left);
    insta::assert_snapshot!(home.read(DESKTOP));
    let again = home.install("claude-desktop --dir ./flows");
    insta::assert_snapshot!(again.out);
    let out = home.install("claude-desktop --uninstall");
    insta::assert_snapshot!(out);
    let gone = home.install("claude-desktop --uninstall");
    insta::assert_snapshot!(gone);
}

#[test]
fn clients_that_know_references_get_the_names_of_keys_set_or_not() {
    let home = Home::new();
    for (client, file) in [
        ("claude-code", ".claude.json"),
        ("cursor", ".cursor/mcp.json"),
        ("codex", ".codex/config.toml"),
    ] {
        let left = home.install(&format!("{client} --dir flows --env THIRD_KEY"));
        let all = format!("{left}\n{}", home.read(file));
        assert!(!all.contains("sk-first"), "{all}");
        insta::assert_snapshot!(format!("install_{client}"), all);
    }
}

#[test]
fn printing_writes_nothing() {
    let home = Home::new();
    let left = home.install("vscode --project --dir flows --print");
    insta::assert_snapshot!(left);
    assert!(!home.path(".vscode").exists());
}

#[test]
fn a_project_has_its_own_file() {
    let home = Home::new();
    let left = home.install("claude-code --project --dir flows --name team");
    assert_eq!(left.code, 0, "{left}");
    assert!(left.out.starts_with("Claude Code: 'team' is added to ~/.mcp.json\n"), "{left}");
    assert!(home.read(".mcp.json").contains("\"team\": {"));
}

#[test]
fn a_broken_file_is_refused_with_its_place_and_left_as_it_is() {
    let home = Home::new();
    let broken = "{\n  \"mcpServers\": {\n    \"a\": 1\n    \"b\": 2\n  }\n}\n";
    home.write(".cursor/mcp.json", broken);
    let left = home.install("cursor --dir flows");
    insta::assert_snapshot!(left);
    assert_eq!(home.read(".cursor/mcp.json"), broken);
    home.write(".codex/config.toml", "model = \n");
    insta::assert_snapshot!(home.install("codex --dir flows"));
    home.write(".cursor/mcp.json", "{\"mcpServers\": {\"punctual\": {\"command\": \"npx\"}}}");
    insta::assert_snapshot!(home.install("cursor --dir flows"));
    insta::assert_snapshot!(home.install("cursor --uninstall"));
}

#[test]
fn a_client_that_reads_no_comments_is_named() {
    let home = Home::new();
    home.write(".claude.json", "{\n  // mine\n  \"a\": 1\n}\n");
    let left = home.install("claude-code --dir flows");
    assert_eq!(left.code, 0, "{left}");
    insta::assert_snapshot!(left.err);
    assert!(home.read(".claude.json").contains("// mine\n  \"a\": 1,\n"));
}

#[test]
fn what_changes_an_entry_keeps_the_former_file() {
    let home = Home::new();
    let former =
        "{\"mcpServers\": {\"punctual\": {\"command\": \"/old/punctual\", \"disabled\": true}}}";
    home.write(".cursor/mcp.json", former);
    let left = home.install("cursor --dir flows");
    assert!(left.out.contains("'punctual' is updated in ~/.cursor/mcp.json\n"), "{left}");
    assert!(left.out.contains("  before ~/.cursor/mcp.json.bak\n"), "{left}");
    assert_eq!(home.read(".cursor/mcp.json.bak"), format!("{former}\n"));
    assert!(home.read(".cursor/mcp.json").contains("\"disabled\": true"));
}

#[test]
fn long_deadlines_are_told_against_the_clients_patience() {
    let home = Home::new();
    home.write("flows/workflows/long.yaml", &HELLO.replace("10s", "90s"));
    insta::assert_snapshot!(home.install("cursor --dir flows --print").err);
    insta::assert_snapshot!(home.install("claude-code --dir flows --print").err);
}

#[test]
fn wrong_usage_is_refused_before_anything_is_written() {
    let home = Home::new();
    let lines = [
        "claude-desktop --dir nowhere",
        "claude-desktop --project --dir flows",
        "cursor --dir flows --config nowhere.yaml",
        "cursor --env KEY=sk-1",
        "cursor --name a.b",
        "cursor --uninstall --print",
    ];
    let said = lines.map(|line| {
        let left = home.install(line);
        assert_eq!((left.code, left.out.as_str()), (2, ""), "{line}: {left}");
        format!("{line}\n  {}", left.err.lines().next().unwrap_or_default())
    });
    insta::assert_snapshot!(said.join("\n"));
    assert!(!home.path(".cursor").exists());
}

#[test]
fn the_help_teaches() {
    let left = Home::new().install("--help");
    assert_eq!((left.code, left.err.as_str()), (0, ""));
    assert!(left.out.lines().all(|line| line.chars().count() <= 100));
    insta::assert_snapshot!("help_install", left.out);
}
