//! A cache of disk blocks: the least recently used gives way, writes are delayed.

use std::collections::BTreeMap;

/// What an access to the cache asks of the disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// The block is there: nothing.
    Hit,
    /// The block was not there and now has a buffer; if that held a delayed write, that block is to be written
    /// first. A read must then read the block.
    Miss { write: Option<u64> },
}

/// How often it was asked, and with what result.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CacheCounts {
    pub hits: u64,
    pub misses: u64,
    /// Delayed writes that went to the disk because their buffer was wanted.
    pub evicted_writes: u64,
    /// Delayed writes that were flushed.
    pub flushed_writes: u64,
}

/// Buffers for blocks.
#[derive(Clone, Debug)]
pub struct BlockCache {
    buffers: usize,
    /// Last use and whether a write is delayed, by block.
    blocks: BTreeMap<u64, Buffer>,
    /// Block by last use.
    uses: BTreeMap<u64, u64>,
    clock: u64,
    counts: CacheCounts,
}

#[derive(Clone, Copy, Debug)]
struct Buffer {
    used: u64,
    dirty: bool,
}

impl BlockCache {
    /// # Panics
    /// There are no `buffers`.
    pub fn new(buffers: usize) -> BlockCache {
        assert!(buffers > 0, "a cache has a buffer at least");
        BlockCache {
            buffers,
            blocks: BTreeMap::new(),
            uses: BTreeMap::new(),
            clock: 0,
            counts: CacheCounts::default(),
        }
    }

    /// Reads `block`.
    pub fn read(&mut self, block: u64) -> Access {
        self.access(block, false)
    }

    /// Writes all of `block`: it goes to the disk when its buffer is wanted or flushed. A part of a block is
    /// written by reading it first.
    pub fn write(&mut self, block: u64) -> Access {
        self.access(block, true)
    }

    /// Whether `block` is there, which does not count as a use.
    pub fn holds(&self, block: u64) -> bool {
        self.blocks.contains_key(&block)
    }

    fn access(&mut self, block: u64, write: bool) -> Access {
        self.clock += 1;
        let used = self.clock;
        if let Some(buffer) = self.blocks.get_mut(&block) {
            self.uses.remove(&buffer.used);
            self.uses.insert(used, block);
            *buffer = Buffer { used, dirty: buffer.dirty || write };
            self.counts.hits += 1;
            return Access::Hit;
        }
        self.counts.misses += 1;
        let mut delayed = None;
        if self.blocks.len() == self.buffers {
            if let Some((_, oldest)) = self.uses.pop_first() {
                delayed = self.blocks.remove(&oldest).filter(|buffer| buffer.dirty).map(|_| oldest);
            }
        }
        self.counts.evicted_writes += u64::from(delayed.is_some());
        self.blocks.insert(block, Buffer { used, dirty: write });
        self.uses.insert(used, block);
        Access::Miss { write: delayed }
    }

    /// All delayed writes, by block; they are delayed no more.
    pub fn flush(&mut self) -> Vec<u64> {
        let dirty = self.blocks.iter_mut().filter(|(_, buffer)| buffer.dirty);
        let blocks: Vec<u64> = dirty
            .map(|(block, buffer)| {
                buffer.dirty = false;
                *block
            })
            .collect();
        self.counts.flushed_writes += blocks.len() as u64;
        blocks
    }

    pub fn counts(&self) -> CacheCounts {
        self.counts
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

    proptest! {
        /// Against a list, the least recently used first.
        #[test]
        fn agrees_with_a_list(
            buffers in 1usize..6,
            steps in prop::collection::vec((0u8..8, 0u64..10), 1..300),
        ) {
            let mut cache = BlockCache::new(buffers);
            let mut list: Vec<(u64, bool)> = Vec::new();
            for (act, block) in steps {
                if act == 0 {
                    let mut expected: Vec<u64> = list.iter().filter(|(_, dirty)| *dirty).map(|(b, _)| *b).collect();
                    expected.sort_unstable();
                    list.iter_mut().for_each(|(_, dirty)| *dirty = false);
                    prop_assert_eq!(cache.flush(), expected);
                    continue;
                }
                let write = act > 4;
                let at = list.iter().position(|(known, _)| *known == block);
                let expected = match at {
                    Some(at) => {
                        let (_, dirty) = list.remove(at);
                        list.push((block, dirty || write));
                        Access::Hit
                    }
                    None => {
                        let out = if list.len() == buffers { Some(list.remove(0)) } else { None };
                        list.push((block, write));
                        Access::Miss { write: out.filter(|(_, dirty)| *dirty).map(|(out, _)| out) }
                    }
                };
                let access = if write { cache.write(block) } else { cache.read(block) };
                prop_assert_eq!(access, expected);
                prop_assert!(cache.holds(block));
            }
            let counts = cache.counts();
            prop_assert!(counts.hits + counts.misses > 0 || counts.flushed_writes == 0);
        }
    }
}
