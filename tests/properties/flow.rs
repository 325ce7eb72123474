//! Random workflows that are well typed: what each reads is there, of the type that the place wants, and guarded
//! where it may be missing.

use std::fmt::Write;

use super::luck::Luck;

/// What a field holds.
#[derive(Clone, Copy, PartialEq)]
pub enum Kind {
    Text,
    Count,
    Score,
    Flag,
    Level,
    Words,
    Findings,
    Detail,
    Maybe,
}

const KINDS: [Kind; 9] = [
    Kind::Text,
    Kind::Count,
    Kind::Score,
    Kind::Flag,
    Kind::Level,
    Kind::Words,
    Kind::Findings,
    Kind::Detail,
    Kind::Maybe,
];

#[derive(Clone)]
pub struct Field {
    name: String,
    kind: Kind,
    optional: bool,
}

/// Something that can be read: the arguments, a step, an item.
#[derive(Clone)]
struct Known {
    name: String,
    fields: Vec<Field>,
    /// May be missing as a whole.
    missing: bool,
    /// A list of answers.
    fan: bool,
    /// Asks a model, once: its conversation can precede another's.
    talks: bool,
}

/// Writes one workflow.
pub struct Flow<'a> {
    luck: &'a mut Luck,
    known: Vec<Known>,
    text: String,
    judged: bool,
    /// What the condition of the step that is being written proves to be there.
    sure: Option<String>,
}

