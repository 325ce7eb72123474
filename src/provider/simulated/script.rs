//! What one simulated exchange will do, laid out in time before it starts: the driver sleeps through it, the
//! virtual world steps over it, and both see the same.
//!
//! An answer's size at the median is its bound divided by 2.5, the ratio at which the regimes were fitted:
//! step classes of 50, 330, 660 and 1,150 tokens correspond to bounds of 125, 825, 1,650 and 2,875. The text
//! that is sent is spread over the tokens so drawn; it is never cut for being longer, unless it exceeds the
//! bound itself.

use std::sync::Arc;
use std::time::Duration;

use super::answer::{answer, tokens_of};
use super::draw::{Ending, Fate, Key, PROVIDER_OF_PATH, draw, seconds};
use super::excerpt::{boundary, hash};
use super::garbage::garbage;
use super::measured;
use super::recording::Recordings;
use super::regime::{PathFigures, ProviderFigures, Regime, ShapeFigures, UnknownRegime};
use crate::domain::failure::{Failure, FailureClass, Scope};
use crate::domain::message::Usage;
use crate::domain::provider::SimulatorSettings;
use crate::latency::law::Laws;
use crate::provider::Exchange;
use crate::workflow::case::Told;

/// An answer's bound over its size at the median.
pub const BOUND_PER_MEDIAN: f64 = 2.5;
/// Pieces of one answer.
const MAX_PIECES: u32 = 200;
/// Seconds between pieces, where the answer is not long.
const PIECE_S: f64 = 0.2;
/// How much slower a recorded `slow` attempt is.
const SLOW: f64 = 8.0;
/// Draw fields that the fitted model does not use.
const RETRY_FIELD: u8 = 200;
const GARBAGE_FIELD: u8 = 201;

/// A simulated provider: how its attempts fare, a seed and what is recorded. Holds no time.
#[derive(Clone, Debug)]
pub struct Simulation {
    source: Source,
    seed: u64,
    recordings: Arc<Recordings>,
}

/// What fates are drawn from.
#[derive(Clone, Debug)]
enum Source {
    Regime {
        regime: &'static Regime,
        /// 0 to 2 where the provider's name ends in `_a`, `_b` or `_c`; else the model's usual one.
        place: Option<u8>,
    },
    /// What is measured of the paths of the plan whose steps are played.
    Laws(Arc<Laws>),
}

/// One step of a script.
#[derive(Clone, Debug, PartialEq)]
pub enum Update {
    /// The first token has arrived.
    FirstToken,
    /// Bytes `from..to` of the script's text have arrived.
    Piece {
        /// First byte.
        from: usize,
        /// Byte behind the last.
        to: usize,
        /// Tokens of this piece.
        tokens: u64,
    },
    /// The answer is complete.
    End(Usage),
    /// The exchange broke off.
    Fail(Failure, Option<Usage>),
    /// Nothing will come any more; always the last update.
    Stall,
}

/// The course of one exchange.
#[derive(Clone, Debug, PartialEq)]
pub struct Script {
    /// The answer's text, or the part of it that is sent.
    pub text: String,
    /// Whether the answer was made up by shape.
    pub invented: bool,
    /// In order of time, each with the time since the exchange was sent. The last one is the only
    /// [`Update::End`], [`Update::Fail`] or [`Update::Stall`].
    pub updates: Vec<(Duration, Update)>,
}

impl Simulation {
    /// The provider named `provider` in a world of `settings`.
    ///
    /// # Errors
    /// There is no such regime.
    pub fn new(
        provider: &str,
        settings: &SimulatorSettings,
        recordings: Arc<Recordings>,
    ) -> Result<Self, UnknownRegime> {
        let regime = Regime::named(&settings.regime)?;
        let place = match provider.rsplit('_').next() {
            Some("a") => Some(0),
            Some("b") => Some(1),
            Some("c") => Some(2),
            _ => None,
        };
        let source = Source::Regime { regime, place };
        Ok(Self { source, seed: settings.seed, recordings })
    }

    /// A provider of the plan that `laws` are of: its attempts fare as they were measured.
    #[must_use]
    pub fn measured(laws: Arc<Laws>, seed: u64, recordings: Arc<Recordings>) -> Self {
        Self { source: Source::Laws(laws), seed, recordings }
    }

    /// What a model's exchanges are drawn from: its path's figures, its provider's, and what all have in common; `None`
    /// where that is no regime.
    #[must_use]
    pub fn figures(
        &self,
        model: &str,
    ) -> Option<(&'static PathFigures, &'static ProviderFigures, &'static ShapeFigures)> {
        let Source::Regime { regime, place } = &self.source else { return None };
        let path = path(*place, model);
        let provider = place.unwrap_or(PROVIDER_OF_PATH[usize::from(path)]);
        Some((&regime.paths[usize::from(path)], regime.provider(provider), &regime.shape))
    }

