//! Stations, at which customers wait and are served by a discipline.
//!
//! | station | customers in service |
//! | --- | --- |
//! | [`Fcfs`] | the first to come, by one server |
//! | [`Servers`] | the most urgent, and of these the first to come, by one of several servers, to the end |
//! | [`PreemptivePriority`] | the most urgent; another waits and later goes on where it was |
//! | [`RoundRobin`] | one after another for a time slice, in a circle |
//! | [`Feedback`] | the first of the lowest level, for that level's time slice; then it goes a level up |
//! | [`LeastAttained`] | all that have had the least service, in equal parts |
//! | [`ProcessorSharing`] | all, in equal parts, by one of several servers at most |
//! | [`ShortestRemaining`] | the one with the least service to come (needs to know the demands) |
//! | [`Processors`] | by several servers: round robin, feedback, preemptive priority or shortest remaining |
//! | [`Delay`] | all, each by a server of its own |
//!
//! A station is called for arrivals and for the events in its slot of the calendar; it returns the customer that has
//! been served. It counts its customers and its service in two ways each, and checks that they agree.
//! Customers are numbers; a customer is in one station at a time.

/// The two accessors of the `roster` of a station, which are the same in all of them.
macro_rules! rostered {
    () => {
        fn roster(&self) -> &Roster {
            &self.roster
        }

        fn roster_mut(&mut self) -> &mut Roster {
            &mut self.roster
        }
    };
}

mod delay;
mod fcfs;
mod feedback;
mod least_attained;
mod preemptive;
mod processor_sharing;
mod processors;
mod ring;
mod roster;
mod round_robin;
mod servers;
mod shortest_remaining;
#[cfg(test)]
mod tests;
mod turns;

pub use delay::Delay;
pub use fcfs::Fcfs;
pub use feedback::Feedback;
pub use least_attained::LeastAttained;
pub use preemptive::PreemptivePriority;
pub use processor_sharing::ProcessorSharing;
pub use processors::{Order, Processors};
pub use roster::Roster;
pub use round_robin::RoundRobin;
pub use servers::Servers;
pub use shortest_remaining::ShortestRemaining;

use crate::calendar::{Calendar, Slot};
use crate::laws::{LawViolation, Laws};
use crate::time::{Span, Time};

/// One visit of a customer to a station.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Visit {
    /// Number of the customer, unlike that of any other in the station.
    pub customer: u32,
    /// Service that it needs.
    pub demand: Span,
    /// Priority, 0 the most urgent. Stations without priorities ignore it; the others keep a queue for each, so that it
    /// should be a small number.
    pub priority: u32,
}

/// A place where customers are served.
pub trait Station {
    /// Adds a customer at `calendar.now()`.
    fn arrive(&mut self, visit: Visit, calendar: &mut Calendar);

    /// Handles the event that was due in a `slot` of the station; returns the customer that has been served, if any.
    /// The station may go on by itself up to (not including) [`Calendar::horizon`]: `calendar.now()` is then
    /// the time of the departure.
    fn due(&mut self, slot: Slot, calendar: &mut Calendar) -> Option<u32>;

    /// The customers of the station and its statistics.
    fn roster(&self) -> &Roster;

    /// The customers of the station and its statistics, to be changed.
    fn roster_mut(&mut self) -> &mut Roster;

    /// Service so far of those present, that in progress included [ns].
    fn received(&self, now: Time) -> u128;

    /// Servers' time so far that was no service, such as for switching [ns].
    fn overhead(&self, _now: Time) -> u128 {
        0
    }

    /// Arrival times of the customers present.
    fn entries(&self) -> Box<dyn Iterator<Item = Time> + '_> {
        Box::new(self.roster().entries())
    }

    /// Checks Little's law, flow balance and the utilisation law, to the nanosecond.
    ///
    /// # Errors
    /// One of them does not hold: a defect of the station.
    fn check(&self, now: Time, laws: &mut Laws) -> Result<(), LawViolation> {
        self.roster().check(now, self.received(now), self.overhead(now), self.entries(), laws)
    }

    /// Statistics begin anew; those present stay.
    fn restart_statistics(&mut self, now: Time) {
        let (received, overhead) = (self.received(now), self.overhead(now));
        self.roster_mut().restart(now, received, overhead);
    }
}

/// A station whose discipline is chosen when a run is set up; the variants are the disciplines of this module.
#[derive(Clone, Debug)]
pub enum AnyStation {
    Fcfs(Fcfs),
    Servers(Servers),
    PreemptivePriority(PreemptivePriority),
    RoundRobin(RoundRobin),
    Feedback(Feedback),
    LeastAttained(LeastAttained),
    ProcessorSharing(ProcessorSharing),
    Processors(Processors),
    ShortestRemaining(ShortestRemaining),
    Delay(Delay),
}

// An enum and not a boxed trait: calls in the innermost loop are then a jump table, and can be inlined.
macro_rules! dispatch {
    ($any:expr, $station:ident => $act:expr) => {
        match $any {
            AnyStation::Fcfs($station) => $act,
            AnyStation::Servers($station) => $act,
            AnyStation::PreemptivePriority($station) => $act,
            AnyStation::RoundRobin($station) => $act,
            AnyStation::Feedback($station) => $act,
            AnyStation::LeastAttained($station) => $act,
            AnyStation::ProcessorSharing($station) => $act,
            AnyStation::Processors($station) => $act,
            AnyStation::ShortestRemaining($station) => $act,
            AnyStation::Delay($station) => $act,
        }
    };
}

impl AnyStation {
    #[inline(never)]
    fn other_arrive(&mut self, visit: Visit, calendar: &mut Calendar) {
        dispatch!(self, station => station.arrive(visit, calendar));
    }

    #[inline(never)]
    fn other_due(&mut self, slot: Slot, calendar: &mut Calendar) -> Option<u32> {
        dispatch!(self, station => station.due(slot, calendar))
    }
}

impl Station for AnyStation {
    // The most common stations, whose events are the shortest, in line.
    #[inline(always)]
    fn arrive(&mut self, visit: Visit, calendar: &mut Calendar) {
        match self {
            AnyStation::Fcfs(station) => station.arrive(visit, calendar),
            AnyStation::RoundRobin(station) => station.arrive(visit, calendar),
            _ => self.other_arrive(visit, calendar),
        }
    }

    #[inline(always)]
    fn due(&mut self, slot: Slot, calendar: &mut Calendar) -> Option<u32> {
        match self {
            AnyStation::Fcfs(station) => station.due(slot, calendar),
            AnyStation::RoundRobin(station) => station.due(slot, calendar),
            _ => self.other_due(slot, calendar),
        }
    }

    #[inline]
    fn roster(&self) -> &Roster {
        dispatch!(self, station => station.roster())
    }

    #[inline]
    fn roster_mut(&mut self) -> &mut Roster {
        dispatch!(self, station => station.roster_mut())
    }

    fn received(&self, now: Time) -> u128 {
        dispatch!(self, station => station.received(now))
    }

    fn overhead(&self, now: Time) -> u128 {
        dispatch!(self, station => station.overhead(now))
    }

    fn entries(&self) -> Box<dyn Iterator<Item = Time> + '_> {
        dispatch!(self, station => station.entries())
    }
}
