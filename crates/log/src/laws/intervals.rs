//! Laws of intervals: their order, the CPU time in them, and the rows of users and devices that belong to them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use arrow_array::cast::AsArray;
use arrow_array::types::UInt64Type;
use arrow_array::{Array, Float64Array, PrimitiveArray, StringArray};

use crate::laws::manifest::Machine;
use crate::laws::{
    ACTIVE_USERS_ARE_USERS, CPU_TIME_ADDS_UP, CPU_TIME_FITS, CPUS_ADD_UP, DETAILS_IN_ORDER, DEVICES_ADD_UP,
    FREE_WITHIN_TOTAL, IN_ORDER, Law, NO_GAP, POSITIVE_LENGTH, Report, Rows, SIMULATED_TIME_ADDS_UP,
    USERS_WITHIN_MACHINE, WAITING_USERS_ARE_ACTIVE, WITHIN_AN_INTERVAL, value,
};
use crate::schema::{Column, Role, TableSchema};
use crate::vocabulary::STACKED_DISKS;

/// Step of the wall clock that a recorder does not report [s]: less is the time between reading two clocks.
const STEP_S: f64 = 0.051;
/// Suspension that a recorder does not report [s].
const SUSPENSION_S: f64 = 0.101;
/// The same as a share of the interval's length: a clock is slewed.
const SLEW_SHARE: f64 = 0.0011;
/// Longest interval [s]: 30,000 years.
const LENGTH_MAX_S: f64 = 1e12;
/// CPU time by which an interval may exceed its length on each CPU, because a hypervisor's stolen time and the
/// ticks of a CPU that stood still are accounted when it runs again [s].
const LATE_S: f64 = 1.0;
/// The same as a share of the interval.
const LATE_SHARE: f64 = 0.1;
/// Share by which the sums over a log may differ.
const TOTAL_SHARE: f64 = 0.05;
/// Share by which the states of a simulated machine may differ from its capacity: sums of times in nanoseconds.
const SIMULATED_SHARE: f64 = 1e-6;
/// Time around an interval's end at which an interaction may begin or end [us].
const MARGIN_US: i64 = 1000;
/// Share of the capacity that must be accounted: the rest was lost by a hypervisor.
const ACCOUNTED_SHARE: f64 = 0.8;
/// Share and time by which users may have more CPU time than the machine, in the whole log: they are read later.
const USERS_SHARE: f64 = 0.02;
const USERS_S: f64 = 0.05;
/// Intervals of a part of `samples` that are joined with rows of other tables; the rest is only looked up.
const JOINED_MAX: usize = 1 << 20;

/// CPU time that may still be accounted later: what intervals before had less than their length on every CPU.
#[derive(Clone, Copy, Debug)]
struct Account {
    credit_s: f64,
}

impl Account {
    /// Takes the CPU time of an interval of `capacity_s`; `Err` has the most that was possible.
    fn take(&mut self, time_s: f64, capacity_s: f64, slack_s: f64, cpus: f64) -> Result<(), f64> {
        let limit_s = (1.0 + LATE_SHARE) * capacity_s + slack_s + self.credit_s;
        if time_s > limit_s {
            return Err(limit_s);
        }
        self.credit_s = (self.credit_s + capacity_s - time_s).clamp(0.0, LATE_S * cpus + capacity_s);
        Ok(())
    }
}

/// Sums over the log.
#[derive(Debug, Default)]
pub(crate) struct Totals {
    pub rows: u64,
    pub length_s: f64,
    pub users_exact_s: f64,
    pub users_rows: u64,
    exact_s: f64,
    /// CPU time between the reading of the machine's and that of the users', summed over the intervals.
    reading_s: f64,
    has_exact: bool,
    state_s: f64,
    state_capacity_s: f64,
    state_slack_s: f64,
    user_s: [f64; 2],
    users_user_s: [f64; 2],
    /// Of the intervals in which the machine's is known too.
    users_joined_s: f64,
}

