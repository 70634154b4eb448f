//! Tables within parameters, read strictly.

use serde_json::{Map, Value};
use thinktime_engine::{Distribution, Span};

use crate::kernel::ParameterError;

/// Name of this system in errors.
pub const SYSTEM: &str = "network";

/// A table within the parameters.
pub struct Fields<'a> {
    /// Its place in the parameters, such as `stations[0]`.
    pub path: String,
    /// Its fields.
    table: &'a Map<String, Value>,
}

/// Reads a distribution at `path`.
pub fn distribution(path: &str, value: &Value) -> Result<Distribution, ParameterError> {
    Distribution::parse(value).map_err(|error| ParameterError {
        system: SYSTEM.into(),
        parameter: path.into(),
        problem: format!("{}: {}", error.given, error.problem),
        remedy: error.allowed,
    })
}

/// Refuses a name of a station or class that cannot be part of the name of a response.
pub fn check_name(path: &str, name: &str, taken: &[&str]) -> Result<(), ParameterError> {
    let sound = name.starts_with(|c: char| c.is_ascii_lowercase())
        && name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_');
    if !sound || name == "start" || name == "leave" {
        let remedy = "give a name of small letters, digits and _, that begins with a letter and is not start \
                      or leave";
        return Err(ParameterError::new(SYSTEM, path, format!("{name:?}"), remedy));
    }
    if taken.contains(&name) {
        let remedy = "give each station and each class a name of its own";
        return Err(ParameterError::new(SYSTEM, path, format!("{name:?} a second time"), remedy));
    }
    Ok(())
}

impl<'a> Fields<'a> {
    /// The table `value`, which may have the fields `allowed` and no others.
    pub fn new(path: String, value: &'a Value, allowed: &[&str]) -> Result<Fields<'a>, ParameterError> {
        let Value::Object(table) = value else {
            let remedy = format!("give a table with {}", allowed.join(", "));
            return Err(ParameterError::new(SYSTEM, &path, value, &remedy));
        };
        if let Some(unknown) = table.keys().find(|key| !allowed.contains(&key.as_str())) {
            return Err(ParameterError::unknown(SYSTEM, &format!("field of {path}"), unknown, allowed));
        }
        Ok(Fields { path, table })
    }

    /// Path of field `name`.
    pub fn at(&self, name: &str) -> String {
        format!("{}.{name}", self.path)
    }

    /// Value of field `name`, if it is given.
    pub fn get(&self, name: &str) -> Option<&'a Value> {
        self.table.get(name)
    }

    /// An error about field `name`.
    pub fn wrong(&self, name: &str, remedy: &str) -> ParameterError {
        match self.get(name) {
            Some(given) => ParameterError::new(SYSTEM, &self.at(name), given, remedy),
            None => ParameterError {
                system: SYSTEM.into(),
                parameter: self.at(name),
                problem: "must be given".into(),
                remedy: remedy.into(),
            },
        }
    }

    /// Refuses field `name`, if it is there.
    pub fn absent(&self, name: &str, remedy: &str) -> Result<(), ParameterError> {
        if self.get(name).is_some() { Err(self.wrong(name, remedy)) } else { Ok(()) }
    }

    /// A field that is a word.
    pub fn word(&self, name: &str, remedy: &str) -> Result<&'a str, ParameterError> {
        self.get(name).and_then(Value::as_str).ok_or_else(|| self.wrong(name, remedy))
    }

    /// A whole number from `low` to `high`; `default` where it is not given.
    pub fn integer(&self, name: &str, default: u64, low: u64, high: u64) -> Result<u64, ParameterError> {
        let Some(value) = self.get(name) else { return Ok(default) };
        value
            .as_u64()
            .filter(|number| (low..=high).contains(number))
            .ok_or_else(|| self.wrong(name, &format!("give a whole number from {low} to {high}")))
    }

    /// A field that is a distribution, if it is given.
    pub fn distribution(&self, name: &str) -> Result<Option<Distribution>, ParameterError> {
        self.get(name).map(|value| distribution(&self.at(name), value)).transpose()
    }

    /// A length of time above zero.
    pub fn slice(&self, name: &str) -> Result<Span, ParameterError> {
        span(self.get(name), true).ok_or_else(|| self.wrong(name, SLICE))
    }

    /// A list of lengths of time above zero.
    pub fn slices(&self, name: &str) -> Result<Vec<Span>, ParameterError> {
        let remedy =
            "give a list of time slices, one a level, each a number of at least 1e-9 and at most 1e9 [s]";
        let given = self.get(name).and_then(Value::as_array).filter(|list| !list.is_empty());
        let slices: Option<Vec<Span>> =
            given.and_then(|list| list.iter().map(|s| span(Some(s), true)).collect());
        slices.ok_or_else(|| self.wrong(name, remedy))
    }

    /// A length of time, zero where it is not given.
    pub fn span_or_zero(&self, name: &str) -> Result<Span, ParameterError> {
        if self.get(name).is_none() {
            return Ok(Span::ZERO);
        }
        span(self.get(name), false).ok_or_else(|| self.wrong(name, "give a number from 0 to 1e9 [s]"))
    }
}

/// Remedy for a wrong time slice.
const SLICE: &str = "give a number of at least 1e-9 and at most 1e9 [s]";

/// A length of time within the range of the clock.
fn span(value: Option<&Value>, above_zero: bool) -> Option<Span> {
    let seconds = value?.as_f64().filter(|seconds| (0.0..=1e9).contains(seconds))?;
    let span = Span::from_seconds(seconds);
    (span > Span::ZERO || !above_zero).then_some(span)
}
