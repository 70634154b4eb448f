//! Clocks: wall time for when, a monotonic clock for how long, and one that counts suspension too.

use std::time::Duration;

use rustix::time::{ClockId, Timespec, clock_gettime};

/// The three clocks at one moment, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Moment {
    /// Since 1970-01-01 UTC; steps when somebody sets the clock.
    pub wall_ns: i64,
    /// Never steps; stands still while the machine is suspended.
    pub monotonic_ns: i64,
    /// Like the monotonic clock, but goes on during suspension. Zero is the machine's start.
    pub boot_ns: i64,
}

/// Where the recorder gets its time, so that tests can step clocks and suspend without waiting.
pub trait Clock {
    /// The three clocks, read one after the other.
    fn now(&mut self) -> Moment;
    /// CPU time that the calling thread used, in nanoseconds.
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
            // No clock reads the three at one instant: the limits below allow for what passes in between.
            wall_ns: nanoseconds(clock_gettime(ClockId::Realtime)),
            monotonic_ns: nanoseconds(clock_gettime(ClockId::Monotonic)),
            boot_ns: nanoseconds(clock_gettime(ClockId::Boottime)),
        }
    }

    fn thread_cpu_ns(&mut self) -> u64 {
        u64::try_from(nanoseconds(clock_gettime(ClockId::ThreadCPUTime))).unwrap_or(0)
    }
}

/// Suspensions shorter than this are the noise of reading two clocks one after the other.
const SUSPEND_NS_MIN: i64 = 100_000_000;
/// Differences of wall and monotonic time below this are slewing, not a step.
const STEP_NS_MIN: i64 = 50_000_000;

/// What happened to time between two moments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Elapsed {
    /// On the monotonic clock.
    pub length_ns: i64,
    /// How long the machine was suspended in between; 0 if it was not.
    pub suspended_ns: i64,
    /// By how much the wall clock was set; 0 if it was not.
    pub stepped_ns: i64,
}

impl Elapsed {
    /// From `before` to `after`, with the noise of the clocks taken off.
    pub fn between(before: Moment, after: Moment) -> Elapsed {
        let length_ns = after.monotonic_ns - before.monotonic_ns;
        let with_sleep_ns = after.boot_ns - before.boot_ns;
        let suspended_ns = with_sleep_ns - length_ns;
        // Against the clock that goes on in suspension, as the wall clock does.
        let stepped_ns = (after.wall_ns - before.wall_ns) - with_sleep_ns;
        // A clock that is slewed may be off by a thousandth.
        let tolerance = STEP_NS_MIN + with_sleep_ns.abs() / 1000;
        Elapsed {
            length_ns,
            suspended_ns: if suspended_ns >= SUSPEND_NS_MIN { suspended_ns } else { 0 },
            stepped_ns: if stepped_ns.abs() >= tolerance { stepped_ns } else { 0 },
        }
    }

    /// Length on the monotonic clock [s].
    pub fn length_s(&self) -> f64 {
        self.length_ns as f64 * 1e-9
    }
}

/// The deadlines of the samples: equally spaced on average, each moved by a random share of the interval.
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
        // Below a half: deadlines could otherwise change their order.
        Schedule { start_ns, interval_ns, jitter: jitter.clamp(0.0, 0.45), state: seed, next: 1 }
    }

    /// The next deadline after `now_ns`, and how many had gone by already.
    pub fn next_deadline(&mut self, now_ns: i64) -> (i64, u64) {
        let mut missed = 0;
        loop {
            // From the start and not from the last deadline: neither jitter nor lateness adds up.
            let nominal = self.start_ns.saturating_add(self.next.saturating_mul(self.interval_ns));
            let move_ns = self.jitter * (2.0 * self.uniform() - 1.0) * self.interval_ns as f64;
            let deadline = nominal.saturating_add(move_ns as i64);
            self.next += 1;
            if deadline > now_ns {
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

    /// Uniform in [0, 1): splitmix64 (Steele, Lea, Flood 2014).
    fn uniform(&mut self) -> f64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 53) as f64
    }
}
