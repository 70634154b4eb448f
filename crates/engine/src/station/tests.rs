//! Each discipline against a simulation of the plainest kind, and every law at any time.

use proptest::prelude::*;

use super::*;
use crate::calendar::Priority;

/// (arrival, demand, priority), in order of arrival.
type Arrivals = Vec<(u64, u64, u32)>;

/// What a station is built by, for its tests.
type Build = fn(Roster, Slot) -> AnyStation;

fn arrivals() -> impl Strategy<Value = Arrivals> {
    prop::collection::vec((0u64..40, 0u64..60, 0u32..3), 1..14).prop_map(|gaps| {
        gaps.into_iter()
            .scan(0, |now, (gap, demand, priority)| {
                *now += gap;
                Some((*now, demand, priority))
            })
            .collect()
    })
}

const SLICE: Span = Span(7);
const SWITCH: Span = Span(2);
const LEVELS: [Span; 3] = [Span(3), Span(6), Span(12)];

/// Processors with switching, which orders without slices leave out.
fn processors(roster: Roster, slot: Slot, servers: usize, order: Order, switching: Span) -> AnyStation {
    AnyStation::Processors(Processors::new(roster, slot, servers, order, switching))
}

const BUILDS: [(&str, Build); 20] = [
    ("fcfs", |roster, slot| AnyStation::Fcfs(Fcfs::new(roster, slot))),
    ("two servers", |roster, slot| AnyStation::Servers(Servers::new(roster, slot, 2))),
    ("preemptive", |roster, slot| AnyStation::PreemptivePriority(PreemptivePriority::new(roster, slot))),
    ("round robin", |roster, slot| AnyStation::RoundRobin(RoundRobin::new(roster, slot, SLICE, SWITCH))),
    ("round robin, 1 ns", |roster, slot| {
        AnyStation::RoundRobin(RoundRobin::new(roster, slot, Span(1), Span::ZERO))
    }),
    ("round robin, no switching", |roster, slot| {
        AnyStation::RoundRobin(RoundRobin::new(roster, slot, SLICE, Span::ZERO))
    }),
    ("feedback", |roster, slot| AnyStation::Feedback(Feedback::new(roster, slot, &LEVELS, SWITCH))),
    ("least attained", |roster, slot| AnyStation::LeastAttained(LeastAttained::new(roster, slot))),
    ("processor sharing", |roster, slot| {
        AnyStation::ProcessorSharing(ProcessorSharing::new(roster, slot, 1))
    }),
    ("processor sharing, 3 servers", |roster, slot| {
        AnyStation::ProcessorSharing(ProcessorSharing::new(roster, slot, 3))
    }),
    ("shortest remaining", |roster, slot| {
        AnyStation::ShortestRemaining(ShortestRemaining::new(roster, slot))
    }),
    ("delay", |roster, _| AnyStation::Delay(Delay::new(roster))),
    ("1 in turn", |roster, slot| processors(roster, slot, 1, Order::RoundRobin(SLICE), SWITCH)),
    ("1 by level", |roster, slot| processors(roster, slot, 1, Order::Feedback(LEVELS.into()), SWITCH)),
    ("1 by priority", |roster, slot| processors(roster, slot, 1, Order::Priority, SWITCH)),
    ("1 by remainder", |roster, slot| processors(roster, slot, 1, Order::ShortestRemaining, SWITCH)),
    ("3 in turn", |roster, slot| processors(roster, slot, 3, Order::RoundRobin(SLICE), SWITCH)),
    ("3 by level", |roster, slot| processors(roster, slot, 3, Order::Feedback(LEVELS.into()), SWITCH)),
    ("3 by priority", |roster, slot| processors(roster, slot, 3, Order::Priority, SWITCH)),
    ("3 by remainder", |roster, slot| processors(roster, slot, 3, Order::ShortestRemaining, SWITCH)),
];

fn build(name: &str) -> Build {
    BUILDS.iter().find(|(known, _)| *known == name).unwrap().1
}

