//! The responses of a replication.

use thinktime_engine::{Batches, Time};

use super::config::Config;
use super::machine::Machine;
use super::measures::Measures;
use super::services::{Kind, Spent};
use crate::kernel::{Accounted, Measured, Monitor};

type Row = Measured<Config>;

/// Totals of a run from which responses are computed.
pub(super) struct RunTotals<'a> {
    measures: &'a Measures,
    /// Time for which the machine was up [s].
    up_s: f64,
    now: Time,
    /// Time for which the drum was busy [s].
    drum_busy_s: f64,
    /// Busy time of the spindles together [s].
    disks_busy_s: f64,
    /// Number of spindles.
    spindles: f64,
}

const NANOSECOND: f64 = 1e-9;

impl<M: Monitor> Accounted for Machine<'_, M> {
    type Configuration = Config;

    fn totals(&self, now: Time) -> RunTotals<'_> {
        RunTotals {
            measures: &self.measures,
            up_s: self.measures.up.area(now) as f64 * NANOSECOND,
            now,
            drum_busy_s: self.drum.busy.area(now) as f64 * NANOSECOND,
            disks_busy_s: self.disks.busy.area(now) as f64 * NANOSECOND,
            spindles: f64::from(self.disks.spindles()),
        }
    }

    fn batches(&self) -> &Batches {
        &self.measures.batches
    }
}

impl RunTotals<'_> {
    /// Share of the time up.
    fn share(&self, ns: u64) -> f64 {
        ns as f64 * NANOSECOND / self.up_s
    }

    /// Rate over the time up [1/s].
    fn per_s(&self, count: u64) -> f64 {
        count as f64 / self.up_s
    }

    fn spent(&self, kind: Kind) -> &Spent {
        &self.measures.spent[kind as usize]
    }

    /// Mean CP time of a request, dispatch included [s].
    fn cost(&self, kind: Kind) -> f64 {
        let spent = self.spent(kind);
        (spent.cp + spent.dispatch) as f64 * NANOSECOND / spent.requests as f64
    }

    /// Mean dispatcher time of a request [s].
    fn dispatch(&self, kind: Kind) -> f64 {
        let spent = self.spent(kind);
        spent.dispatch as f64 * NANOSECOND / spent.requests as f64
    }

    /// Mean number of FREE calls of a request.
    fn calls(&self, kind: Kind) -> f64 {
        let spent = self.spent(kind);
        spent.calls as f64 / spent.requests as f64
    }

    /// CP time per second of problem state time.
    fn of_problem(&self, ns: u128) -> f64 {
        ns as f64 / self.measures.totals.problem as f64
    }
}

fn time_shares() -> Vec<Row> {
    vec![
        Row::new("problem_share", "", "Share of the time up in problem state", |run| {
            run.share(run.measures.totals.problem)
        }),
        Row::new("cp_share", "", "Share of the time up in supervisor state", |run| {
            run.share(run.measures.totals.cp)
        }),
        Row::new("wait_share", "", "Share of the time up for which the processor waited", |run| {
            run.measures.waiting.area(run.now) as f64 * NANOSECOND / run.up_s
        }),
        Row::new("dispatch_share", "", "Share of the time up in the dispatcher", |run| {
            run.share(run.measures.totals.dispatch)
        }),
    ]
}

fn rates() -> Vec<Row> {
    vec![
        Row::new("vsio_per_s", "request/s", "VSIO per second", |run| run.per_s(run.measures.totals.vsio)),
        Row::new("vmio_per_s", "request/s", "VMIO per second", |run| run.per_s(run.measures.totals.vmio)),
        Row::new("page_ios_per_s", "page/s", "Pages read in and swapped out per second", |run| {
            run.per_s(run.measures.totals.page_ios())
        }),
        Row::new("spool_ios_per_s", "request/s", "Spool I/O per second", |run| {
            run.per_s(run.measures.totals.spool_ios)
        }),
        Row::new(
            "page_steals_per_s",
            "page/s",
            "Pages of users in the queues that were overwritten, per second",
            |run| run.per_s(run.measures.totals.page_steals),
        ),
        Row::new("active_users_mean", "user", "Mean active users of the observations", |run| {
            run.measures.active_sum as f64 / run.measures.observations as f64
        }),
        Row::new(
            "users_signed_on_mean",
            "user",
            "Mean number of signed-on users while the machine was up",
            |run| run.measures.signed_on.area(run.now) as f64 * NANOSECOND / run.up_s,
        ),
    ]
}

