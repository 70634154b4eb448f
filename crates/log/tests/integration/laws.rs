//! The laws: a sound log keeps all of them, and one value that is impossible breaks one.

use std::path::Path;
use std::sync::Arc;

use arrow_array::{
    ArrayRef, BooleanArray, Float64Array, Int64Array, RecordBatch, StringArray, TimestampMicrosecondArray,
    UInt64Array,
};
use serde_json::json;
use thinktime_log::{
    Defect, Kind, Log, LogWriter, OpenMode, Row, Session, TableSchema, Type, Value, vocabulary,
};

use crate::is_thorough;

const INTERVALS: usize = 8;
const SECOND_US: i64 = 1_000_000;
const START_US: i64 = 1_767_225_600 * SECOND_US;

/// Start and length of interval `index`; the lengths differ, so that two of them cannot be exchanged.
fn interval(index: usize) -> (i64, f64) {
    let length_us = |index: usize| if index % 2 == 0 { 1_000_000 } else { 1_500_000 };
    (START_US + (0..index).map(length_us).sum::<i64>(), length_us(index) as f64 * 1e-6)
}

/// A row in which every column has a value that two CPUs can have.
fn row(schema: &TableSchema, number: usize, index: usize) -> Row {
    let (start_us, length_s) = interval(index);
    let value = |column: &thinktime_log::Column| match (schema.name.as_str(), column.name.as_str()) {
        (_, "start") => Value::Time(start_us),
        (_, "length_s") => Value::F64(length_s),
        (_, "cpu") => Value::U64(number as u64),
        ("samples", "active_users") => Value::U64(2),
        ("samples", "idle_s") => Value::F64(2.0 * length_s - 0.7),
        ("samples", "cpu_exact_s") => Value::F64(0.5),
        ("cpus", "user_s" | "system_s") => Value::F64(0.05),
        ("users", "cpu_exact_s") => Value::F64(0.2),
        // One command of the two rows of users, which are of one user.
        ("commands", "cpu_exact_s") => Value::F64(0.4),
        ("samples", "memory_total_bytes" | "swap_total_bytes") => Value::U64(1 << 30),
        ("interactions", step @ ("due" | "sent" | "first_service" | "first_output" | "completion")) => {
            let steps = ["due", "sent", "first_service", "first_output", "completion"];
            let place = steps.iter().position(|name| *name == step).unwrap();
            Value::Time(start_us + 100_000 * place as i64)
        }
        ("events", "time") => Value::Time(start_us),
        ("disks", "device") => Value::from("sda"),
        ("latencies", "at_least_s") => Value::F64(0.0),
        ("latencies", "count") => Value::U64(2),
        ("commands", _) if column.ty == Type::F64 => Value::F64(0.2),
        ("commands", _) if column.ty == Type::U64 => Value::U64(2 * (100 + index as u64)),
        _ => match column.ty {
            Type::F64 => Value::F64(0.1),
            Type::U64 => Value::U64(100 + index as u64),
            Type::Text => Value::from("one"),
            Type::Bool => Value::Bool(true),
            Type::I64 | Type::Time => unreachable!("the common columns have none but those above"),
        },
    };
    schema.columns.iter().map(value).collect()
}

/// Tables of a sound log.
fn sound() -> Vec<(TableSchema, Vec<Row>)> {
    let rows_of = |schema: TableSchema| {
        let each = if ["users", "cpus"].contains(&schema.name.as_str()) { 2 } else { 1 };
        let rows = (0..INTERVALS).flat_map(|index| (0..each).map(move |number| (number, index)));
        let rows = rows.map(|(number, index)| row(&schema, number, index)).collect();
        (schema, rows)
    };
    vocabulary::tables().into_iter().map(rows_of).collect()
}

