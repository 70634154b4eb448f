//! A cache of disk blocks in buffers: the one released least recently gives way, and writes are delayed.
//!
//! A buffer is free or taken; either way it may hold a block. A process that needs a block looks it up, and where it
//! is absent claims a buffer for it; the taken buffer is then read, written or filled, which needs the disk and time,
//! and released. It is the scheme of the Sixth Edition of UNIX (`getblk`, `brelse`, `bdwrite`, `bflush`), without the
//! waiting, which is the caller's (Lions, A Commentary on the UNIX Operating System, 1977, chapter 17: bio.c).

use std::collections::BTreeMap;

use crate::laws::{LawViolation, Laws};

/// The number of a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Buffer(pub u32);

/// Result of looking for a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lookup {
    /// It is, and its buffer is now taken.
    Free(Buffer),
    /// It is, and its buffer is taken already: wait for its release and look again.
    Busy(Buffer),
    /// It is not: claim a buffer.
    Absent,
}

/// Result of claiming a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Claim {
    /// The free buffer released least recently; it is now taken, and stands for the block, which is not yet in it.
    Ready(Buffer),
    /// That buffer held a delayed write of this other block; it is now taken, and the write no longer delayed:
    /// write it, release it, and claim again.
    Delayed(Buffer, u64),
    /// All buffers are taken: wait for a release and look again.
    NoneFree,
}

/// Contents of a buffer that is released.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Contents {
    /// The block as it was when the buffer was taken: a write that was delayed still is.
    Unchanged,
    /// The block as it is on the disk, from which it has been read or to which it has been written.
    Clean,
    /// The block, to be written later.
    Delayed,
    /// Nothing any more: a read that failed.
    Void,
}

/// Counts of the uses of a cache, by result.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CacheCounts {
    /// Blocks looked up that were there and free.
    pub hits: u64,
    /// Buffers claimed, to the end.
    pub misses: u64,
    /// Delayed writes that had to be done because their buffer was claimed.
    pub evicted_writes: u64,
    /// Delayed writes that were flushed.
    pub flushed_writes: u64,
}

/// Buffers for blocks.
#[derive(Clone, Debug)]
pub struct BufferCache {
    buffers: Vec<State>,
    /// By block, the buffer that holds it or is taken for it.
    // Ordered maps throughout: a hash map's order would differ from run to run, and with it the results.
    blocks: BTreeMap<u64, Buffer>,
    /// Free buffers, by the order of their release.
    free: BTreeMap<u64, Buffer>,
    /// Number of the last release: a clock that only orders.
    releases: u64,
    /// Number of buffers taken. Kept although it follows from `free`: the check compares the two.
    taken: u32,
    counts: CacheCounts,
}

#[derive(Clone, Copy, Debug)]
struct State {
    block: Option<u64>,
    delayed: bool,
    /// The number of its release; none while it is taken.
    released: Option<u64>,
}

impl BufferCache {
    /// A cache of empty buffers.
    ///
    /// # Panics
    /// There are no `buffers`.
    pub fn new(buffers: u32) -> BufferCache {
        assert!(buffers > 0, "a cache has a buffer at least");
        let empty = |number: u32| State { block: None, delayed: false, released: Some(u64::from(number)) };
        BufferCache {
            buffers: (0..buffers).map(empty).collect(),
            blocks: BTreeMap::new(),
            free: (0..buffers).map(|number| (u64::from(number), Buffer(number))).collect(),
            releases: u64::from(buffers),
            taken: 0,
            counts: CacheCounts::default(),
        }
    }

    /// Looks for `block`, and takes its buffer if that is free.
    pub fn lookup(&mut self, block: u64) -> Lookup {
        let Some(buffer) = self.blocks.get(&block).copied() else { return Lookup::Absent };
        let Some(released) = self.state(buffer).released.take() else { return Lookup::Busy(buffer) };
        self.free.remove(&released);
        self.taken += 1;
        self.counts.hits += 1;
        Lookup::Free(buffer)
    }

    /// Claims a buffer for `block`, which is absent.
    ///
    /// # Panics
    /// In debug builds, when it is not.
    pub fn claim(&mut self, block: u64) -> Claim {
        debug_assert!(!self.holds(block), "block {block} has a buffer already");
        let Some((_, buffer)) = self.free.pop_first() else { return Claim::NoneFree };
        self.taken += 1;
        let state = self.state(buffer);
        state.released = None;
        if let (Some(old), true) = (state.block, state.delayed) {
            // The buffer keeps the old block until the caller has written it: a process that looks for the
            // block meanwhile must find it busy, not read an outdated copy from the disk.
            state.delayed = false;
            self.counts.evicted_writes += 1;
            return Claim::Delayed(buffer, old);
        }
        let old = state.block.replace(block);
        old.and_then(|old| self.blocks.remove(&old));
        self.blocks.insert(block, buffer);
        // Counted here alone: a claim that meets a delayed write is repeated, and would count twice.
        self.counts.misses += 1;
        Claim::Ready(buffer)
    }

