//! The swapper, process 0: its state, and its rules (`sched` in `slp.c`).
//!
//! It brings in the process that has been out of memory and ready for longest. If there is no room, it drives
//! out one that waits for something slow; else, if the candidate has been out for long enough, the one that has
//! been in for longest, if that is long enough. If nobody is out and ready it sleeps until somebody is
//! (`runout`); if nobody can be driven out, until the next second of the clock or until somebody begins to wait
//! for something slow (`runin`). One swap at a time, each waited for.

use super::config::Config;
use super::process::Process;
use super::states::Status;

/// State of the swapper between its sleeps.
#[derive(Debug, Default)]
pub(super) struct Swapper {
    /// Asleep because no process that is out is ready (`runout`).
    // Two flags as in the kernel, not one: each says which wakeup can help, so that the swapper does not look
    // in vain.
    pub nobody_out: bool,
    /// Asleep because no process can be driven out (`runin`).
    pub no_victim: bool,
    /// The swap in progress.
    pub state: State,
    /// The one buffer for swapping, while it is taken.
    pub buffer: Option<SwapBuffer>,
}

/// A transfer between memory and the swap area.
#[derive(Clone, Copy, Debug)]
pub(super) struct SwapBuffer {
    /// Process that has taken it.
    pub by: usize,
    /// Length of the transfer [click].
    pub clicks: u64,
    /// Whether the transfer has ended; the buffer is free when its process has been told.
    pub done: bool,
}

/// A process, and where its image is in the swap area, or is going.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Image {
    /// Its place in the process table.
    pub process: usize,
    /// First block of it in the swap area.
    pub place: u64,
}

/// The swap in progress.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum State {
    /// No swap is in progress: the next is chosen.
    #[default]
    Looking,
    /// A text is read from its place in the swap area, and then the process that needs it.
    LoadingText { text: usize, place: u64, then: Image },
    /// An image is read.
    Loading(Image),
    /// An image is written.
    Driving(Image),
}

/// The process that comes in next, if one is ready and out of memory: the one that has been out for longest.
pub(super) fn candidate(processes: &[Process]) -> Option<usize> {
    first_by(processes, |q| q.wants_in().then_some(u64::from(q.resident)))
}

/// The process of the greatest `rank`, of those that have one; of equals the first in the table.
fn first_by(processes: &[Process], rank: impl Fn(&Process) -> Option<u64>) -> Option<usize> {
    // The last of equals is kept, in reverse order: the first.
    let ranked = processes.iter().enumerate().rev().filter_map(|(p, q)| Some((rank(q)?, p)));
    ranked.max_by_key(|(rank, _)| *rank).map(|(_, p)| p)
}

/// The process that is driven out so that `candidate` can come in, if any may be.
pub(super) fn victim(config: &Config, processes: &[Process], candidate: usize) -> Option<usize> {
    let out = processes[candidate].resident;
    if enough_at_work(config, processes) && out < config.balance_wait {
        return None;
    }
    let waits = |process: &Process| process.can_leave() && process.status == Status::Waiting;
    // A process that waits for a terminal or a child goes first, by place in the table as in `sched`, whatever its
    // size.
    let easy = processes.iter().position(waits);
    if easy.is_some() || out < config.minimum_out {
        return easy;
    }
    // Nobody waits for something slow: only after long enough out and long enough in, or images would thrash.
    let works =
        |process: &Process| process.can_leave() && matches!(process.status, Status::Ready | Status::Asleep);
    let longest = first_by(processes, |q| works(q).then_some(u64::from(q.resident)));
    longest.filter(|p| processes[*p].resident >= config.minimum_in)
}

/// A swapper that balances drives nobody out while enough of those in memory are at work, unless the candidate
/// has been out for long.
fn enough_at_work(config: &Config, processes: &[Process]) -> bool {
    let works = |process: &&Process| process.can_leave() && process.status != Status::Waiting;
    config.balanced && processes.iter().filter(works).count() as u64 >= config.target_ready
}
