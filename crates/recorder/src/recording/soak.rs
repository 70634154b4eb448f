//! Weeks of recording, or a year of it (`make soak`), by a clock that the test sets: rotation each hour, retention by
//! age and by size, wraps of 32 and 64 bits, steps of the wall clock, suspensions, reboots, sessions that are killed.
//! At the end every sample that was taken is in the log or named.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use thinktime_log::{Log, LogWriter, OpenMode, Session, SharedWriter, Value, vocabulary};

use super::tests::{SECOND, TestClock, captured, close, copy_tree, rows_of, value};
use super::{Recorder, locked};
use crate::kernel::clock::Moment;
use crate::processes::By;
use crate::recording::options::RecordOptions;

/// Length in days; two weeks where it is not set.
const DAYS: &str = "THINKTIME_SOAK_DAYS";
/// Sessions that the log has from before.
const EARLIER_SESSIONS: u64 = 84;
/// What may be written in a day to files other than those of the rows, and to those for facts: over all days, and
/// in one in which more sessions end than usual [byte].
const DESCRIPTION_BYTES: f64 = 2e6;
const DESCRIPTION_BYTES_MAX: f64 = 3e6;
const INTERVAL_S: f64 = 60.0;
const SAMPLES_PER_DAY: u64 = 1440;
const KEPT_DAYS: u64 = 5;
const KEPT_BYTES: u64 = 1_500_000;
/// Growth of the counters in an interval, the same in each so that every row can be verified.
const BUSY_MS: u64 = 30_000;
const NET_BYTES: u64 = 1_000_000;

/// splitmix64 (Steele, Lea, Flood 2014).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// True in one of `n` cases.
    fn one_in(&mut self, n: u64) -> bool {
        self.next() % n == 0
    }
}

/// Counters of the machine since its boot.
#[derive(Default)]
struct Counters {
    boot: u64,
    samples: u64,
    busy_ms: u64,
    net_bytes: u64,
}

impl Counters {
    /// After a boot. Disk and network begin anywhere, so that wraps come often.
    fn restart(&mut self, random: &mut Random) {
        let far = random.next() % 2000;
        *self = Counters {
            boot: self.boot + 1,
            samples: 0,
            busy_ms: random.next() >> 32,
            net_bytes: u64::MAX - far * NET_BYTES,
        };
    }

    /// Writes the files of the kernel, and returns their bytes.
    fn write(&self, tree: &Path) -> u64 {
        let n = self.samples;
        let stat = format!(
            "cpu  {} 0 {n} {} 0 0 0 0 0\nintr {n} 0\nctxt {}\nbtime 1\nprocesses {}\nprocs_running 1\nprocs_blocked 0\n\
             softirq 0 {} 0 0 0 0 0 0 0 0 0\n",
            3000 * n,
            9000 * n,
            1000 * n,
            10 * n,
            (4_294_000_000 + 100_000 * n) % (1 << 32)
        );
        let ms = self.busy_ms % (1 << 32);
        let disks = format!("   8       0 sda {n} 0 {n} {ms} {n} 0 {n} {ms} 0 {ms} {ms}\n");
        let net =
            format!("a\nb\n  eth0:{} {n} 0 0 0 0 0 0 {} {n} 0 0 0 0 0 0\n", self.net_bytes, self.net_bytes);
        let mut bytes = 0;
        for (file, text) in [("stat", stat), ("diskstats", disks), ("net/dev", net)] {
            fs::write(tree.join("proc").join(file), &text).unwrap();
            bytes += text.len() as u64;
        }
        bytes
    }
}

struct Soak {
    folder: tempfile::TempDir,
    clock: TestClock,
    counters: Counters,
    random: Random,
    /// Intervals that ended, as this driver counts them.
    taken: u64,
    sessions: u64,
    kills: u64,
    written: u64,
    /// Bytes of the kernel's files.
    tree_bytes: u64,
    /// Bytes of everything else than rows, by day.
    described: Vec<f64>,
    /// Day on which a part was first there.
    sealed: BTreeMap<PathBuf, u64>,
}

impl Soak {
    fn log(&self) -> PathBuf {
        self.folder.path().join("log")
    }

    fn tree(&self) -> PathBuf {
        self.folder.path().join("tree")
    }

