//! What of the machine decides where clients keep their files. A value, so that every system is tested on one.

use std::path::{Path, PathBuf};

use super::client::{Client, Format};
use super::{json, toml};

/// Largest client file that is read; Claude Code's holds its whole state.
pub const FILE_MAX: u64 = 64 << 20;
/// Most folders looked at for a packaged Claude Desktop.
const PACKAGES_MAX: usize = 10_000;

/// The systems whose places are known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum System {
    /// macOS.
    MacOs,
    /// Windows.
    Windows,
    /// Linux and everything else.
    Linux,
}

/// The folders that clients' files are found by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Environment {
    /// Which system.
    pub system: System,
    /// The person's folder.
    pub home: Option<PathBuf>,
    /// `%APPDATA%`
    pub app_data: Option<PathBuf>,
    /// `%LOCALAPPDATA%\Packages\Claude_…`, where Claude Desktop is installed as a package.
    pub claude_package: Option<PathBuf>,
    /// `$XDG_CONFIG_HOME`
    pub xdg_config: Option<PathBuf>,
    /// `$CLAUDE_CONFIG_DIR`
    pub claude_config: Option<PathBuf>,
    /// `$CODEX_HOME`
    pub codex_home: Option<PathBuf>,
}

/// A client that is on this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientFound {
    /// Which.
    pub client: Client,
    /// Its file, whether it exists or not.
    pub path: PathBuf,
    /// The command of its entry `punctual`, where it has one.
    pub configured: Option<String>,
    /// Why its file cannot be read, where it cannot.
    pub unreadable: Option<String>,
}

impl System {
    /// The one that this program was built for.
    pub const fn here() -> Self {
        if cfg!(target_os = "macos") {
            Self::MacOs
        } else if cfg!(windows) {
            Self::Windows
        } else {
            Self::Linux
        }
    }
}

impl Environment {
    /// A machine with nothing but a home.
    #[cfg(test)]
    pub fn of(system: System, home: impl Into<PathBuf>) -> Self {
        Self {
            system,
            home: Some(home.into()),
            app_data: None,
            claude_package: None,
            xdg_config: None,
            claude_config: None,
            codex_home: None,
        }
    }

    /// The process's own.
    pub fn of_process() -> Self {
        let system = System::here();
        let folder = |name: &str| {
            let path = PathBuf::from(std::env::var_os(name)?);
            path.is_absolute().then_some(path)
        };
        let home = match system {
            System::Windows => folder("USERPROFILE").or_else(|| folder("HOME")),
            System::MacOs | System::Linux => folder("HOME"),
        };
        Self {
            system,
            home,
            app_data: folder("APPDATA"),
            claude_package: folder("LOCALAPPDATA").and_then(|local| claude_package(&local)),
            xdg_config: folder("XDG_CONFIG_HOME"),
            claude_config: folder("CLAUDE_CONFIG_DIR"),
            codex_home: folder("CODEX_HOME"),
        }
    }

    /// The person's folder.
    pub fn home(&self) -> Option<&Path> {
        self.home.as_deref()
    }
}

/// The folder of a packaged Claude Desktop under `%LOCALAPPDATA%`.
pub fn claude_package(local: &Path) -> Option<PathBuf> {
    let packages = std::fs::read_dir(local.join("Packages")).ok()?;
    let mut found: Vec<PathBuf> = packages
        .take(PACKAGES_MAX)
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| {
            let name = path.file_name().and_then(|name| name.to_str());
            name.is_some_and(|name| name.starts_with("Claude_")) && path.join("LocalCache").is_dir()
        })
        .collect();
    found.sort();
    found.into_iter().next()
}

/// The clients on this machine, and which of them have an entry of this name.
pub fn found(environment: &Environment, name: &str) -> Vec<ClientFound> {
    let mut all = Vec::new();
    for client in Client::ALL {
        let (Some(home), Some(path)) = (client.home(environment), client.file(environment)) else {
            continue;
        };
        if !home.exists() {
            continue;
        }
        let (configured, unreadable) = match read(&path) {
            Ok(None) => (None, None),
            Ok(Some(text)) => match command(client, &text, name) {
                Ok(found) => (found.map(|(_, command)| command), None),
                Err(problem) => (None, Some(problem)),
            },
            Err(why) => (None, Some(why)),
        };
        all.push(ClientFound { client, path, configured, unreadable });
    }
    all
}

/// The command of an entry, and where it stands.
fn command(client: Client, text: &str, name: &str) -> Result<Option<(usize, String)>, String> {
    let found = match client.format() {
        Format::Json { servers, .. } => json::command(text, servers, name),
        Format::Toml => toml::command(text, name),
    };
    found.map_err(|problem| {
        format!("{}: {}", problem.place(text).trim_start_matches(':'), problem.what)
    })
}

/// A client's file as text; `None` where there is none.
///
/// # Errors
/// It cannot be read, is too large, or is not UTF-8; in words, without the file's name.
pub fn read(path: &Path) -> Result<Option<String>, String> {
    use std::io::Read;
    let file = match std::fs::File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(said(&error)),
    };
    let mut bytes = Vec::new();
    file.take(FILE_MAX + 1).read_to_end(&mut bytes).map_err(|error| said(&error))?;
    if bytes.len() as u64 > FILE_MAX {
        return Err("it is larger than 64 MiB".to_owned());
    }
    String::from_utf8(bytes)
        .map(Some)
        .map_err(|error| format!("it is not UTF-8 (at byte {})", error.utf8_error().valid_up_to()))
}

/// What the file system says, without its numbers.
pub fn said(error: &std::io::Error) -> String {
    let text = error.to_string();
    text.split(" (os error").next().unwrap_or(&text).to_lowercase()
}
