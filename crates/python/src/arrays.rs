//! Arrays of numbers as bytes: NumPy reads them without a copy, and the stable interface of Python 3.10 has no
//! buffers.

use pyo3::prelude::*;
use pyo3::types::PyBytes;

/// The bytes of an array of f64, for `numpy.frombuffer`. Written in place: a list of Python floats would cost an
/// object for each number.
pub(crate) fn doubles<'py>(py: Python<'py>, values: &[f64]) -> PyResult<Bound<'py, PyBytes>> {
    PyBytes::new_with(py, 8 * values.len(), |bytes| {
        // Native byte order: the reader is NumPy in the same process.
        for (place, value) in bytes.chunks_exact_mut(8).zip(values) {
            place.copy_from_slice(&value.to_ne_bytes());
        }
        Ok(())
    })
}
