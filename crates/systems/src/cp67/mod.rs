//! CP-67 on an IBM System/360 Model 67, as Y. Bard measured it: "Performance criteria and measurement for a
//! time-sharing system", IBM Systems Journal 10, 3 (1971), 193-216.

mod config;
mod disks;
mod drum;
mod dusetimr;
mod figures;
mod machine;
mod parameters;
mod periods;
mod queues;
mod schedule;
mod services;
mod sessions;
mod storage;
#[cfg(test)]
mod tests;
mod users;

use serde_json::{Value, json};
use thinktime_engine::{Calendar, Imbalance, run};
use thinktime_log::Column;

use self::config::Config;
use self::figures::Ended;
use self::machine::{Machine, near_slots};
use crate::parameter::{Parameter, ParameterError, Settings};
use crate::recorder::{Monitor, Recorder, Silent};
use crate::system::{Outcome, Prepared, Replication, Response, System};

/// The system `cp67`.
pub struct Cp67;

impl System for Cp67 {
    fn name(&self) -> &'static str {
        "cp67"
    }

    fn summary(&self) -> &'static str {
        "CP-67 on a System/360 Model 67: virtual machines that page on a drum, sampled by DUSETIMR"
    }

    fn parameters(&self) -> Vec<Parameter> {
        parameters::parameters()
    }

    /// Longer than any of the periods took: a run ends with its observations.
    fn default_length_s(&self) -> f64 {
        366.0 * 86_400.0
    }

    fn default_interval_s(&self) -> f64 {
        300.0
    }

    fn prepare(&self, settings: &Settings) -> Result<Box<dyn Prepared>, ParameterError> {
        Config::read(settings).map(|config| Box::new(config) as Box<dyn Prepared>)
    }
}

impl Prepared for Config {
    fn responses(&self) -> Vec<Response> {
        figures::responses()
    }

    fn sample_columns(&self) -> Vec<Column> {
        dusetimr::sample_columns()
    }

    fn samples_users(&self) -> bool {
        true
    }

    fn machine(&self) -> Value {
        json!({
            "cpus": 1,
            "name": "System/360 Model 67 with CP-67 (simulated)",
            "ceilings": [{
                "resource": "drum",
                "column": "page_ios",
                "per_s": self.drum.most_per_s(),
                "description": "pages that the drum can transfer while requests wait: start, search, transfer",
            }],
        })
    }

    fn epoch_us(&self) -> Option<i64> {
        Some(self.schedule.epoch_us())
    }

    fn population(&self) -> u64 {
        u64::from(self.users)
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
    "CP time adds up by kind of request",
    "page frames are conserved",
];

fn replicate<M: Monitor>(
    config: &Config,
    replication: Replication,
    monitor: &mut M,
) -> Result<Outcome, Imbalance> {
    let mut calendar = Calendar::new(near_slots(config.disks.spindles), config.users);
    let mut machine = Machine::new(config, &replication.streams, replication.interval, monitor);
    run(&mut machine, &mut calendar, replication.warm_up, replication.end);
    let now = calendar.now();
    machine.finish(now)?;
    Ok(Outcome {
        responses: figures::values(&Ended::of(&machine, now)),
        batches: machine.measures.batches.clone(),
        laws: LAWS.to_vec(),
        events: calendar.events(),
        ended: now,
    })
}
