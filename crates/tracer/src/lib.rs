//! Where the time of tasks goes: slices, waits for a CPU and other waits, and requests of disks, counted by programs in
//! the kernel.
//!
//! [`Tracer::open`] attaches the programs; [`Tracer::read`] says what was counted since the reading before, from memory
//! that the kernel shares, without a system call. The programs are compiled (`bpf/`); their loader is Rust.
//!
//! # Limitations
//! Needs Linux 5.12, and root or CAP_BPF and CAP_PERFMON. Without the kernel's debugging information
//! (`CONFIG_DEBUG_INFO_BTF`) less is told, and tracefs has to be readable: [`Attachment`].
//! What a task waited for in a system call of a 32-bit program is `sleep`. A duration is counted when it ends.

mod attachment;
mod bpf;
mod calls;
mod events;
mod formats;
mod layout;
mod mapped;
mod noted;
mod object;
mod perf;
mod threads;
mod tracer;

use std::io;

pub use attachment::Attachment;
pub use events::{Event, Events, Record};
pub use perf::PerformanceEvent;
pub use threads::{Thread, Threads};
pub use tracer::{Account, Latency, Losses, Owner, Queueing, Tracer};

/// The machine cannot be traced, or not in this way.
#[derive(Debug, thiserror::Error)]
pub enum TraceError {
    /// The kernel does not permit it.
    #[error("not permitted: run as root, or give CAP_BPF and CAP_PERFMON (cannot {action}: {source})")]
    NotPermitted { action: &'static str, source: io::Error },
    /// The kernel comes without the offsets of its structures.
    #[error(
        "this kernel has no debugging information: /sys/kernel/btf/vmlinux: {source}; kernels with \
         CONFIG_DEBUG_INFO_BTF have it"
    )]
    NoTypes { source: io::Error },
    /// The file system that tells of tracepoints is not there.
    #[error("tracefs is not mounted: mount -t tracefs tracefs /sys/kernel/tracing")]
    NoTracefs,
    /// In no way.
    #[error("{0}")]
    InNoWay(String),
    /// The kernel lacks something that the programs use.
    #[error("this kernel cannot be traced: {detail}")]
    Unknown { detail: String },
    /// The kernel's verifier refuses a program.
    #[error("this kernel refuses the program {program}: {reason}")]
    Refused { program: &'static str, reason: String },
    /// The compiled programs, or the kernel's debugging information, cannot be read.
    #[error("the programs of the tracer cannot be loaded: {detail}")]
    Damaged { detail: String },
    /// A system call failed.
    #[error("cannot {action}: {source}")]
    System { action: &'static str, source: io::Error },
}

impl TraceError {
    /// What kept the programs from being attached in any of these ways; where that is one thing, it alone.
    fn of_all(mut refused: Vec<(Attachment, TraceError)>) -> TraceError {
        let is_denied = |error: &TraceError| matches!(error, TraceError::NotPermitted { .. });
        if refused.len() == 1 || refused.first().is_some_and(|(_, error)| is_denied(error)) {
            return refused.remove(0).1;
        }
        let each = refused.iter().map(|(way, error)| format!("by {}: {error}", way.name()));
        TraceError::InNoWay(each.collect::<Vec<_>>().join("; "))
    }

    fn of_call(action: &'static str) -> impl FnOnce(io::Error) -> TraceError {
        move |source| match source.raw_os_error() {
            Some(libc::EPERM | libc::EACCES) => TraceError::NotPermitted { action, source },
            _ => TraceError::System { action, source },
        }
    }
}
