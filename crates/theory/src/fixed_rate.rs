//! One class, stations of fixed rate, and think time: Reiser and Lavenberg's recursion (JACM 27, 1980).
//!
//! The textbook form computes, for n = 1 ..= N,
//!
//! ```text
//! R_k(n) = D_k (1 + Q_k(n-1)),   X(n) = n / (Z + sum R_k(n)),   Q_k(n) = X(n) R_k(n)
//! ```
//!
//! where each step waits for a product, a sum over the stations and a division. Here the sum is made one
//! step ahead: with E_k = D_k R_k,
//!
//! ```text
//! Z + sum R_k(n) = (Z + sum D_k) + X(n-1) sum E_k(n-1)
//! E_k(n)         = D_k^2 + X(n-1) D_k E_k(n-1)
//! ```
//!
//! so that the sum over E_k(n-1) is ready when X(n-1) is, and a step waits for one product, one sum and the
//! division alone. It is the same arithmetic in another order, and half the time.

/// The network with all its customers.
#[derive(Clone, Debug, PartialEq)]
pub struct Solution {
    /// Customers per unit of time.
    pub throughput: f64,
    /// Time at each station.
    pub residence: Vec<f64>,
    /// Mean number at each station, in service or waiting.
    pub queues: Vec<f64>,
    /// Share of the time in which each station is busy, X D.
    pub utilisation: Vec<f64>,
}

/// The network with each population from 1 to N.
#[derive(Clone, Debug, PartialEq)]
pub struct ByPopulation {
    /// X(1) to X(N).
    pub throughput: Vec<f64>,
    /// Mean numbers: a row a population, a column a station.
    pub queues: Vec<f64>,
}

/// The network of these demands and think time at one population. Demands and think time are in one unit. With nobody in
/// it nothing happens, and the times at the stations are those of a customer who would come: the demands.
pub fn at_population(demands: &[f64], think: f64, population: u32) -> Solution {
    if population == 0 {
        // Also where demands and think time are all zero, which the recursion would divide by.
        let nothing = || vec![0.0; demands.len()];
        return Solution {
            throughput: 0.0,
            residence: demands.to_vec(),
            queues: nothing(),
            utilisation: nothing(),
        };
    }
    let mut residence = vec![0.0; demands.len()];
    let throughput = recursion(demands, think, population, &mut |_| {}, &mut residence);
    let queues = residence.iter().map(|time| throughput * time).collect();
    let utilisation = demands.iter().map(|demand| throughput * demand).collect();
    Solution { throughput, residence, queues, utilisation }
}

/// The network at every population from 1 to `population`: at none where that is 0.
pub fn all_populations(demands: &[f64], think: f64, population: u32) -> ByPopulation {
    if population == 0 {
        return ByPopulation { throughput: Vec::new(), queues: Vec::new() };
    }
    let mut throughput = Vec::with_capacity(population as usize);
    recursion(demands, think, population, &mut |x| throughput.push(x), &mut vec![0.0; demands.len()]);
    // In a second pass: storing the numbers in the recursion would take its state out of the registers.
    let queues = queues_of(demands, &throughput);
    ByPopulation { throughput, queues }
}

/// The mean numbers at fixed-rate stations from the throughputs of their network at populations 1, 2, ...:
/// Q(n) = X(n) D (1 + Q(n-1)). A row a population, a column a station.
pub fn queues_of(demands: &[f64], throughput: &[f64]) -> Vec<f64> {
    let mut row = vec![0.0; demands.len()];
    let mut queues = Vec::with_capacity(throughput.len() * demands.len());
    for &x in throughput {
        for (queue, demand) in row.iter_mut().zip(demands) {
            *queue = x * demand * (1.0 + *queue);
        }
        queues.extend_from_slice(&row);
    }
    queues
}

/// X(population). Shows X(1) to X(population) to `observe`, and leaves the times at the stations with that
/// population in `residence`. The state of a usual network stays in registers.
fn recursion(
    demands: &[f64],
    think: f64,
    population: u32,
    observe: &mut impl FnMut(f64),
    residence: &mut [f64],
) -> f64 {
    // Even widths only: `sum` takes terms in pairs.
    match demands.len() {
        0..=2 => of_width::<2>(demands, think, population, observe, residence),
        3..=4 => of_width::<4>(demands, think, population, observe, residence),
        5..=6 => of_width::<6>(demands, think, population, observe, residence),
        7..=8 => of_width::<8>(demands, think, population, observe, residence),
        _ => of_any_width(demands, think, population, observe, residence),
    }
}

/// [`recursion`] for at most K stations: places without a station have no demand and add zero to every sum.
fn of_width<const K: usize>(
    demands: &[f64],
    think: f64,
    population: u32,
    observe: &mut impl FnMut(f64),
    residence: &mut [f64],
) -> f64 {
    let mut d = [0.0; K];
    d[..demands.len()].copy_from_slice(demands);
    // Formed outside the loop: E_k then takes one product after X(n-1), not two.
    let square = d.map(|demand| demand * demand);
    let unloaded = think + demands.iter().sum::<f64>();
    let (mut e, mut x) = ([0.0; K], 0.0);
    for n in 1..population {
        // `e` and `x` are still those of n - 1 here: the order of the next three statements is the whole
        // recursion.
        let cycle = unloaded + x * sum(&e);
        for k in 0..K {
            e[k] = square[k] + x * (d[k] * e[k]);
        }
        x = f64::from(n) / cycle;
        observe(x);
    }
    // The last population is outside the loop: there the times are wanted, and not E.
    let last = f64::from(population) / (unloaded + x * sum(&e));
    for (k, time) in residence.iter_mut().enumerate() {
        *time = d[k] + x * e[k];
    }
    observe(last);
    last
}

