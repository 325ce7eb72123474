//! What each step waits for, inferred from every text that mentions another step.

use crate::definition::lower::Lowering;
use crate::definition::lower::check::own_fields;
use crate::definition::lower::draft::{Draft, Sight};
use crate::definition::lower::validator::BAD_VALIDATOR;
use crate::domain::finding::Code;
use crate::domain::plan::NeedKind;
use crate::expression::Mention;

/// A step that reads itself.
pub const SELF_REFERENCE: Code = Code("P0405");

/// What a text mentions, as far as the graph is concerned.
enum Target {
    Step(usize),
    Status(usize),
}

impl Lowering<'_> {
    pub(super) fn infer_needs(&mut self, drafts: &mut [Draft<'_>]) {
        for at in 0..drafts.len() {
            let mut needs: Vec<(usize, NeedKind)> = Vec::new();
            let mut selfish = false;
            for target in targets(&drafts[at], drafts) {
                let (step, kind) = match target {
                    Target::Status(step) => (step, NeedKind::Order),
                    Target::Step(step) if drafts[at].validates == Some(step) => {
                        (step, NeedKind::Judges)
                    }
                    Target::Step(step)
                        if drafts[step].is_optional() || drafts[step].is_conditional() =>
                    {
                        (step, NeedKind::Guarded)
                    }
                    Target::Step(step) => (step, NeedKind::Output),
                };
                if step == at {
                    selfish = true;
                } else {
                    add(&mut needs, step, kind);
                }
            }
            let owner = drafts[at].owner();
            if selfish {
                self.reader
                    .error(
                        SELF_REFERENCE,
                        &drafts[at].raw.key.span,
                        format!("{owner} refers to itself"),
                    )
                    .help("a step cannot read its own answer; `feedback` tells it what was wrong with the last");
            }
            for name in &drafts[at].raw.needs {
                match self.step_named(name, drafts, &owner) {
                    Some(step) if step == at => {
                        let message = format!("{owner} cannot need itself");
                        self.reader.error(SELF_REFERENCE, &name.span, message);
                    }
                    Some(step) => add(&mut needs, step, NeedKind::Order),
                    None => {}
                }
            }
            if let Some(judged) = drafts[at].validates {
                self.check_reads_judged(at, judged, &needs, drafts);
                add(&mut needs, judged, NeedKind::Judges);
            }
            drafts[at].needs = needs;
        }
    }

    fn check_reads_judged(
        &mut self,
        at: usize,
        judged: usize,
        needs: &[(usize, NeedKind)],
        drafts: &[Draft<'_>],
    ) {
        let draft = &drafts[at];
        let reads = needs.iter().any(|(step, kind)| *step == judged && *kind == NeedKind::Judges);
        if !reads && (draft.prompt.is_some() || draft.value.is_some()) {
            let name = drafts[judged].name();
            self.reader
                .error(
                    BAD_VALIDATOR,
                    &draft.raw.key.span,
                    format!("{} judges '{name}' without reading it", draft.owner()),
                )
                .help(if draft.value.is_some() {
                    format!("compute `pass` from it, as length({name}.items) > 0")
                } else {
                    format!("put {{{{ {name} | tojson }}}} into its prompt")
                });
        }
    }
}

/// Adds a need; the stronger kind wins.
fn add(needs: &mut Vec<(usize, NeedKind)>, step: usize, kind: NeedKind) {
    let rank = |kind: NeedKind| match kind {
        NeedKind::Judges => 3,
        NeedKind::Output => 2,
        NeedKind::Guarded => 1,
        NeedKind::Order => 0,
    };
    match needs.iter_mut().find(|(known, _)| *known == step) {
        Some((_, known)) if rank(kind) > rank(*known) => *known = kind,
        Some(_) => {}
        None => needs.push((step, kind)),
    }
}

fn targets(draft: &Draft<'_>, drafts: &[Draft<'_>]) -> Vec<Target> {
    let own = own_fields(&draft.expected.typed.shape);
    let computed = |name: &str| draft.value.iter().flatten().any(|field| field.name == name);
    let item = draft.raw.each.is_some().then(|| draft.item());
    let hidden = |name: &str, sight: Sight| match sight {
        Sight::Outside => false,
        Sight::Item => item == Some(name),
        // Its own name there is said to be wrong where the condition is checked.
        Sight::Answer => {
            item == Some(name) || own.contains(name) || computed(name) || name == draft.name()
        }
    };
    let seen = draft.mentions().filter(|(mention, sight)| !hidden(&mention.name, *sight));
    let mut targets: Vec<Target> =
        seen.filter_map(|(mention, _)| target(mention, drafts)).collect();
    targets.extend(draft.history.iter().map(|step| Target::Step(*step)));
    targets
}

fn target(mention: &Mention, drafts: &[Draft<'_>]) -> Option<Target> {
    let place = |name: &str| drafts.iter().position(|draft| draft.name() == name);
    if mention.name == "run" {
        let [status, step, ..] = mention.path.as_slice() else { return None };
        return (status == "status").then(|| place(step)).flatten().map(Target::Status);
    }
    place(&mention.name).map(Target::Step)
}
