//! Shortest remaining service first, preemptively.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::calendar::{Calendar, Priority, Slot};
use crate::time::{Span, Time};

use super::{Roster, Station, Visit};

/// One server; the customer with the least service to come is served. It minimises the mean stay (Schrage 1968),
/// and no real scheduler knows the demands.
#[derive(Clone, Debug)]
pub struct ShortestRemaining {
    roster: Roster,
    slot: Slot,
    /// (what remains, order of coming, customer), the least first.
    waiting: BinaryHeap<Reverse<(Span, u64, u32)>>,
    serving: Option<Serving>,
    arrivals: u64,
}

#[derive(Clone, Copy, Debug)]
struct Serving {
    customer: u32,
    order: u64,
    started: Time,
    /// What remained at `started`.
    remaining: Span,
}

impl ShortestRemaining {
    pub fn new(roster: Roster, slot: Slot) -> ShortestRemaining {
        ShortestRemaining { roster, slot, waiting: BinaryHeap::new(), serving: None, arrivals: 0 }
    }

    fn serve(&mut self, remaining: Span, order: u64, customer: u32, calendar: &mut Calendar) {
        let started = calendar.now();
        self.serving = Some(Serving { customer, order, started, remaining });
        calendar.set(self.slot, started + remaining, Priority::Completion);
    }
}

impl Station for ShortestRemaining {
    fn arrive(&mut self, visit: Visit, calendar: &mut Calendar) {
        let now = calendar.now();
        self.roster.enter(visit, now);
        self.arrivals += 1;
        let Some(other) = self.serving else {
            self.roster.busy.begin(now);
            return self.serve(visit.demand, self.arrivals, visit.customer, calendar);
        };
        let remaining = other.remaining - now.since(other.started);
        if visit.demand < remaining {
            self.waiting.push(Reverse((remaining, other.order, other.customer)));
            self.serve(visit.demand, self.arrivals, visit.customer, calendar);
        } else {
            self.waiting.push(Reverse((visit.demand, self.arrivals, visit.customer)));
        }
    }

    fn due(&mut self, _: Slot, calendar: &mut Calendar) -> Option<u32> {
        let served = self.serving.take()?.customer;
        self.roster.leave(served, calendar.now());
        match self.waiting.pop() {
            Some(Reverse((remaining, order, customer))) => self.serve(remaining, order, customer, calendar),
            None => self.roster.busy.end(calendar.now()),
        }
        Some(served)
    }

    fn roster(&self) -> &Roster {
        &self.roster
    }

    fn roster_mut(&mut self) -> &mut Roster {
        &mut self.roster
    }

    fn received(&self, now: Time) -> u128 {
        let had = |customer: u32, remaining: Span| u128::from((self.roster.demand(customer) - remaining).0);
        let waiting: u128 =
            self.waiting.iter().map(|Reverse((remaining, _, who))| had(*who, *remaining)).sum();
        self.serving.map_or(waiting, |serving| {
            waiting + had(serving.customer, serving.remaining) + u128::from(now.since(serving.started).0)
        })
    }
}
