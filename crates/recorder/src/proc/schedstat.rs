//! `/proc/PID/schedstat` (one thread, exact) and `/proc/schedstat` (all CPUs, exact).
//!
//! Fields: Documentation/scheduler/sched-stats.rst of the kernel. Needs CONFIG_SCHED_INFO.

use std::fmt::Display;

use super::{Fields, ParseError, items, lines};

/// One thread; for a process, its first thread only.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ThreadSched {
    /// Time on a CPU, in nanoseconds.
    pub run_ns: u64,
    /// Time runnable but waiting for a CPU, in nanoseconds.
    pub wait_ns: u64,
    /// Times that it was given a CPU.
    pub slices: u64,
}

/// Times from the text of `/proc/PID/schedstat`.
pub fn parse_thread(text: &[u8], path: impl Display) -> Result<ThreadSched, ParseError> {
    let mut fields = Fields::new(items(text), path, 1);
    Ok(ThreadSched {
        run_ns: fields.need("run time")?,
        wait_ns: fields.need("wait time")?,
        slices: fields.need("slices")?,
    })
}

/// Time in which any task ran, summed over the CPUs, from `/proc/schedstat` [ns].
///
/// The kernel counts a run when it ends: a task alone on its CPU appears late, but completely.
/// `None` where the file has no line for a CPU.
pub fn parse_run_queues(text: &[u8], path: impl Display) -> Result<Option<u64>, ParseError> {
    let mut sum = None;
    for (row, line) in lines(text) {
        if !line.starts_with(b"cpu") {
            continue;
        }
        let mut fields = Fields::new(items(line).skip(1), &path, row);
        // Six counters of the scheduler's decisions come first (version 15 of the file and later).
        fields.skip(6);
        // Wrapping, as the kernel's own counters do: a difference of two sums is then still right.
        let run = fields.need("run time of the CPU")?;
        sum = Some(sum.unwrap_or(0u64).wrapping_add(run));
    }
    Ok(sum)
}
