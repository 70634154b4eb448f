//! A disk controller with one or more drives.
//!
//! Without overlapped seeks it does one access at a time, and is busy with it from the arm's start to the last
//! block. With them it only starts a seek, which then goes on by itself; from when the arm is there the platter
//! turns and the blocks pass under control of the controller, for one drive at a time. A drive does one access at
//! a time.

use serde::Deserialize;
use std::collections::VecDeque;

use crate::calendar::{Calendar, Priority, Slot};
use crate::disk::{Accesses, Drive, Geometry, Parts, QueueDiscipline, Waiting};
use crate::laws::{LawViolation, Laws};
use crate::random::Stream;
use crate::station::{Roster, Visit};
use crate::time::{Span, Time};

#[cfg(test)]
mod tests;

/// Blocks to be read or written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ask {
    /// Owner of the request; different from that of any other request present.
    pub customer: u32,
    /// Number of the drive, from 0.
    pub drive: u32,
    /// Address of the first block on its drive.
    pub block: u64,
    /// Number of blocks, at least 1.
    pub blocks: u64,
}

/// The axis that the discipline looks along. With overlapped seeks each drive has a queue of its own, and drives
/// transfer in the order in which their arms were there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Sweep {
    /// The cylinders of the first drive, then those of the second, and so on.
    Combined,
    /// Each drive has a queue of its own, and those with requests take turns.
    Alternate,
    /// Cylinders, whichever the drive.
    Cylinder,
}

/// In which order requests are served, and whether arms move at the same time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Policy {
    /// Order within a queue.
    pub discipline: QueueDiscipline,
    /// What stands in one queue.
    pub sweep: Sweep,
    /// Whether arms move while another drive transfers.
    pub overlapped_seeks: bool,
    /// From the end of a transfer until the next one can begin, while its interrupt is served. Which of those that
    /// wait is next has been chosen at that end, unless seeks overlap.
    pub pause: Span,
}

/// A request that has been served, and the parts of its service; waiting is in none of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Done {
    /// Whose it was.
    pub customer: u32,
    /// The drive that served it.
    pub drive: u32,
    /// Movement of the arm, which `access` includes.
    pub seek: Span,
    /// Start, seek and latency.
    pub access: Span,
    /// Passing of the blocks.
    pub transfer: Span,
}

/// Drives, the controller that they share, and the requests for them.
#[derive(Clone, Debug)]
pub struct Controller {
    policy: Policy,
    /// Present are all requests; busy is the controller itself.
    roster: Roster,
    units: Vec<Unit>,
    /// One queue for all drives, or one for each.
    queues: Vec<Waiting<Ask>>,
    first_slot: Slot,
    stream: Stream,
    /// The drive that the controller is busy with.
    holder: Option<usize>,
    /// The drive that it was or is busy with.
    last: usize,
    /// Drives whose arm is there and that wait for the controller.
    ready: VecDeque<usize>,
    /// Whether it pauses after a transfer.
    pausing: bool,
    /// The request that it turns to after the pause.
    chosen: Option<Ask>,
}

/// A drive and its present access.
#[derive(Clone, Debug)]
struct Unit {
    drive: Drive,
    /// Present are requests for this drive; busy is it while it seeks or transfers.
    roster: Roster,
    /// Cylinders of all drives before this one: where its own begin on a combined axis.
    before: u64,
    active: Option<Active>,
}

/// The request that a drive works on.
#[derive(Clone, Copy, Debug)]
struct Active {
    ask: Ask,
    parts: Parts,
    /// Time that the drive gave it before `since`.
    done: Span,
    /// When the drive began the present seek or transfer; none while it waits for the controller.
    since: Option<Time>,
}

impl Active {
    fn received(&self, now: Time) -> Span {
        self.done + self.since.map_or(Span::ZERO, |since| now.since(since))
    }
}

impl Unit {
    fn received(&self, now: Time) -> u128 {
        self.active.map_or(0, |active| u128::from(active.received(now).0))
    }

