//! What is known about a model on a provider: limits, dialect quirks, price.

use serde::{Deserialize, Serialize};

use super::money::Price;

/// Facts about one model as one provider serves it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ModelProfile {
    /// The id the provider knows it by.
    pub id: String,
    /// Window in tokens, prompt and answer together; `None` where unknown.
    pub context: Option<u64>,
    /// Most tokens of a prompt, where that is less than the window.
    pub max_input: Option<u64>,
    /// Most tokens of one answer; `None` where unknown.
    pub max_output: Option<u32>,
    /// How a JSON answer is asked for.
    pub structured: Structured,
    /// How it is asked for where the schema cannot be said in `subset`.
    pub fallback: Structured,
    /// What of JSON Schema its constrained decoding takes.
    pub subset: Subset,
    /// Where the system prompt goes.
    pub system: SystemPrompt,
    /// The name of the answer's bound in the request.
    pub token_field: TokenField,
    /// Whether counts may be asked for in the stream, where the provider takes that at all.
    pub counts: bool,
    /// Whether `temperature` is accepted.
    pub temperature: bool,
    /// Which words it takes for how hard to think.
    pub effort: Efforts,
    /// What it charges; `None` where unknown.
    pub price: Option<Price>,
    /// Prior chance, 0 to 1, that a schema-valid answer is right.
    pub trust: f64,
}

impl ModelProfile {
    /// A model of which nothing is known but its id: nothing is asked of it that some model refuses.
    #[must_use]
    pub fn plain(id: impl Into<String>) -> Self {
        Self {
            id: id.into(),
            context: None,
            max_input: None,
            max_output: None,
            structured: Structured::Instruct,
            fallback: Structured::Instruct,
            subset: Subset::Standard,
            system: SystemPrompt::Native,
            token_field: TokenField::MaxTokens,
            counts: true,
            temperature: true,
            effort: Efforts::NONE,
            price: None,
            trust: 0.9,
        }
    }

    /// The bound that is sent for an answer of at most `answer` tokens: no more than the model gives, at least 1.
    #[must_use]
    pub fn bound(&self, answer: u32) -> u32 {
        self.max_output.map_or(answer, |most| answer.min(most)).max(1)
    }

    /// Most tokens of a prompt beside which an answer of `answer` tokens has its place; `None` where the window is not
    /// known.
    #[must_use]
    pub fn room(&self, answer: u32) -> Option<u64> {
        let beside = self.context.map(|all| all.saturating_sub(u64::from(self.bound(answer))));
        match (beside, self.max_input) {
            (Some(beside), Some(most)) => Some(beside.min(most)),
            (beside, most) => beside.or(most),
        }
    }
}

/// How a model is asked for JSON of a given shape. The full schema is validated here in any case.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
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

/// The subsets of JSON Schema that vendors' constrained decoding takes; what each holds stands in the schema room.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Subset {
    /// Standard schemas, references inlined: vLLM, Mistral, Together.
    Standard,
    /// OpenAI's strict mode (also Azure, Groq, and what OpenRouter passes on).
    OpenAi,
    /// Anthropic's `output_config`.
    Anthropic,
    /// Gemini's `responseJsonSchema`.
    Gemini,
    /// Bedrock Converse's `outputConfig`.
    Bedrock,
    /// Databricks' endpoints.
    Databricks,
    /// xAI.
    Xai,
    /// Grammars of llama.cpp, which Ollama uses too.
    Grammar,
}

/// Where a system prompt goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SystemPrompt {
    /// In the dialect's own place.
    Native,
    /// In front of the first user turn.
    Merged,
}

/// The request field that bounds the answer in the OpenAI-like dialects.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TokenField {
    /// `max_tokens`
    MaxTokens,
    /// `max_completion_tokens`
    MaxCompletionTokens,
}

/// A set of words for how hard a model thinks.
///
/// ```
/// use punctual::domain::model::Efforts;
/// let takes = Efforts::of(["low", "medium", "high"]);
/// assert_eq!(takes.nearest("high"), Some("high"));
/// assert_eq!(takes.nearest("max"), Some("high"));
/// assert_eq!(Efforts::NONE.nearest("low"), None);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Efforts(u8);

impl Efforts {
    /// The words, weakest first.
    pub const WORDS: [&str; 7] = ["none", "minimal", "low", "medium", "high", "xhigh", "max"];
    /// No word is taken.
    pub const NONE: Self = Self(0);

    /// The set of these words; others are left out.
    #[must_use]
    pub fn of<'a>(words: impl IntoIterator<Item = &'a str>) -> Self {
        let places =
            words.into_iter().filter_map(|word| Self::WORDS.iter().position(|w| *w == word));
        Self(places.fold(0, |set, place| set | 1 << place))
    }

    /// The word of the set that comes closest to `word`: of two as close the stronger. `None` where the set is empty
    /// or `word` is none.
    #[must_use]
    pub fn nearest(self, word: &str) -> Option<&'static str> {
        let wanted = Self::WORDS.iter().position(|w| *w == word)?;
        let taken = (0..Self::WORDS.len()).rev().filter(|place| self.0 & 1 << place != 0);
        taken.min_by_key(|place| place.abs_diff(wanted)).map(|place| Self::WORDS[place])
    }

    /// The words of the set, weakest first.
    pub fn words(self) -> impl Iterator<Item = &'static str> {
        Self::WORDS
            .into_iter()
            .enumerate()
            .filter(move |(place, _)| self.0 & 1 << place != 0)
            .map(|(_, word)| word)
    }

    /// Whether no word is taken.
    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_room_beside_an_answer_is_what_the_tighter_limit_leaves() {
        let of = |context, max_input, max_output| ModelProfile {
            context,
            max_input,
            max_output,
            ..ModelProfile::plain("m")
        };
        assert_eq!(of(None, None, None).room(100), None);
        assert_eq!(of(Some(8_000), None, None).room(1_000), Some(7_000));
        assert_eq!(of(Some(8_000), None, Some(500)).room(1_000), Some(7_500));
        assert_eq!(of(Some(400_000), Some(272_000), None).room(1_000), Some(272_000));
        assert_eq!(of(Some(400_000), Some(272_000), None).room(200_000), Some(200_000));
        assert_eq!(of(None, Some(272_000), None).room(1_000), Some(272_000));
        assert_eq!(of(Some(1_000), None, None).room(4_000), Some(0));
    }

    #[test]
    fn an_effort_that_is_not_taken_becomes_the_nearest_one_that_is() {
        let takes = Efforts::of(["none", "low", "medium", "high"]);
        let asked = Efforts::WORDS.map(|word| takes.nearest(word).unwrap());
        assert_eq!(asked, ["none", "low", "low", "medium", "high", "high", "high"]);
        assert_eq!(takes.nearest("enormous"), None);
        assert_eq!(takes.words().collect::<Vec<_>>(), ["none", "low", "medium", "high"]);
    }
}