/// An interval of the last part of `samples`.
#[derive(Debug)]
struct Interval {
    row: usize,
    length_s: f64,
    /// User and system time of the machine, NaN where unknown [s].
    machine_s: [f64; 2],
    has_exact: bool,
    active_users: Option<u64>,
    /// The same, summed over the rows of `cpus` [s].
    cpus_s: [f64; 2],
    cpus_rows: u32,
    users_rows: u64,
    /// What the machine's disks and interfaces did, NaN where unknown, and what their rows leave possible.
    devices: [f64; DEVICES.len()],
    devices_least: [f64; DEVICES.len()],
    devices_most: [f64; DEVICES.len()],
    /// Two intervals begin at this time: whose the rows are is not known.
    is_ambiguous: bool,
}

/// Tables of devices of which the machine has sums.
const DEVICE_TABLES: [&str; 2] = ["disks", "interfaces"];

/// An amount that `samples` has of the machine and a table of devices has of each.
struct Device {
    table: &'static str,
    of_machine: &'static str,
    of_device: &'static str,
}

/// What names of hardware begin with, whatever the driver's stack; others (Ceph's `rbd`, say) may be either.
const HARDWARE_DISKS: [&str; 7] = ["sd", "hd", "vd", "xvd", "nvme", "mmcblk", "dasd"];

const fn device(table: &'static str, of_machine: &'static str, of_device: &'static str) -> Device {
    Device { table, of_machine, of_device }
}

const DEVICES: [Device; 9] = [
    device("disks", "disk_reads", "reads"),
    device("disks", "disk_writes", "writes"),
    device("disks", "disk_read_bytes", "read_bytes"),
    device("disks", "disk_write_bytes", "write_bytes"),
    device("disks", "disk_busy_s", "busy_s"),
    device("interfaces", "net_packets_in", "packets_in"),
    device("interfaces", "net_packets_out", "packets_out"),
    device("interfaces", "net_bytes_in", "bytes_in"),
    device("interfaces", "net_bytes_out", "bytes_out"),
];

/// A column of counts or of seconds.
#[derive(Clone, Copy)]
struct Amounts<'a> {
    counts: Option<&'a PrimitiveArray<UInt64Type>>,
    seconds: Option<&'a Float64Array>,
    interfaces: Option<&'a StringArray>,
    disks: Option<&'a StringArray>,
}

/// Whether the machine's total has a row of devices.
#[derive(Clone, Copy, PartialEq)]
enum Counted {
    Yes,
    /// A disk of which only the recorder, with `/sys`, knows whether it lies on another.
    Unknown,
    No,
}

impl<'a> Amounts<'a> {
    fn of(rows: Rows<'a>, column: &str) -> Amounts<'a> {
        let names = |column| rows.batch.column_by_name(column).and_then(|names| names.as_string_opt());
        Amounts {
            counts: rows.counts(column),
            seconds: rows.floats(column),
            interfaces: names("interface"),
            disks: names("device"),
        }
    }

    fn at(&self, index: usize) -> Option<f64> {
        value(self.counts, index).map(|count| count as f64).or_else(|| value(self.seconds, index))
    }

    /// Requests to a disk that lies on others are counted below it, and loopback is no traffic of the machine.
    fn counted(&self, index: usize) -> Counted {
        let name = |names: Option<&'a StringArray>| {
            names.filter(|names| names.is_valid(index)).map(|names| names.value(index))
        };
        let starts = |prefixes: &[&str]| {
            name(self.disks).is_some_and(|disk| prefixes.iter().any(|prefix| disk.starts_with(prefix)))
        };
        if name(self.interfaces) == Some("lo") || starts(&STACKED_DISKS) {
            Counted::No
        } else if self.disks.is_some() && !starts(&HARDWARE_DISKS) {
            Counted::Unknown
        } else {
            Counted::Yes
        }
    }
}

/// State of the laws of intervals.
pub(crate) struct Intervals {
    pub totals: Totals,
    file: PathBuf,
    joined: Vec<Interval>,
    by_start: BTreeMap<i64, usize>,
    has_users: bool,
    /// Rows of disks, and of interfaces.
    has_devices: [bool; 2],
    /// Start of the row before in the table of users or devices that is read.
    last_detail: Option<i64>,
    last: Option<(i64, f64)>,
    /// Ends of simulated intervals without an active user, in order, and their rows.
    inactive: Vec<(i64, usize)>,
    states: Account,
    exact: Account,
    starts: Option<Option<Vec<i64>>>,
}

