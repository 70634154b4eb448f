//! APL/360 against theory where there is any, the laws in any configuration, and what the monitor sees.

use std::collections::BTreeMap;

use proptest::prelude::*;
use serde_json::{Value, json};
use thinktime_engine::{Laws, Span, Streams, Time, run};
use thinktime_log::Value as Cell;

use super::config::Config;
use super::machine::Machine;
use super::measures::Queue;
use super::responses;
use crate::kernel::testing::{Everything, configured, given, replicate, replication, response};
use crate::kernel::{Budget, NullMonitor, Outcome, Simulated, Simulation};
use crate::system;

/// Names of the schedulers.
const SCHEDULERS: [&str; 6] = ["original", "modified", "fb2", "fb_infinity", "mlf", "srpt"];

fn refused(parameters: Value) -> String {
    Simulation::new(system("apl360").unwrap(), given(&parameters)).err().unwrap().to_string()
}

fn outcomes(parameters: &Value, replications: u64) -> Vec<Outcome> {
    let simulation = Simulation::new(system("apl360").unwrap(), given(parameters)).unwrap();
    simulation.run(1974, 0..replications, Some(2), Budget::DEFAULT, |_| true).unwrap().outcomes
}

fn figure(outcome: &Outcome, name: &str) -> f64 {
    response(&configured::<Config>(&json!({})), outcome, name)
}

fn column(parameters: &Value, replications: u64, name: &str) -> Vec<f64> {
    outcomes(parameters, replications).iter().map(|outcome| figure(outcome, name)).collect()
}

/// Mean over its standard error.
fn t(values: impl Iterator<Item = f64>) -> f64 {
    let values: Vec<f64> = values.collect();
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (n - 1.0);
    mean / (variance / n).sqrt()
}

/// Nothing but exponential computing, in as many regions as users.
fn all_in_memory(users: u64, service: Value) -> Value {
    json!({
        "users": users, "regions": users, "reply_time": 0.0, "dispatch_overhead": 0.0, "access_overhead": 0.0,
        "compute_share": 1.0, "command_share": 0.0, "output_bound_share": 0.0, "compute_service": service,
    })
}

fn with(mut parameters: Value, more: Value) -> Value {
    parameters.as_object_mut().unwrap().extend(given(&more).clone());
    parameters
}

/// H0: X = 1.59954 1/s and R = 1.88130 s, the machine repairman with 35 users, think time 20 s, service 0.5 s,
/// whose mean number does not depend on the order of service where that looks at no service time. 20
/// replications: t has 19 degrees of freedom, |t| > 6.5 has probability 3e-6.
#[test]
fn with_memory_for_all_it_is_a_machine_repairman() {
    let long = json!({"length": 10_000, "warm_up": 500});
    for slice in [0.1, 1000.0] {
        let service = json!({"kind": "exponential", "mean": 0.5});
        let parameters = with(with(all_in_memory(35, service), long.clone()), json!({"time_slice": slice}));
        let queued = column(&parameters, 20, "queued_workspaces");
        let served = column(&parameters, 20, "inputs_serviced");
        assert!(t(queued.iter().map(|l| l - 1.59954 * 1.88130)).abs() < 6.5);
        assert!(t(served.iter().map(|x| x - 1.59954 * 600.0)).abs() < 6.5);
        // A machine that is 1 % slower is seen.
        assert!(t(served.iter().map(|x| x - 1.59954 * 600.0 * 1.01)).abs() > 6.5);
    }
}

/// One user waits for no one: each slice has its overhead, and the workspace is loaded once.
#[test]
fn one_user_gets_service_and_overhead() {
    let alone = with(
        all_in_memory(1, json!(0.35)),
        json!({
            "time_slice": 0.1, "dispatch_overhead": 0.01, "access_overhead": 0.02, "length": 3000, "warm_up": 500,
        }),
    );
    for scheduler in SCHEDULERS {
        let outcome = &outcomes(&with(alone.clone(), json!({"scheduler": scheduler})), 2)[0];
        assert_eq!(figure(outcome, "max_reaction_s"), 0.0);
        assert!((figure(outcome, "mean_response_s") - 0.39).abs() < 1e-12, "{scheduler}");
        assert_eq!(figure(outcome, "swap_rate"), 0.0);
    }
}

