//! Quantities in the notation of users and files: distributions, durations, sizes, addresses of random streams.
//!
//! Simulated systems, scripts, synthetic users, the recorder and the Python package share these few notations.
//! They are read here and nowhere else, so that no command refuses a notation that another accepts.
//!
//! ```
//! use thinktime_quantities::{Distribution, parse_duration, parse_size};
//!
//! let think: Distribution = "uniform(low=1s,high=3s)".parse()?;
//! assert_eq!(think.mean(), 2.0);
//! assert_eq!(parse_duration("500ms"), Ok(0.5));
//! assert_eq!(parse_size("64MiB"), Ok(67_108_864));
//! # Ok::<(), thinktime_quantities::DistributionError>(())
//! ```
//!
//! Nothing here draws random numbers: generator and method belong to the caller, because both are part of the
//! contract that the same seed gives the same bits.
//!
//! # Limitations
//! Distributions are on the numbers from 0 up: times and amounts have no negative values. Parameters are at most
//! 1e9, and a description is nested at most 16 levels deep.

mod distribution;
#[cfg(any(test, fuzzing))]
pub mod fuzzing;
pub mod random;
mod units;

pub use distribution::{Distribution, DistributionError, Law, expand};
pub use units::{parse_duration, parse_size};
