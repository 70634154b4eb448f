//! Usage of processes that have ended: from the messages of their ends, and from the totals of those who waited.
//!
//! When a process ends, the kernel tells what it had used until then: that is counted for its own user at once. Its
//! whole life, with what the giving back of its memory took, can be read until its parent waits for it, and is then
//! added to totals of that parent (`cutime` and its like in proc_pid_stat(5)). What is read is counted for its own user;
//! growth of the totals is counted too, less what was counted for the children already (their *debt*), and shared among
//! the users of these children.
//!
//! Without messages, what nobody saw belongs to the parent that waited: another user's process may be among it.
//!
//! # Limitations
//! What a process used after its message is lost if nobody waits for it (its parent ignores SIGCHLD); without
//! messages, so is everything after its last reading, and the scheduling delay of every such remainder: the kernel
//! keeps no total of it over children.
//!
//! Which process waited for one whose parent ended too is told by nobody: the one above, or one that takes orphans in,
//! which is process 1 or stands between the two (`PR_SET_CHILD_SUBREAPER`, the first process of a container). It is found
//! by the page faults, which all totals count. The first process of a container that its children entered from outside
//! stands nowhere above them: what they leave to it counts again for its user.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::census::{Census, Entry, Key, Surroundings, Waited};
use super::commands;
use super::exits::Departed;
use super::usage::{Usage, lifetime};
use super::{By, Facts};

/// Samples for which a debt is kept: a parent that waits does so within an interval or two.
const DEBT_SAMPLES: usize = 3;
/// Samples for which the parent of a process that ended is known: within these, its children are read again.
const GONE_SAMPLES: usize = 2 * DEBT_SAMPLES;
/// Owners of a debt: more have no share in what was not counted.
const OWNERS_MAX: usize = 1024;
/// Processes above one that are looked at.
const ABOVE_MAX: usize = 64;
/// Processes whose parent ended too that are kept: more are leftovers.
const LEFT_MAX: usize = 4096;
/// CPU time missing of a process whose whole life was read: the totals are cut to ticks [ns].
const ROUNDING_NS: u64 = 1;
/// Time by the tick from which a process tells its own user and system time [ns].
const OWN_STATES_NS: u64 = 20_000_000;
/// Time by the tick over which the user and system time of a user's short processes is averaged [ns].
const STATES_MEMORY_NS: u64 = 10_000_000_000;

/// User and command of processes that ended.
pub(super) type Owner = (Key, Arc<str>);

/// Usage already counted for ended children of a process, which is in the process's totals now or soon.
#[derive(Clone, Debug, Default)]
pub(super) struct Debt {
    /// By its age in samples, so that what nobody waits for does not hide the rest of the others for ever.
    usage: [Usage; DEBT_SAMPLES],
    /// Users and commands of the children, with the CPU time that is probably not counted yet [ns].
    owners: BTreeMap<Owner, u64>,
    /// One of the children had children of its own that nobody told of, so that the totals will contain more.
    is_partial: bool,
    /// Samples since something was added.
    age: usize,
}

impl Debt {
    fn total(&self) -> Usage {
        self.usage.iter().fold(Usage::default(), |mut sum, usage| {
            sum += *usage;
            sum
        })
    }

    /// Takes off what the totals of the process have now. The oldest first: it ended first.
    fn pay(&mut self, mut paid: Usage) {
        for usage in self.usage.iter_mut().rev() {
            let owed = *usage;
            *usage -= paid;
            paid -= owed;
        }
    }

    /// Adds the debts of a process that ended to those of the one that waits for it. None is old there: only from now
    /// on can the totals of that one have them.
    fn inherit(&mut self, other: Debt) {
        self.is_partial |= other.is_partial;
        self.add(other.total(), other.owners);
    }

    /// Begins the next sample. What is old is given up, but for two ticks, because the totals are cut to whole ticks.
    fn grow_old(&mut self, tick_ns: u64) {
        let oldest = self.usage[DEBT_SAMPLES - 1].exact_ns.min(2 * tick_ns);
        self.usage.rotate_right(1);
        self.usage[0] = Usage::default();
        self.usage[DEBT_SAMPLES - 1] += Usage { exact_ns: oldest, ..Usage::default() };
        self.age += 1;
        if self.age >= DEBT_SAMPLES {
            self.owners.clear();
        }
    }

