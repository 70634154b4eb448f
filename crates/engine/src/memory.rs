//! Main memory, or swap space: fixed regions, and storage given out by first fit without compaction (Knuth, The Art
//! of Computer Programming, vol. 1, 2.5).

use std::collections::{BTreeMap, VecDeque};

use crate::balance::Balance;
use crate::laws::{LawViolation, Laws};
use crate::tally::Level;
use crate::time::Time;

/// A fixed number of equal places, each held by one customer at most, which holds no other.
#[derive(Clone, Debug)]
pub struct Regions {
    regions: u64,
    /// Customers, the one that has held its region longest first.
    holders: Vec<u32>,
    // Held and free are kept as two levels although one follows from the other: the law of conservation
    // compares them, and would compare nothing if there were one.
    held: Level,
    free: Level,
}

impl Regions {
    /// Memory of `regions` regions, all free.
    pub fn new(regions: usize) -> Regions {
        let mut free = Level::default();
        free.set(Time::ZERO, regions as u64);
        Regions {
            regions: regions as u64,
            holders: Vec::with_capacity(regions),
            held: Level::default(),
            free,
        }
    }

    /// Gives `customer` a region; false where all are held.
    pub fn take(&mut self, now: Time, customer: u32) -> bool {
        if self.free() == 0 {
            return false;
        }
        self.free.subtract(now, 1);
        self.held.add(now, 1);
        self.holders.push(customer);
        true
    }

    /// Frees the region that `customer` holds; false where it holds none.
    pub fn release(&mut self, now: Time, customer: u32) -> bool {
        let Some(place) = self.holders.iter().position(|holder| *holder == customer) else { return false };
        // Order is kept (no swap_remove): systems swap out the customer that has held its region longest.
        self.holders.remove(place);
        self.held.subtract(now, 1);
        self.free.add(now, 1);
        true
    }

    /// Customers that hold a region, in the order in which they took them.
    pub fn holders(&self) -> &[u32] {
        &self.holders
    }

    /// Regions that nobody holds.
    pub fn free(&self) -> u64 {
        self.free.value()
    }

    /// Time average of the regions held.
    pub fn mean_held(&self, now: Time) -> f64 {
        self.held.mean(now)
    }

    /// Checks that regions held are as many as have a holder, that nobody holds two, and that held and free ones are
    /// all: now, and over all the time since statistics began.
    ///
    /// # Errors
    /// That does not hold: a defect of the model.
    pub fn check(&self, place: &str, now: Time, laws: &mut Laws) -> Result<(), LawViolation> {
        let mut holders = self.holders.clone();
        laws.equal("every region held has a holder", place, self.held.value(), holders.len() as u64)?;
        holders.sort_unstable();
        holders.dedup();
        laws.equal("every holder has one region", place, self.held.value(), holders.len() as u64)?;
        laws.equal(
            "regions held and free add up",
            place,
            self.held.value() + self.free.value(),
            self.regions,
        )?;
        // The integrals notice what the counts of this instant cannot: a region that was both or neither in between.
        let all = u128::from(self.regions) * u128::from(now.since(self.held.since()).0);
        laws.equal("conservation of memory", place, self.held.area(now) + self.free.area(now), all)
    }

    /// Statistics begin anew at `now`; holders stay.
    pub fn restart_statistics(&mut self, now: Time) {
        self.held.restart(now);
        self.free.restart(now);
    }
}

/// Storage that is given out from the lowest free place that is large enough. Pieces that are held never move,
/// so that free space may be in pieces that are each too small.
#[derive(Clone, Debug)]
pub struct FirstFit {
    size: u64,
    // Ordered by start: the lowest piece comes first, and neighbours are next to each other.
    /// Length by start; no two touch.
    free: BTreeMap<u64, u64>,
    /// Length by start.
    held: BTreeMap<u64, u64>,
    level: Level,
}

