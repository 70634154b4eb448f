//! Laws of a log: what holds for the rows of every sound log, whatever its source.
//!
//! A law has a name and a sentence; `docs/reference/log-format.md` lists them with their tolerances, and
//! `Log::check` names the law that a row breaks. What is impossible is an error, what is improbable a note.
//! A law never fires on a sound log: the kernel does not close its counters at one instant, clocks are read one
//! after the other, and hypervisors account stolen time late, so that tolerances are generous.
//!
//! Rows are read once, part by part in order of their numbers. State is carried over batches and parts: sums, the
//! row before, and the intervals of the last part of `samples`, with which rows of users and devices are joined.

mod commands;
mod interactions;
mod intervals;
mod known;
mod latencies;
mod manifest;
mod span;
mod values;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, TimestampMicrosecondType, UInt64Type};
use arrow_array::{Array, Float64Array, PrimitiveArray, RecordBatch};
use parquet::arrow::ProjectionMask;

use crate::check::{Defect, Severity};
use crate::folder::Folder;
use crate::laws::commands::Commands;
use crate::laws::interactions::Interactions;
use crate::laws::intervals::Intervals;
use crate::laws::known::Known;
use crate::laws::latencies::Latencies;
use crate::laws::manifest::Machine;
use crate::laws::span::Extremes;
use crate::laws::values::Rule;
use crate::manifest::Manifest;
use crate::reader::Log;
use crate::schema::TableSchema;

/// A statement that is true of every sound log.
#[derive(Debug)]
pub(crate) struct Law {
    /// Name, as in the documentation.
    pub name: &'static str,
    severity: Severity,
    remedy: &'static str,
}

const fn error(name: &'static str, remedy: &'static str) -> Law {
    Law { name, severity: Severity::Error, remedy }
}

const fn note(name: &'static str, remedy: &'static str) -> Law {
    Law { name, severity: Severity::Note, remedy }
}

const LEAVE_OUT: &str = "leave the row out of what you compute; if thinktime wrote it, report it";
const SOURCE: &str = "correct the source that wrote the log, or leave the rows out of what you compute";

/// Doubles are finite, and small enough for sums of squares.
pub(crate) const FINITE: Law = error("finite", LEAVE_OUT);
/// Amounts are zero or more.
pub(crate) const NOT_NEGATIVE: Law = error("not_negative", LEAVE_OUT);
/// Amounts fit into their interval, and readings into a machine.
pub(crate) const POSSIBLE_AMOUNT: Law = error("possible_amount", LEAVE_OUT);
/// The part of a memory that is free is at most the whole.
pub(crate) const FREE_WITHIN_TOTAL: Law = error("free_within_total", LEAVE_OUT);
/// Times lie in the years 1 to 9999.
pub(crate) const POSSIBLE_TIME: Law = error("possible_time", LEAVE_OUT);
/// An interval has a length.
pub(crate) const POSITIVE_LENGTH: Law = error("positive_length", "leave the row out of what you compute");
/// An interval begins after the one before, and not before that one's end.
pub(crate) const IN_ORDER: Law = error("in_order", SOURCE);
/// A recording has no gap that no incident explains.
pub(crate) const NO_GAP: Law = error("no_gap", "rows are missing: restore the log from a copy");
/// CPU time by state is at most length times CPUs.
pub(crate) const CPU_TIME_FITS: Law = error("cpu_time_fits", LEAVE_OUT);
/// CPU time by state, over the whole log, is most of length times CPUs.
pub(crate) const CPU_TIME_ADDS_UP: Law =
    note("cpu_time_adds_up", "shares of the machine's capacity are too small if machine.cpus is wrong");
/// CPU time of the CPUs adds up to that of the machine.
pub(crate) const CPUS_ADD_UP: Law = error("cpus_add_up", LEAVE_OUT);
/// CPU time of all users is at most the machine's.
pub(crate) const USERS_WITHIN_MACHINE: Law = error("users_within_machine", SOURCE);
/// Active users have rows in `users`.
pub(crate) const ACTIVE_USERS_ARE_USERS: Law = error("active_users_are_users", LEAVE_OUT);
/// What disks and interfaces did adds up to what the machine did.
pub(crate) const DEVICES_ADD_UP: Law = error("devices_add_up", LEAVE_OUT);
/// What a user's commands used adds up to what the user used.
pub(crate) const COMMANDS_ADD_UP: Law = error("commands_add_up", LEAVE_OUT);
/// Rows of users and devices stand in the order of their intervals.
pub(crate) const DETAILS_IN_ORDER: Law =
    error("details_in_order", "sort the rows by start before you use them");
