//! The work: planner → executor → validator on a seeded order. Whoever sends it, the texts are the same.

use serde_json::{Value, json};

use crate::luck::{below, draw};

/// A step of the chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Step {
    Plan,
    Execute,
    Review,
}

pub const STEPS: [Step; 3] = [Step::Plan, Step::Execute, Step::Review];

/// A step's texts; `{name}` stands for what an order or an earlier step gives.
struct Texts {
    name: &'static str,
    ask: &'static str,
    system: &'static str,
    prompt: &'static str,
    shape: &'static str,
}

const PLAN: Texts = Texts {
    name: "plan",
    ask: "List every line of order ",
    system: "You are the planner of an order desk. You read a customer's letter and list what it orders, line by \
             line and in the letter's order. You compute nothing, you leave remarks out, and you never guess an \
             article. The customer states prices in units of {unit} cents: give every price in cents.",
    prompt: "List every line of order {number}.\n\n<order>\n{order}\n</order>",
    shape: "{lines: [{article: string, quantity: integer, cents: integer}]}",
};

const EXECUTE: Texts = Texts {
    name: "execute",
    ask: "Compute the total of order ",
    system: "You are the executor of an order desk. You carry out a plan as it stands and add nothing to it: \
             the amount of each line, and a handling fee of {fee} cents for each line. The total is the \
             amounts and the fees together.",
    prompt: "Compute the total of order {number} in cents.\n\n<plan>\n{plan}\n</plan>",
    shape: "{amounts: [{article: string, cents: integer}], fees: integer, total: integer}",
};

const REVIEW: Texts = Texts {
    name: "review",
    ask: "Check the total of order ",
    system: "You are the validator of an order desk. You recompute from the letter itself what the result says. \
             The customer states prices in units of {unit} cents, and there is a handling fee of {fee} cents for \
             each line. Sign your verdict with the seal {seal}.",
    prompt: "Check the total of order {number}.\n\n<order>\n{order}\n</order>\n\n<plan>\n{plan}\n</plan>\n\n\
             <result>\n{result}\n</result>",
    shape: "{reason: string, pass: boolean, seal: integer}",
};

impl Step {
    const fn texts(self) -> &'static Texts {
        match self {
            Self::Plan => &PLAN,
            Self::Execute => &EXECUTE,
            Self::Review => &REVIEW,
        }
    }

    /// Its place in the chain, from 0.
    pub fn at(self) -> usize {
        STEPS.iter().position(|step| *step == self).unwrap_or(0)
    }

    pub const fn name(self) -> &'static str {
        self.texts().name
    }

    /// What its prompt begins with, before the order's number.
    pub const fn ask(self) -> &'static str {
        self.texts().ask
    }

    /// The JSON Schema of its output.
    pub fn schema(self) -> Value {
        let integer = json!({"type": "integer"});
        let string = json!({"type": "string"});
        let list = |item: Value| json!({"type": "array", "items": item});
        match self {
            Self::Plan => closed(&[(
                "lines",
                list(closed(&[
                    ("article", string),
                    ("quantity", integer.clone()),
                    ("cents", integer),
                ])),
            )]),
            Self::Execute => closed(&[
                ("amounts", list(closed(&[("article", string), ("cents", integer.clone())]))),
                ("fees", integer.clone()),
                ("total", integer),
            ]),
            Self::Review => closed(&[
                ("reason", string),
                ("pass", json!({"type": "boolean"})),
                ("seal", integer),
            ]),
        }
    }
}

fn closed(fields: &[(&str, Value)]) -> Value {
    let names: Vec<&str> = fields.iter().map(|(name, _)| *name).collect();
    let fields: serde_json::Map<String, Value> =
        fields.iter().map(|(name, schema)| ((*name).to_owned(), schema.clone())).collect();
    json!({"type": "object", "properties": fields, "required": names, "additionalProperties": false})
}

/// What a customer ordered, and what must come of it.
pub struct Order {
    pub number: u64,
    pub unit: u64,
    pub fee: u64,
    pub seal: u64,
    /// The letter.
    pub text: String,
    /// The keyed truth: the total in cents.
    pub total: u64,
}

