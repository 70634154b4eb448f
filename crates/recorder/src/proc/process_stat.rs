//! `/proc/PID/stat`: one process, all its threads together. Fields: proc_pid_stat(5).

use std::fmt::Display;

use super::{Fields, ParseError, items};

/// Flag of a kernel thread (include/linux/sched.h).
const PF_KTHREAD: u64 = 0x0020_0000;
/// Nice value from which a process leaves nine tenths of a CPU, or more, to one at nice 0: their weights are 110 and
/// 1024 (sched_prio_to_weight, kernel/sched/core.c).
const LOW_PRIORITY: i64 = 10;
/// Scheduling class that runs where nobody else wants to (include/uapi/linux/sched.h).
const SCHED_IDLE: u64 = 5;

/// Fields of `/proc/PID/stat` that are used. Times in clock ticks of `CLK_TCK`, 10 ms nearly everywhere.
///
/// `user + system` is exact (scaled to the run time that the scheduler measured) but cut to whole
/// ticks; the split between them is sampled by the tick.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ProcessStat {
    /// Process number; used again after a process has ended.
    pub pid: i32,
    /// One letter: `S` sleeping, `R` running, `Z` ended but not yet waited for, ...
    pub state: u8,
    /// Process number of the parent; 1 or a subreaper once the parent has ended.
    pub parent: i32,
    /// Process number of the session's leader.
    pub session: i32,
    /// Device number of the controlling terminal, 0 for none.
    pub terminal: i32,
    pub is_kernel_thread: bool,
    /// The first thread leaves the CPU to others: see [`is_low_priority`].
    pub is_low_priority: bool,
    /// Page faults that needed no disk, all threads.
    pub faults_minor: u64,
    /// Minor faults of children that ended and were waited for, and of theirs.
    pub children_faults_minor: u64,
    /// Page faults that read from a disk, all threads.
    pub faults_major: u64,
    /// Major faults of children that ended and were waited for, and of theirs.
    pub children_faults_major: u64,
    /// CPU time in user state [tick].
    pub user_ticks: u64,
    /// CPU time in the kernel [tick].
    pub system_ticks: u64,
    /// User time of children that ended and were waited for, and of theirs [tick].
    pub children_user_ticks: u64,
    /// System time of children that ended and were waited for, and of theirs [tick].
    pub children_system_ticks: u64,
    /// Threads, at least 1.
    pub threads: u32,
    /// Time of its start after boot [tick]: with `pid`, the identity of a process.
    pub start_ticks: u64,
    /// Pages in memory; pages shared with other processes count in each of them.
    pub resident_pages: u64,
    /// Time that the first thread waited for a disk [tick]; 0 where the kernel does not account it.
    pub io_wait_ticks: u64,
    /// Name of the program.
    pub name: Name,
}

/// Name of a program as the kernel keeps it: its first 15 bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Name([u8; 16]);

impl Name {
    /// The name that comes after all others.
    pub const LAST: Name = Name([u8::MAX; 16]);

    /// The name in `text`, up to its first zero byte; what does not fit is cut.
    pub fn new(text: &[u8]) -> Name {
        let mut name = [0; 16];
        let text = text.split(|byte| *byte == 0).next().unwrap_or_default();
        let length = text.len().min(15);
        name[..length].copy_from_slice(&text[..length]);
        Name(name)
    }

    /// The bytes of the name, which may be any but zero.
    pub fn bytes(&self) -> &[u8] {
        self.0.split(|byte| *byte == 0).next().unwrap_or_default()
    }
}

/// A number of 32 bits. The kernel prints these as `int`; only a damaged file has a larger one.
fn narrow(value: i64) -> i32 {
    i32::try_from(value).unwrap_or(0)
}

/// True for a nice value, or a scheduling class, that leaves at least nine tenths of a CPU to work at nice 0.
pub(crate) fn is_low_priority(nice: i64, class: u64) -> bool {
    nice >= LOW_PRIORITY || class == SCHED_IDLE
}

/// Fields from the text of `/proc/PID/stat`.
pub fn parse(text: &[u8], path: impl Display) -> Result<ProcessStat, ParseError> {
    // The command's name may hold anything, blanks and brackets included: the last bracket ends it.
    let name_end = text.iter().rposition(|byte| *byte == b')');
    let name_end = name_end.ok_or_else(|| ParseError::missing(&path, 1, "the ) after the command's name"))?;
    let name = text[..name_end].splitn(2, |byte| *byte == b'(').nth(1).unwrap_or_default();
    let mut pid = Fields::new(items(&text[..name_end]), &path, 1);
    let pid = narrow(pid.need_signed("pid")?);
    let mut words = items(&text[name_end + 1..]);
    let state = words.next().and_then(|word| word.first().copied()).unwrap_or(b'?');
    let mut fields = Fields::new(words, &path, 1);
    let parent = narrow(fields.need_signed("ppid")?);
    fields.skip(1);
    let session = narrow(fields.need_signed("session")?);
    let terminal = narrow(fields.need_signed("tty_nr")?);
    fields.skip(1);
    let is_kernel_thread = fields.need("flags")? & PF_KTHREAD != 0;
    let faults_minor = fields.need("minflt")?;
    let children_faults_minor = fields.need("cminflt")?;
    let faults_major = fields.need("majflt")?;
    let children_faults_major = fields.need("cmajflt")?;
    let (user_ticks, system_ticks) = (fields.need("utime")?, fields.need("stime")?);
    // The kernel prints them with a sign; times below zero were a defect of old kernels.
    let mut children = |name| fields.need_signed(name).map(|ticks| u64::try_from(ticks).unwrap_or(0));
    let (children_user_ticks, children_system_ticks) = (children("cutime")?, children("cstime")?);
    fields.skip(1);
    let nice = fields.need_signed("nice")?;
    let threads = fields.need_signed("num_threads")?;
    fields.skip(1);
    let start_ticks = fields.need("starttime")?;
    fields.skip(1);
    let resident_pages = fields.need_signed("rss")?;
    fields.skip(16);
    let class = fields.optional("policy")?.unwrap_or(0);
    let io_wait_ticks = fields.optional("delayacct_blkio_ticks")?;
    Ok(ProcessStat {
        pid,
        state,
        parent,
        session,
        terminal,
        is_kernel_thread,
        is_low_priority: is_low_priority(nice, class),
        faults_minor,
        children_faults_minor,
        faults_major,
        children_faults_major,
        user_ticks,
        system_ticks,
        children_user_ticks,
        children_system_ticks,
        threads: u32::try_from(threads).unwrap_or(1).max(1),
        start_ticks,
        resident_pages: u64::try_from(resident_pages).unwrap_or(0),
        io_wait_ticks: io_wait_ticks.unwrap_or(0),
        name: Name::new(name),
    })
}
