//! Measured cutoffs, number by number.

use super::*;

/// A long answer of the published traffic: 12.2 s typical, 21.7 s at P95.
const LONG: Curve = Curve { first_token: [1.4, 2.8, 7.0], total: [12.2, 21.7, 62.8] };
/// A short one: most of it is waiting for the first token.
const SHORT: Curve = Curve { first_token: [1.4, 2.8, 7.0], total: [2.2, 3.9, 9.7] };

fn calm() -> Situation {
    Situation {
        dependants: 0.0,
        slack: Some(1.0),
        paid: 0.0,
        shock: 1.0,
        share: Duration::from_secs(100),
    }
}

fn millis(limit: Option<Duration>) -> u128 {
    limit.unwrap().as_millis()
}

#[test]
fn a_long_step_is_cut_on_its_total_and_guarded_on_its_first_token() {
    let limits = decide(&LONG, &calm());
    assert_eq!((millis(limits.total), millis(limits.first_token)), (21_700, 7_000));
    assert_eq!(millis(limits.idle), 8_000);
    let bases = limits.measured.unwrap();
    assert_eq!((bases.first_token.percent, bases.total.percent), (99, 95));
    assert_eq!(bases.idle.to_string(), "a whole answer usually takes 10.8 s to write");
}

#[test]
fn a_short_step_is_cut_on_its_first_token_and_guarded_on_its_total() {
    let limits = decide(&SHORT, &calm());
    assert_eq!((millis(limits.first_token), millis(limits.total)), (2_800, 9_700));
    assert_eq!(millis(limits.idle), 2_000);
}

#[test]
fn dependants_what_is_paid_and_time_left_tighten_it_down_to_the_floor() {
    let total = |situation: Situation| millis(decide(&LONG, &situation).total);
    assert_eq!(total(Situation { dependants: 1.0, ..calm() }), 19_530);
    assert_eq!(total(Situation { paid: 0.5, ..calm() }), 20_615);
    assert_eq!(total(Situation { slack: Some(0.5), ..calm() }), 18_445);
    assert_eq!(total(Situation { slack: Some(9.0), ..calm() }), 24_955);
    assert_eq!(total(Situation { slack: None, ..calm() }), 21_700);
    let worst = Situation { dependants: 1.0, paid: 1.0, slack: Some(-3.0), ..calm() };
    assert_eq!(total(worst), 14_030);
    assert_eq!(decide(&LONG, &worst).measured.unwrap().total.to_string(), "median 12.2 s × 1.15");
}

#[test]
fn no_cutoff_is_past_the_share_of_the_time_left() {
    let tight = Situation { share: Duration::from_secs(9), ..calm() };
    let limits = decide(&LONG, &tight);
    assert_eq!((millis(limits.total), millis(limits.first_token)), (9_000, 7_000));
    let said = limits.measured.unwrap().total.to_string();
    assert_eq!(said, "its share of the time left; P95 21.7 s × 1");
}

#[test]
fn a_shock_makes_it_later_and_at_most_twice_as_late() {
    let total = |shock: f64| millis(decide(&LONG, &Situation { shock, ..calm() }).total);
    assert_eq!([1.0, 1.3, 1.5, 7.0].map(total), [21_700, 21_700, 32_550, 43_400]);
    assert_eq!(total(f64::NAN), 21_700);
}

#[test]
fn a_guard_on_the_first_token_is_not_before_its_p95() {
    let hurried = Situation { dependants: 1.0, slack: Some(0.0), ..calm() };
    let close = Curve { first_token: [1.4, 2.8, 3.0], ..LONG };
    assert_eq!(millis(decide(&close, &hurried).first_token), 2_800);
}

#[test]
fn what_never_ends_and_what_is_no_number_is_bounded_by_the_share() {
    for odd in [f64::INFINITY, f64::NAN, 1e300] {
        let curve = Curve { first_token: [odd; 3], total: [odd; 3] };
        let limits = decide(&curve, &calm());
        assert!(limits.total.unwrap() <= Duration::from_secs(100), "{odd}");
        assert!(limits.first_token.unwrap() <= Duration::from_secs(100), "{odd}");
        assert!(curve.percentile(95) >= Duration::from_secs(1), "{odd}");
    }
    let instant = Curve { first_token: [0.0; 3], total: [0.0; 3] };
    assert_eq!(millis(decide(&instant, &calm()).first_token), 250);
}

#[test]
fn percentiles_lie_between_the_measured_points() {
    let at = |percent| LONG.percentile(percent).as_millis();
    assert_eq!([50, 95, 99, 20, 100].map(at), [12_200, 21_700, 62_800, 12_200, 62_800]);
    let between: Vec<u128> = (50..=99).map(at).collect();
    assert!(between.windows(2).all(|pair| pair[0] < pair[1]), "{between:?}");
    // 12.2 × (21.7 / 12.2) to the power of ln 5 / ln 10.
    assert_eq!(at(90), 18_246);
}

#[test]
fn a_cutoff_says_what_it_was_made_of() {
    let of = |factor| Basis {
        after: Duration::from_millis(4_140),
        percent: 95,
        time: Duration::from_millis(4_600),
        factor,
        bound: Bound::Factor,
    };
    let said = [900, 1_000, 784, 1_150].map(|factor| of(factor).to_string());
    assert_eq!(said, ["P95 4.6 s × 0.9", "P95 4.6 s × 1", "P95 4.6 s × 0.78", "P95 4.6 s × 1.15"]);
    let slow = Projection {
        more: Duration::from_millis(9_400),
        rate: 208,
        usual: 625,
        misses: Misses::Time(Duration::from_millis(6_100)),
    };
    assert_eq!(
        slow.to_string(),
        "about 9.4 s more at 21 tokens/s, usually 63, and 6.1 s are left for it"
    );
    let late = Projection { rate: 9, misses: Misses::Cutoff(of(900)), ..slow };
    assert_eq!(
        late.to_string(),
        "about 9.4 s more at 0.9 tokens/s, usually 63, past its cutoff of 4.1 s (P95 4.6 s × 0.9)"
    );
}
