//! CTSS against theory where there is any, a trace worked out by hand, the laws in any configuration, and what the
//! monitor sees.

use proptest::prelude::*;
use serde_json::{Map, Value, json};
use thinktime_engine::{Laws, Model, Priority, Span, Streams, Time, run};
use thinktime_log::Value as Cell;

use super::config::Config;
use super::machine::Machine;
use super::measures::State;
use super::responses;
use crate::kernel::testing::{Everything, configured, given, replicate, replication, response};
use crate::kernel::{Budget, NullMonitor, Outcome, Simulated, Simulation};
use crate::system;

fn with(mut parameters: Value, more: Value) -> Value {
    parameters.as_object_mut().unwrap().extend(given(&more).clone());
    parameters
}

fn column(parameters: &Value, replications: u64, name: &str) -> Vec<f64> {
    let simulation = Simulation::new(system("ctss").unwrap(), given(parameters)).unwrap();
    let outcomes =
        simulation.run(1969, 0..replications, Some(2), Budget::DEFAULT, |_| true).unwrap().outcomes;
    let names = simulation.prepared().responses();
    let at = names.iter().position(|response| response.name == name).unwrap();
    outcomes.iter().map(|outcome| outcome.responses[at]).collect()
}

/// Mean over its standard error.
fn t(values: impl Iterator<Item = f64>) -> f64 {
    let values: Vec<f64> = values.collect();
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (n - 1.0);
    mean / (variance / n).sqrt()
}

/// A command of its own each, in this order; `wait`ed for or not.
fn script(demands: &[Value], wait: bool) -> Value {
    let steps: Vec<Value> = demands
        .iter()
        .enumerate()
        .map(|(number, demands)| {
            let mut step = json!({"command": format!("c{number}"), "types": "x", "ctss": demands});
            let key = if wait { ("wait_for", json!("R ")) } else { ("wait", json!(false)) };
            step.as_object_mut().unwrap().insert(key.0.into(), key.1);
            step
        })
        .collect();
    let commands: Map<String, Value> =
        (0..steps.len()).map(|number| (format!("c{number}"), json!({}))).collect();
    json!({"name": "test", "think": 1000, "commands": commands, "interaction": steps})
}

/// Nothing takes time but programs, and words at 10 us each; entry as published in 1962.
fn bare(script: Value) -> Value {
    json!({
        "script": script, "entry": "swap_time", "background": false, "line_overhead": 0, "line_time": 0, "clock_resolution": 0,
        "drum_revolution": 0, "drum_word_time": 1e-5, "disk_seek": 0, "disk_revolution": 0,
        "disk_word_time": 1e-5, "normal_demand": 1,
    })
}

/// Users who only ask, at random, for `cpu`; swapping takes no time.
fn processor_only(users: u64, think: f64, cpu: &str, wait: bool) -> Value {
    let script = script(&[json!({"cpu": cpu, "words": 1, "disk": 0, "lines": 0})], wait);
    let think = json!({"kind": "exponential", "mean": think});
    let quick = json!({
        "users": users, "normal_users": users, "normal_think": think, "drum_word_time": 1e-12,
        "disk_word_time": 1e-12, "length": 20_000, "warm_up": 1000,
    });
    with(bare(script), quick)
}

/// H0: L = rho + lambda^2 E[S^2] / (2 (1 - rho)), Pollaczek and Khinchine: users who wait for no reply send inputs
/// as a Poisson stream, and the scheduler with one level and no end of the quantum looks at no service time. Lambda
/// 1.5 1/s, S hyperexponential with mean 0.38 s, E[S^2] = 0.872 s^2. 20 replications: t has 19 degrees of freedom,
/// |t| > 6.5 has probability 3e-6.
#[test]
fn one_level_is_an_m_g_1_queue() {
    let (lambda, mean, square) = (1.5, 0.38, 0.872);
    let rho = lambda * mean;
    let expected = rho + lambda * lambda * square / (2.0 * (1.0 - rho));
    let service = "hyperexponential(weights=[0.9,0.1], means=[0.2,2])";
    let single = json!({"levels": 1, "quantum": 1e9, "preempt": "never"});
    let parameters = with(processor_only(150, 100.0, service, false), single);
    let present = column(&parameters, 20, "interactions_mean");
    assert!(t(present.iter().map(|l| l - expected)).abs() < 6.5, "{present:?} {expected}");
    let busy = column(&parameters, 20, "processor_share");
    assert!(t(busy.iter().map(|share| share - rho)).abs() < 6.5);
    // A queue that is a tenth longer is seen, and so is feedback, which serves the short ones first.
    assert!(t(present.iter().map(|l| l - 1.1 * expected)).abs() > 6.5);
    let feedback = column(&processor_only(150, 100.0, service, false), 20, "interactions_mean");
    assert!(t(feedback.iter().map(|l| l - expected)) < -6.5);
}

