//! A delay without waiting: think time, a terminal, a line of one's own.

use crate::calendar::{Calendar, Priority, Slot};
use crate::time::Time;

use super::{Roster, Station, Visit};

/// A server for each customer. The end of its stay is due in the customer's own far slot, so that no queue has to be
/// kept in order of time: the calendar is that queue.
#[derive(Clone, Debug)]
pub struct Delay {
    roster: Roster,
}

impl Delay {
    /// A delay with nobody in it.
    pub fn new(roster: Roster) -> Delay {
        Delay { roster: roster.with_a_server_each() }
    }
}

impl Delay {
    /// Has the processor fetch what an arrival or departure of `customer` will look at.
    #[inline(always)]
    pub fn fetch(&self, customer: usize) {
        self.roster.fetch(customer);
    }
}

impl Station for Delay {
    #[inline(always)]
    fn arrive(&mut self, visit: Visit, calendar: &mut Calendar) {
        let now = calendar.now();
        self.roster.enter(visit, now);
        // As an arrival: a user who has thought comes to the system, and completions at the same time make room
        // first.
        calendar.set(calendar.far(visit.customer), now + visit.demand, Priority::Arrival);
    }

    #[inline(always)]
    fn due(&mut self, slot: Slot, calendar: &mut Calendar) -> Option<u32> {
        let customer = calendar.far_index(slot)?;
        self.roster.leave(customer, calendar.now());
        Some(customer)
    }

    rostered!();

    /// Service began on arrival: all of every stay.
    fn received(&self, now: Time) -> u128 {
        self.roster.entries().map(|entered| u128::from(now.since(entered).0)).sum()
    }
}
