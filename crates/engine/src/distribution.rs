//! Distributions of lengths of time, with their moments.

use serde_json::Value;
use thiserror::Error;

use crate::random::Stream;
use crate::time::Span;

/// What is wrong with the description of a distribution.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{given}: {problem}; {allowed}")]
pub struct DistributionError {
    pub given: String,
    pub problem: String,
    pub allowed: String,
}

/// A distribution of lengths of time [s].
#[derive(Clone, Debug, PartialEq)]
pub enum Distribution {
    Deterministic { value: f64 },
    Exponential { mean: f64 },
}

impl Distribution {
    /// Reads a description: a table, a short form, or a number.
    pub fn parse(description: &Value) -> Result<Distribution, DistributionError> {
        let wrong = |problem: &str| DistributionError {
            given: description.to_string(),
            problem: problem.into(),
            allowed: "give a number of seconds or {\"kind\": \"exponential\", \"mean\": 20}".into(),
        };
        if let Some(value) = description.as_f64() {
            return Ok(Distribution::Deterministic { value });
        }
        let mean = description.get("mean").and_then(Value::as_f64).ok_or_else(|| wrong("has no mean"))?;
        Ok(Distribution::Exponential { mean })
    }

    #[inline]
    pub fn sample(&self, stream: &mut Stream) -> Span {
        match self {
            Distribution::Deterministic { value } => Span::from_seconds(*value),
            Distribution::Exponential { mean } => Span::from_seconds(mean * stream.exponential()),
        }
    }

    /// The description, complete.
    pub fn to_json(&self) -> Value {
        match self {
            Distribution::Deterministic { value } => {
                serde_json::json!({"kind": "deterministic", "value": value})
            }
            Distribution::Exponential { mean } => serde_json::json!({"kind": "exponential", "mean": mean}),
        }
    }

    /// Mean [s].
    pub fn mean(&self) -> f64 {
        match self {
            Distribution::Deterministic { value } => *value,
            Distribution::Exponential { mean } => *mean,
        }
    }
}
