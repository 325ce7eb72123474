use proptest::prelude::*;
use serde_json::{Map, Value as Json, json};

use super::*;
use crate::cli::install::edit::keeps_all;

fn entry() -> Map<String, Json> {
    let entry = json!({
        "command": "/bin/punctual",
        "args": ["serve", "--dir", "/flows"],
        "env_vars": ["A_KEY"],
        "tool_timeout_sec": 60,
    });
    let Json::Object(entry) = entry else { unreachable!() };
    entry
}

const TABLE: &str = "[mcp_servers.punctual]\ncommand = \"/bin/punctual\"\nargs = [\"serve\", \"--dir\", \"/flows\"]\n\
    env_vars = [\"A_KEY\"]\ntool_timeout_sec = 60\n";

fn put_twice(text: &str) -> String {
    let once = put(text, "punctual", &entry()).unwrap();
    let again = put(&once.text, "punctual", &entry()).unwrap();
    assert_eq!((again.change, &again.text), (Change::Nothing, &once.text), "{text}");
    once.text
}

#[test]
fn an_entry_is_a_table_behind_everything_else() {
    assert_eq!(put_twice(""), TABLE);
    assert_eq!(put_twice("a = 1"), format!("a = 1\n\n{TABLE}"));
    assert_eq!(put_twice("a = 1 # x\n"), format!("a = 1 # x\n\n{TABLE}"));
    assert_eq!(put_twice("a = 1\n\n"), format!("a = 1\n\n{TABLE}"));
    assert_eq!(put_twice("\u{feff}a = 1\n"), format!("\u{feff}a = 1\n\n{TABLE}"));
    let others = "[mcp_servers.b]\ncommand = 'x' # b\n[mcp_servers.b.env]\nK = 'v'\n[tui]\nx = 1\n";
    assert_eq!(put_twice(others), format!("{others}\n{TABLE}"));
    let dotted = "mcp_servers.b.command = \"x\"\n";
    assert_eq!(put_twice(dotted), format!("{dotted}\n{TABLE}"));
    let windows = put_twice("a = 1\r\n");
    assert_eq!(windows, format!("a = 1\n\n{TABLE}").replace('\n', "\r\n"));
}

