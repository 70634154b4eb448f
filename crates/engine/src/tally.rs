//! Statistics in constant memory: time-weighted levels, moments, quantiles, batches.

use crate::histogram::Histogram;
use crate::time::{Span, Sum, Time};

/// A whole number that changes over time, and its integral: customers in a queue, busy servers, bytes held.
#[derive(Clone, Copy, Debug, Default)]
pub struct Level {
    value: u64,
    largest: u64,
    changed: Time,
    since: Time,
    // In 128 bits: a million bytes held for six hours exceed 64.
    /// Integral from the start of statistics to `changed` [ns].
    area: u128,
}

impl Level {
    /// The present value.
    #[inline]
    pub fn value(&self) -> u64 {
        self.value
    }

    /// Largest value since statistics began.
    pub fn largest(&self) -> u64 {
        self.largest
    }

    #[inline]
    fn advance(&mut self, now: Time) {
        self.area += u128::from(self.value) * u128::from(now.since(self.changed).0);
        self.changed = now;
    }

    /// The value is `value` from `now` on.
    #[inline]
    pub fn set(&mut self, now: Time, value: u64) {
        self.advance(now);
        self.value = value;
        self.largest = self.largest.max(value);
    }

    /// The value rises by `more`.
    #[inline]
    pub fn add(&mut self, now: Time, more: u64) {
        self.set(now, self.value + more);
    }

    /// The value falls by `less`.
    ///
    /// # Panics
    /// In debug builds, when `less` is more than there is.
    #[inline]
    pub fn subtract(&mut self, now: Time, less: u64) {
        // In a release build the value wraps, and the laws find it.
        self.set(now, self.value - less);
    }

    /// Integral of the level from when statistics began to `now` [ns].
    pub fn area(&self, now: Time) -> u128 {
        self.area + u128::from(self.value) * u128::from(now.since(self.changed).0)
    }

    /// Time average from when statistics began to `now`; the present value where no time has passed.
    pub fn mean(&self, now: Time) -> f64 {
        let length = now.since(self.since);
        if length == Span::ZERO { self.value as f64 } else { self.area(now) as f64 / length.0 as f64 }
    }

    /// When statistics began.
    pub fn since(&self) -> Time {
        self.since
    }

    /// Statistics begin anew at `now`; the level stays.
    pub fn restart(&mut self, now: Time) {
        *self = Level { value: self.value, largest: self.value, changed: now, since: now, area: 0 };
    }
}

/// Observed lengths of time: n, mean, variance, extremes, quantiles.
///
/// Sums are exact integers, so that tallies merge to the same bits in any order. Quantiles come from a
/// histogram whose cells are below 1 % of their place: they are within 1 % of an observation of 0.1 ms or more,
/// and within 1 us of a shorter one. Observations above 13 days count there.
#[derive(Clone, Debug)]
pub struct Tally {
    count: u64,
    /// Sum of the observations.
    sum: Sum,
    /// Sum of their squares [ns^2].
    squares: u128,
    smallest: Span,
    largest: Span,
    histogram: Histogram,
}

impl Default for Tally {
    fn default() -> Self {
        Tally {
            count: 0,
            sum: Sum::default(),
            squares: 0,
            // The neutral element of a minimum, never returned while nothing is observed.
            smallest: Span(u64::MAX),
            largest: Span::ZERO,
            histogram: Histogram::default(),
        }
    }
}

impl Tally {
    /// Counts one more observation.
    #[inline]
    pub fn record(&mut self, observed: Span) {
        self.count += 1;
        self.sum.add(observed.0);
        self.squares += u128::from(observed.0) * u128::from(observed.0);
        // Jumps that are hardly ever taken, instead of two words that are stored each time.
        if observed < self.smallest {
            self.smallest = observed;
        }
        if observed > self.largest {
            self.largest = observed;
        }
        self.histogram.record(observed);
    }

    /// Number of observations.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Sum of the observations [s].
    pub fn total(&self) -> f64 {
        self.sum.total() as f64 * 1e-9
    }

    /// Mean [s]; not a number where there is no observation.
    pub fn mean(&self) -> f64 {
        self.sum.total() as f64 / self.count as f64 * 1e-9
    }

    /// Variance with n - 1 [s^2]; not a number with fewer than two observations.
    pub fn variance(&self) -> f64 {
        // n * squares - sum^2 in whole numbers where they fit: no cancellation.
        let (n, sum) = (u128::from(self.count), self.sum.total());
        let spread = match (n.checked_mul(self.squares), sum.checked_mul(sum)) {
            (Some(all), Some(of_mean)) => (all - of_mean) as f64,
            _ => {
                // Sums that no longer fit come from very long or very many times; there the spread is large
                // enough for doubles.
                let mean = sum as f64 / self.count as f64;
                (self.squares as f64 / self.count as f64 - mean * mean) * (n * n) as f64
            }
        };
        let n = self.count as f64;
        if self.count < 2 { f64::NAN } else { spread / n / (n - 1.0) * 1e-18 }
    }

