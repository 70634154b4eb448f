//! Distributions of times and amounts, as data.
//!
//! | kind | parameters |
//! | --- | --- |
//! | `deterministic` | `value` |
//! | `exponential` | `mean`; with `max`, what exceeds it becomes `max`, which lowers the mean a little |
//! | `hyperexponential` | `weights`, `means`: exponential with mean i by weight i |
//! | `erlang` | `shape` (stages), `mean` (of the sum) |
//! | `lognormal` | `mean`, `sd` (of the value itself, not of its logarithm) |
//! | `weibull` | `shape` k, `scale` l: P(T > t) = exp(-(t/l)^k) |
//! | `bounded_pareto` | `shape` a, `low`, `high`: density proportional to t^(-a-1) between them |
//! | `uniform` | `low`, `high` |
//! | `geometric` | `mean`: whole numbers from 0, each mean / (1 + mean) times as probable as the one before |
//! | `integers` | `low`, `high`: whole numbers between them, both included, equally probable |
//! | `discrete` | `values`, `weights` |
//! | `empirical` | `values`, `cumulative`: c.d.f. piecewise linear through these points |
//! | `mixture` | `weights`, `of`: distributions |
//!
//! A distribution is written as a table (`{"kind": "exponential", "mean": 20}`), in short form
//! (`exponential(mean=20)`), or as a single number, which is deterministic. Times are in seconds; in a short form
//! they may have a unit (`exponential(mean=20s)`), and so may a single time (`20s`).

mod moments;
mod short_form;
#[cfg(test)]
mod tests;

use std::fmt::Display;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;
use thiserror::Error;

use crate::units::shortened;

pub use short_form::expand;

/// A distribution on the numbers from zero up, with checked parameters.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
// The law is private and reached through `new` or `parse` only: a distribution that exists has been checked, so that
// drawing and moments need no errors.
pub struct Distribution(#[serde(deserialize_with = "read")] Law);

/// The kind of a distribution, with its parameters.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Law {
    /// Always `value`.
    Deterministic { value: f64 },
    /// Exponential; values above `max` become `max`, so that the mean is then below `mean`.
    Exponential {
        mean: f64,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        max: Option<f64>,
    },
    /// Exponential with `means[i]` with probability `weights[i]`.
    Hyperexponential { weights: Vec<f64>, means: Vec<f64> },
    /// Sum of `shape` exponential stages; `mean` is that of the sum.
    Erlang {
        #[serde(deserialize_with = "whole")]
        shape: u32,
        mean: f64,
    },
    /// Mean and standard deviation are those of the value, not of its logarithm.
    Lognormal { mean: f64, sd: f64 },
    /// P(T > t) = exp(-(t / `scale`)^`shape`).
    Weibull { shape: f64, scale: f64 },
    /// Density proportional to t^(-`shape` - 1) between `low` and `high`.
    BoundedPareto { shape: f64, low: f64, high: f64 },
    /// Uniform between `low` and `high`.
    Uniform { low: f64, high: f64 },
    /// Whole numbers from 0; each is mean / (1 + mean) times as probable as the one before.
    Geometric { mean: f64 },
    /// Whole numbers from `low` to `high`, both included, equally probable.
    Integers {
        #[serde(deserialize_with = "whole")]
        low: u32,
        #[serde(deserialize_with = "whole")]
        high: u32,
    },
    /// `values[i]` with probability `weights[i]`.
    Discrete { values: Vec<f64>, weights: Vec<f64> },
    /// C.d.f. piecewise linear through the points (`values[i]`, `cumulative[i]`).
    Empirical { values: Vec<f64>, cumulative: Vec<f64> },
    /// A draw from `of[i]` with probability `weights[i]`.
    Mixture { weights: Vec<f64>, of: Vec<Distribution> },
}

/// The error in a description of a distribution.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{given}: {problem}; {allowed}")]
pub struct DistributionError {
    /// Part of the description that is wrong.
    pub given: String,
    /// Defect of it.
    pub problem: String,
    /// Range or form that is accepted.
    pub allowed: String,
}

/// Largest value in a description; as a time, 31 years [s]. A value drawn may be larger.
const LARGEST: f64 = 1e9;
/// Most stages of an Erlang distribution: its coefficient of variation is then 1 / sqrt(stages), 1 %, and more stages
/// are a mistake for a deterministic time.
const MOST_STAGES: u32 = 10_000;
/// Most values in a list: 8 MB, against mistakes in a file.
const MOST_VALUES: usize = 1_000_000;
/// Largest difference of a sum of weights from 1, for the rounding of decimal fractions. Weights are then divided by
/// their sum.
const WEIGHT_SLACK: f64 = 1e-6;
const FORMS: &str = "give a number of seconds, a short form such as exponential(mean=20), or a table such as \
                     {kind = \"exponential\", mean = 20}";

