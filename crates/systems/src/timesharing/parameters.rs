//! The parameters of `parameters.toml`, as fields.

use serde::Deserialize;
use serde_json::Value;
use thinktime_engine::Span;

use crate::kernel::choices;

choices! {
    Scheduler { RoundRobin, Feedback, ProcessorSharing, Fcfs, Priority, ShortestRemaining }
    Inputs { Recorded, Resampled }
}

/// Values given or default; ranges and sources are in `parameters.toml`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Parameters {
    /// The users, each with interactions.
    pub users: Value,
    /// Users at their terminals; 0: each of the list once [user].
    pub population: u64,
    /// Order of the interactions of a user.
    pub inputs: Inputs,
    /// The classes of interactions.
    pub classes: Value,
    /// CPUs.
    pub cpus: u64,
    /// Order in which interactions get a CPU.
    pub scheduler: Scheduler,
    /// Time slice of round robin, and of level 0 of feedback [s].
    pub time_slice: Span,
    /// Levels of feedback.
    pub levels: u64,
    /// CPUs that background work takes on average.
    pub background: f64,
    /// Mean CPU time of a piece of background work [s].
    pub background_burst: f64,
}
