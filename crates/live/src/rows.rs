//! Rows of the log's tables as plain records, by part.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use arrow_array::{
    Array, Float64Array, Int64Array, RecordBatch, StringArray, TimestampMicrosecondArray, UInt64Array,
};
use thinktime_log::LogError;

/// Most rows of a part that are kept in memory; a recorder's part has at most some ten thousand.
const ROWS_MAX: usize = 3_000_000;
/// Longest text that is kept [byte]; names are shorter, and only whole lines of commands come near.
const TEXT_BYTES_MAX: usize = 4096;

/// Tables that a view reads, with their columns.
pub(crate) const TABLES: [(&str, &[&str]); 8] = [
    ("samples", &SAMPLE_COLUMNS),
    ("users", &USE_COLUMNS),
    ("commands", &USE_COLUMNS),
    ("presence", &PRESENCE_COLUMNS),
    ("interactions", &INTERACTION_COLUMNS),
    ("groups", &GROUP_COLUMNS),
    ("disks", &DISK_COLUMNS),
    ("interfaces", &INTERFACE_COLUMNS),
];
const SAMPLE_COLUMNS: [&str; 24] = [
    "start",
    "length_s",
    "user_s",
    "nice_s",
    "system_s",
    "irq_s",
    "softirq_s",
    "steal_s",
    "idle_s",
    "iowait_s",
    "cpu_exact_s",
    "psi_cpu_some_s",
    "psi_memory_some_s",
    "psi_memory_full_s",
    "psi_io_some_s",
    "psi_io_full_s",
    "memory_total_bytes",
    "memory_available_bytes",
    "swap_total_bytes",
    "swap_free_bytes",
    "processes",
    "sessions",
    "active_users",
    "recorder_cpu_s",
];
const USE_COLUMNS: [&str; 16] = [
    "start",
    "user",
    "name",
    "kind",
    "command",
    "user_s",
    "system_s",
    "cpu_exact_s",
    "run_delay_s",
    "io_delay_s",
    "read_bytes",
    "write_bytes",
    "processes",
    "memory_bytes",
    "gpu_s",
    "gpu_memory_bytes",
];
const PRESENCE_COLUMNS: [&str; 7] =
    ["start", "user", "name", "kind", "processes", "memory_proportional_bytes", "memory_resident_bytes"];
const INTERACTION_COLUMNS: [&str; 3] = ["due", "completion", "population"];
/// Columns before the amounts in those of [`Records`]: start, key, name and kind.
const LABELS: usize = 4;
/// Amounts of a row of a control group, a disk and a network interface.
pub(crate) const GROUP_AMOUNTS: usize = GROUP_COLUMNS.len() - LABELS;
pub(crate) const DISK_AMOUNTS: usize = DISK_COLUMNS.len() - LABELS;
pub(crate) const INTERFACE_AMOUNTS: usize = INTERFACE_COLUMNS.len() - LABELS;
const GROUP_COLUMNS: [&str; 28] = [
    "start",
    "group",
    "name",
    "kind",
    "cpu_s",
    "user_s",
    "system_s",
    "throttled_s",
    "throttled_periods",
    "periods",
    "psi_cpu_some_s",
    "psi_memory_some_s",
    "psi_memory_full_s",
    "psi_io_some_s",
    "psi_io_full_s",
    "read_bytes",
    "write_bytes",
    "reads",
    "writes",
    "memory_events_high",
    "memory_events_max",
    "memory_oom_kills",
    "memory_bytes",
    "memory_anonymous_bytes",
    "memory_file_bytes",
    "memory_swap_bytes",
    "memory_peak_bytes",
    "memory_limit_bytes",
];
/// Place of a group's memory among its amounts.
const GROUP_MEMORY: usize = 18;
const DISK_COLUMNS: [&str; 12] = [
    "start",
    "device",
    "name",
    "kind",
    "reads",
    "writes",
    "read_bytes",
    "write_bytes",
    "read_wait_s",
    "write_wait_s",
    "busy_s",
    "queue_s",
];
const INTERFACE_COLUMNS: [&str; 10] = [
    "start",
    "interface",
    "name",
    "kind",
    "packets_in",
    "packets_out",
    "bytes_in",
    "bytes_out",
    "errors",
    "drops",
];

