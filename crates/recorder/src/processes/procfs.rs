//! Processes by `/proc`, with descriptors kept open; works without privileges.
//!
//! A process with one thread whose `schedstat` did not change since the last sample has not run, and
//! one that has not run cannot have used, forked or waited for anything: its other files are not
//! read. The first thread's file says nothing about the others, so a process with more threads is
//! read from `stat` each time, which holds all of them: exact in total, in ticks of 10 ms.
//! (A thread is made by a thread: a process that has one only gets a second one by running.)

use std::fmt::Write as _;
use std::fs::File;
use std::io;
use std::sync::Arc;

use rustix::fs::{AtFlags, Mode, OFlags, openat, statat};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use super::listing::Listing;
use super::{By, Facts, ProcessSource, Scan};
use crate::kernel::files::{Root, read_once};
use crate::proc::schedstat::ThreadSched;
use crate::proc::{cgroup, process_io, process_stat, schedstat};

/// Each process is read at least every this many samples: its memory shrinks and its group changes
/// without it running.
const REFRESH_SAMPLES: u32 = 64;
/// A process this young is looked at more closely: logins and services change their user then.
const YOUNG_READS: u32 = 8;
/// `stat` is the longest of a process's files: 52 numbers and a name.
const BUFFER_BYTES: usize = 4096;

/// A file of one process: open as long as there are descriptors to spare.
#[derive(Debug)]
enum Kept {
    Unopened,
    Open(File),
    Denied,
}

/// What is kept of one process between samples.
#[derive(Debug)]
pub(super) struct Process {
    pub(super) pid: i32,
    schedstat: Kept,
    stat: Kept,
    io: Kept,
    pub(super) run_ns: u64,
    pub(super) threads: u32,
    reads: u32,
    uid: u32,
    cgroup: Option<Arc<str>>,
    pub(super) refresh: bool,
}

impl Process {
    pub(super) fn new(pid: i32) -> Process {
        Process {
            pid,
            schedstat: Kept::Unopened,
            stat: Kept::Unopened,
            io: Kept::Unopened,
            run_ns: 0,
            threads: 1,
            reads: 0,
            uid: 0,
            cgroup: None,
            refresh: true,
        }
    }

    /// How many files are open.
    fn descriptors(&self) -> u64 {
        [&self.schedstat, &self.stat, &self.io].iter().filter(|kept| matches!(kept, Kept::Open(_))).count()
            as u64
    }
}

/// How many descriptors may be kept open.
#[derive(Debug)]
struct Budget {
    used: u64,
    limit: u64,
}

impl Budget {
    fn new() -> Budget {
        Budget { used: 0, limit: Budget::within(getrlimit(Resource::Nofile).current) }
    }

    /// A quarter of what the process may open is left for everything else, and at least 64.
    fn within(limit: Option<u64>) -> u64 {
        let limit = limit.unwrap_or(u64::MAX);
        limit.saturating_sub((limit / 4).max(64))
    }

    /// Takes one, raising the soft limit to the hard one when it is needed.
    fn take(&mut self) -> bool {
        if self.used >= self.limit {
            let limits = getrlimit(Resource::Nofile);
            let raised = Rlimit { current: limits.maximum, maximum: limits.maximum };
            if limits.current == limits.maximum || setrlimit(Resource::Nofile, raised).is_err() {
                return false;
            }
            self.limit = Budget::within(limits.maximum);
        }
        self.used += 1;
        true
    }

    fn give_back(&mut self, descriptors: u64) {
        self.used = self.used.saturating_sub(descriptors);
    }
}

/// The files of processes, by name below `/proc`.
#[derive(Debug)]
pub(super) struct Files {
    listing: Listing,
    by: By,
    samples: u32,
    /// Forks of the machine when the folder was listed last.
    forks: Option<u64>,
    pids: Vec<i32>,
    name: String,
    buffer: Vec<u8>,
    budget: Budget,
}

/// What became of reading a file of a process.
enum Outcome<T> {
    Read(T),
    /// The process has ended.
    Gone,
    Denied,
}

impl Files {
    pub(super) fn open(root: &Root, by: By) -> io::Result<Files> {
        let listing = Listing::open(root)?;
        Ok(Files {
            listing,
            by,
            samples: 0,
            forks: None,
            pids: Vec::new(),
            name: String::new(),
            buffer: vec![0; BUFFER_BYTES],
            budget: Budget::new(),
        })
    }

    fn name(&mut self, pid: i32, file: &str) {
        self.name.clear();
        // Writing to a String cannot fail.
        let _ = write!(self.name, "{pid}{file}");
    }

