//! What the machine does: laws in any accepted configuration, mechanisms that can be worked out by hand, theory in limit
//! cases, and what is refused.

use proptest::prelude::*;
use serde_json::{Value, json};
use thinktime_engine::{Component, Laws, Span, Stream, Streams, Time};

use super::config::Config;
use super::events::Event;
use super::locks::{Locking, Section};
use super::pool::{Lifetime, Pool};
use super::traffic::{Eligibility, Order, Traffic};
use crate::kernel::testing::{configured, given, replicate, replication, response};
use crate::kernel::{NullMonitor, Outcome, Simulation};
use crate::system;

const STREAMS: Streams = Streams { seed: 645, replication: 0 };

fn run_for(parameters: &Value, warm_up_s: f64, end_s: f64) -> Outcome {
    let replication = replication(STREAMS, warm_up_s, end_s);
    replicate(&configured::<Config>(parameters), &replication, &mut NullMonitor).unwrap()
}

fn figure(outcome: &Outcome, name: &str) -> f64 {
    response(&configured::<Config>(&json!({})), outcome, name)
}

fn stream() -> Stream {
    STREAMS.stream(Component("test"), 0)
}

#[test]
fn what_cannot_be_is_refused_with_what_could() {
    for (wrong, named, remedy) in [
        (json!({"version": "15"}), "version", "3.1.1, 14"),
        (json!({"core": 64}), "core: 64 was given", "give at least 66"),
        (json!({"core": 70, "wired": 70}), "70 Kwords of it are the supervisor's", "or a smaller wired"),
        (json!({"cpus": 3}), "cpus", "from 1 to 2"),
        (json!({"users": 4, "normal_users": 5}), "normal_users", "give at most 4"),
        (json!({"headway": -1}), "headway", "or of_version"),
        (json!({"disk_share": 1.5}), "disk_share", "at most 1"),
        (json!({"think": "exponential(mean=-30)"}), "think", "give of_script, or"),
        (json!({"script": "mftn4"}), "script", "did you mean \"mftn3\""),
        (json!({"locks": "some"}), "locks", "none, global, by_data_base"),
        (json!({"corr": 256}), "corr", "did you mean \"core\""),
    ] {
        let message = Simulation::new(system("multics").unwrap(), given(&wrong)).err().unwrap().to_string();
        assert!(message.contains(named) && message.contains(remedy), "{wrong}: {message}");
    }
}

/// L(m) = 10 ms (m/32)^2, and u(t) is the solution of du/dt = 1/L(u): u^3 = u0^3 + 3 t 32^2 / 10 ms.
#[test]
fn a_process_uses_what_its_lifetime_function_says() {
    let lifetime = Lifetime { mean: Span(10_000_000), places: 32.0, exponent: 2.0 };
    assert_eq!(lifetime.at(64.0), 40e6);
    let mut pool = Pool::new(lifetime, 100, 2, stream());
    for _ in 0..60 {
        pool.take(0);
    }
    assert_eq!(
        (pool.held(0), pool.lifetime(0, 60), pool.lifetime(0, 61)),
        (60, None, Some(lifetime.at(60.0)))
    );
    pool.ran(0, Span(50_000_000));
    let expected = (3.0 * 50.0 * 32.0 * 32.0 / 10.0_f64).cbrt();
    assert!((pool.used(0) - expected).abs() < 1e-9, "{}", pool.used(0));
    pool.ran(0, Span(1_000_000_000));
    assert_eq!(pool.used(0), 60.0);
}

/// Nobody's place first; then the hand spares what was used and takes what was not.
#[test]
fn the_clock_takes_what_was_not_used() {
    let lifetime = Lifetime { mean: Span(10_000_000), places: 32.0, exponent: 2.0 };
    let mut pool = Pool::new(lifetime, 20, 2, stream());
    for place in 0..20 {
        let taken = pool.take(u32::from(place >= 10));
        assert!(!taken.from_somebody && taken.examined == 0);
    }
    // All that process 0 holds was used, nothing of process 1's.
    pool.ran(0, Span(10_000_000_000));
    for _ in 0..10 {
        let taken = pool.take(0);
        assert!(taken.from_somebody && taken.examined >= 1);
        pool.ran(0, Span(10_000_000_000));
    }
    // Which places were used is drawn: now and then one of process 0's own is taken.
    let held = pool.held(0);
    assert!(held >= 16 && pool.held(1) == 20 - held, "{held}");
    pool.turns_over(0, 0.5);
    assert_eq!(pool.held(0), held.div_ceil(2));
    pool.check("pool", &mut Laws::default()).unwrap();
}

