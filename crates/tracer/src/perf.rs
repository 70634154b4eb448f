//! Events of the kernel's performance counters: the system call that opens one (linux/perf_event.h).

use std::io;
use std::os::fd::{FromRawFd, OwnedFd};

/// `struct perf_event_attr` in its first version.
#[repr(C)]
#[derive(Default)]
struct Attributes {
    kind: u32,
    size: u32,
    config: u64,
    sample_period: u64,
    sample_type: u64,
    read_format: u64,
    flags: u64,
    wakeup_events: u32,
    breakpoint: u32,
    config1: u64,
}

/// An event of the kernel's performance counters.
#[derive(Clone, Copy, Debug)]
pub struct PerformanceEvent {
    /// Kind of event, by its number (`type` in the kernel's structure).
    pub kind: u32,
    /// Which of its kind.
    pub config: u64,
    /// Events from one sample to the next; nanoseconds where the event is a clock.
    pub sample_period: u64,
    /// Flags by their bits.
    pub flags: u64,
}

impl PerformanceEvent {
    /// Opens it for all processes that run on a CPU, until the result is dropped.
    pub fn open(self, cpu: i32) -> io::Result<OwnedFd> {
        const FLAG_CLOEXEC: libc::c_ulong = 8;
        let attributes = Attributes {
            kind: self.kind,
            size: size_of::<Attributes>() as u32,
            config: self.config,
            sample_period: self.sample_period,
            flags: self.flags,
            ..Attributes::default()
        };
        let (every_process, no_group) = (-1_i32, -1_i32);
        // SAFETY: the call reads the attributes, whose size it is told, and returns a descriptor or -1.
        let event = unsafe {
            libc::syscall(libc::SYS_perf_event_open, &attributes, every_process, cpu, no_group, FLAG_CLOEXEC)
        };
        if event < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the descriptor is new and belongs to nobody else.
        Ok(unsafe { OwnedFd::from_raw_fd(event as i32) })
    }
}
