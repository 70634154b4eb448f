//! Networks with known figures, descriptions that are wrong, and laws in any network.

use proptest::prelude::*;
use serde_json::{Map, Value, json};

use crate::kernel::{Budget, Simulation, SimulationError};
use crate::system;

fn simulation(parameters: &Value) -> Result<Simulation, String> {
    let given: &Map<String, Value> = parameters.as_object().unwrap();
    Simulation::new(system("network").unwrap(), given).map_err(|error| error.to_string())
}

/// Mean of a response over replications, and its standard error.
fn estimate(parameters: &Value, replications: u64, response: &str) -> (f64, f64) {
    let simulation = simulation(parameters).unwrap();
    let index = simulation.prepared().responses().iter().position(|r| r.name == response).unwrap();
    let finished = simulation.run(1974, 0..replications, Some(2), Budget::DEFAULT, |_| true).unwrap();
    let n = replications as f64;
    let values: Vec<f64> = finished.outcomes.iter().map(|outcome| outcome.responses[index]).collect();
    let mean = values.iter().sum::<f64>() / n;
    let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (n - 1.0);
    (mean, (variance / n).sqrt())
}

/// H0: the mean of the response is `expected`. With 40 replications t has 39 degrees of freedom; |t| > 5.5 has
/// probability 2.5e-6.
fn agrees(parameters: &Value, response: &str, expected: f64) {
    let (mean, error) = estimate(parameters, 40, response);
    assert!((mean - expected).abs() < 5.5 * error, "{response}: {mean} +- {error} against {expected}");
}

fn closed(length: f64, warm_up: f64, stations: Value) -> Value {
    json!({"users": 35, "think": "exponential(mean=20)", "stations": stations, "length": length,
           "warm_up": warm_up})
}

fn open(between: f64, discipline: &str, service: &str) -> Value {
    json!({"arrivals": {"kind": "exponential", "mean": between}, "length": 20_000, "warm_up": 2000,
           "stations": [{"name": "server", "discipline": discipline, "service": service}]})
}

/// Machine repairman: X = 1.59954 1/s, R = 1.88130 s.
#[test]
fn machine_repairman() {
    let server = json!([{"name": "server", "discipline": "fcfs", "service": "exponential(mean=0.5)"}]);
    let parameters = closed(20_000.0, 1000.0, server);
    agrees(&parameters, "throughput_per_s", 1.59954);
    agrees(&parameters, "mean_response_s", 1.88130);
    agrees(&parameters, "server_utilisation", 1.59954 * 0.5);
    agrees(&parameters, "server_mean_wait_s", 1.38130);
}

#[test]
fn the_same_test_sees_two_per_cent() {
    let server = json!([{"name": "server", "discipline": "fcfs", "service": "exponential(mean=0.51)"}]);
    let (mean, error) = estimate(&closed(20_000.0, 1000.0, server), 40, "mean_response_s");
    assert!((mean - 1.88130).abs() > 5.5 * error, "{mean} +- {error}");
}

fn swapped() -> Value {
    json!([{"name": "disk", "discipline": "fcfs", "service": 0.1},
           {"name": "cpu", "discipline": "round_robin", "time_slice": 0.1,
            "service": "hyperexponential(weights=[0.9,0.1],means=[0.1,5])"}])
}

#[test]
fn one_server_by_each_discipline() {
    let exponential = "exponential(mean=0.5)";
    // M/M/1 at load 0.5: E R = S / (1 - rho), the same for all that do not know the demands.
    for discipline in ["fcfs", "processor_sharing", "least_attained", "priority", "preemptive_priority"] {
        agrees(&open(1.0, discipline, exponential), "mean_response_s", 1.0);
    }
    // M/D/1, waiting half of that of M/M/1; M/G/1-PS does not see the distribution.
    agrees(&open(1.0, "fcfs", "0.5"), "mean_response_s", 0.75);
    agrees(&open(1.0, "processor_sharing", "0.5"), "mean_response_s", 1.0);
    agrees(&open(1.0, "delay", exponential), "mean_response_s", 0.5);
    agrees(&open(1.0, "delay", exponential), "mean_present", 0.5);
}

