//! The Linux recorder: the counters of a machine and of its users, interval by interval, into a log.
//!
//! A sample is a [look](system::SystemReader) at every counter; the difference to the look before is
//! a row. [`record`] does that at jittered times until it is stopped. Everything is read below a
//! root that tests can exchange for a captured tree, and all time comes from a
//! [`clock`](clock::Clock) that tests can step.

pub mod clock;
mod control;
mod cost;
pub mod counters;
mod devices;
pub mod doctor;
mod error;
mod exact;
mod files;
mod machine;
mod missing;
pub mod notify;
mod options;
pub mod proc;
pub mod processes;
mod record;
mod rows;
mod sessions;
mod sheet;
mod summary;
mod system;
pub mod tick;
mod users;

pub use control::{Control, Progress, SignalGuard};
pub use error::RecorderError;
pub use options::{INTERVAL_MIN, Method, OptionsText, RecordOptions, days};
pub use processes::By;
pub use record::{RecordSummary, record, record_to};
