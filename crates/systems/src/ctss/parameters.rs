//! The parameters of `parameters.toml`, as fields.

use serde::Deserialize;
use thinktime_engine::{Distribution, Span};
use thinktime_script::Script;

use super::levels::{Entry, Preempt};
use crate::kernel::{choices, script};

choices! {
    SwapDevice { Drum, Disk }
}

/// Values given or default; ranges and sources are in `parameters.toml`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Parameters {
    /// Users at their terminals [user].
    pub users: u64,
    /// Number of users who type interactions drawn at random from the script; the others play the script repeatedly
    /// [user].
    pub normal_users: u64,
    /// Script of the users: inputs, awaited replies, think times and demands.
    #[serde(deserialize_with = "script")]
    pub script: Script,
    /// Think time of normal users [s].
    pub normal_think: Distribution,
    /// Processor time of normal users as a multiple of that in the script.
    pub normal_demand: f64,
    /// Time a terminal takes to type a line of the reply; a user who waits for the reply thinks afterwards [s].
    pub line_time: Span,
    /// Supervisor time per line, typed or printed [s].
    pub line_overhead: Span,
    /// Resolution of the clock with which a scripted user measures response times; 0: exact [s].
    pub clock_resolution: Span,
    /// Levels of the scheduler's queues.
    pub levels: u64,
    /// Longest run at level 0; the limit doubles with each further level [s].
    pub quantum: f64,
    /// Level at which a program begins an interaction: that at which it runs for more than half as long as its swap
    /// takes, or 2 up to 4096 words and 3 above.
    pub entry: Entry,
    /// Time at which a program arriving at a lower level takes over: when the running program has had as much time as
    /// the newcomer's turn is long, at once, or after the running program's turn.
    pub preempt: Preempt,
    /// Whether a background program uses the processor time left by the users.
    pub background: bool,
    /// Size of the background program [word].
    pub background_words: u64,
    /// Core for users' programs, without the supervisor's; a larger program gets all of it [word].
    pub core: u64,
    /// Whether only the words needed by the next program are written; false: all words.
    pub partial_swap: bool,
    /// Device that holds programs swapped out of core; commands always come from the disk.
    pub swap_device: SwapDevice,
    /// Upper limit of the drum's access time, which is uniform from zero [s].
    pub drum_revolution: f64,
    /// Transfer time of a word, drum [s].
    pub drum_word_time: f64,
    /// Seek time to a command, or to a program swapped to the disk [s].
    pub disk_seek: f64,
    /// Upper limit of the disk's latency, which is uniform from zero. Transfers of a running program's files have no
    /// other access time: its files lie under the arm [s].
    pub disk_revolution: f64,
    /// Transfer time of a word, disk [s].
    pub disk_word_time: f64,
    /// Words per transfer between a program's files and core [word].
    pub disk_record_words: u64,
}
