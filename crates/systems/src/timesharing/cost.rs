//! Estimated cost of a run.

use super::config::Config;
use super::parameters::{Inputs, Scheduler};
use crate::kernel::{Cost, RunLength, rate};

/// Memory of a user: its state, its places in the calendar and in the stations [byte].
const USER_BYTES: f64 = 512.0;
/// Memory of an interaction of the list [byte].
const INTERACTION_BYTES: f64 = 32.0;

impl Config {
    /// Estimated events and memory of a run.
    pub(super) fn cost(&self, RunLength { length_s, .. }: RunLength) -> Cost {
        let each = f64::from(self.population) / self.users.len() as f64;
        let (mut inputs, mut demand) = (0.0, 0.0);
        for user in &self.users {
            let present_s = match self.inputs {
                Inputs::Recorded => length_s.min(user.until.seconds() - user.from.seconds()).max(0.0),
                Inputs::Resampled => length_s,
            };
            // One more than fit: in recorded order, the first is typed however short the time.
            let typed = each * (present_s * rate(user.cycle_s()) + 1.0);
            inputs += typed;
            demand += typed * user.cpu_s();
        }
        // No more are served than the CPUs can.
        let capacity = (self.cpus as f64 - self.background) * length_s;
        let served = if demand > capacity { capacity / demand } else { 1.0 };
        let pieces = length_s * self.background * rate(self.burst_s);
        let slices = self.slices_of(demand * served, inputs * served)
            + self.slices_of(length_s * self.background, pieces);
        let interactions: usize = self.users.iter().map(|user| user.interactions.len()).sum();
        Cost::default()
            // Of an input: the end of thinking, of its CPU time, and of its delay.
            .events(if each > 1.0 { "population" } else { "users" }, inputs * served * 3.0)
            .events("time_slice", slices)
            .events("background", pieces * 2.0)
            .bytes("users", f64::from(self.population) * USER_BYTES + interactions as f64 * INTERACTION_BYTES)
    }

    /// Slices of `visits` that need `demand_s` together, but for the last of each.
    fn slices_of(&self, demand_s: f64, visits: f64) -> f64 {
        match self.scheduler {
            Scheduler::RoundRobin => demand_s * rate(self.slices[0].seconds()),
            Scheduler::Feedback => {
                let mean_s = demand_s / visits.max(1.0);
                let mut left_s = mean_s;
                let levels = self.slices.iter().take_while(|slice| {
                    let more = left_s > 0.0;
                    left_s -= slice.seconds();
                    more
                });
                let climbed = levels.count() as f64;
                let last_s = self.slices[self.slices.len() - 1].seconds();
                visits * (climbed + left_s.max(0.0) * rate(last_s))
            }
            _ => 0.0,
        }
    }
}
