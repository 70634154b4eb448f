//! Several classes: Reiser and Lavenberg's recursion over all populations of the classes (JACM 27, 1980).
//!
//! At stations with rates the recursion goes over the probabilities p(j|n) of j customers there. The usual
//! p(0|n), one minus the others, loses all digits at a busy station; here it comes from the same network
//! without the station, whose throughputs are X' (Reiser, Perform. Eval. 1, 1981):
//!
//! ```text
//! p(0|n) = p(0|n - 1_r) X_r(n) / X'_r(n)      for any class r of n
//! ```
//!
//! L stations with rates need 2^L networks.

/// Kind of a station.
#[derive(Clone, Debug)]
pub enum Service {
    /// Nobody waits.
    Delay,
    /// `rates[j-1]` seconds of work in a second with j customers; the last holds for more. A single one is a
    /// server of fixed rate.
    Rates(Vec<f64>),
}

/// A station, and what each class asks of it.
#[derive(Clone, Debug)]
pub struct Station {
    /// A demand a class.
    pub demands: Vec<f64>,
    /// Kind of station.
    pub service: Service,
}

/// The network with all its customers.
#[derive(Clone, Debug, PartialEq)]
pub struct Solution {
    /// A throughput a class.
    pub throughput: Vec<f64>,
    /// Residence times: a row a station, a column a class.
    pub residence: Vec<f64>,
}

/// Number of populations that the recursion visits; None when it does not fit a machine word.
pub fn populations(population: &[u32]) -> Option<usize> {
    population.iter().try_fold(1usize, |product, &n| product.checked_mul(n as usize + 1))
}

/// The network of these stations; `think` and `population` have a value for each class. It takes time for
/// [`populations`] times the number of stations (and of rates), with every subset of the stations with rates; and
/// memory for as much of the populations of all classes but the largest: further back the recursion does not look.
pub fn at_population(stations: &[Station], think: &[f64], population: &[u32]) -> Solution {
    let lattice = Lattice::new(population);
    // The most that can ever be at one station: rates beyond it are never used.
    let customers = population.iter().map(|&n| n as usize).sum();
    let parts: Vec<Part> = stations.iter().map(|station| Part::new(station, customers)).collect();
    let with_rates: Vec<usize> = (0..parts.len()).filter(|&k| !parts[k].extra.is_empty()).collect();
    // A bit a station with rates: a network without one of them has a smaller number, and is ahead of it.
    let mut networks: Vec<Recursion> = (0..1usize << with_rates.len())
        .map(|present| {
            let here: Vec<Member> = (0..parts.len())
                .map(|k| (k, with_rates.iter().position(|w| *w == k)))
                // All stations of fixed rate and delays, and of those with rates the ones whose bit is set.
                .filter(|(_, bit)| bit.is_none_or(|bit| present >> bit & 1 == 1))
                .map(|(k, bit)| Member { part: &parts[k], without: bit.map(|bit| present & !(1 << bit)) })
                .collect();
            Recursion::new(&lattice, here, think)
        })
        .collect();
    let mut place = Place::first(&lattice);
    // Of each network at the present population: the throughput of the first class that it has.
    let mut first = vec![0.0; networks.len()];
    // All networks go through the populations together: each looks at the others at the same population alone, and no
    // figure of a population must be kept for longer than the recursion itself looks back.
    for _ in 1..lattice.size {
        place.advance(&lattice);
        for (network, present) in networks.iter_mut().zip(0..) {
            network.visit(&place);
            first[present] = network.solution.throughput[place.present[0]];
            network.set_chances(&place, &first);
        }
    }
    // The largest number: the network with all stations.
    let last = networks.pop().map(|network| network.solution);
    last.unwrap_or(Solution { throughput: Vec::new(), residence: Vec::new() })
}

/// A station as the recursion wants it.
struct Part {
    demands: Vec<f64>,
    delay: bool,
    /// Rate with very many customers.
    last: f64,
    /// Reciprocal rates with 1, 2, ... customers, as long as they differ from the last.
    seconds: Vec<f64>,
    /// j (last / rate(j) - 1): what an arrival that finds j - 1 has to wait more than at the last rate.
    extra: Vec<f64>,
}

