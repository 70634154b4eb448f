//! Processes by a pass of the kernel over its threads; needs CAP_BPF and CAP_PERFMON.
//!
//! One pass over all threads tells which processes there are and how long their threads have run: nothing is listed, and
//! no file of a process is read that has not run, however many threads it has. The others are read from `/proc`.
//!
//! # Limitations
//! The numbers of processes are those of the whole machine, so that it is of no use in a container.

use std::io;

use thinktime_tracer::{Thread, Threads};

use super::possible::Passes;
use super::procfs::{Files, Known, Process};
use super::{By, ProcessSource, Scan};
use crate::kernel::clock::{Clock, SystemClock};
use crate::kernel::files::Root;
use crate::kernel::host;
use crate::proc::schedstat::ThreadSched;

/// Processes by their threads.
#[derive(Debug)]
pub struct ThreadIterator {
    threads: Threads,
    files: Files,
    table: Vec<Process>,
    passes: Passes,
    pids: Vec<i32>,
}

impl ThreadIterator {
    /// Loads the programs; an error if the kernel does not permit it.
    pub fn open(root: &Root, by: By) -> io::Result<ThreadIterator> {
        if !root.is_machine() || !host::is_first_pid_namespace(root) {
            let why = "processes have other numbers here than in the kernel";
            return Err(io::Error::new(io::ErrorKind::Unsupported, why));
        }
        let threads = Threads::open().map_err(io::Error::other)?;
        let files = Files::open(root, by)?;
        Ok(ThreadIterator { threads, files, table: Vec::new(), passes: Passes::default(), pids: Vec::new() })
    }
}

/// Reads the files of a process that may have changed; false if it has ended or may not be read. `before` are its threads at
/// the pass before.
fn visit(
    (files, passes): (&mut Files, &Passes),
    process: &mut Process,
    (before, threads): (&[Thread], &[Thread]),
    scan: &mut Scan,
) -> bool {
    let ran = before != threads;
    if ran {
        process.wait_cut_ns = process.wait_cut_ns.saturating_add(passes.impossible_ns(before, threads));
    }
    if !ran && !files.is_due(process) {
        scan.unchanged(process.pid);
        return true;
    }
    // The times of the first thread, which keeps its place until the process is gone.
    let first = threads.iter().find(|thread| thread.task == thread.process);
    let uid = first.map(|thread| thread.owner);
    // The number of slices is used nowhere below.
    let first = first.map(|thread| ThreadSched { run_ns: thread.run_ns, wait_ns: thread.wait_ns, slices: 0 });
    files.read_again(scan, process, Known { first, uid, threads })
}

impl ProcessSource for ThreadIterator {
    fn name(&self) -> &'static str {
        self.threads.name()
    }

    fn measures_wait(&self) -> bool {
        true
    }

    fn state(&mut self) -> (&mut Files, &mut [Process]) {
        (&mut self.files, &mut self.table)
    }

    fn scan(&mut self, scan: &mut Scan, _forks: Option<u64>) -> io::Result<()> {
        scan.clear();
        let threads = &mut self.threads;
        let now_ns = || u64::try_from(SystemClock.now().monotonic_ns).unwrap_or(0);
        self.passes.next(now_ns, |all| threads.read(all))?;
        let mut table = std::mem::take(&mut self.table);
        let numbers = self.passes.processes().map(|(_, threads)| threads[0].process as i32);
        // Without looking at any of them, where they are those of the pass before: nearly always.
        let is_same = table.len() == self.pids.len() && numbers.eq(self.pids.iter().copied());
        if is_same {
            self.files.advance();
        } else {
            self.pids.clear();
            self.pids.extend(self.passes.processes().map(|(_, threads)| threads[0].process as i32));
            self.files.advance_to(&mut table, &self.pids);
        }
        let mut of_processes = self.passes.processes();
        let (files, passes) = (&mut self.files, &self.passes);
        table.retain_mut(|process| {
            // There are threads for each process of the table, in its order.
            let threads = of_processes.next().unwrap_or_default();
            let stays = visit((&mut *files, passes), process, threads, scan);
            if !stays {
                files.close(std::mem::replace(process, Process::new(0)));
            }
            stays
        });
        self.table = table;
        Ok(())
    }
}