/// Rows as they are: `LogWriter::append` would turn what is not finite into null.
fn batch(schema: &TableSchema, rows: &[Row]) -> RecordBatch {
    let columns = schema.columns.iter().enumerate().map(|(place, column)| -> ArrayRef {
        macro_rules! all {
            ($array:ty, $variant:path) => {
                rows.iter()
                    .map(|row| if let $variant(value) = &row[place] { Some(value.clone()) } else { None })
                    .collect::<$array>()
            };
        }
        match column.ty {
            Type::F64 => Arc::new(all!(Float64Array, Value::F64)),
            Type::U64 => Arc::new(all!(UInt64Array, Value::U64)),
            Type::I64 => Arc::new(all!(Int64Array, Value::I64)),
            Type::Bool => Arc::new(all!(BooleanArray, Value::Bool)),
            Type::Text => Arc::new(
                rows.iter()
                    .map(
                        |row| if let Value::Text(text) = &row[place] { Some(text.to_string()) } else { None },
                    )
                    .collect::<StringArray>(),
            ),
            Type::Time => Arc::new(all!(TimestampMicrosecondArray, Value::Time).with_timezone("UTC")),
        }
    });
    RecordBatch::try_new(schema.arrow(), columns.collect()).unwrap()
}

fn write(
    dir: &Path,
    machine: serde_json::Value,
    facts: serde_json::Value,
    tables: &[(TableSchema, Vec<Row>)],
) {
    let session = Session { source: "test".into(), machine, start_us: START_US, ..Session::default() };
    let mut writer = LogWriter::open(dir, OpenMode::Replace, session).unwrap();
    writer.set("recorder", facts).unwrap();
    for (schema, rows) in tables {
        let table = writer.declare(schema.clone()).unwrap();
        writer.write_part(table, [Ok(batch(schema, rows))]).unwrap();
    }
    writer.finish().unwrap();
}

fn facts() -> serde_json::Value {
    let users = json!({"n": INTERVALS, "exact_s": 4.0, "attributed_s": 3.2, "unattributed_s": 0.8});
    json!({"recorded_s": 10.0, "users": users})
}

fn check(dir: &Path, tables: &[(TableSchema, Vec<Row>)]) -> Vec<Defect> {
    write(dir, json!({"cpus": 2}), facts(), tables);
    Log::open(dir).unwrap().check().unwrap()
}

