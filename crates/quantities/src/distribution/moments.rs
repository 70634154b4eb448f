//! Moments and cumulative distribution function of each kind, in closed form (Johnson, Kotz and Balakrishnan,
//! Continuous Univariate Distributions, 1994; Law, Simulation Modeling and Analysis, chapter 6).

use libm::{erfc, lgamma};

use super::{Distribution, Law};

/// Raw moments E T, E T^2, E T^3.
type Raw = [f64; 3];

impl Distribution {
    /// Mean.
    pub fn mean(&self) -> f64 {
        match &self.0 {
            // A mean that is a parameter is returned as it was given: by way of raw moments it would lose its last
            // digits.
            Law::Deterministic { value, .. } => *value,
            Law::Exponential { mean, max: None }
            | Law::Erlang { mean, .. }
            | Law::Lognormal { mean, .. }
            | Law::Geometric { mean } => *mean,
            _ => self.raw()[0],
        }
    }

    /// Variance; none where it is too large for a number.
    pub fn variance(&self) -> Option<f64> {
        let variance = match &self.0 {
            Law::Deterministic { .. } => 0.0,
            Law::Exponential { mean, max: None } => mean * mean,
            Law::Erlang { shape, mean, .. } => mean * mean / f64::from(*shape),
            Law::Lognormal { sd, .. } => sd * sd,
            Law::Uniform { low, high } => (high - low).powi(2) / 12.0,
            Law::Geometric { mean } => mean * (1.0 + mean),
            _ => self.central()[0],
        };
        variance.is_finite().then_some(variance)
    }

    /// Standard deviation.
    pub fn sd(&self) -> Option<f64> {
        self.variance().map(f64::sqrt)
    }

    /// Third central moment over the cube of the standard deviation; none where nothing varies, or where it is
    /// too large for a number.
    pub fn skewness(&self) -> Option<f64> {
        let skewness = match &self.0 {
            Law::Deterministic { .. } => f64::NAN,
            Law::Exponential { max: None, .. } => 2.0,
            Law::Erlang { shape, .. } => 2.0 / f64::from(*shape).sqrt(),
            Law::Lognormal { mean, sd, .. } => {
                let cv = sd / mean;
                if *sd > 0.0 { cv * (3.0 + cv * cv) } else { f64::NAN }
            }
            Law::Uniform { low, high } => {
                if high > low {
                    0.0
                } else {
                    f64::NAN
                }
            }
            _ => {
                let [variance, third] = self.central();
                if variance > 0.0 { third / variance.powf(1.5) } else { f64::NAN }
            }
        };
        skewness.is_finite().then_some(skewness)
    }

    /// Second and third central moment. About the mean in the sum where there is a sum: no cancellation. A mixture of
    /// parts with nearly equal means would otherwise lose its variance to the difference of two large squares.
    fn central(&self) -> [f64; 2] {
        let mean = self.mean();
        if let Law::Discrete { values, weights, .. } = &self.0 {
            let about = |power| values.iter().zip(weights).map(|(x, w)| w * (x - mean).powi(power)).sum();
            return [about(2), about(3)];
        }
        // A part contributes its own moments and those of its mean about the common one: E (T - m)^3 with T - m = (T
        // - p) + off, where E (T - p) = 0.
        let joined = |[second, third]: [f64; 2], weight: f64, [variance, skew]: [f64; 2], off: f64| {
            [
                second + weight * (variance + off * off),
                third + weight * (skew + 3.0 * off * variance + off.powi(3)),
            ]
        };
        if let Law::Mixture { weights, of, .. } = &self.0 {
            return of.iter().zip(weights).fold([0.0; 2], |sum, (part, weight)| {
                joined(sum, *weight, part.central(), part.mean() - mean)
            });
        }
        if let Law::Empirical { values, cumulative, .. } = &self.0 {
            return values.windows(2).zip(cumulative.windows(2)).fold([0.0; 2], |sum, (ends, below)| {
                // A uniform piece: variance width^2 / 12, and no skewness.
                let spread = [(ends[1] - ends[0]).powi(2) / 12.0, 0.0];
                joined(sum, below[1] - below[0], spread, (ends[0] + ends[1]) / 2.0 - mean)
            });
        }
        // The rest by raw moments: these kinds vary on the scale of their mean, and lose few digits.
        let [_, second, third] = self.raw();
        [second - mean * mean, third - 3.0 * mean * second + 2.0 * mean.powi(3)]
    }

