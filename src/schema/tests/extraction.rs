use super::*;

fn outcome(text: &str, schema: &Schema) -> Result<Value, &'static str> {
    match extract(text, |value| schema.accepts(value)) {
        Err(error) => Err(error.class.as_str()),
        Ok(value) if schema.accepts(&value) => Ok(value),
        Ok(_) => Err(FailureClass::SchemaViolation.as_str()),
    }
}

#[test]
fn the_corpus_of_model_outputs_is_read_as_labelled() {
    let corpus = include_str!("../../../tests/fixtures/provider/failures.jsonl");
    let mut seen = 0;
    for line in corpus.lines() {
        let case: Value = serde_json::from_str(line).unwrap();
        if case["body_is"] != "model_text" {
            continue;
        }
        let id = case["id"].as_str().unwrap();
        let schema = schema(case["schema"].clone());
        let outcome = outcome(case["body"].as_str().unwrap(), &schema);
        seen += 1;
        let mut accepted = vec![case["expect"]["class"].as_str().unwrap()];
        let also = case["expect"]["also_ok"].as_array();
        accepted.extend(also.into_iter().flatten().filter_map(Value::as_str));
        match outcome {
            Ok(value) => {
                assert!(accepted.contains(&"valid_output_after_extraction"), "{id}: {value}");
                assert_eq!(Some(&value), case.get("value"), "{id}");
            }
            Err(class) => assert!(accepted.contains(&class), "{id}: {class} not in {accepted:?}"),
        }
    }
    assert_eq!(seen, 20);
}

fn title() -> Schema {
    schema(json!({"type": "object", "required": ["t"], "properties": {"t": {"type": "string"}}}))
}

#[test]
fn wrappings_are_taken_off() {
    let good = Ok(json!({"t": "a"}));
    for text in [
        "{\"t\":\"a\"}",
        "\u{FEFF} {\"t\":\"a\"}\n",
        "```json\n{\"t\":\"a\"}\n```",
        "~~~\n{\"t\":\"a\"}\n~~~",
        "Here you are: {\"t\":\"a\"}. Anything else?",
        "As [1] and {placeholder} show, on [0, 1): {\"t\":\"a\"}",
        "<think>{\"t\":\"b\"}</think>{\"t\":\"a\"}",
        "<think>x</think>\n<think>y</think>{\"t\":\"a\"}",
        "<thinking>{</thinking> {\"t\":\"a\"}",
        "I wonder {\"t\":\"b\"}</think>\n{\"t\":\"a\"}",
        "\"{\\\"t\\\":\\\"a\\\"}\"",
        "{\"t\":\"a\"}\n\n{\"t\":\"a\"}",
        "{\"example\": 1} is the form; mine is {\"t\":\"a\"}",
        "{\"t\":\"b\",} or rather {\"t\":\"a\"}",
        "<tool_call>{\"name\":\"emit\",\"arguments\":\"{\\\"t\\\":\\\"a\\\"}\"}</tool_call>",
    ] {
        assert_eq!(outcome(text, &title()), good, "{text}");
    }
    let tagged = "{\"t\":\"<think>a</think>\"}";
    assert_eq!(outcome(tagged, &title()), Ok(json!({"t": "<think>a</think>"})));
}

#[test]
fn what_is_only_misspelt_is_read_where_it_fits() {
    let good = Ok(json!({"t": "a"}));
    for text in [
        "{\"t\":\"a\",}",
        "```json\n{\n  \"t\": \"a\", // it is\n}\n```",
        "Here: {/* so */ \"t\": \"a\"} // done",
    ] {
        assert_eq!(outcome(text, &title()), good, "{text}");
    }
    assert_eq!(outcome("{\"t\":\"a\tb\n\"}", &title()), Ok(json!({"t": "a\tb\n"})));
    for text in [
        // Nothing was said behind these commas that could be left out.
        "{\"u\":1,}",
        "{\"t\":\"a\",,}",
        "{\"t\":\"a\",",
        "{\"t\":\"a\",} {\"t\":\"b\",}",
        "{\"t\":\"a\n, \"s\":\"b\"}",
        "{\"t\": http://x\n}",
    ] {
        assert_eq!(outcome(text, &title()), Err("unparseable_output"), "{text}");
    }
}

