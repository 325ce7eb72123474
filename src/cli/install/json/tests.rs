use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::*;
use crate::cli::install::edit::keeps_all;

fn wanted() -> Wanted {
    let entry = json!({"command": "/bin/punctual", "args": ["serve", "--dir", "/flows"]});
    let Value::Object(entry) = entry else { unreachable!() };
    Wanted { servers: "mcpServers", name: "punctual".to_owned(), entry, inputs: Vec::new() }
}

fn with_keys() -> Wanted {
    let mut wanted = wanted();
    wanted.servers = "servers";
    wanted.entry.insert("env".to_owned(), json!({"A_KEY": "${input:punctual-A_KEY}"}));
    wanted.inputs = vec![json!({"type": "promptString", "id": "punctual-A_KEY"})];
    wanted
}

fn short() -> Wanted {
    let mut entry = Map::new();
    entry.insert("command".to_owned(), json!("p"));
    Wanted { servers: "mcpServers", name: "punctual".to_owned(), entry, inputs: Vec::new() }
}

/// Puts in, and proves that doing it again changes nothing.
fn put_twice(text: &str, wanted: &Wanted) -> String {
    let once = put(text, wanted).unwrap();
    assert_eq!(once.change, Change::Added, "{text}");
    let again = put(&once.text, wanted).unwrap();
    assert_eq!((again.change, &again.text), (Change::Nothing, &once.text), "{text}");
    once.text
}

#[test]
fn a_file_that_is_empty_or_not_there_gets_an_object() {
    let object =
        "{\n  \"mcpServers\": {\n    \"punctual\": {\n      \"command\": \"p\"\n    }\n  }\n}\n";
    assert_eq!(put_twice("", &short()), object);
    assert_eq!(put_twice("\u{feff}", &short()), format!("\u{feff}{object}"));
    assert_eq!(put_twice(" \n", &short()), format!(" \n{object}"));
    assert_eq!(put_twice("// mine", &short()), format!("// mine\n{object}"));
}

#[test]
fn an_entry_looks_like_what_stands_around_it() {
    for (before, after) in [
        (
            "{}",
            "{\n  \"mcpServers\": {\n    \"punctual\": {\n      \"command\": \"p\"\n    }\n  }\n}",
        ),
        ("{\"a\":1}", "{\"a\":1,\"mcpServers\":{\"punctual\":{\"command\":\"p\"}}}"),
        ("{\"a\": 1}\n", "{\"a\": 1, \"mcpServers\": {\"punctual\": {\"command\": \"p\"}}}\n"),
        (
            "{\n\t\"mcpServers\": {\n\t\t\"b\": {}\n\t}\n}\n",
            "{\n\t\"mcpServers\": {\n\t\t\"b\": {},\n\t\t\"punctual\": {\n\t\t\t\"command\": \"p\"\n\t\t}\n\t}\n}\n",
        ),
        (
            "{\r\n    \"mcpServers\": {\r\n    }\r\n}",
            "{\r\n    \"mcpServers\": {\r\n        \"punctual\": {\r\n            \"command\": \"p\"\r\n        }\r\n    }\r\n}",
        ),
        (
            "{\n  \"mcpServers\": {\"b\": {\"command\": \"x\"}}\n}",
            "{\n  \"mcpServers\": {\"b\": {\"command\": \"x\"}, \"punctual\": {\"command\": \"p\"}}\n}",
        ),
    ] {
        assert_eq!(put_twice(before, &short()), after);
    }
}

#[test]
fn comments_and_trailing_commas_stay_where_they_are() {
    for (before, after) in [
        (
            "{\n  \"mcpServers\": {\n    \"b\": 1 // the old one\n  } // end\n}\n",
            "{\n  \"mcpServers\": {\n    \"b\": 1, // the old one\n    \"punctual\": {\n      \"command\": \"p\"\n    }\n  } // end\n}\n",
        ),
        (
            "{\n  \"mcpServers\": {\n    \"b\": 1, /* , } */ // x\n    // more\n  },\n}\n",
            "{\n  \"mcpServers\": {\n    \"b\": 1, /* , } */ // x\n    \"punctual\": {\n      \"command\": \"p\"\n    },\n    // more\n  },\n}\n",
        ),
        (
            "{\n  \"mcpServers\": {\n    // none yet\n  }\n}\n",
            "{\n  \"mcpServers\": {\n    // none yet\n    \"punctual\": {\n      \"command\": \"p\"\n    }\n  }\n}\n",
        ),
        (
            "{ // mine\n  \"a\": 1, }",
            "{ // mine\n  \"a\": 1,\n  \"mcpServers\": {\n    \"punctual\": {\n      \"command\": \"p\"\n    }\n  },\n }",
        ),
    ] {
        assert_eq!(put_twice(before, &short()), after);
        assert!(keeps_all(before, after));
    }
}