    /// Begins the access of `ask`: the arm starts.
    fn begin(&mut self, ask: Ask, now: Time) -> Parts {
        let parts = self.drive.position(ask.block);
        self.roster.busy.begin(now);
        self.active = Some(Active { ask, parts, done: Span::ZERO, since: Some(now) });
        parts
    }
}

impl Controller {
    /// Number of calendar slots of a controller with `drives` drives, from its first one on.
    pub fn slots(drives: u32) -> u32 {
        // One for the controller, and one a drive: with overlapped seeks all arms can be due at different times.
        1 + drives
    }

    /// An idle controller with all arms at cylinder 0, and room for requests of customers below `customers`; it grows
    /// where there are more. `stream` draws the latencies that are random.
    ///
    /// # Panics
    /// There are no `drives`.
    pub fn new(
        name: &str,
        drives: &[Geometry],
        policy: Policy,
        first_slot: Slot,
        customers: u32,
        stream: Stream,
    ) -> Controller {
        assert!(!drives.is_empty(), "a controller has a drive at least");
        let roster = |name: &str| Roster::new(name, customers as usize);
        let before = |drive: usize| drives[..drive].iter().map(|geometry| geometry.cylinders).sum();
        let unit = |(index, geometry): (usize, &Geometry)| Unit {
            drive: Drive::new(*geometry),
            roster: roster(&format!("drive {index} of {name}")),
            before: before(index),
            active: None,
        };
        // An arm that moves by itself must find its next request without those of other drives in the way.
        let own_queues = policy.overlapped_seeks || policy.sweep == Sweep::Alternate;
        let queues = if own_queues { drives.len() } else { 1 };
        Controller {
            policy,
            roster: roster(name),
            units: drives.iter().enumerate().map(unit).collect(),
            queues: vec![Waiting::new(policy.discipline); queues],
            first_slot,
            stream,
            holder: None,
            last: 0,
            ready: VecDeque::new(),
            pausing: false,
            chosen: None,
        }
    }

    /// Adds a request at `calendar.now()`; an idle drive, or controller, begins it.
    ///
    /// # Panics
    /// There is no such drive; in debug builds, when it reaches beyond the last block.
    pub fn arrive(&mut self, ask: Ask, calendar: &mut Calendar) {
        let now = calendar.now();
        let index = ask.drive as usize;
        let unit = &mut self.units[index];
        debug_assert!(ask.block + ask.blocks <= unit.drive.geometry.blocks(), "{ask:?} is beyond the drive");
        // How long it takes is known when the arm begins on it.
        let visit = Visit { customer: ask.customer, demand: Span::ZERO, priority: 0 };
        unit.roster.enter(visit, now);
        self.roster.enter(visit, now);
        let cylinder = unit.drive.geometry.cylinder(ask.block);
        let queue = if self.queues.len() > 1 { index } else { 0 };
        let place = self.place(index, cylinder);
        self.queues[queue].push(place, ask);
        self.begin(index, calendar);
    }

    /// Handles the event that was due in a `slot` of the controller, and begins what can begin then; returns the
    /// request that is done, if one is.
    pub fn due(&mut self, slot: Slot, calendar: &mut Calendar) -> Option<Done> {
        match slot.0 - self.first_slot.0 {
            // One slot serves pauses and transfers: they never overlap, since nothing is begun during a
            // pause.
            0 if std::mem::take(&mut self.pausing) => {
                self.begin_all(calendar);
                None
            }
            0 => self.end(calendar),
            drive => {
                self.wait(drive as usize - 1, calendar.now());
                self.pass(calendar);
                None
            }
        }
    }

    /// Place of `cylinder` of `drive` on the axis that the discipline looks along.
    fn place(&self, drive: usize, cylinder: u64) -> u64 {
        match self.policy.sweep {
            Sweep::Combined if self.queues.len() == 1 => self.units[drive].before + cylinder,
            _ => cylinder,
        }
    }

