//! The maximal points of a stream: those that no other point equals or exceeds in everything.
//!
//! Bard's list of candidates (IBM Systems Journal 10, 1971, 193), which every new point passes, is kept in two
//! steps. A few *pilots*, chosen because together they dominate most of what came lately, stand first and settle
//! most points with a comparison or two. What passes them waits, and is joined with the candidates by divide and
//! conquer (`dominance`) when there is as much of it as there are candidates: so nothing is ever compared with
//! all candidates one by one, and no order of the points is bad.

use crate::dominance::{Rows, below, maximal, strike};

/// Most pilots.
const PILOTS: usize = 64;
/// Points of the stream that pilots are chosen by.
const SAMPLE: usize = 512;
/// Candidates of which pilots are chosen.
const CHOICE: usize = 512;
/// Waiting points that are joined at once, while there are few candidates; at the start, so as to have pilots.
const WAITING_LEAST: usize = 4096;
const WAITING_FIRST: usize = 256;
/// Most points between two choices of pilots: what comes may change.
const CHOOSE_EVERY: u64 = 1 << 20;

/// A value that cannot be compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("point {row} holds nan; leave out what was not measured")]
pub struct NotANumber {
    /// Position in the stream.
    pub row: u64,
}

/// The maximal points of a stream, of equal ones the first.
#[derive(Clone, Debug)]
pub struct ParetoSet {
    dimensions: usize,
    n: u64,
    /// Rows of the candidates, then of those that wait.
    rows: Vec<f64>,
    /// Position in the stream of each of these rows.
    positions: Vec<u64>,
    /// Number of candidates.
    candidates: usize,
    /// Number of waiting points at which they are joined.
    waiting_most: usize,
    /// Rows of the pilots: copies, since the candidates move with every join.
    pilots: Vec<f64>,
    /// Rows of the latest points, a ring.
    sample: Vec<f64>,
    /// Points put into the sample so far.
    sampled: usize,
    /// Number of points of the stream at which pilots are chosen again.
    choose_at: u64,
}

impl ParetoSet {
    /// An empty set of points with this number of dimensions.
    ///
    /// # Panics
    /// There are no dimensions.
    pub fn new(dimensions: usize) -> ParetoSet {
        assert!(dimensions > 0, "a point has at least one dimension");
        ParetoSet {
            dimensions,
            n: 0,
            rows: Vec::new(),
            positions: Vec::new(),
            candidates: 0,
            waiting_most: WAITING_FIRST,
            pilots: Vec::new(),
            sample: Vec::new(),
            sampled: 0,
            choose_at: 0,
        }
    }

    /// Number of points of the stream so far.
    pub fn n(&self) -> u64 {
        self.n
    }

    /// Adds points, a row of `dimensions` numbers each. After an error the set holds the points before it.
    pub fn absorb(&mut self, rows: &[f64]) -> Result<(), NotANumber> {
        match self.dimensions {
            // A loop for each usual number: the comparison of two points is then a few instructions without a branch.
            1 => self.pass::<1>(rows),
            2 => self.pass::<2>(rows),
            3 => self.pass::<3>(rows),
            4 => self.pass::<4>(rows),
            5 => self.pass::<5>(rows),
            6 => self.pass::<6>(rows),
            _ => self.pass::<0>(rows),
        }
    }

    /// Adds the points of a stream that comes after this one.
    pub fn merge(&mut self, later: &ParetoSet) {
        self.rows.extend_from_slice(&later.rows);
        self.positions.extend(later.positions.iter().map(|position| position + self.n));
        self.n += later.n;
        self.join();
    }

    /// The maximal points as rows, and their positions in the stream, growing.
    pub fn maximal(&mut self) -> (&[f64], &[u64]) {
        self.join();
        (&self.rows, &self.positions)
    }

    /// `D` is the number of dimensions, or 0 where no loop is made for it.
    fn pass<const D: usize>(&mut self, rows: &[f64]) -> Result<(), NotANumber> {
        let dimensions = if D > 0 { D } else { self.dimensions };
        self.remember(rows);
        for row in rows.chunks_exact(dimensions) {
            // Nothing dominates a nan, so that only what passes the pilots need be looked at.
            if !self.pilots.chunks_exact(dimensions).any(|pilot| covers::<D>(pilot, row)) {
                if row.iter().any(|value| value.is_nan()) {
                    return Err(NotANumber { row: self.n });
                }
                // Minus zero equals zero, but would come before it in order; adding zero makes it one.
                self.rows.extend(row.iter().map(|value| value + 0.0));
                self.positions.push(self.n);
                if self.positions.len() - self.candidates >= self.waiting_most {
                    self.n += 1;
                    self.join();
                    if self.n >= self.choose_at {
                        self.choose_pilots();
                        // At doubling distances first: pilots chosen from few points are poor, and are soon
                        // replaced.
                        self.choose_at = self.n + self.n.min(CHOOSE_EVERY);
                    }
                    continue;
                }
            }
            self.n += 1;
        }
        Ok(())
    }