impl Order {
    /// The order of that seed, under a number of its own.
    pub fn new(number: u64, seed: u64) -> Self {
        const REMARKS: [&str; 6] = [
            "The last delivery came a day early, for which the yard sends its thanks.",
            "Please pack the small parts apart from the long ones, as we agreed in spring.",
            "Our gate is closed between noon and one; the driver may ring at the office.",
            "As always we pay within fourteen days, and we keep the pallets for you.",
            "The crane is being repaired this week, so nothing should weigh more than a man can lift.",
            "If something is out of stock, leave it out and write to us; do not replace it.",
        ];
        let of = |what: u64, count: u64| below(count, &[seed, what]);
        let (unit, fee, seal) = (2 + of(1, 8), 11 + of(2, 80), 1_000 + of(3, 9_000));
        let mut text = format!("Dear order desk,\n\n{}\n\nWe need:\n", REMARKS[of_index(seed, 4)]);
        let mut total = 0;
        for line in 0..5 + of(5, 5) {
            let of = |what: u64, count: u64| below(count, &[seed, 100 + line, what]);
            let (quantity, price, article) = (1 + of(1, 40), 3 + of(2, 900), 1_000 + of(3, 9_000));
            total += quantity * price * unit + fee;
            text.push_str(&format!("- {quantity} x B-{article} at {price}\n"));
        }
        for remark in 0..3 {
            text.push_str(&format!("\n{}", REMARKS[of_index(seed, 6 + remark)]));
        }
        text.push_str("\n\nWith kind regards,\nthe yard");
        Self { number, unit, fee, seal, text, total }
    }

    /// The workflow's input.
    pub fn input(&self) -> Value {
        json!({
            "number": self.number,
            "unit": self.unit,
            "fee": self.fee,
            "seal": self.seal,
            "order": self.text,
        })
    }

    /// A step's system prompt and prompt, with the texts of the steps before it as they came.
    pub fn texts(&self, step: Step, plan: &str, result: &str) -> (String, String) {
        let fill = |text: &str| {
            text.replace("{number}", &self.number.to_string())
                .replace("{unit}", &self.unit.to_string())
                .replace("{fee}", &self.fee.to_string())
                .replace("{seal}", &self.seal.to_string())
                .replace("{order}", &self.text)
                .replace("{plan}", plan)
                .replace("{result}", result)
        };
        let texts = step.texts();
        (fill(texts.system), fill(texts.prompt))
    }
}

fn of_index(seed: u64, what: u64) -> usize {
    usize::try_from(draw(&[seed, what]) % 6).unwrap_or(0)
}

/// Longest time a run may take, for every policy. All times are a fifteenth of what they stand for (45 s).
pub const DEADLINE_MS: u64 = 3_000;
/// When an attempt is no longer relied on. The one such limit that "retry only" knows too.
pub const TOTAL_MS: u64 = 700;
/// Most attempts of one step, for every policy.
pub const ATTEMPTS: usize = 4;

/// The same chain as a workflow of ours.
pub fn workflow() -> String {
    let template = |text: &str| {
        let names = ["number", "unit", "fee", "seal", "order"];
        let text = names.iter().fold(text.to_owned(), |text, name| {
            text.replace(&format!("{{{name}}}"), &format!("{{{{ input.{name} }}}}"))
        });
        let text = text.replace("{plan}", "{{ plan }}").replace("{result}", "{{ execute }}");
        text.replace('\n', "\n      ")
    };
    let mut yaml = format!(
        "description: Works out what an order costs, and has it checked.\n\
         deadline: {DEADLINE_MS}ms\n\
         input: {{number: integer, unit: integer, fee: integer, seal: integer, order: string}}\n\
         defaults:\n  \
           model: main\n  \
           policy:\n    \
             attempts: {ATTEMPTS}\n    \
             swap_delay: 5ms\n    \
             cutoff: {{first_token: 400ms, idle: 300ms, total: {TOTAL_MS}ms}}\n\
         steps:\n"
    );
    for step in STEPS {
        let texts = step.texts();
        let judge =
            if step == Step::Review { "    validates: execute\n    revise: 1\n" } else { "" };
        yaml.push_str(&format!(
            "  {}:\n{judge}    system: |-\n      {}\n    prompt: |-\n      {}\n    output: {}\n",
            texts.name,
            template(texts.system),
            template(texts.prompt),
            texts.shape
        ));
    }
    yaml + "output: {total: execute.total, seal: review.seal}\n"
}
