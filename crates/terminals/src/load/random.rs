//! Addressed random streams: the work of user 3 in interaction 17 depends on nothing but these two numbers.
//!
//! A stream is named by (seed, user, part, interaction). Adding users, or drawing more numbers in one
//! part of an interaction, changes no other stream, so that runs with different populations share the random
//! numbers of their common users (common random numbers: Law, Simulation Modeling and Analysis, section 11.2).

use rand_core::{Rng, SeedableRng};
use rand_xoshiro::SplitMix64;
use thinktime_quantities::random::{below, mix, unit};
use thinktime_quantities::{Distribution, Law};

/// Part of the play that a stream drives. The numbers are part of the contract, because a play is repeated from
/// its seed: a new part gets a new number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u64)]
pub enum Part {
    /// Think time before the interaction.
    Think = 1,
    /// Class of the interaction.
    Class = 2,
    /// Iterations of the compute loop.
    Compute = 3,
    /// Number of blocks; then, for each, seek, direction and flush.
    File = 4,
    /// Pause inside the interaction.
    Pause = 5,
    /// Strings to the terminal.
    Output = 6,
    /// Number of children; then, for each, whether it executes a program.
    Forks = 7,
    /// Pages of fresh memory.
    FreshPages = 8,
    /// Times between the keys of a line.
    Typing = 9,
}

/// Increment of SplitMix64's state (Steele, Lea, Flood 2014).
const GAMMA: u64 = 0x9e37_79b9_7f4a_7c15;

/// A SplitMix64 sequence. Its period of 2^64 and its quality are ample for the few numbers of an interaction.
#[derive(Clone, Debug)]
pub struct Stream(SplitMix64);

impl Stream {
    /// The stream at an address.
    ///
    /// The hash differs from `thinktime_quantities::random::Address`: it applies the plain output function,
    /// without the increment, to the words. It stays as it is, so that old plays repeat from their seeds.
    pub fn at(seed: u64, user: u32, part: Part, interaction: u64) -> Stream {
        let output = |word: u64| mix(word.wrapping_sub(GAMMA));
        let state = [u64::from(user), part as u64, interaction]
            .into_iter()
            .fold(mix(seed), |state, word| output(state.wrapping_add(GAMMA) ^ output(word)));
        Stream(SplitMix64::seed_from_u64(state))
    }

    /// 64 random bits.
    pub fn next_u64(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// Uniform between 0 and 1: 53 bits, never 0, so that a logarithm is finite.
    pub fn uniform(&mut self) -> f64 {
        unit(self.next_u64())
    }

    /// Uniform on 0..bound.
    pub fn below(&mut self, bound: u64) -> u64 {
        below(self.next_u64(), bound)
    }

    /// Exponential with mean 1, by inversion: one number each, so that a change of the mean changes no other time.
    fn exponential(&mut self) -> f64 {
        -self.uniform().ln()
    }

    /// Normal with mean 0 and variance 1 (Box and Muller 1958). The second number of the pair is not kept: a stream
    /// then has no state but its generator's.
    fn normal(&mut self) -> f64 {
        (2.0 * self.exponential()).sqrt() * (std::f64::consts::TAU * self.uniform()).cos()
    }

    /// An index by its weight; weights sum to 1.
    fn choose(&mut self, weights: impl ExactSizeIterator<Item = f64>) -> usize {
        let (drawn, last) = (self.uniform(), weights.len() - 1);
        let mut below = 0.0;
        let mut reached = weights.map(|weight| {
            below += weight;
            below >= drawn
        });
        // Weights may sum to less than 1 by rounding, below a number drawn there.
        reached.position(|reached| reached).unwrap_or(last)
    }
}

/// Drawing from a distribution, by inversion where the simulation engine uses faster methods: a real user types
/// a few times per minute, and inversion takes one number per draw, so that streams are easy to follow.
pub trait Draw {
    /// One draw, in the unit of the distribution.
    fn draw(&self, stream: &mut Stream) -> f64;

