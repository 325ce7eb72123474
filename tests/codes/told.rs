//! The files of the examples that the reference tells in words: too large to show, or no text.

/// Names and contents.
pub type Files = Vec<(String, Vec<u8>)>;

/// The wrong and the right files of a code's example. `None` where nobody wrote them.
pub fn told(code: &str) -> Option<[Files; 2]> {
    Some(match code {
        "P0213" => [1100, 20].map(long_expression),
        "P0215" => [300, 20].map(long_tag),
        "P0602" => [1 << 20, 1].map(|size| with(&format!("# {}\n", "x".repeat(size)))),
        "P0604" => [utf16(), with("")],
        "P0605" => [200, 3].map(steps),
        "P0607" => [1001, 2].map(workflows),
        "P0709" => [501, 2].map(cases),
        "P0610" => [70, 60].map(nested),
        "P0611" => [9, 3].map(aliases),
        "P0612" => [13, 3].map(doubling_shapes),
        "P0709" => [501, 10].map(cases),
        _ => return None,
    })
}

/// A workflow without a mistake, and `extra` behind it.
fn with(extra: &str) -> Files {
    let text = format!(
        "description: Answers.\n\
         input: {{question: string}}\n\
         steps:\n  answer: {{max_tokens: 9, prompt: \"{{{{ input.question }}}}\"}}\n{extra}"
    );
    vec![("workflows/example.yaml".to_owned(), text.into_bytes())]
}

/// The same with something in its text replaced.
fn replaced(files: Files, from: &str, to: &str) -> Files {
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).replacen(from, to, 1).into_bytes();
    files.into_iter().map(|(name, bytes)| (name, text(bytes))).collect()
}

fn sum(count: usize) -> String {
    vec!["1"; count].join(" + ")
}

fn lines(count: usize, line: impl Fn(usize) -> String) -> String {
    (0..count).map(line).collect::<Vec<_>>().concat()
}

fn long_expression(count: usize) -> Files {
    with(&format!("output:\n  sum: {}\n  answer: answer.text\n", sum(count)))
}

fn long_tag(count: usize) -> Files {
    replaced(with(""), "{{ input", &format!("{{{{ {} }}}} {{{{ input", sum(count)))
}

fn utf16() -> Files {
    let wide = |bytes: Vec<u8>| {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let units = text.encode_utf16().flat_map(u16::to_le_bytes);
        [0xff, 0xfe].into_iter().chain(units).collect()
    };
    with("").into_iter().map(|(name, bytes)| (name, wide(bytes))).collect()
}

fn steps(count: usize) -> Files {
    let prompt = "{max_tokens: 9, prompt: \"{{ input.question }}\"}";
    let steps = lines(count, |n| format!("  s{n}: {prompt}\n"));
    with(&format!("{steps}output: {{answer: answer.text}}\n"))
}

fn workflows(count: usize) -> Files {
    let one = with("").remove(0).1;
    (0..count).map(|n| (format!("workflows/w{n}.yaml"), one.clone())).collect()
}

fn cases(count: usize) -> Files {
    let case = |n: usize| format!("- name: case {n}\n  input: {{question: why}}\n");
    let cases = ("workflows/example.cases.yaml".to_owned(), lines(count, case).into_bytes());
    with("").into_iter().chain([cases]).collect()
}

fn nested(depth: usize) -> Files {
    with(&format!("x-deep: {}{}\n", "[".repeat(depth), "]".repeat(depth)))
}

fn aliases(levels: usize) -> Files {
    let level = |n: usize| match n {
        0 => "x-0: &a0 [x, x, x, x, x, x, x, x, x]\n".to_owned(),
        n => format!("x-{n}: &a{n} [{}]\n", vec![format!("*a{}", n - 1); 9].join(", ")),
    };
    with(&lines(levels, level))
}

fn doubling_shapes(levels: usize) -> Files {
    let shapes = lines(levels, |n| format!("  S{n}: {{a: S{}, b: S{}}}\n", n + 1, n + 1));
    let files = with(&format!("shapes:\n{shapes}  S{levels}: string\n"));
    replaced(files, "prompt:", "output: {all: S0}, prompt:")
}
