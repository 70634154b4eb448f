//! From readings of processes to usage by user: pure bookkeeping, no file and no system call.
//!
//! A process is identified by its number and start time. Usage between the last reading of a process and its end, and
//! all usage of a process that started and ended between two samples, comes from the messages that the kernel sends
//! when a process ends, and from the totals for waited-for children: see `ended.rs` and `settlement.rs`.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::commands::Commands;
use super::debts::{Debt, Owner, Unseen};
use super::departures::Departures;
use super::reapers::Left;
use super::usage::{Usage, growth, lifetime, of_children, possible_wait_ns};
use super::{By, Facts, Scan};

/// User to whom a process belongs.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Key {
    /// Effective user.
    Uid(u32),
    /// Process number of the session's leader.
    Session(i32),
    /// Path of the control group.
    Cgroup(Arc<str>),
}

impl Key {
    /// The key as in the column `user` of the log.
    pub fn text(&self) -> String {
        match self {
            Key::Uid(uid) => format!("uid:{uid}"),
            Key::Session(session) => format!("session:{session}"),
            Key::Cgroup(path) => path.to_string(),
        }
    }

    /// The key that has this text.
    pub fn of_text(text: &str) -> Option<Key> {
        match text.split_once(':') {
            Some(("uid", uid)) => uid.parse().ok().map(Key::Uid),
            Some(("session", session)) => session.parse().ok().map(Key::Session),
            _ => text.starts_with('/').then(|| Key::Cgroup(Arc::from(text))),
        }
    }
}

/// Usage and state of one user.
#[derive(Clone, Debug, Default)]
pub struct Account {
    /// Usage in the last interval.
    pub usage: Usage,
    /// The part of the CPU time that processes used which nobody saw, counted for who waited for them [ns].
    pub inherited_ns: u64,
    /// The same usage by command.
    pub commands: Commands,
    /// True if a process used CPU time in user state in the last interval.
    pub is_active: bool,
    /// True if the recorder is permitted to see the I/O of any of the processes.
    pub sees_io: bool,
    /// Processes alive.
    pub processes: u64,
    /// Memory of the processes alive [page]; shared pages count once for each process.
    pub resident_pages: u64,
}

/// Facts about the interval and the machine that a step needs and a scan does not hold.
pub struct Surroundings<'a> {
    /// Beginning of the interval after boot [tick]; `None` at the first scan.
    pub since_ticks: Option<u64>,
    /// Length of the interval [ns].
    pub length_ns: u64,
    /// Most CPU time that the machine can have given in the interval [ns].
    pub capacity_ns: u64,
    /// Process number of the recorder itself, whose running makes no user active.
    pub own_pid: Option<i32>,
    /// Processes that ended in the interval, as the kernel told.
    pub departures: &'a Departures,
    /// True for a process that has ended and was waited for; asked only where the answer matters.
    pub is_gone: &'a mut dyn FnMut(i32) -> bool,
}

/// A process alive, as of its last reading.
#[derive(Debug)]
pub(super) struct Entry {
    pub pid: i32,
    pub key: Key,
    pub facts: Facts,
    /// Time of that reading since the first scan [ns].
    read_ns: u64,
    /// Everything it used, once it has ended and the kernel has told.
    pub ended: Option<Usage>,
    /// It had ended when a scan saw it first: its children were told, and are debts of its parent.
    pub is_late: bool,
    /// User and command at its end, and CPU time that is probably not in the message of it [ns].
    pub missing: Option<(Owner, u64)>,
    /// Its own CPU time, and that of its children, was counted in whole ticks before.
    is_in_ticks: [bool; 2],
}

impl Entry {
    /// True if it has ended and nobody has waited for it yet.
    pub fn is_dead(&self) -> bool {
        self.ended.is_some() || self.facts.stat.state == b'Z'
    }

    /// Notes that its own CPU time, and that of its children, was counted in whole ticks; how many of both are new.
    pub fn mark_ticks(&mut self, is_whole: [bool; 2]) -> u64 {
        let before = self.is_in_ticks;
        self.is_in_ticks = [before[0] || is_whole[0], before[1] || is_whole[1]];
        self.is_in_ticks.iter().zip(before).map(|(now, before)| u64::from(*now && !before)).sum()
    }
}

