//! The reaction tables: every class, every policy.

use std::time::Duration;

use super::*;
use crate::domain::failure::FailureClass as F;
use crate::domain::id::ProviderIx;
use crate::domain::model::{ModelProfile, Structured};
use crate::domain::plan::{
    Budget, Hedge, ModelPlan, OnRejected, PathPlan, ProviderPlan, Reactions,
};

const NOW: Timestamp = Timestamp::from_millis(10_000);
const END: Timestamp = Timestamp::from_millis(59_500);

/// `main` on paths 0 and 1, `faster` on 2, `stronger` on 3; each path at a provider of its own. Windows:
/// 8k, 8k, 4k, 32k.
fn plan() -> Plan {
    let path = |ix: u16, window: u64| PathPlan {
        label: format!("p{ix}/m"),
        provider: ProviderIx(ix),
        profile: ModelProfile {
            context: Some(window),
            structured: Structured::Schema,
            ..ModelProfile::plain("m")
        },
    };
    let provider = |ix: u16| ProviderPlan {
        name: format!("p{ix}"),
        billed_on_cancel: false,
        own_capacity: false,
        simulated: false,
    };
    let model = |name: &str, paths: &[u16], faster: Option<u16>, stronger: Option<u16>| ModelPlan {
        name: name.to_owned(),
        paths: paths.iter().map(|p| PathIx(*p)).collect(),
        faster: faster.map(ModelIx),
        stronger: stronger.map(ModelIx),
    };
    Plan {
        workflow: "test".to_owned(),
        deadline: Duration::from_secs(60),
        budget: Budget::default(),
        steps: Vec::new(),
        models: vec![
            model("main", &[0, 1], Some(1), Some(2)),
            model("faster", &[2], None, None),
            model("stronger", &[3], None, None),
        ],
        paths: vec![path(0, 8_000), path(1, 8_000), path(2, 4_000), path(3, 32_000)],
        providers: (0..4).map(provider).collect(),
    }
}

/// A situation after the first attempt, on path 0 of `main`; fields to be changed by each test.
struct Case {
    plan: Plan,
    policy: Policy,
    in_flight: Vec<PathIx>,
    used: Vec<PathIx>,
    unfit: Vec<PathIx>,
    open_at: Vec<Timestamp>,
    repaired: bool,
    refused_before: bool,
    may_swap: bool,
    took: Option<Duration>,
}

impl Case {
    fn new() -> Self {
        Self {
            plan: plan(),
            policy: Policy::default(),
            in_flight: Vec::new(),
            used: vec![PathIx(0)],
            unfit: Vec::new(),
            open_at: vec![Timestamp::ZERO; 4],
            repaired: false,
            refused_before: false,
            may_swap: true,
            took: None,
        }
    }

    fn lonely() -> Self {
        let mut case = Self::new();
        case.plan.models[0].paths.truncate(1);
        (case.plan.models[0].faster, case.plan.models[0].stronger) = (None, None);
        case
    }

    fn closed(mut self, path: usize, until: Timestamp) -> Self {
        self.open_at[path] = until;
        self
    }

    fn decide(&self, trouble: Trouble) -> Reaction {
        let view = View {
            plan: &self.plan,
            policy: &self.policy,
            model: ModelIx(0),
            path: PathIx(0),
            in_flight: &self.in_flight,
            used: &self.used,
            repaired: self.repaired,
            refused_before: self.refused_before,
            unfit: &self.unfit,
            may_swap: self.may_swap,
            took: self.took,
            open_at: &self.open_at,
            line_for: &[],
            known: Known::default(),
            permit_waits: &[],
            short: &[],
            room: 1,
            end_at: END,
            now: NOW,
        };
        decide(&view, trouble)
    }

    /// The reaction in short: `next 1 resume +50`.
    fn after(&self, class: F) -> String {
        short(self.decide(Trouble::Failed(class)))
    }

    fn cut(&self, signal: Signal) -> String {
        short(self.decide(Trouble::Cut(signal)))
    }
}