#[test]
fn an_entry_of_ours_is_brought_up_to_date_and_keeps_what_was_added_to_it() {
    let before = "{\n  \"mcpServers\": {\n    \"punctual\": {\n      \"command\": \"/old\", // mine\n      \
        \"args\": [\n        \"serve\"\n      ],\n      \"env\": {\n        \"KEY\": \"theirs\"\n      },\n      \
        \"disabled\": true\n    },\n    \"z\": {}\n  }\n}\n";
    let merged = put(before, &wanted()).unwrap();
    assert_eq!(merged.change, Change::Updated);
    insta::assert_snapshot!(merged.text, @r#"
    {
      "mcpServers": {
        "punctual": {
          "command": "/bin/punctual", // mine
          "args": [
            "serve",
            "--dir",
            "/flows"
          ],
          "env": {
            "KEY": "theirs"
          },
          "disabled": true
        },
        "z": {}
      }
    }
    "#);
    assert_eq!(put(&merged.text, &wanted()).unwrap().change, Change::Nothing);
}

#[test]
fn keys_that_are_asked_for_stand_beside_the_entry() {
    let text = put_twice("{\n  // mine\n  \"inputs\": [{\"id\": \"x\"}]\n}\n", &with_keys());
    insta::assert_snapshot!(text, @r#"
    {
      // mine
      "inputs": [{"id": "x"}, {"type": "promptString", "id": "punctual-A_KEY"}],
      "servers": {
        "punctual": {
          "command": "/bin/punctual",
          "args": [
            "serve",
            "--dir",
            "/flows"
          ],
          "env": {
            "A_KEY": "${input:punctual-A_KEY}"
          }
        }
      }
    }
    "#);
    let taken = take(&text, &with_keys()).unwrap().text;
    assert_eq!(taken, "{\n  // mine\n  \"inputs\": [{\"id\": \"x\"}],\n  \"servers\": {\n  }\n}\n");
}

#[test]
fn a_value_that_a_person_gave_is_neither_replaced_nor_asked_for() {
    let before = r#"{"servers": {"punctual": {"command": "/bin/punctual",
      "args": ["serve", "--dir", "/flows"], "env": {"A_KEY": "sk-mine"}}}}"#;
    let merged = put(before, &with_keys()).unwrap();
    assert_eq!((merged.change, merged.text.as_str()), (Change::Nothing, before));
}

#[test]
fn what_is_put_in_is_taken_out_again() {
    for before in [
        "{\n  \"mcpServers\": {\n    \"b\": 1 // b\n  }\n}\n",
        "{\n  \"mcpServers\": {\n    \"b\": 1, // b\n  }\n}\n",
        "{\"mcpServers\":{\"b\":1}}",
        "{\r\n\t\"mcpServers\": {\r\n\t\t\"b\": 1\r\n\t}\r\n}",
        "\u{feff}{\n  \"mcpServers\": {\"b\": 1}\n}",
    ] {
        let text = put_twice(before, &wanted());
        let taken = take(&text, &wanted()).unwrap();
        assert_eq!((taken.change, taken.text.as_str()), (Change::Removed, before));
        assert_eq!(take(before, &wanted()).unwrap().change, Change::Nothing);
    }
    let first = "{\n  \"mcpServers\": {\n    \"punctual\": {},\n    \"b\": 1\n  }\n}";
    let taken = take(first, &wanted()).unwrap().text;
    assert_eq!(taken, "{\n  \"mcpServers\": {\n    \"b\": 1\n  }\n}");
}

#[test]
fn what_is_broken_or_of_another_form_is_refused_with_its_place() {
    let said = |text: &str| {
        let problem = put(text, &wanted()).unwrap_err();
        format!("{}: {}", problem.place(text).trim_start_matches(':'), problem.what)
    };
    let cases = [
        "{\n  \"a\": 1\n  \"b\": 2\n}",
        "{\"a\": }",
        "{\"a\": 1",
        "\u{feff}{'a': 1}",
        "{a: 1}",
        "{} {}",
        "[1]",
        "{\"mcpServers\": []}",
        "{\"mcpServers\": null}",
        "{\"mcpServers\": {},\n \"mcpServers\": {}}",
        "{\"mcpServers\": {\"punctual\": 1}}",
        "{\"mcpServers\": {\"punctual\": {}, \"punctual\": {}}}",
    ];
    let all: Vec<String> = cases.iter().map(|text| format!("{text:?}\n  {}", said(text))).collect();
    insta::assert_snapshot!(all.join("\n"));
    let deep = "[".repeat(100_000);
    assert!(put(&deep, &wanted()).is_err());
}

#[test]
fn what_strict_readers_refuse_is_found() {
    assert_eq!(not_strict("{\"a\": 1}"), None);
    assert_eq!(not_strict("\u{feff}{\n \"a\": 1,}").map(|p| p.at), Some(Some(12)));
    assert_eq!(not_strict("{\n // x\n}").map(|p| p.at), Some(Some(3)));
}