/// Runs `arrivals` through a station to `end`, with statistics from `warm_up` on and every law checked at the
/// end. Returns departures by customer.
fn departures(build: Build, arrivals: &Arrivals, warm_up: u64, end: u64) -> Vec<Option<u64>> {
    let source = arrivals.len() as u32;
    let mut calendar = Calendar::new(1, source + 1);
    let mut station = build(Roster::new("test", 1), calendar.near(0));
    let mut gone = vec![None; arrivals.len()];
    let mut next = 0;
    for (stop, last) in [(warm_up, false), (end, true)] {
        if next == 0 {
            calendar.set(calendar.far(source), Time(arrivals[0].0), Priority::Arrival);
        }
        while let Some(slot) = calendar.next(Time(stop)) {
            if calendar.far_index(slot) == Some(source) {
                let (_, demand, priority) = arrivals[next];
                let visit = Visit { customer: next as u32, demand: Span(demand), priority };
                station.arrive(visit, &mut calendar);
                next += 1;
                if let Some((time, ..)) = arrivals.get(next) {
                    calendar.set(calendar.far(source), Time(*time), Priority::Arrival);
                }
            } else if let Some(customer) = station.due(slot, &mut calendar) {
                gone[customer as usize] = Some(calendar.now().0);
            }
        }
        calendar.finish(Time(stop));
        if !last {
            station.restart_statistics(Time(stop));
        }
    }
    station.check(Time(end), &mut Laws::default()).unwrap();
    gone
}

const LONG: u64 = 1_000_000;

fn all_departures(name: &str, arrivals: &Arrivals) -> Vec<u64> {
    departures(build(name), arrivals, 0, LONG).into_iter().map(|gone| gone.unwrap()).collect()
}

/// A customer of the plain simulations.
#[derive(Clone, Copy, Debug)]
struct Present {
    customer: usize,
    priority: u32,
    attained: u64,
    remaining: u64,
}

/// Serves a nanosecond at a time the `servers` customers whose `key` is least.
fn by_nanoseconds<K: Ord>(arrivals: &Arrivals, servers: usize, key: impl Fn(&Present) -> K) -> Vec<u64> {
    let mut gone = vec![0; arrivals.len()];
    let mut present: Vec<Present> = Vec::new();
    for now in 0.. {
        present.retain(|one| {
            if one.remaining == 0 {
                gone[one.customer] = now;
            }
            one.remaining > 0
        });
        for (customer, (_, demand, priority)) in arrivals.iter().enumerate().filter(|(_, a)| a.0 == now) {
            let remaining = *demand;
            if remaining == 0 {
                gone[customer] = now; // where it is served at once
            } else {
                present.push(Present { customer, priority: *priority, attained: 0, remaining });
            }
        }
        if present.is_empty() && arrivals.iter().all(|arrival| arrival.0 <= now) {
            break;
        }
        let mut first: Vec<usize> = (0..present.len()).collect();
        first.sort_by_key(|i| (key(&present[*i]), *i));
        for served in first.into_iter().take(servers) {
            present[served].remaining -= 1;
            present[served].attained += 1;
        }
    }
    gone
}

/// Round robin or feedback, a slice at a time. An arrival at the end of a slice comes after it.
fn by_slices(arrivals: &Arrivals, slices: &[Span], switching: u64) -> Vec<u64> {
    let mut gone = vec![0; arrivals.len()];
    let mut levels: Vec<Vec<(usize, u64)>> = vec![Vec::new(); slices.len()];
    let (mut now, mut coming, mut last) = (0, 0, None);
    let mut requeue: Option<(usize, usize, u64)> = None;
    loop {
        // Those who came before the slice ended stand before the one whose slice it was.
        while coming < arrivals.len() && arrivals[coming].0 < now {
            levels[0].push((coming, arrivals[coming].1));
            coming += 1;
        }
        if let Some((level, customer, remaining)) = requeue.take() {
            levels[level].push((customer, remaining));
        }
        if levels.iter().all(Vec::is_empty) {
            let Some((time, demand, _)) = arrivals.get(coming) else { return gone };
            now = now.max(*time);
            last = None;
            levels[0].push((coming, *demand));
            coming += 1;
        }
        let level = levels.iter().position(|queue| !queue.is_empty()).unwrap();
        let (customer, remaining) = levels[level].remove(0);
        if last != Some(customer) {
            now += switching;
        }
        last = Some(customer);
        let slice = remaining.min(slices[level].0);
        now += slice;
        if remaining == slice {
            gone[customer] = now;
            last = None;
        } else {
            requeue = Some(((level + 1).min(slices.len() - 1), customer, remaining - slice));
        }
    }
}

