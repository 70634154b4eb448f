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
    /// Before each slice.
    switching: Span,
    /// Customers that wait.
    others: usize,
}

impl Round {
    /// Length of a round of all present [ns]; saturated, which the horizon then never reaches.
    #[inline]
    fn length(self) -> u64 {
        (self.others as u64 + 1).saturating_mul(self.slice.0 + self.switching.0)
    }

    /// The time `left` after switching to the first.
    #[inline]
    fn after_switching(self, left: Span) -> u64 {
        left.0.saturating_sub(self.switching.0)
    }

    /// Whether two rounds end in the time `left`: for one round a pass over all customers does not pay.
    #[inline]
    fn fits_twice(self, left: Span) -> bool {
        self.after_switching(left) > self.length().saturating_mul(2)
    }

    /// Takes all whole rounds of the time `left` in which nobody finishes. The round begins with a customer of
    /// `remaining` service, to whom the server is about to switch. Returns how many rounds.
    // Out of line: the loop of slices is small enough to stay in registers without it.
    #[inline(never)]
    fn take_all(self, remaining: Span, mut waiting: Circle<'_, Turn>, left: Span) -> u64 {
        // What ends at the horizon is the calendar's.
        let fitting = (self.after_switching(left) - 1) / self.length();
        let least = waiting.iter_mut().map(|other| other.remaining).fold(remaining, Span::min);
        // Less one: the round in which somebody finishes must be gone through slice by slice.
        let rounds = fitting.min(least.0.saturating_sub(1) / self.slice.0);
        waiting.iter_mut().for_each(|other| other.remaining -= Span(rounds * self.slice.0));
        rounds
    }
}

impl RoundRobin {
    /// Ends the slice of `turn`, which leaves service to come, and gives slices up to the next completion, whose turn it
    /// returns, or up to the horizon, where the calendar gets the slice in progress.
    #[inline(always)]
    fn go_on(&mut self, mut turn: Turn, calendar: &mut Calendar) -> Option<Turn> {
        let horizon = calendar.horizon();
        let others = self.waiting.len();
        // Who is alone is switched to once.
        let switching = if others > 0 { self.server.switching() } else { Span::ZERO };
        let round = Round { slice: self.slice, switching, others };
        let mut waiting = self.waiting.circle();
        // Time up to the horizon: a slice then needs one comparison, and no sum that could be beyond all time.
        let mut left = horizon.since(calendar.now());
        let (mut slices, mut in_round, mut skipped) = (0, 0, 0);
        let completed = loop {
            turn.remaining -= round.slice;
            in_round += 1;
            turn = waiting.go_round(turn);
            // Only after a round without a completion: when somebody finishes in every round, a pass over all
            // customers costs more than it saves.
            if in_round > others {
                in_round = 0;
                if round.fits_twice(left) {
                    let rounds = round.take_all(turn.remaining, waiting.lend(), left);
                    turn.remaining -= Span(rounds * round.slice.0);
                    left -= Span(rounds * round.length());
                    skipped += rounds;
                }
            }
            let needed = switching + turn.remaining.min(round.slice);
            // At the horizon itself the calendar decides by priority and sequence which event is first.
            if needed >= left {
                break false;
            }
            left -= needed;
            slices += 1;
            if turn.remaining <= round.slice {
                break true;
            }
        };
        let head = waiting.head();
        self.waiting.turn_to(head);
        let switches = slices + u64::from(!completed) + skipped * (others as u64 + 1);
        self.server.have_switched(u128::from(switches) * u128::from(switching.0));
        let now = Time(horizon.0 - left.0);
        if completed {
            // Without the slice that was set in the calendar, which is counted there.
            calendar.proceed(now, slices);
            return Some(turn);
        }
        calendar.count(slices);
        self.server.serve(turn, now + switching, self.slice, calendar);
        None
    }
}

impl Station for RoundRobin {
    #[inline(always)]
    fn arrive(&mut self, visit: Visit, calendar: &mut Calendar) {
        let now = calendar.now();
        self.roster.enter(visit, now);
        if !self.server.is_idle() {
            return self.waiting.push(Turn::first(visit));
        }
        self.roster.busy.begin(now);
        self.server.turn_to(Turn::first(visit), self.slice, calendar);
    }

    #[inline(always)]
    fn due(&mut self, _: Slot, calendar: &mut Calendar) -> Option<u32> {
        let mut turn = self.server.end()?;
        if turn.remaining > self.slice {
            turn = self.go_on(turn, calendar)?;
        }
        let now = calendar.now();
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