    /// Whether `block` has a buffer, which does not count as a use.
    pub fn holds(&self, block: u64) -> bool {
        self.blocks.contains_key(&block)
    }

    /// `buffer`, which was taken, is free from now on, and the last to give way.
    ///
    /// # Panics
    /// There is no such buffer; in debug builds, when it is free already.
    pub fn release(&mut self, buffer: Buffer, contents: Contents) {
        self.releases += 1;
        let released = self.releases;
        let state = self.state(buffer);
        debug_assert!(state.released.is_none(), "{buffer:?} is free already");
        state.released = Some(released);
        match contents {
            // A reader gives back a buffer that may hold a delayed write: to mark it clean would lose that
            // write.
            Contents::Unchanged => {}
            Contents::Clean => state.delayed = false,
            Contents::Delayed => state.delayed = true,
            Contents::Void => {
                state.delayed = false;
                let block = state.block.take();
                block.and_then(|block| self.blocks.remove(&block));
            }
        }
        self.taken -= 1;
        self.free.insert(released, buffer);
    }

    /// Takes every free buffer with a delayed write, in the order of their release, and the writes are no longer
    /// delayed: write each block, and release its buffer.
    pub fn flush(&mut self) -> Vec<(Buffer, u64)> {
        let (buffers, mut delayed) = (&mut self.buffers, Vec::new());
        // In the order of their release, as `bflush` walks the free list: the order of the writes is part of the
        // simulated behaviour.
        self.free.retain(|_, buffer| {
            let state = &mut buffers[buffer.0 as usize];
            let (Some(block), true) = (state.block, state.delayed) else { return true };
            (state.released, state.delayed) = (None, false);
            delayed.push((*buffer, block));
            false
        });
        self.taken += delayed.len() as u32;
        self.counts.flushed_writes += delayed.len() as u64;
        delayed
    }

    /// How many buffers are free.
    pub fn free(&self) -> u32 {
        self.free.len() as u32
    }

    /// Uses since statistics began.
    pub fn counts(&self) -> CacheCounts {
        self.counts
    }

    fn state(&mut self, buffer: Buffer) -> &mut State {
        &mut self.buffers[buffer.0 as usize]
    }

    /// Checks that each buffer is free or taken, and that no block is in two.
    ///
    /// # Errors
    /// One of them does not hold: a defect of the cache.
    pub fn check(&self, laws: &mut Laws) -> Result<(), LawViolation> {
        let place = "the buffer cache";
        let all = self.buffers.len() as u32;
        let free = self.buffers.iter().filter(|state| state.released.is_some()).count() as u32;
        laws.equal("buffers free and taken", place, self.free() + self.taken, all)?;
        laws.equal("buffers that are free", place, self.free(), free)?;
        let is_indexed = |(number, state): &(usize, &State)| {
            state.block.is_some_and(|block| self.blocks.get(&block) == Some(&Buffer(*number as u32)))
        };
        // Both directions: a buffer found by its block, and no entry of a block that lost its buffer.
        let indexed = self.buffers.iter().enumerate().filter(is_indexed).count();
        let held = self.buffers.iter().filter(|state| state.block.is_some()).count();
        laws.equal("buffers that are found by their block", place, indexed, held)?;
        laws.equal("blocks in a buffer each", place, self.blocks.len(), held)
    }