/// A folder in memory where there is one: hundreds of logs are written, each with syncs.
fn holder() -> tempfile::TempDir {
    tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap()
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Change {
    NaN,
    Infinite,
    Negative,
    Huge,
    Swapped,
}

const CHANGES: [Change; 5] = [Change::NaN, Change::Infinite, Change::Negative, Change::Huge, Change::Swapped];

/// Changes one value; `false` where the column can have no such value.
fn spoil(rows: &mut [Row], place: usize, change: Change) -> bool {
    let row = rows.len() / 2 - 1;
    let spoiled = match (change, &rows[row][place]) {
        (Change::NaN, Value::F64(_)) => Value::F64(f64::NAN),
        (Change::Infinite, Value::F64(_)) => Value::F64(f64::INFINITY),
        (Change::Negative, Value::F64(value)) => Value::F64(-value - 1.0),
        (Change::Negative, Value::Time(_)) => Value::Time(-1),
        (Change::Huge, Value::F64(_)) => Value::F64(1e308),
        (Change::Huge, Value::U64(_)) => Value::U64(u64::MAX),
        (Change::Huge, Value::Time(_)) => Value::Time(i64::MAX),
        (Change::Swapped, value) if *value != rows[row + 1][place] => {
            let (before, after) = rows.split_at_mut(row + 1);
            std::mem::swap(&mut before[row][place], &mut after[0][place]);
            return true;
        }
        _ => return false,
    };
    rows[row][place] = spoiled;
    true
}

/// Changes that no law sees, and why that does no harm or cannot be known.
fn passes(table: &str, column: &thinktime_log::Column, change: Change) -> bool {
    match (table, column.name.as_str(), change) {
        // A value of the next interval is possible in this one too, and sums over the log stay the same. Times of
        // rows that stand in order are another matter, and so are amounts that a second table has too.
        (_, name, Change::Swapped) => {
            let is_twice = match table {
                "samples" => name.starts_with("disk_") || name.starts_with("net_"),
                "disks" => ["reads", "writes", "read_bytes", "write_bytes", "busy_s"].contains(&name),
                "interfaces" => name.starts_with("packets_") || name.starts_with("bytes_"),
                "users" | "commands" => {
                    name.starts_with("page_faults_") || ["read_bytes", "write_bytes"].contains(&name)
                }
                _ => false,
            };
            column.kind != Kind::Time && !is_twice
        }
        _ => false,
    }
}

#[test]
fn an_impossible_value_is_found_in_every_column() {
    let holder = holder();
    let dir = holder.path().join("log");
    assert_eq!(check(&dir, &sound()), []);
    let (mut changed, mut missed) = (0, Vec::new());
    for (table, (schema, _)) in sound().iter().enumerate() {
        for (place, column) in schema.columns.iter().enumerate() {
            for (number, change) in CHANGES.into_iter().enumerate() {
                // Without the others: each of them in two columns of five.
                if !is_thorough() && (place + number) % 5 > 1 {
                    continue;
                }
                let mut tables = sound();
                if !spoil(&mut tables[table].1, place, change) {
                    continue;
                }
                changed += 1;
                let is_found = !check(&dir, &tables).is_empty();
                if is_found == passes(&schema.name, column, change) {
                    missed.push(format!("{}.{} {change:?}: found {is_found}", schema.name, column.name));
                }
            }
        }
    }
    println!("{changed} values changed");
    assert!(missed.is_empty(), "of {changed}: {missed:#?}");
}

#[test]
fn neighbouring_rows_that_are_exchanged_are_found() {
    let holder = holder();
    let dir = holder.path().join("log");
    for table in 0..sound().len() {
        let mut tables = sound();
        let (schema, rows) = &mut tables[table];
        let row = rows.len() / 2 - 1;
        rows.swap(row, row + 1);
        let law = match schema.name.as_str() {
            "samples" => "in_order",
            "interactions" => "completions_in_order",
            "events" => "events_in_order",
            _ => "details_in_order",
        };
        let defects = check(&dir, &tables);
        assert!(laws(&defects).contains(&law), "{law}: {defects:?}");
    }
}

/// 100 reads of a disk; the machine's total has none of what lies on it, and perhaps those of a device of which the
/// name does not say whether it is hardware.
#[test]
fn requests_to_stacked_disks_are_counted_below_them() {
    let holder = holder();
    let dir = holder.path().join("log");
    type Case = (&'static [(&'static str, u64)], u64, bool);
    let cases: [Case; 11] = [
        (&[("sda", 100)], 100, true),
        (&[("sda", 100)], 99, false),
        (&[("sda", 100)], 101, false),
        (&[("sda", 100), ("dm-0", 100), ("md127", 30), ("loop0", 7)], 100, true),
        (&[("sda", 100), ("dm-0", 100), ("md127", 30), ("loop0", 7)], 107, false),
        (&[("sda", 60), ("nvme0n1", 40), ("zram0", 9)], 100, true),
        (&[("sda", 60), ("nvme0n1", 40), ("zram0", 9)], 60, false),
        (&[("sda", 100), ("rbd0", 7)], 100, true),
        (&[("sda", 100), ("rbd0", 7)], 107, true),
        (&[("sda", 100), ("rbd0", 7)], 108, false),
        (&[("loop0", 7)], 7, false),
    ];
    for (disks, machine, is_sound) in cases {
        let mut tables = sound();
        let place = |schema: &TableSchema, name: &str| schema.position(name).unwrap();
        let (schema, rows) = tables.iter_mut().find(|(schema, _)| schema.name == "samples").unwrap();
        rows[0][place(schema, "disk_reads")] = Value::U64(machine);
        let (schema, rows) = tables.iter_mut().find(|(schema, _)| schema.name == "disks").unwrap();
        let first = rows.remove(0);
        for (number, (disk, reads)) in disks.iter().enumerate() {
            let mut row = first.clone();
            for column in schema.columns.iter().filter(|column| number > 0 && column.ty != Type::Time) {
                row[place(schema, &column.name)] = Value::Null;
            }
            row[place(schema, "device")] = Value::from(*disk);
            row[place(schema, "reads")] = Value::U64(*reads);
            rows.insert(number, row);
        }
        let defects = check(&dir, &tables);
        let of_reads: Vec<_> = defects.iter().filter(|defect| defect.law == "devices_add_up").collect();
        // The other amounts of the first row are hardware's, or of the loop device.
        let is_found = of_reads.iter().any(|defect| format!("{defect:?}").contains("disk_reads"));
        assert_eq!(is_found, !is_sound, "{disks:?} of {machine}: {defects:?}");
    }
}

