//! APL/360 on an IBM System/360 Model 50, as H. A. Anderson, Jr. and R. G. Sargent measured and simulated it:
//! "Investigation into Scheduling for an Interactive Computing System", IBM Journal of Research and
//! Development 18, 2 (March 1974), page 125.
//!
//! # The machine
//!
//! A finite number of users at typewriters, each with a workspace of up to 36 000 bytes (page 126). Main
//! memory has four regions of that size; all other workspaces lie on one IBM 2314 disk, which does one access
//! at a time, in about 0.1 s. A workspace whose input waits or is in service is *active*.
//!
//! - **Swap-in** ([`scheduler`]): the original scheduler searches the active workspaces on disk by address
//!   from the arm on, by one of two criteria that take turns (page 127); the modified one brings in
//!   foreground, that is who waits for the first slice, in order of arrival and before all others (page 135);
//!   FB2 and FB-infinity as on page 136.
//! - **Swap-out** ([`machine`], page 127): when all regions are taken and an input comes, a library directory
//!   has to be loaded, ten slices have been given without either, or a resident workspace needs no more service
//!   while an active one is on disk. The longest resident leaves.
//! - **Dispatching**: resident active workspaces in turn, a newly loaded one first. Under the original
//!   scheduler every I/O interrupt ends the slice, which makes its length random between 0 and 0.2 s (page 127);
//!   in the modified system nothing does (page 135), so that swapping waits for its end.
//! - **Inputs** ([`workload`], Table 1): compute transactions; commands, served one at a time; output-bound
//!   transactions, which stop when they would take all output buffers. Queues as in Figure 6.
//!
//! # What the paper leaves open, and what was taken
//!
//! - *The criteria of the original scheduler*: the criterion lasts from search to search, and changes once in a
//!   search that fails (`criterion_persists`). Workspaces in foreground are overlooked then, as reported.
//! - *Victims*: no workspace that waits for its first slice; one that runs leaves after its slice.
//! - *The start*: with all users thinking. Service demanded is more than the processor's time (0.9 inputs a
//!   second of 1.9 s), so the ten minutes are no steady state: long work piles up until they end.
//! - *Service times*: hyperexponential by class, fitted to what is printed of them (decreasing failure rate,
//!   so that mean residual life increases as in Figures 3 and 4).
//! - *Output*: an output-bound transaction fills the buffers in a constant processor time, at least once, and
//!   stops until the typewriter has emptied them.
//! - *Background under the modified algorithm*: searched from the beginning of the list of addresses
//!   (`background_search`). From the arm on, as the original does, the tables' cells of this algorithm are
//!   missed: response times above 15 s are three times too rare and the fourth region gains too little.
//! - *Round robin under FB2*: a turn is ten slices, after which a workspace has to leave anyway. One that an input
//!   drives out before keeps its place, and has the rest of its turn later, as is usual where a higher class
//!   interrupts; one that comes back from output, or from the foreground, goes to the end. If all who are driven out
//!   went to the end, response times under FB2 would be a fifth shorter than the printed ones.
//! - *Libraries*: a command's accesses follow one another while the directory takes a region.
//! - *Overhead*: little before each slice, much for each access of the disk: the queues of the paper do not depend
//!   on the slice. It stands for the supervisor's work and for what the channels take of a Model 50's processor.
//!
//! # Left out
//!
//! Sizes of workspaces (regions hold the largest), the contents of libraries, typing of characters one by
//! one, break signals, sign-on and sign-off.

mod config;
mod cost;
mod disk;
mod machine;
mod measures;
mod parameters;
mod responses;
mod scheduler;
#[cfg(test)]
mod tests;
mod workload;

use serde_json::{Value, json};
use thinktime_log::Column;

use self::config::Config;
use self::machine::Machine;
use self::parameters::Parameters;
use self::responses::RunTotals;
use crate::kernel::{Configuration, Cost, Measured, Monitor, ParameterError, RunLength, Settings, System};

/// The system `apl360`.
pub(crate) const fn system() -> System {
    System::of::<Config>()
}

impl Configuration for Config {
    const NAME: &'static str = "apl360";
    const SUMMARY: &'static str =
        "APL/360 on a System/360 Model 50: workspaces swapped between a few regions and one disk";
    const PARAMETERS: &'static str = include_str!("parameters.toml");

    type Parameters = Parameters;
    type Totals<'t> = RunTotals<'t>;
    type Machine<'c, M: Monitor + 'c> = Machine<'c, M>;

    fn new(parameters: Parameters, settings: &Settings) -> Result<Config, ParameterError> {
        Config::new(&parameters, settings)
    }

    fn responses(&self) -> Vec<Measured<Self>> {
        responses::responses()
    }

    fn sample_columns(&self) -> Vec<Column> {
        responses::sample_columns()
    }

    fn machine(&self) -> Value {
        json!({"cpus": 1, "name": "IBM System/360 Model 50 with APL/360 (simulated)"})
    }

    fn population(&self) -> u64 {
        u64::from(self.users)
    }

    fn cost(&self, run: RunLength) -> Cost {
        self.cost(run)
    }
}
