//! Reads the arguments of the fixed tools, and collects everything that is wrong with them.

use std::time::Duration;

use rmcp::model::JsonObject;
use serde_json::Value;

use crate::domain::finding::did_you_mean;

/// The arguments of one call. Nothing is coerced.
pub(super) struct Arguments {
    values: JsonObject,
    known: Vec<&'static str>,
    problems: Vec<String>,
}

impl Arguments {
    pub fn new(values: JsonObject) -> Self {
        Self { values, known: Vec::new(), problems: Vec::new() }
    }

    /// A required text.
    pub fn text(&mut self, key: &'static str) -> String {
        match self.take(key) {
            Some(Value::String(text)) => return text,
            Some(other) => self.wrong(key, "a string", &other),
            None => self.problems.push(format!("/{key}: is required, a string")),
        }
        String::new()
    }

    /// An object, empty where it is absent.
    pub fn object(&mut self, key: &'static str) -> Value {
        match self.take(key) {
            Some(Value::Object(object)) => return Value::Object(object),
            Some(Value::String(_)) => self.problems.push(format!(
                "/{key}: must be an object, got a string; pass the object itself, not its JSON text"
            )),
            Some(other) => self.wrong(key, "an object", &other),
            None => {}
        }
        Value::Object(JsonObject::new())
    }

    /// A number of seconds of at least `least`, up to an hour.
    pub fn seconds(&mut self, key: &'static str, least: Duration) -> Option<Duration> {
        let value = self.take(key)?;
        let span = value.as_f64().and_then(|s| Duration::try_from_secs_f64(s).ok());
        match span {
            Some(span) if span >= least => Some(span.min(Duration::from_secs(3600))),
            _ => {
                let what = format!("a number of seconds, at least {}", least.as_secs_f64());
                self.wrong(key, &what, &value);
                None
            }
        }
    }

    /// A flag, `false` where it is absent.
    pub fn flag(&mut self, key: &'static str) -> bool {
        match self.take(key) {
            Some(Value::Bool(flag)) => return flag,
            Some(other) => self.wrong(key, "true or false", &other),
            None => {}
        }
        false
    }

    /// Every problem, unknown keys included.
    pub fn problems(mut self) -> Vec<String> {
        for key in self.values.keys().take(20) {
            let shown: String = key.chars().take(64).collect();
            let hint = match did_you_mean(key, self.known.iter().copied()) {
                Some(meant) => format!("did you mean '{meant}'?"),
                None if self.known.is_empty() => "this tool takes no arguments".to_owned(),
                None => format!("known are {}", self.known.join(", ")),
            };
            self.problems.push(format!("/{shown}: is unknown; {hint}"));
        }
        self.problems
    }

    /// An explicit null counts as absent.
    fn take(&mut self, key: &'static str) -> Option<Value> {
        self.known.push(key);
        self.values.shift_remove(key).filter(|value| !value.is_null())
    }

    fn wrong(&mut self, key: &str, expected: &str, got: &Value) {
        let shown: String = got.to_string().chars().take(80).collect();
        self.problems.push(format!("/{key}: must be {expected}, got {shown}"));
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn arguments(value: &Value) -> Arguments {
        Arguments::new(value.as_object().cloned().unwrap_or_default())
    }

    #[test]
    fn every_problem_is_named_with_its_pointer() {
        let mut read =
            arguments(&json!({"workflow": 3, "input": "{}", "deadline_s": -1, "frsh": true}));
        read.text("workflow");
        read.object("input");
        read.seconds("deadline_s", Duration::from_millis(100));
        read.flag("fresh");
        insta::assert_snapshot!(read.problems().join("\n"), @r"
        /workflow: must be a string, got 3
        /input: must be an object, got a string; pass the object itself, not its JSON text
        /deadline_s: must be a number of seconds, at least 0.1, got -1
        /frsh: is unknown; did you mean 'fresh'?
        ");
    }

    #[test]
    fn absent_and_null_arguments_take_their_defaults() {
        let mut read = arguments(&json!({"run_id": "run_1", "wait_s": null}));
        assert_eq!(read.text("run_id"), "run_1");
        assert_eq!(read.seconds("wait_s", Duration::ZERO), None);
        assert!(!read.flag("fresh"));
        assert_eq!(read.problems(), Vec::<String>::new());
    }
}
