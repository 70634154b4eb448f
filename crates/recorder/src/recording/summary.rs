//! Facts of a recording about itself, for the manifest: its cost, delays, and the agreement of its sources.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value as Json, json};

use crate::kernel::host;
use crate::sample::counters::Differences;

/// Sums over a recording, in constant memory.
#[derive(Debug, Default)]
pub struct Tally {
    /// CPU time of the recorder per sample.
    pub cost: Times,
    /// Delay of samples behind their deadlines.
    pub late: Times,
    /// Samples not taken because the recorder was late.
    pub missed_deadlines: u64,
    /// These by cause: `stopped`, `starved`, `working` (on a sample), `blocked`.
    pub missed_causes: BTreeMap<&'static str, u64>,
    /// Intervals that could not be used.
    pub dropped: u64,
    /// Intervals that ended when the log was no longer there to take them.
    pub given_up: u64,
    /// Bytes written to the log.
    pub written_bytes: u64,
    /// Active users in the last interval.
    pub active_users: Option<u64>,
    /// Share of the machine's CPU time used in the last interval, 0 to 1.
    pub last_busy: Option<f64>,
    /// Length of all intervals [s].
    length_s: f64,
    /// Length times CPUs, summed over the intervals [s].
    cpu_capacity_s: f64,
    /// CPU time outside idle as sampled at the tick [s].
    busy_sampled_s: f64,
    /// Over the intervals for which the exact CPU time is known too.
    compared: Compared,
    /// Over the intervals for which the CPU time of users is known as well.
    attributed: Attributed,
    /// Totals of processes that were counted in whole ticks.
    pub totals_in_ticks: u64,
}

#[derive(Debug, Default)]
struct Compared {
    n: u64,
    capacity_s: f64,
    sampled_s: f64,
    exact_s: f64,
}

#[derive(Debug, Default)]
struct Attributed {
    n: u64,
    exact_s: f64,
    to_users_s: f64,
    /// Longest CPU time of all tasks between the readings of both.
    reading_max_s: f64,
}

/// Standard errors of tick sampling beyond which sampled and exact time disagree. A normal variable exceeds
/// four in 1 of 15,800 cases, and the share below makes a false alarm rarer still.
const SAMPLING_ERRORS: f64 = 4.0;
/// Share of the exact time by which both may differ, because they count interrupts for different states.
const BOOKING_SHARE: f64 = 0.02;

impl Tally {
    /// Counts one interval of `length_s` on `cpus` CPUs; all times in seconds.
    pub fn add(
        &mut self,
        length_s: f64,
        cpus: usize,
        busy_sampled_s: f64,
        cpu_exact_s: Option<f64>,
        attributed_s: Option<f64>,
        reading_s: Option<f64>,
    ) {
        let capacity_s = length_s * cpus as f64;
        self.length_s += length_s;
        self.cpu_capacity_s += capacity_s;
        self.busy_sampled_s += busy_sampled_s;
        let busy_s = cpu_exact_s.unwrap_or(busy_sampled_s);
        self.last_busy = (capacity_s > 0.0).then(|| (busy_s / capacity_s).clamp(0.0, 1.0));
        let Some(exact_s) = cpu_exact_s else { return };
        self.compared.n += 1;
        self.compared.capacity_s += capacity_s;
        self.compared.sampled_s += busy_sampled_s;
        self.compared.exact_s += exact_s;
        let Some(to_users_s) = attributed_s else { return };
        self.attributed.n += 1;
        self.attributed.exact_s += exact_s;
        self.attributed.to_users_s += to_users_s;
        self.attributed.reading_max_s = self.attributed.reading_max_s.max(reading_s.unwrap_or(0.0));
    }

    /// Samples taken: every interval that ended. The reading at the start of a session begins the first interval
    /// and is none.
    pub fn taken(&self) -> u64 {
        self.cost.count() + self.dropped + self.given_up
    }

    /// Wraps and resets since the last call, each counter once.
    pub fn take_setbacks(&mut self, differences: &mut Differences) -> BTreeSet<(&'static str, String)> {
        differences.setbacks.drain(..).map(|setback| (setback.kind, setback.counter)).collect()
    }

    /// The facts as JSON.
    pub fn to_json(&self) -> Json {
        json!({
            "cost": {
                "cpu_per_sample": self.cost.to_json(),
                "share_of_machine": share(self.cost.sum_s(), self.cpu_capacity_s),
                "written_bytes": self.written_bytes,
            },
            "samples_taken": self.taken(),
            "late": self.late.to_json(),
            "missed_deadlines": self.missed_deadlines,
            "missed_causes": self.missed_causes,
            "dropped_intervals": self.dropped,
            "recorded_s": self.length_s,
            "busy": self.compared.to_json(),
            "users": self.attributed.to_json(self.totals_in_ticks),
        })
    }
}