    fn add(&mut self, usage: Usage, owners: impl IntoIterator<Item = (Owner, u64)>) {
        for (owner, weight) in owners {
            if self.owners.len() < OWNERS_MAX || self.owners.contains_key(&owner) {
                let sum = self.owners.entry(owner).or_default();
                *sum = sum.saturating_add(weight);
            }
        }
        self.usage[0] += usage;
        self.age = 0;
    }
}

/// A process whose parent ended too, and may have left it to one that takes orphans in.
///
/// Parents that end without waiting are common: the monitor of an sshd leaves the process that served the user.
#[derive(Debug)]
pub(super) struct Left {
    /// Process that has the debt.
    waiter: i32,
    /// The debt.
    usage: Usage,
    owner: (Owner, u64),
    age: usize,
}

/// A process that ended and that no scan saw, or several with the same parent.
#[derive(Debug)]
pub(super) struct Unseen {
    /// Process number; 0 for several.
    pub pid: i32,
    parent: i32,
    owner: Owner,
    usage: Usage,
    missing_ns: u64,
    /// It began before the messages: it may have waited for children that nobody told of.
    is_older: bool,
    /// The parent is that of a parent which ended.
    is_passed_on: bool,
}

impl Census {
    /// Counts the processes that ended as the kernel told, each for its own user; those that no scan saw.
    ///
    /// `ended` are those that were in the table and are not in the scan, in ascending order.
    pub(super) fn depart(&mut self, ended: &mut [Entry], around: &Surroundings<'_>) -> Vec<Unseen> {
        let mut unseen = Vec::new();
        let departures = around.departures;
        let single = departures.single.iter();
        let mut parents: BTreeMap<i32, i32> =
            single.clone().map(|departed| (departed.pid, departed.parent)).collect();
        parents.extend(ended.iter().map(|entry| (entry.pid, entry.facts.stat.parent)));
        if around.since_ticks.is_none() {
            let is_seen = |pid| self.table.binary_search_by_key(&pid, |entry| entry.pid).is_ok();
            let hidden = single.filter(|departed| !is_seen(departed.pid)).chain(departures.grouped.values());
            // What ended before the first scan belongs to no interval, but its parent may have been read before it
            // waited: then it is in the totals of the next reading.
            let one = |departed| Unseen { is_older: true, ..self.unseen_of(departed, ended, &parents) };
            return hidden.map(one).collect();
        }
        for departed in single {
            if self.depart_seen(departed, ended) {
                continue;
            }
            // An older process that no scan saw was hidden: its life is not that of the interval.
            if departed.is_new || self.is_young(departed, around) {
                unseen.push(self.depart_unseen(departed, ended, &parents));
            }
        }
        let grouped = departures.grouped.values();
        unseen.extend(grouped.map(|departed| self.depart_unseen(departed, ended, &parents)));
        let accounts = &self.accounts;
        self.states.retain(|key, _| accounts.contains_key(key));
        unseen
    }

    /// Marks a process that had ended when a scan saw it first. It stays until its parent waits for it: until then,
    /// what was counted is no debt. Returns what it used after a message that came before.
    pub(super) fn recognise(&mut self, entry: &mut Entry) -> Usage {
        entry.ended = Some(Usage::default());
        entry.is_late = true;
        let Some(one) = self.unseen.remove(&entry.pid) else { return Usage::default() };
        if let Some(debt) = self.debts.get_mut(&one.parent) {
            debt.pay(without_wait(one.usage));
        }
        entry.ended = Some(without_wait(one.usage));
        entry.missing = Some((one.owner, one.missing_ns));
        self.after_message(entry)
    }

    /// What a process used after the message of its end, as far as its reading has it; none if no message came.
    ///
    /// The one that should wait for it may be long about it, or never do so.
    pub(super) fn after_message(&self, entry: &mut Entry) -> Usage {
        let whole_ns = whole_ns(&entry.facts, self.tick_ns);
        let Some((ended, (owner, missing_ns))) = entry.ended.as_mut().zip(entry.missing.as_mut()) else {
            return Usage::default();
        };
        let exact_ns = whole_ns.saturating_sub(ended.exact_ns);
        if exact_ns == 0 {
            return Usage::default();
        }
        ended.exact_ns += exact_ns;
        *missing_ns = ROUNDING_NS;
        let (user_ns, system_ns) = self.states.get(&owner.0).copied().unwrap_or((1, 1));
        let system_ns = scaled(exact_ns, system_ns, user_ns.saturating_add(system_ns));
        Usage { exact_ns, system_ns, user_ns: exact_ns - system_ns, ..Usage::default() }
    }