    /// The first three raw moments.
    fn raw(&self) -> Raw {
        match &self.0 {
            Law::Deterministic { value, .. } => [1, 2, 3].map(|n| value.powi(n)),
            Law::Exponential { mean, max: None } => exponential(*mean),
            Law::Exponential { mean, max: Some(max) } => cut_exponential(*mean, *max),
            Law::Hyperexponential { weights, means, .. } => {
                mixed(weights, means.iter().map(|mean| exponential(*mean)))
            }
            Law::Erlang { shape, mean, .. } => {
                let (k, stage) = (f64::from(*shape), mean / f64::from(*shape));
                [*mean, mean * stage * (k + 1.0), mean * stage * stage * (k + 1.0) * (k + 2.0)]
            }
            Law::Lognormal { mean, sd } => {
                let (mu, sigma) = logarithm(*mean, *sd);
                [1.0, 2.0, 3.0].map(|n: f64| (n * mu + (n * sigma).powi(2) / 2.0).exp())
            }
            Law::Weibull { shape, scale } => {
                // E T^n = scale^n Gamma(1 + n / shape); by the logarithm, since Gamma overflows beyond 171.
                [1.0, 2.0, 3.0].map(|n: f64| scale.powf(n) * lgamma(1.0 + n / shape).exp())
            }
            Law::BoundedPareto { shape, low, high } => {
                [1.0, 2.0, 3.0].map(|n| bounded_pareto(*shape, *low, *high, n))
            }
            Law::Uniform { low, high } => piece(*low, *high),
            Law::Geometric { mean } => {
                let m = *mean;
                [m, m * (1.0 + 2.0 * m), m * (1.0 + 6.0 * m + 6.0 * m * m)]
            }
            Law::Integers { low, high } => integers(f64::from(*low), f64::from(*high)),
            Law::Discrete { values, weights, .. } => {
                mixed(weights, values.iter().map(|value| [1, 2, 3].map(|n| value.powi(n))))
            }
            Law::Empirical { values, cumulative, .. } => {
                let weights: Vec<f64> = cumulative.windows(2).map(|ends| ends[1] - ends[0]).collect();
                mixed(&weights, values.windows(2).map(|ends| piece(ends[0], ends[1])))
            }
            Law::Mixture { weights, of, .. } => mixed(weights, of.iter().map(Distribution::raw)),
        }
    }

    /// P(T <= t), of the law itself: a drawn time may be rounded.
    pub fn cumulative(&self, t: f64) -> f64 {
        if t < 0.0 {
            return 0.0;
        }
        match &self.0 {
            Law::Deterministic { value, .. } => f64::from(t >= *value),
            // What exceeds `max` becomes `max`: a step of the function there.
            Law::Exponential { max: Some(max), .. } if t >= *max => 1.0,
            // 1 - e^-x by `exp_m1`: for small x the difference would lose all digits.
            Law::Exponential { mean, .. } => -(-t / mean).exp_m1(),
            Law::Hyperexponential { weights, means, .. } => {
                weights.iter().zip(means).map(|(weight, mean)| -weight * (-t / mean).exp_m1()).sum()
            }
            Law::Erlang { shape, mean, .. } => erlang(*shape, t * f64::from(*shape) / mean),
            Law::Lognormal { mean, sd } if *sd == 0.0 => f64::from(t >= *mean),
            Law::Lognormal { mean, sd } => {
                let (mu, sigma) = logarithm(*mean, *sd);
                // By erfc, which keeps its digits in the lower tail; t = 0 gives erfc(inf) = 0.
                erfc(-(t.ln() - mu) / (sigma * 2f64.sqrt())) / 2.0
            }
            Law::Weibull { shape, scale } => -(-(t / scale).powf(*shape)).exp_m1(),
            Law::BoundedPareto { shape, low, high } => {
                let within = t.clamp(*low, *high);
                (1.0 - (low / within).powf(*shape)) / (1.0 - (low / high).powf(*shape))
            }
            Law::Uniform { low, high } if low == high => f64::from(t >= *low),
            Law::Uniform { low, high } => ((t - low) / (high - low)).clamp(0.0, 1.0),
            // P(T > k) = ratio^(k + 1); a time between whole numbers counts as the one below.
            Law::Geometric { mean } => 1.0 - (mean / (1.0 + mean)).powf(t.floor() + 1.0),
            Law::Integers { low, high } => {
                let (low, high) = (f64::from(*low), f64::from(*high));
                ((t.floor() - low + 1.0) / (high - low + 1.0)).clamp(0.0, 1.0)
            }
            Law::Discrete { values, weights, .. } => {
                values.iter().zip(weights).filter(|(value, _)| **value <= t).map(|(_, weight)| weight).sum()
            }
            Law::Empirical { values, cumulative, .. } => interpolated(values, cumulative, t),
            Law::Mixture { weights, of, .. } => {
                weights.iter().zip(of).map(|(weight, part)| weight * part.cumulative(t)).sum()
            }
        }
    }
}

