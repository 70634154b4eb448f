//! The estimate of a run's events, compared with the events that are counted.

use serde_json::{Map, Value, json};

use super::cost::{Budget, RunLength};
use super::parameter::{Allowed, Parameter};
use super::replicate::System;
use super::simulation::Simulation;
use crate::SYSTEMS;

/// Settings of each system that run.
const SETTINGS: usize = 40;
/// Settings that are drawn: some combinations are refused.
const DRAWN: usize = 72;
/// Factor by which every parameter is multiplied or divided at most.
const FACTOR: f64 = 2.0;
/// Bounds of estimate divided by count. An open network may be near its capacity, where few of those who come are
/// served in the time of a run.
fn bounds(system: &System) -> std::ops::RangeInclusive<f64> {
    1.0 / 3.0..=if system.name == "network" { 5.0 } else { 3.0 }
}

/// Events of a run: more are not needed to compare, and a test must end.
const BUDGET: Budget = Budget { events: 10_000_000, bytes: 1 << 30 };

/// Parameters that stay as they are: of few values, or bound to others, so that most combinations are refused.
const KEPT: [&str; 16] = [
    "length",
    "dispatcher",
    "compute_share",
    "command_share",
    "output_bound_share",
    "background_words",
    "pc",
    "low_water",
    "file_span",
    "file_cylinder",
    "swap_cylinder",
    "swap_blocks",
    "swap_drive",
    "drive",
    "drives",
    "high_water",
];

