//! The calendar of future events. The contract on their order is in the crate's documentation.
//!
//! A binary heap needs a search or a tombstone to move an event, and events of busy stations are moved all the time.
//! In a tournament tree (Knuth, The Art of Computer Programming, vol. 3, 5.4.1) each slot has its own leaf, so that
//! moving an event is the same short climb as adding one.

use crate::far::{Due, Far};
use crate::time::{Span, Time};

/// Place in the calendar of one thing that can be due. Near slots are numbered before the far ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Slot(pub u32);

/// Order of events at one time: the lower comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Priority {
    /// What ends: completions, departures. Room is made before room is requested.
    Completion = 0,
    /// What begins: arrivals, ends of think time.
    Arrival = 1,
    /// What only looks: samples, clocks.
    Observation = 2,
}

// With two bits of priority these fill the low 64 bits of a key exactly.
const SLOT_BITS: u32 = 24;
const SEQUENCE_BITS: u32 = 38;
// Larger than every key, so that an empty leaf loses all matches without being a special case. Its time is
// `Time::NEVER`, so that an empty calendar is at its end as well.
const NOTHING: u128 = u128::MAX;

/// Most that a run may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Events, settings included that were withdrawn.
    pub events: u64,
    /// Far slots.
    pub far: u32,
}

impl Limits {
    /// Those of the keys: half of the sequence numbers, since one event may set many slots, and all slots but for
    /// 65 536 near ones.
    pub const OF_KEYS: Limits =
        Limits { events: 1 << (SEQUENCE_BITS - 1), far: (1 << SLOT_BITS) - (1 << 16) };
}

/// Reason for which a run ended before its time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exhausted {
    /// It took more events than it may.
    Events(u64),
    /// It would need so many far slots.
    Far(u32),
}

/// Slots with at most one due time each, in tournament trees: the smallest key is at the root, a change climbs one
/// path.
///
/// A key of a near slot is (time 64 bits, priority 2, sequence 38, slot 24): 16.7 million slots, and 2.7e11 settings a
/// run. Far slots have keys of their own (`far.rs`).
#[derive(Clone, Debug)]
pub struct Calendar {
    now: Time,
    /// Nothing at or after this is served for now.
    end: Time,
    /// Before this, which is no later than the end, the trees alone say what is first; from it on
    /// [`Calendar::next_in_doubt`] decides.
    sure_until: u64,
    /// Number of settings so far: breaks ties in the order of setting.
    sequence: u64,
    /// Events that needed no setting.
    counted: u64,
    limits: Limits,
    /// Work towards the limit on events that is no event.
    spent: u64,
    /// Number of settings with which the limit on events is reached.
    last_sequence: u64,
    exhausted: Option<Exhausted>,
    // Two trees and not one: a station's event climbs a tree of a few stations, whatever the number of users.
    near: Tournament,
    far: Far,
    near_slots: u32,
}

impl Calendar {
    /// An empty calendar at time 0 with `near` slots, for the few events that are rescheduled all the time, and `far`
    /// slots, for the many.
    ///
    /// # Panics
    /// With more than 16.7 million slots.
    pub fn new(near: u32, far: u32) -> Calendar {
        assert!(
            u64::from(near) + u64::from(far) < 1 << SLOT_BITS,
            "a calendar has at most {} slots, not {near} + {far}",
            (1 << SLOT_BITS) - 1
        );
        Calendar {
            now: Time::ZERO,
            end: Time::NEVER,
            sure_until: 0,
            sequence: 0,
            counted: 0,
            limits: Limits::OF_KEYS,
            spent: 0,
            last_sequence: Limits::OF_KEYS.events,
            exhausted: None,
            near: Tournament::new(near as usize),
            far: Far::new(far as usize),
            near_slots: near,
        }
    }

    /// The slot of near thing `index`, from 0.
    pub fn near(&self, index: u32) -> Slot {
        debug_assert!(index < self.near_slots);
        Slot(index)
    }

