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
        Moment {
            // No system call reads all three at one instant: the limits below allow for the time in between.
            wall_ns: nanoseconds(clock_gettime(ClockId::Realtime)),
            monotonic_ns: nanoseconds(clock_gettime(ClockId::Monotonic)),
            boot_ns: nanoseconds(clock_gettime(ClockId::Boottime)),
        }
    }

    fn thread_cpu_ns(&mut self) -> u64 {
        u64::try_from(nanoseconds(clock_gettime(ClockId::ThreadCPUTime))).unwrap_or(0)
    }
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