#[test]
fn eligible_processes_come_by_level_and_turn() {
    let order = |order| {
        let mut traffic = Traffic::new(Eligibility::Number(3.0), order, 4, 5, stream());
        for (process, level) in [(0, 2), (1, 0), (2, 0), (3, 0)] {
            traffic.wants(process, level);
        }
        let awarded: Vec<u32> = std::iter::from_fn(|| traffic.award(Time::ZERO)).collect();
        // Level 0 first; there is no room for the process of level 2.
        assert_eq!(awarded, [1, 2, 3]);
        let first = traffic.next().unwrap();
        // It waited for a page, which has come; the one that runs meanwhile was preempted.
        let second = traffic.next().unwrap();
        traffic.ready(first);
        traffic.returns(second);
        let then: Vec<u32> = std::iter::from_fn(|| traffic.next()).collect();
        (first, second, then)
    };
    assert_eq!(order(Order::FirstEligible), (1, 2, vec![1, 2, 3]));
    assert_eq!(order(Order::LastReady), (3, 2, vec![3, 2, 1]));
}

#[test]
fn room_is_made_when_somebody_ceases_to_be_eligible() {
    let mut traffic = Traffic::new(Eligibility::WorkingSets(100.0), Order::FirstEligible, 2, 5, stream());
    for process in 0..5 {
        traffic.wants(process, 0);
    }
    // 32 pages are thought of each.
    let awarded: Vec<u32> = std::iter::from_fn(|| traffic.award(Time(1))).collect();
    assert_eq!(awarded, [0, 1, 2]);
    traffic.next();
    traffic.loses(0, 60.0, Time(2));
    assert_eq!(traffic.award(Time(2)), Some(3));
    assert_eq!((traffic.award(Time(2)), traffic.eligible.value()), (None, 3));
}

#[test]
fn a_path_is_under_its_lock_as_far_as_its_share() {
    let section = |lock| Section { lock, length: Span(1000) };
    let config = configured::<Config>(&json!({"segment_lock_share": 0.25}));
    let lock = Locking::ByDataBase.of(Event::SegmentFault);
    let (first, rest) = config.in_part_locked(section(lock), config.segment_lock_share);
    assert_eq!(
        (first.lock, first.length, rest.unwrap().lock, rest.unwrap().length),
        (lock, Span(250), None, Span(750))
    );
    let (first, rest) = config.in_part_locked(section(None), 0.25);
    assert!(first.length == Span(1000) && rest.is_none());
    assert_eq!(Locking::None.of(Event::PageFault), None);
    assert_eq!(Locking::Global.of(Event::Getwork), Locking::Global.of(Event::Interrupt));
}

/// One command, no faults, no overhead, exponential demands: the machine repairman with one or two servers
/// (`r` = demand / think). Of a run of 2e5 s with 10 users (6 000 interactions and more), a share's 95 % interval is some
/// 2 % wide either way; 6 % is five standard errors: false alarm below 1e-5 for each of four shares.
#[test]
fn without_overhead_it_is_a_machine_repairman() {
    let script = json!({
        "name": "one", "description": "one command", "think": "exponential(mean=30)",
        "commands": {"work": {"multics": {"cpu": "exponential(mean=5)", "pages": 1, "segments": 1, "lines": 0}}},
        "interaction": [{"command": "work", "types": "work", "wait_for": "r"}],
    });
    let mut plain = json!({
        "script": script, "users": 10, "demand": 1, "max_eligible": 10, "quantum": 1000, "levels": 1, "path_cv": 0,
        "gate_headway": 1e9, "headway": 1e6, "segment_headway": 1e6, "interference": 0, "spin_interference": 0,
        "preempt": false, "priority": "first_eligible",
    });
    for event in Event::ALL {
        plain[format!("{}_path", event.name())] = json!(0);
    }
    for servers in [1, 2] {
        plain["cpus"] = json!(servers);
        let outcome = run_for(&plain, 0.0, 2e5);
        let (n, c, r) = (10, servers as usize, 5.0 / 30.0);
        let weights: Vec<f64> = (0..=n)
            .scan(1.0, |weight, k| {
                let here = *weight;
                *weight *= (n - k) as f64 * r / (k + 1).min(c) as f64;
                Some(here)
            })
            .collect();
        let all: f64 = weights.iter().sum();
        let busy: f64 =
            weights.iter().enumerate().map(|(k, weight)| k.min(c) as f64 * weight).sum::<f64>() / all;
        for (name, expected) in [("useful_share", busy / c as f64), ("interactions_per_s", busy / 5.0)] {
            let found = figure(&outcome, name);
            assert!((found / expected - 1.0).abs() < 0.06, "{servers}: {name} {found}, {expected}");
            // The canary: one server's figure is not two servers'.
            assert!((found / expected - 1.15).abs() > 0.06, "{servers}: {name}");
        }
    }
}