    fn open(&mut self) -> (SharedWriter, Recorder<TestClock>) {
        self.sessions += 1;
        let boot_id = Some(format!("boot {}", self.counters.boot));
        let session = Session { source: "linux".into(), boot_id, ..Session::default() };
        let writer = LogWriter::open(&self.log(), OpenMode::Resume, session).unwrap();
        let writer = Arc::new(Mutex::new(writer));
        let by_age = self.sessions % 2 == 0;
        let options = RecordOptions {
            by: By::None,
            root: self.tree(),
            keep_age: by_age.then_some(Duration::from_secs(KEPT_DAYS * 86400)),
            keep_bytes: (!by_age).then_some(KEPT_BYTES),
            ..RecordOptions::default()
        };
        let mut recorder = Recorder::open(&writer, &options, self.clock.clone()).unwrap();
        recorder.sample(&writer, 0.0).unwrap();
        (writer, recorder)
    }

    /// An interval goes by, with whatever happens in it, and a sample is taken.
    fn next(&mut self, writer: &SharedWriter, recorder: &mut Recorder<TestClock>) {
        let (mut wall_s, mut boot_s) = (INTERVAL_S, INTERVAL_S);
        if self.random.one_in(3000) {
            wall_s += if self.random.one_in(2) { 3600.0 } else { -3600.0 };
        }
        if self.random.one_in(1500) {
            wall_s += 28_800.0;
            boot_s += 28_800.0;
        }
        self.clock.advance(wall_s, INTERVAL_S, boot_s);
        if self.random.one_in(5000) {
            // A virtual machine that is restored while it is recorded.
            self.counters.restart(&mut self.random);
        }
        self.counters.samples += 1;
        self.counters.busy_ms += BUSY_MS;
        self.counters.net_bytes = self.counters.net_bytes.wrapping_add(NET_BYTES);
        self.tree_bytes += self.counters.write(&self.tree());
        recorder.sample(writer, 0.0).unwrap();
        self.taken += 1;
    }

    /// Gives every part the age that it would have: the files were all written a moment ago.
    fn grow_old(&mut self, day: u64) {
        for table in ["samples", "disks", "interfaces"] {
            for entry in fs::read_dir(self.log().join(table)).into_iter().flatten() {
                let path = entry.unwrap().path();
                let sealed = *self.sealed.entry(path.clone()).or_insert(day);
                let then = SystemTime::now() - Duration::from_secs((day - sealed) * 86400);
                fs::File::options().append(true).open(path).unwrap().set_modified(then).unwrap();
            }
        }
        self.sealed.retain(|path, _| path.exists());
    }

    fn run(&mut self, days: u64) {
        let end = days * SAMPLES_PER_DAY;
        let mut resident = Vec::new();
        while self.taken < end {
            let (writer, mut recorder) = self.open();
            loop {
                self.next(&writer, &mut recorder);
                if self.taken % 60 == 0 {
                    locked(&writer).seal().unwrap();
                }
                let now_ns = self.clock.0.lock().unwrap().monotonic_ns;
                recorder.housekeep(&writer, now_ns).unwrap();
                if self.taken % SAMPLES_PER_DAY == 0 {
                    let day = self.taken / SAMPLES_PER_DAY;
                    self.grow_old(day);
                    let all = written_bytes() - self.tree_bytes;
                    self.described.push((all - self.written - locked(&writer).bytes_written()) as f64);
                    if day % (days / 10).max(1) == 0 {
                        resident.push(resident_kib());
                        self.report(day, &writer);
                    }
                }
                if self.taken == end || self.random.one_in(3 * SAMPLES_PER_DAY) {
                    break;
                }
            }
            self.end(&writer, &recorder);
        }
        // In a process of its own only: tests that run at the same time have memory too.
        if std::env::var_os(DAYS).is_some() {
            let (first, last) = (resident[1], resident[resident.len() - 1]);
            assert!(last < first + 4096, "resident memory grew: {resident:?} KiB");
        }
    }

    fn end(&mut self, writer: &SharedWriter, recorder: &Recorder<TestClock>) {
        let mut open = locked(writer);
        self.written += open.bytes_written();
        assert_eq!(open.lost(), 0);
        // The last session ends; others may be killed, which is a writer that does nothing more.
        if self.taken % SAMPLES_PER_DAY == 0 || self.random.one_in(2) {
            open.set("recorder", recorder.facts()).unwrap();
            open.finish().unwrap();
        } else {
            self.kills += 1;
        }
        if self.random.one_in(2) {
            self.counters.restart(&mut self.random);
        }
        self.clock.0.lock().unwrap().monotonic_ns += SECOND;
    }

