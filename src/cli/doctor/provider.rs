//! Providers, their keys and hosts, and the models on them.

use std::time::Duration;

use tokio::task::JoinSet;

use super::super::house::{House, is_simulated};
use super::super::list::key_state;
use super::super::outage::{LOOKED_AT, Outage, outages};
use super::super::place::State;
use super::super::probe::reach;
use super::super::terminal::Style;
use super::Finding;
use crate::definition::config::preset::{PRESETS, Preset};
use crate::definition::config::{Configuration, KEY_NOT_SET, LogicalModel, NOT_BUILT, Origin};
use crate::definition::diagnostic::Diagnostic;

/// Longest wait for a provider's host.
const REACH: Duration = Duration::from_secs(3);

/// Keys and hosts of every provider, all hosts at once.
pub async fn findings(house: &House) -> Vec<Finding> {
    let providers = &house.catalog.configuration.providers;
    let mut reached: Vec<Option<Result<String, String>>> = vec![None; providers.len()];
    let mut looking = JoinSet::new();
    for (at, provider) in providers.iter().enumerate().filter(|(_, one)| !is_simulated(one)) {
        let url = provider.base_url.clone();
        looking.spawn(async move { (at, reach(&url, REACH).await) });
    }
    while let Some(Ok((at, result))) = looking.join_next().await {
        reached[at] = Some(result);
    }
    let mut findings = Vec::new();
    for (provider, reached) in providers.iter().zip(reached) {
        let Some(reached) = reached else { continue };
        let (style, key) = key_state(provider);
        findings.push(if style == Style::Bad {
            Finding::broken(
                format!("{}: key: {key}", provider.name),
                "set it where the client starts the server, or name another with api_key",
            )
        } else {
            Finding::good(format!("{}: key: {key}", provider.name))
        });
        findings.push(match reached {
            Ok(host) => Finding::good(format!("{}: {host} can be reached", provider.name)),
            Err(why) => Finding::broken(
                format!("{}: {why}", provider.name),
                "check base_url, the network, and whether a proxy or firewall stands between",
            ),
        });
    }
    let left_out = |found: &&Diagnostic| [KEY_NOT_SET, NOT_BUILT].contains(&found.code);
    findings.extend(house.catalog.diagnostics.iter().filter(left_out).map(missing));
    if findings.is_empty() {
        findings.push(Finding::note(
            "none but the simulator",
            "see above for how to have models answer; 'punctual run --simulate' asks for it on purpose",
        ));
    }
    findings
}

/// Providers of the file that refused their key or their account when they were last asked.
pub fn refused(house: &House, state: &State) -> Vec<Finding> {
    let kept = state.store().map(|store| store.latest(LOOKED_AT).reports).unwrap_or_default();
    let providers = &house.catalog.configuration.providers;
    let known = |outage: &Outage| providers.iter().any(|one| one.name == outage.provider);
    let found = outages(&kept).into_iter().filter(known);
    found.map(|outage| Finding::note(outage.what(), outage.advice())).collect()
}

/// A provider of the file whose key is not there, or that this build does not speak.
fn missing(found: &Diagnostic) -> Finding {
    let advice = found.help.clone().unwrap_or_default();
    if found.is_error() {
        Finding::broken(&found.message, advice)
    } else {
        Finding::note(&found.message, advice)
    }
}

/// Whether models can be used, are known, and have a second quota behind them.
pub fn models(house: &House) -> Vec<Finding> {
    let configuration = &house.catalog.configuration;
    let mut findings: Vec<Finding> = configuration
        .unusable
        .iter()
        .map(|(name, why)| {
            Finding::broken(
                format!("model '{name}' is unusable: {why}"),
                "set the key it names, or give it a path at another provider",
            )
        })
        .collect();
    findings.extend(unknown(configuration));
    findings.extend(single(configuration));
    if findings.is_empty() {
        let names: Vec<&str> = configuration.models.iter().map(|m| m.name.as_str()).collect();
        let names = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
        findings.push(Finding::good(format!("models: {names}")));
    }
    findings
}

/// Paths of which neither the file nor the catalogue knows enough, each once.
fn unknown(configuration: &Configuration) -> Vec<Finding> {
    let mut told: Vec<String> = Vec::new();
    let mut findings = Vec::new();
    for path in configuration.models.iter().flat_map(|model| &model.paths) {
        let profile = &path.profile;
        let label = format!("{}/{}", path.provider, profile.id);
        let unknown = match (profile.context, profile.price) {
            (None, None) => "window and price",
            (None, Some(_)) => "window",
            (Some(_), None) => "price",
            (Some(_), Some(_)) => continue,
        };
        if told.contains(&label) {
            continue;
        }
        findings.push(Finding::note(
            format!("{label}: its {unknown} is not known"),
            "say it at the path, as context: 128000, price: {in: 0.5, out: 2} (dollars per million tokens); until \
             then it costs nothing on paper, and a prompt that is too long shows only when it is refused",
        ));
        told.push(label);
    }
    findings
}

/// Models whose paths all share one quota.
fn single(configuration: &Configuration) -> Option<Finding> {
    if configuration.is_simulated() || configuration.models.is_empty() {
        return None;
    }
    let lone = |model: &&LogicalModel| {
        let mut providers = model.paths.iter().map(|path| &path.provider);
        let first = providers.next();
        providers.all(|other| Some(other) == first)
    };
    let models: Vec<&str> =
        configuration.models.iter().filter(lone).map(|model| model.name.as_str()).collect();
    if models.is_empty() {
        return None;
    }
    let what = match configuration.providers.as_slice() {
        [only] => format!(
            "{} is the only provider: when it throttles or is down, every run waits",
            only.name
        ),
        _ => format!("all paths share one quota of: {}", models.join(", ")),
    };
    let advice = match &configuration.origin {
        Origin::File(_) => {
            "add a path at a second provider to each; two quotas behind every essential step are worth more than \
             any setting"
                .to_owned()
        }
        Origin::Found(names) => {
            let is_found = |preset: &&Preset| names.iter().any(|name| name == preset.kind);
            let mut keys: Vec<&str> = Vec::new();
            // A key is enough where the address is known; one key may stand for two formats.
            for preset in PRESETS.iter().filter(|preset| preset.base_url.is_some()) {
                let used = PRESETS.iter().filter(is_found).any(|found| found.key == preset.key);
                keys.extend(preset.key.filter(|key| !used && !keys.contains(key)));
            }
            keys.truncate(3);
            format!(
                "set a second key, as {}; two quotas behind every essential step are worth more than any setting",
                keys.join(" or ")
            )
        }
        Origin::Simulated => return None,
    };
    Some(Finding::note(what, advice))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::definition::config::from_environment;
    use crate::definition::environment::Environment;

    #[test]
    fn a_second_key_is_another_one_and_one_that_is_enough() {
        let found = from_environment(&Environment::of([("OPENAI_API_KEY", "k")]));
        let advice = single(&found).unwrap().advice.unwrap();
        assert!(advice.contains("ANTHROPIC_API_KEY or GEMINI_API_KEY"), "{advice}");
        assert!(!advice.contains("OPENAI_API_KEY") && !advice.contains("AZURE"), "{advice}");
    }
}
