//! The laws of traced durations: each lies in its bucket, slices of CPU time are within the CPU time of the machine, and
//! waits for a CPU are those that the kernel sums for the processes of each user.
//!
//! The last compares two sums in each interval, and counts the intervals in which they differ. A single one says nothing:
//! kernels tell now and then that a task which slept for minutes had waited for a CPU, a process takes its waits along
//! when it changes its user, and of a task that ran before the trace the first wait is not known.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use arrow_array::cast::AsArray;
use arrow_array::{Array, StringArray};

use crate::laws::manifest::Machine;
use crate::laws::{
    LATENCIES_IN_BUCKETS, Law, Report, Rows, SLICES_WITHIN_CPU_TIME, WAITS_ADD_UP, WAITS_ARE_OF_THEIR_USERS,
    value,
};
use crate::manifest::{Manifest, Session};

/// Rounding of sums of doubles, of which each is that of whole nanoseconds.
const ROUNDING: f64 = 1e-9;
/// Slices are as long as tasks have a CPU, interrupts and the hypervisor's time included, and by another clock.
const SLICES_SHARE: f64 = 0.02;
/// For each CPU: a slice is counted when it ends, so that the first reading and the last differ by slices in progress.
const SLICES_S: f64 = 0.1;

/// Waits for a CPU by both: other clocks, for each wait the work of the scheduler between their readings, and the waits of
/// tasks on their last way, of which the kernel's message of their end does not tell.
const WAITS_SHARE: f64 = 0.05;
const WAITS_S: f64 = 20e-6;
/// Waits of an interval that are compared: of fewer, it decides where each one ends [s].
const WAITS_LEAST_S: f64 = 1e-3;
/// Intervals that are compared at least.
const INTERVALS_LEAST: u64 = 4;
/// Rows that are kept of a part, and users; a hostile log must not fill memory.
const KEPT_MAX: usize = 1 << 20;

/// What a CPU gave to tasks, or to what interrupts them.
const GIVEN: [&str; 4] = ["cpu_exact_s", "steal_s", "irq_s", "softirq_s"];

/// True if every session was traced, and all that ended found room: then each interval has all of its waits.
fn is_traced(manifest: &Manifest) -> bool {
    let lost = |session: &Session| session.facts.get("recorder")?.pointer("/trace/durations_lost")?.as_f64();
    !manifest.sessions.is_empty()
        && manifest.retired_through_part == 0
        && manifest.sessions.iter().all(|session| lost(session) == Some(0.0))
}

/// Waits for a CPU in an interval: of a user, or of all.
#[derive(Clone, Copy, Default)]
struct Waits {
    /// As the kernel sums them for processes [s].
    told_s: f64,
    is_unknown: bool,
    /// As they were traced: their sum, their number and the longest [s].
    traced_s: f64,
    count: f64,
    longest_s: f64,
}

impl Waits {
    fn add(&mut self, other: Waits) {
        self.told_s += other.told_s;
        self.is_unknown |= other.is_unknown;
        self.traced_s += other.traced_s;
        self.count += other.count;
        self.longest_s = self.longest_s.max(other.longest_s);
    }

    /// Whether both sums agree; `None` where they cannot be compared.
    fn agree(&self, cpus: f64, length_s: f64, reading_s: f64) -> Option<bool> {
        let most_s = self.told_s.max(self.traced_s);
        if self.is_unknown || most_s < WAITS_LEAST_S || length_s <= 0.0 {
            return None;
        }
        // What ends between the two readings is in one interval for one and in the next for the other: at its beginning
        // and at its end, a wait on each CPU and what waits while processes are read.
        let border_s = cpus * self.longest_s + self.traced_s / length_s * reading_s;
        let allowed_s = WAITS_SHARE * most_s + WAITS_S * self.count + 2.0 * border_s;
        Some((self.traced_s - self.told_s).abs() <= allowed_s)
    }
}