impl FirstFit {
    /// Free storage of `size` units, in one piece.
    pub fn new(size: u64) -> FirstFit {
        let free = if size > 0 { BTreeMap::from([(0, size)]) } else { BTreeMap::new() };
        FirstFit { size, free, held: BTreeMap::new(), level: Level::default() }
    }

    /// Takes `length`; returns its start, or nothing where no piece is large enough, or `length` is zero.
    pub fn take(&mut self, now: Time, length: u64) -> Option<u64> {
        if length == 0 {
            // Two pieces would begin at one place, and the second would replace the first in `held`.
            return None;
        }
        // Linear, from the lowest: that is the discipline. The pieces are few, since neighbours are joined.
        let (start, piece) = self.free.iter().find(|(_, piece)| **piece >= length).map(|(s, p)| (*s, *p))?;
        self.free.remove(&start);
        if piece > length {
            self.free.insert(start + length, piece - length);
        }
        self.held.insert(start, length);
        self.level.add(now, length);
        Some(start)
    }

    /// Frees the piece that begins at `start`, and joins it with its free neighbours; returns its length, or nothing
    /// where nothing begins there.
    pub fn release(&mut self, now: Time, start: u64) -> Option<u64> {
        let length = self.held.remove(&start)?;
        self.level.subtract(now, length);
        let (mut from, mut to) = (start, start + length);
        if let Some((before, piece)) = self.free.range(..start).next_back().map(|(s, p)| (*s, *p)) {
            // Neighbours are joined at once, or storage would fall into pieces that only a search could join.
            if before + piece == start {
                self.free.remove(&before);
                from = before;
            }
        }
        if let Some(piece) = self.free.remove(&to) {
            to += piece;
        }
        self.free.insert(from, to - from);
        Some(length)
    }

    /// Makes the piece that begins at `start` longer by `more` where it stands; false where that space is not free.
    pub fn grow(&mut self, now: Time, start: u64, more: u64) -> bool {
        let Some(length) = self.held.get_mut(&start) else { return false };
        let end = start + *length;
        match self.free.get(&end).copied() {
            Some(piece) if piece >= more => {
                *length += more;
                self.free.remove(&end);
                if piece > more {
                    self.free.insert(end + more, piece - more);
                }
                self.level.add(now, more);
                true
            }
            // Nothing more always fits, free neighbour or not.
            _ => more == 0,
        }
    }

    /// Divides the piece that begins at `start` after its first `length` units; returns where the second piece begins, or
    /// nothing where no longer piece begins there. Each is released by itself.
    pub fn split(&mut self, start: u64, length: u64) -> Option<u64> {
        let whole = self.held.get_mut(&start).filter(|whole| (1..**whole).contains(&length))?;
        let rest = *whole - length;
        *whole = length;
        self.held.insert(start + length, rest);
        Some(start + length)
    }

    /// Number of units, held and free.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// Units that nobody holds, in however many pieces.
    pub fn free(&self) -> u64 {
        self.size - self.level.value()
    }

    /// Longest free piece.
    pub fn largest_free(&self) -> u64 {
        self.free.values().copied().max().unwrap_or(0)
    }

    /// Time average of the units held.
    pub fn mean_held(&self, now: Time) -> f64 {
        self.level.mean(now)
    }

    /// Checks that pieces held and free lie one after another from 0 to the end, and sum to what the level says.
    ///
    /// # Errors
    /// That does not hold: a defect of the model.
    pub fn check(&self, place: &str, laws: &mut Laws) -> Result<(), LawViolation> {
        let law = "conservation of memory";
        // Chained in order of their starts, they must leave no gap and no overlap.
        let mut pieces: Vec<(u64, u64)> = self.free.iter().chain(&self.held).map(|(s, l)| (*s, *l)).collect();
        pieces.sort_unstable();
        let mut end = 0;
        for (start, length) in pieces {
            laws.equal(law, place, start, end)?;
            end = start + length;
        }
        laws.equal(law, place, self.size, end)?;
        laws.equal("memory held adds up", place, self.level.value(), self.held.values().sum())
    }