/// Sum of the terms. Even and odd terms are added side by side, because an addition waits for the one before it.
fn sum<const K: usize>(terms: &[f64; K]) -> f64 {
    let (mut even, mut odd) = (0.0, 0.0);
    for pair in terms.chunks_exact(2) {
        even += pair[0];
        odd += pair[1];
    }
    even + odd
}

/// [`recursion`] for any number of stations, with the state in memory; the sum is made in eight parts, so that an
/// addition does not wait for the one before it.
fn of_any_width(
    demands: &[f64],
    think: f64,
    population: u32,
    observe: &mut impl FnMut(f64),
    residence: &mut [f64],
) -> f64 {
    const LANES: usize = 8;
    // Whole lanes only: stations without demand fill the last one, and add zero.
    let padded = demands.len().next_multiple_of(LANES);
    let mut d = demands.to_vec();
    d.resize(padded, 0.0);
    let unloaded = think + demands.iter().sum::<f64>();
    let (mut e, mut x, mut ahead) = (vec![0.0; padded], 0.0, 0.0);
    for n in 1..population {
        let cycle = unloaded + x * ahead;
        let mut parts = [0.0; LANES];
        for (e, d) in e.chunks_exact_mut(LANES).zip(d.chunks_exact(LANES)) {
            for k in 0..LANES {
                e[k] = d[k] * (d[k] + x * e[k]);
                parts[k] += e[k];
            }
        }
        ahead = parts.iter().sum();
        x = f64::from(n) / cycle;
        observe(x);
    }
    let last = f64::from(population) / (unloaded + x * ahead);
    for (k, time) in residence.iter_mut().enumerate() {
        *time = d[k] + x * e[k];
    }
    observe(last);
    last
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn close(a: f64, b: f64) -> bool {
        (a - b).abs() <= 1e-12 * a.abs().max(b.abs())
    }

    /// The recursion as the textbooks have it.
    fn textbook(demands: &[f64], think: f64, population: u32) -> (f64, Vec<f64>) {
        let (mut queues, mut throughput) = (vec![0.0; demands.len()], 0.0);
        for n in 1..=population {
            let residence: Vec<f64> = demands.iter().zip(&queues).map(|(d, q)| d * (1.0 + q)).collect();
            throughput = f64::from(n) / (think + residence.iter().sum::<f64>());
            queues = residence.iter().map(|r| throughput * r).collect();
        }
        (throughput, queues)
    }

    proptest! {
        #[test]
        fn another_order_of_the_same_arithmetic(
            demands in prop::collection::vec(prop_oneof![1 => Just(0.0), 5 => 1e-6f64..10.0], 1..40),
            think in 0.0f64..1e4,
            population in 1u32..2000,
        ) {
            prop_assume!(think > 0.0 || demands.iter().any(|&d| d > 0.0));
            let (throughput, queues) = textbook(&demands, think, population);
            let solution = at_population(&demands, think, population);
            prop_assert!(close(solution.throughput, throughput));
            let by_population = all_populations(&demands, think, population);
            prop_assert_eq!(by_population.throughput.len(), population as usize);
            prop_assert!(close(by_population.throughput[population as usize - 1], throughput));
            let last = &by_population.queues[(population as usize - 1) * demands.len()..];
            for (k, &queue) in queues.iter().enumerate() {
                prop_assert!(close(solution.queues[k], queue));
                prop_assert!(close(last[k], queue));
            }
        }
    }

    #[test]
    fn nobody_and_one() {
        // Powers of two, so that the figures are exact.
        let one = at_population(&[2.0, 1.0], 5.0, 1);
        assert_eq!((one.throughput, &one.queues[..]), (0.125, &[0.25, 0.125][..]));
        assert_eq!((&one.residence[..], &one.utilisation[..]), (&[2.0, 1.0][..], &[0.25, 0.125][..]));
        assert_eq!(all_populations(&[2.0, 1.0], 5.0, 1).queues, one.queues);
        let none = at_population(&[2.0, 1.0], 5.0, 0);
        assert_eq!((none.throughput, &none.queues[..]), (0.0, &[0.0, 0.0][..]));
        assert_eq!((&none.residence[..], &none.utilisation[..]), (&[2.0, 1.0][..], &[0.0, 0.0][..]));
    }

    #[test]
    fn without_customers_there_is_no_population_and_no_figure_that_is_not_a_number() {
        // Widths in registers, and in memory; demands and think time that a cycle time of 0 would divide by.
        for stations in [0, 1, 2, 8, 9, 20] {
            for (demand, think) in [(1.0, 5.0), (1.0, 0.0), (0.0, 5.0), (0.0, 0.0)] {
                let demands = vec![demand; stations];
                let solution = at_population(&demands, think, 0);
                assert_eq!(solution.throughput, 0.0);
                assert_eq!((&solution.queues, &solution.residence), (&vec![0.0; stations], &demands));
                assert_eq!(
                    all_populations(&demands, think, 0),
                    ByPopulation { throughput: vec![], queues: vec![] }
                );
            }
        }
    }
}
