//! UNIX, Sixth Edition, on a PDP-11/34, as B. J. Brachman measured and modelled it: "A model of the UNIX
//! time-sharing system under disk saturation", M.Sc. thesis, University of British Columbia, September 1983.

mod calls;
mod config;
mod disks;
mod figures;
mod files;
mod machine;
mod meters;
mod paging;
mod parameters;
mod process;
mod programs;
mod swapper;
mod terminal;
#[cfg(test)]
mod tests;

use serde_json::{Value, json};
use thinktime_engine::controller::Controller;
use thinktime_engine::{Calendar, Imbalance, run};
use thinktime_log::Column;

use self::config::Config;
use self::figures::Ended;
use self::machine::{DISKS, Machine};
use crate::parameter::{Parameter, ParameterError, Settings};
use crate::recorder::{Monitor, Recorder, Silent};
use crate::system::{Outcome, Prepared, Replication, Response, System};

/// The system `unix6`.
pub struct Unix6;

impl System for Unix6 {
    fn name(&self) -> &'static str {
        "unix6"
    }

    fn summary(&self) -> &'static str {
        "UNIX Sixth Edition on a PDP-11/34: processes swapped between a small memory and a disk that files share"
    }

    fn parameters(&self) -> Vec<Parameter> {
        parameters::parameters()
    }

    fn default_length_s(&self) -> f64 {
        36_000.0
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
        meters::sample_columns()
    }

    fn machine(&self) -> Value {
        json!({
            "cpus": 1,
            "name": "PDP-11/34A with UNIX Sixth Edition (simulated)",
            "drives": self.disks.describe(),
        })
    }

    fn population(&self) -> u64 {
        u64::from(self.workers())
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
    "Little's law for interactions and at the disk controller",
    "utilisation law of the controller and its drives",
    "time adds up",
    "memory and swap space are conserved",
    "block buffers are conserved",
];

fn replicate<M: Monitor>(
    config: &Config,
    replication: Replication,
    monitor: &mut M,
) -> Result<Outcome, Imbalance> {
    let mut calendar = Calendar::new(DISKS.0 + Controller::slots(config.disks.drives), 1);
    let mut machine = Machine::new(config, &replication.streams, replication.interval, monitor);
    run(&mut machine, &mut calendar, replication.warm_up, replication.end);
    let now = calendar.now();
    machine.finish(now)?;
    Ok(Outcome {
        responses: figures::values(&Ended::of(&machine, now)),
        batches: machine.meters.batches.clone(),
        laws: LAWS.to_vec(),
        events: calendar.events(),
        ended: now,
    })
}