    /// Begins statistics anew at `now`; pieces that are held stay.
    pub fn restart_statistics(&mut self, now: Time) {
        self.level.restart(now);
    }
}

/// A queue for storage: the first waits until it fits, and all behind it wait for their turn, even if they fit.
#[derive(Clone, Debug)]
pub struct Admission {
    memory: FirstFit,
    /// (customer, length, since when).
    waiting: VecDeque<(u32, u64, Time)>,
    balance: Balance,
}

impl Admission {
    /// A queue before `memory`, with nobody in it.
    pub fn new(memory: FirstFit) -> Admission {
        Admission { memory, waiting: VecDeque::new(), balance: Balance::default() }
    }

    /// Puts `customer`, who requests `length`, into the queue; [`Admission::admit`] returns it when it has its storage.
    /// False where it is nothing, or more than all the memory.
    pub fn ask(&mut self, now: Time, customer: u32, length: u64) -> bool {
        // It would stand at the head of the queue for ever, and everybody behind it.
        if length == 0 || length > self.memory.size() {
            return false;
        }
        self.balance.enter(now);
        self.waiting.push_back((customer, length, now));
        true
    }

    /// The first in the queue and where its storage begins, if there is room. To be called after
    /// [`Admission::ask`] and [`Admission::release`] until it returns nothing.
    pub fn admit(&mut self, now: Time) -> Option<(u32, u64)> {
        // Only the first is tried: to let smaller requests pass could starve a large one.
        let (customer, length, since) = *self.waiting.front()?;
        let start = self.memory.take(now, length)?;
        self.waiting.pop_front();
        self.balance.leave(now, since);
        Some((customer, start))
    }

    /// Frees the storage that begins at `start`.
    pub fn release(&mut self, now: Time, start: u64) -> Option<u64> {
        self.memory.release(now, start)
    }

    /// The storage behind the queue.
    pub fn memory(&self) -> &FirstFit {
        &self.memory
    }

    /// Those who wait.
    pub fn balance(&self) -> &Balance {
        &self.balance
    }

    /// Checks that memory is conserved, and that Little's law holds for the customers that wait.
    ///
    /// # Errors
    /// One of them does not hold: a defect of the model.
    pub fn check(&self, place: &str, now: Time, laws: &mut Laws) -> Result<(), LawViolation> {
        self.memory.check(place, laws)?;
        self.balance.check(place, now, self.waiting.iter().map(|(.., since)| *since), laws)
    }