#[test]
fn nothing_is_made_up() {
    for (text, class) in [
        ("", "empty_output"),
        ("\u{FEFF}", "empty_output"),
        ("<think>done</think>  ", "empty_output"),
        ("thoughts only</think>", "empty_output"),
        ("<think>{\"t\":\"a\"}", "empty_output"),
        // The complete part of a cut answer is not the answer.
        ("{\"x\":{\"t\":\"a\"},\"y\":", "unparseable_output"),
        ("[{\"t\":\"a\"},{\"t\":", "unparseable_output"),
        ("Sure: {\"x\": oops {\"t\":\"a\"}", "unparseable_output"),
        ("{\"t\":\"a\"", "unparseable_output"),
        ("{\"t\":\"a\",\"t\":\"b\"}", "unparseable_output"),
        ("{\"t\":\"a\"} {\"t\":\"b\"}", "unparseable_output"),
        ("{'t':'a'}", "unparseable_output"),
        ("{\"t\":NaN}", "unparseable_output"),
        ("{\"t\":1e999}", "unparseable_output"),
        ("{\"t\":Infinity}", "unparseable_output"),
        ("{t:\"a\"}", "unparseable_output"),
        ("I'm sorry.", "unparseable_output"),
        ("{\"u\":1} {\"u\":2}", "unparseable_output"),
        ("The answer is {\"u\":1}, see [1].", "schema_violation"),
        ("[{\"t\":\"a\"}]", "schema_violation"),
        ("null", "schema_violation"),
        ("\"prose\"", "schema_violation"),
    ] {
        assert_eq!(outcome(text, &title()), Err(class), "{text}");
    }
}

#[test]
fn the_reason_is_named_for_the_repair_turn() {
    let reason = |text: &str| extract(text, |_| true).unwrap_err().message;
    assert_eq!(
        extract("{\"t\":\"a\",}", |_| false).unwrap_err().message,
        "the answer is not JSON: trailing comma at line 1 column 10"
    );
    assert_eq!(
        reason("{\"t\":1,\"t\":2}"),
        "the answer is not JSON: the key \"t\" stands twice at line 1 column 10"
    );
    assert_eq!(reason("{\"t\":\n\"a"), "the answer's JSON breaks off at line 2");
    assert_eq!(
        reason("{\"a\":1} {\"a\":2}"),
        "the answer holds 2 different JSON values that fit; answer with one"
    );
}

#[test]
fn size_depth_and_brackets_are_bounded() {
    let class = |text: &str| extract(text, |_| true).map_err(|error| error.class);
    let unparseable = Err(FailureClass::UnparseableOutput);
    assert_eq!(class(&"[".repeat(extract::MAX_BYTES + 1)), unparseable);
    assert_eq!(class(&"[".repeat(100_000)), unparseable);
    assert_eq!(class(&"{\"a\":".repeat(200)), unparseable);
    assert_eq!(class(&format!("{}1{}", "[".repeat(200), "]".repeat(200))), unparseable);
    assert_eq!(class(&"[1 ".repeat(100_000)), unparseable);
    assert_eq!(class(&"{\"a\":1} ".repeat(100)), unparseable);
}

proptest! {
    #[test]
    fn extraction_never_panics(text in "([\\[\\]{}\",:0-9a-z\\\\ \n<>/`é-]|<think>|</think>|\\{\"a\":|```){0,60}") {
        let _ = extract(&text, Value::is_object);
    }

    #[test]
    fn arbitrary_text_never_panics(text in any::<String>()) {
        let _ = extract(&text, |_| true);
    }

    #[test]
    fn what_a_model_says_in_prose_and_fence_comes_back_unchanged(
        word in "[^\"\\\\\\p{C}]{0,20}", number in any::<i64>(), intro in "[a-zA-Z .,'é]{0,30}",
    ) {
        let value = json!({"word": word, "number": number});
        let text = format!("{intro}\n```json\n{value:#}\n```\nDone.");
        prop_assert_eq!(extract(&text, Value::is_object), Ok(value));
    }

    #[test]
    fn no_prefix_of_an_answer_is_an_answer(cut in 1_usize..60) {
        let whole = json!({"a": {"b": [1, {"c": "d}"}]}, "e": "f", "g": {"h": true}}).to_string();
        let cut = cut.min(whole.len() - 1);
        prop_assert!(extract(&whole[..cut], |_| true).is_err());
    }
}