/// splitmix64 (Steele, Lea, Flood 2014).
fn next(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// A Latin hypercube: for each of `columns`, one value in each of [`DRAWN`] equal parts of 0 to 1, in an order of its
/// own (McKay, Beckman, Conover 1979).
fn design(columns: usize, seed: u64) -> Vec<Vec<f64>> {
    let mut state = seed;
    let column = |state: &mut u64| {
        let mut cells: Vec<usize> = (0..DRAWN).collect();
        for last in (1..DRAWN).rev() {
            cells.swap(last, (next(state) % (last as u64 + 1)) as usize);
        }
        cells
            .into_iter()
            .map(|cell| (cell as f64 + (next(state) >> 11) as f64 * 2f64.powi(-53)) / DRAWN as f64)
            .collect()
    };
    (0..columns).map(|_| column(&mut state)).collect()
}

/// `default` with every length of time in it multiplied.
fn scaled(default: &Value, factor: f64) -> Value {
    let parameter = |key: &str| ["mean", "sd", "low", "high", "means", "values"].contains(&key);
    match default {
        Value::Number(number) => json!(number.as_f64().unwrap() * factor),
        Value::Array(items) => items.iter().map(|item| scaled(item, factor)).collect(),
        Value::Object(fields) => fields
            .iter()
            .map(|(key, value)| {
                (key.clone(), if parameter(key) { scaled(value, factor) } else { value.clone() })
            })
            .collect::<Map<String, Value>>()
            .into(),
        // Such as lognormal(mean=12, sd=24).
        Value::String(text) => text
            .split_inclusive(['=', ',', '(', ')', ' '])
            .map(|piece| {
                let digits = piece.trim_end_matches(['=', ',', '(', ')', ' ']);
                match digits.parse::<f64>() {
                    Ok(number) => format!("{}{}", number * factor, &piece[digits.len()..]),
                    Err(_) => piece.to_owned(),
                }
            })
            .collect::<String>()
            .into(),
        other => other.clone(),
    }
}

/// The value of `parameter` at `place`, from 0 to 1, of its range; `None` for what stays as it is.
fn at(parameter: &Parameter, place: f64) -> Option<Value> {
    let factor = FACTOR.powf(2.0 * place - 1.0);
    let number = parameter.default.as_f64();
    match &parameter.allowed {
        Allowed::Integer { from, to } => Some(json!(((number? * factor).round() as u64).clamp(*from, *to))),
        Allowed::Number { from, to, .. } => Some(json!((number? * factor).clamp(*from, *to))),
        Allowed::Choice(words) => Some(json!(words[(place * words.len() as f64) as usize])),
        Allowed::Flag => Some(json!(place < 0.5)),
        Allowed::Distribution => Some(scaled(&parameter.default, factor)),
        Allowed::Script | Allowed::Structure(_) => None,
    }
}

/// A network with `place` for its users, routes and disciplines.
fn network(places: &[f64]) -> Map<String, Value> {
    let mean = |place: f64, mean: f64| format!("exponential(mean={})", mean * FACTOR.powf(2.0 * place - 1.0));
    let disciplines =
        ["fcfs", "processor_sharing", "preemptive_priority", "feedback", "round_robin", "delay"];
    let discipline = disciplines[(places[0] * disciplines.len() as f64) as usize];
    let mut cpu = json!({"name": "cpu", "discipline": discipline, "service": mean(places[1], 0.2)});
    let slice = 0.05 * FACTOR.powf(2.0 * places[2] - 1.0);
    match discipline {
        "round_robin" => cpu["time_slice"] = json!(slice),
        "feedback" => cpu["time_slices"] = json!([slice, 2.0 * slice]),
        _ => {}
    }
    let disk = json!({"name": "disk", "discipline": "fcfs", "service": mean(places[3], 0.1)});
    let again = 0.8 * places[4];
    let mut given = json!({
        "stations": [cpu, disk],
        "route": {"start": "cpu", "cpu": {"disk": again, "leave": 1.0 - again}, "disk": "cpu"},
    });
    if places[5] < 0.7 {
        given["users"] = json!((20.0 * FACTOR.powf(2.0 * places[6] - 1.0)).round() as u64);
        given["think"] = json!(mean(places[7], 5.0));
    } else {
        given["arrivals"] = json!(mean(places[6], 4.0));
    }
    given.as_object().unwrap().clone()
}

/// Length of a run: some ten thousand events.
fn length_s(system: &System) -> f64 {
    match system.name {
        // Its services are of a heavy tail.
        "apl360" => 6000.0,
        "ctss" => 600.0,
        "multics" => 100.0,
        "unix6" => 300.0,
        _ => 1000.0,
    }
}

fn settings(system: &System) -> Vec<Map<String, Value>> {
    let parameters = system.parameters();
    let places = design(parameters.len() + 8, 1971);
    let setting = |number: usize| {
        let here: Vec<f64> = places.iter().map(|column| column[number]).collect();
        let mut given: Map<String, Value> = if system.name == "network" {
            network(&here[parameters.len()..])
        } else {
            let values = parameters.iter().zip(&here);
            values.filter_map(|(parameter, place)| Some((parameter.name(), at(parameter, *place)?))).collect()
        };
        given.insert("warm_up".into(), json!(0));
        given.retain(|name, _| !KEPT.contains(&name.as_str()));
        if system.name == "ctss" {
            let users = given["users"].as_f64().unwrap();
            given.insert("normal_users".into(), json!((users * here[parameters.len() + 1]) as u64));
        }
        let length_s = length_s(system) * FACTOR.powf(2.0 * here[parameters.len()] - 1.0);
        given.insert("length".into(), json!(length_s));
        given
    };
    (0..DRAWN).map(setting).collect()
}

/// Estimate divided by count, for each setting that is accepted and runs within the budget.
fn ratios(system: &'static System) -> Vec<(f64, Map<String, Value>)> {
    let mut ratios = Vec::new();
    for given in settings(system) {
        if ratios.len() == SETTINGS {
            break;
        }
        let simulation = match Simulation::new(system, &given) {
            Ok(simulation) => simulation,
            Err(error) => {
                println!("{}: {error}", system.name);
                continue;
            }
        };
        let finished = match simulation.run(1, 0..1, Some(1), BUDGET, |_| true) {
            Ok(finished) => finished,
            Err(error) => {
                println!("{}: {error}", system.name);
                continue;
            }
        };
        let setting = |name: &str| simulation.settings().value(name).and_then(Value::as_f64).unwrap();
        let run = RunLength { length_s: setting("length"), interval_s: setting("interval") };
        let estimated = simulation.prepared().cost(run).total_events();
        ratios.push((estimated / finished.outcomes[0].events as f64, given));
    }
    ratios
}

/// The estimate decides whether a run is refused: a factor of three is what it may be off in any setting near the
/// default.
#[test]
fn the_estimate_is_near_the_events_that_are_counted() {
    let mut wrong = Vec::new();
    // A run of cp67 that is long enough to compare takes seconds: its default is compared with the others'.
    for system in SYSTEMS.iter().filter(|system| system.name != "cp67") {
        let ratios = ratios(system);
        let (least, most) =
            ratios.iter().fold((f64::INFINITY, 0.0_f64), |(a, b), (r, _)| (a.min(*r), b.max(*r)));
        println!(
            "{}: {} settings, estimate {least:.2} to {most:.2} times the count",
            system.name,
            ratios.len()
        );
        assert!(ratios.len() >= SETTINGS, "{}: {} settings were accepted", system.name, ratios.len());
        for (ratio, given) in ratios.into_iter().filter(|(ratio, _)| !bounds(system).contains(ratio)) {
            wrong.push(format!("{}: {ratio} times the count: {}", system.name, json!(given)));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}