impl Distribution {
    /// Always `value`.
    pub const fn deterministic(value: f64) -> Distribution {
        Distribution(Law::Deterministic { value })
    }

    /// Exponential with this mean.
    ///
    /// # Panics
    /// `mean` is not a positive number.
    pub fn exponential(mean: f64) -> Distribution {
        assert!(mean > 0.0, "an exponential distribution has a positive mean, not {mean}");
        Distribution(Law::Exponential { mean, max: None })
    }

    /// A distribution of this law.
    ///
    /// # Errors
    /// A parameter is out of its range; the error names it, the value given and the range.
    pub fn new(law: Law) -> Result<Distribution, DistributionError> {
        law.checked().map(Distribution)
    }

    /// The distribution that a description in any of its forms stands for.
    ///
    /// # Errors
    /// The description is wrong; the error names the parameter, the value given and the range.
    pub fn parse(description: &Value) -> Result<Distribution, DistributionError> {
        let general = |problem: String| DistributionError {
            given: shortened(description),
            problem,
            allowed: FORMS.into(),
        };
        match description {
            Value::Number(number) => {
                let value = number.as_f64().ok_or_else(|| general("is too large".into()))?;
                let named = |error| DistributionError { given: shortened(description), ..error };
                Distribution::new(Law::Deterministic { value }).map_err(named)
            }
            // A short form is a table in another notation: both end in the same checks.
            Value::String(text) => match short_form::expand(text).map_err(general)? {
                Value::Array(_) => Err(general("is a list, not a distribution".into())),
                number @ Value::Number(_) => Distribution::parse(&number),
                table => Distribution::from_table(&table, shortened(description)),
            },
            Value::Object(_) => Distribution::from_table(description, shortened(description)),
            _ => Err(general("is not a distribution".into())),
        }
    }

    /// The distribution of a table; `given` is its name in errors.
    fn from_table(table: &Value, given: String) -> Result<Distribution, DistributionError> {
        Law::deserialize(table)
            .map_err(|error| in_parts(&error.to_string(), given))
            .and_then(Distribution::new)
    }

    /// Kind and parameters.
    pub fn law(&self) -> &Law {
        &self.0
    }

    /// The description as a table, with every parameter.
    pub fn to_json(&self) -> Value {
        serde_json::to_value(self).unwrap_or_default()
    }
}

impl FromStr for Distribution {
    type Err = DistributionError;

    fn from_str(text: &str) -> Result<Distribution, DistributionError> {
        Distribution::parse(&Value::from(text))
    }
}

/// Deserialises a distribution from any of its forms.
fn read<'de, D: Deserializer<'de>>(from: D) -> Result<Law, D::Error> {
    let description = Value::deserialize(from)?;
    Distribution::parse(&description).map(|read| read.0).map_err(serde::de::Error::custom)
}

/// A whole number; 3.0 is one too, because Python and JSON writers do not distinguish.
fn whole<'de, D: Deserializer<'de>>(from: D) -> Result<u32, D::Error> {
    let number = f64::deserialize(from)?;
    let is_whole = number.fract() == 0.0 && (0.0..=f64::from(u32::MAX)).contains(&number);
    let refuse =
        || serde::de::Error::custom(format!("{number} is not a whole number from 0 to {}", u32::MAX));
    if is_whole { Ok(number as u32) } else { Err(refuse()) }
}

/// The error of a failed deserialisation, in the words of distributions. One from a distribution inside a mixture
/// has its remedy in the message already.
fn in_parts(message: &str, given: String) -> DistributionError {
    let message =
        message.replace("unknown variant", "unknown kind").replace("unknown field", "unknown parameter");
    let message = abridged(&message);
    // Serde carries an error as one text; ours end with "; " and the remedy.
    let (problem, allowed) = message.rsplit_once("; ").unwrap_or((&message, FORMS));
    DistributionError { given, problem: problem.into(), allowed: allowed.into() }
}