    /// The next request of `queue`, from where the arm is that served the last one of it.
    fn take(&mut self, queue: usize) -> Option<Ask> {
        let drive = if self.queues.len() > 1 { queue } else { self.last };
        let arm = self.place(drive, self.units[drive].drive.arm);
        self.queues[queue].take(arm)
    }

    /// The next request of all queues, of which each has its turn.
    fn choose(&mut self) -> Option<Ask> {
        let (last, queues) = (self.last, self.queues.len());
        // The queue served last comes last. A single queue is reached whatever the drive, by the remainder.
        (1..=queues).find_map(|step| self.take((last + step) % queues))
    }

    /// Begins what can begin on every drive, after a pause.
    fn begin_all(&mut self, calendar: &mut Calendar) {
        for drive in 0..self.units.len() {
            self.begin(drive, calendar);
        }
    }

    /// Begins what can begin: `drive` may have become idle, or have got its first request.
    fn begin(&mut self, drive: usize, calendar: &mut Calendar) {
        // `begin_all` makes up for it when the pause is over.
        if self.pausing {
            return;
        }
        if self.policy.overlapped_seeks {
            self.seek(drive, calendar);
            self.pass(calendar);
        } else if self.holder.is_none() {
            if let Some(ask) = self.chosen.take().or_else(|| self.choose()) {
                self.units[ask.drive as usize].begin(ask, calendar.now());
                self.hold(ask.drive as usize, calendar);
            }
        }
    }

    /// Sends the arm of `drive`, if that is idle, to its next request.
    fn seek(&mut self, drive: usize, calendar: &mut Calendar) {
        if self.units[drive].active.is_some() {
            return;
        }
        let Some(ask) = self.take(drive) else { return };
        let parts = self.units[drive].begin(ask, calendar.now());
        match parts.all() {
            // The arm is there already: no event, so that it does not lose its place to one that is due now.
            Span::ZERO => self.wait(drive, calendar.now()),
            seek => {
                let slot = Slot(self.first_slot.0 + 1 + ask.drive);
                calendar.set(slot, calendar.now() + seek, Priority::Completion);
            }
        }
    }

    /// Puts `drive`, whose arm is in place, into the queue for the controller.
    fn wait(&mut self, drive: usize, now: Time) {
        let unit = &mut self.units[drive];
        let Some(active) = &mut unit.active else { return };
        unit.roster.busy.end(now);
        // While it waits for the controller the drive is not busy, and the request gets no service.
        active.done = active.received(now);
        active.since = None;
        self.ready.push_back(drive);
    }

    /// Turns an idle controller to the drive that waits for it longest.
    fn pass(&mut self, calendar: &mut Calendar) {
        if self.holder.is_some() || self.pausing {
            return;
        }
        let Some(drive) = self.ready.pop_front() else { return };
        let unit = &mut self.units[drive];
        unit.roster.busy.begin(calendar.now());
        if let Some(active) = &mut unit.active {
            active.since = Some(calendar.now());
        }
        self.hold(drive, calendar);
    }

    /// Keeps the controller busy with `drive` from now until its blocks have passed.
    fn hold(&mut self, drive: usize, calendar: &mut Calendar) {
        let now = calendar.now();
        let unit = &mut self.units[drive];
        let Some(Active { ask, parts, done, .. }) = &mut unit.active else { return };
        // With overlapped seeks the arm is there already (`done` is start and seek), without them it still
        // has to go. The latency counts from then: where the platter stands depends on it.
        let there = now + (parts.all() - *done);
        unit.drive.pass(parts, there, (ask.block, ask.blocks), &mut self.stream);
        let held = parts.all() - *done;
        // The request entered with no demand; it is known only now, and the utilisation law needs it when it leaves.
        unit.roster.set_demand(ask.customer, parts.all());
        self.roster.set_demand(ask.customer, held);
        self.roster.busy.begin(now);
        (self.holder, self.last) = (Some(drive), drive);
        calendar.set(self.first_slot, now + held, Priority::Completion);
    }