/// A process whose totals for waited-for children grew, by `usage`.
pub(super) struct Waited {
    pub pid: i32,
    pub key: Key,
    pub command: Arc<str>,
    /// It leaves the CPU to others: its children do, as priorities are inherited.
    pub is_low_priority: bool,
    pub usage: Usage,
}

impl Waited {
    /// It waits for orphans of anybody: one of them says nothing of whose the others are.
    pub fn takes_orphans(&self) -> bool {
        self.pid == 1
    }
}

/// Processes alive, and the usage of their users.
#[derive(Debug)]
pub struct Census {
    pub(super) by: By,
    /// Length of a clock tick [ns].
    pub(super) tick_ns: u64,
    /// In ascending order of the process number, so that scans and lookups need no index.
    pub(super) table: Vec<Entry>,
    /// By the process that waits, or will wait, for the children.
    pub(super) debts: BTreeMap<i32, Debt>,
    /// Debts that may be those of a process farther above.
    pub(super) left: Vec<Left>,
    pub(super) accounts: BTreeMap<Key, Account>,
    /// Parents of processes that ended lately, and for how many samples each has been here.
    pub(super) gone: BTreeMap<i32, (i32, usize)>,
    /// Parents of processes that the last step found ended after its scan.
    pub(super) ended_after_scan: BTreeMap<i32, i32>,
    /// Processes that ended at the end of the last interval and that its scan did not find.
    pub(super) unseen: BTreeMap<i32, Unseen>,
    /// User and system time by the tick of processes that ended, by user [ns].
    pub(super) states: BTreeMap<Key, (u64, u64)>,
    /// Processes with a controlling terminal, by session.
    terminals: BTreeMap<i32, u64>,
    /// Exact time of kernel threads in the last interval [ns].
    pub kernel_ns: u64,
    /// Exact time in the last interval of processes that leave the CPU to others [ns].
    pub low_priority_ns: u64,
    /// The last scan was the first one.
    is_begun: bool,
    /// The interval that the last scan ended was the first one.
    pub(super) is_first_interval: bool,
    /// Differences dropped because they exceed the capacity of the machine.
    pub implausible: u64,
    /// Time since the first scan [ns].
    passed_ns: u64,
    /// Waits for a CPU that the kernel told and that cannot have been [ns].
    pub cpu_waits_cut_ns: u64,
    /// Totals that were counted in whole ticks: of processes with threads, and of those that waited for children. What
    /// users had is off by the rounding of each at the beginning and at the end, not by that of every interval.
    pub totals_in_ticks: u64,
    /// Processes whose parent ended: their new parent has to be read at the next scan.
    pub orphans: Vec<i32>,
}

impl Census {
    /// An empty census; `tick_ns` is the length of a clock tick of the kernel's user interface [ns].
    pub fn new(by: By, tick_ns: u64) -> Census {
        Census {
            by,
            tick_ns,
            table: Vec::new(),
            debts: BTreeMap::new(),
            left: Vec::new(),
            accounts: BTreeMap::new(),
            gone: BTreeMap::new(),
            ended_after_scan: BTreeMap::new(),
            unseen: BTreeMap::new(),
            states: BTreeMap::new(),
            terminals: BTreeMap::new(),
            kernel_ns: 0,
            low_priority_ns: 0,
            is_begun: false,
            is_first_interval: false,
            implausible: 0,
            passed_ns: 0,
            cpu_waits_cut_ns: 0,
            totals_in_ticks: 0,
            orphans: Vec::new(),
        }
    }

    /// Users with at least one process now, or one that ended in the last interval.
    pub fn accounts(&self) -> &BTreeMap<Key, Account> {
        &self.accounts
    }

    /// Processes alive.
    pub fn processes(&self) -> u64 {
        self.table.len() as u64
    }

    /// Processes alive, ascending, with their users and their last reading.
    pub fn living(&self) -> impl Iterator<Item = (i32, &Key, &Facts)> {
        self.table.iter().map(|entry| (entry.pid, &entry.key, &entry.facts))
    }

    /// The user of a process alive.
    pub fn key(&self, pid: i32) -> Option<&Key> {
        let index = self.table.binary_search_by_key(&pid, |entry| entry.pid).ok()?;
        Some(&self.table[index].key)
    }

