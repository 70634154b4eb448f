//! Estimated cost of a run.

use super::config::Config;
use super::events::Event;
use super::pool::Lifetime;
use super::users::{Line, Role};
use crate::kernel::{Cost, RunLength, rate, throughput};

/// Events of an interaction besides its faults: typing, interrupts, lines of the reply, getwork.
const EVENTS_PER_INTERACTION: f64 = 67.0;
/// Events of a page fault: the burst before it, its two parts, the page, its interrupt, getwork twice.
const EVENTS_PER_PAGE_FAULT: f64 = 3.0;
/// Events of another fault: the burst before it, its path, a lock.
const EVENTS_PER_FAULT: f64 = 8.0;
/// Events of a gate fault, which also begins and ends a wait.
const EVENTS_PER_GATE_FAULT: f64 = 12.0;
/// Programs that share the memory at one time.
const SHARING: f64 = 1.5;
/// Memory of a user and its process [byte].
const USER_BYTES: f64 = 2048.0;
/// Memory of a place of core or of the table of active segments: its owner, its lifetime [byte].
const PLACE_BYTES: f64 = 16.0;

impl Config {
    /// Estimated events and memory of a run.
    pub(super) fn cost(&self, RunLength { length_s, .. }: RunLength) -> Cost {
        let cpus = self.cpus as f64;
        let lines = &self.lines[..self.script_lines];
        let mean = |of: fn(&Line) -> f64| lines.iter().map(of).sum::<f64>() / lines.len() as f64;
        let (think, cpu) = (mean(|line| line.think.mean()), mean(|line| line.cpu.mean()));
        let typing = mean(|line| line.lines.mean()) * self.line_time.seconds();
        let count = |role: Role| self.roles.iter().filter(|other| **other == role).count() as f64;
        let housekeeping = &self.lines[self.script_lines];
        let (useful, normal_useful) = (cpu * self.demand, cpu * self.demand * self.normal_demand);
        let groups = [
            (count(Role::Scripted), think + typing, useful),
            (count(Role::Normal), self.normal_think.mean() + typing, normal_useful),
            (count(Role::Housekeeping), housekeeping.think.mean(), housekeeping.cpu.mean()),
        ];
        let mut interactions = 0.0;
        let mut useful_s = 0.0;
        for (users, think, useful) in groups.into_iter().filter(|(users, _, _)| *users > 0.0) {
            let completed = length_s * throughput(users, think, useful, cpus);
            interactions += completed;
            useful_s += completed * useful;
        }
        let path = |event: Event| self.paths.mean(event).seconds();
        let at_share = |lifetime: &Lifetime, places: u32| lifetime.at(f64::from(places) / SHARING);
        let headways = [
            (at_share(&self.page_lifetime, self.pageable), Event::PageFault),
            (at_share(&self.segment_lifetime, self.active_segments), Event::SegmentFault),
            (self.gate_headway_ns, Event::GateFault),
        ];
        let per_useful_s = headways.map(|(headway_ns, _)| rate(headway_ns * 1e-9));
        // The processors share their time between useful work and the paths of its faults.
        let paths_s: f64 =
            headways.iter().zip(per_useful_s).map(|((_, event), rate)| path(*event) * rate).sum();
        let possible_s = cpus * length_s / (1.0 + paths_s);
        interactions *= (possible_s / useful_s.max(1e-300)).min(1.0);
        useful_s = useful_s.min(possible_s);
        let [page_faults, segment_faults, gate_faults] = per_useful_s.map(|rate| useful_s * rate);
        let getwork = cpus * length_s * rate(path(Event::Getwork));
        let quanta = (useful_s * rate(self.quantum_of(0).seconds())).min(getwork);
        let places = f64::from(self.pageable) + f64::from(self.active_segments);
        Cost::default()
            .events("users", EVENTS_PER_INTERACTION * interactions)
            .events("quantum", EVENTS_PER_FAULT * quanta)
            .events("headway", EVENTS_PER_PAGE_FAULT * page_faults)
            .events("segment_headway", EVENTS_PER_FAULT * segment_faults)
            .events("gate_headway", EVENTS_PER_GATE_FAULT * gate_faults)
            .bytes("users", USER_BYTES * self.roles.len() as f64)
            .bytes(
                if self.active_segments > self.pageable { "active_segments" } else { "core" },
                PLACE_BYTES * places,
            )
    }
}
