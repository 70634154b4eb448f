//! Rows of `presence` and `groups`, and the names in rows of users.

use std::collections::BTreeMap;

use thinktime_log::{Row, TableSchema, Value, vocabulary};

use super::memory::Memory;
use super::names::{Names, Shown};
use crate::groups::counters::{AMOUNTS, Counts, GAUGES, STALLS};
use crate::groups::{Groups, is_used};
use crate::processes::census::{Census, Key};
use crate::processes::gpu::GpuUse;
use crate::sample::rows::Interval;
use crate::sample::sheet::{Draft, Sheet};

/// Sheets of the tables that people add.
#[derive(Debug)]
pub struct Sheets {
    pub presence: Sheet,
    pub groups: Sheet,
}

impl Default for Sheets {
    fn default() -> Sheets {
        Sheets { presence: Sheet::new(vocabulary::presence()), groups: Sheet::new(vocabulary::groups()) }
    }
}

impl Sheets {
    /// A row for every user with a process.
    pub fn presence(
        &self,
        interval: Interval,
        census: &Census,
        memory: &mut Memory,
        names: &mut Names,
    ) -> Vec<Row> {
        let users = memory.users(census);
        let mut rows = Vec::with_capacity(users.len());
        for (key, memories) in users {
            let Shown { key: user, name, kind } = names.user(key, census);
            let (sessions, terminals) = names.places(key, census);
            let mut row = self.presence.row();
            row.set("start", Value::Time(interval.start_us));
            row.set("user", user.as_str());
            row.set("name", text(name));
            row.set("kind", kind);
            row.set("processes", memories.processes);
            row.set("threads", memories.threads);
            row.set("sessions", sessions);
            row.set("terminals", text(terminals));
            row.set("memory_resident_bytes", memories.resident);
            row.set("memory_proportional_bytes", memories.proportional);
            row.set("memory_anonymous_bytes", memories.anonymous);
            row.set("swap_bytes", memories.swap);
            rows.push(row.finish());
        }
        rows
    }

    /// A row for every group that used something; at a beat for every group that has memory, with it.
    pub fn groups(
        &self,
        interval: Interval,
        groups: &mut Groups,
        names: &mut Names,
        is_beat: bool,
    ) -> Vec<Row> {
        let memory = if is_beat { groups.memory() } else { BTreeMap::new() };
        let mut rows = Vec::new();
        let mut begin = |path: &str| {
            let (group, name, kind) = names.group(path);
            let mut row = self.groups.row();
            row.set("start", Value::Time(interval.start_us));
            row.set("group", group.as_str());
            row.set("name", name.as_str());
            row.set("kind", kind);
            if let Some(levels) = memory.get(path) {
                for (column, level) in GAUGES.iter().zip(levels) {
                    row.set(column, *level);
                }
            }
            row
        };
        let known: BTreeMap<_, _> = if is_beat { groups.known().collect() } else { groups.used().collect() };
        for (path, grown) in &known {
            // Nothing used is 0, and no row says so but that of a group with memory.
            if memory.contains_key(*path) || is_used(grown) {
                let mut row = begin(path);
                set_amounts(&mut row, grown, interval.length_s);
                rows.push(row.finish());
            }
        }
        let others = memory.keys().filter(|path| !known.contains_key(*path));
        rows.extend(others.map(|path| begin(path).finish()));
        rows
    }
}

fn set_amounts(row: &mut Draft<'_>, grown: &Counts, length_s: f64) {
    for (place, ((column, unit_s), amount)) in AMOUNTS.iter().zip(grown).enumerate() {
        let Some(amount) = *amount else { continue };
        if *unit_s == 0.0 {
            row.set(column, amount);
        } else {
            let seconds = amount as f64 * unit_s;
            // A stall that began when nobody looked passes at most once in the interval.
            row.set(column, if STALLS.contains(&place) { seconds.min(length_s) } else { seconds });
        }
    }
}

fn text(text: Option<String>) -> Value {
    text.map_or(Value::Null, |text| Value::from(text.as_str()))
}

