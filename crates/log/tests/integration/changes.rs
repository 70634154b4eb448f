//! What may change while a log grows: readers, columns, boots, bytes.

use std::fs;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use arrow_array::Array;
use thinktime_log::{Column, Kind, Log, LogWriter, OpenMode, Severity, Type, Value};

use crate::numbers::{assert_whole, numbers, open, row, schema, session, twin};

fn incident_count(log: &Log, kind: &str) -> u64 {
    log.manifest()
        .incidents
        .iter()
        .filter(|incident| incident.kind == kind)
        .map(|incident| incident.count)
        .sum()
}

#[test]
fn a_log_is_read_while_it_is_written_and_sealed() {
    let dir = tempfile::tempdir().unwrap();
    let mut writer = open(dir.path());
    let tables = [writer.declare(schema()).unwrap(), writer.declare(twin()).unwrap()];
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for number in 0..2000 {
                writer.append(tables.iter().map(|table| (*table, vec![row(number)])).collect()).unwrap();
                if number % 50 == 49 {
                    writer.seal().unwrap();
                }
            }
            done.store(true, Ordering::Release);
        });
        let mut seen = 0;
        while !done.load(Ordering::Acquire) {
            let log = Log::open(dir.path()).unwrap();
            // The two tables are read one after the other, so that only each for itself is a snapshot.
            let found = numbers(&log, "numbers");
            assert_eq!(found, (0..found.len() as u64).collect::<Vec<_>>());
            assert!(found.len() >= seen, "rows vanished: {} after {seen}", found.len());
            seen = found.len();
        }
    });
    assert_eq!(assert_whole(&Log::open(dir.path()).unwrap(), 2000), 2000);
}

#[test]
fn a_column_that_comes_later_is_null_before() {
    let dir = tempfile::tempdir().unwrap();
    let mut writer = open(dir.path());
    let narrow = writer.declare(schema()).unwrap();
    writer.append(vec![(narrow, vec![row(0)])]).unwrap();
    let mut wide_schema = schema();
    wide_schema.columns.push(Column::new("late", Type::F64, "s", Kind::Gauge, "A source that appeared"));
    let wide = writer.declare(wide_schema).unwrap();
    let mut wide_row = row(1);
    wide_row.push(Value::F64(0.5));
    writer.append(vec![(wide, vec![wide_row])]).unwrap();
    let log = Log::open(dir.path()).unwrap();
    assert_eq!(numbers(&log, "numbers"), [0, 1]);
    let batches = log.read("numbers").unwrap();
    let late: Vec<bool> = batches
        .iter()
        .flat_map(|batch| {
            (0..batch.num_rows())
                .map(|at| batch.column_by_name("late").unwrap().is_null(at))
                .collect::<Vec<_>>()
        })
        .collect();
    assert_eq!(late, [true, false]);
}

#[test]
fn a_reboot_between_sessions_is_counted() {
    let dir = tempfile::tempdir().unwrap();
    for boot in ["first", "first", "second"] {
        LogWriter::open(dir.path(), OpenMode::Resume, session(boot)).unwrap().finish().unwrap();
    }
    let log = Log::open(dir.path()).unwrap();
    assert_eq!(incident_count(&log, "reboot"), 1);
    assert_eq!(incident_count(&log, "killed"), 0);
}

#[test]
fn damage_inside_a_journal_costs_its_block_and_the_file_is_kept() {
    let dir = tempfile::tempdir().unwrap();
    let mut writer = open(dir.path());
    let table = writer.declare(schema()).unwrap();
    for number in 0..5 {
        writer.append(vec![(table, vec![row(number)])]).unwrap();
    }
    drop(writer); // as a kill leaves it: the journal is not sealed
    let journal = dir.path().join("journal-000001.ttj");
    let mut bytes = fs::read(&journal).unwrap();
    let blocks: Vec<usize> = (0..bytes.len()).filter(|at| bytes[*at..].starts_with(b"TTB2")).collect();
    bytes[blocks[2] + 18] ^= 0xff; // block 0 is the table, so that this is row 1
    fs::write(&journal, &bytes).unwrap();

    let log = Log::open(dir.path()).unwrap();
    assert_eq!(numbers(&log, "numbers"), [0, 2, 3, 4]);
    let defects = log.check().unwrap();
    assert_eq!(defects.len(), 1);
    assert_eq!(defects[0].severity, Severity::Error);
    assert_eq!(defects[0].place, format!("byte {}", blocks[2]));

    let mut writer = open(dir.path());
    let table = writer.declare(schema()).unwrap();
    writer.append(vec![(table, vec![row(5)])]).unwrap();
    writer.finish().unwrap();
    let log = Log::open(dir.path()).unwrap();
    assert_eq!(numbers(&log, "numbers"), [0, 2, 3, 4, 5]);
    assert_eq!(incident_count(&log, "damaged_block"), 1);
    assert!(dir.path().join("journal-000001.damaged").exists());
    assert!(!journal.exists());
}

#[test]
fn the_oldest_parts_go_when_there_are_too_many_bytes() {
    let dir = tempfile::tempdir().unwrap();
    let mut writer = open(dir.path());
    let table = writer.declare(schema()).unwrap();
    for number in 0..10 {
        writer.append(vec![(table, vec![row(number)])]).unwrap();
        writer.seal().unwrap();
    }
    let part = fs::metadata(dir.path().join("numbers/part-000001.parquet")).unwrap().len();
    writer.retain(Some(part * 4), None).unwrap();
    writer.finish().unwrap();
    drop(writer);
    let log = Log::open(dir.path()).unwrap();
    let kept = numbers(&log, "numbers");
    assert!((3..=4).contains(&kept.len()) && kept.last() == Some(&9), "kept {kept:?}");
    assert_eq!(incident_count(&log, "retired"), 10 - kept.len() as u64);

    let mut writer = open(dir.path());
    std::thread::sleep(Duration::from_millis(5));
    writer.retain(None, Some(Duration::from_millis(1))).unwrap();
    writer.finish().unwrap();
    assert_eq!(numbers(&Log::open(dir.path()).unwrap(), "numbers"), Vec::<u64>::new());
}

#[test]
fn a_double_that_is_no_number_is_null() {
    let dir = tempfile::tempdir().unwrap();
    let mut writer = open(dir.path());
    let column = Column::new("ratio", Type::F64, "", Kind::Gauge, "May be 0/0");
    let table = writer.declare(thinktime_log::TableSchema::new("ratios", vec![column])).unwrap();
    let values = [f64::NAN, f64::INFINITY, 0.0];
    writer.append(vec![(table, values.iter().map(|value| vec![Value::F64(*value)]).collect())]).unwrap();
    let batch = Log::open(dir.path()).unwrap().open_rows("ratios").unwrap().unwrap();
    assert_eq!((0..3).map(|at| batch.column(0).is_null(at)).collect::<Vec<_>>(), [true, true, false]);
}
