//! Where the time of tasks goes: slices, waits for a CPU and other waits, and requests of disks, counted by programs in
//! the kernel.
//!
//! [`Tracer::open`] attaches the programs; [`Tracer::read`] says what was counted since the reading before, from memory
//! that the kernel shares, without a system call. The programs are compiled (`bpf/`); their loader is Rust.
//!
//! # Limitations
//! Needs Linux 5.12 with its debugging information (`CONFIG_DEBUG_INFO_BTF`), and root or CAP_BPF and CAP_PERFMON.
//! What a task waited for in a system call of a 32-bit program is `sleep`. A duration is counted when it ends.

mod bpf;
mod calls;
mod events;
mod layout;
mod mapped;
mod object;
mod threads;
mod tracer;

use std::io;

pub use events::{Event, Events, Record};
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
    fn of_call(action: &'static str) -> impl FnOnce(io::Error) -> TraceError {
        move |source| match source.raw_os_error() {
            Some(libc::EPERM | libc::EACCES) => TraceError::NotPermitted { action, source },
            _ => TraceError::System { action, source },
        }
    }
}
