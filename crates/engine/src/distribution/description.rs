//! Descriptions: read strictly, with errors that say what was given and what is allowed, and written back.

use serde_json::{Map, Value, json};
use thiserror::Error;

use super::short_form::{self, DEEPEST};
use super::{Distribution, Law};

/// What is wrong with the description of a distribution.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{given}: {problem}; {allowed}")]
pub struct DistributionError {
    /// The part of the description that is wrong.
    pub given: String,
    pub problem: String,
    /// What would be right.
    pub allowed: String,
}

/// Longest time in a description [s]: 31 years. A time drawn may be longer.
const LONGEST: f64 = 1e9;
/// Most values in a list.
const MOST_VALUES: usize = 1_000_000;
/// By how much weights may miss 1: what decimal fractions lose. They are made to sum to 1.
const WEIGHT_SLACK: f64 = 1e-6;

/// Kinds and their parameters.
const KINDS: [(&str, &[&str]); 11] = [
    ("deterministic", &["value"]),
    ("exponential", &["mean"]),
    ("hyperexponential", &["weights", "means"]),
    ("erlang", &["shape", "mean"]),
    ("lognormal", &["mean", "sd"]),
    ("weibull", &["shape", "scale"]),
    ("bounded_pareto", &["shape", "low", "high"]),
    ("uniform", &["low", "high"]),
    ("discrete", &["values", "weights"]),
    ("empirical", &["values", "cumulative"]),
    ("mixture", &["weights", "of"]),
];

impl Distribution {
    /// Reads a description: a table, a short form, or a number of seconds.
    ///
    /// # Errors
    /// The description is wrong; the error names the parameter, what was given and what is allowed.
    pub fn parse(description: &Value) -> Result<Distribution, DistributionError> {
        parse_at(description, 0)
    }

    /// The description as a table, complete.
    pub fn to_json(&self) -> Value {
        match &self.0 {
            Law::Deterministic { value, .. } => json!({"kind": "deterministic", "value": value}),
            Law::Exponential { mean, .. } => json!({"kind": "exponential", "mean": mean}),
            Law::Hyperexponential { weights, means, .. } => {
                json!({"kind": "hyperexponential", "weights": weights, "means": means})
            }
            Law::Erlang { shape, mean, .. } => json!({"kind": "erlang", "shape": shape, "mean": mean}),
            Law::Lognormal { mean, sd, .. } => json!({"kind": "lognormal", "mean": mean, "sd": sd}),
            Law::Weibull { shape, scale } => json!({"kind": "weibull", "shape": shape, "scale": scale}),
            Law::BoundedPareto { shape, low, high } => {
                json!({"kind": "bounded_pareto", "shape": shape, "low": low, "high": high})
            }
            Law::Uniform { low, high } => json!({"kind": "uniform", "low": low, "high": high}),
            Law::Discrete { values, weights, .. } => {
                json!({"kind": "discrete", "values": values, "weights": weights})
            }
            Law::Empirical { values, cumulative, .. } => {
                json!({"kind": "empirical", "values": values, "cumulative": cumulative})
            }
            Law::Mixture { weights, of, .. } => {
                let of: Vec<Value> = of.iter().map(Distribution::to_json).collect();
                json!({"kind": "mixture", "weights": weights, "of": of})
            }
        }
    }
}

fn parse_at(description: &Value, depth: usize) -> Result<Distribution, DistributionError> {
    let general = |problem: String| DistributionError {
        given: shortened(description),
        problem,
        allowed: "give a number of seconds, a short form such as exponential(mean=20), or a table such as \
                  {kind = \"exponential\", mean = 20}"
            .into(),
    };
    if depth > DEEPEST {
        return Err(general(format!("it is nested deeper than {DEEPEST} levels")));
    }
    match description {
        Value::Number(_) => {
            let table = Map::from_iter([("value".into(), description.clone())]);
            Table { kind: "deterministic", names: &["value"], table: &table, depth }.read()
        }
        Value::String(text) => {
            let expanded = short_form::expand(text).map_err(general)?;
            if expanded.is_array() {
                return Err(general("is a list, not a distribution".into()));
            }
            parse_at(&expanded, depth + 1)
        }
        Value::Object(table) => {
            let Some(kind) = table.get("kind") else { return Err(general("has no kind".into())) };
            let known = KINDS.iter().find(|(name, _)| kind.as_str() == Some(name));
            let Some((kind, names)) = known else {
                let kinds: Vec<&str> = KINDS.iter().map(|(name, _)| *name).collect();
                return Err(DistributionError {
                    given: shortened(kind),
                    problem: "is no kind of distribution".into(),
                    allowed: format!("give one of: {}", kinds.join(", ")),
                });
            };
            Table { kind, names, table, depth }.read()
        }
        _ => Err(general("is no distribution".into())),
    }
}

