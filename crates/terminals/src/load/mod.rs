//! The load: the work that each interaction requests, the number of users over time, and the random numbers that
//! both are drawn from. Nothing here starts a process or looks at a clock.

pub mod population;
pub mod random;
pub mod workload;
