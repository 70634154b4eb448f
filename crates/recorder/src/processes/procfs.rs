//! Processes from `/proc`, with descriptors kept open; works without privileges.
//!
//! A process with one thread whose `schedstat` did not change since the last sample has not run, and
//! one that has not run cannot have used, forked or waited for anything: its other files are not
//! read. The first thread's file does not cover the others, so a process with more threads is read
//! from `stat` each time, which sums all of them: exact in total, in ticks of 10 ms. How long its threads
//! waited for a CPU is found by [`super::threads`].
//! (Threads create threads: a process that has one gets a second one only by running.)

use std::fmt::Write as _;
use std::fs::File;
use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::fs::{AtFlags, Mode, OFlags, openat, statat};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use thinktime_tracer::Thread;

use super::commands;
use super::listing::Listing;
use super::threads::{ThreadWaits, Waited};
use super::{By, Facts, ProcessSource, Scan};
use crate::kernel::files::{Root, read_once};
use crate::proc::process_stat::{Name, ProcessStat};
use crate::proc::schedstat::ThreadSched;
use crate::proc::{cgroup, process_io, process_stat, schedstat};

/// Longest time between two readings of a process: its memory may shrink and its control group change while it does not
/// run. A time and not a number of samples: of a thousand processes that sleep, three are read each second.
const REFRESH: Duration = Duration::from_secs(300);
/// Parts of this time, over which the readings are spread by the numbers of processes.
const REFRESH_PARTS: u32 = 1024;
/// Readings after its start at which a process's control group is read: logins and services move themselves
/// then.
const YOUNG_READS: u32 = 8;
/// Size of the buffer [byte]. `stat` is the longest file of a process: 52 numbers and a name, under 1,200 bytes.
const BUFFER_BYTES: usize = 4096;

/// A file of one process, kept open while the budget of descriptors allows.
#[derive(Debug)]
enum Kept {
    Unopened,
    Open(File),
    Denied,
}

/// State of one process between samples.
#[derive(Debug)]
pub(crate) struct Process {
    pub(super) pid: i32,
    /// `/proc/PID/schedstat`.
    schedstat: Kept,
    /// `/proc/PID/stat`.
    stat: Kept,
    /// `/proc/PID/io`.
    io: Kept,
    /// Exact time of the first thread at the last reading [ns]: unchanged if it has not run.
    pub(super) run_ns: u64,
    /// What its threads were told to have waited and cannot have [ns].
    pub(super) wait_cut_ns: u64,
    /// Threads at the last reading.
    pub(super) threads: u32,
    /// Waiting of its threads, once it has had several.
    waited: Option<Box<Waited>>,
    /// Readings so far.
    reads: u32,
    uid: u32,
    cgroup: Option<Arc<str>>,
    /// The kernel's name of the program when `command` was made from it.
    name: Name,
    command: Option<Arc<str>>,
    /// True if the next scan has to read it although it has not run.
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
            wait_cut_ns: 0,
            threads: 1,
            waited: None,
            reads: 0,
            uid: 0,
            cgroup: None,
            name: Name::default(),
            command: None,
            refresh: true,
        }
    }

    /// Time that its threads waited for pages from swap, once it has had several [ns].
    pub(super) fn swap_wait_ns(&self) -> Option<u64> {
        self.waited.as_ref().and_then(|waited| waited.swap_wait_ns)
    }

    /// How many files are open.
    fn descriptors(&self) -> u64 {
        [&self.schedstat, &self.stat, &self.io].iter().filter(|kept| matches!(kept, Kept::Open(_))).count()
            as u64
    }
}

/// Number of descriptors that may be kept open.
#[derive(Debug)]
struct Budget {
    used: u64,
    limit: u64,
}

impl Budget {
    fn new() -> Budget {
        Budget { used: 0, limit: Budget::within(getrlimit(Resource::Nofile).current) }
    }

    /// Part of the limit that is used: a quarter of it, and at least 64, is left for everything else.
    fn within(limit: Option<u64>) -> u64 {
        let limit = limit.unwrap_or(u64::MAX);
        limit.saturating_sub((limit / 4).max(64))
    }

    /// True if one more may be kept open. Raises the soft limit to the hard one when it has to.
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

/// What a source knows of a process before its files are read.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Known<'a> {
    /// Times of the first thread.
    pub first: Option<ThreadSched>,
    /// Effective user.
    pub uid: Option<u32>,
    /// All threads, where the source tells of them.
    pub threads: &'a [Thread],
}

/// The files of processes, by name below `/proc`.
#[derive(Debug)]
pub(crate) struct Files {
    listing: Listing,
    by: By,
    /// Commands are named by their whole line.
    with_arguments: bool,
    /// Parts of [`REFRESH`] since the start, at the sample before and at this one.
    parts: (u64, u64),
    since: Instant,
    /// Forks since boot when the folder was last listed.
    forks: Option<u64>,
    pids: Vec<i32>,
    name: String,
    buffer: Vec<u8>,
    budget: Budget,
    thread_waits: ThreadWaits,
}