    /// Ends the access whose blocks have passed.
    fn end(&mut self, calendar: &mut Calendar) -> Option<Done> {
        let now = calendar.now();
        let drive = self.holder.take()?;
        let unit = &mut self.units[drive];
        let Active { ask, parts, .. } = unit.active.take()?;
        for roster in [&mut unit.roster, &mut self.roster] {
            roster.leave(ask.customer, now);
            roster.busy.end(now);
        }
        if self.policy.pause > Span::ZERO {
            self.pausing = true;
            // Chosen now, as the interrupt handler would: what comes during the pause cannot overtake it.
            self.chosen = if self.policy.overlapped_seeks { None } else { self.choose() };
            calendar.set(self.first_slot, now + self.policy.pause, Priority::Completion);
        } else {
            self.begin(drive, calendar);
        }
        Some(Done {
            customer: ask.customer,
            drive: ask.drive,
            seek: parts.seek,
            access: parts.start + parts.seek + parts.latency,
            transfer: parts.transfer,
        })
    }

    /// Requests at the controller, those in service included.
    pub fn present(&self) -> u64 {
        self.roster.balance().present()
    }

    /// Whether the controller is at work.
    pub fn is_busy(&self) -> bool {
        self.holder.is_some()
    }

    /// Whether `drive` seeks or transfers.
    pub fn drive_busy(&self, drive: u32) -> bool {
        self.units[drive as usize].active.is_some_and(|active| active.since.is_some())
    }

    /// Time average of the requests at the controller, those in service included.
    pub fn mean_present(&self, now: Time) -> f64 {
        self.roster.balance().mean_present(now)
    }

    /// Share of the time in which the controller was at work.
    pub fn utilisation(&self, now: Time) -> f64 {
        self.roster.busy().mean(now)
    }

    /// Time that the controller was at work since statistics began [ns].
    pub fn busy_area(&self, now: Time) -> u128 {
        self.roster.busy().area(now)
    }

    /// Time that `drive` sought or transferred since statistics began [ns].
    pub fn drive_busy_area(&self, drive: u32, now: Time) -> u128 {
        self.units[drive as usize].roster.busy().area(now)
    }

    /// Where the time of the accesses of `drive` went: seeks begun, and transfers begun, since statistics began.
    pub fn accesses(&self, drive: u32) -> Accesses {
        self.units[drive as usize].drive.accesses
    }

    /// The controller's own time for the request that it is busy with [ns].
    fn received(&self, now: Time) -> u128 {
        let active = self.holder.and_then(|drive| self.units[drive].active);
        let since = active.and_then(|active| active.since);
        since.map_or(0, |since| u128::from(now.since(since).0))
    }

    /// Checks Little's law, flow balance and the utilisation law, of the controller and of each drive, to the
    /// nanosecond.
    ///
    /// # Errors
    /// One of them does not hold: a defect of the controller.
    pub fn check(&self, now: Time, laws: &mut Laws) -> Result<(), LawViolation> {
        self.roster.check(now, self.received(now), 0, self.roster.entries(), laws)?;
        // A request is in the books of the controller and of its drive: the two must know the same ones.
        let present = self.units.iter().map(|unit| unit.roster.balance().present()).sum();
        laws.equal("requests of all drives", self.roster.name(), self.present(), present)?;
        self.units
            .iter()
            .try_for_each(|unit| unit.roster.check(now, unit.received(now), 0, unit.roster.entries(), laws))
    }

    /// Statistics begin anew; requests stay.
    pub fn restart_statistics(&mut self, now: Time) {
        let received = self.received(now);
        self.roster.restart(now, received, 0);
        for unit in &mut self.units {
            let received = unit.received(now);
            unit.roster.restart(now, received, 0);
            unit.drive.accesses = Accesses::default();
        }
    }
}