    /// One draw rounded to the nearest whole number; the cast saturates.
    fn draw_count(&self, stream: &mut Stream) -> u64 {
        self.draw(stream).round() as u64
    }
}

impl Draw for Distribution {
    fn draw(&self, stream: &mut Stream) -> f64 {
        match self.law() {
            Law::Deterministic { value } => *value,
            Law::Exponential { mean, max } => (mean * stream.exponential()).min(max.unwrap_or(f64::INFINITY)),
            Law::Hyperexponential { weights, means } => {
                means[stream.choose(weights.iter().copied())] * stream.exponential()
            }
            Law::Erlang { shape, mean } => {
                let stages: f64 = (0..*shape).map(|_| stream.exponential()).sum();
                mean / f64::from(*shape) * stages
            }
            Law::Lognormal { mean, sd } => {
                let square = (sd / mean).powi(2).ln_1p();
                (mean.ln() - square / 2.0 + square.sqrt() * stream.normal()).exp()
            }
            Law::Weibull { shape, scale } => scale * stream.exponential().powf(1.0 / shape),
            Law::BoundedPareto { shape, low, high } => {
                // The inverse of the c.d.f. (1 - (low/t)^a) / (1 - (low/high)^a).
                let reach = 1.0 - (low / high).powf(*shape);
                (low * (1.0 - stream.uniform() * reach).powf(-1.0 / shape)).min(*high)
            }
            Law::Uniform { low, high } => low + (high - low) * stream.uniform(),
            Law::Geometric { mean } if *mean <= 0.0 => 0.0,
            Law::Geometric { mean } => (stream.uniform().ln() / (mean / (1.0 + mean)).ln()).floor(),
            Law::Integers { low, high } => f64::from(*low) + stream.below(u64::from(high - low) + 1) as f64,
            Law::Discrete { values, weights } => values[stream.choose(weights.iter().copied())],
            Law::Empirical { values, cumulative } => {
                let piece = stream.choose(cumulative.windows(2).map(|ends| ends[1] - ends[0]));
                values[piece] + (values[piece + 1] - values[piece]) * stream.uniform()
            }
            Law::Mixture { weights, of } => of[stream.choose(weights.iter().copied())].draw(stream),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What users of seed 1 drew when this was written: a play is repeated from its seed.
    #[test]
    fn addresses_are_pinned() {
        let first = |part| Stream::at(1, 2, part, 3).next_u64();
        assert_eq!(
            [Part::Think, Part::Class, Part::Compute].map(first),
            [6_410_233_506_196_959_738, 18_399_335_151_356_097_337, 2_188_065_144_490_386_444]
        );
    }

    #[test]
    fn every_word_of_the_address_matters() {
        let base = Stream::at(1, 2, Part::Think, 3).next_u64();
        for other in [
            Stream::at(2, 2, Part::Think, 3),
            Stream::at(1, 3, Part::Think, 3),
            Stream::at(1, 2, Part::Class, 3),
            Stream::at(1, 2, Part::Think, 4),
            Stream::at(1, 3, Part::Think, 2),
        ] {
            assert_ne!(base, other.clone().next_u64());
        }
        assert_eq!(base, Stream::at(1, 2, Part::Think, 3).next_u64());
    }

    #[test]
    fn first_numbers_of_neighbouring_streams_are_uniform_and_uncorrelated() {
        // H0: first draws of streams (1, user, Think, k) are independent U(0,1). Mean of n draws has sd
        // sqrt(1/12n); the lag-one product moment has sd 1/(12 sqrt n). Bounds of 5 sd: false alarm 1.2e-6.
        let n = 100_000u32;
        let draws: Vec<f64> =
            (0..n).map(|k| Stream::at(1, k % 10, Part::Think, u64::from(k / 10)).uniform()).collect();
        let mean = draws.iter().sum::<f64>() / f64::from(n);
        assert!((mean - 0.5).abs() < 5.0 * (1.0 / (12.0 * f64::from(n))).sqrt(), "mean {mean}");
        let product =
            draws.windows(2).map(|pair| (pair[0] - 0.5) * (pair[1] - 0.5)).sum::<f64>() / f64::from(n - 1);
        assert!(product.abs() < 5.0 / (12.0 * f64::from(n).sqrt()), "lag-one covariance {product}");
    }

    fn samples() -> impl Iterator<Item = Distribution> {
        [
            "2.5",
            "uniform(low=1,high=3)",
            "exponential(mean=2)",
            "exponential(mean=1,max=3)",
            "geometric(mean=6)",
            "integers(low=2,high=8)",
            "discrete(values=[5,20,200,5000],weights=[0.01,0.04,0.52,0.43])",
            "hyperexponential(weights=[0.9,0.1],means=[0.1,5])",
            "erlang(shape=3,mean=1)",
            "lognormal(mean=0.5,sd=0.4)",
            "weibull(shape=1.5,scale=2)",
            "bounded_pareto(shape=1.5,low=0.1,high=5)",
            "empirical(values=[0,0.1,0.2,2],cumulative=[0,0.7,0.778,1])",
            "mixture(weights=[0.8,0.2],of=[exponential(mean=0.1),4])",
        ]
        .into_iter()
        .map(|text| text.parse().expect("a distribution"))
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
        let geometric = Distribution::new(Law::Geometric { mean: 6.0 }).expect("valid");
        let n = 100_000u64;
        let zeros = (0..n).filter(|&k| geometric.draw(&mut Stream::at(1, 1, Part::File, k)) == 0.0).count();
        let p = 1.0 / 7.0;
        let sd = (p * (1.0 - p) / n as f64).sqrt();
        assert!((zeros as f64 / n as f64 - p).abs() < 5.0 * sd);
    }

    #[test]
    fn uniform_is_never_zero() {
        let mut stream = Stream::at(0, 0, Part::Think, 0);
        assert!((0..100_000).map(|_| stream.uniform()).all(|u| u > 0.0 && u <= 1.0));
        assert!((0..1000).all(|_| stream.below(3) < 3));
    }
}
