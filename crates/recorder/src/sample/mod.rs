//! One sample: a look at every counter of the machine, and the row that two looks make.
//!
//! ```text
//! system     a look: the files of /proc, the exact time, the sessions -> Snapshot
//!   exact, sessions      sources of which a machine has one or another, chosen once
//!   missing              why a source has no figures
//! rows       two snapshots -> rows of the log
//!   counters             what a counter grew by, whether it wrapped or was reset
//!   devices              the same for disks and interfaces, which come and go
//!   sheet                a row that is filled by the names of its columns
//! ```

pub mod counters;
pub mod devices;
pub mod exact;
pub mod missing;
pub mod rows;
pub mod sessions;
pub mod sheet;
pub mod system;
