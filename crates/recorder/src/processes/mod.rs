//! Per-process figures: a source reads them, a census turns them into figures by user.
//!
//! The source is exchangeable and chosen at start. It says which processes are alive and, for those
//! that may have used something since it looked last, how much they have used in all. The census
//! knows no file and no system call.

pub mod census;
pub mod listing;
mod netlink;
pub mod procfs;
pub mod taskstats;
pub mod watch;

use std::io;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::proc::process_io::ProcessIo;
use crate::proc::process_stat::ProcessStat;

/// How per-process figures are read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Method {
    /// Whichever costs less here, measured at start.
    #[default]
    Auto,
    /// `/proc` with descriptors kept open.
    Procfs,
    /// taskstats by netlink, in batches; needs CAP_NET_ADMIN.
    Taskstats,
}

/// By what the processes are told apart.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum By {
    /// The effective user: `uid:1000`.
    #[default]
    Uid,
    /// The session, of which every terminal has its own: `session:4711`.
    Session,
    /// The control group, by its path.
    Cgroup,
    /// Not at all: no process is looked at.
    None,
}

/// The figures of one process as read.
#[derive(Clone, Debug)]
pub struct Facts {
    pub stat: ProcessStat,
    /// Exact time on a CPU of the first thread, in nanoseconds.
    pub run_ns: Option<u64>,
    /// Time runnable but waiting, of the first thread.
    pub wait_ns: Option<u64>,
    /// `None` where the reader may not see it.
    pub io: Option<ProcessIo>,
    pub uid: u32,
    /// Read only when processes are told apart by it.
    pub cgroup: Option<Arc<str>>,
}

/// All processes at one sample. Kept and filled anew each time, so that memory stays constant.
#[derive(Debug, Default)]
pub struct Scan {
    /// Processes alive, in ascending order, with the place of their figures in `facts`.
    /// `None` means that the process cannot have used any CPU time since the last scan.
    pub processes: Vec<(i32, Option<u32>)>,
    pub facts: Vec<Facts>,
    /// Processes that are listed but whose figures may not be read.
    pub unreadable: u64,
}

impl Scan {
    pub fn clear(&mut self) {
        self.processes.clear();
        self.facts.clear();
        self.unreadable = 0;
    }

    pub fn unchanged(&mut self, pid: i32) {
        self.processes.push((pid, None));
    }

    pub fn changed(&mut self, pid: i32, facts: Facts) {
        self.processes.push((pid, Some(self.facts.len() as u32)));
        self.facts.push(facts);
    }
}

/// Reads the figures of all processes.
pub trait ProcessSource {
    /// For the manifest.
    fn name(&self) -> &'static str;

    /// Whether it measures how long processes wait for a CPU.
    fn measures_wait(&self) -> bool;

    /// Has the next scan read every process, whether it ran or not.
    fn refresh_all(&mut self);

    /// Fills `scan` anew. `forks` is the machine's count of forks, read before: where it did not
    /// grow there is no new process, and none has to be looked for.
    fn scan(&mut self, scan: &mut Scan, forks: Option<u64>) -> io::Result<()>;

    /// Asks that the next scan reads `pid` whether it ran or not.
    fn refresh(&mut self, pid: i32);

    /// Whether the process has ended and was waited for.
    fn is_gone(&mut self, pid: i32) -> bool;
}
