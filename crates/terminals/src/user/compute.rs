//! The compute loop: a fixed amount of register arithmetic, calibrated in CPU time on this machine.
//!
//! The loop does an amount of work, not an amount of time: where CPUs share caches or execution units, or
//! the clock frequency falls, the same iterations take longer, as a user's own work would. The demand in CPU
//! seconds is therefore that of the machine during calibration; a different CPU time of the interactions is a
//! result about the machine, not an error.

use std::hint::black_box;

use rustix::time::{ClockId, clock_gettime};
use serde::{Deserialize, Serialize};

use crate::interval::{MedianInterval, median_interval};

/// CPU time used by this thread, exact and not tick-sampled [ns].
pub fn thread_cpu_ns() -> u64 {
    nanoseconds(ClockId::ThreadCPUTime)
}

/// Reading of a clock [ns].
pub(crate) fn nanoseconds(clock: ClockId) -> u64 {
    let now = clock_gettime(clock);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

/// Runs `steps` steps of a xorshift generator (Marsaglia 2003): each depends on the one before, so that neither
/// the CPU nor the compiler can shorten the loop, and none touches memory.
pub fn spin(steps: u64) {
    // Opaque to the compiler at both ends, or it would compute the result, or leave out a loop without one.
    let mut word: u64 = black_box(0x2545_f491_4f6c_dd1d);
    for _ in 0..steps {
        word ^= word << 13;
        word ^= word >> 7;
        word ^= word << 17;
    }
    black_box(word);
}

/// Speed of the compute loop on this machine.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Calibration {
    /// Steps per second of CPU time: median over batches.
    pub steps_per_s: f64,
    /// Lower end of the 95 % confidence interval of the median [1/s].
    pub low: f64,
    /// Upper end of the interval [1/s].
    pub high: f64,
    /// Number of batches.
    pub n: usize,
}

/// Odd, so that the median is a batch; its interval then ends at the 14th from either end.
const BATCHES: usize = 41;
/// CPU time of a batch [s]: long against the clock's resolution.
const BATCH_S: f64 = 0.004;

/// Speed of the compute loop by the CPU clock of this thread; takes about 0.2 s.
pub fn calibrate() -> Calibration {
    let mut steps = 10_000u64;
    let mut rate = rate_of(steps);
    // These trials also warm caches and raise the clock frequency; their rates are not part of the result.
    while (steps as f64) < BATCH_S * rate {
        steps *= 2;
        rate = rate_of(steps);
    }
    let rates: Vec<f64> = (0..BATCHES).map(|_| rate_of(steps)).collect();
    let MedianInterval { median, low, high, n } = median_interval(rates);
    Calibration { steps_per_s: median, low, high, n }
}

/// Steps per second of CPU time in one batch.
fn rate_of(steps: u64) -> f64 {
    let before = thread_cpu_ns();
    spin(steps);
    steps as f64 * 1e9 / (thread_cpu_ns() - before).max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calibrated_loop_takes_the_cpu_time_requested() {
        // Exact clock, so preemption by others does not count; a neighbour on the same core may slow a
        // batch, which the median of 21 batches forgives. 25 percent is the bound on the machine's drift
        // between two measurements that follow each other.
        let calibration = calibrate();
        assert!(calibration.low <= calibration.steps_per_s && calibration.steps_per_s <= calibration.high);
        let wanted_s = 0.005;
        let took: Vec<f64> = (0..21)
            .map(|_| {
                let before = thread_cpu_ns();
                spin((wanted_s * calibration.steps_per_s) as u64);
                (thread_cpu_ns() - before) as f64 * 1e-9
            })
            .collect();
        let median = median_interval(took).median;
        assert!((median / wanted_s - 1.0).abs() < 0.25, "wanted {wanted_s}, took {median}");
    }

    #[test]
    fn work_is_proportional_to_steps() {
        let median = |steps| median_interval((0..21).map(|_| 1.0 / rate_of(steps)).collect()).median;
        let ratio = median(1_000_000) / median(4_000_000);
        assert!((ratio - 1.0).abs() < 0.25, "time a step differs by {ratio}");
    }
}
