//! `/proc/PID/stat`: one process, all its threads together.

use std::fmt::Display;

use super::{Fields, ParseError, items};

/// The flag of a kernel thread.
const PF_KTHREAD: u64 = 0x0020_0000;

/// What is used of `/proc/PID/stat`. Times in clock ticks of `CLK_TCK`.
///
/// `user + system` is exact (scaled to the run time that the scheduler measured) but cut to whole
/// ticks; the split between them is sampled by the tick.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ProcessStat {
    pub pid: i32,
    /// One letter: `S` sleeping, `R` running, `Z` ended but not yet waited for, ...
    pub state: u8,
    pub parent: i32,
    pub session: i32,
    /// Device number of the controlling terminal, 0 for none.
    pub terminal: i32,
    pub is_kernel_thread: bool,
    pub faults_minor: u64,
    /// Of children that ended and were waited for, and of theirs.
    pub children_faults_minor: u64,
    pub faults_major: u64,
    pub children_faults_major: u64,
    pub user_ticks: u64,
    pub system_ticks: u64,
    pub children_user_ticks: u64,
    pub children_system_ticks: u64,
    pub threads: u32,
    /// Ticks after boot at which it started: with `pid`, the identity of a process.
    pub start_ticks: u64,
    pub resident_pages: u64,
}

fn narrow(value: i64) -> i32 {
    i32::try_from(value).unwrap_or(0)
}

/// Reads `/proc/PID/stat`. The command's name may hold anything, blanks and brackets included.
pub fn parse(text: &[u8], path: impl Display) -> Result<ProcessStat, ParseError> {
    let name_end = text.iter().rposition(|byte| *byte == b')');
    let name_end = name_end.ok_or_else(|| ParseError::missing(&path, 1, "the ) after the command's name"))?;
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
    // Printed with a sign; a child's time below zero was a fault of kernels long gone.
    let mut children = |name| fields.need_signed(name).map(|ticks| u64::try_from(ticks).unwrap_or(0));
    let (children_user_ticks, children_system_ticks) = (children("cutime")?, children("cstime")?);
    fields.skip(2);
    let threads = fields.need_signed("num_threads")?;
    fields.skip(1);
    let start_ticks = fields.need("starttime")?;
    fields.skip(1);
    let resident_pages = fields.need_signed("rss")?;
    Ok(ProcessStat {
        pid,
        state,
        parent,
        session,
        terminal,
        is_kernel_thread,
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
    })
}
