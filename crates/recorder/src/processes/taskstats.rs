//! Processes by taskstats, the kernel's accounting interface over netlink; needs CAP_NET_ADMIN.
//!
//! 64 requests go out in one message and 64 answers come back in one call. A process with one thread
//! whose run time did not change has not run; the others are read from `/proc` as well, because
//! taskstats has neither the session nor the totals for waited-for children.
//!
//! # Limitations
//! Needs CAP_NET_ADMIN in the initial user namespace, so that it is not usable in most containers.

use std::io;

use super::netlink::{Of, Record, TaskstatsSocket};
use super::procfs::{Files, Known, Process};
use super::{By, ProcessSource, Scan};
use crate::kernel::files::Root;
use crate::proc::schedstat::ThreadSched;

/// Processes by taskstats.
#[derive(Debug)]
pub struct Taskstats {
    socket: TaskstatsSocket,
    files: Files,
    table: Vec<Process>,
    pids: Vec<i32>,
    records: Vec<Option<Record>>,
}

impl Taskstats {
    /// Opens the source; an error if the kernel has no taskstats or does not permit them.
    pub fn open(root: &Root, by: By) -> io::Result<Taskstats> {
        Ok(Taskstats {
            socket: TaskstatsSocket::open()?,
            files: Files::open(root, by)?,
            table: Vec::new(),
            pids: Vec::new(),
            records: Vec::new(),
        })
    }

    /// Reads the files of a process that may have changed; false if it has ended or may not be read.
    fn visit(&mut self, process: &mut Process, record: &Record, scan: &mut Scan) -> bool {
        let ran = record.run_ns != process.run_ns || process.threads > 1;
        if !ran && !self.files.is_due(process) {
            scan.unchanged(process.pid);
            return true;
        }
        // The number of slices is used nowhere below.
        let first = ThreadSched { run_ns: record.run_ns, wait_ns: record.wait_ns, slices: 0 };
        if !self.files.read_again(scan, process, Known { first: Some(first), ..Known::default() }) {
            return false;
        }
        if let Some(facts) = scan.facts.last_mut() {
            facts.swap_wait_ns = Some(process.swap_wait_ns().unwrap_or(record.swap_wait_ns));
        }
        true
    }
}

impl ProcessSource for Taskstats {
    fn name(&self) -> &'static str {
        "taskstats, batched"
    }

    fn measures_wait(&self) -> bool {
        true
    }

    fn measures_swap(&self) -> bool {
        true
    }

    fn state(&mut self) -> (&mut Files, &mut [Process]) {
        (&mut self.files, &mut self.table)
    }

    fn scan(&mut self, scan: &mut Scan, forks: Option<u64>) -> io::Result<()> {
        scan.clear();
        let mut table = std::mem::take(&mut self.table);
        self.files.advance_and_list(&mut table, forks)?;
        self.pids.clear();
        self.pids.extend(table.iter().map(|process| process.pid));
        let mut records = std::mem::take(&mut self.records);
        self.socket.request(&self.pids, Of::FirstThread, &mut records)?;
        let mut answers = records.iter();
        table.retain_mut(|process| {
            // There is an answer for each process of the table, in its order.
            let stays = match answers.next() {
                Some(Some(record)) => self.visit(process, record, scan),
                _ => false,
            };
            if !stays {
                self.files.close(std::mem::replace(process, Process::new(0)));
            }
            stays
        });
        self.table = table;
        self.records = records;
        Ok(())
    }
}
