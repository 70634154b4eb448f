//! Distributions of lengths of time: described in words, drawn from, and with their own theory.
//!
//! | kind | parameters (times in seconds) |
//! | --- | --- |
//! | `deterministic` | `value` |
//! | `exponential` | `mean` |
//! | `hyperexponential` | `weights`, `means`: exponential with mean i by weight i |
//! | `erlang` | `shape` (stages), `mean` (of the sum) |
//! | `lognormal` | `mean`, `sd` (of the time itself, not of its logarithm) |
//! | `weibull` | `shape` k, `scale` l: P(T > t) = exp(-(t/l)^k) |
//! | `bounded_pareto` | `shape` a, `low`, `high`: density proportional to t^(-a-1) between them |
//! | `uniform` | `low`, `high` |
//! | `discrete` | `values`, `weights` |
//! | `empirical` | `values`, `cumulative`: c.d.f. piecewise linear through these points |
//! | `mixture` | `weights`, `of`: descriptions |
//!
//! A description is a table (`{"kind": "exponential", "mean": 20}`), a short form
//! (`exponential(mean=20)`), or a bare number, which is deterministic.

mod alias;
mod description;
mod moments;
mod short_form;
#[cfg(test)]
mod tests;

use rand_distr::Distribution as _;
use rand_distr::Gamma;

pub use alias::Alias;
pub use description::DistributionError;

use crate::random::Stream;
use crate::time::Span;

/// A distribution of lengths of time.
#[derive(Clone, Debug, PartialEq)]
pub struct Distribution(Law);

/// The parameters as given [s], and beside them what drawing needs [ns].
#[derive(Clone, Debug, PartialEq)]
enum Law {
    Deterministic { value: f64, span: Span },
    Exponential { mean: f64, mean_ns: f64 },
    Hyperexponential { weights: Vec<f64>, means: Vec<f64>, means_ns: Alias<f64> },
    Erlang { shape: u32, mean: f64, stage_ns: f64, many: Option<Gamma<f64>> },
    Lognormal { mean: f64, sd: f64, mu: f64, sigma: f64 },
    Weibull { shape: f64, scale: f64 },
    BoundedPareto { shape: f64, low: f64, high: f64 },
    Uniform { low: f64, high: f64 },
    Discrete { values: Vec<f64>, weights: Vec<f64>, spans: Alias<Span> },
    Empirical { values: Vec<f64>, cumulative: Vec<f64>, pieces: Alias<(f64, f64)> },
    Mixture { weights: Vec<f64>, of: Vec<Distribution>, parts: Alias<u32> },
}

const NANOSECONDS: f64 = 1e9;

/// Stages up to which an Erlang time is drawn as a sum; above, as a gamma variate.
const STAGES_SUMMED: u32 = 8;

impl Distribution {
    /// Exponential with this mean [s].
    ///
    /// # Panics
    /// `mean` is not a positive number.
    pub fn exponential(mean: f64) -> Distribution {
        assert!(mean > 0.0, "an exponential distribution has a positive mean, not {mean}");
        Distribution(Law::Exponential { mean, mean_ns: mean * NANOSECONDS })
    }

    /// Always `value` [s].
    pub fn deterministic(value: f64) -> Distribution {
        Distribution(Law::Deterministic { value, span: Span::from_seconds(value) })
    }

    /// Draws one. The same law takes the same number of random numbers only where it says so: exponential
    /// and hyperexponential times are drawn by the ziggurat, which now and then takes more than one.
    #[inline(always)]
    pub fn sample(&self, stream: &mut Stream) -> Span {
        match &self.0 {
            Law::Deterministic { span, .. } => *span,
            Law::Exponential { mean_ns, .. } => Span::from_nanoseconds(mean_ns * stream.exponential()),
            Law::Hyperexponential { means_ns, .. } => {
                let mean_ns = means_ns.choose(stream);
                Span::from_nanoseconds(mean_ns * stream.exponential())
            }
            _ => self.sample_other(stream),
        }
    }

