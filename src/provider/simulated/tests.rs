use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};

use super::draw::{CLASS_TOKENS, Ending, Key, PROVIDER_OF_PATH, draw};
use super::regime::Regime;
use super::*;
use crate::domain::failure::{FailureClass, Scope};
use crate::domain::message::{Message, Prompt, Usage};
use crate::domain::model::{ModelProfile, Structured};
use crate::provider::Draw;
use crate::schema::{Schema, extract};
use crate::workflow::case::{Case, Expect, Said, StepAnswers, Told, digest};

mod answering;
mod playing;
mod scripting;

const DOCUMENT: &str = "Reply to this customer, citing the policies by id:\n\n\
    Ticket T-1042: the kettle that I bought on Monday leaks at the handle. I would like a refund, not \
    another kettle. This is a billing question too, because I was charged twice.\n\n\
    Policy KB-7 says that defects are refunded within 30 days. Policy KB-9 says that double charges are \
    returned within a week.";

fn settings(regime: &str) -> SimulatorSettings {
    SimulatorSettings { regime: regime.to_owned(), seed: 7 }
}

fn simulation(regime: &str, recordings: Recordings) -> Simulation {
    Simulation::new("sim_a", &settings(regime), Arc::new(recordings)).unwrap()
}

fn triage() -> Value {
    json!({
        "type": "object",
        "properties": {
            "kind": {"type": "string", "enum": ["praise", "billing", "other"]},
            "reply": {"type": "string", "minLength": 10, "maxLength": 120},
            "sources": {"type": "array", "minItems": 1, "items": {
                "type": "object", "additionalProperties": false, "required": ["id", "quote"],
                "properties": {"id": {"type": "string"}, "quote": {"type": "string"}},
            }},
        },
        "required": ["kind", "reply", "sources"],
        "additionalProperties": false,
    })
}

fn exchange(schema: Option<Value>) -> Exchange {
    Exchange {
        prompt: Prompt { system: None, messages: vec![Message::user(DOCUMENT)] },
        schema: schema.map(Arc::new),
        max_tokens: 500,
        temperature: None,
        effort: None,
        profile: Arc::new(ModelProfile {
            structured: Structured::Schema,
            ..ModelProfile::plain("flagship")
        }),
        draw: Draw {
            run: 1,
            input: digest(&json!({"ticket": "T-1042"})),
            workflow: "support_triage".to_owned(),
            step_name: "reply".to_owned(),
            ..Draw::default()
        },
    }
}

/// Answers of the step that `exchange` asks, by attempt: `(text, fate)`.
fn recorded(attempts: &[(Option<&str>, Option<Told>)]) -> Recordings {
    let said = |(text, told): &(Option<&str>, Option<Told>)| Said {
        text: text.map(str::to_owned),
        told: *told,
    };
    let case = Case {
        name: "a leaking kettle".to_owned(),
        line: 1,
        input: json!({"ticket": "T-1042"}),
        regime: "calm".to_owned(),
        seed: 1,
        deadline: None,
        answers: vec![StepAnswers {
            step: "reply".to_owned(),
            items: vec![attempts.iter().map(said).collect()],
        }],
        expect: Expect::default(),
    };
    Recordings::of_case("support_triage", &case)
}
