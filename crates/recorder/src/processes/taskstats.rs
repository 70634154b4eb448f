//! Processes by taskstats, the kernel's accounting interface over netlink; needs CAP_NET_ADMIN.
//!
//! Requests go out 64 in one message and answers come back 64 in one call. A process with one
//! thread whose run time did not change has not run; the others are read from `/proc` as well,
//! because taskstats knows neither the session nor the children that were waited for, nor, for a
//! process with several threads, the sum over them.

use std::io;

use super::netlink::{Record, TaskstatsSocket};
use super::procfs::{Files, Outcome, Process};
use super::{By, ProcessSource, Scan};
use crate::files::Root;
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
    /// Fails where the kernel has no taskstats or does not permit them.
    pub fn open(root: &Root, by: By) -> io::Result<Taskstats> {
        Ok(Taskstats {
            socket: TaskstatsSocket::open()?,
            files: Files::open(root, by)?,
            table: Vec::new(),
            pids: Vec::new(),
            records: Vec::new(),
        })
    }

    fn visit(&mut self, mut process: Process, record: &Record, scan: &mut Scan) -> Option<Process> {
        let ran = record.run_ns != process.run_ns || process.threads > 1;
        if !ran && !self.files.is_due(&process) {
            scan.unchanged(process.pid);
            return Some(process);
        }
        let sched = ThreadSched { run_ns: record.run_ns, wait_ns: record.wait_ns, slices: 0 };
        match self.files.facts(&mut process, Some(sched)) {
            Outcome::Read(facts) => {
                scan.changed(process.pid, facts);
                Some(process)
            }
            Outcome::Gone => {
                self.files.close(process);
                None
            }
            Outcome::Denied => {
                scan.unreadable += 1;
                self.files.close(process);
                None
            }
        }
    }
}

impl ProcessSource for Taskstats {
    fn name(&self) -> &'static str {
        "taskstats, batched"
    }

    fn measures_wait(&self) -> bool {
        true
    }

    fn refresh_all(&mut self) {
        for process in &mut self.table {
            process.refresh = true;
        }
    }

    fn scan(&mut self, scan: &mut Scan) -> io::Result<()> {
        scan.clear();
        self.files.advance();
        let mut pids = std::mem::take(&mut self.pids);
        let mut records = std::mem::take(&mut self.records);
        self.files.listing.read(&mut pids)?;
        self.socket.ask(&pids, &mut records)?;
        let mut next = Vec::with_capacity(pids.len());
        let mut known = std::mem::take(&mut self.table).into_iter().peekable();
        for (pid, record) in pids.iter().zip(&records) {
            while let Some(ended) = known.next_if(|process| process.pid < *pid) {
                self.files.close(ended);
            }
            let before = known.next_if(|process| process.pid == *pid);
            let Some(record) = record else { continue };
            let visited = match before {
                Some(process) => self
                    .visit(process, record, scan)
                    .or_else(|| self.visit(Process::new(*pid), record, scan)),
                None => self.visit(Process::new(*pid), record, scan),
            };
            next.extend(visited);
        }
        known.for_each(|ended| self.files.close(ended));
        self.table = next;
        (self.pids, self.records) = (pids, records);
        Ok(())
    }

    fn refresh(&mut self, pid: i32) {
        if let Ok(at) = self.table.binary_search_by_key(&pid, |process| process.pid) {
            self.table[at].refresh = true;
        }
    }

    fn is_gone(&mut self, pid: i32) -> bool {
        self.files.uid(pid).is_none()
    }
}
