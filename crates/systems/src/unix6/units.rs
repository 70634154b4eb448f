//! Units of memory and disks, and the slots of the calendar.

use thinktime_engine::Slot;

/// Bytes of a block of the disks.
pub(super) const BLOCK_BYTES: u64 = 512;
/// Bytes of a click, the unit in which memory is given out.
pub(super) const CLICK_BYTES: u64 = 64;

/// Blocks of the swap area for an image of `clicks` clicks.
pub(super) fn blocks(clicks: u64) -> u64 {
    (clicks * CLICK_BYTES).div_ceil(BLOCK_BYTES)
}

/// End of the processor time that the current process needs.
pub(super) const PROCESSOR: Slot = Slot(0);
/// Clock interrupt.
pub(super) const CLOCK: Slot = Slot(1);
/// Low water mark of the terminal's queue.
pub(super) const TERMINAL: Slot = Slot(2);
/// End of an interval of the log's samples.
pub(super) const SAMPLE: Slot = Slot(3);
/// The controller; the slots of its drives follow.
pub(super) const DISKS: Slot = Slot(4);