fn short(reaction: Reaction) -> String {
    match reaction {
        Reaction::Wait => "wait".to_owned(),
        Reaction::GiveUp(NoWay::Path) => "no path".to_owned(),
        Reaction::GiveUp(NoWay::Policy) => "policy".to_owned(),
        Reaction::Launch(choice) => {
            let told = match choice.told {
                Told::Nothing => "plain",
                Told::Violations => "violations",
                Told::Resume => "resume",
            };
            let wait = choice.at.since(NOW).as_millis();
            format!("{} {} {told} +{wait}", choice.cause.as_str(), choice.path.0)
        }
    }
}

/// What each class leads to by default: on a model with two paths and links; after a repair or a refusal;
/// on a single path without links.
fn by_default(class: F) -> [&'static str; 3] {
    match class {
        F::RateLimited
        | F::Overloaded
        | F::ServerError
        | F::Timeout
        | F::StreamInterrupted
        | F::QuotaExhausted
        | F::Auth
        | F::Permission
        | F::ModelNotFound => ["next 1 resume +50", "next 1 resume +50", "next 0 resume +1000"],
        F::BadRequest | F::UnsupportedParameter => {
            ["next 1 resume +50", "next 1 resume +50", "no path"]
        }
        F::ContextOverflow => ["next 3 resume +50", "next 3 resume +50", "no path"],
        F::ContentFiltered | F::Refusal => ["stronger 3 resume +50", "policy", "no path"],
        F::EmptyOutput
        | F::TruncatedOutput
        | F::UnparseableOutput
        | F::SchemaViolation
        | F::CheckFailed => {
            ["repair 0 violations +0", "stronger 3 violations +50", "repair 0 violations +0"]
        }
        F::Rejected | F::Deadline | F::Budget | F::InvalidInput | F::Cancelled => {
            ["policy", "policy", "policy"]
        }
    }
}

#[test]
fn every_class_has_its_reaction() {
    for class in F::ALL {
        let mut again = Case::new();
        (again.repaired, again.refused_before) = (true, true);
        let reactions = [Case::new(), again, Case::lonely()].map(|case| case.after(class));
        assert_eq!(reactions, by_default(class), "{class}");
    }
}

#[test]
fn a_policy_that_says_fail_fails_every_class() {
    let mut case = Case::new();
    case.policy.on = Reactions {
        slow: OnSlow::Fail,
        limited: OnTrouble::Fail,
        down: OnTrouble::Fail,
        invalid: OnInvalid::Fail,
        too_long: OnTooLong::Fail,
        refused: OnRefused::Fail,
        rejected: OnRejected::Fail,
    };
    for class in F::ALL {
        assert_eq!(case.after(class), "policy", "{class}");
    }
    for signal in [Signal::NoFirstToken, Signal::Stalled, Signal::TooSlow] {
        assert_eq!(case.cut(signal), "policy");
    }
}

#[test]
fn each_policy_key_rules_its_own_causes_alone() {
    let fail_limited = |class| {
        let mut case = Case::new();
        case.policy.on.limited = OnTrouble::Fail;
        case.after(class)
    };
    let fail_down = |class| {
        let mut case = Case::new();
        case.policy.on.down = OnTrouble::Fail;
        case.after(class)
    };
    assert_eq!(fail_limited(F::RateLimited), "policy");
    assert_eq!(fail_limited(F::Overloaded), "policy");
    assert_eq!(fail_limited(F::ServerError), "next 1 resume +50");
    assert_eq!(fail_down(F::ServerError), "policy");
    assert_eq!(fail_down(F::Auth), "policy");
    assert_eq!(fail_down(F::RateLimited), "next 1 resume +50");
}

#[test]
fn a_cut_follows_its_signal() {
    let table = [
        (OnSlow::Auto, ["hedge 1 resume +50", "hedge 1 resume +50", "faster 2 resume +50"]),
        (OnSlow::Next, ["hedge 1 resume +50", "hedge 1 resume +50", "hedge 1 resume +50"]),
        (OnSlow::Faster, ["faster 2 resume +50", "faster 2 resume +50", "faster 2 resume +50"]),
    ];
    for (slow, expected) in table {
        let mut case = Case::new();
        case.policy.on.slow = slow;
        case.in_flight = vec![PathIx(0)];
        let signals = [Signal::NoFirstToken, Signal::Stalled, Signal::TooSlow];
        assert_eq!(signals.map(|signal| case.cut(signal)), expected, "{slow:?}");
    }
}

