//! Quantities as people write them and as every part of thinktime reads them: distributions, durations, sizes,
//! addresses of random streams.
//!
//! Simulated systems, scripts, synthetic users, the recorder and the Python package share these few notations.
//! They are read here and nowhere else, so that what one command accepts another cannot refuse.
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
//! Nothing here draws: who draws decides on generator and method, because both are part of the contract
//! that the same seed gives the same bits.

mod distribution;
pub mod random;
mod units;

pub use distribution::{Distribution, DistributionError, Law, expand};
pub use units::{parse_duration, parse_size};
