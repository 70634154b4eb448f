//! One sample: a snapshot of every counter of the machine, and the rows that two snapshots make.
//!
//! ```text
//! system     the files of /proc, the exact time, the sessions -> Snapshot
//!   exact, sessions      sources of which a machine has one or another, chosen once
//!   modes                samples of user mode and kernel, out of step with the tick
//!   missing              why a source has no numbers
//! rows       two snapshots -> rows of the log
//!   counters             growth of a counter, whether it wrapped or was reset
//!   devices              the same for disks and interfaces, which appear and disappear
//!   sheet                a row that is filled by the names of its columns
//! ```

pub mod counters;
pub(crate) mod devices;
pub(crate) mod exact;
pub(crate) mod missing;
pub(crate) mod modes;
pub(crate) mod rows;
pub(crate) mod sessions;
pub(crate) mod sheet;
pub(crate) mod system;
pub mod usage_rows;