    /// Keeps some of the latest points, evenly spread over what came at once.
    fn remember(&mut self, rows: &[f64]) {
        let count = rows.len() / self.dimensions;
        for row in rows.chunks_exact(self.dimensions).step_by((count / SAMPLE).max(1)) {
            if self.sample.len() < SAMPLE * self.dimensions {
                self.sample.extend_from_slice(row);
            } else {
                // A ring: the oldest of the sample gives way.
                let place = self.sampled % SAMPLE * self.dimensions;
                self.sample[place..place + self.dimensions].copy_from_slice(row);
            }
            self.sampled += 1;
        }
    }

    /// Makes candidates of the waiting points that are maximal and drops candidates that no longer are.
    fn join(&mut self) {
        if self.positions.len() == self.candidates {
            return;
        }
        let rows = Rows { values: &self.rows, dimensions: self.dimensions };
        let old: Vec<u32> = (0..self.candidates as u32).collect();
        let mut new: Vec<u32> = (self.candidates as u32..self.positions.len() as u32).collect();
        let mut dead = vec![false; self.positions.len()];
        // Candidates do not dominate each other: only old and new need be compared, and new with new.
        strike(rows, &old, &new, 0, &mut dead);
        new.retain(|&row| !dead[row as usize]);
        new.sort_unstable_by(|&a, &b| {
            let order = rows.at(b).partial_cmp(rows.at(a)).unwrap_or(std::cmp::Ordering::Equal);
            order.then(self.positions[a as usize].cmp(&self.positions[b as usize]))
        });
        // Of equal points the first stays: the order above puts it first.
        new.dedup_by(|later, first| rows.at(*later) == rows.at(*first));
        let mut kept = maximal(rows, &new, &mut dead);
        strike(rows, &kept, &old, 0, &mut dead);
        kept.extend(old.into_iter().filter(|&row| !dead[row as usize]));
        kept.sort_unstable_by_key(|&row| self.positions[row as usize]);
        self.rows = kept.iter().flat_map(|&row| rows.at(row)).copied().collect();
        self.positions = kept.iter().map(|&row| self.positions[row as usize]).collect();
        self.candidates = kept.len();
        // As many as there are candidates, and more: joining then costs each point a constant share.
        self.waiting_most = (2 * self.waiting_most).min(WAITING_LEAST).max(2 * self.candidates);
    }

    /// Chooses pilots greedily: one after another, the candidate that dominates most of the rest of the sample (maximum
    /// coverage; a greedy choice covers at least 63 % of what the best choice does).
    fn choose_pilots(&mut self) {
        let d = self.dimensions;
        // Evenly over the candidates: to mark the sample for all of them would cost more than pilots save.
        let every = self.candidates.div_ceil(CHOICE).max(1);
        let choice: Vec<&[f64]> = self.rows.chunks_exact(d).step_by(every).collect();
        let covered: Vec<Marks> = choice.iter().map(|pilot| marks(d, &self.sample, pilot)).collect();
        let mut left = [u64::MAX; WORDS];
        self.pilots.clear();
        while self.pilots.len() < PILOTS * d {
            let gain = |marks: &Marks| -> u32 {
                marks.iter().zip(&left).map(|(mark, still)| (mark & still).count_ones()).sum()
            };
            let best = (0..choice.len()).map(|k| (gain(&covered[k]), k)).max();
            // A pilot that covers nothing new would only cost comparisons.
            let Some((1.., k)) = best else { break };
            self.pilots.extend_from_slice(choice[k]);
            left.iter_mut().zip(&covered[k]).for_each(|(still, mark)| *still &= !mark);
        }
    }
}

/// Words of one bit for each point of the sample.
const WORDS: usize = SAMPLE / 64;
type Marks = [u64; WORDS];

/// The points of the sample that `pilot` dominates.
fn marks(dimensions: usize, sample: &[f64], pilot: &[f64]) -> Marks {
    let mut covered = [0; WORDS];
    for (k, row) in sample.chunks_exact(dimensions).enumerate() {
        covered[k / 64] |= u64::from(below(row, pilot)) << (k % 64);
    }
    covered
}

