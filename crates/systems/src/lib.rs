//! The simulated systems, one room each, on the engine.
//!
//! ```text
//! System  --settings-->  Prepared  --seed, replication-->  Outcome     (figures of one replication)
//!   parameters             a checked configuration    \--> Recorder    (samples, interactions, events)
//! ```
//!
//! A room holds `mod` (what the machine was, by page of its paper, and what is left out), its parameters and what
//! they mean together (`config`), and its tests; the rooms of machines also `machine` (what happens at each event),
//! `workload`, and who is served next (`scheduler` of `apl360`, `process` and `swapper` of `unix6`). Rooms do not
//! import rooms.

mod apl360;
mod cp67;
mod ctss;
mod multics;
mod network;
mod parameter;
mod recorder;
mod simulation;
mod system;
mod unix6;

pub use parameter::{Allowed, Parameter, ParameterError, Settings};
pub use recorder::{Interaction, Monitor, Recorder, Silent};
pub use simulation::{Finished, Simulation, SimulationError, parameters};
pub use system::{Outcome, Prepared, Replication, Response, System};

/// Every simulated system, in the order in which they are listed.
pub static SYSTEMS: [&dyn System; 6] =
    [&apl360::Apl360, &cp67::Cp67, &ctss::Ctss, &multics::Multics, &network::Network, &unix6::Unix6];

/// The system `name`.
pub fn system(name: &str) -> Result<&'static dyn System, ParameterError> {
    SYSTEMS.into_iter().find(|system| system.name() == name).ok_or_else(|| {
        let names: Vec<&str> = SYSTEMS.iter().map(|system| system.name()).collect();
        ParameterError::unknown("thinktime", "simulated system", name, &names)
    })
}
