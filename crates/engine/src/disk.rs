//! Disks and drums: one arm (or none), a platter that turns, and a queue.
//!
//! A request names blocks by address. Its service is a fixed time + seek + latency + transfer, each known when the
//! arm begins on it. A drum is a disk of one cylinder: it never seeks.

use std::collections::BTreeMap;

use crate::balance::Imbalance;
use crate::calendar::{Calendar, Priority, Slot};
use crate::random::Stream;
use crate::station::{Roster, Visit};
use crate::time::{Span, Time};

/// What a disk is, and how long it takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Geometry {
    pub cylinders: u64,
    pub tracks_per_cylinder: u64,
    pub blocks_per_track: u64,
    pub revolution: Span,
    /// Before any access, near or far.
    pub start: Span,
    /// Seek to the next cylinder.
    pub seek: Span,
    /// More for each further cylinder.
    pub seek_further: Span,
    pub rotation: Rotation,
    pub transfer: Transfer,
}

/// When the block comes under the head.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rotation {
    /// By where the platter is at that time; block 0 of a track passes at time 0.
    Position,
    /// Anywhere, uniformly.
    Random,
    /// Always after this.
    Fixed(Span),
}

/// How long blocks take to pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transfer {
    /// A revolution for a track of them.
    Tracks,
    /// This each: blocks of several tracks, or a channel that takes part of each revolution.
    Each(Span),
}

/// Who is next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueueDiscipline {
    Fcfs,
    /// The nearest cylinder (shortest seek time first); of equally near ones, the first to come.
    Sstf,
    /// On in one direction as long as there are requests, then back.
    Look,
}

/// Blocks to be read or written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// Whose it is; no two requests at a disk at one time have the same.
    pub customer: u32,
    /// Address of the first block.
    pub block: u64,
    pub blocks: u64,
}

/// Where the time of all accesses went [ns].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Accesses {
    pub count: u64,
    pub start: u128,
    pub seek: u128,
    pub latency: u128,
    pub transfer: u128,
}

impl Geometry {
    pub fn blocks(&self) -> u64 {
        self.cylinders * self.blocks_per_cylinder()
    }

    fn blocks_per_cylinder(&self) -> u64 {
        self.tracks_per_cylinder * self.blocks_per_track
    }

    pub fn cylinder(&self, block: u64) -> u64 {
        block / self.blocks_per_cylinder()
    }

    pub fn seek_time(&self, cylinders: u64) -> Span {
        match cylinders {
            0 => Span::ZERO,
            _ => Span(self.seek.0 + (cylinders - 1) * self.seek_further.0),
        }
    }

    /// From `now` until `block` begins to pass under the head.
    fn latency(&self, now: Time, block: u64, stream: &mut Stream) -> Span {
        match self.rotation {
            Rotation::Fixed(latency) => latency,
            Rotation::Random => Span(stream.below(self.revolution.0)),
            Rotation::Position => {
                let begins = self.revolution.0 * (block % self.blocks_per_track) / self.blocks_per_track;
                let angle = now.0 % self.revolution.0;
                Span((begins + self.revolution.0 - angle) % self.revolution.0)
            }
        }
    }

    /// The blocks themselves, and a step of the arm for each boundary of cylinders among them.
    pub fn transfer_time(&self, block: u64, blocks: u64) -> Span {
        let crossings = self.cylinder(block + blocks.max(1) - 1) - self.cylinder(block);
        let passing = match self.transfer {
            Transfer::Tracks => self.revolution.0 * blocks / self.blocks_per_track,
            Transfer::Each(block) => block.0 * blocks,
        };
        Span(passing + crossings * self.seek.0)
    }
}

/// A disk or drum with its queue.
#[derive(Clone, Debug)]
pub struct Disk {
    geometry: Geometry,
    discipline: QueueDiscipline,
    roster: Roster,
    slot: Slot,
    stream: Stream,
    /// By cylinder (first come first served: 0) and order of coming.
    waiting: BTreeMap<(u64, u64), Request>,
    arrivals: u64,
    serving: Option<Request>,
    started: Time,
    /// Where the arm stands, or is going to.
    arm: u64,
    upwards: bool,
    accesses: Accesses,
}

impl Disk {
    pub fn new(
        geometry: Geometry,
        discipline: QueueDiscipline,
        roster: Roster,
        slot: Slot,
        stream: Stream,
    ) -> Disk {
        Disk {
            geometry,
            discipline,
            roster,
            slot,
            stream,
            waiting: BTreeMap::new(),
            arrivals: 0,
            serving: None,
            started: Time::ZERO,
            arm: 0,
            upwards: true,
            accesses: Accesses::default(),
        }
    }

