//! Estimated cost of a run.

use super::config::Config;
use super::users::Step;
use crate::kernel::{Cost, RunLength, rate, throughput};

/// Events of an interaction besides its turns and transfers: typing, its lines, swaps in and out.
const EVENTS_PER_INTERACTION: f64 = 4.5;
/// Events of a turn: swaps of two programs, the run, the supervisor.
const EVENTS_PER_TURN: f64 = 1.6;
/// Events of a transfer: several records are one.
const EVENTS_PER_TRANSFER: f64 = 0.43;
/// Memory of a user with its random streams [byte].
const USER_BYTES: f64 = 1024.0;

impl Config {
    /// Estimated events and memory of a run.
    pub(super) fn cost(&self, RunLength { length_s, .. }: RunLength) -> Cost {
        let steps = self.steps.len() as f64;
        let mean = |of: fn(&Step) -> f64| self.steps.iter().map(of).sum::<f64>() / steps;
        let (cpu, think) = (mean(|step| step.cpu.mean()), mean(|step| step.think.mean()));
        let (lines, transfers) = (mean(|step| step.lines.mean()), mean(|step| step.disk.mean()));
        let transfer = self.files.word_s * f64::from(self.record_words);
        let typing = lines * self.line_time.seconds();
        let demand = |factor: f64| factor * cpu + transfers * transfer + lines * self.line_overhead.seconds();
        let normal = f64::from(self.normal_users);
        let scripted = f64::from(self.users) - normal;
        let interactions = length_s
            * (throughput(scripted, think + typing, demand(1.0), 1.0)
                + throughput(normal, self.normal_think.mean() + typing, demand(self.normal_demand), 1.0));
        // Turns double in length from level to level, up to the last.
        let work = (cpu * self.normal_demand.max(1.0)).max(1e-9);
        let quanta = work * rate(self.scheduler.quantum.seconds());
        let levels = f64::from(self.scheduler.levels - 1);
        let turns = quanta.max(1.0).log2().min(levels) + quanta / levels.exp2();
        Cost::default()
            .events("users", EVENTS_PER_INTERACTION * interactions)
            .events("quantum", EVENTS_PER_TURN * interactions * turns)
            .events("script", EVENTS_PER_TRANSFER * interactions * transfers)
            .bytes("users", USER_BYTES * f64::from(self.users))
    }
}