/// Interactions stand in order of their completion.
pub(crate) const COMPLETIONS_IN_ORDER: Law =
    note("completions_in_order", "sort the rows by completion before you use them");
/// Interactions and events lie in the time of the log.
pub(crate) const WITHIN_THE_LOG: Law = error("within_the_log", LEAVE_OUT);
/// Rows of users and devices belong to an interval of `samples`.
pub(crate) const WITHIN_AN_INTERVAL: Law =
    error("within_an_interval", "the rows may belong to a damaged part of samples");
/// Due, sent, first service, first output and completion follow each other.
pub(crate) const INTERACTIONS_GO_FORWARD: Law = error("interactions_go_forward", LEAVE_OUT);
/// CPU time of an interaction is at most its response time on every CPU.
pub(crate) const SERVICE_WITHIN_RESPONSE: Law = error("service_within_response", LEAVE_OUT);
/// The user who typed an input is one of the population.
pub(crate) const POPULATION_HAS_ITS_USER: Law = error("population_has_its_user", LEAVE_OUT);
/// Users who wait for a reply have at most one input without it.
pub(crate) const REPLIES_ARE_WAITED_FOR: Law = error(
    "replies_are_waited_for",
    "the times of the replies are lost: restore the log from a copy, or correct the source that wrote it",
);
/// Where a simulated user waits for a reply, some user is active.
pub(crate) const WAITING_USERS_ARE_ACTIVE: Law = error("waiting_users_are_active", LEAVE_OUT);
/// What its source always knows is not null.
pub(crate) const KNOWN_VALUES: Law = error(
    "known_values",
    "the values are lost: restore the log from a copy, or correct the source that wrote it",
);
/// The simulated processors are in one of their states at every moment.
pub(crate) const SIMULATED_TIME_ADDS_UP: Law = error("simulated_time_adds_up", LEAVE_OUT);
/// CPU time and waits of an interaction, which are parts of its response, are together at most that.
pub(crate) const PARTS_WITHIN_RESPONSE: Law = error("parts_within_response", LEAVE_OUT);
/// Events stand in order of time.
pub(crate) const EVENTS_IN_ORDER: Law = note("events_in_order", "sort the rows by time before you use them");
/// A session has no more CPUs with rows than its machine has.
pub(crate) const CPUS_ARE_KNOWN: Law =
    note("cpus_are_known", "if no CPU was plugged in, correct machine.cpus in the source");
/// Sessions and incidents have possible counts and times.
pub(crate) const POSSIBLE_MANIFEST: Law =
    error("possible_manifest", "restore manifest.json from a copy, or correct the source that wrote the log");
/// Traced durations are between the bounds of their bucket.
pub(crate) const LATENCIES_IN_BUCKETS: Law = error("latencies_in_buckets", LEAVE_OUT);
/// Traced slices of CPU time are within the CPU time of the machine.
pub(crate) const SLICES_WITHIN_CPU_TIME: Law = error("slices_within_cpu_time", SOURCE);
/// In most intervals, traced waits for a CPU are together those that the kernel sums for processes.
pub(crate) const WAITS_ADD_UP: Law = error("waits_for_cpu_add_up", SOURCE);
/// The same by user.
pub(crate) const WAITS_ARE_OF_THEIR_USERS: Law = note(
    "waits_for_cpu_by_user",
    "unless processes often change their user, correct the source that wrote the log",
);
/// The facts of the recorder agree with its rows.
pub(crate) const FACTS_AGREE: Law =
    error("facts_agree", "rows are missing or were added: restore the log from a copy");

/// Rows that break a law and are listed one by one, for each law and file.
const LISTED_MAX: u64 = 5;

/// The defects found so far.
#[derive(Default)]
pub(crate) struct Report {
    defects: Vec<Defect>,
    /// A part of `samples` is damaged: rows without an interval are its consequence, and are only counted.
    lacks_intervals: bool,
    counts: BTreeMap<(PathBuf, &'static str), (u64, &'static Law)>,
}

