//! JSON as models misspell it: a comma behind the last item, a comment, a raw line break in a string. Each has one
//! reading that keeps every token, so that it can be spelt right without a guess. What is cut, unquoted or
//! unbalanced has none, and is left as it is.

use std::fmt::Write as _;
use std::iter::Peekable;
use std::str::Chars;

/// `text` with the JSON in it spelt right. `None` where nothing was misspelt so, or a bracket, string or comment has
/// no end.
pub(super) fn spelt_right(text: &str) -> Option<String> {
    let mut chars = text.chars().peekable();
    let mut right = String::with_capacity(text.len());
    let (mut depth, mut changed) = (0_usize, false);
    while let Some(c) = chars.next() {
        match c {
            '"' if depth > 0 => changed |= string(&mut chars, &mut right)?,
            '/' if depth > 0 => {
                comment(&mut chars)?;
                changed = true;
            }
            ',' if depth > 0 => {
                changed |= blank(&mut chars)?;
                if matches!(chars.peek(), Some('}' | ']')) {
                    changed = true;
                } else {
                    right.push(c);
                }
            }
            _ => {
                match c {
                    '{' | '[' => depth += 1,
                    '}' | ']' => depth = depth.saturating_sub(1),
                    _ => {}
                }
                right.push(c);
            }
        }
    }
    (depth == 0 && changed).then_some(right)
}

/// Copies a string behind its opening quote; whether control characters in it had to be escaped.
fn string(chars: &mut Peekable<Chars<'_>>, right: &mut String) -> Option<bool> {
    right.push('"');
    let mut changed = false;
    loop {
        match chars.next()? {
            '"' => {
                right.push('"');
                return Some(changed);
            }
            '\\' => {
                right.push('\\');
                right.push(chars.next()?);
            }
            c if c < ' ' => {
                changed = true;
                // Writing to a string cannot fail.
                let _ = write!(right, "\\u{:04x}", u32::from(c));
            }
            c => right.push(c),
        }
    }
}

/// Skips white space and comments; whether there were comments.
fn blank(chars: &mut Peekable<Chars<'_>>) -> Option<bool> {
    let mut found = false;
    loop {
        match chars.peek() {
            Some(c) if c.is_ascii_whitespace() => {
                chars.next();
            }
            Some('/') => {
                chars.next();
                comment(chars)?;
                found = true;
            }
            Some(_) | None => return Some(found),
        }
    }
}

/// Skips a comment behind its first slash.
fn comment(chars: &mut Peekable<Chars<'_>>) -> Option<()> {
    match chars.next()? {
        // Up to the line's end, which is left.
        '/' => while chars.next_if(|c| !matches!(c, '\n' | '\r')).is_some() {},
        '*' => loop {
            if chars.next()? == '*' && chars.next_if_eq(&'/').is_some() {
                break;
            }
        },
        _ => return None,
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_misspelling_has_its_one_right_spelling() {
        let right = [
            ("{\"a\":1,}", "{\"a\":1}"),
            ("[1, 2 ,\n]", "[1,2 ]"),
            ("{\"a\":[1,],}", "{\"a\":[1]}"),
            ("{\"a\":1, // one\n\"b\":2}", "{\"a\":1,\"b\":2}"),
            ("{/* first */\"a\":1}", "{\"a\":1}"),
            ("[1, /* none */ ]", "[1]"),
            ("{\"a\":\"x\ny\"}", "{\"a\":\"x\\u000ay\"}"),
            ("see [1,] and {\"a\":\"//\"}", "see [1] and {\"a\":\"//\"}"),
        ];
        for (wrong, spelt) in right {
            assert_eq!(spelt_right(wrong).as_deref(), Some(spelt), "{wrong}");
        }
    }

    #[test]
    fn what_is_right_or_has_no_end_is_left() {
        for text in [
            "{\"a\":1}",
            "{\"a\":\",}\"}",
            "prose, with commas // and slashes",
            "{\"a\":1,",
            "{\"a\":\"x\n",
            "{\"a\":1, /* }",
            "{\"a\":1, / }",
            "[1, 2",
            "{\"a\":\"\\",
        ] {
            assert_eq!(spelt_right(text), None, "{text}");
        }
    }
}
