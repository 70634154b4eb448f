//! Scripts of users: the lines they type, the replies they wait for, their think times, and the demands of each
//! interaction on a system. Standard scripts make systems comparable; a script is a TOML file that anybody can write.
//!
//! ```toml
//! name = "edit-and-run"
//! think = "exponential(mean=30)"
//!
//! [commands.edm.multics]
//! cpu = 0.06
//! pages = 40
//! segments = 8
//! lines = 1
//!
//! [[interaction]]
//! command = "edm"
//! types = "edm prime.fortran"
//! wait_for = "Edit."
//!
//! [[interaction]]
//! command = "edm"
//! types = "w"
//! wait = false
//! multics = { cpu = 0.02, lines = 0 }
//! ```
//!
//! ```text
//! TOML text --\
//!              Source (knows lines) --read--> Script --demands(system)--> a distribution each
//! JSON      --/                                 \--to_json--> the record in a manifest, complete
//! ```
//!
//! An interaction is: the user thinks, types the line, and, where there is a text to wait for, goes on when the
//! reply that holds it is there; without one, the next think time begins when the line has been typed.
//!
//! With a table `[terminal]`, a script can be typed to a real shell too: the crate `terminals` does so.

mod builtin;
mod demand;
mod error;
#[cfg(any(test, fuzzing))]
pub mod fuzzing;
mod read;
mod script;
mod source;
mod terminal;
#[cfg(test)]
mod tests;

pub use builtin::{BUILTIN, SIMULATED};
pub use demand::{Demand, SYSTEMS};
pub use error::{ScriptError, offer};
pub use script::{Script, Step};
pub use terminal::{HomeFile, Shell, Terminal, Wait};