    /// True if a process began in the interval.
    fn is_young(&self, departed: &Departed, around: &Surroundings<'_>) -> bool {
        around.since_ticks.is_some_and(|since| {
            let start_ticks = u64::try_from(departed.start_ns.1).unwrap_or(0) / self.tick_ns;
            start_ticks.saturating_add(1) >= since
        })
    }

    /// Counts what a process used after its last reading; false if none was read.
    fn depart_seen(&mut self, departed: &Departed, ended: &mut [Entry]) -> bool {
        let tick_ns = self.tick_ns;
        // The start that is read is cut to a tick. A life in a message is one of the first task, which may be
        // younger than its process by little.
        let is_it = |entry: &Entry| {
            let start_ns = i64::try_from(entry.facts.stat.start_ticks.saturating_mul(tick_ns));
            let start_ns = start_ns.unwrap_or(i64::MAX);
            let slack_ns = i64::try_from(2 * tick_ns).unwrap_or(0);
            start_ns >= departed.start_ns.0.saturating_sub(slack_ns)
                && start_ns <= departed.start_ns.1.saturating_add(slack_ns)
        };
        let in_table = self.table.binary_search_by_key(&departed.pid, |entry| entry.pid).ok();
        let in_table = in_table.filter(|index| is_it(&self.table[*index]));
        let in_ended = ended.binary_search_by_key(&departed.pid, |entry| entry.pid).ok();
        let entry = match (in_table, in_ended) {
            (Some(index), _) => &mut self.table[index],
            (None, Some(index)) if is_it(&ended[index]) => &mut ended[index],
            _ => return false,
        };
        // One that had ended when it was seen first has had nothing counted.
        let is_new = entry.ended.is_some();
        let counted = if is_new { Usage::default() } else { lifetime(&entry.facts, tick_ns) };
        let mut rest = departed.usage;
        // Its reading came after the message if nobody has waited for it yet.
        let whole_ns = whole_ns(&entry.facts, tick_ns);
        let is_whole = whole_ns >= departed.usage.exact_ns.max(1);
        let missing_ns = if is_whole { ROUNDING_NS } else { departed.missing_ns };
        rest.exact_ns = rest.exact_ns.max(whole_ns);
        rest -= counted;
        let mut whole = counted;
        whole += rest;
        entry.ended = Some(whole);
        // The reading may name one that ended before.
        entry.facts.stat.parent = departed.parent;
        // The reading may lack the waiting of threads that had ended before it.
        if !entry.facts.has_all_waits {
            rest.wait_ns = 0;
        }
        if entry.facts.stat.threads > 1 {
            self.totals_in_ticks += entry.mark_ticks([true, false]);
        }
        let mut key = entry.key.clone();
        if self.by == By::Uid {
            // It may have become another user's since its last reading, as the children of servers do.
            key = Key::Uid(departed.uid);
        }
        let command = if entry.facts.stat.name == departed.name {
            Arc::clone(&entry.facts.command)
        } else {
            commands::program(&departed.name, entry.facts.stat.is_kernel_thread)
        };
        entry.missing = Some(((key.clone(), Arc::clone(&command)), missing_ns));
        self.end(&key, &command, rest, departed);
        if let Some(account) = self.accounts.get_mut(&key).filter(|_| is_new) {
            account.commands.used(&command).started += 1;
        }
        true
    }

    /// Counts the whole life of processes that no scan saw.
    fn depart_unseen(
        &mut self,
        departed: &Departed,
        ended: &[Entry],
        parents: &BTreeMap<i32, i32>,
    ) -> Unseen {
        let mut one = self.unseen_of(departed, ended, parents);
        let (key, command) = &one.owner;
        one.usage = self.end(key, command, departed.usage, departed);
        if let Some(account) = self.accounts.get_mut(key) {
            account.commands.used(command).started += departed.count;
        }
        one
    }

    /// Owner and parent of processes that no scan saw.
    fn unseen_of(&self, departed: &Departed, ended: &[Entry], parents: &BTreeMap<i32, i32>) -> Unseen {
        let key = match self.by {
            By::Uid | By::None => Key::Uid(departed.uid),
            By::Session | By::Cgroup => self.key_above(departed.parent, ended, parents),
        };
        Unseen {
            pid: departed.pid,
            parent: departed.parent,
            owner: (key, commands::program(&departed.name, false)),
            usage: departed.usage,
            missing_ns: departed.missing_ns,
            is_older: false,
            is_passed_on: departed.is_passed_on,
        }
    }

