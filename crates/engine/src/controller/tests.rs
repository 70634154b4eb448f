//! Each policy against a look at all requests; orders and times by hand.

use proptest::prelude::*;

use super::*;
use crate::disk::{Rotation, Transfer};
use crate::random::{Component, Streams};

const MS: u64 = 1_000_000;

/// Two tracks of 20 blocks a cylinder; a seek of n cylinders takes 14.5 + n / 2 ms.
const DRIVE: Geometry = Geometry {
    cylinders: 256,
    tracks_per_cylinder: 2,
    blocks_per_track: 20,
    revolution: Span(25 * MS),
    start: Span::ZERO,
    seek: Span(15 * MS),
    seek_further: Span(MS / 2),
    seek_far: None,
    rotation: Rotation::Position,
    transfer: Transfer::Tracks,
};

/// The same where each latency is 10 ms and each block takes 1 ms.
const PLAIN: Geometry =
    Geometry { rotation: Rotation::Fixed(Span(10 * MS)), transfer: Transfer::Each(Span(MS)), ..DRIVE };

const SWEEPS: [Sweep; 3] = [Sweep::Combined, Sweep::Alternate, Sweep::Cylinder];

/// (arrival, drive, block, blocks)
type Coming = (u64, u32, u64, u64);

fn policies() -> impl Iterator<Item = Policy> {
    let disciplines = [QueueDiscipline::Fcfs, QueueDiscipline::Sstf, QueueDiscipline::Look];
    disciplines.into_iter().flat_map(|discipline| {
        SWEEPS.into_iter().flat_map(move |sweep| {
            [false, true].map(|overlapped_seeks| Policy {
                discipline,
                sweep,
                overlapped_seeks,
                pause: Span::ZERO,
            })
        })
    })
}

fn look(sweep: Sweep, overlapped_seeks: bool) -> Policy {
    Policy { discipline: QueueDiscipline::Look, sweep, overlapped_seeks, pause: Span::ZERO }
}

fn controller(drives: &[Geometry], policy: Policy, calendar: &Calendar) -> Controller {
    let stream = Streams { seed: 1, replication: 0 }.stream(Component("test"), 0);
    Controller::new("controller", drives, policy, calendar.near(0), 1, stream)
}

/// Requests in order of arrival, each of the customer of its number; whose is done when, and the controller then.
/// Laws are looked at after each event, with statistics that begin anew now and then.
fn run(drives: &[Geometry], policy: Policy, requests: &[Coming]) -> (Vec<(Done, u64)>, Controller) {
    let mut calendar = Calendar::new(Controller::slots(drives.len() as u32), 1);
    let mut controller = controller(drives, policy, &calendar);
    let (mut done, mut coming) = (Vec::new(), 0);
    calendar.set(calendar.far(0), Time(requests[0].0), Priority::Arrival);
    while let Some(slot) = calendar.next(Time::NEVER) {
        if calendar.far_index(slot).is_none() {
            done.extend(controller.due(slot, &mut calendar).map(|done| (done, calendar.now().0)));
        } else {
            let (_, drive, block, blocks) = requests[coming];
            controller.arrive(Ask { customer: coming as u32, drive, block, blocks }, &mut calendar);
            coming += 1;
            if let Some((time, ..)) = requests.get(coming) {
                calendar.set(calendar.far(0), Time(*time), Priority::Arrival);
            }
        }
        controller.check(calendar.now(), &mut Laws::default()).unwrap();
        if done.len() % 7 == 5 {
            controller.restart_statistics(calendar.now());
            controller.check(calendar.now(), &mut Laws::default()).unwrap();
        }
    }
    (done, controller)
}

fn served(drives: &[Geometry], policy: Policy, requests: &[Coming]) -> Vec<(u32, u64)> {
    run(drives, policy, requests).0.into_iter().map(|(done, time)| (done.customer, time)).collect()
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum End {
    Seek,
    Transfer,
    Pause,
}

/// The same by looking at every request and every drive each time.
struct Plainly<'a> {
    drives: &'a [Geometry],
    policy: Policy,
    requests: &'a [Coming],
    now: u64,
    /// Those that have come, in that order.
    waiting: Vec<usize>,
    arms: Vec<u64>,
    upwards: Vec<bool>,
    idle: Vec<bool>,
    last: usize,
    free: bool,
    pausing: bool,
    chosen: Option<usize>,
    ready: Vec<usize>,
    /// (time, order, whose, what of it)
    due: Vec<(u64, u64, usize, End)>,
    order: u64,
}

