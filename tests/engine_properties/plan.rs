//! Plans drawn at random: any graph the loader would let through, and somewhat more.

use std::time::Duration;

use proptest::prelude::*;
use punctual::domain::id::{ModelIx, PathIx, ProviderIx, StepIx};
use punctual::domain::model::{ModelProfile, Structured};
use punctual::domain::money::{Price, Usd};
use punctual::domain::plan::{
    After, Budget, Cutoff, EachPlan, Hedge, ModelPlan, Need, NeedKind, OnInvalid, OnRefused,
    OnRejected, OnSlow, OnTooLong, OnTrouble, PathPlan, Plan, Policy, ProviderPlan, Reactions,
    Role, StepPlan, Work,
};
use punctual::domain::time::Share;

/// Most steps of a drawn plan.
pub const STEPS_MAX: usize = 9;
const PATHS: u16 = 4;
const PROVIDERS: u16 = 3;
const MODELS: u16 = 3;

/// What is drawn for one step before it is known which steps stand before it.
#[derive(Clone, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is drawn by itself")]
struct StepDraw {
    value: bool,
    model: u16,
    max_tokens: u32,
    policy: Policy,
    /// Per earlier step: no need, or one of this kind.
    needs: Vec<Option<NeedKind>>,
    conditional: bool,
    optional: bool,
    each: Option<EachPlan>,
    cutoff_at: Option<Share>,
    /// The earlier step it judges, counted back, where that one can be judged.
    judges: Option<usize>,
    revise: u32,
    shrinks: bool,
}

prop_compose! {
    fn share()(percent in 0_u16..=100) -> Share {
        Share::percent(percent).expect("at most 100")
    }
}

fn cutoff() -> impl Strategy<Value = Cutoff> {
    let limit = || prop::option::of((1_u64..20_000).prop_map(Duration::from_millis));
    prop_oneof![
        Just(Cutoff::Auto),
        (limit(), limit(), limit()).prop_map(|(first_token, idle, total)| Cutoff::Fixed {
            first_token,
            idle,
            total
        }),
    ]
}

fn reactions() -> impl Strategy<Value = Reactions> {
    let trouble = || prop_oneof![19 => Just(OnTrouble::Next), 1 => Just(OnTrouble::Fail)];
    let slow = prop_oneof![
        9 => Just(OnSlow::Auto),
        1 => Just(OnSlow::Next),
        1 => Just(OnSlow::Faster),
        1 => Just(OnSlow::Fail),
    ];
    let invalid = prop_oneof![
        9 => Just(OnInvalid::Repair),
        1 => Just(OnInvalid::Stronger),
        1 => Just(OnInvalid::Next),
        1 => Just(OnInvalid::Fail),
    ];
    let refused = prop_oneof![
        4 => Just(OnRefused::Stronger),
        1 => Just(OnRefused::Next),
        1 => Just(OnRefused::Fail),
    ];
    let too_long = prop_oneof![4 => Just(OnTooLong::Larger), 1 => Just(OnTooLong::Fail)];
    let rejected = prop_oneof![Just(OnRejected::Fail), Just(OnRejected::Accept)];
    (slow, trouble(), trouble(), invalid, too_long, refused, rejected).prop_map(
        |(slow, limited, down, invalid, too_long, refused, rejected)| Reactions {
            slow,
            limited,
            down,
            invalid,
            too_long,
            refused,
            rejected,
        },
    )
}

fn policy() -> impl Strategy<Value = Policy> {
    let after = prop_oneof![
        3 => (1_u64..8_000).prop_map(|millis| After::Fixed(Duration::from_millis(millis))),
        1 => (50_u8..=99).prop_map(After::Percentile),
    ];
    let early = (after, share()).prop_map(|(after, max_extra)| Hedge::After { after, max_extra });
    let hedge = prop_oneof![3 => Just(Hedge::Auto), 1 => Just(Hedge::Off), 3 => early];
    (cutoff(), hedge, 1_u32..=8, 0_u32..=3, 0_u64..200, reactions()).prop_map(
        |(cutoff, hedge, attempts, max_swaps, delay, on)| Policy {
            cutoff,
            hedge,
            attempts,
            max_swaps,
            swap_delay: Duration::from_millis(delay),
            on,
        },
    )
}

fn step() -> impl Strategy<Value = StepDraw> {
    let kind = prop_oneof![
        2 => Just(NeedKind::Output),
        1 => Just(NeedKind::Guarded),
        1 => Just(NeedKind::Order),
    ];
    let needs = prop::collection::vec(prop::option::weighted(0.3, kind), STEPS_MAX);
    let each =
        (1_u32..=8, share()).prop_map(|(max_parallel, min_ok)| EachPlan { max_parallel, min_ok });
    let flags = (prop::bool::weighted(0.25), prop::bool::weighted(0.2), prop::bool::weighted(0.3));
    (
        (flags, 0..MODELS, 1_u32..2_000, policy(), needs),
        (
            prop::option::weighted(0.25, each),
            prop::option::weighted(0.4, share()),
            prop::option::weighted(0.4, 1_usize..4),
            0_u32..=2,
            prop::bool::weighted(0.5),
        ),
    )
        .prop_map(
            |(
                (flags, model, max_tokens, policy, needs),
                (each, cutoff_at, judges, revise, shrinks),
            )| {
                let (value, conditional, optional) = flags;
                StepDraw {
                    value,
                    model,
                    max_tokens,
                    policy,
                    needs,
                    conditional,
                    optional,
                    each,
                    cutoff_at,
                    judges,
                    revise,
                    shrinks,
                }
            },
        )
}

