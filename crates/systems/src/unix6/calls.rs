//! System calls in progress: how far a process is in the one that it has made.

use thinktime_engine::cache::Buffer;

use super::units::BLOCK_BYTES;
use super::workload::{Access, Birth, Step, Touch};

const SECOND_NS: u64 = 1_000_000_000;

/// The system call that a process is in.
#[derive(Clone, Debug)]
pub(super) enum Call {
    /// `read` or `write` of a file.
    Transfer(Transfer),
    Print {
        left: u64,
        charged: bool,
    },
    /// Sleeps for so many seconds of the clock.
    Pause {
        seconds: u64,
        begun: bool,
    },
    Fork {
        birth: Box<Birth>,
        stage: Copying,
    },
    Grow {
        to: u64,
        text: Option<usize>,
        stage: Copying,
    },
    /// Waits for a child to exit.
    Wait,
    Sync {
        inode: usize,
        stage: Syncing,
    },
    Touch {
        left: Vec<Touch>,
        fault: Fault,
    },
}

/// An image that is made anew, in memory or in the swap area.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Copying {
    Allocate,
    /// It is written to this place of the swap area.
    Out(u64),
    Done,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Syncing {
    /// The block of the i-node is needed.
    Read,
    /// It is in this buffer, or will be.
    Held(Buffer),
    /// It was written back; the call has waited for that (`iupdat`).
    Written(Buffer),
}

/// A read or write of a part of a file, a block at a time.
#[derive(Clone, Debug)]
pub(super) struct Transfer {
    pub file: usize,
    /// Where the next byte is.
    pub offset: u64,
    pub bytes: u64,
    pub write: bool,
    pub stage: Stage,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    /// A large file: the block that holds the addresses is needed (`bmap`).
    Map,
    Mapping(Buffer),
    Data,
    Reading(Buffer),
    /// Bytes are moved between the buffer and the process.
    Moving(Buffer),
}

/// How far a process is with the page that it touches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Fault {
    #[default]
    None,
    /// A modified page is written, to make room.
    Writing,
    Reading,
}

impl Transfer {
    fn new(Access { file, offset, bytes, write }: Access) -> Transfer {
        Transfer { file, offset, bytes, write, stage: Stage::Map }
    }

    pub fn block(&self) -> u64 {
        self.offset / BLOCK_BYTES
    }

    /// Bytes of the block that the offset is in which are asked for.
    pub fn here(&self) -> u64 {
        self.bytes.min(BLOCK_BYTES - self.offset % BLOCK_BYTES)
    }
}

impl Call {
    /// The call that a step makes; none where it only computes.
    pub fn of(step: Step) -> Option<Call> {
        Some(match step {
            Step::Compute(_) | Step::Exit => return None,
            Step::Transfer(access) => Call::Transfer(Transfer::new(access)),
            Step::Print(left) => Call::Print { left, charged: false },
            // Whole seconds, rounded up: the call knows no parts of one.
            Step::Pause(span) => Call::Pause { seconds: span.0.div_ceil(SECOND_NS), begun: false },
            Step::Fork(birth) => Call::Fork { birth, stage: Copying::Allocate },
            Step::Grow { to, text } => Call::Grow { to, text, stage: Copying::Allocate },
            Step::Wait => Call::Wait,
            Step::Sync => Call::Sync { inode: 0, stage: Syncing::Read },
            Step::Touch(left) => Call::Touch { left, fault: Fault::None },
        })
    }
}
