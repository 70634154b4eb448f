//! Laws of single values: finite, not negative, possible in their interval.

use arrow_array::Array;
use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int64Type, TimestampMicrosecondType, UInt64Type};

use crate::laws::manifest::Machine;
use crate::laws::{FINITE, NOT_NEGATIVE, POSSIBLE_AMOUNT, POSSIBLE_TIME, Report, Rows};
use crate::schema::{Column, Kind, TableSchema, Type};
use crate::vocabulary;

/// Largest double: sums of squares of more would overflow.
const DOUBLE_MAX: f64 = 1e100;
/// Rounding of differences of doubles.
const ROUNDING: f64 = 1e-9;
/// From here on a count is a difference below zero that wrapped.
const COUNT_MAX: f64 = 9.2e18;
/// Bytes that a machine moves in a second: ten times the memory bandwidth of the largest.
const BYTES_PER_SECOND: f64 = 1e14;
/// Other events in a second: packets and pages that hardware moves without a CPU.
const EVENTS_PER_SECOND: f64 = 1e11;
/// Events in a second that take the kernel's time on a CPU: none of them takes less than 10 ns.
const KERNEL_EVENTS_PER_CPU: f64 = 1e8;
/// Units of such events.
const KERNEL_EVENTS: [&str; 5] = ["switch", "interrupt", "softirq", "fork", "fault"];
/// Units of levels, which columns of a source's own may have.
const LEVELS: [&str; 5] = ["user", "task", "process", "thread", "session"];
/// Seconds that tasks and requests spend in a second: more than there can be tasks.
const SECONDS_PER_SECOND: f64 = 1e9;
/// Bytes of a memory.
const BYTES_MAX: f64 = (1u64 << 60) as f64;
/// Tasks, users, sessions, requests at one moment: a kernel has at most 2^22 tasks.
const LEVEL_MAX: f64 = 1e7;
/// More than the number of any CPU: kernels are built for at most 8,192.
const CPU_MAX: f64 = 1e6;
/// Seconds outside intervals: 30,000 years.
const SECONDS_MAX: f64 = 1e12;
/// Years 1 to 9999, which every reader can show [us since 1970-01-01 UTC].
const TIMES_US: std::ops::Range<i64> = -62_135_596_800_000_000..253_402_300_800_000_000;

/// Upper bound of a column's values.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Bound {
    /// The column is of a source of its own, which alone knows.
    None,
    /// A constant.
    Constant(f64),
    /// For each second of the interval, and at least one.
    Rate(f64),
    /// CPU time on all CPUs.
    AllCpus,
    /// Time of one thing, which a CPU, a disk or a wait is: it passes once.
    Once,
    /// For each second of the interval, and at least one, and each CPU.
    RatePerCpu(f64),
}

/// Laws of one column.
pub(crate) struct Rule {
    column: Column,
    bound: Bound,
}

/// Rules for the columns of a table.
pub(crate) fn rules(schema: &TableSchema, machine: &Machine) -> Vec<Rule> {
    let shared = vocabulary::tables().into_iter().find(|table| table.name == schema.name);
    let rule = |column: &Column| {
        let same = |other: &&Column| other.name == column.name && other.unit == column.unit;
        let is_shared = shared.as_ref().is_some_and(|table| table.columns.iter().any(|other| same(&other)));
        let bound = match is_shared {
            true => bound(&schema.name, column),
            false => bound_of_own(&schema.name, column, machine),
        };
        Rule { column: column.clone(), bound }
    };
    schema.columns.iter().map(rule).collect()
}

fn has_intervals(table: &str) -> bool {
    !matches!(table, "interactions" | "events")
}

/// Bound of a column that a source adds to the common ones: what its unit says, and where a simulation wrote it, what a
/// clock of nanoseconds says.
fn bound_of_own(table: &str, column: &Column, machine: &Machine) -> Bound {
    match (column.kind, column.unit.as_str()) {
        (Kind::Counter, "s") if has_intervals(table) => Bound::Rate(SECONDS_PER_SECOND),
        (Kind::Counter, unit) if has_intervals(table) && KERNEL_EVENTS.contains(&unit) => {
            Bound::RatePerCpu(KERNEL_EVENTS_PER_CPU)
        }
        (Kind::Counter, _) if has_intervals(table) && machine.is_simulated => Bound::Rate(EVENTS_PER_SECOND),
        (Kind::Gauge, unit) if LEVELS.contains(&unit) => Bound::Constant(LEVEL_MAX),
        _ => Bound::None,
    }
}

fn bound(table: &str, column: &Column) -> Bound {
    let has_intervals = has_intervals(table);
    match (column.kind, column.unit.as_str()) {
        (Kind::Counter, "s") if !has_intervals => Bound::Constant(SECONDS_MAX),
        (Kind::Counter, "s") if table == "cpus" || is_once(table, &column.name) => Bound::Once,
        (Kind::Counter, "s")
            if ["user_s", "system_s", "cpu_exact_s", "cpu_s"].contains(&column.name.as_str()) =>
        {
            Bound::AllCpus
        }
        (Kind::Counter, "s") => Bound::Rate(SECONDS_PER_SECOND),
        (Kind::Counter, "byte") if has_intervals => Bound::Rate(BYTES_PER_SECOND),
        (Kind::Counter, unit) if has_intervals && KERNEL_EVENTS.contains(&unit) => {
            Bound::RatePerCpu(KERNEL_EVENTS_PER_CPU)
        }
        (Kind::Counter, _) if has_intervals => Bound::Rate(EVENTS_PER_SECOND),
        // Promised to processes and not there: address space is a million times larger than memory. The kernel counts
        // it as a signed number.
        (Kind::Gauge, "byte") if column.name == "memory_committed_bytes" => Bound::Constant(COUNT_MAX),
        (Kind::Label, _) if column.name == "cpu" => Bound::Constant(CPU_MAX),
        (Kind::Label, _) if ["task", "process"].contains(&column.name.as_str()) => Bound::Constant(LEVEL_MAX),
        (Kind::Gauge, "byte") => Bound::Constant(BYTES_MAX),
        (Kind::Gauge, _) => Bound::Constant(LEVEL_MAX),
        _ => Bound::None,
    }
}