/// Due to completion are 0.4 s, sent to completion 0.3 s: CPU time, wait for a CPU and wait for I/O are 0.1 s each.
#[test]
fn cpu_time_and_waits_are_parts_of_the_response() {
    let holder = holder();
    let dir = holder.path().join("log");
    let cases: [(&str, Value, &[&str]); 4] = [
        ("run_delay_s", Value::F64(0.112), &[]),
        ("run_delay_s", Value::F64(0.114), &["parts_within_response"]),
        ("io_delay_s", Value::F64(0.114), &["parts_within_response"]),
        // Work in parallel on two CPUs, of which only the CPU time is known.
        ("service_s", Value::F64(0.5), &[]),
    ];
    for (name, value, expected) in cases {
        let mut tables = sound();
        let (schema, rows) = tables.iter_mut().find(|(schema, _)| schema.name == "interactions").unwrap();
        if name == "service_s" {
            rows[0][schema.position("run_delay_s").unwrap()] = Value::Null;
            rows[0][schema.position("io_delay_s").unwrap()] = Value::Null;
        }
        rows[0][schema.position(name).unwrap()] = value;
        assert_eq!(laws(&check(&dir, &tables)), expected, "{name}");
    }
}

/// Eight intervals have 2 durations each of 0.1 s together, between 0 and 0.1 s; CPUs gave 0.5 s, and 0.1 s to each of three
/// other states, in each.
#[test]
fn durations_lie_in_their_bucket_and_slices_within_the_cpu_time() {
    let holder = holder();
    let dir = holder.path().join("log");
    let bucket = "latencies_in_buckets";
    let cases: [(&str, Value, &[&str]); 8] = [
        ("at_least_s", Value::F64(0.05), &[]),
        ("at_least_s", Value::F64(0.051), &[bucket]),
        ("at_least_s", Value::F64(0.1), &[bucket]),
        ("below_s", Value::F64(0.05), &[]),
        ("below_s", Value::F64(0.049), &[bucket]),
        ("below_s", Value::Null, &[]),
        ("count", Value::U64(0), &[bucket]),
        ("quantity", Value::from("slice"), &[]),
    ];
    for (name, value, expected) in cases {
        let mut tables = sound();
        let (schema, rows) = tables.iter_mut().find(|(schema, _)| schema.name == "latencies").unwrap();
        rows[0][schema.position(name).unwrap()] = value;
        assert_eq!(laws(&check(&dir, &tables)), expected, "{name}");
    }
    // CPUs gave 6.4 s: 2 %, and 0.1 s for each of two CPUs, more are possible.
    for (total_s, expected) in [(6.7, vec![]), (6.75, vec!["slices_within_cpu_time"])] {
        let mut tables = sound();
        let (schema, rows) = tables.iter_mut().find(|(schema, _)| schema.name == "latencies").unwrap();
        for (name, value) in
            [("quantity", Value::from("slice")), ("below_s", Value::Null), ("total_s", Value::F64(total_s))]
        {
            rows[0][schema.position(name).unwrap()] = value;
        }
        assert_eq!(laws(&check(&dir, &tables)), expected, "{total_s}");
    }
}