fn costs() -> Vec<Row> {
    vec![
        Row::new("vsio_cost_s", "s", "True mean CP time of a VSIO, including dispatch", |run| {
            run.cost(Kind::Vsio)
        }),
        Row::new("vmio_cost_s", "s", "True mean CP time of a VMIO, including dispatch", |run| {
            run.cost(Kind::Vmio)
        }),
        Row::new("page_io_cost_s", "s", "True mean CP time of a page I/O, including dispatch", |run| {
            run.cost(Kind::PageIo)
        }),
        Row::new("spool_io_cost_s", "s", "True mean CP time of a spool I/O, including dispatch", |run| {
            run.cost(Kind::SpoolIo)
        }),
        Row::new(
            "problem_cost",
            "s/s",
            "True CP time per second of problem state time, including dispatch",
            |run| {
                let spent = run.spent(Kind::Problem);
                run.of_problem(spent.cp + spent.dispatch)
            },
        ),
        Row::new(
            "base_cost",
            "s/s",
            "True CP time per second of real time: CP's base work, including dispatch",
            |run| {
                let spent = run.spent(Kind::Base);
                (spent.cp + spent.dispatch) as f64 * NANOSECOND / run.up_s
            },
        ),
        Row::new("unmeasured_share", "s/s", "CP time of unmeasured activities, per second", |run| {
            run.spent(Kind::Unmeasured).cp as f64 * NANOSECOND / run.up_s
        }),
    ]
}

fn dispatch_costs() -> Vec<Row> {
    vec![
        Row::new("vsio_dispatch_s", "s", "Dispatch in the CP time of a VSIO", |run| run.dispatch(Kind::Vsio)),
        Row::new("vmio_dispatch_s", "s", "Dispatch in the CP time of a VMIO", |run| run.dispatch(Kind::Vmio)),
        Row::new("page_io_dispatch_s", "s", "Dispatch in the CP time of a page I/O", |run| {
            run.dispatch(Kind::PageIo)
        }),
        Row::new("spool_io_dispatch_s", "s", "Dispatch in the CP time of a spool I/O", |run| {
            run.dispatch(Kind::SpoolIo)
        }),
        Row::new(
            "problem_dispatch",
            "s/s",
            "Dispatch in the CP time per second of problem state time",
            |run| run.of_problem(run.spent(Kind::Problem).dispatch),
        ),
        Row::new("base_dispatch", "s/s", "Dispatch in CP's base work", |run| {
            run.spent(Kind::Base).dispatch as f64 * NANOSECOND / run.up_s
        }),
    ]
}

fn others() -> Vec<Row> {
    vec![
        Row::new("free_calls_per_vsio", "call", "FREE calls of a VSIO", |run| run.calls(Kind::Vsio)),
        Row::new("free_calls_per_vmio", "call", "FREE calls of a VMIO", |run| run.calls(Kind::Vmio)),
        Row::new("free_calls_per_page_io", "call", "FREE calls of a page I/O", |run| run.calls(Kind::PageIo)),
        Row::new("free_calls_per_spool_io", "call", "FREE calls of a spool I/O", |run| {
            run.calls(Kind::SpoolIo)
        }),
        Row::new("drum_utilisation", "", "Share of the time up for which the drum was busy", |run| {
            run.drum_busy_s / run.up_s
        }),
        Row::new("disk_utilisation", "", "Mean part of the time up in which a spindle was busy", |run| {
            run.disks_busy_s / run.up_s / run.spindles
        }),
        Row::new(
            "response_mean_s",
            "s",
            "Mean time from a typed line to the last line of its answer",
            |run| run.measures.responses.mean(),
        ),
        Row::new("interactions_per_s", "interaction/s", "Interactions completed per second", |run| {
            run.measures.responses.count() as f64 / run.up_s
        }),
        Row::new("observations", "", "Observations of DUSETIMR", |run| run.measures.observations as f64),
        Row::new("restarts", "", "Restarts of the system", |run| run.measures.restarts as f64),
    ]
}

/// The responses, in the order in which they are shown.
pub(super) fn responses() -> Vec<Row> {
    let groups = [time_shares(), rates(), costs(), dispatch_costs(), others()];
    groups.into_iter().flatten().collect()
}
