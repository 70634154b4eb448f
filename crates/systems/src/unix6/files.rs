//! Files and the buffer cache: block input and output (`bio.c`, `subr.c`).

use std::cmp::Ordering;

use thinktime_engine::cache::{Buffer, BufferCache, Claim, Contents, Lookup};
use thinktime_engine::controller::Ask;
use thinktime_engine::{Component, Streams};

use super::disks::Io;
use super::states::{Channel, Flow, priority};

/// Blocks whose addresses stand in the i-node itself; a longer file has blocks of addresses.
const DIRECT: u64 = 8;
/// Addresses in a block of them.
const ADDRESSES: u64 = 256;
/// I-nodes in a block.
const INODES: u64 = 16;
/// The superblock; the boot block is block 0.
const SUPERBLOCK: u64 = 1;
/// Blocks before the i-nodes.
const BEFORE_INODES: u64 = 2;

/// Numbers of the blocks of the swap area begin here among those that have buffers: above any place on a drive.
const SWAP_AREA: u64 = 1 << 48;

/// Number by which the buffers know block `place` of the swap area.
pub(super) fn swap_block(place: u64) -> u64 {
    SWAP_AREA + place
}

/// Order of the files in their part of the disk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Layout {
    /// One after another.
    Contiguous,
    /// At even distances, in random order; there are at least `places` places.
    Spaced { places: u64 },
    /// Each block anywhere.
    Scattered,
    /// Each file at a place of its own.
    Given(Vec<FilePlace>),
}

/// Place of a file on its drive, its blocks of addresses included.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum FilePlace {
    /// One block after another, from this one on.
    From(u64),
    /// Each block of a file.
    Blocks(Vec<u64>),
}

impl FilePlace {
    /// Numbers of the blocks of a file of `space` blocks.
    fn blocks(&self, space: u64) -> Vec<u64> {
        match self {
            FilePlace::From(first) => (*first..*first + space).collect(),
            FilePlace::Blocks(blocks) => blocks.clone(),
        }
    }
}

/// A file, its blocks one after another, each block of addresses before those that it addresses.
#[derive(Clone, Debug)]
struct File {
    /// Number of its first block among those of all files.
    first: u64,
    /// Its length, without blocks of addresses [block].
    blocks: u64,
    /// The block of the file that was used last (`i_lastr`).
    last: Option<u64>,
    /// Used since its i-node was last written (`IACC`, `IUPD`).
    used: bool,
}

/// Number, length and places of the files, and how their blocks are buffered.
#[derive(Clone, Debug)]
pub(super) struct FilesPlan {
    /// Number of files.
    pub files: u64,
    /// Length of each [block].
    pub blocks: u64,
    /// Whether files of more than eight blocks have blocks of addresses.
    pub address_blocks: bool,
    /// Order of the files on the disk.
    pub layout: Layout,
    /// I-nodes in use in addition to those of the files, which change all the time.
    pub other_inodes: usize,
    /// Their drive.
    pub drive: u32,
    /// First block of the files on their drive.
    pub start: u64,
    /// Blocks from there on for the files [block].
    pub span: u64,
    /// Drive of the swap area.
    pub swap_drive: u32,
    /// First block of the swap area on its drive.
    pub swap_start: u64,
    /// Block buffers.
    pub buffers: u32,
    /// Whether blocks are read in advance.
    pub read_ahead: bool,
}

/// State of a buffer's transfer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Transferring {
    No,
    /// A process waits for it.
    Awaited,
    /// Nobody does: the buffer is free when it is done.
    Alone,
}

/// Outcome of asking for a block.
#[derive(Clone, Copy, Debug)]
pub(super) enum Got {
    /// It is in this buffer, which the process has taken.
    Held(Buffer),
    /// It will be, when the process is woken.
    Reading(Buffer),
    /// The process has to ask again when woken.
    Wait(Flow),
}

/// The files and the buffers of their blocks.
pub(super) struct Files {
    plan: FilesPlan,
    /// The buffers by their blocks.
    pub cache: BufferCache,
    files: Vec<File>,
    /// Where the blocks of files are on the disk, by their numbers.
    places: Vec<u64>,
    /// By buffer.
    transferring: Vec<Transferring>,
}

