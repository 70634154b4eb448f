//! A model of the kernel's processes, and what sums up what the census says of them.

use std::collections::{BTreeMap, BTreeSet};

use thinktime_recorder::proc::process_io::ProcessIo;
use thinktime_recorder::proc::process_stat::ProcessStat;
use thinktime_recorder::processes::census::{Census, Key, Surroundings};
use thinktime_recorder::processes::departures::{Departed, Departures};
use thinktime_recorder::processes::usage::Usage;
use thinktime_recorder::processes::{By, Facts, Scan};

pub const TICK_NS: u64 = 10_000_000;
pub const MS: u64 = 1_000_000;

/// A process as the kernel keeps it; `waited_*` is what children left behind that were waited for.
#[derive(Clone, Debug)]
pub struct Process {
    pub parent: i32,
    pub uid: u32,
    pub start: u64,
    pub run_ns: u64,
    pub faults: u64,
    pub waited_ns: u64,
    pub waited_faults: u64,
    pub threads: u32,
    /// With that of children, as the kernel shows it.
    pub bytes: u64,
    pub own_bytes: u64,
}

/// A machine of processes. Process 1 is there from the start and never ends.
#[derive(Clone, Debug)]
pub struct Kernel {
    pub processes: BTreeMap<i32, Process>,
    pub now: u64,
    pub next: i32,
    pub used_ns: u64,
    pub ended: u64,
    /// What processes had used that ended between the same two samples as their parents, or nearly.
    pub nested_ns: u64,
    /// What the kernel told of ends, and says of it.
    pub departures: Departures,
    /// What each user used.
    pub by_uid: BTreeMap<u32, u64>,
    pub ended_lately: Vec<(i32, u64)>,
    /// Nobody listens yet: ends are not told.
    pub is_mute: bool,
    /// Processes that take in the orphans among those below them.
    pub subreapers: BTreeSet<i32>,
    /// Processes that have ended and that nobody has waited for yet.
    pub zombies: BTreeSet<i32>,
}

impl Kernel {
    pub fn new() -> Kernel {
        let first = Process {
            parent: 0,
            uid: 0,
            start: 0,
            run_ns: 0,
            faults: 1,
            waited_ns: 0,
            waited_faults: 0,
            threads: 1,
            bytes: 0,
            own_bytes: 0,
        };
        let processes = BTreeMap::from([(1, first)]);
        Kernel {
            processes,
            now: 10,
            next: 2,
            used_ns: 0,
            ended: 0,
            nested_ns: 0,
            departures: Departures::default(),
            by_uid: BTreeMap::new(),
            ended_lately: Vec::new(),
            is_mute: false,
            subreapers: BTreeSet::new(),
            zombies: BTreeSet::new(),
        }
    }

    /// The one that takes in what `pid` leaves: the nearest above that does, or process 1.
    pub fn reaper_above(&self, pid: i32) -> i32 {
        let mut above = self.processes[&pid].parent;
        while above > 1 && !self.subreapers.contains(&above) {
            above = self.processes[&above].parent;
        }
        above.max(1)
    }

    /// One of the processes that have not ended.
    pub fn pick(&self, at: usize) -> i32 {
        let alive = self.processes.len() - self.zombies.len();
        *self.processes.keys().filter(|pid| !self.zombies.contains(pid)).nth(at % alive).unwrap()
    }

    /// A parent runs when it forks, and a child has a fault when it begins.
    pub fn fork(&mut self, parent: i32, uid: u32) -> i32 {
        self.run(parent, MS / 10);
        let pid = self.next;
        self.next += 1;
        self.processes.insert(
            pid,
            Process {
                parent,
                uid,
                start: self.now,
                run_ns: 0,
                faults: 10,
                waited_ns: 0,
                waited_faults: 0,
                threads: 1,
                bytes: 0,
                own_bytes: 0,
            },
        );
        pid
    }

    pub fn run(&mut self, pid: i32, ns: u64) {
        let process = self.processes.get_mut(&pid).unwrap();
        process.run_ns += ns;
        process.faults += 1;
        process.bytes += ns / 1000;
        process.own_bytes += ns / 1000;
        self.used_ns += ns;
        *self.by_uid.entry(process.uid).or_default() += ns;
    }

