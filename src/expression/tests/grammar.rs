//! Expressions that are mostly well typed, made of one another: `@n` stands for a number, `@t` for a text, `@b` for a
//! condition, `@N` and `@T` for lists of numbers and texts.

/// The kinds, with what ends and what goes on.
const FORMS: [(char, &[&str], &[&str]); 5] = [
    (
        'n',
        &[
            "1",
            "0.5",
            "plan.count",
            "plan.score",
            "index",
            "(gaps.score ?? 2)",
            "input.limit",
            "gaps.score",
            "'1'",
        ],
        &[
            "(@n) + (@n)",
            "(@n) - (@n)",
            "(@n) * (@n)",
            "((@n) / (@n) ?? 1)",
            "(@n) / 4",
            "-(@n)",
            "length(@t)",
            "length(@N)",
            "sum(@N)",
            "(max(@N) ?? 0)",
            "min(input.filled)",
            "min(@n, @n)",
            "round(@n, 1)",
            "round(@n)",
        ],
    ),
    (
        't',
        &["'a'", "plan.urgency", "(plan.note ?? '')", "input.text", "'.'", "plan.note"],
        &["lower(@t)", "trim(@t)", "join(@T, '-')", "(@t ?? @t)", "(input.tone ?? @t)"],
    ),
    (
        'b',
        &[
            "true",
            "plan.ok",
            "gaps != null",
            "(gaps != null and gaps.score > 1)",
            "(input.tone == null or input.tone == 'a')",
            "any(q.weight != null and q.weight > 1 for q in plan.questions)",
            "all(length(q.topics) > 1 for q in plan.questions)",
        ],
        &[
            "(@b) and (@b)",
            "(@b) or (@b)",
            "not (@b)",
            "(@n) < (@n)",
            "(@n) == (@n)",
            "(@t) >= (@t)",
            "(@t) != (@t)",
            "contains(@t, @t)",
            "contains(@T, @t)",
            "starts_with(@t, @t)",
            "(@t) in (@T)",
            "(@n) not in (@N)",
            "any(x > (@n) for x in (@N))",
            "all(x == (@t) for x in (@T))",
        ],
    ),
    (
        'N',
        &["input.numbers", "input.filled", "read.pages", "[1, 2.5]", "[]", "plan.questions.weight"],
        &["[@n, @n]", "unique(@N)", "take(@N, round(@n))", "flatten(batches(@N, round(@n)))"],
    ),
    (
        'T',
        &[
            "plan.questions.text",
            "flatten(plan.questions.topics)",
            "(gaps.follow_ups ?? [])",
            "flatten(read.claims).text",
            "read.items.item",
            "keys(plan)",
            "gaps.follow_ups",
            "[]",
        ],
        &[
            "split(@t, ' ')",
            "chunks(@t, round(@n))",
            "unique(@T)",
            "[@t, @t]",
            "(gaps.follow_ups ?? @T)",
        ],
    ),
];

/// Every kind.
pub const KINDS: [char; 5] = ['n', 't', 'b', 'N', 'T'];

/// An expression of a kind, by what `choose` picks of so many.
pub fn expand(kind: char, depth: usize, choose: &mut impl FnMut(usize) -> usize) -> String {
    let (_, ends, goes_on) = FORMS.iter().find(|(k, ..)| *k == kind).expect("a kind");
    let forms = if depth == 0 { ends } else { goes_on };
    let mut text = String::new();
    let mut chars = forms[choose(forms.len())].chars();
    while let Some(c) = chars.next() {
        match c {
            '@' => {
                let kind = chars.next().expect("a kind after @");
                let shallower = choose(depth);
                text.push_str(&expand(kind, shallower, choose));
            }
            c => text.push(c),
        }
    }
    text
}