    /// User of the nearest process above that was seen; else that of process 1, which inherits orphans.
    fn key_above(&self, parent: i32, ended: &[Entry], parents: &BTreeMap<i32, i32>) -> Key {
        let mut pid = parent;
        for _ in 0..=parents.len() {
            if let Ok(index) = self.table.binary_search_by_key(&pid, |entry| entry.pid) {
                return self.table[index].key.clone();
            }
            if let Ok(index) = ended.binary_search_by_key(&pid, |entry| entry.pid) {
                return ended[index].key.clone();
            }
            match parents.get(&pid) {
                Some(above) => pid = *above,
                None => break,
            }
        }
        let first = self.table.first().filter(|entry| entry.pid == 1).map(|entry| entry.key.clone());
        first.unwrap_or(match self.by {
            By::Cgroup => Key::Cgroup(Arc::from("/")),
            By::Session => Key::Session(0),
            By::Uid | By::None => Key::Uid(0),
        })
    }

    /// Counts `usage` of processes that ended; the same with user and system time.
    fn end(&mut self, key: &Key, command: &Arc<str>, mut usage: Usage, departed: &Departed) -> Usage {
        let (user_ns, system_ns) = self.states_of(key, departed);
        let all_ns = user_ns.saturating_add(system_ns);
        usage.system_ns = scaled(usage.exact_ns, system_ns, all_ns);
        usage.user_ns = usage.exact_ns - usage.system_ns;
        // Of a process that was read before, the part since then.
        let all_ns = departed.usage.exact_ns;
        self.low_priority_ns =
            self.low_priority_ns.saturating_add(scaled(usage.exact_ns, departed.low_priority_ns, all_ns));
        let account = self.charge(key, command, usage);
        account.sees_io = true;
        account.is_active |= usage.exact_ns > 0;
        let command = account.commands.used(command);
        command.ended += departed.count;
        command.lifetime_ns = command.lifetime_ns.saturating_add(departed.lifetime_ns);
        usage
    }

    /// User and system time by the tick: of a process itself if many ticks hit it, else of all short processes of its
    /// user lately, since most short lives pass between two ticks.
    fn states_of(&mut self, key: &Key, departed: &Departed) -> (u64, u64) {
        let (user_ns, system_ns) = departed.ticks_ns;
        if departed.count == 1 && user_ns.saturating_add(system_ns) >= OWN_STATES_NS {
            return departed.ticks_ns;
        }
        let states = self.states.entry(key.clone()).or_default();
        states.0 = states.0.saturating_add(user_ns);
        states.1 = states.1.saturating_add(system_ns);
        if states.0.saturating_add(states.1) > STATES_MEMORY_NS {
            *states = (states.0 / 2, states.1 / 2);
        }
        // Before the first tick, nothing is known: half.
        if *states == (0, 0) { (1, 1) } else { *states }
    }

