//! Multics on the GE-645, as A. Sekino measured it: "Summary of the 3.1.1 system performance", memorandum to the
//! Multics Performance Log, 11 August 1969; "Overhead Measurements of System 14", MPL-53, Multics Performance Log,
//! 4 May 1971.
//!
//! # The machine
//!
//! ```text
//! terminals --lines--> processes --wait for room--> eligible --getwork--> processors --page faults--> drum, disks
//!     ^                                                                   |      ^                          |
//!     +--------------------------- replies -------------------------------+      +------- interrupts -------+
//! ```
//!
//! - **Processors** ([`processors`]): one or two. Each idles, is in user programs, is in a path of the supervisor, or
//!   spins for a lock. Two that are active collide in the boxes of core; one that spins takes cycles of the box in which
//!   the tables are that the other one works on.
//! - **Events** ([`events`], [`ttm`]): page faults, getwork, drum interrupts, other interrupts, segment faults, gate
//!   faults (1971, Tables 1 to 3), each with a path of its own. What an event costs comes out of that path, of
//!   interference and of waiting for locks; the total time meters count events and time, and are sampled.
//! - **Core, active segments** ([`pool`]): one mechanism twice. A process that holds m pages of those its command refers
//!   to runs into a missing one after a useful time that grows as a power of m; a clock takes pages back from whoever
//!   has not used them. With another command a process goes on referring to a part of its pages.
//! - **Traffic controller** ([`traffic`]): queues by level with doubling quanta; so many processes at most are
//!   eligible, and of those that are ready one is chosen by getwork.
//! - **Devices** ([`thinktime_engine::drum`], [`disks`]): a drum with queueing by sector, and disk arms. One interrupt of
//!   the drum serves all pages that have come by then.
//! - **Users** ([`users`], [`terminals`]): those who play a script, those who type any of its lines, and processes of
//!   the system itself.
//! - **Versions** ([`versions`]): the 3.1.1 system and System 14 differ in the parameters that stand there.
//!
//! # What the memoranda leave open, and what was taken
//!
//! - *The scheduler*: a multi-level queue. In System 14 a process whose page has come goes before others of its level,
//!   which gives the published number of getworks for a page fault.
//! - *The paging policy*: a clock. Pages are counted and not named.
//! - *Locks*: page control has one, which is held from a page fault until another process is chosen; what two processors
//!   make of it is calibrated. The path of a page fault has a part before and one after the wait.
//! - *Why paths are longer with more core*: unknown; by what Table 3 shows.
//! - *The script of 1971*: that of 1969 with twice its processor time, its lines taken at random.
//!
//! # Left out
//!
//! Shared pages and segments; pages of the supervisor that are not wired; page faults on directories in segment faults;
//! the drum filling up; what a process is charged for interrupts and getwork.

mod config;
mod cost;
mod disks;
mod events;
mod in_force;
mod locks;
mod machine;
mod measures;
mod parameters;
mod pool;
mod processor;
mod processors;
mod responses;
mod terminals;
#[cfg(test)]
mod tests;
mod traffic;
mod ttm;
mod users;
mod versions;

use serde_json::{Value, json};
use thinktime_log::Column;

use self::config::Config;
use self::events::Event;
use self::machine::Machine;
use self::parameters::Parameters;
use self::responses::RunTotals;
use self::users::Role;
use crate::kernel::{Configuration, Cost, Measured, Monitor, ParameterError, RunLength, Settings, System};

/// The system `multics`.
pub(crate) const fn system() -> System {
    System::of::<Config>()
}

impl Configuration for Config {
    const NAME: &'static str = "multics";
    const SUMMARY: &'static str =
        "Multics on a GE-645: demand paging, one or two processors, a script played by simulated users";
    const PARAMETERS: &'static str = include_str!("parameters.toml");

    type Parameters = Parameters;
    type Totals<'t> = RunTotals<'t>;
    type Machine<'c, M: Monitor + 'c> = Machine<'c, M>;

    fn new(parameters: Parameters, settings: &Settings) -> Result<Config, ParameterError> {
        Config::new(&parameters, settings)
    }

    fn responses(&self) -> Vec<Measured<Self>> {
        responses::responses(self.waiting_lines)
    }

    fn sample_columns(&self) -> Vec<Column> {
        ttm::columns()
    }

    fn machine(&self) -> Value {
        let meters: Vec<Value> = Event::ALL
            .iter()
            .map(|event| {
                let name = event.name();
                json!({"event": event.words(), "count": format!("{name}s"), "time": format!("{name}_s")})
            })
            .collect();
        json!({
            "cpus": self.cpus,
            "core_kwords": self.core_kwords,
            "name": "GE-645 with Multics (simulated)",
            "meters": meters,
            "types_ahead": true,
            "decomposition": {
                "of": "scripted users",
                "users": "users",
                "interactions": "script_interactions",
                "event": {"name": "page fault", "count": "script_page_faults"},
                "parts": [
                    {"name": "run", "time": "script_run_s"},
                    {"name": "page-fault processing", "time": "script_page_fault_s"},
                    {"name": "other faults", "time": "script_other_fault_s"},
                ],
            },
            "in_force": self.in_force(),
        })
    }

    fn population(&self) -> u64 {
        self.roles.iter().filter(|role| **role != Role::Housekeeping).count() as u64
    }

    fn cost(&self, run: RunLength) -> Cost {
        self.cost(run)
    }
}
