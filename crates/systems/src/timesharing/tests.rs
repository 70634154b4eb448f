//! Recorded users against theory, against a plain second simulation, and every law under every scheduler.

use proptest::prelude::*;
use serde_json::{Value, json};
use thinktime_engine::Streams;

use super::config::Config;
use crate::kernel::testing::{Everything, configured, given, replicate, replication, response};
use crate::kernel::{Budget, Configuration, NullMonitor, Simulation};
use crate::system;

const SCHEDULERS: [&str; 6] =
    ["round_robin", "feedback", "processor_sharing", "fcfs", "priority", "shortest_remaining"];

fn simulation(parameters: &Value) -> Result<Simulation, String> {
    Simulation::new(system("timesharing").unwrap(), given(parameters)).map_err(|error| error.to_string())
}

/// Value of response `name` of one replication of `parameters`.
fn one(parameters: &Value, name: &str) -> f64 {
    let config: Config = configured(parameters);
    let run = replication(Streams { seed: 1, replication: 0 }, 0.0, 1e6);
    response(&config, &replicate(&config, &run, &mut NullMonitor).unwrap(), name)
}

/// A user with as many think times and CPU times as stand for an exponential distribution with these means: the means
/// of equal parts of it, paired at random.
fn exponential_user(think_s: f64, cpu_s: f64) -> Value {
    const PARTS: usize = 2000;
    let quantile = |at: f64| -(1.0 - at).ln();
    let means: Vec<f64> = (0..PARTS)
        .map(|part| {
            // The integral of the quantile function -ln(1 - p) is (1 - p) ln(1 - p) + p.
            let integral = |p: f64| if p >= 1.0 { 1.0 } else { p - (1.0 - p) * quantile(p) };
            let (low, high) = (part as f64 / PARTS as f64, (part + 1) as f64 / PARTS as f64);
            (integral(high) - integral(low)) * PARTS as f64
        })
        .collect();
    // 1231 has no factor in common with 2000: each part of the one comes with one of the other.
    let row = |part: usize| json!([think_s * means[part], cpu_s * means[(part * 1231 + 17) % PARTS], 0]);
    json!({"interactions": (0..PARTS).map(row).collect::<Vec<_>>()})
}

/// Mean response of `users` who think and demand exponentially with these means of `servers`: the machine repairman,
/// a birth and death process.
fn repairman(users: usize, think_s: f64, cpu_s: f64, servers: usize) -> f64 {
    let mut weights = vec![1.0];
    for present in 1..=users {
        let birth = (users - present + 1) as f64 / think_s;
        let death = present.min(servers) as f64 / cpu_s;
        weights.push(weights[present - 1] * birth / death);
    }
    let total: f64 = weights.iter().sum();
    let mean = |of: &dyn Fn(usize) -> f64| -> f64 {
        weights.iter().enumerate().map(|(n, weight)| of(n) * weight / total).sum()
    };
    mean(&|n| n as f64) / mean(&|n| n.min(servers) as f64 / cpu_s)
}

/// Mean of the mean responses of 30 replications, and its standard error.
fn estimate(parameters: &Value) -> (f64, f64) {
    let simulation = simulation(parameters).unwrap();
    let responses = simulation.prepared().responses();
    let index = responses.iter().position(|one| one.name == "mean_response_s").unwrap();
    let finished = simulation.run(1974, 0..30, Some(2), Budget::DEFAULT, |_| true).unwrap();
    let values: Vec<f64> = finished.outcomes.iter().map(|outcome| outcome.responses[index]).collect();
    let mean = values.iter().sum::<f64>() / 30.0;
    let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / 29.0;
    (mean, (variance / 30.0).sqrt())
}

fn exponential(users: u64, cpus: u64, scheduler: &str) -> Value {
    json!({"users": [exponential_user(5.0, 1.0)], "population": users, "cpus": cpus, "scheduler": scheduler,
           "time_slice": 0.05, "length": 3000, "warm_up": 300})
}

