//! Several servers that customers get in turns: for a time slice, or until a more urgent one takes their server.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::calendar::{Calendar, Priority, Slot};
use crate::time::{Span, Time};

use super::turns::{Turn, UNLIMITED};
use super::{Roster, Station, Visit};

/// Slices that are given without the calendar: it must see now and then whether the run is over its limits.
const MOST_AT_ONCE: u64 = 1 << 20;

/// Order in which customers get a server, and how long they keep it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Order {
    /// In a circle, for this time slice each.
    RoundRobin(Span),
    /// The first of the lowest level, for the slice of that level; it then goes a level up. The last level goes round.
    Feedback(Vec<Span>),
    /// The most urgent; one that comes takes the server of the least urgent, which later resumes where it was.
    Priority,
    /// The one with the least service to come; one that comes takes the server of the one with the most.
    ShortestRemaining,
}

/// Several servers with one queue: what `RoundRobin`, `Feedback`, `PreemptivePriority` and `ShortestRemaining` are with
/// one server, which are faster there.
///
/// A customer has one server at a time, and after a slice any. Slices that have begun are not cut short by arrivals.
/// Switching takes time before a slice of a customer other than that of the server's slice before, and before
/// the first slice after the server was idle. Who is preempted keeps its place: it goes before those of its rank
/// that came later.
#[derive(Clone, Debug)]
pub struct Processors {
    roster: Roster,
    slot: Slot,
    order: Order,
    switching: Span,
    /// By number of the server.
    serving: Vec<Option<Service>>,
    waiting: BinaryHeap<Reverse<Place>>,
    /// Places given so far.
    given: u64,
    /// Services begun so far.
    begun: u64,
    /// Time for switching, that of slices in progress included [ns].
    switched: u128,
}

/// A customer's place in the queue; the lowest is served first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Place {
    /// Priority, level, or service to come: by the order.
    rank: u64,
    /// Order of coming; a slice that is used up gives a new one.
    number: u64,
    customer: u32,
    remaining: Span,
}

/// A customer in service, with its place as it was when the service began.
#[derive(Clone, Copy, Debug)]
struct Service {
    place: Place,
    /// When it began, after switching.
    started: Time,
    end: Time,
    /// Breaks ties: of services that end at one time, the one that began first ends first.
    begun: u64,
}

impl Service {
    /// The place that its customer would have, broken off at `now`.
    fn broken_off(&self, now: Time, order: &Order) -> Place {
        // Only for orders without slices, which have no switching: with it, `started` may lie in the future.
        let remaining = self.place.remaining - now.since(self.started);
        let rank = if *order == Order::ShortestRemaining { remaining.0 } else { self.place.rank };
        Place { rank, remaining, ..self.place }
    }
}

impl Processors {
    /// Idle servers, as many as `servers`; `slot` is the near slot of the next end of all; `switching` is lost before a
    /// slice.
    ///
    /// # Panics
    /// There is no server, no slice, or a slice of no length.
    pub fn new(roster: Roster, slot: Slot, servers: usize, order: Order, switching: Span) -> Processors {
        assert!(servers > 0, "there is a server");
        let (sliced, slices) = match &order {
            Order::RoundRobin(slice) => (true, std::slice::from_ref(slice)),
            Order::Feedback(slices) => (true, &slices[..]),
            _ => (false, &[][..]),
        };
        assert!(!sliced || !slices.is_empty(), "there is a time slice");
        assert!(slices.iter().all(|slice| *slice > Span::ZERO), "a time slice is longer than nothing");
        // What preempts is as if nothing were lost by it; a machine counts that as part of the demand.
        let switching = if sliced { switching } else { Span::ZERO };
        Processors {
            roster,
            slot,
            order,
            switching,
            serving: vec![None; servers],
            waiting: BinaryHeap::new(),
            given: 0,
            begun: 0,
            switched: 0,
        }
    }

    /// Rank of a customer that comes.
    fn first_rank(&self, visit: Visit) -> u64 {
        match self.order {
            Order::RoundRobin(_) | Order::Feedback(_) => 0,
            Order::Priority => u64::from(visit.priority),
            Order::ShortestRemaining => visit.demand.0,
        }
    }

    /// Longest service of rank `rank` without a break.
    fn slice(&self, rank: u64) -> Span {
        match &self.order {
            Order::RoundRobin(slice) => *slice,
            Order::Feedback(slices) => slices[rank as usize],
            Order::Priority | Order::ShortestRemaining => UNLIMITED,
        }
    }

    /// Rank after a slice at `rank`.
    fn next_rank(&self, rank: u64) -> u64 {
        match &self.order {
            Order::Feedback(slices) => (rank + 1).min(slices.len() as u64 - 1),
            _ => rank,
        }
    }

