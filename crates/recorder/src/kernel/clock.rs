//! Clocks: the wall clock dates samples, a monotonic clock measures intervals, and one counts suspension too.

use std::time::Duration;

use rustix::time::{ClockId, Timespec, clock_gettime};

/// The three clocks at one moment, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Moment {
    /// Time since 1970-01-01 UTC [ns]; steps when the clock is set.
    pub wall_ns: i64,
    /// CLOCK_MONOTONIC [ns]: never steps, stands still while the machine is suspended.
    pub monotonic_ns: i64,
    /// CLOCK_BOOTTIME, time since the machine's start [ns]: like the monotonic clock, but counts suspension.
    pub boot_ns: i64,
}

/// Source of the recorder's time: tests exchange it to step clocks and suspend without waiting.
pub trait Clock {
    /// The three clocks, read one after the other.
    fn now(&mut self) -> Moment;
    /// CPU time used by the calling thread [ns].
    fn thread_cpu_ns(&mut self) -> u64;
}

/// The machine's own clocks.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

fn nanoseconds(time: Timespec) -> i64 {
    time.tv_sec.saturating_mul(1_000_000_000).saturating_add(time.tv_nsec)
}

impl Clock for SystemClock {
    fn now(&mut self) -> Moment {
        at_once(|clock| nanoseconds(clock_gettime(clock)))
    }

    fn thread_cpu_ns(&mut self) -> u64 {
        u64::try_from(nanoseconds(clock_gettime(ClockId::ThreadCPUTime))).unwrap_or(0)
    }
}

/// Time within which the three clocks are read unless the reader is interrupted [ns].
const AT_ONCE_NS: i64 = 50_000;
/// Readings after which the closest counts: a machine that interrupts each of them is too slow to do better.
const READINGS_MAX: usize = 16;

/// The three clocks, read with nothing in between.
///
/// No system call reads all three at one instant. A reader that lost its CPU in between would take that time for a
/// suspension of the machine or a step of its clock, and drop the interval: it reads again.
fn at_once(mut read: impl FnMut(ClockId) -> i64) -> Moment {
    let mut closest = (i64::MAX, Moment::default());
    let mut monotonic_ns = read(ClockId::Monotonic);
    for _ in 0..READINGS_MAX {
        let (wall_ns, boot_ns) = (read(ClockId::Realtime), read(ClockId::Boottime));
        let after_ns = read(ClockId::Monotonic);
        let apart_ns = after_ns - monotonic_ns;
        if apart_ns < closest.0 {
            closest = (apart_ns, Moment { wall_ns, monotonic_ns, boot_ns });
        }
        if apart_ns <= AT_ONCE_NS {
            break;
        }
        monotonic_ns = after_ns;
    }
    closest.1
}

/// Shortest suspension [ns]: less is the noise of reading two clocks one after the other.
const SUSPEND_NS_MIN: i64 = 100_000_000;
/// Smallest step of the wall clock [ns]: less is slewing by NTP.
const STEP_NS_MIN: i64 = 50_000_000;

/// Time between two moments by the three clocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Elapsed {
    /// Length by the monotonic clock [ns].
    pub length_ns: i64,
    /// Time for which the machine was suspended [ns]; 0 if it was not.
    pub suspended_ns: i64,
    /// Amount by which the wall clock was set [ns]; 0 if it was not, negative if it was set back.
    pub stepped_ns: i64,
}

impl Elapsed {
    /// From `before` to `after`; differences within the noise of the clocks are 0.
    pub fn between(before: Moment, after: Moment) -> Elapsed {
        let length_ns = after.monotonic_ns - before.monotonic_ns;
        let with_sleep_ns = after.boot_ns - before.boot_ns;
        let suspended_ns = with_sleep_ns - length_ns;
        // Against the clock that goes on in suspension, as the wall clock does.
        let stepped_ns = (after.wall_ns - before.wall_ns) - with_sleep_ns;
        // NTP slews a clock by at most 500 parts per million: a thousandth allows for twice that.
        let tolerance = STEP_NS_MIN + with_sleep_ns.abs() / 1000;
        Elapsed {
            length_ns,
            suspended_ns: if suspended_ns >= SUSPEND_NS_MIN { suspended_ns } else { 0 },
            stepped_ns: if stepped_ns.abs() >= tolerance { stepped_ns } else { 0 },
        }
    }