/// E T^n = n! mean^n.
fn exponential(mean: f64) -> Raw {
    [mean, 2.0 * mean.powi(2), 6.0 * mean.powi(3)]
}

/// E min(T, max)^n = n int_0^max t^(n-1) e^(-t/mean) dt, by parts.
fn cut_exponential(mean: f64, max: f64) -> Raw {
    let x = max / mean;
    // 1 - e^-x (1 + x + ... + x^(n-1) / (n-1)!): a gamma distribution function, with no cancellation for n = 1.
    let rest = (-x).exp();
    let first = -(-x).exp_m1();
    let (second, third) = (first - rest * x, first - rest * (x + x * x / 2.0));
    [mean * first, 2.0 * mean.powi(2) * second, 6.0 * mean.powi(3) * third]
}

/// Whole numbers from `low` to `high`: those from 0 to n = high - low, moved. Sums of powers by Faulhaber, over n + 1.
fn integers(low: f64, high: f64) -> Raw {
    let n = high - low;
    let (first, second, third) = (n / 2.0, n * (2.0 * n + 1.0) / 6.0, n * n * (n + 1.0) / 4.0);
    [
        low + first,
        low * low + 2.0 * low * first + second,
        low.powi(3) + 3.0 * low * low * first + 3.0 * low * second + third,
    ]
}

/// Mean and standard deviation of the logarithm of a lognormal time.
fn logarithm(mean: f64, sd: f64) -> (f64, f64) {
    let square = (sd / mean).powi(2).ln_1p();
    (mean.ln() - square / 2.0, square.sqrt())
}

/// Uniform from `low` to `high`: (high^(n+1) - low^(n+1)) / ((n+1) (high - low)), divided out: the quotient as it
/// stands would cancel for narrow pieces, and be 0 / 0 for atoms.
fn piece(low: f64, high: f64) -> Raw {
    let (l, h) = (low, high);
    [(l + h) / 2.0, (l * l + l * h + h * h) / 3.0, (l + h) * (l * l + h * h) / 4.0]
}

/// Moments of a mixture: raw ones are averages by weight, which central ones are not.
fn mixed(weights: &[f64], parts: impl Iterator<Item = Raw>) -> Raw {
    weights
        .iter()
        .zip(parts)
        .fold([0.0; 3], |sum, (weight, part)| std::array::from_fn(|n| sum[n] + weight * part[n]))
}

/// E T^n = a low^a (high^(n-a) - low^(n-a)) / ((n - a) (1 - (low/high)^a)), also near n = a.
fn bounded_pareto(shape: f64, low: f64, high: f64, n: f64) -> f64 {
    let stretch = (high / low).ln();
    // The integral of t^(exponent - 1) over the range, whose limit at exponent 0 is the logarithm.
    let over = |exponent: f64| {
        if exponent == 0.0 { stretch } else { (exponent * stretch).exp_m1() / exponent }
    };
    low.powf(n) * over(n - shape) / over(-shape)
}

/// P(T <= t) of an Erlang time for x = t shape / mean: 1 - sum_{i < shape} x^i e^-x / i!
fn erlang(shape: u32, x: f64) -> f64 {
    // At the ends, where the logarithms below are infinite.
    if x == 0.0 || x == f64::INFINITY {
        return f64::from(x > 0.0);
    }
    // By logarithms: x^i and i! are too large for a number long before their quotient is.
    let term = |i: u32| (f64::from(i) * x.ln() - x - lgamma(f64::from(i) + 1.0)).exp();
    1.0 - (0..shape).map(term).sum::<f64>()
}

/// The c.d.f. through the points: linear between them, 0 before the first and 1 from the last on.
fn interpolated(values: &[f64], cumulative: &[f64], t: f64) -> f64 {
    // The first value above t. The one before is at most t, so that the two differ, atoms included.
    let after = values.partition_point(|value| *value <= t);
    match after {
        0 => 0.0,
        _ if after == values.len() => 1.0,
        _ => {
            let (from, to) = (after - 1, after);
            let part = (t - values[from]) / (values[to] - values[from]);
            cumulative[from] + part * (cumulative[to] - cumulative[from])
        }
    }
}
