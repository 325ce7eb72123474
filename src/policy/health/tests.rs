use proptest::prelude::*;

use super::*;

const A: &str = "a";
const B: &str = "b";

const fn at(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

fn failure(class: FailureClass, scope: Scope, window: Option<u64>) -> Failure {
    let retry_after = window.map(Duration::from_secs);
    Failure { scope, retry_after, ..Failure::of_attempt(class, "test", format!("it said {class}")) }
}

fn throttled(window: Option<u64>) -> Failure {
    failure(FailureClass::RateLimited, Scope::Quota, window)
}

fn sick() -> Failure {
    failure(FailureClass::ServerError, Scope::Path, None)
}

/// A health with a number for each attempt.
#[derive(Default)]
struct Case {
    health: Health,
    tickets: u64,
}

impl Case {
    fn send(&mut self, model: &str, now: u64) -> Ticket {
        self.tickets += 1;
        self.health.sent(model, Ticket(self.tickets), at(now));
        Ticket(self.tickets)
    }

    /// One that is sent at `sent` and fails at `now`.
    fn fail(&mut self, model: &str, sent: u64, now: u64, failure: &Failure) -> bool {
        let ticket = self.send(model, sent);
        self.health.failed(model, ticket, at(sent), failure, at(now)).is_some()
    }

    #[track_caller]
    fn closed(&self, model: &str, now: u64) -> u64 {
        match self.health.access(model, at(now)) {
            Access::Closed(until, _) => until.as_secs(),
            other => panic!("{other:?} at {now} s"),
        }
    }

    fn access(&self, model: &str, now: u64) -> Access {
        self.health.access(model, at(now))
    }
}

#[test]
fn a_stated_window_is_kept_to_the_second_and_for_everything_of_its_quota() {
    let mut case = Case::default();
    case.fail(A, 0, 1, &throttled(Some(7)));
    assert_eq!((case.closed(A, 1), case.closed(B, 7)), (8, 8));
    assert_eq!(case.access(A, 8), Access::First);
}

#[test]
fn a_path_that_is_sick_takes_no_other_with_it() {
    let mut case = Case::default();
    case.fail(A, 0, 1, &sick());
    assert_eq!(case.closed(A, 1), 2);
    assert_eq!(case.access(B, 1), Access::Open);
}

#[test]
fn a_quota_that_refuses_without_a_window_is_asked_again_within_eight_seconds() {
    let mut case = Case::default();
    let mut now = 1;
    let mut pauses = Vec::new();
    for _ in 0..6 {
        case.fail(A, now, now + 1, &throttled(None));
        let until = case.closed(A, now + 1);
        pauses.push(until - now - 1);
        now = until;
    }
    assert_eq!(pauses, [1, 2, 4, 8, 8, 8]);
}

#[test]
fn of_two_windows_the_longer_one_counts() {
    for (first, second) in [(30, 7), (7, 30)] {
        let mut case = Case::default();
        case.fail(A, 0, 1, &throttled(Some(first)));
        case.fail(A, 0, 1, &throttled(Some(second)));
        assert_eq!(case.closed(A, 1), 31);
    }
    let mut case = Case::default();
    case.fail(A, 0, 1, &throttled(Some(10)));
    let own = failure(FailureClass::ServerError, Scope::Path, Some(40));
    case.fail(A, 0, 1, &own);
    assert_eq!((case.closed(A, 1), case.closed(B, 1)), (41, 11), "of path and quota too");
}

#[test]
fn without_a_window_the_pause_doubles_up_to_a_minute() {
    let mut case = Case::default();
    let mut now = 0;
    let mut pauses = Vec::new();
    for _ in 0..8 {
        case.fail(A, now, now, &sick());
        let until = case.closed(A, now);
        pauses.push(until - now);
        now = until;
    }
    assert_eq!(pauses, [1, 2, 4, 8, 16, 32, 60, 60]);
}

#[test]
fn each_success_shortens_the_next_pause_by_a_second() {
    let mut case = Case::default();
    let mut now = 0;
    for _ in 0..4 {
        case.fail(A, now, now, &sick());
        now = case.closed(A, now);
    }
    for _ in 0..5 {
        let ticket = case.send(A, now);
        case.health.alive(A, ticket, at(now));
        now += 1;
    }
    case.fail(A, now, now, &sick());
    assert_eq!(case.closed(A, now) - now, 11, "16 less five");
}

#[test]
fn after_ten_quiet_minutes_the_pause_is_the_first_again() {
    let mut case = Case::default();
    for now in [0, 1, 3] {
        case.fail(A, now, now, &sick());
    }
    case.fail(A, 700, 700, &sick());
    assert_eq!(case.closed(A, 700), 701);
}

#[test]
fn a_burst_of_failures_is_one_failure() {
    let mut case = Case::default();
    let burst: Vec<Ticket> = (0..20).map(|_| case.send(A, 0)).collect();
    for ticket in burst {
        case.health.failed(A, ticket, at(0), &sick(), at(5));
    }
    assert_eq!(case.closed(A, 5), 6);
    let probe = case.send(A, 6);
    case.health.failed(A, probe, at(6), &sick(), at(6));
    assert_eq!(case.closed(A, 6), 8, "what was sent after it is the next one");
}

#[test]
fn after_a_window_exactly_one_goes_first_and_the_others_wait_for_its_word() {
    let mut case = Case::default();
    case.fail(A, 0, 1, &throttled(Some(9)));
    assert_eq!(case.access(A, 10), Access::First);
    let probe = case.send(A, 10);
    assert_eq!(case.access(A, 10), Access::Probed(at(20)));
    assert_eq!(case.access(B, 10), Access::Probed(at(20)), "it stands for the whole quota");
    case.health.alive(A, probe, at(10));
    assert_eq!((case.access(A, 11), case.access(B, 11)), (Access::Open, Access::Open));
    assert!(case.health.is_clear());
}

#[test]
fn when_the_first_fails_again_nobody_follows_it() {
    let mut case = Case::default();
    case.fail(A, 0, 1, &throttled(Some(9)));
    case.fail(A, 10, 11, &throttled(Some(30)));
    assert_eq!(case.closed(A, 11), 41);
}

#[test]
fn when_the_first_is_closed_by_its_run_the_next_one_goes_first() {
    let mut case = Case::default();
    case.fail(A, 0, 1, &throttled(Some(9)));
    let probe = case.send(A, 10);
    case.health.gave_up(A, probe, at(12));
    assert_eq!(case.access(A, 12), Access::First);
    case.health.gave_up(A, probe, at(12));
    let unclear = failure(FailureClass::StreamInterrupted, Scope::Attempt, None);
    case.fail(A, 12, 13, &unclear);
    assert_eq!(case.access(A, 13), Access::First, "a broken stream says neither yes nor no");
}

#[test]
fn when_the_first_says_nothing_for_ten_seconds_the_others_wait_no_longer() {
    let mut case = Case::default();
    case.fail(A, 0, 1, &throttled(Some(9)));
    case.send(A, 10);
    assert_eq!(case.health.tried_until(at(11)), Some(at(20)));
    assert_eq!(case.access(A, 20), Access::Open);
    case.send(A, 20);
    assert!(case.health.is_clear());
}

#[test]
fn an_answer_that_is_refused_for_what_was_asked_shows_that_the_provider_answers() {
    let mut case = Case::default();
    case.fail(A, 0, 1, &throttled(Some(9)));
    case.fail(A, 10, 11, &failure(FailureClass::BadRequest, Scope::Path, None));
    assert!(case.health.is_clear());
}

#[test]
fn an_answer_to_what_was_sent_before_it_closed_opens_nothing() {
    let mut case = Case::default();
    let early = case.send(A, 0);
    case.fail(A, 0, 1, &throttled(Some(9)));
    case.health.alive(A, early, at(0));
    assert_eq!(case.closed(A, 2), 10);
    case.send(A, 10);
    case.health.alive(A, early, at(0));
    assert_eq!(case.access(A, 11), Access::Probed(at(20)));
}

#[test]
fn a_path_that_fails_while_the_quota_is_tried_out_leaves_the_trying_to_the_next() {
    let mut case = Case::default();
    case.fail(A, 0, 1, &throttled(Some(9)));
    case.fail(A, 10, 11, &failure(FailureClass::Overloaded, Scope::Path, Some(5)));
    assert_eq!(case.closed(A, 11), 16);
    assert_eq!(case.access(B, 11), Access::First);
}

#[test]
fn a_dead_key_or_an_empty_account_is_out_and_told_once() {
    for class in [FailureClass::Auth, FailureClass::QuotaExhausted] {
        let mut case = Case::default();
        let dead = failure(class, Scope::Provider, Some(5));
        assert!(case.fail(A, 0, 1, &dead), "told");
        assert!(!case.fail(B, 0, 2, &dead), "not told again");
        case.fail(A, 0, 3, &throttled(Some(5)));
        let early = case.send(B, 0);
        case.health.alive(B, early, at(4));
        assert!(matches!(case.access(B, 1_000_000), Access::Out(_)), "no time brings it back");
        let out: Vec<_> = case.health.out().map(|(model, why)| (model, why.event.class)).collect();
        assert_eq!(out, [(None, class)]);
        case.health.renew();
        assert_eq!(case.access(A, 5), Access::Open);
        assert!(case.fail(A, 5, 6, &dead), "and is told anew");
    }
}

#[test]
fn a_model_outside_the_plan_takes_nothing_else_with_it_and_a_daily_allowance_comes_back() {
    let mut case = Case::default();
    assert!(case.fail(A, 0, 1, &failure(FailureClass::QuotaExhausted, Scope::Path, Some(5))));
    assert!(matches!(case.access(A, 100), Access::Out(_)));
    assert_eq!(case.access(B, 1), Access::Open);
    case.fail(B, 0, 1, &failure(FailureClass::QuotaExhausted, Scope::Quota, Some(500)));
    assert_eq!(case.closed(B, 2), 501);
}

#[test]
fn a_model_that_is_not_there_is_asked_for_again_after_a_minute() {
    for class in [FailureClass::ModelNotFound, FailureClass::Permission] {
        let mut case = Case::default();
        case.fail(A, 0, 1, &failure(class, Scope::Path, None));
        assert_eq!(case.closed(A, 1), 61);
        assert_eq!(case.access(B, 1), Access::Open);
        assert_eq!(case.access(A, 61), Access::First);
    }
}

#[test]
fn every_class_that_concerns_others_closes_and_no_other_does() {
    for class in FailureClass::ALL {
        let failure = failure(class, Scope::Path, None);
        let mut case = Case::default();
        case.fail(A, 0, 1, &failure);
        let shut = matches!(case.access(A, 1), Access::Closed(..) | Access::Out(_));
        assert_eq!(shut, failure.throttle().is_some(), "{class}");
    }
}

#[test]
fn what_failed_once_and_recovered_is_not_remembered() {
    let mut case = Case::default();
    case.fail(A, 0, 1, &sick());
    let probe = case.send(A, 2);
    case.health.alive(A, probe, at(2));
    assert_eq!(case.health.paths.len(), 0);
    for path in 0..2_000 {
        case.fail(&path.to_string(), 3, 3, &sick());
    }
    assert_eq!(case.health.paths.len(), PATHS_MAX);
}

/// One thing that happens.
#[derive(Clone, Debug)]
enum Happens {
    Send(bool),
    Alive(usize),
    Fail(usize, Option<u64>, bool),
    GiveUp(usize),
    Pass(u64),
}

fn happens() -> impl Strategy<Value = Happens> {
    prop_oneof![
        4 => any::<bool>().prop_map(Happens::Send),
        2 => any::<usize>().prop_map(Happens::Alive),
        3 => (any::<usize>(), prop::option::of(0_u64..90), any::<bool>())
            .prop_map(|(which, window, quota)| Happens::Fail(which, window, quota)),
        1 => any::<usize>().prop_map(Happens::GiveUp),
        4 => (0_u64..30).prop_map(Happens::Pass),
    ]
}

proptest! {
    /// Whoever asks before sending sends nothing into a stated window, and never two into one trial.
    #[test]
    fn no_window_is_broken_and_no_trial_is_shared(script in prop::collection::vec(happens(), 1..200)) {
        let mut case = Case::default();
        let mut now = 0;
        // In flight: ticket, model, when sent.
        let mut out: Vec<(Ticket, &str, u64)> = Vec::new();
        // By model: until when a window that was stated lasts.
        let mut windows = BTreeMap::from([(A, 0), (B, 0)]);
        // Who went first, until when the others must wait for it.
        let mut trial: Option<(Ticket, u64)> = None;
        for what in script {
            match what {
                Happens::Pass(seconds) => now += seconds,
                Happens::Send(first) => {
                    let model = if first { A } else { B };
                    let access = case.access(model, now);
                    if !matches!(access, Access::Open | Access::First) {
                        continue;
                    }
                    prop_assert!(windows[model] <= now, "sent into a window");
                    let ticket = case.send(model, now);
                    if access == Access::First {
                        let shared = trial.is_some_and(|(t, until)| {
                            until > now && out.iter().any(|(o, m, _)| *o == t && *m == model)
                        });
                        prop_assert!(!shared, "two go first");
                        trial = Some((ticket, now + PROBE_BOUND.as_secs()));
                    }
                    out.push((ticket, model, now));
                }
                Happens::Alive(which) if !out.is_empty() => {
                    let (ticket, model, sent) = out.swap_remove(which % out.len());
                    case.health.alive(model, ticket, at(sent));
                }
                Happens::GiveUp(which) if !out.is_empty() => {
                    let (ticket, model, _) = out.swap_remove(which % out.len());
                    case.health.gave_up(model, ticket, at(now));
                }
                Happens::Fail(which, window, quota) if !out.is_empty() => {
                    let (ticket, model, sent) = out.swap_remove(which % out.len());
                    let scope = if quota { Scope::Quota } else { Scope::Path };
                    let failure = failure(FailureClass::RateLimited, scope, window);
                    case.health.failed(model, ticket, at(sent), &failure, at(now));
                    for (name, until) in &mut windows {
                        if quota || *name == model {
                            *until = (*until).max(now + window.unwrap_or(0));
                        }
                    }
                }
                Happens::Alive(_) | Happens::GiveUp(_) | Happens::Fail(..) => {}
            }
        }
        // It always comes back: nothing but a dead key is out for good.
        prop_assert!(matches!(case.access(A, now + 100), Access::Open | Access::First));
    }
}
