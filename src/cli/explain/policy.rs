//! What follows when something goes wrong, in words.

use super::super::terminal::{Style, Terminal};
use super::named;
use crate::domain::plan::{
    OnInvalid, OnRefused, OnRejected, OnSlow, OnTooLong, OnTrouble, Plan, Policy, Reactions, Work,
};
use crate::domain::time::show;

/// The policies, each once, with the steps it holds for.
#[must_use]
pub fn policies(plan: &Plan, terminal: Terminal) -> Vec<String> {
    let mut groups: Vec<(Policy, Vec<&str>)> = Vec::new();
    for step in &plan.steps {
        let Work::Model { policy, .. } = &step.work else { continue };
        let shown = apart(policy);
        match groups.iter_mut().find(|(other, _)| *other == shown) {
            Some((_, names)) => names.push(&step.name),
            None => groups.push((shown, vec![&step.name])),
        }
    }
    let mut text = Vec::new();
    for (policy, names) in groups {
        text.push(format!("  {}", terminal.paint(Style::Bold, names.join(", "))));
        let attempts = format!(
            "{} attempts and {} changes of path for a step or item, {} apart",
            policy.attempts,
            policy.max_swaps,
            show(policy.swap_delay)
        );
        for (name, what) in [
            ("too late", after_cut(&policy).as_str()),
            ("throttled", trouble(policy.on.limited)),
            ("down", trouble(policy.on.down)),
            ("invalid", on_invalid(policy.on.invalid)),
            ("too long", on_too_long(policy.on.too_long)),
            ("refused", on_refused(policy.on.refused)),
            ("at most", attempts.as_str()),
        ] {
            text.extend(named(name, what, terminal));
        }
    }
    for step in plan.steps.iter().filter(|step| step.validates.is_some()) {
        let Work::Model { policy, .. } = &step.work else { continue };
        text.push(format!("  {}", terminal.paint(Style::Bold, format!("{} says no", step.name))));
        text.extend(named("rejected", on_rejected(policy.on.rejected), terminal));
    }
    text
}

/// A policy without what is told elsewhere: its cutoffs, and what follows a rejection.
fn apart(policy: &Policy) -> Policy {
    let usual = Policy::default();
    let on = Reactions { rejected: usual.on.rejected, ..policy.on };
    Policy { cutoff: usual.cutoff, on, ..policy.clone() }
}

fn after_cut(policy: &Policy) -> String {
    let next = match policy.on.slow {
        OnSlow::Auto => {
            "without a token an attempt on the next path, with too few tokens one on the faster model"
        }
        OnSlow::Next => "an attempt on the next path",
        OnSlow::Faster => "an attempt on the faster model",
        OnSlow::Fail => return "the step fails".to_owned(),
    };
    format!("{next}; {}", policy.hedge)
}

const fn trouble(on: OnTrouble) -> &'static str {
    match on {
        OnTrouble::Next => "the next path, at once",
        OnTrouble::Fail => "the step fails",
    }
}

const fn on_invalid(on: OnInvalid) -> &'static str {
    match on {
        OnInvalid::Repair => "one repair turn that says what was wrong, then the stronger model",
        OnInvalid::Stronger => "the stronger model",
        OnInvalid::Next => "the next path",
        OnInvalid::Fail => "the step fails",
    }
}

const fn on_too_long(on: OnTooLong) -> &'static str {
    match on {
        OnTooLong::Larger => "a path with a larger window",
        OnTooLong::Fail => "the step fails",
    }
}

const fn on_refused(on: OnRefused) -> &'static str {
    match on {
        OnRefused::Stronger => "the stronger model, once",
        OnRefused::Next => "the next path, once",
        OnRefused::Fail => "the step fails",
    }
}

const fn on_rejected(on: OnRejected) -> &'static str {
    match on {
        OnRejected::Fail => "with no revision left the run fails",
        OnRejected::Accept => "with no revision left it goes out, degraded and named as unverified",
    }
}
