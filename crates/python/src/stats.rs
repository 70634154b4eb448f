//! Sets of maximal points, dominance between sets, and autoregressive sums, for `thinktime.stats`. Numbers cross as bytes
//! of arrays.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use thinktime_stats::{autoregression, dominance, pareto};

use crate::arrays::doubles;

pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<NativeParetoSet>()?;
    module.add_function(wrap_pyfunction!(recursion, module)?)?;
    module.add_function(wrap_pyfunction!(dominated, module)?)
}

/// Reads the bytes of an array of f64 into `into`, whose memory is used again from call to call. The bytes of a Python
/// object need not be aligned for doubles, hence the copy.
fn numbers(bytes: &[u8], into: &mut Vec<f64>) {
    into.clear();
    into.extend(bytes.chunks_exact(8).map(|eight| f64::from_ne_bytes(eight.try_into().unwrap_or_default())));
}

/// Checks that `bytes` are whole rows.
fn check(dimensions: usize, bytes: &[u8]) -> PyResult<()> {
    if dimensions == 0 || bytes.len() % (8 * dimensions) != 0 {
        let message = format!("{} bytes are not rows of {dimensions} numbers", bytes.len());
        return Err(PyValueError::new_err(message));
    }
    Ok(())
}

/// The maximal points of a stream.
// Not frozen: adding a point changes it, and PyO3 refuses a second thread meanwhile.
#[pyclass]
struct NativeParetoSet {
    set: pareto::ParetoSet,
    dimensions: usize,
    buffer: Vec<f64>,
}

#[pymethods]
impl NativeParetoSet {
    #[new]
    /// An empty set of points with this number of dimensions, at least one.
    fn new(dimensions: usize) -> PyResult<NativeParetoSet> {
        if dimensions == 0 {
            return Err(PyValueError::new_err("a point has at least one dimension"));
        }
        Ok(NativeParetoSet { set: pareto::ParetoSet::new(dimensions), dimensions, buffer: Vec::new() })
    }

    /// Number of points added so far.
    #[getter]
    fn n(&self) -> u64 {
        self.set.n()
    }

    /// Points as the bytes of an array of rows.
    fn absorb(&mut self, py: Python<'_>, rows: &[u8]) -> PyResult<()> {
        check(self.dimensions, rows)?;
        numbers(rows, &mut self.buffer);
        py.detach(|| self.set.absorb(&self.buffer)).map_err(|error| PyValueError::new_err(error.to_string()))
    }

    /// Points of a stream that comes after this one.
    fn merge(&mut self, py: Python<'_>, later: PyRef<'_, NativeParetoSet>) -> PyResult<()> {
        if later.dimensions != self.dimensions {
            return Err(PyValueError::new_err("the two sets have points of different dimensions"));
        }
        let later = &later.set;
        py.detach(|| self.set.merge(later));
        Ok(())
    }

    /// Rows, and their positions in the stream as i64, growing.
    fn maximal<'py>(&mut self, py: Python<'py>) -> PyResult<(Bound<'py, PyBytes>, Bound<'py, PyBytes>)> {
        let (rows, positions) = py.detach(|| self.set.maximal());
        // Signed, as NumPy's own indices: it would turn sums of u64 and signed integers into floats.
        let places: Vec<u8> = positions.iter().flat_map(|&place| (place as i64).to_ne_bytes()).collect();
        Ok((doubles(py, rows)?, PyBytes::new(py, &places)))
    }
}

/// For each of `points` a byte: 1 if one of `by` equals or exceeds it in everything.
#[pyfunction]
fn dominated<'py>(
    py: Python<'py>,
    dimensions: usize,
    points: &[u8],
    by: &[u8],
) -> PyResult<Bound<'py, PyBytes>> {
    check(dimensions, points)?;
    check(dimensions, by)?;
    // Copied before the GIL is released: the bytes belong to Python objects.
    let (mut below, mut above) = (Vec::new(), Vec::new());
    numbers(points, &mut below);
    numbers(by, &mut above);
    let is_below = py.detach(|| dominance::dominated(dimensions, &below, &above));
    Ok(PyBytes::new(py, &is_below.into_iter().map(u8::from).collect::<Vec<u8>>()))
}

/// Rows, each with `correlation` times the row before it as it was returned.
#[pyfunction]
fn recursion<'py>(
    py: Python<'py>,
    columns: usize,
    correlation: f64,
    rows: &[u8],
) -> PyResult<Bound<'py, PyBytes>> {
    check(columns, rows)?;
    let mut values = Vec::new();
    numbers(rows, &mut values);
    py.detach(|| autoregression::recurse(&mut values, columns, correlation));
    doubles(py, &values)
}