/// Eight intervals, of 1 s and 1.5 s in turn, have 2 traced waits each of 0.1 s together. With two CPUs, twice the longest wait
/// and 0.1 s in which processes were read, 0.42 s, 5 % of the larger sum and 20 µs for each wait may be in other intervals.
#[test]
fn traced_waits_are_those_of_the_processes_in_most_intervals() {
    let holder = holder();
    let dir = holder.path().join("log");
    let (of_all, by_user) = ("waits_for_cpu_add_up", "waits_for_cpu_by_user");
    let mut traced = facts();
    traced["trace"] = json!({"durations_lost": 0});
    let mut lost = facts();
    lost["trace"] = json!({"durations_lost": 1});
    // Waits of the processes in so many of the intervals; as traced in the others.
    let cases: [(f64, usize, &serde_json::Value, &[&str]); 6] = [
        (0.54, INTERVALS, &traced, &[]),
        (0.56, INTERVALS, &traced, &[of_all, by_user]),
        (0.56, INTERVALS / 2 + 1, &traced, &[of_all, by_user]),
        (1.0, INTERVALS / 2, &traced, &[]),
        (0.56, INTERVALS, &lost, &[]),
        (0.56, INTERVALS, &facts(), &[]),
    ];
    for (told_s, intervals, facts, expected) in cases {
        let mut tables = sound();
        for (schema, rows) in &mut tables {
            let place = |name: &str| schema.position(name).unwrap();
            let each = if schema.name == "users" { 2 } else { 1 };
            for (number, row) in rows.iter_mut().enumerate() {
                let told_s = if number / each < intervals { told_s } else { 0.1 };
                match schema.name.as_str() {
                    "latencies" => row[place("quantity")] = Value::from("run_queue_wait"),
                    // Two rows of one user, and one of all that its commands did.
                    "users" => row[place("run_delay_s")] = Value::F64(told_s / 2.0),
                    "commands" => row[place("run_delay_s")] = Value::F64(told_s),
                    _ => {}
                }
            }
        }
        write(&dir, json!({"cpus": 2}), facts.clone(), &tables);
        assert_eq!(laws(&Log::open(&dir).unwrap().check().unwrap()), expected, "{told_s} in {intervals}");
    }
    // Fewer waits than the processes had, as where rows are missing.
    let mut tables = sound();
    let (schema, rows) = tables.iter_mut().find(|(schema, _)| schema.name == "latencies").unwrap();
    for row in rows {
        row[schema.position("quantity").unwrap()] = Value::from("run_queue_wait");
        for column in ["total_s", "below_s"] {
            row[schema.position(column).unwrap()] = Value::F64(1e-3);
        }
    }
    write(&dir, json!({"cpus": 2}), traced, &tables);
    assert_eq!(laws(&Log::open(&dir).unwrap().check().unwrap()), [of_all, by_user]);
}

/// For each law of amounts, the most that hardware could do in an interval of 1 s (a tenth of the bound), and twice
/// what it could.
#[test]
fn amounts_beyond_any_hardware_are_found_and_amounts_of_the_largest_are_not() {
    let holder = holder();
    let dir = holder.path().join("log");
    let cases = [
        ("samples", "context_switches", 2e7, 4e8),
        ("samples", "interrupts", 2e7, 4e8),
        ("samples", "softirq_timer", 2e7, 4e8),
        ("samples", "forks", 2e7, 4e8),
        ("samples", "page_faults_minor", 2e7, 4e8),
        ("users", "page_faults_major", 2e7, 4e8),
        ("samples", "loopback_packets", 1e10, 2e11),
        ("samples", "paged_in_bytes", 1e13, 3e14),
        ("samples", "pages_scanned", 1e10, 3e11),
        ("samples", "psi_cpu_some_s", 1.0, 3.0),
        ("samples", "psi_io_full_s", 1.0, 3.0),
        ("samples", "recorder_cpu_s", 0.9, 3.0),
        ("samples", "recorder_delay_s", 0.9, 3.0),
        ("samples", "runnable", 4e6, 2e7),
        ("samples", "load_1m", 4e6, 2e7),
        ("users", "processes", 4e6, 2e7),
        ("disks", "in_progress", 1e6, 4_294_967_295.0),
    ];
    for (table, name, possible, impossible) in cases {
        for (amount, is_found) in [(possible, false), (impossible, true)] {
            let mut tables = sound();
            // What a user used is in both tables.
            tables.retain(|(schema, _)| schema.name != "commands");
            let (schema, rows) = tables.iter_mut().find(|(schema, _)| schema.name == table).unwrap();
            let place = schema.position(name).unwrap();
            // The first interval, whose length is 1 s.
            rows[0][place] = match rows[0][place] {
                Value::F64(_) => Value::F64(amount),
                _ => Value::U64(amount as u64),
            };
            let defects = check(&dir, &tables);
            let expected: &[&str] = if is_found { &["possible_amount"] } else { &[] };
            assert_eq!(laws(&defects), expected, "{table}.{name} {amount}");
        }
    }
}

