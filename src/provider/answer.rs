//! The answer as it grows: text, reasoning, counts. Shared by all decoders.

use serde_json::Value;

use crate::domain::failure::{Failure, FailureClass};
use crate::domain::message::{Usage, estimate_tokens};
use crate::domain::money::Usd;

use super::classify::brief;
use super::{Broken, Exchange, Reply, Sink};

/// How a provider said that its answer ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum End {
    /// It did not say.
    Unsaid,
    /// Complete.
    Done,
    /// It reached its token bound, in the provider's word for it.
    Cut(String),
    /// Filtered, refused or failed.
    Bad(Failure),
}

/// An answer under way.
#[derive(Debug)]
pub struct Answer {
    /// What the model says.
    text: String,
    /// The arguments of the tool it calls.
    arguments: Option<String>,
    /// Whether it is forced to call a tool, so that the arguments are the answer.
    forced: bool,
    /// Whether the model has reasoned, shown or not.
    reasons: bool,
    /// Tokens of reasoning, as estimated from what was shown of it.
    thought: u64,
    /// Tokens of reasoning, as the provider counts them.
    reasoned: Option<u64>,
    started: bool,
    usage: Option<Usage>,
    prompt_tokens: u64,
    /// How it ended.
    pub end: End,
    /// The words of a refusal.
    refusal: String,
}

impl Answer {
    /// The answer to `exchange`; `forced` where it must come as a tool's arguments.
    #[must_use]
    pub fn new(exchange: &Exchange, forced: bool) -> Self {
        Self {
            text: String::new(),
            arguments: None,
            forced,
            reasons: false,
            thought: 0,
            reasoned: None,
            started: false,
            usage: None,
            prompt_tokens: exchange.prompt.estimated_tokens(),
            end: End::Unsaid,
            refusal: String::new(),
        }
    }

    /// The model said `piece`.
    pub fn say(&mut self, piece: &str, sink: &mut dyn Sink) {
        self.text.push_str(piece);
        self.report(piece, !self.forced, sink);
    }

    /// A tool is called; its arguments may follow.
    pub fn call(&mut self) {
        self.arguments.get_or_insert_default();
    }

    /// `piece` of the called tool's arguments.
    pub fn argue(&mut self, piece: &str, sink: &mut dyn Sink) {
        self.arguments.get_or_insert_default().push_str(piece);
        self.report(piece, self.forced, sink);
    }

    /// The model thinks, though nothing of it may be shown.
    pub fn reasons(&mut self) {
        self.reasons = true;
    }

    /// The model thought `piece`, which is no part of the answer.
    pub fn think(&mut self, piece: &str, sink: &mut dyn Sink) {
        if !piece.is_empty() {
            self.reasons = true;
            self.thought += estimate_tokens(piece).max(1);
        }
        self.report(piece, false, sink);
    }

    /// `piece` of a refusal.
    pub fn refuse(&mut self, piece: &str, sink: &mut dyn Sink) {
        self.refusal.push_str(piece);
        self.report(piece, false, sink);
    }

    fn report(&mut self, piece: &str, is_answer: bool, sink: &mut dyn Sink) {
        if piece.is_empty() {
            return;
        }
        if !std::mem::replace(&mut self.started, true) {
            sink.first_token();
        }
        sink.piece(if is_answer { piece } else { "" }, estimate_tokens(piece).max(1));
    }

    /// What has been counted so far.
    pub fn usage(&self) -> Option<Usage> {
        self.usage
    }

    /// The provider has counted; `estimated` where the count is not final.
    pub fn count(&mut self, usage: Usage, sink: &mut dyn Sink) {
        self.usage = Some(usage);
        sink.usage(usage);
    }

    /// Of what the provider has counted, so many tokens are reasoning; `None` where it does not say.
    pub fn count_reasoning(&mut self, tokens: Option<u64>) {
        self.reasoned = tokens.or(self.reasoned);
    }

    /// Whether anything of the answer has arrived.
    pub fn is_empty(&self) -> bool {
        self.text.trim().is_empty() && self.arguments.as_ref().is_none_or(|a| a.trim().is_empty())
    }

    /// The answer: for a forced tool its arguments; without words of its own, those of a tool called freely.
    fn take_text(&mut self) -> String {
        let said = std::mem::take(&mut self.text);
        match self.arguments.take() {
            Some(arguments) if self.forced || said.trim().is_empty() => {
                if arguments.trim().is_empty() { "{}".to_owned() } else { arguments }
            }
            _ => said,
        }
    }

