//! Locks of the supervisor's tables, which processors take from each other, and the slowness of processors that meet.

use serde::Deserialize;
use thinktime_engine::Span;

use super::events::Event;

/// A lock of the supervisor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lock {
    /// Of page control: page and segment faults, drum interrupts.
    PageControl,
    /// Of the traffic controller: getwork.
    TrafficController,
}

/// Number of locks.
pub(super) const LOCKS: usize = 2;

/// Locks that there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Locking {
    /// None: all tables can be used at the same time.
    None,
    /// One for all of the supervisor's tables.
    Global,
    /// One for page control and one for the traffic controller.
    ByDataBase,
}

impl Locking {
    /// Lock under which an event of this kind is handled, if any.
    pub fn of(self, event: Event) -> Option<Lock> {
        let by_data_base = match event {
            Event::PageFault | Event::DrumInterrupt | Event::SegmentFault => Some(Lock::PageControl),
            Event::Getwork => Some(Lock::TrafficController),
            Event::Interrupt | Event::GateFault => None,
        };
        match self {
            Locking::None => None,
            Locking::ByDataBase => by_data_base,
            Locking::Global if event == Event::GateFault => None,
            Locking::Global => Some(Lock::PageControl),
        }
    }
}

/// Time of work while both processors are active, as a multiple of its time alone.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Slowness {
    /// While the other one works.
    pub active: f64,
    /// While the other one spins for a lock.
    pub spinning: f64,
}

/// A part of a path, under a lock or not.
#[derive(Clone, Copy, Debug)]
pub(super) struct Section {
    /// Lock that is held for it.
    pub lock: Option<Lock>,
    /// Processor time at full speed.
    pub length: Span,
}
