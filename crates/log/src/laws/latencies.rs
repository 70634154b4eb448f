//! The laws of traced durations: each lies in its bucket, slices of CPU time are within the CPU time of the machine, and
//! waits for a CPU are those that the kernel sums for the processes of each user.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use arrow_array::cast::AsArray;
use arrow_array::{Array, StringArray};

use crate::laws::manifest::Machine;
use crate::laws::{
    LATENCIES_IN_BUCKETS, Law, Report, Rows, SLICES_WITHIN_CPU_TIME, WAITS_ADD_UP, WAITS_ARE_OF_THEIR_USERS,
    value,
};
use crate::manifest::Manifest;

/// Rounding of sums of doubles, of which each is that of whole nanoseconds.
const ROUNDING: f64 = 1e-9;
/// Slices are as long as tasks have a CPU, interrupts and the hypervisor's time included, and by another clock.
const SLICES_SHARE: f64 = 0.02;
/// For each CPU: a slice is counted when it ends, so that the first reading and the last differ by slices in progress.
const SLICES_S: f64 = 0.1;

/// Waits for a CPU by both: other clocks, and for each wait the work of the scheduler between their readings.
const WAITS_SHARE: f64 = 0.02;
const WAITS_S: f64 = 10e-6;
/// Most of the waits of all that a user may have more or less of, because processes changed their user: those of a
/// process in an interval are its last user's for one, and its user's at that moment for the other.
const MOVED_SHARE: f64 = 0.05;
/// Standard errors of a sum of waits that were not seen, or that ended after the kernel's last message.
const ERRORS: f64 = 3.0;
/// Users whose waits are compared; a hostile log must not fill memory.
const USERS_MAX: usize = 1 << 16;

/// What a CPU had to tasks, or to what interrupts them.
const GIVEN: [&str; 4] = ["cpu_exact_s", "steal_s", "irq_s", "softirq_s"];

/// What a trace and its recorder say about the whole log.
#[derive(Clone, Copy, Default)]
struct Facts {
    /// Every session was traced to its end, and nothing found no room.
    is_traced: bool,
    /// The kernel told of every end of a task, and no wait that it told of was impossible.
    has_all_ends: bool,
    /// Waits and slices whose beginning was not seen.
    unseen: f64,
    /// Waits that the kernel told of and that were cut [s].
    cut_s: f64,
}

impl Facts {
    fn of(manifest: &Manifest) -> Facts {
        let mut of_all = Facts {
            is_traced: !manifest.sessions.is_empty() && manifest.retired_through_part == 0,
            has_all_ends: true,
            ..Facts::default()
        };
        for session in &manifest.sessions {
            let number = |path: &str| session.facts.get("recorder")?.pointer(path)?.as_f64();
            let exits = session.facts.get("recorder").and_then(|facts| facts.pointer("/processes/exits"));
            let unseen = number("/trace/beginnings_unseen").filter(|unseen| *unseen >= 0.0);
            let is_whole = number("/trace/durations_lost") == Some(0.0) && session.end_us.is_some();
            of_all.is_traced &= is_whole && unseen.is_some();
            of_all.unseen += unseen.unwrap_or(0.0);
            of_all.cut_s += number("/processes/cpu_waits_cut_s").unwrap_or(0.0).max(0.0);
            of_all.has_all_ends &= exits.is_some_and(|exits| exits == "taskstats")
                && number("/processes/exits_lost") == Some(0.0)
                && number("/processes/implausible_growths_dropped") == Some(0.0);
        }
        of_all
    }
}

/// Waits for a CPU: of a user, or of all.
#[derive(Clone, Copy, Default)]
struct Waits {
    /// As the kernel sums them for processes [s].
    told_s: f64,
    is_unknown: bool,
    /// As they were traced: their sum, and that of their squares as far as their buckets tell.
    traced_s: f64,
    squares: f64,
    count: f64,
    longest_s: f64,
    /// Tasks that ended.
    ends: f64,
}

impl Waits {
    fn add(&mut self, other: Waits) {
        self.told_s += other.told_s;
        self.is_unknown |= other.is_unknown;
        self.traced_s += other.traced_s;
        self.squares += other.squares;
        self.count += other.count;
        self.longest_s = self.longest_s.max(other.longest_s);
        self.ends += other.ends;
    }

    /// Most that `number` waits are together of which nothing is known but that they are of this kind [s]: long ones
    /// are met more often than short ones, in the proportion of their lengths.
    fn of_so_many(&self, number: f64) -> f64 {
        let met_s = if self.traced_s > 0.0 { self.squares / self.traced_s } else { 0.0 };
        number * met_s + ERRORS * number.sqrt() * self.longest_s
    }
}