    /// The last reading of a process alive.
    pub fn facts(&self, pid: i32) -> Option<&Facts> {
        let index = self.table.binary_search_by_key(&pid, |entry| entry.pid).ok()?;
        Some(&self.table[index].facts)
    }

    /// The leader of a session, or the first of its processes where that has ended.
    pub fn first_of_session(&self, session: i32) -> Option<&Facts> {
        let is_member = |facts: &&Facts| facts.stat.session == session;
        let of_all = || self.table.iter().map(|entry| &entry.facts).find(is_member);
        self.facts(session).filter(is_member).or_else(of_all)
    }

    /// Sessions that own a terminal.
    pub fn terminal_sessions(&self) -> u64 {
        self.terminals.len() as u64
    }

    /// Users active in the last interval (Bard 1971, Table 2).
    ///
    /// By session, only those at a terminal are users: every daemon has a session of its own.
    pub fn active_users(&self) -> u64 {
        let counts = |key: &Key| match key {
            Key::Session(session) => self.terminals.contains_key(session),
            Key::Uid(_) | Key::Cgroup(_) => true,
        };
        self.accounts.iter().filter(|(key, account)| account.is_active && counts(key)).count() as u64
    }

    /// Processes a scan: afterwards the accounts hold the interval since the scan before.
    pub fn step(&mut self, scan: &Scan, mut around: Surroundings<'_>) {
        // One interval late: a user whose last process ended still gets a row for its usage until its end.
        self.accounts.retain(|_, account| account.processes > 0);
        for account in self.accounts.values_mut() {
            (account.usage, account.inherited_ns, account.is_active) = (Usage::default(), 0, false);
            account.commands.begin();
        }
        (self.kernel_ns, self.low_priority_ns) = (0, 0);
        self.passed_ns = self.passed_ns.saturating_add(around.length_ns);
        self.is_first_interval = std::mem::replace(&mut self.is_begun, around.since_ticks.is_none());
        self.orphans.clear();
        let mut waited = Vec::new();
        let mut ended = self.merge(scan, &around, &mut waited);
        let mut unseen = self.depart(&mut ended, &around);
        // Debts before totals: usage of an ended child is subtracted from the same interval's growth of its
        // parent.
        self.owe(&ended, &mut unseen);
        self.unseen = unseen.into_iter().filter(|one| one.pid != 0).map(|one| (one.pid, one)).collect();
        self.settle(waited, &mut around);
        self.age_debts();
    }

    /// Processes that ended. Merges the table with the scan, both in ascending order.
    fn merge(&mut self, scan: &Scan, around: &Surroundings<'_>, waited: &mut Vec<Waited>) -> Vec<Entry> {
        let mut ended = Vec::new();
        let mut old = std::mem::take(&mut self.table);
        // Nearly always: the table is then updated in place.
        if is_same(&old, scan) {
            for (entry, (_, place)) in old.iter_mut().zip(&scan.processes) {
                if let Some(facts) = facts_at(scan, *place) {
                    self.change(entry, facts, around, waited);
                }
            }
            self.table = old;
            return ended;
        }
        let mut table = Vec::with_capacity(scan.processes.len());
        let mut previous = old.into_iter().peekable();
        for (pid, place) in &scan.processes {
            while let Some(entry) = previous.next_if(|entry| entry.pid < *pid) {
                ended.push(entry);
            }
            let before = previous.next_if(|entry| entry.pid == *pid);
            let facts = facts_at(scan, *place);
            match (before, facts) {
                (Some(entry), None) => table.push(entry),
                // The same number with another start time is another process.
                (Some(mut entry), Some(facts)) if entry.facts.stat.start_ticks == facts.stat.start_ticks => {
                    self.change(&mut entry, facts, around, waited);
                    table.push(entry);
                }
                (before, Some(facts)) => {
                    ended.extend(before);
                    table.push(self.appear(*pid, facts, around, waited));
                }
                // The source reports "unchanged" for a process that the census never had: read it next time.
                (None, None) => self.orphans.push(*pid),
            }
        }
        ended.extend(previous);
        self.table = table;
        for entry in &ended {
            self.leave(&entry.key, &entry.facts);
        }
        ended
    }