/// Whether `pilot` equals or exceeds `row` in everything; without branches where the dimensions are known.
#[inline(always)]
fn covers<const D: usize>(pilot: &[f64], row: &[f64]) -> bool {
    if D == 0 {
        return below(row, pilot);
    }
    let mut all = true;
    for k in 0..D {
        all &= row[k] <= pilot[k];
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dominance::dominated;
    use proptest::prelude::*;

    /// Bard's algorithm, word for word.
    fn bard(d: usize, rows: &[f64]) -> Vec<u64> {
        let at = |k: u64| &rows[k as usize * d..][..d];
        let mut candidates: Vec<u64> = Vec::new();
        for row in 0..(rows.len() / d) as u64 {
            if candidates.iter().any(|&other| below(at(row), at(other))) {
                continue;
            }
            candidates.retain(|&other| !below(at(other), at(row)));
            candidates.push(row);
        }
        candidates
    }

    fn streamed(d: usize, rows: &[f64], piece: usize) -> ParetoSet {
        let mut set = ParetoSet::new(d);
        for part in rows.chunks(piece * d) {
            set.absorb(part).unwrap();
        }
        set
    }

    /// Few distinct values, so that equal points and equal coordinates are common; or many; or points of which
    /// most are maximal.
    fn points() -> impl Strategy<Value = (usize, Vec<f64>)> {
        let value = prop_oneof![
            Just(vec![0.0, -0.0, 1.0, 2.0, f64::INFINITY, f64::NEG_INFINITY, 1e300]),
            Just((0..1000).map(|k| f64::from(k) / 7.0).collect::<Vec<f64>>()),
        ];
        (1usize..8, 0usize..600, value, any::<bool>()).prop_flat_map(|(d, n, values, opposed)| {
            prop::collection::vec(prop::sample::select(values), n * d).prop_map(move |mut rows| {
                if opposed {
                    for row in rows.chunks_exact_mut(d) {
                        row[d - 1] -= row[..d - 1].iter().filter(|x| x.is_finite()).sum::<f64>();
                    }
                }
                rows.iter_mut().for_each(|x| *x = if x.is_nan() { 0.0 } else { *x });
                (d, rows)
            })
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(400))]

        #[test]
        fn the_set_is_that_of_bards_algorithm((d, rows) in points(), piece in 1usize..700) {
            let expected = bard(d, &rows);
            let mut set = streamed(d, &rows, piece);
            let (found, positions) = set.maximal();
            prop_assert_eq!(positions, &expected[..]);
            for (row, &position) in found.chunks_exact(d).zip(positions) {
                prop_assert_eq!(row, &rows[position as usize * d..][..d]);
            }
        }

        #[test]
        fn merged_sets_are_that_of_both((d, rows) in points(), cut in 0usize..600) {
            let (first, second) = rows.split_at((cut * d).min(rows.len()));
            let mut merged = streamed(d, first, 50);
            merged.merge(&streamed(d, second, 50));
            prop_assert_eq!(merged.maximal().1, &bard(d, &rows)[..]);
        }

        #[test]
        fn dominated_is_the_definition((d, rows) in points(), cut in 0usize..600) {
            let (points, by) = rows.split_at((cut * d).min(rows.len()));
            let expected: Vec<bool> = points
                .chunks_exact(d)
                .map(|point| by.chunks_exact(d).any(|other| below(point, other)))
                .collect();
            prop_assert_eq!(dominated(d, points, by), expected);
        }
    }

    /// Every point beats all before it, none does, and all are equal: no order is bad.
    #[test]
    fn points_in_order() {
        let growing: Vec<f64> = (0..200_000).map(|k| f64::from(k / 2)).collect();
        assert_eq!(streamed(2, &growing, 1000).maximal().1, [99_999]);
        let opposed: Vec<f64> = (0..100_000).flat_map(|k| [f64::from(k), -f64::from(k)]).collect();
        assert_eq!(streamed(2, &opposed, 1000).maximal().1.len(), 100_000);
        assert_eq!(streamed(3, &[1.0; 30_000], 1000).maximal().1, [0]);
    }

    #[test]
    fn what_cannot_be_compared_is_named() {
        let mut set = ParetoSet::new(2);
        set.absorb(&[1.0, 2.0]).unwrap();
        assert_eq!(set.absorb(&[0.0, 0.0, 5.0, f64::NAN]), Err(NotANumber { row: 2 }));
        assert_eq!(set.maximal(), (&[1.0, 2.0][..], &[0][..]));
    }
}