impl Part {
    fn new(station: &Station, customers: usize) -> Part {
        let mut rates = match &station.service {
            Service::Rates(rates) => rates.clone(),
            Service::Delay => vec![1.0],
        };
        let mut last = rates[rates.len() - 1];
        let fastest = rates.iter().copied().fold(0.0, f64::max);
        if fastest > last {
            // A station that slows down: with the fastest rate for more than there are, `extra` stays positive.
            rates.resize(customers.max(1), last);
            last = fastest;
        } else {
            // The last rate is `last` itself: its `extra` would be 0.
            rates.pop();
        }
        let extra = rates.iter().zip(1..).map(|(rate, j)| f64::from(j) * (last / rate - 1.0)).collect();
        let seconds = rates.iter().map(|rate| 1.0 / rate).collect();
        let delay = matches!(station.service, Service::Delay);
        Part { demands: station.demands.clone(), delay, last, seconds, extra }
    }

    /// Time here of a customer of class r who finds `present` customers on average, and j with `chances[j]`.
    fn residence(&self, r: usize, present: f64, chances: &[f64]) -> f64 {
        if self.delay {
            return self.demands[r];
        }
        let slower: f64 = self.extra.iter().zip(chances).map(|(extra, chance)| extra * chance).sum();
        // As if the station always worked at the last rate, and more for the states in which it is slower.
        self.demands[r] / self.last * (1.0 + present + slower)
    }
}

/// All populations from none to all, in an order in which one customer less comes before: the recursion then finds
/// what it needs already computed.
struct Lattice {
    population: Vec<u32>,
    /// Classes in the order in which they are counted up, the fastest first: the largest is the last.
    order: Vec<usize>,
    /// Distance of a population from that with one customer of the class less.
    strides: Vec<usize>,
    size: usize,
    /// Rows of figures that are kept, in a circle: one more than the longest distance.
    rows: usize,
}

impl Lattice {
    fn new(population: &[u32]) -> Lattice {
        let mut order: Vec<usize> = (0..population.len()).collect();
        order.sort_by_key(|&r| population[r]);
        let (mut size, mut strides) = (1, vec![0; population.len()]);
        for &r in &order {
            strides[r] = size;
            size *= population[r] as usize + 1;
        }
        let rows = strides.iter().copied().max().unwrap_or(0) + 1;
        Lattice { population: population.to_vec(), order, strides, size, rows }
    }

    /// The next population in place.
    // Counts up like a number whose lowest digit is the first class of the order.
    fn advance(&self, n: &mut [u32]) {
        for &r in &self.order {
            if n[r] < self.population[r] {
                n[r] += 1;
                return;
            }
            n[r] = 0;
        }
    }
}

/// A population, and where its figures are.
struct Place {
    n: Vec<u32>,
    /// Classes that have customers.
    present: Vec<usize>,
    /// Row of its own figures.
    row: usize,
    /// By class: row of the population with one customer of the class less.
    before: Vec<usize>,
}

impl Place {
    /// Nobody.
    fn first(lattice: &Lattice) -> Place {
        let classes = lattice.population.len();
        Place { n: vec![0; classes], present: Vec::with_capacity(classes), row: 0, before: vec![0; classes] }
    }

    fn advance(&mut self, lattice: &Lattice) {
        lattice.advance(&mut self.n);
        self.present.clear();
        self.present.extend((0..self.n.len()).filter(|&r| self.n[r] > 0));
        self.row = if self.row + 1 == lattice.rows { 0 } else { self.row + 1 };
        for &r in &self.present {
            let stride = lattice.strides[r];
            self.before[r] = self.row + if self.row < stride { lattice.rows } else { 0 } - stride;
        }
    }
}

/// A station of a network.
struct Member<'a> {
    part: &'a Part,
    /// Number of the network without it, if it has rates.
    without: Option<usize>,
}

/// One of the 2^L networks: the recursion over the lattice, as far as it has come.
struct Recursion<'a> {
    members: Vec<Member<'a>>,
    think: &'a [f64],
    /// Mean numbers: a row a population, a column a station.
    queues: Vec<f64>,
    /// Of each station: a row a population, a column a number of customers from 0.
    chances: Vec<Vec<f64>>,
    /// At the population of the last visit.
    solution: Solution,
}

impl<'a> Recursion<'a> {
    fn new(lattice: &Lattice, members: Vec<Member<'a>>, think: &'a [f64]) -> Self {
        let classes = lattice.population.len();
        let chances = members.iter().map(|member| {
            let mut chances = vec![0.0; lattice.rows * member.part.extra.len()];
            // p(0|0) = 1: an empty network has nobody here. A station of one rate keeps no probabilities.
            chances.iter_mut().take(1).for_each(|nobody| *nobody = 1.0);
            chances
        });
        let solution =
            Solution { throughput: vec![0.0; classes], residence: vec![0.0; members.len() * classes] };
        Recursion {
            think,
            queues: vec![0.0; lattice.rows * members.len()],
            chances: chances.collect(),
            solution,
            members,
        }
    }

