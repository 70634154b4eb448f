//! The figures of a replication.

use thinktime_engine::Time;

use super::machine::Machine;
use super::measures::Measures;
use super::services::{Kind, Spent};
use crate::recorder::Monitor;
use crate::system::Response;

/// A run that has ended, as far as figures need it.
pub(super) struct Ended<'a> {
    measures: &'a Measures,
    /// Time that the machine was up [s].
    up_s: f64,
    now: Time,
    drum_busy_s: f64,
    disks_busy_s: f64,
    spindles: f64,
}

const NANOSECOND: f64 = 1e-9;

impl<'a> Ended<'a> {
    pub fn of<M: Monitor>(machine: &'a Machine<'_, M>, now: Time) -> Ended<'a> {
        Ended {
            measures: &machine.measures,
            up_s: machine.measures.up.area(now) as f64 * NANOSECOND,
            now,
            drum_busy_s: machine.drum.busy.area(now) as f64 * NANOSECOND,
            disks_busy_s: machine.disks.busy.area(now) as f64 * NANOSECOND,
            spindles: f64::from(machine.disks.spindles()),
        }
    }

    fn share(&self, ns: u64) -> f64 {
        ns as f64 * NANOSECOND / self.up_s
    }

    fn per_s(&self, count: u64) -> f64 {
        count as f64 / self.up_s
    }

    fn spent(&self, kind: Kind) -> &Spent {
        &self.measures.spent[kind as usize]
    }

    /// CP time of a request, dispatch included [s].
    fn cost(&self, kind: Kind) -> f64 {
        let spent = self.spent(kind);
        (spent.cp + spent.dispatch) as f64 * NANOSECOND / spent.requests as f64
    }

    fn dispatch(&self, kind: Kind) -> f64 {
        let spent = self.spent(kind);
        spent.dispatch as f64 * NANOSECOND / spent.requests as f64
    }

    fn calls(&self, kind: Kind) -> f64 {
        let spent = self.spent(kind);
        spent.calls as f64 / spent.requests as f64
    }

    /// CP time for a second of problem state time.
    fn of_problem(&self, ns: u128) -> f64 {
        ns as f64 / self.measures.totals.problem as f64
    }
}

type Figure = (&'static str, &'static str, &'static str, fn(&Ended) -> f64);

const FIGURES: [Figure; 34] = [
    ("problem_share", "", "Part of the time up in problem state", |run| {
        run.share(run.measures.totals.problem)
    }),
    ("cp_share", "", "Part of the time up in supervisor state", |run| run.share(run.measures.totals.cp)),
    ("wait_share", "", "Part of the time up in which the processor waited", |run| {
        run.measures.waiting.area(run.now) as f64 * NANOSECOND / run.up_s
    }),
    ("dispatch_share", "", "Part of the time up in the dispatcher", |run| {
        run.share(run.measures.totals.dispatch)
    }),
    ("vsio_per_s", "request/s", "VSIO a second", |run| run.per_s(run.measures.totals.vsio)),
    ("vmio_per_s", "request/s", "VMIO a second", |run| run.per_s(run.measures.totals.vmio)),
    ("page_ios_per_s", "page/s", "Pages read in and swapped out a second", |run| {
        run.per_s(run.measures.totals.page_ios())
    }),
    ("spool_ios_per_s", "request/s", "Spool I/O a second", |run| run.per_s(run.measures.totals.spool_ios)),
    ("page_steals_per_s", "page/s", "Pages of users in the queues that were overwritten, a second", |run| {
        run.per_s(run.measures.totals.page_steals)
    }),
    ("active_users_mean", "user", "Mean active users of the observations", |run| {
        run.measures.active_sum as f64 / run.measures.observations as f64
    }),
    ("users_signed_on_mean", "user", "Mean number of signed-on users while the machine was up", |run| {
        run.measures.signed_on.area(run.now) as f64 * NANOSECOND / run.up_s
    }),
    ("vsio_cost_s", "s", "True mean CP time of a VSIO, dispatch included", |run| run.cost(Kind::Vsio)),
    ("vmio_cost_s", "s", "True mean CP time of a VMIO, dispatch included", |run| run.cost(Kind::Vmio)),
    ("page_io_cost_s", "s", "True mean CP time of a page I/O, dispatch included", |run| {
        run.cost(Kind::PageIo)
    }),
    ("spool_io_cost_s", "s", "True mean CP time of a spool I/O, dispatch included", |run| {
        run.cost(Kind::SpoolIo)
    }),
    ("problem_cost", "s/s", "True CP time for a second of problem state time, dispatch included", |run| {
        let spent = run.spent(Kind::Problem);
        run.of_problem(spent.cp + spent.dispatch)
    }),
    ("base_cost", "s/s", "True CP time of a second of real time: CP's base work, dispatch included", |run| {
        let spent = run.spent(Kind::Base);
        (spent.cp + spent.dispatch) as f64 * NANOSECOND / run.up_s
    }),
    ("unmeasured_share", "s/s", "CP time of activities that nobody counts, a second", |run| {
        run.spent(Kind::Unmeasured).cp as f64 * NANOSECOND / run.up_s
    }),
    ("vsio_dispatch_s", "s", "Dispatch in the CP time of a VSIO", |run| run.dispatch(Kind::Vsio)),
    ("vmio_dispatch_s", "s", "Dispatch in the CP time of a VMIO", |run| run.dispatch(Kind::Vmio)),
    ("page_io_dispatch_s", "s", "Dispatch in the CP time of a page I/O", |run| run.dispatch(Kind::PageIo)),
    ("spool_io_dispatch_s", "s", "Dispatch in the CP time of a spool I/O", |run| run.dispatch(Kind::SpoolIo)),
    ("problem_dispatch", "s/s", "Dispatch in the CP time for a second of problem state time", |run| {
        run.of_problem(run.spent(Kind::Problem).dispatch)
    }),
    ("base_dispatch", "s/s", "Dispatch in CP's base work", |run| {
        run.spent(Kind::Base).dispatch as f64 * NANOSECOND / run.up_s
    }),
    ("free_calls_per_vsio", "call", "FREE calls of a VSIO", |run| run.calls(Kind::Vsio)),
    ("free_calls_per_vmio", "call", "FREE calls of a VMIO", |run| run.calls(Kind::Vmio)),
    ("free_calls_per_page_io", "call", "FREE calls of a page I/O", |run| run.calls(Kind::PageIo)),
    ("free_calls_per_spool_io", "call", "FREE calls of a spool I/O", |run| run.calls(Kind::SpoolIo)),
    ("drum_utilisation", "", "Part of the time up in which the drum was busy", |run| {
        run.drum_busy_s / run.up_s
    }),
    ("disk_utilisation", "", "Mean part of the time up in which a spindle was busy", |run| {
        run.disks_busy_s / run.up_s / run.spindles
    }),
    ("response_mean_s", "s", "Mean time from a typed line to the last line of its answer", |run| {
        run.measures.responses.mean()
    }),
    ("interactions_per_s", "interaction/s", "Interactions that ended, a second", |run| {
        run.measures.responses.count() as f64 / run.up_s
    }),
    ("observations", "", "Observations of DUSETIMR", |run| run.measures.observations as f64),
    ("restarts", "", "Restarts of the system", |run| run.measures.restarts as f64),
];

pub(super) fn responses() -> Vec<Response> {
    FIGURES.iter().map(|(name, unit, what, _)| Response::new(*name, unit, *what)).collect()
}

pub(super) fn values(run: &Ended) -> Vec<f64> {
    FIGURES.iter().map(|(.., value)| value(run)).collect()
}
