//! One processor: its state, and what follows the path of the supervisor that it is in.

use thinktime_engine::{Span, Time};

use super::events::Event;
use super::locks::{Lock, Section};
use super::users::End;

/// Effect of a path at its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Then {
    /// The page is asked for; `out` if the page that had its place must be written out first.
    AskForPage { out: bool },
    /// The processor continues with what is next.
    GoOn,
    /// The processes whose pages came from the drum are ready.
    DrumPagesHaveCome,
    /// The process whose page came from a disk is ready.
    DiskPageHasCome(u32),
    /// The user's process reads its line.
    LineHasCome(u32),
    /// The process falls a level, and waits to become eligible again.
    QuantumIsUsedUp,
    /// The processor gets the next ready process.
    ChooseProcess,
}

/// A path of the supervisor in progress.
#[derive(Clone, Copy, Debug)]
pub(super) struct Path {
    /// Event to which its time is booked.
    pub event: Event,
    /// Its effect.
    pub then: Then,
    /// Lock that is held for the current section.
    pub lock: Option<Lock>,
    /// The section that follows.
    pub rest: Option<Section>,
}

/// State of a processor.
#[derive(Clone, Copy, Debug)]
pub(super) enum State {
    /// No eligible process can run.
    Idle,
    /// Between two activities; no time passes.
    Deciding,
    /// In user programs, until this.
    Useful(End),
    /// In a path of the supervisor.
    Path(Path),
    /// Waits for the lock of this path.
    Spinning(Path),
}

/// One processor.
#[derive(Clone, Copy, Debug)]
pub(super) struct Processor {
    /// Its current activity.
    pub state: State,
    /// Work left in this state, at full speed, at the time `since`.
    pub left: Span,
    /// Time up to which its work is booked.
    pub since: Time,
    /// Process that has it, also while it is in the supervisor.
    pub process: Option<u32>,
    /// Whether a process that comes before that one can run.
    pub preempted: bool,
}

impl Processor {
    pub fn new() -> Processor {
        Processor { state: State::Idle, left: Span::ZERO, since: Time::ZERO, process: None, preempted: false }
    }

    /// True if it waits for an eligible process.
    pub fn is_idle(&self) -> bool {
        matches!(self.state, State::Idle)
    }

    /// True if it will choose a process before long.
    pub fn is_choosing(&self) -> bool {
        match self.state {
            State::Deciding => self.process.is_none(),
            State::Path(path) | State::Spinning(path) => path.then == Then::ChooseProcess,
            State::Idle | State::Useful(_) => false,
        }
    }
}
