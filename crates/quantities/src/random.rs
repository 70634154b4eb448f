//! Addresses of random streams, and numbers from random bits.
//!
//! A stream addressed by its use (a seed, a replication, a user, a purpose) does not depend on the existence of
//! other streams or on the amount drawn from them, so that compared systems get the same users.

use rand_core::{Rng, SeedableRng};
use rand_xoshiro::SplitMix64;

/// One step of SplitMix64 from the state `word`: a bijection that mixes every bit (Steele, Lea and Flood 2014).
#[inline]
pub fn mix(word: u64) -> u64 {
    SplitMix64::seed_from_u64(word).next_u64()
}

/// An address of any number of words. Its hash seeds a generator. Two addresses of a run of a million streams have the
/// same hash with a probability of a million^2 / 2^65, 3e-8.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Address(u64);

impl Address {
    /// The address that continues this one with `word`. The order of the words matters.
    #[must_use]
    pub fn of(self, word: u64) -> Address {
        // Mixed before it is joined: neighbouring words do not give related addresses.
        Address(mix(self.0 ^ mix(word)))
    }

    /// The address that continues this one with a text: its length first, so that no text is the beginning
    /// of another.
    #[must_use]
    pub fn named(self, name: &str) -> Address {
        name.as_bytes().chunks(8).fold(self.of(name.len() as u64), |address, chunk| {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            // Little endian on every machine: the same name gives the same stream everywhere.
            address.of(u64::from_le_bytes(word))
        })
    }

    /// The hash of all words.
    pub fn seed(self) -> u64 {
        self.0
    }
}

/// Uniform between 0 and 1, from 53 of 64 random bits: never 0, so that a logarithm is finite; 1 by rounding, once
/// in 2^53.
#[inline]
pub fn unit(bits: u64) -> f64 {
    // The middle of each of 2^53 intervals: 53 bits are what a double holds, and the high ones are the better ones
    // of many generators.
    ((bits >> 11) as f64 + 0.5) / (1u64 << 53) as f64
}

/// Uniform on 0..bound, from 64 random bits. The bias of the multiplication is below bound / 2^64.
#[inline]
pub fn below(bits: u64, bound: u64) -> u64 {
    // Multiply and shift (Lemire, ACM TOMACS 29, 2019, without his rejection): one number each, so that streams stay
    // in step, and no division.
    ((u128::from(bits) * u128::from(bound)) >> 64) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reference output of Vigna's splitmix64.c for the seed 1234567.
    #[test]
    fn mixing_is_splitmix64_of_the_published_test_vector() {
        const GAMMA: u64 = 0x9e37_79b9_7f4a_7c15;
        let states = (0..5u64).map(|n| 1_234_567u64.wrapping_add(n.wrapping_mul(GAMMA)));
        let expected = [
            6_457_827_717_110_365_317,
            3_203_168_211_198_807_973,
            9_817_491_932_198_370_423,
            4_593_380_528_125_082_431,
            16_408_922_859_458_223_821,
        ];
        assert_eq!(states.map(mix).collect::<Vec<_>>(), expected);
    }

    #[test]
    fn every_word_and_its_place_matter() {
        let base = Address::default().of(1).of(2).named("think").of(3);
        let others = [
            Address::default().of(2).of(1).named("think").of(3),
            Address::default().of(1).of(2).named("thinl").of(3),
            Address::default().of(1).of(2).named("think\0").of(3),
            Address::default().of(1).of(2).named("think").of(4),
            Address::default().of(1).of(2).named("think"),
        ];
        assert!(others.iter().all(|other| *other != base));
    }

    #[test]
    fn numbers_stay_in_their_range() {
        assert!(unit(0) > 0.0 && unit(u64::MAX) <= 1.0);
        assert_eq!((below(0, 3), below(u64::MAX, 3)), (0, 2));
    }
}