    /// A count that is not final is raised to what was seen.
    fn settled(&self, counted: Usage, text: &str) -> Usage {
        let seen = estimate_tokens(text) + self.thought;
        let output = if counted.estimated { counted.output.max(seen) } else { counted.output };
        Usage { output, ..counted }
    }

    fn estimate(&self, text: &str) -> Usage {
        Usage {
            input: self.prompt_tokens,
            cached_input: 0,
            output: estimate_tokens(text) + self.thought,
            estimated: true,
            cost: None,
        }
    }

    /// Ends the answer as the provider ended it. `unsaid` is the failure where it did not say how.
    ///
    /// # Errors
    /// Every end but a complete answer with words in it.
    pub fn finish(mut self, unsaid: Failure) -> Result<Reply, Broken> {
        if !self.refusal.trim().is_empty() {
            let words = std::mem::take(&mut self.refusal);
            return Err(self.abort(refused(&words)));
        }
        match std::mem::replace(&mut self.end, End::Unsaid) {
            End::Unsaid => Err(self.abort(unsaid)),
            End::Cut(why) => {
                let failure = self.truncated(&why);
                Err(self.abort(failure))
            }
            End::Bad(failure) => Err(self.abort(failure)),
            End::Done if self.text.trim().is_empty() && self.arguments.is_none() => {
                let failure = empty(self.reasons || self.reasoned > Some(0));
                Err(self.abort(failure))
            }
            End::Done => {
                let text = self.take_text();
                let usage = match self.usage {
                    Some(counted) => self.settled(counted, &text),
                    None => self.estimate(&text),
                };
                Ok(Reply { text, usage, invented: false, remaining: None })
            }
        }
    }

    /// The failure of an answer that reached its bound. Reasoning counts in that bound with every vendor, so that
    /// nothing may be left of it for the answer.
    fn truncated(&self, why: &str) -> Failure {
        let reasons = self.reasons || self.reasoned > Some(0);
        let message = match (self.is_empty(), reasons) {
            (false, _) => "the answer reached its token bound: raise `max_tokens`".to_owned(),
            (true, false) => {
                "the answer's token bound was used up before it began: raise `max_tokens`"
                    .to_owned()
            }
            (true, true) => {
                // Where reasoning is not counted apart, all that came out is reasoning.
                let all = self.usage.filter(|usage| !usage.estimated).map(|usage| usage.output);
                let counted = self.reasoned.filter(|n| *n > 0).or(all.filter(|n| *n > 0));
                let tokens = match (counted, self.thought) {
                    (Some(counted), _) => format!("its {counted} tokens"),
                    (None, 0) => "its tokens".to_owned(),
                    (None, seen) => format!("about {seen} tokens"),
                };
                format!(
                    "the model's reasoning used up {tokens} before an answer began; raise \
                     `max_tokens` or lower `effort`"
                )
            }
        };
        Failure::of_attempt(FailureClass::TruncatedOutput, format!("ended by {why}"), message)
    }

    /// Ends the answer as failed. What had arrived is kept.
    #[must_use]
    pub fn abort(mut self, failure: Failure) -> Broken {
        let usage = self.usage;
        let partial = if self.is_empty() { String::new() } else { self.take_text() };
        let usage = usage.map(|counted| self.settled(counted, &partial));
        Broken { failure, partial, usage, remaining: None }
    }
}

/// The failure of a model that declined.
#[must_use]
pub fn refused(words: &str) -> Failure {
    let message = match words.trim() {
        "" => "the model declined to answer".to_owned(),
        said => format!("the model declined: {}", brief(said)),
    };
    Failure::of_attempt(FailureClass::Refusal, "refusal", message)
}

fn empty(thought: bool) -> Failure {
    let message = if thought {
        "the answer is empty: the model only reasoned"
    } else {
        "the answer is empty"
    };
    Failure::of_attempt(FailureClass::EmptyOutput, "complete but empty", message)
}

/// The failure of an answer that a content filter stopped, for the reason `why`.
#[must_use]
pub fn filtered(why: &str) -> Failure {
    let evidence = format!("ended by {}", brief(why));
    let message = "the provider's content filter stopped the answer";
    Failure::of_attempt(FailureClass::ContentFiltered, evidence, message)
}

/// What a vendor says it charged, beside its counts: `OpenRouter` in dollars, xAI in ten-billionths of one.
#[must_use]
pub fn cost(counts: &Value) -> Option<Usd> {
    let dollars = counts.get("cost").and_then(Value::as_f64);
    let ticks = || counts.get("cost_in_usd_ticks").and_then(Value::as_f64);
    dollars.or_else(|| ticks().map(|ticks| ticks / 1e10)).and_then(Usd::from_dollars)
}