impl Intervals {
    /// Before the first row.
    pub fn new(machine: &Machine) -> Intervals {
        let account = Account { credit_s: LATE_S * machine.cpus_max.unwrap_or(1.0) };
        Intervals {
            totals: Totals::default(),
            file: PathBuf::new(),
            joined: Vec::new(),
            by_start: BTreeMap::new(),
            has_users: false,
            has_devices: [false; 2],
            last_detail: None,
            last: None,
            inactive: Vec::new(),
            states: account,
            exact: account,
            starts: None,
        }
    }

    /// Checks a batch of `samples`; the lengths of its intervals, NaN where wrong.
    pub fn samples(&mut self, rows: Rows<'_>, machine: &Machine, report: &mut Report) -> Vec<f64> {
        if rows.first == 0 {
            self.close(machine, report);
            self.file = rows.file.into();
        }
        let lengths = self.lengths(rows, report);
        self.order(rows, &lengths, machine, report);
        self.cpu_states(rows, &lengths, machine, report);
        self.exact_time(rows, &lengths, machine, report);
        free_within_total(rows, report);
        self.remember(rows, &lengths);
        if machine.is_simulated {
            self.remember_inactive(rows, &lengths);
        }
        lengths
    }

    /// Gauges of a simulation are those of the interval's end.
    fn remember_inactive(&mut self, rows: Rows<'_>, lengths: &[f64]) {
        let (starts, active) = (rows.times("start"), rows.counts("active_users"));
        for (index, length_s) in lengths.iter().enumerate() {
            if let (Some(start), Some(0), true) =
                (value(starts, index), value(active, index), self.inactive.len() < JOINED_MAX)
            {
                let end = start.saturating_add((length_s * 1e6).round() as i64);
                self.inactive.push((end, rows.first + index));
            }
        }
    }

    /// Checks a batch of `interactions` against the intervals of this part.
    pub fn interactions(&self, rows: Rows<'_>, machine: &Machine, report: &mut Report) {
        if !machine.is_complete || self.inactive.is_empty() {
            return;
        }
        let (sent, completion) = (rows.times("sent"), rows.times("completion"));
        for index in 0..rows.len() {
            let (Some(sent), Some(completion)) = (value(sent, index), value(completion, index)) else {
                continue;
            };
            let at = self.inactive.partition_point(|(end, _)| *end < sent.saturating_add(MARGIN_US));
            let inside = self.inactive.get(at).filter(|(end, _)| *end < completion.saturating_sub(MARGIN_US));
            if let Some((_, row)) = inside {
                let message = || {
                    format!(
                        "0 at the end of the interval, when the interaction in row {} ran",
                        rows.first + index
                    )
                };
                report.row(&WAITING_USERS_ARE_ACTIVE, &self.file, *row, "active_users", message);
            }
        }
    }

    fn lengths(&mut self, rows: Rows<'_>, report: &mut Report) -> Vec<f64> {
        let column = rows.floats("length_s");
        let mut lengths = Vec::with_capacity(rows.len());
        for index in 0..rows.len() {
            let length_s = value(column, index).unwrap_or(f64::NAN);
            let is_possible = length_s > 0.0 && length_s <= LENGTH_MAX_S;
            if !is_possible {
                let message =
                    || format!("an interval must have a positive length, and this one has {length_s} s");
                report.row(&POSITIVE_LENGTH, rows.file, rows.first + index, "length_s", message);
            }
            lengths.push(if is_possible { length_s } else { f64::NAN });
            self.totals.rows += 1;
            self.totals.length_s += length_s;
        }
        lengths
    }

    fn order(&mut self, rows: Rows<'_>, lengths: &[f64], machine: &Machine, report: &mut Report) {
        let starts = rows.times("start");
        for (index, length_s) in lengths.iter().enumerate() {
            let row = rows.first + index;
            // Null is not measured: such an interval has a length, and no place in time.
            let Some(start) = value(starts, index) else { continue };
            // A session begins with a part, and may be of another machine, or of another replication.
            let may_be_new = row == 0 && machine.sessions > 1;
            if let Some((before, before_s)) = self.last.filter(|_| !may_be_new && !machine.has_clock_step) {
                let rest_s = (start as f64 - before as f64) * 1e-6 - before_s;
                if start <= before {
                    let message = || "the interval does not begin after the one before".into();
                    report.row(&IN_ORDER, rows.file, row, "start", message);
                } else if rest_s < -(STEP_S + SLEW_SHARE * before_s) {
                    let message =
                        || format!("the interval before ends {} s later than this one begins", -rest_s);
                    report.row(&IN_ORDER, rows.file, row, "start", message);
                } else if machine.is_contiguous && rest_s > STEP_S + SUSPENSION_S + SLEW_SHARE * before_s {
                    let message =
                        || format!("{rest_s} s are missing between the interval before and this one");
                    report.row(&NO_GAP, rows.file, row, "start", message);
                }
            }
            self.last = Some((start, *length_s));
        }
    }

