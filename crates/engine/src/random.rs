//! Random streams, each addressed by (seed, replication, component, user).
//!
//! Addresses are hashed into states instead of jumping ahead in one sequence: a jump needs a number for every stream
//! that exists, which a new component or user would change.

use rand_core::{Rng, SeedableRng};
use rand_distr::{Distribution as _, StandardNormal};
use rand_xoshiro::Xoshiro256PlusPlus;
use thinktime_quantities::random::{self, below, unit};

use crate::ziggurat::{EDGES, LAYERS, TAIL};

/// A user of random numbers in a system, such as think times. The name is the address: two components of a system
/// have different ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Component<'a>(pub &'a str);

/// The streams of one replication.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Streams {
    /// Chosen by the user: the same seed gives the same bits.
    pub seed: u64,
    /// Number of the replication, from 0.
    pub replication: u64,
}

impl Streams {
    /// The stream of `component` for `user` (or for the machine, by convention user 0).
    pub fn stream(&self, component: Component<'_>, user: u64) -> Stream {
        self.address(component).stream(user)
    }

    /// The streams of `component`.
    pub fn address(&self, component: Component<'_>) -> Address {
        // The order of the parts is part of every published result: to change it changes all results.
        let address = random::Address::default().of(self.seed).of(self.replication);
        Address(address.named(component.0))
    }
}

/// The beginning of an address: the streams below it differ in what comes after.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Address(random::Address);

impl Address {
    /// The addresses of one thing among many, such as a job.
    pub fn of(self, number: u64) -> Address {
        Address(self.0.of(number))
    }

    /// The stream of `user`.
    pub fn stream(self, user: u64) -> Stream {
        Stream(Xoshiro256PlusPlus::seed_from_u64(self.0.of(user).seed()))
    }
}

/// A sequence of random numbers: xoshiro256++ (Blackman and Vigna 2021), period 2^256 - 1.
#[derive(Clone, Debug)]
pub struct Stream(Xoshiro256PlusPlus);

impl Stream {
    /// 64 random bits.
    #[inline]
    pub fn next_u64(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// The generator itself, for the samplers of `rand_distr`.
    pub(crate) fn generator(&mut self) -> &mut Xoshiro256PlusPlus {
        &mut self.0
    }

    /// Uniform between 0 and 1: 53 bits, never 0, so that a logarithm is finite.
    #[inline]
    pub fn uniform(&mut self) -> f64 {
        unit(self.next_u64())
    }

    /// Exponential with mean 1, by the ziggurat.
    #[inline(always)]
    pub fn exponential(&mut self) -> f64 {
        let bits = self.next_u64();
        // Layer and place use different bits of one number (the low 8, the high 53): they are independent.
        let (layer, part) = ((bits & 0xff) as usize, bits >> 11);
        if part < LAYERS[layer].inside {
            // By way of i64: the processor converts signed numbers in one instruction, unsigned ones not.
            return part as i64 as f64 * LAYERS[layer].unit;
        }
        self.exponential_at_edge(layer, part)
    }

    /// An exponential number one time in 50, where the layer's end hangs over the density, or in the tail.
    #[cold]
    #[inline(never)]
    fn exponential_at_edge(&mut self, layer: usize, part: u64) -> f64 {
        if layer == 0 {
            // The exponential has no memory: beyond TAIL it is itself again, shifted. The logarithm is finite, since
            // a uniform number is never 0.
            return TAIL - self.uniform().ln();
        }
        let x = part as f64 * LAYERS[layer].unit;
        // A uniform point in the layer, right of the part that is under the density for certain: taken if it is under
        // the density, else all begins again.
        let (low, high) = ((-EDGES[layer]).exp(), (-EDGES[layer + 1]).exp());
        if low + (high - low) * self.uniform() < (-x).exp() { x } else { self.exponential() }
    }

    /// Normal with mean 0 and variance 1, by the ziggurat.
    #[inline]
    pub fn normal(&mut self) -> f64 {
        StandardNormal.sample(&mut self.0)
    }

    /// Uniform on 0..bound. The bias of the multiplication is below bound / 2^64.
    #[inline]
    pub fn below(&mut self, bound: u64) -> u64 {
        below(self.next_u64(), bound)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const THINK: Component = Component("think");

    fn first(seed: u64, replication: u64, component: &'static str, user: u64) -> u64 {
        Streams { seed, replication }.stream(Component(component), user).next_u64()
    }

    #[test]
    fn every_word_of_the_address_matters() {
        let base = first(1, 2, "think", 3);
        assert_eq!(base, first(1, 2, "think", 3));
        let others = [
            first(2, 2, "think", 3),
            first(1, 3, "think", 3),
            first(1, 2, "thinl", 3),
            first(1, 2, "think\0", 3),
            first(1, 2, "think", 4),
            first(2, 1, "think", 3),
            first(1, 3, "think", 2),
        ];
        assert!(others.iter().all(|other| *other != base));
    }

    /// H0: the first numbers of the streams of 100 000 users are independent and uniform. The mean of n has
    /// standard deviation 1 / sqrt(12 n), the lag-one product moment 1 / (12 sqrt n), to first order. Bounds
    /// of five standard deviations: false alarm 1.2e-6.
    #[test]
    fn neighbouring_streams_are_uniform_and_uncorrelated() {
        let n = 100_000u32;
        let streams = Streams { seed: 1, replication: 0 };
        let first: Vec<f64> =
            (0..n).map(|user| streams.stream(THINK, u64::from(user)).uniform() - 0.5).collect();
        let mean = first.iter().sum::<f64>() / f64::from(n);
        let product = first.windows(2).map(|pair| pair[0] * pair[1]).sum::<f64>() / f64::from(n - 1);
        assert!(mean.abs() < 5.0 / (12.0 * f64::from(n)).sqrt(), "{mean}");
        assert!(product.abs() < 5.0 / (12.0 * f64::from(n).sqrt()), "{product}");
    }
}
