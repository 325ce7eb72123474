//! Loader, configuration, expressions, templates and providers' replies against inputs that nobody would write.
//!
//! `tests/fuzz.sh SECONDS` runs all targets for so long together. Inputs are mutations of `tests/definitions` and of recorded replies; one
//! that makes the target say something new joins the pool. Not libFuzzer: its instrumentation would have the whole
//! tree of dependencies built once more, on a nightly compiler, for code that has no `unsafe` to watch. Each target
//! runs in a child, so that an overflowing stack ends only that; a watchdog ends what hangs. A failing input is
//! kept under `target/fuzz/`, and `cargo bench --bench fuzz -- TARGET FILE` feeds it again.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a program for testers: it stops where its setting cannot be made, and measures real time"
)]

#[path = "../tests/properties/luck.rs"]
#[allow(dead_code, reason = "the properties make choices of more kinds")]
mod luck;
#[path = "../tests/properties/mutation.rs"]
mod mutation;
mod target;

use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio, exit};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime};

use luck::Luck;
use target::{TARGETS, Target};

/// Longest time one input may take: beyond it, it hangs.
const HANG: Duration = Duration::from_secs(5);
/// Inputs between two signs of life.
const SIGN: u64 = 64;
/// Most inputs of the pool.
const POOL: usize = 2_000;
/// Seconds of each target where the benchmarks are only tried out.
const TRIAL_SECONDS: u64 = 1;
/// Exit codes of a child.
const HUNG: i32 = 86;
const PANICKED: i32 = 87;

/// The input that is being looked at, counted from 1.
static CURRENT: AtomicU64 = AtomicU64::new(0);

fn main() {
    let args: Vec<String> = std::env::args().skip(1).filter(|arg| arg != "--bench").collect();
    let words: Vec<&str> = args.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["--child", name, seed, seconds, careful] => {
            child(
                named(name),
                seed.parse().unwrap(),
                seconds.parse().unwrap(),
                careful.parse().unwrap(),
            );
        }
        [name, file] => {
            let text = fs::read_to_string(file).unwrap();
            println!("{}", (named(name).look)(&text));
        }
        ["--test"] => all(TRIAL_SECONDS * TARGETS.len() as u64, 1),
        [seconds] => all(seconds.parse().expect("seconds"), fresh_seed()),
        _ => all(20, fresh_seed()),
    }
}

fn fresh_seed() -> u64 {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(1, |d| d.as_secs())
}

fn named(name: &str) -> &'static Target {
    TARGETS.iter().find(|target| target.name == name).expect("a target's name")
}

/// Runs every target in turn and counts.
fn all(seconds: u64, seed: u64) {
    let each = (seconds / TARGETS.len() as u64).max(1);
    let (mut passed, mut failed) = (0, 0);
    for target in &TARGETS {
        match run(target, seed, each) {
            Ok(inputs) => {
                passed += 1;
                println!("{:14} {inputs} inputs in {each} s, seed {seed}", target.name);
            }
            Err(problem) => {
                failed += 1;
                println!("{:14} {problem}, seed {seed}", target.name);
            }
        }
    }
    println!("{passed} passed, {failed} failed");
    exit(i32::from(failed > 0));
}

/// One target in a child. The number of inputs, or what went wrong.
fn run(target: &Target, seed: u64, seconds: u64) -> Result<u64, String> {
    let (last, code) = follow(spawn(target, seed, seconds, 0));
    let what = match code {
        Some(0) => return Ok(last),
        Some(HUNG) => "hangs",
        Some(PANICKED) => "panics",
        _ => "ends the process",
    };
    // The same inputs once more, each kept before it is looked at.
    let _ = follow(spawn(target, seed, seconds * 4 + 30, last.max(1)));
    Err(format!("{what}: see {}", kept(target).display()))
}

fn kept(target: &Target) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("target/fuzz/{}", target.name))
}

fn spawn(target: &Target, seed: u64, seconds: u64, careful: u64) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--child", target.name, &seed.to_string(), &seconds.to_string()])
        .arg(careful.to_string())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap()
}

/// Reads the signs of life. The last of them, and the exit code.
fn follow(mut child: Child) -> (u64, Option<i32>) {
    let lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
    let last = lines.filter_map(|line| line.parse().ok()).last().unwrap_or(0);
    (last, child.wait().unwrap().code())
}

/// Looks at one input after the other. From `careful` on (0 never), keeps each before.
fn child(target: &Target, seed: u64, seconds: u64, careful: u64) {
    std::env::set_current_dir(env!("CARGO_MANIFEST_DIR")).unwrap();
    fs::create_dir_all("target/fuzz").unwrap();
    std::thread::spawn(watch);
    let until = Instant::now() + Duration::from_secs(seconds);
    let mut pool = (target.corpus)();
    assert!(!pool.is_empty());
    let mut heard = BTreeSet::new();
    let mut luck = Luck(seed);
    let mut count: u64 = 0;
    while Instant::now() < until {
        count += 1;
        let (text, other) = (luck.pick(&pool).clone(), luck.pick(&pool).clone());
        let input = mutation::mutate(&text, &other, &mut luck);
        if careful > 0 && count + SIGN >= careful {
            fs::write(kept(target), &input).unwrap();
        }
        CURRENT.store(count, Ordering::Relaxed);
        let look = std::panic::AssertUnwindSafe(|| (target.look)(&input));
        let Ok(said) = std::panic::catch_unwind(look) else {
            fs::write(kept(target), &input).unwrap();
            say(count);
            exit(PANICKED);
        };
        if pool.len() < POOL && heard.insert(said) {
            pool.push(input);
        }
        if count.is_multiple_of(SIGN) {
            say(count);
        }
    }
    say(count);
}

fn say(count: u64) {
    println!("{count}");
    std::io::stdout().flush().unwrap();
}

/// Ends the process where one input takes too long.
fn watch() {
    let mut last = (0, Instant::now());
    loop {
        std::thread::sleep(Duration::from_millis(200));
        let now = CURRENT.load(Ordering::Relaxed);
        if now != last.0 {
            last = (now, Instant::now());
        } else if now > 0 && last.1.elapsed() > HANG {
            exit(HUNG);
        }
    }
}
