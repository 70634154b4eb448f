//! Processes as the kernel knows them: the process table, its states and priorities.
//!
//! Names of Sixth Edition stand beside ours, so that its sources can be read along (`proc.h`, `slp.c`).

use thinktime_engine::{Span, Time};

use super::calls::Call;
use super::workload::Program;

/// Priorities at which the kernel sleeps (`param.h`); small is high. Those below zero cannot be interrupted by a
/// signal, and such a sleeper is no easy prey of the swapper.
pub(super) mod priority {
    pub const SWAP: i16 = -100;
    pub const BLOCK: i16 = -50;
    pub const OUTPUT: i16 = 20;
    pub const WAIT: i16 = 40;
    pub const PAUSE: i16 = 90;
    pub const USER: i16 = 100;
    pub const LOWEST: i16 = 127;
}

/// Seconds in or out of memory are counted up to this (`p_time`).
pub(super) const LONGEST: u8 = 127;

/// The scheduler, process 0, which swaps.
pub(super) const SWAPPER: usize = 0;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Status {
    /// `SRUN`: wants the processor, or has it.
    Ready,
    /// `SSLEEP`: waits with a high priority, for a disk.
    Asleep,
    /// `SWAIT`: waits with a low priority, for something slow.
    Waiting,
    /// `SZOMB` and free entries: has exited.
    Gone,
}

/// What a process sleeps on: all who sleep on one are woken together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Channel {
    /// `runout`: the swapper, when nobody who is out is ready.
    NobodyOut,
    /// `runin`: the swapper, when nobody can be driven out.
    NobodyToDrive,
    /// The one buffer for swapping.
    SwapBuffer,
    /// A block buffer with I/O in progress, or taken by another.
    Buffer(u32),
    FreeBuffers,
    Terminal,
    /// The pause of one process, which its alarm ends.
    Alarm(usize),
    /// `tout`: the old `sleep`, one for all sleepers.
    TimeOut,
    /// A parent waits for its children.
    Child(usize),
    /// A second attempt at the next second of the clock.
    NextSecond,
    /// With paging: a page of one process is transferred, or any frame may give way.
    Page(usize),
    FreeFrame,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    User,
    System,
}

/// What a process is to the workload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// The swapper, `init`, the shell, `update`, the parent: part of the system.
    System,
    /// One of those whose work is measured, with its number.
    Worker(u32),
}

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
    pub fn wants_in(&self) -> bool {
        self.status == Status::Ready && !self.loaded && !self.locked
    }
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