impl Report {
    /// Row `row` of `file` breaks `law`.
    fn row(
        &mut self,
        law: &'static Law,
        file: &Path,
        row: usize,
        column: &str,
        message: impl FnOnce() -> String,
    ) {
        let (count, _) = self.counts.entry((file.into(), law.name)).or_insert((0, law));
        *count += 1;
        if *count <= self.listed_most(law) {
            self.push(law, file, format!("row {row}"), column, message());
        }
    }

    /// Rows that break `law` in a file and are listed.
    fn listed_most(&self, law: &Law) -> u64 {
        if self.lacks_intervals && law.name == WITHIN_AN_INTERVAL.name { 0 } else { LISTED_MAX }
    }

    /// The file breaks `law` as a whole.
    fn push(&mut self, law: &'static Law, file: &Path, place: String, item: &str, message: String) {
        self.defects.push(Defect {
            severity: law.severity,
            law: law.name,
            file: file.into(),
            place,
            item: item.into(),
            message,
            remedy: law.remedy.into(),
        });
    }

    /// The defects, with the number of those that were not listed.
    fn finish(mut self) -> Vec<Defect> {
        for ((file, _), (count, law)) in std::mem::take(&mut self.counts) {
            let listed = self.listed_most(law);
            if count > listed {
                let message = if listed == 0 {
                    format!("{} rows start when no interval of samples does", grouped(count))
                } else {
                    format!("and {} more values that break this law", grouped(count - listed))
                };
                self.push(law, &file, String::new(), law.name, message);
            }
        }
        self.defects
    }
}

/// `count` with a comma between the thousands.
fn grouped(count: u64) -> String {
    let digits = count.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index) % 3 == 0 {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Rows of a batch, and where they stand.
#[derive(Clone, Copy)]
pub(crate) struct Rows<'a> {
    pub file: &'a Path,
    pub schema: &'a TableSchema,
    /// Number in the file of the first row of the batch.
    pub first: usize,
    pub batch: &'a RecordBatch,
}

impl<'a> Rows<'a> {
    fn len(&self) -> usize {
        self.batch.num_rows()
    }

    fn floats(&self, column: &str) -> Option<&'a Float64Array> {
        self.batch.column_by_name(column)?.as_primitive_opt::<Float64Type>()
    }

    fn counts(&self, column: &str) -> Option<&'a PrimitiveArray<UInt64Type>> {
        self.batch.column_by_name(column)?.as_primitive_opt::<UInt64Type>()
    }

    fn times(&self, column: &str) -> Option<&'a PrimitiveArray<TimestampMicrosecondType>> {
        self.batch.column_by_name(column)?.as_primitive_opt::<TimestampMicrosecondType>()
    }
}

/// Value `index` of a column; `None` where it is null or the column is absent.
fn value<T: arrow_array::ArrowPrimitiveType>(
    column: Option<&PrimitiveArray<T>>,
    index: usize,
) -> Option<T::Native> {
    column.filter(|column| column.is_valid(index)).map(|column| column.value(index))
}

/// The laws on their way through a log.
pub(crate) struct Laws<'a> {
    manifest: &'a Manifest,
    /// Where starts of intervals are looked up that are not in the last part of samples.
    log: Option<(&'a Log, &'a Folder)>,
    dir: &'a Path,
    machine: Machine,
    rules: BTreeMap<String, Vec<Rule>>,
    intervals: Intervals,
    commands: Commands,
    last_event_us: Option<i64>,
    last_completion_us: Option<i64>,
    extremes: Extremes,
    interactions: Interactions,
    known: Known,
    latencies: Latencies,
    report: Report,
}

