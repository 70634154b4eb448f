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
/// `init`, process 1.
pub(super) const INIT: usize = 1;

/// An entry of the process table, with what the process is about to do.
#[derive(Debug)]
pub(super) struct Process {
    /// Whether it is part of the system or a worker.
    pub role: Role,
    /// Its parent in the process table.
    pub parent: usize,
    /// `p_stat`.
    pub status: Status,
    /// Event that it sleeps on (`p_wchan`).
    pub channel: Option<Channel>,
    /// `p_pri`: small is high.
    pub priority: i16,
    /// Recent processor time in ticks (`p_cpu`).
    pub recent: u8,
    /// Seconds since it was loaded or driven out (`p_time`).
    pub resident: u8,
    /// Whether its image is in memory (`SLOAD`).
    pub loaded: bool,
    /// Whether it must stay there (`SSYS`, `SLOCK`).
    pub locked: bool,
    /// Length of its image, without shared text [click].
    pub size: u64,
    /// First click of its image in memory, if it is there.
    pub memory: Option<u64>,
    /// First block of its image in the swap area, if it is there.
    pub swap: Option<u64>,
    /// Pure text that it shares.
    pub text: Option<usize>,
    /// User mode, or system mode in a call.
    pub mode: Mode,
    /// Processor time that it needs before its next step.
    pub left: Span,
    /// The system call that it is in.
    pub call: Option<Call>,
    /// Steps that it takes.
    pub program: Program,
    /// Second of the clock at which its pause ends.
    pub alarm: Option<u64>,
    /// When its pause began.
    pub paused: Time,
    /// Block of the swap area with its user structure, from its exit until its parent has waited for it.
    pub remains: Option<u64>,
    /// Since when it is ready and out of memory.
    pub ready_out_since: Time,
    /// The interaction in progress, of a worker.
    pub interaction: Option<Running>,
    /// Whether it has written to the terminal yet.
    pub seen: bool,
    /// Whether it had processor time in user mode since the last sample.
    pub active: bool,
}

/// An interaction in progress.
#[derive(Clone, Copy, Debug)]
pub(super) struct Running {
    /// When it began.
    pub arrived: Time,
    /// When its process first had the processor.
    pub first_service: Option<Time>,
    /// When it first wrote to the terminal.
    pub first_output: Option<Time>,
    /// Processor time received.
    pub service: Span,
    /// Pause before it.
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
            remains: None,
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

    /// True if it could be given the processor.
    pub fn can_run(&self) -> bool {
        self.status == Status::Ready && self.loaded
    }

    /// True if the swapper may drive it out.
    pub fn can_leave(&self) -> bool {
        self.loaded && !self.locked
    }

    /// True if it is ready but not in memory; one that is locked is on its way already, in or out.
    pub fn wants_in(&self) -> bool {
        self.status == Status::Ready && !self.loaded && !self.locked
    }
}

/// Pure text, shared by processes: read from the swap area, never written back.
#[derive(Clone, Debug)]
pub(super) struct Text {
    /// Its length [click].
    pub size: u64,
    /// First block of it in the swap area, from its first use on.
    pub swap: Option<u64>,
    /// First click of it in memory, while a process that shares it is there.
    pub memory: Option<u64>,
    /// Processes that share it.
    pub users: u32,
    /// Those of them in memory.
    pub loaded: u32,
}

/// `swtch`: the loaded ready process of the highest priority; of equals the first after `last` in the table.
pub(super) fn next_to_run(processes: &[Process], last: usize) -> Option<usize> {
    let n = processes.len();
    (1..=n)
        // Once round the table, the last one chosen at the end: equal priorities take turns.
        .map(|step| (last + step) % n)
        .filter(|p| processes[*p].can_run())
        // The first of equals is kept.
        .min_by_key(|p| processes[*p].priority)
}