impl Kind {
    fn shape(self) -> &'static str {
        match self {
            Self::Text => "string",
            Self::Count => "integer",
            Self::Score => "number",
            Self::Flag => "boolean",
            Self::Level => "low | high",
            Self::Words => "[string]",
            Self::Findings => "[Finding]",
            Self::Detail => "{why: string, more?: string, parts: [string]}",
            Self::Maybe => "string | null",
        }
    }

    fn default(self) -> &'static str {
        match self {
            Self::Text | Self::Maybe | Self::Detail => "''",
            Self::Count => "0",
            Self::Score => "0.5",
            Self::Flag => "false",
            Self::Level => "'low'",
            Self::Words | Self::Findings => "[]",
        }
    }

    /// A piece of a prompt that shows the value at `p`, which is there.
    fn shown(self, p: &str, luck: &mut Luck) -> String {
        let forms: &[&str] = match self {
            Self::Text => &[
                "{{ P }}",
                "{{ P | upper | trim }}",
                "{% if P == \"a\" %}A{% else %}{{ P | length }}{% endif %}",
            ],
            Self::Count => &["{{ P }}", "{{ P + 1 }}", "{% if P > 2 %}many{% endif %}"],
            Self::Score => &["{{ P }}", "{{ P | round(1) }}", "{% if P >= 0.5 %}good{% endif %}"],
            Self::Flag => &["{{ P }}", "{% if P %}on{% endif %}", "{{ \"yes\" if P else \"no\" }}"],
            Self::Level => &["{{ P }}", "{% if P == \"high\" %}!{% endif %}"],
            Self::Words => &[
                "{{ P | join(\", \") }}",
                "{% for w in P %}{{ loop.index }}. {{ w }}\n      {% endfor %}",
                "{{ P | length }} {{ P | tojson }}",
                "{% for w in P if w != \"\" %}{{ w | lower }}{% else %}none{% endfor %}",
            ],
            Self::Findings => &[
                "{% for f in P %}{{ f.id }} {{ f.score }} {% if f.note %}{{ f.note }}{% endif %}{{ f.maybe | default(\"-\") }}{% endfor %}",
                "{{ P | map(attribute=\"id\") | join(\",\") }}",
                "{{ P | tojson }}",
                "{% for f in P if f.level == \"high\" %}{% for w in f.words %}{{ w }}{% endfor %}{% endfor %}",
            ],
            Self::Detail => &[
                "{{ P.why }}{% if P.more %}{{ P.more | lower }}{% endif %}{{ P.parts | join }}",
                "{{ P.more | default(P.why) }} {{ P | tojson }}",
            ],
            Self::Maybe => &["{{ P | default(\"none\") }}", "{% if P %}{{ P | trim }}{% endif %}"],
        };
        luck.pick(forms).replace('P', p)
    }

    /// A condition on the value at `p`, which is there.
    fn condition(self, p: &str, luck: &mut Luck) -> String {
        let forms: &[&str] = match self {
            Self::Text => {
                &["P != ''", "contains(lower(P), 'a')", "length(P) > 1 or starts_with(P, 'T')"]
            }
            Self::Count => &["P > 1", "P * 2 - 1 <= 7", "(P in [1, 2, 3])"],
            Self::Score => &["round(P, 1) >= 0.5", "max(P, 1) == 1"],
            Self::Flag => &["P", "not P"],
            Self::Level => &["P == 'high'", "(P in ['low', 'high'])"],
            Self::Words => &["length(P) > 0", "any(length(w) > 1 for w in P)", "contains(P, 'a')"],
            Self::Findings => &[
                "all(f.score >= 0 for f in P)",
                "any((f.note ?? '') != '' for f in P)",
                "length(P.id) < 3",
                "sum(P.score) > 1",
                "any(any(w == 'a' for w in f.words) for f in P)",
            ],
            Self::Detail => &["P.why != ''", "(P.more ?? '') == '' or length(P.parts) > 1"],
            Self::Maybe => &["(P ?? '') != ''", "P == null"],
        };
        luck.pick(forms).replace('P', p)
    }

    /// A value made of the one at `p`, which is there, and its kind.
    fn made(self, p: &str, luck: &mut Luck) -> (String, Kind) {
        let forms: &[(&str, Kind)] = match self {
            Self::Text => &[
                ("P", Kind::Text),
                ("length(P)", Kind::Count),
                ("chunks(P, 4)", Kind::Words),
                ("split(P, ' ')", Kind::Words),
                ("trim(lower(P))", Kind::Text),
            ],
            Self::Count => &[("P", Kind::Count), ("P + 1", Kind::Count)],
            Self::Score => {
                &[("P", Kind::Score), ("P * 2", Kind::Score), ("round(P, 2)", Kind::Score)]
            }
            Self::Flag => &[("P", Kind::Flag), ("not P", Kind::Flag)],
            Self::Level => &[("P", Kind::Level), ("P == 'low'", Kind::Flag)],
            Self::Words => &[
                ("P", Kind::Words),
                ("take(P, 2)", Kind::Words),
                ("unique(P)", Kind::Words),
                ("join(P, '; ')", Kind::Text),
                ("flatten(batches(P, 2))", Kind::Words),
                ("length(batches(P, 2))", Kind::Count),
            ],
            Self::Findings => &[
                ("P", Kind::Findings),
                ("P.id", Kind::Words),
                ("take(P, 1)", Kind::Findings),
                ("sum(P.score)", Kind::Score),
                ("flatten(P.words)", Kind::Words),
                ("min(P.score) ?? 0", Kind::Score),
            ],
            Self::Detail => &[
                ("P.why", Kind::Text),
                ("P.parts", Kind::Words),
                ("P.more ?? P.why", Kind::Text),
                ("length(keys(P))", Kind::Count),
            ],
            Self::Maybe => &[("P ?? 'none'", Kind::Text), ("P == null", Kind::Flag)],
        };
        let (form, kind) = luck.pick(forms);
        (form.replace('P', p), *kind)
    }
}

