//! The machine that is recorded: its files, its clocks, and the units of its figures.

pub mod clock;
pub mod files;
pub mod host;
