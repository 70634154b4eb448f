//! Multi-level feedback.

use std::collections::VecDeque;

use crate::calendar::{Calendar, Priority, Slot};
use crate::time::{Span, Time};

use super::{Roster, Station, Visit};

/// One server; customers come to level 0, the first of the lowest level that is not empty gets that level's time
/// slice, and goes a level up if that was not enough; the last level is served round robin (Corbató, Merwin-Daggett
/// and Daley 1962; Coffman and Kleinrock 1968).
///
/// A slice that has begun is not cut short by arrivals. Switching takes time as in
/// [`RoundRobin`](super::RoundRobin).
#[derive(Clone, Debug)]
pub struct Feedback {
    roster: Roster,
    slot: Slot,
    levels: Vec<Level>,
    switching: Span,
    serving: Option<Turn>,
    /// When the slice began, after switching.
    started: Time,
    /// Time for switching, that before the slice in progress included [ns].
    switched: u128,
}

#[derive(Clone, Debug)]
struct Level {
    slice: Span,
    waiting: VecDeque<Turn>,
}

#[derive(Clone, Copy, Debug)]
struct Turn {
    customer: u32,
    level: usize,
    /// Service to come when the slice began.
    remaining: Span,
}

impl Feedback {
    /// A level for each of `slices`.
    ///
    /// # Panics
    /// There are no slices, or one is zero.
    pub fn new(roster: Roster, slot: Slot, slices: &[Span], switching: Span) -> Feedback {
        assert!(!slices.is_empty() && slices.iter().all(|slice| *slice > Span::ZERO), "slices have a length");
        let levels = slices.iter().map(|slice| Level { slice: *slice, waiting: VecDeque::new() }).collect();
        Feedback { roster, slot, levels, switching, serving: None, started: Time::ZERO, switched: 0 }
    }

    fn slice(&self, turn: &Turn) -> Span {
        turn.remaining.min(self.levels[turn.level].slice)
    }

    fn lowest(&mut self) -> Option<Turn> {
        self.levels.iter_mut().find_map(|level| level.waiting.pop_front())
    }

    fn switch(&mut self, now: Time) -> Time {
        self.switched += u128::from(self.switching.0);
        now + self.switching
    }

    fn serve(&mut self, turn: Turn, started: Time, calendar: &mut Calendar) {
        self.started = started;
        calendar.set(self.slot, started + self.slice(&turn), Priority::Completion);
        self.serving = Some(turn);
    }
}

impl Station for Feedback {
    fn arrive(&mut self, visit: Visit, calendar: &mut Calendar) {
        let now = calendar.now();
        self.roster.enter(visit, now);
        let turn = Turn { customer: visit.customer, level: 0, remaining: visit.demand };
        if self.serving.is_some() {
            return self.levels[0].waiting.push_back(turn);
        }
        self.roster.busy.begin(now);
        let started = self.switch(now);
        self.serve(turn, started, calendar);
    }

    fn due(&mut self, _: Slot, calendar: &mut Calendar) -> Option<u32> {
        let horizon = calendar.horizon();
        let mut now = calendar.now();
        let mut turn = self.serving.take()?;
        let mut slices = 0;
        loop {
            slices += 1;
            turn.remaining -= self.slice(&turn);
            if turn.remaining == Span::ZERO {
                break;
            }
            turn.level = (turn.level + 1).min(self.levels.len() - 1);
            let mut started = now;
            // Who is alone goes on without switching.
            let (customer, level) = (turn.customer, turn.level);
            self.levels[level].waiting.push_back(turn);
            turn = self.lowest()?;
            if turn.customer != customer {
                started = self.switch(now);
            }
            now = started + self.slice(&turn);
            if now >= horizon {
                calendar.count(slices - 1);
                self.serve(turn, started, calendar);
                return None;
            }
        }
        calendar.proceed(now, slices - 1);
        self.roster.leave(turn.customer, now);
        match self.lowest() {
            Some(next) => {
                let started = self.switch(now);
                self.serve(next, started, calendar);
            }
            None => self.roster.busy.end(now),
        }
        Some(turn.customer)
    }

    fn roster(&self) -> &Roster {
        &self.roster
    }

    fn roster_mut(&mut self) -> &mut Roster {
        &mut self.roster
    }

    fn received(&self, now: Time) -> u128 {
        let had = |turn: &Turn| u128::from((self.roster.demand(turn.customer) - turn.remaining).0);
        let waiting = self.levels.iter().flat_map(|level| &level.waiting);
        let slices: u128 = waiting.chain(&self.serving).map(had).sum();
        let in_progress = if self.serving.is_some() { now.0.saturating_sub(self.started.0) } else { 0 };
        slices + u128::from(in_progress)
    }

    fn overhead(&self, now: Time) -> u128 {
        let to_come = if self.serving.is_some() { self.started.0.saturating_sub(now.0) } else { 0 };
        self.switched - u128::from(to_come)
    }
}
