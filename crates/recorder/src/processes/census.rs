//! From readings of processes to figures by user: pure bookkeeping, no file and no system call.
//!
//! A process is known by its number and start time. What a process used after it was read last and
//! before it ended, and everything that one used which came and went between two samples, is in the
//! kernel's books of the parent that waited for it. A parent's growth is therefore counted too,
//! less what was counted for the children themselves already (their *debt*).

use std::collections::BTreeMap;
use std::ops::{AddAssign, SubAssign};
use std::sync::Arc;

use super::{By, Facts, Scan};

/// An amount of everything that a process uses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Time in user state [tick].
    pub user_ticks: u64,
    /// Time in the kernel [tick].
    pub system_ticks: u64,
    /// CPU time as the scheduler books it, or whole ticks where that is not known [ns].
    pub exact_ns: u64,
    /// Time in which it could run and did not [ns].
    pub wait_ns: u64,
    /// Page faults without disk.
    pub faults_minor: u64,
    /// Page faults that read from a disk.
    pub faults_major: u64,
    /// Bytes read from storage.
    pub read_bytes: u64,
    /// Bytes written to storage.
    pub write_bytes: u64,
}

impl Usage {
    fn zip(self, other: Usage, with: impl Fn(u64, u64) -> u64) -> Usage {
        Usage {
            user_ticks: with(self.user_ticks, other.user_ticks),
            system_ticks: with(self.system_ticks, other.system_ticks),
            exact_ns: with(self.exact_ns, other.exact_ns),
            wait_ns: with(self.wait_ns, other.wait_ns),
            faults_minor: with(self.faults_minor, other.faults_minor),
            faults_major: with(self.faults_major, other.faults_major),
            read_bytes: with(self.read_bytes, other.read_bytes),
            write_bytes: with(self.write_bytes, other.write_bytes),
        }
    }

    /// Whether nothing was used.
    pub fn is_zero(&self) -> bool {
        *self == Usage::default()
    }
}

impl AddAssign for Usage {
    fn add_assign(&mut self, other: Usage) {
        *self = self.zip(other, u64::saturating_add);
    }
}

/// Below zero is zero.
impl SubAssign for Usage {
    fn sub_assign(&mut self, other: Usage) {
        *self = self.zip(other, u64::saturating_sub);
    }
}

/// Who a process belongs to.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Key {
    Uid(u32),
    Session(i32),
    Cgroup(Arc<str>),
}

impl Key {
    /// The key as the column `user` of the log has it.
    pub fn text(&self) -> String {
        match self {
            Key::Uid(uid) => format!("uid:{uid}"),
            Key::Session(session) => format!("session:{session}"),
            Key::Cgroup(path) => path.to_string(),
        }
    }
}

/// What is known of one user.
#[derive(Clone, Debug, Default)]
pub struct Account {
    /// In the last interval.
    pub usage: Usage,
    /// Used CPU time in user state in the last interval.
    pub is_active: bool,
    /// Whether the I/O of any process of this user may be seen.
    pub sees_io: bool,
    /// Processes alive.
    pub processes: u64,
    /// Memory of the processes alive [page]; shared pages count once for each process.
    pub resident_pages: u64,
}

/// Time and identity that a step needs from outside.
pub struct Surroundings<'a> {
    /// Clock ticks after boot at which the interval began; `None` at the first scan.
    pub since_ticks: Option<u64>,
    /// The most CPU time that the machine can have given in the interval.
    pub capacity_ns: u64,
    /// The recorder itself, which makes no user active.
    pub own_pid: Option<i32>,
    /// Whether a process has ended and was waited for.
    pub is_gone: &'a mut dyn FnMut(i32) -> bool,
}

#[derive(Debug)]
struct Entry {
    pid: i32,
    key: Key,
    facts: Facts,
}

/// What ended children of a process had been counted with, and is in its books now or soon.
#[derive(Debug, Default)]
struct Debt {
    usage: Usage,
    /// The user of the children, when all had the same.
    key: Option<Key>,
    is_mixed: bool,
    age: u32,
}

impl Debt {
    fn add(&mut self, usage: Usage, key: &Key) {
        self.is_mixed |= self.key.as_ref().is_some_and(|known| known != key);
        self.key = Some(key.clone());
        self.usage += usage;
        self.age = 0;
    }
}

