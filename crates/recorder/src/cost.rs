//! What the recorder itself costs, in constant memory.

use serde_json::{Value as Json, json};

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
