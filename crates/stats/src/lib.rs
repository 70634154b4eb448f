//! Statistics whose loops NumPy has no word for.
//!
//! Pure functions of numbers: no file, no Python, nothing else of ours. What they are for, and where they
//! come from, stands in `thinktime.stats`.

pub mod dominance;
pub mod pareto;
