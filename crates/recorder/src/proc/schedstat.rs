//! `/proc/PID/schedstat` (one thread, exact) and `/proc/schedstat` (all CPUs, exact).

use std::fmt::Display;

use super::{Fields, ParseError, items, lines};

/// One thread; for a process, its first thread only.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ThreadSched {
    /// Time on a CPU, in nanoseconds.
    pub run_ns: u64,
    /// Time runnable but waiting for a CPU, in nanoseconds.
    pub wait_ns: u64,
    pub slices: u64,
}

/// Reads `/proc/PID/schedstat`.
pub fn parse_thread(text: &[u8], path: impl Display) -> Result<ThreadSched, ParseError> {
    let mut fields = Fields::new(items(text), path, 1);
    Ok(ThreadSched {
        run_ns: fields.need("run time")?,
        wait_ns: fields.need("wait time")?,
        slices: fields.need("slices")?,
    })
}

/// Reads `/proc/schedstat`: nanoseconds in which any task ran, summed over the CPUs.
///
/// The kernel books a run when it ends: a task alone on its CPU appears late, but wholly.
/// `None` where the file has no line of a CPU.
pub fn parse_run_queues(text: &[u8], path: impl Display) -> Result<Option<u64>, ParseError> {
    let mut sum = None;
    for (at, line) in lines(text) {
        if !line.starts_with(b"cpu") {
            continue;
        }
        let mut fields = Fields::new(items(line).skip(1), &path, at);
        fields.skip(6);
        let run = fields.need("run time of the CPU")?;
        sum = Some(sum.unwrap_or(0u64).wrapping_add(run));
    }
    Ok(sum)
}
