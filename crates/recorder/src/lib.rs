//! The Linux recorder: the counters of a machine and of its users, interval by interval, into a log.
//!
//! A sample is a look at every counter; the difference to the look before is a row. [`record`] takes
//! samples at jittered times until it is stopped. Follow one sample through the folders:
//!
//! ```text
//! recording/   wait for the deadline, take a sample, write it; stop, new parts, facts for the manifest
//! sample/      one look at the system-wide counters, and the rows that two looks make
//! processes/   one look at all processes, and the figures by user
//! proc/        parsers of the files in /proc: bytes in, numbers out, no system call
//! kernel/      the files of the machine, its clocks, the units of its figures
//! doctor/      what of all that works on this machine, and what it costs
//! ```
//!
//! Everything is read below a root that tests can exchange for a captured tree, and all time comes
//! from a [`Clock`](kernel::clock::Clock) that tests can step.

pub mod doctor;
mod error;
pub mod kernel;
pub mod notify;
pub mod proc;
pub mod processes;
mod recording;
pub mod sample;

pub use error::RecorderError;
pub use processes::{By, Method};
pub use recording::control::{Control, Progress, SignalGuard};
pub use recording::options::{GivenOptions, INTERVAL_MIN, RecordOptions, days};
pub use recording::{RecordSummary, record, record_to};