impl<'a> Flow<'a> {
    /// The YAML of a workflow of up to eight steps.
    pub fn write(luck: &'a mut Luck) -> String {
        let field = |name: &str, kind, optional| Field { name: name.to_owned(), kind, optional };
        let input = Known {
            name: "input".to_owned(),
            fields: vec![
                field("text", Kind::Text, false),
                field("note", Kind::Text, true),
                field("docs", Kind::Findings, false),
                field("words", Kind::Words, true),
                field("count", Kind::Count, false),
                field("maybe", Kind::Maybe, false),
            ],
            missing: false,
            fan: false,
            talks: false,
        };
        let vars = Known {
            name: "vars".to_owned(),
            fields: vec![
                field("most", Kind::Count, false),
                field("tone", Kind::Text, false),
                field("tags", Kind::Words, false),
            ],
            ..input.clone()
        };
        let known = vec![input, vars];
        let mut flow = Self { luck, known, text: String::new(), judged: false, sure: None };
        flow.text.push_str(HEAD);
        let steps = 1 + flow.luck.below(7);
        for n in 0..steps {
            flow.step(n);
        }
        flow.text.push_str("output:\n");
        for n in 0..=flow.luck.below(4) {
            let (expr, _) = flow.expression();
            let _ = writeln!(flow.text, "  o{n}: {expr}");
        }
        flow.text
    }

    fn fields(&mut self, of: usize) -> Vec<Field> {
        let count = 1 + self.luck.below(4);
        let field = |n| Field {
            name: format!("f{of}_{n}"),
            kind: *self.luck.pick(&KINDS),
            optional: self.luck.percent(20),
        };
        (0..count).map(field).collect()
    }

    fn step(&mut self, n: usize) {
        let name = format!("s{n}");
        if self.known.len() > 2 && self.luck.percent(20) {
            return self.value_step(&name);
        }
        let fields = self.fields(n);
        let _ = writeln!(self.text, "  {name}:");
        let item = self.luck.percent(35).then(|| self.list());
        let optional = self.luck.percent(25);
        let conditional = self.luck.percent(20);
        let judge =
            !self.judged && item.is_none() && !optional && !conditional && self.luck.percent(25);
        if let Some((list, kind)) = &item {
            let _ = writeln!(self.text, "    each: {list}\n    as: it\n    min_ok: 50%");
            let per_item =
                if *kind == Kind::Findings { "it.score >= 0 and index < 9" } else { "it != 'x'" };
            if conditional {
                let _ = writeln!(self.text, "    when: {per_item}");
            }
        } else if conditional {
            let condition = self.presence().unwrap_or_else(|| self.condition());
            let _ = writeln!(self.text, "    when: {condition}");
        }
        if optional {
            let _ = writeln!(
                self.text,
                "    optional: true\n    cutoff_at: {}%",
                20 + self.luck.below(70)
            );
        }
        let talkers: Vec<String> =
            self.known.iter().filter(|k| k.talks).map(|k| k.name.clone()).collect();
        if !talkers.is_empty() && self.luck.percent(15) {
            let _ = writeln!(self.text, "    history: [{}]", self.luck.pick(&talkers));
        }
        if self.luck.percent(20) {
            let system = self.piece();
            let _ = writeln!(self.text, "    system: |\n      {system}");
        }
        self.prompt(item.as_ref().map(|(_, kind)| *kind), judge);
        let _ = writeln!(self.text, "    output:");
        for field in &fields {
            let mark = if field.optional { "?" } else { "" };
            let _ = writeln!(self.text, "      {}{mark}: {}", field.name, field.kind.shape());
        }
        if self.luck.percent(15) {
            let field = self.luck.pick(&fields).clone();
            let path = present(&field.name, &field, false);
            let check = condition_on(&path, &field, false, self.luck);
            let _ = writeln!(self.text, "    check:\n      - {check} or true");
        }
        if judge {
            self.judged = true;
            let _ = writeln!(
                self.text,
                "  judge:\n    validates: {name}\n    prompt: Judge {{{{ {name} | tojson }}}}\n    output: {{pass: boolean, problems: [string]}}"
            );
        }
        self.sure = None;
        let (missing, fan) = (optional || (conditional && item.is_none()), item.is_some());
        // Whether a per-item condition makes the whole of it unsure is the format's to say: guard it.
        let missing = missing || conditional;
        self.known.push(Known { name, fields, missing, fan, talks: !fan });
    }

