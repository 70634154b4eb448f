//! One processor: its state, and what follows the path of the supervisor that it is in.

use thinktime_engine::{Span, Time};

use super::events::Event;
use super::locks::{Lock, Section};
use super::users::End;

/// What is to be done when a path has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Then {
    /// The page is asked for; the place for it was somebody's, whose page has to be written out, if `out`.
    AskForPage {
        out: bool,
    },
    GoOn,
    DrumPagesHaveCome,
    DiskPageHasCome(u32),
    LineHasCome(u32),
    QuantumIsUsedUp,
    ChooseProcess,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Path {
    pub event: Event,
    pub then: Then,
    pub lock: Option<Lock>,
    pub rest: Option<Section>,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum State {
    Idle,
    /// Between two things; no time passes.
    Deciding,
    Useful(End),
    Path(Path),
    /// Waits for the lock of this path.
    Spinning(Path),
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Processor {
    pub state: State,
    /// Work left in this state, at full speed, at the time `since`.
    pub left: Span,
    pub since: Time,
    /// Whose it is, also while it is in the supervisor.
    pub process: Option<u32>,
    /// Somebody who comes before that process can run.
    pub preempted: bool,
}

impl Processor {
    pub fn new() -> Processor {
        Processor { state: State::Idle, left: Span::ZERO, since: Time::ZERO, process: None, preempted: false }
    }

    pub fn is_idle(&self) -> bool {
        matches!(self.state, State::Idle)
    }

    /// Whether it will choose a process before long.
    pub fn is_choosing(&self) -> bool {
        match self.state {
            State::Deciding => self.process.is_none(),
            State::Path(path) | State::Spinning(path) => path.then == Then::ChooseProcess,
            State::Idle | State::Useful(_) => false,
        }
    }
}
