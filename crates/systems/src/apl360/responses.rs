//! The responses of a replication, and the rows of the log's samples.

use thinktime_engine::{Tally, Time};
use thinktime_log::{Column, Kind, Role, Type, Value};

use super::config::Config;
use super::measures::{LIMITS_S, Measures, QUEUES, Queue, SHORT_S, SIZES, Sampled};
use crate::kernel::Measured;

type Row = Measured<Config>;

/// Rates count per this time, the paper's unit of analysis [s].
const PERIOD_S: f64 = 600.0;

/// Totals of a run from which responses are computed.
pub(super) struct RunTotals<'a> {
    /// Measures of the run.
    pub measures: &'a Measures,
    /// End of the run.
    pub now: Time,
    /// Busy time of the disk [ns].
    pub disk_busy: u128,
    /// Swap-outs, swap-ins and library accesses.
    pub accesses: [u64; 3],
}

impl RunTotals<'_> {
    /// Time since statistics began [s].
    fn length_s(&self) -> f64 {
        self.now.since(self.measures.since).seconds()
    }

    /// Rate per ten minutes.
    fn per_period(&self, count: u64) -> f64 {
        count as f64 * PERIOD_S / self.length_s()
    }

    /// Mean number of users in `queue`.
    fn mean(&self, queue: Queue) -> f64 {
        self.measures.queues[queue as usize].mean_present(self.now)
    }

    /// Share of the time.
    fn part_of_time(&self, area_ns: u128) -> f64 {
        area_ns as f64 * 1e-9 / self.length_s()
    }

    fn within(&self, limit: usize) -> f64 {
        self.measures.within[limit] as f64
    }

    fn share_within(&self, limit: usize) -> f64 {
        self.within(limit) / self.measures.short.count() as f64
    }

    /// Response time over service time of a size class.
    fn slowdown(&self, size: usize) -> f64 {
        let stretch = self.measures.stretches[size];
        stretch.response as f64 / stretch.service as f64
    }
}

fn sd(tally: &Tally) -> f64 {
    tally.variance().sqrt()
}

/// The responses, in the order in which they are shown.
pub(super) fn responses() -> Vec<Row> {
    let mut all = service();
    all.extend(times());
    all.extend(shares());
    all.extend(load());
    all.extend(slowdowns());
    all
}

fn service() -> Vec<Row> {
    vec![
        Row::new("queued_workspaces", "workspace", "Mean number of inputs in the system", |run| {
            run.measures.system.mean_present(run.now)
        }),
        Row::new("inputs_serviced", PERIOD_INPUTS, "Inputs serviced", |run| {
            run.per_period(run.measures.serviced)
        }),
        Row::new("inputs_received", PERIOD_INPUTS, "Inputs received", |run| {
            run.per_period(run.measures.inputs)
        }),
        Row::new("unfinished", "input", "Inputs in the system at the end", |run| {
            run.measures.system.present() as f64
        }),
    ]
}

const PERIOD_INPUTS: &str = "input/(10 min)";
const PERIOD_ACCESSES: &str = "access/(10 min)";

fn times() -> Vec<Row> {
    vec![
        Row::new("mean_reaction_s", "s", "Mean time from an input to its first slice", |run| {
            run.measures.reaction.mean()
        }),
        Row::new("max_reaction_s", "s", "Largest reaction time", |run| run.measures.reaction.largest()),
        Row::new("sd_reaction_s", "s", "Standard deviation of the reaction times", |run| {
            sd(&run.measures.reaction)
        }),
        Row::new("mean_log_reaction", "", "Mean of log10(R + 0.5), R the reaction time in seconds", |run| {
            run.measures.log_reaction / run.measures.reaction.count() as f64
        }),
        Row::new("mean_response_s", "s", SHORT_RESPONSE, |run| run.measures.short.mean()),
        Row::new("sd_response_s", "s", "Standard deviation of these response times", |run| {
            sd(&run.measures.short)
        }),
        Row::new("mean_command_response_s", "s", "Mean response time of commands", |run| {
            run.measures.command.mean()
        }),
    ]
}

const SHORT_RESPONSE: &str = "Mean response time of compute transactions of at most 2 s of service";

fn shares() -> Vec<Row> {
    let description = format!("Compute transactions of at most {SHORT_S} s of service that were completed");
    let mut all = vec![Row::new("responses", "input", description, |run| run.measures.short.count() as f64)];
    for (index, limit) in LIMITS_S.iter().enumerate() {
        let (count, share) = (format!("within_{limit}_s"), format!("share_within_{limit}_s"));
        let description = format!("Of these, within {limit} s");
        all.push(Row::at(index, count, "input", description, |run, limit| run.within(limit)));
        let description = format!("Share of these within {limit} s");
        all.push(Row::at(index, share, "", description, |run, limit| run.share_within(limit)));
    }
    all
}