    fn value_step(&mut self, name: &str) {
        let _ = writeln!(self.text, "  {name}:\n    value:");
        let mut fields = Vec::new();
        for n in 0..=self.luck.below(3) {
            let (expr, kind) = self.single();
            let field = format!("v{n}");
            let _ = writeln!(self.text, "      {field}: {expr}");
            fields.push(Field { name: field, kind, optional: false });
        }
        self.known.push(Known {
            name: name.to_owned(),
            fields,
            missing: false,
            fan: false,
            talks: false,
        });
    }

    fn prompt(&mut self, item: Option<Kind>, judged: bool) {
        let mut pieces: Vec<String> = (0..=self.luck.below(3)).map(|_| self.piece()).collect();
        match item {
            Some(Kind::Findings) => {
                pieces.push("{{ index }}: {{ it.id }} {{ it.note | default(\"\") }}".to_owned());
            }
            Some(_) => pieces.push("{{ index }}: {{ it }}".to_owned()),
            None => {}
        }
        if judged {
            pieces.push(
                "{% if feedback %}{{ feedback.problems | join(\"; \") }}{% endif %}".to_owned(),
            );
        }
        let _ = writeln!(self.text, "    prompt: |");
        for piece in pieces {
            let _ = writeln!(self.text, "      Say: {piece}");
        }
    }

    /// A piece of a prompt that reads something.
    fn piece(&mut self) -> String {
        let known = self.luck.pick(&self.known).clone();
        let field = self.luck.pick(&known.fields).clone();
        if known.name.starts_with('s') && self.luck.percent(15) {
            return format!("{{{{ run.status.{} }}}}", known.name);
        }
        let inner = if known.fan && self.luck.percent(30) {
            let shown = guarded("e.output", &field, self.luck);
            format!("{{% for e in {}.items %}}{{{{ e.index }}}}{shown}{{% endfor %}}", known.name)
        } else if known.fan {
            let shown = guarded("o", &field, self.luck);
            format!("{{% for o in {} %}}{shown}{{% endfor %}}", known.name)
        } else {
            guarded(&known.name, &field, self.luck)
        };
        if !known.missing || self.sure.as_ref() == Some(&known.name) {
            return inner;
        }
        let forms: &[&str] = if known.fan {
            &[
                "if P",
                "if P.items",
                "if P is not none",
                "if (P | default([])) | length > 0",
                "if run.status.P == \"ok\"",
            ]
        } else {
            &["if P", "if P is defined", "if not P is none", "if run.status.P == \"ok\" and P"]
        };
        let test = self.luck.pick(forms).replace('P', &known.name);
        format!("{{% {test} %}}{inner}{{% endif %}}")
    }

    /// A condition that says that something is there which need not be.
    fn presence(&mut self) -> Option<String> {
        let unsure: Vec<Known> = self.known.iter().filter(|known| known.missing).cloned().collect();
        if unsure.is_empty() || self.luck.percent(30) {
            return None;
        }
        let known = self.luck.pick(&unsure).clone();
        let mut forms =
            vec!["P != null", "run.status.P == 'ok'", "not (P == null) and input.text != 'x'"];
        if known.fan {
            forms.extend(["length(P ?? []) > 0", "P.items != null"]);
        }
        let condition = self.luck.pick(&forms).replace('P', &known.name);
        self.sure = Some(known.name);
        Some(condition)
    }

    /// A value of a known kind, of something that is not a list of answers.
    fn single(&mut self) -> (String, Kind) {
        let plain: Vec<Known> = self.known.iter().filter(|known| !known.fan).cloned().collect();
        let known = self.luck.pick(&plain).clone();
        let field = self.luck.pick(&known.fields).clone();
        let path = present(&format!("{}.{}", known.name, field.name), &field, known.missing);
        if field.kind == Kind::Detail && (known.missing || field.optional) {
            return (path, Kind::Text);
        }
        field.kind.made(&path, self.luck)
    }