    /// Enters usage already counted for ended processes as debts of the processes that waited for them.
    pub(super) fn owe(&mut self, ended: &[Entry], unseen: &[Unseen]) {
        let after_scan = std::mem::take(&mut self.ended_after_scan);
        if ended.is_empty() && unseen.is_empty() {
            return;
        }
        // Of a process that does not run, the last reading may name a parent that ended some samples ago.
        let mut parents: BTreeMap<i32, i32> =
            self.gone.iter().map(|(pid, (above, _))| (*pid, *above)).collect();
        parents.extend(after_scan);
        let hidden: BTreeMap<i32, i32> =
            unseen.iter().filter(|one| one.pid != 0).map(|one| (one.pid, one.parent)).collect();
        parents.extend(&hidden);
        parents.extend(ended.iter().map(|entry| (entry.pid, entry.facts.stat.parent)));
        for (pid, above) in &parents {
            self.gone.entry(*pid).or_insert((*above, 0));
        }
        // A parent that ended too either had waited for it, and its own parent inherited the totals, or left it to
        // one that takes orphans in. The loop is bounded because process numbers are used again and could form a ring.
        let waiter_above = |parent: i32| {
            let mut waiter = parent;
            for _ in 0..parents.len() {
                match parents.get(&waiter) {
                    Some(above) => waiter = *above,
                    None => break,
                }
            }
            waiter
        };
        for one in unseen {
            let waiter = waiter_above(one.parent);
            let (usage, owner) = (without_wait(one.usage), (one.owner.clone(), one.missing_ns));
            if one.is_passed_on || waiter != one.parent || self.is_dead(one.parent) {
                self.leave_above(Left { waiter, usage, owner: owner.clone(), age: 0 });
            }
            let debt = self.debts.entry(waiter).or_default();
            debt.add(usage, [owner]);
            debt.is_partial |= one.is_older;
        }
        for entry in ended {
            // Its parent's totals will contain those of its own children, debts included.
            let mut debt = self.debts.remove(&entry.pid).unwrap_or_default();
            debt.add(self.counted(entry), [owner(entry)]);
            let parent = entry.facts.stat.parent;
            let waiter = waiter_above(parent);
            let mut usage = debt.total();
            for left in self.left.iter_mut().filter(|left| left.waiter == entry.pid) {
                left.waiter = waiter;
                usage -= left.usage;
            }
            // One that is not in the table had ended, and was waited for, before this interval.
            if waiter != parent || self.is_dead(parent) || self.key(parent).is_none() {
                self.leave_above(Left { waiter, usage, owner: owner(entry), age: 0 });
            }
            // Which of those above is not known, unless the kernel has told who was the parent at the end. All get the
            // debt, so that nothing is counted twice; other usage of their children may then be missed, once.
            if waiter != parent && entry.ended.is_none() {
                for pid in self.above(waiter) {
                    self.debts.entry(pid).or_default().inherit(debt.clone());
                }
            }
            self.debts.entry(waiter).or_default().inherit(debt);
        }
        let orphaned = |entry: &&Entry| parents.contains_key(&entry.facts.stat.parent);
        // Their last reading names the old parent, and a process that does not run is rarely read again.
        self.orphans.extend(self.table.iter().filter(orphaned).map(|entry| entry.pid));
    }

    /// Processes above `pid` that are alive, the nearest first; the last is process 1.
    fn above(&self, pid: i32) -> Vec<i32> {
        let parent = |pid| self.facts(pid).map_or(0, |facts| facts.stat.parent);
        let mut found = Vec::new();
        let mut next = parent(pid);
        // Of readings at different times, parents could form a ring.
        while next > 1 && found.len() < ABOVE_MAX && self.key(next).is_some() {
            found.push(next);
            next = parent(next);
        }
        if pid != 1 {
            found.push(1);
        }
        found
    }

    fn leave_above(&mut self, left: Left) {
        if left.waiter != 1 && self.left.len() < LEFT_MAX {
            self.left.push(left);
        }
    }

    /// True for a process that has ended and that nobody has waited for yet.
    fn is_dead(&self, pid: i32) -> bool {
        let found = self.table.binary_search_by_key(&pid, |entry| entry.pid);
        found.is_ok_and(|index| {
            self.table[index].ended.is_some() || self.table[index].facts.stat.state == b'Z'
        })
    }

    /// Moves the debts of processes that were left to one that takes orphans in there.
    ///
    /// They are known by their page faults, which the kernel counts one by one and few of which come after a message:
    /// the one above has more than its debts explain, and the process that was taken for the waiter has less.
    fn claim(&mut self, waited: &[Waited]) {
        if self.left.is_empty() {
            return;
        }
        let owed = |census: &Census, pid| census.debts.get(&pid).map_or_else(Usage::default, Debt::total);
        let growth = |pid| {
            let found = waited.binary_search_by_key(&pid, |waiter| waiter.pid);
            found.map_or_else(|_| Usage::default(), |index| waited[index].usage)
        };
        let mut spare = BTreeMap::new();
        for waiter in waited {
            let mut usage = waiter.usage;
            usage -= owed(self, waiter.pid);
            if usage.faults_minor > 0 {
                spare.insert(waiter.pid, usage);
            }
        }
        if spare.is_empty() {
            return;
        }
        let slack_ns = 4 * self.tick_ns;
        let mut unpaid: BTreeMap<i32, u64> = BTreeMap::new();
        for left in &self.left {
            let mut usage = owed(self, left.waiter);
            usage -= growth(left.waiter);
            unpaid.insert(left.waiter, usage.faults_minor);
        }
        self.left.sort_by_key(|left| std::cmp::Reverse(left.usage.faults_minor));
        for left in std::mem::take(&mut self.left) {
            let faults = left.usage.faults_minor;
            let unpaid = unpaid.entry(left.waiter).or_default();
            // Of others that the waiter has waited for, some faults came after their messages.
            let is_unpaid = faults > 0 && *unpaid >= faults - faults / 16;
            let has_it = |spare: &Usage| {
                faults <= spare.faults_minor && left.usage.exact_ns <= spare.exact_ns.saturating_add(slack_ns)
            };
            let above = if is_unpaid { self.above(left.waiter) } else { Vec::new() };
            let Some(reaper) = above.into_iter().find(|pid| spare.get(pid).is_some_and(has_it)) else {
                self.left.push(left);
                continue;
            };
            *spare.entry(reaper).or_default() -= left.usage;
            *unpaid = unpaid.saturating_sub(faults);
            if let Some(debt) = self.debts.get_mut(&left.waiter) {
                debt.pay(left.usage);
                let (owner, weight) = &left.owner;
                if let Some(sum) = debt.owners.get_mut(owner) {
                    *sum = sum.saturating_sub(*weight);
                }
            }
            self.debts.entry(reaper).or_default().add(left.usage, [left.owner]);
        }
    }

