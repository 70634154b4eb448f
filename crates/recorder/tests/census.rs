//! The bookkeeping of processes, against a model of the kernel's own: nothing is lost, nothing doubled.

use std::collections::BTreeMap;

use proptest::prelude::*;
use thinktime_recorder::proc::process_io::ProcessIo;
use thinktime_recorder::proc::process_stat::ProcessStat;
use thinktime_recorder::processes::census::{Census, Key, Surroundings};
use thinktime_recorder::processes::exits::{Departed, Departures};
use thinktime_recorder::processes::usage::Usage;
use thinktime_recorder::processes::{By, Facts, Scan};

const TICK_NS: u64 = 10_000_000;
const MS: u64 = 1_000_000;

/// A process as the kernel keeps it; `waited_*` is what children left behind that were waited for.
#[derive(Clone, Debug)]
struct Process {
    parent: i32,
    uid: u32,
    start: u64,
    run_ns: u64,
    faults: u64,
    waited_ns: u64,
    waited_faults: u64,
    threads: u32,
    /// With that of children, as the kernel shows it.
    bytes: u64,
    own_bytes: u64,
}

/// A machine of processes. Process 1 is there from the start and never ends.
#[derive(Clone, Debug)]
struct Kernel {
    processes: BTreeMap<i32, Process>,
    now: u64,
    next: i32,
    used_ns: u64,
    ended: u64,
    /// What processes had used that ended between the same two samples as their parents, or nearly.
    nested_ns: u64,
    /// What the kernel told of ends, and says of it.
    departures: Departures,
    /// What each user used.
    by_uid: BTreeMap<u32, u64>,
    ended_lately: Vec<(i32, u64)>,
}

