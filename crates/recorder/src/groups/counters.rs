//! The counters of a control group: which files hold them, in both versions of the hierarchy.

use std::fs::File;
use std::io;
use std::path::PathBuf;

use rustix::process::{Resource, getrlimit};

use crate::groups::trees::{Tree, Trees};
use crate::kernel::files::read_whole;
use crate::proc::group_files::{blkio, io_stat, keyed, single};
use crate::proc::pressure;

/// Amounts of a group, each the column of table `groups` with its unit [s per count; 0 for a whole number].
pub const AMOUNTS: [(&str, f64); 18] = [
    ("cpu_s", 1e-9),
    ("user_s", 1e-9),
    ("system_s", 1e-9),
    ("throttled_s", 1e-9),
    ("throttled_periods", 0.0),
    ("periods", 0.0),
    ("psi_cpu_some_s", 1e-6),
    ("psi_memory_some_s", 1e-6),
    ("psi_memory_full_s", 1e-6),
    ("psi_io_some_s", 1e-6),
    ("psi_io_full_s", 1e-6),
    ("read_bytes", 0.0),
    ("write_bytes", 0.0),
    ("reads", 0.0),
    ("writes", 0.0),
    ("memory_events_high", 0.0),
    ("memory_events_max", 0.0),
    ("memory_oom_kills", 0.0),
];
/// Places of the CPU times in [`AMOUNTS`].
pub const CPU_TIMES: usize = 3;
/// Places of the stalls in [`AMOUNTS`], which pass at most once in an interval.
pub const STALLS: std::ops::Range<usize> = 6..11;

/// Gauges of a group's memory, in the order of these columns of `groups`.
pub const GAUGES: [&str; 6] = [
    "memory_bytes",
    "memory_anonymous_bytes",
    "memory_file_bytes",
    "memory_swap_bytes",
    "memory_peak_bytes",
    "memory_limit_bytes",
];

/// Cumulative values of [`AMOUNTS`]; `None` where this kernel has no counter.
pub type Counts = [Option<u64>; AMOUNTS.len()];
/// Values of [`GAUGES`].
pub type Levels = [Option<u64>; GAUGES.len()];

/// A file with counters, and how it is read.
struct Source {
    tree: Tree,
    file: &'static str,
    read: fn(&[u8], &mut Counts),
}

/// Sets a count unless a better source has set it.
fn set(counts: &mut Counts, place: usize, value: u64) {
    counts[place].get_or_insert(value);
}

/// Best first: what one has set, the later ones do not change.
const SOURCES: [Source; 13] = [
    Source { tree: Tree::Unified, file: "cpu.stat", read: cpu_stat },
    Source { tree: Tree::Cpuacct, file: "cpuacct.usage", read: |text, counts| one(text, counts, 0) },
    Source { tree: Tree::Cpuacct, file: "cpuacct.usage_user", read: |text, counts| one(text, counts, 1) },
    Source { tree: Tree::Cpuacct, file: "cpuacct.usage_sys", read: |text, counts| one(text, counts, 2) },
    Source { tree: Tree::Cpu, file: "cpu.stat", read: cpu_stat },
    Source {
        tree: Tree::Unified,
        file: "cpu.pressure",
        read: |text, counts| stall(text, counts, Some(6), None),
    },
    Source {
        tree: Tree::Unified,
        file: "memory.pressure",
        read: |text, counts| stall(text, counts, Some(7), Some(8)),
    },
    Source {
        tree: Tree::Unified,
        file: "io.pressure",
        read: |text, counts| stall(text, counts, Some(9), Some(10)),
    },
    Source { tree: Tree::Unified, file: "io.stat", read: transfers },
    Source {
        tree: Tree::Blkio,
        file: "blkio.throttle.io_service_bytes_recursive",
        read: |text, counts| {
            let sums = blkio(text);
            set(counts, 11, sums.read);
            set(counts, 12, sums.written);
        },
    },
    Source {
        tree: Tree::Blkio,
        file: "blkio.throttle.io_serviced_recursive",
        read: |text, counts| {
            let sums = blkio(text);
            set(counts, 13, sums.read);
            set(counts, 14, sums.written);
        },
    },
    Source { tree: Tree::Unified, file: "memory.events", read: events },
    Source { tree: Tree::Memory, file: "memory.oom_control", read: events },
];
/// How many of them tell whether a group ran.
const CPU_SOURCES: usize = 5;

