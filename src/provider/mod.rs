//! Adapters to the models: one exchange in, one classified reply out.
//!
//! A dialect ([`chat`], [`anthropic`]) is pure: it encodes an [`Exchange`] and decodes what comes back.
//! [`reader`] turns a response's bytes into events for it, [`classify`] says what a failure means, and
//! [`transport`] is the only part that does I/O, so that a further dialect needs no I/O of its own.

pub mod answer;
pub mod anthropic;
pub mod chat;
pub mod classify;
pub mod constraint;
pub mod dialect;
pub mod mark;
pub mod reader;
pub mod registry;
pub mod retry_window;
pub mod secret;
pub mod sse;
pub mod transport;

pub mod simulated;

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use serde_json::Value;

use crate::domain::failure::Failure;
use crate::domain::message::{Prompt, Usage};
use crate::domain::model::ModelProfile;
use crate::policy::rate::Told;

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
}
