//! A table of numbered rows, and what of it a log holds.

use std::path::Path;

use arrow_array::cast::AsArray;
use arrow_array::types::UInt64Type;
use thinktime_log::{Column, Kind, Log, LogWriter, OpenMode, Session, TableSchema, Type, Value};

pub fn session(boot_id: &str) -> Session {
    Session { source: "test".into(), boot_id: Some(boot_id.into()), ..Session::default() }
}

pub fn open(dir: &Path) -> LogWriter {
    LogWriter::open(dir, OpenMode::Resume, session("boot")).expect("the folder is writable")
}

pub fn schema() -> TableSchema {
    let number = Column::new("number", Type::U64, "row", Kind::Counter, "Which row it is");
    let text = Column::new("filler", Type::Text, "", Kind::Label, "Something of varying length");
    TableSchema::new("numbers", vec![number, text])
}

/// A second table, written in the same blocks: the two must always agree.
pub fn twin() -> TableSchema {
    TableSchema { name: "twins".into(), ..schema() }
}

pub fn row(number: u64) -> Vec<Value> {
    vec![Value::U64(number), Value::from("x".repeat(number as usize % 50))]
}

pub fn numbers(log: &Log, table: &str) -> Vec<u64> {
    let batches = log.read(table).expect("every part is readable");
    batches.iter().flat_map(|batch| batch.column(0).as_primitive::<UInt64Type>().values().to_vec()).collect()
}

pub fn assert_whole(log: &Log, count_min: u64) -> u64 {
    let found = numbers(log, "numbers");
    let expected: Vec<u64> = (0..found.len() as u64).collect();
    assert_eq!(found, expected, "rows are lost, doubled or out of order");
    assert_eq!(numbers(log, "twins"), expected, "a block was read in part");
    assert!(found.len() as u64 >= count_min, "{} rows of {count_min} acknowledged ones", found.len());
    found.len() as u64
}
