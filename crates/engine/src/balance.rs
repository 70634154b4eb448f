//! Counts of customers and of busy servers, kept in two ways that must agree.

use crate::laws::{LawViolation, Laws};
use crate::time::{Span, Sum, Time};

/// A number present over time, from arrivals and departures: the integral of the level is the sum of the departure
/// times less the sum of the arrival times, so that an event costs two additions, and none of them waits for the
/// level or the time of the last change, as the usual sum of level times duration does.
#[derive(Clone, Copy, Debug, Default)]
struct Flow {
    /// Level when statistics began.
    at_start: u64,
    arrived: u64,
    departed: u64,
    /// Sum of the times of the arrivals.
    arrived_at: Sum,
    /// Sum of the times of the departures.
    departed_at: Sum,
    since: Time,
}

impl Flow {
    #[inline]
    fn arrive(&mut self, now: Time) {
        self.arrived += 1;
        self.arrived_at.add(now.0);
    }

    #[inline]
    fn depart(&mut self, now: Time) {
        self.departed += 1;
        self.departed_at.add(now.0);
    }

    fn level(&self) -> u64 {
        // Wrapping, not checked: a departure too many must reach the check of the laws, not end the process.
        (self.at_start + self.arrived).wrapping_sub(self.departed)
    }

    /// Integral from the start of statistics to `now` [ns].
    fn area(&self, now: Time) -> u128 {
        // Those still present count as if they left now, and those present at the start as if they came then.
        let gone = self.departed_at.total() + u128::from(self.level()) * u128::from(now.0);
        // Wrapping for the same reason; 128 bits hold the times of 2^64 events.
        gone.wrapping_sub(self.arrived_at.total() + u128::from(self.at_start) * u128::from(self.since.0))
    }

    /// Time average; the present level where no time has passed.
    fn mean(&self, now: Time) -> f64 {
        let length = now.since(self.since);
        if length == Span::ZERO { self.level() as f64 } else { self.area(now) as f64 / length.0 as f64 }
    }

    fn restart(&mut self, now: Time) {
        *self = Flow { at_start: self.level(), since: now, ..Flow::default() };
    }
}

/// Customers in one place, counted by level over time and by the stay of each.
///
/// Little's law L = X W with its boundary terms: the integral of the number present equals the sum of the
/// stays of those who left and of the stays so far of those still there. The left side knows no customer,
/// the right side no level.
#[derive(Clone, Copy, Debug, Default)]
pub struct Balance {
    flow: Flow,
    /// Sum of the stays of those who left, without what of them was before statistics began.
    stays: Sum,
}

impl Balance {
    /// A customer comes at `now`.
    #[inline]
    pub fn enter(&mut self, now: Time) {
        self.flow.arrive(now);
    }

    /// A customer who came at `entered` leaves at `now`.
    #[inline]
    pub fn leave(&mut self, now: Time, entered: Time) {
        self.flow.depart(now);
        // The level counts only time since the restart, so a stay begun in the warm-up is cut there too.
        let entered = entered.max(self.flow.since);
        self.stays.add(now.since(entered).0);
    }

    /// Number present now.
    #[inline]
    pub fn present(&self) -> u64 {
        self.flow.level()
    }

    /// Time average of the number present.
    pub fn mean_present(&self, now: Time) -> f64 {
        self.flow.mean(now)
    }

    /// How many came since statistics began.
    pub fn entered(&self) -> u64 {
        self.flow.arrived
    }

    /// How many left since statistics began.
    pub fn left(&self) -> u64 {
        self.flow.departed
    }

    /// When statistics began.
    #[inline]
    pub fn since(&self) -> Time {
        self.flow.since
    }

    /// Sum of the stays of those who left, without what of them was before statistics began [ns].
    pub(crate) fn stays(&self) -> u128 {
        self.stays.total()
    }

    /// Integral of the number present since statistics began [ns].
    pub fn area(&self, now: Time) -> u128 {
        self.flow.area(now)
    }

    /// Checks flow balance and Little's law; `entries` are the times at which those present came.
    ///
    /// # Errors
    /// One of them does not hold: a customer was lost, or its time of arrival is wrong.
    pub fn check(
        &self,
        place: &str,
        now: Time,
        entries: impl Iterator<Item = Time>,
        laws: &mut Laws,
    ) -> Result<(), LawViolation> {
        let since = self.flow.since;
        let (mut waiting, mut stays) = (0, self.stays.total());
        for entered in entries {
            waiting += 1;
            stays += u128::from(now.since(entered.max(since)).0);
        }
        // Flow first: with a customer lost both laws fail, and the count says more clearly what went wrong.
        laws.equal("flow balance", place, self.present(), waiting)?;
        laws.equal("Little's law", place, self.area(now), stays)
    }