/// The beginning of a description: lists can be long.
fn shortened(value: &Value) -> String {
    const MOST: usize = 60;
    let text = value.to_string();
    match text.char_indices().nth(MOST) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text,
    }
}

/// A table of a known kind.
struct Table<'a> {
    kind: &'static str,
    names: &'static [&'static str],
    table: &'a Map<String, Value>,
    depth: usize,
}

impl Table<'_> {
    fn error(&self, name: &str, problem: impl Into<String>, allowed: impl Into<String>) -> DistributionError {
        let given = match self.table.get(name) {
            Some(value) => format!("{}: {name} = {}", self.kind, shortened(value)),
            None => format!("{}: {name}", self.kind),
        };
        DistributionError { given, problem: problem.into(), allowed: allowed.into() }
    }

    fn read(&self) -> Result<Distribution, DistributionError> {
        let takes = || format!("{} takes {}", self.kind, self.names.join(" and "));
        let known = |name: &str| name == "kind" || self.names.contains(&name);
        if let Some(name) = self.table.keys().find(|name| !known(name)) {
            return Err(self.error(name, "is no parameter of it", takes()));
        }
        if let Some(name) = self.names.iter().find(|name| !self.table.contains_key(**name)) {
            return Err(self.error(name, "is missing", takes()));
        }
        let law = match self.kind {
            "deterministic" => Law::deterministic(self.time("value", 0.0)?),
            "exponential" => Law::exponential(self.positive("mean")?),
            "hyperexponential" => {
                let means = self.list("means", |index| self.positive_of("means", index))?;
                Law::hyperexponential(self.weights(means.len(), "means")?, means)
            }
            "erlang" => Law::erlang(self.stages()?, self.positive("mean")?),
            "lognormal" => Law::lognormal(self.positive("mean")?, self.time("sd", 0.0)?),
            "weibull" => Law::Weibull { shape: self.shape(0.05, 1000.0)?, scale: self.positive("scale")? },
            "bounded_pareto" => self.bounded_pareto()?,
            "uniform" => {
                let low = self.time("low", 0.0)?;
                Law::Uniform { low, high: self.time("high", low)? }
            }
            "discrete" => {
                let values = self.list("values", |index| self.not_negative_of("values", index))?;
                let weights = self.weights(values.len(), "values")?;
                Law::discrete(values, weights)
            }
            "empirical" => self.empirical()?,
            _ => self.mixture()?,
        };
        Ok(Distribution(law))
    }

    fn number(&self, name: &str) -> Option<f64> {
        self.table.get(name).and_then(Value::as_f64).filter(|number| number.is_finite())
    }

    /// A time of at least `least`.
    fn time(&self, name: &str, least: f64) -> Result<f64, DistributionError> {
        self.number(name).filter(|time| (least..=LONGEST).contains(time)).ok_or_else(|| {
            let what = if self.number(name).is_some() { "is out of range" } else { "is no number" };
            self.error(name, what, format!("give a number from {least} to {LONGEST} [s]"))
        })
    }

    fn positive(&self, name: &str) -> Result<f64, DistributionError> {
        self.number(name).filter(|time| *time > 0.0 && *time <= LONGEST).ok_or_else(|| {
            let what = if self.number(name).is_some() { "is out of range" } else { "is no number" };
            self.error(name, what, format!("give a number above 0 and at most {LONGEST} [s]"))
        })
    }

    fn shape(&self, least: f64, most: f64) -> Result<f64, DistributionError> {
        self.number("shape").filter(|shape| (least..=most).contains(shape)).ok_or_else(|| {
            self.error("shape", "is out of range", format!("give a number from {least} to {most}"))
        })
    }

    fn stages(&self) -> Result<u32, DistributionError> {
        const MOST: f64 = 10_000.0;
        let whole = self.number("shape").filter(|n| n.fract() == 0.0 && (1.0..=MOST).contains(n));
        whole.map(|stages| stages as u32).ok_or_else(|| {
            let allowed = format!("give a whole number of stages from 1 to {MOST}");
            self.error("shape", "is no number of stages", allowed)
        })
    }

    /// Each item of list `name`, by `item`.
    fn list<T>(
        &self,
        name: &str,
        item: impl Fn(usize) -> Result<T, DistributionError>,
    ) -> Result<Vec<T>, DistributionError> {
        match self.table.get(name) {
            Some(Value::Array(items)) if (1..=MOST_VALUES).contains(&items.len()) => {
                (0..items.len()).map(item).collect()
            }
            Some(Value::Array(items)) => Err(self.error(
                name,
                format!("has {} values", items.len()),
                format!("give a list of 1 to {MOST_VALUES} values"),
            )),
            _ => Err(self.error(name, "is no list", "give a list, such as [0.1, 5]")),
        }
    }

    fn item(&self, name: &str, index: usize) -> Option<f64> {
        self.table[name].get(index).and_then(Value::as_f64).filter(|number| number.is_finite())
    }

    fn item_error(&self, name: &str, index: usize, allowed: &str) -> DistributionError {
        let value = self.table[name].get(index).unwrap_or(&Value::Null);
        DistributionError {
            given: format!("{}: {name}[{index}] = {}", self.kind, shortened(value)),
            problem: "is out of range".into(),
            allowed: allowed.into(),
        }
    }

    fn positive_of(&self, name: &str, index: usize) -> Result<f64, DistributionError> {
        self.item(name, index)
            .filter(|time| *time > 0.0 && *time <= LONGEST)
            .ok_or_else(|| self.item_error(name, index, "give numbers above 0 and at most 1e9 [s]"))
    }

    fn not_negative_of(&self, name: &str, index: usize) -> Result<f64, DistributionError> {
        self.item(name, index)
            .filter(|time| (0.0..=LONGEST).contains(time))
            .ok_or_else(|| self.item_error(name, index, "give numbers from 0 to 1e9 [s]"))
    }

    /// As many weights as there are `others`, that sum to 1.
    fn weights(&self, count: usize, others: &str) -> Result<Vec<f64>, DistributionError> {
        let weights = self.list("weights", |index| {
            self.item("weights", index)
                .filter(|weight| (0.0..=1.0).contains(weight))
                .ok_or_else(|| self.item_error("weights", index, "give numbers from 0 to 1"))
        })?;
        if weights.len() != count {
            let problem = format!("are {}, for {count} {others}", weights.len());
            return Err(self.error("weights", problem, format!("give a weight for each of {others}")));
        }
        let sum: f64 = weights.iter().sum();
        if (sum - 1.0).abs() > WEIGHT_SLACK {
            return Err(self.error("weights", format!("sum to {sum}"), "give weights that sum to 1"));
        }
        if sum == 1.0 { Ok(weights) } else { Ok(weights.iter().map(|weight| weight / sum).collect()) }
    }

    fn bounded_pareto(&self) -> Result<Law, DistributionError> {
        let shape = self.shape(0.001, 1000.0)?;
        let (low, high) = (self.positive("low")?, self.positive("high")?);
        if high <= low {
            return Err(self.error(
                "high",
                "is not above low",
                format!("give a number above low, {low} [s]"),
            ));
        }
        Ok(Law::BoundedPareto { shape, low, high })
    }

    fn empirical(&self) -> Result<Law, DistributionError> {
        let values = self.list("values", |index| self.not_negative_of("values", index))?;
        let cumulative = self.list("cumulative", |index| {
            self.item("cumulative", index)
                .filter(|part| (0.0..=1.0).contains(part))
                .ok_or_else(|| self.item_error("cumulative", index, "give numbers from 0 to 1"))
        })?;
        let ends = (cumulative.first(), cumulative.last());
        if values.len() != cumulative.len() || values.len() < 2 {
            let problem = format!("has {} values, and values has {}", cumulative.len(), values.len());
            return Err(self.error("cumulative", problem, "give two points or more, each with its part"));
        }
        if ends != (Some(&0.0), Some(&1.0)) {
            let problem = format!("runs from {} to {}", cumulative[0], cumulative[cumulative.len() - 1]);
            return Err(self.error("cumulative", problem, "give parts that run from 0 to 1"));
        }
        for (name, points) in [("values", &values), ("cumulative", &cumulative)] {
            if let Some(index) = points.windows(2).position(|pair| pair[1] < pair[0]) {
                let allowed = "give numbers that do not fall";
                return Err(self.item_error(name, index + 1, allowed));
            }
        }
        Ok(Law::empirical(values, cumulative))
    }

    fn mixture(&self) -> Result<Law, DistributionError> {
        let of = self.list("of", |index| {
            parse_at(&self.table["of"][index], self.depth + 1).map_err(|error| DistributionError {
                given: format!("of[{index}]: {}", error.given),
                ..error
            })
        })?;
        Ok(Law::mixture(self.weights(of.len(), "of")?, of))
    }
}