/// Of the slice of a server: number of its beginning, nanoseconds of switching and of service to come, level, customer,
/// and service that the customer needs after it.
type Sliced = (u64, u64, u64, usize, usize, u64);

/// Turns of several servers, a nanosecond at a time. At one time, slices end before customers come, those first that
/// began first.
fn by_turns(arrivals: &Arrivals, servers: usize, slices: &[Span], switching: u64) -> Vec<u64> {
    let mut at: Vec<Option<Sliced>> = vec![None; servers];
    let mut levels: Vec<Vec<(usize, u64)>> = vec![Vec::new(); slices.len()];
    let (mut gone, mut begun, mut here, mut coming) = (vec![0; arrivals.len()], 0, 0, 0);
    for now in 0.. {
        let mut begin = |levels: &mut Vec<Vec<(usize, u64)>>, before: Option<usize>| {
            let level = levels.iter().position(|queue| !queue.is_empty())?;
            let (customer, remaining) = levels[level].remove(0);
            let slice = remaining.min(slices[level].0);
            let lost = if before == Some(customer) { 0 } else { switching };
            begun += 1;
            Some((begun, lost, slice, level, customer, remaining - slice))
        };
        loop {
            // All that end now, and who comes when none is left: with a demand of nothing, at once.
            let ended = (0..servers).filter(|i| at[*i].is_some_and(|slice| slice.1 + slice.2 == 0));
            if let Some(server) = ended.min_by_key(|i| at[*i].unwrap().0) {
                let (_, _, _, level, customer, after) = at[server].take().unwrap();
                let mut before = None;
                if after == 0 {
                    gone[customer] = now;
                    here -= 1;
                } else {
                    levels[(level + 1).min(slices.len() - 1)].push((customer, after));
                    before = Some(customer);
                }
                at[server] = begin(&mut levels, before);
            } else if coming < arrivals.len() && arrivals[coming].0 == now {
                levels[0].push((coming, arrivals[coming].1));
                (coming, here) = (coming + 1, here + 1);
                if let Some(idle) = at.iter().position(Option::is_none) {
                    at[idle] = begin(&mut levels, None);
                }
            } else {
                break;
            }
        }
        if here == 0 && coming == arrivals.len() {
            break;
        }
        for slice in at.iter_mut().flatten() {
            if slice.1 > 0 { slice.1 -= 1 } else { slice.2 -= 1 }
        }
    }
    gone
}

/// A number that can be divided by 2, 3 and 4 twelve times.
const DIVISIBLE: u64 = 12u64.pow(12);

/// Shares the server in equal parts among those whose attained service is at the `level` (or all).
fn by_fluid(
    arrivals: &Arrivals,
    servers: u64,
    level: impl Fn(&[Present]) -> Option<u64>,
) -> Vec<Option<u64>> {
    let mut gone = vec![None; arrivals.len()];
    let mut present: Vec<Present> = Vec::new();
    let (mut now, mut coming) = (0, 0);
    loop {
        present.iter().filter(|one| one.remaining == 0).for_each(|one| gone[one.customer] = Some(now));
        present.retain(|one| one.remaining > 0);
        let arrival = arrivals.get(coming).copied();
        let comes = arrival.filter(|(time, ..)| *time == now || present.is_empty());
        if let Some((time, remaining, priority)) = comes {
            now = time;
            present.push(Present { customer: coming, priority, attained: 0, remaining });
            coming += 1;
            continue;
        }
        if present.is_empty() {
            return gone;
        }
        let level = level(&present);
        let served = |one: &Present| level.is_none_or(|level| one.attained == level);
        let parts = present.iter().filter(|one| served(one)).count() as u64;
        // Until one has all, the served catch up with another, or one comes.
        let to_others =
            present.iter().filter(|one| !served(one)).map(|one| one.attained - level.unwrap_or(0));
        let to_end = present.iter().filter(|one| served(one)).map(|one| one.remaining);
        let busy = parts.min(servers);
        let longest = to_others.chain(to_end).min().unwrap() * parts / busy;
        let passed = arrival.map_or(longest, |(time, ..)| longest.min(time - now));
        assert_eq!(passed * busy % parts, 0, "the units are too coarse for this fluid");
        now += passed;
        for one in present.iter_mut().filter(|one| served(one)) {
            one.attained += passed * busy / parts;
            one.remaining -= passed * busy / parts;
        }
    }
}

