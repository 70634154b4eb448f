//! The recorded machine: its files, its clocks, and the units of its counters.

pub mod clock;
pub(crate) mod files;
pub(crate) mod host;
