use proptest::prelude::*;

use super::*;

fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

#[test]
fn a_share_of_the_primaries_may_be_extra_and_one_at_least() {
    let ten = Share::percent(10).unwrap();
    let most = |primaries| Traffic { primaries, extras: 0 }.most(ten);
    assert_eq!([0, 1, 19, 20, 39, 200].map(most), [1, 1, 1, 2, 3, 20]);
    assert!(Traffic { primaries: 20, extras: 1 }.permits(ten));
    assert!(!Traffic { primaries: 20, extras: 2 }.permits(ten));
    assert!(!Traffic { primaries: 0, extras: 1 }.permits(ten));
}

#[test]
fn ten_minutes_are_counted_and_what_is_older_is_forgotten() {
    let mut window = Window::default();
    window.count(Kind::Primary, seconds(10));
    window.count(Kind::Primary, seconds(300));
    window.count(Kind::Extra, seconds(301));
    assert_eq!(window.traffic(seconds(599)), Traffic { primaries: 2, extras: 1 });
    assert_eq!(window.traffic(seconds(610)), Traffic { primaries: 1, extras: 1 });
    assert_eq!(window.traffic(seconds(905)), Traffic::default());
    window.count(Kind::Primary, seconds(1_000_000));
    assert_eq!(window.traffic(seconds(1_000_000)), Traffic { primaries: 1, extras: 0 });
}

#[test]
fn a_time_that_goes_back_counts_as_the_latest() {
    let mut window = Window::default();
    window.count(Kind::Primary, seconds(700));
    window.count(Kind::Extra, seconds(20));
    assert_eq!(window.traffic(seconds(700)), Traffic { primaries: 1, extras: 1 });
}

#[test]
fn ten_primaries_earn_one_permit_and_twenty_are_the_most() {
    let mut bucket = Bucket::default();
    assert_eq!(bucket.permits(seconds(0)), FLOOR);
    for _ in 0..15 {
        bucket.earn(seconds(0));
    }
    assert_eq!(bucket.permits(seconds(0)), 3_500_000);
    assert_eq!(Permit::One { of: 3_450_000 }.to_string(), "permit 1 of 3.4");
    for _ in 0..1_000 {
        bucket.earn(seconds(0));
    }
    assert_eq!(bucket.permits(seconds(0)), CAP);
    let taken = (0..100).filter(|_| bucket.take(seconds(0)).is_some()).count();
    assert_eq!(taken, 20);
}

#[test]
fn below_the_floor_a_permit_comes_by_itself_every_ten_seconds() {
    let mut bucket = Bucket::default();
    assert!(bucket.take(seconds(100)).is_some() && bucket.take(seconds(100)).is_some());
    assert!(bucket.take(seconds(109)).is_none());
    assert_eq!(bucket.permits(seconds(109)), 900_000);
    assert!(bucket.take(seconds(110)).is_some());
    assert_eq!(bucket.permits(seconds(1_000)), FLOOR, "never above it");
}

#[test]
fn a_429_halves_what_there_is_once_a_second_and_it_recovers_by_a_hundredth_a_second() {
    let mut bucket = Bucket::default();
    for _ in 0..1_000 {
        bucket.earn(seconds(1));
    }
    bucket.refused(seconds(1));
    assert_eq!(bucket.permits(seconds(1)), CAP / 2);
    bucket.refused(seconds(1) + Duration::from_millis(999));
    assert_eq!(bucket.factor(seconds(1)), 509_990, "a time that goes back is the latest");
    bucket.refused(seconds(2));
    // Half, a hundredth back in the second between, and half of that.
    assert_eq!(bucket.factor(seconds(2)), 255_000);
    assert_eq!(bucket.permits(seconds(2)), CAP * 255 / 1_000);
    assert_eq!(bucket.factor(seconds(12)), 355_000);
    assert_eq!(bucket.factor(seconds(76)), 995_000);
    assert_eq!(bucket.factor(seconds(77)), 1_000_000);
    assert_eq!(bucket.suspended_for(seconds(2)), SUSPENDED);
    assert_eq!(bucket.suspended_for(seconds(12)), Duration::ZERO);
}

#[test]
fn a_permit_costs_more_while_the_factor_is_small() {
    let mut bucket = Bucket::default();
    for _ in 0..1_000 {
        bucket.earn(seconds(0));
    }
    for second in 0..4 {
        bucket.refused(seconds(second));
    }
    // 1/2, then each second a hundredth back and half again.
    assert_eq!(bucket.factor(seconds(3)), 71_250);
    assert_eq!(bucket.take(seconds(3)), Some((WHOLE * 1_000_000).div_ceil(71_250)));
    assert!(bucket.take(seconds(3)).is_none(), "of twenty, at a factor of a fourteenth");
}

#[test]
fn the_whole_server_has_a_share_and_twenty_in_any_case() {
    let mut guard = Guard::new(Share::percent(25).unwrap());
    assert_eq!((0..100).filter(|_| guard.take(seconds(1))).count(), 20);
    for _ in 0..100 {
        guard.count(Kind::Primary, seconds(2));
    }
    assert_eq!((0..100).filter(|_| guard.take(seconds(3))).count(), 5);
    assert_eq!((0..100).filter(|_| guard.take(seconds(700))).count(), 20, "ten minutes later");
    guard.bound(Share::percent(0).unwrap());
    assert!(!guard.take(seconds(2_000)));
}

proptest! {
    #[test]
    fn time_gives_the_same_in_one_step_or_many(
        parts in prop::collection::vec(0_u64..5_000_000, 1..50),
        refused in any::<bool>(),
    ) {
        let [mut once, mut often] = [(); 2].map(|()| {
            let mut bucket = Bucket::default();
            bucket.take(seconds(0));
            bucket.take(seconds(0));
            if refused {
                bucket.refused(seconds(0));
            }
            bucket
        });
        let mut now = Duration::ZERO;
        for part in parts {
            now += Duration::from_micros(part);
            often.permits(now);
        }
        prop_assert_eq!(once.permits(now), often.permits(now));
        prop_assert_eq!(once.factor(now), often.factor(now));
    }
}