/// Counters of the machine in an interval; times in seconds, sizes in bytes, absent where the log has none.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Sample {
    /// Start by the wall clock [µs since 1970-01-01 UTC].
    pub(crate) start_us: i64,
    pub(crate) length_s: f64,
    pub(crate) user_s: Option<f64>,
    pub(crate) system_s: Option<f64>,
    /// Idle while a task waits for a disk.
    pub(crate) wait_s: Option<f64>,
    pub(crate) idle_s: Option<f64>,
    pub(crate) steal_s: Option<f64>,
    pub(crate) exact_s: Option<f64>,
    pub(crate) psi_cpu_some_s: Option<f64>,
    pub(crate) psi_memory_some_s: Option<f64>,
    pub(crate) psi_memory_full_s: Option<f64>,
    pub(crate) psi_disk_some_s: Option<f64>,
    pub(crate) psi_disk_full_s: Option<f64>,
    pub(crate) memory_total_bytes: Option<f64>,
    pub(crate) memory_available_bytes: Option<f64>,
    pub(crate) swap_total_bytes: Option<f64>,
    pub(crate) swap_free_bytes: Option<f64>,
    pub(crate) processes: Option<f64>,
    pub(crate) sessions: Option<f64>,
    pub(crate) active_users: Option<f64>,
    pub(crate) recorder_cpu_s: Option<f64>,
}

impl Sample {
    /// End of the interval [µs since 1970-01-01 UTC].
    pub(crate) fn end_us(&self) -> i64 {
        self.start_us.saturating_add((self.length_s * 1e6) as i64)
    }
}

/// What a user, or one of a user's commands, used in an interval.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Use {
    pub(crate) user: Arc<str>,
    pub(crate) name: Option<Arc<str>>,
    pub(crate) kind: Option<Arc<str>>,
    /// `None` for the user as a whole.
    pub(crate) command: Option<Arc<str>>,
    pub(crate) cpu_s: Option<f64>,
    pub(crate) run_delay_s: Option<f64>,
    pub(crate) io_delay_s: Option<f64>,
    pub(crate) read_bytes: Option<f64>,
    pub(crate) write_bytes: Option<f64>,
    pub(crate) processes: Option<f64>,
    pub(crate) memory_bytes: Option<f64>,
    pub(crate) gpu_s: Option<f64>,
    pub(crate) gpu_memory_bytes: Option<f64>,
}

/// A user who has a process, active or not.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Present {
    pub(crate) user: Arc<str>,
    pub(crate) name: Option<Arc<str>>,
    pub(crate) kind: Option<Arc<str>>,
    pub(crate) processes: Option<f64>,
    pub(crate) proportional_bytes: Option<f64>,
    pub(crate) resident_bytes: Option<f64>,
}

/// An interaction that was completed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Interaction {
    /// [µs since 1970-01-01 UTC]
    pub(crate) completion_us: i64,
    /// From the moment when the input was due.
    pub(crate) response_s: f64,
    /// Users playing when it was due.
    pub(crate) population: Option<f64>,
}

/// What a control group or a device did in an interval.
#[derive(Clone, Debug)]
pub(crate) struct Record<const N: usize> {
    pub(crate) key: Arc<str>,
    pub(crate) name: Option<Arc<str>>,
    pub(crate) kind: Option<Arc<str>>,
    /// Not a number where absent: half as large as options, of which there would be millions.
    amounts: [f64; N],
}

impl<const N: usize> Record<N> {
    /// The amounts in the order of the columns of the table.
    pub(crate) fn amounts(&self) -> [Option<f64>; N] {
        self.amounts.map(|amount| (!amount.is_nan()).then_some(amount))
    }
}

/// Rows of a table in which those who did nothing in an interval have none.
#[derive(Debug)]
pub(crate) struct Records<const N: usize> {
    /// By the start of their interval.
    rows: BTreeMap<i64, Vec<Record<N>>>,
    /// Where the rows of each are: start of the interval, and place among its rows; in order.
    places: BTreeMap<Arc<str>, Vec<(i64, usize)>>,
    /// Intervals with a reading of memory.
    beats: BTreeSet<i64>,
}

// Derived, it would want numbers that have a default of their own.
impl<const N: usize> Default for Records<N> {
    fn default() -> Self {
        Records { rows: BTreeMap::new(), places: BTreeMap::new(), beats: BTreeSet::new() }
    }
}

impl<const N: usize> Records<N> {
    fn push(&mut self, start_us: i64, record: Record<N>) {
        let rows = self.rows.entry(start_us).or_default();
        let places = self.places.entry(Arc::clone(&record.key)).or_default();
        // At the end, unless a clock was set back.
        let at = places.partition_point(|(other_us, _)| *other_us <= start_us);
        places.insert(at, (start_us, rows.len()));
        rows.push(record);
    }