#[test]
fn an_entry_of_ours_is_brought_up_to_date_and_keeps_what_was_added_to_it() {
    let before = "# top\n[mcp_servers.punctual] # ours\ncommand = '/old' # c\nargs = [ 'serve' ]\n\
        tool_timeout_sec = 120\nenv_vars = [\"B_KEY\"]\nenabled = false\n\n[mcp_servers.punctual.env]\nX = 'y'\n\n[z]\n";
    let merged = put(before, "punctual", &entry()).unwrap();
    assert_eq!(merged.change, Change::Updated);
    insta::assert_snapshot!(merged.text, @r#"
    # top
    [mcp_servers.punctual] # ours
    command = "/bin/punctual" # c
    args = ["serve", "--dir", "/flows"]
    tool_timeout_sec = 120
    env_vars = ["B_KEY", "A_KEY"]
    enabled = false

    [mcp_servers.punctual.env]
    X = 'y'

    [z]
    "#);
    assert_eq!(put_twice(&merged.text), merged.text);
    let inline = "[mcp_servers]\npunctual = { command = '/old' } # in one line\n";
    assert_eq!(
        put_twice(inline),
        "[mcp_servers]\npunctual = { command = \"/bin/punctual\", args = [\"serve\", \"--dir\", \"/flows\"], \
         env_vars = [\"A_KEY\"], tool_timeout_sec = 60 } # in one line\n"
    );
    let bare = "[mcp_servers.punctual]\n[z]";
    assert_eq!(put_twice(bare), format!("{TABLE}[z]"));
    assert_eq!(put_twice("[mcp_servers.punctual]"), TABLE);
}

#[test]
fn what_is_put_in_is_taken_out_again() {
    for before in ["a = 1\n", "a = 1 # x\r\n", "[mcp_servers.b]\ncommand = 'x'\n"] {
        let text = put_twice(before);
        let taken = take(&text, "punctual").unwrap();
        assert_eq!((taken.change, taken.text.as_str()), (Change::Removed, before));
        assert_eq!(take(before, "punctual").unwrap().change, Change::Nothing);
    }
    let between = "[a]\nx = 1\n\n[mcp_servers.punctual]\ncommand = 'x'\nenv.A = 'b'\n\n\
        [mcp_servers.punctual.tools.x]\ny = 1 # y\n\n# of b\n[b]\n";
    assert_eq!(take(between, "punctual").unwrap().text, "[a]\nx = 1\n\n\n\n# of b\n[b]\n");
    let line = "[mcp_servers]\na = {}\npunctual = { command = 'x' } # x\nb = {}\n";
    assert_eq!(take(line, "punctual").unwrap().text, "[mcp_servers]\na = {}\nb = {}\n");
}

#[test]
fn what_is_broken_or_of_another_form_is_refused_with_its_place() {
    let said = |text: &str| {
        let problem = put(text, "punctual", &entry()).unwrap_err();
        format!("{}: {}", problem.place(text).trim_start_matches(':'), problem.what)
    };
    let cases = [
        "a = 1\nb = ",
        "a = 1\na = 2",
        "[a\n",
        "mcp_servers = { b = { command = 'x' } }\n",
        "mcp_servers = 1",
        "[[mcp_servers]]\n",
        "[mcp_servers]\npunctual = 1\n",
        "[mcp_servers]\npunctual.command = 'x'\n",
        "[mcp_servers]\npunctual = {}\n",
    ];
    let all: Vec<String> = cases.iter().map(|text| format!("{text:?}\n  {}", said(text))).collect();
    insta::assert_snapshot!(all.join("\n"));
}

/// A file of tables and keys, each name once.
fn file() -> impl Strategy<Value = String> {
    let value = prop_oneof![
        Just("1"),
        Just("'a # b'"),
        Just("\"\"\"\n[x]\n\"\"\""),
        Just("[1, # c\n 2,\n]"),
        Just("{ a = 1 }"),
        Just("1979-05-27"),
        Just("nan"),
    ];
    let end = prop_oneof![Just("\n"), Just(" # c = 1\n"), Just("\r\n"), Just("\n\n")];
    let pairs = proptest::collection::vec((value, end), 0..4);
    let header =
        prop_oneof![Just("a."), Just("mcp_servers."), Just("mcp_servers.x."), Just("\"q.\".")];
    let tables = proptest::collection::vec((header, pairs.clone(), any::<bool>()), 0..5);
    (pairs, tables, any::<bool>()).prop_map(|(root, tables, ends)| {
        let pairs = |pairs: Vec<(&str, &str)>| -> String {
            let numbered = pairs.into_iter().enumerate();
            let lines = numbered.map(|(n, (value, end))| format!("k{n} = {value}{end}"));
            lines.collect::<Vec<_>>().concat()
        };
        let mut text = pairs(root);
        for (n, (header, own, many)) in tables.into_iter().enumerate() {
            let many = many && !header.starts_with("mcp");
            let (open, close) = if many { ("[[", "]]\n") } else { ("[", "]\n") };
            text += &[open, header, "t", &n.to_string(), close, &pairs(own)].concat();
        }
        if ends { text } else { text.trim_end().to_owned() }
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..Default::default() })]

    #[test]
    fn nothing_of_any_file_is_lost_and_a_second_time_changes_nothing(text in file()) {
        let merged = put(&text, "punctual", &entry()).unwrap();
        prop_assert_eq!(merged.change, Change::Added);
        prop_assert!(keeps_all(&text, &merged.text));
        prop_assert_eq!(others(&merged.text, "punctual"), others(&text, "punctual"));
        let file = parsed(&merged.text).unwrap();
        let ours = server(&file, "punctual").unwrap().map(json);
        prop_assert_eq!(ours, Some(Json::Object(entry())));
        prop_assert_eq!(put(&merged.text, "punctual", &entry()).unwrap().change, Change::Nothing);
        let taken = take(&merged.text, "punctual").unwrap();
        prop_assert_eq!(others(&taken.text, "punctual"), others(&text, "punctual"));
    }
}