/// Blocks on the disk for a file of `blocks` blocks, with its blocks of addresses if there are any.
pub(super) fn space(blocks: u64, address_blocks: bool) -> u64 {
    if address_blocks && blocks > DIRECT { blocks + blocks.div_ceil(ADDRESSES) } else { blocks }
}

/// Where the blocks of the files, of `space` blocks each, are on their drive: one after another, at even distances with
/// the files in random order, each block anywhere, or as given.
fn places(plan: &FilesPlan, space: u64, streams: &Streams) -> Vec<u64> {
    let &FilesPlan { files, start, span, .. } = plan;
    // A stream of its own: another layout changes no other draw of the run.
    let mut stream = streams.stream(Component("layout"), 0);
    let mut shuffled = |count: u64| {
        let mut order: Vec<u64> = (0..count).collect();
        // Fisher and Yates' shuffle, from the end.
        for last in (1..order.len()).rev() {
            order.swap(last, stream.below(last as u64 + 1) as usize);
        }
        order
    };
    let numbers: Vec<u64> = match &plan.layout {
        Layout::Contiguous => (0..files * space).collect(),
        Layout::Spaced { places } => {
            let order = shuffled((*places).max(files));
            let distance = span / order.len() as u64;
            let firsts = order.iter().take(files as usize).map(|place| place * distance);
            firsts.flat_map(|first| first..first + space).collect()
        }
        // All of the span is shuffled, though files take only the first places: each block is anywhere in it.
        Layout::Scattered => shuffled(span),
        Layout::Given(places) => return places.iter().flat_map(|place| place.blocks(space)).collect(),
    };
    numbers.into_iter().map(|number| start + number).collect()
}

impl Files {
    pub fn new(plan: FilesPlan, streams: &Streams) -> Files {
        let FilesPlan { files, blocks, .. } = plan;
        let space = space(blocks, plan.address_blocks);
        let file = |number| File { first: number * space, blocks, last: None, used: false };
        Files {
            cache: BufferCache::new(plan.buffers),
            files: (0..files).map(file).collect(),
            places: places(&plan, space, streams),
            transferring: vec![Transferring::No; plan.buffers as usize],
            plan,
        }
    }

    /// Place of the block of addresses by which block `block` of `file` is found, if it needs one (`bmap`).
    pub fn map_block(&self, file: usize, block: u64) -> Option<u64> {
        let file = &self.files[file];
        // A block of addresses stands before each 256 data blocks; `data_block` skips them the same way.
        let map = file.first + block / ADDRESSES * (ADDRESSES + 1);
        (self.plan.address_blocks && file.blocks > DIRECT).then(|| self.place(map))
    }

    /// Place of block `block` of `file` on the disk.
    pub fn data_block(&self, file: usize, block: u64) -> u64 {
        let file = &self.files[file];
        let maps = if self.plan.address_blocks && file.blocks > DIRECT { block / ADDRESSES + 1 } else { 0 };
        self.place(file.first + block + maps)
    }

    fn place(&self, number: u64) -> u64 {
        self.places[number as usize]
    }

    /// Notes that block `block` of `file` was used.
    pub fn used(&mut self, file: usize, block: u64) {
        let file = &mut self.files[file];
        (file.last, file.used) = (Some(block), true);
    }

    /// The block after `block`, if `block` follows the one used before.
    fn next_in_sequence(&self, file: usize, block: u64) -> Option<u64> {
        let state = &self.files[file];
        // As `readi` does: one block out of order ends reading ahead until two follow each other again.
        let sequential = block > 0 && state.last == Some(block - 1) && block + 1 < state.blocks;
        sequential.then(|| self.data_block(file, block + 1))
    }