    /// A process gives back its memory, after the message. Few have a fault with it.
    fn give_back(&mut self, pid: i32) {
        self.run(pid, MS / 20);
        if pid % 16 > 0 {
            self.processes.get_mut(&pid).unwrap().faults -= 1;
        }
    }

    /// Ends a process; the parent waits for it at once. Orphans go to the nearest that takes them in.
    pub fn exit(&mut self, pid: i32) {
        if pid == 1 {
            return;
        }
        if !self.is_mute {
            self.tell(pid);
        }
        self.give_back(pid);
        let reaper = self.reaper_above(pid);
        let ended = self.processes.remove(&pid).unwrap();
        for other in self.processes.values_mut().filter(|other| other.parent == pid) {
            other.parent = reaper;
        }
        let parent = self.processes.get_mut(&ended.parent).unwrap();
        parent.waited_ns += ended.run_ns + ended.waited_ns;
        parent.waited_faults += ended.faults + ended.waited_faults;
        parent.bytes += ended.bytes;
        self.run(ended.parent, MS / 10);
        self.ended += 1;
        let below = self.ended_lately.iter().filter(|(parent, _)| *parent == pid).map(|(_, ns)| ns);
        self.nested_ns += below.sum::<u64>();
        self.ended_lately.push((ended.parent, ended.run_ns + ended.waited_ns));
    }

    /// The message of the end of a process.
    pub fn tell(&mut self, pid: i32) {
        let process = &self.processes[&pid];
        let start_ns = (process.start * TICK_NS) as i64;
        self.departures.single.push(Departed {
            pid,
            parent: process.parent,
            uid: process.uid,
            usage: Usage {
                exact_ns: process.run_ns,
                faults_minor: process.faults,
                read_bytes: process.own_bytes,
                ..Usage::default()
            },
            missing_ns: MS / 20,
            count: 1,
            start_ns: (start_ns, start_ns),
            ..Departed::default()
        });
    }

    /// Ends a process without children whose parent has no other, and then the parent, which had not waited for it: it
    /// is left to the one that takes orphans in.
    pub fn leave(&mut self, pid: i32) {
        let parent = self.processes[&pid].parent;
        let siblings = self.processes.values().filter(|other| other.parent == parent).count();
        if parent <= 1 || siblings != 1 || self.has_children(pid) {
            return;
        }
        let reaper = self.reaper_above(parent);
        self.tell(pid);
        self.give_back(pid);
        let ended = self.processes.remove(&pid).unwrap();
        self.exit(parent);
        let reaper = self.processes.get_mut(&reaper).unwrap();
        reaper.waited_ns += ended.run_ns + ended.waited_ns;
        reaper.waited_faults += ended.faults + ended.waited_faults;
        reaper.bytes += ended.bytes;
        self.ended += 1;
    }

    /// Ends a process that nobody waits for yet. What it leaves goes to the nearest that takes orphans in.
    pub fn die(&mut self, pid: i32) {
        if pid == 1 {
            return;
        }
        self.tell(pid);
        self.give_back(pid);
        let reaper = self.reaper_above(pid);
        for other in self.processes.values_mut().filter(|other| other.parent == pid) {
            other.parent = reaper;
        }
        self.zombies.insert(pid);
    }

    /// Waits for all children of a process that have ended.
    pub fn bury(&mut self, parent: i32) {
        let ended: Vec<i32> =
            self.zombies.iter().copied().filter(|pid| self.processes[pid].parent == parent).collect();
        for pid in ended {
            self.zombies.remove(&pid);
            let ended = self.processes.remove(&pid).unwrap();
            let above = self.processes.get_mut(&parent).unwrap();
            above.waited_ns += ended.run_ns + ended.waited_ns;
            above.waited_faults += ended.faults + ended.waited_faults;
            above.bytes += ended.bytes;
            self.run(parent, MS / 10);
            self.ended += 1;
        }
    }

    /// The messages are received between two samples.
    pub fn drain(&mut self) {
        for departed in std::mem::take(&mut self.departures.single) {
            if departed.start_ns.0 >= (self.now * TICK_NS) as i64 && self.now > 10 {
                self.departures.group(Departed { is_new: true, ..departed });
            } else {
                self.departures.single.push(departed);
            }
        }
    }

