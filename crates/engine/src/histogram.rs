//! A histogram of lengths of time whose cells grow with their place: quantiles in constant memory, as in
//! HdrHistogram (Tene 2012), recorded in a dozen instructions.
//!
//! Range and resolution are constants, so that `record` neither resizes nor fails, as that of the crate `hdrhistogram`
//! may.

use crate::time::Span;

/// Bits below the resolution: 512 ns.
// Response times below a microsecond say nothing about a time-sharing system: cells there would be waste.
const UNIT_BITS: u32 = 9;
/// Cells in each doubling of time, 2^7: a cell is at most 1/128 of its place.
const CELL_BITS: u32 = 7;
const CELLS: usize = 1 << CELL_BITS;
/// Longest time that has a cell of its own, in units: 2^41 of them, 13 days.
const LONGEST: u64 = (1 << 41) - 1;
const ALL: usize = cell(LONGEST) + 1;

/// The cell of a time of `units`: each of the first 2^8 has its own, then the leading 8 bits decide.
#[inline]
const fn cell(units: u64) -> usize {
    // Setting the low bits makes the shift 0 for all small values without a branch.
    let shift = (units | (2 * CELLS - 1) as u64).ilog2() - CELL_BITS;
    shift as usize * CELLS + (units >> shift) as usize
}

/// The cell of a time; that of the longest where it is longer.
#[inline(always)]
fn place(time: Span) -> usize {
    cell((time.0 >> UNIT_BITS).min(LONGEST))
}

/// The longest time in `cell` [ns].
const fn longest(cell: usize) -> u64 {
    let shift = (cell / CELLS).saturating_sub(1);
    (((cell - shift * CELLS + 1) as u64) << shift << UNIT_BITS) - 1
}

/// Counts by length of time; about 36 kB, whatever the number of observations.
#[derive(Clone, Debug)]
pub struct Histogram {
    counts: Box<[u64; ALL]>,
}

impl Default for Histogram {
    fn default() -> Self {
        // By way of a vector: an array would be made on the stack and then copied.
        let counts: Box<[u64]> = vec![0; ALL].into();
        Histogram { counts: counts.try_into().expect("as many as there are cells") }
    }
}

impl Histogram {
    /// Counts one more; those longer than the last cell count in it.
    #[inline]
    pub fn record(&mut self, observed: Span) {
        self.counts[place(observed)] += 1;
    }

    /// The longest time of each cell that is not empty, and its count, in order. The shortest and the longest time are
    /// those of the caller, who has them anyway: nine of ten cells are seen to be empty by them.
    pub fn cells(&self, [shortest, longest_time]: [Span; 2]) -> impl Iterator<Item = (Span, u64)> + '_ {
        let first = place(shortest);
        let filled =
            self.counts[first..=place(longest_time)].iter().enumerate().filter(|(_, count)| **count > 0);
        filled.map(move |(cell, count)| (Span(longest(first + cell)), *count))
    }

    /// Adds the counts of `other`.
    pub fn merge(&mut self, other: &Histogram) {
        // Counts add exactly, so that tallies of replications merge to the same bits in any order.
        self.counts.iter_mut().zip(&other.counts[..]).for_each(|(count, more)| *count += more);
    }

    /// Sets all counts to zero without giving the memory back.
    pub fn clear(&mut self) {
        self.counts.fill(0);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::tally::Tally;

    #[test]
    fn cells_follow_one_another_without_a_gap() {
        for number in 0..ALL - 1 {
            let end = longest(number);
            assert_eq!((cell(end >> UNIT_BITS), cell((end + 1) >> UNIT_BITS)), (number, number + 1));
        }
    }

    proptest! {
        #[test]
        fn quantiles_are_within_a_cell_of_a_sorted_list(
            mut times in prop::collection::vec(1u64..1 << 49, 1..200),
            shift in 0u32..49,
            q in 0.001f64..1.0,
        ) {
            let mut histogram = Histogram::default();
            times.iter_mut().for_each(|time| *time >>= shift);
            times.iter().for_each(|time| histogram.record(Span(*time)));
            times.sort_unstable();
            let exact = times[(q * times.len() as f64).ceil() as usize - 1] as f64;
            let range = [Span(times[0]), Span(times[times.len() - 1])];
            let cells: Vec<(Span, u64)> = histogram.cells(range).collect();
            let ours = (Tally::quantile(&cells, q) * 1e9).round();
            prop_assert_eq!(cells.iter().map(|(_, count)| count).sum::<u64>(), times.len() as u64);
            prop_assert!(exact <= ours && ours <= exact * (1.0 + 1.0 / 128.0) + 512.0, "{ours} {exact}");
        }
    }
}