/// H0: the mean response is that of the repairman, under every scheduler that does not know the demands. With 30
/// replications t has 29 degrees of freedom: |t| > 5.8 has probability 3e-6.
#[test]
fn several_cpus_are_the_machine_repairman() {
    for (users, cpus) in [(8, 1), (20, 3)] {
        let expected = repairman(users as usize, 5.0, 1.0, cpus as usize);
        for scheduler in ["round_robin", "feedback", "processor_sharing", "fcfs", "priority"] {
            let (mean, error) = estimate(&exponential(users, cpus, scheduler));
            assert!(
                (mean - expected).abs() < 5.8 * error,
                "{scheduler} {cpus}: {mean} +- {error}, {expected}"
            );
        }
        // Who knows the demands does better, and the same test sees it.
        let (mean, error) = estimate(&exponential(users, cpus, "shortest_remaining"));
        assert!(mean < expected - 5.8 * error, "{cpus}: {mean} +- {error} against {expected}");
    }
}

/// Background that comes at random takes its share: of one CPU, M/M/1 with processor sharing.
#[test]
fn a_lone_user_shares_with_background_work() {
    // A user who is hardly ever there: a piece of 1 s among work of 0.5 CPU takes 1 / (1 - 0.5), whatever its pieces.
    for burst in [0.01, 0.3] {
        let parameters = json!({"users": [{"interactions": [[100, 1, 0]]}], "scheduler": "processor_sharing",
            "background": 0.5, "background_burst": burst, "length": 20_000, "warm_up": 200});
        let (mean, error) = estimate(&parameters);
        assert!((mean - 2.0).abs() < 5.8 * error, "{burst}: {mean} +- {error}");
    }
}

/// Two users at one time, by hand.
fn two(more: Value) -> Value {
    let mut parameters = json!({"inputs": "recorded", "scheduler": "fcfs",
        "users": [{"from": 0, "until": 0, "interactions": [[1, 4, 0.5, 0]]},
                  {"from": 1, "until": 1, "interactions": [[1, 1, 2, 1]]}],
        "classes": [{"name": "long", "priority": 1}, {"name": "short"}]});
    parameters.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    parameters
}

#[test]
fn every_scheduler_by_hand() {
    let responses = |more: Value| {
        let parameters = two(more);
        (one(&parameters, "responses_of_group_0_s"), one(&parameters, "responses_of_group_1_s"))
    };
    assert_eq!(responses(json!({"scheduler": "fcfs"})), (4.5, 6.0));
    assert_eq!(responses(json!({"scheduler": "fcfs", "cpus": 2})), (4.5, 3.0));
    assert_eq!(responses(json!({"scheduler": "priority"})), (5.5, 3.0));
    assert_eq!(responses(json!({"scheduler": "shortest_remaining"})), (5.5, 3.0));
    // Both from 1 s on at half the speed: the short one has its second at 3 s.
    assert_eq!(responses(json!({"scheduler": "processor_sharing"})), (5.5, 4.0));
    // Slices of 2 s: the long one's first ends at 2 s, then comes the short one.
    assert_eq!(responses(json!({"scheduler": "round_robin", "time_slice": 2})), (5.5, 4.0));
    // The same, and then the long one has all that is left at level 1.
    assert_eq!(responses(json!({"scheduler": "feedback", "time_slice": 2})), (5.5, 4.0));
    assert_eq!(one(&two(json!({})), "mean_wait_s"), 1.5);
    assert_eq!(one(&two(json!({})), "class_1_mean_response_s"), 6.0);
}

