//! Memory of users with shared pages divided: from `smaps_rollup`, a few processes at each sample.
//!
//! The kernel walks a process's address space to fill that file, which takes 20 microseconds for a small process and
//! milliseconds for a large one. A budget of CPU time limits it: processes are read in turn, those first that were
//! never read, then those whose resident memory has changed, then the oldest readings. In between, proportional and
//! anonymous memory are taken to change as the resident memory does.

use std::collections::BTreeMap;
use std::fs::File;

use serde_json::{Value as Json, json};

use crate::kernel::clock::{Clock, SystemClock};
use crate::kernel::files::{Root, read_whole};
use crate::kernel::host;
use crate::proc::memory::{Rollup, rollup, status};
use crate::processes::Facts;
use crate::processes::census::{Census, Key};

/// CPU time for readings in a second [ns]: a thousandth of a CPU.
const BUDGET_NS_PER_S: f64 = 1e6;
/// Most for a sample, however long ago the last one was [ns].
const BUDGET_MAX_NS: f64 = 20e6;
/// CPU time at the start [ns]: the first interval then knows everybody, on most machines.
const BUDGET_START_NS: i64 = 100_000_000;
/// Beats after which a reading is old: sharers come and go without a change of the resident memory.
const BEATS_MAX: u32 = 4;
/// Change of resident memory from which a process is read again: a fiftieth, and more than the kernel's counters are
/// off on several CPUs [page].
const CHANGE_SHARE: u64 = 50;
const CHANGE_MIN: u64 = 64;

/// Share of a user's resident memory that may be in processes whose proportional memory is not permitted: they count
/// with all of their memory, so that the sum is too large by this share at most.
const DENIED_SHARE: f64 = 0.05;

/// A reading of a process.
#[derive(Debug)]
struct Reading {
    start_ticks: u64,
    /// Resident pages by the counter of `/proc/PID/stat` at that time.
    resident_pages: u64,
    found: Rollup,
    beat: u32,
}

/// Reads the memory of processes in turn.
#[derive(Debug)]
pub struct Memory {
    root: Root,
    readings: BTreeMap<i32, Reading>,
    /// Process that was read last.
    last: i32,
    beat: u32,
    /// CPU time that may be used [ns]; below zero after a large process.
    allowance_ns: i64,
    buffer: Vec<u8>,
    read: u64,
    /// As of the last beat: processes that are not permitted, and those that were not read yet.
    denied: u64,
    unread: u64,
}

/// Memory of a user [byte].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Memories {
    pub processes: u64,
    pub threads: u64,
    pub resident: u64,
    pub proportional: Option<u64>,
    pub anonymous: Option<u64>,
    pub swap: Option<u64>,
}

/// Sums over a user's processes, as far as they were read.
#[derive(Debug, Default)]
struct Sums {
    memories: Memories,
    /// Resident memory of processes with a proportional and with an anonymous share [byte].
    with_proportional: u64,
    with_anonymous: u64,
    proportional: u64,
    anonymous: u64,
    swap: u64,
    /// Resident memory of processes whose proportional share is not permitted [byte].
    denied: u64,
}

impl Memory {
    /// Nothing read yet.
    pub fn new(root: &Root) -> Memory {
        Memory {
            root: root.clone(),
            readings: BTreeMap::new(),
            last: 0,
            beat: 0,
            allowance_ns: BUDGET_START_NS,
            buffer: Vec::new(),
            read: 0,
            denied: 0,
            unread: 0,
        }
    }

    /// Reads some processes; `length_s` is the time since the sample before.
    pub fn sample(&mut self, census: &Census, length_s: f64) {
        let earned_ns = (BUDGET_NS_PER_S * length_s).clamp(0.0, BUDGET_MAX_NS) as i64;
        self.allowance_ns += earned_ns;
        if self.allowance_ns <= 0 {
            return;
        }
        let mut clock = SystemClock;
        let start_ns = clock.thread_cpu_ns();
        let used_ns = |clock: &mut SystemClock| (clock.thread_cpu_ns() - start_ns) as i64;
        // By urgency, then in turn from the process after the one that was read last.
        let mut due: Vec<(u32, bool, i32)> = Vec::new();
        // Both in ascending order: to look each up would take longer than everything else here.
        let mut readings = self.readings.iter().peekable();
        for (pid, _, facts) in census.living() {
            while readings.next_if(|(known, _)| **known < pid).is_some() {}
            let known = readings.next_if(|(known, _)| **known == pid).map(|(_, reading)| reading);
            if let Some(urgency) = self.urgency(facts, known) {
                due.push((u32::MAX - urgency, pid <= self.last, pid));
            }
        }
        due.sort_unstable();
        for (_, _, pid) in due {
            let Some(facts) = census.facts(pid) else { continue };
            self.read(pid, facts);
            self.last = pid;
            if used_ns(&mut clock) >= self.allowance_ns {
                break;
            }
        }
        // What is left is not saved: the work of many samples would fall on one.
        self.allowance_ns = (self.allowance_ns - used_ns(&mut clock)).min(0);
    }

