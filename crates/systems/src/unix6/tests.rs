//! What the machine does, by the figures and laws of its runs.

use serde_json::{Value, json};
use thinktime_engine::{Imbalance, Span, Streams, Time};

use super::Unix6;
use super::config::Config;
use crate::parameter::Settings;
use crate::simulation::parameters;
use crate::system::{Outcome, Prepared, Replication};

fn config(given: &Value) -> Config {
    let settings = Settings::resolve("unix6", &parameters(&Unix6), given.as_object().unwrap()).unwrap();
    Config::read(&settings).unwrap()
}

fn once(given: &Value, number: u64) -> Result<Outcome, Imbalance> {
    let replication = Replication {
        streams: Streams { seed: 1, replication: number },
        warm_up: Time::ZERO,
        end: Time::ZERO + Span::from_seconds(36_000.0),
        interval: Span::from_seconds(60.0),
    };
    config(given).run(replication, None)
}

fn figure(outcome: &Outcome, name: &str) -> f64 {
    let all = super::figures::responses();
    outcome.responses[all.iter().position(|response| response.name == name).unwrap()]
}

#[test]
fn a_look_at_it() {
    for (mm, pn, ps) in [(1280, 5, 157), (1280, 12, 157), (650, 12, 157), (650, 12, 314)] {
        let outcome = once(&json!({"memory": mm, "processes": pn, "size": ps}), 0).unwrap();
        for response in super::figures::responses() {
            print!("{}={:.3} ", response.name, figure(&outcome, &response.name));
        }
        println!("\nevents {}", outcome.events);
    }
    for more in [
        json!({"swapper": "balanced"}),
        json!({"memory_management": "paging"}),
        json!({"text": 60}),
        json!({"sleep": "old"}),
        json!({"overlapped_seeks": true}),
    ] {
        let mut given = json!({"memory": 650, "processes": 12, "size": 157});
        given.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let outcome = once(&given, 0).unwrap();
        println!("{more}");
        for response in super::figures::responses() {
            print!("{}={:.3} ", response.name, figure(&outcome, &response.name));
        }
        println!("\nevents {}", outcome.events);
    }
    let outcome = once(&json!({"workload": "children", "memory": 600, "processes": 6}), 0).unwrap();
    for response in super::figures::responses() {
        print!("{}={:.3} ", response.name, figure(&outcome, &response.name));
    }
}
