use super::*;

fn tree(text: &str) -> Node {
    let (node, found) = parse(&Source::new("f.yaml", text));
    assert_eq!(found, vec![], "{text}");
    node.unwrap()
}

fn codes(text: &str) -> Vec<&'static str> {
    parse(&Source::new("f.yaml", text)).1.iter().map(|d| d.code.0).collect()
}

fn entries(node: &Node) -> &[(Key, Node)] {
    match &node.kind {
        Kind::Map(entries) => entries,
        other => panic!("{other:?}"),
    }
}

/// What the file says where the map puts `needle` of the first entry's text.
fn mapped(text: &str, needle: &str) -> String {
    let source = Source::new("f.yaml", text);
    let root = tree(text);
    let value = &entries(&root)[0].1;
    let Kind::Scalar(scalar) = &value.kind else { panic!() };
    let at = scalar.text.find(needle).unwrap();
    let found = ContentMap::of(&source, value).locate(&(at..at + needle.len()));
    source.text[found].to_owned()
}

#[test]
fn a_scalars_text_is_found_again_through_every_style() {
    for text in [
        "a: see mark here\n",
        "a: see 'mark' mark\n",
        "a: 'it''s a mark'\n",
        "a: \"q\\\" \\u00e9 \\n mark\"\n",
        "a: \"two\n   lines \\\n   mark\"\n",
        "a: |\n  one\n\n    two mark\n",
        "a: |2-\n    two mark\n",
        "a: |\n\n\n  mark\n",
        "a: >\n\n  one\n  mark\n",
        "a: |\r\n  one\r\n  mark\r\n",
        "a: >\n  one\n  two mark\n\n  three\n",
        "a: one\n  two\n  mark\n",
        "a: é ü mark\n",
    ] {
        assert_eq!(mapped(text, "mark"), "mark", "{text:?}");
    }
}

#[test]
fn optional_keys_and_enums_stand_in_flow_style() {
    let root = tree("a: {k?: string, l: low | high, m: [T | null]}\n");
    let inner = entries(&entries(&root)[0].1);
    let names: Vec<&str> = inner.iter().map(|(k, _)| k.name.as_str()).collect();
    assert_eq!(names, ["k?", "l", "m"]);
}

#[test]
fn what_the_format_does_without_is_refused_with_its_own_code() {
    assert_eq!(codes("a: 1\na: 2\n"), ["P0102"]);
    assert_eq!(codes("a: !!str 1\n"), ["P0103"]);
    assert_eq!(codes("a: &x {b: 1}\nc: {<<: *x}\n"), ["P0103"]);
    assert_eq!(codes("a: 1\n---\nb: 1\n"), ["P0103"]);
    assert_eq!(codes("? [a]\n: 1\n"), ["P0103"]);
    assert_eq!(codes("a: [1\n"), ["P0101"]);
    assert_eq!(codes("a: \0\n"), ["P0101"]);
}

#[test]
fn nesting_and_alias_bombs_end_at_a_limit() {
    let deep = format!("a: {}{}\n", "[".repeat(65), "]".repeat(65));
    assert_eq!(codes(&deep), ["P0610"]);
    let mut bomb = vec!["a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n".to_owned()];
    for level in 1..9 {
        let list = vec![format!("*a{}", level - 1); 10].join(", ");
        bomb.push(format!("a{level}: &a{level} [{list}]\n"));
    }
    assert_eq!(codes(&bomb.concat()), ["P0611"]);
    let keys: Vec<String> = (0..50_000).map(|n| format!("k{n}: 1\n")).collect();
    assert_eq!(codes(&keys.concat()), Vec::<&str>::new());
    assert_eq!(codes(&"k: 1\n".repeat(100_000)).len(), PROBLEM_LIMIT + 1);
}

#[test]
fn a_pointer_names_the_innermost_value() {
    let text = "steps:\n  a/b:\n    needs: [x, y]\n";
    let root = tree(text);
    assert_eq!(root.pointer_at(text.find('y').unwrap()), "/steps/a~1b/needs/1");
    assert_eq!(root.at_pointer("/steps/a~1b/needs/1").unwrap().span.start, text.find('y').unwrap());
}