impl<'a> Laws<'a> {
    /// The laws for `log`; `is_complete` says that nothing of it is known to be lost, `lacks_intervals` that rows of
    /// `samples` are.
    pub fn new(log: &'a Log, folder: &'a Folder, is_complete: bool, lacks_intervals: bool) -> Laws<'a> {
        let cpus = cpus_with_rows(log, folder);
        let mut laws = Laws::of(log.manifest(), &log.dir, Some((log, folder)), cpus, is_complete);
        laws.report.lacks_intervals = lacks_intervals;
        laws
    }

    /// The laws for rows without a folder.
    #[cfg(any(test, fuzzing))]
    pub fn of_rows(manifest: &'a Manifest) -> Laws<'a> {
        Laws::of(manifest, Path::new("log"), None, 0, true)
    }

    fn of(
        manifest: &'a Manifest,
        dir: &'a Path,
        log: Option<(&'a Log, &'a Folder)>,
        cpus_with_rows: usize,
        is_complete: bool,
    ) -> Laws<'a> {
        let mut report = Report::default();
        let machine = Machine::of(manifest, dir, cpus_with_rows, is_complete, &mut report);
        let intervals = Intervals::new(&machine);
        let rules = BTreeMap::new();
        Laws {
            manifest,
            log,
            dir,
            machine,
            rules,
            intervals,
            commands: Commands::default(),
            last_event_us: None,
            last_completion_us: None,
            extremes: Extremes::default(),
            interactions: Interactions::default(),
            known: Known::new(manifest),
            latencies: Latencies::new(manifest),
            report,
        }
    }

    /// Checks a batch of rows.
    pub fn rows(&mut self, rows: Rows<'_>) {
        let lengths = match rows.schema.name.as_str() {
            "samples" => {
                if rows.first == 0 {
                    self.commands_add_up();
                    self.latencies.close(&self.machine);
                }
                self.extremes.intervals(rows);
                self.latencies.samples(rows);
                self.intervals.samples(rows, &self.machine, &mut self.report)
            }
            table @ ("users" | "commands" | "presence" | "groups" | "cpus" | "disks" | "interfaces"
            | "latencies") => {
                if matches!(table, "users" | "commands") {
                    self.commands.rows(rows);
                }
                match table {
                    "latencies" => self.latencies.rows(rows, &mut self.report),
                    "users" => self.latencies.users(rows),
                    _ => {}
                }
                let log = self.log;
                let starts = || log.map_or(Some(Vec::new()), |(log, folder)| starts_of(log, folder));
                self.intervals.details(rows, &self.machine, &mut self.report, starts)
            }
            "interactions" => {
                self.interactions.check(rows, &self.machine, &mut self.report);
                self.intervals.interactions(rows, &self.machine, &mut self.report);
                let steps = &interactions::STEPS;
                self.extremes.times(rows, steps);
                self.in_order(rows, &COMPLETIONS_IN_ORDER, "completion");
                Vec::new()
            }
            "events" => {
                self.extremes.times(rows, &["time"]);
                self.in_order(rows, &EVENTS_IN_ORDER, "time");
                Vec::new()
            }
            _ => Vec::new(),
        };
        self.known.check(rows, &self.machine, &mut self.report);
        let name = &rows.schema.name;
        if !self.rules.contains_key(name) {
            self.rules.insert(name.clone(), values::rules(rows.schema, &self.machine));
        }
        for rule in &self.rules[name] {
            rule.check(rows, &lengths, &self.machine, &mut self.report);
        }
    }

    /// Compares the commands of the last part of `samples` with its users.
    fn commands_add_up(&mut self) {
        let is_comparable = self.machine.is_recorded && self.machine.is_complete;
        self.commands.close(is_comparable, self.machine.is_by_group, &mut self.report);
    }

    /// Simulators write events and interactions as they happen, and recordings within the time that a thread waits for
    /// the writer.
    fn in_order(&mut self, rows: Rows<'_>, law: &'static Law, column: &str) {
        const LATE_US: i64 = 1_000_000;
        let Some(times) = rows.times(column) else { return };
        let is_events = rows.schema.name == "events";
        let last_us = if is_events { &mut self.last_event_us } else { &mut self.last_completion_us };
        for (index, time) in times.iter().enumerate() {
            let Some(time) = time else { continue };
            let is_late = last_us.is_some_and(|last| time < last.saturating_sub(LATE_US));
            // The first row of a part may be that of another session or replication.
            if is_late && rows.first + index > 0 && !self.machine.has_clock_step {
                self.report.row(law, rows.file, rows.first + index, column, || {
                    "the one in the row before is later by more than 1 s".into()
                });
            }
            *last_us = Some(time);
        }
    }

    /// The defects, after the last row.
    pub fn finish(mut self) -> Vec<Defect> {
        self.commands_add_up();
        self.intervals.finish(&self.machine, &mut self.report);
        self.interactions.finish(&self.machine, &mut self.report);
        self.latencies.close(&self.machine);
        self.latencies.finish(&self.machine, &mut self.report);
        self.known.finish(&self.machine, &mut self.report);
        self.extremes.finish(self.manifest, &self.machine, &mut self.report);
        self.machine.facts_agree(self.manifest, self.dir, &self.intervals.totals, &mut self.report);
        self.report.finish()
    }
}