fn model() -> impl Strategy<Value = ModelPlan> {
    let all: Vec<u16> = (0..PATHS).collect();
    let paths = prop::sample::subsequence(all, 1..=usize::from(PATHS)).prop_shuffle();
    let link = || prop::option::weighted(0.4, (0..MODELS).prop_map(ModelIx));
    (paths, link(), link()).prop_map(|(paths, faster, stronger)| ModelPlan {
        name: "model".to_owned(),
        paths: paths.into_iter().map(PathIx).collect(),
        faster,
        stronger,
    })
}

fn path() -> impl Strategy<Value = PathPlan> {
    let price = (0_u32..20, 0_u32..60).prop_map(|(input, output)| Price {
        input: Usd::from_dollars(f64::from(input)).expect("small"),
        output: Usd::from_dollars(f64::from(output)).expect("small"),
        cached_input: None,
    });
    (
        0..PROVIDERS,
        prop::option::of(1_000_u64..200_000),
        prop::option::of(1_u32..4_000),
        prop::option::of(price),
    )
        .prop_map(|(provider, context, max_output, price)| PathPlan {
            label: format!("p{provider}/m"),
            provider: ProviderIx(provider),
            profile: ModelProfile {
                context,
                max_output,
                structured: Structured::Schema,
                price,
                ..ModelProfile::plain("m")
            },
        })
}

fn provider() -> impl Strategy<Value = ProviderPlan> {
    (any::<bool>(), any::<bool>()).prop_map(|(billed_on_cancel, own_capacity)| ProviderPlan {
        name: "p".to_owned(),
        billed_on_cancel,
        own_capacity,
        simulated: true,
    })
}

fn budget() -> impl Strategy<Value = Budget> {
    let usd = (1_u32..1_000).prop_map(|m| Usd::from_dollars(f64::from(m) / 1e4).expect("small"));
    (
        prop::option::weighted(0.15, usd),
        prop::option::weighted(0.15, 1_000_u64..60_000),
        prop::option::weighted(0.15, 1_u32..40),
    )
        .prop_map(|(usd, tokens, calls)| Budget { usd, tokens, calls })
}

/// Any plan.
pub fn plan() -> impl Strategy<Value = Plan> {
    (
        prop::collection::vec(step(), 1..=STEPS_MAX),
        prop::collection::vec(model(), usize::from(MODELS)),
        prop::collection::vec(path(), usize::from(PATHS)),
        prop::collection::vec(provider(), usize::from(PROVIDERS)),
        budget(),
        prop_oneof![4 => 20_000_u64..120_000, 1 => 1_u64..20_000],
    )
        .prop_map(|(draws, models, paths, providers, budget, deadline)| Plan {
            workflow: "any".to_owned(),
            deadline: Duration::from_millis(deadline),
            budget,
            steps: lower(draws),
            models,
            paths,
            providers,
        })
}

fn lower(draws: Vec<StepDraw>) -> Vec<StepPlan> {
    let mut steps: Vec<StepPlan> = Vec::new();
    for (at, draw) in draws.into_iter().enumerate() {
        let ix = |at: usize| StepIx(u16::try_from(at).expect("few steps"));
        // It judges a plain step that nobody judges yet and that is no validator itself.
        let judged = draw.judges.and_then(|back| at.checked_sub(back)).filter(|judged| {
            let step = &steps[*judged];
            step.each.is_none() && step.judged_by.is_none() && step.validates.is_none()
        });
        // A validator that waited for a consumer of what it judges would wait for itself.
        let before = judged.unwrap_or(at);
        let needs = draw.needs.into_iter().take(before).enumerate();
        let needs = needs.filter_map(|(of, kind)| kind.map(|kind| Need { step: ix(of), kind }));
        let mut needs: Vec<Need> = needs.collect();
        if let Some(judged) = judged {
            steps[judged].judged_by = Some(ix(at));
            needs.push(Need { step: ix(judged), kind: NeedKind::Judges });
        }
        let work = if draw.value {
            Work::Value
        } else {
            Work::Model {
                model: ModelIx(draw.model),
                max_tokens: draw.max_tokens,
                policy: draw.policy,
            }
        };
        steps.push(StepPlan {
            name: format!("s{at}"),
            role: if judged.is_some() { Role::Validator } else { Role::Executor },
            each: draw.each.filter(|_| judged.is_none()),
            work,
            needs,
            conditional: draw.conditional,
            optional: draw.optional,
            cutoff_at: draw.cutoff_at,
            validates: judged.map(ix),
            judged_by: None,
            revise: draw.revise,
            shrinks: draw.shrinks,
        });
    }
    steps
}