    /// The luck of an exchange, and what comes of it. `None` where nothing is known of its path.
    fn draw(&self, exchange: &Exchange) -> Option<(Key, Fate)> {
        let bound = f64::from(exchange.max_tokens.max(1));
        match &self.source {
            Source::Regime { regime, place } => {
                let path = path(*place, &exchange.profile.id);
                let provider = place.unwrap_or(PROVIDER_OF_PATH[usize::from(path)]);
                let key = key(self.seed, exchange, path);
                let fate = draw(regime, &key, provider, bound / BOUND_PER_MEDIAN);
                Some((key, fate))
            }
            Source::Laws(laws) => {
                let place = (usize::from(exchange.draw.step), usize::from(exchange.draw.path));
                let key = key(self.seed, exchange, u8::try_from(place.1).unwrap_or(u8::MAX));
                Some((key, measured::draw(laws, &key, place, bound)?))
            }
        }
    }

    /// Lays out an exchange: its answer, its fate, and what is seen of them when.
    #[must_use]
    pub fn plan_exchange(&self, exchange: &Exchange) -> Script {
        let input = exchange.prompt.estimated_tokens();
        let Some((key, mut fate)) = self.draw(exchange) else {
            let message = "nothing is measured of this path";
            let failure = Failure::of_attempt(FailureClass::ModelNotFound, "no law", message);
            let updates = vec![(Duration::ZERO, Update::Fail(failure, None))];
            return Script { text: String::new(), invented: false, updates };
        };
        if exchange.profile.context.is_some_and(|window| input > window) {
            return overflow(&fate);
        }
        let stored = self.recordings.find(&exchange.draw);
        if let Some(told) = stored.and_then(|stored| stored.told) {
            fate = retold(fate, told);
        }
        let schema = exchange.schema.as_deref();
        let recorded = stored.and_then(|stored| stored.text.clone());
        let invented = recorded.is_none();
        let text = match recorded {
            Some(text) => text,
            None => match answer(&exchange.prompt, schema, exchange.max_tokens) {
                Ok(text) => text,
                Err(error) => {
                    let failure = Failure::of_attempt(
                        FailureClass::BadRequest,
                        "simulated answer",
                        clipped(&error.to_string()),
                    );
                    return failed(&fate, failure, None);
                }
            },
        };
        let text = if fate.ending == Ending::Garbage {
            garbage(&text, schema, key.uniform(GARBAGE_FIELD))
        } else {
            text
        };
        Script { invented, ..lay_out(fate, &key, text, exchange.max_tokens, input) }
    }
}

/// The regime's path for a model: `flagship` is 0, or 1 on provider B; `light` 2; `strong` 3; any other name one of
/// the four, always the same.
fn path(place: Option<u8>, model: &str) -> u8 {
    match model {
        "flagship" => u8::from(place == Some(1)),
        "light" => 2,
        "strong" => 3,
        other => (hash(other.as_bytes()) % 4) as u8,
    }
}

fn key(seed: u64, exchange: &Exchange, path: u8) -> Key {
    let draw = &exchange.draw;
    // 16 bits of step, 22 of item: what the hash's word has room for.
    let step = u64::from(draw.step) | (u64::from(draw.item) & 0x3F_FFFF) << 16;
    Key { seed, run: draw.run, step, path, attempt: draw.attempt }
}

