//! Arrays of numbers as bytes: NumPy reads them without a copy, and the stable interface of Python 3.10 has no
//! buffers.

use pyo3::prelude::*;
use pyo3::types::PyBytes;

/// An array of f64 as NumPy reads it from a buffer.
pub(crate) fn doubles<'py>(py: Python<'py>, values: &[f64]) -> PyResult<Bound<'py, PyBytes>> {
    PyBytes::new_with(py, 8 * values.len(), |bytes| {
        for (place, value) in bytes.chunks_exact_mut(8).zip(values) {
            place.copy_from_slice(&value.to_ne_bytes());
        }
        Ok(())
    })
}
