//! A log on a terminal, interval by interval: followed while it is being written, and replayed afterwards.
//!
//! Nothing is measured here: everything on the screen is in the log, or computed from it. One interval passes through
//! these files:
//!
//! ```text
//! rows        batches of the log's tables as plain records of one part
//! reel        the parts of a log in order, the interval that is asked for, and what was written meanwhile
//! figures     what the screen shows of one interval, with `groups` and `devices`: a `line` for each user, group and disk
//! state       which interval, panel and line, in which order: what `keys` and `mouse` change; `listing` for a panel
//! screen      the state drawn on a `canvas`, with `tables`, `columns`, `help`, `words` and `palette`; `targets` for the mouse
//! terminal    the terminal taken and given back, and the loop
//! ```
//!
//! # Limitations
//! What the log does not have is shown as `-`, never as zero. The screen does not predict how many users fit; whoever
//! can (`thinktime size`) hands the answer over ([`Shared::predict`]).

mod canvas;
mod clock;
mod columns;
mod devices;
mod error;
mod figures;
mod groups;
mod help;
mod keys;
mod line;
mod listing;
mod mouse;
mod palette;
mod reel;
mod rows;
mod screen;
mod state;
mod tables;
mod targets;
mod terminal;
mod words;

pub use error::LiveError;
pub use state::{Counted, Prediction, Shared, ViewOptions};
pub use terminal::{Viewed, require_terminal, view};

#[cfg(test)]
mod tests;
