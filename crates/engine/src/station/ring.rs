//! A queue in a circle of memory.
//!
//! `VecDeque` can do the same, but takes and puts in two operations, each with its own bounds; `go_round` is the
//! innermost step of round robin.

/// First in, first out; going round costs a load and a store.
#[derive(Clone, Debug)]
pub struct Ring<T> {
    /// A power of two of them; from `head` on, `len` are in use.
    items: Box<[T]>,
    head: usize,
    len: usize,
}

impl<T: Copy + Default> Default for Ring<T> {
    fn default() -> Self {
        // Twice a power of two stays one: the index is then a mask, not a division.
        Ring { items: vec![T::default(); 16].into(), head: 0, len: 0 }
    }
}

impl<T: Copy + Default> Ring<T> {
    /// Place in memory of the item `place` steps behind the first.
    #[inline]
    fn index(&self, place: usize) -> usize {
        (self.head + place) & (self.items.len() - 1)
    }

    /// Number of items.
    #[inline]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there is none.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Puts `item` at the end.
    #[inline]
    pub fn push(&mut self, item: T) {
        if self.len == self.items.len() {
            self.grow();
        }
        self.items[self.index(self.len)] = item;
        self.len += 1;
    }

    /// Doubles the memory, with the first item at its start.
    #[cold]
    fn grow(&mut self) {
        let mut items = Vec::with_capacity(2 * self.len);
        items.extend(self.iter());
        items.resize(2 * self.len, T::default());
        self.items = items.into();
        self.head = 0;
    }

    /// Takes the first.
    #[inline]
    pub fn pop(&mut self) -> Option<T> {
        let first = self.front()?;
        self.head = self.index(1);
        self.len -= 1;
        Some(first)
    }

    /// The first, which stays.
    #[inline]
    pub fn front(&self) -> Option<T> {
        if self.len == 0 { None } else { Some(self.items[self.head]) }
    }

    /// The ring, to go round in it.
    #[inline(always)]
    pub fn circle(&mut self) -> Circle<'_, T> {
        let mask = self.items.len() - 1;
        // Known once, so that no step asks for it.
        assert!(mask < self.items.len());
        Circle { items: &mut self.items, mask, head: self.head, len: self.len }
    }

    /// The first item is the one at `head`, a place of a circle of this ring.
    #[inline(always)]
    pub fn turn_to(&mut self, head: usize) {
        self.head = head;
    }

    /// All items, the first to be taken first.
    pub fn iter(&self) -> impl Iterator<Item = T> + '_ {
        (0..self.len).map(|place| self.items[self.index(place)])
    }
}

/// A ring in which items go round: its places are in registers meanwhile, so that a step is a load and a store.
pub struct Circle<'a, T> {
    items: &'a mut [T],
    /// Below the number of items.
    mask: usize,
    head: usize,
    len: usize,
}

impl<T: Copy> Circle<'_, T> {
    /// The same, for somebody else for a while.
    #[inline(always)]
    pub fn lend(&mut self) -> Circle<'_, T> {
        Circle { items: self.items, ..*self }
    }

    /// Puts `item` at the end and takes the first, which is `item` itself in an empty ring.
    #[inline(always)]
    pub fn go_round(&mut self, item: T) -> T {
        if self.len == 0 {
            return item;
        }
        // In a full ring the end is the place of the first, which is read before it is written over.
        let first = self.items[self.head & self.mask];
        self.items[(self.head + self.len) & self.mask] = item;
        self.head += 1;
        first
    }

    /// All items, to be changed.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut T> {
        let (before, from) = self.items.split_at_mut(self.head & self.mask);
        from.iter_mut().chain(before).take(self.len)
    }

    /// Place of the first item, for [`Ring::turn_to`].
    #[inline(always)]
    pub fn head(&self) -> usize {
        self.head & self.mask
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn agrees_with_a_deque(steps in prop::collection::vec((0u8..6, any::<u32>()), 1..300)) {
            let (mut ring, mut deque) = (Ring::default(), VecDeque::new());
            for (act, item) in steps {
                match act {
                    0 => prop_assert_eq!(ring.pop(), deque.pop_front()),
                    1 | 2 => {
                        deque.push_back(item);
                        let mut circle = ring.circle();
                        prop_assert_eq!(Some(circle.go_round(item)), deque.pop_front());
                        let head = circle.head();
                        ring.turn_to(head);
                    }
                    3 => {
                        ring.circle().lend().iter_mut().for_each(|one| *one ^= item);
                        deque.iter_mut().for_each(|one| *one ^= item);
                    }
                    _ => {
                        ring.push(item);
                        deque.push_back(item);
                    }
                }
                prop_assert_eq!((ring.len(), ring.front()), (deque.len(), deque.front().copied()));
                prop_assert!(ring.iter().eq(deque.iter().copied()));
            }
        }
    }
}