    fn cpu_states(&mut self, rows: Rows<'_>, lengths: &[f64], machine: &Machine, report: &mut Report) {
        let (Some(cpus), Some(states)) = (machine.cpus_max, States::of(rows)) else { return };
        let slack_s = states.columns.len() as f64 * cpus * machine.tick_s;
        for (index, length_s) in lengths.iter().enumerate() {
            let Some(sum_s) = states.sum(index).filter(|sum_s| sum_s.is_finite() && *length_s > 0.0) else {
                continue;
            };
            let capacity_s = cpus * length_s;
            let is_exact = machine.is_simulated && machine.cpus_min == machine.cpus_max;
            if is_exact && (sum_s - capacity_s).abs() > SIMULATED_SHARE * capacity_s {
                let message =
                    || format!("{sum_s} s of CPU time in all states; the {cpus} CPUs had {capacity_s} s");
                // Any of them may be the one that is wrong.
                report.row(&SIMULATED_TIME_ADDS_UP, rows.file, rows.first + index, "CPU time", message);
            }
            if let Err(limit_s) = self.states.take(sum_s, capacity_s, slack_s, cpus) {
                let message = || {
                    format!("{sum_s} s of CPU time in all states; {limit_s} s are possible on {cpus} CPUs")
                };
                let (name, _) = states.largest(index);
                report.row(&CPU_TIME_FITS, rows.file, rows.first + index, name, message);
                continue;
            }
            self.totals.state_s += sum_s;
            self.totals.state_capacity_s += machine.cpus_min.unwrap_or(cpus) * length_s;
            self.totals.state_slack_s = slack_s;
        }
    }

    fn exact_time(&mut self, rows: Rows<'_>, lengths: &[f64], machine: &Machine, report: &mut Report) {
        let (exact, reading) = (rows.floats("cpu_exact_s"), rows.floats("recorder_reading_s"));
        for (index, length_s) in lengths.iter().enumerate() {
            self.totals.reading_s += value(reading, index).filter(|time_s| *time_s > 0.0).unwrap_or(0.0);
            let Some(exact_s) = value(exact, index).filter(|exact_s| exact_s.is_finite()) else { continue };
            self.totals.exact_s += exact_s;
            self.totals.has_exact = true;
            let Some(cpus) = machine.cpus_max.filter(|_| *length_s > 0.0) else { continue };
            let slack_s = cpus * machine.tick_s;
            if let Err(limit_s) = self.exact.take(exact_s, cpus * length_s, slack_s, cpus) {
                let message = || format!("{exact_s} s of CPU time; {limit_s} s are possible on {cpus} CPUs");
                report.row(&CPU_TIME_FITS, rows.file, rows.first + index, "cpu_exact_s", message);
            }
        }
    }

    /// Keeps the intervals of this part for the rows of other tables.
    fn remember(&mut self, rows: Rows<'_>, lengths: &[f64]) {
        let (starts, active) = (rows.times("start"), rows.counts("active_users"));
        let exact = rows.floats("cpu_exact_s");
        let time = two_of(rows);
        let devices = DEVICES.map(|device| Amounts::of(rows, device.of_machine));
        for (index, length_s) in lengths.iter().enumerate() {
            let machine_s = time.map(|column| value(column, index).unwrap_or(f64::NAN));
            for (total, time_s) in self.totals.user_s.iter_mut().zip(machine_s) {
                *total += if time_s.is_finite() { time_s } else { 0.0 };
            }
            let Some(start) = value(starts, index).filter(|_| self.joined.len() < JOINED_MAX) else {
                continue;
            };
            if let Some(other) = self.by_start.get(&start) {
                self.joined[*other].is_ambiguous = true;
                continue;
            }
            self.by_start.insert(start, self.joined.len());
            self.joined.push(Interval {
                row: rows.first + index,
                length_s: *length_s,
                machine_s,
                has_exact: value(exact, index).is_some(),
                active_users: value(active, index),
                cpus_s: [0.0; 2],
                cpus_rows: 0,
                users_rows: 0,
                devices: devices.map(|amounts| amounts.at(index).unwrap_or(f64::NAN)),
                devices_least: [0.0; DEVICES.len()],
                devices_most: [0.0; DEVICES.len()],
                is_ambiguous: false,
            });
        }
    }

