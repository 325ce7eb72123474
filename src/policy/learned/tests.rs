use super::*;

const fn at(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

/// So many were sent at once at 30 s, and so many of them refused, with a window until 40 s.
fn burst(sent: u64, refused: u64) -> Learned {
    let mut learned = Learned::default();
    (0..sent).for_each(|_| learned.send(at(30), 100));
    let out = |n: u64| u32::try_from(sent - n).unwrap();
    (0..refused).for_each(|n| learned.refuse(at(31), at(30), out(n), at(40)));
    learned
}

#[test]
fn half_of_the_share_that_was_refused_is_taken_off_when_the_window_ends() {
    let mut learned = burst(120, 60);
    learned.learn(at(39));
    assert_eq!((learned.concurrent(at(39)), learned.rates(at(39))), (None, (None, None)));
    learned.learn(at(40));
    assert_eq!(learned.concurrent(at(40)), Some(90));
    // 60 got through in eleven seconds.
    assert_eq!(learned.rates(at(40)), (Some(327), Some(65_454)));
    learned.learn(at(41));
    assert_eq!(learned.concurrent(at(41)), Some(90), "one burst is one lesson");
}

#[test]
fn where_all_are_refused_half_is_sent_and_nothing_is_known_of_rates() {
    let mut learned = burst(200, 200);
    learned.learn(at(40));
    assert_eq!((learned.concurrent(at(40)), learned.rates(at(40))), (Some(100), (None, None)));
    (0..100).for_each(|_| learned.send(at(41), 100));
    (0..100).for_each(|_| learned.refuse(at(42), at(41), 100, at(43)));
    learned.learn(at(43));
    assert_eq!(learned.concurrent(at(43)), Some(50));
}

#[test]
fn refusals_that_are_rare_keep_nobody_waiting() {
    for (sent, refused) in [(100, 33), (1, 1), (19, 19)] {
        let mut learned = burst(sent, refused);
        learned.learn(at(50));
        assert_eq!((learned.concurrent(at(50)), learned.is_empty()), (None, true), "{refused}");
    }
    let mut learned = burst(100, 34);
    learned.learn(at(50));
    assert_eq!(learned.concurrent(at(50)), Some(83), "one in three is not rare");
}

#[test]
fn what_is_too_little_for_a_lesson_counts_towards_the_next() {
    let mut learned = burst(12, 12);
    learned.learn(at(40));
    assert_eq!(learned.concurrent(at(40)), None);
    (0..8).for_each(|_| learned.send(at(41), 100));
    (0..8).for_each(|_| learned.refuse(at(42), at(41), 8, at(43)));
    learned.learn(at(43));
    assert_eq!(learned.concurrent(at(43)), Some(4));
}

#[test]
fn it_recovers_in_steps_and_is_forgotten() {
    let mut learned = burst(100, 100);
    learned.learn(at(40));
    let allowed = [40, 44, 45, 90, 789].map(|t| learned.concurrent(at(t)));
    assert_eq!(allowed, [50, 50, 55, 100, 795].map(Some));
    assert_eq!(learned.concurrent(at(790)), None, "at eight times of what it was");
}

#[test]
fn a_pace_spaces_requests_and_lets_a_few_run_ahead() {
    let mut learned = burst(120, 60);
    learned.learn(at(40));
    let mut passed = 0;
    while learned.opens_at(at(40)).iter().all(Option::is_none) {
        learned.send(at(40), 1);
        passed += 1;
        assert!(passed < 100);
    }
    assert_eq!(passed, 11, "two seconds of it, and the one that goes beyond");
    let next = learned.opens_at(at(40))[0].unwrap();
    assert!(next > at(40) && next < at(41), "{next:?}");
}

#[test]
fn a_pace_is_never_slower_than_one_in_five_seconds() {
    let mut learned = burst(40, 36);
    learned.learn(at(90));
    assert_eq!(learned.rates(at(90)), (None, None), "four in a minute: windows are enough");
    let mut learned = burst(40, 26);
    learned.learn(at(85));
    assert_eq!(learned.rates(at(85)).0, Some(15));
}

#[test]
fn tokens_that_were_not_used_are_given_back() {
    let mut learned = burst(120, 60);
    learned.learn(at(40));
    learned.send(at(41), 90_000);
    assert!(learned.opens_at(at(41))[1].is_some());
    learned.settle(at(42), at(41), 89_950);
    assert!(learned.opens_at(at(42))[1].is_none());
}

#[test]
fn seconds_that_have_passed_are_not_counted() {
    let mut recent = Recent::default();
    recent.count(at(0), 10);
    recent.count(at(59), 20);
    assert_eq!((recent.sum(at(59)), recent.span(at(59))), ((2, 30), 60));
    assert_eq!((recent.sum(at(60)), recent.span(at(60))), ((1, 20), 2));
    recent.give_back(at(60), at(59), 0, 15);
    assert_eq!(recent.sum(at(60)), (1, 5));
    recent.give_back(at(60), at(59), 1, 5);
    assert_eq!((recent.sum(at(60)), recent.span(at(60))), ((0, 0), 0));
    recent.give_back(at(1_000_000), at(59), 1, 5);
    assert_eq!(recent.sum(at(1_000_000)), (0, 0));
}