/// H0: X = 1.59954 1/s and R = 1.88130 s, the machine repairman with 35 users, think time 20 s, service 0.5 s: with
/// exponential service its mean number depends on no order that looks only at service received. |t| as above.
#[test]
fn users_who_wait_are_a_machine_repairman() {
    for preempt in ["newcomers_turn", "at_once"] {
        let parameters =
            with(processor_only(35, 20.0, "exponential(mean=0.5)", true), json!({"preempt": preempt}));
        let served = column(&parameters, 20, "interactions_per_s");
        let response = column(&parameters, 20, "response_all_users_mean_s");
        assert!(t(served.iter().map(|x| x - 1.59954)).abs() < 6.5);
        assert!(t(response.iter().map(|r| r - 1.88130)).abs() < 6.5);
        // A machine that is 1 % slower is seen.
        assert!(t(served.iter().map(|x| x - 1.01 * 1.59954)).abs() > 6.5);
    }
}

const MILLISECOND: u64 = 1_000_000;

/// What happens, in milliseconds, when user i types interaction i of the script at `typed[i]` and nothing else.
fn trace(parameters: &Value, typed: &[u64]) -> Vec<(u64, &'static str, Option<u32>)> {
    let config =
        configured::<Config>(&with(parameters.clone(), json!({"users": typed.len(), "normal_users": 0})));
    let mut seen = Everything::default();
    let mut calendar = Machine::<NullMonitor>::calendar(&config);
    let streams = Streams { seed: 1, replication: 0 };
    let mut machine = Machine::new(&config, &replication(streams, 0.0, 10.0), &mut seen);
    machine.start(&mut calendar);
    for (user, at) in typed.iter().enumerate() {
        machine.users[user].next = user;
        calendar.set(calendar.far(user as u32), Time(at * MILLISECOND), Priority::Arrival);
    }
    while let Some(slot) = calendar.next(Time(10_000 * MILLISECOND)) {
        machine.handle(slot, &mut calendar);
    }
    calendar.finish(Time(10_000 * MILLISECOND));
    machine.finish(&mut calendar, &mut Laws::default()).unwrap();
    let done = |kind: &str| kind.ends_with("_end") || kind == "completion";
    let events = seen.events.into_iter().filter(|(_, kind, _)| done(kind));
    events.map(|(time, kind, user)| (time.0 / MILLISECOND, kind, user)).collect()
}

/// Quantum 100 ms, so that 5000 words go out and come in during one: sizes of 15 000, 5000 and 1000 words enter at
/// levels 2, 1 and 0. Worked out by hand.
fn three_sizes() -> Value {
    let demand = |cpu: f64, words: u32| json!({"cpu": cpu, "words": words, "disk": 0, "lines": 0});
    let script = script(&[demand(1.0, 15_000), demand(0.35, 5000), demand(0.05, 1000)], true);
    with(bare(script), json!({"quantum": 0.1}))
}

#[test]
fn programs_run_in_the_order_of_a_trace_worked_out_by_hand() {
    let seen = trace(&three_sizes(), &[0, 200, 300]);
    let expected = [
        (150, "command_load_end", Some(0)),
        // It has had 150 ms when the smallest comes, more than that one's 100 ms; 200 ms for the other are not over.
        (300, "run_end", Some(0)),
        (310, "swap_out_end", Some(0)),
        (320, "command_load_end", Some(2)),
        (370, "run_end", Some(2)),
        (370, "completion", Some(2)),
        // 4000 more words of the largest make room; then two quanta at level 1.
        (410, "swap_out_end", Some(0)),
        (460, "command_load_end", Some(1)),
        (660, "run_end", Some(1)),
        // At level 2 the one that was interrupted is first, and has 250 ms of its turn left.
        (710, "swap_out_end", Some(1)),
        (760, "swap_in_end", Some(0)),
        (1010, "run_end", Some(0)),
        (1060, "swap_out_end", Some(0)),
        (1110, "swap_in_end", Some(1)),
        (1260, "run_end", Some(1)),
        (1260, "completion", Some(1)),
        // Nobody writes a program that has ended.
        (1310, "swap_in_end", Some(0)),
        (1910, "run_end", Some(0)),
        (1910, "completion", Some(0)),
    ];
    assert_eq!(seen, expected);
}

