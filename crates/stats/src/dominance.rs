//! Points that another set dominates, by divide and conquer.
//!
//! A point is dominated by one that is at least as large in every dimension. To find what a set `high` dominates
//! of a set `low` in dimensions k, k+1, ..., both are parted at a value of dimension k: what lies above it is
//! compared with what lies above, below with below, and of above with below dimension k is already decided, so
//! that one dimension less is left (Kung, Luccio and Preparata, JACM 22, 1975, 469; Bentley, CACM 23, 1980,
//! 214). n points in d dimensions take O(n (log n)^(d-2)) comparisons or better, and never more than all pairs.

/// Pairs up to which comparing all is quicker than parting.
const PAIRS: usize = 1024;
/// Points up to which the maximal ones are found one by one.
const FEW: usize = 24;

/// Points as rows of one array, in any number of dimensions.
#[derive(Clone, Copy)]
pub(crate) struct Rows<'a> {
    /// The numbers, row after row.
    pub values: &'a [f64],
    /// Numbers in a row.
    pub dimensions: usize,
}

impl<'a> Rows<'a> {
    /// The row of number `row`. Numbers of 32 bits: the recursion holds many lists of them.
    pub fn at(&self, row: u32) -> &'a [f64] {
        &self.values[row as usize * self.dimensions..][..self.dimensions]
    }

    fn value(&self, row: u32, dimension: usize) -> f64 {
        self.values[row as usize * self.dimensions + dimension]
    }
}

/// Whether `point` is at most equal to `by` in every dimension.
#[inline]
pub(crate) fn below(point: &[f64], by: &[f64]) -> bool {
    point.iter().zip(by).all(|(a, b)| a <= b)
}

/// For each of `points`, whether it is at most equal, in every dimension, to one of `by`. Both hold rows of
/// `dimensions` numbers, none of them nan.
///
/// # Panics
/// There are no dimensions.
pub fn dominated(dimensions: usize, points: &[f64], by: &[f64]) -> Vec<bool> {
    assert!(dimensions > 0, "a point has at least one dimension");
    let count = points.len() / dimensions;
    let values = [points, by].concat();
    let rows = Rows { values: &values, dimensions };
    let mut dead = vec![false; values.len() / dimensions];
    let low: Vec<u32> = (0..count as u32).collect();
    let high: Vec<u32> = (count as u32..dead.len() as u32).collect();
    strike(rows, &high, &low, 0, &mut dead);
    // The marks of `by` itself are of no interest.
    dead.truncate(count);
    dead
}

/// The maximal ones of rows that are all different and fall in lexicographic order, so that none dominates one
/// before it; `dead` marks those that were found to be dominated.
pub(crate) fn maximal(rows: Rows<'_>, falling: &[u32], dead: &mut [bool]) -> Vec<u32> {
    if falling.len() <= FEW {
        let mut kept: Vec<u32> = Vec::with_capacity(falling.len());
        for &row in falling {
            if !kept.iter().any(|&other| below(rows.at(row), rows.at(other))) {
                kept.push(row);
            }
        }
        return kept;
    }
    let (first, second) = falling.split_at(falling.len() / 2);
    let mut high = maximal(rows, first, dead);
    let mut low = maximal(rows, second, dead);
    // The rows fall: all of `high` is at least as large in the first dimension, which is thereby decided.
    if rows.dimensions > 1 {
        strike(rows, &high, &low, 1, dead);
        low.retain(|&row| !dead[row as usize]);
    } else {
        low.clear();
    }
    high.append(&mut low);
    high
}

/// Marks the rows of `low` that one of `high` equals or exceeds in dimension `from` and all after it.
pub(crate) fn strike(rows: Rows<'_>, high: &[u32], low: &[u32], from: usize, dead: &mut [bool]) {
    let left = rows.dimensions - from;
    if high.is_empty() || low.is_empty() {
        return;
    }
    match left {
        1 => under_a_number(rows, high, low, from, dead),
        _ if high.len() * low.len() <= PAIRS => one_by_one(rows, high, low, from, dead),
        2 => under_a_staircase(rows, high, low, from, dead),
        _ => in_parts(rows, high, low, from, dead),
    }
}

/// One dimension: against the greatest of `high`.
fn under_a_number(rows: Rows<'_>, high: &[u32], low: &[u32], from: usize, dead: &mut [bool]) {
    let top = high.iter().map(|&row| rows.value(row, from)).fold(f64::NEG_INFINITY, f64::max);
    for &row in low {
        dead[row as usize] |= rows.value(row, from) <= top;
    }
}