fn share(part: f64, total: f64) -> Option<f64> {
    (total > 0.0).then(|| part / total)
}

impl Compared {
    /// Tick-sampled and exact busy time, and whether they differ by more than chance.
    ///
    /// A tick hits a busy CPU with probability p = the busy share, so that of N ticks about
    /// sqrt(N p (1 - p)) are off. N counts the 100 ticks per second of the user interface: no kernel
    /// samples less often, so that the error is overestimated, never underestimated.
    fn to_json(&self) -> Json {
        if self.n == 0 {
            return Json::Null;
        }
        let ticks_per_s = host::clock_ticks() as f64;
        let busy = (self.exact_s / self.capacity_s.max(f64::MIN_POSITIVE)).clamp(0.0, 1.0);
        let ticks = self.capacity_s * ticks_per_s;
        let sampling_error_s = (ticks * busy * (1.0 - busy)).sqrt().max(1.0) / ticks_per_s;
        let difference_s = self.sampled_s - self.exact_s;
        let allowed_s = SAMPLING_ERRORS * sampling_error_s + BOOKING_SHARE * self.exact_s;
        json!({
            "n": self.n,
            "sampled_s": self.sampled_s,
            "exact_s": self.exact_s,
            "difference_s": difference_s,
            "sampling_error_s": sampling_error_s,
            "disagree": difference_s.abs() > allowed_s,
        })
    }
}

impl Attributed {
    /// Part of the exact CPU time that belongs to users; the rest is of processes that started and ended
    /// between two samples unnoticed.
    fn to_json(&self, totals_in_ticks: u64) -> Json {
        if self.n == 0 {
            return Json::Null;
        }
        json!({
            "n": self.n,
            "exact_s": self.exact_s,
            "totals_in_ticks": totals_in_ticks,
            "attributed_s": self.to_users_s,
            "unattributed_s": self.exact_s - self.to_users_s,
            "reading_max_s": self.reading_max_s,
        })
    }
}

/// Buckets per factor of two: each is 9 % wide.
const BUCKETS_PER_OCTAVE: f64 = 8.0;
/// 44 octaves: from a nanosecond to about five hours.
const BUCKETS: usize = 352;

/// Distribution of a time: exact mean and extremes, quantiles to within half the width of a bucket, 5 %.
#[derive(Clone, Debug)]
pub struct Times {
    count: u64,
    sum_s: f64,
    low_s: f64,
    high_s: f64,
    buckets: Vec<u64>,
}

impl Default for Times {
    fn default() -> Self {
        Times { count: 0, sum_s: 0.0, low_s: f64::INFINITY, high_s: 0.0, buckets: vec![0; BUCKETS] }
    }
}

impl Times {
    /// Counts one time [s]; a negative one, from clocks read one after the other, counts as zero.
    pub fn add(&mut self, seconds: f64) {
        let seconds = seconds.max(0.0);
        self.count += 1;
        self.sum_s += seconds;
        self.low_s = self.low_s.min(seconds);
        self.high_s = self.high_s.max(seconds);
        let index = ((seconds * 1e9).max(1.0).log2() * BUCKETS_PER_OCTAVE) as usize;
        self.buckets[index.min(BUCKETS - 1)] += 1;
    }

    /// Number of times.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Sum [s].
    pub fn sum_s(&self) -> f64 {
        self.sum_s
    }

    /// Mean [s].
    pub fn mean_s(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum_s / self.count as f64)
    }

    /// Middle of the bucket that holds the quantile, clamped to the extremes [s].
    pub fn quantile_s(&self, share: f64) -> Option<f64> {
        let rank = (share * self.count as f64).ceil().max(1.0) as u64;
        let mut below = 0;
        for (index, count) in self.buckets.iter().enumerate() {
            below += count;
            if below >= rank {
                let middle = 2f64.powf((index as f64 + 0.5) / BUCKETS_PER_OCTAVE) * 1e-9;
                return Some(middle.clamp(self.low_s, self.high_s));
            }
        }
        None
    }

    /// Summary as JSON; null without any time.
    pub fn to_json(&self) -> Json {
        if self.count == 0 {
            return Json::Null;
        }
        json!({
            "n": self.count,
            "sum_s": self.sum_s,
            "mean_s": self.mean_s(),
            "median_s": self.quantile_s(0.5),
            "p95_s": self.quantile_s(0.95),
            "min_s": self.low_s,
            "max_s": self.high_s,
        })
    }
}