    /// Length by the monotonic clock [s].
    pub fn length_s(&self) -> f64 {
        self.length_ns as f64 * 1e-9
    }
}

/// Largest jitter, as a share of the interval: from a half on, deadlines could change their order.
pub(crate) const JITTER_MAX: f64 = 0.45;

/// Deadlines of the samples: equally spaced on average, each moved by a random share of the interval.
///
/// A sampler in step with the kernel's tick, or with the load, sees the same phase of it each time.
#[derive(Clone, Debug)]
pub struct Schedule {
    start_ns: i64,
    interval_ns: i64,
    jitter: f64,
    state: u64,
    /// Number of the next sample, counted from 1.
    next: i64,
}

impl Schedule {
    /// Samples `interval` apart from `start_ns`, each moved by up to `jitter` of it either way.
    pub fn new(start_ns: i64, interval: Duration, jitter: f64, seed: u64) -> Schedule {
        let interval_ns = i64::try_from(interval.as_nanos()).unwrap_or(i64::MAX).max(1);
        Schedule { start_ns, interval_ns, jitter: jitter.clamp(0.0, JITTER_MAX), state: seed, next: 1 }
    }

    /// The next deadline after `now_ns`, and the number of deadlines missed since the last call. A deadline that is too
    /// near to the last sample, at `last_ns`, is missed too: rates of counters in ticks would be noise in so short an
    /// interval.
    pub fn next_deadline(&mut self, now_ns: i64, last_ns: i64) -> (i64, u64) {
        let mut missed = 0;
        let earliest_ns = last_ns.saturating_add(self.least_ns());
        loop {
            // From the start and not from the last deadline: neither jitter nor delay accumulates.
            let nominal = self.start_ns.saturating_add(self.next.saturating_mul(self.interval_ns));
            let move_ns = self.jitter * (2.0 * self.uniform() - 1.0) * self.interval_ns as f64;
            let deadline = nominal.saturating_add(move_ns as i64);
            self.next += 1;
            if deadline > now_ns && deadline >= earliest_ns {
                return (deadline, missed);
            }
            missed += 1;
            // After a long stop, do not count through every deadline one by one.
            let behind = (now_ns - nominal) / self.interval_ns - 1;
            if behind > 0 {
                self.next += behind;
                missed += behind as u64;
            }
        }
    }

    /// Shortest interval: half of one, or what the jitter makes of those that nothing delayed.
    fn least_ns(&self) -> i64 {
        ((1.0 - 2.0 * self.jitter).min(0.5) * self.interval_ns as f64) as i64
    }

    /// Uniform in [0, 1): splitmix64 (Steele, Lea, Flood 2014).
    fn uniform(&mut self) -> f64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 53) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Clocks that go on by a microsecond with each reading, and by `lost_ns[i]` more before reading i.
    fn interrupted(lost_ns: &[i64]) -> Moment {
        let (mut now_ns, mut readings) = (0, lost_ns.iter().chain(std::iter::repeat(&0)));
        at_once(|clock| {
            now_ns += 1000 + readings.next().unwrap();
            match clock {
                ClockId::Realtime => now_ns + 7_000_000_000_000,
                ClockId::Boottime => now_ns + 5_000_000_000,
                _ => now_ns,
            }
        })
    }

    /// Largest distance between the clocks, beyond what they are apart [ns].
    fn apart_ns(moment: Moment) -> i64 {
        let wall_ns = moment.wall_ns - 7_000_000_000_000 - moment.monotonic_ns;
        let boot_ns = moment.boot_ns - 5_000_000_000 - moment.monotonic_ns;
        wall_ns.abs().max(boot_ns.abs())
    }

    #[test]
    fn a_reader_that_loses_its_cpu_between_the_clocks_reads_again() {
        for place in 1..4 {
            let mut lost = [0; 4];
            lost[place] = 300_000_000;
            assert!(apart_ns(interrupted(&lost)) <= 3000, "before reading {place}");
        }
        let before = interrupted(&[]);
        assert_eq!(Elapsed::between(before, interrupted(&[0, 0, 300_000_000])).suspended_ns, 0);
    }

    #[test]
    fn where_every_reading_is_interrupted_the_closest_counts() {
        let mut lost = [2_000_000; 3 * READINGS_MAX + 1];
        lost[10..13].fill(100_000);
        assert!(apart_ns(interrupted(&lost)) <= 203_000);
    }
}