#[test]
fn fb2_is_feedback_with_two_levels() {
    let feedback = |name: &str| json!({"scheduler": name, "levels": 2, "regions": 3});
    let [fb2, mlf] = ["fb2", "mlf"].map(|name| outcomes(&feedback(name), 3));
    for (a, b) in fb2.iter().zip(&mlf) {
        assert_eq!(a.responses.iter().map(|x| x.to_bits()).collect::<Vec<_>>(), {
            b.responses.iter().map(|x| x.to_bits()).collect::<Vec<_>>()
        });
    }
}

/// H0: an algorithm makes no difference, so that each of 60 pairs with common random numbers differs either way
/// with probability 1/2: 46 of them one way have probability 2.4e-5. The order of pages 136 and 137.
#[test]
fn algorithms_come_in_the_order_of_the_paper() {
    let cell = |scheduler: &str| outcomes(&json!({"scheduler": scheduler, "regions": 3}), 60);
    let [original, modified, infinity] = ["original", "modified", "fb_infinity"].map(cell);
    let more = |a: &[Outcome], b: &[Outcome], name: &str| {
        a.iter().zip(b).filter(|(a, b)| figure(a, name) > figure(b, name)).count()
    };
    assert!(more(&modified, &infinity, "queued_workspaces") >= 46);
    assert!(more(&infinity, &modified, "inputs_serviced") >= 46);
    assert!(more(&modified, &infinity, "mean_response_s") >= 46);
    assert!(more(&original, &modified, "max_reaction_s") >= 46);
}

#[test]
fn what_cannot_be_is_refused() {
    let error = refused(json!({"compute_share": 0.5}));
    assert!(error.contains("compute_share: 0.5 was given") && error.contains("add up to 1"), "{error}");
    let error = refused(json!({"time_slice": 601}));
    assert!(
        error.contains("time_slice: 601 was given") && error.contains("no longer than the run"),
        "{error}"
    );
    let error = refused(json!({"dispatcher": "scheduler"}));
    assert!(error.contains("give round_robin"), "{error}");
    let error = refused(json!({"scheduler": "fb_infinite"}));
    assert!(error.contains("fb_infinity"), "{error}");
    assert!(refused(json!({"regions": 0})).contains("regions: 0 was given"));
    assert!(refused(json!({"time_slice": -0.1})).contains("time_slice"));
    assert!(
        refused(json!({"compute_service": {"kind": "exponential", "mean": -1}})).contains("compute_service")
    );
}

