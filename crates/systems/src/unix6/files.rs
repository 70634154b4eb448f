//! Files and the buffer cache: block input and output (`bio.c`, `subr.c`).

use std::cmp::Ordering;

use thinktime_engine::cache::{Buffer, BufferCache, Claim, Contents, Lookup};
use thinktime_engine::controller::Ask;
use thinktime_engine::{Calendar, Component, Slot, Streams, Time};

use super::calls::{BLOCK_BYTES, Flow};
use super::config::Config;
use super::machine::Machine;
use super::meters::Whose;
use super::process::{Channel, priority};
use super::swapper::CLICK_BYTES;
use crate::kernel::Monitor;

/// Blocks whose addresses stand in the i-node itself; a longer file has blocks of addresses.
const DIRECT: u64 = 8;
/// Addresses in a block of them.
const ADDRESSES: u64 = 256;
/// I-nodes in a block.
const INODES: u64 = 16;
/// The boot block, the superblock, and then the i-nodes.
const SUPERBLOCK: u64 = 1;
const BEFORE_INODES: u64 = 2;

/// How files lie in their part of the disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Layout {
    /// One after another.
    Contiguous,
    /// At even distances, of which there are so many at least, in random order.
    Spaced { places: u64 },
    /// Each block anywhere.
    Scattered,
}

/// A file, its blocks one after another, each block of addresses before those that it addresses.
#[derive(Clone, Debug)]
struct File {
    /// Number of its first block among those of all files.
    first: u64,
    blocks: u64,
    /// The block of the file that was used last (`i_lastr`).
    last: Option<u64>,
    /// Used since its i-node was last written (`IACC`, `IUPD`).
    used: bool,
}

/// What becomes of a buffer's transfer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Transferring {
    No,
    /// A process waits for it.
    Awaited,
    /// Nobody does: the buffer is free when it is done.
    Alone,
}

/// How a process gets a block.
#[derive(Clone, Copy, Debug)]
pub(super) enum Got {
    /// It is in this buffer, which the process has taken.
    Held(Buffer),
    /// It will be, when the process is woken.
    Reading(Buffer),
    /// The process has to ask again when woken.
    Wait(Flow),
}

pub(super) struct Files {
    pub cache: BufferCache,
    files: Vec<File>,
    /// Where the blocks of files are on the disk, by their numbers.
    places: Vec<u64>,
    /// I-nodes in use beside those of the files, which change all the time.
    other_inodes: usize,
    address_blocks: bool,
    transferring: Vec<Transferring>,
}

/// Blocks on the disk that a file of so many blocks takes, its blocks of addresses included if there are such.
pub(super) fn space(blocks: u64, address_blocks: bool) -> u64 {
    if address_blocks && blocks > DIRECT { blocks + blocks.div_ceil(ADDRESSES) } else { blocks }
}

/// Where the blocks of `files` files of `space` blocks each are in a span of `span`: at even distances, the files in
/// random order, or each block anywhere.
fn places(layout: Layout, files: u64, space: u64, span: u64, streams: &Streams) -> Vec<u64> {
    let mut stream = streams.stream(Component("layout"), 0);
    let mut shuffled = |count: u64| {
        let mut order: Vec<u64> = (0..count).collect();
        for last in (1..order.len()).rev() {
            order.swap(last, stream.below(last as u64 + 1) as usize);
        }
        order
    };
    match layout {
        Layout::Contiguous => (0..files * space).collect(),
        Layout::Spaced { places } => {
            let order = shuffled(places.max(files));
            let distance = span / order.len() as u64;
            let firsts = order.iter().take(files as usize).map(|place| place * distance);
            firsts.flat_map(|first| first..first + space).collect()
        }
        Layout::Scattered => shuffled(span),
    }
}

impl Files {
    pub fn new(config: &Config, streams: &Streams) -> Files {
        let (count, blocks) = config.files();
        let space = space(blocks, config.address_blocks);
        let file = |number| File { first: number * space, blocks, last: None, used: false };
        let (start, span) = (config.disks.file_start, config.disks.file_span);
        let places = places(config.layout, count, space, span, streams);
        Files {
            cache: BufferCache::new(config.buffers),
            files: (0..count).map(file).collect(),
            places: places.into_iter().map(|place| start + place).collect(),
            other_inodes: config.other_inodes,
            address_blocks: config.address_blocks,
            transferring: vec![Transferring::No; config.buffers as usize],
        }
    }

    /// The block of addresses that block `block` of `file` is found by, if it takes one (`bmap`).
    pub fn map_block(&self, file: usize, block: u64) -> Option<u64> {
        let file = &self.files[file];
        let map = file.first + block / ADDRESSES * (ADDRESSES + 1);
        (self.address_blocks && file.blocks > DIRECT).then(|| self.place(map))
    }

    /// Where block `block` of `file` is on the disk.
    pub fn data_block(&self, file: usize, block: u64) -> u64 {
        let file = &self.files[file];
        let maps = if self.address_blocks && file.blocks > DIRECT { block / ADDRESSES + 1 } else { 0 };
        self.place(file.first + block + maps)
    }

    fn place(&self, number: u64) -> u64 {
        self.places[number as usize]
    }