#[test]
fn a_user_may_have_worked_while_a_sample_was_read() {
    let holder = holder();
    let dir = holder.path().join("log");
    // Two CPUs have 2 s in the first interval, and 3 s more while the sample at its end was held up.
    for (reading_max_s, is_found) in [(0.0, true), (3.0, false)] {
        let mut tables = sound();
        let (schema, rows) = tables.iter_mut().find(|(schema, _)| schema.name == "users").unwrap();
        rows[0][schema.position("cpu_exact_s").unwrap()] = Value::F64(5.0);
        let users = json!({"reading_max_s": reading_max_s});
        write(&dir, json!({"cpus": 2}), json!({"users": users}), &tables);
        let defects = Log::open(&dir).unwrap().check().unwrap();
        assert_eq!(laws(&defects).contains(&"possible_amount"), is_found, "{reading_max_s}: {defects:?}");
    }
}

#[test]
fn interactions_and_events_lie_in_the_time_of_the_log() {
    let holder = holder();
    let dir = holder.path().join("log");
    let later = |rows: &mut Vec<Row>, place: usize, us: i64| {
        let Value::Time(time) = rows[0][place] else { panic!("a time") };
        rows[0][place] = Value::Time(time + us);
    };
    let day = 86_400 * SECOND_US;
    for (table, column, us, law) in [
        ("interactions", "due", -30 * SECOND_US, None),
        ("interactions", "due", -day, Some("within_the_log")),
        ("events", "time", -day, Some("within_the_log")),
        // After the end of the session, which ends now.
        ("interactions", "completion", 100_000 * day, Some("within_the_log")),
    ] {
        let mut tables = sound();
        let (schema, rows) = tables.iter_mut().find(|(schema, _)| schema.name == table).unwrap();
        later(rows, schema.position(column).unwrap(), us);
        let defects = check(&dir, &tables);
        assert!(law.is_none_or(|law| laws(&defects).contains(&law)), "{table}.{column} {us}: {defects:?}");
        assert!(law.is_some() || defects.is_empty(), "{table}.{column} {us}: {defects:?}");
    }
}

fn laws(defects: &[Defect]) -> Vec<&str> {
    let mut names: Vec<&str> = defects.iter().map(|defect| defect.law).collect();
    names.dedup();
    names
}

#[test]
fn the_manifest_must_agree_with_the_rows() {
    let holder = holder();
    let dir = holder.path().join("log");
    for (cpus, law) in [(1.0, "cpu_time_fits"), (4.0, "cpu_time_adds_up"), (1e308, "possible_manifest")] {
        write(&dir, json!({"cpus": cpus}), facts(), &sound());
        let defects = Log::open(&dir).unwrap().check().unwrap();
        // One CPU in the manifest and two in the table: the table is believed, and the difference noted.
        let law = if cpus == 1.0 { "cpus_are_known" } else { law };
        assert!(laws(&defects).contains(&law), "{cpus}: {defects:?}");
    }
    for (pointer, value) in [
        ("/recorded_s", 11.0),
        ("/users/attributed_s", 3.0),
        ("/users/attributed_s", 5.0),
        ("/users/attributed_s", -1.0),
        ("/users/unattributed_s", 0.5),
    ] {
        let mut facts = facts();
        *facts.pointer_mut(pointer).unwrap() = value.into();
        write(&dir, json!({"cpus": 2}), facts, &sound());
        let defects = Log::open(&dir).unwrap().check().unwrap();
        assert_eq!(laws(&defects), ["facts_agree"], "{pointer} {value}");
    }
}

