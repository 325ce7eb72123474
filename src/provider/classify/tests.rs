use super::*;
use serde_json::json;

fn on(status: u16, body: &Value) -> Failure {
    response(&Head { status, headers: Headers::default() }, body.to_string().as_bytes())
}
