//! The simulation engine: time, calendar, random numbers, stations, statistics, self-checks, replications.
//!
//! The engine knows no system, no file and no Python. A simulated system is a struct that implements [`Model`]:
//! it owns its users, stations and random streams, and is called when something is due.
//!
//! ```text
//!              +----------------------------------------------+
//!   Calendar --| handle(slot): what was due in this slot is   |--> Calendar (what is due next)
//!              | done: queues change, streams are drawn from  |--> Balance, Tally (what is measured)
//!              +-----------------------Model------------------+
//! ```
//!
//! # Example
//!
//! Five users who think for 10 s and then request 1 s of one processor, both exponential with these means. By mean
//! value analysis the mean response time is 1.467 s.
//!
//! ```
//! use thinktime_engine::station::{Fcfs, Roster, Station, Visit};
//! use thinktime_engine::{
//!     Calendar, Component, Distribution, Laws, Model, Priority, Slot, Stream, Streams, Tally, Time, run,
//! };
//!
//! const USERS: u32 = 5;
//!
//! struct TimeSharing {
//!     processor: Fcfs,
//!     think: (Distribution, Stream),
//!     service: (Distribution, Stream),
//!     /// Start of the present interaction of each user.
//!     requested: [Time; USERS as usize],
//!     responses: Tally,
//! }
//!
//! impl TimeSharing {
//!     /// A user's next request is due in the user's far slot of the calendar.
//!     fn think(&mut self, user: u32, calendar: &mut Calendar) {
//!         let (law, stream) = &mut self.think;
//!         let due = calendar.now() + law.sample(stream);
//!         calendar.set(calendar.far(user), due, Priority::Arrival);
//!     }
//! }
//!
//! impl Model for TimeSharing {
//!     fn start(&mut self, calendar: &mut Calendar) {
//!         (0..USERS).for_each(|user| self.think(user, calendar));
//!     }
//!
//!     fn handle(&mut self, slot: Slot, calendar: &mut Calendar) {
//!         if let Some(user) = calendar.far_index(slot) {
//!             // A think time has ended.
//!             self.requested[user as usize] = calendar.now();
//!             let (law, stream) = &mut self.service;
//!             let demand = law.sample(stream);
//!             self.processor.arrive(Visit { customer: user, demand, priority: 0 }, calendar);
//!         } else if let Some(user) = self.processor.due(slot, calendar) {
//!             // The processor's near slot was due, and a user has been served.
//!             self.responses.record(calendar.now().since(self.requested[user as usize]));
//!             self.think(user, calendar);
//!         }
//!     }
//!
//!     fn restart_statistics(&mut self, calendar: &Calendar) {
//!         self.processor.restart_statistics(calendar.now());
//!         self.responses.clear();
//!     }
//! }
//!
//! let mut calendar = Calendar::new(1, USERS);
//! let streams = Streams { seed: 1, replication: 0 };
//! let mut model = TimeSharing {
//!     processor: Fcfs::new(Roster::new("processor", USERS as usize), calendar.near(0)),
//!     think: (Distribution::exponential(10.0), streams.stream(Component("think"), 0)),
//!     service: (Distribution::exponential(1.0), streams.stream(Component("service"), 0)),
//!     requested: [Time::ZERO; USERS as usize],
//!     responses: Tally::default(),
//! };
//! let (warm_up, end) = (Time(1_000_000_000_000), Time(200_000_000_000_000));
//! run(&mut model, &mut calendar, warm_up, end);
//! // Little's law, flow balance and the utilisation law hold to the nanosecond, or `check` returns an error.
//! let mut laws = Laws::default();
//! model.processor.check(calendar.now(), &mut laws)?;
//! assert!((model.responses.mean() - 1.467).abs() < 0.02, "{}", model.responses.mean());
//! # Ok::<(), Box<dyn std::error::Error>>(())
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
//! # Limitations
//!
//! A run is at most 2^64 ns long, 584 years. One replication runs on one thread: parallelism is between
//! replications. The calendar's slots are allocated at the start, so that a model needs an upper bound of its users.
//!
//! # Slots
//!
//! Whatever can be due owns a [`Slot`] of the calendar: a user's end of think time, the next completion of
//! a station, the tick of a clock. A slot holds at most one time, and setting or clearing it is how an event
//! is moved or withdrawn: preemption needs no tombstones. *Near* slots, for the few stations that are
//! rescheduled all the time, have a small tree of their own; *far* slots, one for each user, a large one.
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
mod far;
mod histogram;
mod laws;
pub mod memory;
mod memory_hints;
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
pub use calendar::{Calendar, Exhausted, Limits, Priority, Slot};
pub use distribution::Distribution;
pub use laws::{LawViolation, Laws};
pub use memory_hints::fetch;
pub use model::{Model, run};
pub use random::{Address, Component, Stream, Streams};
pub use replicate::{DuplicateReplications, Pool, replicate};
pub use tally::{Batches, Level, Tally};
pub use thinktime_quantities::DistributionError;
pub use time::{Span, Time};
pub use warm_up::{Truncation, common_cut, mser};