    /// Block that `update` writes next, before the delayed writes, from item `from` on: the i-nodes of files that
    /// were used, the other i-nodes, the superblock.
    pub fn to_write(&self, from: &mut usize) -> Option<u64> {
        let files = self.files.len();
        // Only used files have i-nodes to write; the others are skipped without an access.
        *from = (*from..files).find(|file| self.files[*file].used).unwrap_or((*from).max(files));
        let last = files + self.plan.other_inodes;
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

    /// Notes that `update` has written its item `number`.
    pub fn written(&mut self, number: usize) {
        if let Some(file) = self.files.get_mut(number) {
            file.used = false;
        }
    }

    /// `getblk` and `bread`: takes the buffer of `block`; `fill` reads it where it is absent.
    pub fn get_block(&mut self, block: u64, fill: bool, io: &mut Io) -> Got {
        match self.cache.lookup(block) {
            Lookup::Free(buffer) => {
                io.counts.cache_hits += 1;
                return Got::Held(buffer);
            }
            Lookup::Busy(buffer) => {
                // Another may have taken it again by the time this process is woken: then it sleeps again.
                return Got::Wait(Flow::Sleep(Channel::Buffer(buffer.0), priority::BLOCK));
            }
            Lookup::Absent => {}
        }
        let Some(buffer) = self.claim(block, io) else {
            return Got::Wait(Flow::Sleep(Channel::FreeBuffers, priority::BLOCK));
        };
        if !fill {
            return Got::Held(buffer);
        }
        io.counts.block_reads += 1;
        self.begin_transfer(buffer, block, Transferring::Awaited, io);
        Got::Reading(buffer)
    }

    /// A buffer for `block`; delayed writes that stand in the way begin.
    fn claim(&mut self, block: u64, io: &mut Io) -> Option<Buffer> {
        loop {
            match self.cache.claim(block) {
                Claim::Ready(buffer) => return Some(buffer),
                // Asynchronous, as in `getblk`: the claimer goes on to the next buffer and does not wait for
                // this write.
                Claim::Delayed(buffer, old) => self.write_block(buffer, old, true, io),
                Claim::NoneFree => return None,
            }
        }
    }

    /// `breada`: the block after one that was read in sequence is read too, and nobody waits for it.
    pub fn read_ahead(&mut self, file: usize, block: u64, io: &mut Io) {
        let next = self.next_in_sequence(file, block).filter(|_| self.plan.read_ahead);
        let Some(next) = next.filter(|next| !self.cache.holds(*next)) else { return };
        // Without a free buffer nothing is read ahead: nobody waits for it.
        if let Some(buffer) = self.claim(next, io) {
            io.counts.read_aheads += 1;
            self.begin_transfer(buffer, next, Transferring::Alone, io);
        }
    }

    /// Writes the buffer of `block`, which is taken; it is free when that is done if `alone`.
    pub fn write_block(&mut self, buffer: Buffer, block: u64, alone: bool, io: &mut Io) {
        io.counts.block_writes += 1;
        let how = if alone { Transferring::Alone } else { Transferring::Awaited };
        self.begin_transfer(buffer, block, how, io);
    }

    fn begin_transfer(&mut self, buffer: Buffer, block: u64, how: Transferring, io: &mut Io) {
        self.transferring[buffer.0 as usize] = how;
        // The buffer is the customer: it has one transfer at most at a time, as the controller demands.
        let (drive, block) = match block.checked_sub(SWAP_AREA) {
            Some(place) => (self.plan.swap_drive, self.plan.swap_start + place),
            None => (self.plan.drive, block),
        };
        let ask = Ask { customer: buffer.0, drive, block, blocks: 1 };
        io.disks.arrive(ask, io.calendar);
    }

    /// `brelse`: the buffer is free; who sleeps on these channels looks again.
    pub fn release(&mut self, buffer: Buffer, contents: Contents) -> [Channel; 2] {
        self.cache.release(buffer, contents);
        [Channel::Buffer(buffer.0), Channel::FreeBuffers]
    }

    /// True if the buffer of the transfer that ended is free at once, as nobody waits for it.
    pub fn transfer_ends(&mut self, buffer: Buffer) -> bool {
        let transferring = &mut self.transferring[buffer.0 as usize];
        std::mem::replace(transferring, Transferring::No) == Transferring::Alone
    }
}
