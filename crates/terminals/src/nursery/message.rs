//! Messages between the driver, the nursery and the users' processes.
//!
//! Each message is one record of a sequenced-packet socket (unix(7)), in JSON: it arrives completely or not at all, and
//! many processes can send on one socket without mixing their messages. JSON and not bytes of a struct: workloads have
//! distributions of any depth, and writing one takes microseconds, a small part of a fork.

use std::os::fd::BorrowedFd;
use std::path::PathBuf;

use rustix::net::{SendFlags, send};

use serde::{Deserialize, Serialize};

use crate::load::workload::Workload;
use crate::nursery::process::patient;
use crate::user::direct::DirectCost;
use crate::user::usage::Usage;
use crate::user::waits::Waits;

/// Size of the largest message [byte]: a workload with some hundreds of classes fits, and so does the default
/// buffer of a socket (208 KiB).
pub(crate) const MESSAGE_BYTES_MAX: usize = 128 * 1024;

/// Parameters of a user's process.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Program {
    /// Seed of the play.
    pub seed: u64,
    /// Work of the interactions.
    pub workload: Workload,
    /// Speed of the compute loop on this machine [steps per second of CPU time].
    pub steps_per_s: f64,
    /// Folder of the scratch files; or a block device, which then holds them side by side.
    pub scratch: PathBuf,
    /// Control groups that the process enters before it takes memory.
    pub groups: Vec<PathBuf>,
}

/// A program of a user, with everything that it begins with.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Command {
    /// Program and arguments.
    pub arguments: Vec<String>,
    /// The whole environment.
    pub environment: Vec<(String, String)>,
    /// Folder that is removed with all its content when the nursery ends.
    pub homes: Option<PathBuf>,
    /// Control group that is made for the program and all that it starts; with the other groups of its folder, it is
    /// removed when the nursery ends.
    pub group: Option<PathBuf>,
}

/// From the driver to the nursery.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Request {
    /// Start a user's process on the terminal that comes with this message.
    Start { user: u32, program: Box<Program> },
    /// Start a user's program on the terminal that comes with this message.
    Execute { user: u32, command: Box<Command> },
    /// Start a process like a user's that measures the costs of single requests, with an array of this size [byte].
    Measure { array_bytes: u64 },
}

/// The nursery's answer to a request.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Answer {
    /// The process runs.
    Started { pid: i32 },
    /// There is no process, for this reason.
    Refused { problem: String },
}

/// From a user's process to the driver.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Report {
    /// The process has its terminal, its scratch file and its array; its session has this number.
    Ready { user: u32, session: i32 },
    /// An interaction is over: its prompt has been written.
    Done(Service),
    /// The process cannot continue.
    Failed { user: u32, problem: String },
    /// The answer to `Request::Measure`.
    Measured { costs: Vec<DirectCost> },
}

impl Report {
    /// Sends the report to the driver.
    pub fn send(&self, socket: BorrowedFd<'_>) -> rustix::io::Result<()> {
        let bytes = serde_json::to_vec(self).unwrap_or_default();
        // NOSIGNAL: a driver that has ended is an error here, not a SIGPIPE.
        patient(|| send(socket, &bytes, SendFlags::NOSIGNAL)).map(|_| ())
    }
}

impl Service {
    /// CPU time in user state and in the kernel, children included [ns].
    pub fn split_ns(&self) -> (u64, u64) {
        // Children that only end are in the kernel all their life; their own split says user time (see `Usage`).
        let usage = &self.usage;
        match self.children_are_kernel {
            true => (usage.own_user_ns, usage.own_system_ns + usage.children_ns()),
            false => {
                (usage.own_user_ns + usage.children_user_ns, usage.own_system_ns + usage.children_system_ns)
            }
        }
    }
}

/// Service received by an interaction, as measured by its process.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Service {
    /// Number of the user.
    pub user: u32,
    /// Number of the interaction.
    pub index: u64,
    /// Instant at which the process read the input line: CLOCK_MONOTONIC [ns].
    pub began_ns: u64,
    /// CPU time and page faults of the process and its children.
    pub usage: Usage,
    /// Waits of the process and its children until it wrote the prompt.
    pub waits: Waits,
    /// Children forked.
    pub forks: u64,
    /// True if the children's CPU time is the kernel's, whatever its own split says: they only ended.
    pub children_are_kernel: bool,
    /// Blocks read from the scratch file.
    pub reads: u64,
    /// Blocks written to the scratch file.
    pub writes: u64,
    /// Bytes written to the terminal, prompt included.
    pub output_bytes: u64,
}
