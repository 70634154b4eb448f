//! The distributions that drive every part of a synthetic user.

use serde::{Deserialize, Serialize};

use crate::error::TerminalsError;
use crate::random::Stream;

/// A distribution on the numbers from zero up. Seconds or amounts: the field that holds it says which.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Distribution {
    /// Always `value`.
    Constant { value: f64 },
    /// Continuous between `low` and `high`.
    Uniform { low: f64, high: f64 },
    /// Exponential of scale `mean`; what exceeds `max` becomes `max`, which lowers the mean a little.
    Exponential {
        mean: f64,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        max: Option<f64>,
    },
    /// Whole numbers from 0, each `mean / (1 + mean)` times as probable as the one before.
    Geometric { mean: f64 },
    /// Whole numbers `low ..= high`, equally probable.
    Integers { low: u32, high: u32 },
    /// `values[i]` with the probability `percent[i] - percent[i - 1]`, as in Brachman's Table III.
    Cumulative { values: Vec<f64>, percent: Vec<f64> },
}

impl Default for Distribution {
    fn default() -> Self {
        Distribution::NONE
    }
}

impl Distribution {
    /// Always zero: the part is not there.
    pub const NONE: Distribution = Distribution::Constant { value: 0.0 };

    pub fn exponential(mean: f64) -> Distribution {
        Distribution::Exponential { mean, max: None }
    }

    /// Expected value.
    pub fn mean(&self) -> f64 {
        match self {
            Distribution::Constant { value } => *value,
            Distribution::Uniform { low, high } => (low + high) / 2.0,
            Distribution::Exponential { mean, max: None } => *mean,
            // E[min(X, m)] = mean (1 - exp(-m / mean)).
            Distribution::Exponential { mean, max: Some(max) } => {
                if *mean > 0.0 {
                    mean * -(-max / mean).exp_m1()
                } else {
                    0.0
                }
            }
            Distribution::Geometric { mean } => *mean,
            Distribution::Integers { low, high } => (f64::from(*low) + f64::from(*high)) / 2.0,
            Distribution::Cumulative { values, percent } => {
                let below = std::iter::once(&0.0).chain(percent);
                values
                    .iter()
                    .zip(percent.iter().zip(below))
                    .map(|(value, (to, from))| value * (to - from) / 100.0)
                    .sum()
            }
        }
    }

    pub fn draw(&self, stream: &mut Stream) -> f64 {
        match self {
            Distribution::Constant { value } => *value,
            Distribution::Uniform { low, high } => low + (high - low) * stream.uniform(),
            Distribution::Exponential { mean, max } => {
                (-mean * stream.uniform().ln()).min(max.unwrap_or(f64::INFINITY))
            }
            Distribution::Geometric { mean } if *mean <= 0.0 => 0.0,
            Distribution::Geometric { mean } => (stream.uniform().ln() / (mean / (1.0 + mean)).ln()).floor(),
            Distribution::Integers { low, high } => {
                f64::from(*low) + stream.below(u64::from(high - low) + 1) as f64
            }
            Distribution::Cumulative { values, percent } => {
                let at = 100.0 * stream.uniform();
                let index = percent.partition_point(|&p| p < at).min(values.len() - 1);
                values[index]
            }
        }
    }

    /// A whole amount: the draw rounded to the nearest number.
    pub fn draw_count(&self, stream: &mut Stream) -> u64 {
        self.draw(stream).round() as u64
    }

    /// Refuses parameters that are no distribution; `item` names the field in the message.
    pub fn check(&self, item: &str) -> Result<(), TerminalsError> {
        let problem = match self {
            Distribution::Constant { value } => negative(&[("value", *value)]),
            Distribution::Uniform { low, high } => {
                negative(&[("low", *low), ("high", *high)]).or_else(|| order(*low, *high))
            }
            Distribution::Exponential { mean, max } => {
                negative(&[("mean", *mean), ("max", max.unwrap_or(0.0))])
            }
            Distribution::Geometric { mean } => negative(&[("mean", *mean)]),
            Distribution::Integers { low, high } => order(f64::from(*low), f64::from(*high)),
            Distribution::Cumulative { values, percent } => cumulative(values, percent),
        };
        match problem {
            None => Ok(()),
            Some(problem) => {
                Err(TerminalsError::input(item, problem, "give a distribution on the numbers from 0 up"))
            }
        }
    }
}

