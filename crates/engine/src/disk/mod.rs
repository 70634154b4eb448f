//! Disks and drums: one arm (or none), a platter that turns, and a queue.
//!
//! A request names blocks by address. Its service is a fixed time + seek + latency + transfer, each known when the
//! arm begins on it. A drum is a disk of one cylinder: it never seeks.

mod geometry;
mod order;
#[cfg(test)]
mod tests;

pub use geometry::{Accesses, Geometry, Rotation, Transfer};
pub(crate) use geometry::{Drive, Parts};
pub use order::QueueDiscipline;
pub(crate) use order::Waiting;

use crate::calendar::{Calendar, Priority, Slot};
use crate::laws::{LawViolation, Laws};
use crate::random::Stream;
use crate::station::{Roster, Visit};
use crate::time::{Span, Time};

/// Blocks to be read or written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// Whose it is; no two requests at a disk at one time have the same.
    pub customer: u32,
    /// Address of the first block.
    pub block: u64,
    /// How many blocks.
    pub blocks: u64,
}

/// A disk or drum with its queue.
#[derive(Clone, Debug)]
pub struct Disk {
    drive: Drive,
    roster: Roster,
    slot: Slot,
    stream: Stream,
    waiting: Waiting<Request>,
    serving: Option<Request>,
    started: Time,
}

impl Disk {
    /// An idle disk with the arm at cylinder 0; `slot` is the near slot of the ends of its accesses.
    pub fn new(
        geometry: Geometry,
        discipline: QueueDiscipline,
        roster: Roster,
        slot: Slot,
        stream: Stream,
    ) -> Disk {
        Disk {
            drive: Drive::new(geometry),
            roster,
            slot,
            stream,
            waiting: Waiting::new(discipline),
            serving: None,
            started: Time::ZERO,
        }
    }

    /// Adds a request at `calendar.now()`; an idle disk begins on it.
    ///
    /// # Panics
    /// As [`Disk::ask`].
    pub fn arrive(&mut self, request: Request, calendar: &mut Calendar) {
        self.ask(request, calendar.now());
        self.begin(calendar);
    }

    /// Ends the access that was due in the disk's slot, and begins the next: returns whose access ended.
    pub fn due(&mut self, calendar: &mut Calendar) -> Option<u32> {
        let done = self.end(calendar.now())?;
        self.begin(calendar);
        Some(done)
    }

    /// Adds a request that waits even for an idle disk: for a system that begins each access itself, by
    /// [`Disk::begin`], and takes its end by [`Disk::end`].
    ///
    /// # Panics
    /// In debug builds, when it reaches beyond the last block.
    pub fn ask(&mut self, request: Request, now: Time) {
        debug_assert!(
            request.block + request.blocks <= self.drive.geometry.blocks(),
            "{request:?} is beyond the disk"
        );
        // How long it takes is known when the arm begins on it.
        self.roster.enter(Visit { customer: request.customer, demand: Span::ZERO, priority: 0 }, now);
        self.waiting.push(self.drive.geometry.cylinder(request.block), request);
    }

    /// Begins the next request, if the disk is idle and there is one: returns whose.
    pub fn begin(&mut self, calendar: &mut Calendar) -> Option<u32> {
        if self.serving.is_some() {
            return None;
        }
        let request = self.waiting.take(self.drive.arm)?;
        self.roster.busy.begin(calendar.now());
        self.serve(request, calendar);
        Some(request.customer)
    }

    /// Ends the access that was due in the disk's slot, and leaves the disk idle: returns whose access it was.
    pub fn end(&mut self, now: Time) -> Option<u32> {
        let done = self.serving.take()?;
        self.roster.leave(done.customer, now);
        self.roster.busy.end(now);
        Some(done.customer)
    }

    fn serve(&mut self, request: Request, calendar: &mut Calendar) {
        let now = calendar.now();
        let mut parts = self.drive.position(request.block);
        // The time of the access includes latency, and latency depends on when the arm is there: so in two
        // steps.
        let there = now + parts.all();
        self.drive.pass(&mut parts, there, (request.block, request.blocks), &mut self.stream);
        self.started = now;
        self.roster.set_demand(request.customer, parts.all());
        self.serving = Some(request);
        calendar.set(self.slot, now + parts.all(), Priority::Completion);
    }

    /// Geometry and timing.
    pub fn geometry(&self) -> &Geometry {
        &self.drive.geometry
    }

    /// Requests and busy time.
    pub fn roster(&self) -> &Roster {
        &self.roster
    }

    /// The cylinder where the arm stands, or is going to.
    pub fn arm(&self) -> u64 {
        self.drive.arm
    }

    /// The address of any block, uniformly, drawn from the disk's own stream.
    pub fn anywhere(&mut self) -> u64 {
        self.stream.below(self.drive.geometry.blocks())
    }

    /// Accounts of the time of the accesses begun since statistics began.
    pub fn accesses(&self) -> Accesses {
        self.drive.accesses
    }

    /// Service so far of the request that is being served [ns]; those that wait have had none.
    fn received(&self, now: Time) -> u128 {
        self.serving.map_or(0, |_| u128::from(now.since(self.started).0))
    }

    /// Checks Little's law, flow balance and the utilisation law, to the nanosecond.
    ///
    /// # Errors
    /// One of them does not hold: a defect of the disk.
    pub fn check(&self, now: Time, laws: &mut Laws) -> Result<(), LawViolation> {
        self.roster.check(now, self.received(now), 0, self.roster.entries(), laws)
    }

    /// Statistics begin anew; requests stay.
    pub fn restart_statistics(&mut self, now: Time) {
        let received = self.received(now);
        self.roster.restart(now, received, 0);
        self.drive.accesses = Accesses::default();
    }
}