/// Most CPUs and intervals that are remembered: more are in no sound log, and a hostile one must not fill memory.
const CPUS_MAX: usize = 1 << 16;
const STARTS_MAX: usize = 1 << 24;

/// Number of CPUs that have rows in `cpus`; a part that cannot be read is a defect already.
fn cpus_with_rows(log: &Log, folder: &Folder) -> usize {
    let mut cpus = BTreeSet::new();
    for_each_in_column(log, folder, "cpus", "cpu", |batch| {
        let column = batch.column_by_name("cpu").and_then(|column| column.as_primitive_opt::<UInt64Type>());
        for cpu in column.into_iter().flatten().flatten() {
            if cpus.len() < CPUS_MAX {
                cpus.insert(cpu);
            }
        }
    });
    cpus.len()
}

/// Starts of all intervals in order; `None` where there are too many.
fn starts_of(log: &Log, folder: &Folder) -> Option<Vec<i64>> {
    let mut starts = Vec::new();
    for_each_in_column(log, folder, "samples", "start", |batch| {
        let column = batch.column_by_name("start");
        let column = column.and_then(|column| column.as_primitive_opt::<TimestampMicrosecondType>());
        if starts.len() <= STARTS_MAX {
            starts.extend(column.into_iter().flatten().flatten());
        }
    });
    starts.sort_unstable();
    (starts.len() <= STARTS_MAX).then_some(starts)
}

/// Calls `take` with every batch of one column of `table`.
fn for_each_in_column(
    log: &Log,
    folder: &Folder,
    table: &str,
    column: &str,
    mut take: impl FnMut(&RecordBatch),
) {
    for part in log.part_files(table) {
        // An error is reported when the part is read as a whole.
        let _ = part.open(folder).and_then(|file| {
            part.for_each_batch_of(
                file,
                |reader| {
                    let mask = ProjectionMask::columns(reader.parquet_schema(), [column]);
                    reader.with_projection(mask)
                },
                |batch| {
                    take(&batch);
                    Ok(())
                },
            )
        });
    }
    if let Ok(Some(batch)) = log.open_rows(table) {
        take(&batch);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_law_is_documented() {
        let text = include_str!("../../../../docs/reference/log-format.md");
        for law in [
            &FINITE,
            &NOT_NEGATIVE,
            &POSSIBLE_AMOUNT,
            &FREE_WITHIN_TOTAL,
            &POSSIBLE_TIME,
            &POSITIVE_LENGTH,
            &IN_ORDER,
            &NO_GAP,
            &CPU_TIME_FITS,
            &CPU_TIME_ADDS_UP,
            &CPUS_ADD_UP,
            &USERS_WITHIN_MACHINE,
            &ACTIVE_USERS_ARE_USERS,
            &WITHIN_AN_INTERVAL,
            &DEVICES_ADD_UP,
            &DETAILS_IN_ORDER,
            &COMPLETIONS_IN_ORDER,
            &WITHIN_THE_LOG,
            &INTERACTIONS_GO_FORWARD,
            &SERVICE_WITHIN_RESPONSE,
            &POPULATION_HAS_ITS_USER,
            &REPLIES_ARE_WAITED_FOR,
            &WAITING_USERS_ARE_ACTIVE,
            &KNOWN_VALUES,
            &SIMULATED_TIME_ADDS_UP,
            &PARTS_WITHIN_RESPONSE,
            &EVENTS_IN_ORDER,
            &CPUS_ARE_KNOWN,
            &LATENCIES_IN_BUCKETS,
            &SLICES_WITHIN_CPU_TIME,
            &WAITS_ADD_UP,
            &WAITS_ARE_OF_THEIR_USERS,
            &POSSIBLE_MANIFEST,
            &FACTS_AGREE,
        ] {
            assert!(text.contains(&format!("| `{}` |", law.name)), "{}", law.name);
        }
    }

    #[test]
    fn counts_have_commas_between_thousands() {
        assert_eq!([5, 999, 1000, 1_234_567].map(grouped), ["5", "999", "1,000", "1,234,567"]);
    }
}
