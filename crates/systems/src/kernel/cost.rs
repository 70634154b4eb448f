//! What a run will cost, before it is run: events and memory, each by the parameter that drives it.
//!
//! An estimate follows from rates, as operational analysis gives them (Denning and Buzen 1978): N users who think Z and
//! demand D of a processor complete at most min(N / (Z + D), 1 / D) interactions per second, and each of them takes so
//! many events. It says the order of magnitude, and which parameter to change; the bound itself is kept by the
//! calendar, which ends a run at its limit.

use std::borrow::Cow;

use thinktime_engine::{Exhausted, Limits, Time};

use super::parameter::{ParameterError, Settings, shortened};

/// Limits on the work of all replications together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budget {
    /// Events of all replications, those that find the warm-up included.
    pub events: u64,
    /// Memory of the replications that run at one time [byte].
    pub bytes: u64,
}

impl Budget {
    /// Limits where none are given: some minutes on one core, and the memory of a small machine.
    pub const DEFAULT: Budget = Budget { events: 10_000_000_000, bytes: 4 << 30 };
}

/// Memory of a finished replication: responses, batch means, laws [byte].
const OUTCOME_BYTES: f64 = 20_000.0;
/// Memory of a customer of a simulated system, with its place in the calendar [byte].
pub(super) const CUSTOMER_BYTES: f64 = 256.0;
/// Shortest time of the engine's clock [s].
const TICK_S: f64 = 1e-9;

/// How often something of this mean length fits into a second.
pub(crate) fn rate(mean_s: f64) -> f64 {
    // A mean of nothing would be a rate without end; a draw takes at least a tick.
    1.0 / mean_s.max(TICK_S)
}

/// Interactions per second of `users` who think `think_s` and take `demand_s` of each of `servers`: no more than all of
/// them can type, and no more than the servers can serve.
pub(crate) fn throughput(users: f64, think_s: f64, demand_s: f64, servers: f64) -> f64 {
    (users * rate(think_s + demand_s)).min(servers * rate(demand_s))
}

/// Length of a run, and of the intervals of its samples.
#[derive(Clone, Copy, Debug)]
pub struct RunLength {
    /// The warm-up included [s].
    pub length_s: f64,
    /// Of a sample [s].
    pub interval_s: f64,
}

#[derive(Clone, Debug)]
struct Part {
    parameter: Cow<'static, str>,
    events: f64,
    bytes: f64,
}

/// Estimated cost of one replication, in parts that each have a parameter.
#[derive(Clone, Debug, Default)]
pub struct Cost(Vec<Part>);

impl Cost {
    /// Adds `events` that `parameter` drives.
    pub(crate) fn events(mut self, parameter: impl Into<Cow<'static, str>>, events: f64) -> Cost {
        self.0.push(Part { parameter: parameter.into(), events, bytes: 0.0 });
        self
    }

    /// Adds memory that `parameter` sizes.
    pub(crate) fn bytes(mut self, parameter: impl Into<Cow<'static, str>>, bytes: f64) -> Cost {
        self.0.push(Part { parameter: parameter.into(), events: 0.0, bytes });
        self
    }

    /// Events of one replication.
    pub fn total_events(&self) -> f64 {
        self.0.iter().map(|part| part.events).sum()
    }

    /// Memory of one replication [byte].
    pub fn total_bytes(&self) -> f64 {
        self.0.iter().map(|part| part.bytes).sum()
    }

    fn driver(&self, of: fn(&Part) -> f64) -> &str {
        let largest = self.0.iter().max_by(|a, b| of(a).total_cmp(&of(b)));
        largest.map_or("length", |part| &part.parameter)
    }
}

/// Replications to be run, and what they may cost.
#[derive(Clone, Debug)]
pub(super) struct Admission<'s> {
    pub settings: &'s Settings,
    pub cost: Cost,
    /// Length of a replication [s].
    pub length_s: f64,
    pub replications: u64,
    /// Runs of each replication: two where the warm-up has to be found.
    pub passes: u64,
    pub budget: Budget,
}

