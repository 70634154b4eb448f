//! The responses of a replication.

use thinktime_engine::{Batches, Time};

use super::config::Config;
use super::events::Event;
use super::machine::Machine;
use super::measures::Measures;
use super::ttm::Meters;
use crate::kernel::{Accounted, Measured, Monitor};

type Row = Measured<Config>;

/// Totals of a run from which responses are computed.
pub(super) struct RunTotals<'a> {
    meters: Meters,
    measures: &'a Measures,
    /// Time since statistics began [s].
    length_s: f64,
    /// The same for all processors together [s].
    capacity_s: f64,
    /// Mean number of eligible processes.
    eligible_mean: f64,
    /// Utilisation of the drum.
    drum: f64,
    /// Mean utilisation of an arm.
    disks: f64,
}

const NANOSECOND: f64 = 1e-9;

impl<M: Monitor> Accounted for Machine<'_, M> {
    type Configuration = Config;

    fn totals(&self, now: Time) -> RunTotals<'_> {
        let length_s = now.since(self.measures.since).seconds();
        RunTotals {
            meters: self.metered(),
            measures: &self.measures,
            length_s,
            capacity_s: length_s * self.processors.len() as f64,
            eligible_mean: self.traffic.eligible.mean(now),
            drum: self.drum.busy.mean(now),
            // The arms are one account: the mean of them is their sum over their number.
            disks: self.disks.busy.mean(now) / f64::from(self.config.disk_arms),
        }
    }

    fn batches(&self) -> &Batches {
        &self.measures.batches
    }
}

impl RunTotals<'_> {
    /// Share of the processors' capacity.
    fn share(&self, ns: u64) -> f64 {
        ns as f64 * NANOSECOND / self.capacity_s
    }

    /// Mean per interaction of users that play the script.
    fn per_interaction(&self, amount: u64) -> f64 {
        amount as f64 / self.meters.script_interactions as f64
    }

    /// The same of a time [s].
    fn charged_s(&self, ns: u64) -> f64 {
        self.per_interaction(ns) * NANOSECOND
    }
}

fn processors() -> Vec<Row> {
    vec![
        Row::new("useful_share", "", "Share of the processors' capacity in user programs", |run| {
            run.share(run.meters.useful)
        }),
        Row::new(
            "idle_share",
            "",
            "Share of the processors' capacity for which no eligible process could run",
            |run| run.share(run.meters.idle),
        ),
        Row::new(
            "lock_wait_share",
            "",
            "Share of the capacity for which a processor waited for a lock",
            |run| run.share(run.meters.lock_wait),
        ),
        Row::new(
            "interference_share",
            "",
            "Share of the capacity lost by interference of the processors in core",
            |run| run.share(run.meters.interference),
        ),
        Row::new("eligible_mean", "process", "Mean number of eligible processes", |run| run.eligible_mean),
        Row::new(
            "page_wait_mean_s",
            "s",
            "Mean time from asking for a page to the end of its interrupt",
            |run| run.measures.page_waits.seconds(),
        ),
        Row::new(
            "examined_per_page_fault",
            "",
            "Mean places of core that the hand looked at for a page fault",
            |run| run.measures.examined as f64 / run.meters.events[Event::PageFault as usize] as f64,
        ),
        Row::new("preemptions_per_s", "1/s", "Processes preempted per second", |run| {
            run.measures.preemptions as f64 / run.length_s
        }),
        Row::new("drum_utilisation", "", "Share of the time for which the drum was busy", |run| run.drum),
        Row::new("disk_utilisation", "", "Mean part of the time in which an arm was busy", |run| run.disks),
    ]
}

fn interactions() -> Vec<Row> {
    vec![
        Row::new("interactions_per_s", "interaction/s", "Interactions answered per second", |run| {
            run.meters.interactions as f64 / run.length_s
        }),
        Row::new(
            "response_mean_s",
            "s",
            "Mean response of users that play the script, to interactions that they wait for, by their clock",
            |run| run.measures.all.seconds(),
        ),
        Row::new("response_light_mean_s", "s", "Mean response to these without heavy commands", |run| {
            run.measures.light.seconds()
        }),
        Row::new("response_heavy_mean_s", "s", "Mean response to heavy commands", |run| {
            run.measures.heavy.seconds()
        }),
        Row::new(
            "response_all_users_mean_s",
            "s",
            "Mean response of all users, to what they wait for",
            |run| run.measures.responses.mean(),
        ),
        Row::new("script_interactions", "interaction", "Interactions of users that play the script", |run| {
            run.meters.script_interactions as f64
        }),
        Row::new(
            "cpu_per_interaction_s",
            "s",
            "Processor time of an interaction of the script: user programs and faults",
            |run| run.charged_s(run.meters.script.all()),
        ),
        Row::new("run_per_interaction_s", "s", "Of this, in user programs", |run| {
            run.charged_s(run.meters.script.run)
        }),
        Row::new("page_fault_s_per_interaction", "s", "Of this, for page faults", |run| {
            run.charged_s(run.meters.script.page_fault)
        }),
        Row::new("other_fault_s_per_interaction", "s", "Of this, for segment and gate faults", |run| {
            run.charged_s(run.meters.script.other_fault)
        }),
        Row::new(
            "page_faults_per_interaction",
            "event",
            "Page faults of an interaction of the script",
            |run| run.per_interaction(run.meters.script.page_faults),
        ),
    ]
}

/// Three responses for each kind of event.
fn of_events() -> impl Iterator<Item = Row> {
    Event::ALL.into_iter().flat_map(|event| {
        let index = event as usize;
        let named = |response: &str| format!("{}_{response}", event.name());
        let described = |description: &str| format!("{description}: {}", event.words());
        [
            Row::at(
                index,
                named("share"),
                "",
                described("Share of the processors' capacity"),
                |run, event| run.share(run.meters.time[event]),
            ),
            Row::at(
                index,
                named("between_s"),
                "s",
                described("Mean real time between events, per processor"),
                |run, event| run.capacity_s / run.meters.events[event] as f64,
            ),
            Row::at(
                index,
                named("overhead_s"),
                "s",
                described("Mean processor time of an event"),
                |run, event| run.meters.time[event] as f64 * NANOSECOND / run.meters.events[event] as f64,
            ),
        ]
    })
}

/// The responses, in the order in which they are shown: last, one for each line of the script that is waited for.
pub(super) fn responses(waiting_lines: usize) -> Vec<Row> {
    let by_line = (0..waiting_lines).map(|index| {
        let line = index + 1;
        let description = format!("Mean response to interaction {line} of those that the script waits for");
        Row::at(index, format!("response_{line:02}_s"), "s", description, |run, index| {
            run.measures.by_line[index].seconds()
        })
    });
    let groups = [processors(), interactions()];
    groups.into_iter().flatten().chain(of_events()).chain(by_line).collect()
}
