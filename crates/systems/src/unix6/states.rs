//! States that a process can be in, and what its kernel code asks for when a piece of it has ended.

use thinktime_engine::Span;

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
    NoVictim,
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

/// How a piece of a system call ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Flow {
    /// It goes on after processor time in system mode.
    Compute(Span),
    /// It goes on when woken.
    Sleep(Channel, i16),
    /// Back to user mode.
    Done,
    /// The process is not there any more, or not in memory: another runs.
    Away,
}
