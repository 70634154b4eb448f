//! Distributions of lengths of time, ready to be drawn from.
//!
//! Definition and theory of distributions are in `thinktime_quantities`. Here are the tables and constants that
//! drawing needs, in nanoseconds: they are computed once, because a simulated second draws thousands of times.

use std::ops::Deref;

use rand_distr::Distribution as _;
use rand_distr::Gamma;
use serde::Deserialize;
use serde_json::Value;
use thinktime_quantities::{self as quantities, DistributionError, Law};

use crate::alias::Alias;
use crate::random::Stream;
use crate::time::Span;

/// A distribution of lengths of time, with its description.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(from = "quantities::Distribution")]
pub struct Distribution {
    // Two forms on purpose: tables to draw from in nanoseconds, and the description in seconds, to report.
    sampler: Sampler,
    description: quantities::Distribution,
}

/// Constants and tables for drawing. Kinds that are drawn all the time are in nanoseconds already; the others are
/// converted from seconds in each draw.
#[derive(Clone, Debug, PartialEq)]
enum Sampler {
    Fixed(Span),
    Exponential { mean_ns: f64 },
    CutExponential { mean_ns: f64, max_ns: f64 },
    Hyperexponential { means_ns: Alias<f64> },
    Stages { shape: u32, stage_ns: f64 },
    Gamma(Gamma<f64>),
    Lognormal { mu: f64, sigma: f64 },
    Weibull { shape: f64, scale: f64 },
    BoundedPareto { shape: f64, low: f64, high: f64 },
    Uniform { low: f64, high: f64 },
    Geometric { ratio: f64 },
    Integers { low: u64, count: u64 },
    Discrete { spans: Alias<Span> },
    Empirical { pieces: Alias<(f64, f64)> },
    Mixture { of: Vec<Distribution>, parts: Alias<u32> },
}

// Means are scaled once here; a draw then needs no conversion from seconds.
const NANOSECONDS: f64 = 1e9;

/// Stages up to which an Erlang time is drawn as a sum; above, as a gamma variate.
// A sum costs an exponential variate for every stage, a gamma variate the same for every shape.
const STAGES_SUMMED: u32 = 8;

impl Distribution {
    /// Exponential with this mean [s].
    ///
    /// # Panics
    /// `mean` is not a positive number.
    pub fn exponential(mean: f64) -> Distribution {
        quantities::Distribution::exponential(mean).into()
    }

    /// Always `value` [s].
    pub fn deterministic(value: f64) -> Distribution {
        quantities::Distribution::deterministic(value).into()
    }

    /// Reads a description: a table, a short form, or a number of seconds.
    ///
    /// # Errors
    /// As [`quantities::Distribution::parse`].
    pub fn parse(description: &Value) -> Result<Distribution, DistributionError> {
        quantities::Distribution::parse(description).map(Distribution::from)
    }

    /// A time drawn from the distribution. Exponential and hyperexponential times are drawn by the ziggurat, which
    /// now and then takes more than one random number: equal laws stay in step, different ones need not.
    #[inline(always)]
    pub fn sample(&self, stream: &mut Stream) -> Span {
        match &self.sampler {
            Sampler::Fixed(span) => *span,
            Sampler::Exponential { mean_ns } => Span::from_some_nanoseconds(mean_ns * stream.exponential()),
            Sampler::Hyperexponential { means_ns } => {
                let mean_ns = means_ns.choose(stream);
                Span::from_some_nanoseconds(mean_ns * stream.exponential())
            }
            _ => self.sample_other(stream),
        }
    }

    /// The less common kinds, out of line: `sample` stays small enough to be inlined wherever it is called.
    #[inline(never)]
    fn sample_other(&self, stream: &mut Stream) -> Span {
        match &self.sampler {
            Sampler::Fixed(_) | Sampler::Exponential { .. } | Sampler::Hyperexponential { .. } => {
                self.sample(stream)
            }
            Sampler::CutExponential { mean_ns, max_ns } => {
                Span::from_nanoseconds((mean_ns * stream.exponential()).min(*max_ns))
            }
            Sampler::Gamma(gamma) => Span::from_nanoseconds(gamma.sample(stream.generator())),
            Sampler::Stages { shape, stage_ns } => {
                Span::from_nanoseconds(stage_ns * (0..*shape).map(|_| stream.exponential()).sum::<f64>())
            }
            Sampler::Lognormal { mu, sigma } => Span::from_seconds((mu + sigma * stream.normal()).exp()),
            // If E is exponential with mean 1, scale * E^(1/shape) has the Weibull law.
            Sampler::Weibull { shape, scale } => {
                Span::from_seconds(scale * stream.exponential().powf(1.0 / shape))
            }
            Sampler::BoundedPareto { shape, low, high } => {
                // The inverse of the c.d.f. (1 - (low/t)^a) / (1 - (low/high)^a).
                let reach = 1.0 - (low / high).powf(*shape);
                // Rounding could exceed `high` in the last digit.
                let drawn = low * (1.0 - stream.uniform() * reach).powf(-1.0 / shape);
                Span::from_seconds(drawn.min(*high))
            }
            Sampler::Uniform { low, high } => Span::from_seconds(low + (high - low) * stream.uniform()),
            // The whole part of an exponential variate of mean 1 / -ln(ratio); a ratio of 0 makes it 0.
            Sampler::Geometric { ratio } => Span::from_seconds((stream.exponential() / -ratio.ln()).floor()),
            Sampler::Integers { low, count } => Span::from_seconds((low + stream.below(*count)) as f64),
            Sampler::Discrete { spans } => spans.choose(stream),
            Sampler::Empirical { pieces } => {
                let (from, width) = pieces.choose(stream);
                Span::from_seconds(from + width * stream.uniform())
            }
            Sampler::Mixture { of, parts } => of[parts.choose(stream) as usize].sample(stream),
        }
    }

