//! The recorder on a tree of files that the test rewrites, by a clock that the test sets.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, TimestampMicrosecondType, UInt64Type};
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_schema::DataType;
use thinktime_log::{Log, LogWriter, Manifest, OpenMode, Row, Session, SharedWriter, Value, vocabulary};

use super::Recorder;
use crate::kernel::clock::{Clock, Moment, SystemClock};
use crate::processes::By;
use crate::processes::exits::tests::{STORM, run_and_wait};
use crate::recording::options::RecordOptions;

pub(super) const SECOND: i64 = 1_000_000_000;

/// A clock that stands until the test moves it.
#[derive(Clone)]
pub(super) struct TestClock(pub(super) Arc<Mutex<Moment>>);

impl TestClock {
    pub(super) fn advance(&self, wall_s: f64, monotonic_s: f64, boot_s: f64) {
        let mut now = self.0.lock().unwrap();
        let ns = |seconds: f64| (seconds * SECOND as f64) as i64;
        now.wall_ns += ns(wall_s);
        now.monotonic_ns += ns(monotonic_s);
        now.boot_ns += ns(boot_s);
    }
}

impl Clock for TestClock {
    fn now(&mut self) -> Moment {
        *self.0.lock().unwrap()
    }

    fn thread_cpu_ns(&mut self) -> u64 {
        7_000_000
    }
}

/// A machine made of files, and its recorder.
struct Machine {
    folder: tempfile::TempDir,
    clock: TestClock,
    recorder: Recorder<TestClock>,
    writer: SharedWriter,
}

pub(super) fn captured(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures/proc").join(name)
}

pub(super) fn copy_tree(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        let target = to.join(path.file_name().unwrap());
        if path.is_dir() {
            copy_tree(&path, &target)
        } else {
            fs::write(&target, fs::read(&path).unwrap()).unwrap()
        }
    }
}

impl Machine {
    fn new(capture: &str, by: By) -> Machine {
        Machine::with(capture, by, &[])
    }

    /// A captured tree with more files.
    fn with(capture: &str, by: By, files: &[(&str, &str)]) -> Machine {
        let folder = tempfile::tempdir().unwrap();
        copy_tree(&captured(capture), &folder.path().join("tree"));
        for (name, text) in files {
            let path = folder.path().join("tree").join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let writer =
            LogWriter::open(&folder.path().join("log"), OpenMode::Create, Session::default()).unwrap();
        let writer = Arc::new(Mutex::new(writer));
        let start =
            Moment { wall_ns: 1_800_000_000 * SECOND, monotonic_ns: 5000 * SECOND, boot_ns: 6000 * SECOND };
        let clock = TestClock(Arc::new(Mutex::new(start)));
        let options = RecordOptions { by, root: folder.path().join("tree"), ..RecordOptions::default() };
        let recorder = Recorder::open(&writer, &options, clock.clone()).unwrap();
        Machine { folder, clock, recorder, writer }
    }

    fn read(&self, file: &str) -> String {
        fs::read_to_string(self.folder.path().join("tree").join(file)).unwrap()
    }

    /// Rewrites a file in place: the recorder keeps it open.
    fn write(&self, file: &str, text: &str) {
        fs::write(self.folder.path().join("tree").join(file), text).unwrap();
    }

    fn replace(&self, file: &str, from: &str, to: &str) {
        let text = self.read(file);
        assert!(text.contains(from), "{file} has no {from:?}:\n{text}");
        self.write(file, &text.replacen(from, to, 1));
    }

    fn sample(&mut self) {
        self.recorder.sample(&self.writer, 0.0).unwrap();
    }

    /// Five seconds go by, and a sample is taken.
    fn next(&mut self) {
        self.clock.advance(5.0, 5.0, 5.0);
        self.sample();
    }

    fn finish(self) -> Recorded {
        self.writer.lock().unwrap().finish().unwrap();
        let log = Log::open(&self.folder.path().join("log")).unwrap();
        let rows = |table: &str| log.read(table).unwrap().iter().flat_map(rows_of).collect();
        Recorded {
            samples: rows("samples"),
            users: rows("users"),
            cpus: rows("cpus"),
            disks: rows("disks"),
            manifest: log.manifest().clone(),
        }
    }
}

pub(super) fn rows_of(batch: &RecordBatch) -> Vec<Row> {
    let cell = |column: &ArrayRef, at: usize| -> Value {
        if column.is_null(at) {
            return Value::Null;
        }
        match column.data_type() {
            DataType::UInt64 => Value::U64(column.as_primitive::<UInt64Type>().value(at)),
            DataType::Float64 => Value::F64(column.as_primitive::<Float64Type>().value(at)),
            DataType::Utf8 => Value::from(column.as_string::<i32>().value(at)),
            DataType::Timestamp(..) => {
                Value::Time(column.as_primitive::<TimestampMicrosecondType>().value(at))
            }
            other => panic!("no column of a recording is {other}"),
        }
    };
    (0..batch.num_rows()).map(|at| batch.columns().iter().map(|column| cell(column, at)).collect()).collect()
}

struct Recorded {
    samples: Vec<Row>,
    users: Vec<Row>,
    cpus: Vec<Row>,
    disks: Vec<Row>,
    manifest: Manifest,
}

pub(super) fn value(row: &Row, schema: &thinktime_log::TableSchema, column: &str) -> Value {
    row[schema.position(column).unwrap()].clone()
}

impl Recorded {
    fn sample(&self, at: usize, column: &str) -> Value {
        value(&self.samples[at], &vocabulary::samples(), column)
    }

