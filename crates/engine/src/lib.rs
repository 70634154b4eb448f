//! The simulation engine: time, calendar, random numbers, stations, statistics, self-checks, replications.
//!
//! It knows no system, no file and no Python. A simulated system is a struct that implements [`Model`]:
//! it owns its users, stations and random streams, and is told when something is due.
//!
//! ```text
//!              +----------------------------------------------+
//!   Calendar --| handle(slot): what was due in this slot is   |--> Calendar (what is due next)
//!              | done: queues change, streams are drawn from  |--> Balance, Tally (what is measured)
//!              +-----------------------Model------------------+
//! ```
//!
//! # Time
//!
//! [`Time`] and [`Span`] are whole nanoseconds: sums are exact, in any order, so that conservation laws
//! can be checked for equality and the same seed gives the same bits everywhere.
//!
//! # Order of simultaneous events: a contract
//!
//! Events are served by the key (time, priority, sequence):
//! 1. the earlier time first;
//! 2. at one time, the lower [`Priority`] first;
//! 3. at one time and priority, in the order in which they were put into the calendar. Setting a slot
//!    again counts as putting it in anew.
//!
//! # Slots
//!
//! Whatever can be due owns a [`Slot`] of the calendar: a user's end of think time, the next completion of
//! a station, the tick of a clock. A slot holds at most one time, and setting or clearing it is how an event
//! is moved or withdrawn: preemption needs no tombstones. *Near* slots, for the few stations that are
//! rescheduled all the time, stand beside the root of the tree; *far* slots, one a user, at its leaves.
//!
//! # Random numbers
//!
//! A [`Stream`] is addressed by (seed, replication, component, user). Adding a component, or drawing more
//! from one, changes no other stream: systems that are compared see the same users (common random numbers).

mod alias;
mod balance;
pub mod cache;
mod calendar;
pub mod controller;
pub mod disk;
mod distribution;
pub mod drum;
mod histogram;
mod laws;
pub mod memory;
mod model;
mod random;
mod replicate;
pub mod station;
mod tally;
mod time;
mod warm_up;
mod ziggurat;

pub use alias::Alias;
pub use balance::{Balance, Busy};
pub use calendar::{Calendar, Priority, Slot};
pub use distribution::Distribution;
pub use laws::{LawViolation, Laws};
pub use model::{Model, run};
pub use random::{Address, Component, Stream, Streams};
pub use replicate::{DuplicateReplications, Pool, replicate};
pub use tally::{Batches, Level, Tally};
pub use thinktime_quantities::DistributionError;
pub use time::{Span, Time};
pub use warm_up::{Truncation, common_cut, mser};