    /// A request comes, at `calendar.now()`; an idle disk begins on it.
    ///
    /// # Panics
    /// As [`Disk::ask`].
    pub fn arrive(&mut self, request: Request, calendar: &mut Calendar) {
        self.ask(request, calendar.now());
        self.begin(calendar);
    }

    /// What was due in the disk's slot happens, and the next request is begun: returns whose is done.
    pub fn due(&mut self, calendar: &mut Calendar) -> Option<u32> {
        let done = self.end(calendar.now())?;
        self.begin(calendar);
        Some(done)
    }

    /// A request comes, and waits even for an idle disk: for a system that begins each access itself, by
    /// [`Disk::begin`], and takes its end by [`Disk::end`].
    ///
    /// # Panics
    /// In debug builds, when it reaches beyond the last block.
    pub fn ask(&mut self, request: Request, now: Time) {
        debug_assert!(
            request.block + request.blocks <= self.geometry.blocks(),
            "{request:?} is beyond the disk"
        );
        // How long it takes is known when the arm begins on it.
        self.roster.enter(Visit { customer: request.customer, demand: Span::ZERO, priority: 0 }, now);
        self.arrivals += 1;
        let cylinder = match self.discipline {
            QueueDiscipline::Fcfs => 0,
            _ => self.geometry.cylinder(request.block),
        };
        self.waiting.insert((cylinder, self.arrivals), request);
    }

    /// An idle disk begins on the next request, if there is one: returns whose.
    pub fn begin(&mut self, calendar: &mut Calendar) -> Option<u32> {
        if self.serving.is_some() {
            return None;
        }
        let request = self.next()?;
        self.roster.busy.begin(calendar.now());
        self.serve(request, calendar);
        Some(request.customer)
    }

    /// The access that was due in the disk's slot ends, and the disk is idle: returns whose it was.
    pub fn end(&mut self, now: Time) -> Option<u32> {
        let done = self.serving.take()?;
        self.roster.leave(done.customer, now);
        self.roster.busy.end(now);
        Some(done.customer)
    }

    fn serve(&mut self, request: Request, calendar: &mut Calendar) {
        let now = calendar.now();
        let cylinder = self.geometry.cylinder(request.block);
        if cylinder != self.arm {
            self.upwards = cylinder > self.arm;
        }
        let start = self.geometry.start;
        let seek = self.geometry.seek_time(cylinder.abs_diff(self.arm));
        let latency = self.geometry.latency(now + start + seek, request.block, &mut self.stream);
        let transfer = self.geometry.transfer_time(request.block, request.blocks);
        let all = start + seek + latency + transfer;
        self.accesses.count += 1;
        self.accesses.start += u128::from(start.0);
        self.accesses.seek += u128::from(seek.0);
        self.accesses.latency += u128::from(latency.0);
        self.accesses.transfer += u128::from(transfer.0);
        self.arm = self.geometry.cylinder(request.block + request.blocks.max(1) - 1);
        self.started = now;
        self.roster.set_demand(request.customer, all);
        self.serving = Some(request);
        calendar.set(self.slot, now + all, Priority::Completion);
    }

    fn next(&mut self) -> Option<Request> {
        let key = match self.discipline {
            QueueDiscipline::Fcfs => self.above(0),
            QueueDiscipline::Sstf => [self.above(self.arm), self.below(self.arm)]
                .into_iter()
                .flatten()
                .min_by_key(|(cylinder, order)| (cylinder.abs_diff(self.arm), *order)),
            QueueDiscipline::Look if self.upwards => self.above(self.arm).or(self.below(self.arm)),
            QueueDiscipline::Look => self.below(self.arm).or(self.above(self.arm)),
        }?;
        self.waiting.remove(&key)
    }

    /// The first to come of the nearest cylinder at or above `cylinder`.
    fn above(&self, cylinder: u64) -> Option<(u64, u64)> {
        self.waiting.range((cylinder, 0)..).next().map(|(key, _)| *key)
    }

    /// The first to come of the nearest cylinder at or below `cylinder`.
    fn below(&self, cylinder: u64) -> Option<(u64, u64)> {
        let ((nearest, _), _) = self.waiting.range(..=(cylinder, u64::MAX)).next_back()?;
        self.above(*nearest)
    }

    pub fn geometry(&self) -> &Geometry {
        &self.geometry
    }

    pub fn roster(&self) -> &Roster {
        &self.roster
    }

    /// The cylinder where the arm stands, or is going to.
    pub fn arm(&self) -> u64 {
        self.arm
    }

