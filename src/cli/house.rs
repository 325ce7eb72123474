//! Puts the rooms together: a folder and the environment become a catalog, its providers become lanes, and
//! these with a clock and a store become the host that runs live in.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::place::{Place, Simulated, State, shown};
use super::probe;
use crate::definition::catalog::{Catalog, cases_beside, load, load_cases};
use crate::definition::config::Origin;
use crate::definition::environment::Environment;
use crate::definition::folder::Folder;
use crate::domain::provider::{Dialect, ProviderSettings, SimulatorSettings};
use crate::driver::clock::{Clock, system_time};
use crate::driver::{Host, HostSettings, Lanes};
use crate::provider::mark::mark;
use crate::provider::registry::{ConnectError, connect};
use crate::provider::simulated::{Pace, Recordings, Simulator};
use crate::provider::{BoxFuture, Broken, Exchange, Provider, Reply, Sink};
use crate::workflow::Workflow;

/// Of so many attempts that have lost and are paid for anyway, one is read to its end for its true time: 6 %.
const DRAIN: u64 = 16;

/// A folder, loaded.
#[derive(Clone, Debug)]
pub struct House {
    /// Which folder.
    pub folder: Folder,
    /// What it holds.
    pub catalog: Arc<Catalog>,
}

impl House {
    /// Loads the folder that `place` names.
    pub async fn open(place: &Place, simulated: &Simulated) -> Self {
        let environment = Environment::of_process();
        let folder = Folder::resolve(place.dir.as_deref(), Path::new("."), &environment);
        Self::of_folder(folder, place, simulated, environment).await
    }

    /// Loads `folder`.
    pub async fn of_folder(
        folder: Folder,
        place: &Place,
        simulated: &Simulated,
        environment: Environment,
    ) -> Self {
        let (folder, environment) = prepared(folder, place, simulated, environment).await;
        let catalog = load(&folder, &environment, None);
        Self { folder, catalog: Arc::new(catalog) }
    }

    /// The same house with the cases beside a workflow file, in place of those of a workflow of its name.
    #[must_use]
    pub fn with_cases_of(self, file: &Path, workflow: &Workflow) -> Self {
        let Some(path) = cases_beside(file) else { return self };
        let cases = load_cases(&path, Some(workflow)).cases;
        let mut catalog = Catalog::clone(&self.catalog);
        catalog.cases.insert(workflow.name.clone(), Arc::new(cases));
        Self { catalog: Arc::new(catalog), ..self }
    }

    /// Whether every answer is made up.
    #[must_use]
    pub fn simulated(&self) -> bool {
        self.catalog.configuration.is_simulated()
    }

    /// A host for this folder's runs, and what is wrong with providers it cannot use.
    ///
    /// # Errors
    /// Options that do not fit together.
    pub fn host(
        &self,
        simulated: &Simulated,
        state: &State,
    ) -> Result<(Arc<Host>, Vec<String>), String> {
        simulated.fits(self.simulated())?;
        let clock = Clock::sped_up(simulated.speed());
        let (lanes, wrong) = lanes(&self.catalog, clock);
        let limits = self.catalog.configuration.limits;
        let settings =
            HostSettings { lanes, limits, store: state.store(), clock, seed: simulated.seed };
        // What the simulator shows is no knowledge of anyone's models.
        let times = if self.simulated() { None } else { state.curves() };
        Ok((Arc::new(Host::new(settings).learning(times, DRAIN)), wrong))
    }

    /// Where the definitions are, in words.
    #[must_use]
    pub fn folder_shown(&self) -> String {
        match self.folder.path() {
            None => "built-in examples".to_owned(),
            Some(path) if path == Path::new(".") => "current folder".to_owned(),
            Some(path) => shown(path),
        }
    }

    /// Where providers and models come from, in words.
    #[must_use]
    pub fn origin_shown(&self) -> String {
        match &self.catalog.configuration.origin {
            Origin::File(file) => shown(file),
            Origin::Found(names) => format!("none; found: {}", names.join(", ")),
            Origin::Simulated => match self.folder.simulation() {
                Some((regime, seed)) => format!("simulator ({regime}, seed {seed}), as asked for"),
                None => {
                    "none, and no key and no local model server: the simulator answers".to_owned()
                }
            },
        }
    }
}

