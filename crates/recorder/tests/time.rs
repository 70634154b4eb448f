//! Deadlines, clocks and quantities.

use std::time::Duration;

use proptest::prelude::*;
use thinktime_recorder::days;
use thinktime_recorder::kernel::clock::{Elapsed, Moment, Schedule};

use thinktime_recorder::sample::counters::{Differences, Family};

const SECOND: i64 = 1_000_000_000;

#[test]
fn deadlines_do_not_drift_and_are_spread_evenly() {
    let n = 20_000;
    let mut schedule = Schedule::new(0, Duration::from_secs(1), 0.1, 42);
    let mut now = 0;
    let mut moves = Vec::new();
    for number in 1..=n {
        let (deadline, missed) = schedule.next_deadline(now, now);
        assert_eq!(missed, 0);
        moves.push((deadline - number * SECOND) as f64 / SECOND as f64);
        now = deadline;
    }
    // Uniform on -0.1 to 0.1: mean 0, variance 0.2^2 / 12. H0 is rejected by chance once in 10^6 (z = 4.9).
    let mean = moves.iter().sum::<f64>() / n as f64;
    let sd = 0.2 / 12f64.sqrt();
    assert!(mean.abs() < 4.9 * sd / (n as f64).sqrt(), "mean {mean}");
    assert!(moves.iter().all(|share| share.abs() <= 0.1));
    // Phases of a 4 ms tick: each tenth of it is hit equally often (chi square, 9 degrees of freedom; 47.6 is 3e-7).
    let mut counts = [0f64; 10];
    moves
        .iter()
        .for_each(|share| counts[((share + 1.0) / 0.004).fract().mul_add(10.0, 0.0) as usize % 10] += 1.0);
    let expected = n as f64 / 10.0;
    let chi2: f64 = counts.iter().map(|count| (count - expected).powi(2) / expected).sum();
    assert!(chi2 < 47.6, "chi square {chi2}: {counts:?}");
}

#[test]
fn the_same_seed_gives_the_same_deadlines() {
    let deadlines = |seed| {
        let mut schedule = Schedule::new(0, Duration::from_secs(1), 0.1, seed);
        (0..5)
            .map(|number| schedule.next_deadline(number * SECOND + SECOND / 2, number * SECOND).0)
            .collect::<Vec<_>>()
    };
    assert_eq!(deadlines(7), deadlines(7));
    assert_ne!(deadlines(7), deadlines(8));
}

#[test]
fn missed_deadlines_are_counted_and_not_made_up_for() {
    let mut schedule = Schedule::new(0, Duration::from_secs(1), 0.0, 0);
    assert_eq!(schedule.next_deadline(0, 0), (SECOND, 0));
    assert_eq!(schedule.next_deadline(5 * SECOND + SECOND / 2, 5 * SECOND + SECOND / 2), (6 * SECOND, 4));
    assert_eq!(schedule.next_deadline(6 * SECOND, 6 * SECOND), (7 * SECOND, 0));
    // A year asleep takes no time to count.
    let year = 365 * 86_400;
    assert_eq!(schedule.next_deadline(year * SECOND, year * SECOND), ((year + 1) * SECOND, year as u64 - 7));
}

#[test]
fn after_a_gap_no_interval_is_shorter_than_half_the_usual_one() {
    for (jitter, least) in [(0.0, 0.5), (0.1, 0.5), (0.45, 0.1)] {
        let mut schedule = Schedule::new(0, Duration::from_secs(1), jitter, 7);
        let mut last = 0;
        let mut missed = 0;
        for gap in 0..2_000 {
            let (deadline, more) = schedule.next_deadline(last, last);
            assert!(deadline - last >= (least * SECOND as f64) as i64, "{jitter}: {} ns", deadline - last);
            missed += more;
            // Late by up to 10 s, in steps that no interval divides.
            last = deadline + gap % 13 * 830_000_000;
        }
        // Deadlines stay on their grid: samples taken and missed together are all of them.
        let due = last / SECOND;
        assert!((due - 11..=due + 1).contains(&(missed as i64 + 2_000)), "{missed} of {due}");
    }
    let mut schedule = Schedule::new(0, Duration::from_secs(1), 0.0, 0);
    assert_eq!(schedule.next_deadline(0, 0), (SECOND, 0));
    // The deadline 10 ms after the late sample is the tenth that is missed.
    assert_eq!(schedule.next_deadline(10_990_000_000, 10_990_000_000), (12 * SECOND, 10));
}

#[test]
fn what_happened_to_time() {
    let at = |wall, monotonic, boot| Moment { wall_ns: wall, monotonic_ns: monotonic, boot_ns: boot };
    let since = |after| Elapsed::between(at(100, 0, 0), after);
    let plain = since(at(100 + 5 * SECOND, 5 * SECOND, 5 * SECOND));
    assert_eq!((plain.length_ns, plain.suspended_ns, plain.stepped_ns), (5 * SECOND, 0, 0));
    let slept = since(at(100 + 65 * SECOND, 5 * SECOND, 65 * SECOND));
    assert_eq!((slept.length_ns, slept.suspended_ns, slept.stepped_ns), (5 * SECOND, 60 * SECOND, 0));
    let stepped = since(at(100 - 55 * SECOND, 5 * SECOND, 5 * SECOND));
    assert_eq!((stepped.suspended_ns, stepped.stepped_ns), (0, -60 * SECOND));
    // A clock that is slewed gains at most half a thousandth.
    let slewed = since(at(100 + 3_601_800_000_000, 3600 * SECOND, 3600 * SECOND));
    assert_eq!(slewed.stepped_ns, 0);
}

#[test]
fn widths() {
    let mut of_64 = Differences::new(64);
    let name = || "x".to_owned();
    assert_eq!(of_64.take(Family::Network, 10, 25, name), Some(15));
    assert_eq!(of_64.take(Family::DiskMilliseconds, u32::MAX.into(), 4, name), Some(5));
    assert_eq!(of_64.take(Family::DiskMilliseconds, 1000, 4, name), None, "a reset");
    assert_eq!(of_64.take(Family::Vmstat, u32::MAX.into(), 4, name), None, "64 bits wide here");
    assert_eq!(of_64.take(Family::CpuIdle, 1000, 990, name), Some(0));
    assert_eq!(of_64.take(Family::Network, u64::MAX - 1, 3, name), Some(5));
    let kinds: Vec<_> = of_64.setbacks.iter().map(|setback| setback.kind).collect();
    assert_eq!(kinds, ["counter_wrap", "counter_reset", "counter_reset", "counter_reset", "counter_wrap"]);
    let mut of_32 = Differences::new(32);
    assert_eq!(of_32.take(Family::Vmstat, u32::MAX.into(), 4, name), Some(5));
}

proptest! {
    #[test]
    fn a_wrapped_counter_gives_what_was_added(before in any::<u32>(), added in 0..=(u32::MAX / 2 - 1)) {
        let after = before.wrapping_add(added);
        let found = Differences::new(64).take(Family::DiskMilliseconds, before.into(), after.into(), String::new);
        // Only a fall from the lower half can be a reset.
        prop_assert!(found == Some(added.into()) || (after < before && before <= u32::MAX / 2));
    }
}

#[test]
fn days_to_keep_are_above_zero() {
    assert_eq!(days(1.5).unwrap().as_secs(), 129_600);
    assert!(days(0.0).is_err() && days(f64::NAN).is_err());
}
