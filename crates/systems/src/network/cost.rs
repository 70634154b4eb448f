//! Estimated cost of a run.

use super::plan::{ClassPlan, Discipline, Plan, Source};
use super::route::{LEAVE, Next};
use crate::kernel::{Cost, RunLength, rate};

/// Rounds after which visits are extrapolated: what is left of a customer decays by then as it always will.
const ROUNDS: usize = 200;
/// Share of a customer that is no longer followed.
const NOTHING_LEFT: f64 = 1e-6;
/// Turns around a queue that a round robin gives slice by slice; further ones are taken in one step.
const TURNS: f64 = 4.0;
/// Memory of a customer: its state, think and station rosters, its place in the calendar [byte].
const CUSTOMER_BYTES: f64 = 192.0;
/// Memory of a customer for each station [byte].
const VISITOR_BYTES: f64 = 32.0;

impl Plan {
    /// Estimated events and memory of a run.
    pub(super) fn cost(&self, RunLength { length_s, .. }: RunLength) -> Cost {
        let users = self.users() as f64;
        let mut cost = Cost::default().bytes(
            if self.classes.len() > 1 { "classes" } else { "users" },
            users * (CUSTOMER_BYTES + VISITOR_BYTES * self.stations.len() as f64),
        );
        for class in &self.classes {
            let visits = self.visits(class);
            let step = |index: usize| &self.steps[class.steps.start + index];
            let demand = |index: usize| visits[index] * step(index).service.mean();
            // No more are served than the slowest station can.
            let served = |come: f64| {
                let limits = (0..visits.len()).filter_map(|index| {
                    let servers = self.stations[step(index).station as usize].servers()?;
                    Some(servers as f64 * rate(demand(index)))
                });
                limits.fold(come, f64::min)
            };
            let (parameter, come, per_s) = match &class.source {
                // Those that are not served come all the same.
                Source::Arrivals { between } => {
                    let come = rate(between.mean());
                    ("arrivals", come, served(come))
                }
                Source::Users { users, think } => {
                    let all: f64 = (0..visits.len()).map(demand).sum();
                    let typed = served(f64::from(*users) * rate(think.mean() + all));
                    ("think", typed, typed)
                }
            };
            let name = if self.classes.len() > 1 { "classes" } else { parameter };
            cost = cost.events(name, length_s * come);
            for (index, visits) in visits.iter().enumerate() {
                let station = step(index).station as usize;
                let slices = self.slices(station, step(index).service.mean(), users);
                let name = if visits * slices > 10.0 { "stations" } else { name };
                cost = cost.events(name, length_s * per_s * visits * slices);
            }
        }
        cost
    }

    /// Mean visits of an interaction to each step of its class.
    fn visits(&self, class: &ClassPlan) -> Vec<f64> {
        let first = class.steps.start;
        let steps = &self.steps[class.steps.clone()];
        if !steps.iter().any(|step| matches!(step.next, Next::Random(_)))
            && matches!(class.start, Next::Step(_))
        {
            // A list of stations, each step taken once.
            return vec![1.0; steps.len()];
        }
        let mut visits = vec![0.0; steps.len()];
        let mut now = vec![0.0; steps.len()];
        spread(&class.start, 1.0, first, &mut now);
        let (mut before, mut here) = (1.0, 1.0);
        for _ in 0..ROUNDS {
            let mut next = vec![0.0; steps.len()];
            for (index, share) in now.iter().enumerate().filter(|(_, share)| **share > 0.0) {
                visits[index] += share;
                spread(&steps[index].next, *share, first, &mut next);
            }
            now = next;
            (before, here) = (here, now.iter().sum());
            if here < NOTHING_LEFT {
                return visits;
            }
        }
        // The rest leaves as slowly as in the last round: a geometric series.
        let more = 1.0 / (1.0 - here / before).max(1e-12);
        visits.iter_mut().zip(&now).for_each(|(visits, rest)| *visits += rest * more);
        visits
    }

    /// Events of a visit of mean length `service_s` to a station.
    fn slices(&self, station: usize, service_s: f64, users: f64) -> f64 {
        match &self.stations[station].discipline {
            Discipline::RoundRobin { servers: 1, slice, .. } => {
                (service_s * rate(slice.seconds())).min(TURNS * users.max(10.0)) + 1.0
            }
            // Several servers take every slice by itself.
            Discipline::RoundRobin { slice, .. } => service_s * rate(slice.seconds()) + 1.0,
            Discipline::Feedback { slices, .. } => {
                slices.last().map_or(1.0, |slice| service_s * rate(slice.seconds()) + slices.len() as f64)
            }
            _ => 1.0,
        }
    }
}

/// Adds `share` of a customer to the steps that come `next`.
fn spread(next: &Next, share: f64, first: usize, to: &mut [f64]) {
    match next {
        Next::Leave => {}
        Next::Step(step) => to[*step as usize - first] += share,
        Next::Random(table) => {
            for (step, probability) in table.probabilities() {
                if step != LEAVE {
                    to[step as usize - first] += share * probability;
                }
            }
        }
    }
}
