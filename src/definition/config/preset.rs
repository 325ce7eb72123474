//! Vendors as data: what a `kind` means where the file says no more. Source: the vendors' API references as
//! read in November 2026; each row is what the vendor's own SDK uses.

use crate::domain::model::{Structured, Subset, TokenField};
use crate::domain::provider::{
    BedrockSettings, Capacity, ChatQuirks, Dialect, KeyPlace, OnCancel, Routing, SimulatorSettings,
};

/// The wire format of a preset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wire {
    /// The chat completions format.
    Chat,
    /// OpenAI's responses.
    Responses,
    /// Anthropic's messages.
    Anthropic,
    /// Bedrock's Converse.
    Bedrock,
    /// Gemini's own format.
    Gemini,
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
    /// What it does differently from `OpenAI`, where it speaks chat completions.
    pub quirks: ChatQuirks,
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
        quirks: ChatQuirks::NONE,
        local: false,
    }
}

const fn local(kind: &'static str, base_url: &'static str, subset: Subset) -> Preset {
    Preset { local: true, subset, ..chat(kind, Some(base_url), None) }
}

const COMPLETION: TokenField = TokenField::MaxCompletionTokens;

/// Every kind this version speaks.
pub const PRESETS: [Preset; 18] = [
    Preset {
        token_field: COMPLETION,
        subset: Subset::OpenAi,
        ..chat("openai", Some("https://api.openai.com/v1"), Some("OPENAI_API_KEY"))
    },
    Preset {
        wire: Wire::Responses,
        subset: Subset::OpenAi,
        ..chat("openai_responses", Some("https://api.openai.com/v1"), Some("OPENAI_API_KEY"))
    },
    Preset { structured: Structured::Instruct, ..chat("openai_compatible", None, None) },
    Preset {
        wire: Wire::Anthropic,
        structured: Structured::Tool,
        subset: Subset::Anthropic,
        ..chat("anthropic", Some("https://api.anthropic.com"), Some("ANTHROPIC_API_KEY"))
    },
    Preset {
        wire: Wire::Gemini,
        subset: Subset::Gemini,
        ..chat("gemini", Some("https://generativelanguage.googleapis.com"), Some("GEMINI_API_KEY"))
    },
    Preset { wire: Wire::Simulated, ..chat("simulated", Some(""), None) },
    // Both forms of its address are served: `.../openai/v1`, and `.../openai/deployments/NAME?api-version=DATE`.
    Preset {
        token_field: COMPLETION,
        subset: Subset::OpenAi,
        quirks: ChatQuirks { key: KeyPlace::ApiKey, ..ChatQuirks::NONE },
        ..chat("azure", None, Some("AZURE_OPENAI_API_KEY"))
    },
    Preset { subset: Subset::Databricks, ..chat("databricks", None, Some("DATABRICKS_TOKEN")) },
    // What every vendor behind it takes.
    Preset {
        subset: Subset::OpenAi,
        quirks: ChatQuirks { routing: Routing::Behind, ..ChatQuirks::NONE },
        ..chat("openrouter", Some("https://openrouter.ai/api/v1"), Some("OPENROUTER_API_KEY"))
    },
    // Its reference: no streaming together with structured outputs.
    Preset {
        token_field: COMPLETION,
        subset: Subset::OpenAi,
        quirks: ChatQuirks { streamed_schema: false, ..ChatQuirks::NONE },
        ..chat("groq", Some("https://api.groq.com/openai/v1"), Some("GROQ_API_KEY"))
    },
    // Mistral answers 422 to fields it does not know, `stream_options` among them.
    Preset {
        quirks: ChatQuirks { stream_options: false, ..ChatQuirks::NONE },
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
    // The address follows from the region. Not every model there takes tools or schemas.
    Preset {
        wire: Wire::Bedrock,
        structured: Structured::Instruct,
        subset: Subset::Bedrock,
        ..chat("bedrock", None, Some("AWS_BEARER_TOKEN_BEDROCK"))
    },
    local("ollama", "http://127.0.0.1:11434/v1", Subset::Grammar),
    local("llama_cpp", "http://127.0.0.1:8080/v1", Subset::Grammar),
    local("vllm", "http://127.0.0.1:8000/v1", Subset::Standard),
];

impl Preset {
    /// The preset of that word.
    #[must_use]
    pub fn of(kind: &str) -> Option<&'static Self> {
        PRESETS.iter().find(|preset| preset.kind == kind)
    }

    /// Whether this build speaks it: Bedrock needs crates that few want, behind the feature `bedrock`.
    #[must_use]
    pub const fn is_built(&self) -> bool {
        !matches!(self.wire, Wire::Bedrock) || cfg!(feature = "bedrock")
    }

    /// How JSON is asked for of a model of which nothing is known but its id. On Bedrock, Claude and Nova can be
    /// forced to call a tool (AWS's reference of `ToolChoice`, November 2026); others answer 400 to it.
    #[must_use]
    pub fn structured_of(&self, id: &str) -> Structured {
        let takes_tools = ["anthropic.claude", "amazon.nova"].iter().any(|name| id.contains(name));
        if self.wire == Wire::Bedrock && takes_tools { Structured::Tool } else { self.structured }
    }

    /// The dialect; `simulator` is used by the simulator alone.
    #[must_use]
    pub fn dialect(&self, simulator: SimulatorSettings) -> Dialect {
        match self.wire {
            Wire::Chat => Dialect::OpenAiChat(self.quirks),
            Wire::Responses => Dialect::OpenAiResponses,
            Wire::Anthropic => Dialect::Anthropic,
            Wire::Bedrock => {
                Dialect::Bedrock(BedrockSettings { signing: None, region_variable: None })
            }
            Wire::Gemini => Dialect::Gemini,
            Wire::Simulated => Dialect::Simulated(simulator),
        }
    }

    /// The version that the dialect appends to the address by itself, though other programs want it there.
    #[must_use]
    pub const fn version(&self) -> Option<&'static str> {
        match self.wire {
            Wire::Anthropic => Some("/v1"),
            Wire::Gemini => Some("/v1beta"),
            Wire::Chat | Wire::Responses | Wire::Bedrock | Wire::Simulated => None,
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
