//! Weighted choice in constant time with one random number: the alias method (Walker 1977; tables by Vose 1991).

use crate::random::Stream;

/// Values with weights, of which one can be drawn. A draw costs the same for two values and for a million, as an
/// empirical distribution may have.
#[derive(Clone, Debug, PartialEq)]
pub struct Alias<T> {
    columns: Box<[Column<T>]>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct Column<T> {
    /// Below this part of the column (of 2^64) is `first`, from there on `alias`.
    threshold: u64,
    first: T,
    alias: T,
}

impl<T: Copy> Alias<T> {
    /// A table of `values`, each with its weight; weights sum to 1.
    ///
    /// # Panics
    /// There are no values, or not as many weights.
    pub fn new(values: &[T], weights: &[f64]) -> Alias<T> {
        assert!(!values.is_empty() && values.len() == weights.len(), "a weight for each of some values");
        let n = values.len();
        let mut heights: Vec<f64> = weights.iter().map(|weight| weight * n as f64).collect();
        let (mut small, mut large): (Vec<usize>, Vec<usize>) = (0..n).partition(|i| heights[*i] < 1.0);
        let mut columns: Vec<Column<T>> =
            // Columns that rounding leaves unpaired keep this: they give the same value on either side. None of
            // them has a weight near 0, since the heights of those left always sum to nearly their number.
            values.iter().map(|value| Column { threshold: u64::MAX, first: *value, alias: *value }).collect();
        while let (Some(low), Some(high)) = (small.pop(), large.last().copied()) {
            // The large column fills the rest of the small one; what it has left may itself be small.
            columns[low].threshold = (heights[low] * 2f64.powi(64)) as u64;
            columns[low].alias = values[high];
            heights[high] -= 1.0 - heights[low];
            if heights[high] < 1.0 {
                large.pop();
                small.push(high);
            }
        }
        Alias { columns: columns.into() }
    }

    /// The same table of other values, without building it again.
    pub fn map<U>(&self, of: impl Fn(T) -> U) -> Alias<U> {
        let column = |column: &Column<T>| Column {
            threshold: column.threshold,
            first: of(column.first),
            alias: of(column.alias),
        };
        Alias { columns: self.columns.iter().map(column).collect() }
    }

    /// The values with their probabilities; one that stands in several columns comes as often.
    pub fn probabilities(&self) -> impl Iterator<Item = (T, f64)> + '_ {
        let each = 1.0 / self.columns.len() as f64;
        self.columns.iter().flat_map(move |column| {
            let own = column.threshold as f64 * 2f64.powi(-64);
            [(column.first, own * each), (column.alias, (1.0 - own) * each)]
        })
    }

    /// Draws one of the values. One number serves twice: its high part picks the column, the rest the side.
    #[inline]
    pub fn choose(&self, stream: &mut Stream) -> T {
        // The parts are independent up to a bias of the number of columns / 2^64.
        let scaled = u128::from(stream.next_u64()) * self.columns.len() as u128;
        let column = &self.columns[(scaled >> 64) as usize];
        if (scaled as u64) < column.threshold { column.first } else { column.alias }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::{Component, Streams};

    /// H0: each value has its weight. Chi-square with 4 degrees of freedom above 34.4: false alarm 6e-7.
    #[test]
    fn each_comes_by_its_weight_and_never_without_one() {
        let weights = [0.05, 0.5, 0.0, 0.2, 0.15, 0.1];
        let table = Alias::new(&[0usize, 1, 2, 3, 4, 5], &weights);
        let mut stream = Streams { seed: 1, replication: 0 }.stream(Component("test"), 0);
        let n = 200_000;
        let mut counts = [0.0; 6];
        (0..n).for_each(|_| counts[table.choose(&mut stream)] += 1.0);
        assert_eq!(counts[2], 0.0);
        let square = |i: usize| (counts[i] - weights[i] * f64::from(n)).powi(2) / (weights[i] * f64::from(n));
        let chi_square: f64 = [0, 1, 3, 4, 5].into_iter().map(square).sum();
        assert!(chi_square < 34.4, "{chi_square}");
    }
}
