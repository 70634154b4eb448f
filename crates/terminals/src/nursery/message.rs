//! What the driver, the nursery and the users' processes say to each other.
//!
//! Each message is one record of a sequenced-packet socket, in JSON: it is whole or absent.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::load::workload::Workload;
use crate::user::direct::DirectCost;
use crate::user::usage::Usage;

/// The largest message; a workload with some hundreds of classes fits.
pub(crate) const MESSAGE_BYTES_MAX: usize = 128 * 1024;

/// What a user's process needs to know.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Program {
    pub seed: u64,
    pub workload: Workload,
    /// Speed of the compute loop on this machine.
    pub steps_per_s: f64,
    /// Folder of the scratch files.
    pub scratch: PathBuf,
}

/// From the driver to the nursery.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Request {
    /// Start a user's process on the terminal that comes with this message.
    Start { user: u32, program: Box<Program> },
    /// Start a process like a user's that measures what single requests cost, with an array of this size.
    Measure { array_bytes: u64 },
}

/// The nursery's answer to a request.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Answer {
    Started { pid: i32 },
    Refused { problem: String },
}

/// From a user's process to the driver.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Report {
    /// The process has its terminal, its scratch file and its array; its session has this id.
    Ready { user: u32, session: i32 },
    /// An interaction is over: its prompt has been written.
    Done(Service),
    /// The process gives up.
    Failed { user: u32, problem: String },
    /// The answer to `Request::Measure`.
    Measured { costs: Vec<DirectCost> },
}

impl Service {
    /// CPU time in user state and in the kernel, children included, ns.
    pub fn split_ns(&self) -> (u64, u64) {
        let usage = &self.usage;
        match self.children_are_kernel {
            true => (usage.own_user_ns, usage.own_system_ns + usage.children_ns()),
            false => {
                (usage.own_user_ns + usage.children_user_ns, usage.own_system_ns + usage.children_system_ns)
            }
        }
    }
}

/// The service that an interaction received, as its process saw it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Service {
    pub user: u32,
    pub index: u64,
    /// When the process got the input line: CLOCK_MONOTONIC, ns.
    pub began_ns: u64,
    pub usage: Usage,
    /// The children's CPU time belongs to the kernel whatever its own split says: they did nothing but end.
    pub children_are_kernel: bool,
    pub reads: u64,
    pub writes: u64,
    pub output_bytes: u64,
}