fn negative(parameters: &[(&str, f64)]) -> Option<String> {
    parameters
        .iter()
        .find(|(_, value)| !(value.is_finite() && *value >= 0.0))
        .map(|(name, value)| format!("{name} is {value}, not a finite number from 0 up"))
}

fn order(low: f64, high: f64) -> Option<String> {
    (low > high).then(|| format!("low {low} is above high {high}"))
}

fn cumulative(values: &[f64], percent: &[f64]) -> Option<String> {
    if values.is_empty() || values.len() != percent.len() {
        return Some(format!("{} values but {} percent", values.len(), percent.len()));
    }
    if let Some(value) = values.iter().find(|value| !(value.is_finite() && **value >= 0.0)) {
        return Some(format!("the value {value} is not a finite number from 0 up"));
    }
    if percent.windows(2).any(|pair| pair[0] > pair[1])
        || percent[0] < 0.0
        || percent[percent.len() - 1] != 100.0
    {
        return Some(format!("percent {percent:?} do not rise from 0 or more to 100"));
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Part;

    fn samples() -> Vec<Distribution> {
        vec![
            Distribution::Constant { value: 2.5 },
            Distribution::Uniform { low: 1.0, high: 3.0 },
            Distribution::exponential(2.0),
            Distribution::Exponential { mean: 1.0, max: Some(3.0) },
            Distribution::Geometric { mean: 6.0 },
            Distribution::Integers { low: 2, high: 8 },
            Distribution::Cumulative {
                values: vec![5.0, 20.0, 200.0, 5000.0],
                percent: vec![1.0, 5.0, 57.0, 100.0],
            },
        ]
    }

    /// H0: the mean of n draws is `mean()`. By the central limit theorem the mean is within 5 standard
    /// errors (estimated from the draws) with a false-alarm rate of 6e-7 a distribution.
    fn mean_agrees(distribution: &Distribution, claimed: f64) -> bool {
        let n = 200_000;
        let draws: Vec<f64> =
            (0..n).map(|k| distribution.draw(&mut Stream::at(7, 1, Part::Compute, k))).collect();
        let mean = draws.iter().sum::<f64>() / n as f64;
        let variance = draws.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / (n - 1) as f64;
        (mean - claimed).abs() <= 5.0 * (variance / n as f64).sqrt() + 1e-12
    }

    #[test]
    fn draws_have_the_mean_that_is_claimed() {
        for distribution in samples() {
            assert!(mean_agrees(&distribution, distribution.mean()), "{distribution:?}");
        }
    }

    #[test]
    fn a_wrong_mean_would_be_noticed() {
        // The canary: five percent off must fail.
        for distribution in samples() {
            assert!(!mean_agrees(&distribution, 1.05 * distribution.mean()), "{distribution:?}");
        }
    }

    #[test]
    fn geometric_has_its_share_of_zeros() {
        // P(0) = 1/(1 + mean) = 1/7; 5 sd of the binomial: false alarm 6e-7.
        let geometric = Distribution::Geometric { mean: 6.0 };
        let n = 100_000u64;
        let zeros = (0..n).filter(|&k| geometric.draw(&mut Stream::at(1, 1, Part::File, k)) == 0.0).count();
        let p = 1.0 / 7.0;
        let sd = (p * (1.0 - p) / n as f64).sqrt();
        assert!((zeros as f64 / n as f64 - p).abs() < 5.0 * sd);
    }

    #[test]
    fn nonsense_is_refused_by_name() {
        for (bad, word) in [
            (Distribution::Constant { value: -1.0 }, "value is -1"),
            (Distribution::Uniform { low: 3.0, high: 1.0 }, "low 3 is above high 1"),
            (Distribution::exponential(f64::NAN), "mean is NaN"),
            (Distribution::Cumulative { values: vec![1.0], percent: vec![90.0] }, "do not rise"),
            (Distribution::Cumulative { values: vec![], percent: vec![] }, "0 values"),
        ] {
            let message = bad.check("think").expect_err("must be refused").to_string();
            assert!(message.contains("think") && message.contains(word), "{message}");
        }
        for good in samples() {
            good.check("x").expect("is a distribution");
        }
    }

    #[test]
    fn a_misspelt_parameter_is_refused() {
        let text = r#"{"kind": "exponential", "mean": 1, "maxx": 3}"#;
        assert!(serde_json::from_str::<Distribution>(text).is_err());
    }
}
