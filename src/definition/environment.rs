//! Which environment variables are set. A value, so that loading is testable; keys' values stay outside.

use std::collections::BTreeMap;
use std::path::PathBuf;

/// The process's environment as far as definitions need it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Environment {
    /// Variables of folders, with their values.
    folders: BTreeMap<String, PathBuf>,
    /// Variables of AWS regions, with their values.
    regions: BTreeMap<String, String>,
    /// Names of all variables that are set and not empty.
    set: Vec<String>,
    /// Local servers that were found answering.
    found_local: Vec<FoundLocal>,
    /// Whether every key counts as there.
    assumes_keys: bool,
}

/// A local model server on its usual port, as the caller has found it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundLocal {
    /// The preset: `ollama`, `llama_cpp`, `vllm`.
    pub kind: String,
    /// Where it answers.
    pub base_url: String,
    /// The models it serves.
    pub models: Vec<String>,
}

const FOLDERS: [&str; 3] = ["PUNCTUAL_DIR", "XDG_CONFIG_HOME", "HOME"];
/// What AWS's own programs read a region from, the first first.
const REGIONS: [&str; 2] = ["AWS_REGION", "AWS_DEFAULT_REGION"];

impl Environment {
    /// Takes names and values in; only the values of folders and regions are kept.
    ///
    /// ```
    /// use punctual::definition::environment::Environment;
    /// let environment = Environment::of([("OPENAI_API_KEY", "secret"), ("EMPTY", "")]);
    /// assert!(environment.is_set("OPENAI_API_KEY"));
    /// assert!(!environment.is_set("EMPTY"));
    /// assert!(!format!("{environment:?}").contains("secret"));
    /// ```
    #[must_use]
    pub fn of<'a>(vars: impl IntoIterator<Item = (&'a str, &'a str)>) -> Self {
        let mut environment = Self::default();
        for (name, value) in vars {
            environment.take(name, value);
        }
        environment
    }

    /// The process's own environment. Variables that are not Unicode count as unset.
    #[must_use]
    pub fn of_process() -> Self {
        let mut environment = Self::default();
        for (name, value) in std::env::vars_os() {
            if let (Some(name), Some(value)) = (name.to_str(), value.to_str()) {
                environment.take(name, value);
            }
        }
        environment
    }

    fn take(&mut self, name: &str, value: &str) {
        if value.trim().is_empty() {
            return;
        }
        if FOLDERS.contains(&name) {
            self.folders.insert(name.to_owned(), PathBuf::from(value));
        }
        if REGIONS.contains(&name) {
            self.regions.insert(name.to_owned(), value.trim().to_owned());
        }
        self.set.push(name.to_owned());
    }

    /// The same environment with local servers that answer.
    #[must_use]
    pub fn with_local(mut self, found: Vec<FoundLocal>) -> Self {
        self.found_local = found;
        self
    }

    /// The same environment with every key that a configuration names counted as there: where nothing is sent, none is
    /// needed.
    #[must_use]
    pub fn assuming_keys(mut self) -> Self {
        self.assumes_keys = true;
        self
    }

    /// Whether every key counts as there.
    #[must_use]
    pub fn assumes_keys(&self) -> bool {
        self.assumes_keys
    }

    /// Whether a variable is set and not blank.
    #[must_use]
    pub fn is_set(&self, name: &str) -> bool {
        self.set.iter().any(|n| n == name)
    }

    /// The folder a variable names.
    #[must_use]
    pub fn folder(&self, name: &str) -> Option<&PathBuf> {
        self.folders.get(name)
    }

    /// The AWS region, and the variable that names it.
    #[must_use]
    pub fn region(&self) -> Option<(&'static str, &str)> {
        REGIONS.iter().find_map(|name| Some((*name, self.regions.get(*name)?.as_str())))
    }

    /// Local servers that were found.
    #[must_use]
    pub fn found_local(&self) -> &[FoundLocal] {
        &self.found_local
    }
}
