//! Statistics whose loops cannot be written as operations on NumPy arrays.
//!
//! Pure functions of numbers: no file, no Python, no other crate of thinktime. Their use and their sources are
//! described in `thinktime.stats`.

pub mod autoregression;
pub mod dominance;
pub mod pareto;