#[test]
fn a_single_path_is_raced_with_itself_unless_that_is_in_vain() {
    let mut case = Case::lonely();
    case.in_flight = vec![PathIx(0)];
    assert_eq!(case.cut(Signal::NoFirstToken), "hedge 0 plain +0");
    assert_eq!(case.cut(Signal::TooSlow), "wait");
    case.plan.providers[0].own_capacity = true;
    assert_eq!(case.cut(Signal::NoFirstToken), "wait");
    case.policy.hedge = Hedge::Off;
    assert_eq!(case.cut(Signal::NoFirstToken), "hedge 0 plain +0");
}

#[test]
fn a_cut_uses_a_closed_neighbour_when_it_opens_and_only_if_it_does_in_time() {
    let seven = Timestamp::from_millis(17_000);
    let mut case = Case::new().closed(1, seven);
    case.plan.providers[0].own_capacity = true;
    case.in_flight = vec![PathIx(0)];
    assert_eq!(case.cut(Signal::NoFirstToken), "hedge 1 resume +7000");
    assert_eq!(case.closed(1, END).cut(Signal::NoFirstToken), "wait");
}

#[test]
fn an_open_path_is_preferred_to_one_that_opens_later_and_fresh_to_used() {
    let mut case = Case::new();
    case.plan.models[0].paths.push(PathIx(2));
    case.used.push(PathIx(1));
    assert_eq!(case.after(F::ServerError), "next 2 resume +50");
    let case = case.closed(2, Timestamp::from_millis(11_000));
    assert_eq!(case.after(F::ServerError), "next 1 resume +50");
}

#[test]
fn a_path_in_flight_is_not_raced_with_itself_by_way_of_another() {
    let mut case = Case::new();
    case.in_flight = vec![PathIx(1)];
    assert_eq!(case.after(F::ServerError), "next 0 resume +1000");
}

#[test]
fn the_pause_before_the_same_path_doubles_up_to_32_seconds_and_ends_with_the_run() {
    let pauses: Vec<String> = (1..=7)
        .map(|times| {
            let mut case = Case::lonely();
            case.used = vec![PathIx(0); times];
            case.after(F::ServerError)
        })
        .collect();
    let expected = [1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 32_000];
    assert_eq!(pauses, expected.map(|ms| format!("next 0 resume +{ms}")));
    let late = Case::lonely().closed(0, END);
    assert_eq!(late.after(F::RateLimited), "no path");
}

#[test]
fn a_window_is_honoured_where_it_is_longer_than_the_pause() {
    let case = Case::lonely().closed(0, Timestamp::from_millis(17_000));
    assert_eq!(case.after(F::RateLimited), "next 0 resume +7000");
}

#[test]
fn a_path_out_for_the_run_is_never_chosen() {
    for class in F::ALL {
        let mut case = Case::new();
        case.open_at = vec![Timestamp::NEVER; 4];
        let reaction = case.after(class);
        assert!(matches!(reaction.as_str(), "no path" | "policy"), "{class}: {reaction}");
    }
}

#[test]
fn a_path_unfit_for_the_prompt_is_never_chosen() {
    for class in F::ALL {
        let mut case = Case::new();
        case.unfit = (0..4).map(PathIx).collect();
        let reaction = case.after(class);
        assert!(matches!(reaction.as_str(), "no path" | "policy"), "{class}: {reaction}");
    }
}

#[test]
fn without_a_swap_left_only_the_same_path_can_follow() {
    for class in F::ALL {
        let mut case = Case::new();
        (case.may_swap, case.repaired) = (false, true);
        let expected = match class {
            F::RateLimited
            | F::Overloaded
            | F::ServerError
            | F::Timeout
            | F::StreamInterrupted
            | F::QuotaExhausted
            | F::Auth
            | F::Permission
            | F::ModelNotFound => "next 0 resume +1000",
            F::EmptyOutput
            | F::TruncatedOutput
            | F::UnparseableOutput
            | F::SchemaViolation
            | F::CheckFailed => "next 0 violations +0",
            F::BadRequest
            | F::UnsupportedParameter
            | F::ContextOverflow
            | F::ContentFiltered
            | F::Refusal => "no path",
            F::Rejected | F::Deadline | F::Budget | F::InvalidInput | F::Cancelled => "policy",
        };
        assert_eq!(case.after(class), expected, "{class}");
    }
}