    /// The slot of far thing `index`, from 0.
    pub fn far(&self, index: u32) -> Slot {
        Slot(self.near_slots + index)
    }

    /// Bounds the run; what the keys cannot number is refused in any case.
    pub fn limit(&mut self, limits: Limits) {
        let most = Limits::OF_KEYS;
        self.limits = Limits { events: limits.events.min(most.events), far: limits.far.min(most.far) };
        self.spend(0);
    }

    /// Makes room for far things below `count`, where there is less. False if the limits refuse it: the run then
    /// ends with the event that is being handled.
    #[must_use]
    pub fn reserve_far(&mut self, count: u32) -> bool {
        if count > self.limits.far {
            self.exhausted = Some(Exhausted::Far(count));
            self.last_sequence = 0;
            return false;
        }
        // Slots of far things do not move, since near ones are numbered first.
        if self.far.grow(count as usize) {
            // Its keys hold less time now.
            self.sure_until = 0;
        }
        true
    }

    /// Counts `work` towards the limit on events, though it is none: steps that take no time could go on for ever
    /// within one event. False if the limit is reached.
    #[inline]
    pub fn spend(&mut self, work: u64) -> bool {
        self.spent += work;
        // Without what needed no setting, so that an event is one comparison.
        self.last_sequence = self.limits.events.saturating_sub(self.spent + self.counted);
        if self.exhausted.is_some() {
            self.last_sequence = 0;
        }
        self.sequence < self.last_sequence
    }

    /// The reason for which the run has ended before its time.
    pub fn exhausted(&self) -> Option<Exhausted> {
        self.exhausted
    }

    /// Which far thing `slot` belongs to; none for a near slot.
    #[inline]
    pub fn far_index(&self, slot: Slot) -> Option<u32> {
        slot.0.checked_sub(self.near_slots)
    }

    /// The time of the event that is being handled.
    #[inline]
    pub fn now(&self) -> Time {
        self.now
    }

    /// Makes `slot` due at `time`, instead of when it was due before.
    ///
    /// # Panics
    /// In debug builds, when `time` is past.
    #[inline(always)]
    pub fn set(&mut self, slot: Slot, time: Time, priority: Priority) {
        // A past time would make the present run backwards, and every integral over time with it.
        debug_assert!(time >= self.now, "{time} is before now, {}", self.now);
        self.sequence += 1;
        let order = (u64::from(priority as u8) << SEQUENCE_BITS) | self.sequence;
        match slot.0.checked_sub(self.near_slots) {
            None => {
                let low = (order << SLOT_BITS) | u64::from(slot.0);
                self.near.put(slot.0 as usize, (u128::from(time.0) << 64) | u128::from(low));
            }
            Some(index) => self.far.set(index as usize, time, order),
        }
    }

    /// Makes `slot` due `wait` nanoseconds from now; beyond all time it is never.
    #[inline]
    pub fn set_after(&mut self, slot: Slot, wait: u128, priority: Priority) {
        self.set(slot, self.now + Span(u64::try_from(wait).unwrap_or(u64::MAX)), priority);
    }

    /// Withdraws the event in `slot`.
    #[inline]
    pub fn clear(&mut self, slot: Slot) {
        match self.far_index(slot) {
            None => self.near.put(slot.0 as usize, NOTHING),
            Some(index) => self.far.clear(index as usize),
        }
    }

    /// Whether something is due in `slot`.
    pub fn is_set(&self, slot: Slot) -> bool {
        match self.far_index(slot) {
            None => self.near.leaf(slot.0 as usize) != NOTHING,
            Some(index) => self.far.is_set(index as usize),
        }
    }

