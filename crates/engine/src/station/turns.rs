//! One server that customers get in turns: the part that preemptive and time-slicing stations share.

use crate::calendar::{Calendar, Priority, Slot};
use crate::time::{Span, Time};

use super::{Roster, Visit};

/// One server that customers get in turns, for a time slice or until it is broken off; to switch to another one may
/// take time.
#[derive(Clone, Debug)]
pub(super) struct Turns {
    slot: Slot,
    switching: Span,
    serving: Option<Turn>,
    /// When the turn began, after switching.
    started: Time,
    /// Time for switching, that before the turn in progress included [ns].
    switched: u128,
}

/// A customer and its remaining service.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Turn {
    /// Number of the customer.
    pub customer: u32,
    /// Service to come when the turn began.
    pub remaining: Span,
}

/// A slice longer than any demand: the turn ends with the service.
pub(super) const UNLIMITED: Span = Span(u64::MAX);

impl Turn {
    /// The first turn of a customer, with all its demand to come.
    #[inline]
    pub(super) fn first(visit: Visit) -> Turn {
        Turn { customer: visit.customer, remaining: visit.demand }
    }
}

impl Turns {
    pub(super) fn new(slot: Slot, switching: Span) -> Turns {
        Turns { slot, switching, serving: None, started: Time::ZERO, switched: 0 }
    }

    #[inline]
    pub(super) fn is_idle(&self) -> bool {
        self.serving.is_none()
    }

    /// Time to switch to another customer.
    #[inline]
    pub(super) fn switching(&self) -> Span {
        self.switching
    }

    /// The server turns to another customer at `now`; returns when its turn begins.
    #[inline]
    pub(super) fn switch(&mut self, now: Time) -> Time {
        self.switched += u128::from(self.switching.0);
        now + self.switching
    }

    /// Counts `nanoseconds` more of switching, for slices that were given without [`Turns::switch`].
    #[inline]
    pub(super) fn have_switched(&mut self, nanoseconds: u128) {
        self.switched += nanoseconds;
    }

    /// `turn` begins at `started`, and takes no longer than `slice`.
    #[inline]
    pub(super) fn serve(&mut self, turn: Turn, started: Time, slice: Span, calendar: &mut Calendar) {
        self.serving = Some(turn);
        self.started = started;
        calendar.set(self.slot, started + turn.remaining.min(slice), Priority::Completion);
    }

    /// An idle server turns to `turn`.
    #[inline(always)]
    pub(super) fn turn_to(&mut self, turn: Turn, slice: Span, calendar: &mut Calendar) {
        let started = self.switch(calendar.now());
        self.serve(turn, started, slice, calendar);
    }

    /// Ends the turn: returns it as it began.
    #[inline]
    pub(super) fn end(&mut self) -> Option<Turn> {
        self.serving.take()
    }

    /// Remaining service at `now` of the customer whose turn it is.
    pub(super) fn remaining(&self, now: Time) -> Option<Span> {
        // Only for stations without switching: with it, `started` may lie in the future.
        Some(self.serving?.remaining - now.since(self.started))
    }

    /// Breaks off the service in progress: returns its customer with the remaining service.
    pub(super) fn break_off(&mut self, now: Time) -> Option<Turn> {
        let remaining = self.remaining(now)?;
        Some(Turn { remaining, ..self.end()? })
    }

    /// Service so far of those `waiting` and of the one whose turn it is [ns].
    pub(super) fn received(&self, now: Time, roster: &Roster, waiting: impl Iterator<Item = Turn>) -> u128 {
        let had = |turn: Turn| roster.had(turn.customer, turn.remaining);
        let turns: u128 = waiting.chain(self.serving).map(had).sum();
        // While the server still switches, `started` is to come, and the turn has had nothing.
        let in_progress = if self.is_idle() { 0 } else { now.0.saturating_sub(self.started.0) };
        turns + u128::from(in_progress)
    }

    /// Time for switching so far [ns].
    pub(super) fn overhead(&self, now: Time) -> u128 {
        // Switching is counted whole when it begins: what is still to come of it is taken off.
        let to_come = if self.is_idle() { 0 } else { self.started.0.saturating_sub(now.0) };
        self.switched - u128::from(to_come)
    }
}