    /// Any expression of the result.
    fn expression(&mut self) -> (String, Kind) {
        let fans: Vec<Known> = self.known.iter().filter(|known| known.fan).cloned().collect();
        if fans.is_empty() || self.luck.percent(60) {
            return self.single();
        }
        let known = self.luck.pick(&fans).clone();
        let field = self.luck.pick(&known.fields).clone();
        let list = |path: String| if known.missing { format!("({path} ?? [])") } else { path };
        let expr = match self.luck.below(4) {
            0 => list(known.name.clone()),
            1 => list(format!("{}.items", known.name)),
            2 => format!("length({})", list(known.name.clone())),
            _ => list(format!("{}.{}", known.name, field.name)),
        };
        (expr, Kind::Words)
    }

    fn condition(&mut self) -> String {
        let plain: Vec<Known> = self.known.iter().filter(|known| !known.fan).cloned().collect();
        let known = self.luck.pick(&plain).clone();
        let field = self.luck.pick(&known.fields).clone();
        let path = format!("{}.{}", known.name, field.name);
        if known.missing && self.luck.percent(50) {
            let path = present(&path, &field, false);
            let condition = condition_on(&path, &field, false, self.luck);
            let forms = ["P != null and (C)", "run.status.P == 'ok' and (C)", "P == null or (C)"];
            let form = self.luck.pick(&forms).replace('P', &known.name);
            return format!("({})", form.replace('C', &condition));
        }
        let path = present(&path, &field, known.missing);
        condition_on(&path, &field, known.missing, self.luck)
    }

    /// A list to fan out over, and what its items are: texts, or findings.
    fn list(&mut self) -> (String, Kind) {
        let mut lists = Vec::new();
        for known in self.known.iter().filter(|known| !known.fan) {
            for field in &known.fields {
                let path = format!("{}.{}", known.name, field.name);
                if matches!(field.kind, Kind::Words | Kind::Findings) {
                    lists.push((present(&path, field, known.missing), field.kind));
                }
            }
        }
        lists.push(("chunks(input.text, 3)".to_owned(), Kind::Words));
        let (list, kind) = self.luck.pick(&lists).clone();
        (format!("take({list}, 6)"), kind)
    }
}

/// A condition on what [`present`] has made of a field.
fn condition_on(path: &str, field: &Field, missing: bool, luck: &mut Luck) -> String {
    if field.kind == Kind::Detail && (missing || field.optional) {
        return format!("{path} != ''");
    }
    field.kind.condition(path, luck)
}

/// The field at `path` of an expression; its default where it may be missing.
fn present(path: &str, field: &Field, missing: bool) -> String {
    match field.kind {
        Kind::Detail if missing || field.optional => format!("({path}.why ?? '')"),
        kind if missing || field.optional => format!("({path} ?? {})", kind.default()),
        _ => path.to_owned(),
    }
}

/// The field of `owner` in a prompt, guarded where it may be missing.
fn guarded(owner: &str, field: &Field, luck: &mut Luck) -> String {
    let path = format!("{owner}.{}", field.name);
    let shown = field.kind.shown(&path, luck);
    if !field.optional {
        return shown;
    }
    let test = luck.pick(&["if P", "if P is defined", "if P is not none", "if O and P"]);
    let test = test.replace('P', &path).replace('O', owner);
    format!("{{% {test} %}}{shown}{{% endif %}}")
}

const HEAD: &str = "\
description: Made up.
deadline: 40s
input:
  text: string
  note?: string
  docs: {$type: [Finding], $max: 9}
  words?: [string]
  count: {$type: integer, $default: 2}
  maybe: string | null
vars:
  most: 3
  tone: plain
  tags: [a, b]
shapes:
  Finding: {id: string, score: number, level: low | high, note?: string, maybe: string | null, words: [string]}
defaults: {max_tokens: 300}
steps:
";
