//! `network`: a queueing network as general as the engine's stations allow, described in plain parameters.
//!
//! Users think, then make their way through stations, and think again (a closed population); or customers come
//! from outside and go away (an open one); or both, in several classes. One way from end to end is an
//! interaction, its length a response time.
//!
//! # Description
//!
//! ```toml
//! # The machine repairman: 35 users, one server.
//! users = 35
//! think = "exponential(mean=20)"
//! stations = [{name = "server", discipline = "fcfs", service = "exponential(mean=0.5)"}]
//! ```
//! ```toml
//! # A swap disk before the first time slice.
//! users = 35
//! think = "exponential(mean=20)"
//! stations = [
//!   {name = "disk", discipline = "fcfs", service = 0.1},
//!   {name = "cpu", discipline = "round_robin", time_slice = 0.1,
//!    service = "hyperexponential(weights=[0.9,0.1],means=[0.1,5])"},
//! ]
//! ```
//! ```toml
//! # Two classes: one goes back and forth between processor and disk, one comes from outside.
//! stations = [
//!   {name = "cpu", discipline = "preemptive_priority", service = "exponential(mean=0.1)"},
//!   {name = "disk", discipline = "fcfs", servers = 2, service = "exponential(mean=0.3)"},
//! ]
//! [[classes]]
//! name = "editing"
//! users = 20
//! think = "exponential(mean=10)"
//! route = {start = "cpu", cpu = {disk = 0.8, leave = 0.2}, disk = {cpu = 1.0}}
//! [[classes]]
//! name = "batch"
//! arrivals = "exponential(mean=30)"
//! priority = 1
//! route = ["cpu"]
//! service = {cpu = "lognormal(mean=5,sd=20)"}
//! ```
//!
//! A station has a `name`, a `discipline` (fcfs, priority, preemptive_priority, round_robin, feedback,
//! least_attained, processor_sharing, shortest_remaining, delay), a `service` distribution, and where they mean
//! something `servers` (all but least_attained and delay), `time_slice` and `switching` (round_robin), `time_slices`, one
//! a level, and `switching` (feedback). A `route` is a list of stations, visited in this order, or a table of
//! probabilities; without one all stations are visited in their order. A class may replace the service that a
//! station gives, and has a `priority`, 0 being the most urgent.
//!
//! # What is left out
//!
//! Blocking, batches, losses, several servers with least_attained; the systems of the other rooms have what they need of
//! these.

mod cost;
mod draws;
mod fields;
mod model;
mod plan;
mod responses;
mod route;
mod samples;
#[cfg(test)]
mod tests;

use serde_json::{Map, Value, json};
use thinktime_log::Column;

use crate::kernel::{Configuration, Cost, Measured, Monitor, ParameterError, RunLength, Settings, System};

use model::Model;
use plan::{Parameters, Plan, StationPlan};
use responses::RunTotals;

/// Default length of a replication with customers from outside [s].
const OPEN_LENGTH_S: f64 = 36_000.0;
/// Length of a replication over its default warm-up, with customers from outside.
const OPEN_WARM_UP: f64 = 10.0;

/// The system `network`.
pub(crate) const fn system() -> System {
    System::of::<Plan>()
}

impl Configuration for Plan {
    const NAME: &'static str = fields::SYSTEM;
    const SUMMARY: &'static str = "A queueing network of your own: stations, disciplines, classes and routes";
    const PARAMETERS: &'static str = include_str!("parameters.toml");

    type Parameters = Parameters;
    type Totals<'t> = RunTotals<'t>;
    type Machine<'c, M: Monitor + 'c> = Model<'c, M>;

    // Customers from outside queue without bound: near saturation figures settle ten times as slowly as those of
    // users who wait for their replies.
    fn defaults(given: &Map<String, Value>) -> Map<String, Value> {
        let arrive =
            |fields: &Map<String, Value>| fields.get("arrivals").is_some_and(|value| *value != "none");
        let classes = given.get("classes").and_then(Value::as_array);
        let mut of_classes = classes.into_iter().flatten().filter_map(Value::as_object);
        if !arrive(given) && !of_classes.any(arrive) {
            return Map::new();
        }
        let length = given.get("length").and_then(Value::as_f64).unwrap_or(OPEN_LENGTH_S);
        let defaults = json!({"length": length, "warm_up": length / OPEN_WARM_UP});
        defaults.as_object().cloned().unwrap_or_default()
    }

    fn new(parameters: Parameters, settings: &Settings) -> Result<Plan, ParameterError> {
        Plan::new(&parameters, settings)
    }

    fn responses(&self) -> Vec<Measured<Self>> {
        responses::responses(self)
    }

    fn sample_columns(&self) -> Vec<Column> {
        samples::sample_columns(self)
    }

    fn machine(&self) -> Value {
        let servers: u64 = self.stations.iter().filter_map(StationPlan::servers).sum();
        json!({"cpus": servers, "stations": self.stations.iter().map(|s| s.to_json()).collect::<Vec<_>>()})
    }

    fn population(&self) -> u64 {
        self.users()
    }

    fn cost(&self, run: RunLength) -> Cost {
        self.cost(run)
    }
}
