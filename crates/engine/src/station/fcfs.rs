//! First come, first served, by one server.

use crate::calendar::{Calendar, Priority, Slot};
use crate::time::Time;

use super::ring::Ring;
use super::{Roster, Station, Visit};

/// One server; the first to come is served to the end.
#[derive(Clone, Debug)]
pub struct Fcfs {
    roster: Roster,
    slot: Slot,
    /// Customers in order of arrival; the first is being served.
    queue: Ring<u32>,
    /// When the service of the first began.
    started: Time,
}

impl Fcfs {
    /// An idle server; `slot` is the near slot of its completions.
    pub fn new(roster: Roster, slot: Slot) -> Fcfs {
        Fcfs { roster, slot, queue: Ring::default(), started: Time::ZERO }
    }

    #[inline(always)]
    fn serve(&mut self, customer: u32, calendar: &mut Calendar) {
        self.started = calendar.now();
        calendar.set(self.slot, self.started + self.roster.demand(customer), Priority::Completion);
    }
}

impl Station for Fcfs {
    #[inline(always)]
    fn arrive(&mut self, visit: Visit, calendar: &mut Calendar) {
        self.roster.enter(visit, calendar.now());
        if self.queue.is_empty() {
            self.roster.busy.begin(calendar.now());
            self.serve(visit.customer, calendar);
        }
        self.queue.push(visit.customer);
    }

    #[inline(always)]
    fn due(&mut self, _: Slot, calendar: &mut Calendar) -> Option<u32> {
        let served = self.queue.pop()?;
        self.roster.leave(served, calendar.now());
        match self.queue.front() {
            // The server stays busy from one customer to the next: begin and end count only the edges.
            Some(next) => self.serve(next, calendar),
            None => self.roster.busy.end(calendar.now()),
        }
        Some(served)
    }

    rostered!();

    /// All of the time since the service in progress began; those that wait have had none.
    fn received(&self, now: Time) -> u128 {
        if self.queue.is_empty() { 0 } else { u128::from(now.since(self.started).0) }
    }
}
