//! Multics on the GE-645.
mod config;
mod disks;
mod events;
mod figures;
mod in_force;
mod machine;
mod measures;
mod parameters;
mod pool;
mod processors;
mod terminals;
mod traffic;
mod ttm;
mod users;
mod versions;

use serde_json::{Value, json};
use thinktime_engine::{Calendar, Imbalance, run};
use thinktime_log::Column;

use self::config::Config;
use self::events::Event;
use self::figures::Ended;
use self::machine::{Machine, SLOTS_A_USER, near_slots};
use crate::parameter::{Parameter, ParameterError, Settings};
use crate::recorder::{Monitor, Recorder, Silent};
use crate::system::{Outcome, Prepared, Replication, Response, System};

/// The system `multics`.
pub struct Multics;

impl System for Multics {
    fn name(&self) -> &'static str {
        "multics"
    }

    fn summary(&self) -> &'static str {
        "Multics on a GE-645: demand paging, one or two processors, a script played by simulated users"
    }

    fn parameters(&self) -> Vec<Parameter> {
        parameters::parameters()
    }

    fn default_length_s(&self) -> f64 {
        7200.0
    }

    fn prepare(&self, settings: &Settings) -> Result<Box<dyn Prepared>, ParameterError> {
        Config::read(settings).map(|config| Box::new(config) as Box<dyn Prepared>)
    }
}

impl Prepared for Config {
    fn responses(&self) -> Vec<Response> {
        figures::responses(self.waiting_lines)
    }

    fn sample_columns(&self) -> Vec<Column> {
        ttm::columns()
    }

    fn machine(&self) -> Value {
        let meters: Vec<Value> = Event::ALL
            .iter()
            .map(|event| {
                let name = event.name();
                json!({"event": event.words(), "count": format!("{name}s"), "time": format!("{name}_s")})
            })
            .collect();
        json!({
            "cpus": self.cpus,
            "core_kwords": self.core_kwords,
            "name": "GE-645 with Multics (simulated)",
            "meters": meters,
            "decomposition": {
                "of": "scripted users",
                "users": "users",
                "interactions": "script_interactions",
                "event": {"name": "page fault", "count": "script_page_faults"},
                "parts": [
                    {"name": "run", "time": "script_run_s"},
                    {"name": "page-fault processing", "time": "script_page_fault_s"},
                    {"name": "other faults", "time": "script_other_fault_s"},
                ],
            },
            "in_force": self.in_force(),
        })
    }

    fn population(&self) -> u64 {
        self.roles.len() as u64
    }

    fn run(&self, replication: Replication, recorder: Option<&mut Recorder>) -> Result<Outcome, Imbalance> {
        match recorder {
            Some(recorder) => replicate(self, replication, recorder),
            None => replicate(self, replication, &mut Silent),
        }
    }
}

const LAWS: [&str; 6] = [
    "flow balance",
    "Little's law for interactions, at the drum and at the disks",
    "utilisation law of drum and disks",
    "time adds up",
    "processes are charged with useful time and faults",
    "places of core and of active segments are conserved",
];

fn replicate<M: Monitor>(
    config: &Config,
    replication: Replication,
    monitor: &mut M,
) -> Result<Outcome, Imbalance> {
    let far = SLOTS_A_USER * config.roles.len() as u32;
    let mut calendar = Calendar::new(near_slots(config.disk_arms), far);
    let mut machine = Machine::new(config, &replication.streams, replication.interval, monitor);
    run(&mut machine, &mut calendar, replication.warm_up, replication.end);
    let now = calendar.now();
    machine.finish(now, &mut calendar)?;
    Ok(Outcome {
        responses: figures::values(&Ended::of(&machine, now)),
        batches: machine.measures.batches.clone(),
        laws: LAWS.to_vec(),
        events: calendar.events(),
        ended: now,
    })
}
