//! Helpers for the tests of rooms.

use serde_json::{Map, Value};
use thinktime_engine::{Limits, Span, Streams, Time};

use super::monitor::{Amount, Interaction, Monitor};
use super::parameter::Settings;
use super::replicate::{self, Configuration, Outcome, Replication, RunError};
use crate::system;

/// The parameters of a test as the command line gives them.
pub(crate) fn given(parameters: &Value) -> &Map<String, Value> {
    parameters.as_object().unwrap()
}

/// The configuration with the parameters `given`.
pub(crate) fn configured<C: Configuration>(given: &Value) -> C {
    let parameters = system(C::NAME).unwrap().parameters();
    let settings = Settings::resolve(C::NAME, parameters, given.as_object().unwrap()).unwrap();
    C::new(settings.own().unwrap(), &settings).unwrap()
}

/// The value of response `name`.
pub(crate) fn response<C: Configuration>(config: &C, outcome: &Outcome, name: &str) -> f64 {
    let described = config.responses();
    outcome.responses[described.iter().position(|measured| measured.response.name == name).unwrap()]
}

/// One replication of `config`, with every law checked.
pub(crate) fn replicate<C: Configuration, M: Monitor>(
    config: &C,
    replication: &Replication,
    monitor: &mut M,
) -> Result<Outcome, RunError> {
    replicate::replicate(config, &config.responses(), replication, monitor)
}

/// A replication of `end_s` seconds, sampled every minute.
pub(crate) fn replication(streams: Streams, warm_up_s: f64, end_s: f64) -> Replication {
    let time = |seconds| Time::ZERO + Span::from_seconds(seconds);
    Replication {
        streams,
        warm_up: time(warm_up_s),
        end: time(end_s),
        interval: Span::from_seconds(60.0),
        limits: Limits::OF_KEYS,
    }
}

/// Keeps every report of a machine.
#[derive(Default)]
pub(crate) struct Everything {
    /// Time, kind and user of each event.
    pub events: Vec<(Time, &'static str, Option<u32>)>,
    /// In order of their ends.
    pub interactions: Vec<Interaction>,
    /// Start, length and values of each interval.
    pub samples: Vec<(Time, Span, Vec<thinktime_log::Value>)>,
}

impl Monitor for Everything {
    const LISTENS: bool = true;

    fn sample(&mut self, start: Time, length: Span, values: Vec<thinktime_log::Value>) {
        self.samples.push((start, length, values));
    }

    fn event(&mut self, now: Time, kind: &'static str, user: Option<u32>, _: Option<Amount>) {
        self.events.push((now, kind, user));
    }

    fn interaction(&mut self, interaction: &Interaction) {
        self.interactions.push(interaction.clone());
    }
}