/// Sums over the log.
#[derive(Default)]
pub(crate) struct Latencies {
    file: PathBuf,
    slices_s: f64,
    given_s: f64,
    has_given: bool,
    is_unknown: bool,
    facts: Facts,
    /// Waits for a CPU by user, and of those who have none.
    waits: BTreeMap<Option<Box<str>>, Waits>,
    length_s: f64,
    /// Most CPU time of all tasks while processes were read [s].
    reading_s: f64,
}

impl Latencies {
    /// Nothing read yet of the log of `manifest`.
    pub fn new(manifest: &Manifest) -> Latencies {
        Latencies { facts: Facts::of(manifest), ..Latencies::default() }
    }

    /// Adds a batch of `users`.
    pub fn users(&mut self, rows: Rows<'_>) {
        let users = rows.batch.column_by_name("user").and_then(|column| column.as_string_opt::<i32>());
        let waits = rows.floats("run_delay_s");
        for index in 0..rows.len() {
            let user = users.filter(|users| users.is_valid(index)).map(|users| users.value(index));
            let told_s = value(waits, index);
            let waits =
                Waits { told_s: told_s.unwrap_or(0.0), is_unknown: told_s.is_none(), ..Waits::default() };
            self.wait(user, waits);
        }
    }

    fn wait(&mut self, user: Option<&str>, waits: Waits) {
        let user = user.map(Box::from);
        if self.waits.len() < USERS_MAX || self.waits.contains_key(&user) {
            self.waits.entry(user).or_default().add(waits);
        } else {
            self.facts.is_traced = false;
        }
    }

    /// Adds a batch of `samples`.
    pub fn samples(&mut self, rows: Rows<'_>) {
        let columns = GIVEN.map(|name| rows.floats(name));
        let (lengths, readings) = (rows.floats("length_s"), rows.floats("recorder_reading_s"));
        for index in 0..rows.len() {
            self.length_s += value(lengths, index).unwrap_or(0.0);
            self.reading_s = self.reading_s.max(value(readings, index).unwrap_or(0.0));
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
        let (users, reasons) = (text("user"), text("reason"));
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
            let quantity = word(quantities);
            let user = word(users);
            match quantity.as_deref() {
                Some("slice") => {
                    self.slices_s += total_s;
                    if word(reasons).as_deref() == Some("exit") {
                        self.wait(user.as_deref(), Waits { ends: count as f64, ..Waits::default() });
                    }
                }
                Some("run_queue_wait") => self.wait(
                    user.as_deref(),
                    Waits {
                        traced_s: total_s,
                        squares: total_s * total_s / count.max(1) as f64,
                        count: count as f64,
                        longest_s: upper_s.unwrap_or(total_s).min(total_s),
                        ..Waits::default()
                    },
                ),
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

    /// Compares waits for a CPU: those of all, then those of each user.
    fn waits_agree(&self, machine: &Machine, report: &mut Report) {
        let mut all = Waits::default();
        self.waits.values().for_each(|waits| all.add(*waits));
        if !self.facts.is_traced || !machine.is_contiguous || all.is_unknown || self.length_s <= 0.0 {
            return;
        }
        let cpus = machine.cpus_max.unwrap_or(1.0);
        let mut compare = |law: &'static Law, who: &str, waits: &Waits, moved_s: f64| {
            // What ends between the two readings is in one interval for one and in the next for the other: of the waits
            // within the log, those at its beginning and at its end.
            let border_s = cpus * waits.longest_s + waits.traced_s / self.length_s * self.reading_s;
            let most_s = WAITS_SHARE * waits.told_s.max(waits.traced_s)
                + WAITS_S * waits.count
                + 2.0 * border_s
                + self.facts.cut_s
                + moved_s;
            // The trace does not count a wait whose beginning it did not see.
            let is_less = waits.traced_s < waits.told_s - most_s - waits.of_so_many(self.facts.unseen);
            // The kernel's message of an end does not count what the task waits for on its last way.
            let is_more = waits.traced_s > waits.told_s + most_s + waits.of_so_many(waits.ends);
            if is_less || is_more && self.facts.has_all_ends {
                let message = format!(
                    "traced waits for a CPU {who} are {} s, and the kernel sums {} s for processes",
                    waits.traced_s, waits.told_s
                );
                report.push(law, &self.file, String::new(), "total_s", message);
            }
        };
        compare(&WAITS_ADD_UP, "of all", &all, 0.0);
        // Of whom found no room in the tables of the trace, it is not known whose their waits are.
        if self.waits.get(&None).is_none_or(|waits| waits.count == 0.0) {
            let moved_s = MOVED_SHARE * all.told_s.max(all.traced_s) + 2.0 * all.longest_s;
            for (user, waits) in &self.waits {
                let who = format!("of {}", user.as_deref().unwrap_or("nobody"));
                compare(&WAITS_ARE_OF_THEIR_USERS, &who, waits, moved_s);
            }
        }
    }
}
