//! Helpers for the tests of rooms.

use serde_json::Value;
use thinktime_engine::LawViolation;

use super::monitor::Monitor;
use super::parameter::Settings;
use super::replicate::{self, Configuration, Outcome, Replication};
use crate::system;

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
) -> Result<Outcome, LawViolation> {
    replicate::replicate(config, &config.responses(), replication, monitor)
}