/// `cpu.stat` of either version: version 2 in microseconds, version 1 (quota alone) in nanoseconds.
fn cpu_stat(text: &[u8], counts: &mut Counts) {
    for (key, value) in keyed(text) {
        match key {
            b"usage_usec" => set(counts, 0, value.saturating_mul(1000)),
            b"user_usec" => set(counts, 1, value.saturating_mul(1000)),
            b"system_usec" => set(counts, 2, value.saturating_mul(1000)),
            b"throttled_usec" => set(counts, 3, value.saturating_mul(1000)),
            b"throttled_time" => set(counts, 3, value),
            b"nr_throttled" => set(counts, 4, value),
            b"nr_periods" => set(counts, 5, value),
            _ => {}
        }
    }
}

fn one(text: &[u8], counts: &mut Counts, place: usize) {
    if let Some(value) = single(text) {
        set(counts, place, value);
    }
}

fn stall(text: &[u8], counts: &mut Counts, some: Option<usize>, full: Option<usize>) {
    let Ok(pressure) = pressure::parse(text, "pressure") else { return };
    for (place, value) in [(some, pressure.some_us), (full, pressure.full_us)] {
        if let (Some(place), Some(value)) = (place, value) {
            set(counts, place, value);
        }
    }
}

fn transfers(text: &[u8], counts: &mut Counts) {
    let (bytes, operations) = io_stat(text);
    for (place, value) in
        [(11, bytes.read), (12, bytes.written), (13, operations.read), (14, operations.written)]
    {
        set(counts, place, value);
    }
}

/// `memory.events` of version 2; of version 1 only the kills are told.
fn events(text: &[u8], counts: &mut Counts) {
    for (key, value) in keyed(text) {
        match key {
            b"high" => set(counts, 15, value),
            b"max" => set(counts, 16, value),
            b"oom_kill" => set(counts, 17, value),
            _ => {}
        }
    }
}

/// A file of a group, kept open while there are descriptors for it.
#[derive(Debug)]
enum Kept {
    Unopened,
    Open(File),
    Absent,
}

/// The files of one group.
#[derive(Debug)]
pub struct Files([Kept; SOURCES.len()]);

/// Room for descriptors and text, shared by all groups.
#[derive(Debug)]
pub struct Reading {
    buffer: Vec<u8>,
    kept: u64,
    kept_max: u64,
}

/// Nothing read, nothing open.
impl Default for Reading {
    fn default() -> Reading {
        // An eighth: the files of processes take three quarters.
        let kept_max = getrlimit(Resource::Nofile).current.unwrap_or(1 << 16) / 8;
        Reading { buffer: Vec::new(), kept: 0, kept_max }
    }
}

impl Reading {
    fn text(&mut self, path: &PathBuf) -> io::Result<&[u8]> {
        read_whole(File::open(path)?, &mut self.buffer)
    }
}

/// No file tried yet.
impl Default for Files {
    fn default() -> Files {
        Files([const { Kept::Unopened }; SOURCES.len()])
    }
}