/// Intervals that were compared, those in which the sums differ, and both sums of these [s].
#[derive(Clone, Copy, Default)]
struct Compared {
    intervals: u64,
    broken: u64,
    told_s: f64,
    traced_s: f64,
}

impl Compared {
    fn add(&mut self, waits: &Waits, agree: Option<bool>) {
        let Some(agree) = agree else { return };
        self.intervals += 1;
        if !agree {
            self.broken += 1;
            self.told_s += waits.told_s;
            self.traced_s += waits.traced_s;
        }
    }

    fn is_broken(&self) -> bool {
        self.intervals >= INTERVALS_LEAST && 2 * self.broken > self.intervals
    }
}

/// A user; `None` for those whose commands found no room in the tables of the trace.
type User = Option<Box<str>>;

/// Sums over the log.
#[derive(Default)]
pub(crate) struct Latencies {
    file: PathBuf,
    slices_s: f64,
    given_s: f64,
    has_given: bool,
    is_unknown: bool,
    is_traced: bool,
    /// Of the last part: length of each interval by its start, and CPU time of all tasks while processes were read [s].
    intervals: BTreeMap<i64, (f64, f64)>,
    waits: BTreeMap<(i64, User), Waits>,
    of_all: Compared,
    of_users: BTreeMap<User, Compared>,
}

impl Latencies {
    /// Nothing read yet of the log of `manifest`.
    pub fn new(manifest: &Manifest) -> Latencies {
        Latencies { is_traced: is_traced(manifest), ..Latencies::default() }
    }

    /// Adds a batch of `users`.
    pub fn users(&mut self, rows: Rows<'_>) {
        let users = rows.batch.column_by_name("user").and_then(|column| column.as_string_opt::<i32>());
        let (starts, waits) = (rows.times("start"), rows.floats("run_delay_s"));
        for index in 0..rows.len() {
            let user = users.filter(|users| users.is_valid(index)).map(|users| users.value(index));
            let told_s = value(waits, index);
            let is_unknown = told_s.is_none();
            let waits = Waits { told_s: told_s.unwrap_or(0.0), is_unknown, ..Waits::default() };
            self.wait(value(starts, index), user, waits);
        }
    }

    fn wait(&mut self, start: Option<i64>, user: Option<&str>, waits: Waits) {
        let Some(start) = start.filter(|_| self.is_traced) else { return };
        let key = (start, user.map(Box::from));
        if self.waits.len() < KEPT_MAX || self.waits.contains_key(&key) {
            self.waits.entry(key).or_default().add(waits);
        }
    }

    /// Compares the waits of the intervals of the last part, and forgets them.
    pub fn close(&mut self, machine: &Machine) {
        let cpus = machine.cpus_max.unwrap_or(1.0);
        let intervals = std::mem::take(&mut self.intervals);
        let mut of_all: BTreeMap<i64, Waits> = BTreeMap::new();
        for ((start, user), waits) in std::mem::take(&mut self.waits) {
            let Some((length_s, reading_s)) = intervals.get(&start) else { continue };
            of_all.entry(start).or_default().add(waits);
            if self.of_users.len() < KEPT_MAX {
                let agree = waits.agree(cpus, *length_s, *reading_s);
                self.of_users.entry(user).or_default().add(&waits, agree);
            }
        }
        for (start, waits) in of_all {
            let (length_s, reading_s) = intervals[&start];
            self.of_all.add(&waits, waits.agree(cpus, length_s, reading_s));
        }
    }

    /// Adds a batch of `samples`.
    pub fn samples(&mut self, rows: Rows<'_>) {
        let columns = GIVEN.map(|name| rows.floats(name));
        let (lengths, readings) = (rows.floats("length_s"), rows.floats("recorder_reading_s"));
        let starts = rows.times("start");
        for index in 0..rows.len() {
            let interval = value(starts, index).zip(value(lengths, index));
            if let Some((start, length_s)) = interval.filter(|_| self.intervals.len() < KEPT_MAX) {
                self.intervals.insert(start, (length_s, value(readings, index).unwrap_or(0.0)));
            }
            self.is_unknown |= value(columns[0], index).is_none();
            self.given_s += columns.iter().filter_map(|column| value(*column, index)).sum::<f64>();
            self.has_given = true;
        }
    }