/// Path lengths that do not vary are the overhead of an event to the nanosecond, with one processor, but for the rest of
/// page faults whose pages have not come.
#[test]
fn with_one_processor_an_event_costs_its_path() {
    let outcome = run_for(&json!({"path_cv": 0, "users": 30}), 600.0, 4200.0);
    for (name, path_s) in [("getwork", 0.99e-3), ("drum_interrupt", 1.10e-3), ("gate_fault", 3.67e-3)] {
        let found = figure(&outcome, &format!("{name}_overhead_s"));
        assert!((found / path_s - 1.0).abs() < 1e-3, "{name}: {found}");
    }
    let fault = figure(&outcome, "page_fault_overhead_s");
    assert!((fault / 1.95e-3 - 1.0).abs() < 1e-3, "{fault}");
    assert_eq!((figure(&outcome, "lock_wait_share"), figure(&outcome, "interference_share")), (0.0, 0.0));
}

/// Mechanisms of the second processor, switched on one after the other, each make a page fault dearer.
#[test]
fn interference_and_locks_make_events_dearer() {
    let cost = |locks: &str, interference: f64, spin: f64| {
        let parameters = json!({"cpus": 2, "core": 384, "users": 40, "locks": locks, "interference": interference,
            "spin_interference": spin});
        let outcome = run_for(&parameters, 600.0, 2400.0);
        (figure(&outcome, "page_fault_overhead_s"), figure(&outcome, "lock_wait_share"))
    };
    let (plain, waited) = cost("none", 0.0, 0.0);
    assert!((plain / 2.25e-3 - 1.0).abs() < 0.03 && waited == 0.0, "{plain}");
    let (slowed, _) = cost("none", 0.6, 0.0);
    assert!(slowed > 1.05 * plain && slowed < 1.2 * plain, "{slowed}, {plain}");
    let (locked, waited) = cost("by_data_base", 0.0, 0.0);
    assert!(locked > 1.1 * plain && waited > 0.0, "{locked}, {plain}");
    assert!(cost("by_data_base", 0.0, 1.0).0 > 1.1 * locked);
    assert!(cost("global", 0.0, 0.0).1 > waited);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    /// Every law is checked at the end of a run, which gives an error where one is broken.
    #[test]
    fn any_accepted_machine_obeys_the_laws(
        (version, cpus, core, users) in (prop::sample::select(vec!["3.1.1", "14"]), 1_u64..=2, 66_u64..512, 1_u64..50),
        (normal, housekeeping, warm_up) in (0_u64..10, 0_u64..4, 0.0_f64..200.0),
        (locks, eligible, working_sets) in
            (prop::sample::select(vec!["none", "global", "by_data_base"]), 1.0_f64..8.0, any::<bool>()),
        (preempt, one, hold, first_come) in (any::<bool>(), any::<bool>(), any::<bool>(), any::<bool>()),
        (share, interference, cv, headway) in (0.0_f64..=1.0, 0.0_f64..3.0, 0.0_f64..2.0, 0.1_f64..50.0),
        (kept, lines, quantum) in (0.0_f64..=1.0, 0.0_f64..2.0, 0.001_f64..3.0),
    ) {
        let parameters = json!({
            "version": version, "cpus": cpus, "core": core, "users": users, "normal_users": normal.min(users),
            "housekeeping": housekeeping, "locks": locks, "max_eligible": eligible, "preempt": preempt,
            "eligibility": if working_sets { "working_sets" } else { "number" },
            "interrupts": if one { "one_processor" } else { "any" }, "hold_through_getwork": hold,
            "drum_organisation": if first_come { "first_come" } else { "sector_queued" },
            "segment_lock_share": share, "traffic_lock_share": share, "interference": interference,
            "spin_interference": interference, "path_cv": cv, "headway": headway, "kept": kept, "line_time": lines,
            "quantum": quantum, "think": "exponential(mean=5)",
        });
        let outcome = run_for(&parameters, warm_up, 300.0);
        prop_assert!(outcome.events > 0);
    }
}
