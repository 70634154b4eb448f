//! First-order recursions down the rows of a table: sums in which the past counts less and less.

/// Replaces each row of `columns` columns by itself plus `correlation` times the row before it as replaced: y[t] = x[t] +
/// r y[t-1]. One product and one sum for each number, in this order, so that the bits are those of any filter that does the same.
pub fn recurse(values: &mut [f64], columns: usize, correlation: f64) {
    if columns == 0 {
        return;
    }
    let mut rows = values.chunks_exact_mut(columns);
    let Some(mut before) = rows.next() else { return };
    for row in rows {
        for (value, earlier) in row.iter_mut().zip(before.iter()) {
            *value += correlation * earlier;
        }
        before = row;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_column_is_its_own_recursion() {
        let mut values = [1.0, 10.0, 2.0, 20.0, 3.0, 30.0];
        recurse(&mut values, 2, 0.5);
        assert_eq!(values, [1.0, 10.0, 2.5, 25.0, 4.25, 42.5]);
    }

    #[test]
    fn nothing_stays_nothing() {
        recurse(&mut [], 3, 0.5);
        recurse(&mut [], 0, 0.5);
        let mut one = [7.0, 8.0];
        recurse(&mut one, 2, 0.5);
        assert_eq!(one, [7.0, 8.0]);
    }
}
