//! The figures of a replication.

use thinktime_engine::Time;

use super::events::{EVENTS, Event};
use super::machine::Machine;
use super::measures::Measures;
use super::ttm::Meters;
use crate::recorder::Monitor;
use crate::system::Response;

/// A run that has ended, as far as figures need it.
pub(super) struct Ended<'a> {
    meters: Meters,
    measures: &'a Measures,
    /// Time since statistics began, and that of all processors [s].
    length_s: f64,
    capacity_s: f64,
    eligible_mean: f64,
    drum: f64,
    disks: f64,
}

const NANOSECOND: f64 = 1e-9;

impl<'a> Ended<'a> {
    pub fn of<M: Monitor>(machine: &'a Machine<'_, M>, now: Time) -> Ended<'a> {
        let length_s = now.since(machine.measures.since).seconds();
        Ended {
            meters: machine.metered(),
            measures: &machine.measures,
            length_s,
            capacity_s: length_s * machine.processors.len() as f64,
            eligible_mean: machine.traffic.eligible.mean(now),
            drum: machine.drum.busy.mean(now),
            disks: machine.disks.busy.mean(now) / f64::from(machine.config.disk_arms),
        }
    }

    fn share(&self, ns: u64) -> f64 {
        ns as f64 * NANOSECOND / self.capacity_s
    }

    fn per_interaction(&self, amount: u64) -> f64 {
        amount as f64 / self.meters.script_interactions as f64
    }

    fn charged_s(&self, ns: u64) -> f64 {
        self.per_interaction(ns) * NANOSECOND
    }
}

type Figure = (&'static str, &'static str, &'static str, fn(&Ended) -> f64);

const FIGURES: [Figure; 21] = [
    ("useful_share", "", "Part of the processors' capacity in user programs", |run| {
        run.share(run.meters.useful)
    }),
    ("idle_share", "", "Part of the processors' capacity in which nobody eligible could run", |run| {
        run.share(run.meters.idle)
    }),
    ("lock_wait_share", "", "Part of the capacity in which a processor waited for a lock", |run| {
        run.share(run.meters.lock_wait)
    }),
    (
        "interference_share",
        "",
        "Part of the capacity lost because processors were in each other's way in core",
        |run| run.share(run.meters.interference),
    ),
    ("eligible_mean", "process", "Mean number of eligible processes", |run| run.eligible_mean),
    ("page_wait_mean_s", "s", "Mean time from asking for a page to the end of its interrupt", |run| {
        run.measures.page_waits.seconds()
    }),
    ("examined_per_page_fault", "", "Mean places of core that the hand looked at for a page fault", |run| {
        run.measures.examined as f64 / run.meters.events[Event::PageFault as usize] as f64
    }),
    ("preemptions_per_s", "1/s", "Processes that were preempted, a second", |run| {
        run.measures.preemptions as f64 / run.length_s
    }),
    ("drum_utilisation", "", "Part of the time in which the drum was busy", |run| run.drum),
    ("disk_utilisation", "", "Mean part of the time in which an arm was busy", |run| run.disks),
    ("interactions_per_s", "interaction/s", "Interactions that were answered, a second", |run| {
        run.meters.interactions as f64 / run.length_s
    }),
    (
        "response_mean_s",
        "s",
        "Mean response of users that play the script, to interactions that they wait for, by their clock",
        |run| run.measures.all.seconds(),
    ),
    ("response_light_mean_s", "s", "The same without heavy commands", |run| run.measures.light.seconds()),
    ("response_heavy_mean_s", "s", "The same of heavy commands", |run| run.measures.heavy.seconds()),
    ("response_all_users_mean_s", "s", "Mean response of all users, to what they wait for", |run| {
        run.measures.responses.mean()
    }),
    ("script_interactions", "interaction", "Interactions of users that play the script", |run| {
        run.meters.script_interactions as f64
    }),
    (
        "cpu_per_interaction_s",
        "s",
        "Processor time of an interaction of the script: user programs and faults",
        |run| run.charged_s(run.meters.script.all()),
    ),
    ("run_per_interaction_s", "s", "Of this, in user programs", |run| run.charged_s(run.meters.script.run)),
    ("page_fault_s_per_interaction", "s", "Of this, for page faults", |run| {
        run.charged_s(run.meters.script.page_fault)
    }),
    ("other_fault_s_per_interaction", "s", "Of this, for segment and gate faults", |run| {
        run.charged_s(run.meters.script.other_fault)
    }),
    ("page_faults_per_interaction", "event", "Page faults of an interaction of the script", |run| {
        run.per_interaction(run.meters.script.page_faults)
    }),
];

/// The names of what is told of each kind of event, its unit and what it is.
const OF_EVENTS: [(&str, &str, &str); 3] = [
    ("share", "", "Part of the processors' capacity"),
    ("between_s", "s", "Mean real time between events, for each processor"),
    ("overhead_s", "s", "Mean processor time of an event"),
];

pub(super) fn responses(waiting_lines: usize) -> Vec<Response> {
    let mut all: Vec<Response> =
        FIGURES.iter().map(|(name, unit, what, _)| Response::new(*name, unit, *what)).collect();
    for event in Event::ALL {
        for (name, unit, what) in OF_EVENTS {
            let what = format!("{what}: {}", event.words());
            all.push(Response::new(format!("{}_{name}", event.name()), unit, what));
        }
    }
    for line in 1..=waiting_lines {
        let what = format!("Mean response to interaction {line} of those that the script waits for");
        all.push(Response::new(format!("response_{line:02}_s"), "s", what));
    }
    all
}

pub(super) fn values(run: &Ended) -> Vec<f64> {
    let mut all: Vec<f64> = FIGURES.iter().map(|(.., value)| value(run)).collect();
    for event in 0..EVENTS {
        let (events, time) = (run.meters.events[event] as f64, run.meters.time[event]);
        let time_s = time as f64 * NANOSECOND;
        all.extend([run.share(time), run.capacity_s / events, time_s / events]);
    }
    all.extend(run.measures.by_line.iter().map(|line| line.seconds()));
    all
}
