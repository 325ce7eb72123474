//! What the terminal can show: its width, and colour where it is wanted.

use std::fmt;

/// Width where there is no terminal to ask.
const PLAIN_WIDTH: usize = 100;
/// Narrower terminals wrap: nothing here can be drawn in less.
const MIN_WIDTH: usize = 60;
/// Height where there is no terminal to ask.
const HEIGHT: usize = 24;
/// Longer lines are harder to read, not richer.
const MAX_WIDTH: usize = 140;

/// Where something is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Terminal {
    /// Columns.
    pub width: usize,
    /// Lines that can be redrawn.
    pub height: usize,
    /// Whether colours are understood and wanted.
    pub colour: bool,
    /// Whether lines can be redrawn.
    pub live: bool,
}

/// How a piece of text stands out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    /// It does not.
    Plain,
    /// A heading or a name.
    Bold,
    /// Less important.
    Dim,
    /// Went well.
    Good,
    /// Went wrong.
    Bad,
    /// Needs a look.
    Odd,
}

impl Terminal {
    /// What a stream leads to, `size` being columns and lines where they are known.
    #[must_use]
    pub fn new(is_terminal: bool, size: Option<(u16, u16)>) -> Self {
        let wanted = |name: &str| std::env::var_os(name).is_none_or(|value| value.is_empty());
        let dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
        let (width, height) = size.map_or((PLAIN_WIDTH, HEIGHT), |(w, h)| (w.into(), h.into()));
        // A line as wide as a narrower terminal would wrap and could not be redrawn.
        let live = is_terminal && !dumb && width >= MIN_WIDTH;
        let colour = is_terminal && !dumb && wanted("NO_COLOR");
        Self { width: width.clamp(MIN_WIDTH, MAX_WIDTH), height, colour, live }
    }

    /// A terminal that understands nothing: files, pipes, tests.
    #[must_use]
    #[cfg(test)]
    pub const fn plain(width: usize) -> Self {
        Self { width, height: HEIGHT, colour: false, live: false }
    }

    /// `text` as it should stand out here.
    pub fn paint<T: fmt::Display>(self, style: Style, text: T) -> Painted<T> {
        Painted { text, style: if self.colour { style } else { Style::Plain } }
    }
}

/// A text with its colour.
#[derive(Debug)]
pub struct Painted<T> {
    text: T,
    style: Style,
}

impl<T: fmt::Display> fmt::Display for Painted<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let code = match self.style {
            Style::Plain => return self.text.fmt(f),
            Style::Bold => "1",
            Style::Dim => "2",
            Style::Good => "32",
            Style::Bad => "31",
            Style::Odd => "33",
        };
        write!(f, "\u{1b}[{code}m{}\u{1b}[0m", self.text)
    }
}

/// `text` as it may reach a terminal: line ends, tabs and, where `colour`, the styles of this program's own texts;
/// every other control is replaced, whoever wrote it into a file name, a title or an argument.
#[must_use]
pub fn tame(text: &str, colour: bool) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(|c: char| c.is_control() && !matches!(c, '\n' | '\t')) {
        let (before, from) = rest.split_at(at);
        out.push_str(before);
        let taken = match style(from).filter(|_| colour) {
            Some(length) => {
                out.push_str(&from[..length]);
                length
            }
            None => {
                out.push(char::REPLACEMENT_CHARACTER);
                from.chars().next().map_or(1, char::len_utf8)
            }
        };
        rest = &from[taken..];
    }
    out.push_str(rest);
    out
}

/// The length of the style that `text` begins with: the sequences that [`Painted`] and clap write.
fn style(text: &str) -> Option<usize> {
    let numbers = text.strip_prefix("\u{1b}[")?;
    let end = numbers.find('m')?;
    let known = ["0", "1", "2", "4", "31", "32", "33"].contains(&&numbers[..end]);
    known.then_some("\u{1b}[".len() + end + 1)
}

/// The first `width` characters of `text`, the last one `…` where some are missing; controls are replaced, so
/// that no answer or file name can steer the terminal.
#[must_use]
pub fn clip(text: &str, width: usize) -> String {
    let clean = |c: char| if c.is_control() { ' ' } else { c };
    if text.chars().count() <= width {
        return text.chars().map(clean).collect();
    }
    let kept = text.chars().take(width.saturating_sub(1));
    kept.map(clean).chain(std::iter::once('…')).collect()
}

/// `text` in lines of at most `width` characters, broken at spaces where there are any; line ends are kept.
#[must_use]
pub fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut lines = Vec::new();
    for paragraph in text.lines() {
        let mut line = String::new();
        for word in paragraph.split_whitespace() {
            let room = width.saturating_sub(line.chars().count() + 1);
            if !line.is_empty() && word.chars().count() > room {
                lines.push(std::mem::take(&mut line));
            }
            if !line.is_empty() {
                line.push(' ');
            }
            line.extend(word.chars().map(|c| if c.is_control() { ' ' } else { c }));
        }
        lines.push(line);
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_clipped_by_characters_and_cannot_steer_the_terminal() {
        assert_eq!(clip("héllo", 5), "héllo");
        assert_eq!(clip("héllos", 5), "héll…");
        assert_eq!(clip("a\u{1b}[2Jb", 20), "a [2Jb");
    }

    #[test]
    fn only_styles_reach_a_terminal_and_only_where_it_has_colours() {
        let text = "\u{1b}[1mname\u{1b}[0m\u{1b}[2J\u{1b}]0;title\u{7}\r\u{9b}31m\té\n";
        let tamed = "name\u{fffd}[2J\u{fffd}]0;title\u{fffd}\u{fffd}\u{fffd}31m\té\n";
        assert_eq!(tame(text, true), tamed.replace("name", "\u{1b}[1mname\u{1b}[0m"));
        assert_eq!(
            tame(text, false),
            format!("\u{fffd}[1m{}", tamed.replace("name", "name\u{fffd}[0m"))
        );
    }

    #[test]
    fn text_is_wrapped_at_spaces() {
        assert_eq!(wrap("one two three\n\nfour", 8), ["one two", "three", "", "four"]);
        assert_eq!(wrap("unbreakable word", 4), ["unbreakable", "word"]);
    }

    #[test]
    fn nothing_is_painted_where_colours_are_not_wanted() {
        let plain = Terminal::plain(80);
        assert_eq!(plain.paint(Style::Bad, "x").to_string(), "x");
        let colourful = Terminal { colour: true, ..plain };
        assert_eq!(colourful.paint(Style::Bad, "x").to_string(), "\u{1b}[31mx\u{1b}[0m");
    }
}