/// A user alone gets what was recorded, input for input; a slower one types fewer in the same time.
#[test]
fn a_user_alone_repeats_the_recording() {
    let user = json!({"from": 3, "until": 36, "interactions": [[3, 2, 1], [10, 1, 0.5], [18, 1, 1]]});
    let config: Config = configured(&json!({"inputs": "recorded", "users": [user]}));
    let mut seen = Everything::default();
    let run = replication(Streams { seed: 1, replication: 0 }, 0.0, 1e6);
    replicate(&config, &run, &mut seen).unwrap();
    let seconds = |one: &crate::kernel::Interaction| {
        (one.arrival.seconds(), one.completion.unwrap().seconds(), one.service.seconds())
    };
    let seen: Vec<_> = seen.interactions.iter().map(seconds).collect();
    assert_eq!(seen, [(3.0, 6.0, 2.0), (16.0, 17.5, 1.0), (35.5, 37.5, 1.0)]);
    let slow = json!({"from": 3, "until": 36, "interactions": [[3, 12, 1], [10, 11, 0.5], [18, 1, 1]]});
    assert_eq!(one(&json!({"inputs": "recorded", "users": [slow]}), "completed"), 2.0);
    // A faster one begins again.
    let fast = json!({"from": 3, "until": 36, "interactions": [[3, 0, 0], [10, 0, 0], [8, 0, 0]]});
    assert_eq!(one(&json!({"inputs": "recorded", "users": [fast]}), "completed"), 5.0);
}

/// Inputs of a schedule come when they are due, and wait for those before.
#[test]
fn scheduled_inputs_do_not_wait_for_replies() {
    let user =
        json!({"from": 1, "until": 3, "scheduled": true, "interactions": [[1, 5, 0], [1, 1, 0], [1, 1, 0]]});
    let parameters = json!({"inputs": "recorded", "users": [user]});
    // Due at 1, 2 and 3 s; ended at 6, 7 and 8 s.
    assert_eq!((one(&parameters, "completed"), one(&parameters, "mean_response_s")), (3.0, 5.0));
}

/// First come, first served on `cpus`, an input at a time, in whole nanoseconds: the sum of all responses, and their
/// number. None where two inputs come at one time, which could go first as well.
fn plainly(users: &[Vec<(u64, u64, u64)>], cpus: usize, until: u64) -> Option<(u64, u64)> {
    let mut due: Vec<(u64, usize)> = users.iter().map(|inputs| (inputs[0].0, 0)).collect();
    let mut free = vec![0; cpus];
    let (mut sum, mut count, mut last) = (0, 0, None);
    // The next to come is always known: what is not yet typed comes later.
    while let Some(user) =
        (0..users.len()).filter(|user| due[*user].0 <= until).min_by_key(|user| due[*user].0)
    {
        let (arrived, index) = due[user];
        if last.replace(arrived) == Some(arrived) {
            return None;
        }
        let (_, cpu, delay) = users[user][index];
        let server = (0..cpus).min_by_key(|cpu| free[*cpu]).unwrap();
        free[server] = free[server].max(arrived) + cpu;
        let ended = free[server] + delay;
        (sum, count) = (sum + ended - arrived, count + 1);
        let next = (index + 1) % users[user].len();
        due[user] = (ended + users[user][next].0, next);
    }
    Some((sum, count))
}

/// (think, CPU time, delay) of the interactions of each user, in nanoseconds.
fn users() -> impl Strategy<Value = Vec<Vec<(u64, u64, u64)>>> {
    let interaction = (1u64..400, 0u64..200, 0u64..50);
    prop::collection::vec(prop::collection::vec(interaction, 1..6), 1..6)
}

