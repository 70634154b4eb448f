//! Egalitarian processor sharing, in whole nanoseconds.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::calendar::{Calendar, Priority, Slot};
use crate::time::Time;

use super::{Roster, Station, Visit};

/// One server whose time is shared in equal parts by all present (Kleinrock 1967).
///
/// Each of n customers gets a whole nanosecond for every n that pass; what does not make a nanosecond for all
/// is carried over, so that no service is lost or invented.
#[derive(Clone, Debug)]
pub struct ProcessorSharing {
    roster: Roster,
    slot: Slot,
    /// (share at which its demand is met, order of coming, customer), the least first.
    present: BinaryHeap<Reverse<(u64, u64, u32)>>,
    arrivals: u64,
    /// Service that a customer present from the start of the run would have had [ns].
    share: u64,
    /// Service given that does not make a nanosecond for everybody [ns]; less than the number present.
    rest: u64,
    updated: Time,
    /// Sum over the customers present of the share when they came: `received` is then one product, not a sum over all.
    shares_at_arrival: u128,
}

impl ProcessorSharing {
    /// An idle server; `slot` is the near slot of its completions.
    pub fn new(roster: Roster, slot: Slot) -> ProcessorSharing {
        ProcessorSharing {
            roster,
            slot,
            present: BinaryHeap::new(),
            arrivals: 0,
            share: 0,
            rest: 0,
            updated: Time::ZERO,
            shares_at_arrival: 0,
        }
    }

    /// Share and rest at `now`.
    fn shared(&self, now: Time) -> (u64, u64) {
        let present = self.present.len() as u64;
        if present == 0 {
            return (self.share, 0);
        }
        let given = now.since(self.updated).0 + self.rest;
        (self.share + given / present, given % present)
    }

    fn advance(&mut self, now: Time) {
        (self.share, self.rest) = self.shared(now);
        self.updated = now;
    }

    /// Sets the next completion, which every arrival and departure moves.
    fn schedule(&self, calendar: &mut Calendar) {
        if let Some(Reverse((finish, ..))) = self.present.peek() {
            // In 128 bits: a long demand among many customers exceeds 2^64 ns.
            let needed = u128::from(finish - self.share) * self.present.len() as u128;
            calendar.set_after(self.slot, needed.saturating_sub(u128::from(self.rest)), Priority::Completion);
        }
    }
}

impl Station for ProcessorSharing {
    fn arrive(&mut self, visit: Visit, calendar: &mut Calendar) {
        let now = calendar.now();
        self.advance(now);
        self.roster.enter(visit, now);
        if self.present.is_empty() {
            self.roster.busy.begin(now);
        }
        self.arrivals += 1;
        self.shares_at_arrival += u128::from(self.share);
        // In units of the share, the finish never changes whoever comes or goes: the heap needs no update.
        let finish = self.share.saturating_add(visit.demand.0);
        self.present.push(Reverse((finish, self.arrivals, visit.customer)));
        self.schedule(calendar);
    }

    fn due(&mut self, _: Slot, calendar: &mut Calendar) -> Option<u32> {
        let now = calendar.now();
        self.advance(now);
        let Reverse((finish, _, served)) = self.present.pop()?;
        // Finish less demand is the share when it came, which is thus not stored a second time.
        self.shares_at_arrival -= u128::from(finish - self.roster.demand(served).0);
        self.roster.leave(served, now);
        if self.present.is_empty() {
            self.roster.busy.end(now);
        }
        self.schedule(calendar);
        Some(served)
    }

    rostered!();

    fn received(&self, now: Time) -> u128 {
        let (share, rest) = self.shared(now);
        u128::from(share) * self.present.len() as u128 - self.shares_at_arrival + u128::from(rest)
    }
}
