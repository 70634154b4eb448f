//! Processes by an iterator in the kernel; needs CAP_BPF and CAP_PERFMON.
//!
//! One pass over all threads tells which processes there are and how long their threads have run: nothing is listed, and
//! no file of a process is read that has not run, however many threads it has. The others are read from `/proc`.
//!
//! # Limitations
//! The numbers of processes are those of the whole machine, so that it is of no use in a container.

use std::io;

use thinktime_tracer::{Thread, Threads};

use super::procfs::{Files, Process};
use super::{By, ProcessSource, Scan};
use crate::kernel::files::Root;
use crate::kernel::host;
use crate::proc::schedstat::ThreadSched;

/// Processes by an iterator.
#[derive(Debug)]
pub struct ThreadIterator {
    threads: Threads,
    files: Files,
    table: Vec<Process>,
    all: Vec<Thread>,
    pids: Vec<i32>,
}

impl ThreadIterator {
    /// Loads the iterator; an error if the kernel does not permit it.
    pub fn open(root: &Root, by: By) -> io::Result<ThreadIterator> {
        if !root.is_machine() || !host::is_first_pid_namespace(root) {
            let why = "processes have other numbers here than in the kernel";
            return Err(io::Error::new(io::ErrorKind::Unsupported, why));
        }
        let threads = Threads::open().map_err(io::Error::other)?;
        let files = Files::open(root, by)?;
        Ok(ThreadIterator { threads, files, table: Vec::new(), all: Vec::new(), pids: Vec::new() })
    }

    /// Reads the files of a process that may have changed; false if it has ended or may not be read.
    fn visit(files: &mut Files, process: &mut Process, threads: &[Thread], scan: &mut Scan) -> bool {
        let all_ns = threads.iter().fold(0u64, |sum, thread| sum.wrapping_add(thread.run_ns));
        let ran = all_ns != process.all_ns || threads.len() as u64 != u64::from(process.threads);
        if !ran && !files.is_due(process) {
            scan.unchanged(process.pid);
            return true;
        }
        // The times of the first thread, which keeps its place until the process is gone.
        let first = threads.iter().find(|thread| thread.task == thread.process);
        // The number of slices is used nowhere below.
        let sched =
            first.map(|thread| ThreadSched { run_ns: thread.run_ns, wait_ns: thread.wait_ns, slices: 0 });
        let stays = files.read_again(scan, process, sched);
        // As of before its files were read: time used in between shows as a change at the next sample.
        process.all_ns = all_ns;
        stays
    }
}

impl ProcessSource for ThreadIterator {
    fn name(&self) -> &'static str {
        "iterator over threads"
    }

    fn measures_wait(&self) -> bool {
        true
    }

    fn state(&mut self) -> (&mut Files, &mut [Process]) {
        (&mut self.files, &mut self.table)
    }

    fn scan(&mut self, scan: &mut Scan, _forks: Option<u64>) -> io::Result<()> {
        scan.clear();
        self.threads.read(&mut self.all)?;
        self.pids.clear();
        self.pids.extend(self.all.chunk_by(same_process).map(|threads| threads[0].process as i32));
        let mut table = std::mem::take(&mut self.table);
        self.files.advance_to(&mut table, &self.pids);
        let mut of_processes = self.all.chunk_by(same_process);
        table.retain_mut(|process| {
            // There are threads for each process of the table, in its order.
            let threads = of_processes.next().unwrap_or_default();
            let stays = ThreadIterator::visit(&mut self.files, process, threads, scan);
            if !stays {
                self.files.close(std::mem::replace(process, Process::new(0)));
            }
            stays
        });
        self.table = table;
        Ok(())
    }
}

fn same_process(one: &Thread, other: &Thread) -> bool {
    one.process == other.process
}
