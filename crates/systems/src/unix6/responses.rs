//! The responses of a replication.

use thinktime_engine::{Batches, Time};

use super::config::Config;
use super::machine::Machine;
use super::meters::{Counts, DRIVES, Meters};
use crate::kernel::{Accounted, Measured, Monitor};

type Row = Measured<Config>;

/// Totals of a run from which responses are computed.
pub(super) struct RunTotals<'a> {
    meters: &'a Meters,
    now: Time,
    /// Mean number of requests at the controller.
    queue_length: f64,
    /// Share of the time for which the controller was busy.
    controller_utilisation: f64,
    /// Mean free user memory [click].
    mean_free_memory: f64,
}

impl<M: Monitor> Accounted for Machine<'_, M> {
    type Configuration = Config;

    fn totals(&self, now: Time) -> RunTotals<'_> {
        RunTotals {
            meters: &self.meters,
            now,
            queue_length: self.disks.mean_present(now),
            controller_utilisation: self.disks.utilisation(now),
            // Memory keeps the area that is held; what is free is the rest.
            mean_free_memory: self.memory.size() as f64 - self.memory.mean_held(now),
        }
    }

    fn batches(&self) -> &Batches {
        &self.meters.batches
    }
}

impl RunTotals<'_> {
    fn counts(&self) -> &Counts {
        &self.meters.totals.counts
    }

    /// Time since statistics began [s].
    fn length_s(&self) -> f64 {
        self.now.since(self.meters.since).seconds()
    }

    /// Share of that time.
    fn part_of_time(&self, ns: u128) -> f64 {
        ns as f64 * 1e-9 / self.length_s()
    }

    fn file_transfers(&self) -> f64 {
        let counts = self.counts();
        (counts.block_reads + counts.read_aheads + counts.block_writes) as f64
    }

    fn interactions(&self) -> f64 {
        self.counts().interactions as f64
    }
}

fn time_shares() -> Vec<Row> {
    vec![
        Row::new(
            "elapsed_s",
            "s",
            "Time from the start until the parent has waited for the last process and has printed; none if the length of \
             the run was too short",
            |run| run.meters.elapsed.map_or(f64::NAN, |elapsed| elapsed.seconds()),
        ),
        Row::new(
            "queue_length",
            "request",
            "Mean number of requests at the disk controller, the one in service included (Qdisk)",
            |run| run.queue_length,
        ),
        Row::new("swaps", "swap", "Swap-ins and swap-outs (Nswaps)", |run| {
            (run.counts().swap_ins + run.counts().swap_outs) as f64
        }),
        Row::new("swap_ins", "swap", "Images read from the swap area", |run| run.counts().swap_ins as f64),
        Row::new(
            "swap_outs",
            "swap",
            "Images written to the swap area, those that fork writes there for lack of memory included",
            |run| run.counts().swap_outs as f64,
        ),
        Row::new(
            "controller_utilisation",
            "",
            "Share of the time for which the disk controller was busy",
            |run| run.controller_utilisation,
        ),
        Row::new("cpu_utilisation", "", "Share of the time for which the processor was busy", |run| {
            run.part_of_time(run.meters.totals.user + run.meters.totals.system)
        }),
        Row::new("user_s", "s", "Processor time in user mode", |run| run.meters.totals.user as f64 * 1e-9),
        Row::new("system_s", "s", "Processor time in system mode", |run| {
            run.meters.totals.system as f64 * 1e-9
        }),
        Row::new(
            "outside_s",
            "s",
            "Processor time in system mode outside processes: searches for the next process, and the swapper",
            |run| run.meters.totals.outside as f64 * 1e-9,
        ),
    ]
}

fn disk_traffic() -> Vec<Row> {
    vec![
        Row::new(
            "file_transfers",
            "request",
            "Blocks of files read, read ahead and written, and user structures",
            |run| run.file_transfers(),
        ),
        Row::new("file_transfers_per_interaction", "request", "The same for each interaction", |run| {
            run.file_transfers() / run.interactions()
        }),
        Row::new("block_time_s", "s", "Mean access and transfer time of a block of a file (Tblock)", |run| {
            run.meters.block_times.mean()
        }),
        Row::new("swap_time_s", "s", "Mean access and transfer time of a swap (Tswap)", |run| {
            run.meters.swap_times.mean()
        }),
        Row::new("page_time_s", "s", "Mean access and transfer time of a page, with paging", |run| {
            run.meters.page_times.mean()
        }),
        Row::new("page_faults", "page", "Pages read, with paging", |run| run.counts().page_faults as f64),
        Row::new("page_outs", "page", "Modified pages written to make room, with paging", |run| {
            run.counts().page_outs as f64
        }),
        Row::new("block_reads", "request", "Blocks read that a process waited for", |run| {
            run.counts().block_reads as f64
        }),
        Row::new("read_aheads", "request", "Blocks read ahead", |run| run.counts().read_aheads as f64),
        Row::new("cache_hits", "", "Blocks found in the buffer cache", |run| run.counts().cache_hits as f64),
        Row::new("block_writes", "request", "Blocks written", |run| run.counts().block_writes as f64),
        Row::new("text_loads", "text", "Shared texts read from the swap area", |run| {
            run.counts().text_loads as f64
        }),
        Row::new("terminal_characters", "character", "Characters written to the terminal", |run| {
            run.counts().characters_out as f64
        }),
    ]
}

fn interactions() -> Vec<Row> {
    vec![
        Row::new("interactions", "interaction", "Interactions completed", |run| run.interactions()),
        Row::new("interactions_per_s", "interaction/s", "Interactions completed per second", |run| {
            run.interactions() / run.length_s()
        }),
        Row::new(
            "response_mean_s",
            "s",
            "Mean time from the end of a pause to the begin of the next one",
            |run| run.meters.responses.mean(),
        ),
        Row::new("think_mean_s", "s", "Mean pause before an interaction", |run| run.meters.thinks.mean()),
        Row::new(
            "stretch",
            "",
            "Response times over processor times of the interactions that ended",
            |run| run.meters.responses.total() / (run.meters.service as f64 * 1e-9),
        ),
        Row::new("loaded_mean", "process", "Mean number of workers in memory", |run| {
            run.meters.loaded.mean(run.now)
        }),
        Row::new("memory_free_mean", "click", "Mean free user memory", |run| run.mean_free_memory),
        Row::new(
            "swap_in_wait_mean_s",
            "s",
            "Mean time that a ready process was out of memory before it came in",
            |run| run.meters.waits.mean(),
        ),
        Row::new(
            "swap_in_wait_max_s",
            "s",
            "Longest time that a ready process was out of memory before it came in",
            |run| run.meters.waits.largest(),
        ),
        Row::new("seeks_share", "", "Share of the disk requests that needed a movement of the arm", |run| {
            let drives = &run.meters.totals.drives;
            let sum = |of: fn(usize, &[super::meters::Transferred; DRIVES]) -> u64| -> u64 {
                (0..DRIVES).map(|drive| of(drive, drives)).sum()
            };
            sum(|drive, all| all[drive].seeks) as f64 / sum(|drive, all| all[drive].requests) as f64
        }),
    ]
}

/// The responses, in the order in which they are shown.
pub(super) fn responses() -> Vec<Row> {
    let groups = [time_shares(), disk_traffic(), interactions()];
    groups.into_iter().flatten().collect()
}
