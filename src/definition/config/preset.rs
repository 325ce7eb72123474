//! Vendors as data: what a `kind` means where the file says no more. Source: the vendors' API references as
//! read in November 2026; each row is what the vendor's own SDK uses.

use crate::domain::model::{Structured, Subset, TokenField};
use crate::domain::provider::{Capacity, ChatQuirks, Dialect, OnCancel, SimulatorSettings};

/// The wire format of a preset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wire {
    /// The chat completions format.
    Chat,
    /// Anthropic's messages.
    Anthropic,
    /// The simulator.
    Simulated,
}

/// What a `kind` stands for.
#[derive(Clone, Copy, Debug)]
pub struct Preset {
    /// The word in the file.
    pub kind: &'static str,
    /// The format it speaks.
    pub wire: Wire,
    /// Where it is reached; `None` where every account has its own.
    pub base_url: Option<&'static str>,
    /// The variable its own SDK reads its key from; `None` where no key is needed.
    pub key: Option<&'static str>,
    /// The request field that bounds the answer.
    pub token_field: TokenField,
    /// How JSON is asked for where a path's `can` is silent.
    pub structured: Structured,
    /// What of JSON Schema its constrained decoding takes.
    pub subset: Subset,
    /// Whether usage in the stream may be asked for.
    pub stream_options: bool,
    /// Whether it runs on the user's own machine.
    pub local: bool,
}

const fn chat(
    kind: &'static str,
    base_url: Option<&'static str>,
    key: Option<&'static str>,
) -> Preset {
    Preset {
        kind,
        wire: Wire::Chat,
        base_url,
        key,
        token_field: TokenField::MaxTokens,
        structured: Structured::Schema,
        subset: Subset::Standard,
        stream_options: true,
        local: false,
    }
}

const fn local(kind: &'static str, base_url: &'static str, subset: Subset) -> Preset {
    Preset { local: true, subset, ..chat(kind, Some(base_url), None) }
}

const COMPLETION: TokenField = TokenField::MaxCompletionTokens;

/// Every kind this version speaks.
pub const PRESETS: [Preset; 15] = [
    Preset {
        token_field: COMPLETION,
        subset: Subset::OpenAi,
        ..chat("openai", Some("https://api.openai.com/v1"), Some("OPENAI_API_KEY"))
    },
    Preset { structured: Structured::Instruct, ..chat("openai_compatible", None, None) },
    Preset {
        wire: Wire::Anthropic,
        structured: Structured::Tool,
        subset: Subset::Anthropic,
        ..chat("anthropic", Some("https://api.anthropic.com"), Some("ANTHROPIC_API_KEY"))
    },
    Preset { wire: Wire::Simulated, ..chat("simulated", Some(""), None) },
    Preset {
        token_field: COMPLETION,
        subset: Subset::OpenAi,
        ..chat("azure", None, Some("AZURE_OPENAI_API_KEY"))
    },
    Preset { subset: Subset::Databricks, ..chat("databricks", None, Some("DATABRICKS_TOKEN")) },
    // What every vendor behind it takes.
    Preset {
        subset: Subset::OpenAi,
        ..chat("openrouter", Some("https://openrouter.ai/api/v1"), Some("OPENROUTER_API_KEY"))
    },
    Preset {
        token_field: COMPLETION,
        subset: Subset::OpenAi,
        ..chat("groq", Some("https://api.groq.com/openai/v1"), Some("GROQ_API_KEY"))
    },
    // Mistral answers 422 to fields it does not know, `stream_options` among them.
    Preset {
        stream_options: false,
        ..chat("mistral", Some("https://api.mistral.ai/v1"), Some("MISTRAL_API_KEY"))
    },
    chat("together", Some("https://api.together.xyz/v1"), Some("TOGETHER_API_KEY")),
    Preset {
        structured: Structured::Json,
        ..chat("deepseek", Some("https://api.deepseek.com"), Some("DEEPSEEK_API_KEY"))
    },
    Preset {
        token_field: COMPLETION,
        subset: Subset::Xai,
        ..chat("xai", Some("https://api.x.ai/v1"), Some("XAI_API_KEY"))
    },
    local("ollama", "http://127.0.0.1:11434/v1", Subset::Grammar),
    local("llama_cpp", "http://127.0.0.1:8080/v1", Subset::Grammar),
    local("vllm", "http://127.0.0.1:8000/v1", Subset::Standard),
];

/// Kinds of the format that this version does not speak.
pub const LATER: [&str; 3] = ["openai_responses", "gemini", "bedrock"];

impl Preset {
    /// The preset of that word.
    #[must_use]
    pub fn of(kind: &str) -> Option<&'static Self> {
        PRESETS.iter().find(|preset| preset.kind == kind)
    }

    /// The dialect; `simulator` is used by the simulator alone.
    #[must_use]
    pub fn dialect(&self, simulator: SimulatorSettings) -> Dialect {
        match self.wire {
            Wire::Chat => Dialect::OpenAiChat(ChatQuirks { stream_options: self.stream_options }),
            Wire::Anthropic => Dialect::Anthropic,
            Wire::Simulated => Dialect::Simulated(simulator),
        }
    }

    /// Vendors charge a closed stream for what was generated behind it; one's own server charges nothing.
    #[must_use]
    pub const fn on_cancel(&self) -> OnCancel {
        if self.local { OnCancel::Free } else { OnCancel::Billed }
    }

    /// One's own server has only so many slots.
    #[must_use]
    pub const fn capacity(&self) -> Capacity {
        if self.local { Capacity::Own } else { Capacity::Shared }
    }
}
