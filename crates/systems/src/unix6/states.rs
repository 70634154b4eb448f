//! States that a process can be in, and what its kernel code asks for when a piece of it has ended.

use thinktime_engine::{Span, Time};

/// Priorities at which the kernel sleeps (`param.h`); small is high. Those below zero cannot be interrupted by a
/// signal, and such a sleeper is no easy prey of the swapper.
pub(super) mod priority {
    /// `p_pri` of an entry of the process table that nobody has used: `newproc` does not set it.
    pub const UNUSED: i16 = 0;
    /// `PSWP`: waits for a swap or a page.
    pub const SWAP: i16 = -100;
    /// `PRIBIO`: waits for a block.
    pub const BLOCK: i16 = -50;
    /// `TTOPRI`: waits for the terminal.
    pub const OUTPUT: i16 = 20;
    /// `PWAIT`: waits for a child.
    pub const WAIT: i16 = 40;
    /// `PSLEP`: waits for the clock.
    pub const PAUSE: i16 = 90;
    /// `PUSER`: user mode without recent processor time.
    pub const USER: i16 = 100;
    /// Lowest priority of a user process.
    pub const LOWEST: i16 = 127;
}

/// State of a process (`p_stat`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Status {
    /// `SRUN`: wants the processor, or has it.
    Ready,
    /// `SSLEEP`: waits with a high priority, for a disk.
    Asleep,
    /// `SWAIT`: waits with a low priority, for something slow.
    Waiting,
    /// `SZOMB`: has exited, and its parent has not waited for it yet.
    Zombie,
    /// An entry of the table that is free.
    Gone,
}

/// Event that a process sleeps on: all who sleep on one are woken together.
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
    /// Any free block buffer.
    FreeBuffers,
    /// Room in the terminal's output queue.
    Terminal,
    /// The pause of one process, which its alarm ends.
    Alarm(usize),
    /// `tout`: the old `sleep`, one for all sleepers.
    TimeOut,
    /// A parent waits for its children.
    Child(usize),
    /// A second attempt at the next second of the clock.
    NextSecond,
    /// With paging: the end of the transfer of a page of one process.
    Page(usize),
    /// With paging: any frame that may give way.
    FreeFrame,
}

/// Mode of the processor while a process has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    User,
    System,
}

/// The process that has the processor.
#[derive(Clone, Copy, Debug)]
pub(super) struct Current {
    /// Its place in the process table.
    pub process: usize,
    /// Since when its processor time is counted.
    pub since: Time,
}

/// A search for the next process (`swtch`), on the stack of process 0 and outside all processes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Search {
    /// Processor time that it still takes.
    pub left: Span,
    /// Since when its processor time is counted.
    pub since: Time,
}

/// Part that a process has in the workload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// The swapper, `init`, the shell, `update`, the parent: part of the system.
    System,
    /// One of those whose work is measured, with its number.
    Worker(u32),
}

/// Demand of a piece of kernel code that has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Flow {
    /// Processor time in system mode, after which the call goes on.
    Compute(Span),
    /// Sleep on this channel at this priority, after which the call goes on.
    Sleep(Channel, i16),
    /// Back to user mode.
    Done,
    /// The process is not there any more, or not in memory: another runs.
    Away,
}
