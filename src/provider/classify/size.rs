//! How long a prompt was and how long it may be, in the words of those who refused it.

use crate::domain::failure::About;

/// Where the numbers stand behind a marker.
type Rule = (&'static str, fn(&[u64]) -> Option<(u64, u64)>);

/// The phrases in use, each with its numbers from the marker on: prompt as counted, most that it may be. Where the
/// answer's bound counts too, its share is taken off.
const RULES: [Rule; 10] = [
    ("prompt is too long", in_order),
    ("exceed context limit", |n| Some((*n.first()?, n.get(2)?.saturating_sub(*n.get(1)?)))),
    ("maximum context length is", |n| match n {
        // `8192 tokens and your request has 6000 input tokens (4096 > 8192 - 6000)`
        [most, prompt, answer, again, _] if again == most => {
            Some((*prompt, most.saturating_sub(*answer)))
        }
        // `16385 tokens. However, you requested 16583 tokens (16083 in the messages, 500 in the completion)`
        [most, all, prompt, answer, ..] if prompt.checked_add(*answer) == Some(*all) => {
            Some((*prompt, most.saturating_sub(*answer)))
        }
        [most, prompt, ..] => Some((*prompt, *most)),
        _ => None,
    }),
    ("input token count", in_order),
    ("prompt contains", |n| Some((*n.first()?, *n.last()?))),
    ("must be <=", |n| Some((*n.get(1)?, n.first()?.saturating_sub(*n.get(2)?)))),
    ("the input (", in_order),
    ("maximum prompt length is", swapped),
    ("request (", in_order),
    // Limits a minute: the whole request counts.
    ("limit ", swapped),
];

fn in_order(numbers: &[u64]) -> Option<(u64, u64)> {
    Some((*numbers.first()?, *numbers.get(1)?))
}

fn swapped(numbers: &[u64]) -> Option<(u64, u64)> {
    in_order(numbers).map(|(most, prompt)| (prompt, most))
}

/// The size that `text` (lower case) speaks of, where it is one that the prompt exceeds.
pub(super) fn of(text: &str) -> Option<About> {
    let found = RULES.iter().find_map(|(marker, read)| {
        let rest = &text[text.find(marker)?..];
        read(&numbers(rest))
    });
    found.filter(|(prompt, most)| prompt > most).map(|(prompt, most)| About::Size { prompt, most })
}

/// The first numbers of a text, at most eight; digits inside a word are none.
fn numbers(text: &str) -> Vec<u64> {
    let word = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.');
    let words = text.split(|c: char| !word(c)).map(|word| word.trim_matches(['.', '-']));
    words.filter_map(|word| word.parse().ok()).take(8).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_vendors_phrase_says_how_long_the_prompt_was_and_may_be() {
        let rows = [
            ("prompt is too long: 213462 tokens > 200000 maximum", (213_462, 200_000)),
            (
                "input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000, decrease",
                (190_000, 180_000),
            ),
            (
                "this model's maximum context length is 128000 tokens. however, your messages resulted in 179011 tokens.",
                (179_011, 128_000),
            ),
            (
                "this model's maximum context length is 16385 tokens. however, you requested 16583 tokens (16083 in the messages, 500 in the completion).",
                (16_083, 15_885),
            ),
            (
                "this endpoint's maximum context length is 200000 tokens. however, you requested about 264437 tokens (262437 of text input, 2000 in the output).",
                (262_437, 198_000),
            ),
            (
                "'max_tokens' is too large: 4096. this model's maximum context length is 8192 tokens and your request has 6000 input tokens (4096 > 8192 - 6000).",
                (6_000, 4_096),
            ),
            (
                "maximum context length is 8192 tokens. however, your request has 9000 input tokens.",
                (9_000, 8_192),
            ),
            (
                "the input token count (1196265) exceeds the maximum number of tokens allowed (1048575).",
                (1_196_265, 1_048_575),
            ),
            (
                "prompt contains 40123 tokens and 0 draft tokens, too large for model with 32768 maximum context length",
                (40_123, 32_768),
            ),
            (
                "`inputs` tokens + `max_new_tokens` must be <= 8193. given: 7900 `inputs` tokens and 1024 `max_new_tokens`",
                (7_900, 7_169),
            ),
            (
                "the input (140210 tokens) is longer than the model's context length (131072 tokens).",
                (140_210, 131_072),
            ),
            (
                "maximum prompt length is 131072 but the request contains 136973 tokens.",
                (136_973, 131_072),
            ),
            (
                "request (13392 tokens) exceeds the available context size (8192 tokens), try increasing it",
                (13_392, 8_192),
            ),
            (
                "request too large for gpt-4o in organization org-1 on tokens per min (tpm): limit 30000, requested 36278.",
                (36_278, 30_000),
            ),
        ];
        for (text, (prompt, most)) in rows {
            assert_eq!(of(text), Some(About::Size { prompt, most }), "{text}");
        }
    }

    #[test]
    fn words_without_numbers_or_with_others_say_nothing() {
        for text in [
            "input is too long for requested model.",
            "max_tokens must be at least 1, got -186.",
            "prompt is too long: 5 tokens > 10 maximum",
            "prompt is too long: 99999999999999999999 tokens > 10 maximum",
            "maximum context length is",
            "limit of 5",
        ] {
            assert_eq!(of(text), None, "{text}");
        }
    }
}