    /// Checks a batch of `latencies`.
    pub fn rows(&mut self, rows: Rows<'_>, report: &mut Report) {
        self.file = rows.file.into();
        let text =
            |name: &str| rows.batch.column_by_name(name).and_then(|column| column.as_string_opt::<i32>());
        let quantities = text("quantity");
        let (users, starts) = (text("user"), rows.times("start"));
        let (lower, upper) = (rows.floats("at_least_s"), rows.floats("below_s"));
        let (counts, sums) = (rows.counts("count"), rows.floats("total_s"));
        for index in 0..rows.len() {
            let (Some(count), Some(total_s)) = (value(counts, index), value(sums, index)) else { continue };
            let (lower_s, upper_s) = (value(lower, index), value(upper, index));
            let least_s = count as f64 * lower_s.unwrap_or(0.0);
            let most_s = count as f64 * upper_s.unwrap_or(f64::INFINITY);
            let is_bucket = lower_s.zip(upper_s).is_none_or(|(lower_s, upper_s)| lower_s < upper_s);
            // Without a duration there is no row, and no sum that an infinite bound could be multiplied into.
            let is_within =
                count > 0 && total_s >= least_s * (1.0 - ROUNDING) && total_s <= most_s * (1.0 + ROUNDING);
            if !is_bucket || !is_within {
                report.row(&LATENCIES_IN_BUCKETS, rows.file, rows.first + index, "total_s", || {
                    format!("{count} durations of {total_s} s together cannot be in their bucket")
                });
            }
            let word = |column: Option<&'_ StringArray>| {
                column.filter(|column| column.is_valid(index)).map(|column| column.value(index).to_owned())
            };
            match word(quantities).as_deref() {
                Some("slice") => self.slices_s += total_s,
                Some("run_queue_wait") => {
                    let longest_s = upper_s.unwrap_or(total_s).min(total_s);
                    let count = count as f64;
                    let waits = Waits { traced_s: total_s, count, longest_s, ..Waits::default() };
                    self.wait(value(starts, index), word(users).as_deref(), waits);
                }
                _ => {}
            }
        }
    }

    /// Compares the sums, after the last row.
    pub fn finish(&self, machine: &Machine, report: &mut Report) {
        self.waits_agree(machine, report);
        if !self.has_given || self.is_unknown || !machine.is_recorded || !machine.is_complete {
            return;
        }
        let cpus = machine.cpus_max.unwrap_or(1.0);
        if self.slices_s > (1.0 + SLICES_SHARE) * self.given_s + SLICES_S * cpus {
            let message = format!("slices are {} s, and CPUs gave {} s", self.slices_s, self.given_s);
            let file: &Path = &self.file;
            report.push(&SLICES_WITHIN_CPU_TIME, file, String::new(), "total_s", message);
        }
    }

    /// Says where waits for a CPU differ: those of all, and those of each user.
    fn waits_agree(&self, machine: &Machine, report: &mut Report) {
        if !machine.is_recorded || !machine.is_complete {
            return;
        }
        let mut tell = |law: &'static Law, who: &str, compared: &Compared| {
            if compared.is_broken() {
                let message = format!(
                    "in {} of {} intervals, traced waits for a CPU {who} are {} s, and the kernel sums {} s",
                    compared.broken, compared.intervals, compared.traced_s, compared.told_s
                );
                report.push(law, &self.file, String::new(), "total_s", message);
            }
        };
        tell(&WAITS_ADD_UP, "of all", &self.of_all);
        // Of whom found no room in the tables of the trace, it is not known whose their waits are.
        if !self.of_users.contains_key(&None) {
            for (user, compared) in &self.of_users {
                tell(
                    &WAITS_ARE_OF_THEIR_USERS,
                    &format!("of {}", user.as_deref().unwrap_or_default()),
                    compared,
                );
            }
        }
    }
}
