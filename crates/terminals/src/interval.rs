//! The median of a few batches, with a distribution-free confidence interval (Conover, Practical Nonparametric
//! Statistics, section 3.2). Times have heavy tails: a mean and its normal interval would follow single disturbances.

use serde::{Deserialize, Serialize};

/// A median and its 95 % confidence interval, in the unit of the batches.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct MedianInterval {
    /// Median of the batches.
    pub median: f64,
    /// Lower end of the interval.
    pub low: f64,
    /// Upper end of the interval.
    pub high: f64,
    /// Number of batches.
    pub n: usize,
}

/// Median of `batches` with the order statistics of ranks r and n + 1 - r as its interval.
///
/// r is the largest rank with P(Binomial(n, 1/2) < r) <= 2.5 %: the coverage is at least 95 % for independent
/// batches of any continuous distribution. Below six batches there is no such r, and the interval is the
/// range, whose coverage is lower. All numbers are NaN without batches.
pub fn median_interval(mut batches: Vec<f64>) -> MedianInterval {
    let n = batches.len();
    if n == 0 {
        return MedianInterval { median: f64::NAN, low: f64::NAN, high: f64::NAN, n };
    }
    batches.sort_by(f64::total_cmp);
    let rank = lower_rank(n);
    // For odd n both indices are the same batch.
    let median = (batches[(n - 1) / 2] + batches[n / 2]) / 2.0;
    MedianInterval { median, low: batches[rank - 1], high: batches[n - rank], n }
}

/// The rank r of [`median_interval`] for `n` batches.
fn lower_rank(n: usize) -> usize {
    // In logarithms, since 2^-n underflows for a thousand batches.
    let mut log_term = -(n as f64) * std::f64::consts::LN_2;
    let mut below = 0.0;
    let mut rank = 0;
    while rank < n {
        below += log_term.exp();
        if below > 0.025 {
            break;
        }
        rank += 1;
        log_term += (((n - rank + 1) as f64) / rank as f64).ln();
    }
    rank.max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_are_those_of_the_sign_test_tables() {
        // Conover, Practical Nonparametric Statistics, sign-test interval: n = 6 takes the range, n = 10
        // the 2nd, n = 20 the 6th, n = 41 the 14th, n = 100 the 40th.
        let ranks: Vec<usize> = [5, 6, 10, 20, 41, 100].map(lower_rank).to_vec();
        assert_eq!(ranks, [1, 1, 2, 6, 14, 40]);
        assert_eq!(lower_rank(10_000), 4_902, "normal approximation: n/2 - 0.98 sqrt n");
    }

    #[test]
    fn median_stands_in_its_interval() {
        let estimate = median_interval((1..=41).rev().map(f64::from).collect());
        assert_eq!((estimate.low, estimate.median, estimate.high), (14.0, 21.0, 28.0));
        assert!(median_interval(Vec::new()).median.is_nan());
    }
}
