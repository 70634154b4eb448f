//! Each discipline against a look at all requests; times by hand.

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
    seek_far: None,
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
        disk.check(calendar.now(), &mut Laws::default()).unwrap();
    }
    done
}

/// The same by looking at every request each time.
fn plainly(geometry: Geometry, discipline: QueueDiscipline, requests: &[(u64, u64, u64)]) -> Vec<(u32, u64)> {
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
        let begins = geometry.revolution.0 * (block % geometry.blocks_per_track) / geometry.blocks_per_track;
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
    let fixed =
        Geometry { start: Span(2_000_000), rotation: Rotation::Fixed(Span::ZERO), transfer: block, ..RL01 };
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
    disk.check(calendar.now(), &mut Laws::default()).unwrap();
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
    disk.check(calendar.now(), &mut Laws::default()).unwrap();
    assert_eq!((disk.accesses().count, disk.arm()), (0, 10));
}

#[test]
fn the_next_cylinder_comes_round() {
    let waits = Geometry { transfer: Transfer::Revolutions, ..RL01 };
    assert_eq!(waits.transfer_time(0, 40), RL01.transfer_time(0, 40));
    // 15 ms for the step of the arm, and 10 ms more until the first block passes.
    assert_eq!(waits.transfer_time(39, 2), Span(2_500_000 + 25_000_000));
    assert_eq!(waits.transfer_time(39, 42), RL01.transfer_time(39, 42) + Span(2 * 10_000_000));
}
