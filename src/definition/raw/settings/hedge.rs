//! `policy.hedge`: a word, or when another attempt joins one that has not answered.

use std::fmt::Display;
use std::time::Duration;

use super::{CUTOFFS, HEDGE};
use crate::definition::keys;
use crate::definition::page::{Reader, WRONG_VALUE};
use crate::definition::yaml::{Kind, Node};
use crate::domain::plan::{After, Hedge};

/// `off`, `auto` or `{after: p95, max_extra: 10%}`.
pub(super) fn read(reader: &mut Reader<'_>, node: &Node, what: impl Display) -> Option<Hedge> {
    if !matches!(node.kind, Kind::Map(_)) {
        return reader.word(node, what, &HEDGE).map(|w| w.value);
    }
    let (mut written, mut after, mut max_extra) = (false, None, Hedge::MAX_EXTRA);
    for (key, value) in reader.map(node, &keys::HEDGE) {
        if key.name == "after" {
            written = true;
            after = moment(reader, value);
        } else {
            max_extra = reader.share(value, "`hedge.max_extra`")?.value;
        }
    }
    if !written {
        reader
            .error(WRONG_VALUE, &node.span, "`hedge` as a mapping needs `after`")
            .help("as {after: p95} or {after: 4s}; else write `auto` or `off`");
    }
    Some(Hedge::After { after: after?, max_extra })
}

/// `p50` to `p99`, or a duration.
fn moment(reader: &mut Reader<'_>, node: &Node) -> Option<After> {
    let text = match &node.kind {
        Kind::Scalar(scalar) => scalar.text.trim(),
        Kind::List(_) | Kind::Map(_) => "",
    };
    let Some(percent) = text.strip_prefix('p') else {
        let bounds: std::ops::RangeInclusive<Duration> = CUTOFFS;
        return reader.duration(node, "`hedge.after`", bounds).map(|d| After::Fixed(d.value));
    };
    let percent = percent.parse().ok().filter(|percent| (50..=99).contains(percent));
    if percent.is_none() {
        reader
            .error(WRONG_VALUE, &node.span, "`hedge.after` must be from p50 to p99, or a duration")
            .help("as p95, or 4s");
    }
    percent.map(After::Percentile)
}
