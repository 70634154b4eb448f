//! Any parameters that are accepted, at the extremes of their ranges: the run ends within its bound, with figures that
//! are numbers or absent.

use proptest::prelude::*;
use proptest::sample::Index;
use serde_json::{Map, Value, json};

use super::cost::{Budget, RunLength};
use super::parameter::{Allowed, Parameter};
use super::replicate::System;
use super::simulation::{Simulation, SimulationError};
use crate::SYSTEMS;

/// Bound of a run: small, so that a run which does not keep it is noticed at once.
const BUDGET: Budget = Budget { events: 20_000, bytes: 64 << 20 };
/// Length of a run [s].
const LENGTH_S: f64 = 100.0;
/// Words and numbers that are read as distributions.
const DISTRIBUTIONS: [&str; 10] = [
    "0",
    "1e-9",
    "1e18",
    "exponential(mean=1e-6)",
    "exponential(mean=1e9)",
    "lognormal(mean=1,sd=1000)",
    "lognormal(mean=1e-6,sd=1000)",
    "uniform(low=0,high=1e18)",
    "discrete(values=[0,1e18],weights=[0.5,0.5])",
    "hyperexponential(weights=[0.999,0.001],means=[1e-9,1e9])",
];
/// Networks, each of which reaches another limit.
const NETWORKS: [&str; 6] = [
    r#"{"arrivals": 1e-6, "stations": [{"name": "cpu", "discipline": "fcfs", "service": 0.5}]}"#,
    r#"{"users": 10000000, "think": 1, "stations": [{"name": "cpu", "discipline": "fcfs", "service": 0.5}]}"#,
    r#"{"users": 3, "think": 1, "stations": [{"name": "cpu", "discipline": "feedback", "time_slices": [1e-9],
        "service": "exponential(mean=1000)"}]}"#,
    r#"{"users": 30, "stations": [{"name": "cpu", "discipline": "round_robin", "time_slice": 1e-9,
        "switching": 1000000, "service": "exponential(mean=1)"}]}"#,
    r#"{"users": 3, "think": "exponential(mean=1e-6)", "stations": [{"name": "cpu", "discipline": "delay",
        "service": "lognormal(mean=1e-9,sd=1000)"}]}"#,
    r#"{"users": 5, "think": "exponential(mean=5)", "route": {"start": "cpu", "cpu": {"cpu": 0.9999999,
        "leave": 1e-7}}, "stations": [{"name": "cpu", "discipline": "fcfs", "service": "exponential(mean=1e-3)"}]}"#,
];

/// An extreme value of `parameter`.
fn extreme(parameter: &Parameter, pick: Index) -> Value {
    match &parameter.allowed {
        Allowed::Integer { from, to } => json!(pick.get(&[*from, from + (to - from) / 1000, *to])),
        Allowed::Number { from, to, .. } => {
            let least = if *from > 0.0 { *from } else { 1e-300 };
            json!(pick.get(&[*from, least, 1e-9_f64.clamp(*from, *to), to / 1000.0, *to]))
        }
        Allowed::Choice(words) => json!(pick.get(words)),
        Allowed::Flag => json!(pick.get(&[true, false])),
        Allowed::Distribution => json!(DISTRIBUTIONS[pick.index(DISTRIBUTIONS.len())]),
        Allowed::Script | Allowed::Structure(_) => parameter.default.clone(),
    }
}

fn given(system: &System, picks: &[(Index, Index)], network: Index) -> Map<String, Value> {
    let parameters = system.parameters();
    let mut given: Map<String, Value> = picks
        .iter()
        .map(|(which, value)| {
            let parameter = which.get(parameters);
            (parameter.name(), extreme(parameter, *value))
        })
        .collect();
    if system.name == "network" {
        let described: Value = serde_json::from_str(NETWORKS[network.index(NETWORKS.len())]).unwrap();
        given.extend(described.as_object().unwrap().clone());
    }
    given.entry("length").or_insert(json!(LENGTH_S));
    given
}

