//! What is particular to each vendor's format, and how its bodies are sent.

use std::path::PathBuf;

use punctual::definition::config::preset::{Preset, Wire};
use punctual::domain::failure::FailureClass;
use punctual::domain::money::Usd;
use punctual::domain::provider::{
    Capacity, Limits, OnCancel, ProviderSettings, SecretRef, SimulatorSettings,
};
use serde_json::Value;

use crate::loopback::{Script, chunk_of, frames, head_of, last_chunk};

/// A vendor, and what is particular to its format.
pub struct Row {
    pub preset: &'static Preset,
    /// Folders of its bodies, the vendor's own first.
    pub folders: Vec<&'static str>,
    /// The path of its requests.
    pub path: &'static str,
    /// The header its key is sent in, and what stands before the key there.
    pub key: (&'static str, &'static str),
    /// The type of its streams.
    pub stream_type: &'static str,
    /// The bytes of a stream that is kept as text.
    pub framed: fn(&str) -> Vec<u8>,
    /// Where the schema stands in a request that asks for it.
    pub schema: &'static str,
    /// Where it stands in a request that forces a tool.
    pub tool: &'static str,
    /// What `refusal.sse` amounts to.
    pub refusal: FailureClass,
    /// What it says it charged.
    pub cost: Option<Usd>,
}

impl Row {
    /// The row of a preset; `None` where this build does not speak it, or nothing is sent.
    pub fn of(preset: &'static Preset) -> Option<Self> {
        let row = Self {
            preset,
            folders: vec![preset.kind, "chat"],
            path: "/base/chat/completions",
            key: ("authorization", "Bearer "),
            stream_type: "text/event-stream",
            framed: |text| text.as_bytes().to_vec(),
            schema: "/response_format/json_schema/schema",
            tool: "/tools/0/function/parameters",
            refusal: FailureClass::Refusal,
            cost: None,
        };
        Some(match (preset.wire, preset.kind) {
            (Wire::Simulated, _) => return None,
            _ if !preset.is_built() => return None,
            (Wire::Chat, "azure") => Self { key: ("api-key", ""), ..row },
            (Wire::Chat, "openrouter") => Self { cost: Usd::from_dollars(0.000_014), ..row },
            (Wire::Chat, _) => row,
            (Wire::Responses, _) => Self {
                folders: vec!["openai_responses"],
                path: "/base/responses",
                schema: "/text/format/schema",
                tool: "/tools/0/parameters",
                ..row
            },
            (Wire::Anthropic, _) => Self {
                folders: vec!["anthropic"],
                path: "/base/v1/messages",
                key: ("x-api-key", ""),
                schema: "/output_config/format/schema",
                tool: "/tools/0/input_schema",
                ..row
            },
            (Wire::Gemini, _) => Self {
                folders: vec!["gemini"],
                path: "/base/v1beta/models/small:streamGenerateContent?alt=sse",
                key: ("x-goog-api-key", ""),
                schema: "/generationConfig/responseJsonSchema",
                tool: "/tools/0/functionDeclarations/0/parametersJsonSchema",
                refusal: FailureClass::ContentFiltered,
                ..row
            },
            (Wire::Bedrock, _) => Self {
                folders: vec!["bedrock"],
                path: "/base/model/small/converse-stream",
                stream_type: frames::CONTENT_TYPE,
                framed: binary,
                schema: "/outputConfig/textFormat/structure/jsonSchema/schema",
                tool: "/toolConfig/tools/0/toolSpec/inputSchema/json",
                refusal: FailureClass::ContentFiltered,
                ..row
            },
        })
    }

    /// A body by name, the vendor's own or that of its format.
    pub fn body(&self, name: &str) -> String {
        let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/provider");
        let mut places = self.folders.iter().map(|folder| root.join(folder).join(name));
        let found = places.find_map(|place| std::fs::read_to_string(place).ok());
        found.unwrap_or_else(|| panic!("{}: no body {name}", self.preset.kind))
    }

    /// A stream, sent in pieces that heed no boundary of events or characters.
    pub fn stream(&self, text: &str) -> Script {
        let mut script = self.unended(&(self.framed)(text));
        script.push(last_chunk());
        script
    }

    /// The same of framed bytes, without the stream's end.
    pub fn unended(&self, framed: &[u8]) -> Script {
        [head_of(self.stream_type)].into_iter().chain(framed.chunks(61).map(chunk_of)).collect()
    }

    /// The schema that stands at `place` of a request, as JSON or as a string of it.
    pub fn told(&self, request: &Value, place: &str) -> Value {
        match request.pointer(place) {
            Some(Value::String(text)) => serde_json::from_str(text).expect(self.preset.kind),
            found => found.cloned().unwrap_or_default(),
        }
    }

    /// Its settings, for a server at `url`.
    pub fn settings(&self, url: &str, key: PathBuf) -> ProviderSettings {
        ProviderSettings {
            name: self.preset.kind.to_owned(),
            dialect: self.preset.dialect(SimulatorSettings { regime: "calm".to_owned(), seed: 1 }),
            base_url: url.to_owned() + "/base",
            api_key: Some(SecretRef::File(key)),
            headers: Vec::new(),
            limits: Limits::default(),
            on_cancel: OnCancel::Free,
            capacity: Capacity::Own,
        }
    }
}

/// The frames of a stream that is kept as text: each event its name and its data, as server-sent events have them.
fn binary(text: &str) -> Vec<u8> {
    let one = |event: &str| {
        let field = |name: &str| event.lines().find_map(|line| line.strip_prefix(name));
        let name = field("event: ").expect("an event of a binary stream has a name");
        let data = field("data: ").expect("and data");
        Value::from_iter([(name, serde_json::from_str::<Value>(data).expect("which are JSON"))])
    };
    let events = text.split("\n\n").filter(|event| !event.trim().is_empty()).map(one);
    frames::stream(&events.collect::<Vec<_>>())
}
