//! What is known about a model on a provider: limits, dialect quirks, price.

use super::money::Price;

/// Facts about one model as one provider serves it.
#[derive(Clone, Debug, PartialEq)]
pub struct ModelProfile {
    /// The id the provider knows it by.
    pub id: String,
    /// Window in tokens, prompt and answer together; `None` where unknown.
    pub context: Option<u64>,
    /// Most tokens of one answer; `None` where unknown.
    pub max_output: Option<u32>,
    /// How a JSON answer is asked for.
    pub structured: Structured,
    /// Where the system prompt goes.
    pub system: SystemPrompt,
    /// The name of the answer's bound in the request.
    pub token_field: TokenField,
    /// Whether `temperature` is accepted.
    pub temperature: bool,
    /// What it charges; `None` where unknown.
    pub price: Option<Price>,
    /// Prior chance, 0 to 1, that a schema-valid answer is right.
    pub trust: f64,
}

/// How a model is asked for JSON of a given shape. The full schema is validated here in any case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Structured {
    /// The provider constrains the answer to a JSON schema.
    Schema,
    /// The provider constrains the answer to JSON; the schema is in the instructions.
    Json,
    /// The model is forced to call a tool whose parameters are the schema.
    Tool,
    /// Instructions only.
    Instruct,
}

/// Where a system prompt goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SystemPrompt {
    /// In the dialect's own place.
    Native,
    /// In front of the first user turn.
    Merged,
}

/// The request field that bounds the answer in the OpenAI-like dialects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TokenField {
    /// `max_tokens`
    MaxTokens,
    /// `max_completion_tokens`
    MaxCompletionTokens,
}