impl Files {
    /// Adds a part of the counters to `counts`, as which `before` was read before; false if the group is gone.
    pub fn read(
        &mut self,
        place: (&Trees, &str),
        reading: &mut Reading,
        before: Option<&Counts>,
        counts: &mut Counts,
        part: Part,
    ) -> bool {
        let range = match part {
            Part::CpuTimes => 0..CPU_SOURCES,
            Part::Rest => CPU_SOURCES..SOURCES.len(),
        };
        let (trees, path) = place;
        for (source, kept) in SOURCES[range.clone()].iter().zip(&mut self.0[range]) {
            // The root of version 2 is sampled by the tick, unlike its groups.
            let is_sampled = path == "/" && source.tree == Tree::Unified && source.file == "cpu.stat";
            // A group that has not run has used nothing in any state.
            let unchanged = before.filter(|before| counts[0].is_some() && before[0] == counts[0]);
            if let Some(before) = unchanged.filter(|_| source.tree == Tree::Cpuacct) {
                for place in 1..CPU_TIMES {
                    counts[place] = counts[place].or(before[place]);
                }
            }
            // One file of version 2 has all of the three.
            let is_known = source.tree == Tree::Cpuacct && counts[..CPU_TIMES].iter().all(Option::is_some);
            if is_sampled || is_known || matches!(kept, Kept::Absent) {
                continue;
            }
            if matches!(kept, Kept::Unopened) {
                match trees.file(source.tree, path, source.file).map(File::open) {
                    Some(Ok(file)) => *kept = Kept::Open(file),
                    _ => {
                        *kept = Kept::Absent;
                        continue;
                    }
                }
                reading.kept += 1;
            }
            let Kept::Open(file) = &*kept else { continue };
            match read_whole(file, &mut reading.buffer) {
                Ok(text) => (source.read)(text, counts),
                // A file of a group that was removed; pressure that is switched off.
                Err(error) if error.raw_os_error() == Some(libc::ENODEV) => return false,
                Err(_) => {
                    *kept = Kept::Absent;
                    reading.kept -= 1;
                    continue;
                }
            }
            if reading.kept > reading.kept_max {
                *kept = Kept::Unopened;
                reading.kept -= 1;
            }
        }
        true
    }

    /// True if the CPU times are those of version 2.
    pub fn is_unified(&self) -> bool {
        matches!(self.0[0], Kept::Open(_))
    }

    /// Closes the files that are read only while the group runs, or all.
    pub fn close(&mut self, reading: &mut Reading, all: bool) {
        let first = if all { 0 } else { CPU_SOURCES };
        for kept in &mut self.0[first..] {
            if matches!(kept, Kept::Open(_)) {
                *kept = Kept::Unopened;
                reading.kept -= 1;
            }
        }
    }
}

/// Part of a group's counters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// CPU times and throttling: they tell whether a group ran.
    CpuTimes,
    /// Pressure, transfers and events.
    Rest,
}

/// Memory of a group now.
pub fn levels(trees: &Trees, path: &str, reading: &mut Reading) -> Levels {
    let mut levels = Levels::default();
    let single_files = [
        (Tree::Unified, ["memory.current", "memory.swap.current", "memory.peak", "memory.max"]),
        (Tree::Memory, ["memory.usage_in_bytes", "", "memory.max_usage_in_bytes", "memory.limit_in_bytes"]),
    ];
    for (tree, files) in single_files {
        for (file, place) in files.into_iter().zip([0, 3, 4, 5]).filter(|(file, _)| !file.is_empty()) {
            let Some(path) = trees.file(tree, path, file) else { continue };
            if let Ok(text) = reading.text(&path) {
                levels[place] = levels[place].or(single(text));
            }
        }
        let Some(path) = trees.file(tree, path, "memory.stat") else { continue };
        for (key, value) in reading.text(&path).into_iter().flat_map(keyed) {
            let place = match (tree, key) {
                (Tree::Unified, b"anon") | (Tree::Memory, b"total_rss") => 1,
                (Tree::Unified, b"file") | (Tree::Memory, b"total_cache") => 2,
                (Tree::Memory, b"total_swap") => 3,
                _ => continue,
            };
            levels[place].get_or_insert(value);
        }
    }
    levels
}
