//! All that simulated systems have in common.
//!
//! ```text
//! parameters.toml  --parameter-->  Settings  --Configuration::new-->  a room's Config
//!                                                                        | replicate: seed, replication
//!                                       laws, responses, batches  <--  Simulated  -->  Monitor: the log
//! ```
//!
//! A room declares its parameters as data, turns them into a configuration, and gives a machine that runs on the
//! engine. It does not know whether it is recorded, how often it is run, or who asks.

mod cost;
#[cfg(test)]
mod estimates;
#[cfg(test)]
mod extremes;
mod monitor;
mod parameter;
mod replicate;
mod simulation;
#[cfg(test)]
pub(crate) mod testing;

pub use self::cost::{Budget, Cost, RunLength};
pub(crate) use self::cost::{rate, throughput};
pub use self::monitor::{Amount, Interaction, LogMonitor, Monitor, NullMonitor};
pub use self::parameter::{Allowed, Parameter, ParameterError, Settings, Source};
pub(crate) use self::parameter::{OrOwn, choices, refuse, script};
pub(crate) use self::replicate::{Accounted, Configuration, Measured, Simulated};
pub use self::replicate::{Outcome, Prepared, Replication, Response, RunError, System};
pub use self::simulation::{Replications, Simulation, SimulationError};