    /// Counts begin anew; blocks stay.
    pub fn restart_statistics(&mut self) {
        self.counts = CacheCounts::default();
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The same as a list of buffers: taken ones, and free ones in the order of their release.
    #[derive(Debug)]
    struct List {
        free: Vec<Entry>,
        taken: Vec<Entry>,
    }

    #[derive(Clone, Copy, Debug)]
    struct Entry {
        buffer: Buffer,
        block: Option<u64>,
        delayed: bool,
    }

    impl List {
        fn lookup(&mut self, block: u64) -> Lookup {
            if let Some(entry) = self.taken.iter().find(|entry| entry.block == Some(block)) {
                return Lookup::Busy(entry.buffer);
            }
            let Some(at) = self.free.iter().position(|entry| entry.block == Some(block)) else {
                return Lookup::Absent;
            };
            self.taken.push(self.free.remove(at));
            Lookup::Free(self.taken[self.taken.len() - 1].buffer)
        }

        fn claim(&mut self, block: u64) -> Claim {
            if self.free.is_empty() {
                return Claim::NoneFree;
            }
            let entry = self.free.remove(0);
            match entry {
                Entry { buffer, block: Some(old), delayed: true } => {
                    self.taken.push(Entry { delayed: false, ..entry });
                    Claim::Delayed(buffer, old)
                }
                Entry { buffer, .. } => {
                    self.taken.push(Entry { block: Some(block), ..entry });
                    Claim::Ready(buffer)
                }
            }
        }

        fn release(&mut self, which: usize, contents: Contents) -> Buffer {
            let mut entry = self.taken.remove(which % self.taken.len());
            match contents {
                Contents::Unchanged => {}
                Contents::Clean => entry.delayed = false,
                Contents::Delayed => entry.delayed = true,
                Contents::Void => entry = Entry { block: None, delayed: false, ..entry },
            }
            self.free.push(entry);
            entry.buffer
        }

        fn flush(&mut self) -> Vec<(Buffer, u64)> {
            let (delayed, free) = self.free.iter().partition(|entry| entry.delayed);
            self.free = free;
            let delayed: Vec<Entry> = delayed;
            self.taken.extend(delayed.iter().map(|entry| Entry { delayed: false, ..*entry }));
            delayed.iter().filter_map(|entry| Some((entry.buffer, entry.block?))).collect()
        }
    }

    proptest! {
        #[test]
        fn agrees_with_a_list(
            buffers in 1u32..6,
            steps in prop::collection::vec((0u8..20, 0u64..9, 0usize..9), 1..300),
        ) {
            let mut cache = BufferCache::new(buffers);
            let empty = |number| Entry { buffer: Buffer(number), block: None, delayed: false };
            let mut list = List { free: (0..buffers).map(empty).collect(), taken: Vec::new() };
            let mut counts = CacheCounts::default();
            for (act, block, which) in steps {
                let contents = match act {
                    0..3 => Contents::Unchanged,
                    3..6 => Contents::Clean,
                    6..9 => Contents::Delayed,
                    _ => Contents::Void,
                };
                if act < 10 && !list.taken.is_empty() {
                    cache.release(list.release(which, contents), contents);
                } else if act == 10 {
                    let flushed = list.flush();
                    counts.flushed_writes += flushed.len() as u64;
                    prop_assert_eq!(cache.flush(), flushed);
                } else {
                    let found = list.lookup(block);
                    prop_assert_eq!(cache.holds(block), found != Lookup::Absent);
                    prop_assert_eq!(cache.lookup(block), found);
                    counts.hits += u64::from(matches!(found, Lookup::Free(_)));
                    if found == Lookup::Absent {
                        let claimed = list.claim(block);
                        prop_assert_eq!(cache.claim(block), claimed);
                        counts.misses += u64::from(matches!(claimed, Claim::Ready(_)));
                        counts.evicted_writes += u64::from(matches!(claimed, Claim::Delayed(..)));
                    }
                }
                prop_assert_eq!(cache.free() as usize, list.free.len());
                prop_assert_eq!(cache.counts(), counts);
                cache.check(&mut Laws::default()).unwrap();
            }
        }
    }

    #[test]
    fn a_reader_of_a_delayed_block_does_not_lose_the_write() {
        let mut cache = BufferCache::new(1);
        assert_eq!((cache.lookup(7), cache.claim(7)), (Lookup::Absent, Claim::Ready(Buffer(0))));
        assert_eq!((cache.lookup(7), cache.claim(8)), (Lookup::Busy(Buffer(0)), Claim::NoneFree));
        cache.release(Buffer(0), Contents::Delayed);
        assert_eq!(cache.lookup(7), Lookup::Free(Buffer(0)));
        assert_eq!(cache.flush(), [], "who has it may write it");
        cache.release(Buffer(0), Contents::Unchanged);
        assert_eq!(cache.claim(8), Claim::Delayed(Buffer(0), 7));
        assert_eq!(cache.lookup(7), Lookup::Busy(Buffer(0)), "it is there as long as it is being written");
        cache.release(Buffer(0), Contents::Clean);
        assert_eq!((cache.claim(8), cache.holds(7)), (Claim::Ready(Buffer(0)), false));
        cache.restart_statistics();
        assert_eq!(cache.counts(), CacheCounts::default());
    }

    #[test]
    fn a_lost_buffer_and_a_block_in_two_are_seen() {
        let mut lost = BufferCache::new(2);
        lost.free.pop_first();
        assert_eq!(lost.check(&mut Laws::default()).unwrap_err().law, "buffers free and taken");
        let mut twice = BufferCache::new(2);
        twice.claim(7);
        twice.buffers[1].block = Some(7);
        assert_eq!(
            twice.check(&mut Laws::default()).unwrap_err().law,
            "buffers that are found by their block"
        );
    }
}
