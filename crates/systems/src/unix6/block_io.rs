//! Blocks that processes ask for, and the end of every transfer: the kernel between processes, files and disks.

use std::cmp::Ordering;

use thinktime_engine::cache::{Buffer, Contents};
use thinktime_engine::{Calendar, Slot, Time};

use super::disks::Io;
use super::files::Got;
use super::machine::Machine;
use super::meters::Whose;
use super::states::Channel;
use super::units::{BLOCK_BYTES, CLICK_BYTES};
use crate::kernel::Monitor;

impl<M: Monitor> Machine<'_, M> {
    /// `getblk` and `bread`: takes the buffer of `block`; `fill` reads it where it is absent.
    pub fn get_block(&mut self, block: u64, fill: bool, calendar: &mut Calendar) -> Got {
        let io = &mut Io { disks: &mut self.disks, counts: &mut self.meters.totals.counts, calendar };
        self.files.get_block(block, fill, io)
    }

    /// `breada`: reads the block after `block` in advance.
    pub fn read_ahead(&mut self, file: usize, block: u64, calendar: &mut Calendar) {
        let io = &mut Io { disks: &mut self.disks, counts: &mut self.meters.totals.counts, calendar };
        self.files.read_ahead(file, block, io);
    }

    /// Writes the buffer of `block`, which is taken; it is free when that is done if `alone`.
    pub fn write_block(&mut self, buffer: Buffer, block: u64, alone: bool, calendar: &mut Calendar) {
        let io = &mut Io { disks: &mut self.disks, counts: &mut self.meters.totals.counts, calendar };
        self.files.write_block(buffer, block, alone, io);
    }

    /// `brelse`: whoever waits for this buffer or for any looks again.
    pub fn release(&mut self, buffer: Buffer, contents: Contents, now: Time) {
        for channel in self.files.release(buffer, contents) {
            self.wake(channel, now);
        }
    }

    /// Something was due at the disks: whether a transfer has ended.
    pub fn transfer_ends(&mut self, slot: Slot, calendar: &mut Calendar) -> bool {
        let Some(done) = self.disks.due(slot, calendar) else { return false };
        // Customers of the controller: the buffers, then the swapper, then each process with its page.
        let (now, swapper) = (calendar.now(), self.config.buffers);
        match done.customer.cmp(&swapper) {
            Ordering::Less => {
                self.meters.transferred(&done, BLOCK_BYTES, Whose::File);
                self.block_ends(Buffer(done.customer), now);
            }
            Ordering::Equal => {
                self.meters.transferred(&done, self.swap_bytes(), Whose::Swap);
                self.swap_ends(now);
            }
            Ordering::Greater => {
                self.meters.transferred(&done, self.config.page * CLICK_BYTES, Whose::Page);
                self.page_ends((done.customer - swapper - 1) as usize, now);
            }
        }
        true
    }

    /// A page that process `p` waited for has been read or written.
    fn page_ends(&mut self, p: usize, now: Time) {
        self.wake(Channel::Page(p), now);
        // A frame in transit cannot give way; this one now can, whoever waits for one.
        self.wake(Channel::FreeFrame, now);
    }

    fn block_ends(&mut self, buffer: Buffer, now: Time) {
        if self.files.transfer_ends(buffer) {
            // Written or read ahead for nobody: nobody else would release it.
            self.release(buffer, Contents::Clean, now);
        } else {
            self.wake(Channel::Buffer(buffer.0), now);
        }
    }
}
