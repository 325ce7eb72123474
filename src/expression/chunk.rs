//! `chunks(text, tokens)`: a text in pieces that a model can take, none of it lost.

/// Cuts `text` into pieces of at most `tokens` estimated tokens (1 at least), greedily: at the last paragraph end
/// that fits, else the last line end, sentence end or white space, else between two characters. White space stays with the
/// piece it follows, so that the pieces put together are the text. An empty text has no pieces.
pub fn chunks(text: &str, tokens: u64) -> Vec<&str> {
    let tokens = tokens.max(1);
    let mut pieces = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let (piece, after) = rest.split_at(cut(rest, tokens));
        pieces.push(piece);
        rest = after;
    }
    pieces
}

/// Where to cut: beyond zero, at a character's edge.
fn cut(text: &str, tokens: u64) -> usize {
    // The rule of `domain::message::estimate_tokens`, counted as it grows.
    let (mut ascii, mut wide) = (0_u64, 0_u64);
    let mut best = [0_usize; 4];
    let mut before = ' ';
    let mut earlier = ' ';
    for (at, c) in text.char_indices() {
        if c.is_ascii() {
            ascii += 1;
        } else {
            wide += 1;
        }
        if at > 0 && ascii.div_ceil(3) + wide > tokens {
            let found = best.iter().copied().find(|end| *end > 0);
            return found.unwrap_or(at);
        }
        let end = at + c.len_utf8();
        match c {
            '\n' if before == '\n' || before == '\r' && earlier == '\n' => best[0] = end,
            '\n' => best[1] = end,
            _ if c.is_whitespace() => {
                if matches!(before, '.' | '!' | '?' | '…') {
                    best[2] = end;
                }
                best[3] = end;
            }
            '。' | '！' | '？' => best[2] = end,
            _ => {}
        }
        earlier = before;
        before = c;
    }
    text.len()
}
