//! The customers of a station with their arrival times and demands, and the statistics that follow.

use crate::balance::{Balance, Busy};
use crate::laws::{LawViolation, Laws};
use crate::memory_hints::fetch;
use crate::time::{Span, Sum, Time};

use super::Visit;

/// The customers of a station and its statistics.
#[derive(Clone, Debug)]
pub struct Roster {
    name: String,
    balance: Balance,
    pub(crate) busy: Busy,
    /// By number of the customer; one that is absent entered at `Time::NEVER`. A vector and not a map: every event
    /// of a station looks here. Nobody is here where the station keeps the stays itself.
    stays: Vec<Stay>,
    /// What the stays of those who left lack in `balance`, where they are cut at the start of statistics: a mean stay
    /// is one of whole stays.
    cut: Sum,
    /// Whether every customer has a server of its own, as long as it is here.
    everyone_served: bool,
    /// Time of the server for itself before statistics began [ns]: stations count it from the start of the
    /// run.
    overhead_before: u128,
}

/// A customer's presence in a station.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Stay {
    pub entered: Time,
    pub demand: Span,
}

const ABSENT: Stay = Stay { entered: Time::NEVER, demand: Span::ZERO };

impl Roster {
    /// The roster of station `name`, with room for customers below `customers`; it grows where there are more.
    pub fn new(name: &str, customers: usize) -> Roster {
        Roster {
            name: name.into(),
            balance: Balance::default(),
            busy: Busy::default(),
            stays: vec![ABSENT; customers],
            cut: Sum::default(),
            everyone_served: false,
            overhead_before: 0,
        }
    }

    /// The roster of a station that keeps the stays of its customers in its queue, where it looks at them in order.
    pub(super) fn without_stays(self) -> Roster {
        Roster { stays: Vec::new(), ..self }
    }

    /// The roster of a station in which every customer has a server of its own: begin and end of service need not be
    /// counted.
    pub(super) fn with_a_server_each(self) -> Roster {
        Roster { everyone_served: true, ..self }
    }

    /// The name in reports and errors.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Adds the customer of `visit`.
    #[inline]
    pub(crate) fn enter(&mut self, visit: Visit, now: Time) {
        let index = visit.customer as usize;
        let stay = match self.stays.get_mut(index) {
            Some(stay) => stay,
            None => self.grow(index),
        };
        debug_assert!(stay.entered == Time::NEVER, "{index} is in {} already", self.name);
        *stay = Stay { entered: now, demand: visit.demand };
        self.count_arrival(now);
    }

    /// Counts a customer who comes, and whose stay the station keeps.
    #[inline(always)]
    pub(super) fn count_arrival(&mut self, now: Time) {
        self.balance.enter(now);
    }

    #[cold]
    fn grow(&mut self, index: usize) -> &mut Stay {
        // At least doubled, so that customers who come one by one cost constant time each.
        self.stays.resize((index + 1).max(2 * self.stays.len()), ABSENT);
        &mut self.stays[index]
    }

    /// Removes `customer`, which has got all its demand.
    #[inline]
    pub(crate) fn leave(&mut self, customer: u32, now: Time) {
        let stay = std::mem::replace(&mut self.stays[customer as usize], ABSENT);
        self.count_departure(stay, now);
    }

    /// Counts a customer who leaves after `stay`.
    #[inline(always)]
    pub(super) fn count_departure(&mut self, stay: Stay, now: Time) {
        self.balance.leave(now, stay.entered);
        self.busy.complete(stay.demand);
        let since = self.balance.since();
        if stay.entered < since {
            self.cut.add(since.since(stay.entered).0);
        }
    }

    /// Sum of the whole stays of those who left [ns].
    fn stayed(&self) -> u128 {
        self.balance.stays() + self.cut.total()
    }

    /// Has the processor fetch the stay of `customer`.
    #[inline(always)]
    pub(super) fn fetch(&self, customer: usize) {
        fetch(&self.stays, customer);
    }

    /// Demand of `customer`, which is present.
    #[inline]
    pub(super) fn demand(&self, customer: u32) -> Span {
        self.stays[customer as usize].demand
    }

    /// Service that `customer` has had [ns], if `remaining` is to come.
    pub(super) fn had(&self, customer: u32, remaining: Span) -> u128 {
        u128::from((self.demand(customer) - remaining).0)
    }

    /// Sets the demand of `customer`, for stations that learn it when service begins.
    pub(crate) fn set_demand(&mut self, customer: u32, demand: Span) {
        self.stays[customer as usize].demand = demand;
    }

    /// Customers in the station.
    #[inline]
    pub fn balance(&self) -> &Balance {
        &self.balance
    }

    /// Servers at work, for customers or for themselves (switching).
    pub fn busy(&self) -> Busy {
        if self.everyone_served { self.busy.of_all(&self.balance) } else { self.busy }
    }

    /// Mean time from arrival to departure of those who left [s]; not a number where nobody did.
    pub fn mean_stay(&self) -> f64 {
        self.stayed() as f64 / self.balance.left() as f64 * 1e-9
    }

    /// Mean part of that time in which they were not served [s].
    pub fn mean_wait(&self) -> f64 {
        (self.stayed() - self.busy.completed()) as f64 / self.balance.left() as f64 * 1e-9
    }

    /// Part of the time that a server was at work for itself, summed over servers.
    pub fn mean_overhead(&self, now: Time, overhead: u128) -> f64 {
        let length = now.since(self.balance.since()).0 as f64;
        if length > 0.0 { (overhead - self.overhead_before) as f64 / length } else { 0.0 }
    }

    /// Arrival times of the customers present.
    pub(crate) fn entries(&self) -> impl Iterator<Item = Time> + '_ {
        self.stays.iter().map(|stay| stay.entered).filter(|entered| *entered != Time::NEVER)
    }

    /// Checks the laws of customers and of service; `overhead` counts from the start of the run [ns], and `entries` are
    /// the arrival times of those present.
    pub(crate) fn check(
        &self,
        now: Time,
        received: u128,
        overhead: u128,
        entries: impl Iterator<Item = Time>,
        laws: &mut Laws,
    ) -> Result<(), LawViolation> {
        self.balance.check(&self.name, now, entries, laws)?;
        // A server that switches is busy, but serves nobody: overhead balances that part of the busy time.
        self.busy().check(&self.name, now, received + (overhead - self.overhead_before), laws)
    }

    /// Begins statistics anew at `now`; the arguments are as for [`Roster::check`].
    pub(crate) fn restart(&mut self, now: Time, received: u128, overhead: u128) {
        self.balance.restart(now);
        self.busy.restart(now, received);
        self.cut = Sum::default();
        self.overhead_before = overhead;
    }
}
