//! One class, with stations whose rate depends on the number of customers there (several servers, or any
//! other rates).
//!
//! Mean value analysis with marginal probabilities gets p(0|n) as one minus the others, which loses all
//! digits at a busy station. Here a part of the network stands for itself by its throughput at each
//! population (Chandy, Herzog and Woo, IBM J. Res. Dev. 19, 1975: Norton's theorem), and two parts are joined
//! by their balance: of n customers, j are in the part B with the probability
//!
//! ```text
//! p(j) = p(j-1) X_A(n-j+1) / X_B(j),   X(n) = sum_j p(j) X_B(j)
//! ```
//!
//! Buzen's convolution is the same sum in normalisation constants; in throughputs nothing overflows.

use crate::fixed_rate;

/// A station that does `rates[j-1]` seconds of work in a second when j customers are there; the last rate
/// holds for more. Rates are above zero, and there is one or more of them.
#[derive(Clone, Debug)]
pub struct Station {
    /// Work of a customer over all its visits [s].
    pub demand: f64,
    /// Seconds of work in a second with 1, 2, ... customers.
    pub rates: Vec<f64>,
}

impl Station {
    /// Completions in unit time with 1 to `population` customers.
    fn throughput(&self, population: u32) -> Vec<f64> {
        let last = self.rates[self.rates.len() - 1];
        let rates = self.rates.iter().copied().chain(std::iter::repeat(last));
        rates.take(population as usize).map(|rate| rate / self.demand).collect()
    }
}

/// The network with each population from 1 to N.
#[derive(Clone, Debug, PartialEq)]
pub struct ByPopulation {
    /// X(1) to X(N).
    pub throughput: Vec<f64>,
    /// Mean numbers at the fixed-rate stations: a row a population, a column a station.
    pub fixed_queues: Vec<f64>,
    /// Mean numbers at the other stations, each station's for all populations.
    pub queues: Vec<Vec<f64>>,
}

/// Solves a network of fixed-rate stations with the demands `fixed`, of `stations`, and of think time.
pub fn all_populations(fixed: &[f64], think: f64, stations: &[Station], population: u32) -> ByPopulation {
    let curves: Vec<Option<Vec<f64>>> = stations
        .iter()
        // Without demand a station has an infinite throughput: it is left out, and its queue is 0.
        .map(|station| (station.demand > 0.0).then(|| station.throughput(population)))
        .collect();
    // Think time and fixed rates are one part: their recursion costs a step a population, a join a sum.
    let base = (think > 0.0 || fixed.iter().any(|&demand| demand > 0.0))
        .then(|| fixed_rate::all_populations(fixed, think, population).throughput);
    let mut throughput = base.clone();
    let mut queues = Vec::with_capacity(stations.len());
    for (index, curve) in curves.iter().enumerate() {
        let Some(curve) = curve else {
            queues.push(vec![0.0; population as usize]);
            continue;
        };
        // Each station in turn is the second part, since a join gives mean numbers of that one alone.
        let others = curves.iter().enumerate().filter(|(other, _)| *other != index);
        let rest = others.filter_map(|(_, other)| other.as_ref()).fold(base.clone(), |rest, other| {
            Some(rest.map_or_else(|| other.clone(), |rest| join(&rest, other).throughput))
        });
        let joined = match rest {
            Some(rest) => join(&rest, curve),
            // The only station with demand: everybody is there.
            None => Joined { throughput: curve.clone(), number: (1..=population).map(f64::from).collect() },
        };
        throughput = Some(joined.throughput);
        queues.push(joined.number);
    }
    let throughput = throughput.unwrap_or_else(|| vec![f64::INFINITY; population as usize]);
    // The joins gave no numbers at the fixed-rate stations; they follow from the throughputs alone.
    let fixed_queues = fixed_rate::queues_of(fixed, &throughput);
    ByPopulation { throughput, fixed_queues, queues }
}

/// Two parts of a network as one.
struct Joined {
    throughput: Vec<f64>,
    /// Mean number in the second part.
    number: Vec<f64>,
}

/// Factor beyond which the weights change their scale. Its square is still a double, so that a step from one
/// scale to the next cannot overflow for times that differ by up to this factor.
const FAR: f64 = 1e150;