/// A process whose books of ended children grew.
struct Waited {
    pid: i32,
    key: Key,
    usage: Usage,
}

/// Processes alive and what their users did.
#[derive(Debug)]
pub struct Census {
    by: By,
    tick_ns: u64,
    table: Vec<Entry>,
    debts: BTreeMap<i32, Debt>,
    accounts: BTreeMap<Key, Account>,
    /// Parents of processes that the last step found ended after its scan.
    ended_after_scan: BTreeMap<i32, i32>,
    /// Processes with a controlling terminal, by session.
    terminals: BTreeMap<i32, u64>,
    /// Exact time of kernel threads in the last interval.
    pub kernel_ns: u64,
    /// Growth that no machine could have given, dropped.
    pub implausible: u64,
    /// Processes whose parent ended: who their parent is now has to be read.
    pub orphans: Vec<i32>,
}

/// Ages, in samples, after which a debt is no longer waited for.
const DEBT_AGE_MAX: u32 = 2;

impl Census {
    /// `tick_ns` is the length of a clock tick of the kernel's user interface.
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

    /// Takes in a scan: afterwards the accounts hold the interval since the one before.
    pub fn step(&mut self, scan: &Scan, mut around: Surroundings<'_>) {
        // One interval late: who had a process at the last scan gets a row for what that process did until it
        // ended.
        self.accounts.retain(|_, account| account.processes > 0);
        for account in self.accounts.values_mut() {
            (account.usage, account.is_active) = (Usage::default(), false);
        }
        self.kernel_ns = 0;
        self.orphans.clear();
        let mut waited = Vec::new();
        let ended = self.merge(scan, &around, &mut waited);
        // Debts before books: what ended is subtracted from the same interval's growth of its parent.
        self.owe(&ended);
        self.settle(waited, &mut around);
        self.age_debts();
    }

