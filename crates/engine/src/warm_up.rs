//! End of the warm-up of a run by MSER-5 (White 1997; White, Cobb and Spratt 2000).

use crate::tally::Batches;
use crate::time::Time;

/// The best cut of a series of batch means.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Truncation {
    /// Batches to leave out at the beginning.
    pub batches: usize,
    /// True if the best cut lies in the first half. If not, the run is too short to have settled for certain.
    pub settled: bool,
}

/// The cut d that makes the squared standard error of the mean of what remains smallest,
///
/// ```text
/// MSER(d) = sum_{i >= d} (y_i - mean_d)^2 / (k - d)^2
/// ```
///
/// for k batch means y. With batches of five observations this is MSER-5. The last five batches are never
/// tried: there the statistic is near zero by chance.
pub fn mser(means: &[f64]) -> Truncation {
    const LEAST: usize = 5;
    let k = means.len();
    // With so few batches any cut is chance: nothing is cut, and the result is not settled.
    if k <= 2 * LEAST {
        return Truncation { batches: 0, settled: false };
    }
    // From the back, so that one pass gives every tail's mean and squares (Welford's update).
    let (mut n, mut mean, mut squares) = (0.0, 0.0, 0.0);
    let mut best = (f64::INFINITY, 0);
    for (d, y) in means.iter().enumerate().rev() {
        n += 1.0;
        let from_mean = y - mean;
        mean += from_mean / n;
        squares += from_mean * (y - mean);
        // Also on equality: going backwards, the last to win is the earliest cut, which keeps most
        // observations.
        if d + LEAST <= k && squares / (n * n) <= best.0 {
            best = (squares / (n * n), d);
        }
    }
    Truncation { batches: best.1, settled: best.1 <= k / 2 }
}

/// The best cut of replications, all at one time: [`mser`] on the average of their series, batch by batch,
/// since the warm-up is what they have in common. Returns the time at which the last of them had the
/// observations that are left out.
///
/// Of a single replication chance alone may put the cut anywhere; the longest of many single cuts would cut
/// nearly all.
pub fn common_cut(series: &[&Batches]) -> (Time, Truncation) {
    // Batch sizes double with the length of a series; all are brought to the largest.
    let size = series.iter().map(|batches| batches.size()).max().unwrap_or(Batches::SMALLEST);
    let joined: Vec<Vec<(f64, Time)>> = series.iter().map(|batches| batches.joined(size).collect()).collect();
    // Only as far as all of them go: an average over fewer towards the end would change its variance.
    let length = joined.iter().map(Vec::len).min().unwrap_or(0);
    let averages: Vec<f64> = (0..length)
        .map(|batch| joined.iter().map(|means| means[batch].0).sum::<f64>() / joined.len() as f64)
        .collect();
    let cut = mser(&averages);
    // The latest of them: no replication may keep an observation of its warm-up.
    let ends = joined.iter().filter_map(|means| cut.batches.checked_sub(1).map(|last| means[last].1));
    (ends.max().unwrap_or(Time::ZERO), cut)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::{Component, Streams};
    use crate::time::Span;

    /// The statistic by its definition, a sum for every cut.
    fn by_definition(means: &[f64]) -> usize {
        let k = means.len();
        let value = |d: usize| {
            let tail = &means[d..];
            let mean = tail.iter().sum::<f64>() / tail.len() as f64;
            tail.iter().map(|y| (y - mean).powi(2)).sum::<f64>() / (tail.len() as f64).powi(2)
        };
        (0..=k - 5).min_by(|a, b| value(*a).total_cmp(&value(*b))).unwrap()
    }

    #[test]
    fn one_pass_agrees_with_the_definition() {
        let mut stream = Streams { seed: 3, replication: 0 }.stream(Component("test"), 0);
        for length in [11, 40, 333] {
            let means: Vec<f64> =
                (0..length).map(|i| stream.normal() + 8.0 * (-f64::from(i) / 6.0).exp()).collect();
            assert_eq!(mser(&means).batches, by_definition(&means));
        }
    }

    #[test]
    fn replications_are_cut_at_one_time_and_chance_averages_out() {
        // 200 short series of noise that begins 3 standard deviations too high for 20 batches.
        let series: Vec<Batches> = (0..200)
            .map(|replication| {
                let mut stream = Streams { seed: 5, replication }.stream(Component("test"), 0);
                let mut batches = Batches::default();
                for i in 0..400u64 {
                    let level = if i < 100 { 13.0 } else { 10.0 };
                    batches.record(Time(i), Span::from_seconds(level + stream.normal()));
                }
                batches
            })
            .collect();
        let (time, cut) = common_cut(&series.iter().collect::<Vec<_>>());
        assert_eq!((cut.batches, time), (20, Time(99)));
        assert!(cut.settled);
        assert_eq!(common_cut(&[]).0, Time::ZERO);
    }

    #[test]
    fn a_start_far_off_is_cut_and_a_trend_is_not_settled() {
        let mut stream = Streams { seed: 4, replication: 0 }.stream(Component("test"), 0);
        let noise: Vec<f64> = (0..400).map(|_| stream.normal()).collect();
        let started: Vec<f64> =
            noise.iter().enumerate().map(|(i, e)| e + if i < 50 { 10.0 } else { 0.0 }).collect();
        let cut = mser(&started);
        assert!(cut.settled && (50..80).contains(&cut.batches), "{cut:?}");
        let trend: Vec<f64> = noise.iter().enumerate().map(|(i, e)| e + i as f64).collect();
        assert!(!mser(&trend).settled);
    }
}