impl Plainly<'_> {
    fn drive(&self, who: usize) -> usize {
        self.requests[who].1 as usize
    }

    fn own_queues(&self) -> bool {
        self.policy.overlapped_seeks || self.policy.sweep == Sweep::Alternate
    }

    fn place(&self, drive: usize, cylinder: u64) -> u64 {
        let combined = !self.own_queues() && self.policy.sweep == Sweep::Combined;
        let before: u64 = self.drives[..drive].iter().map(|geometry| geometry.cylinders).sum();
        if combined { before + cylinder } else { cylinder }
    }

    fn choose(&mut self, queue: usize) -> Option<usize> {
        let own = self.own_queues();
        let here: Vec<usize> =
            self.waiting.iter().copied().filter(|who| !own || self.drive(*who) == queue).collect();
        let at = if own { queue } else { self.last };
        let arm = self.place(at, self.arms[at]);
        let place = |who: usize| {
            let drive = self.drive(who);
            self.place(drive, self.drives[drive].cylinder(self.requests[who].2))
        };
        let up = self.upwards[queue];
        let ahead = |who: usize| if up { place(who) >= arm } else { place(who) <= arm };
        let chosen = match self.policy.discipline {
            QueueDiscipline::Fcfs => here.first().copied(),
            QueueDiscipline::Sstf => here.into_iter().min_by_key(|who| (place(*who).abs_diff(arm), *who)),
            QueueDiscipline::Look => {
                here.into_iter().min_by_key(|who| (!ahead(*who), place(*who).abs_diff(arm), *who))
            }
        }?;
        if place(chosen) != arm {
            self.upwards[queue] = place(chosen) > arm;
        }
        self.waiting.retain(|who| *who != chosen);
        Some(chosen)
    }

    fn at(&mut self, time: u64, who: usize, end: End) {
        self.order += 1;
        self.due.push((time, self.order, who, end));
    }

    /// Returns how long the arm takes.
    fn move_arm(&mut self, who: usize) -> u64 {
        let (drive, block) = (self.drive(who), self.requests[who].2);
        let geometry = &self.drives[drive];
        let to = geometry.cylinder(block);
        let far = to.abs_diff(self.arms[drive]);
        self.arms[drive] = to;
        self.idle[drive] = false;
        geometry.start.0 + geometry.seek_time(far).0
    }

    /// The blocks pass, from `now` on.
    fn pass(&mut self, who: usize, now: u64) {
        let (_, drive, block, blocks) = self.requests[who];
        let geometry = self.drives[drive as usize];
        let turn = geometry.revolution.0;
        let begins = turn * (block % geometry.blocks_per_track) / geometry.blocks_per_track;
        let latency = (begins + turn - now % turn) % turn;
        self.arms[drive as usize] = geometry.cylinder(block + blocks - 1);
        (self.free, self.last) = (false, drive as usize);
        self.at(now + latency + geometry.transfer_time(block, blocks).0, who, End::Transfer);
    }

    fn in_turn(&mut self) -> Option<usize> {
        let (last, turns) = (self.last, if self.own_queues() { self.drives.len() } else { 1 });
        (1..=turns).find_map(|step| self.choose((last + step) % turns))
    }

    fn begin(&mut self) {
        let drives = self.drives.len();
        if self.pausing {
            return;
        }
        if !self.policy.overlapped_seeks {
            if !self.free {
                return;
            }
            if let Some(who) = self.chosen.take().or_else(|| self.in_turn()) {
                let seek = self.move_arm(who);
                self.pass(who, self.now + seek);
            }
            return;
        }
        for drive in 0..drives {
            if self.idle[drive] {
                if let Some(who) = self.choose(drive) {
                    match self.move_arm(who) {
                        0 => self.ready.push(who),
                        seek => self.at(self.now + seek, who, End::Seek),
                    }
                }
            }
        }
        if self.free && !self.ready.is_empty() {
            let who = self.ready.remove(0);
            self.pass(who, self.now);
        }
    }

    fn serve(&mut self) -> Vec<(u32, u64)> {
        let (mut done, mut coming) = (Vec::new(), 0);
        loop {
            let first = self.due.iter().copied().min();
            let arrival = self.requests.get(coming).map(|request| request.0);
            match (first, arrival) {
                (None, None) => return done,
                (Some(event), arrival) if arrival.is_none_or(|arrival| event.0 <= arrival) => {
                    self.due.retain(|other| *other != event);
                    let (time, _, who, end) = event;
                    self.now = time;
                    match end {
                        End::Seek => self.ready.push(who),
                        End::Pause => self.pausing = false,
                        End::Transfer => {
                            let drive = self.drive(who);
                            (self.free, self.idle[drive]) = (true, true);
                            done.push((who as u32, time));
                            self.pausing = self.policy.pause > Span::ZERO;
                            if self.pausing {
                                self.chosen =
                                    if self.policy.overlapped_seeks { None } else { self.in_turn() };
                                self.at(time + self.policy.pause.0, who, End::Pause);
                            }
                        }
                    }
                }
                (_, arrival) => {
                    self.now = arrival.unwrap();
                    self.waiting.push(coming);
                    coming += 1;
                }
            }
            self.begin();
        }
    }
}