/// M/M/2 at load 0.75: by Erlang's C formula P(wait) = 9/14, E R = S + P(wait) S / (2 (1 - rho)).
#[test]
fn two_servers() {
    let parameters = json!({"arrivals": "exponential(mean=0.3333333333333333)", "length": 20_000, "warm_up": 2000,
        "stations": [{"name": "server", "discipline": "fcfs", "servers": 2, "service": "exponential(mean=0.5)"}]});
    agrees(&parameters, "mean_response_s", 0.5 + 9.0 / 14.0 * 0.5 / (2.0 * 0.25));
    agrees(&parameters, "server_utilisation", 0.75);
    // Whoever does not know the demands cannot do better or worse on average where they are exponential.
    for (discipline, field, slices) in [
        ("round_robin", "time_slice", json!(0.1)),
        ("feedback", "time_slices", json!([0.1, 0.2])),
        ("preemptive_priority", "servers", json!(2)),
    ] {
        let mut station = json!({"name": "server", "discipline": discipline, "servers": 2,
                                 "service": "exponential(mean=0.5)"});
        station[field] = slices;
        let parameters = json!({"arrivals": "exponential(mean=0.3333333333333333)", "length": 20_000,
                                "warm_up": 2000, "stations": [station]});
        agrees(&parameters, "mean_response_s", 0.5 + 9.0 / 14.0 * 0.5 / (2.0 * 0.25));
        agrees(&parameters, "server_utilisation", 0.75);
    }
    // Shared in equal parts, the mean is the same whatever the distribution (M/G/c-PS).
    for service in ["exponential(mean=0.5)", "0.5"] {
        let parameters = json!({"arrivals": "exponential(mean=0.3333333333333333)", "length": 20_000, "warm_up": 2000,
            "stations": [{"name": "server", "discipline": "processor_sharing", "servers": 2, "service": service}]});
        agrees(&parameters, "mean_response_s", 0.5 + 9.0 / 14.0 * 0.5 / (2.0 * 0.25));
        agrees(&parameters, "server_utilisation", 0.75);
    }
}

/// A Jackson network: a job visits the processor 1 / 0.2 times and the disk four times.
#[test]
fn routing_by_probabilities() {
    let parameters = json!({"arrivals": "exponential(mean=2)", "length": 50_000, "warm_up": 2000,
        "stations": [{"name": "cpu", "discipline": "processor_sharing", "service": "exponential(mean=0.2)"},
                     {"name": "disk", "discipline": "fcfs", "service": "exponential(mean=0.3)"}],
        "route": {"start": "cpu", "cpu": {"disk": 0.8, "leave": 0.2}, "disk": "cpu"}});
    agrees(&parameters, "cpu_utilisation", 0.5);
    agrees(&parameters, "disk_utilisation", 0.6);
    agrees(&parameters, "mean_response_s", 5.0 * 0.2 / 0.5 + 4.0 * 0.3 / 0.4);
}

/// Preemptive priority: the urgent class sees an M/M/1 of its own; Cobham's formula for the other,
/// E R = S / ((1 - r1) (1 - r1 - r2)) with exponential demands of one mean.
#[test]
fn two_classes() {
    let class = |name: &str, priority: u32| json!({"name": name, "arrivals": "exponential(mean=1)", "priority": priority});
    let parameters = json!({"length": 20_000, "warm_up": 2000, "classes": [class("low", 1), class("high", 0)],
        "stations": [{"name": "cpu", "discipline": "preemptive_priority", "service": "exponential(mean=0.3)"}]});
    agrees(&parameters, "high_mean_response_s", 0.3 / 0.7);
    agrees(&parameters, "low_mean_response_s", 0.3 / (0.7 * 0.4));
    agrees(&parameters, "throughput_per_s", 2.0);
}

/// The demands and think times of a user are the same under all disciplines, with any other station.
#[test]
fn disciplines_see_the_same_users() {
    let first = |discipline: Value, more: bool| {
        let mut cpu = json!({"name": "cpu", "service": "exponential(mean=0.5)"});
        cpu.as_object_mut().unwrap().append(discipline.clone().as_object_mut().unwrap());
        let mut stations = vec![cpu];
        if more {
            stations.push(json!({"name": "disk", "discipline": "fcfs", "service": "exponential(mean=1e-6)"}));
        }
        // A single user never waits, so that its response times are its demands.
        let parameters =
            json!({"users": 1, "think": "exponential(mean=20)", "stations": stations, "length": 1e5});
        estimate(&parameters, 2, "mean_response_s").0
    };
    let alone = first(json!({"discipline": "fcfs"}), false);
    for other in
        [json!({"discipline": "processor_sharing"}), json!({"discipline": "round_robin", "time_slice": 0.1})]
    {
        assert_eq!(first(other, false), alone);
    }
    assert!((first(json!({"discipline": "fcfs"}), true) - alone).abs() < 1e-5);
}

