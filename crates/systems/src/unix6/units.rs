//! Units of memory and disks, and the slots of the calendar.

use thinktime_engine::Slot;

/// Bytes of a block of the disks.
pub(super) const BLOCK_BYTES: u64 = 512;
/// Bytes of a click, the unit in which memory is given out.
pub(super) const CLICK_BYTES: u64 = 64;

/// Blocks of the swap area that an image of so many clicks takes.
pub(super) fn blocks(clicks: u64) -> u64 {
    (clicks * CLICK_BYTES).div_ceil(BLOCK_BYTES)
}

pub(super) const PROCESSOR: Slot = Slot(0);
pub(super) const CLOCK: Slot = Slot(1);
pub(super) const TERMINAL: Slot = Slot(2);
pub(super) const SAMPLE: Slot = Slot(3);
/// The disk controller's, and those of its drives.
pub(super) const DISKS: Slot = Slot(4);