    /// The time, where it is always the same: models can then leave out the draw.
    #[inline]
    pub fn fixed(&self) -> Option<Span> {
        match &self.sampler {
            Sampler::Fixed(span) => Some(*span),
            _ => None,
        }
    }
}

/// A distribution answers for its mean, variance and so on as its description does.
impl Deref for Distribution {
    type Target = quantities::Distribution;

    fn deref(&self) -> &quantities::Distribution {
        &self.description
    }
}

impl From<quantities::Distribution> for Distribution {
    fn from(description: quantities::Distribution) -> Distribution {
        Distribution { sampler: Sampler::of(description.law()), description }
    }
}

impl Sampler {
    fn of(law: &Law) -> Sampler {
        match law {
            Law::Deterministic { value } => Sampler::Fixed(Span::from_seconds(*value)),
            Law::Exponential { mean, max: None } => Sampler::Exponential { mean_ns: mean * NANOSECONDS },
            Law::Exponential { mean, max: Some(max) } => {
                Sampler::CutExponential { mean_ns: mean * NANOSECONDS, max_ns: max * NANOSECONDS }
            }
            Law::Hyperexponential { weights, means } => {
                let in_ns: Vec<f64> = means.iter().map(|mean| mean * NANOSECONDS).collect();
                Sampler::Hyperexponential { means_ns: Alias::new(&in_ns, weights) }
            }
            Law::Erlang { shape, mean } => erlang(*shape, *mean),
            Law::Lognormal { mean, sd } => {
                // Parameters of the logarithm from mean and deviation of the time itself: sigma^2 = ln(1 +
                // (sd/mean)^2); `ln_1p` keeps small coefficients of variation exact.
                let square = (sd / mean).powi(2).ln_1p();
                Sampler::Lognormal { mu: mean.ln() - square / 2.0, sigma: square.sqrt() }
            }
            Law::Weibull { shape, scale } => Sampler::Weibull { shape: *shape, scale: *scale },
            Law::BoundedPareto { shape, low, high } => {
                Sampler::BoundedPareto { shape: *shape, low: *low, high: *high }
            }
            Law::Uniform { low, high } => Sampler::Uniform { low: *low, high: *high },
            Law::Geometric { mean } => Sampler::Geometric { ratio: mean / (1.0 + mean) },
            Law::Integers { low, high } => {
                Sampler::Integers { low: u64::from(*low), count: u64::from(high - low) + 1 }
            }
            Law::Discrete { values, weights } => {
                let spans: Vec<Span> = values.iter().map(|value| Span::from_seconds(*value)).collect();
                Sampler::Discrete { spans: Alias::new(&spans, weights) }
            }
            Law::Empirical { values, cumulative } => {
                let pieces: Vec<(f64, f64)> =
                    values.windows(2).map(|ends| (ends[0], ends[1] - ends[0])).collect();
                // Linear between its points: an interval by its probability, then uniform within it.
                let weights: Vec<f64> = cumulative.windows(2).map(|ends| ends[1] - ends[0]).collect();
                Sampler::Empirical { pieces: Alias::new(&pieces, &weights) }
            }
            Law::Mixture { weights, of } => {
                let numbers: Vec<u32> = (0..of.len() as u32).collect();
                let of = of.iter().map(|one| one.clone().into()).collect();
                Sampler::Mixture { of, parts: Alias::new(&numbers, weights) }
            }
        }
    }
}

/// A sum of stages, or the gamma distribution with the same law (its parameters are positive, so that `ok` loses
/// nothing).
fn erlang(shape: u32, mean: f64) -> Sampler {
    let stage_ns = mean * NANOSECONDS / f64::from(shape);
    let gamma = if shape > STAGES_SUMMED { Gamma::new(f64::from(shape), stage_ns).ok() } else { None };
    gamma.map_or(Sampler::Stages { shape, stage_ns }, Sampler::Gamma)
}

#[cfg(test)]
mod tests;