    /// Takes the next event, if it is before `end`, and makes its time the present; returns its slot.
    #[inline(always)]
    pub fn next(&mut self, end: Time) -> Option<Slot> {
        let key = self.near.smallest();
        let (near, far) = ((key >> 64) as u64, self.far.earliest());
        if end != self.end || self.sequence >= self.last_sequence {
            return self.next_in_doubt(end);
        }
        if near < far && near < self.sure_until {
            let slot = Slot((key as u32) & ((1 << SLOT_BITS) - 1));
            self.now = Time(near);
            self.near.remove_smallest(slot.0 as usize);
            return Some(slot);
        }
        if far < near && far < self.sure_until {
            if let Some(index) = self.far.take_sole() {
                self.now = Time(far);
                return Some(Slot(self.near_slots + index));
            }
        }
        self.next_in_doubt(end)
    }

    /// As [`Calendar::next`], where several events have one time, or the keys of the far slots do not say it.
    #[cold]
    #[inline(never)]
    fn next_in_doubt(&mut self, end: Time) -> Option<Slot> {
        // Also the horizon of stations that go on by themselves: none may pass the end of the run.
        self.end = end;
        let near = self.first_near();
        let far_time = self.far.first_time();
        let time = near.map_or(far_time, |near| near.time.min(far_time));
        let mut first = None;
        if time < self.end && !self.is_over_limit() {
            self.now = time;
            let far = if far_time == time { self.far.first(time) } else { None };
            // The index of a slot counts for nothing: no two events have one order.
            first = near.filter(|near| near.time == time).into_iter().chain(far).min();
            if first == far {
                self.far.take_first();
            }
        }
        let slot = first.map(|first| {
            if near == Some(first) {
                self.near.remove_smallest(first.index as usize);
                Slot(first.index)
            } else {
                Slot(self.near_slots + first.index)
            }
        });
        if first.is_some() && time.0 >= self.far.until() {
            // Nothing that is due, or will be set, is before the present.
            self.far.count_from(time.0);
        }
        // What has been taken out of the tree of far slots is to be looked at first.
        self.sure_until = if self.far.is_together() { 0 } else { self.far.until().min(end.0) };
        slot
    }

    /// The first near event.
    fn first_near(&self) -> Option<Due> {
        let key = self.near.smallest();
        let order = key as u64 >> SLOT_BITS;
        let index = (key as u32) & ((1 << SLOT_BITS) - 1);
        (key != NOTHING).then_some(Due { time: Time((key >> 64) as u64), order, index })
    }

    /// The far thing that is likely to be the next that is due: whoever keeps what its event needs can have the
    /// processor fetch it meanwhile.
    #[inline(always)]
    pub fn next_far(&self) -> usize {
        self.far.next_index()
    }

    fn is_over_limit(&mut self) -> bool {
        if self.sequence < self.last_sequence {
            return false;
        }
        self.exhausted.get_or_insert(Exhausted::Events(self.events()));
        self.last_sequence = 0;
        true
    }

    /// The time before which nothing but the event that is being handled can happen: its station may go on by
    /// itself up to there, not including it.
    #[inline]
    pub fn horizon(&mut self) -> Time {
        let first = ((self.near.smallest() >> 64) as u64).min(self.far.earliest());
        if first < self.sure_until { Time(first) } else { self.horizon_in_doubt() }
    }

    #[cold]
    #[inline(never)]
    fn horizon_in_doubt(&mut self) -> Time {
        let near = Time((self.near.smallest() >> 64) as u64);
        near.min(self.far.first_time()).min(self.end)
    }

    /// Makes `time`, which is before the horizon, the present: a station has gone on by itself to there, through
    /// `events` more events.
    #[inline]
    pub fn proceed(&mut self, time: Time, events: u64) {
        debug_assert!(self.now <= time);
        debug_assert!(time == self.now || time < self.horizon());
        self.now = time;
        self.count(events);
    }

    /// Counts `events` more events, through which a station has gone by itself.
    #[inline]
    pub fn count(&mut self, events: u64) {
        self.counted += events;
        self.last_sequence = self.last_sequence.saturating_sub(events);
    }

