//! UNIX, Sixth Edition, on a PDP-11/34, as B. J. Brachman measured and modelled it: "A model of the UNIX
//! time-sharing system under disk saturation", M.Sc. thesis, University of British Columbia, September 1983.
//!
//! # The machine
//!
//! A PDP-11/34A with 64K words, two RL01 drives on one controller, and a terminal to which everybody writes
//! (section 2.1). Sixth Edition UNIX keeps a table of processes, whose images lie in one piece each in memory or in
//! the swap area; memory is given out in clicks of 64 bytes, disks in blocks of 512 bytes.
//!
//! - **Swapping** ([`swapper`]): section 2.3, and `sched` in `slp.c` of the published sources, from which the rules
//!   are that the thesis leaves open: who sleeps on `runin` looks again at each second of the clock and when a
//!   process begins to wait with a priority from zero up; who sleeps on `runout`, when somebody who is out becomes
//!   ready or a swap-out is done. Among those who wait for something slow the first of the table leaves.
//! - **Processor** ([`processor`], [`machine`], [`process`], [`states`]): `swtch`, `setpri` and `clock.c`: a clock of 60 Hz,
//!   whose phase is random, recent processor time in ticks, which falls by ten a second; priority 100 and a sixteenth
//!   of it, at most 127; the kernel is not preempted, a process in user mode is as soon as a better one is ready. A
//!   search for the next process takes time of its own, outside all processes.
//! - **Birth and end** ([`system_calls`]): `newproc` leaves the priority of the table entry as it was, so that a new child
//!   runs at once; `exit` writes the user structure to a block of the swap area, through the block buffers, and wakes
//!   `init` as well as the parent; `wait` reads that block. The run ends when the parent of the workers has waited for
//!   them and has printed.
//! - **Events**: all who sleep on one are woken; who comes too late sleeps again.
//! - **Files** ([`files`], [`block_io`], [`system_calls`]): `bio.c`, `subr.c`, `rdwri.c`: buffers by least recent use, delayed writes,
//!   partial blocks read first, read-ahead, blocks of addresses; `update` writes i-nodes and superblock while it
//!   waits, then all delayed writes.
//! - **Disks** ([`disks`]): the controller of the engine, with one request at a time, and a pause in which its
//!   interrupt is served.
//! - **Terminal** ([`terminal`]): `tty.c`, with its high and low water marks.
//! - **Meters** ([`meters`]): counters and what the clock's interrupt finds (section 3.3).
//! - **Workloads** ([`workload`]): the prototype process of section 4.2, and a simple one of a parent and children.
//!
//! # What the thesis leaves open, and what was taken
//!
//! - *Reads and writes of a prototype*: whole blocks at random places of its file. Their mean number, with equal
//!   chances from none up, and the part that are writes were fitted.
//! - *Pauses*: zero to three seconds of the clock, with fitted chances.
//! - *The files*: at even distances over a part of their drive that was fitted, in an order that has nothing to do with
//!   that of the processes.
//! - *LOOK over two drives*: the axis is the cylinder, whichever the drive; each drive has its own arm. The swap area lies
//!   near the middle of the files' cylinders.
//! - *Swap times*: a transfer over the end of a cylinder costs a seek to the next one, as the thesis calculates
//!   (section 3.2), and no wait until its first block comes round.
//! - *Which request is next* is chosen when a transfer ends, and begins when its interrupt has been served.
//! - *No swap space*: Sixth Edition panics; here the process, or the swapper, tries again a second later.
//!
//! [`paging`] and the balancing swapper are not Sixth Edition's: they are there to compare with.
//!
//! # Left out
//!
//! Directories and path names, pipes, signals but the alarm, the text file from which `exec` reads, terminal input, and
//! processor time of the clock's interrupts. That of interrupts while nobody runs is part of the searches for the
//! next process, where these take time.

mod block_io;
mod calls;
mod config;
mod cost;
mod disks;
mod files;
mod interactions;
mod machine;
mod meters;
mod paging;
mod parameters;
mod process;
mod processor;
mod responses;
mod states;
mod swapper;
mod swapping;
mod system_calls;
mod terminal;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod traces;
mod units;
mod workload;

use serde_json::{Value, json};
use thinktime_log::Column;

use self::config::Config;
use self::machine::Machine;
use self::parameters::Parameters;
use self::responses::RunTotals;
use crate::kernel::{Configuration, Cost, Measured, Monitor, ParameterError, RunLength, Settings, System};

/// The system `unix6`.
pub(crate) const fn system() -> System {
    System::of::<Config>()
}

impl Configuration for Config {
    const NAME: &'static str = "unix6";
    const SUMMARY: &'static str = "UNIX Sixth Edition on a PDP-11/34: processes swapped between a small memory and a disk that files share";
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
        meters::sample_columns()
    }

    fn machine(&self) -> Value {
        json!({
            "cpus": 1,
            "name": "PDP-11/34A with UNIX Sixth Edition (simulated)",
            "drives": self.disks.describe(),
        })
    }

    fn population(&self) -> u64 {
        u64::from(self.workers())
    }

    fn cost(&self, run: RunLength) -> Cost {
        self.cost(run)
    }
}