    /// Walks the known processes beside the scanned ones, both ascending; returns those that ended.
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
        let mut known = old.into_iter().peekable();
        for (pid, place) in &scan.processes {
            while let Some(entry) = known.next_if(|entry| entry.pid < *pid) {
                ended.push(entry);
            }
            let before = known.next_if(|entry| entry.pid == *pid);
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
                // A source that says "unchanged" of a process never seen: the next scan reads it.
                (None, None) => self.orphans.push(*pid),
            }
        }
        ended.extend(known);
        self.table = table;
        for entry in &ended {
            self.leave(&entry.key, &entry.facts);
        }
        ended
    }

    fn key_of(&self, facts: &Facts) -> Key {
        match self.by {
            By::Uid | By::None => Key::Uid(facts.uid),
            By::Session => Key::Session(facts.stat.session),
            By::Cgroup => Key::Cgroup(facts.cgroup.clone().unwrap_or_else(|| Arc::from("/"))),
        }
    }

    fn appear(
        &mut self,
        pid: i32,
        facts: &Facts,
        around: &Surroundings<'_>,
        waited: &mut Vec<Waited>,
    ) -> Entry {
        let entry = Entry { pid, key: self.key_of(facts), facts: facts.clone() };
        self.enter(&entry.key, facts);
        // One that is older was hidden before, or there before the recorder: no figure for this interval.
        if around.since_ticks.is_some_and(|since| facts.stat.start_ticks >= since) {
            let own = lifetime(facts, self.tick_ns);
            self.book(&entry, own, children(facts, self.tick_ns), around, waited);
        }
        entry
    }

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
        let own = growth(&entry.facts, facts, self.tick_ns);
        let mut of_children = children(facts, self.tick_ns);
        // Saturating, as all of `Usage`: books that run backwards are no use below zero.
        of_children -= children(&entry.facts, self.tick_ns);
        entry.facts = facts.clone();
        entry.key = key;
        self.book(entry, own, of_children, around, waited);
    }

    /// Counts what a process used itself, and puts what its children used among `waited`.
    fn book(
        &mut self,
        entry: &Entry,
        mut own: Usage,
        mut of_children: Usage,
        around: &Surroundings<'_>,
        waited: &mut Vec<Waited>,
    ) {
        // Nothing lives without a page fault, so that one is the mark of a child waited for. Its I/O
        // is in the same books as the parent's own: both wait until it is known what was counted.
        if of_children.faults_minor > 0 || of_children.exact_ns > 0 {
            (of_children.read_bytes, own.read_bytes) = (own.read_bytes, 0);
            (of_children.write_bytes, own.write_bytes) = (own.write_bytes, 0);
            waited.push(Waited { pid: entry.pid, key: entry.key.clone(), usage: of_children });
        }
        let is_kernel_thread = entry.facts.stat.is_kernel_thread;
        if is_kernel_thread {
            self.kernel_ns += own.exact_ns;
        }
        let account = self.accounts.entry(entry.key.clone()).or_default();
        account.usage += own;
        // A process in which anything runs comes back from the kernel into user state, but for a
        // kernel thread, which has none. The tick would find out only now and then.
        account.is_active |= own.exact_ns > 0 && !is_kernel_thread && around.own_pid != Some(entry.pid);
    }

    fn enter(&mut self, key: &Key, facts: &Facts) {
        let account = self.accounts.entry(key.clone()).or_default();
        account.processes += 1;
        account.resident_pages += facts.stat.resident_pages;
        account.sees_io |= facts.io.is_some();
        if facts.stat.terminal != 0 {
            *self.terminals.entry(facts.stat.session).or_default() += 1;
        }
    }

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

    /// Books what ended processes had been counted with as debts of those who waited for them.
    fn owe(&mut self, ended: &[Entry]) {
        let mut parents = std::mem::take(&mut self.ended_after_scan);
        if ended.is_empty() {
            return;
        }
        parents.extend(ended.iter().map(|entry| (entry.pid, entry.facts.stat.parent)));
        for entry in ended {
            let mut counted = self.counted(entry);
            // What it had still to find in its own books is handed on with them.
            if let Some(debt) = self.debts.remove(&entry.pid) {
                counted += debt.usage;
            }
            let parent = entry.facts.stat.parent;
            let mut waiter = parent;
            // A parent that ended too handed it on with its own books, or left it to process 1: which of
            // the two is not known. Both owe it, so that it is counted twice by nobody; what else either
            // waited for may then be missed, once.
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
        // What is known of them names the old parent until they are read again, which may be long if they do
        // not run.
        self.orphans.extend(self.table.iter().filter(orphaned).map(|entry| entry.pid));
    }

    /// Counts what grew in the books of those who waited, less the debts.
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
            // A counter that jumped, such as in a restored container: better no figure than an impossible
            // one.
            if rest.exact_ns > around.capacity_ns {
                self.implausible += 1;
                continue;
            }
            let account = self.accounts.entry(key.unwrap_or(waiter.key)).or_default();
            account.usage += rest;
        }
    }

    /// Children, alive when they were read, of those who waited.
    fn children_of(&self, waited: &[Waited]) -> BTreeMap<i32, Vec<i32>> {
        let mut found: BTreeMap<i32, Vec<i32>> = BTreeMap::new();
        if waited.is_empty() {
            return found;
        }
        for entry in &self.table {
            let parent = entry.facts.stat.parent;
            // They come in the order of the scan, which is ascending.
            if waited.binary_search_by_key(&parent, |waiter| waiter.pid).is_ok() {
                found.entry(parent).or_default().push(entry.pid);
            }
        }
        found
    }

    /// Finds children that ended after the scan had read them and before it read their parent.
    ///
    /// They are in the parent's books in full, with children of theirs that ended before them, and
    /// would be counted twice.
    fn ended_meanwhile(
        &mut self,
        parent: i32,
        mut suspects: Vec<i32>,
        rest: &mut Usage,
        around: &mut Surroundings<'_>,
    ) -> Option<Key> {
        let mut key = None;
        while let Some(pid) = suspects.pop() {
            let Ok(at) = self.table.binary_search_by_key(&pid, |entry| entry.pid) else { continue };
            let mut counted = self.counted(&self.table[at]);
            // Cheap first: a system call for each child only where the books could contain it.
            let may_be_in = counted.faults_minor <= rest.faults_minor
                && counted.exact_ns <= rest.exact_ns.saturating_add(4 * self.tick_ns);
            if may_be_in && (around.is_gone)(pid) {
                let entry = self.table.remove(at);
                self.leave(&entry.key, &entry.facts);
                self.ended_after_scan.insert(pid, entry.facts.stat.parent);
                if let Some(debt) = self.debts.remove(&pid) {
                    counted += debt.usage;
                }
                // It may also have ended after the books were read: what is not in them comes next time.
                let mut still_owed = counted;
                still_owed -= *rest;
                *rest -= counted;
                if !still_owed.is_zero() {
                    self.debts.entry(parent).or_default().add(still_owed, &entry.key);
                }
                key = Some(entry.key);
                let of_it = |entry: &&Entry| entry.facts.stat.parent == pid;
                suspects.extend(self.table.iter().filter(of_it).map(|entry| entry.pid));
                // Who did not end with it has another parent now.
                self.orphans.extend(self.table.iter().filter(of_it).map(|entry| entry.pid));
            }
        }
        key
    }

    /// What a process was counted with, as it will stand in the books of who waits for it.
    fn counted(&self, entry: &Entry) -> Usage {
        let mut counted = lifetime(&entry.facts, self.tick_ns);
        counted += children(&entry.facts, self.tick_ns);
        // No books are kept of waiting.
        counted.wait_ns = 0;
        counted
    }

    /// What was not found in the books after two samples never will be: nobody waited for the child.
    ///
    /// Up to two ticks stay owed, because the books are cut to whole ticks.
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

