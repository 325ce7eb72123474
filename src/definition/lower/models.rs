//! The models, paths and providers that one workflow needs, out of the configuration.

use std::ops::Range;

use crate::definition::config::{Configuration, LogicalModel, list, near};
use crate::definition::config::{NO_PATH, UNKNOWN_MODEL};
use crate::definition::lower::Lowering;
use crate::definition::lower::draft::Draft;
use crate::definition::raw::RawWorkflow;
use crate::domain::finding::Code;
use crate::domain::id::{ModelIx, PathIx, ProviderIx};
use crate::domain::plan::{ModelPlan, PathPlan, ProviderPlan};
use crate::domain::provider::{Capacity, Dialect, OnCancel, ProviderSettings};

/// No model at all is configured.
pub const NO_MODELS: Code = Code("P0508");

/// Models a workflow needs.
#[derive(Debug, Default)]
pub struct Models {
    /// The logical models.
    pub logical: Vec<ModelPlan>,
    /// Their paths, each once.
    pub paths: Vec<PathPlan>,
    /// The providers of those paths.
    pub providers: Vec<ProviderPlan>,
    /// Of each step, by place in the file; meaningless for a step without a model.
    pub of_step: Vec<ModelIx>,
}

impl Models {
    /// Collects what the steps name, and what that links to. `None` where a step has no model.
    pub fn collect(
        lowering: &mut Lowering<'_>,
        raw: &RawWorkflow<'_>,
        drafts: &[Draft<'_>],
    ) -> Option<Self> {
        let configuration = lowering.context.configuration;
        if configuration.models.is_empty() && configuration.unusable.is_empty() {
            lowering
                .reader
                .error(NO_MODELS, &raw.steps_span, "no model is configured")
                .help("see the problems of punctual.yaml");
            return None;
        }
        let mut models = Self::default();
        let mut told = Vec::new();
        for draft in drafts {
            if draft.value.is_some() {
                models.of_step.push(ModelIx(0));
                continue;
            }
            let in_step = draft.raw.settings.model.as_ref();
            let written = in_step.or(raw.defaults.model.as_ref());
            let span = written.map_or(draft.raw.key.span.clone(), |model| model.span.clone());
            let named = written.map(|model| model.value.as_str());
            let name = named.or_else(|| configuration.default_model());
            match lowering.model(name, &span, &draft.owner(), &mut told) {
                Some(model) => {
                    let ix = models.add(model, configuration);
                    models.of_step.push(ix);
                }
                None => models.of_step.push(ModelIx(0)),
            }
        }
        told.is_empty().then_some(models)
    }

    /// Adds a model and those it links to; a model stands once.
    fn add(&mut self, model: &LogicalModel, configuration: &Configuration) -> ModelIx {
        if let Some(at) = self.logical.iter().position(|m| m.name == model.name) {
            return ModelIx(index(at));
        }
        let at = index(self.logical.len());
        let paths = model.paths.iter().filter_map(|path| {
            let provider = self.provider(configuration.provider(&path.provider)?);
            let label = format!("{}/{}", path.provider, path.profile.id);
            let plan = PathPlan { label, provider, profile: path.profile.clone() };
            Some(PathIx(index(position_or_push(&mut self.paths, plan))))
        });
        let paths = paths.collect();
        self.logical.push(ModelPlan {
            name: model.name.clone(),
            paths,
            faster: None,
            stronger: None,
        });
        let linked = |name: &Option<String>| {
            name.as_ref()
                .and_then(|name| configuration.model(name))
                .filter(|m| m.name != model.name)
        };
        let (faster, stronger) = (linked(&model.faster), linked(&model.stronger));
        let faster = faster.map(|linked| self.add(linked, configuration));
        let stronger = stronger.map(|linked| self.add(linked, configuration));
        let entry = &mut self.logical[usize::from(at)];
        entry.faster = faster;
        entry.stronger = stronger;
        ModelIx(at)
    }

    fn provider(&mut self, settings: &ProviderSettings) -> ProviderIx {
        let plan = ProviderPlan {
            name: settings.name.clone(),
            billed_on_cancel: settings.on_cancel == OnCancel::Billed,
            own_capacity: settings.capacity == Capacity::Own,
            simulated: matches!(settings.dialect, Dialect::Simulated(_)),
        };
        ProviderIx(index(position_or_push(&mut self.providers, plan)))
    }
}

impl<'a> Lowering<'a> {
    fn model(
        &mut self,
        name: Option<&str>,
        span: &Range<usize>,
        owner: &str,
        told: &mut Vec<String>,
    ) -> Option<&'a LogicalModel> {
        let configuration = self.context.configuration;
        let names = || configuration.models.iter().map(|m| m.name.as_str()).collect::<Vec<_>>();
        let Some(name) = name else {
            told.push(owner.to_owned());
            self.reader
                .error(
                    UNKNOWN_MODEL,
                    span,
                    format!("{owner} names no model, and there is no default"),
                )
                .help(format!(
                    "add `model:` to the step or to `defaults`; models: {}",
                    list(&names())
                ));
            return None;
        };
        if let Some(model) = configuration.model(name) {
            if !configuration.knows(name) {
                self.stand_in(name, span, owner);
            }
            return Some(model);
        }
        // A model that many steps share is reported once.
        if told.iter().any(|known| known == name) {
            return None;
        }
        told.push(name.to_owned());
        if let Some((_, why)) = configuration.unusable.iter().find(|(known, _)| known == name) {
            self.reader
                .error(NO_PATH, span, format!("{owner}: model '{name}' has no usable path: {why}"))
                .help("set the key it names, or use another model");
        } else {
            self.reader
                .error(UNKNOWN_MODEL, span, format!("{owner}: no model '{name}'"))
                .help(format!("{}models: {}", near(name, &names()), list(&names())));
        }
        None
    }

    /// Warns, once a name, of a model that only the simulator lets pass.
    fn stand_in(&mut self, name: &str, span: &Range<usize>, owner: &str) {
        let end = format!(": no model '{name}'; the simulator answers with `balanced` for it");
        if self.reader.found.iter().any(|found| found.message.ends_with(&end)) {
            return;
        }
        let configured = &self.context.configuration.stood_for;
        let names: Vec<&str> = match configured.as_slice() {
            [] => vec!["quick", "balanced", "best"],
            names => names.iter().map(String::as_str).collect(),
        };
        let near = near(name, &names);
        let help = format!(
            "{near}models: {}; others are named under `models` of punctual.yaml",
            list(&names)
        );
        self.reader.warn(UNKNOWN_MODEL, span, format!("{owner}{end}")).help(help);
    }
}

fn index(at: usize) -> u16 {
    u16::try_from(at).unwrap_or(u16::MAX)
}

fn position_or_push<T: PartialEq>(list: &mut Vec<T>, value: T) -> usize {
    list.iter().position(|known| *known == value).unwrap_or_else(|| {
        list.push(value);
        list.len() - 1
    })
}
