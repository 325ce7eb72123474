//! Which folder is served, and where in it workflows and configuration stand.

use std::path::{Path, PathBuf};

use crate::definition::environment::Environment;

/// Name of the configuration file.
pub const CONFIGURATION_FILE: &str = "punctual.yaml";
/// Name of the folder of workflows.
pub const WORKFLOWS: &str = "workflows";

/// What is served.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Folder {
    place: Place,
    configuration: Option<PathBuf>,
    simulated: Option<(String, u64)>,
    rehearsed: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Place {
    Disk(PathBuf),
    Builtin,
}

impl Folder {
    /// A folder on disk. It need not exist yet.
    #[must_use]
    pub fn at(path: impl Into<PathBuf>) -> Self {
        Self {
            place: Place::Disk(path.into()),
            configuration: None,
            simulated: None,
            rehearsed: false,
        }
    }

    /// The examples built into the program.
    #[must_use]
    pub const fn builtin() -> Self {
        Self { place: Place::Builtin, configuration: None, simulated: None, rehearsed: false }
    }

    /// The folder to serve: `dir` where given, else `$PUNCTUAL_DIR`, else `current` where it holds
    /// `punctual.yaml` or `workflows/`, else `$XDG_CONFIG_HOME/punctual` (`~/.config/punctual`) where that
    /// exists, else the built-in examples.
    #[must_use]
    pub fn resolve(dir: Option<&Path>, current: &Path, environment: &Environment) -> Self {
        if let Some(dir) = dir {
            return Self::at(dir);
        }
        if let Some(dir) = environment.folder("PUNCTUAL_DIR") {
            return Self::at(dir);
        }
        if current.join(CONFIGURATION_FILE).is_file() || current.join(WORKFLOWS).is_dir() {
            return Self::at(current);
        }
        let home = || environment.folder("HOME").map(|home| home.join(".config"));
        let config = environment.folder("XDG_CONFIG_HOME").cloned().or_else(home);
        match config.map(|config| config.join("punctual")).filter(|folder| folder.is_dir()) {
            Some(folder) => Self::at(folder),
            None => Self::builtin(),
        }
    }

    /// The same folder with a configuration file of another place (`--config`).
    #[must_use]
    pub fn with_configuration(mut self, file: impl Into<PathBuf>) -> Self {
        self.configuration = Some(file.into());
        self
    }

    /// The same folder, answered by the simulator alone.
    #[must_use]
    pub fn simulated(mut self, regime: &str, seed: u64) -> Self {
        self.simulated = Some((regime.to_owned(), seed));
        self
    }

    /// The same folder with each of its providers played by the simulator: models, paths and policies stay as they are,
    /// and no key is needed. Without a configuration file it is the simulator's own models.
    #[must_use]
    pub fn rehearsed(mut self) -> Self {
        self.rehearsed = true;
        self
    }

    /// Whether its providers are played by the simulator.
    #[must_use]
    pub const fn is_rehearsed(&self) -> bool {
        self.rehearsed
    }

    /// The folder's path; `None` for the built-in examples.
    #[must_use]
    pub fn path(&self) -> Option<&Path> {
        match &self.place {
            Place::Disk(path) => Some(path),
            Place::Builtin => None,
        }
    }

    /// Whether the built-in examples are served.
    #[must_use]
    pub fn is_builtin(&self) -> bool {
        self.place == Place::Builtin
    }

    /// Regime and seed where simulation is asked for.
    #[must_use]
    pub fn simulation(&self) -> Option<(&str, u64)> {
        self.simulated.as_ref().map(|(regime, seed)| (regime.as_str(), *seed))
    }

    /// The configuration file, whether it was named, and thus must be there.
    #[must_use]
    pub fn configuration_file(&self) -> Option<(PathBuf, bool)> {
        match (&self.configuration, &self.place) {
            (Some(file), _) => Some((file.clone(), true)),
            (None, Place::Disk(path)) => Some((path.join(CONFIGURATION_FILE), false)),
            (None, Place::Builtin) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_are_looked_for_in_the_documented_order() {
        let home = tempfile::tempdir().unwrap();
        let current = tempfile::tempdir().unwrap();
        let path = home.path().to_str().unwrap();
        let none = Environment::default();
        assert!(Folder::resolve(None, current.path(), &none).is_builtin());
        let config = Environment::of([("XDG_CONFIG_HOME", path)]);
        assert!(Folder::resolve(None, current.path(), &config).is_builtin());
        std::fs::create_dir(home.path().join("punctual")).unwrap();
        let expected = Folder::at(home.path().join("punctual"));
        assert_eq!(Folder::resolve(None, current.path(), &config), expected);
        std::fs::create_dir(current.path().join("workflows")).unwrap();
        assert_eq!(Folder::resolve(None, current.path(), &config), Folder::at(current.path()));
        let named = Environment::of([("PUNCTUAL_DIR", path)]);
        assert_eq!(Folder::resolve(None, current.path(), &named), Folder::at(path));
        let dir = Path::new("/given");
        assert_eq!(Folder::resolve(Some(dir), current.path(), &named), Folder::at(dir));
    }
}
