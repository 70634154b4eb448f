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
//! - [`workload`]: what an interaction asks for, and the distributions it is drawn from;
//! - [`population`]: how many users play when;
//! - [`driver`]: who types what when, and what came back;
//! - [`nursery`]: how the users' processes are made, and why nothing outlives the play;
//! - [`direct`]: what one fork, page fault or context switch costs on this machine;
//! - [`play`]: the whole of it, into a log.
//!
//! # Limitations
//! The driver runs on the machine that it loads; its CPU time is measured and told. Response times hold
//! the driver's own wait for a CPU. The split of an interaction's CPU time into user and system is the
//! kernel's, on most kernels tick-sampled; the sum is exact. CPU time of children that only end counts as
//! system time here, though the kernel books it as user time.

mod busy;
pub mod compute;
pub mod direct;
pub mod driver;
mod error;
pub mod interaction;
pub mod interval;
mod memory;
mod message;
pub mod nursery;
pub mod play;
pub mod population;
mod process;
mod prototype;
pub mod random;
pub mod terminal;
mod usage;
pub mod workload;

pub use error::TerminalsError;
pub use message::Program;
