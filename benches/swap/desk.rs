//! What both servers share: the runs under way, what each has been sent and has said, and what comes next.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::fault::{Asked, Fate, Store};
use crate::luck::below;
use crate::model::{self, Thought, between};
use crate::task::{STEPS, Step};
use crate::wire::{Family, Request, tokens};

/// Bytes of a piece, and what lies between two.
const PIECE: usize = 80;
const PACE: Duration = Duration::from_millis(1);
/// Of a dripping stream: in how many pieces the rest comes, and what lies between two. It lasts beyond the deadline.
const DRIPS: usize = 64;
const DRIP_PACE: Duration = Duration::from_millis(60);
/// Bytes of an earlier answer by which it is known again in a request.
const EXCERPT: usize = 40;
/// What is said of an answer under way is not held to be known to whoever asks again sooner than this.
const READ: Duration = Duration::from_millis(200);

/// The runs under way, by their orders' numbers.
#[derive(Default)]
pub struct Desk {
    cases: Mutex<HashMap<u64, Case>>,
}

/// One run as the servers see it.
struct Case {
    store: Store,
    /// Tokens of the shortest request that was refused as too long.
    too_long: Option<u64>,
    requests: Vec<Exchange>,
    account: Account,
}

/// One request.
struct Exchange {
    family: Family,
    step: Step,
    at: Instant,
    /// What was said to it, and since when.
    said: String,
    since: Option<Instant>,
    /// Whether the answer is made unusable, and has been given whole or broken off.
    failed: bool,
}

/// What a run came to, as the servers saw it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Account {
    pub attempts: u64,
    /// Of requests that were not refused, and of what was said to them.
    pub tokens: u64,
    /// Requests that take over from the other family within a step: it failed, or is no longer relied on.
    pub swaps: u64,
    /// Of these, how many told the step and its place, how far the run is, the schema, and what had been said.
    pub kept: u64,
    /// Whether a step was handed an earlier one's output that does not fit its schema.
    pub broken_handover: bool,
}

/// What is sent back.
pub enum Answer {
    Refused {
        status: u16,
        words: &'static str,
        wait: Option<Duration>,
    },
    Spoken(Speech),
    /// Nothing at all, until the peer gives up.
    Silence,
}

/// An answer as it is streamed.
pub struct Speech {
    ticket: Ticket,
    /// Until the first piece.
    pub first: Duration,
    /// The pieces, and what follows each.
    pub pieces: Vec<(String, Duration)>,
    pub end: End,
    /// Whether what is said cannot be used.
    unusable: bool,
}

/// How a stream ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// As it should.
    Whole,
    /// In good order, but too early.
    Clean,
    /// The connection breaks off.
    Broken,
    /// Not at all.
    Never,
}

/// Names a request.
#[derive(Clone, Copy)]
pub struct Ticket {
    number: u64,
    at: usize,
}

impl Desk {
    fn cases(&self) -> MutexGuard<'_, HashMap<u64, Case>> {
        self.cases.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A run begins.
    pub fn open(&self, number: u64, store: Store) {
        let case =
            Case { store, too_long: None, requests: Vec::new(), account: Account::default() };
        self.cases().insert(number, case);
    }

    /// A run has ended.
    pub fn close(&self, number: u64) -> Account {
        self.cases().remove(&number).map(|case| case.account).unwrap_or_default()
    }

    /// Takes a request in and decides what is sent back.
    pub fn serve(&self, request: &Request) -> Answer {
        let unknown = Answer::Refused { status: 400, words: "order unknown", wait: None };
        let Some(thought) = model::think(request) else { return unknown };
        let mut cases = self.cases();
        let Some(case) = cases.get_mut(&thought.number) else { return unknown };
        case.serve(request, &thought)
    }

    /// A piece of an answer is on its way.
    pub fn said(&self, ticket: Ticket, piece: &str) {
        if let Some(case) = self.cases().get_mut(&ticket.number) {
            let request = &mut case.requests[ticket.at];
            request.since.get_or_insert_with(Instant::now);
            request.said.push_str(piece);
            case.account.tokens += tokens(piece.len());
        }
    }

