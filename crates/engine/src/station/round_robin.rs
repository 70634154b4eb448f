//! Round robin with a time slice and a cost of switching.

use crate::calendar::{Calendar, Priority, Slot};
use crate::time::{Span, Time};

use super::ring::Ring;
use super::{Roster, Station, Visit};

/// One server; the first in the queue gets a time slice, and then goes to its end.
///
/// Switching takes time before a slice of a customer other than that of the slice before, and before the
/// first slice after the server was idle. A slice that has begun is not cut short by arrivals.
///
/// Slices that end before anything else is due need no calendar: the station goes on by itself, and whole
/// rounds in which nobody finishes are taken in one step. A slice near zero thus costs no more than processor
/// sharing, to which it tends.
#[derive(Clone, Debug)]
pub struct RoundRobin {
    roster: Roster,
    slot: Slot,
    slice: Span,
    switching: Span,
    waiting: Ring<Turn>,
    serving: Option<Turn>,
    /// When the slice began, after switching.
    started: Time,
    /// Time for switching, that before the slice in progress included [ns].
    switched: u128,
}

#[derive(Clone, Copy, Debug, Default)]
struct Turn {
    customer: u32,
    /// Service to come when the slice began.
    remaining: Span,
}

impl RoundRobin {
    /// # Panics
    /// `slice` is zero.
    pub fn new(roster: Roster, slot: Slot, slice: Span, switching: Span) -> RoundRobin {
        assert!(slice > Span::ZERO, "a time slice is longer than nothing");
        RoundRobin {
            roster,
            slot,
            slice,
            switching,
            waiting: Ring::default(),
            serving: None,
            started: Time::ZERO,
            switched: 0,
        }
    }

    /// The server turns to another customer at `now`; returns when its slice begins.
    #[inline]
    fn switch(&mut self, now: Time) -> Time {
        self.switched += u128::from(self.switching.0);
        now + self.switching
    }

    /// Begins the slice of `turn` at `started`.
    #[inline]
    fn serve(&mut self, turn: Turn, started: Time, calendar: &mut Calendar) {
        self.serving = Some(turn);
        self.started = started;
        calendar.set(self.slot, started + turn.remaining.min(self.slice), Priority::Completion);
    }

    /// Length of a round of all present.
    #[inline]
    fn round(&self) -> u64 {
        let switching = if self.waiting.is_empty() { Span::ZERO } else { self.switching };
        (self.waiting.len() as u64 + 1).saturating_mul(self.slice.0 + switching.0)
    }

    /// Whether two rounds end before the horizon: for one it does not pay to look at everybody.
    #[inline]
    fn rounds_may_fit(&self, now: Time, horizon: Time) -> bool {
        horizon.0.saturating_sub(now.0) > self.round().saturating_mul(2)
    }

    /// Takes as many whole rounds from `now` on as nobody finishes in and nothing else is due in. The round
    /// begins with `turn`; the server has switched to it. Returns how long they take.
    #[inline(never)]
    fn whole_rounds(&mut self, turn: &mut Turn, now: Time, horizon: Time) -> Span {
        let round = self.round();
        // What ends at the horizon is the calendar's.
        let fitting = (horizon.since(now).0 - 1) / round;
        let least = self.waiting.iter().map(|other| other.remaining).fold(turn.remaining, Span::min);
        let rounds = fitting.min(least.0.saturating_sub(1) / self.slice.0);
        let served = Span(rounds * self.slice.0);
        turn.remaining -= served;
        self.waiting.for_each_mut(|other| other.remaining -= served);
        let slices = rounds * (self.waiting.len() as u64 + 1);
        self.switched += u128::from(rounds * round - slices * self.slice.0);
        Span(rounds * round)
    }
}

impl Station for RoundRobin {
    #[inline]
    fn arrive(&mut self, visit: Visit, calendar: &mut Calendar) {
        let now = calendar.now();
        self.roster.enter(visit, now);
        let turn = Turn { customer: visit.customer, remaining: visit.demand };
        if self.serving.is_some() {
            return self.waiting.push(turn);
        }
        self.roster.busy.begin(now);
        let started = self.switch(now);
        self.serve(turn, started, calendar);
    }

    #[inline]
    fn due(&mut self, _: Slot, calendar: &mut Calendar) -> Option<u32> {
        let horizon = calendar.horizon();
        let mut now = calendar.now();
        let mut turn = self.serving.take()?;
        let (mut slices, mut in_round) = (0, 0);
        loop {
            slices += 1;
            in_round += 1;
            turn.remaining -= turn.remaining.min(self.slice);
            if turn.remaining == Span::ZERO {
                break;
            }
            let mut started = now;
            if !self.waiting.is_empty() {
                turn = self.waiting.go_round(turn);
                started = self.switch(now);
            }
            if in_round > self.waiting.len() {
                in_round = 0;
                if self.rounds_may_fit(started, horizon) {
                    started = started + self.whole_rounds(&mut turn, started, horizon);
                }
            }
            now = started + turn.remaining.min(self.slice);
            if now >= horizon {
                calendar.count(slices - 1);
                self.serve(turn, started, calendar);
                return None;
            }
        }
        calendar.proceed(now, slices - 1);
        self.roster.leave(turn.customer, now);
        match self.waiting.pop() {
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
        let slices: u128 = self.waiting.iter().chain(self.serving).map(|turn| had(&turn)).sum();
        let in_progress = if self.serving.is_some() { now.0.saturating_sub(self.started.0) } else { 0 };
        slices + u128::from(in_progress)
    }

    fn overhead(&self, now: Time) -> u128 {
        let to_come = if self.serving.is_some() { self.started.0.saturating_sub(now.0) } else { 0 };
        self.switched - u128::from(to_come)
    }
}