fn error(parameters: Value) -> String {
    simulation(&parameters).err().expect("this network is impossible")
}

fn cpu() -> Value {
    json!({"name": "cpu", "discipline": "fcfs", "service": 0.5})
}

/// Each message has these words.
fn say<const N: usize>(cases: [(String, &str); N]) {
    for (message, expected) in cases {
        assert!(message.contains(expected), "{message}\n  {expected}");
    }
}

#[test]
fn errors_in_stations() {
    let with = |field: &str, value: Value| {
        let mut station = cpu();
        station[field] = value;
        error(json!({"users": 3, "stations": [station]}))
    };
    say([
        (
            with("discipline", json!("fifo")),
            "there is no such discipline, in stations[0].discipline; did you mean \"fcfs\"? there are",
        ),
        (with("discipline", json!("round_robbin")), "did you mean \"round_robin\"?"),
        (
            with("discipline", json!("round_robin")),
            "stations[0].time_slice: must be given; give a number of at least",
        ),
        (
            with("time_slice", json!(1)),
            "stations[0].time_slice: 1 was given; leave it out: fcfs takes servers",
        ),
        (with("servers", json!(0)), "stations[0].servers: 0 was given; give a whole number from 1 to"),
        (
            with("service", json!("exponential(mean=-1)")),
            "stations[0].service: exponential: mean = -1: is out of",
        ),
        (
            with("servise", json!(1)),
            "\"servise\": there is no such field of stations[0]; did you mean \"service\"?",
        ),
        (
            with("name", json!("the CPU")),
            "stations[0].name: \"the CPU\" was given; give a name of small letters",
        ),
    ]);
}

#[test]
fn errors_in_routes() {
    let station = cpu();
    say([
        (
            error(json!({"users": 1, "stations": [station], "route": ["cpu", "dsk"]})),
            "\"dsk\": there is no such station, in route[1]",
        ),
        (
            error(json!({"users": 1, "stations": [station], "route": {"start": "cpu", "cpu": {"cpu": 0.5}}})),
            "route.cpu: probabilities that sum to 0.5 was given; give probabilities that sum to 1",
        ),
        (
            error(json!({"users": 1, "stations": [station], "route": {"start": "cpu", "cpu": "cpu"}})),
            "route: no way out from cpu was given",
        ),
        (
            error(json!({"users": 1, "stations": [station], "route": {"start": "cpu"}})),
            "route.cpu: must be given",
        ),
    ]);
}

#[test]
fn errors_in_populations() {
    let station = cpu();
    say([
        (error(json!({})), "network: stations: must be given; give a list of stations"),
        (error(json!({"stations": []})), "network: stations: [] was given; give at least one station"),
        (
            error(json!({"stations": [station]})),
            "network: users: nobody was given; give users (with think), or",
        ),
        (
            error(json!({"stations": [station], "users": 1, "arrivals": 2})),
            "network: arrivals: 2 was given; give users or arrivals, not both",
        ),
        (
            error(json!({"users": 1, "stations": [station, station]})),
            "stations[1].name: \"cpu\" a second time was given",
        ),
        (
            error(json!({"users": 1, "stations": [station], "classes": [{"name": "a", "users": 1}]})),
            "users: 1 was given; leave it out: there are classes",
        ),
        (
            error(json!({"stations": [station], "classes": [{"name": "cpu", "users": 1}]})),
            "classes[0].name: \"cpu\" a second time",
        ),
        (
            error(
                json!({"stations": [station], "classes": [{"name": "a", "users": 1, "service": {"dsk": 1}}]}),
            ),
            "\"dsk\": there is no such field of classes[0].service",
        ),
        (
            error(json!({"users": 1, "stations": [{"name": "cpu", "discipline": "delay"}]})),
            "stations[0].service: must be given",
        ),
        (
            error(json!({"users": 1, "stations": [{"name": "cpu", "discipline": "fcfs", "service": 0}]})),
            "think: no time, for class all, whose service at cpu takes none either was given",
        ),
        (
            error(json!({"users": 1, "length": 10, "stations": [
                {"name": "cpu", "discipline": "round_robin", "time_slice": 11, "service": 1}]})),
            "stations[0]: 11 s was given; give time slices that are not longer than the run, 10 s",
        ),
    ]);
}

