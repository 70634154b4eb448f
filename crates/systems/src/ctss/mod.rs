//! CTSS, the Compatible Time-Sharing System of M.I.T. on an IBM 7094, with which A. Sekino compared Multics:
//! "Summary of the 3.1.1 system performance", Multics Performance Log, 11 August 1969.
//!
//! # The machine
//!
//! One processor and two banks of core of 32 768 words: the supervisor has one, users the other. Of the users' programs
//! one is in core and runs; the others are on the drum.
//!
//! - **Scheduling** ([`levels`]): F. J. Corbató, M. Merwin-Daggett, R. C. Daley, "An experimental time-sharing system",
//!   Spring Joint Computer Conference 1962. Queues of levels 0 to 8; at level l a program runs for 2^l quanta at most.
//!   As published it enters at the level at which it runs for more than half as long as it takes to swap it; later, at
//!   level 2 up to 4096 words and at level 3 above, so that an editor waits its turn behind a compiler. One that has
//!   used its quanta goes to the tail of the next level. The head of the lowest level that is not empty runs. A program
//!   that asks for another size goes to the tail of the level that the size calls for.
//! - **Swapping** ([`store`]): the part of core that the next program needs is written to the drum, then the program is
//!   read; with `partial_swap` the rest of a larger program stays where it is and need not be read again (the
//!   "onion skin"). A command is read from the disk. Each program is charged for its own words both ways.
//! - **Running**: processor time, and transfers between files and core, during which the program stays and the
//!   processor waits.
//! - **Background**: a program that never ends and gets what the users leave.
//! - **Users** ([`users`]): some play the script over and over; the others type interactions of it drawn at random.
//!   A line that comes while the user's program is at work waits for it.
//!
//! # What the sources leave open, and what was taken
//!
//! - *Where a program entered in 1969, and the quantum*: `entry` has the rule of 1962 and that of two sizes, which is known
//!   from recollections of the later system alone; the quantum was chosen with it, in sight of the responses.
//! - *The rule of pre-emption*: as published, a program that comes to a lower level takes over at once; later the
//!   running one first got as much time as the newcomer's turn is long. `preempt` has both, and neither. Who is
//!   interrupted goes to the head of its level and later uses the rest of its turn.
//! - *When words are written*: not before somebody needs the room. A program that has ended is not written.
//! - *Which interactions continue a program*: those that follow one of the same command in the script.
//! - *When a program asks for another size*: half-way through an interaction that wants another than it has.
//! - *The response*: it begins when the work is done, as no source says of any command how much of it is done when
//!   its first line appears.
//! - *What other users do*: the same interactions, in any order, scaled.
//!
//! # Left out
//!
//! Typing of characters one by one and full output buffers; limits on users, processor time and records; the daemon
//! that copies files; transfers to files that go on while another program runs; programs that have waited long are
//! not moved to a lower level. The file directory has no size: nothing depends on it.

mod config;
mod cost;
mod levels;
mod machine;
mod measures;
mod parameters;
mod responses;
mod store;
#[cfg(test)]
mod tests;
mod users;

use serde_json::{Value, json};
use thinktime_log::Column;

use self::config::Config;
use self::machine::Machine;
use self::parameters::Parameters;
use self::responses::RunTotals;
use crate::kernel::{Configuration, Cost, Measured, Monitor, ParameterError, RunLength, Settings, System};

/// The system `ctss`.
pub(crate) const fn system() -> System {
    System::of::<Config>()
}

impl Configuration for Config {
    const NAME: &'static str = "ctss";
    const SUMMARY: &'static str =
        "CTSS on an IBM 7094: one program in core at a time, swapped to a drum by a multi-level scheduler";
    const PARAMETERS: &'static str = include_str!("parameters.toml");

    type Parameters = Parameters;
    type Totals<'t> = RunTotals<'t>;
    type Machine<'c, M: Monitor + 'c> = Machine<'c, M>;

    fn new(parameters: Parameters, settings: &Settings) -> Result<Config, ParameterError> {
        Config::new(&parameters, settings)
    }

    fn responses(&self) -> Vec<Measured<Self>> {
        responses::responses(self)
    }

    fn sample_columns(&self) -> Vec<Column> {
        responses::sample_columns()
    }

    fn machine(&self) -> Value {
        json!({
            "cpus": 1,
            "name": "IBM 7094 with CTSS (simulated)",
            "meters": [
                {"event": "swap-in", "count": "swap_ins", "time": "swap_in_s"},
                {"event": "swap-out", "count": "swap_outs", "time": "swap_out_s"},
                {"event": "command load", "count": "command_loads", "time": "command_load_s"},
                {"event": "line", "count": "lines", "time": "supervisor_s"},
            ],
            "types_ahead": true,
            "decomposition": {
                "of": "scripted users",
                "users": "users",
                "interactions": "script_interactions",
                "parts": [
                    {"name": "run", "time": "script_run_s"},
                    {"name": "swapping", "time": "script_swap_s"},
                ],
            },
            "run_report": {
                "users": self.users,
                "scripted_users": self.users - self.normal_users,
                "script": self.script_name,
                "script_interactions": self.steps.len(),
                "directory_entries": null,
                "reloaded_recently": null,
            },
        })
    }

    fn population(&self) -> u64 {
        u64::from(self.users)
    }

    fn cost(&self, run: RunLength) -> Cost {
        self.cost(run)
    }
}
