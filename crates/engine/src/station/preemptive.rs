//! Preemptive-resume priorities.

use std::collections::VecDeque;

use crate::calendar::{Calendar, Priority, Slot};
use crate::time::{Span, Time};

use super::{Roster, Station, Visit};

/// One server; the more urgent takes it at once, and the other later goes on where it was.
#[derive(Clone, Debug)]
pub struct PreemptivePriority {
    roster: Roster,
    slot: Slot,
    /// Who waits and what remains, by priority. One who was preempted stands first.
    waiting: Vec<VecDeque<(u32, Span)>>,
    serving: Option<Serving>,
}

#[derive(Clone, Copy, Debug)]
struct Serving {
    customer: u32,
    level: usize,
    started: Time,
    /// What remained at `started`.
    remaining: Span,
}

impl PreemptivePriority {
    pub fn new(roster: Roster, slot: Slot) -> PreemptivePriority {
        PreemptivePriority { roster, slot, waiting: Vec::new(), serving: None }
    }

    fn serve(&mut self, customer: u32, level: usize, remaining: Span, calendar: &mut Calendar) {
        let started = calendar.now();
        self.serving = Some(Serving { customer, level, started, remaining });
        calendar.set(self.slot, started + remaining, Priority::Completion);
    }
}

impl Station for PreemptivePriority {
    fn arrive(&mut self, visit: Visit, calendar: &mut Calendar) {
        let now = calendar.now();
        let level = visit.priority as usize;
        self.roster.enter(visit, now);
        if level >= self.waiting.len() {
            self.waiting.resize(level + 1, VecDeque::new());
        }
        match self.serving {
            None => {
                self.roster.busy.begin(now);
                self.serve(visit.customer, level, visit.demand, calendar);
            }
            // One who has all it asked for is not preempted: its completion is due now.
            Some(other) if level < other.level && now < other.started + other.remaining => {
                let remaining = other.remaining - now.since(other.started);
                self.waiting[other.level].push_front((other.customer, remaining));
                self.serve(visit.customer, level, visit.demand, calendar);
            }
            Some(_) => self.waiting[level].push_back((visit.customer, visit.demand)),
        }
    }

    fn due(&mut self, _: Slot, calendar: &mut Calendar) -> Option<u32> {
        let served = self.serving.take()?.customer;
        self.roster.leave(served, calendar.now());
        let next =
            self.waiting.iter_mut().enumerate().find_map(|(level, queue)| Some((level, queue.pop_front()?)));
        match next {
            Some((level, (customer, remaining))) => self.serve(customer, level, remaining, calendar),
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
        let waiting: u128 = self.waiting.iter().flatten().map(|(who, remaining)| had(*who, *remaining)).sum();
        self.serving.map_or(waiting, |serving| {
            waiting + had(serving.customer, serving.remaining) + u128::from(now.since(serving.started).0)
        })
    }
}