    /// Ends the run: `end` becomes the present.
    ///
    /// # Panics
    /// There were 2^38 settings or more.
    pub fn finish(&mut self, end: Time) {
        // Overflow would break the order of simultaneous events; the limits end a run long before.
        debug_assert!(
            self.sequence < 1 << SEQUENCE_BITS,
            "a run has at most {} events",
            1u64 << SEQUENCE_BITS
        );
        // Statistics extend to the end of the run, not to its last event.
        self.now = end;
    }

    /// Number of events: settings of slots, and slices that stations went through by themselves. Events that were
    /// set and withdrawn count too.
    pub fn events(&self) -> u64 {
        self.sequence + self.counted
    }
}

/// A winner tree: `nodes[1]` is the smallest of all, `nodes[i]` of its two children, leaves from `width`.
#[derive(Clone, Debug)]
struct Tournament {
    nodes: Box<[u128]>,
    width: usize,
}

impl Tournament {
    fn new(leaves: usize) -> Tournament {
        // Any width works, not only powers of two: the tree is then uneven, but each match has two nodes, and
        // the root is still the smallest of all.
        let width = leaves.max(1);
        Tournament { nodes: vec![NOTHING; 2 * width].into(), width }
    }

    #[inline(always)]
    fn smallest(&self) -> u128 {
        // SAFETY: there are two nodes at least.
        unsafe { *self.nodes.get_unchecked(1) }
    }

    fn leaf(&self, index: usize) -> u128 {
        self.nodes[self.width + index]
    }

    /// Sets leaf `index`.
    #[inline(always)]
    fn put(&mut self, index: usize, key: u128) {
        let before = self.nodes[self.width + index];
        let mut climb = Climb::begin(self, index, key);
        // A key that grew may have been the winner anywhere on its way: only replaying every match finds who
        // is now. One that became smaller can stop at the first match that it loses.
        if key > before {
            return climb.up_to_the_root();
        }
        // Only where the path is long enough: near the root the fixed number of steps would leave the tree.
        if climb.node >= 2 << SURE_LEVELS {
            (0..SURE_LEVELS).for_each(|_| climb.replace_larger());
        }
        while climb.node > 1 && climb.wins_at_parent() {
            climb.take_parent();
        }
    }

    /// Empties leaf `index`, which is the smallest: every node up to the root changes.
    #[inline(always)]
    fn remove_smallest(&mut self, index: usize) {
        let mut climb = Climb::begin(self, index, NOTHING);
        if climb.node > 1 {
            // Everything wins against nothing.
            climb.winner = climb.nodes[climb.node ^ 1];
            climb.take_parent();
            climb.up_to_the_root();
        }
    }
}

/// Levels that a smaller key climbs without a test whether it still wins. Whether it wins a match near the leaves is
/// a coin toss that the processor guesses wrongly; further up nearly all keys lose, which it guesses right.
const SURE_LEVELS: u32 = 3;

/// A climb from a leaf to the root.
struct Climb<'a> {
    nodes: &'a mut [u128],
    /// At least 1, and below the number of nodes.
    node: usize,
    winner: u128,
}

impl Climb<'_> {
    #[inline]
    fn begin(tree: &mut Tournament, index: usize, key: u128) -> Climb<'_> {
        let node = tree.width + index;
        tree.nodes[node] = key;
        Climb { nodes: &mut tree.nodes, node, winner: key }
    }

    /// Plays all matches on the way again.
    #[inline(always)]
    fn up_to_the_root(&mut self) {
        while self.node > 1 {
            // Without bounds checks: this is the innermost loop of every simulation.
            // SAFETY: `node` was checked by the first write and only shrinks. The number of nodes is even, so that
            // with `node` its sibling `node ^ 1` is below it; the parent is lower still.
            unsafe {
                self.winner = smaller(self.winner, *self.nodes.get_unchecked(self.node ^ 1));
                self.node >>= 1;
                *self.nodes.get_unchecked_mut(self.node) = self.winner;
            }
        }
    }

    /// Whether the key, which has become smaller, is smaller than the winner at the parent.
    #[inline(always)]
    fn wins_at_parent(&self) -> bool {
        self.winner < self.nodes[self.node >> 1]
    }

    /// Goes to the parent, whose winner the key replaces.
    #[inline(always)]
    fn take_parent(&mut self) {
        self.node >>= 1;
        self.nodes[self.node] = self.winner;
    }

    /// Goes to the parent, where the key, which has become smaller, replaces the former winner if that was larger.
    #[inline(always)]
    fn replace_larger(&mut self) {
        self.node >>= 1;
        self.nodes[self.node] = smaller(self.winner, self.nodes[self.node]);
    }
}

