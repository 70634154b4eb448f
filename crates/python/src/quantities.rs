//! Notation of distributions, durations and sizes, for every Python module that reads them: the grammar is that of
//! the crate `quantities`, so that Python and Rust accept the same texts.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use serde_json::Value;
use thinktime_quantities::Distribution;

use crate::convert::Plain;

pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(parse_distribution, module)?)?;
    module.add_function(wrap_pyfunction!(expand_distribution, module)?)?;
    module.add_function(wrap_pyfunction!(parse_duration, module)?)?;
    module.add_function(wrap_pyfunction!(parse_size, module)?)
}

/// A `ValueError` with the text of an error, which names item and remedy already.
fn value_error(message: impl ToString) -> PyErr {
    PyValueError::new_err(message.to_string())
}

/// The table of a distribution in any of its forms, checked.
#[pyfunction]
fn parse_distribution(description: Plain<Value>) -> PyResult<Plain<Distribution>> {
    Distribution::parse(&description.0).map(Plain).map_err(value_error)
}

/// The table that a short form stands for; its kind and parameters are not checked.
#[pyfunction]
fn expand_distribution(text: &str) -> PyResult<Plain<Value>> {
    thinktime_quantities::expand(text).map(Plain).map_err(value_error)
}

/// A duration such as `90s` in seconds.
#[pyfunction]
fn parse_duration(text: &str) -> PyResult<f64> {
    thinktime_quantities::parse_duration(text).map_err(value_error)
}

/// A size such as `64MiB` in bytes.
#[pyfunction]
fn parse_size(text: &str) -> PyResult<u64> {
    thinktime_quantities::parse_size(text).map_err(value_error)
}
