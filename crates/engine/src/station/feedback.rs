//! Multi-level feedback queues, as in CTSS.

use std::collections::VecDeque;

use crate::calendar::{Calendar, Slot};
use crate::time::{Span, Time};

use super::turns::{Turn, Turns};
use super::{Roster, Station, Visit};

/// Slices that are given without the calendar: it must see now and then whether the run is over its limits.
const MOST_AT_ONCE: u64 = 1 << 20;

/// One server; customers come to level 0, the first of the lowest level that is not empty gets that level's time
/// slice, and goes a level up if that was not enough; the last level is served round robin (Corbató, Merwin-Daggett
/// and Daley 1962; Coffman and Kleinrock 1968).
///
/// A slice that has begun is not cut short by arrivals. Switching takes time as in
/// [`RoundRobin`](super::RoundRobin).
#[derive(Clone, Debug)]
pub struct Feedback {
    roster: Roster,
    server: Turns,
    levels: Vec<Level>,
    /// Level of the customer in service, which determines its slice.
    level: usize,
}

#[derive(Clone, Debug)]
struct Level {
    slice: Span,
    waiting: VecDeque<Turn>,
}

impl Feedback {
    /// A level for each of `slices`.
    ///
    /// # Panics
    /// There are no slices, or one is zero.
    pub fn new(roster: Roster, slot: Slot, slices: &[Span], switching: Span) -> Feedback {
        assert!(!slices.is_empty() && slices.iter().all(|slice| *slice > Span::ZERO), "slices have a length");
        let levels = slices.iter().map(|slice| Level { slice: *slice, waiting: VecDeque::new() }).collect();
        Feedback { roster, server: Turns::new(slot, switching), levels, level: 0 }
    }

    fn slice(&self) -> Span {
        self.levels[self.level].slice
    }

    /// Takes the first of the lowest level.
    fn lowest(&mut self) -> Option<Turn> {
        self.level = self.levels.iter().position(|level| !level.waiting.is_empty())?;
        self.levels[self.level].waiting.pop_front()
    }
}

impl Station for Feedback {
    fn arrive(&mut self, visit: Visit, calendar: &mut Calendar) {
        let now = calendar.now();
        self.roster.enter(visit, now);
        if !self.server.is_idle() {
            return self.levels[0].waiting.push_back(Turn::first(visit));
        }
        self.roster.busy.begin(now);
        self.level = 0;
        self.server.turn_to(Turn::first(visit), self.slice(), calendar);
    }

    fn due(&mut self, _: Slot, calendar: &mut Calendar) -> Option<u32> {
        // Nothing else happens before the horizon, so slices up to it are given here, without the calendar.
        let horizon = calendar.horizon();
        let mut now = calendar.now();
        let mut turn = self.server.end()?;
        let mut slices = 0;
        loop {
            slices += 1;
            turn.remaining -= turn.remaining.min(self.slice());
            if turn.remaining == Span::ZERO {
                break;
            }
            let (customer, level) = (turn.customer, (self.level + 1).min(self.levels.len() - 1));
            self.levels[level].waiting.push_back(turn);
            // The customer just put back is among them, so there is always one.
            turn = self.lowest()?;
            // A customer that is alone goes on without switching.
            let started = if turn.customer == customer { now } else { self.server.switch(now) };
            now = started + turn.remaining.min(self.slice());
            // At the horizon itself the calendar decides by priority and sequence which event is first.
            if now >= horizon || slices >= MOST_AT_ONCE {
                calendar.count(slices - 1);
                self.server.serve(turn, started, self.slice(), calendar);
                return None;
            }
        }
        // Less one: the slice that was set in the calendar is counted there.
        calendar.proceed(now, slices - 1);
        self.roster.leave(turn.customer, now);
        match self.lowest() {
            Some(next) => self.server.turn_to(next, self.slice(), calendar),
            None => self.roster.busy.end(now),
        }
        Some(turn.customer)
    }

    rostered!();

    fn received(&self, now: Time) -> u128 {
        let waiting = self.levels.iter().flat_map(|level| &level.waiting);
        self.server.received(now, &self.roster, waiting.copied())
    }

    fn overhead(&self, now: Time) -> u128 {
        self.server.overhead(now)
    }
}
