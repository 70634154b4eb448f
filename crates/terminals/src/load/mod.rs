//! The load: the work of each interaction, the number of users over time, and the random numbers from which
//! both are drawn. Nothing here starts a process or reads a clock, so that a load can be computed twice.

pub mod population;
pub mod random;
pub mod workload;