    /// Counts the growth of totals for waited-for children, less the debts.
    pub(super) fn settle(&mut self, waited: Vec<Waited>, around: &mut Surroundings<'_>) {
        self.claim(&waited);
        let mut suspects = self.children_of(&waited);
        for waiter in waited {
            let mut rest = waiter.usage;
            let mut owners = BTreeMap::new();
            if let Some(debt) = self.debts.get_mut(&waiter.pid) {
                rest -= debt.total();
                debt.pay(waiter.usage);
                owners.clone_from(&debt.owners);
                // How much more than the debt is of a time before the recording cannot be known. What ended since
                // has been told, so that only the ends of it are missed.
                if std::mem::take(&mut debt.is_partial) {
                    rest = Usage::default();
                }
            }
            // One that had ended before the messages was in no scan if its parent waited for it in the middle of the
            // first. What it used is not of this interval, and is more than is missing of those that were told.
            let is_first = self.is_first_interval && around.departures.is_complete;
            let missing_ns =
                owners.values().fold(4 * self.tick_ns, |sum, weight| sum.saturating_add(2 * weight));
            if is_first && rest.exact_ns > missing_ns {
                rest = Usage::default();
            }
            if rest.is_zero() {
                continue;
            }
            if let Some(pids) = suspects.remove(&waiter.pid) {
                self.ended_meanwhile(waiter.pid, pids, &mut rest, &mut owners, around);
            }
            // A counter that jumped, such as in a restored container: no number is better than an impossible
            // one.
            if rest.exact_ns > around.capacity_ns {
                self.implausible += 1;
                continue;
            }
            if waiter.is_low_priority {
                self.low_priority_ns = self.low_priority_ns.saturating_add(rest.exact_ns);
            }
            if around.departures.is_complete {
                // What is missing of these is counted now.
                if let Some(debt) = self.debts.get_mut(&waiter.pid).filter(|_| rest.exact_ns > 0) {
                    debt.owners.clear();
                    // Also of those that may turn out to have been left to one farther above.
                    for left in self.left.iter_mut().filter(|left| left.waiter == waiter.pid) {
                        left.owner.1 = 0;
                    }
                }
                self.share(&waiter, rest, &owners);
            } else {
                self.inherit(&waiter, rest, &owners);
            }
        }
    }

    /// Counts the rest of totals of which every process is known, for the users of these processes.
    fn share(&mut self, waiter: &Waited, mut rest: Usage, owners: &BTreeMap<Owner, u64>) {
        // The messages have the I/O in full: this is that of the waiting process itself.
        let own = Usage { read_bytes: rest.read_bytes, write_bytes: rest.write_bytes, ..Usage::default() };
        self.charge(&waiter.key, &waiter.command, own);
        rest -= own;
        let all = owners.values().fold(0u64, |sum, weight| sum.saturating_add(*weight));
        if all == 0 {
            self.charge(&waiter.key, &waiter.command, rest);
            return;
        }
        let mut before = 0u64;
        for ((key, command), weight) in owners {
            let until = before.saturating_add(*weight);
            let mut part = rest.part(before, until, all);
            // The kernel counts a child that no tick hit as user time.
            let (user_ns, system_ns) =
                self.states.get(key).copied().unwrap_or((rest.user_ns, rest.system_ns));
            part.system_ns = scaled(part.exact_ns, system_ns, user_ns.saturating_add(system_ns));
            part.user_ns = part.exact_ns - part.system_ns;
            self.charge(key, command, part);
            before = until;
        }
    }