    /// Smallest observation [s]; not a number where there is none.
    pub fn smallest(&self) -> f64 {
        if self.count == 0 { f64::NAN } else { self.smallest.seconds() }
    }

    /// Largest observation [s]; not a number where there is none.
    pub fn largest(&self) -> f64 {
        if self.count == 0 { f64::NAN } else { self.largest.seconds() }
    }

    /// The value that a share `q` (0 to 1) of observations does not exceed [s], from their [`Tally::cells`]: never below
    /// the exact quantile, and at most 1 % above it; not a number where there is none.
    // From the cells, of which all quantiles of a run come: the histogram is ten times as long.
    pub fn quantile(cells: &[(Span, u64)], q: f64) -> f64 {
        let count: u64 = cells.iter().map(|(_, count)| count).sum();
        // At least one, so that the quantile 0 is the smallest observation's cell.
        let wanted = (q * count as f64).ceil().max(1.0) as u64;
        let mut reached = 0;
        let reached_in = cells.iter().find(|(_, count)| {
            reached += count;
            reached >= wanted
        });
        reached_in.or(cells.last()).map_or(f64::NAN, |(end, _)| end.seconds())
    }

    /// Upper end of each cell of the histogram that is not empty, and the observations in it, in order: with those of
    /// other runs, the quantiles of all of them together.
    pub fn cells(&self) -> Vec<(Span, u64)> {
        if self.count == 0 {
            return Vec::new();
        }
        let cells = self.histogram.cells([self.smallest, self.largest]);
        // Room for the most that there can be, and then no more than is needed: they are kept for every replication.
        let most = cells.size_hint().1.unwrap_or(0).min(self.count as usize);
        let mut found = Vec::with_capacity(most);
        found.extend(cells);
        found.shrink_to_fit();
        found
    }

    /// Adds the observations of `other`.
    pub fn merge(&mut self, other: &Tally) {
        self.count += other.count;
        self.sum = self.sum.and(other.sum);
        self.squares += other.squares;
        self.smallest = self.smallest.min(other.smallest);
        self.largest = self.largest.max(other.largest);
        self.histogram.merge(&other.histogram);
    }

    /// Forgets everything; the histogram's memory is kept.
    pub fn clear(&mut self) {
        // The histogram is the costly part: an empty one is not wiped again.
        if self.count > 0 {
            self.histogram.clear();
        }
        self.count = 0;
        self.sum = Sum::default();
        self.squares = 0;
        self.smallest = Span(u64::MAX);
        self.largest = Span::ZERO;
    }
}

/// Batches for which there is room from the first on.
const FIRST_BATCHES: usize = 256;

/// A series of observations as means of equal batches, in constant memory.
///
/// Batches begin with [`Batches::SMALLEST`] observations. When [`Batches::CAPACITY`] are full, neighbours
/// are joined and the size of a batch doubles.
#[derive(Clone, Debug)]
pub struct Batches {
    /// Observations in a full batch.
    size: u64,
    /// Observations in the batch that is being filled, and their sum.
    filled: u64,
    current: Sum,
    /// Sum of the observations and time of the last one, for each full batch.
    full: Vec<(Sum, Time)>,
}

impl Default for Batches {
    fn default() -> Self {
        Batches { size: Self::SMALLEST, filled: 0, current: Sum::default(), full: Vec::new() }
    }
}

impl Batches {
    /// Observations in a batch at first: five, as MSER-5 wants them.
    pub const SMALLEST: u64 = 5;
    /// Batches kept at most.
    // Even, so that joining neighbours leaves no batch over.
    pub const CAPACITY: usize = 2048;

    /// Counts an observation made at `now`; the last, incomplete batch is in no mean.
    #[inline]
    pub fn record(&mut self, now: Time, observed: Span) {
        self.current.add(observed.0);
        self.filled += 1;
        if self.filled == self.size {
            self.close(now);
        }
    }

    /// Puts the batch that is full among the others, and joins neighbours when there is no room for more.
    // The memory of a series does not grow with the run, and yet a cut can be placed to 1/1000 of it.
    fn close(&mut self, now: Time) {
        if self.full.is_empty() {
            // At once what a short run needs: it has few other calls of the allocator.
            self.full.reserve(FIRST_BATCHES);
        }
        self.full.push((self.current, now));
        self.current = Sum::default();
        self.filled = 0;
        if self.full.len() == Self::CAPACITY {
            self.full = self.full.chunks(2).map(|pair| (pair[0].0.and(pair[1].0), pair[1].1)).collect();
            self.size *= 2;
        }
    }