    fn has(&self, kind: &str, words: &str) -> bool {
        self.manifest
            .incidents
            .iter()
            .any(|incident| incident.kind == kind && incident.detail.contains(words))
    }
}

pub(super) fn close(value: Value, expected: f64) {
    let Value::F64(found) = value else { panic!("{value:?} is no double") };
    assert!((found - expected).abs() < 1e-9, "{found} is not {expected}");
}

#[test]
fn counters_become_amounts_of_the_interval() {
    let mut machine = Machine::new("linux-2.6.32", By::Uid);
    machine.sample();
    machine.replace("proc/stat", "cpu  84282 747 20805", "cpu  84382 747 20855");
    machine.replace("proc/stat", "ctxt 22964871", "ctxt 22964971");
    machine.replace("proc/vmstat", "pgfault 123456", "pgfault 123500");
    machine.replace("proc/vmstat", "pgmajfault 789", "pgmajfault 793");
    machine.replace("proc/diskstats", "sda 1000 10 20000", "sda 1003 10 20024");
    machine.replace("proc/diskstats", "dm-0 1010", "dm-0 1013");
    machine.replace("proc/net/dev", "eth0:123456789 4321", "eth0:123456799 4322");
    machine.next();
    let recorded = machine.finish();
    assert_eq!(recorded.samples.len(), 1, "the first look has nothing to differ from");
    close(recorded.sample(0, "length_s"), 5.0);
    close(recorded.sample(0, "user_s"), 1.0);
    close(recorded.sample(0, "system_s"), 0.5);
    assert_eq!(recorded.sample(0, "start"), Value::Time(1_800_000_000_000_000));
    assert_eq!(recorded.sample(0, "context_switches"), Value::U64(100));
    assert_eq!(recorded.sample(0, "page_faults_minor"), Value::U64(40));
    assert_eq!(recorded.sample(0, "page_faults_major"), Value::U64(4));
    assert_eq!(recorded.sample(0, "disk_reads"), Value::U64(3), "what lies on top of a disk is not added");
    assert_eq!(recorded.sample(0, "disk_read_bytes"), Value::U64(24 * 512));
    assert_eq!(recorded.sample(0, "net_packets_in"), Value::U64(1));
    assert_eq!(recorded.disks.len(), 2, "a row for each device that did anything");
    assert!(recorded.cpus.is_empty(), "no CPU did anything");
}

#[test]
fn what_a_kernel_lacks_is_null_and_named() {
    let mut machine = Machine::new("linux-2.6.32", By::Uid);
    machine.sample();
    machine.next();
    let facts = machine.recorder.facts();
    let missing = facts["missing"].as_object().unwrap().clone();
    let recorded = machine.finish();
    for column in ["psi_cpu_some_s", "psi_io_full_s", "memory_available_bytes"] {
        assert_eq!(recorded.sample(0, column), Value::Null, "{column}");
    }
    assert_ne!(recorded.sample(0, "memory_total_bytes"), Value::Null);
    assert!(missing["/proc/pressure/cpu"].as_str().unwrap().contains("CONFIG_PSI"));
    assert_eq!(facts["exact_time"], "processes");
    assert_eq!(facts["processes"]["method"], "/proc, stat");
}

#[test]
fn a_file_without_the_lines_that_are_read_names_each_of_them() {
    let mut machine = Machine::new("linux-6.18", By::None);
    machine.write("proc/vmstat", "damaged beyond use\n");
    machine.replace("proc/meminfo", "MemFree:", "MemFreed:");
    machine.sample();
    machine.next();
    let missing = machine.recorder.facts()["missing"].as_object().unwrap().clone();
    let recorded = machine.finish();
    assert_eq!(recorded.sample(0, "page_faults_minor"), Value::Null);
    assert_eq!(recorded.sample(0, "memory_free_bytes"), Value::Null);
    assert_eq!(missing.keys().filter(|name| name.starts_with("/proc/vmstat ")).count(), 13, "{missing:?}");
    assert!(missing.contains_key("/proc/vmstat pgfault") && missing.contains_key("/proc/meminfo MemFree"));
    assert!(!missing.contains_key("/proc/meminfo MemTotal"));
}

#[test]
fn counters_that_wrap_go_on() {
    let mut machine = Machine::new("linux-2.6.32", By::Uid);
    machine.sample();
    // Milliseconds have 32 bits; so have softirqs by type.
    machine.replace("proc/diskstats", "0 4294967290 4294967295", "0 10 20");
    machine.replace("proc/stat", "softirq 5057579 250191 1481983", "softirq 5057579 4294967290 1481983");
    machine.next();
    machine.replace("proc/stat", "softirq 5057579 4294967290 1481983", "softirq 5057579 4 1481983");
    machine.next();
    let recorded = machine.finish();
    let schema = vocabulary::disks();
    let sdb = recorded.disks.iter().find(|row| value(row, &schema, "device") == Value::from("sdb")).unwrap();
    close(value(sdb, &schema, "busy_s"), 0.016);
    assert_eq!(recorded.sample(1, "softirq_hi"), Value::U64(10));
    assert!(recorded.has("counter_wrap", "ms busy") && recorded.has("counter_wrap", "softirq"));
}

#[test]
fn counters_that_are_reset_have_no_figure_for_that_interval() {
    let mut machine = Machine::new("linux-2.6.32", By::Uid);
    machine.sample();
    machine.replace("proc/diskstats", "sda 1000 10 20000", "sda 3 10 40");
    machine.replace("proc/stat", "44349", "44300");
    machine.next();
    machine.replace("proc/diskstats", "sda 3 10 40", "sda 5 10 56");
    machine.next();
    let recorded = machine.finish();
    assert_eq!(recorded.sample(0, "disk_reads"), Value::Null, "the disk was taken out and put in again");
    assert_eq!(recorded.sample(1, "disk_reads"), Value::U64(2));
    close(recorded.sample(0, "iowait_s"), 0.0);
    assert!(recorded.has("counter_reset", "diskstats reads") && recorded.has("counter_reset", "iowait"));
}

#[test]
fn a_suspended_interval_is_dropped_and_counted() {
    let mut machine = Machine::new("linux-6.18", By::Uid);
    machine.sample();
    machine.next();
    machine.clock.advance(3600.0, 5.0, 3600.0);
    machine.sample();
    machine.next();
    let recorded = machine.finish();
    assert_eq!(recorded.samples.len(), 2);
    assert!(recorded.has("suspend", "") && recorded.has("interval_dropped", "suspended"));
    assert_eq!(recorded.sample(1, "start"), Value::Time(1_800_003_605_000_000));
}

#[test]
fn a_stepped_wall_clock_keeps_the_interval_and_its_length() {
    let mut machine = Machine::new("linux-6.18", By::Uid);
    machine.sample();
    machine.clock.advance(-3600.0, 5.0, 5.0);
    machine.sample();
    machine.clock.advance(3600.0, 5.0, 5.0);
    machine.sample();
    machine.clock.advance(5.001, 5.0, 5.0);
    machine.sample();
    let recorded = machine.finish();
    assert_eq!(recorded.samples.len(), 3);
    for at in 0..3 {
        close(recorded.sample(at, "length_s"), 5.0);
    }
    assert!(recorded.has("clock_step", "back") && recorded.has("clock_step", "forward"));
    let steps = recorded.manifest.incidents.iter().filter(|incident| incident.kind == "clock_step");
    assert_eq!(steps.map(|incident| incident.count).sum::<u64>(), 2, "a slewed clock is none");
}

#[test]
fn a_reboot_is_no_interval() {
    let mut machine = Machine::new("linux-2.6.32", By::Uid);
    machine.sample();
    machine.replace("proc/stat", "ctxt 22964871", "ctxt 100");
    machine.replace("proc/stat", "processes 26442", "processes 50");
    machine.next();
    machine.replace("proc/stat", "processes 50", "processes 60");
    machine.next();
    let recorded = machine.finish();
    assert_eq!(recorded.samples.len(), 1);
    assert_eq!(recorded.sample(0, "forks"), Value::U64(10));
    assert!(recorded.has("reboot", "") && recorded.has("interval_dropped", "rebooted"));
}

#[test]
fn cpus_come_and_go() {
    let mut machine = Machine::new("linux-2.6.32", By::Uid);
    machine.sample();
    machine.replace("proc/stat", "cpu1 42141", "cpu1 42151");
    machine.replace("proc/stat", "intr", "cpu2 900 0 0 0 0 0 0 0 0\nintr");
    machine.next();
    machine.replace("proc/stat", "cpu2 900", "cpu2 905");
    machine.replace("proc/stat", "cpu1 42151 374 10403 807975 22175 515 945 0 0\n", "");
    machine.next();
    let recorded = machine.finish();
    let schema = vocabulary::cpus();
    let found: Vec<_> =
        recorded.cpus.iter().map(|row| (value(row, &schema, "cpu"), value(row, &schema, "user_s"))).collect();
    assert_eq!(found, [(Value::U64(1), Value::F64(0.1)), (Value::U64(2), Value::F64(0.05))]);
}

#[test]
fn users_have_rows_only_when_they_did_something() {
    let mut machine = Machine::new("linux-6.18", By::Session);
    machine.sample();
    machine.next();
    // 2.5 ms of one process of session 6908: less than a tick, yet it counts.
    let sched = machine.read("proc/4242/schedstat");
    let run: u64 = sched.split(' ').next().unwrap().parse().unwrap();
    let later = sched.replacen(&run.to_string(), &(run + 2_500_000).to_string(), 1);
    machine.write("proc/4242/schedstat", &later);
    machine.next();
    let recorded = machine.finish();
    let schema = vocabulary::users();
    assert_eq!(recorded.users.len(), 1);
    assert_eq!(value(&recorded.users[0], &schema, "user"), Value::from("session:6908"));
    close(value(&recorded.users[0], &schema, "cpu_exact_s"), 0.0025);
    assert_eq!(recorded.sample(1, "processes"), Value::U64(3));
}

#[test]
fn exact_time_of_version_2_groups_outlives_them() {
    let mut machine = Machine::with(
        "linux-2.6.32",
        By::Uid,
        &[
            ("sys/fs/cgroup/cgroup.controllers", "cpu io memory\n"),
            ("sys/fs/cgroup/cpu.stat", "usage_usec 99999999\n"),
            ("sys/fs/cgroup/user.slice/cpu.stat", "usage_usec 1000000\n"),
            ("sys/fs/cgroup/system.slice/cpu.stat", "usage_usec 2000000\n"),
        ],
    );
    machine.sample();
    machine.write("sys/fs/cgroup/user.slice/cpu.stat", "usage_usec 1500000\n");
    machine.next();
    // A new group, and one whose file can no longer be read.
    fs::create_dir(machine.folder.path().join("tree/sys/fs/cgroup/new.slice")).unwrap();
    machine.write("sys/fs/cgroup/new.slice/cpu.stat", "usage_usec 250000\n");
    machine.write("sys/fs/cgroup/user.slice/cpu.stat", "");
    machine.next();
    machine.write("sys/fs/cgroup/system.slice/cpu.stat", "usage_usec 2125000\n");
    machine.next();
    assert!(machine.recorder.facts()["exact_time"].as_str().unwrap().starts_with("cgroup2"));
    let recorded = machine.finish();
    close(recorded.sample(0, "cpu_exact_s"), 0.5);
    close(recorded.sample(1, "cpu_exact_s"), 0.25);
    close(recorded.sample(2, "cpu_exact_s"), 0.125);
}

#[test]
fn a_containers_group_is_not_taken_for_the_machine() {
    let mut machine = Machine::with(
        "linux-2.6.32",
        By::Uid,
        &[
            // 1 s, where /proc/stat has counted 1000 s.
            ("sys/fs/cgroup/cpuacct/cpuacct.usage", "1000000000\n"),
            // Only a group below the root has this file.
            ("sys/fs/cgroup/cgroup.controllers", "cpu\n"),
            ("sys/fs/cgroup/cgroup.events", "populated 1\n"),
            ("sys/fs/cgroup/app/cpu.stat", "usage_usec 1\n"),
            ("proc/schedstat", "version 15\ncpu0 0 0 0 0 0 0 7000000000 0 0\n"),
        ],
    );
    machine.sample();
    machine.write("proc/schedstat", "version 15\ncpu0 0 0 0 0 0 0 8500000000 0 0\n");
    machine.next();
    let facts = machine.recorder.facts();
    assert_eq!(facts["exact_time"], "/proc/schedstat");
    assert!(facts["missing"]["/sys/fs/cgroup/cpuacct/cpuacct.usage"].as_str().unwrap().contains("container"));
    close(machine.finish().sample(0, "cpu_exact_s"), 1.5);
}

#[test]
fn by_cgroup_the_path_is_the_user() {
    let mut machine = Machine::new("linux-6.18", By::Cgroup);
    machine.sample();
    machine.replace("proc/4242/io", "read_bytes: 4096", "read_bytes: 12288");
    let sched = machine.read("proc/4242/schedstat");
    machine.write("proc/4242/schedstat", &format!("9{sched}"));
    machine.next();
    let recorded = machine.finish();
    let schema = vocabulary::users();
    let user = value(&recorded.users[0], &schema, "user");
    assert_eq!(user, Value::from("/user.slice/user-1000.slice/session-3.scope"));
    assert_eq!(value(&recorded.users[0], &schema, "read_bytes"), Value::U64(8192));
}

#[test]
fn the_readers_own_account_is_in_every_row() {
    let mut machine = Machine::new("linux-6.18", By::None);
    machine.sample();
    machine.next();
    machine.next();
    let facts = machine.recorder.facts();
    let recorded = machine.finish();
    close(recorded.sample(1, "recorder_cpu_s"), 0.0);
    assert_ne!(recorded.sample(1, "recorder_written_bytes"), Value::U64(0));
    assert_eq!(recorded.sample(0, "active_users"), Value::Null, "nobody looked");
    assert_eq!(recorded.sample(0, "processes"), Value::U64(3));
    assert_eq!(facts["exact_time"], "cpuacct.usage");
    close(recorded.sample(0, "cpu_exact_s"), 0.0);
    assert_eq!(facts["cost"]["cpu_per_sample"]["n"], 2);
}

#[test]
fn a_file_that_stops_making_sense_is_null_from_then_on_and_said_once_a_sample() {
    let mut machine = Machine::new("linux-6.18", By::None);
    machine.sample();
    machine.next();
    machine.write("proc/vmstat", "pgfault many\n");
    machine.next();
    let recorded = machine.finish();
    assert_ne!(recorded.sample(0, "page_faults_minor"), Value::Null);
    assert_eq!(recorded.sample(1, "page_faults_minor"), Value::Null);
    assert_ne!(recorded.sample(1, "context_switches"), Value::Null);
    assert!(recorded.has("source_failed", "line 1"));
}

/// What a log says of children of user 65534 that came and went, and that this process waited for.
#[derive(Debug)]
struct Storm {
    /// CPU time of the children by the kernel [s].
    children_s: f64,
    /// CPU time of the machine, of its users, of user 65534, and without a user who was seen [s].
    all_s: f64,
    users_s: f64,
    nobody_s: f64,
    inherited_s: f64,
    /// Time that a hypervisor took, for whoever reads of a failure [s].
    _stolen_s: f64,
    /// The log says that messages were lost.
    lost: bool,
}

/// CPU time of the children that this process waited for [s].
fn waited_s() -> f64 {
    let own = fs::read("/proc/self/stat").unwrap();
    let own = crate::proc::process_stat::parse(&own, "/proc/self/stat").unwrap();
    (own.children_user_ticks + own.children_system_ticks) as f64 / crate::kernel::host::clock_ticks() as f64
}

/// A storm as recorded with little or with usual room for messages; `None` without permission.
fn recorded_storm(is_narrow: bool) -> Option<Storm> {
    let folder = tempfile::tempdir().unwrap();
    let writer = LogWriter::open(&folder.path().join("log"), OpenMode::Create, Session::default()).unwrap();
    let writer = Arc::new(Mutex::new(writer));
    let options = RecordOptions { mode_sampling: false, ..RecordOptions::default() };
    let mut recorder = Recorder::open(&writer, &options, SystemClock).unwrap();
    if (is_narrow && !recorder.watch.narrow()) || recorder.watch.to_json()["exits"] != "taskstats" {
        eprintln!("skipped: {}", recorder.watch.to_json()["exits"]);
        return None;
    }
    recorder.sample(&writer, 0.0).unwrap();
    let before_s = waited_s();
    for _ in 0..3 {
        // Nobody reads meanwhile.
        run_and_wait(300, 65_534);
        recorder.sample(&writer, 0.0).unwrap();
    }
    let children_s = waited_s() - before_s;
    // What the kernel added to this process for its last children may come an interval later.
    recorder.sample(&writer, 0.0).unwrap();
    writer.lock().unwrap().finish().unwrap();
    let log = Log::open(&folder.path().join("log")).unwrap();
    let sum = |schema: thinktime_log::TableSchema, column: &str, user: Option<&str>| {
        let rows = log.read(&schema.name).unwrap().iter().flat_map(rows_of).collect::<Vec<_>>();
        let of_user = |row: &&Row| user.is_none_or(|user| value(row, &schema, "user") == Value::from(user));
        let number = |row| match value(row, &schema, column) {
            Value::F64(number) => number,
            _ => 0.0,
        };
        rows.iter().filter(of_user).map(number).sum::<f64>()
    };
    Some(Storm {
        children_s,
        all_s: sum(vocabulary::samples(), "cpu_exact_s", None),
        users_s: sum(vocabulary::users(), "cpu_exact_s", None),
        nobody_s: sum(vocabulary::users(), "cpu_exact_s", Some("uid:65534")),
        inherited_s: sum(vocabulary::users(), "inherited_s", None),
        _stolen_s: sum(vocabulary::samples(), "steal_s", None),
        lost: log.manifest().incidents.iter().any(|incident| incident.kind == "exits_lost"),
    })
}

#[test]
fn ends_that_find_no_room_are_told_and_count_for_who_waited() {
    let _storm = STORM.lock().unwrap_or_else(PoisonError::into_inner);
    for is_narrow in [true, false] {
        let Some(storm) = recorded_storm(is_narrow) else { return };
        eprintln!("{is_narrow} {storm:?}");
        assert_eq!(storm.lost, is_narrow);
        // Ticks of 10 ms, and what others on the machine do between the readings of both.
        assert!((storm.users_s - storm.all_s).abs() < 0.05 * storm.all_s + 0.1, "{storm:?}");
        // The ends that were told name the user of the others; where they do not, the time is marked.
        assert!(storm.nobody_s < 1.1 * storm.children_s + 0.05, "{storm:?}");
        assert!(storm.nobody_s + storm.inherited_s > 0.9 * storm.children_s - 0.05, "{storm:?}");
        assert!(is_narrow || storm.inherited_s == 0.0, "{storm:?}");
    }
}
