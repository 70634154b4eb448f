//! What a log refuses, and in which words.

use std::fs;

use thinktime_log::{Log, LogError, LogWriter, OpenMode, SCHEMA_VERSION, Value};

use crate::numbers::{numbers, open, row, schema, session};

fn message<T: std::fmt::Debug>(result: Result<T, LogError>) -> String {
    result.expect_err("this must be refused").to_string()
}

/// A session that has ended holds nobody up, and writes nothing more.
#[test]
fn an_ended_session_lets_the_next_writer_in() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("run");
    let mut first = LogWriter::open(&path, OpenMode::Create, session("boot")).unwrap();
    first.finish().unwrap();
    let mut second = LogWriter::open(&path, OpenMode::Resume, session("boot")).unwrap();
    assert!(matches!(first.incident("killed", ""), Err(LogError::Ended { .. })));
    assert!(matches!(first.set("recorder", serde_json::json!({})), Err(LogError::Ended { .. })));
    first.finish().unwrap();
    second.finish().unwrap();
    assert_eq!(Log::open(&path).unwrap().manifest().sessions.len(), 2);
}

#[test]
fn a_second_writer_is_told_who_holds_the_log() {
    let dir = tempfile::tempdir().unwrap();
    let writer = open(dir.path());
    let refused = LogWriter::open(dir.path(), OpenMode::Resume, session("boot"));
    let text = message(refused);
    assert!(text.contains(&format!("process {}", std::process::id())), "{text}");
    drop(writer);
    open(dir.path());
}

#[test]
fn an_existing_log_is_not_written_over_without_being_told() {
    let dir = tempfile::tempdir().unwrap();
    let mut writer = open(dir.path());
    let table = writer.declare(schema()).unwrap();
    writer.append(vec![(table, vec![row(0)])]).unwrap();
    drop(writer);
    let text = message(LogWriter::open(dir.path(), OpenMode::Create, session("boot")));
    assert!(text.contains("--force"), "{text}");
    assert_eq!(numbers(&Log::open(dir.path()).unwrap(), "numbers"), [0]);
    drop(LogWriter::open(dir.path(), OpenMode::Replace, session("boot")).unwrap());
    assert_eq!(numbers(&Log::open(dir.path()).unwrap(), "numbers"), Vec::<u64>::new());
}

#[test]
fn a_folder_with_other_files_is_left_alone() {
    for mode in [OpenMode::Create, OpenMode::Resume, OpenMode::Replace] {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("thesis.tex"), "years of work").unwrap();
        let text = message(LogWriter::open(dir.path(), mode, session("boot")));
        assert!(text.contains("other files"), "{text}");
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
    }
}

#[test]
fn what_is_no_log_is_said_to_be_none() {
    let dir = tempfile::tempdir().unwrap();
    assert!(message(Log::open(dir.path())).contains("no manifest.json"));
    assert!(message(Log::open(&dir.path().join("absent"))).contains("check the path"));
    fs::write(dir.path().join("manifest.json"), "{\"format\": \"something else\"}").unwrap();
    assert!(message(Log::open(dir.path())).contains("not a thinktime log"));
    fs::write(dir.path().join("manifest.json"), "{").unwrap();
    assert!(message(Log::open(dir.path())).contains("manifest.json"));
}

#[test]
fn a_newer_format_is_refused_by_its_version() {
    let dir = tempfile::tempdir().unwrap();
    open(dir.path());
    let path = dir.path().join("manifest.json");
    let newer = fs::read_to_string(&path)
        .unwrap()
        .replace(&format!("\"schema_version\": {SCHEMA_VERSION}"), "\"schema_version\": 99");
    fs::write(&path, newer).unwrap();
    assert!(message(Log::open(dir.path())).contains("version 99"));
    assert!(message(LogWriter::open(dir.path(), OpenMode::Resume, session("boot"))).contains("version 99"));
}

#[test]
fn a_row_that_does_not_fit_is_refused_by_column() {
    let dir = tempfile::tempdir().unwrap();
    let mut writer = open(dir.path());
    let table = writer.declare(schema()).unwrap();
    let short = writer.append(vec![(table, vec![vec![Value::U64(1)]])]);
    assert!(message(short).contains("1 values for 2 columns"));
    let wrong = writer.append(vec![(table, vec![vec![Value::from("one"), Value::Null]])]);
    assert!(message(wrong).contains("column number"));
    let mut twice = schema();
    twice.columns.push(twice.columns[0].clone());
    assert!(message(writer.declare(twice)).contains("stands twice"));
}

#[test]
fn a_truncated_part_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let mut writer = open(dir.path());
    let table = writer.declare(schema()).unwrap();
    for number in 0..2 {
        writer.append(vec![(table, vec![row(number)])]).unwrap();
        writer.seal().unwrap();
    }
    let part = dir.path().join("numbers/part-000001.parquet");
    let bytes = fs::read(&part).unwrap();
    fs::write(&part, &bytes[..bytes.len() / 2]).unwrap();
    let log = Log::open(dir.path()).unwrap();
    assert!(message(log.read("numbers")).contains("part-000001"));
    let defects = log.check().unwrap();
    assert_eq!(defects.len(), 1);
    assert_eq!(defects[0].file, part);
}