fn plainly(drives: &[Geometry], policy: Policy, requests: &[Coming]) -> Vec<(u32, u64)> {
    let plainly = Plainly {
        drives,
        policy,
        requests,
        now: 0,
        waiting: Vec::new(),
        arms: vec![0; drives.len()],
        upwards: vec![true; drives.len()],
        idle: vec![true; drives.len()],
        last: 0,
        free: true,
        pausing: false,
        chosen: None,
        ready: Vec::new(),
        due: Vec::new(),
        order: 0,
    };
    { plainly }.serve()
}

proptest! {
    #[test]
    fn each_policy_serves_whom_a_look_at_all_would_choose(
        gaps in prop::collection::vec((0u64..40 * MS, 0u32..3, 0u64..4_000, 1u64..100), 1..30),
        together in any::<bool>(),
        start in prop_oneof![Just(0), 0..5 * MS],
        pause in prop_oneof![Just(0), 0..5 * MS],
    ) {
        let geometry = Geometry { start: Span(start), ..DRIVE };
        let drives = [geometry, Geometry { cylinders: 110, ..geometry }, geometry];
        let mut now = 0;
        let requests: Vec<Coming> = gaps.into_iter().map(|(gap, drive, block, blocks)| {
            now += if together { 0 } else { gap };
            (now, drive, block, blocks)
        }).collect();
        for policy in policies() {
            let policy = Policy { pause: Span(pause), ..policy };
            let served = served(&drives, policy, &requests);
            prop_assert_eq!(served, plainly(&drives, policy, &requests), "{:?}", policy);
        }
    }

    /// What requests were told their time went to is what the drives were busy with.
    #[test]
    fn busy_time_is_what_the_requests_had(
        requests in prop::collection::vec((Just(0u64), 0u32..2, 0u64..9_000, 1u64..100), 1..4),
        overlapped_seeks in any::<bool>(),
    ) {
        let (done, controller) = run(&[DRIVE; 2], look(Sweep::Combined, overlapped_seeks), &requests);
        let end = Time(done.iter().map(|(_, time)| *time).max().unwrap());
        for drive in [0, 1] {
            let mine = done.iter().filter(|(done, _)| done.drive == drive);
            let spans: u64 = mine.clone().map(|(done, _)| done.access.0 + done.transfer.0).sum();
            prop_assert_eq!(controller.drive_busy_area(drive, end), u128::from(spans));
            prop_assert_eq!(controller.accesses(drive).count, mine.count() as u64);
        }
        prop_assert!(controller.busy_area(end) <= u128::from(end.0));
        prop_assert_eq!((controller.present(), controller.is_busy()), (0, false));
    }
}

/// Cylinders of four requests that come while the first, for drive 0 at cylinder 50, is served.
const QUEUE: [Coming; 5] =
    [(0, 0, 50 * 40, 1), (1, 1, 60 * 40, 1), (2, 0, 40 * 40, 1), (3, 1, 10 * 40, 1), (4, 0, 70 * 40, 1)];

fn order(sweep: Sweep) -> Vec<u32> {
    served(&[PLAIN; 2], look(sweep, false), &QUEUE).into_iter().map(|(who, _)| who).collect()
}

#[test]
fn look_goes_along_its_axis() {
    // Up drive 0, up drive 1 (10 before 60), and back to cylinder 40 of drive 0.
    assert_eq!(order(Sweep::Combined), [0, 4, 3, 1, 2]);
    // Drive 1 goes up from 0; drive 0 from 50 up to 70, then back.
    assert_eq!(order(Sweep::Alternate), [0, 3, 4, 1, 2]);
    // 50, 60, 70, and back: 40, 10.
    assert_eq!(order(Sweep::Cylinder), [0, 1, 4, 2, 3]);
}

/// Two requests at once, 11 cylinders (20 ms) away on each of two drives: 20 + 10 + 1 ms one after the other, or
/// both seeks together, then 11 ms each.
#[test]
fn overlapped_seeks_save_the_second_seek() {
    let requests = [(0, 0, 440, 1), (0, 1, 440, 1)];
    for sweep in SWEEPS {
        let (done, alone) = run(&[PLAIN; 2], look(sweep, false), &requests);
        assert_eq!(done.iter().map(|(_, time)| time / MS).collect::<Vec<_>>(), [31, 62]);
        assert_eq!(alone.utilisation(Time(62 * MS)), 1.0);
        let (done, together) = run(&[PLAIN; 2], look(sweep, true), &requests);
        assert_eq!(done.iter().map(|(_, time)| time / MS).collect::<Vec<_>>(), [31, 42]);
        let end = Time(42 * MS);
        assert_eq!(together.utilisation(end), 22.0 / 42.0);
        assert_eq!(together.mean_present(end), (31.0 + 42.0) / 42.0);
        // The second waits for 11 ms with its arm there, and is not busy then.
        assert_eq!(together.drive_busy_area(1, end), u128::from(31 * MS));
        let parts =
            Done { customer: 1, drive: 1, seek: Span(20 * MS), access: Span(30 * MS), transfer: Span(MS) };
        assert_eq!(done[1].0, parts);
    }
}

