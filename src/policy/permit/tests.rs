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