    /// The rows of the interval that starts at `start_us`.
    pub(crate) fn at(&self, start_us: i64) -> &[Record<N>] {
        self.rows.get(&start_us).map_or(&[], Vec::as_slice)
    }

    /// The last row of one of them until `start_us`, with the start of its interval.
    pub(crate) fn last_of(&self, key: &str, start_us: i64) -> Option<(i64, &Record<N>)> {
        self.found(self.places.get(key)?, start_us)
    }

    fn found(&self, places: &[(i64, usize)], start_us: i64) -> Option<(i64, &Record<N>)> {
        let before = places.partition_point(|(other_us, _)| *other_us <= start_us);
        let (found_us, place) = *places.get(before.checked_sub(1)?)?;
        Some((found_us, self.rows.get(&found_us)?.get(place)?))
    }

    /// The last row of each until `start_us`, with the start of its interval.
    pub(crate) fn last(&self, start_us: i64) -> impl Iterator<Item = (i64, &Record<N>)> {
        self.places.values().filter_map(move |places| self.found(places, start_us))
    }

    /// The rows of the last interval until `start_us` with a reading of memory, with its start.
    pub(crate) fn last_beat(&self, start_us: i64) -> Option<(i64, &[Record<N>])> {
        let beat_us = *self.beats.range(..=start_us).next_back()?;
        Some((beat_us, self.at(beat_us)))
    }
}

/// Rows of a part of the log.
#[derive(Debug, Default)]
pub(crate) struct Part {
    pub(crate) number: u64,
    /// In the order in which they were written.
    pub(crate) samples: Vec<Sample>,
    /// By the start of their interval.
    pub(crate) users: BTreeMap<i64, Vec<Use>>,
    pub(crate) commands: BTreeMap<i64, Vec<Use>>,
    pub(crate) presence: BTreeMap<i64, Vec<Present>>,
    /// By the time of their completion.
    pub(crate) interactions: Vec<Interaction>,
    pub(crate) groups: Records<GROUP_AMOUNTS>,
    pub(crate) disks: Records<DISK_AMOUNTS>,
    pub(crate) interfaces: Records<INTERFACE_AMOUNTS>,
    /// Some row tells the use of a GPU.
    pub(crate) has_gpu: bool,
    texts: BTreeSet<Arc<str>>,
    rows: usize,
}

impl Part {
    pub(crate) fn new(number: u64) -> Part {
        Part { number, ..Part::default() }
    }

    /// Time of the samples, from the first start to the last end [µs].
    pub(crate) fn range(&self) -> Option<(i64, i64)> {
        Some((self.samples.first()?.start_us, self.samples.last()?.end_us()))
    }