    fn open_file(&mut self, pid: i32, file: &str) -> rustix::io::Result<File> {
        self.name(pid, file);
        let flags = OFlags::RDONLY | OFlags::CLOEXEC;
        openat(self.listing.folder(), self.name.as_str(), flags, Mode::empty()).map(File::from)
    }

    fn read<T>(
        &mut self,
        pid: i32,
        file: &'static str,
        kept: &mut Kept,
        parse: impl Fn(&[u8], &str) -> Option<T>,
    ) -> Outcome<T> {
        if let Kept::Open(open) = kept {
            return outcome(read_once(&*open, &mut self.buffer), file, parse);
        }
        if matches!(kept, Kept::Denied) {
            return Outcome::Denied;
        }
        let open = match self.open_file(pid, file) {
            Ok(open) => open,
            Err(rustix::io::Errno::ACCESS | rustix::io::Errno::PERM) => {
                *kept = Kept::Denied;
                return Outcome::Denied;
            }
            Err(_) => return Outcome::Gone,
        };
        let result = outcome(read_once(&open, &mut self.buffer), file, parse);
        if matches!(result, Outcome::Denied) {
            *kept = Kept::Denied;
        } else if self.budget.take() {
            *kept = Kept::Open(open);
        }
        result
    }

    /// The user of a process. The folder's owner is its effective user, also where the owner of the
    /// files in it is root because the program is not to be looked into.
    pub(super) fn uid(&mut self, pid: i32) -> Option<u32> {
        self.name(pid, "");
        statat(self.listing.folder(), self.name.as_str(), AtFlags::empty()).ok().map(|folder| folder.st_uid)
    }

    /// The next sample begins: new processes are put into `table`.
    ///
    /// Those that ended are taken out when the folder is listed, else found when they are read.
    pub(super) fn advance(&mut self, table: &mut Vec<Process>, forks: Option<u64>) -> io::Result<()> {
        self.samples = self.samples.wrapping_add(1);
        // Nothing was forked, so nothing new can be in the folder: it is not listed.
        if forks.is_some() && forks == self.forks {
            return Ok(());
        }
        self.forks = forks;
        // Taken out for the borrow and put back: its memory is used again.
        let mut pids = std::mem::take(&mut self.pids);
        self.listing.read(&mut pids)?;
        self.match_table(table, &pids);
        self.pids = pids;
        Ok(())
    }

    /// Whether the process is to be read although it did not run.
    pub(super) fn is_due(&self, process: &Process) -> bool {
        // By number: the due ones are spread over the samples, so that no sample is dearer than the others.
        process.refresh || (process.pid as u32).wrapping_add(self.samples) % REFRESH_SAMPLES == 0
    }

    fn schedstat(&mut self, process: &mut Process) -> Outcome<ThreadSched> {
        let parse = |text: &[u8], file: &str| schedstat::parse_thread(text, file).ok();
        self.read(process.pid, "/schedstat", &mut process.schedstat, parse)
    }

    /// Everything about a process, given what is known of its first thread's time.
    fn facts(&mut self, process: &mut Process, sched: Option<ThreadSched>) -> Outcome<Facts> {
        let pid = process.pid;
        let due = self.is_due(process);
        let parse = |text: &[u8], file: &str| process_stat::parse(text, file).ok();
        let stat = match self.read(pid, "/stat", &mut process.stat, parse) {
            Outcome::Read(stat) => stat,
            Outcome::Gone => return Outcome::Gone,
            Outcome::Denied => return Outcome::Denied,
        };
        // As read before `stat`: what ran in between is seen as a change at the next sample.
        process.run_ns = sched.map_or(0, |sched| sched.run_ns);
        process.threads = stat.threads;
        process.refresh = false;
        process.reads = process.reads.saturating_add(1);
        let parse = |text: &[u8], file: &str| process_io::parse(text, file).ok();
        // Another user's I/O is denied without privileges: absent, not zero.
        let io = match self.read(pid, "/io", &mut process.io, parse) {
            Outcome::Read(io) => Some(io),
            Outcome::Gone | Outcome::Denied => None,
        };
        if self.by == By::Cgroup && (due || process.reads <= YOUNG_READS) {
            process.cgroup = self.cgroup(pid);
        }
        // A process that ended just now keeps the user that it had.
        process.uid = self.uid(pid).unwrap_or(process.uid);
        Outcome::Read(Facts {
            stat,
            run_ns: sched.map(|sched| sched.run_ns),
            wait_ns: sched.map(|sched| sched.wait_ns),
            io,
            uid: process.uid,
            cgroup: process.cgroup.clone(),
        })
    }

    /// Reads everything about a process into `scan`; false when it has gone or may not be looked at.
    pub(super) fn read_into(
        &mut self,
        scan: &mut Scan,
        process: &mut Process,
        sched: Option<ThreadSched>,
    ) -> bool {
        match self.facts(process, sched) {
            Outcome::Read(facts) => {
                scan.changed(process.pid, facts);
                true
            }
            Outcome::Gone => false,
            Outcome::Denied => {
                scan.unreadable += 1;
                false
            }
        }
    }