    /// Statistics begin anew; those present stay.
    pub fn restart(&mut self, now: Time) {
        self.flow.restart(now);
        self.stays = Sum::default();
    }
}

/// Busy servers of a station, counted by level over time and by the service of each customer.
///
/// Utilisation law U = X S with its boundary terms: busy time equals the demands of the customers that were
/// completed and the service so far of those still there.
#[derive(Clone, Copy, Debug, Default)]
pub struct Busy {
    servers: Flow,
    /// Demands of the completed.
    demands: Sum,
    /// Service that those present at the start of statistics had received by then [ns].
    earlier: u128,
}

impl Busy {
    /// A server begins to work at `now`.
    #[inline]
    pub fn begin(&mut self, now: Time) {
        self.servers.arrive(now);
    }

    /// A server stops working at `now`.
    #[inline]
    pub fn end(&mut self, now: Time) {
        self.servers.depart(now);
    }

    /// Servers busy now.
    #[inline]
    pub fn servers(&self) -> u64 {
        self.servers.level()
    }

    /// A customer has got all of its `demand`.
    #[inline]
    pub fn complete(&mut self, demand: Span) {
        self.demands.add(demand.0);
    }

    /// Sum of the demands of those completed since statistics began [ns].
    pub fn completed(&self) -> u128 {
        self.demands.total()
    }

    /// As if every one of `customers` had a server of its own from coming to leaving: where that is so, `begin` and
    /// `end` need not be called.
    pub(crate) fn of_all(self, customers: &Balance) -> Busy {
        Busy { servers: customers.flow, ..self }
    }

    /// Mean number of busy servers; the utilisation where there is one.
    pub fn mean(&self, now: Time) -> f64 {
        self.servers.mean(now)
    }

    /// Busy time since statistics began [ns].
    pub fn area(&self, now: Time) -> u128 {
        self.servers.area(now)
    }

    /// Checks the utilisation law; `received` is the service so far of those present, that of slices in progress
    /// included [ns].
    ///
    /// # Errors
    /// It does not hold: service was lost, or given twice.
    pub fn check(&self, place: &str, now: Time, received: u128, laws: &mut Laws) -> Result<(), LawViolation> {
        let (busy, served) = (self.area(now) + self.earlier, self.demands.total() + received);
        laws.equal("utilisation law", place, busy, served)
    }

    /// Statistics begin anew; `received` as for [`Busy::check`].
    pub fn restart(&mut self, now: Time, received: u128) {
        self.servers.restart(now);
        self.demands = Sum::default();
        // Demands are counted whole on completion: what was served before the restart is set against them
        // here.
        self.earlier = received;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sound_run_balances_with_and_without_warm_up() {
        let mut balance = Balance::default();
        balance.enter(Time(5));
        balance.enter(Time(7));
        balance.leave(Time(9), Time(5));
        balance.check("queue", Time(20), [Time(7)].into_iter(), &mut Laws::default()).unwrap();
        balance.restart(Time(10));
        balance.enter(Time(12));
        balance.leave(Time(15), Time(7));
        balance.check("queue", Time(20), [Time(12)].into_iter(), &mut Laws::default()).unwrap();
        assert_eq!(balance.mean_present(Time(20)), (5.0 + 8.0) / 10.0);
    }

    fn broken(balance: &Balance, now: u64, entries: &[u64]) -> &'static str {
        balance
            .check("queue", Time(now), entries.iter().map(|t| Time(*t)), &mut Laws::default())
            .unwrap_err()
            .law
    }

    #[test]
    fn a_lost_customer_and_a_wrong_stamp_are_seen() {
        let mut balance = Balance::default();
        balance.enter(Time(5));
        assert_eq!(broken(&balance, 9, &[]), "flow balance");
        assert!(broken(&balance, 9, &[6]).starts_with("Little"));
        balance.leave(Time(9), Time(6));
        assert!(broken(&balance, 9, &[]).starts_with("Little"));
        balance.flow.arrived += 1;
        assert_eq!(broken(&balance, 9, &[]), "flow balance");
    }

    #[test]
    fn service_that_was_not_given_is_seen() {
        let mut busy = Busy::default();
        busy.begin(Time(10));
        busy.end(Time(14));
        busy.complete(Span(3));
        busy.begin(Time(20));
        busy.check("cpu", Time(25), 6, &mut Laws::default()).unwrap();
        assert!(busy.check("cpu", Time(25), 5, &mut Laws::default()).is_err());
        busy.restart(Time(25), 5);
        busy.end(Time(26));
        busy.complete(Span(6));
        busy.check("cpu", Time(30), 0, &mut Laws::default()).unwrap();
    }
}