    #[inline(never)]
    fn sample_other(&self, stream: &mut Stream) -> Span {
        match &self.0 {
            Law::Deterministic { .. } | Law::Exponential { .. } | Law::Hyperexponential { .. } => {
                self.sample(stream)
            }
            Law::Erlang { many: Some(gamma), .. } => Span::from_nanoseconds(gamma.sample(stream.generator())),
            Law::Erlang { shape, stage_ns, .. } => {
                Span::from_nanoseconds(stage_ns * (0..*shape).map(|_| stream.exponential()).sum::<f64>())
            }
            Law::Lognormal { mu, sigma, .. } => Span::from_seconds((mu + sigma * stream.normal()).exp()),
            Law::Weibull { shape, scale } => {
                Span::from_seconds(scale * stream.exponential().powf(1.0 / shape))
            }
            Law::BoundedPareto { shape, low, high } => {
                // The inverse of the c.d.f. (1 - (low/t)^a) / (1 - (low/high)^a).
                let reach = 1.0 - (low / high).powf(*shape);
                let drawn = low * (1.0 - stream.uniform() * reach).powf(-1.0 / shape);
                Span::from_seconds(drawn.min(*high))
            }
            Law::Uniform { low, high } => Span::from_seconds(low + (high - low) * stream.uniform()),
            Law::Discrete { spans, .. } => spans.choose(stream),
            Law::Empirical { pieces, .. } => {
                let (from, width) = pieces.choose(stream);
                Span::from_seconds(from + width * stream.uniform())
            }
            Law::Mixture { of, parts, .. } => of[parts.choose(stream) as usize].sample(stream),
        }
    }

    /// The time, where it is always the same.
    #[inline]
    pub fn fixed(&self) -> Option<Span> {
        match &self.0 {
            Law::Deterministic { span, .. } => Some(*span),
            _ => None,
        }
    }
}

/// Constructors of laws whose parameters have been checked.
impl Law {
    fn deterministic(value: f64) -> Law {
        Law::Deterministic { value, span: Span::from_seconds(value) }
    }

    fn exponential(mean: f64) -> Law {
        Law::Exponential { mean, mean_ns: mean * NANOSECONDS }
    }

    fn hyperexponential(weights: Vec<f64>, means: Vec<f64>) -> Law {
        let in_ns: Vec<f64> = means.iter().map(|mean| mean * NANOSECONDS).collect();
        let means_ns = Alias::new(&in_ns, &weights);
        Law::Hyperexponential { weights, means, means_ns }
    }

    fn erlang(shape: u32, mean: f64) -> Law {
        let stage_ns = mean * NANOSECONDS / f64::from(shape);
        let many = if shape > STAGES_SUMMED { Gamma::new(f64::from(shape), stage_ns).ok() } else { None };
        Law::Erlang { shape, mean, stage_ns, many }
    }

    fn lognormal(mean: f64, sd: f64) -> Law {
        let square = (sd / mean).powi(2).ln_1p();
        Law::Lognormal { mean, sd, mu: mean.ln() - square / 2.0, sigma: square.sqrt() }
    }

    fn discrete(values: Vec<f64>, weights: Vec<f64>) -> Law {
        let spans: Vec<Span> = values.iter().map(|value| Span::from_seconds(*value)).collect();
        let spans = Alias::new(&spans, &weights);
        Law::Discrete { values, weights, spans }
    }

    fn empirical(values: Vec<f64>, cumulative: Vec<f64>) -> Law {
        let pieces: Vec<(f64, f64)> = values.windows(2).map(|ends| (ends[0], ends[1] - ends[0])).collect();
        let weights: Vec<f64> = cumulative.windows(2).map(|ends| ends[1] - ends[0]).collect();
        let pieces = Alias::new(&pieces, &weights);
        Law::Empirical { values, cumulative, pieces }
    }

    fn mixture(weights: Vec<f64>, of: Vec<Distribution>) -> Law {
        let numbers: Vec<u32> = (0..of.len() as u32).collect();
        let parts = Alias::new(&numbers, &weights);
        Law::Mixture { weights, of, parts }
    }
}
