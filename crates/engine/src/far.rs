//! The far slots of the calendar: a tournament tree whose keys are single words.
//!
//! A key is a time, counted from a base that follows the run, and the slot. It has no room for the order of what is due
//! at one time, which is kept beside the tree: where several slots are due at one time, as users who think equally
//! long are, they are sorted by it when their time has come. Half the memory of keys with everything in them, and half
//! the instructions of a match.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::memory_hints::fetch;
use crate::time::Time;

// Larger than every key, so that an empty leaf loses all matches without being a special case.
const NOTHING: u64 = u64::MAX;
/// Order of a slot in which nothing is due; larger than any.
const NO_ORDER: u64 = u64::MAX;
/// Nodes that are in the cache anyway.
const CACHED: usize = 1024;

/// What is due in a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Due {
    pub time: Time,
    /// Priority and sequence number: the lower is served first of those at one time.
    pub order: u64,
    pub index: u32,
}

/// Slots with at most one due time each.
#[derive(Clone, Debug)]
pub struct Far {
    /// A winner tree: `nodes[1]` is the smallest of all, `nodes[i]` of its two children, leaves from `width`.
    nodes: Box<[u64]>,
    /// A power of two: all climbs have one length, which the processor foresees.
    width: usize,
    /// Bits of the slot in a key.
    bits: u32,
    /// Time of a key whose time it cannot hold; more, in a key, stands for nothing.
    late: u64,
    /// Times in keys count from here; no event before it can still be set.
    base: u64,
    /// By slot: time and order.
    due: Box<[(u64, u64)]>,
    /// Slots that are due at the time `together_at`, by order: taken out of the tree. One that was set or cleared since
    /// has another order by now.
    together: BinaryHeap<Reverse<(u64, u32)>>,
    together_at: u64,
}

impl Far {
    pub fn new(slots: usize) -> Far {
        let width = slots.next_power_of_two().max(2);
        Far {
            nodes: vec![NOTHING; 2 * width].into(),
            width,
            bits: width.trailing_zeros(),
            late: (u64::MAX >> width.trailing_zeros()) - 1,
            base: 0,
            due: vec![(0, NO_ORDER); width].into(),
            together: BinaryHeap::new(),
            together_at: 0,
        }
    }

    /// Makes room for slots below `slots`; false where there was.
    pub fn grow(&mut self, slots: usize) -> bool {
        if slots <= self.width {
            return false;
        }
        // Doubled at least: slots that come one by one then cost constant time each.
        let larger = Far::new(slots);
        let before = std::mem::replace(self, larger);
        self.together = before.together;
        self.together_at = before.together_at;
        self.due[..before.width].copy_from_slice(&before.due);
        for (leaf, key) in self.nodes[self.width..].iter_mut().zip(&before.nodes[before.width..]) {
            // Made anew from the times below: only which leaves are empty is kept.
            *leaf = *key;
        }
        self.count_from(before.base);
        true
    }

    #[inline(always)]
    fn key(&self, time: u64, index: usize) -> u64 {
        let mut time = time - self.base;
        if time > self.late {
            // Due after all that is not too late for a key; how late it is, `due` knows.
            time = self.late;
        }
        (time << self.bits) | index as u64
    }

    /// The time before which all that is due has its time in its key, and the order of those times is that of the keys.
    /// The base should be moved when the run has come to it.
    pub fn until(&self) -> u64 {
        self.base.saturating_add(self.late / 2)
    }

    /// Makes all keys anew, with times that count from `base`: what is due is no earlier.
    pub fn count_from(&mut self, base: u64) {
        self.base = base;
        for index in 0..self.width {
            if self.nodes[self.width + index] != NOTHING {
                self.nodes[self.width + index] = self.key(self.due[index].0, index);
            }
        }
        for node in (1..self.width).rev() {
            self.nodes[node] = self.nodes[2 * node].min(self.nodes[2 * node + 1]);
        }
    }

    /// A time at or before that of the first event that is in the tree: exactly, where it is before [`Far::until`].
    #[inline(always)]
    pub fn earliest(&self) -> u64 {
        self.base.saturating_add(self.smallest() >> self.bits)
    }

    #[inline(always)]
    fn smallest(&self) -> u64 {
        // SAFETY: there are four nodes at least.
        unsafe { *self.nodes.get_unchecked(1) }
    }

    /// Takes the first event, whose time is before [`Far::until`]. None if it may not be the first of its time: then
    /// [`Far::first`] knows.
    #[inline(always)]
    pub fn take_sole(&mut self) -> Option<u32> {
        let key = self.smallest();
        let index = key as usize & (self.width - 1);
        self.replay(index, NOTHING);
        let next = self.smallest();
        // Equal but for the slot.
        if (key ^ next) >> self.bits == 0 {
            self.put_together(key, index);
            return None;
        }
        self.fetch(next as usize & (self.width - 1));
        Some(index as u32)
    }

    /// Slot of the event that is likely to be the next, with anything in it.
    #[inline(always)]
    pub fn next_index(&self) -> usize {
        self.smallest() as usize & (self.width - 1)
    }