/// `message` without the middle of a name or text that it repeats: the end says what is expected.
fn abridged(message: &str) -> String {
    const HEAD: usize = 100;
    const TAIL: usize = 400;
    let count = message.chars().count();
    if count <= HEAD + TAIL {
        return message.to_owned();
    }
    let head = message.chars().take(HEAD);
    head.chain("...".chars()).chain(message.chars().skip(count - TAIL)).collect()
}

fn listed(values: &[f64]) -> String {
    shortened(format!("{values:?}"))
}

impl Law {
    /// Name of the kind in descriptions.
    fn kind(&self) -> &'static str {
        match self {
            Law::Deterministic { .. } => "deterministic",
            Law::Exponential { .. } => "exponential",
            Law::Hyperexponential { .. } => "hyperexponential",
            Law::Erlang { .. } => "erlang",
            Law::Lognormal { .. } => "lognormal",
            Law::Weibull { .. } => "weibull",
            Law::BoundedPareto { .. } => "bounded_pareto",
            Law::Uniform { .. } => "uniform",
            Law::Geometric { .. } => "geometric",
            Law::Integers { .. } => "integers",
            Law::Discrete { .. } => "discrete",
            Law::Empirical { .. } => "empirical",
            Law::Mixture { .. } => "mixture",
        }
    }

    /// The same with weights that sum to 1, if all parameters are in their ranges.
    fn checked(mut self) -> Result<Law, DistributionError> {
        let check = Check(self.kind());
        match &mut self {
            Law::Deterministic { value } => check.at_least("value", *value, 0.0)?,
            Law::Exponential { mean, max } => {
                check.positive("mean", *mean)?;
                max.map_or(Ok(()), |max| check.positive("max", max))?;
            }
            Law::Hyperexponential { weights, means } => {
                check.list("means", means, |value| *value > 0.0, "above 0 and at most 1e9 [s]")?;
                check.weights(weights, means.len(), "means")?;
            }
            Law::Erlang { shape, mean } => {
                if !(1..=MOST_STAGES).contains(shape) {
                    let allowed = format!("give a whole number of stages from 1 to {MOST_STAGES}");
                    return Err(check.error("shape", shape, "is out of range", allowed));
                }
                check.positive("mean", *mean)?;
            }
            Law::Lognormal { mean, sd } => {
                check.positive("mean", *mean)?;
                check.at_least("sd", *sd, 0.0)?;
            }
            Law::Weibull { shape, scale } => {
                // Below, the mean is more than Gamma(21) = 2.4e18 times the scale, and times exceed all clocks.
                check.shape(*shape, 0.05)?;
                check.positive("scale", *scale)?;
            }
            Law::BoundedPareto { shape, low, high } => {
                // Not 0: 1 - (low/high)^shape, by which is divided, would be 0 too.
                check.shape(*shape, 0.001)?;
                check.positive("low", *low)?;
                check.positive("high", *high)?;
                if high <= low {
                    let allowed = format!("give a number above low, {low} [s]");
                    return Err(check.error("high", high, "is not above low", allowed));
                }
            }
            Law::Uniform { low, high } => {
                check.at_least("low", *low, 0.0)?;
                check.at_least("high", *high, *low)?;
            }
            Law::Geometric { mean } => check.at_least("mean", *mean, 0.0)?,
            Law::Integers { low, high } => check.at_least("high", f64::from(*high), f64::from(*low))?,
            Law::Discrete { values, weights } => {
                check.list("values", values, |value| *value >= 0.0, "from 0 to 1e9 [s]")?;
                check.weights(weights, values.len(), "values")?;
            }
            Law::Empirical { values, cumulative } => check.empirical(values, cumulative)?,
            Law::Mixture { weights, of } => check.weights(weights, of.len(), "of")?,
        }
        Ok(self)
    }
}