    /// Computes residence times, throughputs and mean numbers at a population.
    fn visit(&mut self, place: &Place) {
        let (stations, classes) = (self.members.len(), place.n.len());
        let Solution { throughput, residence } = &mut self.solution;
        for &r in &place.present {
            // The arrival theorem: a customer of class r sees the network with one of its class less.
            let before = place.before[r];
            let queues = &self.queues[before * stations..][..stations];
            let mut cycle = self.think[r];
            for (k, (Member { part, .. }, queue)) in self.members.iter().zip(queues).enumerate() {
                let chances = &self.chances[k][before * part.extra.len()..];
                let time = part.residence(r, *queue, chances);
                residence[k * classes + r] = time;
                cycle += time;
            }
            throughput[r] = f64::from(place.n[r]) / cycle;
        }
        for (k, queue) in self.queues[place.row * stations..][..stations].iter_mut().enumerate() {
            let residence = &residence[k * classes..][..classes];
            // A class that spends no time anywhere has an infinite throughput, and is nowhere.
            let here = place.present.iter().filter(|&&r| residence[r] > 0.0);
            *queue = here.map(|&r| throughput[r] * residence[r]).sum();
        }
    }

    /// Computes p(j|n) of the stations with rates, after the visit of n; `first` has, of every network without one of
    /// them, the throughput of the first class of n, infinite when the class has nowhere else to be.
    fn set_chances(&mut self, place: &Place, first: &[f64]) {
        let throughput = &self.solution.throughput;
        for (Member { part, without }, chances) in self.members.iter().zip(&mut self.chances) {
            let Some(without) = without.map(|without| first[without]) else { continue };
            let levels = part.extra.len();
            let own = place.row * levels;
            let class = place.present[0];
            // A class with no other place is here for certain.
            chances[own] = if without.is_finite() {
                chances[place.before[class] * levels] * throughput[class] / without
            } else {
                0.0
            };
            // From the states with one customer less at the populations before: all of them have been visited.
            for j in 1..levels {
                let visiting = place.present.iter().filter(|&&r| part.demands[r] > 0.0);
                let flow = visiting
                    .map(|&r| part.demands[r] * throughput[r] * chances[place.before[r] * levels + j - 1]);
                chances[own + j] = flow.sum::<f64>() * part.seconds[j - 1];
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{fixed_rate, load_dependent};
    use proptest::prelude::*;

    fn close(a: f64, b: f64) -> bool {
        (a - b).abs() <= 1e-10 * a.abs().max(b.abs()) || a == b
    }

    fn fixed() -> Service {
        Service::Rates(vec![1.0])
    }

    /// G(n) by its definition: the sum over all ways to spread the customers, each the product of its factors.
    fn constant(stations: &[Station], think: &[f64], n: &[u32]) -> f64 {
        let Some((station, rest)) = stations.split_first() else {
            return n.iter().zip(think).map(|(&n, &z)| power(z, n)).product();
        };
        let lattice = Lattice::new(n);
        let mut here = vec![0; n.len()];
        let mut total = 0.0;
        for at in 0..lattice.size {
            if at > 0 {
                lattice.advance(&mut here);
            }
            let left: Vec<u32> = n.iter().zip(&here).map(|(n, h)| n - h).collect();
            total += factor(station, &here) * constant(rest, think, &left);
        }
        total
    }

    /// z^n / n!
    fn power(z: f64, n: u32) -> f64 {
        (1..=n).map(|i| z / f64::from(i)).product()
    }

    fn factor(station: &Station, here: &[u32]) -> f64 {
        let classes: f64 = here.iter().zip(&station.demands).map(|(&n, &d)| power(d, n)).product();
        let order = (1..=here.iter().sum::<u32>()).map(|j| match &station.service {
            Service::Delay => 1.0,
            Service::Rates(rates) => f64::from(j) / rates[(j as usize).min(rates.len()) - 1],
        });
        classes * order.product::<f64>()
    }

    fn service() -> impl Strategy<Value = Service> {
        prop_oneof![
            Just(fixed()),
            Just(Service::Delay),
            prop::collection::vec(0.1f64..5.0, 1..5).prop_map(Service::Rates),
        ]
    }

    fn station() -> impl Strategy<Value = Station> {
        let demand = prop_oneof![1 => Just(0.0), 4 => 0.01f64..3.0];
        (prop::collection::vec(demand, 2), service())
            .prop_map(|(demands, service)| Station { demands, service })
    }

    proptest! {
        #[test]
        fn throughputs_are_ratios_of_normalisation_constants(
            stations in prop::collection::vec(station(), 1..4),
            think in prop::collection::vec(prop_oneof![1 => Just(0.0), 4 => 0.1f64..5.0], 2),
            population in prop::collection::vec(0u32..4, 2),
        ) {
            let everywhere = |r: usize| think[r] + stations.iter().map(|s| s.demands[r]).sum::<f64>();
            prop_assume!((0..2).all(|r| everywhere(r) > 0.0));
            let solution = at_population(&stations, &think, &population);
            let all = constant(&stations, &think, &population);
            for r in (0..2).filter(|&r| population[r] > 0) {
                let mut less = population.clone();
                less[r] -= 1;
                let expected = constant(&stations, &think, &less) / all;
                prop_assert!(close(solution.throughput[r], expected), "{} {expected}", solution.throughput[r]);
                let times: f64 = (0..stations.len()).map(|k| solution.residence[k * 2 + r]).sum();
                prop_assert!(close(solution.throughput[r] * (times + think[r]), f64::from(population[r])));
            }
        }

        #[test]
        fn alike_classes_are_one(
            demand in 0.1f64..2.0,
            rates in prop::collection::vec(0.2f64..4.0, 1..30),
            think in 0.0f64..20.0,
            first in 1u32..15,
            second in 1u32..15,
        ) {
            let stations = [
                Station { demands: vec![demand; 2], service: Service::Rates(rates.clone()) },
                Station { demands: vec![0.7; 2], service: fixed() },
            ];
            let two = at_population(&stations, &[think; 2], &[first, second]);
            let rated = load_dependent::Station { demand, rates };
            let one = load_dependent::all_populations(&[0.7], think, &[rated], first + second);
            prop_assert!(close(two.throughput.iter().sum(), one.throughput[(first + second) as usize - 1]));
        }
    }

    /// Populations are gone through with the largest class last, and few are kept: wherever it stands.
    #[test]
    fn three_classes_in_any_order() {
        let rows = [[0.3, 0.7, 0.2], [0.5, 0.1, 0.4], [1.0, 2.0, 0.5], [0.2, 0.0, 0.9]];
        let services =
            [fixed(), Service::Rates(vec![1.0, 1.5, 0.8]), Service::Delay, Service::Rates(vec![2.0, 3.0])];
        let (think, population) = ([2.0, 0.0, 1.0], [2, 5, 3]);
        for order in [[0, 1, 2], [1, 0, 2], [2, 1, 0], [1, 2, 0]] {
            let of = |values: [f64; 3]| order.map(|r| values[r]).to_vec();
            let station = |(row, service): (&[f64; 3], &Service)| Station {
                demands: of(*row),
                service: service.clone(),
            };
            let stations: Vec<Station> = rows.iter().zip(&services).map(station).collect();
            let (think, population) = (of(think), order.map(|r| population[r]));
            let solution = at_population(&stations, &think, &population);
            let all = constant(&stations, &think, &population);
            for r in 0..3 {
                let mut less = population;
                less[r] -= 1;
                let expected = constant(&stations, &think, &less) / all;
                assert!(close(solution.throughput[r], expected), "{order:?} {r} {expected}");
            }
        }
    }

    #[test]
    fn one_class_is_the_recursion_for_one_class() {
        let demands = [0.3, 0.2, 0.9];
        let stations = demands.map(|d| Station { demands: vec![d], service: fixed() });
        let many = at_population(&stations, &[4.0], &[60]);
        let one = fixed_rate::at_population(&demands, 4.0, 60);
        assert!(close(many.throughput[0], one.throughput));
    }

    #[test]
    fn a_busy_station_of_many_servers_keeps_its_digits() {
        // p(0|n) as one minus the others gives nonsense here.
        let rates: Vec<f64> = (1..=48).map(f64::from).collect();
        let alike = [Station { demands: vec![48.0; 2], service: Service::Rates(rates.clone()) }];
        let two = at_population(&alike, &[1.0; 2], &[150, 60]).throughput.iter().sum::<f64>();
        let rated = load_dependent::Station { demand: 48.0, rates };
        let one = load_dependent::all_populations(&[], 1.0, &[rated], 210).throughput[209];
        assert!(close(two, one), "{two} {one}");
    }
}