    /// Has the processor fetch what setting and taking the slot will look at.
    #[inline(always)]
    fn fetch(&self, index: usize) {
        if self.width > CACHED {
            let mut node = self.width + index;
            while node > CACHED {
                fetch(&self.nodes, node);
                node >>= 1;
            }
            fetch(&self.due, index);
        }
    }

    #[cold]
    #[inline(never)]
    fn put_together(&mut self, key: u64, index: usize) {
        self.together_at = self.base + (key >> self.bits);
        self.together.push(Reverse((self.due[index].1, index as u32)));
    }

    /// Whether some events of one time have been taken out of the tree.
    pub fn is_together(&self) -> bool {
        !self.together.is_empty()
    }

    /// Time of the first event, exactly; `Time::NEVER` where there is none.
    pub fn first_time(&mut self) -> Time {
        self.forget_stale();
        if self.is_together() {
            return Time(self.together_at);
        }
        if self.smallest() == NOTHING {
            return Time::NEVER;
        }
        if !self.is_late(self.smallest()) {
            return Time(self.earliest());
        }
        // Seldom, and then for the few events until the base is moved.
        let set = (0..self.width).filter(|index| self.nodes[self.width + index] != NOTHING);
        Time(set.map(|index| self.due[index].0).min().unwrap_or(u64::MAX))
    }

    /// The first event, which is due at `time`, now: those that are due with it are taken out of the tree.
    pub fn first(&mut self, time: Time) -> Option<Due> {
        if !self.is_together() && self.is_late(self.smallest()) {
            // The base lags behind: nothing that is due, or will be set, is before the present.
            self.count_from(time.0);
        }
        self.together_at = time.0;
        while !self.is_late(self.smallest()) && self.earliest() == time.0 {
            let index = self.next_index();
            self.replay(index, NOTHING);
            self.together.push(Reverse((self.due[index].1, index as u32)));
        }
        self.forget_stale();
        self.together.peek().map(|Reverse((order, index))| Due { time, order: *order, index: *index })
    }

    /// Takes out what has been set or cleared since it was put together.
    fn forget_stale(&mut self) {
        while let Some(Reverse((order, index))) = self.together.peek() {
            if self.due[*index as usize].1 == *order {
                return;
            }
            self.together.pop();
        }
    }

    /// Whether a key stands for nothing, or for a time that it cannot hold.
    fn is_late(&self, key: u64) -> bool {
        key >> self.bits >= self.late
    }

    /// Takes the event that [`Far::first`] has returned.
    pub fn take_first(&mut self) {
        self.together.pop();
    }

    /// Whether something is due in a slot.
    pub fn is_set(&self, index: usize) -> bool {
        let of_it =
            |Reverse((order, at)): &Reverse<(u64, u32)>| *at as usize == index && *order == self.due[index].1;
        self.nodes[self.width + index] != NOTHING || self.together.iter().any(of_it)
    }

    /// Makes a slot due at `time`.
    #[inline(always)]
    pub fn set(&mut self, index: usize, time: Time, order: u64) {
        self.due[index] = (time.0, order);
        self.put(index, self.key(time.0, index));
    }

    /// Withdraws the event in a slot.
    pub fn clear(&mut self, index: usize) {
        self.due[index].1 = NO_ORDER;
        self.replay(index, NOTHING);
    }

    #[inline(always)]
    fn put(&mut self, index: usize, key: u64) {
        // A key that grew may have been the winner anywhere on its way: only replaying every match finds who
        // is now. One that became smaller can stop at the first match that it loses.
        let mut node = self.width + index;
        if key > self.nodes[node] {
            return self.replay(index, key);
        }
        self.nodes[node] = key;
        // Only where the path is long enough: near the root the fixed number of steps would leave the tree.
        if node >= 2 << SURE_LEVELS {
            for _ in 0..SURE_LEVELS {
                node >>= 1;
                self.nodes[node] = key.min(self.nodes[node]);
            }
        }
        while node > 1 && key < self.nodes[node >> 1] {
            node >>= 1;
            self.nodes[node] = key;
        }
    }

    /// Sets a leaf, and plays all matches on its way again.
    #[inline(always)]
    fn replay(&mut self, index: usize, key: u64) {
        let mut node = self.width + index;
        self.nodes[node] = key;
        let mut winner = key;
        while node > 3 {
            winner = self.play(node, winner);
            winner = self.play(node >> 1, winner);
            node >>= 2;
        }
        if node > 1 {
            self.play(node, winner);
        }
    }

    /// Plays a match between `key`, which is at `node`, above the root, and its neighbour; returns the winner.
    #[inline(always)]
    fn play(&mut self, node: usize, key: u64) -> u64 {
        // SAFETY: every caller begins at a leaf that has been written to with a check, and goes down from there. The
        // number of nodes is even, so that with `node` its neighbour `node ^ 1` is below it; the parent is lower still.
        unsafe {
            let other = *self.nodes.get_unchecked(node ^ 1);
            let winner = other.min(key);
            *self.nodes.get_unchecked_mut(node >> 1) = winner;
            winner
        }
    }
}

/// Levels that a smaller key climbs without a test whether it still wins. Whether it wins a match near the leaves is
/// a coin toss that the processor guesses wrongly; further up nearly all keys lose, which it guesses right.
const SURE_LEVELS: u32 = 3;