    fn report(&self, day: u64, writer: &SharedWriter) {
        let size = |begin: &str| {
            let entries = fs::read_dir(self.log()).unwrap().map(|entry| entry.unwrap());
            let named = entries.filter(|entry| entry.file_name().to_string_lossy().starts_with(begin));
            named.map(|entry| entry.metadata().unwrap().len()).sum::<u64>()
        };
        let written = self.written + locked(writer).bytes_written();
        println!(
            "day {day}: {} samples, {} sessions, {} killed, resident {} KiB; manifest {} bytes, ledger {}, sessions {}; \
             these three {:.2} MB today, journal and parts {:.2} MB a day",
            self.taken,
            self.sessions,
            self.kills,
            resident_kib(),
            size("manifest"),
            size("ledger"),
            size("sessions"),
            self.described_bytes(day) * 1e-6,
            written as f64 * 1e-6 / day as f64,
        );
    }

    /// Bytes written on a day to manifest, ledger and sessions.
    fn described_bytes(&self, day: u64) -> f64 {
        let until = |day: u64| day.checked_sub(1).map_or(0.0, |at| self.described[at as usize]);
        until(day) - until(day - 1)
    }

    fn verify(&self) {
        let log = Log::open(&self.log()).unwrap();
        assert_eq!(log.check().unwrap(), []);
        let manifest = log.manifest();
        let named = |kind: &str| {
            let incidents = manifest.incidents.iter().filter(|incident| incident.kind == kind);
            incidents.map(|incident| incident.count).sum::<u64>()
        };
        let rows = |table: &str| log.read(table).unwrap().iter().flat_map(rows_of).collect::<Vec<_>>();
        let samples = rows("samples");
        let retired = manifest.retired_rows["samples"];
        assert!(retired > 0 && named("suspend") > 0 && named("counter_wrap") > 0);
        let present = samples.len() as u64 + retired + named("interval_dropped") + named("rows_lost");
        assert_eq!(present, self.taken, "samples read and named, and samples taken");
        assert_eq!(named("killed"), self.kills);
        // Wraps give the growth of an interval as any other, and nothing that begins anew is taken for one.
        let schema = vocabulary::samples();
        for row in &samples {
            assert_eq!(value(row, &schema, "net_bytes_in"), Value::U64(NET_BYTES));
            assert_eq!(value(row, &schema, "disk_busy_s"), Value::F64(BUSY_MS as f64 / 1000.0));
            close(value(row, &schema, "length_s"), INTERVAL_S);
        }
        println!(
            "{} taken = {} read + {retired} removed by retention + {} dropped + {} lost; {} incidents, {} sessions",
            self.taken,
            samples.len(),
            named("interval_dropped"),
            named("rows_lost"),
            manifest.incidents.len(),
            manifest.sessions.len()
        );
    }
}

/// Bytes that this thread has written to files.
fn written_bytes() -> u64 {
    let text = fs::read_to_string("/proc/thread-self/io").unwrap();
    text.lines().find_map(|line| line.strip_prefix("wchar: ")).unwrap().parse().unwrap()
}

fn resident_kib() -> u64 {
    let text = fs::read_to_string("/proc/self/status").unwrap();
    let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.split_whitespace().next().unwrap().parse().unwrap()
}

#[test]
fn a_long_time_of_recording_loses_no_sample_unnamed() {
    let days =
        std::env::var(DAYS).map_or(14, |days| days.parse().expect("THINKTIME_SOAK_DAYS is a number of days"));
    // In memory where that can be: thousands of parts are written durably, which a busy disk makes slow.
    let folder = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap();
    copy_tree(&captured("linux-2.6.32"), &folder.path().join("tree"));
    let start =
        Moment { wall_ns: 1_800_000_000 * SECOND, monotonic_ns: 5000 * SECOND, boot_ns: 6000 * SECOND };
    let mut soak = Soak {
        folder,
        clock: TestClock(Arc::new(Mutex::new(start))),
        counters: Counters::default(),
        random: Random(1971),
        taken: 0,
        sessions: 0,
        kills: 0,
        written: 0,
        tree_bytes: 0,
        described: Vec::new(),
        sealed: BTreeMap::new(),
    };
    let mut counters = std::mem::take(&mut soak.counters);
    counters.restart(&mut soak.random);
    counters.write(&soak.tree());
    soak.counters = counters;
    for _ in 0..EARLIER_SESSIONS {
        let (writer, recorder) = soak.open();
        soak.end(&writer, &recorder);
    }
    // Where the counts of the days begin.
    soak.tree_bytes = written_bytes() - soak.written;
    soak.run(days);
    for day in 1..=days {
        let bytes = soak.described_bytes(day);
        assert!(bytes < DESCRIPTION_BYTES_MAX, "day {day}: {bytes}");
    }
    let mean = (1..=days).map(|day| soak.described_bytes(day)).sum::<f64>() / days as f64;
    assert!(mean < DESCRIPTION_BYTES, "{mean} a day");
    soak.verify();
}
