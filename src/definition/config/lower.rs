//! The configuration's raw form → `Configuration`: presets, facts and keys put together, links checked.

use std::path::{Path, PathBuf};

use crate::definition::config::bedrock;
use crate::definition::config::catalogue::catalogue;
use crate::definition::config::preset::{Preset, Wire};
use crate::definition::config::profile::stated;
use crate::definition::config::read::{RawConfiguration, RawModel, RawPath, RawProvider};
use crate::definition::config::{
    Configuration, DEFAULT_DEADLINE, DEFAULT_REGIME, DEFAULT_SEED, LogicalModel, ModelPath, Origin,
};
use crate::definition::diagnostic::Diagnostic;
use crate::definition::environment::Environment;
use crate::definition::page::{MISSING_KEY, Page, Reader, Spanned};
use crate::definition::source::Source;
use crate::domain::finding::{Code, did_you_mean};
use crate::domain::provider::{
    Dialect, HeaderValue, ProviderSettings, SecretRef, SimulatorSettings,
};

/// A key that is not set.
pub const KEY_NOT_SET: Code = Code("P0502");
/// A provider that is not configured.
pub const UNKNOWN_PROVIDER: Code = Code("P0503");
/// A model that is not configured.
pub const UNKNOWN_MODEL: Code = Code("P0504");
/// A model without a usable path.
pub const NO_PATH: Code = Code("P0505");
/// `same_as` that leads back to itself.
pub const ALIAS_CYCLE: Code = Code("P0506");
/// A kind of provider that this build does not speak.
pub const NOT_BUILT: Code = Code("P0511");
/// A name that labels cannot hold.
pub const BAD_NAME: Code = Code("P0507");
/// A model id that nothing is known of.
pub const UNKNOWN_ID: Code = Code("P0512");

/// Reads `punctual.yaml`. Relative paths of key files are relative to `file`'s folder.
///
/// The configuration is as complete as the file allows; it is usable in full where no diagnostic is an
/// error. `None` where the file is not YAML.
#[must_use]
pub fn load(
    source: Source,
    file: &Path,
    environment: &Environment,
) -> (Option<Configuration>, Vec<Diagnostic>) {
    let mut found = Vec::new();
    let Some(page) = Page::parse(source, &mut found) else {
        hide_secrets(&mut found);
        return (None, found);
    };
    let mut reader = Reader::new(&page, &mut found);
    let raw = RawConfiguration::read(&mut reader);
    let configuration = Lowering { reader, environment, file }.run(&raw);
    hide_secrets(&mut found);
    (Some(configuration), found)
}

/// Takes source lines out that may hold a key in the clear.
fn hide_secrets(found: &mut [Diagnostic]) {
    const NAMES: [&str; 7] =
        ["key", "authorization", "token:", "secret", "cookie", "password", "bearer"];
    let line = |d: &Diagnostic| d.span.map(|span| span.start.line);
    let told = found.iter().filter(|d| d.code == super::read::SECRET_IN_FILE);
    let lines: Vec<Option<usize>> = told.map(line).collect();
    for diagnostic in found {
        let named = diagnostic.source_line.as_ref().is_some_and(|line| {
            let line = line.to_ascii_lowercase();
            if super::read::secret_parameter(&line).is_some() {
                return true;
            }
            NAMES.iter().any(|name| line.contains(name))
                && !(line.contains("env:") || line.contains("file:"))
        });
        if named || lines.contains(&line(diagnostic)) {
            diagnostic.source_line = None;
        }
    }
}

struct Lowering<'a> {
    reader: Reader<'a>,
    environment: &'a Environment,
    file: &'a Path,
}

/// A provider of the file, usable or not.
struct Known {
    name: String,
    preset: &'static Preset,
    /// Whether it is reached at an address of its own, where ids may be anyone's.
    elsewhere: bool,
    /// Why its paths are dropped.
    dropped: Option<String>,
}