    /// Counts usage for a user and a command.
    pub(super) fn charge(&mut self, key: &Key, command: &Arc<str>, usage: Usage) -> &mut Account {
        let account = self.accounts.entry(key.clone()).or_default();
        if !usage.is_zero() {
            account.usage += usage;
            account.commands.used(command).usage += usage;
        }
        account
    }

    /// The user of a process. A process whose group could not be read counts for the root group.
    fn key_of(&self, facts: &Facts) -> Key {
        match self.by {
            By::Uid | By::None => Key::Uid(facts.uid),
            By::Session => Key::Session(facts.stat.session),
            By::Cgroup => Key::Cgroup(facts.cgroup.clone().unwrap_or_else(|| Arc::from("/"))),
        }
    }

    /// The entry of a process that is new in the table.
    fn appear(
        &mut self,
        pid: i32,
        facts: &Facts,
        around: &Surroundings<'_>,
        waited: &mut Vec<Waited>,
    ) -> Entry {
        let mut entry = Entry {
            pid,
            key: self.key_of(facts),
            facts: facts.clone(),
            read_ns: self.passed_ns,
            ended: None,
            is_late: false,
            missing: None,
            is_in_ticks: [false; 2],
        };
        self.enter(&entry.key, facts);
        // An older one was hidden until now, or started before the recorder: its lifetime is not this interval.
        if around.since_ticks.is_some_and(|since| facts.stat.start_ticks >= since) {
            let mut usage = lifetime(facts, self.tick_ns);
            usage.wait_ns = usage.wait_ns.saturating_sub(facts.wait_cut_ns);
            self.cpu_waits_cut_ns = self.cpu_waits_cut_ns.saturating_add(facts.wait_cut_ns);
            if facts.stat.state == b'Z' && around.departures.is_complete {
                // The message of its end came before, and was or will be counted.
                usage = self.recognise(&mut entry);
            } else if let Some(account) = self.accounts.get_mut(&entry.key) {
                account.commands.used(&facts.command).started += 1;
            }
            let child_usage = self.of_children(&entry);
            self.book(&mut entry, usage, child_usage, around, waited);
        }
        entry
    }

    /// Replaces the reading of a process that may have run, and counts the difference.
    fn change(
        &mut self,
        entry: &mut Entry,
        facts: &Facts,
        around: &Surroundings<'_>,
        waited: &mut Vec<Waited>,
    ) {
        let key = self.key_of(facts);
        self.leave(&entry.key, &entry.facts);
        // Leaves and enters even under the same key: memory, terminal and access to I/O may have changed.
        self.enter(&key, facts);
        let grown = growth(&entry.facts, facts, self.tick_ns);
        let before = self.of_children(entry);
        let cut_ns = facts.wait_cut_ns.saturating_sub(entry.facts.wait_cut_ns);
        self.cpu_waits_cut_ns = self.cpu_waits_cut_ns.saturating_add(cut_ns);
        entry.facts = facts.clone();
        let usage = if entry.ended.is_some() { self.after_message(entry) } else { grown };
        let mut child_usage = self.of_children(entry);
        child_usage -= before;
        entry.key = key;
        self.book(entry, usage, child_usage, around, waited);
    }

    /// Everything that the kernel has added to a process for its children, as far as it is settled here.
    pub(super) fn of_children(&self, entry: &Entry) -> Usage {
        if entry.is_late { Usage::default() } else { of_children(&entry.facts, self.tick_ns) }
    }