#[test]
fn the_rule_of_preemption_decides_who_waits() {
    let completions = |preempt: &str| -> Vec<(u64, Option<u32>)> {
        let seen = trace(&with(three_sizes(), json!({"preempt": preempt})), &[0, 200, 300]);
        let done = seen.into_iter().filter(|(_, kind, _)| *kind == "completion");
        done.map(|(time, _, user)| (time, user)).collect()
    };
    // At once: the second is being loaded, from 200 + 50 to 300 ms, when the third comes, and gives way before it has run.
    assert_eq!(completions("at_once")[0], (370, Some(2)));
    // Never: the first ends its turn of 400 ms at 550 ms; the third takes its place in 20 ms.
    assert_eq!(completions("never")[0], (620, Some(2)));
}

/// Worked out by hand: the two larger ones enter at level 3, with turns of 800 ms, the smallest at level 2 with 400 ms.
#[test]
fn with_two_sizes_of_entry_an_editor_waits_for_the_compiler() {
    let completions = |entry: &str, preempt: &str| -> Vec<(u64, Option<u32>)> {
        let rules = json!({"entry": entry, "preempt": preempt});
        let seen = trace(&with(three_sizes(), rules), &[0, 200, 300]);
        let done = seen.into_iter().filter(|(_, kind, _)| *kind == "completion");
        done.map(|(time, _, user)| (time, user)).collect()
    };
    // The first runs from 150 ms for its turn; the third has its place 20 ms later, and 50 ms after that is done; the
    // second needs 90 ms for its place and 350 ms; the first comes back in 50 ms for the 200 ms that are left.
    assert_eq!(completions("two_sizes", "never"), [(1020, Some(2)), (1460, Some(1)), (1710, Some(0))]);
    // The third takes over after 400 ms; the first is before the second for the rest of its turn.
    assert_eq!(
        completions("two_sizes", "newcomers_turn"),
        [(620, Some(2)), (1480, Some(1)), (1730, Some(0))]
    );
    // By swap time the second is served before the first in both cases, and done sooner.
    assert_eq!(completions("swap_time", "newcomers_turn")[1], (1260, Some(1)));
}

/// One user, one transfer before the run and one half-way, a line of reply.
#[test]
fn a_response_is_what_its_parts_add_up_to() {
    let step = |words: u32| {
        json!({"command": "a", "types": "x", "wait_for": "R ",
               "ctss": {"cpu": 0.3, "words": words, "disk": 2, "lines": 1}})
    };
    let script =
        json!({"name": "test", "think": 30, "commands": {"a": {}}, "interaction": [step(1000), step(4000)]});
    let parts = json!({
        "users": 1, "normal_users": 0, "length": 20_000, "disk_seek": 0.1, "line_overhead": 0.004, "line_time": 2,
    });
    let parameters = with(bare(script), parts);
    let transfers = 2.0 * 432.0 * 1e-5;
    let first = column(&parameters, 1, "response_01_s")[0];
    assert!((first - (0.004 + 0.1 + 0.01 + transfers + 0.3)).abs() < 1e-9, "{first}");
    // The program is still in core. It asks for 4000 words half-way; nobody is there who would have to leave, and the
    // words that it gets anew need not be read.
    let second = column(&parameters, 1, "response_02_s")[0];
    assert!((second - (0.004 + transfers + 0.3)).abs() < 1e-9, "{second}");
    // Each reply takes 2 s, after which the user thinks.
    let real = column(&parameters, 1, "real_time_s")[0];
    assert!((real - (60.0 + 2.0 + first + second)).abs() < 1e-6, "{real}");
    let cpu = column(&parameters, 1, "cpu_per_interaction_s")[0];
    assert!((cpu - (0.3 + 0.11 / 2.0)).abs() < 1e-3, "{cpu}");
}