    /// Observations in each full batch.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// Mean of each full batch [s], in order.
    pub fn means(&self) -> Vec<f64> {
        self.joined(self.size).map(|(mean, _)| mean).collect()
    }

    /// Mean of each full batch of `size` observations [s], and when the last of them was made. `size` is
    /// that of this series times a power of two.
    pub fn joined(&self, size: u64) -> impl Iterator<Item = (f64, Time)> + '_ {
        self.full.chunks_exact((size / self.size) as usize).map(move |batches| {
            let sum: u128 = batches.iter().map(|(sum, _)| sum.total()).sum();
            (sum as f64 / size as f64 * 1e-9, batches[batches.len() - 1].1)
        })
    }

    /// Forgets everything, and begins with the smallest batches again.
    pub fn clear(&mut self) {
        *self = Batches::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tally(seconds: &[f64]) -> Tally {
        let mut tally = Tally::default();
        seconds.iter().for_each(|s| tally.record(Span::from_seconds(*s)));
        tally
    }

    #[test]
    fn moments_are_exact_and_merge_in_any_order() {
        let all = tally(&[1.0, 2.0, 4.0, 9.0]);
        let mut merged = tally(&[9.0, 4.0]);
        merged.merge(&tally(&[1.0]));
        merged.merge(&tally(&[2.0]));
        for t in [&all, &merged] {
            assert_eq!((t.count(), t.mean(), t.smallest(), t.largest()), (4, 4.0, 1.0, 9.0));
            assert!((t.variance() - 38.0 / 3.0).abs() < 1e-12);
        }
    }

    #[test]
    fn a_small_variance_about_a_large_mean_is_not_lost() {
        let t = tally(&[1e6 + 1e-9, 1e6 + 3e-9]);
        assert!((t.variance() / 2e-18 - 1.0).abs() < 1e-9, "{}", t.variance());
    }

    #[test]
    fn quantiles_are_within_one_per_cent() {
        let t = tally(&(1..=1000).map(|i| f64::from(i) * 1e-3).collect::<Vec<_>>());
        for q in [0.1, 0.5, 0.9, 0.99] {
            let found = Tally::quantile(&t.cells(), q);
            assert!((found / q - 1.0).abs() < 0.01, "{q}: {found}");
        }
    }

    #[test]
    fn cells_hold_every_observation_once() {
        let cells = tally(&[1.0, 2.0, 2.0, 9.0]).cells();
        assert_eq!(cells.iter().map(|(_, count)| *count).collect::<Vec<_>>(), [1, 2, 1]);
        assert!(
            cells.iter().zip([1.0, 2.0, 9.0]).all(|((end, _), s)| (1.0..1.01).contains(&(end.seconds() / s)))
        );
        assert!(Tally::default().cells().is_empty());
    }

    #[test]
    fn nothing_observed_is_no_number() {
        let t = Tally::default();
        assert!(t.mean().is_nan() && t.variance().is_nan() && t.smallest().is_nan() && t.largest().is_nan());
        assert!(Tally::quantile(&t.cells(), 0.5).is_nan());
    }

    #[test]
    fn batches_double_and_keep_every_observation() {
        let mut batches = Batches::default();
        let n = 5 * Batches::CAPACITY as u64 * 3;
        (0..n).for_each(|i| batches.record(Time(i), Span(i)));
        assert_eq!(batches.size(), 20);
        let means = batches.means();
        assert_eq!(means.len() as u64, n / 20);
        assert!((means[7] * 1e9 - (7.0 * 20.0 + 9.5)).abs() < 1e-6);
        assert_eq!(batches.joined(20).nth(7).unwrap().1, Time(7 * 20 + 19));
        let (mean, end) = batches.joined(80).nth(1).unwrap();
        assert!((mean * 1e9 - (80.0 + 39.5)).abs() < 1e-6 && end == Time(159), "{mean} {end}");
    }

    #[test]
    fn a_level_averages_over_time() {
        let mut level = Level::default();
        level.set(Time(10), 3);
        level.subtract(Time(20), 1);
        assert_eq!(level.mean(Time(40)), (3.0 * 10.0 + 2.0 * 20.0) / 40.0);
        level.restart(Time(40));
        assert_eq!((level.mean(Time(50)), level.largest()), (2.0, 2));
    }
}
