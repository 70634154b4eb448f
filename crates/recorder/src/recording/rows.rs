//! Rows of all tables for an interval, from the samples before and after it.

use thinktime_log::{Row, TableId};

use super::{Previous, Recorder};
use crate::kernel::clock::{Clock, Elapsed, Moment};
use crate::kernel::host;
use crate::processes::census::Account;
use crate::processes::watch::{ProcessTotals, Watch};
use crate::sample::counters::{Differences, Family};
use crate::sample::exact::ExactTime;
use crate::sample::modes::ModeSampler;
use crate::sample::rows::Interval;
use crate::sample::system::{Snapshot, SystemReader};
use crate::trace::Trace;

/// How a sample was read.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reading {
    /// Time from the deadline until it was taken [s].
    pub late_s: f64,
    /// CPU time of all tasks while the processes were read [s].
    pub reading_s: Option<f64>,
}

impl<C: Clock> Recorder<C> {
    /// Rows of all tables for one interval.
    pub(super) fn rows(
        &mut self,
        before: &Previous,
        after: &Previous,
        figures: &ProcessTotals,
        elapsed: Elapsed,
        Reading { late_s, reading_s }: Reading,
    ) -> Vec<(TableId, Vec<Row>)> {
        let interval = Interval {
            start_us: before.moment.wall_ns.div_euclid(1000),
            length_s: elapsed.length_s(),
            tick_s: 1.0 / host::clock_ticks() as f64,
        };
        let (attributed_s, of_people) = self.rows_of_people(interval, after.moment);
        let modes = before.modes.zip(after.modes);
        let after = &after.snapshot;
        let system =
            self.sheets.rows(interval, &before.snapshot, after, &mut self.devices, &mut self.differences);
        let exact_s = exact_s(&before.snapshot, after, figures, &self.system, &mut self.differences);
        let mut sample = system.sample;
        sample.set("cpu_exact_s", exact_s);
        if let Some((old, new)) = modes.filter(|(old, new)| old.lost == new.lost) {
            let period_s = self.modes.as_ref().map(ModeSampler::period_s);
            sample.set("user_sampled_s", period_s.map(|period_s| (new.user - old.user) as f64 * period_s));
            sample.set(
                "system_sampled_s",
                period_s.map(|period_s| (new.kernel - old.kernel) as f64 * period_s),
            );
        }
        sample.set("processes", figures.processes);
        sample.set("active_users", figures.active_users);
        sample.set("low_priority_s", figures.low_priority_ns.map(|ns| ns as f64 * 1e-9));
        // Without login records, sessions that own a terminal are the next best count.
        if after.sessions.is_none() {
            sample.set("sessions", figures.terminal_sessions);
        }
        let cpu_ns = self.clock.thread_cpu_ns();
        // From row to row: the cost of writing this row appears in the next one.
        let aside_ns = self.people.take_cpu_ns();
        let cost_s = cpu_ns.saturating_sub(self.cpu_ns).saturating_add(aside_ns) as f64 * 1e-9;
        self.cpu_ns = cpu_ns;
        sample.set("recorder_cpu_s", cost_s);
        sample.set("recorder_written_bytes", self.written);
        sample.set("recorder_reading_s", reading_s);
        sample.set("recorder_delay_s", late_s);
        let attributed_s = attributed_s.or(figures.attributed_ns.map(|ns| ns as f64 * 1e-9));
        self.tally.add(
            interval.length_s,
            after.stat.cpus.len(),
            system.busy_sampled_s,
            exact_s,
            attributed_s,
            reading_s,
        );
        self.tally.active_users = figures.active_users;
        self.tally.totals_in_ticks = figures.totals_in_ticks;
        self.tally.cost.add(cost_s);
        self.tally.late.add(late_s);
        self.tally.written_bytes += self.written;
        let [cpus, mut disks, mut interfaces] = [system.cpus, system.disks, system.interfaces];
        self.people.hide(&mut disks);
        self.people.hide(&mut interfaces);
        let tables = self.tables;
        let mut rows = vec![(tables.samples, vec![sample.finish()])];
        rows.extend(of_people);
        rows.extend([(tables.cpus, cpus), (tables.disks, disks), (tables.interfaces, interfaces)]);
        rows.retain(|(_, rows)| !rows.is_empty());
        rows
    }

    /// Rows of users, their commands and control groups, and the CPU time of users where that is not the processes' [s].
    fn rows_of_people(&mut self, interval: Interval, now: Moment) -> (Option<f64>, Vec<(TableId, Vec<Row>)>) {
        let (mut users, mut commands) = match &self.watch {
            Watch::Each(each) => (
                self.usage.user_rows(interval, &each.census),
                self.usage.command_rows(interval, &each.census),
            ),
            Watch::Count(_) => (Vec::new(), Vec::new()),
        };
        let mut latencies = self.trace.as_ref().map_or_else(Vec::new, |trace| trace.rows(interval));
        let (numbers, mut unlabelled) = self.trace.as_ref().map(Trace::unlabelled).unwrap_or_default();
        // All tables: whoever asks for pseudonyms asks for them everywhere.
        let mut named =
            vec![(&self.usage.users.schema, &mut users), (&self.usage.commands.schema, &mut commands)];
        if let Some(trace) = &self.trace {
            let schema = &trace.sheet.schema;
            named.extend([(schema, &mut latencies), (schema, &mut unlabelled)]);
        }
        let people = self.people.rows(interval, &self.watch, named, |user| {
            self.usage.user_row(interval, user, &Account::default())
        });
        if let Some(trace) = &mut self.trace {
            trace.label(now.wall_ns - now.monotonic_ns, numbers, &unlabelled);
        }
        let tables = self.tables;
        let mut rows = vec![
            (tables.users, users),
            (tables.commands, commands),
            (tables.presence, people.presence),
            (tables.groups, people.groups),
        ];
        rows.extend(tables.latencies.map(|table| (table, latencies)));
        (people.attributed_s, rows)
    }
}

/// Exact CPU time of all tasks in the interval.
fn exact_s(
    before: &Snapshot,
    after: &Snapshot,
    figures: &ProcessTotals,
    system: &SystemReader,
    differences: &mut Differences,
) -> Option<f64> {
    let ns = match &system.exact {
        ExactTime::Processes => figures.attributed_ns,
        exact => {
            let grown = differences.take_optional(Family::ExactTime, before.exact_ns, after.exact_ns, || {
                exact.name().to_owned()
            });
            let outside = if matches!(exact, ExactTime::Cgroup2(_)) { figures.kernel_ns } else { 0 };
            grown.map(|grown| grown + outside)
        }
    };
    ns.map(|ns| ns as f64 * 1e-9)
}
