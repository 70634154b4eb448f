//! Addressed random streams: what user 3 does in his 17th interaction depends on nothing else.
//!
//! A stream is named by (seed, user, part, interaction). Adding users, or drawing more numbers in one
//! part of an interaction, changes no other stream, so runs with different populations share the random
//! numbers of the users that they have in common.

/// Which part of the play a stream drives. The numbers are part of the contract: a new part gets a new one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u64)]
pub enum Part {
    Think = 1,
    Class = 2,
    Compute = 3,
    File = 4,
    Pause = 5,
    Output = 6,
    Forks = 7,
    FreshPages = 8,
}

const GAMMA: u64 = 0x9e37_79b9_7f4a_7c15;

/// The output function of SplitMix64 (Steele, Lea, Flood 2014): a bijection that mixes every bit.
fn mix(word: u64) -> u64 {
    let word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    word ^ (word >> 31)
}

/// A SplitMix64 sequence. Its period of 2^64 and its quality are ample for the few numbers of an interaction.
#[derive(Clone, Debug)]
pub struct Stream {
    state: u64,
}

impl Stream {
    /// The stream at an address.
    pub fn at(seed: u64, user: u32, part: Part, interaction: u64) -> Stream {
        let state = [u64::from(user), part as u64, interaction]
            .into_iter()
            .fold(mix(seed.wrapping_add(GAMMA)), |state, word| mix(state.wrapping_add(GAMMA) ^ mix(word)));
        Stream { state }
    }

    pub fn next_u64(&mut self) -> u64 {
        self.state = self.state.wrapping_add(GAMMA);
        mix(self.state)
    }

    /// Uniform on the open interval (0, 1): 53 bits, never an end, so that a logarithm is finite.
    pub fn uniform(&mut self) -> f64 {
        ((self.next_u64() >> 11) as f64 + 0.5) / (1u64 << 53) as f64
    }

    /// Uniform on 0..bound. The bias of the multiplication is below bound / 2^64.
    pub fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.next_u64()) * u128::from(bound)) >> 64) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sequence_is_splitmix64_of_the_published_test_vector() {
        // Reference output of Vigna's splitmix64.c for the seed 1234567.
        let mut stream = Stream { state: 1_234_567 };
        let first: Vec<u64> = (0..5).map(|_| stream.next_u64()).collect();
        assert_eq!(
            first,
            [
                6_457_827_717_110_365_317,
                3_203_168_211_198_807_973,
                9_817_491_932_198_370_423,
                4_593_380_528_125_082_431,
                16_408_922_859_458_223_821,
            ]
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

    #[test]
    fn uniform_never_reaches_an_end() {
        let mut stream = Stream { state: 0 };
        assert!((0..100_000).map(|_| stream.uniform()).all(|u| u > 0.0 && u < 1.0));
        assert!((0..1000).all(|_| stream.below(3) < 3));
    }
}