    /// Checks a batch of users, CPUs, disks or interfaces; the lengths of its rows' intervals, NaN where they are of
    /// another part of `samples`. `all` are the starts of all intervals in order.
    pub fn details(
        &mut self,
        rows: Rows<'_>,
        machine: &Machine,
        report: &mut Report,
        all: impl Fn() -> Option<Vec<i64>>,
    ) -> Vec<f64> {
        let (starts, exact, time) = (rows.times("start"), rows.floats("cpu_exact_s"), two_of(rows));
        let (is_users, is_cpus) = (rows.schema.name == "users", rows.schema.name == "cpus");
        let devices = DEVICES
            .map(|device| (device.table == rows.schema.name).then(|| Amounts::of(rows, device.of_device)));
        details_in_order(rows, &mut self.last_detail, machine, report);
        let mut lengths = Vec::with_capacity(rows.len());
        for index in 0..rows.len() {
            let start = value(starts, index);
            if is_users {
                self.totals.users_rows += 1;
                self.totals.users_exact_s += value(exact, index).unwrap_or(0.0);
            }
            let Some(place) = start.and_then(|start| self.by_start.get(&start)).copied() else {
                // Of an earlier part of samples, where a source wrote tables one after the other.
                let starts = self.starts.get_or_insert_with(&all);
                let is_there = starts
                    .as_ref()
                    .is_none_or(|starts| start.is_some_and(|start| starts.binary_search(&start).is_ok()));
                if !is_there {
                    let message = || "no interval of samples starts then".into();
                    report.row(&WITHIN_AN_INTERVAL, rows.file, rows.first + index, "start", message);
                }
                lengths.push(f64::NAN);
                continue;
            };
            let interval = &mut self.joined[place];
            lengths.push(if interval.is_ambiguous { f64::NAN } else { interval.length_s });
            if is_users {
                self.has_users = true;
                interval.users_rows += 1;
                if interval.has_exact {
                    self.totals.users_joined_s += value(exact, index).unwrap_or(0.0);
                }
                let states = self.totals.users_user_s.iter_mut().zip(interval.machine_s).zip(time);
                for ((total, _), column) in states.filter(|((_, machine_s), _)| machine_s.is_finite()) {
                    *total += value(column, index).unwrap_or(0.0);
                }
            } else if let Some(table) = DEVICE_TABLES.iter().position(|name| *name == rows.schema.name) {
                self.has_devices[table] = true;
                let sums = interval.devices_least.iter_mut().zip(&mut interval.devices_most);
                for ((least, most), amounts) in sums.zip(&devices) {
                    let Some(amounts) = amounts else { continue };
                    let (amount, counted) = (amounts.at(index).unwrap_or(0.0), amounts.counted(index));
                    *least += if counted == Counted::Yes { amount } else { 0.0 };
                    *most += if counted == Counted::No { 0.0 } else { amount };
                }
            } else if is_cpus {
                interval.cpus_rows += 1;
                for (total, column) in interval.cpus_s.iter_mut().zip(time) {
                    *total += value(column, index).unwrap_or(0.0);
                }
            }
        }
        lengths
    }