    /// Statistics begin anew at `now`; those who wait stay.
    pub fn restart_statistics(&mut self, now: Time) {
        self.memory.restart_statistics(now);
        self.balance.restart(now);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// First fit by looking at every unit.
    fn first_fit(units: &[bool], length: usize) -> Option<usize> {
        (0..=units.len().checked_sub(length)?)
            .find(|start| units[*start..start + length].iter().all(|held| !held))
    }

    proptest! {
        #[test]
        fn storage_agrees_with_a_map_of_units(
            steps in prop::collection::vec((0u8..5, 1u64..20, any::<prop::sample::Index>()), 1..200),
        ) {
            const SIZE: usize = 64;
            let mut memory = FirstFit::new(SIZE as u64);
            let mut units = [false; SIZE];
            let mut held: Vec<(u64, u64)> = Vec::new();
            for (time, (act, length, which)) in steps.into_iter().enumerate() {
                let now = Time(time as u64);
                if act < 2 {
                    let taken = memory.take(now, length);
                    prop_assert_eq!(taken, first_fit(&units, length as usize).map(|start| start as u64));
                    if let Some(start) = taken {
                        units[start as usize..(start + length) as usize].fill(true);
                        held.push((start, length));
                    }
                } else if !held.is_empty() {
                    let index = which.index(held.len());
                    let (start, had) = held[index];
                    let end = (start + had) as usize;
                    if act == 2 {
                        prop_assert_eq!(memory.release(now, start), Some(had));
                        units[start as usize..end].fill(false);
                        held.swap_remove(index);
                    } else if act == 3 {
                        let second = (length < had).then_some(start + length);
                        prop_assert_eq!(memory.split(start, length), second);
                        if let Some(second) = second {
                            held[index].1 = length;
                            held.push((second, had - length));
                        }
                    } else {
                        let to = end + length as usize;
                        let fits = to <= SIZE && units[end..to].iter().all(|held| !held);
                        prop_assert_eq!(memory.grow(now, start, length), fits);
                        if fits {
                            units[end..to].fill(true);
                            held[index].1 += length;
                        }
                    }
                }
                memory.check("memory", &mut Laws::default()).unwrap();
                prop_assert_eq!(memory.free(), units.iter().filter(|held| !**held).count() as u64);
            }
        }
    }

    #[test]
    fn nothing_cannot_be_held() {
        let mut memory = FirstFit::new(10);
        assert_eq!(memory.take(Time(0), 0), None);
        assert_eq!(memory.take(Time(1), 4), Some(0));
        assert_eq!((memory.take(Time(2), 0), memory.release(Time(2), 4)), (None, None));
        assert_eq!((memory.split(0, 0), memory.split(0, 4), memory.split(4, 1)), (None, None, None));
        assert_eq!((memory.free(), memory.largest_free()), (6, 6));
        memory.check("memory", &mut Laws::default()).unwrap();
        assert_eq!(memory.release(Time(3), 0), Some(4));
        memory.check("memory", &mut Laws::default()).unwrap();
    }

    #[test]
    fn regions_are_held_by_one_each() {
        let mut regions = Regions::new(2);
        assert!(regions.take(Time(0), 7) && regions.take(Time(5), 8));
        assert!(!regions.take(Time(6), 9));
        assert_eq!(regions.holders(), [7, 8]);
        assert!(regions.release(Time(10), 7) && !regions.release(Time(10), 7));
        assert_eq!((regions.mean_held(Time(10)), regions.free()), (1.5, 1));
        regions.check("memory", Time(10), &mut Laws::default()).unwrap();
        regions.take(Time(11), 7);
        assert_eq!(regions.holders(), [8, 7]);
        regions.restart_statistics(Time(12));
        regions.release(Time(14), 7);
        regions.check("memory", Time(20), &mut Laws::default()).unwrap();
        assert_eq!(regions.mean_held(Time(20)), 10.0 / 8.0);
        regions.take(Time(21), 8);
        assert!(regions.check("memory", Time(21), &mut Laws::default()).is_err(), "8 holds two");
    }

    #[test]
    fn a_region_that_was_held_and_free_at_once_is_seen() {
        let mut regions = Regions::new(2);
        regions.take(Time(0), 7);
        regions.held.add(Time(3), 1);
        regions.held.subtract(Time(4), 1);
        let broken = regions.check("memory", Time(5), &mut Laws::default()).unwrap_err();
        assert_eq!(broken.law, "conservation of memory");
    }

    #[test]
    fn the_first_in_the_queue_keeps_its_place() {
        let mut admission = Admission::new(FirstFit::new(10));
        assert!(!admission.ask(Time(0), 0, 11) && !admission.ask(Time(0), 0, 0));
        for (customer, length) in [(1, 6), (2, 5), (3, 1)] {
            assert!(admission.ask(Time(0), customer, length));
        }
        assert_eq!(admission.admit(Time(0)), Some((1, 0)));
        assert_eq!(admission.admit(Time(0)), None, "3 would fit, but 2 is before it");
        assert_eq!(admission.release(Time(9), 0), Some(6));
        assert_eq!((admission.admit(Time(9)), admission.admit(Time(9))), (Some((2, 0)), Some((3, 5))));
        admission.check("memory", Time(12), &mut Laws::default()).unwrap();
        assert_eq!(admission.balance().mean_present(Time(12)), 18.0 / 12.0);
    }
}