/// The folder a workflow file belongs to: its own, or the one above it where its own is called `workflows`.
#[must_use]
pub fn folder_of(file: &Path) -> PathBuf {
    let own = file.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let above = own.parent().map(|p| if p.as_os_str().is_empty() { Path::new(".") } else { p });
    match above {
        Some(above) if own.file_name().is_some_and(|name| name == "workflows") => above.to_owned(),
        Some(_) | None => own.to_owned(),
    }
}

/// The folder and environment that a load, or a watch, begins with.
pub async fn prepared(
    mut folder: Folder,
    place: &Place,
    simulated: &Simulated,
    mut environment: Environment,
) -> (Folder, Environment) {
    if let Some(file) = &place.config {
        folder = folder.with_configuration(file);
    }
    if let Some((regime, seed)) = simulated.regime() {
        folder = folder.simulated(regime, seed);
    }
    let configured = folder.configuration_file().is_some_and(|(file, _)| file.exists());
    if !configured && folder.simulation().is_none() {
        environment = environment.with_local(probe::local_servers().await);
    }
    (folder, environment)
}

/// Every provider of a catalog that can be sent exchanges, and what is wrong with the others. Simulated ones know its
/// cases.
#[must_use]
pub fn lanes(catalog: &Catalog, clock: Clock) -> (Lanes, Vec<String>) {
    let configuration = &catalog.configuration;
    let pace = Pace::of(clock.speed()).unwrap_or(Pace::REAL);
    let recordings = recordings(catalog);
    let simulate = |one: &ProviderSettings, settings: &SimulatorSettings| -> Arc<dyn Provider> {
        match Simulator::new(&one.name, settings, pace, recordings.clone()) {
            Ok(simulator) => Arc::new(simulator),
            Err(error) => Arc::new(NoRegime { why: error.to_string() }),
        }
    };
    let mut lanes = Lanes::default();
    let mut add = |settings: &[ProviderSettings]| -> Result<(), Vec<ConnectError>> {
        let providers = connect(settings, &simulate, system_time)?;
        for one in settings {
            if let Some(provider) = providers.get(&one.name) {
                lanes.add_marked(&one.name, provider, one.limits, clock, mark(one));
            }
        }
        Ok(())
    };
    let mut wrong = Vec::new();
    if add(&configuration.providers).is_err() {
        // One wrong provider must not take the others down.
        for one in &configuration.providers {
            let errors = add(std::slice::from_ref(one)).err().unwrap_or_default();
            wrong.extend(errors.iter().map(ToString::to_string));
        }
    }
    (lanes, wrong)
}

/// What a catalog's cases have in store for the simulator.
#[must_use]
pub fn recordings(catalog: &Catalog) -> Arc<Recordings> {
    Arc::new(Recordings::of(catalog.cases.values().map(AsRef::as_ref)))
}

/// Whether a provider's answers are made up.
#[must_use]
pub fn is_simulated(settings: &ProviderSettings) -> bool {
    matches!(settings.dialect, Dialect::Simulated(_))
}

/// A simulated provider whose regime is none.
struct NoRegime {
    why: String,
}

impl Provider for NoRegime {
    fn exchange<'a>(
        &'a self,
        _exchange: &'a Exchange,
        _sink: &'a mut dyn Sink,
    ) -> BoxFuture<'a, Result<Reply, Broken>> {
        use crate::domain::failure::{Failure, FailureClass};
        let failure =
            Failure::of_attempt(FailureClass::BadRequest, "no such regime", self.why.clone());
        Box::pin(async move { Err(failure.into()) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_in_a_folder_called_workflows_belongs_to_the_folder_above() {
        for (file, folder) in [
            ("a.yaml", "."),
            ("workflows/a.yaml", "."),
            ("x/workflows/a.yaml", "x"),
            ("x/a.yaml", "x"),
            ("/a.yaml", "/"),
        ] {
            assert_eq!(folder_of(Path::new(file)), PathBuf::from(folder), "{file}");
        }
    }
}