    /// Compares the intervals of the last part of `samples` with the rows that belong to them.
    fn close(&mut self, machine: &Machine, report: &mut Report) {
        let joined = std::mem::take(&mut self.joined);
        self.by_start.clear();
        self.inactive.clear();
        let has_users = std::mem::take(&mut self.has_users);
        let has_devices = std::mem::take(&mut self.has_devices);
        for interval in joined.iter().filter(|interval| !interval.is_ambiguous) {
            cpus_add_up(interval, machine, &self.file, report);
            if machine.is_recorded && machine.is_complete {
                devices_add_up(interval, has_devices, &self.file, report);
            }
            let Some(active) = interval.active_users.filter(|active| *active > interval.users_rows) else {
                continue;
            };
            // Without any row of users in this part, they are in another one or were not recorded.
            if has_users {
                let message = || format!("{active} active users, and {} rows of users", interval.users_rows);
                report.row(&ACTIVE_USERS_ARE_USERS, &self.file, interval.row, "active_users", message);
            }
        }
    }

    /// The laws of sums, after the last row.
    pub fn finish(&mut self, machine: &Machine, report: &mut Report) {
        self.close(machine, report);
        let file = self.file.clone();
        let totals = &self.totals;
        let whole = |report: &mut Report, law: &'static Law, item: &str, message: String| {
            report.push(law, &file, String::new(), item, message);
        };
        let (sum_s, capacity_s) = (totals.state_s, totals.state_capacity_s);
        if sum_s > 0.0 && sum_s < ACCOUNTED_SHARE * capacity_s - totals.state_slack_s {
            let message =
                format!("CPU time in all states is {sum_s} s of {capacity_s} s; is machine.cpus right?");
            whole(report, &CPU_TIME_ADDS_UP, "CPU time", message);
        }
        let cpus = machine.cpus_max.unwrap_or(f64::INFINITY);
        let most_s = (1.0 + TOTAL_SHARE) * capacity_s.max(0.0) + totals.state_slack_s + LATE_S * cpus;
        if machine.cpus_min == machine.cpus_max && sum_s > most_s {
            let message = format!("CPU time in all states is {sum_s} s of {capacity_s} s");
            whole(report, &CPU_TIME_FITS, "CPU time", message);
        }
        // Parts that are gone may be of one of the tables only.
        if totals.users_rows == 0 || !machine.is_complete {
            return;
        }
        let slack_s = USERS_S + totals.reading_s + machine.rounding_s;
        let within = |users_s: f64, machine_s: f64| users_s <= (1.0 + USERS_SHARE) * machine_s + slack_s;
        let mut pairs = vec![("cpu_exact_s", totals.users_joined_s, totals.exact_s)];
        if !totals.has_exact {
            pairs = ["user", "system"]
                .into_iter()
                .zip(totals.users_user_s.into_iter().zip(totals.user_s))
                .map(|(name, (users_s, machine_s))| (name, users_s, machine_s))
                .collect();
        }
        for (column, users_s, machine_s) in pairs {
            if machine_s > 0.0 && !within(users_s, machine_s) {
                let message = format!("users had {users_s} s of {column} time, the machine {machine_s} s");
                whole(report, &USERS_WITHIN_MACHINE, column, message);
            }
        }
    }
}

/// User and system time of each row, by the roles of the columns; `None` where there is not exactly one column.
fn two_of<'a>(rows: Rows<'a>) -> [Option<&'a Float64Array>; 2] {
    let by_role = |role: Role| {
        let mut columns = rows.schema.columns.iter().filter(|column| column.role == Some(role));
        match (columns.next(), columns.next()) {
            (Some(column), None) => Some(column.name.as_str()),
            _ => None,
        }
    };
    let shared = |name: &'static str, role: Role| {
        by_role(role).or_else(|| rows.schema.position(name).map(|_| name)).and_then(|name| rows.floats(name))
    };
    [shared("user_s", Role::UserTime), shared("system_s", Role::SystemTime)]
}

/// Columns of CPU time that together are all states of the CPUs.
struct States<'a> {
    columns: Vec<(&'a Column, &'a Float64Array)>,
}

