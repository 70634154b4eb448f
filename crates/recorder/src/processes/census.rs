//! From readings of processes to usage by user: pure bookkeeping, no file and no system call.
//!
//! A process is identified by its number and start time. Usage between the last reading of a process and
//! its end, and all usage of a process that started and ended between two samples, appears only in the
//! kernel's totals for waited-for children, which belong to the parent (`cutime` and its like in
//! proc_pid_stat(5)). Growth of these totals is therefore counted too, less what was counted for the
//! children themselves already (their *debt*).
//!
//! # Limitations
//! After its last reading, usage of a child that nobody waits for is lost (its parent ignores SIGCHLD). So is
//! the scheduling delay of every such remainder: the kernel keeps no total of it over children.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::usage::{Usage, growth, lifetime, of_children};
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
}

/// Usage and state of one user.
#[derive(Clone, Debug, Default)]
pub struct Account {
    /// Usage in the last interval.
    pub usage: Usage,
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
    /// Most CPU time that the machine can have given in the interval [ns].
    pub capacity_ns: u64,
    /// Process number of the recorder itself, whose running makes no user active.
    pub own_pid: Option<i32>,
    /// True for a process that has ended and was waited for; asked only where the answer matters.
    pub is_gone: &'a mut dyn FnMut(i32) -> bool,
}

/// A process alive, as of its last reading.
#[derive(Debug)]
struct Entry {
    pid: i32,
    key: Key,
    facts: Facts,
}

/// Usage already counted for ended children of a process, which is in the process's totals now or soon.
#[derive(Debug, Default)]
struct Debt {
    usage: Usage,
    /// The user of the children, when all had the same.
    key: Option<Key>,
    is_mixed: bool,
    /// Samples since something was added.
    age: u32,
}

impl Debt {
    fn add(&mut self, usage: Usage, key: &Key) {
        self.is_mixed |= self.key.as_ref().is_some_and(|previous| previous != key);
        self.key = Some(key.clone());
        self.usage += usage;
        self.age = 0;
    }
}

/// A process whose totals for waited-for children grew, by `usage`.
struct Waited {
    pid: i32,
    key: Key,
    usage: Usage,
}

/// Processes alive, and the usage of their users.
#[derive(Debug)]
pub struct Census {
    by: By,
    /// Length of a clock tick [ns].
    tick_ns: u64,
    /// In ascending order of the process number, so that scans and lookups need no index.
    table: Vec<Entry>,
    /// By the process that waits, or will wait, for the children.
    debts: BTreeMap<i32, Debt>,
    accounts: BTreeMap<Key, Account>,
    /// Parents of processes that the last step found ended after its scan.
    ended_after_scan: BTreeMap<i32, i32>,
    /// Processes with a controlling terminal, by session.
    terminals: BTreeMap<i32, u64>,
    /// Exact time of kernel threads in the last interval [ns].
    pub kernel_ns: u64,
    /// Differences dropped because they exceed the capacity of the machine.
    pub implausible: u64,
    /// Processes whose parent ended: their new parent has to be read at the next scan.
    pub orphans: Vec<i32>,
}

/// Age [samples] after which a debt is given up: a parent that waits does so within an interval or two.
const DEBT_AGE_MAX: u32 = 2;

