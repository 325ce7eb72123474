//! What a provider's refusals have taught about its models, for the rest of the process. Shared by all attempts; the
//! lock is never held across a wait.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Mutex, PoisonError};

use serde_json::Value;

use super::Exchange;
use super::correction::Correction;
use crate::domain::failure::{About, Failure, FailureClass};

/// Models remembered; more are sent as they are configured.
const MODELS_MAX: usize = 1_000;
/// Corrections of one model: there are fewer kinds than this.
const CORRECTIONS_MAX: usize = 16;
/// Fewest tokens that are believed to be a window: what names less speaks of something else.
const SMALLEST_WINDOW: u64 = 1_024;
/// Schemas remembered of one model.
const SCHEMAS_MAX: usize = 256;

/// Lessons of one provider, by model id.
#[derive(Debug, Default)]
pub struct Lessons {
    models: Mutex<BTreeMap<String, Lesson>>,
}

#[derive(Clone, Debug, Default)]
struct Lesson {
    /// In the order they were learned: a later one prevails.
    corrections: Vec<Correction>,
    /// Schemas that are asked for in another way, each by its digest.
    schemas: BTreeMap<u64, Correction>,
    /// The window that a refused prompt was told of, in the provider's tokens.
    window: Option<u64>,
}

impl Lessons {
    /// `exchange` as it is sent, with what is known by now.
    #[must_use]
    pub fn apply<'a>(&self, exchange: &'a Exchange) -> Cow<'a, Exchange> {
        let models = self.models.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(lesson) = models.get(&exchange.profile.id) else { return Cow::Borrowed(exchange) };
        let of_schema = exchange.schema.as_deref().filter(|_| !lesson.schemas.is_empty());
        let of_schema = of_schema.and_then(|schema| lesson.schemas.get(&digest(schema)));
        let mut changed = exchange.clone();
        for correction in lesson.corrections.iter().chain(of_schema) {
            correction.apply(&mut changed);
        }
        Cow::Owned(changed)
    }

    /// Remembers what the refusal of `exchange` has taught.
    pub fn learn(&self, exchange: &Exchange, correction: Correction) {
        self.of(exchange, |lesson| lesson.learn(exchange, correction));
    }

    /// Remembers the window that the refusal of `exchange` speaks of. What prompts may be beside its answer was said;
    /// what its answer may be is added, so that it holds for shorter and longer ones.
    pub fn overflowed(&self, exchange: &Exchange, failure: &Failure) {
        let (FailureClass::ContextOverflow, Some(About::Size { most, .. })) =
            (failure.class, &failure.about)
        else {
            return;
        };
        let window = most.saturating_add(exchange.profile.bound(exchange.max_tokens).into());
        if *most > 0 && window >= SMALLEST_WINDOW {
            self.of(exchange, |lesson| lesson.window = Some(window));
        }
    }

    /// The window of a model, prompt and answer together, in the provider's tokens, as a refusal has told it.
    #[must_use]
    pub fn window(&self, model: &str) -> Option<u64> {
        self.models.lock().unwrap_or_else(PoisonError::into_inner).get(model)?.window
    }

    /// Adds to the lesson of the exchange's model.
    fn of(&self, exchange: &Exchange, add: impl FnOnce(&mut Lesson)) {
        let mut models = self.models.lock().unwrap_or_else(PoisonError::into_inner);
        let id = &exchange.profile.id;
        if models.len() < MODELS_MAX || models.contains_key(id) {
            add(models.entry(id.clone()).or_default());
        }
    }

    /// Takes over what `before` has learned.
    pub fn inherit(&self, before: &Self) {
        let learned = before.models.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let mut models = self.models.lock().unwrap_or_else(PoisonError::into_inner);
        for (id, lesson) in learned {
            models.entry(id).or_insert(lesson);
        }
    }
}

