//! Egalitarian processor sharing by one server or several, in whole nanoseconds.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::calendar::{Calendar, Priority, Slot};
use crate::time::Time;

use super::{Roster, Station, Visit};

/// Servers whose time is shared in equal parts by all present (Kleinrock 1967); nobody gets more than one server.
///
/// Of n customers and c servers, each customer gets a whole nanosecond for every n that min(n, c) servers give; what
/// does not make a nanosecond for all is carried over, so that no service is lost or invented. Several servers can
/// reach the end of a service within a nanosecond: the part of it that is left, below c ns a service, is overhead.
#[derive(Clone, Debug)]
pub struct ProcessorSharing {
    roster: Roster,
    slot: Slot,
    servers: u64,
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
    /// Servers' time after the end of a service within its last nanosecond [ns].
    rounded: u128,
}

impl ProcessorSharing {
    /// Idle servers, as many as `servers`; `slot` is the near slot of their completions.
    pub fn new(roster: Roster, slot: Slot, servers: u64) -> ProcessorSharing {
        ProcessorSharing {
            roster,
            slot,
            servers,
            present: BinaryHeap::new(),
            arrivals: 0,
            share: 0,
            rest: 0,
            updated: Time::ZERO,
            shares_at_arrival: 0,
            rounded: 0,
        }
    }

    /// Share and rest at `now`.
    fn shared(&self, now: Time) -> (u64, u64) {
        let present = self.present.len() as u64;
        if present == 0 {
            return (self.share, 0);
        }
        let since = now.since(self.updated).0;
        // In 64 bits wherever it fits: a division of 128 bits takes ten times as long.
        match since.checked_mul(present.min(self.servers)).and_then(|given| given.checked_add(self.rest)) {
            Some(given) => (self.share + given / present, given % present),
            None => {
                let given = u128::from(since) * u128::from(present.min(self.servers)) + u128::from(self.rest);
                let (share, rest) = (given / u128::from(present), given % u128::from(present));
                (self.share.saturating_add(share as u64), rest as u64)
            }
        }
    }

    fn advance(&mut self, now: Time) {
        (self.share, self.rest) = self.shared(now);
        self.updated = now;
    }

    /// Sets the next completion, which every arrival and departure moves.
    fn schedule(&self, calendar: &mut Calendar) {
        if let Some(Reverse((finish, ..))) = self.present.peek() {
            // In 128 bits: a long demand among many customers exceeds 2^64 ns.
            let present = self.present.len() as u64;
            let needed = u128::from(finish - self.share) * u128::from(present);
            let work = needed.saturating_sub(u128::from(self.rest));
            let busy = u128::from(present.min(self.servers));
            let after = if busy == 1 { work } else { work.div_ceil(busy) };
            calendar.set_after(self.slot, after, Priority::Completion);
        }
    }
}

impl Station for ProcessorSharing {
    fn arrive(&mut self, visit: Visit, calendar: &mut Calendar) {
        let now = calendar.now();
        self.advance(now);
        self.roster.enter(visit, now);
        if (self.present.len() as u64) < self.servers {
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
        if self.servers > 1 {
            // More could not be carried over without giving the next more than it demands.
            let carried = self.rest.min((self.present.len() as u64).saturating_sub(1));
            self.rounded += u128::from(self.rest - carried);
            self.rest = carried;
        }
        if (self.present.len() as u64) < self.servers {
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

    fn overhead(&self, _: Time) -> u128 {
        self.rounded
    }
}
