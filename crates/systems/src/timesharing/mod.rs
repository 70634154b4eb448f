//! `timesharing`: users whose interactions are given one by one, as a log has them, on the CPUs of one machine under
//! a scheduler to be chosen. What would another scheduler, or one more CPU, have done for these users?
//!
//! # The machine
//!
//! Any number of CPUs with one queue. An interaction is a think time, then CPU time, then a delay that does not depend
//! on the load: what it waited for but the CPUs. Its response time, from when it was due to its end, is the CPU time,
//! the delay, and what the simulation is there for: the wait for a CPU, and for the user's inputs before it.
//!
//! - **Recorded order**: each user types the inputs in their order, the first when it was typed, each later one after
//!   the think time that was recorded; over again from the first where the user is done before the end of the
//!   recording; and none that would be due after the last that was recorded. A machine that is slower thus
//!   gets fewer inputs in the same time, as a real one would.
//! - **Resampled**: users who stay throughout draw their interactions, with replacement, from those of one recorded
//!   user: any number of users, and replications that differ.
//! - **Schedulers**: round robin, feedback, processor sharing, first come first served, preemptive priorities by class,
//!   shortest remaining time; the stations of the engine.
//! - **Background**: work of nobody who waits, which comes at random and takes so many CPUs on average. Under
//!   processor sharing only that average matters (M/G/c with processor sharing is insensitive to the rest).
//!
//! # Left out
//!
//! Memory, contention for disks and locks (the delays stay as they were), caches that a switch makes cold, queues for
//! each CPU and the moves between them, an interaction that computes on several CPUs at a time or in several pieces
//! with delays between them.

mod config;
mod cost;
mod machine;
mod parameters;
mod responses;
#[cfg(test)]
mod tests;

use serde_json::{Value, json};
use thinktime_log::Column;

use self::config::Config;
use self::machine::Machine;
use self::parameters::Parameters;
use self::responses::RunTotals;
use crate::kernel::{Configuration, Cost, Measured, Monitor, ParameterError, RunLength, Settings, System};

/// The system `timesharing`.
pub(crate) const fn system() -> System {
    System::of::<Config>()
}

impl Configuration for Config {
    const NAME: &'static str = config::SYSTEM;
    const SUMMARY: &'static str =
        "Users with interactions given one by one, on several CPUs under a scheduler";
    const PARAMETERS: &'static str = include_str!("parameters.toml");

    type Parameters = Parameters;
    type Totals<'t> = RunTotals<'t>;
    type Machine<'c, M: Monitor + 'c> = Machine<'c, M>;

    fn new(parameters: Parameters, settings: &Settings) -> Result<Config, ParameterError> {
        Config::new(parameters, settings)
    }

    fn responses(&self) -> Vec<Measured<Self>> {
        responses::responses(self)
    }

    fn sample_columns(&self) -> Vec<Column> {
        responses::sample_columns()
    }

    fn machine(&self) -> Value {
        json!({"cpus": self.cpus})
    }

    fn population(&self) -> u64 {
        u64::from(self.population)
    }

    fn cost(&self, run: RunLength) -> Cost {
        self.cost(run)
    }
}