impl Admission<'_> {
    /// Refuses replications whose estimated cost is above the budget.
    pub fn check(&self) -> Result<(), ParameterError> {
        let runs = self.replications as f64 * self.passes as f64;
        let events = runs * self.cost.total_events();
        if events > self.budget.events as f64 {
            let driver = self.cost.driver(|part| part.events);
            let problem = format!(
                "{}about {} events are due in {} of {} s each, above the limit of {}, most of them by {driver}",
                self.given(driver),
                number(events),
                self.runs(),
                self.length_s,
                number(self.budget.events as f64),
            );
            return Err(self.refused(driver, problem, "--max-events", "max_events"));
        }
        let outcomes = self.replications as f64 * OUTCOME_BYTES;
        let bytes = self.cost.total_bytes() + outcomes;
        if bytes > self.budget.bytes as f64 {
            let of_run = self.cost.driver(|part| part.bytes);
            let driver = if outcomes > self.cost.total_bytes() { "replications" } else { of_run };
            let problem = format!(
                "{}about {} bytes of memory are needed, above the limit of {}, most of them by {driver}",
                self.given(driver),
                number(bytes),
                number(self.budget.bytes as f64),
            );
            return Err(self.refused(driver, problem, "--max-memory", "max_memory"));
        }
        Ok(())
    }

    /// Replications that the memory allows at one time.
    pub fn at_once(&self) -> usize {
        (self.budget.bytes as f64 / self.cost.total_bytes().max(1.0)).max(1.0) as usize
    }

    /// Limits of one run: its share of the events, whatever the others take, so that threads change nothing.
    pub fn limits(&self) -> Limits {
        let runs = self.replications.max(1).saturating_mul(self.passes);
        let far = (self.budget.bytes as f64 / CUSTOMER_BYTES) as u32;
        Limits { events: (self.budget.events / runs).max(1), far }
    }

    /// The error of a run that reached its limits at `now`.
    pub fn exhausted(&self, replication: u64, exhausted: Exhausted, now: Time) -> ParameterError {
        match exhausted {
            Exhausted::Events(events) => {
                let driver = self.cost.driver(|part| part.events);
                let problem = format!(
                    "{}replication {replication} had {} events by {now} of {} s, which is its share of the limit of \
                     {}",
                    self.given(driver),
                    number(events as f64),
                    self.length_s,
                    number(self.budget.events as f64),
                );
                self.refused(driver, problem, "--max-events", "max_events")
            }
            Exhausted::Far(customers) => {
                let driver = self.cost.driver(|part| part.events);
                let problem = format!(
                    "{}the system is open and overloaded: {customers} customers are in it after {now}, and there is \
                     no room for more",
                    self.given(driver),
                );
                let remedy = "give longer times between arrivals, shorter services or a shorter length, or raise the \
                              limit (--max-memory, Limits(max_memory=...) in Python)";
                self.error(driver, problem, remedy.into())
            }
        }
    }

    fn runs(&self) -> String {
        let plural = if self.replications == 1 { "" } else { "s" };
        let twice = if self.passes > 1 { ", run twice to find the warm-up," } else { "" };
        format!("{} replication{plural}{twice}", self.replications)
    }

    /// The value of the parameter `name`, as the beginning of a problem.
    fn given(&self, name: &str) -> String {
        self.settings.value(name).map_or(String::new(), |value| format!("{} was given: ", shortened(value)))
    }

    fn refused(&self, driver: &str, problem: String, option: &str, argument: &str) -> ParameterError {
        let change = match driver {
            "replications" => "give fewer replications".into(),
            "length" => "give a shorter length".into(),
            _ => format!("give another {driver}, a shorter length or fewer replications"),
        };
        self.error(
            driver,
            problem,
            format!("{change}, or raise the limit ({option}, Limits({argument}=...) in Python)"),
        )
    }

    fn error(&self, driver: &str, problem: String, remedy: String) -> ParameterError {
        ParameterError { system: self.settings.system().into(), parameter: driver.into(), problem, remedy }
    }
}

/// A large number in two digits.
fn number(value: f64) -> String {
    if value < 1e6 { format!("{value:.0}") } else { format!("{value:.1e}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn throughput_is_bounded_by_users_and_by_servers() {
        assert_eq!(throughput(10.0, 4.0, 1.0, 2.0), 2.0);
        assert_eq!(throughput(5.0, 4.0, 1.0, 2.0), 1.0);
        assert_eq!(throughput(1.0, 0.0, 0.0, 1.0).round(), 1e9);
    }

    #[test]
    fn the_driver_is_the_largest_part() {
        let cost = Cost::default().events("users", 5.0).events("quantum", 7.0).bytes("core", 1.0);
        assert_eq!((cost.total_events(), cost.total_bytes()), (12.0, 1.0));
        assert_eq!((cost.driver(|part| part.events), cost.driver(|part| part.bytes)), ("quantum", "core"));
        assert_eq!((number(12.4), number(1.26e10)), ("12".into(), "1.3e10".into()));
    }
}