#[test]
fn a_clock_in_steps_is_right_on_average() {
    let exact = column(&json!({"clock_resolution": 0, "length": 30_000}), 8, "response_mean_s");
    let coarse = column(&json!({"clock_resolution": 2, "length": 30_000}), 8, "response_mean_s");
    for (exact, coarse) in exact.iter().zip(&coarse) {
        // Some 400 responses, each off by less than 2 s, with standard deviation below 1 s: six of them.
        assert!(exact != coarse && (exact - coarse).abs() < 6.0 / 20.0, "{exact} {coarse}");
    }
}

#[test]
fn what_cannot_be_is_refused_with_what_could() {
    let refused =
        |wrong: Value| Simulation::new(system("ctss").unwrap(), given(&wrong)).err().unwrap().to_string();
    for (wrong, named, remedy) in [
        (json!({"normal_users": 18}), "normal_users: 18 was given", "at most"),
        (json!({"background_words": 40_000}), "background_words: 40000 was given", "32768 words"),
        (json!({"quantum": 0}), "quantum: 0 was given", "a number of at least 0.000000001"),
        (json!({"preempt": "sometimes"}), "preempt", "newcomers_turn, at_once, never"),
        (json!({"swap_device": "tape"}), "swap_device", "drum, disk"),
        (json!({"script": "6mad2"}), "script", "did you mean \"6mad1\"?"),
        (json!({"script": {"name": "none", "interaction": []}}), "script", "commands is missing"),
        (json!({"normal_think": "exponential(mean=-1)"}), "normal_think", "mean"),
    ] {
        let message = refused(wrong.clone());
        assert!(message.contains(named) && message.contains(remedy), "{wrong}: {message}");
    }
}

#[test]
fn the_monitor_sees_what_the_figures_say() {
    let config = configured::<Config>(&json!({"users": 12, "normal_users": 8}));
    let mut seen = Everything::default();
    let outcome =
        replicate(&config, &replication(Streams { seed: 7, replication: 3 }, 30.0, 4030.0), &mut seen)
            .unwrap();
    let silent =
        replicate(&config, &replication(Streams { seed: 7, replication: 3 }, 30.0, 4030.0), &mut NullMonitor)
            .unwrap();
    let bits = |outcome: &Outcome| outcome.responses.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
    assert_eq!(bits(&outcome), bits(&silent), "to be watched changes nothing");

    let columns: Vec<String> = responses::sample_columns().into_iter().map(|column| column.name).collect();
    let total = |name: &str| -> f64 {
        let at = columns.iter().position(|column| column == name).unwrap();
        let values = seen.samples.iter().map(|(_, _, row)| match &row[at] {
            Cell::F64(x) => *x,
            Cell::U64(n) => *n as f64,
            other => panic!("{other:?}"),
        });
        values.sum()
    };
    let length: f64 = seen.samples.iter().map(|(_, length, _)| length.seconds()).sum();
    assert!((length - 4000.0).abs() < 1e-9);
    let swap = ["swap_in_s", "swap_out_s", "command_load_s"];
    let states =
        [swap.as_slice(), &["run_s", "background_s", "supervisor_s", "disk_wait_s", "idle_s"]].concat();
    let sum = |names: &[&str]| names.iter().map(|name| total(name)).sum::<f64>();
    assert!((sum(&states) - length).abs() < 1e-6);
    assert!((sum(&swap) / length - response(&config, &outcome, "swap_share")).abs() < 1e-9);
    for (column, share) in [("run_s", "processor_share"), ("disk_wait_s", "disk_wait_share")] {
        assert!((total(column) / length - response(&config, &outcome, share)).abs() < 1e-9, "{share}");
    }
    let interactions = total("script_interactions");
    assert_eq!(interactions, response(&config, &outcome, "script_interactions"));
    for (column, each) in
        [("script_run_s", "run_per_interaction_s"), ("script_swap_s", "swap_per_interaction_s")]
    {
        assert!((total(column) / interactions - response(&config, &outcome, each)).abs() < 1e-9, "{each}");
    }
    let mean = total("script_response_s") / total("script_waits");
    assert!((mean - response(&config, &outcome, "response_mean_s")).abs() < 1e-9);
    let after = Time::ZERO + Span::from_seconds(30.0);
    let counted =
        |kind: &str| seen.events.iter().filter(|(now, of, _)| *of == kind && *now >= after).count() as f64;
    assert_eq!(counted("completion"), total("interactions"));
    assert_eq!(counted("input"), total("inputs"));
    assert!(seen.interactions.iter().filter(|it| it.completion.is_some()).all(|it| it.service > Span::ZERO));
    let done = seen.interactions.iter().filter(|it| it.completion.is_some_and(|end| end >= after)).count();
    assert_eq!(done as f64, total("interactions"));
}