/// The fate a recording tells, in the regime's usual time.
fn retold(fate: Fate, told: Told) -> Fate {
    let factor = if told == Told::Slow { SLOW } else { 1.0 };
    let calm = Fate { factor, onset: 0.0, ..fate };
    // A 429 or an error that was drawn has no first token; a second is the usual wait for one.
    let first = calm.first_token_s.unwrap_or(1.0).min(3.0);
    Fate { first_token_s: Some(first), ..calm }.ended_by(told.ending(), 0.25)
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a count of tokens, bounded by max_tokens"
)]
fn lay_out(mut fate: Fate, key: &Key, mut text: String, max_tokens: u32, input: u64) -> Script {
    let bound = u64::from(max_tokens);
    let is_cut = tokens_of(&text) > bound;
    if is_cut {
        let room = usize::try_from(bound.saturating_mul(4)).unwrap_or(usize::MAX);
        text.truncate(boundary(&text, room));
    }
    resize(&mut fate, tokens_of(&text), max_tokens, is_cut);
    let usage = |output: f64| Usage {
        input,
        cached_input: 0,
        output: (output.ceil() as u64).min(bound),
        estimated: false,
        cost: None,
    };
    match fate.ending {
        // Billing of the fitted model: an error costs its input, a 429 nothing.
        Ending::Error => {
            let mut failure = Failure::of_attempt(
                FailureClass::ServerError,
                "simulated 500",
                "the simulated provider answered 500",
            );
            failure.scope = Scope::Path;
            return failed(&fate, failure, Some(usage(0.0)));
        }
        Ending::RateLimited => {
            let wait = seconds(2.0 + 8.0 * key.uniform(RETRY_FIELD));
            let failure = Failure {
                class: FailureClass::RateLimited,
                scope: Scope::Quota,
                retry_after: Some(Duration::from_secs(wait.as_secs())),
                hopeless: false,
                evidence: "simulated 429 + retry-after".to_owned(),
                message: format!(
                    "the simulated provider throttles; come back in {} s",
                    wait.as_secs()
                ),
                about: None,
            };
            return failed(&fate, failure, None);
        }
        Ending::Ok | Ending::Silent | Ending::Garbage | Ending::Hang => {}
    }
    let Some(first) = fate.first_token_s else {
        return Script {
            text: String::new(),
            invented: false,
            updates: vec![(Duration::ZERO, Update::Stall)],
        };
    };
    let flowing = fate.stall_s.unwrap_or(fate.end_s.unwrap_or(first) - first).max(0.0);
    let arrived = fate.emitted(flowing);
    let share = if fate.stall_s.is_some() { arrived / fate.tokens } else { 1.0 };
    let mut updates = vec![(seconds(first), Update::FirstToken)];
    pieces(&fate, first, flowing, &text, share, &mut updates);
    let (at, last) = match (fate.end_s, is_cut) {
        (None, _) => (seconds(first + flowing), Update::Stall),
        (Some(end), false) => (seconds(end), Update::End(usage(arrived))),
        (Some(end), true) => {
            let message = format!("the answer reached its bound of {max_tokens} tokens");
            let failure =
                Failure::of_attempt(FailureClass::TruncatedOutput, "simulated length", message);
            (seconds(end), Update::Fail(failure, Some(usage(arrived))))
        }
    };
    updates.push((at, last));
    Script { text, invented: false, updates }
}

/// At least the tokens of the text, at most the bound; times move along.
#[expect(clippy::cast_precision_loss, reason = "a count of tokens, bounded by max_tokens")]
fn resize(fate: &mut Fate, text_tokens: u64, max_tokens: u32, is_cut: bool) {
    let bound = f64::from(max_tokens.max(1));
    let tokens = if is_cut {
        bound
    } else {
        fate.tokens.clamp((text_tokens as f64).clamp(1.0, bound), bound)
    };
    let before = fate.generation_s();
    fate.tokens = tokens;
    let grown = fate.generation_s() / before.max(f64::MIN_POSITIVE);
    if let (Some(first), Some(end)) = (fate.first_token_s, fate.end_s) {
        fate.end_s = Some(first + (end - first) * grown);
    }
    fate.stall_s = fate.stall_s.map(|stall| stall * grown);
}

/// Spreads `share` of the text over the tokens that come within `flowing` seconds of the first.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "places within a text and counts of tokens, both bounded by max_tokens"
)]
fn pieces(
    fate: &Fate,
    first: f64,
    flowing: f64,
    text: &str,
    share: f64,
    updates: &mut Vec<(Duration, Update)>,
) {
    let count = ((flowing / PIECE_S).ceil() as u32).clamp(1, MAX_PIECES);
    let whole = fate.emitted(flowing).max(f64::MIN_POSITIVE);
    let (mut from, mut counted) = (0, 0_u64);
    for nth in 1..=count {
        let elapsed = flowing * f64::from(nth) / f64::from(count);
        let emitted = fate.emitted(elapsed);
        let place = text.len() as f64 * share * (emitted / whole).min(1.0);
        let is_last = nth == count && share >= 1.0;
        let to = if is_last { text.len() } else { boundary(text, place as usize) };
        let total = emitted.ceil() as u64;
        let tokens = total.saturating_sub(counted);
        if to > from || tokens > 0 {
            updates.push((seconds(first + elapsed), Update::Piece { from, to, tokens }));
        }
        (from, counted) = (to, counted.max(total));
    }
}

fn failed(fate: &Fate, failure: Failure, usage: Option<Usage>) -> Script {
    let at = seconds(fate.end_s.unwrap_or(0.3).min(30.0));
    Script {
        text: String::new(),
        invented: false,
        updates: vec![(at, Update::Fail(failure, usage))],
    }
}

fn overflow(fate: &Fate) -> Script {
    let mut failure = Failure::of_attempt(
        FailureClass::ContextOverflow,
        "simulated 400",
        "the prompt does not fit the simulated model's window",
    );
    failure.scope = Scope::Path;
    failed(&Fate { end_s: Some(0.3), ..*fate }, failure, None)
}

fn clipped(text: &str) -> String {
    text.chars().take(500).collect()
}
