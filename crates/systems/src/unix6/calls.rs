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
    /// Writes to the terminal: `left` characters are not in its queue yet; `charged` once their processor time is
    /// paid.
    Print { left: u64, charged: bool },
    /// Sleeps for `seconds` of the clock, rounded up; `begun` once the alarm is set.
    Pause { seconds: u64, begun: bool },
    /// Makes a child with a copy of the image.
    Fork { birth: Box<Birth>, stage: Copying },
    /// Gives the image the length `to` [click], and perhaps a text.
    Grow { to: u64, text: Option<usize>, stage: Copying },
    /// In a child: `fork` returns.
    Born,
    /// Writes the user structure to the swap area, and ends.
    Exit(Exiting),
    /// Waits for a child to exit.
    Wait(Waiting),
    /// Writes i-nodes, the superblock, and then every delayed write; `inode` is the next of them.
    Sync { inode: usize, stage: Syncing },
    /// With paging: touches the pages in `left`, the last of them first.
    Touch { left: Vec<Touch>, fault: Fault },
}

/// Progress of a call that makes an image anew, in memory or in the swap area.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Copying {
    /// Room is to be found for it.
    Allocate,
    /// It is written to the swap area, from this block on.
    Out(u64),
    /// It is there; processor time for the copy is being spent.
    Done,
}

/// Progress of `exit`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Exiting {
    /// A block of the swap area is to be found.
    Allocate,
    /// A buffer for this block of the swap area is needed.
    Placed(u64),
    /// The block of the swap area is written from this buffer.
    Writing(u64, Buffer),
}

/// Progress of `wait`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Waiting {
    /// Looks for a child that has exited.
    Looking,
    /// The user structure of this child will be in this buffer.
    Reading(usize, Buffer),
}

/// Progress of `update` with one block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Syncing {
    /// The block of the i-node is needed.
    Read,
    /// It is in this buffer, or will be.
    Held(Buffer),
    /// It was written back; the call has waited for that (`iupdat`).
    Written(Buffer),
}

/// A read or write of part of a file, one block at a time.
#[derive(Clone, Debug)]
pub(super) struct Transfer {
    /// Index of the file.
    pub file: usize,
    /// Place of the next byte in the file [byte].
    pub offset: u64,
    /// Bytes that are still to be moved [byte].
    pub bytes: u64,
    /// True for a write.
    pub write: bool,
    /// Progress with the current block.
    pub stage: Stage,
}

/// Progress of a transfer with one block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    /// A large file: the block that holds the addresses is needed (`bmap`).
    Map,
    /// That block is in this buffer, or will be.
    Mapping(Buffer),
    /// The block itself is needed.
    Data,
    /// It is read into this buffer.
    Reading(Buffer),
    /// Bytes are moved between the buffer and the process.
    Moving(Buffer),
}

/// Progress of a process with the page that it touches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Fault {
    /// No transfer is under way for it.
    #[default]
    None,
    /// A modified page is written, to make room.
    Writing,
    /// The page is read.
    Reading,
}

impl Transfer {
    fn new(Access { file, offset, bytes, write }: Access) -> Transfer {
        // Every block begins with the map: whether it needs one is decided there.
        Transfer { file, offset, bytes, write, stage: Stage::Map }
    }

    /// Block of the file that the next byte is in.
    pub fn block(&self) -> u64 {
        self.offset / BLOCK_BYTES
    }

    /// Bytes to be moved between the buffer of this block and the process.
    pub fn here(&self) -> u64 {
        self.bytes.min(BLOCK_BYTES - self.offset % BLOCK_BYTES)
    }
}

impl Call {
    /// The call that a step makes; none where it only computes.
    pub fn of(step: Step) -> Option<Call> {
        Some(match step {
            Step::Compute(_) | Step::Finish => return None,
            Step::Transfer(access) => Call::Transfer(Transfer::new(access)),
            Step::Print(left) => Call::Print { left, charged: false },
            // Whole seconds, rounded up: the call knows no parts of one.
            Step::Pause(span) => Call::Pause { seconds: span.0.div_ceil(SECOND_NS), begun: false },
            Step::Fork(birth) => Call::Fork { birth, stage: Copying::Allocate },
            Step::Grow { to, text } => Call::Grow { to, text, stage: Copying::Allocate },
            Step::Wait => Call::Wait(Waiting::Looking),
            Step::Exit => Call::Exit(Exiting::Allocate),
            Step::Sync => Call::Sync { inode: 0, stage: Syncing::Read },
            Step::Touch(left) => Call::Touch { left, fault: Fault::None },
        })
    }
}