/// Puts name and kind of its user in each row, and pseudonyms in the place of keys and names if so asked.
pub fn name_users(
    names: &mut Names,
    census: &Census,
    schema: &TableSchema,
    rows: &mut [Row],
    shown: &mut BTreeMap<String, Shown>,
) {
    let [user, name, kind] = ["user", "name", "kind"].map(|column| schema.position(column));
    names.hide(rows, user);
    let Some(user) = user else { return };
    for row in rows {
        let Value::Text(key) = &row[user] else { continue };
        if !shown.contains_key(&**key) {
            let found = Key::of_text(key).map(|key| names.user(&key, census));
            shown.insert(key.to_string(), found.unwrap_or_else(|| names.unknown_key(key)));
        }
        let Shown { key, name: label, kind: of } = &shown[&**key];
        row[user] = Value::from(key.as_str());
        if let Some(name) = name {
            row[name] = text(label.clone());
        }
        if let Some(kind) = kind {
            row[kind] = Value::from(*of);
        }
    }
}

/// Sets what users have of graphics devices. A user who used nothing else gets a row that `empty` makes.
pub fn add_gpu(
    used: &BTreeMap<Key, GpuUse>,
    schema: &TableSchema,
    users: &mut Vec<Row>,
    empty: impl Fn(&str) -> Row,
) {
    let places = ["user", "gpu_s", "gpu_memory_bytes"].map(|column| schema.position(column));
    let [Some(user), Some(busy), Some(memory)] = places else { return };
    let mut left: BTreeMap<String, &GpuUse> = used.iter().map(|(key, found)| (key.text(), found)).collect();
    let set = |row: &mut Row, found: &GpuUse| {
        row[busy] = Value::from(found.busy_ns.map(|ns| ns as f64 * 1e-9));
        row[memory] = Value::from(found.memory);
    };
    for row in users.iter_mut() {
        let Value::Text(key) = &row[user] else { continue };
        if let Some(found) = left.remove(&**key) {
            set(row, found);
        }
    }
    // Memory alone is no use in the interval.
    for (key, found) in left.into_iter().filter(|(_, found)| found.busy_ns.unwrap_or(0) > 0) {
        let mut row = empty(&key);
        set(&mut row, found);
        users.push(row);
    }
}

/// Columns of CPU time, in the order of the times of an account.
const CPU_COLUMNS: [&str; 3] = ["cpu_exact_s", "user_s", "system_s"];

/// Exact CPU time of all rows [s]; `None` where no group has a counter, and nothing was changed.
///
/// Replaces the CPU times of users by those of their groups. A group that has no process any more gets a row that
/// `empty` makes: nothing else of its usage was seen.
pub fn by_groups(
    groups: &mut Groups,
    schema: &TableSchema,
    users: &mut Vec<Row>,
    empty: impl Fn(&str) -> Row,
) -> Option<f64> {
    let places = CPU_COLUMNS.map(|column| schema.position(column));
    let (Some(user), [Some(exact), Some(in_user), Some(in_system)]) = (schema.position("user"), places)
    else {
        return None;
    };
    let places = [exact, in_user, in_system];
    let by_processes = users
        .iter()
        .filter_map(|row| {
            let Value::Text(key) = &row[user] else { return None };
            let ns = |place: usize| match row[place] {
                Value::F64(seconds) => (seconds * 1e9) as u64,
                _ => 0,
            };
            Some((key.to_string(), places.map(ns)))
        })
        .collect();
    let mut accounts = groups.accounts(&by_processes)?;
    for row in users.iter_mut() {
        let Value::Text(key) = &row[user] else { continue };
        let times = accounts.remove(&**key).unwrap_or_default();
        for (place, ns) in places.into_iter().zip(times) {
            row[place] = Value::F64(ns as f64 * 1e-9);
        }
    }
    for (path, times) in accounts {
        let mut row = empty(&path);
        for (place, ns) in places.into_iter().zip(times) {
            row[place] = Value::F64(ns as f64 * 1e-9);
        }
        users.push(row);
    }
    let exact_s = |row: &Row| if let Value::F64(seconds) = row[exact] { seconds } else { 0.0 };
    Some(users.iter().map(exact_s).sum())
}