#[test]
fn nothing_random_is_not_replicated() {
    let parameters =
        json!({"users": 2, "think": 3, "stations": [{"name": "cpu", "discipline": "fcfs", "service": 1}]});
    let simulation = simulation(&parameters).unwrap();
    assert!(matches!(
        simulation.run(1, 0..2, None, Budget::DEFAULT, |_| true),
        Err(SimulationError::DuplicateReplications(_))
    ));
    assert!(simulation.run(1, 0..1, None, Budget::DEFAULT, |_| true).is_ok());
}

#[test]
fn responses_have_names_of_their_own() {
    for parameters in [closed(600.0, 0.0, swapped()), open(1.0, "fcfs", "1")] {
        let simulation = simulation(&parameters).unwrap();
        let mut names: Vec<_> = simulation.prepared().responses().into_iter().map(|r| r.name).collect();
        let finished = simulation.run(1, 0..2, None, Budget::DEFAULT, |_| true).unwrap();
        assert_eq!(finished.outcomes[0].responses.len(), names.len());
        let all = names.len();
        names.sort();
        names.dedup();
        assert_eq!(names.len(), all);
    }
}

fn any_station(index: usize) -> impl Strategy<Value = Value> {
    let service = prop::sample::select(vec!["0.5", "exponential(mean=0.4)", "erlang(shape=3,mean=0.3)", "0"]);
    let discipline = prop::sample::select(vec![
        json!({"discipline": "fcfs"}),
        json!({"discipline": "fcfs", "servers": 3}),
        json!({"discipline": "priority"}),
        json!({"discipline": "preemptive_priority"}),
        json!({"discipline": "round_robin", "time_slice": 0.1, "switching": 0.01}),
        json!({"discipline": "round_robin", "time_slice": 1e-6}),
        json!({"discipline": "feedback", "time_slices": [0.1, 0.2, 0.4], "switching": 0.01}),
        json!({"discipline": "round_robin", "servers": 2, "time_slice": 0.1, "switching": 0.01}),
        json!({"discipline": "feedback", "servers": 3, "time_slices": [0.1, 0.2], "switching": 0.01}),
        json!({"discipline": "preemptive_priority", "servers": 2}),
        json!({"discipline": "least_attained"}),
        json!({"discipline": "processor_sharing"}),
        json!({"discipline": "shortest_remaining"}),
        json!({"discipline": "shortest_remaining", "servers": 2}),
        json!({"discipline": "delay"}),
    ]);
    (service, discipline).prop_map(move |(service, mut station)| {
        station["name"] = json!(format!("s{index}"));
        station["service"] = json!(service);
        station
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Any mixture of disciplines and classes: no law is broken, with or without a warm-up.
    #[test]
    fn laws_hold(
        stations in (any_station(0), any_station(1), any_station(2)),
        users in 1u32..40,
        think in prop::sample::select(vec!["exponential(mean=3)", "2", "0.25"]),
        warm_up in prop::sample::select(vec![0.0, 17.3]),
        seed in any::<u64>(),
    ) {
        let parameters = json!({"stations": [stations.0, stations.1, stations.2], "length": 60, "warm_up": warm_up,
            "classes": [
                {"name": "closed", "users": users, "think": think, "priority": 1,
                 "route": {"start": {"s0": 0.5, "s1": 0.5}, "s0": {"s1": 0.3, "s2": 0.2, "leave": 0.5},
                           "s1": "s2", "s2": {"s0": 0.4, "leave": 0.6}}},
                {"name": "open", "arrivals": "exponential(mean=2)", "route": ["s2", "s0", "s2"],
                 "service": {"s0": "exponential(mean=0.1)"}}]});
        let simulation = simulation(&parameters).unwrap();
        simulation.run(seed, 0..1, Some(1), Budget::DEFAULT, |_| true).unwrap();
    }
}