    /// A new place, behind all that were given before.
    fn place(&mut self, rank: u64, turn: Turn) -> Place {
        self.given += 1;
        Place { rank, number: self.given, customer: turn.customer, remaining: turn.remaining }
    }

    /// Server `server` begins with the customer of `place` at `now`, after switching to it if it is `another`.
    fn serve(&mut self, server: usize, place: Place, now: Time, another: bool) {
        let switching = if another { self.switching } else { Span::ZERO };
        self.switched += u128::from(switching.0);
        self.begun += 1;
        let started = now + switching;
        let end = started + place.remaining.min(self.slice(place.rank));
        self.serving[server] = Some(Service { place, started, end, begun: self.begun });
    }

    /// The server whose service ends first, with its end.
    // Looked for and not kept in a heap: servers are few, and a preempted service would stay in a heap.
    fn first_end(&self) -> Option<(usize, Time)> {
        let served = self.serving.iter().enumerate();
        let ends = served.filter_map(|(server, one)| one.map(|one| (one.end, one.begun, server)));
        ends.min().map(|(end, _, server)| (server, end))
    }

    /// The server that a customer of `rank` takes from another, with that customer's place.
    fn preempted(&self, rank: u64, now: Time) -> Option<(usize, Place)> {
        if matches!(self.order, Order::RoundRobin(_) | Order::Feedback(_)) {
            return None;
        }
        let served = self.serving.iter().enumerate();
        let places =
            served.filter_map(|(server, one)| Some((one.as_ref()?.broken_off(now, &self.order), server)));
        // A customer that has all its demand is not preempted: its completion is due now.
        let last = places.filter(|(place, _)| place.remaining > Span::ZERO).max()?;
        (rank < last.0.rank).then_some((last.1, last.0))
    }

    fn schedule(&self, calendar: &mut Calendar) {
        if let Some((_, end)) = self.first_end() {
            calendar.set(self.slot, end, Priority::Completion);
        }
    }
}

impl Station for Processors {
    fn arrive(&mut self, visit: Visit, calendar: &mut Calendar) {
        let now = calendar.now();
        self.roster.enter(visit, now);
        let place = self.place(self.first_rank(visit), Turn::first(visit));
        if let Some(idle) = self.serving.iter().position(Option::is_none) {
            self.roster.busy.begin(now);
            self.serve(idle, place, now, true);
        } else if let Some((server, other)) = self.preempted(place.rank, now) {
            self.waiting.push(Reverse(other));
            self.serve(server, place, now, true);
        } else {
            return self.waiting.push(Reverse(place));
        }
        self.schedule(calendar);
    }

    fn due(&mut self, _: Slot, calendar: &mut Calendar) -> Option<u32> {
        // Nothing else happens before the horizon, so slices up to it are given here, without the calendar.
        let horizon = calendar.horizon();
        let mut slices = 0;
        let (served, server, now) = loop {
            let (server, now) = self.first_end()?;
            // At the horizon itself the calendar decides by priority and sequence which event is first.
            if slices > 0 && (now >= horizon || slices >= MOST_AT_ONCE) {
                calendar.count(slices - 1);
                self.schedule(calendar);
                return None;
            }
            slices += 1;
            let Service { place, started, end, .. } = self.serving[server].take()?;
            let remaining = place.remaining - end.since(started);
            if remaining == Span::ZERO {
                break (place.customer, server, now);
            }
            let turn = Turn { customer: place.customer, remaining };
            let behind = self.place(self.next_rank(place.rank), turn);
            self.waiting.push(Reverse(behind));
            // The customer just put back is among them, so there is always one.
            let Reverse(next) = self.waiting.pop()?;
            self.serve(server, next, now, next.customer != place.customer);
        };
        // Less one: the slice that was set in the calendar is counted there.
        calendar.proceed(now, slices - 1);
        self.roster.leave(served, now);
        match self.waiting.pop() {
            Some(Reverse(next)) => self.serve(server, next, now, true),
            None => self.roster.busy.end(now),
        }
        self.schedule(calendar);
        Some(served)
    }

    rostered!();

    fn received(&self, now: Time) -> u128 {
        let had = |place: &Place| self.roster.had(place.customer, place.remaining);
        let waiting: u128 = self.waiting.iter().map(|Reverse(place)| had(place)).sum();
        // While a server still switches, `started` is to come, and its customer has had nothing.
        let so_far = |one: &Service| had(&one.place) + u128::from(now.0.saturating_sub(one.started.0));
        waiting + self.serving.iter().flatten().map(so_far).sum::<u128>()
    }

    fn overhead(&self, now: Time) -> u128 {
        // Switching is counted whole when it begins: what is still to come of it is taken off.
        let to_come = |one: &Service| u128::from(one.started.0.saturating_sub(now.0));
        self.switched - self.serving.iter().flatten().map(to_come).sum::<u128>()
    }
}
