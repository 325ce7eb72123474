//! Options that several commands share: which folder, which state, which simulator.

use std::path::{Path, PathBuf};

use clap::Args;

use super::argument::unreadable;
use super::exit::Exit;
use super::output;
use crate::definition::config::{DEFAULT_REGIME, DEFAULT_SEED, REGIMES};
use crate::definition::environment::Environment;
use crate::store::{CurveStore, RunStore};

const DIR_HELP: &str = "Folder with punctual.yaml or workflows/. Default: $PUNCTUAL_DIR, else the current \
    folder where it holds one of these, else ~/.config/punctual, else the built-in examples";
const STATE_HELP: &str = "Folder of the latest runs. Default: $XDG_STATE_HOME/punctual, else \
    ~/.local/state/punctual";

/// Where definitions are.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Where")]
pub struct Place {
    /// The folder of definitions.
    #[arg(long, value_name = "DIR", help = DIR_HELP)]
    pub dir: Option<PathBuf>,
    /// The configuration file, where it is another than the folder's.
    #[arg(
        long,
        value_name = "FILE",
        help = "Configuration file, where it is not the folder's punctual.yaml"
    )]
    pub config: Option<PathBuf>,
}

/// Where the latest runs are kept.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Where")]
pub struct State {
    /// The folder of the latest runs.
    #[arg(long, value_name = "DIR", help = STATE_HELP)]
    pub state: Option<PathBuf>,
}

/// Whether the simulator answers instead of models.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Simulator")]
pub struct Regime {
    /// Asks no model: answers are made up and fare as in this regime (calm, pooled, busy, brownout, down,
    /// fastlong)
    #[arg(long, value_name = "REGIME", value_parser = clap::builder::PossibleValuesParser::new(REGIMES))]
    #[arg(hide_possible_values = true, num_args = 0..=1, default_missing_value = DEFAULT_REGIME)]
    pub simulate: Option<String>,
}

/// The same, with its luck and its clock.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Simulator")]
pub struct Simulated {
    /// Whether.
    #[command(flatten)]
    pub regime: Regime,
    /// Seeds the simulator's luck: the same seed draws the same
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    /// Simulated seconds a real second, 0.01 to 1000; for 'run' also 'max', which waits for nothing
    #[arg(long, value_name = "X", value_parser = speed)]
    pub speed: Option<Speed>,
}

/// How simulated time passes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Speed {
    /// So many times as fast as the machine's.
    Factor(f64),
    /// At once, from one event to the next.
    Virtual,
}

impl From<Regime> for Simulated {
    fn from(regime: Regime) -> Self {
        Self { regime, ..Self::default() }
    }
}

impl Simulated {
    /// Regime and seed, where simulation is asked for.
    #[must_use]
    pub fn regime(&self) -> Option<(&str, u64)> {
        Some((self.regime.simulate.as_deref()?, self.seed.unwrap_or(DEFAULT_SEED)))
    }

    /// How fast its clock runs.
    #[must_use]
    pub fn speed(&self) -> f64 {
        match self.speed {
            Some(Speed::Factor(factor)) => factor,
            Some(Speed::Virtual) | None => 1.0,
        }
    }

    /// Real models have no seed and cannot be sped up.
    ///
    /// # Errors
    /// `--seed` or `--speed` without the simulator.
    pub fn fits(&self, simulated: bool) -> Result<(), String> {
        if !simulated && (self.speed.is_some() || self.seed.is_some()) {
            return Err(
                "--seed and --speed are for the simulator: add --simulate, or leave them out"
                    .to_owned(),
            );
        }
        Ok(())
    }
}

impl Place {
    /// A configuration file that is named must be there.
    ///
    /// # Errors
    /// It cannot be read; already told.
    pub fn there(&self) -> Result<(), Exit> {
        let Some(file) = &self.config else { return Ok(()) };
        match std::fs::metadata(file) {
            Ok(about) if about.is_dir() => {
                let why = format!("--config {}: it is a folder, not a file", shown(file));
                Err(output::refuse(Exit::Usage, why))
            }
            Ok(_) => Ok(()),
            Err(error) => {
                let why = format!("--config: {}", unreadable(&shown(file), &error));
                Err(output::refuse(Exit::Usage, why))
            }
        }
    }
}

impl State {
    /// The folder; `None` where neither an option nor a home says where.
    #[must_use]
    pub fn folder(&self) -> Option<PathBuf> {
        if let Some(state) = &self.state {
            return Some(state.clone());
        }
        let named = |name: &str| {
            let path = PathBuf::from(std::env::var_os(name)?);
            path.is_absolute().then_some(path)
        };
        let base = named("XDG_STATE_HOME").or_else(|| Some(named("HOME")?.join(".local/state")));
        base.map(|base| base.join("punctual"))
    }

    /// ` --state DIR` where it was named, for the commands that are shown.
    #[must_use]
    pub fn named(&self) -> String {
        self.state
            .as_deref()
            .map(|folder| format!(" --state {}", shown(folder)))
            .unwrap_or_default()
    }

    /// The runs kept there.
    #[must_use]
    pub fn store(&self) -> Option<RunStore> {
        self.folder().map(|folder| RunStore::at(&folder))
    }

    /// What was learned of times, kept there too.
    #[must_use]
    pub fn curves(&self) -> Option<CurveStore> {
        self.folder().map(|folder| CurveStore::at(&folder))
    }
}

/// A path as people write it: relative to the home folder where it is below it.
#[must_use]
pub fn shown(path: &Path) -> String {
    let home = Environment::of_process().folder("HOME").cloned();
    match home.as_ref().and_then(|home| path.strip_prefix(home).ok()) {
        Some(rest) if rest.as_os_str().is_empty() => "~".to_owned(),
        Some(rest) => format!("~/{}", rest.display()),
        None => path.display().to_string(),
    }
}

fn speed(text: &str) -> Result<Speed, String> {
    match text.parse::<f64>() {
        _ if text == "max" => Ok(Speed::Virtual),
        Ok(speed) if (0.01..=1_000.0).contains(&speed) => Ok(Speed::Factor(speed)),
        Ok(_) | Err(_) => Err("give a number from 0.01 to 1000, or 'max'".to_owned()),
    }
}