    /// The last of an answer is on its way.
    pub fn finished(&self, speech: &Speech) {
        if let Some(case) = self.cases().get_mut(&speech.ticket.number) {
            case.requests[speech.ticket.at].failed = speech.unusable;
        }
    }
}

impl Exchange {
    /// What whoever asks again now can know of its answer.
    fn known(&self) -> Option<&str> {
        let read = self.failed || self.since.is_some_and(|since| since.elapsed() >= READ);
        (read && !self.said.is_empty()).then_some(self.said.as_str())
    }
}

impl Case {
    fn serve(&mut self, request: &Request, thought: &Thought) -> Answer {
        let (family, step) = (request.family, thought.step);
        let text = request.text();
        let mut fate = self.store.fate(&self.asked(family, step, &text));
        if family == Family::A && self.too_long.is_some_and(|most| request.tokens() >= most) {
            fate = Fate::Overflow;
        }
        if fate == Fate::Overflow {
            self.too_long = Some(self.too_long.unwrap_or(u64::MAX).min(request.tokens()));
        }
        self.account.attempts += 1;
        self.note_swap(family, thought, &text);
        self.account.broken_handover |= handed_broken(step, &text);
        self.requests.push(Exchange {
            family,
            step,
            at: Instant::now(),
            said: String::new(),
            since: None,
            failed: false,
        });
        let ticket = Ticket { number: thought.number, at: self.requests.len() - 1 };
        let refused = match fate {
            Fate::Throttled(wait) => {
                Some((429, "This request would exceed your rate limit.", Some(wait)))
            }
            Fate::Overloaded => Some((529, "Overloaded", None)),
            Fate::Overflow => {
                Some((400, "prompt is too long: 214812 tokens > 200000 maximum", None))
            }
            Fate::Billing => Some((
                400,
                "Your credit balance is too low to access the API. Please go to Plans & Billing to \
                 upgrade or purchase credits.",
                None,
            )),
            _ => None,
        };
        if let Some((status, words, wait)) = refused {
            return Answer::Refused { status, words, wait };
        }
        self.account.tokens += request.tokens();
        if fate == Fate::Silent {
            return Answer::Silence;
        }
        let key = [self.store.seed, family as u64, step.at() as u64, 90];
        let first = Duration::from_millis(2 + below(7, &key));
        Answer::Spoken(speech(ticket, first, fate, thought))
    }

    fn asked(&self, family: Family, step: Step, text: &str) -> Asked {
        let of = |s: Step| self.requests.iter().filter(move |r| r.family == family && r.step == s);
        let shown = |r: &Exchange| !r.said.is_empty() && text.contains(excerpt(&r.said));
        Asked {
            family,
            step,
            nth: of(step).count() as u64,
            told: of(step).any(shown),
            since: STEPS.map(|s| of(s).next().map(|r| r.at.elapsed())),
        }
    }

    /// Whether the request takes over from the other family, and what it was told then.
    fn note_swap(&mut self, family: Family, thought: &Thought, text: &str) {
        let before = self.requests.iter().filter(|r| r.step == thought.step);
        let Some(last) = before.clone().next_back() else { return };
        if last.family == family {
            return;
        }
        let said = before.rev().find_map(Exchange::known);
        let lower = text.to_lowercase();
        let place = format!("step {}/{}", thought.step.at() + 1, STEPS.len());
        let told_place = lower.contains(&place) && lower.contains(thought.step.name());
        let told_progress = lower
            .split("progress: ")
            .nth(1)
            .is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
        let told_partial = said.is_none_or(|said| text.contains(excerpt(said)));
        self.account.swaps += 1;
        self.account.kept +=
            u64::from(told_place && told_progress && thought.knows_schema && told_partial);
    }
}

impl Speech {
    pub fn ticket(&self) -> Ticket {
        self.ticket
    }
}

