//! First come, first served, by one server.

use crate::calendar::{Calendar, Priority, Slot};
use crate::time::Time;

use super::ring::Ring;
use super::roster::Stay;
use super::{Roster, Station, Visit};

/// One server; the first to come is served to the end.
#[derive(Clone, Debug)]
pub struct Fcfs {
    roster: Roster,
    slot: Slot,
    /// Customers in order of arrival, with their stays; the first is being served. Not by number of the customer: with
    /// many users that would be another place in memory for each, and those in the queue are few.
    queue: Ring<(u32, Stay)>,
    /// When the service of the first began.
    started: Time,
}

impl Fcfs {
    /// An idle server; `slot` is the near slot of its completions.
    pub fn new(roster: Roster, slot: Slot) -> Fcfs {
        Fcfs { roster: roster.without_stays(), slot, queue: Ring::default(), started: Time::ZERO }
    }

    #[inline(always)]
    fn serve(&mut self, stay: Stay, calendar: &mut Calendar) {
        self.started = calendar.now();
        calendar.set(self.slot, self.started + stay.demand, Priority::Completion);
    }
}

impl Station for Fcfs {
    #[inline(always)]
    fn arrive(&mut self, visit: Visit, calendar: &mut Calendar) {
        let stay = Stay { entered: calendar.now(), demand: visit.demand };
        self.roster.count_arrival(stay.entered);
        if self.queue.is_empty() {
            self.roster.busy.begin(stay.entered);
            self.serve(stay, calendar);
        }
        self.queue.push((visit.customer, stay));
    }

    #[inline(always)]
    fn due(&mut self, _: Slot, calendar: &mut Calendar) -> Option<u32> {
        let (served, stay) = self.queue.pop()?;
        self.roster.count_departure(stay, calendar.now());
        match self.queue.front() {
            // The server stays busy from one customer to the next: begin and end count only the edges.
            Some((_, next)) => self.serve(next, calendar),
            None => self.roster.busy.end(calendar.now()),
        }
        Some(served)
    }

    rostered!();

    /// All of the time since the service in progress began; those that wait have had none.
    fn received(&self, now: Time) -> u128 {
        if self.queue.is_empty() { 0 } else { u128::from(now.since(self.started).0) }
    }

    fn entries(&self) -> Box<dyn Iterator<Item = Time> + '_> {
        Box::new(self.queue.iter().map(|(_, stay)| stay.entered))
    }
}
