//! Helpers for the tests of rooms.

use serde_json::Value;

use super::parameter::Settings;
use super::replicate::{Configuration, Outcome, Prepared};
use crate::system;

/// The configuration with the parameters `given`.
pub(crate) fn configured<C: Configuration>(given: &Value) -> C {
    let parameters = system(C::NAME).unwrap().parameters();
    let settings = Settings::resolve(C::NAME, parameters, given.as_object().unwrap()).unwrap();
    C::new(settings.own().unwrap(), &settings).unwrap()
}

/// The value of response `name`.
pub(crate) fn response<C: Configuration>(config: &C, outcome: &Outcome, name: &str) -> f64 {
    let described = Prepared::responses(config);
    outcome.responses[described.iter().position(|response| response.name == name).unwrap()]
}