impl Kernel {
    fn new() -> Kernel {
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
        }
    }

    fn pick(&self, at: usize) -> i32 {
        *self.processes.keys().nth(at % self.processes.len()).unwrap()
    }

    /// A parent runs when it forks, and a child has a fault when it begins.
    fn fork(&mut self, parent: i32, uid: u32) -> i32 {
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

    fn run(&mut self, pid: i32, ns: u64) {
        let process = self.processes.get_mut(&pid).unwrap();
        process.run_ns += ns;
        process.faults += 1;
        process.bytes += ns / 1000;
        process.own_bytes += ns / 1000;
        self.used_ns += ns;
        *self.by_uid.entry(process.uid).or_default() += ns;
    }

    /// Ends a process; the parent waits for it at once. Orphans go to process 1.
    fn exit(&mut self, pid: i32) {
        if pid == 1 {
            return;
        }
        self.tell(pid);
        // It gives back its memory after the message.
        self.run(pid, MS / 20);
        let ended = self.processes.remove(&pid).unwrap();
        for other in self.processes.values_mut().filter(|other| other.parent == pid) {
            other.parent = 1;
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
    fn tell(&mut self, pid: i32) {
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

    fn has_children(&self, pid: i32) -> bool {
        self.processes.values().any(|process| process.parent == pid)
    }

    fn facts(&self, pid: i32) -> Option<Facts> {
        let process = self.processes.get(&pid)?;
        Some(Facts {
            stat: ProcessStat {
                pid,
                state: b'S',
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
            swap_wait_ns: None,
            command: "work".into(),
            io: Some(ProcessIo { read_bytes: process.bytes, write_bytes: 0 }),
            uid: process.uid,
            cgroup: None,
        })
    }
}

/// Sums what the census says over all samples.
struct Observer {
    census: Census,
    scan: Scan,
    since: Option<u64>,
    by_key: BTreeMap<Key, u64>,
    bytes: u64,
    ended_before: usize,
    /// The kernel tells it the end of every process.
    is_told: bool,
}

impl Observer {
    fn new() -> Observer {
        let census = Census::new(By::Uid, TICK_NS);
        Observer {
            census,
            scan: Scan::default(),
            since: None,
            by_key: BTreeMap::new(),
            bytes: 0,
            ended_before: 0,
            is_told: false,
        }
    }

    /// Takes a sample. `ends` end while the scan is under way, each before its own number is reached or after.
    fn sample(&mut self, kernel: &mut Kernel, ends: &[(i32, i32)]) {
        let pids: Vec<i32> = kernel.processes.keys().copied().collect();
        self.scan.clear();
        for pid in pids {
            for (_, ending) in ends.iter().filter(|(when, _)| *when == pid) {
                if kernel.processes.contains_key(ending) && !kernel.has_children(*ending) {
                    kernel.exit(*ending);
                }
            }
            if let Some(facts) = kernel.facts(pid) {
                self.scan.changed(pid, facts);
            }
        }
        let mut departures = std::mem::take(&mut kernel.departures);
        if self.is_told {
            departures.is_complete = true;
        } else {
            departures = Departures::default();
        }
        self.census.step(
            &self.scan,
            Surroundings {
                since_ticks: self.since,
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

    fn total_ns(&self) -> u64 {
        self.by_key.values().sum()
    }
}

#[derive(Clone, Debug)]
enum Act {
    Fork(usize),
    Run(usize, u64),
    Exit(usize),
    Sample(Vec<(usize, usize)>),
}

fn acts() -> impl Strategy<Value = Vec<Act>> {
    let act = prop_oneof![
        3 => any::<usize>().prop_map(Act::Fork),
        5 => (any::<usize>(), 0..3000u64).prop_map(|(who, ms)| Act::Run(who, ms * MS + 123_456)),
        3 => any::<usize>().prop_map(Act::Exit),
        2 => proptest::collection::vec((any::<usize>(), any::<usize>()), 0..3).prop_map(Act::Sample),
    ];
    proptest::collection::vec(act, 1..80)
}

/// Plays `acts`; with `orphans`, processes may end before their children.
fn play(acts: &[Act], orphans: bool, is_told: bool) -> (Kernel, Observer) {
    let (mut kernel, mut observer) = (Kernel::new(), Observer::new());
    observer.is_told = is_told;
    observer.sample(&mut kernel, &[]);
    for act in acts {
        match act {
            Act::Fork(who) => {
                let uid = if is_told { (who / 7 % 3) as u32 } else { 0 };
                kernel.fork(kernel.pick(*who), uid);
            }
            Act::Run(who, ns) => kernel.run(kernel.pick(*who), *ns),
            Act::Exit(who) => {
                let pid = kernel.pick(*who);
                if orphans || !kernel.has_children(pid) {
                    kernel.exit(pid);
                }
            }
            Act::Sample(ends) => {
                let ends: Vec<_> =
                    ends.iter().map(|(when, who)| (kernel.pick(*when), kernel.pick(*who))).collect();
                observer.sample(&mut kernel, &ends);
            }
        }
    }
    // What is late comes with the next two samples.
    for _ in 0..3 {
        observer.sample(&mut kernel, &[]);
    }
    (kernel, observer)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, ..ProptestConfig::default() })]

    /// All CPU time that was used is counted, once: but for the cut to whole ticks of 10 ms, one for
    /// each process that ended, and two for each that waited; and but for what may be missed when a
    /// process ends in the same interval as its parent.
    #[test]
    fn cpu_time_is_conserved(acts in acts()) {
        let (kernel, observer) = play(&acts, false, false);
        let allowed = TICK_NS * (kernel.ended + 3 * kernel.next as u64);
        let (counted, used) = (observer.total_ns(), kernel.used_ns);
        prop_assert!(counted <= used + allowed, "counted {counted} of {used}: something twice");
        prop_assert!(counted + allowed + kernel.nested_ns >= used, "counted {counted} of {used}: something lost");
    }

    /// Also when processes end before their children, nothing is counted twice.
    #[test]
    fn nothing_is_counted_twice_among_orphans(acts in acts()) {
        let (kernel, observer) = play(&acts, true, false);
        let allowed = TICK_NS * (kernel.ended + 3 * kernel.next as u64);
        prop_assert!(observer.total_ns() <= kernel.used_ns + allowed);
        prop_assert!(observer.bytes <= (kernel.used_ns + allowed) / 1000);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, ..ProptestConfig::default() })]

    /// Where the kernel tells every end, each user has what his processes used, whoever waits for them, and also when
    /// processes end before their children.
    #[test]
    fn every_user_has_his_own_where_ends_are_told(acts in acts()) {
        let (kernel, observer) = play(&acts, true, true);
        let allowed = TICK_NS * (kernel.ended + 3 * kernel.next as u64);
        for (uid, used) in &kernel.by_uid {
            let counted = counted(&observer, *uid);
            prop_assert!(counted <= used + allowed, "counted {counted} of {used}: something twice");
            prop_assert!(counted + allowed >= *used, "counted {counted} of {used}: something lost");
        }
        prop_assert!(observer.bytes <= (kernel.used_ns + allowed) / 1000);
    }
}

/// The time of `acts` counted for each user.
fn counted(observer: &Observer, uid: u32) -> u64 {
    observer.by_key.get(&Key::Uid(uid)).copied().unwrap_or(0)
}

#[test]
fn a_command_that_came_and_went_between_samples_belongs_to_who_waited_for_it() {
    let (mut kernel, mut observer) = (Kernel::new(), Observer::new());
    let shell = kernel.fork(1, 1000);
    observer.sample(&mut kernel, &[]);
    let command = kernel.fork(shell, 1000);
    kernel.run(command, 700 * MS);
    kernel.exit(command);
    observer.sample(&mut kernel, &[]);
    let found = counted(&observer, 1000);
    assert!((700 * MS..=701 * MS).contains(&found), "{found}");
}

#[test]
fn a_users_last_work_is_not_charged_to_the_daemon_that_waited() {
    let (mut kernel, mut observer) = (Kernel::new(), Observer::new());
    let daemon = kernel.fork(1, 0);
    let shell = kernel.fork(daemon, 1000);
    kernel.run(shell, 5_000 * MS);
    observer.sample(&mut kernel, &[]);
    kernel.run(shell, 300 * MS);
    kernel.exit(shell);
    observer.sample(&mut kernel, &[]);
    observer.sample(&mut kernel, &[]);
    let (user, root) = (counted(&observer, 1000), counted(&observer, 0));
    assert!((290 * MS..=310 * MS).contains(&user), "{user}");
    assert!(root < MS, "the 5 s from before the recording are nobody's: {root}");
}

#[test]
fn what_ends_during_the_first_scan_belongs_to_no_interval() {
    let (mut kernel, mut observer) = (Kernel::new(), Observer::new());
    observer.is_told = true;
    let daemon = kernel.fork(1, 0);
    let shell = kernel.fork(daemon, 1000);
    let next = kernel.fork(daemon, 1000);
    kernel.run(shell, 5_000 * MS);
    // The daemon has been read when the shell ends, and the shell has not.
    observer.sample(&mut kernel, &[(shell, shell)]);
    kernel.run(next, 20 * MS);
    kernel.exit(next);
    for _ in 0..3 {
        observer.sample(&mut kernel, &[]);
    }
    let (user, root) = (counted(&observer, 1000), counted(&observer, 0));
    assert!(root < MS && (20 * MS..=21 * MS).contains(&user), "{root} and {user}");
}

#[test]
fn a_number_used_again_is_another_process() {
    let (mut kernel, mut observer) = (Kernel::new(), Observer::new());
    let first = kernel.fork(1, 1000);
    kernel.run(first, 900 * MS);
    observer.sample(&mut kernel, &[]);
    kernel.exit(first);
    kernel.next = first;
    let second = kernel.fork(1, 2000);
    assert_eq!(first, second);
    kernel.run(second, 40 * MS);
    observer.sample(&mut kernel, &[]);
    assert_eq!(counted(&observer, 2000), 40 * MS);
    assert!(counted(&observer, 1000) <= 2 * TICK_NS);
}

#[test]
fn threads_count_by_the_ticks_of_the_whole_process() {
    let mut census = Census::new(By::Uid, TICK_NS);
    let mut scan = Scan::default();
    let kernel = Kernel::new();
    let around = |census: &mut Census, scan: &Scan| {
        let surroundings = Surroundings {
            since_ticks: Some(0),
            capacity_ns: u64::MAX,
            own_pid: None,
            departures: &Departures::default(),
            is_gone: &mut |_| false,
        };
        census.step(scan, surroundings);
        census.accounts()[&Key::Uid(0)].usage.exact_ns
    };
    // Four threads: the first one's own time says nothing.
    for (ticks, run_ns, threads, expected) in [
        (0, 0, 4, 0),
        (200, 5 * MS, 4, 2000 * MS),
        // One is left. That some ran in between shows in the ticks.
        (250, 6 * MS, 1, 500 * MS),
        // Alone, in nanoseconds.
        (250, 9 * MS, 1, 3 * MS),
        // A second thread came and went between two samples: the ticks know of it.
        (350, 10 * MS, 1, 1000 * MS),
        // Another thread became the first by exec: its time starts lower.
        (351, 2 * MS, 1, 10 * MS),
    ] {
        let mut facts = kernel.facts(1).unwrap();
        (facts.stat.user_ticks, facts.run_ns, facts.stat.threads) = (ticks, Some(run_ns), threads);
        scan.clear();
        scan.changed(1, facts);
        assert_eq!(around(&mut census, &scan), expected, "{ticks} ticks");
    }
}

#[test]
fn who_is_active() {
    let mut census = Census::new(By::Uid, TICK_NS);
    let (mut scan, kernel) = (Scan::default(), Kernel::new());
    let with = |uid, run_ns, is_kernel_thread| {
        let mut facts = kernel.facts(1).unwrap();
        (facts.uid, facts.run_ns, facts.stat.is_kernel_thread) = (uid, Some(run_ns), is_kernel_thread);
        facts
    };
    let mut step = |scan: &Scan, since| {
        let own = Some(9);
        census.step(
            scan,
            Surroundings {
                since_ticks: since,
                capacity_ns: 1,
                own_pid: own,
                departures: &Departures::default(),
                is_gone: &mut |_| false,
            },
        );
        census.active_users()
    };
    // 7 sleeps, 8 is a kernel thread, 9 is the recorder, 10 works for less than a tick.
    for (round, expected) in [(0, 0), (1, 1)] {
        scan.clear();
        scan.changed(7, with(7, 50, false));
        scan.changed(8, with(8, 50 + round, true));
        scan.changed(9, with(9, 50 + round, false));
        scan.changed(10, with(10, 50 + round, false));
        assert_eq!(step(&scan, (round > 0).then_some(1)), expected);
    }
}

#[test]
fn by_session_only_terminals_are_users() {
    let mut census = Census::new(By::Session, TICK_NS);
    let (mut scan, kernel) = (Scan::default(), Kernel::new());
    let mut active = 0;
    for round in 1..3 {
        scan.clear();
        for (pid, terminal) in [(20, 0), (30, 34816), (40, 34817)] {
            let mut facts = kernel.facts(1).unwrap();
            (facts.stat.session, facts.stat.terminal, facts.run_ns) = (pid, terminal, Some(round * 100));
            scan.changed(pid, facts);
        }
        let around = Surroundings {
            since_ticks: Some(1),
            capacity_ns: 1,
            own_pid: None,
            departures: &Departures::default(),
            is_gone: &mut |_| false,
        };
        census.step(&scan, around);
        active = census.active_users();
    }
    assert_eq!(active, 2, "the daemon's session 20 has no terminal");
    assert_eq!(census.terminal_sessions(), 2);
}

#[test]
fn memory_and_processes_follow_births_and_deaths() {
    let (mut kernel, mut observer) = (Kernel::new(), Observer::new());
    let processes: Vec<i32> = (0..50).map(|_| kernel.fork(1, 1000)).collect();
    observer.sample(&mut kernel, &[]);
    let account = &observer.census.accounts()[&Key::Uid(1000)];
    assert_eq!((account.processes, account.resident_pages), (50, 150));
    for pid in &processes[..49] {
        kernel.exit(*pid);
    }
    observer.sample(&mut kernel, &[]);
    let account = &observer.census.accounts()[&Key::Uid(1000)];
    assert_eq!((account.processes, account.resident_pages), (1, 3));
    kernel.exit(processes[49]);
    observer.sample(&mut kernel, &[]);
    observer.sample(&mut kernel, &[]);
    assert!(
        !observer.census.accounts().contains_key(&Key::Uid(1000)),
        "a user without processes is forgotten"
    );
}