    /// Block `block` of `file` was used.
    pub fn used(&mut self, file: usize, block: u64) {
        let file = &mut self.files[file];
        (file.last, file.used) = (Some(block), true);
    }

    /// The block after `block`, if `block` follows the one used before.
    fn next_in_sequence(&self, file: usize, block: u64) -> Option<u64> {
        let known = &self.files[file];
        let sequential = block > 0 && known.last == Some(block - 1) && block + 1 < known.blocks;
        sequential.then(|| self.data_block(file, block + 1))
    }

    /// What `update` writes before the delayed writes: from number `from` on, the next of the i-nodes of files that
    /// were used, the other i-nodes and the superblock.
    pub fn to_write(&self, from: &mut usize) -> Option<u64> {
        let files = self.files.len();
        *from = (*from..files).find(|file| self.files[*file].used).unwrap_or((*from).max(files));
        let last = files + self.other_inodes;
        match (*from).cmp(&last) {
            Ordering::Less => Some(BEFORE_INODES + *from as u64 / INODES),
            Ordering::Equal => Some(SUPERBLOCK),
            Ordering::Greater => None,
        }
    }

    /// Whether a block that `update` writes has to be read first: the superblock is in memory all the time.
    pub fn has_inodes(block: u64) -> bool {
        block != SUPERBLOCK
    }

    /// `update` has written its number `number`.
    pub fn written(&mut self, number: usize) {
        if let Some(file) = self.files.get_mut(number) {
            file.used = false;
        }
    }
}

impl<M: Monitor> Machine<'_, M> {
    /// `getblk` and `bread`: takes the buffer of `block`; `fill` reads it where it is absent.
    pub fn get_block(&mut self, block: u64, fill: bool, calendar: &mut Calendar) -> Got {
        match self.files.cache.lookup(block) {
            Lookup::Free(buffer) => {
                self.meters.totals.counts.cache_hits += 1;
                return Got::Held(buffer);
            }
            Lookup::Busy(buffer) => {
                return Got::Wait(Flow::Sleep(Channel::Buffer(buffer.0), priority::BLOCK));
            }
            Lookup::Absent => {}
        }
        let Some(buffer) = self.claim(block, calendar) else {
            return Got::Wait(Flow::Sleep(Channel::FreeBuffers, priority::BLOCK));
        };
        if !fill {
            return Got::Held(buffer);
        }
        self.meters.totals.counts.block_reads += 1;
        self.begin_transfer(buffer, block, Transferring::Awaited, calendar);
        Got::Reading(buffer)
    }

    /// A buffer for `block`; delayed writes that stand in the way begin.
    fn claim(&mut self, block: u64, calendar: &mut Calendar) -> Option<Buffer> {
        loop {
            match self.files.cache.claim(block) {
                Claim::Ready(buffer) => return Some(buffer),
                Claim::Delayed(buffer, old) => self.write_block(buffer, old, true, calendar),
                Claim::NoneFree => return None,
            }
        }
    }

    /// `breada`: the block after one that was read in sequence is read too, and nobody waits for it.
    pub fn read_ahead(&mut self, file: usize, block: u64, calendar: &mut Calendar) {
        let next = self.files.next_in_sequence(file, block).filter(|_| self.config.read_ahead);
        let Some(next) = next.filter(|next| !self.files.cache.holds(*next)) else { return };
        if let Some(buffer) = self.claim(next, calendar) {
            self.meters.totals.counts.read_aheads += 1;
            self.begin_transfer(buffer, next, Transferring::Alone, calendar);
        }
    }

    /// Writes the buffer of `block`, which is taken; it is free when that is done if `alone`.
    pub fn write_block(&mut self, buffer: Buffer, block: u64, alone: bool, calendar: &mut Calendar) {
        self.meters.totals.counts.block_writes += 1;
        let how = if alone { Transferring::Alone } else { Transferring::Awaited };
        self.begin_transfer(buffer, block, how, calendar);
    }

    fn begin_transfer(&mut self, buffer: Buffer, block: u64, how: Transferring, calendar: &mut Calendar) {
        self.files.transferring[buffer.0 as usize] = how;
        let ask = Ask { customer: buffer.0, drive: self.config.disks.file_drive, block, blocks: 1 };
        self.disks.arrive(ask, calendar);
    }

    /// `brelse`: whoever waits for this buffer or for any looks again.
    pub fn release(&mut self, buffer: Buffer, contents: Contents, now: Time) {
        self.files.cache.release(buffer, contents);
        self.wake(Channel::Buffer(buffer.0), now);
        self.wake(Channel::FreeBuffers, now);
    }

    /// Something was due at the disks: whether a transfer has ended.
    pub fn transfer_ends(&mut self, slot: Slot, calendar: &mut Calendar) -> bool {
        let Some(done) = self.disks.due(slot, calendar) else { return false };
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

    fn block_ends(&mut self, buffer: Buffer, now: Time) {
        let how = std::mem::replace(&mut self.files.transferring[buffer.0 as usize], Transferring::No);
        if how == Transferring::Alone {
            self.release(buffer, Contents::Clean, now);
        } else {
            self.wake(Channel::Buffer(buffer.0), now);
        }
    }
}