/// A pause of 4 ms after each transfer: nothing begins in it, seeks of the other drive included, and the controller
/// is not busy. Each access takes 20 + 10 + 1 ms.
#[test]
fn the_controller_pauses_after_a_transfer() {
    let requests = [(0, 0, 440, 1), (0, 1, 440, 1), (33 * MS, 0, 440, 1)];
    let pausing = |overlapped| Policy { pause: Span(4 * MS), ..look(Sweep::Combined, overlapped) };
    let (done, controller) = run(&[PLAIN; 2], pausing(false), &requests);
    // The third comes in the pause, in which the second has been chosen: it is where the arm is, 11 ms.
    assert_eq!(done.iter().map(|(_, time)| time / MS).collect::<Vec<_>>(), [31, 66, 81]);
    assert_eq!(controller.utilisation(Time(81 * MS)), 73.0 / 81.0);
    let (done, _) = run(&[PLAIN; 2], pausing(true), &requests);
    // Both seek at once; the second passes from 35 on, and the third from 50.
    assert_eq!(done.iter().map(|(_, time)| time / MS).collect::<Vec<_>>(), [31, 46, 61]);
}

#[test]
fn a_drive_is_busy_while_it_seeks_or_transfers() {
    let mut calendar = Calendar::new(Controller::slots(2), 0);
    let mut controller = controller(&[PLAIN; 2], look(Sweep::Alternate, true), &calendar);
    for drive in [0, 1] {
        controller.arrive(Ask { customer: drive, drive, block: 440, blocks: 1 }, &mut calendar);
    }
    let busy =
        |controller: &Controller| [controller.is_busy(), controller.drive_busy(0), controller.drive_busy(1)];
    assert_eq!(busy(&controller), [false, true, true], "both seek");
    for (slot, expected) in [
        (1, [true, true, true]),
        (2, [true, true, false]),
        (0, [true, false, true]),
        (0, [false, false, false]),
    ] {
        assert_eq!(calendar.next(Time::NEVER), Some(calendar.near(slot)));
        controller.due(Slot(slot), &mut calendar);
        assert_eq!(busy(&controller), expected);
    }
    let accesses = controller.accesses(1);
    assert_eq!((accesses.count, accesses.moved, accesses.latency), (1, 1, u128::from(10 * MS)));
}

#[test]
fn an_arm_that_is_there_does_not_move() {
    let (_, controller) = run(&[PLAIN], look(Sweep::Combined, false), &[(0, 0, 3, 1), (0, 0, 45, 1)]);
    assert_eq!((controller.accesses(0).count, controller.accesses(0).moved), (2, 1));
}

#[test]
fn one_drive_is_a_disk() {
    use crate::disk::{Disk, Request};
    let requests: Vec<Coming> = (0..60).map(|i| (i * 30 * MS, 0, i * 7_919 % 10_000, 1 + i % 50)).collect();
    for discipline in [QueueDiscipline::Fcfs, QueueDiscipline::Sstf, QueueDiscipline::Look] {
        let mut calendar = Calendar::new(1, requests.len() as u32);
        let stream = Streams { seed: 1, replication: 0 }.stream(Component("test"), 0);
        let mut disk = Disk::new(DRIVE, discipline, Roster::new("disk", 60), calendar.near(0), stream);
        for (index, request) in requests.iter().enumerate() {
            calendar.set(calendar.far(index as u32), Time(request.0), Priority::Arrival);
        }
        let mut done = Vec::new();
        while let Some(slot) = calendar.next(Time::NEVER) {
            match calendar.far_index(slot) {
                None => done.extend(disk.due(&mut calendar).map(|who| (who, calendar.now().0))),
                Some(customer) => {
                    let (_, _, block, blocks) = requests[customer as usize];
                    disk.arrive(Request { customer, block, blocks }, &mut calendar);
                }
            }
        }
        let policy =
            Policy { discipline, sweep: Sweep::Combined, overlapped_seeks: false, pause: Span::ZERO };
        assert_eq!(served(&[DRIVE], policy, &requests), done);
    }
}
