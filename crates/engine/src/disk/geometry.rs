//! Geometry and timing of a drive, and the accounts of its time.
//!
//! Whole nanoseconds throughout: the parts of an access must sum exactly to its service for the utilisation law.

use crate::random::Stream;
use crate::time::{Span, Time};

/// Geometry and timing of a disk or drum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Geometry {
    /// Positions of the arm; 1 for a drum.
    pub cylinders: u64,
    /// Tracks under the heads at one position of the arm.
    pub tracks_per_cylinder: u64,
    /// Blocks that pass a head in a revolution.
    pub blocks_per_track: u64,
    /// Time of a revolution [ns].
    pub revolution: Span,
    /// Fixed time before any access, near or far.
    pub start: Span,
    /// Seek to the next cylinder.
    pub seek: Span,
    /// More for each further cylinder.
    pub seek_further: Span,
    /// Distance in cylinders, at least 1, at which the arm has its full speed, and the time for each cylinder beyond
    /// it, instead of `seek_further`.
    pub seek_far: Option<(u64, Span)>,
    /// Law of the wait until the block comes under the head.
    pub rotation: Rotation,
    /// Law of the time for the blocks once the first is there.
    pub transfer: Transfer,
}

/// Law of the time until a block comes under the head.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rotation {
    /// By where the platter is at that time; block 0 of a track passes at time 0.
    Position,
    /// Anywhere, uniformly.
    Random,
    /// Always after this.
    Fixed(Span),
}

/// Law of the time that blocks take to pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transfer {
    /// A revolution for a track of them.
    Tracks,
    /// A revolution for a track of them, and each boundary of cylinders costs whole revolutions: the step of the arm,
    /// and the wait until the next block comes round.
    Revolutions,
    /// This time for each block: blocks of several tracks, or a channel that takes part of each revolution.
    Each(Span),
}

impl Geometry {
    /// Capacity in blocks.
    pub fn blocks(&self) -> u64 {
        self.cylinders * self.blocks_per_cylinder()
    }

    fn blocks_per_cylinder(&self) -> u64 {
        self.tracks_per_cylinder * self.blocks_per_track
    }

    /// The cylinder of `block`: blocks fill a cylinder before the next begins.
    pub fn cylinder(&self, block: u64) -> u64 {
        block / self.blocks_per_cylinder()
    }

    /// Time to move the arm over this number of `cylinders`: linear, with a second slope for long seeks; 0 where it
    /// stays.
    pub fn seek_time(&self, cylinders: u64) -> Span {
        match cylinders {
            0 => Span::ZERO,
            _ => {
                // Without a second slope the first holds to the end.
                let (full, far) = self.seek_far.unwrap_or((cylinders, Span::ZERO));
                let near = cylinders.min(full);
                Span(self.seek.0 + (near - 1) * self.seek_further.0 + (cylinders - near) * far.0)
            }
        }
    }

    /// From `now` until `block` begins to pass under the head.
    fn latency(&self, now: Time, block: u64, stream: &mut Stream) -> Span {
        match self.rotation {
            Rotation::Fixed(latency) => latency,
            Rotation::Random => Span(stream.below(self.revolution.0)),
            Rotation::Position => {
                // Multiplied before divided: a division first would lose a fraction of a sector in every
                // block.
                let begins = self.revolution.0 * (block % self.blocks_per_track) / self.blocks_per_track;
                let angle = now.0 % self.revolution.0;
                Span((begins + self.revolution.0 - angle) % self.revolution.0)
            }
        }
    }

    /// The blocks themselves, and what each boundary of cylinders among them costs.
    pub fn transfer_time(&self, block: u64, blocks: u64) -> Span {
        let last = block + blocks.max(1) - 1;
        let crossings = self.cylinder(last) - self.cylinder(block);
        let passing = match self.transfer {
            Transfer::Tracks | Transfer::Revolutions => self.revolution.0 * blocks / self.blocks_per_track,
            Transfer::Each(block) => block.0 * blocks,
        };
        let crossing = match self.transfer {
            // While the arm steps the platter goes on turning: the next block is back after whole revolutions.
            Transfer::Revolutions => self.seek.0.next_multiple_of(self.revolution.0),
            _ => self.seek.0,
        };
        Span(passing + crossings * crossing)
    }
}

/// Where the time of all accesses went [ns].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Accesses {
    /// Number of accesses.
    pub count: u64,
    /// Those that moved the arm.
    pub moved: u64,
    /// Fixed time before each access.
    pub start: u128,
    /// Movement of the arm.
    pub seek: u128,
    /// Wait until the first block comes round.
    pub latency: u128,
    /// Passing of the blocks, with the steps of the arm between cylinders.
    pub transfer: u128,
}

/// The parts of one access.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Parts {
    /// Fixed time before the access.
    pub start: Span,
    /// Movement of the arm.
    pub seek: Span,
    /// Wait until the first block comes round.
    pub latency: Span,
    /// Passing of the blocks, with the steps of the arm between cylinders.
    pub transfer: Span,
}

impl Parts {
    pub(crate) fn all(&self) -> Span {
        self.start + self.seek + self.latency + self.transfer
    }
}

/// The mechanics of a drive: an arm and a platter.
#[derive(Clone, Debug)]
pub(crate) struct Drive {
    pub(crate) geometry: Geometry,
    /// Where the arm stands, or is going to.
    pub(crate) arm: u64,
    pub(crate) accesses: Accesses,
}

impl Drive {
    pub(crate) fn new(geometry: Geometry) -> Drive {
        Drive { geometry, arm: 0, accesses: Accesses::default() }
    }

    /// Begins an access to `block`: the arm goes there. Returns its parts as far as they are known.
    pub(crate) fn position(&mut self, block: u64) -> Parts {
        let cylinder = self.geometry.cylinder(block);
        let start = self.geometry.start;
        let seek = self.geometry.seek_time(cylinder.abs_diff(self.arm));
        // Accounts are kept by part when it begins, not when it ends: a run that ends during an access counts it.
        self.accesses.count += 1;
        self.accesses.moved += u64::from(cylinder != self.arm);
        self.accesses.start += u128::from(start.0);
        self.accesses.seek += u128::from(seek.0);
        self.arm = cylinder;
        Parts { start, seek, ..Parts::default() }
    }

    /// From `now`, when the arm is there, the platter turns until `blocks` from `block` on have passed.
    pub(crate) fn pass(
        &mut self,
        parts: &mut Parts,
        now: Time,
        (block, blocks): (u64, u64),
        stream: &mut Stream,
    ) {
        parts.latency = self.geometry.latency(now, block, stream);
        parts.transfer = self.geometry.transfer_time(block, blocks);
        self.accesses.latency += u128::from(parts.latency.0);
        self.accesses.transfer += u128::from(parts.transfer.0);
        // A transfer over a boundary leaves the arm on its last cylinder: the next seek starts there.
        self.arm = self.geometry.cylinder(block + blocks.max(1) - 1);
    }
}