/// Result of reading a file of a process.
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
            with_arguments: false,
            parts: (0, 0),
            since: Instant::now(),
            forks: None,
            pids: Vec::new(),
            name: String::new(),
            buffer: vec![0; BUFFER_BYTES],
            budget: Budget::new(),
            thread_waits: ThreadWaits::open(root),
        })
    }

    /// Names commands by their whole line from now on.
    pub(super) fn name_by_arguments(&mut self) {
        self.with_arguments = true;
    }

    /// Sets the path relative to `/proc`, in a buffer that is used again for each file.
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

    /// Contents of a file of a process, which stays open for the next sample if the budget allows.
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
        // Not tried again: permissions rarely change, and each attempt is a system call per process and sample.
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

    /// User of a process, `None` if it has ended. The folder's owner is the effective user, even where the
    /// files in it belong to root because the program is not dumpable (proc(5)).
    pub(super) fn uid(&mut self, pid: i32) -> Option<u32> {
        self.name(pid, "");
        statat(self.listing.folder(), self.name.as_str(), AtFlags::empty()).ok().map(|folder| folder.st_uid)
    }

    /// Begins the next sample: adds new processes to `table`.
    ///
    /// Those that ended are removed when the folder is listed, else when they are read.
    pub(super) fn advance_and_list(
        &mut self,
        table: &mut Vec<Process>,
        forks: Option<u64>,
    ) -> io::Result<()> {
        self.advance();
        // Nothing was forked, so that the folder cannot have a new process.
        if forks.is_some() && forks == self.forks {
            return Ok(());
        }
        self.forks = forks;
        // Moved out for the borrow and moved back, so that its memory is used again.
        let mut pids = std::mem::take(&mut self.pids);
        self.listing.read(&mut pids)?;
        self.match_table(table, &pids);
        self.pids = pids;
        Ok(())
    }

    /// Begins the next sample with the processes `pids`, all that there are, in ascending order.
    pub(super) fn advance_to(&mut self, table: &mut Vec<Process>, pids: &[i32]) {
        self.advance();
        self.match_table(table, pids);
    }

    /// The same with the processes of the sample before.
    pub(super) fn advance(&mut self) {
        self.thread_waits.begin();
        let part = REFRESH / REFRESH_PARTS;
        self.parts = (self.parts.1, (self.since.elapsed().as_nanos() / part.as_nanos()) as u64);
    }

    /// True if the process has to be read although it has not run.
    pub(super) fn is_due(&self, process: &Process) -> bool {
        // By number: the due ones are spread over the samples, so that no sample costs more than the others.
        let turn = |parts: u64| parts.wrapping_add(process.pid as u64) / u64::from(REFRESH_PARTS);
        process.refresh || turn(self.parts.0) != turn(self.parts.1)
    }

    fn schedstat(&mut self, process: &mut Process) -> Outcome<ThreadSched> {
        let parse = |text: &[u8], file: &str| schedstat::parse_thread(text, file).ok();
        self.read(process.pid, "/schedstat", &mut process.schedstat, parse)
    }

    /// All counters of a process.
    fn facts(&mut self, process: &mut Process, known: Known<'_>) -> Outcome<Facts> {
        let (pid, sched) = (process.pid, known.first);
        let due = self.is_due(process);
        let parse = |text: &[u8], file: &str| process_stat::parse(text, file).ok();
        let stat = match self.read(pid, "/stat", &mut process.stat, parse) {
            Outcome::Read(stat) => stat,
            Outcome::Gone => return Outcome::Gone,
            Outcome::Denied => return Outcome::Denied,
        };
        if stat.threads > 1 || process.waited.is_some() {
            let waited = process.waited.get_or_insert_default();
            if known.threads.is_empty() {
                let ticks = stat.user_ticks.saturating_add(stat.system_ticks);
                let has_run = due || sched.is_none_or(|sched| sched.run_ns != process.run_ns);
                self.thread_waits.read(self.listing.folder(), pid, sched, ticks, has_run, waited);
            } else {
                waited.take(known.threads);
            }
        }
        // As read before `stat`: time used in between shows as a change at the next sample.
        process.run_ns = sched.map_or(0, |sched| sched.run_ns);
        process.threads = stat.threads;
        process.refresh = false;
        process.reads = process.reads.saturating_add(1);
        let parse = |text: &[u8], file: &str| process_io::parse(text, file).ok();
        // Another user's I/O cannot be read without privileges: absent, not zero.
        let io = match self.read(pid, "/io", &mut process.io, parse) {
            Outcome::Read(io) => Some(io),
            Outcome::Gone | Outcome::Denied => None,
        };
        if self.by == By::Cgroup && (due || process.reads <= YOUNG_READS) {
            process.cgroup = self.cgroup(pid);
        }
        let command = self.command(process, &stat);
        // A process that ended just now keeps the user that it had.
        process.uid = known.uid.or_else(|| self.uid(pid)).unwrap_or(process.uid);
        Outcome::Read(Facts {
            stat,
            run_ns: sched.map(|sched| sched.run_ns),
            wait_ns: process
                .waited
                .as_ref()
                .map_or(sched.map(|sched| sched.wait_ns), |waited| waited.wait_ns),
            wait_cut_ns: process.wait_cut_ns,
            has_all_waits: process.waited.as_ref().is_none_or(|waited| waited.is_complete),
            had_one_thread: process.waited.is_none(),
            swap_wait_ns: None,
            io,
            command,
            uid: process.uid,
            cgroup: process.cgroup.clone(),
        })
    }

    /// Reads all counters of a process into `scan`; false if it has ended or may not be read.
    pub(super) fn read_into(&mut self, scan: &mut Scan, process: &mut Process, known: Known<'_>) -> bool {
        match self.facts(process, known) {
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

    /// The same for a process of the table, or a new one that took its number.
    pub(super) fn read_again(&mut self, scan: &mut Scan, process: &mut Process, known: Known<'_>) -> bool {
        if self.read_into(scan, process, known) {
            return true;
        }
        let pid = process.pid;
        // Once more with no file open: descriptors stay with the old process.
        self.close(std::mem::replace(process, Process::new(pid)));
        self.read_into(scan, process, known)
    }

    /// Removes ended processes from `table` and adds new ones; both lists are in ascending order.
    ///
    /// Nothing moves in memory when none started or ended, which is nearly always.
    fn match_table(&mut self, table: &mut Vec<Process>, pids: &[i32]) {
        if table.iter().map(|process| process.pid).eq(pids.iter().copied()) {
            return;
        }
        let mut next = Vec::with_capacity(pids.len());
        let mut previous = std::mem::take(table).into_iter().peekable();
        for pid in pids {
            while let Some(ended) = previous.next_if(|process| process.pid < *pid) {
                self.close(ended);
            }
            next.push(previous.next_if(|process| process.pid == *pid).unwrap_or_else(|| Process::new(*pid)));
        }
        previous.for_each(|ended| self.close(ended));
        *table = next;
    }

    /// Closes the files of a process that has ended, and returns their descriptors to the budget.
    pub(super) fn close(&mut self, process: Process) {
        self.budget.give_back(process.descriptors());
    }

    /// Name of the program or script: looked for at the first reading, and when another program is executed.
    fn command(&mut self, process: &mut Process, stat: &ProcessStat) -> Arc<str> {
        if let Some(command) = process.command.as_ref().filter(|_| process.name == stat.name) {
            return Arc::clone(command);
        }
        let program = commands::program(&stat.name, stat.is_kernel_thread);
        let needs_line = self.with_arguments && !stat.is_kernel_thread;
        let found = if needs_line || commands::is_interpreter(&program) {
            self.open_file(process.pid, "/cmdline").ok().and_then(|file| {
                let text = read_once(&file, &mut self.buffer).ok()?;
                if needs_line { commands::line(text) } else { commands::script(&program, text) }
            })
        } else {
            None
        };
        let command = found.unwrap_or(program);
        (process.name, process.command) = (stat.name, Some(Arc::clone(&command)));
        command
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

    /// Reads the files of a process that may have changed; false if it has ended or may not be read.
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
        // Without schedstat nothing shows that a process has not run: every one is read.
        let ran = sched.is_none_or(|sched| sched.run_ns != process.run_ns) || process.threads > 1;
        if !ran && !self.files.is_due(process) {
            scan.unchanged(process.pid);
            return true;
        }
        self.files.read_into(scan, process, Known { first: sched, ..Known::default() })
    }

    /// Reads a process of the table, or a new one that took its number.
    fn visit_again(&mut self, process: &mut Process, scan: &mut Scan) -> bool {
        if self.visit(process, scan) {
            return true;
        }
        let pid = process.pid;
        // Open descriptors stay with the old process, though another has its number now.
        self.files.close(std::mem::replace(process, Process::new(pid)));
        self.visit(process, scan)
    }
}

/// True if the kernel measures the run time of threads: some have no such file, others leave it at zero.
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

    fn state(&mut self) -> (&mut Files, &mut [Process]) {
        (&mut self.files, &mut self.table)
    }

    fn scan(&mut self, scan: &mut Scan, forks: Option<u64>) -> io::Result<()> {
        scan.clear();
        let mut table = std::mem::take(&mut self.table);
        self.files.advance_and_list(&mut table, forks)?;
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
}
