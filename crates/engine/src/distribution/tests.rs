//! Drawn times, tested against the theory of their law.

use super::Distribution;
use crate::random::{Component, Stream, Streams};

const DRAWS: usize = 100_000;

/// Every kind and its limiting cases, one description per line. The number of the line is a seed below.
const DESCRIPTIONS: &str = include_str!("../../../quantities/tests/distributions.txt");

fn law(text: &str) -> Distribution {
    Distribution::parse(&text.into()).unwrap()
}

fn stream(number: u64) -> Stream {
    Streams { seed: 1974, replication: number }.stream(Component("test"), 0)
}

fn drawn(law: &Distribution, number: u64) -> Vec<f64> {
    let mut stream = stream(number);
    let mut times: Vec<f64> = (0..DRAWS).map(|_| law.sample(&mut stream).seconds()).collect();
    times.sort_by(f64::total_cmp);
    times
}

/// Largest distance between the c.d.f. and that of sorted `times`, times the root of their number. Ties are
/// taken together, so that it holds for laws with atoms too (where the test is conservative).
fn distance(law: &Distribution, times: &[f64]) -> f64 {
    let n = times.len() as f64;
    let mut largest: f64 = 0.0;
    let mut from = 0;
    while from < times.len() {
        let to = from + times[from..].partition_point(|time| *time <= times[from]);
        // Times are rounded to nanoseconds: the c.d.f. is taken at the ends of the rounding.
        let (below, upto) = (law.cumulative(times[from] - 0.6e-9), law.cumulative(times[from] + 0.6e-9));
        largest = largest.max(below - from as f64 / n).max(to as f64 / n - upto);
        from = to;
    }
    largest * n.sqrt()
}

/// P(sqrt(n) D > x) = 2 exp(-2 x^2) to first order (Kolmogorov 1933): 2.69 is exceeded with 1e-6.
const KOLMOGOROV: f64 = 2.69;

/// H0: the times are drawn from the law. 22 laws at 1e-6 each: false alarm below 3e-5.
#[test]
fn times_follow_their_cumulative_distribution() {
    for (number, text) in DESCRIPTIONS.lines().enumerate() {
        let law = law(text);
        let distance = distance(&law, &drawn(&law, number as u64));
        assert!(distance < KOLMOGOROV, "{text}: {distance}");
    }
}

#[test]
fn a_law_that_is_four_per_cent_off_fails_the_same_test() {
    for text in ["exponential(mean=20.8)", "exponential(mean=19.2)"] {
        assert!(distance(&law("exponential(mean=20)"), &drawn(&law(text), 1)) > KOLMOGOROV, "{text}");
    }
}

/// By how many standard errors sample moments miss those of the law: mean, then variance.
fn misses(law: &Distribution, times: &[f64]) -> [f64; 2] {
    let n = times.len() as f64;
    let mean = law.mean();
    let average = |f: &dyn Fn(f64) -> f64| times.iter().map(|time| f(*time)).sum::<f64>() / n;
    let variance = average(&|t| (t - mean).powi(2));
    let fourth = average(&|t| (t - mean).powi(4));
    [
        (average(&|t| t) - mean) / (variance / n).sqrt(),
        (variance - law.variance().unwrap()) / ((fourth - variance * variance) / n).sqrt(),
    ]
}

/// H0: mean and variance are those of the law, within 5.5 standard errors: 4e-8 for each by the normal law, of
/// 44. Heavy tails converge to it slowly, but with fixed seeds it holds or not.
#[test]
fn moments_are_those_of_the_law() {
    for (number, text) in DESCRIPTIONS.lines().enumerate() {
        let law = law(text);
        let misses = misses(&law, &drawn(&law, 100 + number as u64));
        assert!(misses.iter().all(|miss| miss.abs() < 5.5), "{text}: {misses:?}");
    }
    let off = misses(&law("exponential(mean=20)"), &drawn(&law("exponential(mean=20.8)"), 1));
    assert!(off.iter().all(|miss| miss.abs() > 5.5), "{off:?}");
}

/// The same seed gives the same times, drawn by the same method, as long as logs are to be repeated: the sums [ns]
/// of the first thousand of each law.
#[test]
fn drawn_times_are_pinned() {
    let sums = DESCRIPTIONS.lines().map(|text| {
        let (law, mut stream) = (law(text), stream(3));
        (0..1000).map(|_| law.sample(&mut stream).0).sum::<u64>()
    });
    assert_eq!(
        sums.collect::<Vec<_>>(),
        [
            20_112_116_767_625,
            682_933_286_311,
            2_536_428_199_076,
            1_021_718_866_850,
            2_010_425_418_997,
            538_022_314_567,
            3_007_585_332_194,
            3_067_840_656_104,
            894_144_781_687,
            29_218_693_050,
            480_371_287_419,
            721_393_151_615,
            2_522_841_349_672,
            1_391_300_000_000,
            1_171_324_187_460,
            1_299_294_420_316,
            1_078_737_725_372,
            1_545_640_098_987,
            100_560_583_831,
            6_042_000_000_000,
            408_000_000_000,
            5_052_000_000_000,
        ]
    );
}