    pub fn has_children(&self, pid: i32) -> bool {
        self.processes.values().any(|process| process.parent == pid)
    }

    pub fn facts(&self, pid: i32) -> Option<Facts> {
        let process = self.processes.get(&pid)?;
        Some(Facts {
            stat: ProcessStat {
                pid,
                state: if self.zombies.contains(&pid) { b'Z' } else { b'S' },
                parent: process.parent,
                session: pid,
                user_ticks: process.run_ns / TICK_NS,
                children_user_ticks: process.waited_ns / TICK_NS,
                faults_minor: process.faults,
                children_faults_minor: process.waited_faults,
                threads: process.threads,
                start_ticks: process.start,
                resident_pages: 3,
                ..ProcessStat::default()
            },
            run_ns: Some(process.run_ns),
            wait_ns: Some(0),
            wait_cut_ns: 0,
            has_all_waits: true,
            had_one_thread: process.threads == 1,
            swap_wait_ns: None,
            command: "work".into(),
            io: Some(ProcessIo { read_bytes: process.bytes, write_bytes: 0 }),
            uid: process.uid,
            cgroup: None,
        })
    }
}

/// Sums what the census says over all samples.
pub struct Observer {
    pub census: Census,
    pub scan: Scan,
    pub since: Option<u64>,
    pub by_key: BTreeMap<Key, u64>,
    pub bytes: u64,
    pub ended_before: usize,
    /// The kernel tells it the end of every process.
    pub is_told: bool,
    /// Processes that do not run, and are not read again.
    pub unread: BTreeSet<i32>,
}

impl Observer {
    pub fn new() -> Observer {
        let census = Census::new(By::Uid, TICK_NS);
        Observer {
            census,
            scan: Scan::default(),
            since: None,
            by_key: BTreeMap::new(),
            bytes: 0,
            ended_before: 0,
            is_told: false,
            unread: BTreeSet::new(),
        }
    }

    /// Takes a sample. `ends` end while the scan is under way, each before its own number is reached or after.
    pub fn sample(&mut self, kernel: &mut Kernel, ends: &[(i32, i32)]) {
        let pids: Vec<i32> = kernel.processes.keys().copied().collect();
        let told_before = kernel.departures.single.len();
        self.scan.clear();
        for pid in pids {
            for (_, ending) in ends.iter().filter(|(when, _)| *when == pid) {
                if kernel.processes.contains_key(ending) && !kernel.has_children(*ending) {
                    kernel.exit(*ending);
                }
            }
            match kernel.facts(pid) {
                Some(_) if self.unread.contains(&pid) => self.scan.unchanged(pid),
                Some(facts) => self.scan.changed(pid, facts),
                None => {}
            }
        }
        let mut departures = std::mem::take(&mut kernel.departures);
        for departed in &mut departures.single[told_before..] {
            departed.is_in_flight = true;
        }
        if self.is_told {
            departures.is_complete = true;
        } else {
            departures = Departures::default();
        }
        self.census.step(
            &self.scan,
            Surroundings {
                since_ticks: self.since,
                length_ns: u64::MAX,
                capacity_ns: u64::MAX,
                own_pid: None,
                departures: &departures,
                is_gone: &mut |pid| !kernel.processes.contains_key(&pid),
            },
        );
        self.since = Some(kernel.now);
        kernel.now += 100;
        // Two samples back is far enough: by then every debt is settled.
        kernel.ended_lately.drain(..std::mem::replace(&mut self.ended_before, 0));
        self.ended_before = kernel.ended_lately.len();
        for (key, account) in self.census.accounts() {
            *self.by_key.entry(key.clone()).or_default() += account.usage.exact_ns;
            self.bytes += account.usage.read_bytes;
        }
    }

    pub fn total_ns(&self) -> u64 {
        self.by_key.values().sum()
    }
}

/// The CPU time counted for a user [ns].
pub fn counted(observer: &Observer, uid: u32) -> u64 {
    observer.by_key.get(&Key::Uid(uid)).copied().unwrap_or(0)
}
