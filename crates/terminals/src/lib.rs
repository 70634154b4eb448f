//! Synthetic interactive users: real processes on real pseudo-terminals, played by one driver.
//!
//! ```text
//!   driver (this process)                     nursery            a user
//!   one poll loop, one thread  -- requests -> forked early ----> prototype process, own session
//!        | writes inputs, reads output                               |
//!        +------------------ pseudo-terminal, one a user ------------+
//!        +<----------------- reports: CPU, faults, reads, writes ----+
//! ```
//!
//! - [`load`]: the work of an interaction, the number of users over time, and the random numbers;
//! - [`driver`]: types the inputs, reads the output, and times both;
//! - [`nursery`]: starts the users' processes, and sees that none outlives the play;
//! - [`user`]: the code of those processes, and the measured cost of one fork, page fault or context switch;
//! - [`play`]: calibration, baseline and play, written to a log.
//!
//! # Limitations
//! The driver runs on the machine that it loads; its CPU time is measured and reported. Response times include
//! the driver's own wait for a CPU. The split of an interaction's CPU time into user and system time is the
//! kernel's, on most kernels sampled at the tick; the sum is exact. CPU time of children that only end counts as
//! system time here, though the kernel books it as user time.

pub mod driver;
mod error;
pub mod interval;
pub mod load;
pub mod nursery;
pub mod play;
pub mod user;

pub use error::TerminalsError;
pub use nursery::message::Program;