/// Departures of `servers` servers that take the most urgent of those waiting.
fn by_servers(arrivals: &Arrivals, servers: usize, prioritised: bool) -> Vec<u64> {
    let mut gone = vec![0; arrivals.len()];
    let mut free = vec![0; servers];
    let mut waiting: Vec<usize> = Vec::new();
    let mut coming = 0;
    while coming < arrivals.len() || !waiting.is_empty() {
        let server = (0..servers).min_by_key(|server| free[*server]).unwrap();
        // Completions come before arrivals: who comes at the very time is not yet there, but for an idle server.
        while coming < arrivals.len() && (arrivals[coming].0 < free[server] || waiting.is_empty()) {
            waiting.push(coming);
            coming += 1;
        }
        let urgent = |i: &usize| (if prioritised { arrivals[waiting[*i]].2 } else { 0 }, *i);
        let customer = waiting.remove((0..waiting.len()).min_by_key(urgent).unwrap());
        free[server] = free[server].max(arrivals[customer].0) + arrivals[customer].1;
        gone[customer] = free[server];
    }
    gone
}

proptest! {
    #[test]
    fn first_come_first_served(arrivals in arrivals()) {
        prop_assert_eq!(all_departures("fcfs", &arrivals), by_servers(&arrivals, 1, false));
    }

    #[test]
    fn two_servers_with_priorities(arrivals in arrivals()) {
        prop_assert_eq!(all_departures("two servers", &arrivals), by_servers(&arrivals, 2, true));
    }

    #[test]
    fn round_robin(arrivals in arrivals()) {
        for (name, slice, switching) in [
            ("round robin", SLICE, SWITCH.0),
            ("round robin, no switching", SLICE, 0),
            ("round robin, 1 ns", Span(1), 0),
        ] {
            prop_assert_eq!(all_departures(name, &arrivals), by_slices(&arrivals, &[slice], switching), "{}", name);
        }
    }

    #[test]
    fn feedback(arrivals in arrivals()) {
        prop_assert_eq!(all_departures("feedback", &arrivals), by_slices(&arrivals, &LEVELS, SWITCH.0));
    }

    #[test]
    fn shortest_remaining(arrivals in arrivals()) {
        let plain = by_nanoseconds(&arrivals, 1, |one| one.remaining);
        // Of equal ones the first to come goes first in both, unless one of them has just been preempted:
        // departures are the same as a set.
        let (mut ours, mut plain) = (all_departures("shortest remaining", &arrivals), plain);
        ours.sort();
        plain.sort();
        prop_assert_eq!(ours, plain);
    }

    #[test]
    fn preemptive_priorities(mut arrivals in arrivals()) {
        arrivals.iter_mut().for_each(|arrival| arrival.1 = arrival.1.max(1));
        let plain = by_nanoseconds(&arrivals, 1, |one| one.priority);
        prop_assert_eq!(all_departures("preemptive", &arrivals), plain);
    }

    /// What is simpler and faster with one server is the same bit for bit.
    #[test]
    fn one_processor_is_the_station_of_its_order(arrivals in arrivals()) {
        for (processors, station) in [
            ("1 in turn", "round robin"),
            ("1 by level", "feedback"),
            ("1 by priority", "preemptive"),
            ("1 by remainder", "shortest remaining"),
        ] {
            prop_assert_eq!(all_departures(processors, &arrivals), all_departures(station, &arrivals), "{}", station);
        }
    }

    #[test]
    fn three_processors_in_turn(arrivals in arrivals()) {
        prop_assert_eq!(all_departures("3 in turn", &arrivals), by_turns(&arrivals, 3, &[SLICE], SWITCH.0));
        prop_assert_eq!(all_departures("3 by level", &arrivals), by_turns(&arrivals, 3, &LEVELS, SWITCH.0));
    }

    #[test]
    fn three_processors_by_urgency(mut arrivals in arrivals()) {
        arrivals.iter_mut().for_each(|arrival| arrival.1 = arrival.1.max(1));
        prop_assert_eq!(all_departures("3 by priority", &arrivals), by_nanoseconds(&arrivals, 3, |one| one.priority));
        prop_assert_eq!(all_departures("3 by remainder", &arrivals), by_nanoseconds(&arrivals, 3, |one| one.remaining));
    }

    /// Up to four customers, in units that the fluid's shares divide: equal to the nanosecond.
    #[test]
    fn least_attained_and_processor_sharing(mut arrivals in arrivals()) {
        arrivals.truncate(4);
        for arrival in &mut arrivals {
            *arrival = (arrival.0 * DIVISIBLE, arrival.1 * DIVISIBLE, 0);
        }
        let ends = |name| departures(build(name), &arrivals, 0, LONG * DIVISIBLE);
        let least = |present: &[Present]| present.iter().map(|one| one.attained).min();
        prop_assert_eq!(ends("least attained"), by_fluid(&arrivals, 1, least));
        prop_assert_eq!(ends("processor sharing"), by_fluid(&arrivals, 1, |_| None));
        prop_assert_eq!(ends("processor sharing, 3 servers"), by_fluid(&arrivals, 3, |_| None));
    }

    #[test]
    fn laws_hold_at_any_time(arrivals in arrivals(), warm_up in 0u64..300, more in 1u64..300) {
        for (_, build) in BUILDS {
            departures(build, &arrivals, warm_up, warm_up + more);
        }
    }

    /// One busy server does the same work in the same time, whatever it works at.
    #[test]
    fn work_is_conserved(arrivals in arrivals()) {
        let last = |name| *all_departures(name, &arrivals).iter().max().unwrap();
        let expected = last("fcfs");
        for name in ["preemptive", "round robin, 1 ns", "round robin, no switching", "least attained",
                     "processor sharing", "shortest remaining"] {
            prop_assert_eq!(last(name), expected, "{}", name);
        }
    }
}