/// Every pair; a row that is marked already is not compared again.
fn one_by_one(rows: Rows<'_>, high: &[u32], low: &[u32], from: usize, dead: &mut [bool]) {
    for &row in low {
        let point = &rows.at(row)[from..];
        if !dead[row as usize] && high.iter().any(|&other| below(point, &rows.at(other)[from..])) {
            dead[row as usize] = true;
        }
    }
}

/// Two dimensions: by falling first, against the greatest second so far.
fn under_a_staircase(rows: Rows<'_>, high: &[u32], low: &[u32], from: usize, dead: &mut [bool]) {
    let falling = |ids: &[u32]| {
        let mut pairs: Vec<(f64, f64, u32)> =
            ids.iter().map(|&row| (rows.value(row, from), rows.value(row, from + 1), row)).collect();
        // By numbers copied together: a sort of row numbers would look each comparison up in the array.
        pairs.sort_unstable_by(|a, b| b.0.total_cmp(&a.0));
        pairs
    };
    let steps = falling(high);
    let (mut next, mut top) = (0, f64::NEG_INFINITY);
    // Not by `top` alone: minus infinity is a value that points may have.
    let mut any = false;
    for (x, y, row) in falling(low) {
        while next < steps.len() && steps[next].0 >= x {
            (top, any, next) = (top.max(steps[next].1), true, next + 1);
        }
        dead[row as usize] |= any && y <= top;
    }
}

/// Three dimensions or more: parted at the median of dimension `from`.
fn in_parts(rows: Rows<'_>, high: &[u32], low: &[u32], from: usize, dead: &mut [bool]) {
    let (high, low) = within_reach(rows, high, low, from, dead);
    if high.len() * low.len() <= PAIRS {
        return strike_few(rows, &high, &low, from, dead);
    }
    let mut values: Vec<f64> = high.iter().chain(&low).map(|&row| rows.value(row, from)).collect();
    let middle = values.len() / 2;
    // The median: at most half of the rows goes into either recursion, and those at the border into neither.
    let border = *values.select_nth_unstable_by(middle, f64::total_cmp).1;
    // Before the recursion, which would otherwise hold such an array at every level.
    drop(values);
    let side = |ids: &[u32], keep: fn(f64, f64) -> bool| -> Vec<u32> {
        ids.iter().copied().filter(|&row| keep(rows.value(row, from), border)).collect()
    };
    // From above to at most the border, dimension `from` is decided: rows that it marks are not looked at again.
    strike(rows, &side(&high, |x, m| x >= m), &side(&low, |x, m| x <= m), from + 1, dead);
    strike(rows, &side(&high, |x, m| x > m), &side(&low, |x, m| x > m), from, dead);
    strike(rows, &side(&high, |x, m| x < m), &side(&low, |x, m| x < m), from, dead);
}

/// All pairs of the rows left by [`within_reach`], of which there may be none.
fn strike_few(rows: Rows<'_>, high: &[u32], low: &[u32], from: usize, dead: &mut [bool]) {
    if !high.is_empty() {
        one_by_one(rows, high, low, from, dead);
    }
}

/// The rows that can still matter: rows of `low` that no dimension puts above all of `high`, and rows of `high` that no
/// dimension puts below all of `low`.
fn within_reach(
    rows: Rows<'_>,
    high: &[u32],
    low: &[u32],
    from: usize,
    dead: &[bool],
) -> (Vec<u32>, Vec<u32>) {
    let extreme = |ids: &[u32], start: f64, choose: fn(f64, f64) -> f64| {
        let mut corner = vec![start; rows.dimensions - from];
        for &row in ids {
            for (best, &value) in corner.iter_mut().zip(&rows.at(row)[from..]) {
                *best = choose(*best, value);
            }
        }
        corner
    };
    let top = extreme(high, f64::NEG_INFINITY, f64::max);
    let low: Vec<u32> = low
        .iter()
        .copied()
        .filter(|&row| !dead[row as usize] && below(&rows.at(row)[from..], &top))
        .collect();
    let bottom = extreme(&low, f64::INFINITY, f64::min);
    let high = high.iter().copied().filter(|&row| below(&bottom, &rows.at(row)[from..])).collect();
    (high, low)
}
