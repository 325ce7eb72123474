//! Good files made bad: bytes, lines, and blocks of lines as YAML nests them.

use super::luck::Luck;

/// Pieces that mean something to one of the languages.
const PIECES: [&str; 44] = [
    "{{",
    "}}",
    "{%",
    "%}",
    "{#",
    "#}",
    "{% for x in ",
    "{% endfor %}",
    "{% if ",
    "{% else %}",
    "{% raw %}",
    " | default(1)",
    " | join(\", \")",
    " ?? ",
    " and ",
    "not ",
    "all(",
    " for x in ",
    "length(",
    "[",
    "]",
    "{",
    "}",
    "(",
    ")",
    "\"",
    "'",
    ": ",
    "- ",
    "\n",
    "\t",
    "#",
    "&a ",
    "*a",
    "!!str ",
    "<<: ",
    "---\n",
    "|\n",
    ">-\n",
    "null",
    "99999999999999999999",
    "-1",
    "\u{feff}",
    "\u{1F600}é\u{0301}",
];
/// Longest file that a mutation makes, in bytes.
const LONGEST: usize = 20_000;

/// A copy of `text` with one to four changes; `other` is what pieces are taken from.
pub fn mutate(text: &str, other: &str, luck: &mut Luck) -> String {
    let mut out = text.to_owned();
    for _ in 0..=luck.below(4) {
        out = match luck.below(12) {
            0 => without(&out, luck),
            1 => with(&out, luck),
            2 => {
                let at = edge(&out, luck);
                out[..at].to_owned()
            }
            3 => swapped_bytes(&out, luck),
            4 => spliced(&out, other, luck),
            5 => block(&out, luck, Block::Delete),
            6 => block(&out, luck, Block::Twice),
            7 => block(&out, luck, Block::Indent),
            8 => renamed(&out, luck),
            9 => values_swapped(&out, luck),
            10 => block_of_other(&out, other, luck),
            _ => repeated(&out, luck),
        };
        if out.len() > LONGEST {
            let at = (0..=LONGEST).rev().find(|at| out.is_char_boundary(*at)).unwrap_or(0);
            out.truncate(at);
        }
    }
    out
}

/// A place between two characters.
fn edge(text: &str, luck: &mut Luck) -> usize {
    let at = luck.below(text.len() + 1);
    (0..=at).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0)
}

fn range(text: &str, luck: &mut Luck) -> std::ops::Range<usize> {
    let start = edge(text, luck);
    let length = 1 + luck.below(30);
    let end = (start + length..=text.len()).find(|at| text.is_char_boundary(*at));
    start..end.unwrap_or(text.len())
}

fn without(text: &str, luck: &mut Luck) -> String {
    let range = range(text, luck);
    format!("{}{}", &text[..range.start], &text[range.end..])
}

fn with(text: &str, luck: &mut Luck) -> String {
    let at = edge(text, luck);
    format!("{}{}{}", &text[..at], luck.pick(&PIECES), &text[at..])
}

fn swapped_bytes(text: &str, luck: &mut Luck) -> String {
    let mut bytes = text.as_bytes().to_vec();
    for _ in 0..=luck.below(4) {
        let at = luck.below(bytes.len());
        if let Some(byte) = bytes.get_mut(at) {
            *byte = u8::try_from(luck.below(256)).unwrap_or(0);
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

fn spliced(text: &str, other: &str, luck: &mut Luck) -> String {
    let (at, range) = (edge(text, luck), range(other, luck));
    format!("{}{}{}", &text[..at], &other[range], &text[at..])
}

/// The same piece many times: nesting, long lists, long names.
fn repeated(text: &str, luck: &mut Luck) -> String {
    let (at, piece) = (edge(text, luck), luck.pick(&PIECES).repeat(1 + luck.below(120)));
    format!("{}{piece}{}", &text[..at], &text[at..])
}

#[derive(Clone, Copy)]
enum Block {
    Delete,
    Twice,
    Indent,
}

/// A line and everything that is nested below it.
fn lines_of(lines: &[&str], luck: &mut Luck) -> std::ops::Range<usize> {
    let indent = |line: &str| line.len() - line.trim_start_matches(' ').len();
    let start = luck.below(lines.len());
    let Some(first) = lines.get(start) else { return 0..0 };
    let below = lines[start + 1..]
        .iter()
        .take_while(|line| line.trim().is_empty() || indent(line) > indent(first));
    start..start + 1 + below.count()
}

fn block(text: &str, luck: &mut Luck, how: Block) -> String {
    let lines: Vec<&str> = text.split('\n').collect();
    let range = lines_of(&lines, luck);
    let middle = lines[range.clone()].join("\n");
    let middle = match how {
        Block::Delete => String::new(),
        Block::Twice => format!("{middle}\n{middle}"),
        Block::Indent => middle.replace('\n', "\n  "),
    };
    [lines[..range.start].join("\n"), middle, lines[range.end..].join("\n")].join("\n")
}

fn block_of_other(text: &str, other: &str, luck: &mut Luck) -> String {
    let (lines, others): (Vec<&str>, Vec<&str>) =
        (text.split('\n').collect(), other.split('\n').collect());
    let (at, range) = (luck.below(lines.len()), lines_of(&others, luck));
    [lines[..at].join("\n"), others[range].join("\n"), lines[at..].join("\n")].join("\n")
}

/// The places of keys and of the values behind them, line by line.
fn entries(text: &str) -> Vec<(std::ops::Range<usize>, std::ops::Range<usize>)> {
    let mut found = Vec::new();
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        let from = start + line.len() - line.trim_start().len();
        if let Some(colon) = line.find(": ").filter(|colon| start + colon > from) {
            let end = start + line.trim_end().len();
            found.push((from..start + colon, (start + colon + 2).min(end)..end));
        }
        start += line.len();
    }
    found
}

fn renamed(text: &str, luck: &mut Luck) -> String {
    let entries = entries(text);
    let Some((key, _)) = entries.get(luck.below(entries.len())) else { return text.to_owned() };
    let name = &text[key.clone()];
    let name = match luck.below(4) {
        0 => name.chars().rev().collect(),
        1 => name.to_uppercase(),
        2 => format!("{name}s"),
        _ => entries
            .get(luck.below(entries.len()))
            .map_or(String::new(), |(other, _)| text[other.clone()].to_owned()),
    };
    format!("{}{name}{}", &text[..key.start], &text[key.end..])
}

fn values_swapped(text: &str, luck: &mut Luck) -> String {
    let entries = entries(text);
    let (one, two) = (luck.below(entries.len()), luck.below(entries.len()));
    let (Some((_, a)), Some((_, b))) = (entries.get(one.min(two)), entries.get(one.max(two)))
    else {
        return text.to_owned();
    };
    if a.end > b.start {
        return text.to_owned();
    }
    let (before, between, after) = (&text[..a.start], &text[a.end..b.start], &text[b.end..]);
    format!("{before}{}{between}{}{after}", &text[b.clone()], &text[a.clone()])
}
