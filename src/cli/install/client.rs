//! The MCP clients that an entry is written for: where it belongs, how it looks, how long they wait.

use std::path::PathBuf;
use std::time::Duration;

use clap::ValueEnum;

use super::environment::{Environment, System};

/// A client.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
pub enum Client {
    /// Claude Desktop.
    ClaudeDesktop,
    /// Claude Code.
    ClaudeCode,
    /// Cursor.
    Cursor,
    /// VS Code.
    #[value(name = "vscode")]
    VsCode,
    /// Codex.
    Codex,
}

/// How a client's file is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// JSON with the servers in this object of the root. Whether the client takes comments in it.
    Json {
        /// The object.
        servers: &'static str,
        /// Whether comments and trailing commas are read.
        comments: bool,
    },
    /// TOML with tables `[mcp_servers.NAME]`.
    Toml,
}

/// How an entry has a variable passed on without holding its value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Passing {
    /// Not at all: the client starts servers with what the entry holds, and expands nothing.
    Never,
    /// By `env` with a reference in the client's own form.
    Reference(Reference),
    /// By `env`, with a value that the client asks for once and keeps.
    Input,
    /// By the names in `env_vars`.
    Names,
}

/// The forms of references to variables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reference {
    /// `${NAME:-}`: empty where the variable is unset; a bare `${NAME}` would drop the whole server then.
    Defaulted,
    /// `${env:NAME}`
    Env,
}

impl Client {
    /// All of them.
    pub const ALL: [Self; 5] =
        [Self::ClaudeDesktop, Self::ClaudeCode, Self::Cursor, Self::VsCode, Self::Codex];

    /// What people call it.
    pub const fn title(self) -> &'static str {
        match self {
            Self::ClaudeDesktop => "Claude Desktop",
            Self::ClaudeCode => "Claude Code",
            Self::Cursor => "Cursor",
            Self::VsCode => "VS Code",
            Self::Codex => "Codex",
        }
    }

    /// Its name as an argument.
    pub const fn word(self) -> &'static str {
        match self {
            Self::ClaudeDesktop => "claude-desktop",
            Self::ClaudeCode => "claude-code",
            Self::Cursor => "cursor",
            Self::VsCode => "vscode",
            Self::Codex => "codex",
        }
    }

    /// How its file is written.
    pub const fn format(self) -> Format {
        match self {
            Self::ClaudeDesktop | Self::ClaudeCode => {
                Format::Json { servers: "mcpServers", comments: false }
            }
            Self::Cursor => Format::Json { servers: "mcpServers", comments: true },
            Self::VsCode => Format::Json { servers: "servers", comments: true },
            Self::Codex => Format::Toml,
        }
    }

    /// How variables reach the server.
    pub const fn passing(self) -> Passing {
        match self {
            Self::ClaudeDesktop => Passing::Never,
            Self::ClaudeCode => Passing::Reference(Reference::Defaulted),
            Self::Cursor => Passing::Reference(Reference::Env),
            Self::VsCode => Passing::Input,
            Self::Codex => Passing::Names,
        }
    }

    /// After how long it gives a call up; `None` where that is hours. Reported for Claude Desktop (60 s in some of
    /// its windows, 4 min in others) and VS Code, written into the entry for Codex, the SDK's for Cursor.
    pub const fn patience(self) -> Option<Duration> {
        match self {
            Self::ClaudeDesktop | Self::Cursor | Self::Codex => Some(Duration::from_secs(60)),
            Self::VsCode => Some(Duration::from_secs(300)),
            Self::ClaudeCode => None,
        }
    }

    /// What makes it read its file again.
    pub const fn restart(self) -> &'static str {
        match self {
            Self::ClaudeDesktop => {
                "Quit Claude Desktop completely (closing its window is not enough) and start it again."
            }
            Self::ClaudeCode => {
                "Start a new session of Claude Code; /mcp shows whether it is connected."
            }
            Self::Cursor => "Restart Cursor, or switch the server on in its settings under MCP.",
            Self::VsCode => {
                "In VS Code run 'MCP: List Servers' and start it; tools are offered in agent mode."
            }
            Self::Codex => "Start a new session of Codex; /mcp shows whether it is connected.",
        }
    }

    /// The client's own folder or file, that shows whether it is on this machine.
    pub fn home(self, environment: &Environment) -> Option<PathBuf> {
        match self {
            Self::ClaudeDesktop => environment.claude_desktop(),
            Self::ClaudeCode => environment.claude_code(),
            Self::Cursor => Some(environment.home()?.join(".cursor")),
            Self::VsCode => Some(environment.application("Code")?.join("User")),
            Self::Codex => environment.codex(),
        }
    }

    /// The file that the entry of a person belongs into; `None` where the environment names no home.
    pub fn file(self, environment: &Environment) -> Option<PathBuf> {
        let home = self.home(environment)?;
        Some(match self {
            Self::ClaudeDesktop => home.join("claude_desktop_config.json"),
            // The client's home is the file itself.
            Self::ClaudeCode => home,
            Self::Cursor | Self::VsCode => home.join("mcp.json"),
            Self::Codex => home.join("config.toml"),
        })
    }

    /// The file of a project, below its folder; `None` where the client has none.
    pub const fn project_file(self) -> Option<&'static str> {
        match self {
            Self::ClaudeDesktop => None,
            Self::ClaudeCode => Some(".mcp.json"),
            Self::Cursor => Some(".cursor/mcp.json"),
            Self::VsCode => Some(".vscode/mcp.json"),
            Self::Codex => Some(".codex/config.toml"),
        }
    }
}

impl Environment {
    /// Where desktop applications keep what is theirs: Electron's `appData`.
    fn application(&self, name: &str) -> Option<PathBuf> {
        let base = match self.system {
            System::MacOs => self.home()?.join("Library").join("Application Support"),
            System::Windows => match &self.app_data {
                Some(folder) => folder.clone(),
                None => self.home()?.join("AppData").join("Roaming"),
            },
            System::Linux => match &self.xdg_config {
                Some(folder) => folder.clone(),
                None => self.home()?.join(".config"),
            },
        };
        Some(base.join(name))
    }

    /// On Windows the packaged application sees a folder of its own under the name of the usual one.
    fn claude_desktop(&self) -> Option<PathBuf> {
        match &self.claude_package {
            Some(package) if self.system == System::Windows => {
                Some(package.join("LocalCache").join("Roaming").join("Claude"))
            }
            Some(_) | None => self.application("Claude"),
        }
    }

    fn claude_code(&self) -> Option<PathBuf> {
        let folder = self.claude_config.as_ref().or(self.home.as_ref())?;
        Some(folder.join(".claude.json"))
    }

    fn codex(&self) -> Option<PathBuf> {
        match &self.codex_home {
            Some(folder) => Some(folder.clone()),
            None => Some(self.home()?.join(".codex")),
        }
    }
}