/// White space and comments that may stand between tokens.
fn gap() -> impl Strategy<Value = String> {
    prop_oneof![
        6 => Just(String::new()),
        4 => Just(" ".to_owned()),
        4 => Just("\n  ".to_owned()),
        1 => Just("\r\n\t".to_owned()),
        1 => Just(" // } , \" ]\n".to_owned()),
        1 => Just("/* { \n */".to_owned()),
    ]
}

fn string() -> impl Strategy<Value = String> {
    prop_oneof![
        Just("\"a\"".to_owned()),
        Just("\"punctual \\\"x\\\" \\u00e9 é\"".to_owned()),
        "[a-z]{1,3}".prop_map(|name| format!("\"{name}\"")),
    ]
}

/// A value with all the freedoms of JSON with comments.
fn value() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![string(), Just("null".to_owned()), Just("-1.50e3".to_owned())];
    leaf.prop_recursive(3, 20, 4, |inner| {
        let list = proptest::collection::vec((gap(), inner.clone(), gap()), 0..4);
        let list = (list, any::<bool>(), gap()).prop_map(|(list, trailing, end)| {
            let list: Vec<String> = list.into_iter().map(|(a, v, b)| a + &v + &b).collect();
            bracketed("[]", &list, trailing, &end)
        });
        prop_oneof![list, object(inner)]
    })
}

fn object(inner: impl Strategy<Value = String>) -> impl Strategy<Value = String> {
    let property = (gap(), "[a-z]{1,4}", gap(), gap(), inner, gap());
    let properties = proptest::collection::vec(property, 0..4);
    (properties, any::<bool>(), gap()).prop_map(|(properties, trailing, end)| {
        let properties = properties.into_iter().enumerate();
        let written = properties
            .map(|(n, (a, key, b, c, value, d))| format!("{a}\"{key}{n}\"{b}:{c}{value}{d}"));
        bracketed("{}", &written.collect::<Vec<_>>(), trailing, &end)
    })
}

fn bracketed(brackets: &str, children: &[String], trailing: bool, end: &str) -> String {
    let (open, close) = brackets.split_at(1);
    let comma = if trailing && !children.is_empty() { "," } else { "" };
    [open, &children.join(","), comma, end, close].concat()
}

/// A whole file: with servers, inputs, both or neither.
fn file() -> impl Strategy<Value = String> {
    let servers = proptest::option::of((gap(), object(value()), gap()));
    let inputs = proptest::option::of(proptest::collection::vec(value(), 0..3));
    let others = proptest::collection::vec((gap(), "[a-z]{1,4}", value()), 0..3);
    (gap(), servers, inputs, others, any::<(bool, bool, bool)>(), gap(), gap()).prop_map(
        |(start, servers, inputs, others, (bom, trailing, first), end, after)| {
            let mut children: Vec<String> = others
                .into_iter()
                .enumerate()
                .map(|(n, (gap, key, value))| format!("{gap}\"{key}{n}\":{value}"))
                .collect();
            if let Some((a, servers, b)) = servers {
                children.push(format!("\n  \"servers\"{a}: {servers}{b}"));
            }
            if let Some(inputs) = inputs {
                let at = if first { 0 } else { children.len() };
                children.insert(at, format!("\"inputs\": [{}]", inputs.join(", ")));
            }
            let bom = if bom { "\u{feff}" } else { "" };
            [bom, &start, &bracketed("{}", &children, trailing, &end), &after].concat()
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..Default::default() })]

    #[test]
    fn nothing_of_any_file_is_lost_and_a_second_time_changes_nothing(text in file()) {
        let wanted = with_keys();
        let merged = put(&text, &wanted).unwrap();
        prop_assert_eq!(merged.change, Change::Added);
        prop_assert!(keeps_all(&text, &merged.text), "{}", merged.text);
        prop_assert_eq!(others(&merged.text, &wanted), others(&text, &wanted));
        let all: Value = parse_to_serde_value(merged.text.trim_start_matches('\u{feff}'), &lenient()).unwrap();
        prop_assert_eq!(&all["servers"]["punctual"], &Value::Object(wanted.entry.clone()));
        let again = put(&merged.text, &wanted).unwrap();
        prop_assert_eq!(again.change, Change::Nothing);
        let taken = take(&merged.text, &wanted).unwrap();
        prop_assert_eq!(taken.change, Change::Removed);
        prop_assert_eq!(others(&taken.text, &wanted), others(&text, &wanted));
        prop_assert_eq!(take(&taken.text, &wanted).unwrap().change, Change::Nothing);
    }

    #[test]
    fn no_text_makes_it_fail_otherwise_than_by_saying_why(text in "[\\PC{}\\[\\]\":,/* \n]{0,40}") {
        let _ = put(&text, &wanted());
        let _ = take(&text, &wanted());
    }
}