    /// Takes the rows of `batch` of `table`; those whose time is outside `within`, if that is given, are left out.
    pub(crate) fn take(
        &mut self,
        table: &str,
        batch: &RecordBatch,
        within: Option<(i64, i64)>,
    ) -> Result<(), LogError> {
        self.rows = self.rows.saturating_add(batch.num_rows());
        if self.rows > ROWS_MAX {
            return Err(LogError::Schema {
                table: table.into(),
                reason: format!(
                    "part {} has more than {ROWS_MAX} rows, too many to show; `thinktime report` reads such logs",
                    self.number
                ),
            });
        }
        let is_in = |time_us: i64| within.is_none_or(|(low, high)| (low..=high).contains(&time_us));
        match table {
            "samples" => self.take_samples(batch, is_in),
            "users" | "commands" => self.take_uses(table, batch, is_in),
            "presence" => self.take_presence(batch, is_in),
            "interactions" => self.take_interactions(batch, is_in),
            "groups" => {
                for (start_us, record) in self.records(GROUP_COLUMNS, batch, is_in) {
                    if !record.amounts[GROUP_MEMORY].is_nan() {
                        self.groups.beats.insert(start_us);
                    }
                    self.groups.push(start_us, record);
                }
            }
            "disks" => {
                for (start_us, record) in self.records(DISK_COLUMNS, batch, is_in) {
                    self.disks.push(start_us, record);
                }
            }
            "interfaces" => {
                for (start_us, record) in self.records(INTERFACE_COLUMNS, batch, is_in) {
                    self.interfaces.push(start_us, record);
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn take_samples(&mut self, batch: &RecordBatch, is_in: impl Fn(i64) -> bool) {
        let column = |name: &str| Values::of(batch, name);
        let [start, length] = ["start", "length_s"].map(column);
        let [user, nice, system, irq, softirq] =
            ["user_s", "nice_s", "system_s", "irq_s", "softirq_s"].map(column);
        let [steal, idle, wait, exact] = ["steal_s", "idle_s", "iowait_s", "cpu_exact_s"].map(column);
        let [cpu_some, memory_some, memory_full, disk_some, disk_full] =
            ["psi_cpu_some_s", "psi_memory_some_s", "psi_memory_full_s", "psi_io_some_s", "psi_io_full_s"]
                .map(column);
        let [total, available, swap_total, swap_free] =
            ["memory_total_bytes", "memory_available_bytes", "swap_total_bytes", "swap_free_bytes"]
                .map(column);
        let [processes, sessions, active, recorder] =
            ["processes", "sessions", "active_users", "recorder_cpu_s"].map(column);
        for row in 0..batch.num_rows() {
            let (Some(start_us), Some(length_s)) = (start.time(row), length.number(row)) else { continue };
            if !(is_in(start_us) && length_s > 0.0 && length_s < 1e9) {
                continue;
            }
            // Of states that belong together: the sum of those that are there.
            let sum = |parts: &[&Values<'_>]| {
                let there = parts.iter().filter_map(|part| part.number(row));
                there.fold(None, |sum: Option<f64>, part| Some(sum.unwrap_or(0.0) + part))
            };
            self.samples.push(Sample {
                start_us,
                length_s,
                user_s: sum(&[&user, &nice]),
                system_s: sum(&[&system, &irq, &softirq]),
                wait_s: wait.number(row),
                idle_s: idle.number(row),
                steal_s: steal.number(row),
                exact_s: exact.number(row),
                psi_cpu_some_s: cpu_some.number(row),
                psi_memory_some_s: memory_some.number(row),
                psi_memory_full_s: memory_full.number(row),
                psi_disk_some_s: disk_some.number(row),
                psi_disk_full_s: disk_full.number(row),
                memory_total_bytes: total.number(row),
                memory_available_bytes: available.number(row),
                swap_total_bytes: swap_total.number(row),
                swap_free_bytes: swap_free.number(row),
                processes: processes.number(row),
                sessions: sessions.number(row),
                active_users: active.number(row),
                recorder_cpu_s: recorder.number(row),
            });
        }
    }

    fn take_uses(&mut self, table: &str, batch: &RecordBatch, is_in: impl Fn(i64) -> bool) {
        let column = |name: &str| Values::of(batch, name);
        let [start, user, name, kind, command] = ["start", "user", "name", "kind", "command"].map(column);
        let [ticks_user, ticks_system, exact] = ["user_s", "system_s", "cpu_exact_s"].map(column);
        let [run_delay, io_delay] = ["run_delay_s", "io_delay_s"].map(column);
        let [read, write, processes, memory] =
            ["read_bytes", "write_bytes", "processes", "memory_bytes"].map(column);
        let [gpu, gpu_memory] = ["gpu_s", "gpu_memory_bytes"].map(column);
        for row in 0..batch.num_rows() {
            let Some(start_us) = start.time(row).filter(|start_us| is_in(*start_us)) else { continue };
            let ticks = || match (ticks_user.number(row), ticks_system.number(row)) {
                (None, None) => None,
                (user, system) => Some(user.unwrap_or(0.0) + system.unwrap_or(0.0)),
            };
            let used = Use {
                user: self.text(user.text(row)).unwrap_or_default(),
                name: self.text(name.text(row)),
                kind: self.text(kind.text(row)),
                command: self.text(command.text(row)),
                cpu_s: exact.number(row).or_else(ticks),
                run_delay_s: run_delay.number(row),
                io_delay_s: io_delay.number(row),
                read_bytes: read.number(row),
                write_bytes: write.number(row),
                processes: processes.number(row),
                memory_bytes: memory.number(row),
                gpu_s: gpu.number(row),
                gpu_memory_bytes: gpu_memory.number(row),
            };
            self.has_gpu |= used.gpu_s.is_some() || used.gpu_memory_bytes.is_some();
            let place = if table == "users" { &mut self.users } else { &mut self.commands };
            place.entry(start_us).or_default().push(used);
        }
    }

    fn take_presence(&mut self, batch: &RecordBatch, is_in: impl Fn(i64) -> bool) {
        let column = |name: &str| Values::of(batch, name);
        let [start, user, name, kind] = ["start", "user", "name", "kind"].map(column);
        let [processes, proportional, resident] =
            ["processes", "memory_proportional_bytes", "memory_resident_bytes"].map(column);
        for row in 0..batch.num_rows() {
            let Some(start_us) = start.time(row).filter(|start_us| is_in(*start_us)) else { continue };
            let present = Present {
                user: self.text(user.text(row)).unwrap_or_default(),
                name: self.text(name.text(row)),
                kind: self.text(kind.text(row)),
                processes: processes.number(row),
                proportional_bytes: proportional.number(row),
                resident_bytes: resident.number(row),
            };
            self.presence.entry(start_us).or_default().push(present);
        }
    }

    fn take_interactions(&mut self, batch: &RecordBatch, is_in: impl Fn(i64) -> bool) {
        let mut is_in_order = true;
        let [due, completion, population] = INTERACTION_COLUMNS.map(|name| Values::of(batch, name));
        for row in 0..batch.num_rows() {
            let (Some(due_us), Some(completion_us)) = (due.time(row), completion.time(row)) else { continue };
            if !is_in(completion_us) {
                continue;
            }
            let interaction = Interaction {
                completion_us,
                response_s: completion_us.saturating_sub(due_us) as f64 * 1e-6,
                population: population.number(row),
            };
            is_in_order &= self.interactions.last().is_none_or(|last| last.completion_us <= completion_us);
            self.interactions.push(interaction);
        }
        // Sources write them nearly in order, the rows of several users together.
        if !is_in_order {
            self.interactions.sort_by_key(|interaction| interaction.completion_us);
        }
    }

    /// The rows of `batch`, with the start of their interval; those without one are left out.
    fn records<const C: usize, const N: usize>(
        &mut self,
        columns: [&str; C],
        batch: &RecordBatch,
        is_in: impl Fn(i64) -> bool,
    ) -> Vec<(i64, Record<N>)> {
        let columns = columns.map(|name| Values::of(batch, name));
        let (labels, amounts) = columns.split_at(LABELS);
        let record = |row: usize| {
            let start_us = labels[0].time(row).filter(|start_us| is_in(*start_us))?;
            let [key, name, kind] = [1, 2, 3].map(|label| self.text(labels[label].text(row)));
            let amounts = std::array::from_fn(|at| amounts[at].number(row).unwrap_or(f64::NAN));
            Some((start_us, Record { key: key.unwrap_or_default(), name, kind, amounts }))
        };
        (0..batch.num_rows()).filter_map(record).collect()
    }

    /// The text, kept once however often it occurs.
    fn text(&mut self, text: Option<&str>) -> Option<Arc<str>> {
        let text = text?;
        let end = (0..=TEXT_BYTES_MAX.min(text.len())).rev().find(|end| text.is_char_boundary(*end));
        let text = &text[..end.unwrap_or(0)];
        if let Some(known) = self.texts.get(text) {
            return Some(Arc::clone(known));
        }
        let kept: Arc<str> = Arc::from(text);
        self.texts.insert(Arc::clone(&kept));
        Some(kept)
    }
}

/// Values of a column, whatever its type; those of another type than a column of that name has are absent.
enum Values<'a> {
    U64(&'a UInt64Array),
    I64(&'a Int64Array),
    F64(&'a Float64Array),
    Time(&'a TimestampMicrosecondArray),
    Text(&'a StringArray),
    Absent,
}

impl<'a> Values<'a> {
    fn of(batch: &'a RecordBatch, name: &str) -> Values<'a> {
        let Some(column) = batch.column_by_name(name) else { return Values::Absent };
        let any = column.as_any();
        if let Some(values) = any.downcast_ref() {
            Values::U64(values)
        } else if let Some(values) = any.downcast_ref() {
            Values::I64(values)
        } else if let Some(values) = any.downcast_ref() {
            Values::F64(values)
        } else if let Some(values) = any.downcast_ref() {
            Values::Time(values)
        } else if let Some(values) = any.downcast_ref() {
            Values::Text(values)
        } else {
            Values::Absent
        }
    }

    /// A number that can be shown: finite and not below zero, as amounts and levels are.
    fn number(&self, row: usize) -> Option<f64> {
        let number = match self {
            Values::U64(values) if values.is_valid(row) => values.value(row) as f64,
            Values::I64(values) if values.is_valid(row) => values.value(row) as f64,
            Values::F64(values) if values.is_valid(row) => values.value(row),
            _ => return None,
        };
        (number.is_finite() && number >= 0.0).then_some(number)
    }

    fn time(&self, row: usize) -> Option<i64> {
        match self {
            Values::Time(values) if values.is_valid(row) => Some(values.value(row)),
            _ => None,
        }
    }

    fn text(&self, row: usize) -> Option<&'a str> {
        match self {
            Values::Text(values) if values.is_valid(row) => Some(values.value(row)),
            _ => None,
        }
    }
}