/// At most one of what `kind`s begin and end is in progress at any time, and ends where it began.
fn one_at_a_time(events: &[(Time, &'static str, Option<u32>)], kinds: &[&str]) {
    let mut current = None;
    for (_, kind, user) in events {
        let Some(name) = kinds.iter().find(|name| kind.starts_with(**name)) else { continue };
        if kind.ends_with("_start") {
            assert_eq!(current.replace((*name, *user)), None);
        } else {
            assert_eq!(current.take(), Some((*name, *user)));
        }
    }
}

#[test]
fn the_monitor_sees_what_the_figures_say() {
    for scheduler in SCHEDULERS {
        let config = configured::<Config>(&json!({"scheduler": scheduler}));
        let mut seen = Everything::default();
        let outcome =
            replicate(&config, &replication(Streams { seed: 7, replication: 3 }, 0.0, 600.0), &mut seen)
                .unwrap();
        let silent = replicate(
            &config,
            &replication(Streams { seed: 7, replication: 3 }, 0.0, 600.0),
            &mut NullMonitor,
        )
        .unwrap();
        let bits = |outcome: &Outcome| outcome.responses.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
        assert_eq!(bits(&outcome), bits(&silent), "to be watched changes nothing");

        assert!(seen.events.is_sorted_by_key(|(time, _, _)| *time));
        one_at_a_time(&seen.events, &["slice"]);
        one_at_a_time(&seen.events, &["swap_in", "swap_out", "library_load"]);
        let mut count = BTreeMap::new();
        seen.events.iter().for_each(|(_, kind, _)| *count.entry(*kind).or_insert(0.0) += 1.0);
        assert_eq!(count["input"], figure(&outcome, "inputs_received"));
        assert_eq!(count["completion"], figure(&outcome, "inputs_serviced"));
        assert_eq!(count["swap_in_start"], figure(&outcome, "swap_ins"));
        assert_eq!(count["library_load_start"], figure(&outcome, "library_loads"));

        let done = seen.interactions.iter().filter(|it| it.completion.is_some()).count();
        assert_eq!(done as f64, figure(&outcome, "inputs_serviced"));
        assert_eq!((seen.interactions.len() - done) as f64, figure(&outcome, "unfinished"));
        let reactions: Vec<f64> = seen
            .interactions
            .iter()
            .filter_map(|it| Some(it.first_service?.since(it.arrival).seconds()))
            .collect();
        let mean = reactions.iter().sum::<f64>() / reactions.len() as f64;
        assert!((mean - figure(&outcome, "mean_reaction_s")).abs() < 1e-9);
    }
}

#[test]
fn samples_add_up_to_the_figures() {
    let config = configured::<Config>(&json!({"scheduler": "original"}));
    let mut seen = Everything::default();
    let outcome =
        replicate(&config, &replication(Streams { seed: 7, replication: 1 }, 30.0, 630.0), &mut seen)
            .unwrap();
    let columns: Vec<String> = responses::sample_columns().into_iter().map(|column| column.name).collect();
    let total = |name: &str, weigh: bool| -> f64 {
        let at = columns.iter().position(|column| column == name).unwrap();
        seen.samples
            .iter()
            .map(|(_, length, row)| match &row[at] {
                Cell::F64(x) if weigh => x * length.seconds(),
                Cell::F64(x) => *x,
                Cell::U64(n) => *n as f64,
                other => panic!("{other:?}"),
            })
            .sum()
    };
    let lengths: f64 = seen.samples.iter().map(|(_, length, _)| length.seconds()).sum();
    assert!((lengths - 600.0).abs() < 1e-9);
    assert!(
        (total("user_s", false) + total("system_s", false) + total("idle_s", false) - 600.0).abs() < 1e-6
    );
    assert_eq!(total("completions", false), figure(&outcome, "inputs_serviced"));
    assert_eq!(total("swap_ins", false), figure(&outcome, "swap_ins"));
    for queue in ["foreground", "background", "output_bound", "command"] {
        let name = format!("mean_{queue}");
        assert!((total(&name, true) / 600.0 - figure(&outcome, &name)).abs() < 1e-9, "{name}");
    }
    let service = total("user_s", false) / 600.0;
    assert!((service - figure(&outcome, "processor_service")).abs() < 1e-9);
}

/// Background workspaces that FB2 brought in, and how many of them were first in a plain queue in which a turn is
/// `turn` slices: who is driven out before keeps its place, who has had a turn or comes back from output goes to the
/// end.
fn brought_in_turn(events: &[(Time, &'static str, Option<u32>)], turn: u64) -> (usize, usize) {
    let (mut brought, mut in_turn) = (0, 0);
    let mut queue: Vec<u32> = Vec::new();
    let mut had = [0u64; 35];
    let mut foreground = [false; 35];
    let mut on_disk = [true; 35];
    for (_, kind, user) in events {
        let Some(user) = *user else { continue };
        let who = user as usize;
        match *kind {
            "input" => foreground[who] = true,
            "slice_end" if foreground[who] => {
                foreground[who] = false;
                had[who] = 0;
                queue.push(user);
            }
            "slice_end" => had[who] += 1,
            "completion" | "output_wait_start" => queue.retain(|other| *other != user),
            "output_wait_end" => {
                had[who] = 0;
                queue.push(user);
            }
            "swap_out_end" => {
                on_disk[who] = true;
                if queue.contains(&user) && had[who] >= turn {
                    had[who] = 0;
                    queue.retain(|other| *other != user);
                    queue.push(user);
                }
            }
            "swap_in_start" => {
                if !foreground[who] {
                    brought += 1;
                    let first = queue.iter().find(|other| on_disk[**other as usize]);
                    in_turn += usize::from(first == Some(&user));
                }
                on_disk[who] = false;
            }
            _ => {}
        }
    }
    (brought, in_turn)
}

/// Round robin in turns of ten slices, against a plain queue. The two simpler rules are seen to be others: that whoever
/// is driven out goes to the end, and that nobody does.
#[test]
fn fb2_lets_everyone_have_a_whole_turn() {
    let config = configured::<Config>(&json!({
        "scheduler": "fb2", "regions": 3, "compute_share": 0.947, "command_share": 0.0,
    }));
    let (mut all, mut right, mut at_once, mut never) = (0, 0, 0, 0);
    for number in 0..4 {
        let mut seen = Everything::default();
        let streams = Streams { seed: 7, replication: number };
        replicate(&config, &replication(streams, 0.0, 600.0), &mut seen).unwrap();
        let (brought, in_turn) = brought_in_turn(&seen.events, config.slices_before_swap);
        (all, right) = (all + brought, right + in_turn);
        at_once += brought_in_turn(&seen.events, 1).1;
        never += brought_in_turn(&seen.events, u64::MAX).1;
    }
    assert!(all > 1000, "{all} background workspaces were brought in");
    assert_eq!(right, all);
    assert!(10 * at_once < 9 * all && 10 * never < 9 * all, "{at_once} and {never} of {all}");
}

/// Each access costs the supervisor its time once, before a slice: of the processor's overhead, what is left after the
/// slices' own is accesses times that time, but for those whose time has not been spent at the end.
#[test]
fn each_access_takes_supervisor_time_once() {
    let outcome = &outcomes(&json!({"dispatch_overhead": 0.0, "access_overhead": 0.01}), 1)[0];
    let overhead = figure(outcome, "processor_utilisation") - figure(outcome, "processor_service");
    let accesses = figure(outcome, "swap_rate");
    let unspent = accesses - overhead * 600.0 / 0.01;
    assert!((-1e-6..=8.0).contains(&unspent), "{unspent} of {accesses} accesses");
    let free = &outcomes(&json!({"dispatch_overhead": 0.0, "access_overhead": 0.0}), 1)[0];
    assert_eq!(figure(free, "processor_utilisation"), figure(free, "processor_service"));
}

/// The checker is checked: a user who is counted twice is seen.
#[test]
fn a_machine_that_miscounts_is_refused() {
    let config = configured::<Config>(&json!({}));
    let mut calendar = Machine::<NullMonitor>::calendar(&config);
    let streams = Streams { seed: 1, replication: 0 };
    let mut silent = NullMonitor;
    let mut machine = Machine::new(&config, &replication(streams, 0.0, 600.0), &mut silent);
    run(&mut machine, &mut calendar, Time::ZERO, Time::ZERO + Span::from_seconds(100.0));
    machine.measures.enter(Queue::Background, calendar.now());
    let imbalance = machine.finish(&mut calendar, &mut Laws::default()).unwrap_err();
    assert_eq!(imbalance.place, "background");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// Every law holds in any configuration, with and without a warm-up.
    #[test]
    fn laws_hold_in_any_configuration(
        users in 1u64..12,
        regions in 1u64..6,
        scheduler in prop::sample::select(SCHEDULERS.to_vec()),
        time_slice in 0.01f64..2.0,
        think in 0.0f64..5.0,
        overhead in prop::sample::select(vec![0.0, 0.001, 0.05]),
        access in prop::sample::select(vec![0.0, 0.03]),
        libraries in 0u64..4,
        warm_up in prop::sample::select(vec![0.0, 17.3]),
        seed in 0u64..1000,
    ) {
        let config = configured::<Config>(&json!({
            "users": users, "regions": regions, "scheduler": scheduler, "time_slice": time_slice,
            "insertion_time": think, "dispatch_overhead": overhead, "access_overhead": access, "library_accesses": libraries,
            "compute_share": 0.4, "command_share": 0.3, "output_bound_share": 0.3, "levels": 3,
        }));
        let outcome = replicate(&config, &replication(Streams { seed: 7, replication: seed }, warm_up, 120.0), &mut Everything::default());
        prop_assert!(outcome.is_ok(), "{}", outcome.unwrap_err());
    }
}