impl Lowering<'_> {
    fn run(mut self, raw: &RawConfiguration) -> Configuration {
        let mut configuration = Configuration::empty(Origin::File(self.file.to_owned()));
        if !raw.workflows.is_empty() {
            configuration.workflows.clone_from(&raw.workflows);
        }
        configuration.settings = raw.settings.clone();
        configuration.deadline = raw.deadline.as_ref().map_or(DEFAULT_DEADLINE, |d| d.value);
        configuration.deadline_spot = raw.deadline.as_ref().map(|d| self.reader.spot(&d.span));
        configuration.budget = raw.budget.clone();
        configuration.limits = raw.limits;
        if raw.providers.is_empty() && raw.models.is_empty() {
            // A file of defaults alone: providers and models are looked for.
            let found = super::from_environment(self.environment);
            configuration.origin = found.origin;
            configuration.providers = found.providers;
            configuration.models = found.models;
        }
        let mut known = Vec::new();
        for provider in &raw.providers {
            let Some(preset) = provider.preset else {
                known.push((provider.key.name.clone(), None));
                continue;
            };
            let (settings, dropped) = self.provider(provider, preset);
            if dropped.is_none() {
                configuration.providers.extend(settings);
            }
            let name = provider.key.name.clone();
            let elsewhere = provider.has_base_url;
            known.push((name.clone(), Some(Known { name, preset, elsewhere, dropped })));
        }
        for model in &raw.models {
            self.model(model, &raw.models, &known, &mut configuration);
        }
        self.check_links(raw, &configuration);
        configuration
    }

    fn provider(
        &mut self,
        raw: &RawProvider,
        preset: &'static Preset,
    ) -> (Option<ProviderSettings>, Option<String>) {
        self.check_name(&raw.key.name, &raw.key.span, "provider");
        let name = &raw.key.name;
        if !preset.is_built() && !self.environment.assumes_keys() {
            return (None, Some(self.report_unbuilt(raw, preset)));
        }
        let access = (preset.wire == Wire::Bedrock).then(|| bedrock::access(raw, self.environment));
        let written = raw.base_url.as_ref().map(|u| u.value.as_str());
        // Other programs want an address with its version where the dialect adds it by itself.
        let version = preset.version().unwrap_or_default();
        let bare = written.map(|url| url.strip_suffix(version).unwrap_or(url));
        let usual = access.as_ref().and_then(|access| access.base_url.as_deref());
        let base_url = bare.or(preset.base_url).or(usual).unwrap_or_default().to_owned();
        if base_url.is_empty() && preset.base_url.is_none() && access.is_none() {
            if !raw.has_base_url {
                let message = format!("provider '{name}' has no `base_url`");
                self.reader
                    .error(MISSING_KEY, &raw.key.span, message)
                    .help(format!("kind '{}' has no address of its own", preset.kind));
            }
            return (None, Some("it has no address".to_owned()));
        }
        let simulator = SimulatorSettings {
            regime: raw.regime.unwrap_or(DEFAULT_REGIME).to_owned(),
            seed: raw.seed.unwrap_or(DEFAULT_SEED),
        };
        let mut settings = ProviderSettings {
            name: name.clone(),
            dialect: preset.dialect(simulator),
            base_url,
            api_key: None,
            headers: self.headers(raw),
            limits: raw.limits,
            on_cancel: raw.on_cancel.unwrap_or_else(|| preset.on_cancel()),
            capacity: raw.capacity.unwrap_or_else(|| preset.capacity()),
        };
        let mut dropped = None;
        if let Some(access) = access {
            settings.api_key = access.api_key.map(|key| self.rooted(key));
            settings.dialect = Dialect::Bedrock(access.settings);
            dropped = access.missing;
        } else {
            let written = raw.api_key.as_ref().map(|key| key.value.clone());
            // With an address of its own, the vendor's key is not sent unless the file says so.
            let own = raw.base_url.is_none() || preset.base_url.is_none();
            let usual = preset.key.filter(|_| own).map(|name| SecretRef::Env(name.to_owned()));
            settings.api_key = written.or(usual).map(|key| self.rooted(key));
        }
        let dropped = dropped.or_else(|| settings.secrets().find_map(|key| self.missing(key)));
        if let Some(why) = &dropped {
            let span = raw.api_key.as_ref().map_or(raw.key.span.clone(), |key| key.span.clone());
            self.report_missing(raw, &span, why);
        }
        (Some(settings), dropped)
    }

    /// A kind that this build does not speak.
    fn report_unbuilt(&mut self, raw: &RawProvider, preset: &Preset) -> String {
        let (name, kind) = (&raw.key.name, preset.kind);
        let why = format!("this build does not speak {kind}");
        let help = format!("install it with the feature: cargo install --path . --features {kind}");
        if raw.optional {
            let message = format!("provider '{name}' is left out: {why}");
            self.reader.warn(NOT_BUILT, &raw.key.span, message).help(help);
        } else {
            let message = format!("provider '{name}': {why}");
            self.reader.error(NOT_BUILT, &raw.key.span, message).help(help);
        }
        why
    }

    fn headers(&self, raw: &RawProvider) -> Vec<(String, HeaderValue)> {
        let value = |value: &HeaderValue| match value {
            HeaderValue::Secret(secret) => HeaderValue::Secret(self.rooted(secret.clone())),
            HeaderValue::Plain(text) => HeaderValue::Plain(text.clone()),
        };
        raw.headers.iter().map(|(header, v)| (header.clone(), value(&v.value))).collect()
    }

    fn rooted(&self, secret: SecretRef) -> SecretRef {
        match secret {
            SecretRef::File(path) if path.is_relative() => {
                let folder = self.file.parent().map_or_else(PathBuf::new, Path::to_owned);
                SecretRef::File(folder.join(path))
            }
            other => other,
        }
    }

    /// Why a secret cannot be had, without ever looking at its value.
    fn missing(&self, secret: &SecretRef) -> Option<String> {
        match secret {
            _ if self.environment.assumes_keys() => None,
            SecretRef::Env(name) if self.environment.is_set(name) => None,
            SecretRef::Env(name) => Some(format!("{name} is not set")),
            SecretRef::File(path) => match std::fs::metadata(path) {
                Ok(file) if file.is_file() && file.len() > 0 => None,
                Ok(_) => Some(format!("the key file {} is empty or no file", path.display())),
                Err(_) => Some(format!("the key file {} cannot be read", path.display())),
            },
        }
    }

    fn report_missing(&mut self, raw: &RawProvider, span: &std::ops::Range<usize>, why: &str) {
        let name = &raw.key.name;
        if raw.optional {
            let message = format!("provider '{name}' is left out: {why}");
            self.reader.warn(KEY_NOT_SET, span, message).help("set it to use the provider's paths");
        } else {
            self.reader
                .error(KEY_NOT_SET, span, format!("provider '{name}': {why}"))
                .help("set it in the server's environment, or mark the provider `optional: true`");
        }
    }

    fn check_name(&mut self, name: &str, span: &std::ops::Range<usize>, what: &str) {
        let good = !name.is_empty()
            && name.len() <= 48
            && name.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.'));
        if !good {
            self.reader
                .error(BAD_NAME, span, format!("'{name}' cannot name a {what}"))
                .help("letters, digits, _ - and . only, at most 48");
        }
    }

    fn model(
        &mut self,
        raw: &RawModel,
        all: &[RawModel],
        known: &[(String, Option<Known>)],
        configuration: &mut Configuration,
    ) {
        self.check_name(&raw.key.name, &raw.key.span, "model");
        let Some(chain) = self.aliases(raw, all) else { return };
        let link = |pick: fn(&RawModel) -> &Option<Spanned<String>>| {
            chain.iter().find_map(|m| pick(m).as_ref()).map(|link| link.value.clone())
        };
        let (faster, stronger) = (link(|m| &m.faster), link(|m| &m.stronger));
        let not: Vec<&str> =
            chain.iter().flat_map(|m| &m.not).map(|name| name.value.as_str()).collect();
        let raw_paths = chain.last().map_or(&[][..], |m| &m.paths);
        let own = chain.len() == 1;
        let mut paths = Vec::new();
        let mut reasons = Vec::new();
        let mut complete = true;
        for path in raw_paths {
            let provider = path.provider.value.as_str();
            match known.iter().find(|(name, _)| name == provider) {
                None if own => {
                    complete = false;
                    self.unknown_provider(&path.provider, known);
                }
                None | Some((_, None)) => complete = false,
                Some((_, Some(known))) => {
                    if not.contains(&provider) {
                        reasons.push(format!("'{provider}' is excluded by `not`"));
                    } else if let Some(why) = &known.dropped {
                        reasons.push(format!("'{provider}': {why}"));
                    } else {
                        if own && !known.elsewhere {
                            self.check_id(path, known.preset);
                        }
                        let profile = stated(path, known.preset);
                        paths.push(ModelPath { provider: known.name.clone(), profile });
                    }
                }
            }
        }
        for name in raw.not.iter().filter(|n| !known.iter().any(|(k, _)| *k == n.value)) {
            self.unknown_provider(name, known);
        }
        let name = raw.key.name.clone();
        if !paths.is_empty() {
            configuration.models.push(LogicalModel { name, paths, faster, stronger });
            return;
        }
        reasons.dedup();
        if complete {
            let why =
                if reasons.is_empty() { "it lists none".to_owned() } else { reasons.join("; ") };
            let message = format!("model '{name}' has no usable path: {why}");
            self.reader
                .warn(NO_PATH, &raw.key.span, message)
                .help("workflows that use it cannot be served");
            configuration.unusable.push((name, why));
        } else {
            configuration.unusable.push((name, "its paths have errors".to_owned()));
        }
    }

    /// The model and what it stands for, down to the one that lists paths.
    fn aliases<'m>(&mut self, raw: &'m RawModel, all: &'m [RawModel]) -> Option<Vec<&'m RawModel>> {
        let mut chain = vec![raw];
        let mut current = raw;
        while let Some(target) = current.same_as.as_ref() {
            let next = all.iter().find(|m| m.key.name == target.value)?;
            if chain.iter().any(|m| m.key.name == next.key.name) {
                let names: Vec<&str> = chain.iter().map(|m| m.key.name.as_str()).collect();
                let message =
                    format!("`same_as` leads back to '{}': {}", target.value, names.join(" → "));
                self.reader.error(ALIAS_CYCLE, &target.span, message);
                return None;
            }
            chain.push(next);
            current = next;
        }
        Some(chain)
    }

    /// A word about an id that nothing is known of, unless the file says what must be known.
    fn check_id(&mut self, path: &RawPath, preset: &Preset) {
        let (kind, id) = (preset.kind, &path.model);
        let known = catalogue();
        let silent = path.context.is_none() && known.is_complete(kind);
        if !silent || known.of(kind, &id.value).is_some() {
            return;
        }
        let near = known.near(kind, &id.value);
        let near = near.map(|near| format!("did you mean '{near}'? ")).unwrap_or_default();
        let message = format!("nothing is known of model '{}' of kind '{kind}'", id.value);
        self.reader.warn(UNKNOWN_ID, &id.span, message).help(format!(
            "{near}it is sent as written, and asked for nothing that only some models take; what is known of it \
             can stand at the path: `context`, `max_output`, `price`, `can`"
        ));
    }

    fn unknown_provider(&mut self, name: &Spanned<String>, known: &[(String, Option<Known>)]) {
        let names: Vec<&str> = known.iter().map(|(name, _)| name.as_str()).collect();
        let near = near(&name.value, &names);
        self.reader
            .error(UNKNOWN_PROVIDER, &name.span, format!("no provider '{}'", name.value))
            .help(format!("{near}providers: {}", list(&names)));
    }

    /// Names of models that links and defaults point to.
    fn check_links(&mut self, raw: &RawConfiguration, configuration: &Configuration) {
        let mut names: Vec<&str> = raw.models.iter().map(|m| m.key.name.as_str()).collect();
        if names.is_empty() {
            names.extend(configuration.models.iter().map(|m| m.name.as_str()));
        }
        let links = raw.models.iter().flat_map(|m| [&m.faster, &m.stronger, &m.same_as]);
        let links = links.flatten().map(|link| (&link.value, &link.span));
        let usual = raw.settings.model.iter().map(|model| (&model.value, &model.span));
        for (name, span) in links.chain(usual) {
            if !names.contains(&name.as_str()) {
                let help = format!("{}models: {}", near(name, &names), list(&names));
                self.reader.error(UNKNOWN_MODEL, span, format!("no model '{name}'")).help(help);
            }
        }
    }
}

/// `did you mean 'x'? `, or nothing.
#[must_use]
pub fn near(word: &str, names: &[&str]) -> String {
    did_you_mean(word, names.iter().copied())
        .map(|near| format!("did you mean '{near}'? "))
        .unwrap_or_default()
}

/// Names with commas; a word where there is none.
#[must_use]
pub fn list(names: &[&str]) -> String {
    if names.is_empty() { "none are configured".to_owned() } else { names.join(", ") }
}