#[test]
fn time_in_whole_ticks_may_be_longer_than_it_was() {
    let holder = holder();
    let dir = holder.path().join("log");
    // The rows are of no interest here: without the number of intervals they are not compared.
    let defects = |attributed_s: f64, totals: usize| {
        let users = json!({
            "exact_s": 0.3, "attributed_s": attributed_s, "totals_in_ticks": totals, "reading_max_s": 0.0,
        });
        write(&dir, json!({"cpus": 2}), json!({"recorded_s": 10.0, "users": users}), &sound());
        laws(&Log::open(&dir).unwrap().check().unwrap()).len()
    };
    let slack_s = 0.05 + 0.02 * 0.3;
    // Each of 300 processes uses 0.9 ms, of which the kernel tells whole ticks of 10 ms: by how much that is too long.
    // Steele, Lea and Flood 2014, Figure 15.
    let mut state = 7u64;
    let mut uniform = || {
        state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = (state ^ (state >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((mixed ^ (mixed >> 31)) >> 11) as f64 / (1u64 << 53) as f64
    };
    let mut longest_s: f64 = 0.0;
    for _ in 0..50 {
        let totals = (0..300).filter(|_| uniform() < 0.09).count();
        let too_long_s = totals as f64 * 10e-3 - 300.0 * 0.9e-3;
        longest_s = longest_s.max(too_long_s);
        assert_eq!(defects(0.3 + too_long_s, totals), 0, "{totals} totals");
    }
    // Without the rounding, the rule would tell one of them damaged.
    assert!(longest_s > slack_s, "{longest_s}");
    // One total is off by two ticks at most, and a total that is not there explains nothing.
    assert_eq!(defects(0.3 + slack_s + 0.019, 1), 0);
    assert_eq!(defects(0.3 + slack_s + 0.021, 1), 1);
    assert_eq!(defects(0.3 + slack_s + 0.001, 0), 1);
}

#[test]
fn a_gap_is_found_where_no_incident_explains_it() {
    let holder = holder();
    let dir = holder.path().join("log");
    let mut tables = sound();
    for (schema, rows) in &mut tables {
        let start = schema.position("start").unwrap_or(usize::MAX);
        rows.retain(|row| row.get(start) != Some(&Value::Time(interval(3).0)));
    }
    let defects = check(&dir, &tables);
    assert!(laws(&defects).contains(&"no_gap"), "{defects:?}");
    let place = &defects.iter().find(|defect| defect.law == "no_gap").unwrap().place;
    assert_eq!(place, "row 3");
    let session = Session { source: "test".into(), start_us: START_US, ..Session::default() };
    let mut writer = LogWriter::open(&dir, OpenMode::Resume, session).unwrap();
    writer.incident("interval_dropped", "the machine was suspended in it").unwrap();
    writer.finish().unwrap();
    assert_eq!(Log::open(&dir).unwrap().check().unwrap(), []);
}

#[test]
fn the_first_rows_that_break_a_law_are_listed_and_the_others_counted() {
    let holder = holder();
    let dir = holder.path().join("log");
    let mut samples = sound().remove(0);
    let forks = samples.0.position("forks").unwrap();
    let rows = samples.1.iter().cycle().take(2000).cloned().collect::<Vec<Row>>();
    samples.1 = rows;
    for (index, row) in samples.1.iter_mut().enumerate() {
        row[0] = Value::Time(START_US + 2 * SECOND_US * index as i64);
        row[forks] = Value::U64(u64::MAX);
    }
    let session = Session { source: "test".into(), start_us: START_US, ..Session::default() };
    let mut writer = LogWriter::open(&dir, OpenMode::Create, session).unwrap();
    let table = writer.declare(samples.0.clone()).unwrap();
    writer.write_part(table, [Ok(batch(&samples.0, &samples.1))]).unwrap();
    writer.finish().unwrap();
    let defects = Log::open(&dir).unwrap().check().unwrap();
    let places: Vec<&str> = defects.iter().map(|defect| defect.place.as_str()).collect();
    assert_eq!(places, ["row 0", "row 1", "row 2", "row 3", "row 4", ""]);
    assert!(defects.iter().all(|defect| defect.law == "possible_amount" && !defect.remedy.is_empty()));
    assert!(defects[5].message.starts_with("and 1,995 more"), "{}", defects[5].message);
}

#[test]
fn rows_whose_intervals_are_damaged_are_counted_not_listed() {
    let holder = holder();
    let dir = holder.path().join("log");
    assert_eq!(check(&dir, &sound()), []);
    let part = dir.join("samples/part-000001.parquet");
    let bytes = std::fs::read(&part).unwrap();
    std::fs::write(&part, &bytes[..bytes.len() / 2]).unwrap();
    let defects = Log::open(&dir).unwrap().check().unwrap();
    assert_eq!(defects[0].file, part);
    let (counted, others): (Vec<&Defect>, Vec<&Defect>) =
        defects[1..].iter().partition(|defect| defect.law == "within_an_interval");
    assert_eq!(others, [] as [&Defect; 0]);
    let said: Vec<(&str, &str)> = counted
        .iter()
        .map(|defect| {
            let table = defect.file.parent().unwrap().file_name().unwrap().to_str().unwrap();
            (table, defect.message.split(" when").next().unwrap())
        })
        .collect();
    let rows =
        |table: &str| if ["users", "cpus"].contains(&table) { "16 rows start" } else { "8 rows start" };
    let mut tables = sound().into_iter().map(|(schema, _)| schema.name).collect::<Vec<String>>();
    tables.retain(|table| !["samples", "interactions", "events"].contains(&table.as_str()));
    tables.sort();
    assert_eq!(said, tables.iter().map(|table| (table.as_str(), rows(table))).collect::<Vec<_>>());
}

#[test]
fn rows_that_are_not_sealed_are_found_in_their_journal() {
    let holder = holder();
    let dir = holder.path().join("log");
    let (schema, mut rows) = sound().remove(0);
    let forks = schema.position("forks").unwrap();
    rows[1][forks] = Value::U64(u64::MAX);
    rows[3][forks] = Value::U64(u64::MAX);
    let session = Session { source: "test".into(), start_us: START_US, ..Session::default() };
    let mut writer = LogWriter::open(&dir, OpenMode::Create, session).unwrap();
    let table = writer.declare(schema).unwrap();
    writer.append(vec![(table, rows[..2].to_vec())]).unwrap();
    writer.seal().unwrap();
    writer.append(vec![(table, rows[2..].to_vec())]).unwrap();
    let defects = Log::open(&dir).unwrap().check().unwrap();
    let found: Vec<_> = defects.iter().map(|defect| (defect.file.clone(), defect.place.as_str())).collect();
    assert_eq!(
        found,
        [(dir.join("samples/part-000001.parquet"), "row 1"), (dir.join("journal-000002.ttj"), "row 1")]
    );
}

/// A part that is written between appended rows takes a number of its own: no row of an open journal is lost or there twice.
#[test]
fn parts_between_appended_rows_have_numbers_of_their_own() {
    let holder = holder();
    let dir = holder.path().join("log");
    let tables = sound();
    let of = |name: &str| tables.iter().find(|(schema, _)| schema.name == name).unwrap();
    let ((samples, rows), (events, event_rows)) = (of("samples"), of("events"));
    let session = Session { source: "test".into(), start_us: START_US, ..Session::default() };
    let mut writer = LogWriter::open(&dir, OpenMode::Create, session).unwrap();
    let (to_samples, to_events) =
        (writer.declare(samples.clone()).unwrap(), writer.declare(events.clone()).unwrap());
    let count = |name: &str| -> usize {
        let batches = Log::open(&dir).unwrap().read(name).unwrap();
        batches.iter().map(RecordBatch::num_rows).sum()
    };
    for (index, row) in rows.iter().enumerate() {
        writer.append(vec![(to_samples, vec![row.clone()]), (to_events, event_rows[..1].to_vec())]).unwrap();
        writer.write_part(to_events, [Ok(batch(events, &event_rows[..2]))]).unwrap();
        // Both into one journal, and a reader at any moment.
        writer.append(vec![(to_events, event_rows[..1].to_vec())]).unwrap();
        assert_eq!((count("samples"), count("events")), (index + 1, 4 * (index + 1)));
    }
    writer.finish().unwrap();
    assert_eq!((count("samples"), count("events")), (rows.len(), 4 * rows.len()));
}