/// Times that pass at most once in an interval: the recorder is one thread, a disk is busy or not, and some or all
/// tasks are stalled or not.
fn is_once(table: &str, column: &str) -> bool {
    match table {
        "samples" => column.starts_with("psi_") || ["recorder_cpu_s", "recorder_delay_s"].contains(&column),
        "disks" => column == "busy_s",
        "groups" => column.starts_with("psi_"),
        _ => false,
    }
}

impl Rule {
    /// Checks this column of a batch; `lengths` are those of the rows' intervals, NaN or absent where unknown.
    pub fn check(&self, rows: Rows<'_>, lengths: &[f64], machine: &Machine, report: &mut Report) {
        let Some(array) = rows.batch.column_by_name(&self.column.name) else { return };
        match self.column.ty {
            Type::F64 => {
                for (index, value) in
                    array.as_primitive_opt::<Float64Type>().into_iter().flatten().enumerate()
                {
                    let Some(value) = value else { continue };
                    // Lengths have a law of their own.
                    if self.column.name != "length_s" && (!value.is_finite() || value.abs() > DOUBLE_MAX) {
                        let message = || format!("{value:e} is no amount");
                        report.row(&FINITE, rows.file, rows.first + index, &self.column.name, message);
                    } else {
                        self.number(value, index, rows, lengths, machine, report);
                    }
                }
            }
            Type::U64 => {
                let Some(array) = array.as_primitive_opt::<UInt64Type>() else { return };
                if self.column.kind == Kind::Label && self.bound == Bound::None {
                    return;
                }
                for (index, value) in array.iter().enumerate() {
                    if let Some(value) = value {
                        self.number(value as f64, index, rows, lengths, machine, report);
                    }
                }
            }
            Type::I64 => {
                for (index, value) in array.as_primitive_opt::<Int64Type>().into_iter().flatten().enumerate()
                {
                    if let Some(value) = value {
                        self.number(value as f64, index, rows, lengths, machine, report);
                    }
                }
            }
            Type::Time => self.times(rows, array.as_ref(), report),
            Type::Bool | Type::Text => {}
        }
    }

    fn number(
        &self,
        value: f64,
        index: usize,
        rows: Rows<'_>,
        lengths: &[f64],
        machine: &Machine,
        report: &mut Report,
    ) {
        let (row, name) = (rows.first + index, &self.column.name);
        let is_counter = self.column.kind == Kind::Counter;
        // Readings of a source of its own may lie below zero, such as a temperature.
        let may_be_negative = !is_counter && (self.bound == Bound::None || self.column.kind != Kind::Gauge);
        if value < -ROUNDING && !may_be_negative {
            let message = || format!("{value} is below zero");
            return report.row(&NOT_NEGATIVE, rows.file, row, name, message);
        }
        let limit = self.limit(lengths.get(index).copied(), machine);
        if value > limit {
            let unit = &self.column.unit;
            let message = || format!("{value} {unit}; at most {limit} is possible");
            report.row(&POSSIBLE_AMOUNT, rows.file, row, name, message);
        }
    }

    fn limit(&self, length_s: Option<f64>, machine: &Machine) -> f64 {
        let length_s = length_s.unwrap_or(f64::NAN);
        let seconds = if length_s.is_nan() { length_s } else { length_s.max(1.0) };
        let of_cpus = |cpus: f64| 1.1 * cpus * length_s + cpus;
        let limit = match self.bound {
            Bound::Constant(limit) => limit,
            Bound::Rate(rate) => rate * seconds,
            Bound::Once => of_cpus(1.0),
            Bound::RatePerCpu(rate) => {
                machine.cpus_max.map_or(EVENTS_PER_SECOND, |cpus| rate * cpus) * seconds
            }
            // A user's processes run on while the machine's counters have been read and theirs have not.
            Bound::AllCpus => machine.cpus_max.map_or(f64::INFINITY, of_cpus) + machine.reading_max_s,
            Bound::None => f64::INFINITY,
        };
        let is_count = self.column.kind == Kind::Counter && self.column.ty == Type::U64;
        let widest = if is_count { COUNT_MAX } else { f64::INFINITY };
        // The interval is not known where its length is wrong, or its part of samples is lost.
        if limit.is_nan() { widest } else { limit.min(widest) }
    }

    fn times(&self, rows: Rows<'_>, array: &dyn Array, report: &mut Report) {
        let Some(times) = array.as_primitive_opt::<TimestampMicrosecondType>() else { return };
        for (index, time) in times.iter().enumerate() {
            if time.is_some_and(|time| !TIMES_US.contains(&time)) {
                let message = || "the time lies outside the years 1 to 9999".into();
                report.row(&POSSIBLE_TIME, rows.file, rows.first + index, &self.column.name, message);
            }
        }
    }
}
