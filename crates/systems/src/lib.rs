//! The simulated systems, one room each, on the engine.
//!
//! A room holds `mod` (the machine, by page of its paper, and what is left out), `parameters.toml`, the
//! configuration they make together (`config`), its responses, and its tests; the rooms of machines also `machine`
//! (the effect of each event), `workload`, and the rules that select who is served next (`scheduler` of `apl360`,
//! `process` and `swapper` of `unix6`). Rooms do not import rooms; [`kernel`] is what they share.

mod apl360;
mod cp67;
mod ctss;
mod kernel;
mod multics;
mod network;
mod timesharing;
mod unix6;

pub use kernel::{
    Allowed, Amount, Budget, Cost, Interaction, LogMonitor, Monitor, NullMonitor, Outcome, Parameter,
    ParameterError, Prepared, Replication, Replications, Response, RunError, RunLength, Settings, Simulation,
    SimulationError, Source, System,
};

/// Every simulated system, in the order in which they are listed.
pub static SYSTEMS: [System; 7] = [
    apl360::system(),
    cp67::system(),
    ctss::system(),
    multics::system(),
    network::system(),
    timesharing::system(),
    unix6::system(),
];

/// The system `name`.
pub fn system(name: &str) -> Result<&'static System, ParameterError> {
    SYSTEMS.iter().find(|system| system.name == name).ok_or_else(|| {
        let names: Vec<&str> = SYSTEMS.iter().map(|system| system.name).collect();
        ParameterError::unknown("thinktime", "simulated system", name, &names)
    })
}
