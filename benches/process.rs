//! A server process with 100 workflows: CPU from its start to its first `tools/list` answer, and memory when
//! idle. Baseline: the same program asked for its version. `cargo bench --bench process` (Linux)
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a benchmark stops where its setting cannot be made"
)]

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

const WORKFLOWS: usize = 100;
const TIMES: usize = 20;
const BINARY: &str = env!("CARGO_BIN_EXE_punctual");

const INITIALIZE: &str = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"bench","version":"0"}}}
{"jsonrpc":"2.0","method":"notifications/initialized"}
{"jsonrpc":"2.0","id":2,"method":"tools/list"}
"#;

/// CPU time of all threads of a process, in milliseconds.
fn cpu_ms(child: &Child) -> f64 {
    let tasks = fs::read_dir(format!("/proc/{}/task", child.id())).unwrap();
    let nanos = tasks.filter_map(Result::ok).filter_map(|task| {
        let text = fs::read_to_string(task.path().join("schedstat")).ok()?;
        text.split(' ').next()?.parse::<f64>().ok()
    });
    nanos.sum::<f64>() / 1e6
}

fn memory_mib(child: &Child) -> f64 {
    let status = fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
    let kib: f64 = line.split_whitespace().nth(1).unwrap().parse().unwrap();
    kib / 1024.0
}

/// A folder of so many workflows: `support_triage` (four steps, six prompt files) and, where `mixed`, every
/// second one `summarize` (one step).
fn folder(mixed: bool) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("punctual-process-{}", std::process::id()));
    fs::create_dir_all(folder.join("workflows/prompts")).unwrap();
    let shipped = Path::new(env!("CARGO_MANIFEST_DIR")).join("workflows");
    let large = fs::read_to_string(shipped.join("support_triage.yaml")).unwrap();
    let small = fs::read_to_string(shipped.join("summarize.yaml")).unwrap();
    for entry in fs::read_dir(shipped.join("prompts")).unwrap().map(Result::unwrap) {
        fs::copy(entry.path(), folder.join("workflows/prompts").join(entry.file_name())).unwrap();
    }
    for n in 0..WORKFLOWS {
        let text = if mixed && n % 2 == 0 { &small } else { &large };
        fs::write(folder.join(format!("workflows/tool_{n}.yaml")), text).unwrap();
    }
    folder
}

/// Starts a server, waits for its list of tools, and measures.
fn serve(folder: &Path) -> (f64, f64) {
    let mut child = Command::new(BINARY)
        .args(["serve", "--simulate", "calm", "--dir"])
        .arg(folder)
        .env("XDG_STATE_HOME", folder.join("state"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    input.write_all(INITIALIZE.as_bytes()).unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let tools = lines.by_ref().map(Result::unwrap).find(|line| line.contains("\"id\":2")).unwrap();
    let cpu = cpu_ms(&child);
    assert!(tools.contains("tool_99"), "{}", &tools[..200.min(tools.len())]);
    let memory = memory_mib(&child);
    drop(input);
    child.wait().unwrap();
    (cpu, memory)
}

/// The whole of a process that only says its version, as far as the parent can see it.
fn version() -> f64 {
    let mut child = Command::new(BINARY).arg("--version").stdout(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let cpu = cpu_ms(&child);
    child.wait().unwrap();
    cpu
}

fn row(name: &str, unit: &str, mut values: Vec<f64>) {
    values.sort_by(f64::total_cmp);
    let median = values[values.len() / 2];
    println!("{name:46} best {:7.1} {unit}   median {median:7.1} {unit}", values[0]);
}

fn main() {
    for (mixed, what) in [(true, "shipped, one and four steps in turn"), (false, "four steps each")]
    {
        let folder = folder(mixed);
        let (mut cpu, mut memory, mut base) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..TIMES {
            base.push(version());
            let (ms, mib) = serve(&folder);
            cpu.push(ms);
            memory.push(mib);
        }
        fs::remove_dir_all(&folder).unwrap();
        println!("{WORKFLOWS} workflows ({what}), {TIMES} starts");
        row("baseline: punctual --version, CPU", "ms", base);
        row("start to the first tools/list answer, CPU", "ms", cpu);
        row("memory of the idle server", "MiB", memory);
    }
}
