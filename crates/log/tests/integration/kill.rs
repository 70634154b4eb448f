//! A writer that is killed at any moment loses at most the block that it was writing.

use std::io::{Read, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use thinktime_log::Log;

use crate::numbers::{assert_whole, open, row, schema, twin};

const CHILD: &str = "THINKTIME_TEST_WRITE_UNTIL_KILLED";
/// Of each of two logs: the longer one is, the longer whoever goes on reads.
const KILLS: u64 = 100;

/// The writing process: goes on where the log ends, seals often, and acknowledges every row.
#[test]
fn child_writes_until_killed() {
    let Ok(dir) = std::env::var(CHILD) else { return };
    let dir = Path::new(&dir);
    let mut writer = open(dir);
    let tables = [writer.declare(schema()).unwrap(), writer.declare(twin()).unwrap()];
    let first = assert_whole(&Log::open(dir).unwrap(), 0);
    for number in first.. {
        writer.append(tables.iter().map(|table| (*table, vec![row(number)])).collect()).unwrap();
        std::io::stderr().write_all(&number.to_le_bytes()).unwrap();
        if number % 37 == 36 {
            writer.seal().unwrap();
        }
        if number % 11 == 10 {
            writer.incident("test", "every eleventh row").unwrap();
        }
    }
}

#[test]
fn a_hundred_kills_lose_nothing_that_was_acknowledged() {
    kills_lose_nothing_that_was_acknowledged(1);
}

#[test]
fn another_hundred_kills_lose_nothing_that_was_acknowledged() {
    kills_lose_nothing_that_was_acknowledged(2);
}

fn kills_lose_nothing_that_was_acknowledged(seed: u64) {
    let dir = tempfile::tempdir().unwrap();
    let mut acknowledged = 0;
    let mut random = seed;
    for kill in 0..KILLS {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "kill::child_writes_until_killed", "--nocapture"])
            .env(CHILD, dir.path())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        random = random.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        // Every second one is killed at any moment from its start, the others between the appends and
        // seals of some rows, however slow the machine is.
        let mut acks = vec![0; if kill % 2 == 0 { 0 } else { 8 * (1 + (random >> 61) as usize) }];
        let mut pipe = child.stderr.take().unwrap();
        pipe.read_exact(&mut acks).unwrap();
        let reach = if kill % 2 == 0 { random >> 50 } else { random >> 56 };
        std::thread::sleep(Duration::from_micros(reach));
        child.kill().unwrap();
        child.wait().unwrap();
        pipe.read_to_end(&mut acks).unwrap();
        if let Some(last) = acks.chunks_exact(8).next_back() {
            acknowledged = u64::from_le_bytes(last.try_into().unwrap()) + 1;
        }
        // The manifest is the first thing that a writer puts in place.
        if let Ok(log) = Log::open(dir.path()) {
            let found = assert_whole(&log, acknowledged);
            assert!(found <= acknowledged + 1, "kill {kill}: a row that was never written");
        } else {
            assert_eq!(acknowledged, 0);
        }
    }
    assert!(acknowledged > 150, "the writers were killed too early to test anything: {acknowledged} rows");
    let log = Log::open(dir.path()).unwrap();
    let killed = log.manifest().sessions.iter().filter(|session| session.end_us.is_none()).count() as u64;
    let counted = log.manifest().incidents.iter().find(|incident| incident.kind == "killed").unwrap().count;
    // The last one is counted when the next session begins.
    assert_eq!(counted, killed - 1);
    let every_eleventh =
        log.manifest().incidents.iter().find(|incident| incident.kind == "test").unwrap().count;
    assert!(every_eleventh.abs_diff(acknowledged / 11) <= KILLS, "incidents lost or doubled");
    assert_eq!(log.check().unwrap().iter().filter(|f| f.item != "block").count(), 0);
}
