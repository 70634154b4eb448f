//! Synthetic interactive users: real processes on real pseudo-terminals, played by one driver.
//!
//! ```text
//!   driver (this process)                     nursery            a user
//!   one poll loop, one thread  -- requests -> forked early ----> prototype process, own session
//!        | writes inputs, reads output                               |
//!        +--------------- one pseudo-terminal per user --------------+
//!        +<----------------- reports: CPU, faults, reads, writes ----+
//! ```
//!
//! - [`load`]: the work of an interaction, the number of users over time, and the random numbers;
//! - [`driver`]: types the inputs, reads the output, and times both;
//! - [`nursery`]: starts the users' processes, and ensures that none outlives the play;
//! - [`accounts`]: what the programs of a shell took, read from outside;
//! - [`shell`]: users who type the lines of a script to a real shell, here or over ssh;
//! - [`user`]: the code of those processes, and measurements of the cost of a fork, page fault or context switch;
//! - [`play`](mod@play): calibration, baseline and play, written to a log;
//! - [`register`]: what a play leaves in the log, and its summaries.
//!
//! # Limitations
//! The driver runs on the machine that it loads; its CPU time is measured and reported. Response times include
//! the driver's own wait for a CPU. The split of an interaction's CPU time into user and system time is the
//! kernel's, on most kernels sampled at the tick; the sum is exact. CPU time of children that only end counts as
//! system time here, though the kernel counts it as user time.

pub mod accounts;
pub mod driver;
mod error;
pub mod interval;
pub mod load;
pub mod nursery;
pub mod play;
pub mod register;
pub mod shell;
pub mod user;

pub use error::TerminalsError;
pub use nursery::message::Program;
