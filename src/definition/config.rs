//! `punctual.yaml` → `Configuration`: providers, logical models, defaults. Secrets by reference only.

use std::path::PathBuf;
use std::time::Duration;

use crate::definition::raw::{RawBudget, RawSettings};
use crate::definition::source::Spot;
use crate::domain::model::{ModelProfile, Structured};
use crate::domain::money::{Price, Usd};
use crate::domain::provider::{
    Capacity, Dialect, Limits, OnCancel, ProviderSettings, ServerLimits, SimulatorSettings,
};

mod bedrock;
pub mod catalogue;
mod found;
mod lower;
pub mod preset;
mod profile;
mod read;
#[cfg(test)]
mod tests;

pub use found::from_environment;
pub use lower::{
    ALIAS_CYCLE, BAD_NAME, KEY_NOT_SET, NO_PATH, NOT_BUILT, UNKNOWN_MODEL, UNKNOWN_PROVIDER, list,
    load, near,
};
pub(in crate::definition) use read::RawConfiguration;

/// The regime that is served where nothing else can be.
pub const DEFAULT_REGIME: &str = "pooled";
/// The seed of its draws.
pub const DEFAULT_SEED: u64 = 1;
/// The regimes the simulator knows.
pub const REGIMES: [&str; 6] = ["calm", "pooled", "busy", "brownout", "down", "fastlong"];
/// The deadline where no file says one: below the 60 s after which common clients hang up.
pub const DEFAULT_DEADLINE: Duration = Duration::from_secs(45);

/// The server's configuration, checked.
#[derive(Clone, Debug, PartialEq)]
pub struct Configuration {
    /// Where it came from.
    pub origin: Origin,
    /// Folders of workflows, as written; relative ones are relative to the file.
    pub workflows: Vec<PathBuf>,
    /// Every usable provider, by name unique.
    pub providers: Vec<ProviderSettings>,
    /// Logical models, each with at least one path.
    pub models: Vec<LogicalModel>,
    /// Models of the file that have no usable path, and why.
    pub unusable: Vec<(String, String)>,
    /// The names of the models that the simulator stands in for; empty where no configuration names any.
    pub stood_for: Vec<String>,
    /// `defaults`: model settings and policy.
    pub settings: RawSettings,
    /// `defaults.deadline`
    pub deadline: Duration,
    /// Where it is said; `None` where no file says it.
    pub deadline_spot: Option<Spot>,
    /// `defaults.budget`
    pub budget: RawBudget,
    /// `limits`
    pub limits: ServerLimits,
}

/// Where a configuration came from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// This file.
    File(PathBuf),
    /// Keys in the environment and local servers; the names of the providers.
    Found(Vec<String>),
    /// Nothing was found, or simulation was asked for.
    Simulated,
}

/// A logical model.
#[derive(Clone, Debug, PartialEq)]
pub struct LogicalModel {
    /// Its name.
    pub name: String,
    /// Its paths, best first.
    pub paths: Vec<ModelPath>,
    /// The name of a quicker one.
    pub faster: Option<String>,
    /// The name of a more capable one.
    pub stronger: Option<String>,
}

/// A model at a provider.
#[derive(Clone, Debug, PartialEq)]
pub struct ModelPath {
    /// The provider's name.
    pub provider: String,
    /// What is known about the model there.
    pub profile: ModelProfile,
}

impl Configuration {
    /// A configuration without providers and models: what is left when `punctual.yaml` is broken.
    #[must_use]
    pub fn empty(origin: Origin) -> Self {
        Self {
            origin,
            workflows: vec![PathBuf::from("workflows")],
            providers: Vec::new(),
            models: Vec::new(),
            unusable: Vec::new(),
            stood_for: Vec::new(),
            settings: RawSettings::default(),
            deadline: DEFAULT_DEADLINE,
            deadline_spot: None,
            budget: RawBudget::default(),
            limits: ServerLimits::default(),
        }
    }

