//! Per-process counters: a source reads them, a census turns them into usage by user.
//!
//! The source is exchangeable and chosen at start. It lists the processes alive and, for those that may
//! have used something since the scan before, how much they have used in all. The census knows no file
//! and no system call.

pub mod census;
pub mod commands;
mod debts;
pub mod departures;
mod ended;
pub mod exits;
pub mod gpu;
pub(crate) mod iterator;
mod listing;
pub(crate) mod netlink;
mod nvml;
mod possible;
pub(crate) mod procfs;
mod reapers;
mod settlement;
pub(crate) mod taskstats;
mod threads;
pub mod usage;
pub(crate) mod watch;

use std::io;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use self::procfs::{Files, Process};
use crate::proc::process_io::ProcessIo;
use crate::proc::process_stat::ProcessStat;

/// Way in which per-process counters are read.
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
    /// An iterator in the kernel; needs CAP_BPF and CAP_PERFMON.
    Iterator,
}

/// Key by which processes belong to users.
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

/// Counters of one process as read, cumulative since its start.
#[derive(Clone, Debug)]
pub struct Facts {
    /// Fields of `/proc/PID/stat`.
    pub stat: ProcessStat,
    /// Exact time on a CPU, of the first thread [ns]; `None` where the kernel does not measure it.
    pub run_ns: Option<u64>,
    /// Time runnable but waiting for a CPU, of all threads [ns]; see [`threads`].
    pub wait_ns: Option<u64>,
    /// The part of `wait_ns` that cannot have been: see [`possible`].
    pub wait_cut_ns: u64,
    /// `wait_ns` has the threads that have ended too.
    pub has_all_waits: bool,
    /// No reading saw a second thread.
    pub had_one_thread: bool,
    /// Time waiting for a page from swap [ns]; `None` where the source does not tell.
    pub swap_wait_ns: Option<u64>,
    /// Bytes read and written; `None` where the reader is not permitted to see them.
    pub io: Option<ProcessIo>,
    /// Name of the program or script.
    pub command: Arc<str>,
    /// Effective user.
    pub uid: u32,
    /// Path of the control group; read only if processes belong to users by it.
    pub cgroup: Option<Arc<str>>,
}

/// All processes at one sample. Kept and filled again each time, so that memory stays constant.
#[derive(Debug, Default)]
pub struct Scan {
    /// Processes alive, in ascending order, with the index of their counters in `facts`. `None` means that
    /// the process cannot have used any CPU time since the last scan.
    pub processes: Vec<(i32, Option<u32>)>,
    /// Counters of the processes that were read.
    pub facts: Vec<Facts>,
    /// Processes that are listed but whose counters may not be read.
    pub unreadable: u64,
}

impl Scan {
    /// Empties the scan and keeps its memory.
    pub fn clear(&mut self) {
        self.processes.clear();
        self.facts.clear();
        self.unreadable = 0;
    }

    /// Adds a process that has not run since the scan before. Processes are added in ascending order.
    pub fn unchanged(&mut self, pid: i32) {
        self.processes.push((pid, None));
    }

    /// Adds a process that was read. Processes are added in ascending order.
    pub fn changed(&mut self, pid: i32, facts: Facts) {
        self.processes.push((pid, Some(self.facts.len() as u32)));
        self.facts.push(facts);
    }
}

/// Reads the counters of all processes.
pub(crate) trait ProcessSource {
    /// Name of the source in the manifest.
    fn name(&self) -> &'static str;

    /// True if it measures how long processes wait for a CPU.
    fn measures_wait(&self) -> bool;

    /// True if it measures how long processes wait for pages from swap.
    fn measures_swap(&self) -> bool {
        false
    }

    /// Names commands by their whole line from now on.
    fn name_by_arguments(&mut self) {
        self.state().0.name_by_arguments();
    }

    /// The files and the processes of the scan before, in ascending order.
    fn state(&mut self) -> (&mut Files, &mut [Process]);

    /// Fills `scan` again. `forks` is the machine's count of forks, read before: while it does not grow
    /// there is no new process, and the folder need not be listed.
    fn scan(&mut self, scan: &mut Scan, forks: Option<u64>) -> io::Result<()>;

    /// Makes the next scan read every process, whether it ran or not.
    fn refresh_all(&mut self) {
        for process in self.state().1 {
            process.refresh = true;
        }
    }

    /// Makes the next scan read `pid`, whether it ran or not.
    fn refresh(&mut self, pid: i32) {
        let (_, table) = self.state();
        if let Ok(index) = table.binary_search_by_key(&pid, |process| process.pid) {
            table[index].refresh = true;
        }
    }

    /// True if the process has ended and was waited for.
    fn is_gone(&mut self, pid: i32) -> bool {
        self.state().0.uid(pid).is_none()
    }
}