/// True if the run ended as it may: with figures within the bound, or refused with a message.
fn kept(simulation: &Simulation) -> Result<bool, String> {
    match simulation.run(1, 0..2, Some(1), BUDGET, |_| true) {
        Ok(finished) => {
            let events: u64 = finished.outcomes.iter().map(|outcome| outcome.events).sum();
            let mut figures = finished.outcomes.iter().flat_map(|outcome| &outcome.responses);
            match figures.find(|figure| figure.is_infinite()) {
                Some(figure) => Err(format!("a response is {figure}")),
                // One event may set the slots of all users.
                None if events > 2 * BUDGET.events => Err(format!("{events} events")),
                None => Ok(true),
            }
        }
        Err(SimulationError::Parameter(_) | SimulationError::DuplicateReplications(_)) => Ok(false),
        Err(other) => Err(other.to_string()),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn an_accepted_run_ends_within_its_bound(
        system in any::<Index>(),
        picks in prop::collection::vec(any::<(Index, Index)>(), 1..4),
        network in any::<Index>(),
    ) {
        let system = system.get(&SYSTEMS);
        let given = given(system, &picks, network);
        if let Ok(simulation) = Simulation::new(system, &given) {
            let kept = kept(&simulation);
            prop_assert!(kept.is_ok(), "{} {}: {}", system.name, json!(given), kept.unwrap_err());
        }
    }
}

/// The defaults run within the default limits, and take as many events as was estimated, within a factor of three.
#[test]
fn the_estimate_of_the_defaults_is_of_the_right_order() {
    for system in &SYSTEMS {
        let mut given = Map::new();
        if system.name == "cp67" {
            // A year would take long: two days of readings.
            given.insert("observations".into(), json!(200));
        }
        if system.name == "network" {
            given.extend(serde_json::from_str::<Map<String, Value>>(NETWORKS[1]).unwrap());
            given.insert("users".into(), json!(20));
        }
        let simulation = Simulation::new(system, &given).unwrap();
        let finished = simulation.run(1, 0..1, Some(1), Budget::DEFAULT, |_| true).unwrap();
        let setting = |name: &str| simulation.settings().value(name).and_then(Value::as_f64).unwrap();
        let run = RunLength { length_s: setting("length"), interval_s: setting("interval") };
        let estimated = simulation.prepared().cost(run).total_events();
        let ratio = estimated / finished.outcomes[0].events as f64;
        assert!(
            (1.0 / 3.0..3.0).contains(&ratio),
            "{}: {estimated} estimated, {ratio} times the events",
            system.name
        );
    }
}

#[test]
fn an_overloaded_open_network_says_so() {
    let network = crate::system("network").unwrap();
    let given: Map<String, Value> = serde_json::from_str(NETWORKS[0]).unwrap();
    let simulation = Simulation::new(network, &given).unwrap();
    let generous = Budget { events: 1 << 40, bytes: 1 << 20 };
    let error = simulation.run(1, 0..1, Some(1), generous, |_| true).unwrap_err().to_string();
    assert!(error.contains("the system is open and overloaded: 4097 customers are in it"), "{error}");
    assert!(error.contains("--max-memory"), "{error}");
}

#[test]
fn a_run_above_the_limits_is_refused_with_the_parameter_that_drives_it() {
    let refused = |system: &str, given: Value| {
        let given = given.as_object().unwrap().clone();
        let simulation = Simulation::new(crate::system(system).unwrap(), &given).unwrap();
        simulation.run(1, 0..2, Some(1), Budget::DEFAULT, |_| true).unwrap_err().to_string()
    };
    let slices = refused("apl360", json!({"time_slice": 1e-9, "dispatch_overhead": 0}));
    assert!(slices.starts_with("apl360: time_slice: 1e-9 was given: about "), "{slices}");
    assert!(slices.contains("above the limit of 1.0e10") && slices.contains("--max-events"), "{slices}");
    let samples = refused("multics", json!({"interval": 1e-9}));
    assert!(samples.starts_with("multics: interval: 1e-9 was given"), "{samples}");
    let quanta = refused("ctss", json!({"quantum": 1e-9, "drum_revolution": 0, "line_overhead": 0}));
    assert!(quanta.starts_with("ctss: quantum: 1e-9 was given"), "{quanta}");
    let updates = refused("unix6", json!({"update_interval": 1e-9}));
    assert!(updates.starts_with("unix6: update_interval: 1e-9 was given"), "{updates}");
    let many = refused(
        "network",
        json!({"users": 10_000_000, "think": 1e6,
        "stations": (0..100).map(|n| json!({"name": format!("s{n}"), "discipline": "fcfs", "service": 1}))
            .collect::<Vec<_>>()}),
    );
    assert!(many.contains("bytes of memory are needed") && many.contains("--max-memory"), "{many}");
}