/// Whether the step was handed something that does not fit the schema of the step it came from.
fn handed_broken(step: Step, text: &str) -> bool {
    let handed: &[(&str, Step)] = match step {
        Step::Plan => &[],
        Step::Execute => &[("plan", Step::Plan)],
        Step::Review => &[("plan", Step::Plan), ("result", Step::Execute)],
    };
    handed.iter().any(|(tag, from)| !between(text, tag).is_some_and(|given| fits(*from, given)))
}

/// Whether a text is JSON of the step's schema and nothing else.
pub fn fits(step: Step, text: &str) -> bool {
    thread_local! {
        static SCHEMAS: [jsonschema::Validator; 3] =
            STEPS.map(|step| jsonschema::validator_for(&step.schema()).expect("it is a schema"));
    }
    let value = serde_json::from_str::<Value>(text);
    value.is_ok_and(|value| SCHEMAS.with(|schemas| schemas[step.at()].is_valid(&value)))
}

fn excerpt(said: &str) -> &str {
    let end = (0..=EXCERPT.min(said.len())).rev().find(|at| said.is_char_boundary(*at));
    &said[..end.unwrap_or(0)]
}

/// The answer as its fate has it.
fn speech(ticket: Ticket, first: Duration, fate: Fate, thought: &Thought) -> Speech {
    let text = match fate {
        Fate::Garbage => garbage(&thought.text),
        Fate::Fenced => format!(
            "Here is the answer you asked for:\n\n```json\n{}\n```\n\nLet me know if it helps!",
            thought.text
        ),
        Fate::WrongShape { part } => wrong_shape(&thought.text, part),
        _ => thought.text.clone(),
    };
    let share = |after: u64| {
        let at = text.len() * usize::try_from(after).unwrap_or(0) / 1_000;
        at.max(EXCERPT + 10).min(text.len())
    };
    let mut pieces: Vec<(String, Duration)> = Vec::new();
    let mut speak = |text: &str, size: usize, pace: Duration| {
        let bytes = text.as_bytes().chunks(size);
        pieces.extend(bytes.map(|piece| (String::from_utf8_lossy(piece).into_owned(), pace)));
    };
    let end = match fate {
        Fate::Cut { after, clean } => {
            speak(&text[..share(after)], PIECE, PACE);
            if clean { End::Clean } else { End::Broken }
        }
        Fate::Stall { after } => {
            speak(&text[..share(after)], PIECE, PACE);
            End::Never
        }
        Fate::Drip { after } => {
            let (fast, slow) = text.split_at(share(after).min(2 * EXCERPT));
            speak(fast, PIECE, PACE);
            speak(slow, (slow.len() / DRIPS).max(1), DRIP_PACE);
            End::Whole
        }
        _ => {
            speak(&text, PIECE, PACE);
            End::Whole
        }
    };
    Speech { ticket, first, pieces, end, unusable: fate != Fate::Fine }
}

/// JSON that breaks off in the middle and goes on as something else.
fn garbage(text: &str) -> String {
    let at = text.len() / 2;
    format!("{}\n  \"… and so on for the rest,,\n]", &text[..at])
}

/// JSON of another shape: every number in words, or the second half of the fields and every last item left out.
fn wrong_shape(text: &str, part: bool) -> String {
    let Ok(Value::Object(mut fields)) = serde_json::from_str::<Value>(text) else {
        return text.to_owned();
    };
    if part {
        let keep = fields.len().div_ceil(2);
        let names: Vec<String> = fields.keys().skip(keep).cloned().collect();
        for name in names {
            fields.remove(&name);
        }
        for list in fields.values_mut().filter_map(Value::as_array_mut) {
            list.iter_mut().filter_map(Value::as_object_mut).for_each(|item| {
                item.remove("cents");
            });
        }
        fields.insert("note".to_owned(), "the rest follows from this".into());
    } else {
        in_words(fields.values_mut());
    }
    Value::Object(fields).to_string()
}

fn in_words<'a>(values: impl Iterator<Item = &'a mut Value>) {
    for value in values {
        match value {
            Value::Number(number) => *value = format!("{number} in all").into(),
            Value::Array(list) => in_words(list.iter_mut()),
            Value::Object(fields) => in_words(fields.values_mut()),
            _ => {}
        }
    }
}