impl Census {
    /// An empty census; `tick_ns` is the length of a clock tick of the kernel's user interface [ns].
    pub fn new(by: By, tick_ns: u64) -> Census {
        Census {
            by,
            tick_ns,
            table: Vec::new(),
            debts: BTreeMap::new(),
            accounts: BTreeMap::new(),
            ended_after_scan: BTreeMap::new(),
            terminals: BTreeMap::new(),
            kernel_ns: 0,
            implausible: 0,
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
            (account.usage, account.is_active) = (Usage::default(), false);
        }
        self.kernel_ns = 0;
        self.orphans.clear();
        let mut waited = Vec::new();
        let ended = self.merge(scan, &around, &mut waited);
        // Debts before totals: usage of an ended child is subtracted from the same interval's growth of its
        // parent.
        self.owe(&ended);
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
        let entry = Entry { pid, key: self.key_of(facts), facts: facts.clone() };
        self.enter(&entry.key, facts);
        // An older one was hidden until now, or started before the recorder: its lifetime is not this interval.
        if around.since_ticks.is_some_and(|since| facts.stat.start_ticks >= since) {
            let usage = lifetime(facts, self.tick_ns);
            self.book(&entry, usage, of_children(facts, self.tick_ns), around, waited);
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
        let usage = growth(&entry.facts, facts, self.tick_ns);
        let mut child_usage = of_children(facts, self.tick_ns);
        child_usage -= of_children(&entry.facts, self.tick_ns);
        entry.facts = facts.clone();
        entry.key = key;
        self.book(entry, usage, child_usage, around, waited);
    }

    /// Counts `usage` of a process itself, and adds `child_usage` to `waited`, to be settled later.
    fn book(
        &mut self,
        entry: &Entry,
        mut usage: Usage,
        mut child_usage: Usage,
        around: &Surroundings<'_>,
        waited: &mut Vec<Waited>,
    ) {
        // No process lives without a page fault, so that one marks a child waited for. The kernel adds a
        // child's I/O to the parent's own: both are held back until the children's debts are subtracted.
        if child_usage.faults_minor > 0 || child_usage.exact_ns > 0 {
            (child_usage.read_bytes, usage.read_bytes) = (usage.read_bytes, 0);
            (child_usage.write_bytes, usage.write_bytes) = (usage.write_bytes, 0);
            waited.push(Waited { pid: entry.pid, key: entry.key.clone(), usage: child_usage });
        }
        let is_kernel_thread = entry.facts.stat.is_kernel_thread;
        if is_kernel_thread {
            self.kernel_ns += usage.exact_ns;
        }
        let account = self.accounts.entry(entry.key.clone()).or_default();
        account.usage += usage;
        // A process that runs returns from the kernel into user state, except for a kernel thread, which
        // has none. The tick would sample a short stay there only now and then.
        account.is_active |= usage.exact_ns > 0 && !is_kernel_thread && around.own_pid != Some(entry.pid);
    }

    /// Adds a process to the gauges of its user.
    fn enter(&mut self, key: &Key, facts: &Facts) {
        let account = self.accounts.entry(key.clone()).or_default();
        account.processes += 1;
        account.resident_pages += facts.stat.resident_pages;
        account.sees_io |= facts.io.is_some();
        if facts.stat.terminal != 0 {
            *self.terminals.entry(facts.stat.session).or_default() += 1;
        }
    }

    /// Takes a process out of the gauges of its user.
    fn leave(&mut self, key: &Key, facts: &Facts) {
        if let Some(account) = self.accounts.get_mut(key) {
            account.processes = account.processes.saturating_sub(1);
            account.resident_pages = account.resident_pages.saturating_sub(facts.stat.resident_pages);
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

    /// Enters usage already counted for ended processes as debts of the processes that waited for them.
    fn owe(&mut self, ended: &[Entry]) {
        let mut parents = std::mem::take(&mut self.ended_after_scan);
        if ended.is_empty() {
            return;
        }
        parents.extend(ended.iter().map(|entry| (entry.pid, entry.facts.stat.parent)));
        for entry in ended {
            let mut counted = self.counted(entry);
            // Its parent's totals will contain those of its own children, debts included.
            if let Some(debt) = self.debts.remove(&entry.pid) {
                counted += debt.usage;
            }
            let parent = entry.facts.stat.parent;
            let mut waiter = parent;
            // A parent that ended too either had waited for it, and its own parent inherited the totals, or
            // left it to process 1: which of the two is not known. Both get the debt, so that nothing is
            // counted twice; other usage of either's children may then be missed, once. The loop is bounded
            // because process numbers are used again and could form a ring.
            for _ in 0..parents.len() {
                match parents.get(&waiter) {
                    Some(above) => waiter = *above,
                    None => break,
                }
            }
            self.debts.entry(waiter).or_default().add(counted, &entry.key);
            if waiter != parent && waiter != 1 {
                self.debts.entry(1).or_default().add(counted, &entry.key);
            }
        }
        let orphaned = |entry: &&Entry| parents.contains_key(&entry.facts.stat.parent);
        // Their last reading names the old parent, and a process that does not run is rarely read again.
        self.orphans.extend(self.table.iter().filter(orphaned).map(|entry| entry.pid));
    }

    /// Counts the growth of totals for waited-for children, less the debts.
    fn settle(&mut self, waited: Vec<Waited>, around: &mut Surroundings<'_>) {
        let mut suspects = self.children_of(&waited);
        for waiter in waited {
            let mut rest = waiter.usage;
            let mut key = None;
            if let Some(debt) = self.debts.get_mut(&waiter.pid) {
                rest -= debt.usage;
                debt.usage -= waiter.usage;
                key = if debt.is_mixed { None } else { debt.key.clone() };
            }
            if rest.is_zero() {
                continue;
            }
            if let Some(pids) = suspects.remove(&waiter.pid) {
                key = self.ended_meanwhile(waiter.pid, pids, &mut rest, around).or(key);
            }
            // A counter that jumped, such as in a restored container: no number is better than an impossible
            // one.
            if rest.exact_ns > around.capacity_ns {
                self.implausible += 1;
                continue;
            }
            let account = self.accounts.entry(key.unwrap_or(waiter.key)).or_default();
            account.usage += rest;
        }
    }

    /// Children in the table of each process in `waited`.
    fn children_of(&self, waited: &[Waited]) -> BTreeMap<i32, Vec<i32>> {
        let mut children: BTreeMap<i32, Vec<i32>> = BTreeMap::new();
        if waited.is_empty() {
            return children;
        }
        for entry in &self.table {
            let parent = entry.facts.stat.parent;
            // `waited` is in the order of the scan, which is ascending.
            if waited.binary_search_by_key(&parent, |waiter| waiter.pid).is_ok() {
                children.entry(parent).or_default().push(entry.pid);
            }
        }
        children
    }

    /// User of the children that ended after the scan had read them and before it read their parent.
    ///
    /// The parent's totals contain them in full, with children of theirs that ended before them, so that
    /// they would be counted twice: their usage is subtracted from `rest`.
    fn ended_meanwhile(
        &mut self,
        parent: i32,
        mut suspects: Vec<i32>,
        rest: &mut Usage,
        around: &mut Surroundings<'_>,
    ) -> Option<Key> {
        let mut key = None;
        while let Some(pid) = suspects.pop() {
            let Ok(index) = self.table.binary_search_by_key(&pid, |entry| entry.pid) else { continue };
            let mut counted = self.counted(&self.table[index]);
            // Cheap test first: a system call for each child only where the totals could contain it. Four
            // ticks of slack, because user and system time of parent and child are each cut to ticks.
            let may_be_contained = counted.faults_minor <= rest.faults_minor
                && counted.exact_ns <= rest.exact_ns.saturating_add(4 * self.tick_ns);
            if may_be_contained && (around.is_gone)(pid) {
                let entry = self.table.remove(index);
                self.leave(&entry.key, &entry.facts);
                self.ended_after_scan.insert(pid, entry.facts.stat.parent);
                if let Some(debt) = self.debts.remove(&pid) {
                    counted += debt.usage;
                }
                // It may also have ended after the totals were read: the remainder appears next time.
                let mut still_owed = counted;
                still_owed -= *rest;
                *rest -= counted;
                if !still_owed.is_zero() {
                    self.debts.entry(parent).or_default().add(still_owed, &entry.key);
                }
                key = Some(entry.key);
                let is_child = |entry: &&Entry| entry.facts.stat.parent == pid;
                suspects.extend(self.table.iter().filter(is_child).map(|entry| entry.pid));
                // A child that did not end with it has another parent now.
                self.orphans.extend(self.table.iter().filter(is_child).map(|entry| entry.pid));
            }
        }
        key
    }

    /// Usage counted for a process so far, as it will appear in the totals of the parent that waits for it.
    fn counted(&self, entry: &Entry) -> Usage {
        let mut counted = lifetime(&entry.facts, self.tick_ns);
        counted += of_children(&entry.facts, self.tick_ns);
        // The kernel keeps no total of scheduling delay over children.
        counted.wait_ns = 0;
        counted
    }

    /// Gives up debts that are old: the totals will never contain them, because nobody waited for the child.
    ///
    /// Up to two ticks stay, because the totals are cut to whole ticks.
    fn age_debts(&mut self) {
        let (tick_ns, table) = (self.tick_ns, &self.table);
        self.debts.retain(|pid, debt| {
            debt.age += 1;
            if debt.age > DEBT_AGE_MAX {
                debt.usage = Usage { exact_ns: debt.usage.exact_ns.min(2 * tick_ns), ..Usage::default() };
                debt.key = None;
                debt.is_mixed = false;
            }
            !debt.usage.is_zero() && table.binary_search_by_key(pid, |entry| entry.pid).is_ok()
        });
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
