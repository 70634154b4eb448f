//! A disk that is full, or that cannot be written: on real file systems, mounted for the test in a
//! mount namespace of its own.

use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::Command;

use thinktime_log::{Log, LogWriter, OpenMode};

use crate::numbers::{assert_whole, open, row, schema, session, twin};

const CHILD: &str = "THINKTIME_TEST_MOUNTED";

/// Runs test `name` again in a process that sees a fresh tmpfs with `options` at `CHILD`'s path.
///
/// An ordinary user may be forbidden to make namespaces; that is said, and is an error where
/// nothing may be left out.
fn in_a_mount(name: &str, options: &str) {
    let dir = tempfile::tempdir().unwrap();
    let script = format!(
        "mount -t tmpfs -o {options} tmpfs '{dir}' && exec '{exe}' --exact {name} --nocapture",
        dir = dir.path().display(),
        exe = std::env::current_exe().unwrap().display(),
    );
    let unshared = |script: &str| {
        let is_root = rustix::process::geteuid().is_root();
        let namespaces: &[&str] =
            if is_root { &["--mount"] } else { &["--user", "--map-root-user", "--mount"] };
        let mut command = Command::new("unshare");
        command.args(namespaces).args(["sh", "-c", script]).env(CHILD, dir.path());
        command.status().is_ok_and(|status| status.success())
    };
    if !unshared("true") && std::env::var_os("THINKTIME_REQUIRE_ALL").is_none() {
        eprintln!(
            "{name} not run: `unshare` must be allowed to make a mount namespace; run the tests as root"
        );
        return;
    }
    assert!(unshared(&script), "{name} failed on a tmpfs with {options}");
}

/// Appends the rows to two tables, a block each.
fn write(writer: &mut LogWriter, rows: Range<u64>) {
    let tables = [writer.declare(schema()).unwrap(), writer.declare(twin()).unwrap()];
    for number in rows {
        writer.append(tables.iter().map(|table| (*table, vec![row(number)])).collect()).unwrap();
    }
}

/// A writer of a hundred rows in `dir`, whose file system is full from then on, and the folder of its log.
fn filled(dir: &Path) -> (LogWriter, PathBuf) {
    let log_dir = dir.join("log");
    let mut writer = open(&log_dir);
    write(&mut writer, 0..100);
    let written = fs::write(dir.join("filler"), vec![0u8; 1 << 20]);
    assert!(written.is_err(), "the file system was not full");
    (writer, log_dir)
}

#[test]
fn while_the_disk_is_full_rows_wait_and_are_counted() {
    let Ok(dir) = std::env::var(CHILD) else {
        return in_a_mount("full_disk::while_the_disk_is_full_rows_wait_and_are_counted", "size=512k");
    };
    let dir = Path::new(&dir);
    let (mut writer, log_dir) = filled(dir);
    write(&mut writer, 100..2000);
    let meanwhile = assert_whole(&Log::open(&log_dir).unwrap(), 100);
    assert!(meanwhile < 2000, "nothing had to wait");
    fs::remove_file(dir.join("filler")).unwrap();
    write(&mut writer, 2000..2001);
    assert_eq!(assert_whole(&Log::open(&log_dir).unwrap(), 2001), 2001);
    writer.finish().unwrap();
    let log = Log::open(&log_dir).unwrap();
    assert_eq!(assert_whole(&log, 2001), 2001);
    assert!(
        log.manifest().incidents.iter().any(|incident| incident.kind == "disk_full" && incident.count > 0)
    );
    assert_eq!(log.check().unwrap(), []);
}

#[test]
fn a_disk_that_is_full_to_the_end_loses_no_row_silently() {
    let Ok(dir) = std::env::var(CHILD) else {
        return in_a_mount("full_disk::a_disk_that_is_full_to_the_end_loses_no_row_silently", "size=512k");
    };
    let dir = Path::new(&dir);
    let (mut writer, log_dir) = filled(dir);
    write(&mut writer, 100..2000);
    writer.seal().unwrap();
    let error = writer.finish().expect_err("what waits cannot be written").to_string();
    assert!(error.contains("make room"), "{error}");
    let log = Log::open(&log_dir).unwrap();
    let found = assert_whole(&log, 100);
    let lost = log.manifest().incidents.iter().find(|incident| incident.kind == "rows_lost");
    assert_eq!(found + lost.expect("rows were lost").count, 2000);
    assert!(log.manifest().sessions[0].end_us.is_some(), "the session ended by itself");
    assert_eq!(log.check().unwrap(), []);
    // With room again, the next writer seals what lay in the journal.
    fs::remove_file(dir.join("filler")).unwrap();
    open(&log_dir).finish().unwrap();
    let log = Log::open(&log_dir).unwrap();
    assert_eq!(assert_whole(&log, found), found);
    assert_eq!(log.check().unwrap(), []);
    assert!(log.manifest().incidents.iter().all(|incident| incident.kind != "killed"));
}

/// Others write to the disk too: it may be full when a session begins its first journal.
#[test]
fn rows_wait_for_a_journal_that_cannot_be_begun() {
    let Ok(dir) = std::env::var(CHILD) else {
        return in_a_mount("full_disk::rows_wait_for_a_journal_that_cannot_be_begun", "size=512k");
    };
    let dir = Path::new(&dir);
    let log_dir = dir.join("log");
    for has_room_again in [true, false] {
        let mut writer = open(&log_dir);
        let tables = [writer.declare(schema()).unwrap(), writer.declare(twin()).unwrap()];
        let mut append = |number| {
            writer.append(tables.iter().map(|table| (*table, vec![row(number)])).collect()).unwrap();
            writer.is_waiting()
        };
        let first = assert_whole(&Log::open(&log_dir).unwrap(), 0);
        assert!(fs::write(dir.join("filler"), vec![0u8; 1 << 20]).is_err(), "the file system was not full");
        assert!((first..first + 10).all(&mut append));
        assert_eq!(assert_whole(&Log::open(&log_dir).unwrap(), first), first);
        if has_room_again {
            fs::remove_file(dir.join("filler")).unwrap();
            assert!(!append(first + 10));
            assert_eq!(assert_whole(&Log::open(&log_dir).unwrap(), first), first + 11);
        }
        assert_eq!(writer.finish().is_err(), !has_room_again);
    }
    let log = Log::open(&log_dir).unwrap();
    let lost = log.manifest().incidents.iter().find(|incident| incident.kind == "rows_lost").unwrap().count;
    assert_eq!((lost, assert_whole(&log, 0) + lost), (10, 21));
    assert_eq!(log.check().unwrap(), []);
}

#[test]
fn a_folder_that_cannot_be_written_is_said_to_be_so() {
    let Ok(dir) = std::env::var(CHILD) else {
        return in_a_mount("full_disk::a_folder_that_cannot_be_written_is_said_to_be_so", "ro");
    };
    let refused = LogWriter::open(&Path::new(&dir).join("log"), OpenMode::Create, session("boot"));
    let text = refused.expect_err("the file system is read-only").to_string();
    assert!(text.contains("choose a folder on a writable file system"), "{text}");
}
