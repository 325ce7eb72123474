//! A configuration without a file: keys in the environment, local servers, else the simulator.

use crate::definition::config::bedrock;
use crate::definition::config::catalogue::{Tier, catalogue};
use crate::definition::config::preset::{PRESETS, Preset, Wire};
use crate::definition::config::profile::profile;
use crate::definition::config::{
    Configuration, DEFAULT_REGIME, DEFAULT_SEED, LogicalModel, ModelPath, Origin,
};
use crate::definition::environment::{Environment, FoundLocal};
use crate::domain::provider::{Dialect, Limits, ProviderSettings, SecretRef, SimulatorSettings};

/// What can be served with the keys and local servers at hand; the simulator where there are none.
///
/// ```
/// use punctual::definition::config::{Origin, from_environment};
/// use punctual::definition::environment::Environment;
/// let found = from_environment(&Environment::of([("ANTHROPIC_API_KEY", "k")]));
/// assert_eq!(found.origin, Origin::Found(vec!["anthropic".to_owned()]));
/// assert!(from_environment(&Environment::default()).is_simulated());
/// ```
#[must_use]
pub fn from_environment(environment: &Environment) -> Configuration {
    let mut providers = Vec::new();
    let mut tiers = Tiers::default();
    for preset in &PRESETS {
        let Some(key) = preset.key.filter(|key| environment.is_set(key)) else { continue };
        let rows = catalogue().facts.iter().filter(|facts| facts.kind == preset.kind);
        let rows: Vec<_> = rows.filter(|facts| facts.tier != Tier::Unused).collect();
        let secret = SecretRef::Env(key.to_owned());
        let found = match preset.wire {
            Wire::Bedrock if !preset.is_built() => None,
            Wire::Bedrock => bedrock::found(environment).and_then(|access| {
                let dialect = Dialect::Bedrock(access.settings);
                let base_url = access.base_url?;
                Some(ProviderSettings { dialect, ..provider(preset, &base_url, access.api_key) })
            }),
            Wire::Chat | Wire::Responses | Wire::Anthropic | Wire::Gemini | Wire::Simulated => {
                preset.base_url.map(|base_url| provider(preset, base_url, Some(secret)))
            }
        };
        let (Some(found), false) = (found, rows.is_empty()) else { continue };
        providers.push(found);
        for facts in rows {
            let path =
                ModelPath { provider: preset.kind.to_owned(), profile: profile(preset, &facts.id) };
            tiers.add(facts.tier, path);
        }
    }
    for found in environment.found_local() {
        add_local(found, &mut providers, &mut tiers);
    }
    if providers.is_empty() {
        return Configuration::simulated(DEFAULT_REGIME, DEFAULT_SEED);
    }
    let origin = Origin::Found(providers.iter().map(|p| p.name.clone()).collect());
    Configuration { providers, models: tiers.models(), ..Configuration::empty(origin) }
}

fn provider(preset: &Preset, base_url: &str, api_key: Option<SecretRef>) -> ProviderSettings {
    let simulator = SimulatorSettings { regime: DEFAULT_REGIME.to_owned(), seed: DEFAULT_SEED };
    ProviderSettings {
        name: preset.kind.to_owned(),
        dialect: preset.dialect(simulator),
        base_url: base_url.trim_end_matches('/').to_owned(),
        api_key,
        headers: Vec::new(),
        limits: Limits { concurrent: preset.local.then_some(1), ..Limits::default() },
        on_cancel: preset.on_cancel(),
        capacity: preset.capacity(),
    }
}

fn add_local(found: &FoundLocal, providers: &mut Vec<ProviderSettings>, tiers: &mut Tiers) {
    let taken = providers.iter().any(|p| p.name == found.kind);
    let (Some(preset), Some(model), false) = (Preset::of(&found.kind), found.models.first(), taken)
    else {
        return;
    };
    providers.push(provider(preset, &found.base_url, None));
    let mut profile = profile(preset, model);
    profile.price = Some(crate::domain::money::Price::default());
    for tier in [Tier::Quick, Tier::Balanced, Tier::Best] {
        tiers.add(tier, ModelPath { provider: found.kind.clone(), profile: profile.clone() });
    }
}

/// Paths by the logical model they serve.
#[derive(Default)]
struct Tiers {
    quick: Vec<ModelPath>,
    balanced: Vec<ModelPath>,
    best: Vec<ModelPath>,
}

impl Tiers {
    fn add(&mut self, tier: Tier, path: ModelPath) {
        match tier {
            Tier::Quick => self.quick.push(path),
            Tier::Balanced => self.balanced.push(path),
            Tier::Best => self.best.push(path),
            Tier::Unused => {}
        }
    }

    /// The four logical models, an empty one filled from its neighbours.
    fn models(self) -> Vec<LogicalModel> {
        let or = |paths: &[ModelPath], others: [&[ModelPath]; 2]| -> Vec<ModelPath> {
            let candidates = [paths, others[0], others[1]];
            candidates.into_iter().find(|p| !p.is_empty()).unwrap_or_default().to_vec()
        };
        let quick = or(&self.quick, [&self.balanced, &self.best]);
        let balanced = or(&self.balanced, [&self.best, &self.quick]);
        let best = or(&self.best, [&self.balanced, &self.quick]);
        let model =
            |name: &str, paths: &[ModelPath], faster: Option<&str>, stronger: Option<&str>| {
                LogicalModel {
                    name: name.to_owned(),
                    paths: paths.to_vec(),
                    faster: faster.map(str::to_owned),
                    stronger: stronger.map(str::to_owned),
                }
            };
        vec![
            model("quick", &quick, None, Some("balanced")),
            model("balanced", &balanced, Some("quick"), Some("best")),
            model("best", &best, Some("balanced"), None),
            model("judge", &balanced, Some("quick"), Some("best")),
        ]
    }
}
