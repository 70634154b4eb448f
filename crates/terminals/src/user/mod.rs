//! Code that runs in the users' processes: the prototype that a user's terminal talks to, its compute loop, its
//! memory, and the direct measurement of single requests in a process of the same size.

mod busy;
pub mod compute;
pub mod direct;
mod memory;
pub(crate) mod prototype;
pub(crate) mod usage;
pub(crate) mod waits;