fn load() -> Vec<Row> {
    vec![
        Row::new("swap_rate", PERIOD_ACCESSES, "Disk accesses", |run| {
            run.per_period(run.accesses.iter().sum())
        }),
        Row::new("swap_outs", PERIOD_ACCESSES, "Workspaces written to disk", |run| {
            run.per_period(run.accesses[0])
        }),
        Row::new("swap_ins", PERIOD_ACCESSES, "Workspaces read from disk", |run| {
            run.per_period(run.accesses[1])
        }),
        Row::new("library_loads", PERIOD_ACCESSES, "Disk accesses to libraries", |run| {
            run.per_period(run.accesses[2])
        }),
        Row::new("mean_foreground", "workspace", "Mean number waiting for or in their first slice", |run| {
            run.mean(Queue::Foreground)
        }),
        Row::new("mean_background", "workspace", "Mean number after their first slice, not waiting", |run| {
            run.mean(Queue::Background)
        }),
        Row::new("mean_output_bound", "workspace", "Mean number waiting for output", |run| {
            run.mean(Queue::OutputBound)
        }),
        Row::new("mean_command", "workspace", "Mean number of commands after their first slice", |run| {
            run.mean(Queue::Command)
        }),
        Row::new("processor_utilisation", "", "Share of the time for which the processor was busy", |run| {
            run.part_of_time(run.measures.processor.area(run.now))
        }),
        Row::new("processor_service", "", "Share of the time for which the interpreter ran", |run| {
            // The processor is busy with slices, whose first part is the supervisor's.
            let busy = run.measures.processor.area(run.now);
            run.part_of_time(busy - run.measures.overhead_so_far(run.now))
        }),
        Row::new("disk_utilisation", "", "Share of the time for which the disk was busy", |run| {
            run.part_of_time(run.disk_busy)
        }),
    ]
}

fn slowdowns() -> Vec<Row> {
    let mut low = 0.0;
    let mut all = Vec::new();
    for (index, (name, high)) in SIZES.iter().enumerate() {
        let range = if high.is_finite() { format!("{low} to {high} s") } else { format!("above {low} s") };
        let description =
            format!("Response time over service time, sums over completed compute transactions of {range}");
        all.push(Row::at(index, format!("slowdown_{name}"), "", description, |run, size| run.slowdown(size)));
        low = *high;
    }
    all
}

/// Columns of the log's `samples`, after start and length.
pub(super) fn sample_columns() -> Vec<Column> {
    let seconds = |name: &str, what: &str| Column::new(name, Type::F64, "s", Kind::Counter, what);
    let count = |name: &str, unit: &str, what: &str| Column::new(name, Type::U64, unit, Kind::Counter, what);
    let mut columns = vec![
        Column::new("active_users", Type::U64, "user", Kind::Gauge, "Users with something to be done")
            .role(Role::Load),
        seconds("user_s", "Processor time of the interpreter").role(Role::UserTime),
        seconds("system_s", "Processor time of the supervisor").role(Role::SystemTime),
        seconds("idle_s", "Unused processor time").role(Role::IdleTime),
        count("inputs", "input", "Inputs received"),
        count("completions", "input", "Inputs serviced").role(Role::Throughput),
        count("swap_outs", "access", "Workspaces written to disk").role(Role::Request),
        count("swap_ins", "access", "Workspaces read from disk").role(Role::Request),
        count("library_loads", "access", "Disk accesses to libraries").role(Role::Request),
        seconds("disk_busy_s", "Time in which the disk was busy"),
    ];
    columns.extend(QUEUES.iter().map(|(_, name)| {
        let what = format!("Mean number of users, {}", name.replace('_', " "));
        Column::new(&format!("mean_{name}"), Type::F64, "user", Kind::Gauge, &what)
    }));
    columns
}

/// One row of `samples`, up to `now`; `disk` is its busy time and its accesses so far.
pub(super) fn sample_row(
    measures: &mut Measures,
    now: Time,
    users_active: u64,
    disk: (u128, [u64; 3]),
) -> Vec<Value> {
    let old = measures.sampled;
    let new = Sampled {
        at: now,
        queues: QUEUES.map(|(queue, _)| measures.queues[queue as usize].area(now)),
        inputs: measures.inputs,
        serviced: measures.serviced,
        busy: measures.processor.area(now),
        overhead: measures.overhead_so_far(now),
        disk: disk.0,
        accesses: disk.1,
    };
    measures.sampled = new;
    let length = u128::from(now.since(old.at).0);
    let seconds = |nanoseconds: u128| Value::F64(nanoseconds as f64 * 1e-9);
    let (busy, overhead) = (new.busy - old.busy, new.overhead - old.overhead);
    let mut row = vec![
        Value::U64(users_active),
        seconds(busy - overhead),
        seconds(overhead),
        seconds(length - busy),
        Value::U64(new.inputs - old.inputs),
        Value::U64(new.serviced - old.serviced),
    ];
    row.extend(new.accesses.iter().zip(old.accesses).map(|(new, old)| Value::U64(new - old)));
    row.push(seconds(new.disk - old.disk));
    let means = new.queues.iter().zip(old.queues);
    row.extend(means.map(|(new, old)| Value::F64((new - old) as f64 / length as f64)));
    row
}