    /// Counts `usage` of a process itself, and adds `child_usage` to `waited`, to be settled later.
    fn book(
        &mut self,
        entry: &mut Entry,
        mut usage: Usage,
        mut child_usage: Usage,
        around: &Surroundings<'_>,
        waited: &mut Vec<Waited>,
    ) {
        // The scheduler's nanoseconds are whole ticks in one case of ten million.
        let is_whole = |ns: u64| ns > 0 && ns % self.tick_ns == 0;
        self.totals_in_ticks += entry.mark_ticks([is_whole(usage.exact_ns), is_whole(child_usage.exact_ns)]);
        // No process lives without a page fault, so that one marks a child waited for. The kernel adds a
        // child's I/O to the parent's own: both are held back until the children's debts are subtracted.
        if child_usage.faults_minor > 0 || child_usage.exact_ns > 0 {
            (child_usage.read_bytes, usage.read_bytes) = (usage.read_bytes, 0);
            (child_usage.write_bytes, usage.write_bytes) = (usage.write_bytes, 0);
            let (key, command) = (entry.key.clone(), Arc::clone(&entry.facts.command));
            let is_low_priority = entry.facts.stat.is_low_priority;
            waited.push(Waited { pid: entry.pid, key, command, is_low_priority, usage: child_usage });
        }
        // The first thread's own: it waited for no longer than it lived.
        let began_ticks = entry.facts.stat.start_ticks.saturating_sub(around.since_ticks.unwrap_or(0));
        let lived_ns = around.length_ns.saturating_sub(began_ticks.saturating_mul(self.tick_ns));
        let waited_ns = possible_wait_ns(usage.io_wait_ns, lived_ns.max(self.tick_ns));
        self.implausible += u64::from(usage.io_wait_ns > around.length_ns.saturating_add(self.tick_ns));
        usage.io_wait_ns = waited_ns;
        // Kernels tell now and then that a task which slept for minutes had waited for a CPU. How many threads waited
        // beside each other is known of those that had one.
        if entry.facts.had_one_thread {
            // Who waits does not run, and is not read meanwhile: the wait may be longer than the interval.
            let unread_ns = self.passed_ns.saturating_sub(entry.read_ns);
            let possible_ns =
                possible_wait_ns(usage.wait_ns, unread_ns.max(lived_ns).saturating_add(self.tick_ns));
            self.cpu_waits_cut_ns = self.cpu_waits_cut_ns.saturating_add(usage.wait_ns - possible_ns);
            usage.wait_ns = possible_ns;
        }
        entry.read_ns = self.passed_ns;
        let is_kernel_thread = entry.facts.stat.is_kernel_thread;
        if is_kernel_thread {
            self.kernel_ns += usage.exact_ns;
        }
        if entry.facts.stat.is_low_priority {
            self.low_priority_ns = self.low_priority_ns.saturating_add(usage.exact_ns);
        }
        let account = self.charge(&entry.key, &entry.facts.command, usage);
        // A process that runs returns from the kernel into user state, except for a kernel thread, which
        // has none. The tick would sample a short stay there only now and then.
        account.is_active |= usage.exact_ns > 0 && !is_kernel_thread && around.own_pid != Some(entry.pid);
    }

    /// Adds a process to the gauges of its user.
    fn enter(&mut self, key: &Key, facts: &Facts) {
        let account = self.accounts.entry(key.clone()).or_default();
        account.processes += 1;
        account.resident_pages += facts.stat.resident_pages;
        account.commands.enter(&facts.command, facts.stat.resident_pages);
        account.sees_io |= facts.io.is_some();
        if facts.stat.terminal != 0 {
            *self.terminals.entry(facts.stat.session).or_default() += 1;
        }
    }

    /// Takes a process out of the gauges of its user.
    pub(super) fn leave(&mut self, key: &Key, facts: &Facts) {
        if let Some(account) = self.accounts.get_mut(key) {
            account.processes = account.processes.saturating_sub(1);
            account.resident_pages = account.resident_pages.saturating_sub(facts.stat.resident_pages);
            account.commands.leave(&facts.command, facts.stat.resident_pages);
        }
        if facts.stat.terminal != 0 {
            if let Some(count) = self.terminals.get_mut(&facts.stat.session) {
                *count -= 1;
                if *count == 0 {
                    self.terminals.remove(&facts.stat.session);
                }
            }
        }
    }
}

/// The reading at `place`; `None` for a process that was not read because it did not run.
fn facts_at(scan: &Scan, place: Option<u32>) -> Option<&Facts> {
    scan.facts.get(place? as usize)
}

/// True if the scan holds exactly the processes of the table: nothing has to move then.
fn is_same(table: &[Entry], scan: &Scan) -> bool {
    table.len() == scan.processes.len()
        && table.iter().zip(&scan.processes).all(|(entry, (pid, place))| {
            let start = facts_at(scan, *place).map(|facts| facts.stat.start_ticks);
            entry.pid == *pid && start.is_none_or(|start| start == entry.facts.stat.start_ticks)
        })
}
