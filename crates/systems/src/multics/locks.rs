//! Locks of the supervisor's tables, which processors take from each other, and the slowness of processors that meet.

use serde::Deserialize;
use thinktime_engine::Span;

use super::events::Event;

/// What is under a lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lock {
    PageControl,
    TrafficController,
}

pub(super) const LOCKS: usize = 2;

/// Which locks there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Locking {
    None,
    /// One for all of the supervisor's tables.
    Global,
    ByDataBase,
}

impl Locking {
    /// The lock under which an event of this kind is handled, if any.
    pub fn of(self, event: Event) -> Option<Lock> {
        let own = match event {
            Event::PageFault | Event::DrumInterrupt | Event::SegmentFault => Some(Lock::PageControl),
            Event::Getwork => Some(Lock::TrafficController),
            Event::Interrupt | Event::GateFault => None,
        };
        match self {
            Locking::None => None,
            Locking::ByDataBase => own,
            Locking::Global if event == Event::GateFault => None,
            Locking::Global => Some(Lock::PageControl),
        }
    }
}

/// Time that work takes while both processors are active, as a multiple of its time alone.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Slowness {
    pub active: f64,
    /// While the other one spins.
    pub spinning: f64,
}

/// A part of a path, under a lock or not.
#[derive(Clone, Copy, Debug)]
pub(super) struct Section {
    pub lock: Option<Lock>,
    pub length: Span,
}
