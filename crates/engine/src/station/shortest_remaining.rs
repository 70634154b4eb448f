//! Shortest remaining service first, preemptively.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::calendar::{Calendar, Slot};
use crate::time::{Span, Time};

use super::turns::{Turn, Turns, UNLIMITED};
use super::{Roster, Station, Visit};

/// One server; the customer with the least service to come is served. It minimises the mean stay (Schrage 1968),
/// and no real scheduler knows the demands.
#[derive(Clone, Debug)]
pub struct ShortestRemaining {
    roster: Roster,
    server: Turns,
    /// (remaining service, order of arrival, customer), the least first.
    waiting: BinaryHeap<Reverse<(Span, u64, u32)>>,
    arrivals: u64,
    /// Order of arrival of the customer in service, kept for when it has to wait again.
    order: u64,
}

impl ShortestRemaining {
    /// An idle server; `slot` is the near slot of its completions.
    pub fn new(roster: Roster, slot: Slot) -> ShortestRemaining {
        let server = Turns::new(slot, Span::ZERO);
        ShortestRemaining { roster, server, waiting: BinaryHeap::new(), arrivals: 0, order: 0 }
    }

    fn serve(&mut self, turn: Turn, order: u64, calendar: &mut Calendar) {
        self.order = order;
        self.server.turn_to(turn, UNLIMITED, calendar);
    }

    fn wait(&mut self, turn: Turn, order: u64) {
        self.waiting.push(Reverse((turn.remaining, order, turn.customer)));
    }
}

impl Station for ShortestRemaining {
    fn arrive(&mut self, visit: Visit, calendar: &mut Calendar) {
        let now = calendar.now();
        self.roster.enter(visit, now);
        self.arrivals += 1;
        let turn = Turn::first(visit);
        match self.server.remaining(now) {
            None => {
                self.roster.busy.begin(now);
                self.serve(turn, self.arrivals, calendar);
            }
            // Strictly less: to preempt for an equal remainder gains nothing, and the customer that came first stays.
            Some(remaining) if turn.remaining < remaining => {
                if let Some(other) = self.server.break_off(now) {
                    self.wait(other, self.order);
                }
                self.serve(turn, self.arrivals, calendar);
            }
            Some(_) => self.wait(turn, self.arrivals),
        }
    }

    fn due(&mut self, _: Slot, calendar: &mut Calendar) -> Option<u32> {
        let served = self.server.end()?.customer;
        self.roster.leave(served, calendar.now());
        match self.waiting.pop() {
            Some(Reverse((remaining, order, customer))) => {
                self.serve(Turn { customer, remaining }, order, calendar);
            }
            None => self.roster.busy.end(calendar.now()),
        }
        Some(served)
    }

    rostered!();

    fn received(&self, now: Time) -> u128 {
        let turn = |Reverse((remaining, _, customer)): &Reverse<_>| Turn {
            customer: *customer,
            remaining: *remaining,
        };
        self.server.received(now, &self.roster, self.waiting.iter().map(turn))
    }
}