/// A million slices in a handful of steps: the calendar is asked for arrivals and departures only.
#[test]
fn a_tiny_slice_costs_no_more_than_processor_sharing() {
    let arrivals: Arrivals = (0..100).map(|i| (i * 1_000, 1_000_000_000, 0)).collect();
    let end = 200_000_000_000;
    let robin = departures(
        |roster, slot| AnyStation::RoundRobin(RoundRobin::new(roster, slot, Span(10), Span(1))),
        &arrivals,
        0,
        end,
    );
    let sharing = departures(build("processor sharing"), &arrivals, 0, end);
    for (robin, sharing) in robin.into_iter().zip(sharing) {
        let stretched = robin.unwrap() as f64 / sharing.unwrap() as f64;
        assert!((stretched - 1.1).abs() < 1e-3, "{stretched}");
    }
}

#[test]
fn a_hundred_thousand_customers() {
    let arrivals: Arrivals = (0..100_000).map(|i| (i, 1 + i * 7919 % 100_003, 0)).collect();
    for (name, build) in BUILDS {
        let sliced = ["round robin", "feedback", "in turn", "by level"];
        if !sliced.iter().any(|word| name.contains(word)) {
            assert!(departures(build, &arrivals, 50_000, 1 << 60).iter().all(Option::is_some), "{name}");
        }
    }
}
