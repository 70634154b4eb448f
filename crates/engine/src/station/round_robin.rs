//! Round robin with a time slice and a cost of switching.

use crate::calendar::{Calendar, Slot};
use crate::time::{Span, Time};

use super::ring::{Circle, Ring};
use super::turns::{Turn, Turns};
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
    slice: Span,
    server: Turns,
    waiting: Ring<Turn>,
}

impl RoundRobin {
    /// An idle server; `slot` is the near slot of the ends of slices; `switching` is lost before a slice.
    ///
    /// # Panics
    /// `slice` is zero.
    pub fn new(roster: Roster, slot: Slot, slice: Span, switching: Span) -> RoundRobin {
        assert!(slice > Span::ZERO, "a time slice is longer than nothing");
        RoundRobin { roster, slice, server: Turns::new(slot, switching), waiting: Ring::default() }
    }
}

/// What a round takes.
#[derive(Clone, Copy)]
struct Round {
    slice: Span,
    switching: Span,
    /// Customers that wait.
    others: usize,
}

impl Round {
    /// Length of a round of all present [ns]; saturated, which the horizon then never reaches.
    #[inline]
    fn length(self) -> u64 {
        let switching = if self.others == 0 { Span::ZERO } else { self.switching };
        (self.others as u64 + 1).saturating_mul(self.slice.0 + switching.0)
    }

    /// Whether two rounds end before the horizon: for one round a pass over all customers does not pay.
    #[inline]
    fn may_fit_twice(self, now: Time, horizon: Time) -> bool {
        horizon.0.saturating_sub(now.0) > self.length().saturating_mul(2)
    }

    /// Takes all whole rounds from `now` on in which nobody finishes and nothing else is due. The round begins with a
    /// customer of `remaining` service, to whom the server has switched. Returns how many rounds.
    // Out of line: `due` is small enough to be inlined without it.
    #[inline(never)]
    fn take_all(self, remaining: Span, mut waiting: Circle<'_, Turn>, now: Time, horizon: Time) -> u64 {
        // What ends at the horizon is the calendar's.
        let fitting = (horizon.since(now).0 - 1) / self.length();
        let least = waiting.iter_mut().map(|other| other.remaining).fold(remaining, Span::min);
        // Less one: the round in which somebody finishes must be gone through slice by slice.
        let rounds = fitting.min(least.0.saturating_sub(1) / self.slice.0);
        waiting.iter_mut().for_each(|other| other.remaining -= Span(rounds * self.slice.0));
        rounds
    }
}

impl Station for RoundRobin {
    #[inline]
    fn arrive(&mut self, visit: Visit, calendar: &mut Calendar) {
        let now = calendar.now();
        self.roster.enter(visit, now);
        if !self.server.is_idle() {
            return self.waiting.push(Turn::first(visit));
        }
        self.roster.busy.begin(now);
        self.server.turn_to(Turn::first(visit), self.slice, calendar);
    }

    #[inline]
    fn due(&mut self, _: Slot, calendar: &mut Calendar) -> Option<u32> {
        let horizon = calendar.horizon();
        let mut now = calendar.now();
        let mut turn = self.server.end()?;
        let round =
            Round { slice: self.slice, switching: self.server.switching(), others: self.waiting.len() };
        let mut waiting = self.waiting.circle();
        let (mut slices, mut in_round, mut switches) = (0, 0, 0u64);
        let broken_off_at = loop {
            slices += 1;
            in_round += 1;
            turn.remaining -= turn.remaining.min(round.slice);
            if turn.remaining == Span::ZERO {
                break None;
            }
            let mut started = now;
            if round.others > 0 {
                turn = waiting.go_round(turn);
                switches += 1;
                started = now + round.switching;
            }
            // Only after a round without a completion: when somebody finishes in every round, a pass over all
            // customers costs more than it saves.
            if in_round > round.others {
                in_round = 0;
                if round.may_fit_twice(started, horizon) {
                    let rounds = round.take_all(turn.remaining, waiting.lend(), started, horizon);
                    turn.remaining -= Span(rounds * round.slice.0);
                    started = started + Span(rounds * round.length());
                    switches += if round.others > 0 { rounds * (round.others as u64 + 1) } else { 0 };
                }
            }
            now = started + turn.remaining.min(round.slice);
            // At the horizon itself the calendar decides by priority and sequence which event is first.
            if now >= horizon {
                break Some(started);
            }
        };
        let head = waiting.head();
        self.waiting.turn_to(head);
        self.server.have_switched(u128::from(switches) * u128::from(round.switching.0));
        if let Some(started) = broken_off_at {
            calendar.count(slices - 1);
            self.server.serve(turn, started, self.slice, calendar);
            return None;
        }
        // Less one: the slice that was set in the calendar is counted there.
        calendar.proceed(now, slices - 1);
        self.roster.leave(turn.customer, now);
        match self.waiting.pop() {
            Some(next) => self.server.turn_to(next, self.slice, calendar),
            None => self.roster.busy.end(now),
        }
        Some(turn.customer)
    }

    rostered!();

    fn received(&self, now: Time) -> u128 {
        self.server.received(now, &self.roster, self.waiting.iter())
    }

    fn overhead(&self, now: Time) -> u128 {
        self.server.overhead(now)
    }
}
