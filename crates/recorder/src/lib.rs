//! The Linux recorder: writes the counters of a machine and of its users to a log, interval by interval.
//!
//! A sample reads every counter; the differences to the sample before are a row. [`record`] takes samples
//! at jittered times until it is stopped. One sample passes through these folders:
//!
//! ```text
//! recording/   wait for the deadline, take a sample, write it; stop, new parts, facts for the manifest
//! sample/      a snapshot of the system-wide counters, and the rows that two snapshots make
//! processes/   a scan of all processes, and the usage by user
//! groups/      what control groups used, by their own counters
//! people/      names of users and groups, and their memory at a slow beat
//! proc/        parsers of the files in /proc: bytes in, numbers out, no system call
//! kernel/      the files of the machine, its clocks, the units of its counters
//! doctor/      which of these sources work on this machine, and what they cost
//! trace        where the time of tasks went, as programs in the kernel counted it
//! live         a recording and, meanwhile, the view of its log
//! ```
//!
//! Everything is read below a root that tests can exchange for a captured tree, and all time comes
//! from a [`Clock`](kernel::clock::Clock) that tests can step.
//!
//! # Limitations
//! Most kernels sample CPU time by state at the tick; `cpu_exact_s` is exact, but has no states, and the sampling out of
//! step with the tick, which has user mode and kernel, needs a permission. The gauges of
//! a row (memory, load averages, sessions) are those of its end, not means over it. Without
//! permission for the kernel's messages of ends, a process that starts and ends between two samples is counted only if
//! a parent waits for it.

pub mod doctor;
mod error;
#[cfg(any(test, fuzzing))]
pub mod fuzzing;
pub mod groups;
pub mod kernel;
pub mod live;
pub mod notify;
pub mod people;
pub mod proc;
pub mod processes;
mod recording;
pub mod sample;
mod trace;

pub use error::RecorderError;
pub use processes::{By, Method};
pub use recording::control::{Control, Progress, SignalGuard};
pub use recording::exports::listening_address;
pub use recording::options::{Anonymity, GivenOptions, INTERVAL_MIN, RecordOptions, days};
pub use recording::{RecordSummary, record, record_to};
pub use trace::Attach;