impl Lesson {
    fn learn(&mut self, exchange: &Exchange, correction: Correction) {
        match (correction, exchange.schema.as_deref()) {
            (Correction::OneSchema(_), Some(schema)) if self.schemas.len() < SCHEMAS_MAX => {
                self.schemas.insert(digest(schema), correction);
            }
            (Correction::OneSchema(_), _) => {}
            _ => {
                // A later word on the same matter stands in the earlier one's place.
                let same = |old: &Correction| {
                    std::mem::discriminant(old) == std::mem::discriminant(&correction)
                };
                self.corrections.retain(|old| !same(old));
                if self.corrections.len() < CORRECTIONS_MAX {
                    self.corrections.push(correction);
                }
            }
        }
    }
}

fn digest(schema: &Value) -> u64 {
    let mut hasher = DefaultHasher::new();
    schema.to_string().hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::json;

    use super::*;
    use crate::domain::message::{Message, Prompt};
    use crate::domain::model::{ModelProfile, Structured};
    use crate::provider::Draw;

    fn exchange(id: &str, schema: Value) -> Exchange {
        Exchange {
            prompt: Prompt { system: None, messages: vec![Message::user("Which city?")] },
            schema: Some(Arc::new(schema)),
            max_tokens: 64,
            temperature: Some(0.5),
            effort: None,
            profile: Arc::new(ModelProfile {
                structured: Structured::Schema,
                ..ModelProfile::plain(id)
            }),
            draw: Draw::default(),
        }
    }

    #[test]
    fn a_lesson_holds_for_its_model_and_a_refused_schema_for_itself() {
        let lessons = Lessons::default();
        let (one, other) = (json!({"type": "object"}), json!({"type": "object", "title": "x"}));
        lessons.learn(&exchange("a", one.clone()), Correction::NoTemperature);
        lessons.learn(&exchange("a", one.clone()), Correction::OneSchema(Structured::Json));
        let of = |id, schema: &Value| {
            let exchange = exchange(id, schema.clone());
            let sent = lessons.apply(&exchange);
            (sent.profile.temperature, sent.profile.structured)
        };
        assert_eq!(of("a", &one), (false, Structured::Json));
        assert_eq!(of("a", &other), (false, Structured::Schema));
        assert_eq!(of("b", &one), (true, Structured::Schema));
        let next = Lessons::default();
        next.inherit(&lessons);
        let again = exchange("a", one.clone());
        assert_eq!(next.apply(&again).profile.structured, Structured::Json);
    }

    #[test]
    fn the_window_of_a_refused_prompt_is_kept_with_the_answers_share() {
        let lessons = Lessons::default();
        let told = |prompt, most| Failure {
            about: Some(About::Size { prompt, most }),
            ..Failure::of_attempt(FailureClass::ContextOverflow, "400", "too long")
        };
        let sent = exchange("a", json!({}));
        lessons.overflowed(&sent, &told(9_000, 8_128));
        assert_eq!((lessons.window("a"), lessons.window("b")), (Some(8_192), None));
        // Neither nothing nor next to nothing is a window, and other failures speak of none.
        lessons.overflowed(&sent, &told(9_000, 0));
        lessons.overflowed(&sent, &told(9_000, 5));
        let other = Failure { class: FailureClass::RateLimited, ..told(9_000, 4_000) };
        lessons.overflowed(&sent, &other);
        assert_eq!(lessons.window("a"), Some(8_192));
        let next = Lessons::default();
        next.inherit(&lessons);
        assert_eq!(next.window("a"), Some(8_192));
    }

    #[test]
    fn the_latest_word_on_a_matter_stands_and_memory_is_bounded() {
        let lessons = Lessons::default();
        for most in [8_192, 4_096] {
            lessons.learn(&exchange("a", json!({})), Correction::MaxOutput(most));
        }
        let plain = exchange("a", json!({}));
        assert_eq!(lessons.apply(&plain).profile.max_output, Some(4_096));
        for n in 0..2 * SCHEMAS_MAX {
            let schema = json!({"type": "object", "title": n});
            lessons.learn(&exchange("a", schema), Correction::OneSchema(Structured::Json));
        }
        for n in 0..2 * MODELS_MAX {
            lessons.learn(&exchange(&n.to_string(), json!({})), Correction::NoCounts);
        }
        let models = lessons.models.lock().unwrap();
        assert_eq!((models.len(), models["a"].schemas.len()), (MODELS_MAX, SCHEMAS_MAX));
    }
}