/// The smaller key. Which one it is cannot be foreseen: a jump would be guessed wrongly half the time.
#[cfg(not(target_arch = "x86_64"))]
#[inline]
fn smaller(a: u128, b: u128) -> u128 {
    a.min(b)
}

/// The smaller key. Which one it is cannot be foreseen: a jump would be guessed wrongly half the time, and
/// whatever is written in Rust becomes a jump here. With conditional moves a run takes a sixth less time.
#[cfg(target_arch = "x86_64")]
#[inline]
fn smaller(a: u128, b: u128) -> u128 {
    let (mut low, mut high) = (b as u64, (b >> 64) as u64);
    // SAFETY: registers and flags only, all of them declared; a - b borrows where a < b.
    unsafe {
        std::arch::asm!(
            "cmp {a_low}, {low}",
            "mov {scratch}, {a_high}",
            "sbb {scratch}, {high}",
            "cmovb {low}, {a_low}",
            "cmovb {high}, {a_high}",
            a_low = in(reg) a as u64,
            a_high = in(reg) (a >> 64) as u64,
            scratch = out(reg) _,
            low = inout(reg) low,
            high = inout(reg) high,
            options(pure, nomem, nostack),
        );
    }
    (u128::from(high) << 64) | u128::from(low)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    fn order(calendar: &mut Calendar) -> Vec<(u64, u32)> {
        std::iter::from_fn(|| calendar.next(Time::NEVER).map(|slot| (calendar.now().0, slot.0))).collect()
    }

    #[test]
    fn simultaneous_events_come_by_priority_and_then_in_the_order_of_setting() {
        let mut calendar = Calendar::new(2, 3);
        let far = [calendar.far(0), calendar.far(1), calendar.far(2)];
        calendar.set(far[2], Time(7), Priority::Observation);
        calendar.set(far[1], Time(7), Priority::Arrival);
        calendar.set(calendar.near(1), Time(7), Priority::Completion);
        calendar.set(far[0], Time(7), Priority::Arrival);
        calendar.set(calendar.near(0), Time(6), Priority::Observation);
        assert_eq!(order(&mut calendar), [(6, 0), (7, 1), (7, 3), (7, 2), (7, 4)]);
    }

    #[test]
    fn setting_again_counts_as_new() {
        let mut calendar = Calendar::new(0, 2);
        let (a, b) = (calendar.far(0), calendar.far(1));
        calendar.set(a, Time(5), Priority::Arrival);
        calendar.set(b, Time(5), Priority::Arrival);
        calendar.set(a, Time(5), Priority::Arrival);
        assert_eq!(order(&mut calendar), [(5, 1), (5, 0)]);
    }

    #[test]
    fn nothing_is_due_at_the_end_itself() {
        let mut calendar = Calendar::new(0, 1);
        let slot = calendar.far(0);
        calendar.set(slot, Time(5), Priority::Arrival);
        assert_eq!(calendar.next(Time(5)), None);
        assert!(calendar.is_set(slot));
        assert_eq!(calendar.next(Time(6)), Some(slot));
        assert!(!calendar.is_set(slot));
    }

    #[test]
    fn a_run_ends_at_its_limit_and_says_why() {
        let mut calendar = Calendar::new(0, 1);
        calendar.limit(Limits { events: 3, far: 5 });
        let slot = calendar.far(0);
        for time in 1..3 {
            calendar.set(slot, Time(time), Priority::Arrival);
            assert_eq!(calendar.next(Time::NEVER), Some(slot));
        }
        assert!(calendar.reserve_far(5) && !calendar.spend(1));
        assert_eq!((calendar.exhausted(), calendar.events()), (None, 2));
        calendar.set(slot, Time(9), Priority::Arrival);
        assert_eq!(calendar.next(Time::NEVER), None);
        assert_eq!(calendar.exhausted(), Some(Exhausted::Events(3)));
        let mut calendar = Calendar::new(0, 1);
        calendar.limit(Limits { events: 3, far: 5 });
        assert!(!calendar.reserve_far(6));
        calendar.set(slot, Time(9), Priority::Arrival);
        assert_eq!((calendar.next(Time::NEVER), calendar.exhausted()), (None, Some(Exhausted::Far(6))));
    }

    #[test]
    fn thousands_at_one_time_come_in_the_order_of_setting() {
        const USERS: u32 = 20_000;
        let mut calendar = Calendar::new(1, USERS);
        // Not in the order of the slots; twice, the second time while others of the same time are still waiting.
        let users = || (0..USERS).map(|at| at * 7919 % USERS);
        users().for_each(|user| calendar.set(calendar.far(user), Time(5), Priority::Arrival));
        for (served, user) in users().enumerate() {
            assert_eq!(calendar.next(Time(6)), Some(calendar.far(user)), "{served}");
            calendar.set(calendar.far(user), Time(5), Priority::Arrival);
            calendar.set(calendar.near(0), Time(5), Priority::Completion);
            assert_eq!(calendar.next(Time(6)), Some(calendar.near(0)), "what ends comes first");
        }
        assert!(users().all(|user| calendar.next(Time(6)) == Some(calendar.far(user))));
        assert_eq!(calendar.next(Time(6)), None);
    }

    /// Delays that tie, and delays from a nanosecond to years.
    fn delay() -> impl Strategy<Value = u64> {
        prop_oneof![2 => 0u64..20, 1 => (0u32..55, any::<u64>()).prop_map(|(bits, any)| any >> (63 - bits))]
    }

    proptest! {
        /// Against a sorted map of keys, through any sequence of settings, clearings and takings. With many slots, most
        /// of them never used, keys hold days only.
        #[test]
        fn agrees_with_a_sorted_map(
            near in 0u32..4,
            far in 1u32..40,
            unused in prop_oneof![Just(0u32), Just(5000)],
            steps in prop::collection::vec((0u8..4, any::<u32>(), delay(), 0u8..3), 1..300),
        ) {
            let mut calendar = Calendar::new(near, far);
            prop_assert!(calendar.reserve_far(far + unused));
            let mut reference: BTreeMap<(u64, u8, u64), u32> = BTreeMap::new();
            for (sequence, (act, slot, delay, priority)) in steps.into_iter().enumerate() {
                let slot = slot % (near + far);
                let first = reference.first_key_value().map_or(Time::NEVER, |(key, _)| Time(key.0));
                prop_assert_eq!(calendar.horizon(), first);
                prop_assert_eq!(calendar.is_set(Slot(slot)), reference.values().any(|s| *s == slot));
                match act {
                    0 => {
                        let expected = reference.pop_first();
                        let got = calendar.next(Time::NEVER);
                        prop_assert_eq!(got.map(|s| s.0), expected.map(|e| e.1));
                        if let Some(((time, _, _), _)) = expected {
                            prop_assert_eq!(calendar.now().0, time);
                        }
                    }
                    1 => {
                        calendar.clear(Slot(slot));
                        reference.retain(|_, s| *s != slot);
                    }
                    _ => {
                        let time = calendar.now().0 + delay;
                        let kind = [Priority::Completion, Priority::Arrival, Priority::Observation];
                        calendar.set(Slot(slot), Time(time), kind[priority as usize]);
                        reference.retain(|_, s| *s != slot);
                        reference.insert((time, priority, sequence as u64), slot);
                    }
                }
            }
        }
    }
}