fn described(users: &[Vec<(u64, u64, u64)>], until: u64) -> Vec<Value> {
    let seconds = |ns: u64| ns as f64 * 1e-9;
    let row =
        |(think, cpu, delay): &(u64, u64, u64)| json!([seconds(*think), seconds(*cpu), seconds(*delay)]);
    let user = |inputs: &Vec<(u64, u64, u64)>| {
        json!({"from": seconds(inputs[0].0), "until": seconds(until), "group": 0,
               "interactions": inputs.iter().map(row).collect::<Vec<_>>()})
    };
    users.iter().map(user).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    /// All responses are the same to the nanosecond.
    #[test]
    fn a_plain_simulation_agrees(users in users(), cpus in 1usize..4, until in 400u64..3000) {
        let parameters = json!({"inputs": "recorded", "scheduler": "fcfs", "cpus": cpus,
                                "users": described(&users, until)});
        if let Some((sum, count)) = plainly(&users, cpus, until) {
            prop_assert_eq!(one(&parameters, "completed"), count as f64);
            prop_assert!((one(&parameters, "responses_of_group_0_s") - sum as f64 * 1e-9).abs() < 1e-15 * count as f64);
        }
    }

    #[test]
    fn laws_hold_at_any_time(
        users in users(), which in 0usize..6, cpus in 1u64..4, recorded: bool, warm_up in 0.0f64..5.0,
        more in 0.1f64..20.0, background in 0.0f64..0.9, scheduled: bool,
    ) {
        let mut described = described(&users, 1_000_000_000);
        for user in &mut described {
            for input in user["interactions"].as_array_mut().unwrap() {
                // Tenths of a second in place of nanoseconds.
                input.as_array_mut().unwrap().iter_mut().for_each(|it| *it = json!(it.as_f64().unwrap() * 1e7));
            }
            user["scheduled"] = json!(scheduled);
        }
        let config: Config = configured(&json!({"users": described, "scheduler": SCHEDULERS[which], "cpus": cpus,
            "inputs": if recorded { "recorded" } else { "resampled" }, "background": background}));
        let run = replication(Streams { seed: 7, replication: 0 }, warm_up, warm_up + more);
        let silent = replicate(&config, &run, &mut NullMonitor).unwrap();
        let mut everything = Everything::default();
        let listened = replicate(&config, &run, &mut everything).unwrap();
        prop_assert_eq!(silent.responses.len(), config.responses().len());
        let same = silent.responses.iter().zip(&listened.responses).all(|(a, b)| a.to_bits() == b.to_bits());
        prop_assert!(same, "a monitor changes the run");
    }
}

/// What is wrong is named with its place and a remedy.
#[test]
fn descriptions_that_are_wrong() {
    let refused = |parameters: Value| simulation(&parameters).err().unwrap();
    for (parameters, place, remedy) in [
        (json!({"users": []}), "users: an empty list was given", "at least one user"),
        (json!({"users": 5}), "users: 5 was given", "a list of users"),
        (json!({"users": [{"interactions": []}]}), "users[0]: ", "give a user as {interactions"),
        (
            json!({"users": [{"interactions": [[1, 2]]}]}),
            "users[0].interactions[0]: [1,2] was given",
            "CPU time",
        ),
        (json!({"users": [{"interactions": [[1, -2, 0]]}]}), "users[0].interactions[0]: ", "from 0 to 1e9"),
        (json!({"users": [{"interactions": [[1, 2, 0, 1]]}]}), "users[0].interactions[0]: ", "class"),
        (json!({"users": [{"interactions": [[0, 0, 0]]}]}), "users[0]: ", "an interaction that takes time"),
        (json!({"users": [{"interactions": [[1, 2, 0]], "form": 1}]}), "\"form\"", "from"),
        (json!({"classes": [{"priority": 1}]}), "classes[0]: ", "{name ="),
        (json!({"classes": [{"name": "a", "priority": 101}]}), "classes[0]: ", "100 the least"),
        (json!({"background": 1}), "background: 1 was given", "fewer than the 1 CPUs"),
    ] {
        let error = refused(parameters.clone());
        assert!(error.starts_with(&format!("timesharing: {place}")), "{parameters}: {error}");
        assert!(error.contains(remedy), "{parameters}: {error}");
    }
    let as_text = json!({"users": "[{\"interactions\": [[1, 2, 0]]}]"});
    assert_eq!(simulation(&as_text).unwrap().prepared().population(), 1);
}