/// The two parts with these throughputs with 1, 2, ... customers as one; the time grows with the square of the
/// population.
fn join(first: &[f64], second: &[f64]) -> Joined {
    let population = first.len();
    // Reciprocals once: the loop below would divide for each pair of populations.
    let seconds: Vec<f64> = second.iter().map(|rate| 1.0 / rate).collect();
    let (mut throughput, mut number) = (Vec::with_capacity(population), Vec::with_capacity(population));
    for n in 1..=population {
        // p(0) is taken as 1: probabilities are needed only up to the factor that `total` takes out at the end.
        let (mut weight, mut total, mut work, mut count) = (1.0, 1.0, 0.0, 0.0);
        // How many times the weight was multiplied by FAR since it is too small for the scale of the sums.
        let mut below = 0u32;
        for j in 1..=n {
            weight *= first[n - j] * seconds[j - 1];
            if weight > FAR {
                weight /= FAR;
                if below > 0 {
                    below -= 1;
                } else {
                    // The sums are brought to the new scale; what falls below the smallest double does not
                    // count there.
                    (total, work, count) = (total / FAR, work / FAR, count / FAR);
                }
            } else if weight < 1.0 / FAR {
                weight *= FAR;
                below += 1;
            }
            // One scale below, a weight can again be as large as 1, the least that the total is: a station that
            // thrashes has a second mode beyond a deep valley. Two scales below, nothing reaches the last digit.
            if below <= 1 {
                let counted = if below == 0 { weight } else { weight / FAR };
                total += counted;
                work += counted * second[j - 1];
                count += counted * j as f64;
            }
        }
        throughput.push(work / total);
        number.push(count / total);
    }
    Joined { throughput, number }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(a: f64, b: f64) -> bool {
        (a - b).abs() <= 1e-11 * a.abs().max(b.abs())
    }

    /// p(j) of N customers at a station with rates, the rest thinking, from the balance of its birth and death
    /// process: p(j+1) / p(j) = (N - j) D / (Z rate(j+1)).
    fn repairman(population: u32, think: f64, station: &Station) -> (f64, f64) {
        let rate = |j: u32| station.rates[(j as usize).min(station.rates.len()) - 1];
        let mut log = vec![0.0];
        for j in 0..population {
            let step = f64::from(population - j) * station.demand / (think * rate(j + 1));
            log.push(log[j as usize] + step.ln());
        }
        let most = log.iter().copied().fold(f64::MIN, f64::max);
        let weights: Vec<f64> = log.iter().map(|w| (w - most).exp()).collect();
        let total: f64 = weights.iter().sum();
        let number = weights.iter().zip(0..).map(|(w, j)| w * f64::from(j)).sum::<f64>() / total;
        let busy: f64 = (1..=population).map(|j| weights[j as usize] * rate(j)).sum();
        (busy / total / station.demand, number)
    }

    #[test]
    fn many_servers_and_thousands_of_users_are_the_repairman() {
        for (population, servers) in [(35, 1), (35, 4), (1000, 64), (3000, 200)] {
            let rates: Vec<f64> = (1..=servers).map(f64::from).collect();
            let station = Station { demand: 0.9, rates };
            let (throughput, number) = repairman(population, 10.0, &station);
            let by_population = all_populations(&[], 10.0, &[station], population);
            let at = population as usize - 1;
            assert!(close(by_population.throughput[at], throughput), "{population} {servers}");
            assert!(close(by_population.queues[0][at], number), "{population} {servers}");
        }
    }

    #[test]
    fn a_station_that_thrashes_has_two_likely_states() {
        // The rate falls to a ten-thousandth: with think time to match, few or nearly all are there.
        let rates: Vec<f64> = (1..=400).map(|j| if j <= 20 { 1.0 } else { 1e-4 }).collect();
        let station = Station { demand: 1.0, rates };
        for think in [30.0, 300.0, 500.0, 3000.0] {
            let (throughput, number) = repairman(400, think, &station);
            let by_population = all_populations(&[], think, std::slice::from_ref(&station), 400);
            assert!(close(by_population.throughput[399], throughput), "{think}");
            assert!(close(by_population.queues[0][399], number), "{think}");
        }
    }

    #[test]
    fn a_second_mode_beyond_a_deep_valley_counts() {
        // 200 servers up to 200 customers (p falls by 1/200!), then hardly any work: p climbs back to what it was.
        let rates: Vec<f64> = (1..=1000).map(|j| if j <= 200 { f64::from(j) } else { 0.112_575 }).collect();
        let station = Station { demand: 1.0, rates };
        let (throughput, number) = repairman(1000, 1000.0, &station);
        assert!((400.0..500.0).contains(&number), "{number}");
        let by_population = all_populations(&[], 1000.0, std::slice::from_ref(&station), 1000);
        // The reference sums 1000 logarithms, of which each has an error of 1e-16 and more.
        let near = |a: f64, b: f64| (a - b).abs() <= 1e-9 * b;
        assert!(
            near(by_population.throughput[999], throughput),
            "{} {throughput}",
            by_population.throughput[999]
        );
        assert!(near(by_population.queues[0][999], number), "{} {number}", by_population.queues[0][999]);
    }

    #[test]
    fn without_customers_there_is_no_population() {
        let station = Station { demand: 0.2, rates: vec![1.0] };
        for fixed in [vec![], vec![0.4, 0.3]] {
            for think in [0.0, 5.0] {
                let solved = all_populations(&fixed, think, std::slice::from_ref(&station), 0);
                assert_eq!((solved.throughput, solved.fixed_queues), (vec![], vec![]));
                assert_eq!(solved.queues, [vec![]]);
            }
        }
    }

    #[test]
    fn one_server_is_a_fixed_rate() {
        let one = |demand| Station { demand, rates: vec![1.0] };
        let plain = fixed_rate::all_populations(&[0.4, 0.3, 0.1], 5.0, 200);
        let joined = all_populations(&[0.3], 5.0, &[one(0.4), one(0.1)], 200);
        for n in 0..200 {
            assert!(close(plain.throughput[n], joined.throughput[n]));
            assert!(close(plain.queues[3 * n], joined.queues[0][n]));
            assert!(close(plain.queues[3 * n + 1], joined.fixed_queues[n]));
            assert!(close(plain.queues[3 * n + 2], joined.queues[1][n]));
        }
    }

    #[test]
    fn customers_are_conserved() {
        let stations = [
            Station { demand: 1.0, rates: vec![1.0, 1.8, 2.4] },
            Station { demand: 0.0, rates: vec![1.0] },
            Station { demand: 2.0, rates: vec![0.5, 2.0] },
        ];
        let by_population = all_populations(&[0.2], 3.0, &stations, 50);
        for n in 0..50 {
            let there: f64 =
                by_population.queues.iter().map(|q| q[n]).sum::<f64>() + by_population.fixed_queues[n];
            assert!(close(there + 3.0 * by_population.throughput[n], (n + 1) as f64));
            assert_eq!(by_population.queues[1][n], 0.0);
        }
    }
}