fn facts_at(scan: &Scan, place: Option<u32>) -> Option<&Facts> {
    scan.facts.get(place? as usize)
}

/// Whether the scan holds the very processes that are known: nothing has to move then.
fn is_same(known: &[Entry], scan: &Scan) -> bool {
    known.len() == scan.processes.len()
        && known.iter().zip(&scan.processes).all(|(entry, (pid, place))| {
            let start = facts_at(scan, *place).map(|facts| facts.stat.start_ticks);
            entry.pid == *pid && start.is_none_or(|start| start == entry.facts.stat.start_ticks)
        })
}

fn ticks(facts: &Facts) -> u64 {
    facts.stat.user_ticks + facts.stat.system_ticks
}

/// Exact time: that of the first thread in nanoseconds where there is no other, else whole ticks.
///
/// Ticks that exceed it by more than their rounding (one each for user and system time) tell of
/// threads that came and went.
fn exact_ns(run_ns: Option<u64>, ticks: u64, has_one_thread: bool, tick_ns: u64) -> u64 {
    let by_ticks = ticks.saturating_mul(tick_ns);
    match run_ns {
        Some(run) if has_one_thread && run.saturating_add(2 * tick_ns) >= by_ticks => run,
        _ => by_ticks,
    }
}

/// Everything that a process used itself since it started.
fn lifetime(facts: &Facts, tick_ns: u64) -> Usage {
    let stat = &facts.stat;
    Usage {
        user_ticks: stat.user_ticks,
        system_ticks: stat.system_ticks,
        exact_ns: exact_ns(facts.run_ns, ticks(facts), stat.threads == 1, tick_ns),
        wait_ns: facts.wait_ns.unwrap_or(0),
        faults_minor: stat.faults_minor,
        faults_major: stat.faults_major,
        read_bytes: facts.io.map_or(0, |io| io.read_bytes),
        write_bytes: facts.io.map_or(0, |io| io.write_bytes),
    }
}

/// What the kernel's books say of children that were waited for.
fn children(facts: &Facts, tick_ns: u64) -> Usage {
    let stat = &facts.stat;
    Usage {
        user_ticks: stat.children_user_ticks,
        system_ticks: stat.children_system_ticks,
        exact_ns: (stat.children_user_ticks + stat.children_system_ticks).saturating_mul(tick_ns),
        faults_minor: stat.children_faults_minor,
        faults_major: stat.children_faults_major,
        ..Usage::default()
    }
}

/// What one process used itself between two readings.
fn growth(before: &Facts, after: &Facts, tick_ns: u64) -> Usage {
    let mut usage = lifetime(after, tick_ns);
    usage -= lifetime(before, tick_ns);
    let has_one_thread = before.stat.threads == 1 && after.stat.threads == 1;
    // After exec by another thread, the first thread is a different one: its time is no sequel.
    let run = before.run_ns.zip(after.run_ns).and_then(|(before, after)| after.checked_sub(before));
    usage.exact_ns = exact_ns(run, ticks(after).saturating_sub(ticks(before)), has_one_thread, tick_ns);
    // I/O that may no longer be seen, or may only now be, is no growth.
    if before.io.is_none() || after.io.is_none() {
        (usage.read_bytes, usage.write_bytes) = (0, 0);
    }
    usage
}