    /// How much a process needs to be read; `None` for not at all.
    fn urgency(&self, facts: &Facts, known: Option<&Reading>) -> Option<u32> {
        let resident = facts.stat.resident_pages;
        if facts.stat.is_kernel_thread || resident == 0 {
            return None;
        }
        let known = known.filter(|reading| reading.start_ticks == facts.stat.start_ticks);
        let Some(reading) = known else { return Some(3) };
        let change = resident.abs_diff(reading.resident_pages);
        if change > CHANGE_MIN.max(reading.resident_pages / CHANGE_SHARE) {
            return Some(2);
        }
        (self.beat.wrapping_sub(reading.beat) >= BEATS_MAX).then_some(1)
    }

    fn read(&mut self, pid: i32, facts: &Facts) {
        let found = self.file(pid, "smaps_rollup").map(rollup).filter(|found| found.proportional.is_some());
        // The names of mapped files are private, the sums of `status` are not.
        let found = found.or_else(|| self.file(pid, "status").map(status));
        let Some(found) = found else {
            // It has ended.
            return;
        };
        self.read += 1;
        let stat = &facts.stat;
        let reading = Reading {
            start_ticks: stat.start_ticks,
            resident_pages: stat.resident_pages,
            found,
            beat: self.beat,
        };
        self.readings.insert(pid, reading);
    }

    fn file(&mut self, pid: i32, name: &str) -> Option<&[u8]> {
        let file = File::open(self.root.path(&format!("/proc/{pid}/{name}"))).ok()?;
        read_whole(file, &mut self.buffer).ok()
    }

    /// Memory of every user with a process. Ends a beat: what has ended is forgotten.
    pub fn users<'a>(&mut self, census: &'a Census) -> BTreeMap<&'a Key, Memories> {
        self.beat = self.beat.wrapping_add(1);
        self.readings.retain(|pid, _| census.facts(*pid).is_some());
        (self.denied, self.unread) = (0, 0);
        let mut users: BTreeMap<&Key, Sums> = BTreeMap::new();
        for (pid, key, facts) in census.living() {
            let sums = users.entry(key).or_default();
            sums.memories.processes += 1;
            sums.memories.threads += u64::from(facts.stat.threads);
            let resident = facts.stat.resident_pages.saturating_mul(host::page_bytes());
            sums.memories.resident += resident;
            if facts.stat.is_kernel_thread || resident == 0 {
                continue;
            }
            let known =
                self.readings.get(&pid).filter(|reading| reading.start_ticks == facts.stat.start_ticks);
            match known {
                None => self.unread += 1,
                Some(reading) => self.denied += u64::from(sums.add(reading, facts, resident)),
            }
        }
        users.into_iter().map(|(key, sums)| (key, sums.finish())).collect()
    }

    /// Facts for the manifest.
    pub fn to_json(&self) -> Json {
        json!({ "readings": self.read, "not_permitted": self.denied, "not_read": self.unread })
    }
}

impl Sums {
    /// Adds a reading of a process; true if it was not permitted in full.
    fn add(&mut self, reading: &Reading, facts: &Facts, resident: u64) -> bool {
        let found = reading.found;
        let scaled = |bytes: u64| {
            (bytes as f64 * facts.stat.resident_pages as f64 / reading.resident_pages.max(1) as f64) as u64
        };
        if let Some(anonymous) = found.anonymous {
            self.anonymous += scaled(anonymous);
            self.with_anonymous += resident;
        }
        self.swap += found.swap.unwrap_or(0);
        match found.proportional {
            Some(proportional) => {
                self.proportional += scaled(proportional);
                self.with_proportional += resident;
            }
            // As if nothing of it were shared, while it is little.
            None => self.denied += resident,
        }
        found.proportional.is_none()
    }

    /// The memories: processes that were not read yet are taken to share as the user's others do.
    fn finish(self) -> Memories {
        let resident = self.memories.resident;
        let whole = |part: u64, of: u64| match (resident, of) {
            (0, _) => Some(0),
            (_, 0) => None,
            _ => Some((part as f64 * resident as f64 / of as f64) as u64),
        };
        Memories {
            proportional: whole(self.proportional + self.denied, self.with_proportional + self.denied)
                .filter(|_| self.denied as f64 <= DENIED_SHARE * resident as f64),
            anonymous: whole(self.anonymous, self.with_anonymous),
            swap: (resident == 0 || self.with_anonymous > 0).then_some(self.swap),
            ..self.memories
        }
    }
}
