//! CP-67 on an IBM System/360 Model 67, as Y. Bard measured it: "Performance criteria and measurement for a
//! time-sharing system", IBM Systems Journal 10, 3 (1971), 193-216.
//!
//! # The machine
//!
//! One processor, two or three boxes of 256 KB of main storage, a paging drum, disks behind two selector channels, a
//! printer. CP gives each user a virtual machine (appendix).
//!
//! - **Who is there** ([`schedule`], [`sessions`]): the three periods of Table 3 by the calendar, in the shifts that
//!   each of them covers; users log on and off by shift, weekday and day, and now and then the system is restarted.
//! - **What they do** ([`users`]): sessions of four classes, from editing to an operating system in a virtual machine;
//!   tasks that differ in what they ask for and in how complex it is for CP; a line typed, problem state time with
//!   VSIO and page references, printed lines, an answer that is typed.
//! - **Who runs** ([`queues`], [`machine`]): queues of limited size, the larger the more storage there is; a time slice;
//!   after some processor time a user is dropped, and the one who has waited longest is admitted. A pass of the
//!   dispatcher that finds the same user again is cheaper than one that finds another.
//! - **Paging** ([`storage`], [`thinktime_engine::drum`]): 4096-byte pages; a frame is taken from the user who has been out of the queues
//!   longest, else stolen from one in a queue; a changed page is written out first. The drum serves pages as they
//!   come, and so half a revolution is lost for each: 75 to 80 pages a second.
//! - **What CP's services cost** ([`services`]): own path, FREE and FRET calls, dispatch. Version II differs from
//!   version III by the old FREE and FRET and by a longer path for a page, as Table 11 says, and by nothing else.
//!   Log-ons, accounting and the like take CP time that nobody counts.
//! - **DUSETIMR** ([`dusetimr`]): a program in the operator's virtual machine, which reads CP's counters every five
//!   minutes, when it comes to run. Differences are taken within a system run and within a session.
//!
//! # What the paper leaves open, and what was taken
//!
//! - *Lengths of queues, slice, processor time in a queue*: two queues, for short and for long runs.
//! - *Whose page is taken*: of users out of the queues, the one longest out; of those in a queue, any page alike.
//!   Pages are counted and not named: a user refers to a missing page the more often the more of its pages are
//!   missing, and now and then to a new one.
//! - *The drum*: a 2301 without queueing by sector. `drum_organisation` has the other one.
//! - *FREE and FRET*: the times and numbers of calls of the paper; no algorithm.
//! - *Why a kind of request costs CP now more and now less*: requests of a task are alike, and the paths of CP are
//!   longer at times, for some minutes; each request varies besides.
//! - *Printing*: a printed line is a VMIO; full blocks are written at once, and read again when the printer takes the
//!   file, which is held back for a while ([`printer`]).
//! - *To whom CP's own work is charged*: to whoever ran last, so that dispatch alone is charged to nobody.
//!
//! # Left out
//!
//! Interrupts take no time of their own (what they cost is part of their request, or a pass of the dispatcher); card
//! readers and punches; shared pages; virtual storage beyond the working set; overlap of a user's own I/O.

mod config;
mod cost;
mod disks;
mod dusetimr;
mod machine;
mod measures;
mod parameters;
mod periods;
mod printer;
mod queues;
mod responses;
mod schedule;
mod services;
mod sessions;
mod storage;
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

/// The system `cp67`.
pub(crate) const fn system() -> System {
    System::of::<Config>()
}

impl Configuration for Config {
    const NAME: &'static str = "cp67";
    const SUMMARY: &'static str =
        "CP-67 on a System/360 Model 67: virtual machines that page on a drum, sampled by DUSETIMR";
    const PARAMETERS: &'static str = include_str!("parameters.toml");
    const SAMPLES_USERS: bool = true;

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
        dusetimr::sample_columns()
    }

    fn epoch_us(&self) -> Option<i64> {
        Some(self.schedule.epoch_us())
    }

    fn machine(&self) -> Value {
        json!({
            "cpus": 1,
            "name": "System/360 Model 67 with CP-67 (simulated)",
            "ceilings": [{
                "resource": "drum",
                "column": "page_ios",
                "per_s": self.drum.most_per_s(),
                "description": "pages that the drum can transfer while requests wait: start, search, transfer",
            }],
        })
    }

    fn population(&self) -> u64 {
        u64::from(self.users)
    }

    fn cost(&self, run: RunLength) -> Cost {
        self.cost(run)
    }
}
