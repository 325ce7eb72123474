//! Which configuration a folder is served on: its file's, the environment's, or the last good one.

use std::path::Path;
use std::sync::Arc;

use super::shelves::slashes;
use super::{Catalog, GONE, Loading, diagnostic};
use crate::definition::config::{self, Configuration, Origin};
use crate::definition::diagnostic::Diagnostic;
use crate::definition::environment::Environment;
use crate::definition::folder::Folder;
use crate::definition::shelf::read_file;
use crate::workflow::case::{CASE_REGIME, CASE_SEED};

impl Loading<'_> {
    /// The configuration; the last good one where the file is broken or gone.
    pub(super) fn configuration(
        &mut self,
        folder: &Folder,
        environment: &Environment,
    ) -> Arc<Configuration> {
        if folder.is_rehearsed() {
            return self.rehearsed(folder, environment);
        }
        let loaded = self.read_configuration(folder, environment);
        if folder.simulation().is_some() {
            // Keys play no part where nothing is sent.
            self.diagnostics.retain(|d| d.code != config::KEY_NOT_SET && d.code != config::NO_PATH);
        }
        match (folder.simulation(), loaded) {
            (Some((regime, seed)), Some(loaded)) => Arc::new(loaded.on_simulator(regime, seed)),
            (Some((regime, seed)), None) => Arc::new(Configuration::simulated(regime, seed)),
            (None, loaded) => {
                let broken = self.diagnostics.iter().any(Diagnostic::is_error);
                match (self.previous, loaded) {
                    (Some(previous), _) if broken => Arc::clone(&previous.configuration),
                    (_, Some(loaded)) => Arc::new(loaded),
                    (_, None) => {
                        let file = folder.configuration_file().map(|f| f.0).unwrap_or_default();
                        Arc::new(Configuration::empty(Origin::File(file)))
                    }
                }
            }
        }
    }

    /// The file's models with every provider played, or the simulator's own.
    fn rehearsed(&mut self, folder: &Folder, environment: &Environment) -> Arc<Configuration> {
        let written = folder.configuration_file().filter(|(file, named)| *named || file.exists());
        if written.is_none() {
            return Arc::new(Configuration::simulated(CASE_REGIME, CASE_SEED));
        }
        let environment = environment.clone().assuming_keys();
        if let Some(loaded) = self.read_configuration(folder, &environment) {
            return Arc::new(loaded.rehearsed(CASE_REGIME, CASE_SEED));
        }
        let file = folder.configuration_file().map(|f| f.0).unwrap_or_default();
        Arc::new(Configuration::empty(Origin::File(file)))
    }

    fn read_configuration(
        &mut self,
        folder: &Folder,
        environment: &Environment,
    ) -> Option<Configuration> {
        let Some((file, named)) = folder.configuration_file() else {
            return Some(config::from_environment(environment));
        };
        self.files.push(file.clone());
        let name = file.file_name().map(|f| f.to_string_lossy().into_owned()).unwrap_or_default();
        let label = if named { slashes(&file) } else { name.clone() };
        if !named && !file.exists() {
            if !self.serves(&file) {
                return Some(config::from_environment(environment));
            }
            let message = format!("{label} was there and is gone");
            let mut gone = Diagnostic::of_file(GONE, label, message);
            gone.help(
                "its last good version stays in force until it is back, or the server restarts",
            );
            self.diagnostics.push(gone);
            return None;
        }
        match read_file(&file, label.clone(), &name) {
            Ok(source) => {
                let (configuration, found) = config::load(source, &file, environment);
                self.diagnostics.extend(found);
                configuration
            }
            Err(problem) => {
                self.diagnostics.push(diagnostic(&problem, &label));
                None
            }
        }
    }

    /// Whether what is served until now rests on `file`: without it nothing else may take its place, as whoever
    /// asks real models must not be given made-up answers.
    fn serves(&self, file: &Path) -> bool {
        let of_file = |catalog: &Catalog| match &catalog.configuration.origin {
            Origin::File(origin) => origin == file && !catalog.configuration.providers.is_empty(),
            Origin::Found(_) | Origin::Simulated => false,
        };
        self.previous.is_some_and(of_file)
    }
}
