//! Adapters to the models: one exchange in, one classified reply out.
//!
//! A dialect ([`chat`], [`responses`], [`anthropic`], [`gemini`], `bedrock`) is pure: it encodes an [`Exchange`] and
//! decodes what comes back.
//! [`reader`] turns a response's bytes into events for it, [`classify`] says what a failure means, and
//! [`transport`] is the only part that does I/O, so that a further dialect needs no I/O of its own.

pub mod answer;
pub mod anthropic;
#[cfg(feature = "bedrock")]
pub mod bedrock;
pub mod chat;
pub mod classify;
pub mod constraint;
pub mod correction;
pub mod dialect;
#[cfg(feature = "bedrock")]
pub mod event_stream;
#[cfg(test)]
mod fixture;
pub mod gemini;
pub mod lesson;
pub mod mark;
pub mod reader;
pub mod registry;
pub mod remaining;
pub mod responses;
pub mod retry_window;
pub mod secret;
pub mod sse;
#[cfg(test)]
mod tests;
pub mod transport;
pub mod turns;

pub mod simulated;

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use serde_json::Value;

use crate::domain::failure::Failure;
use crate::domain::message::{Prompt, Usage};
use crate::domain::model::ModelProfile;
use crate::domain::provider::Remaining;
use crate::policy::rate::Told;

use lesson::Lessons;

/// One request to one model.
#[derive(Clone, Debug)]
pub struct Exchange {
    /// What is sent.
    pub prompt: Prompt,
    /// The JSON Schema the answer must fit; `None` for plain text.
    pub schema: Option<Arc<Value>>,
    /// The answer's bound.
    pub max_tokens: u32,
    /// Sent where the profile takes it.
    pub temperature: Option<f64>,
    /// Sent where the model takes it.
    pub effort: Option<String>,
    /// The model.
    pub profile: Arc<ModelProfile>,
    /// Which draw this is, for the simulator: the same numbers draw the same luck.
    pub draw: Draw,
}

/// Names an attempt for keyed draws.
#[derive(Clone, Debug, Default)]
pub struct Draw {
    /// The run's own seed.
    pub run: u64,
    /// The step's place.
    pub step: u16,
    /// The item's number among those that are asked.
    pub item: u32,
    /// The item's place in its list, for recorded answers.
    pub place: u32,
    /// The attempt's number within the step or item, from 0.
    pub attempt: u32,
    /// The path's place.
    pub path: u16,
    /// Tells the run's validated input apart, for recorded answers: [`crate::workflow::case::digest`].
    pub input: u64,
    /// The workflow's and step's names, for recorded answers.
    pub workflow: String,
    /// See `workflow`.
    pub step_name: String,
}

/// What an exchange reports while it runs. Must not block.
pub trait Sink: Send {
    /// The first piece of the answer (text, reasoning or a tool's arguments) has arrived.
    fn first_token(&mut self);
    /// A further piece of the answer. Reasoning is counted with `text` empty and `tokens` set.
    fn piece(&mut self, text: &str, tokens: u64);
    /// The provider has counted, so far.
    fn usage(&mut self, usage: Usage);
    /// The request was refused for a part of it, and is sent once more, changed in this way.
    fn corrected(&mut self, _how: &str) {}
    /// The provider has said what is left of its limits. As soon as it has: what it says counts from then.
    fn told(&mut self, _told: &Told) {}
}

/// A complete reply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reply {
    /// The answer's text: for a forced tool, its arguments.
    pub text: String,
    /// As counted by the provider, or estimated.
    pub usage: Usage,
    /// Whether the simulator made the answer up by shape, so that what it says means nothing.
    pub invented: bool,
    /// What the provider says is left of its limits.
    pub remaining: Option<Box<Remaining>>,
}

/// An exchange without a complete reply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Broken {
    /// Classified from status, headers and body together.
    pub failure: Failure,
    /// The text that had arrived.
    pub partial: String,
    /// As counted, where it was.
    pub usage: Option<Usage>,
    /// What the provider says is left of its limits.
    pub remaining: Option<Box<Remaining>>,
}

impl From<Failure> for Broken {
    /// An exchange of which nothing but its failure is known.
    fn from(failure: Failure) -> Self {
        Self { failure, partial: String::new(), usage: None, remaining: None }
    }
}

/// A boxed future, so that providers can be held as trait objects.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Somewhere exchanges are sent. Dropping the future closes the connection.
pub trait Provider: Send + Sync {
    /// Sends `exchange`, reports to `sink` as the reply streams in, and returns the whole of it.
    fn exchange<'a>(
        &'a self,
        exchange: &'a Exchange,
        sink: &'a mut dyn Sink,
    ) -> BoxFuture<'a, Result<Reply, Broken>>;

    /// What its refusals have taught.
    fn lessons(&self) -> Option<&Lessons> {
        None
    }

    /// Takes over what `before`, the provider of the same name until now, has learned.
    fn inherit(&self, before: &dyn Provider) {
        if let (Some(own), Some(learned)) = (self.lessons(), before.lessons()) {
            own.inherit(learned);
        }
    }
}