/// The checker is checked: time for which nobody is charged, and a program that is at two levels, are seen.
#[test]
fn a_machine_that_miscounts_is_refused() {
    let config = configured::<Config>(&json!({}));
    let broken = |breaks: fn(&mut Machine<NullMonitor>, Time)| {
        let mut calendar = Machine::<NullMonitor>::calendar(&config);
        let mut silent = NullMonitor;
        let streams = Streams { seed: 1, replication: 0 };
        let mut machine = Machine::new(&config, &replication(streams, 0.0, 600.0), &mut silent);
        run(&mut machine, &mut calendar, Time::ZERO, Time::ZERO + Span::from_seconds(500.0));
        breaks(&mut machine, calendar.now());
        machine.finish(&mut calendar, &mut Laws::default()).unwrap_err().law
    };
    assert_eq!(broken(|machine, _| machine.users[0].run += 1), "run time adds up by user");
    assert_eq!(broken(|machine, _| machine.users[0].swap += 1), "swap time adds up by user");
    assert_eq!(broken(|machine, now| machine.measures.enters_level(0, now)), "flow balance");
    let idle =
        |machine: &mut Machine<NullMonitor>, now: Time| machine.measures.enters(State::Idle, Time(now.0 - 1));
    assert!(broken(idle).starts_with("time adds up"));
}

fn any_parameters() -> impl Strategy<Value = Value> {
    let scheduling = (
        1u64..10,
        0.01f64..1.0,
        prop::sample::select(vec!["newcomers_turn", "at_once", "never"]),
        prop::sample::select(vec!["swap_time", "two_sizes"]),
        any::<bool>(),
        any::<bool>(),
    );
    let devices = (prop::sample::select(vec!["drum", "disk"]), 1e-6f64..1e-4, 2000u64..32_768, 0.0f64..0.2);
    let users = (1u64..20, 0.0f64..1.0, 0.0f64..10.0, prop::sample::select(vec![0.0, 0.003, 0.5]));
    let step = (any::<bool>(), any::<bool>(), 0.0f64..2.0, 1u64..32_768, 0u64..5, 0u64..4);
    let steps = prop::collection::vec(step, 1..8);
    (scheduling, devices, users, steps).prop_map(|(scheduling, devices, users, steps)| {
        let (levels, quantum, preempt, entry, background, partial) = scheduling;
        let (device, word, core, seek) = devices;
        let (users, normal, think, line) = users;
        let interactions: Vec<Value> = steps
            .into_iter()
            .map(|(other, wait, cpu, words, disk, lines)| {
                let command = if other { "a" } else { "b" };
                let demands = json!({"cpu": cpu, "words": words, "disk": disk, "lines": lines});
                if wait {
                    json!({"command": command, "types": "x", "wait_for": "R ", "ctss": demands})
                } else {
                    json!({"command": command, "types": "x", "wait": false, "ctss": demands})
                }
            })
            .collect();
        json!({
            "levels": levels, "quantum": quantum, "preempt": preempt, "entry": entry,
            "background": background, "partial_swap": partial, "swap_device": device, "drum_word_time": word, "core": core,
            "background_words": core / 2, "disk_seek": seek, "users": users,
            "normal_users": (users as f64 * normal) as u64, "normal_think": think + 0.1,
            "line_overhead": line, "clock_resolution": line,
            "script": {
                "name": "any", "think": think + 0.1, "commands": {"a": {}, "b": {}}, "interaction": interactions,
            },
        })
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    /// Every law holds in any configuration, with and without a warm-up.
    #[test]
    fn laws_hold_in_any_configuration(
        parameters in any_parameters(),
        warm_up in prop::sample::select(vec![0.0, 17.3]),
        seed in 0u64..1000,
    ) {
        let outcome = replicate(&configured::<Config>(&parameters), &replication(Streams { seed: 7, replication: seed }, warm_up, 200.0), &mut Everything::default());
        prop_assert!(outcome.is_ok(), "{}", outcome.unwrap_err());
    }
}
