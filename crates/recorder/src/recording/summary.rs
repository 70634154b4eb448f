//! What a recording says about itself in the manifest.

use std::collections::BTreeSet;

use serde_json::{Value as Json, json};

use crate::kernel::host;
use crate::sample::counters::Differences;

/// Sums over a recording, in constant memory.
#[derive(Debug, Default)]
pub struct Tally {
    pub cost: Times,
    pub late: Times,
    pub missed_deadlines: u64,
    pub dropped: u64,
    pub written_bytes: u64,
    pub active_users: Option<u64>,
    pub last_busy: Option<f64>,
    length_s: f64,
    cpu_capacity_s: f64,
    busy_sampled_s: f64,
    /// Over the intervals in which both are known.
    compared: Compared,
    attributed: Attributed,
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
}

/// Standard errors of tick sampling beyond which the two figures disagree. Together with the share
/// below, a false alarm by chance is rarer than one in 10 000 recordings.
const SAMPLING_ERRORS: f64 = 4.0;
/// Interrupts and the like are booked differently in the two figures.
const BOOKING_SHARE: f64 = 0.02;

impl Tally {
    /// Counts one interval.
    pub fn add(
        &mut self,
        length_s: f64,
        cpus: usize,
        busy_sampled_s: f64,
        cpu_exact_s: Option<f64>,
        attributed_s: Option<f64>,
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
    }

    /// Wraps and resets since the last call, each counter once.
    pub fn take_setbacks(&mut self, differences: &mut Differences) -> BTreeSet<(&'static str, String)> {
        differences.setbacks.drain(..).map(|setback| (setback.kind, setback.counter)).collect()
    }

    pub fn to_json(&self) -> Json {
        json!({
            "cost": {
                "cpu_per_sample": self.cost.to_json(),
                "share_of_machine": share(self.cost.sum_s(), self.cpu_capacity_s),
                "written_bytes": self.written_bytes,
            },
            "late": self.late.to_json(),
            "missed_deadlines": self.missed_deadlines,
            "dropped_intervals": self.dropped,
            "recorded_s": self.length_s,
            "busy": self.compared.to_json(),
            "users": self.attributed.to_json(),
        })
    }
}

fn share(part: f64, whole: f64) -> Option<f64> {
    (whole > 0.0).then(|| part / whole)
}

impl Compared {
    /// The tick-sampled busy time beside the exact one, and whether they differ by more than chance.
    ///
    /// A tick hits a busy CPU with probability p = the busy share, so that of N ticks about
    /// sqrt(N p (1 - p)) are off. N counts with the 100 ticks a second of the user interface,
    /// which no kernel goes below.
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
    /// How much of the exact CPU time belongs to users; the rest is of processes that came and went.
    fn to_json(&self) -> Json {
        if self.n == 0 {
            return Json::Null;
        }
        json!({
            "n": self.n,
            "exact_s": self.exact_s,
            "attributed_s": self.to_users_s,
            "unattributed_s": self.exact_s - self.to_users_s,
        })
    }
}

/// Buckets a factor of two.
const FINENESS: f64 = 8.0;
/// From a nanosecond to about five hours.
const BUCKETS: usize = 352;

/// The distribution of a time: exact mean and extremes, quantiles to within 9 per cent.
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
    pub fn add(&mut self, seconds: f64) {
        let seconds = seconds.max(0.0);
        self.count += 1;
        self.sum_s += seconds;
        self.low_s = self.low_s.min(seconds);
        self.high_s = self.high_s.max(seconds);
        let place = ((seconds * 1e9).max(1.0).log2() * FINENESS) as usize;
        self.buckets[place.min(BUCKETS - 1)] += 1;
    }

    pub fn count(&self) -> u64 {
        self.count
    }

    pub fn sum_s(&self) -> f64 {
        self.sum_s
    }

    pub fn mean_s(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum_s / self.count as f64)
    }

    /// The middle of the bucket that holds the quantile, within the extremes.
    pub fn quantile_s(&self, share: f64) -> Option<f64> {
        let rank = (share * self.count as f64).ceil().max(1.0) as u64;
        let mut below = 0;
        for (place, count) in self.buckets.iter().enumerate() {
            below += count;
            if below >= rank {
                let middle = 2f64.powf((place as f64 + 0.5) / FINENESS) * 1e-9;
                return Some(middle.clamp(self.low_s, self.high_s));
            }
        }
        None
    }

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