#[test]
fn invalid_output_follows_the_policy() {
    let after = |invalid, repaired| {
        let mut case = Case::new();
        (case.policy.on.invalid, case.repaired) = (invalid, repaired);
        case.after(F::SchemaViolation)
    };
    assert_eq!(after(OnInvalid::Repair, false), "repair 0 violations +0");
    assert_eq!(after(OnInvalid::Repair, true), "stronger 3 violations +50");
    assert_eq!(after(OnInvalid::Stronger, false), "stronger 3 violations +50");
    assert_eq!(after(OnInvalid::Next, false), "next 1 violations +50");
}

#[test]
fn a_repair_that_cannot_be_in_time_goes_to_the_faster_model() {
    let left = END.since(NOW);
    let after = |took, change: &dyn Fn(&mut Case)| {
        let mut case = Case::new();
        case.took = Some(took);
        change(&mut case);
        case.after(F::SchemaViolation)
    };
    let faster = "faster 2 violations +50";
    assert_eq!(after(left, &|_| {}), faster);
    assert_eq!(after(left, &|case| case.repaired = true), faster);
    assert_eq!(after(left, &|case| case.policy.on.slow = OnSlow::Faster), faster);
    let in_time = left.saturating_sub(Duration::from_millis(1));
    for (took, change) in [
        (in_time, &(|_: &mut Case| {}) as &dyn Fn(&mut Case)),
        (left, &|case| case.policy.on.slow = OnSlow::Next),
        (left, &|case| case.policy.on.slow = OnSlow::Fail),
        (left, &|case| case.plan.models[0].faster = None),
        (left, &|case| case.open_at[2] = END),
        (left, &|case| case.may_swap = false),
    ] {
        assert_eq!(after(took, change), "repair 0 violations +0");
    }
    assert_eq!(
        after(left, &|case| case.policy.on.invalid = OnInvalid::Stronger),
        "stronger 3 violations +50"
    );
}

#[test]
fn what_is_closed_for_long_is_passed_over_for_what_is_open() {
    let later = Timestamp::from_millis(40_000);
    let mut case = Case::new().closed(0, later);
    assert_eq!(case.after(F::SchemaViolation), "stronger 3 violations +50");
    case = case.closed(3, later);
    assert_eq!(case.after(F::SchemaViolation), "next 1 violations +50");
    assert_eq!(case.after(F::Refusal), "next 1 resume +50");
}

#[test]
fn a_refusal_goes_to_another_path_where_no_model_is_stronger() {
    let mut case = Case::new();
    case.plan.models[0].stronger = None;
    assert_eq!(case.after(F::Refusal), "next 1 resume +50");
    case.policy.on.refused = OnRefused::Next;
    assert_eq!(case.after(F::ContentFiltered), "next 1 resume +50");
}

#[test]
fn a_link_that_leads_back_to_the_same_path_leads_nowhere() {
    let mut case = Case::new();
    case.plan.models[2].paths = vec![PathIx(0)];
    case.plan.models[1].paths = vec![PathIx(0)];
    case.repaired = true;
    assert_eq!(case.after(F::SchemaViolation), "next 1 violations +50");
    assert_eq!(case.cut(Signal::TooSlow), "hedge 1 resume +50");
}

#[test]
fn an_overflow_goes_to_a_window_known_to_be_larger_or_unknown() {
    let mut case = Case::new();
    case.plan.paths[1].profile.context = None;
    assert_eq!(case.after(F::ContextOverflow), "next 1 resume +50");
    case.used.push(PathIx(1));
    assert_eq!(case.after(F::ContextOverflow), "next 3 resume +50");
    case.used.push(PathIx(3));
    assert_eq!(case.after(F::ContextOverflow), "next 1 resume +50", "it failed for another reason");
    case.unfit = vec![PathIx(1)];
    assert_eq!(case.after(F::ContextOverflow), "next 3 resume +50");
    case.in_flight.push(PathIx(3));
    assert_eq!(case.after(F::ContextOverflow), "no path");
}

#[test]
fn a_trouble_without_a_failure_is_reported_as_a_timeout() {
    assert_eq!(Trouble::Cut(Signal::Stalled).class(), F::Timeout);
    assert_eq!(Trouble::Cut(Signal::Stalled).to_string(), "no further token");
    assert_eq!(Trouble::Failed(F::Auth).to_string(), "auth");
}
