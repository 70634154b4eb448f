//! Preemptive-resume priorities.
//!
//! Priorities index a vector of queues: they are few and fixed, and the most urgent queue is found in as many steps.

use std::collections::VecDeque;

use crate::calendar::{Calendar, Slot};
use crate::time::{Span, Time};

use super::turns::{Turn, Turns, UNLIMITED};
use super::{Roster, Station, Visit};

/// One server; a more urgent customer takes it at once, and the other later resumes where it was.
#[derive(Clone, Debug)]
pub struct PreemptivePriority {
    roster: Roster,
    server: Turns,
    /// Customers that wait, by priority. One that was preempted stands first.
    waiting: Vec<VecDeque<Turn>>,
    /// Priority of the customer in service.
    level: usize,
}

impl PreemptivePriority {
    /// An idle server; `slot` is the near slot of its completions.
    pub fn new(roster: Roster, slot: Slot) -> PreemptivePriority {
        PreemptivePriority { roster, server: Turns::new(slot, Span::ZERO), waiting: Vec::new(), level: 0 }
    }

    fn serve(&mut self, turn: Turn, level: usize, calendar: &mut Calendar) {
        self.level = level;
        self.server.turn_to(turn, UNLIMITED, calendar);
    }
}

impl Station for PreemptivePriority {
    fn arrive(&mut self, visit: Visit, calendar: &mut Calendar) {
        let now = calendar.now();
        let (turn, level) = (Turn::first(visit), visit.priority as usize);
        self.roster.enter(visit, now);
        if level >= self.waiting.len() {
            self.waiting.resize(level + 1, VecDeque::new());
        }
        match self.server.remaining(now) {
            None => {
                self.roster.busy.begin(now);
                self.serve(turn, level, calendar);
            }
            // A customer that has all its demand is not preempted: its completion is due now.
            Some(remaining) if level < self.level && remaining > Span::ZERO => {
                if let Some(other) = self.server.break_off(now) {
                    // In front: it came before those of its priority that wait, and would otherwise lose its
                    // place.
                    self.waiting[self.level].push_front(other);
                }
                self.serve(turn, level, calendar);
            }
            Some(_) => self.waiting[level].push_back(turn),
        }
    }

    fn due(&mut self, _: Slot, calendar: &mut Calendar) -> Option<u32> {
        let served = self.server.end()?.customer;
        self.roster.leave(served, calendar.now());
        let mut queues = self.waiting.iter_mut().enumerate();
        match queues.find_map(|(level, queue)| Some((level, queue.pop_front()?))) {
            Some((level, next)) => self.serve(next, level, calendar),
            None => self.roster.busy.end(calendar.now()),
        }
        Some(served)
    }

    rostered!();

    fn received(&self, now: Time) -> u128 {
        self.server.received(now, &self.roster, self.waiting.iter().flatten().copied())
    }
}
