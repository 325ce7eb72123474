//! A text that a simple regular expression is found in: what the simulator writes where a schema demands a
//! pattern. Literals, classes, groups, alternatives and counts are understood; the caller verifies the text,
//! so what is not understood shows up as a text that does not fit.

use std::iter::Peekable;
use std::str::Chars;

/// Characters of a generated text.
const MAX_CHARS: usize = 500;
/// Nested groups.
const MAX_DEPTH: usize = 16;

/// A shortest-ish text for `pattern`; `None` where the pattern is not understood.
pub(super) fn example(pattern: &str) -> Option<String> {
    let mut parser = Parser { rest: pattern.chars().peekable(), depth: 0 };
    let text = parser.alternatives()?;
    (parser.rest.next().is_none() && text.chars().count() <= MAX_CHARS).then_some(text)
}

struct Parser<'a> {
    rest: Peekable<Chars<'a>>,
    depth: usize,
}

impl Parser<'_> {
    /// The first alternative; the others are read over.
    fn alternatives(&mut self) -> Option<String> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return None;
        }
        let first = self.sequence()?;
        while self.rest.next_if_eq(&'|').is_some() {
            self.sequence()?;
        }
        self.depth -= 1;
        Some(first)
    }

    fn sequence(&mut self) -> Option<String> {
        let mut text = String::new();
        while let Some(&c) = self.rest.peek() {
            if c == '|' || c == ')' {
                break;
            }
            self.rest.next();
            let part = match c {
                '^' | '$' => continue,
                '(' => self.group()?,
                '[' => self.class()?.to_string(),
                '\\' => self.escape()?.to_string(),
                '.' => "a".to_owned(),
                '*' | '+' | '?' | '{' => return None,
                c => c.to_string(),
            };
            let times = self.count()?;
            if part.len().saturating_mul(times) + text.len() > 4 * MAX_CHARS {
                return None;
            }
            text.push_str(&part.repeat(times));
        }
        Some(text)
    }

    fn group(&mut self) -> Option<String> {
        if self.rest.next_if_eq(&'?').is_some() {
            match self.rest.next()? {
                ':' => {}
                '<' => while self.rest.next()? != '>' {},
                _ => return None,
            }
        }
        let text = self.alternatives()?;
        (self.rest.next()? == ')').then_some(text)
    }

    /// How often the part before stands.
    fn count(&mut self) -> Option<usize> {
        let times = match self.rest.peek() {
            Some('*' | '+') => 3,
            Some('?') => 1,
            Some('{') => {
                self.rest.next();
                let bounds: String =
                    std::iter::from_fn(|| self.rest.next_if(|c| *c != '}')).collect();
                let least: usize = bounds.split(',').next()?.trim().parse().ok()?;
                let most = bounds.split(',').nth(1).and_then(|most| most.trim().parse().ok());
                least.max(1).min(most.unwrap_or(usize::MAX))
            }
            _ => return Some(1),
        };
        self.rest.next();
        self.rest.next_if_eq(&'?');
        Some(times)
    }

    /// A character of a class: its first, or one outside it where it is negated.
    fn class(&mut self) -> Option<char> {
        let negated = self.rest.next_if_eq(&'^').is_some();
        let mut ranges: Vec<(char, char)> = Vec::new();
        loop {
            let mut from = self.rest.next()?;
            if from == ']' && !ranges.is_empty() {
                break;
            }
            if from == '\\' {
                from = self.escape()?;
            }
            let is_range = self.rest.next_if_eq(&'-').is_some();
            match self.rest.peek() {
                Some(&to) if is_range && to != ']' => {
                    self.rest.next();
                    ranges.push((from, to));
                }
                _ => {
                    ranges.push((from, from));
                    ranges.extend(is_range.then_some(('-', '-')));
                }
            }
        }
        if !negated {
            return ranges.first().map(|(from, _)| *from);
        }
        let inside = |c: char| ranges.iter().any(|(from, to)| (*from..=*to).contains(&c));
        ['a', '0', 'A', '_', '-', 'é'].into_iter().find(|c| !inside(*c))
    }

    fn escape(&mut self) -> Option<char> {
        Some(match self.rest.next()? {
            'd' => '1',
            'w' | 'D' | 'S' => 'a',
            's' => ' ',
            'W' => '-',
            'n' => '\n',
            't' => '\t',
            c if c.is_ascii_alphanumeric() => return None,
            c => c,
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::schema::Schema;

    #[test]
    fn an_example_is_found_by_its_own_pattern() {
        for pattern in [
            "^[A-Z]{2,4}-\\d+$",
            "^(low|high)$",
            "^\\d{4}-\\d{2}-\\d{2}$",
            "^[a-z][a-z0-9_]{0,47}$",
            "a.c",
            "",
            "^(?:ab)+c?$",
            "^[^a0]x$",
            "^#/[\\w-]+\\.json$",
            "^(?<year>\\d{4})$",
            "x|y",
            "^\\S+@\\S+$",
        ] {
            let text = example(pattern).expect(pattern);
            let schema = Schema::compile(json!({"pattern": pattern})).expect(pattern);
            assert!(schema.accepts(&Value::from(text.as_str())), "{pattern}: {text}");
        }
    }

    #[test]
    fn what_is_not_understood_gives_no_example() {
        for pattern in ["(?=a)b", "(", "[", "a{", "\\p{L}", "*", "a{9999}", "\\b", &"(".repeat(99)]
        {
            assert_eq!(example(pattern), None, "{pattern}");
        }
    }
}