    /// The address of any block, uniformly, drawn from the disk's own stream.
    pub fn anywhere(&mut self) -> u64 {
        self.stream.below(self.geometry.blocks())
    }

    /// Where the time of the accesses begun since statistics began went.
    pub fn accesses(&self) -> Accesses {
        self.accesses
    }

    fn received(&self, now: Time) -> u128 {
        self.serving.map_or(0, |_| u128::from(now.since(self.started).0))
    }

    /// Little's law, flow balance and the utilisation law, to the nanosecond.
    ///
    /// # Errors
    /// One of them does not hold: a defect of the disk.
    pub fn check(&self, now: Time) -> Result<(), Imbalance> {
        self.roster.check(now, self.received(now), 0)
    }

    /// Statistics begin anew; requests stay.
    pub fn restart_statistics(&mut self, now: Time) {
        let received = self.received(now);
        self.roster.restart(now, received, 0);
        self.accesses = Accesses::default();
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::random::{Component, Streams};

    const RL01: Geometry = Geometry {
        cylinders: 256,
        tracks_per_cylinder: 2,
        blocks_per_track: 20,
        revolution: Span(25_000_000),
        start: Span::ZERO,
        seek: Span(15_000_000),
        seek_further: Span(500_000),
        rotation: Rotation::Position,
        transfer: Transfer::Tracks,
    };

    fn stream() -> Stream {
        Streams { seed: 1, replication: 0 }.stream(Component("test"), 0)
    }

    fn disk(geometry: Geometry, discipline: QueueDiscipline, calendar: &Calendar) -> Disk {
        Disk::new(geometry, discipline, Roster::new("disk", 1), calendar.near(0), stream())
    }

    /// Requests (arrival, block, blocks), in order of arrival; returns (who, completion) in order of completion.
    fn run(geometry: Geometry, discipline: QueueDiscipline, requests: &[(u64, u64, u64)]) -> Vec<(u32, u64)> {
        let mut calendar = Calendar::new(1, 1);
        let mut disk = disk(geometry, discipline, &calendar);
        let (mut done, mut coming) = (Vec::new(), 0);
        calendar.set(calendar.far(0), Time(requests[0].0), Priority::Arrival);
        while let Some(slot) = calendar.next(Time::NEVER) {
            if calendar.far_index(slot).is_none() {
                done.extend(disk.due(&mut calendar).map(|customer| (customer, calendar.now().0)));
            } else {
                let (_, block, blocks) = requests[coming];
                disk.arrive(Request { customer: coming as u32, block, blocks }, &mut calendar);
                coming += 1;
                if let Some((time, ..)) = requests.get(coming) {
                    calendar.set(calendar.far(0), Time(*time), Priority::Arrival);
                }
            }
            disk.check(calendar.now()).unwrap();
        }
        done
    }

    /// The same by looking at every request each time.
    fn plainly(
        geometry: Geometry,
        discipline: QueueDiscipline,
        requests: &[(u64, u64, u64)],
    ) -> Vec<(u32, u64)> {
        let (mut now, mut arm, mut upwards) = (0, 0, true);
        let mut left: Vec<usize> = (0..requests.len()).collect();
        let mut done = Vec::new();
        while !left.is_empty() {
            now = now.max(requests[left[0]].0);
            // Who comes at the very end of a service comes after the choice, but for an idle disk.
            let mut here: Vec<usize> = left.iter().copied().filter(|i| requests[*i].0 < now).collect();
            if here.is_empty() {
                here.push(left[0]);
            }
            let cylinder = |i: &usize| geometry.cylinder(requests[*i].1);
            let far = |i: &usize| cylinder(i).abs_diff(arm);
            let chosen = match discipline {
                QueueDiscipline::Fcfs => here[0],
                QueueDiscipline::Sstf => *here.iter().min_by_key(|i| (far(i), **i)).unwrap(),
                QueueDiscipline::Look => {
                    let ahead = |i: &usize| if upwards { cylinder(i) >= arm } else { cylinder(i) <= arm };
                    *here.iter().min_by_key(|i| (!ahead(i), far(i), **i)).unwrap()
                }
            };
            left.retain(|i| *i != chosen);
            let (_, block, blocks) = requests[chosen];
            let to = cylinder(&chosen);
            if to != arm {
                upwards = to > arm;
            }
            now += geometry.start.0 + geometry.seek_time(to.abs_diff(arm)).0;
            // The platter turns until the block begins.
            let begins =
                geometry.revolution.0 * (block % geometry.blocks_per_track) / geometry.blocks_per_track;
            now += (begins + geometry.revolution.0 - now % geometry.revolution.0) % geometry.revolution.0;
            now += geometry.transfer_time(block, blocks).0;
            arm = geometry.cylinder(block + blocks - 1);
            done.push((chosen as u32, now));
        }
        done
    }

    proptest! {
        #[test]
        fn each_discipline_serves_whom_a_look_at_all_would_choose(
            gaps in prop::collection::vec((0u64..60_000_000, 0u64..10_000, 1u64..100), 1..30),
            start in 0u64..10_000_000,
        ) {
            let geometry = Geometry { start: Span(start), ..RL01 };
            let mut now = 0;
            let requests: Vec<_> = gaps.into_iter().map(|(gap, block, blocks)| {
                now += gap;
                (now, block, blocks)
            }).collect();
            for discipline in [QueueDiscipline::Fcfs, QueueDiscipline::Sstf, QueueDiscipline::Look] {
                let served = run(geometry, discipline, &requests);
                prop_assert_eq!(served, plainly(geometry, discipline, &requests));
            }
        }
    }

    /// Table I of Brachman (1983): 2.35 us a byte within a revolution, one step of the arm a cylinder of 40 blocks.
    #[test]
    fn transfers_cross_cylinders() {
        assert_eq!(RL01.transfer_time(0, 40), Span(50_000_000));
        assert_eq!(RL01.transfer_time(1, 40), Span(65_000_000));
        assert_eq!(RL01.seek_time(1), Span(15_000_000));
        assert_eq!(RL01.seek_time(3), Span(16_000_000));
    }

    /// H0: random latency is uniform on a revolution; the mean of n within 5 standard errors: 6e-7.
    #[test]
    fn random_latency_is_half_a_revolution_in_the_mean() {
        let drum = Geometry { cylinders: 1, rotation: Rotation::Random, ..RL01 };
        let requests: Vec<_> = (0..20_000).map(|i| (i * 100_000_000, 7, 1)).collect();
        let done = run(drum, QueueDiscipline::Fcfs, &requests);
        let n = done.len() as f64;
        let waited: f64 = done.iter().map(|(who, end)| (end - requests[*who as usize].0) as f64).sum();
        let latency = waited / n - drum.transfer_time(7, 1).0 as f64;
        let error = 25e6 / (12.0 * n).sqrt();
        assert!((latency - 12.5e6).abs() < 5.0 * error, "{latency}");
    }

    #[test]
    fn a_system_may_begin_each_access_itself() {
        let mut calendar = Calendar::new(1, 1);
        let block = Transfer::Each(Span(60_000_000));
        let fixed = Geometry {
            start: Span(2_000_000),
            rotation: Rotation::Fixed(Span::ZERO),
            transfer: block,
            ..RL01
        };
        let mut disk = disk(fixed, QueueDiscipline::Fcfs, &calendar);
        assert_eq!(disk.begin(&mut calendar), None);
        for (customer, block) in [(7, 40), (8, 0)] {
            disk.ask(Request { customer, block, blocks: 1 }, Time::ZERO);
        }
        assert_eq!((disk.arm(), calendar.next(Time::NEVER)), (0, None), "nothing has begun");
        assert_eq!((disk.begin(&mut calendar), disk.begin(&mut calendar)), (Some(7), None));
        calendar.next(Time::NEVER);
        assert_eq!(calendar.now(), Time(2_000_000 + 15_000_000 + 60_000_000));
        assert_eq!((disk.end(calendar.now()), disk.end(calendar.now())), (Some(7), None));
        assert_eq!((disk.arm(), disk.roster().busy().servers()), (1, 0), "8 has not begun");
        disk.check(calendar.now()).unwrap();
        assert_eq!(disk.begin(&mut calendar), Some(8));
        assert!(disk.anywhere() < fixed.blocks());
    }

    #[test]
    fn statistics_begin_anew() {
        let mut calendar = Calendar::new(1, 1);
        let fixed = Geometry { rotation: Rotation::Fixed(Span(12_500_000)), ..RL01 };
        let mut disk = disk(fixed, QueueDiscipline::Look, &calendar);
        disk.arrive(Request { customer: 0, block: 400, blocks: 2 }, &mut calendar);
        disk.restart_statistics(Time(1_000_000));
        assert_eq!(calendar.next(Time::NEVER), Some(calendar.near(0)));
        assert_eq!(disk.due(&mut calendar), Some(0));
        assert_eq!(calendar.now(), Time(15_000_000 + 9 * 500_000 + 12_500_000 + 2_500_000));
        disk.check(calendar.now()).unwrap();
        assert_eq!((disk.accesses().count, disk.arm()), (0, 10));
    }
}