    /// Takes ended processes out of `table` and puts new ones in; both lists ascend.
    ///
    /// Nothing moves in memory when none came or went, which is nearly always.
    fn match_table(&mut self, table: &mut Vec<Process>, pids: &[i32]) {
        if table.iter().map(|process| process.pid).eq(pids.iter().copied()) {
            return;
        }
        let mut next = Vec::with_capacity(pids.len());
        let mut known = std::mem::take(table).into_iter().peekable();
        for pid in pids {
            while let Some(ended) = known.next_if(|process| process.pid < *pid) {
                self.close(ended);
            }
            next.push(known.next_if(|process| process.pid == *pid).unwrap_or_else(|| Process::new(*pid)));
        }
        known.for_each(|ended| self.close(ended));
        *table = next;
    }

    /// Closes the files of a process that has gone.
    pub(super) fn close(&mut self, process: Process) {
        self.budget.give_back(process.descriptors());
    }

    fn cgroup(&mut self, pid: i32) -> Option<Arc<str>> {
        let file = self.open_file(pid, "/cgroup").ok()?;
        let text = read_once(&file, &mut self.buffer).ok()?;
        cgroup::parse(text).map(Arc::from)
    }
}

fn outcome<T>(read: io::Result<&[u8]>, file: &str, parse: impl Fn(&[u8], &str) -> Option<T>) -> Outcome<T> {
    match read {
        // An open file of a process that has ended reads as empty, or fails with ESRCH.
        Ok([]) => Outcome::Gone,
        Ok(text) => parse(text, file).map_or(Outcome::Gone, Outcome::Read),
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => Outcome::Denied,
        Err(_) => Outcome::Gone,
    }
}

/// Processes by `/proc`.
#[derive(Debug)]
pub struct Procfs {
    files: Files,
    has_schedstat: bool,
    table: Vec<Process>,
}

impl Procfs {
    /// The source for `root`, with nothing read yet.
    pub fn open(root: &Root, by: By) -> io::Result<Procfs> {
        Ok(Procfs { files: Files::open(root, by)?, has_schedstat: has_schedstat(root), table: Vec::new() })
    }

    /// Reads what has to be read of a process; false when it has gone or may not be looked at.
    fn visit(&mut self, process: &mut Process, scan: &mut Scan) -> bool {
        let mut sched = None;
        if self.has_schedstat {
            match self.files.schedstat(process) {
                Outcome::Read(read) => sched = Some(read),
                Outcome::Gone => return false,
                Outcome::Denied => {
                    scan.unreadable += 1;
                    return false;
                }
            }
        }
        // Without schedstat nothing says that a process did not run: each is read.
        let ran = sched.is_none_or(|sched| sched.run_ns != process.run_ns) || process.threads > 1;
        if !ran && !self.files.is_due(process) {
            scan.unchanged(process.pid);
            return true;
        }
        self.files.read_into(scan, process, sched)
    }

    /// A process known before, or a new one that took its number.
    fn visit_again(&mut self, process: &mut Process, scan: &mut Scan) -> bool {
        if self.visit(process, scan) {
            return true;
        }
        let pid = process.pid;
        // Descriptors of the old process stay with it, though another has its number now.
        self.files.close(std::mem::replace(process, Process::new(pid)));
        self.visit(process, scan)
    }
}

/// Some kernels have no such file, others leave it at zero.
fn has_schedstat(root: &Root) -> bool {
    let own = root.text("/proc/self/schedstat").or_else(|| root.text("/proc/1/schedstat"));
    let own = own.and_then(|text| schedstat::parse_thread(text.as_bytes(), "schedstat").ok());
    own.is_some_and(|sched| sched.run_ns > 0)
}

impl ProcessSource for Procfs {
    fn name(&self) -> &'static str {
        if self.has_schedstat { "/proc, schedstat first" } else { "/proc, stat" }
    }

    fn measures_wait(&self) -> bool {
        self.has_schedstat
    }

    fn refresh_all(&mut self) {
        for process in &mut self.table {
            process.refresh = true;
        }
    }

    fn scan(&mut self, scan: &mut Scan, forks: Option<u64>) -> io::Result<()> {
        scan.clear();
        let mut table = std::mem::take(&mut self.table);
        self.files.advance(&mut table, forks)?;
        table.retain_mut(|process| {
            let stays = self.visit_again(process, scan);
            if !stays {
                self.files.close(std::mem::replace(process, Process::new(0)));
            }
            stays
        });
        self.table = table;
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