    /// The built-in simulator in one of its regimes: three providers, four models. Workflows may name any
    /// model on it; names it does not know mean `balanced`.
    ///
    /// ```
    /// use punctual::definition::config::Configuration;
    /// let configuration = Configuration::simulated("calm", 7);
    /// assert!(configuration.is_simulated());
    /// assert_eq!(configuration.model("anything").unwrap().name, "balanced");
    /// ```
    #[must_use]
    pub fn simulated(regime: &str, seed: u64) -> Self {
        let provider = |name: &str| ProviderSettings {
            name: name.to_owned(),
            dialect: Dialect::Simulated(SimulatorSettings { regime: regime.to_owned(), seed }),
            base_url: String::new(),
            api_key: None,
            headers: Vec::new(),
            limits: Limits::default(),
            on_cancel: OnCancel::Billed,
            capacity: Capacity::Shared,
        };
        let a_flagship = simulated_path("sim_a", "flagship", (2.0, 8.0), 0.95);
        let b_flagship = simulated_path("sim_b", "flagship", (2.0, 8.0), 0.95);
        let b_strong = simulated_path("sim_b", "strong", (5.0, 20.0), 0.98);
        let c_light = simulated_path("sim_c", "light", (0.5, 2.0), 0.9);
        let model =
            |name: &str, paths: Vec<ModelPath>, faster: Option<&str>, stronger: Option<&str>| {
                LogicalModel {
                    name: name.to_owned(),
                    paths,
                    faster: faster.map(str::to_owned),
                    stronger: stronger.map(str::to_owned),
                }
            };
        let balanced = vec![a_flagship.clone(), b_flagship.clone(), c_light.clone()];
        let models = vec![
            model("quick", vec![c_light, a_flagship.clone()], None, Some("balanced")),
            model("balanced", balanced.clone(), Some("quick"), Some("best")),
            model("best", vec![b_strong, a_flagship], Some("balanced"), None),
            model("judge", balanced, Some("quick"), Some("best")),
        ];
        let providers = vec![provider("sim_a"), provider("sim_b"), provider("sim_c")];
        Self { providers, models, ..Self::empty(Origin::Simulated) }
    }

    /// This configuration's folders, defaults and limits on the simulator's providers and models.
    #[must_use]
    pub fn on_simulator(&self, regime: &str, seed: u64) -> Self {
        let simulated = Self::simulated(regime, seed);
        Self {
            origin: Origin::Simulated,
            providers: simulated.providers,
            models: simulated.models,
            unusable: Vec::new(),
            stood_for: self.named(),
            ..self.clone()
        }
    }

    /// The names of its models, or of those that the simulator stands in for.
    fn named(&self) -> Vec<String> {
        if self.origin == Origin::Simulated {
            return self.stood_for.clone();
        }
        let unusable = self.unusable.iter().map(|(name, _)| name.clone());
        self.models.iter().map(|model| model.name.clone()).chain(unusable).collect()
    }

    /// Whether a workflow may name this model without a doubt. On the simulator `balanced` answers for a name that
    /// nothing knows.
    #[must_use]
    pub fn knows(&self, name: &str) -> bool {
        self.models.iter().any(|model| model.name == name)
            || self.stood_for.iter().any(|known| known == name)
    }

    /// This configuration with each provider played by the simulator; one of defaults alone gets the simulator's models.
    #[must_use]
    pub fn rehearsed(&self, regime: &str, seed: u64) -> Self {
        if matches!(self.origin, Origin::Found(_) | Origin::Simulated) {
            return self.on_simulator(regime, seed);
        }
        let mut played = self.clone();
        for provider in &mut played.providers {
            let settings = SimulatorSettings { regime: regime.to_owned(), seed };
            provider.dialect = Dialect::Simulated(settings);
        }
        played
    }

    /// Whether every answer is made up by the simulator.
    #[must_use]
    pub fn is_simulated(&self) -> bool {
        !self.providers.is_empty()
            && self.providers.iter().all(|p| matches!(p.dialect, Dialect::Simulated(_)))
    }

    /// The logical model of that name.
    #[must_use]
    pub fn model(&self, name: &str) -> Option<&LogicalModel> {
        let named = |name: &str| self.models.iter().find(|m| m.name == name);
        let fallback = || (self.origin == Origin::Simulated).then(|| named("balanced")).flatten();
        named(name).or_else(fallback)
    }

    /// The model of steps that name none: `defaults.model`, else `balanced`, else the only one.
    #[must_use]
    pub fn default_model(&self) -> Option<&str> {
        if let Some(model) = &self.settings.model {
            return Some(&model.value);
        }
        let balanced = self.models.iter().find(|m| m.name == "balanced");
        balanced.or(self.models.first().filter(|_| self.models.len() == 1)).map(|m| m.name.as_str())
    }

    /// The provider of that name.
    #[must_use]
    pub fn provider(&self, name: &str) -> Option<&ProviderSettings> {
        self.providers.iter().find(|p| p.name == name)
    }
}

fn simulated_path(provider: &str, id: &str, dollars: (f64, f64), trust: f64) -> ModelPath {
    let price = Usd::from_dollars(dollars.0)
        .zip(Usd::from_dollars(dollars.1))
        .map(|(input, output)| Price { input, output, cached_input: None });
    ModelPath {
        provider: provider.to_owned(),
        profile: ModelProfile {
            context: Some(200_000),
            max_output: Some(32_000),
            structured: Structured::Schema,
            price,
            trust,
            ..ModelProfile::plain(id)
        },
    }
}
