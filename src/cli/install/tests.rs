use std::path::{Path, PathBuf};

use super::client::{Client, Format};
use super::entry::Launch;
use super::environment::{Environment, System, claude_package, found};
use super::{entry_name, program, variable};

fn launch(keys: &[&str]) -> Launch {
    Launch {
        name: "punctual".to_owned(),
        command: "/opt/bin/punctual".to_owned(),
        args: ["serve", "--dir", "/home/me/my flows"].map(str::to_owned).to_vec(),
        keys: keys.iter().map(|key| (*key).to_owned()).collect(),
    }
}

fn place(client: Client, environment: &Environment) -> String {
    let file = client.file(environment);
    file.map_or("none".to_owned(), |file| file.to_string_lossy().replace('\\', "/"))
}

#[test]
fn every_client_keeps_its_file_where_its_system_has_it() {
    let mut all = Vec::new();
    for system in [System::MacOs, System::Windows, System::Linux] {
        let environment = Environment::of(system, "/h");
        for client in Client::ALL {
            all.push(format!("{system:?} {}: {}", client.word(), place(client, &environment)));
        }
    }
    insta::assert_snapshot!(all.join("\n"), @r"
    MacOs claude-desktop: /h/Library/Application Support/Claude/claude_desktop_config.json
    MacOs claude-code: /h/.claude.json
    MacOs cursor: /h/.cursor/mcp.json
    MacOs vscode: /h/Library/Application Support/Code/User/mcp.json
    MacOs codex: /h/.codex/config.toml
    Windows claude-desktop: /h/AppData/Roaming/Claude/claude_desktop_config.json
    Windows claude-code: /h/.claude.json
    Windows cursor: /h/.cursor/mcp.json
    Windows vscode: /h/AppData/Roaming/Code/User/mcp.json
    Windows codex: /h/.codex/config.toml
    Linux claude-desktop: /h/.config/Claude/claude_desktop_config.json
    Linux claude-code: /h/.claude.json
    Linux cursor: /h/.cursor/mcp.json
    Linux vscode: /h/.config/Code/User/mcp.json
    Linux codex: /h/.codex/config.toml
    ");
}

#[test]
fn variables_that_move_a_clients_folder_are_heeded_on_their_system_alone() {
    let moved = |system| Environment {
        app_data: Some("/roaming".into()),
        claude_package: Some("/local/Packages/Claude_x".into()),
        xdg_config: Some("/config".into()),
        claude_config: Some("/claude".into()),
        codex_home: Some("/codex".into()),
        ..Environment::of(system, "/h")
    };
    let at = |client, system| place(client, &moved(system));
    let desktop = |system| at(Client::ClaudeDesktop, system);
    let file = "claude_desktop_config.json";
    let package = "/local/Packages/Claude_x/LocalCache/Roaming/Claude";
    assert_eq!(desktop(System::Windows), format!("{package}/{file}"));
    assert_eq!(desktop(System::Linux), format!("/config/Claude/{file}"));
    assert_eq!(desktop(System::MacOs), format!("/h/Library/Application Support/Claude/{file}"));
    assert_eq!(at(Client::VsCode, System::Windows), "/roaming/Code/User/mcp.json");
    assert_eq!(at(Client::VsCode, System::Linux), "/config/Code/User/mcp.json");
    assert_eq!(at(Client::ClaudeCode, System::MacOs), "/claude/.claude.json");
    assert_eq!(at(Client::Codex, System::Linux), "/codex/config.toml");
    let none = Environment { home: None, ..Environment::of(System::Linux, "/h") };
    assert!(Client::ALL.iter().all(|client| place(*client, &none) == "none"));
}

#[test]
fn a_packaged_claude_desktop_is_found_by_its_folder() {
    let local = tempfile::tempdir().unwrap();
    assert_eq!(claude_package(local.path()), None);
    let packages = local.path().join("Packages");
    std::fs::create_dir_all(packages.join("Claudette_1/LocalCache")).unwrap();
    std::fs::create_dir_all(packages.join("Claude_empty")).unwrap();
    assert_eq!(claude_package(local.path()), None);
    std::fs::create_dir_all(packages.join("Claude_pzs8/LocalCache")).unwrap();
    assert_eq!(claude_package(local.path()), Some(packages.join("Claude_pzs8")));
}

#[test]
fn every_client_is_told_in_its_own_words() {
    let mut all = Vec::new();
    for client in Client::ALL {
        let snippet = launch(&["OPENAI_API_KEY", "B_KEY"]).snippet(client).unwrap();
        all.push(format!("{}\n{snippet}", client.title()));
    }
    insta::assert_snapshot!(all.join("\n"));
}

#[test]
fn windows_paths_are_escaped_as_their_file_wants_it() {
    let command = r#"C:\Program Files\punctual "x".exe"#.to_owned();
    for client in Client::ALL {
        let launch = Launch { command: command.clone(), ..launch(&[]) };
        let text = launch.snippet(client).unwrap();
        let read = match client.format() {
            Format::Json { servers, .. } => super::json::command(&text, servers, "punctual"),
            Format::Toml => super::toml::command(&text, "punctual"),
        };
        assert_eq!(read.unwrap().unwrap().1, command);
    }
}

#[test]
fn an_entry_of_another_program_is_not_taken_over() {
    let said = |text: &str| {
        let problem = program::ours(Client::Cursor, text, &launch(&[])).unwrap_err();
        format!("{}: {}", problem.place(text).trim_start_matches(':'), problem.what)
    };
    assert_eq!(
        said(r#"{"mcpServers": {"punctual": {"command": "npx", "args": []}}}"#),
        "1:17: there is a 'punctual' that starts npx: choose another --name"
    );
    assert_eq!(
        said("{\"mcpServers\": {\n \"punctual\": {\"url\": \"http://x\"}}}"),
        "2:2: there is a 'punctual' that starts no program: choose another --name"
    );
    for command in ["punctual", "/old/punctual", r"C:\\bin\\Punctual.EXE", "/x/punctual-0.2"] {
        let text = format!(r#"{{"mcpServers": {{"punctual": {{"command": "{command}"}}}}}}"#);
        assert_eq!(program::ours(Client::Cursor, &text, &launch(&[])), Ok(()), "{command}");
    }
}

#[test]
fn clients_that_are_here_are_found_with_what_they_start() {
    let home = tempfile::tempdir().unwrap();
    let environment = Environment::of(System::Linux, home.path());
    assert_eq!(found(&environment, "punctual"), []);
    let write = |name: &str, text: &str| {
        let path = home.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    };
    write(".cursor/mcp.json", r#"{"mcpServers": {"punctual": {"command": "/bin/punctual"}}}"#);
    write(".codex/config.toml", "[mcp_servers.other]\ncommand = 'x'\n");
    write(".config/Code/User/mcp.json", "{\n  broken");
    std::fs::create_dir_all(home.path().join(".config/Claude")).unwrap();
    let said: Vec<String> = found(&environment, "punctual")
        .iter()
        .map(|one| format!("{}: {:?} {:?}", one.client.word(), one.configured, one.unreadable))
        .collect();
    insta::assert_snapshot!(said.join("\n"), @r#"
    claude-desktop: None None
    cursor: Some("/bin/punctual") None
    vscode: None Some("2:3: this is no JSON: expected string for object property")
    codex: None None
    "#);
}

#[test]
fn names_are_what_every_client_takes() {
    assert_eq!(entry_name("team_flows-2"), Ok("team_flows-2".to_owned()));
    for name in ["", "a b", "a.b", "é", &"a".repeat(25)] {
        assert!(entry_name(name).unwrap_err().contains("letters, digits"), "{name}");
    }
    assert_eq!(variable("A_KEY2"), Ok("A_KEY2".to_owned()));
    assert!(variable("A=sk-1").unwrap_err().contains("no value is ever written"));
    for name in ["", "2A", "A-B", "$A"] {
        assert!(variable(name).unwrap_err().contains("letters, digits"), "{name}");
    }
}

#[test]
fn paths_hold_from_every_folder() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    std::fs::create_dir(root.join("a")).unwrap();
    assert_eq!(program::absolute(&root.join("a/./")), Ok(root.join("a")));
    assert_eq!(program::absolute(&root.join("a/../a")), Ok(root.join("a")));
    assert!(program::absolute(Path::new("x")).unwrap().is_absolute());
    assert!(program::fleeting("/x/target/release/punctual").is_some());
    assert!(program::fleeting(r"C:\x\target\debug\punctual.exe").is_some());
    assert!(program::fleeting("/x/target/punctual").is_none());
}

#[cfg(unix)]
#[test]
fn the_program_is_named_as_it_is_found() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    for name in ["cellar/0.1", "bin", "other"] {
        std::fs::create_dir_all(root.join(name)).unwrap();
    }
    let own = root.join("cellar/0.1/punctual");
    std::fs::write(&own, "x").unwrap();
    std::fs::write(root.join("other/punctual"), "y").unwrap();
    let paths = || ["relative".into(), root.join("other"), root.join("bin")].into_iter();
    assert_eq!(program::on_path(&own, paths()), None);
    std::os::unix::fs::symlink(&own, root.join("bin/punctual")).unwrap();
    let link: PathBuf = root.join("bin/punctual");
    assert_eq!(program::on_path(&own, paths()), Some(link));
}
