//! Several servers and non-preemptive priorities.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use crate::calendar::{Calendar, Priority, Slot};
use crate::time::Time;

use super::{Roster, Station, Visit};

/// Several servers; the most urgent, and of these the first to come, is served to the end.
#[derive(Clone, Debug)]
pub struct Servers {
    roster: Roster,
    slot: Slot,
    servers: usize,
    /// Customers that wait, by priority.
    waiting: Vec<VecDeque<u32>>,
    /// (completion, order of beginning, customer), the earliest first.
    serving: BinaryHeap<Reverse<(Time, u64, u32)>>,
    /// Services begun so far.
    begun: u64,
}

impl Servers {
    /// Idle servers, as many as `servers`; `slot` is the near slot of the next completion of all.
    pub fn new(roster: Roster, slot: Slot, servers: usize) -> Servers {
        let waiting = vec![VecDeque::new()];
        Servers { roster, slot, servers, waiting, serving: BinaryHeap::new(), begun: 0 }
    }

    fn serve(&mut self, customer: u32, now: Time) {
        // Breaks ties: of completions at one time, the service that began first ends first.
        self.begun += 1;
        self.serving.push(Reverse((now + self.roster.demand(customer), self.begun, customer)));
    }

    /// Sets the earliest completion. One slot serves all servers: the heap has the order among them.
    fn schedule(&self, calendar: &mut Calendar) {
        if let Some(Reverse((completion, ..))) = self.serving.peek() {
            calendar.set(self.slot, *completion, Priority::Completion);
        }
    }
}

impl Station for Servers {
    fn arrive(&mut self, visit: Visit, calendar: &mut Calendar) {
        let now = calendar.now();
        self.roster.enter(visit, now);
        if self.serving.len() < self.servers {
            self.roster.busy.begin(now);
            self.serve(visit.customer, now);
            self.schedule(calendar);
            return;
        }
        let level = visit.priority as usize;
        if level >= self.waiting.len() {
            self.waiting.resize(level + 1, VecDeque::new());
        }
        self.waiting[level].push_back(visit.customer);
    }

    fn due(&mut self, _: Slot, calendar: &mut Calendar) -> Option<u32> {
        let now = calendar.now();
        let Reverse((_, _, served)) = self.serving.pop()?;
        self.roster.leave(served, now);
        match self.waiting.iter_mut().find_map(VecDeque::pop_front) {
            // As many servers are busy as before, so that neither a begin nor an end is counted.
            Some(next) => self.serve(next, now),
            None => self.roster.busy.end(now),
        }
        self.schedule(calendar);
        Some(served)
    }

    rostered!();

    fn received(&self, now: Time) -> u128 {
        // From the completion backwards: the start of each service is then not stored.
        let so_far = |Reverse((completion, _, customer)): &Reverse<(Time, u64, u32)>| {
            u128::from(self.roster.demand(*customer).0) - u128::from(completion.since(now).0)
        };
        self.serving.iter().map(so_far).sum()
    }
}
