//! What a simulated system offers.

use serde_json::Value;
use thinktime_engine::{Batches, Imbalance, Span, Streams, Time};
use thinktime_log::Column;

use crate::parameter::{Parameter, ParameterError, Settings};
use crate::recorder::Recorder;

/// A simulated system.
pub trait System: Sync {
    fn name(&self) -> &'static str;

    /// One sentence on what it is.
    fn summary(&self) -> &'static str;

    /// Its own parameters; `length`, `warm_up` and `interval` are added for all systems.
    fn parameters(&self) -> Vec<Parameter>;

    /// Length of a run when none is given [s].
    fn default_length_s(&self) -> f64;

    /// Length of the intervals of `samples` when none is given [s].
    fn default_interval_s(&self) -> f64 {
        self.default_length_s().min(60.0)
    }

    /// Checks what parameters mean together, and makes all that replications share.
    fn prepare(&self, settings: &Settings) -> Result<Box<dyn Prepared>, ParameterError>;
}

/// A system with its parameters, ready to run.
pub trait Prepared: Send + Sync {
    /// What [`Outcome::responses`] holds, in that order.
    fn responses(&self) -> Vec<Response>;

    /// Columns of a row of the log's `samples`, beside `start` and `length_s`.
    fn sample_columns(&self) -> Vec<Column>;

    /// Whether rows of `users` are written with the samples.
    fn samples_users(&self) -> bool {
        false
    }

    /// Where simulated time begins, microseconds since 1970 UTC; none: where it begins for most systems.
    fn epoch_us(&self) -> Option<i64> {
        None
    }

    /// What the log's manifest should say of the machine, beside its parameters: at least `cpus`.
    fn machine(&self) -> Value;

    /// Users at the terminals, for the log.
    fn population(&self) -> u64;

    /// One replication, from empty to its end, with every law checked.
    fn run(&self, replication: Replication, recorder: Option<&mut Recorder>) -> Result<Outcome, Imbalance>;
}

/// One replication to run.
#[derive(Clone, Copy, Debug)]
pub struct Replication {
    pub streams: Streams,
    /// Statistics begin here.
    pub warm_up: Time,
    pub end: Time,
    /// Length of the intervals of `samples`.
    pub interval: Span,
}

/// One figure of a replication.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Response {
    pub name: String,
    /// Empty for a pure number.
    pub unit: &'static str,
    pub description: String,
}

impl Response {
    pub fn new(name: impl Into<String>, unit: &'static str, description: impl Into<String>) -> Response {
        Response { name: name.into(), unit, description: description.into() }
    }
}

/// What one replication gave.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The figures, not a number where there is none (such as the mean of no observation).
    pub responses: Vec<f64>,
    /// The series of the main response, by which warm-up and batch means are judged.
    pub batches: Batches,
    /// Laws that were checked, and held.
    pub laws: Vec<&'static str>,
    pub events: u64,
    /// When the run ended: at its end, or when all its work was done.
    pub ended: Time,
}
