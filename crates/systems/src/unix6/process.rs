//! Processes as the kernel knows them: the process table and the text table.
//!
//! Names of Sixth Edition stand beside ours, so that its sources can be read along (`proc.h`, `slp.c`).

use thinktime_engine::{Span, Time};

use super::calls::Call;
use super::states::{Channel, Mode, Role, Status, priority};
use super::workload::Program;

/// Seconds in or out of memory are counted up to this (`p_time`).
// `p_time` is a signed byte in `proc.h`: it stays there, or long waits would turn negative.
pub(super) const LONGEST: u8 = 127;

/// The scheduler, process 0, which swaps.
pub(super) const SWAPPER: usize = 0;

/// An entry of the process table, with what the process is about to do.
#[derive(Debug)]
pub(super) struct Process {
    pub role: Role,
    pub parent: usize,
    pub status: Status,
    pub channel: Option<Channel>,
    /// `p_pri`.
    pub priority: i16,
    /// Recent processor time in ticks (`p_cpu`).
    pub recent: u8,
    /// Seconds since it was loaded or driven out (`p_time`).
    pub resident: u8,
    /// Its image is in memory (`SLOAD`).
    pub loaded: bool,
    /// It stays there (`SSYS`, `SLOCK`).
    pub locked: bool,
    /// Length of its image, without shared text [click].
    pub size: u64,
    /// Where its image is in memory, and in the swap area.
    pub memory: Option<u64>,
    pub swap: Option<u64>,
    /// Which pure text it shares.
    pub text: Option<usize>,
    pub mode: Mode,
    /// Processor time that it wants before its next step.
    pub left: Span,
    /// The system call that it is in.
    pub call: Option<Call>,
    pub program: Program,
    /// Second of the clock at which its pause ends, and when that began.
    pub alarm: Option<u64>,
    pub paused: Time,
    /// Children that have exited and were not waited for.
    pub exited: u32,
    /// Since when it is ready and out of memory.
    pub ready_out_since: Time,
    pub interaction: Option<Running>,
    /// Whether it has written to the terminal yet.
    pub seen: bool,
    /// Whether it had processor time in user mode since the last sample.
    pub active: bool,
}

/// The interaction that a process is in.
#[derive(Clone, Copy, Debug)]
pub(super) struct Running {
    pub arrived: Time,
    pub first_service: Option<Time>,
    pub first_output: Option<Time>,
    pub service: Span,
    pub think: Span,
}

impl Process {
    pub fn new(role: Role, parent: usize, size: u64, program: Program) -> Process {
        Process {
            role,
            parent,
            status: Status::Ready,
            channel: None,
            priority: priority::USER,
            recent: 0,
            resident: 0,
            loaded: false,
            locked: false,
            size,
            memory: None,
            swap: None,
            text: None,
            mode: Mode::User,
            left: Span::ZERO,
            call: None,
            program,
            alarm: None,
            paused: Time::ZERO,
            exited: 0,
            ready_out_since: Time::ZERO,
            interaction: None,
            seen: false,
            active: false,
        }
    }

    /// `setpri`: the priority of a user process falls with the processor time that it had lately.
    pub fn user_priority(&self) -> i16 {
        // Integer division as in the kernel: below 16 ticks of recent time all user processes are equal.
        (priority::USER + i16::from(self.recent) / 16).min(priority::LOWEST)
    }

    /// Whether it could be given the processor.
    pub fn can_run(&self) -> bool {
        self.status == Status::Ready && self.loaded
    }

    /// Whether the swapper may drive it out.
    pub fn can_leave(&self) -> bool {
        self.loaded && !self.locked
    }

    /// Whether it is ready, but not in memory.
    /// One that is locked is on its way already, in or out.
    pub fn wants_in(&self) -> bool {
        self.status == Status::Ready && !self.loaded && !self.locked
    }
}

/// Pure text, shared by processes: read from the swap area, never written back.
#[derive(Clone, Debug)]
pub(super) struct Text {
    pub size: u64,
    /// Where it is in the swap area, from its first use on.
    pub swap: Option<u64>,
    pub memory: Option<u64>,
    /// Processes that share it, and those of them in memory.
    pub users: u32,
    pub loaded: u32,
}

/// `swtch`: the loaded ready process of the highest priority; of equals the first after `last` in the table.
pub(super) fn next_to_run(processes: &[Process], last: usize) -> Option<usize> {
    let n = processes.len();
    (1..=n)
        .map(|step| (last + step) % n)
        .filter(|p| processes[*p].can_run())
        // The first of equals is kept.
        .min_by_key(|p| processes[*p].priority)
}
