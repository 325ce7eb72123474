//! The entry itself: how a client is told to start the server, in the client's own words.

use serde_json::{Map, Value, json};

use super::client::{Client, Format, Passing, Reference};
use super::edit::{Merged, Problem};
use super::json::Wanted;
use super::{json, toml};

/// How long Codex waits for a call, in seconds: a call is answered or handed over before that.
const CODEX_TOOL_TIMEOUT_S: u64 = 60;

/// How the server is started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Launch {
    /// The entry's name.
    pub name: String,
    /// The program, by its absolute path.
    pub command: String,
    /// Its arguments, paths in them absolute.
    pub args: Vec<String>,
    /// Variables that must reach it. Their values are known nowhere here.
    pub keys: Vec<String>,
}

impl Launch {
    /// What only names the entry and the program, for taking it out.
    pub fn named(name: &str, command: String) -> Self {
        Self { name: name.to_owned(), command, args: Vec::new(), keys: Vec::new() }
    }

    /// The entry as the client wants it.
    pub fn entry(&self, client: Client) -> Map<String, Value> {
        let mut entry = Map::new();
        if matches!(client, Client::ClaudeCode | Client::Cursor | Client::VsCode) {
            entry.insert("type".to_owned(), json!("stdio"));
        }
        entry.insert("command".to_owned(), json!(self.command));
        entry.insert("args".to_owned(), json!(self.args));
        let passing = client.passing();
        if !self.keys.is_empty() {
            match passing {
                Passing::Never => {}
                Passing::Names => {
                    entry.insert("env_vars".to_owned(), json!(self.keys));
                }
                Passing::Reference(_) | Passing::Input => {
                    let pair = |key: &String| (key.clone(), json!(self.reference(passing, key)));
                    let env: Map<String, Value> = self.keys.iter().map(pair).collect();
                    entry.insert("env".to_owned(), Value::Object(env));
                }
            }
        }
        if client == Client::Codex {
            entry.insert("tool_timeout_sec".to_owned(), json!(CODEX_TOOL_TIMEOUT_S));
        }
        entry
    }

    fn reference(&self, passing: Passing, key: &str) -> String {
        match passing {
            Passing::Reference(Reference::Env) => format!("${{env:{key}}}"),
            Passing::Input => format!("${{input:{}-{key}}}", self.name),
            Passing::Reference(Reference::Defaulted) | Passing::Never | Passing::Names => {
                format!("${{{key}:-}}")
            }
        }
    }

    /// What VS Code asks for.
    fn inputs(&self, client: Client) -> Vec<Value> {
        if client.passing() != Passing::Input {
            return Vec::new();
        }
        let input = |key: &String| {
            json!({
                "type": "promptString",
                "id": format!("{}-{key}", self.name),
                "description": format!("{key} for {}", self.name),
                "password": true,
            })
        };
        self.keys.iter().map(input).collect()
    }

    fn wanted(&self, client: Client, servers: &'static str) -> Wanted {
        let (entry, inputs) = (self.entry(client), self.inputs(client));
        Wanted { servers, name: self.name.clone(), entry, inputs }
    }

    /// The text of the client's file with the entry in it.
    ///
    /// # Errors
    /// See [`json::put`] and [`toml::put`].
    pub fn put(&self, client: Client, text: &str) -> Result<Merged, Problem> {
        match client.format() {
            Format::Json { servers, .. } => json::put(text, &self.wanted(client, servers)),
            Format::Toml => toml::put(text, &self.name, &self.entry(client)),
        }
    }

    /// The text of the client's file without the entry.
    ///
    /// # Errors
    /// See [`json::take`] and [`toml::take`].
    pub fn take(&self, client: Client, text: &str) -> Result<Merged, Problem> {
        match client.format() {
            Format::Json { servers, .. } => json::take(text, &self.wanted(client, servers)),
            Format::Toml => toml::take(text, &self.name),
        }
    }

    /// A file that holds nothing but the entry.
    ///
    /// # Errors
    /// None that is known of.
    pub fn snippet(&self, client: Client) -> Result<String, Problem> {
        self.put(client, "").map(|merged| merged.text)
    }
}