impl<'a> States<'a> {
    fn of(rows: Rows<'a>) -> Option<States<'a>> {
        let schema: &'a TableSchema = rows.schema;
        let is_state = |column: &&Column| {
            let has_role = matches!(column.role, Some(Role::UserTime | Role::SystemTime | Role::IdleTime))
                && column.unit == "s";
            // Time that a hypervisor took has no role, and is time of the CPU.
            has_role || column.name == "steal_s"
        };
        let columns = schema.columns.iter().filter(is_state);
        let columns: Vec<_> =
            columns.filter_map(|column| Some((column, rows.floats(&column.name)?))).collect();
        (!columns.is_empty()).then_some(States { columns })
    }

    /// Time in all states [s]; `None` where idle or busy time is not known.
    fn sum(&self, index: usize) -> Option<f64> {
        let (mut sum_s, mut has_idle, mut has_busy) = (0.0, false, false);
        for (column, array) in &self.columns {
            if let Some(time_s) = value(Some(array), index) {
                sum_s += time_s;
                has_idle |= column.role == Some(Role::IdleTime);
                has_busy |= matches!(column.role, Some(Role::UserTime | Role::SystemTime));
            }
        }
        (has_idle && has_busy).then_some(sum_s)
    }

    fn largest(&self, index: usize) -> (&str, f64) {
        let times = self
            .columns
            .iter()
            .map(|(column, array)| (column.name.as_str(), value(Some(array), index).unwrap_or(0.0)));
        times.max_by(|one, other| one.1.total_cmp(&other.1)).unwrap_or(("", 0.0))
    }
}

fn free_within_total(rows: Rows<'_>, report: &mut Report) {
    for (part, total) in
        [("memory_free_bytes", "memory_total_bytes"), ("swap_free_bytes", "swap_total_bytes")]
    {
        let (parts, totals) = (rows.counts(part), rows.counts(total));
        for index in 0..rows.len() {
            if let Some((free, all)) =
                value(parts, index).zip(value(totals, index)).filter(|(free, all)| free > all)
            {
                let message = || format!("{free} bytes are free of {all}");
                report.row(&FREE_WITHIN_TOTAL, rows.file, rows.first + index, part, message);
            }
        }
    }
}

/// The machine's line and those of its CPUs are read one after the other: a few ticks may be in one only. A CPU
/// that was plugged in in the interval has no row, so that the sum may lack a CPU.
fn cpus_add_up(interval: &Interval, machine: &Machine, file: &Path, report: &mut Report) {
    let rows = f64::from(interval.cpus_rows);
    if interval.cpus_rows == 0 || !interval.length_s.is_finite() {
        return;
    }
    let slack_s = 0.1 + rows * (2.0 * machine.tick_s + 0.05 * interval.length_s);
    for ((name, machine_s), cpus_s) in
        ["user_s", "system_s"].into_iter().zip(interval.machine_s).zip(interval.cpus_s)
    {
        let is_more = cpus_s > machine_s + slack_s;
        let is_less = cpus_s + slack_s + interval.length_s + LATE_S < machine_s;
        if is_more || is_less {
            let message = || format!("{machine_s} s; the rows of cpus of this interval have {cpus_s} s");
            report.row(&CPUS_ADD_UP, file, interval.row, name, message);
        }
    }
}

/// A recorder computes both from the same lines, and leaves out devices that did nothing.
fn devices_add_up(interval: &Interval, has_devices: [bool; 2], file: &Path, report: &mut Report) {
    let sums = interval.devices_least.iter().zip(&interval.devices_most);
    for ((device, machine), (least, most)) in DEVICES.iter().zip(interval.devices).zip(sums) {
        let table = DEVICE_TABLES.iter().position(|name| *name == device.table).unwrap_or_default();
        let slack = 1e-9 * machine.abs() + 1e-6;
        // Without any row in this part, they were not recorded, or are in another one.
        if has_devices[table] && (machine < least - slack || machine > most + slack) {
            let sum = if least == most { format!("{most}") } else { format!("{least} to {most}") };
            let message = || format!("{machine}; the rows of {} of this interval have {sum}", device.table);
            report.row(&DEVICES_ADD_UP, file, interval.row, device.of_machine, message);
        }
    }
}

/// A recorder writes the rows of an interval together.
fn details_in_order(rows: Rows<'_>, last: &mut Option<i64>, machine: &Machine, report: &mut Report) {
    if rows.first == 0 {
        *last = None;
    }
    let starts = rows.times("start").filter(|_| machine.is_recorded && !machine.has_clock_step);
    for (index, start) in starts.into_iter().flatten().enumerate() {
        let Some(start) = start else { continue };
        if last.is_some_and(|last| start < last) {
            let message = || "the row before is of a later interval".into();
            report.row(&DETAILS_IN_ORDER, rows.file, rows.first + index, "start", message);
        }
        *last = Some(start);
    }
}