/// Checks of the parameters of a kind.
struct Check(&'static str);

type Checked = Result<(), DistributionError>;

impl Check {
    /// The error of a parameter, in the words of its kind.
    fn error(
        &self,
        name: &str,
        given: impl Display,
        problem: impl Into<String>,
        allowed: impl Into<String>,
    ) -> DistributionError {
        let given = shortened(format!("{}: {name} = {given}", self.0));
        DistributionError { given, problem: problem.into(), allowed: allowed.into() }
    }

    /// Checks that a value is from `least` to the largest. NaN is in no range.
    fn at_least(&self, name: &str, value: f64, least: f64) -> Checked {
        if (least..=LARGEST).contains(&value) {
            return Ok(());
        }
        let allowed = format!("give a number from {least} to {LARGEST} [s]");
        Err(self.error(name, value, "is out of range", allowed))
    }

    /// Checks that a value is above 0 and at most the largest.
    fn positive(&self, name: &str, value: f64) -> Checked {
        if value > 0.0 && value <= LARGEST {
            return Ok(());
        }
        let allowed = format!("give a number above 0 and at most {LARGEST} [s]");
        Err(self.error(name, value, "is out of range", allowed))
    }

    /// Checks that a shape is from `least` to 1000, beyond which its powers leave the range of numbers.
    fn shape(&self, value: f64, least: f64) -> Checked {
        const MOST: f64 = 1000.0;
        if (least..=MOST).contains(&value) {
            return Ok(());
        }
        Err(self.error("shape", value, "is out of range", format!("give a number from {least} to {MOST}")))
    }

    /// Checks that `values` has 1 to a million numbers, each valid and at most the largest.
    fn list(&self, name: &str, values: &[f64], is_valid: impl Fn(&f64) -> bool, range: &str) -> Checked {
        self.length(name, values.len())?;
        match values.iter().position(|value| !(is_valid(value) && *value <= LARGEST)) {
            None => Ok(()),
            Some(index) => {
                let allowed = format!("give numbers {range}");
                Err(self.error(&format!("{name}[{index}]"), values[index], "is out of range", allowed))
            }
        }
    }

    /// Checks that a list has 1 to a million values.
    fn length(&self, name: &str, length: usize) -> Checked {
        if (1..=MOST_VALUES).contains(&length) {
            return Ok(());
        }
        let given = format!("{}: {name}", self.0);
        let allowed = format!("give a list of 1 to {MOST_VALUES} values");
        Err(DistributionError { given, problem: format!("has {length} values"), allowed })
    }

    /// Checks that all numbers are from 0 to 1.
    fn shares(&self, name: &str, values: &[f64]) -> Checked {
        match values.iter().position(|value| !(0.0..=1.0).contains(value)) {
            None => Ok(()),
            Some(index) => {
                let item = format!("{name}[{index}]");
                Err(self.error(&item, values[index], "is out of range", "give numbers from 0 to 1"))
            }
        }
    }

    /// Checks that there is a weight for each of `count` `others` and that they sum to 1 except for rounding; then
    /// divides them by their sum.
    fn weights(&self, weights: &mut [f64], count: usize, others: &str) -> Checked {
        self.length(others, count)?;
        self.shares("weights", weights)?;
        if weights.len() != count {
            let problem = format!("has {} weights for {count} {others}", weights.len());
            return Err(self.error(
                "weights",
                listed(weights),
                problem,
                format!("give a weight for each of {others}"),
            ));
        }
        let sum: f64 = weights.iter().sum();
        if (sum - 1.0).abs() > WEIGHT_SLACK {
            return Err(self.error(
                "weights",
                listed(weights),
                format!("sum to {sum}"),
                "give weights that sum to 1",
            ));
        }
        // Only then: a division by 1.0 is exact, but a pass over a million values is not free.
        if sum != 1.0 {
            weights.iter_mut().for_each(|weight| *weight /= sum);
        }
        Ok(())
    }

    /// Checks that the points of a cumulative distribution function ascend from 0 to 1.
    fn empirical(&self, values: &[f64], cumulative: &[f64]) -> Checked {
        self.list("values", values, |value| *value >= 0.0, "from 0 to 1e9 [s]")?;
        self.shares("cumulative", cumulative)?;
        if values.len() != cumulative.len() || values.len() < 2 {
            let problem = format!("has {} values, and values has {}", cumulative.len(), values.len());
            let allowed = "give two points or more, and a share for each";
            return Err(self.error("cumulative", listed(cumulative), problem, allowed));
        }
        let (first, last) = (cumulative[0], cumulative[cumulative.len() - 1]);
        if (first, last) != (0.0, 1.0) {
            let problem = format!("goes from {first} to {last}");
            return Err(self.error(
                "cumulative",
                listed(cumulative),
                problem,
                "give shares that go from 0 to 1",
            ));
        }
        // Equal neighbours are allowed: equal values are an atom, equal shares a gap.
        for (name, points) in [("values", values), ("cumulative", cumulative)] {
            if let Some(index) = points.windows(2).position(|pair| pair[1] < pair[0]) {
                let item = format!("{name}[{}]", index + 1);
                let allowed = "give numbers in ascending order";
                return Err(self.error(&item, points[index + 1], "is out of range", allowed));
            }
        }
        Ok(())
    }
}
