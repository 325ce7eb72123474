//! `punctual doctor`: what this machine has and what is missing, with advice.

use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use tokio::task::JoinSet;

use super::exit::Exit;
use super::house::{House, is_simulated};
use super::list::key_state;
use super::output;
use super::place::{Place, Simulated, State, shown};
use super::probe::reach;
use super::summary::count;
use super::terminal::{Style, Terminal, wrap};
use crate::definition::config::Origin;

/// Longest wait for a provider's host.
const REACH: Duration = Duration::from_secs(3);

const EXAMPLES: &str = "\
Examples:
  punctual doctor               the folder that is served
  punctual doctor --dir ./team  another folder

Keys are looked for, never shown and never sent. Exit codes: 0 nothing is broken, 1 something is.";

/// Looks over configuration, keys, providers, clients and state, with advice
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Doctor {
    #[command(flatten)]
    place: Place,
    #[command(flatten)]
    state: State,
}

/// One thing that was looked at.
struct Finding {
    verdict: Verdict,
    what: String,
    advice: Option<String>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Verdict {
    Good,
    Note,
    Broken,
}

impl Finding {
    fn new(verdict: Verdict, what: impl Into<String>) -> Self {
        Self { verdict, what: what.into(), advice: None }
    }

    fn advise(mut self, advice: impl Into<String>) -> Self {
        self.advice = Some(advice.into());
        self
    }
}

impl Doctor {
    /// Runs the command.
    pub async fn run(self) -> Exit {
        if let Err(exit) = self.place.there() {
            return exit;
        }
        let terminal = output::screen();
        let house = House::open(&self.place, &Simulated::default()).await;
        let mut broken = false;
        let mut section = |title: &str, findings: Vec<Finding>| {
            output::result(terminal.paint(Style::Bold, title));
            for finding in findings {
                broken |= finding.verdict == Verdict::Broken;
                output::result(shown_finding(&finding, terminal));
            }
        };
        section("Definitions", definitions(&house));
        section("Providers", providers(&house).await);
        section("State", vec![state(&self.state)]);
        section("Clients", clients());
        if broken { Exit::Failed } else { Exit::Done }
    }
}

fn shown_finding(finding: &Finding, terminal: Terminal) -> String {
    let (mark, style) = match finding.verdict {
        Verdict::Good => ("✓", Style::Good),
        Verdict::Note => ("·", Style::Dim),
        Verdict::Broken => ("✗", Style::Bad),
    };
    let mut text = format!("  {} {}", terminal.paint(style, mark), finding.what);
    for line in finding.advice.iter().flat_map(|advice| wrap(advice, terminal.width - 6)) {
        text.push_str("\n      ");
        text.push_str(&line);
    }
    text
}

fn definitions(house: &House) -> Vec<Finding> {
    let mut findings = Vec::new();
    let catalog = &house.catalog;
    let workflows = count(catalog.workflows.len(), "workflow");
    findings.push(match house.folder.path() {
        None => Finding::new(
            Verdict::Note,
            format!("no folder found: the built-in examples are served ({workflows})"),
        )
        .advise("make ./workflows/NAME.yaml, or name a folder with --dir or PUNCTUAL_DIR"),
        Some(path) if !path.is_dir() => {
            Finding::new(Verdict::Broken, format!("the folder {} is not there", shown(path)))
                .advise("make it, or name another with --dir")
        }
        Some(_) if catalog.workflows.is_empty() => Finding::new(
            Verdict::Note,
            format!("folder: {} holds no workflow that can be served", house.folder_shown()),
        )
        .advise("a workflow is a file workflows/NAME.yaml"),
        Some(_) => {
            Finding::new(Verdict::Good, format!("folder: {} ({workflows})", house.folder_shown()))
        }
    });
    findings.push(match &catalog.configuration.origin {
        Origin::File(file) => Finding::new(Verdict::Good, format!("configuration: {}", shown(file))),
        Origin::Found(names) => {
            Finding::new(Verdict::Good, format!("no punctual.yaml; found: {}", names.join(", ")))
                .advise("models are built from these; write a punctual.yaml to choose them")
        }
        Origin::Simulated => Finding::new(
            Verdict::Note,
            "no punctual.yaml, no provider key in the environment, no local model server: the \
             simulator answers",
        )
        .advise(
            "every answer is made up and says so. Set OPENAI_API_KEY or ANTHROPIC_API_KEY, start Ollama \
             or llama.cpp, or write a punctual.yaml",
        ),
    });
    let errors = catalog.diagnostics.iter().filter(|found| found.is_error()).count();
    let warnings = catalog.diagnostics.len() - errors;
    findings.push(match (errors, warnings) {
        (0, 0) => Finding::new(Verdict::Good, "every file checks without a remark"),
        (0, n) => {
            Finding::new(Verdict::Note, count(n, "warning")).advise("'punctual check' shows them")
        }
        (n, _) => {
            Finding::new(Verdict::Broken, count(n, "error")).advise("'punctual check' shows them")
        }
    });
    for (name, why) in &catalog.configuration.unusable {
        findings.push(Finding::new(Verdict::Broken, format!("model '{name}' is unusable: {why}")));
    }
    findings
}

/// Keys and hosts of every provider, all hosts at once.
async fn providers(house: &House) -> Vec<Finding> {
    let providers = &house.catalog.configuration.providers;
    let mut reached: Vec<Option<Result<String, String>>> = vec![None; providers.len()];
    let mut looking = JoinSet::new();
    for (at, provider) in providers.iter().enumerate().filter(|(_, one)| !is_simulated(one)) {
        let url = provider.base_url.clone();
        looking.spawn(async move { (at, reach(&url, REACH).await) });
    }
    while let Some(Ok((at, result))) = looking.join_next().await {
        reached[at] = Some(result);
    }
    let mut findings = Vec::new();
    for (provider, reached) in providers.iter().zip(reached) {
        let Some(reached) = reached else { continue };
        let (style, key) = key_state(provider);
        findings.push(if style == Style::Bad {
            Finding::new(Verdict::Broken, format!("{}: key: {key}", provider.name)).advise(
                "export it where the client starts the server, or name another with api_key",
            )
        } else {
            Finding::new(Verdict::Good, format!("{}: key: {key}", provider.name))
        });
        findings.push(match reached {
            Ok(host) => {
                Finding::new(Verdict::Good, format!("{}: {host} can be reached", provider.name))
            }
            Err(why) => Finding::new(Verdict::Broken, format!("{}: {why}", provider.name)).advise(
                "check base_url, the network, and whether a proxy or firewall stands between",
            ),
        });
    }
    if findings.is_empty() {
        findings.push(Finding::new(Verdict::Note, "none but the simulator"));
    }
    findings
}

/// Whether runs can be kept.
fn state(state: &State) -> Finding {
    let Some(folder) = state.folder() else {
        return Finding::new(
            Verdict::Note,
            "neither HOME nor XDG_STATE_HOME is set: runs are not kept",
        )
        .advise("name a folder with --state");
    };
    let mark = folder.join(".doctor");
    let written = std::fs::create_dir_all(&folder).and_then(|()| std::fs::write(&mark, b""));
    let _ = std::fs::remove_file(&mark);
    match written {
        Ok(()) => Finding::new(Verdict::Good, format!("runs are kept in {}", shown(&folder))),
        Err(error) => {
            let why = super::argument::unreadable(&shown(&folder), &error);
            let why = why.replacen("cannot read", "cannot write to", 1);
            Finding::new(Verdict::Broken, why).advise("name another folder with --state")
        }
    }
}

/// MCP clients whose configuration is on this machine.
fn clients() -> Vec<Finding> {
    let home =
        std::env::var_os("HOME").or_else(|| std::env::var_os("USERPROFILE")).map(PathBuf::from);
    let Some(home) = home else {
        return vec![Finding::new(Verdict::Note, "HOME is not set: clients were not looked for")];
    };
    let config =
        std::env::var_os("XDG_CONFIG_HOME").map_or_else(|| home.join(".config"), PathBuf::from);
    let known: [(&str, Vec<PathBuf>); 5] = [
        (
            "Claude Desktop",
            vec![
                home.join("Library/Application Support/Claude"),
                config.join("Claude"),
                home.join("AppData/Roaming/Claude"),
            ],
        ),
        ("Claude Code", vec![home.join(".claude.json"), home.join(".claude")]),
        ("Cursor", vec![home.join(".cursor")]),
        (
            "VS Code",
            vec![
                home.join("Library/Application Support/Code/User"),
                config.join("Code/User"),
                home.join("AppData/Roaming/Code/User"),
            ],
        ),
        ("Codex", vec![home.join(".codex")]),
    ];
    let mut findings = Vec::new();
    for (name, places) in known {
        if let Some(place) = places.iter().find(|place| place.exists()) {
            let what = format!("{name}: {}", shown(place));
            findings.push(if mentions(place) {
                Finding::new(Verdict::Good, format!("{what}, knows punctual"))
            } else {
                Finding::new(Verdict::Note, what)
                    .advise("not connected yet; 'punctual serve --help' shows what to put into its configuration")
            });
        }
    }
    if findings.is_empty() {
        findings.push(
            Finding::new(
                Verdict::Note,
                "none found: no Claude Desktop, Claude Code, Cursor, VS Code or Codex",
            )
            .advise("any MCP client works: it starts 'punctual serve'"),
        );
    }
    findings
}

/// Whether one of a client's configuration files names this program.
fn mentions(place: &Path) -> bool {
    const FILES: [&str; 4] =
        ["claude_desktop_config.json", "mcp.json", "config.toml", "settings.json"];
    let files = FILES.iter().map(|name| place.join(name)).chain([place.to_owned()]);
    let small = |path: &PathBuf| {
        std::fs::metadata(path).is_ok_and(|about| about.is_file() && about.len() < 4 << 20)
    };
    files
        .filter(small)
        .any(|path| std::fs::read_to_string(path).is_ok_and(|text| text.contains("punctual")))
}