    /// Counts the rest of totals in which processes are that nobody saw: for the user of all children seen, or else
    /// of the process that waited for them.
    fn inherit(&mut self, waiter: &Waited, rest: Usage, owners: &BTreeMap<Owner, u64>) {
        let seen =
            if waiter.takes_orphans() { None } else { owners.first_key_value().zip(owners.last_key_value()) };
        let key = match seen {
            Some((((first, _), _), ((last, _), _))) if first == last => first,
            _ => &waiter.key,
        };
        // Of several commands nobody knows which it was.
        let command = match seen {
            Some((((_, command), _), _)) if owners.len() == 1 => command,
            _ => &waiter.command,
        };
        let is_waiters = *key == waiter.key;
        let account = self.charge(key, command, rest);
        account.inherited_ns += if is_waiters { rest.exact_ns } else { 0 };
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

    /// Adds to `owners` those of the children that ended after the scan had read them and before it read their parent.
    ///
    /// The parent's totals contain them in full, with children of theirs that ended before them, so that
    /// they would be counted twice: their usage is subtracted from `rest`.
    fn ended_meanwhile(
        &mut self,
        parent: i32,
        mut suspects: Vec<i32>,
        rest: &mut Usage,
        owners: &mut BTreeMap<Owner, u64>,
        around: &mut Surroundings<'_>,
    ) {
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
                    counted += debt.total();
                }
                // It may also have ended after the totals were read: the remainder appears next time.
                let mut still_owed = counted;
                still_owed -= *rest;
                *rest -= counted;
                if !still_owed.is_zero() {
                    self.debts.entry(parent).or_default().add(still_owed, [owner(&entry)]);
                }
                if !around.departures.is_complete {
                    owners.clear();
                }
                owners.extend([owner(&entry)]);
                let is_child = |entry: &&Entry| entry.facts.stat.parent == pid;
                suspects.extend(self.table.iter().filter(is_child).map(|entry| entry.pid));
                // A child that did not end with it has another parent now.
                self.orphans.extend(self.table.iter().filter(is_child).map(|entry| entry.pid));
            }
        }
    }

    /// Usage counted for a process so far, as it will appear in the totals of the parent that waits for it.
    fn counted(&self, entry: &Entry) -> Usage {
        let mut counted = entry.ended.unwrap_or_else(|| lifetime(&entry.facts, self.tick_ns));
        counted += self.of_children(entry);
        without_wait(counted)
    }

    /// Gives up debts that are old: the totals will never contain them, because nobody waited for the child.
    pub(super) fn age_debts(&mut self) {
        self.gone.retain(|_, (_, age)| {
            *age += 1;
            *age <= GONE_SAMPLES
        });
        self.left.retain_mut(|left| {
            left.age += 1;
            left.age < DEBT_SAMPLES
        });
        let (tick_ns, table) = (self.tick_ns, &self.table);
        self.debts.retain(|pid, debt| {
            debt.grow_old(tick_ns);
            !debt.total().is_zero() && table.binary_search_by_key(pid, |entry| entry.pid).is_ok()
        });
    }
}

/// CPU time of the whole life of a process that has ended, by its reading [ns]; 0 where this does not tell it.
fn whole_ns(facts: &Facts, tick_ns: u64) -> u64 {
    let is_told = facts.stat.state == b'Z' && facts.had_one_thread && facts.run_ns.is_some();
    if is_told { lifetime(facts, tick_ns).exact_ns } else { 0 }
}

/// User and command of a process that ended, and what is probably not counted [ns].
fn owner(entry: &Entry) -> (Owner, u64) {
    // Without a message, all weigh the same.
    entry.missing.clone().unwrap_or_else(|| ((entry.key.clone(), Arc::clone(&entry.facts.command)), 1))
}

/// The kernel keeps no total of waiting over children.
fn without_wait(usage: Usage) -> Usage {
    Usage { wait_ns: 0, io_wait_ns: 0, swap_wait_ns: 0, ..usage }
}

/// `amount` times `share` of `all`.
fn scaled(amount: u64, share: u64, all: u64) -> u64 {
    // Fits: the share is at most all.
    (u128::from(amount) * u128::from(share) / u128::from(all.max(1))) as u64
}
