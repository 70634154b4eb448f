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
//! something `servers` (fcfs and priority), `time_slice` and `switching` (round_robin), `time_slices`, one a level,
//! and `switching` (feedback). A `route` is a list of stations, visited in this order, or a table of
//! probabilities; without one all stations are visited in their order. A class may replace the service that a
//! station gives, and has a `priority`, 0 being the most urgent.
//!
//! # What is left out
//!
//! Blocking, batches, losses, several servers but with fcfs and priority; the systems of the other rooms have
//! what they need of these.

mod draws;
mod fields;
mod model;
mod plan;
mod route;
mod statistics;
#[cfg(test)]
mod tests;

use serde_json::{Value, json};
use thinktime_engine::{Imbalance, run};
use thinktime_log::Column;

use crate::parameter::{Allowed, Parameter, ParameterError, Settings};
use crate::recorder::{Recorder, Silent};
use crate::system::{Outcome, Prepared, Replication, Response, System};

use model::Model;
use plan::Plan;

/// The system `network`.
pub struct Network;

fn parameter(
    name: &'static str,
    unit: &'static str,
    default: Value,
    allowed: Allowed,
    description: &'static str,
) -> Parameter {
    Parameter { name, unit, default, allowed, description, source: "chosen" }
}

impl System for Network {
    fn name(&self) -> &'static str {
        "network"
    }

    fn summary(&self) -> &'static str {
        "A queueing network of your own: stations, disciplines, classes and routes"
    }

    fn parameters(&self) -> Vec<Parameter> {
        vec![
            parameter(
                "users",
                "",
                json!(0),
                Allowed::Integer { low: 0, high: plan::MOST_USERS },
                "Users who think, ask and think again; 0 where there are classes or only arrivals",
            ),
            parameter("think", "s", json!(0), Allowed::Distribution, "Think time of the users"),
            parameter(
                "arrivals",
                "s",
                json!("none"),
                Allowed::Structure("give a distribution of the times between arrivals, or none"),
                "Times between arrivals of customers from outside",
            ),
            parameter(
                "stations",
                "",
                Value::Null,
                Allowed::Structure(
                    "give a list of stations, such as [{name = \"cpu\", discipline = \"fcfs\", service = 0.5}]",
                ),
                "The stations, each {name, discipline, service, servers, time_slice, time_slices, switching}",
            ),
            parameter(
                "route",
                "",
                json!("all"),
                Allowed::Structure(route::ALLOWED),
                "Stations in the order of visits, or a table of probabilities; all: each once, in their order",
            ),
            parameter(
                "classes",
                "",
                json!([]),
                Allowed::Structure(
                    "give a list of classes, such as [{name = \"editing\", users = 20, think = 10}]",
                ),
                "Classes instead of users, think, arrivals and route: each {name, users, think, arrivals, \
                 route, service, priority}",
            ),
        ]
    }

    fn default_length_s(&self) -> f64 {
        3600.0
    }

    fn prepare(&self, settings: &Settings) -> Result<Box<dyn Prepared>, ParameterError> {
        Ok(Box::new(Plan::read(settings)?))
    }
}

impl Prepared for Plan {
    fn responses(&self) -> Vec<Response> {
        statistics::responses(self)
    }

    fn sample_columns(&self) -> Vec<Column> {
        statistics::sample_columns(self)
    }

    fn machine(&self) -> Value {
        let servers: u64 = self.stations.iter().filter_map(plan::StationPlan::servers).sum();
        json!({"cpus": servers, "stations": self.stations.iter().map(|s| s.to_json()).collect::<Vec<_>>()})
    }

    fn population(&self) -> u64 {
        self.users()
    }

    fn run(&self, replication: Replication, recorder: Option<&mut Recorder>) -> Result<Outcome, Imbalance> {
        match recorder {
            Some(recorder) => replicate(Model::new(self, replication, recorder), replication),
            None => replicate(Model::new(self, replication, &mut Silent), replication),
        }
    }
}

fn replicate<M: crate::recorder::Monitor>(
    mut model: Model<'_, M>,
    replication: Replication,
) -> Result<Outcome, Imbalance> {
    let mut calendar = model.calendar();
    run(&mut model, &mut calendar, replication.warm_up, replication.end);
    model.outcome(&calendar)
}
