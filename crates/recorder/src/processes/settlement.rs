//! Usage of processes that have ended, from the totals of those who waited for them.
//!
//! When a process ends, the kernel tells what it had used until then: that is counted for its own user at once
//! (`ended.rs`). Its whole life, with what the giving back of its memory took, can be read until its parent waits
//! for it, and is then added to totals of that parent (`cutime` and its like in proc_pid_stat(5)). What is read is counted
//! for its own user; growth of the totals is counted too, less what was counted for the children already (their *debt*),
//! and shared among the users of these children. `reapers.rs` finds who waited where the parent did not.
//!
//! Without messages, what nobody saw belongs to the parent that waited: another user's process may be among it.
//!
//! # Limitations
//! What a process used after its message is lost if nobody waits for it (its parent ignores SIGCHLD); without
//! messages, so is everything after its last reading, and the scheduling delay of every such remainder: the kernel
//! keeps no total of it over children.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::census::{Census, Entry, Surroundings, Waited};
use super::debts::{DEBT_SAMPLES, Owner, Unseen};
use super::reapers::Left;
use super::usage::{Usage, lifetime, scaled};

/// Samples for which the parent of a process that ended is known: within these, its children are read again.
const GONE_SAMPLES: usize = 2 * DEBT_SAMPLES;

impl Census {
    /// Enters usage already counted for ended processes as debts of the processes that waited for them.
    pub(super) fn owe(&mut self, ended: &[Entry], unseen: &mut [Unseen]) {
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
        for one in unseen {
            self.owe_unseen(one, waiter_above(&parents, one.parent));
        }
        for entry in ended {
            self.owe_ended(entry, waiter_above(&parents, entry.facts.stat.parent));
        }
        let orphaned = |entry: &&Entry| parents.contains_key(&entry.facts.stat.parent);
        // Their last reading names the old parent, and a process that does not run is rarely read again.
        self.orphans.extend(self.table.iter().filter(orphaned).map(|entry| entry.pid));
    }

    /// Enters the debts of processes that no scan saw.
    fn owe_unseen(&mut self, one: &mut Unseen, waiter: i32) {
        let usage = one.usage.without_wait();
        let mut owner = (one.owner.clone(), one.missing_ns);
        if let Some(debt) = self.debts.get(&one.parent).filter(|_| waiter != one.parent) {
            owner.1 = debt.weight(owner.1, self.tick_ns);
        }
        if one.is_passed_on || waiter != one.parent || self.is_dead(one.parent) {
            let (pid, count, owner) = (one.pid, one.count, owner.clone());
            self.leave_above(Left { pid, waiter, reaper: None, count, usage, owner, age: 0 });
        }
        one.parent = waiter;
        let debt = self.debts.entry(waiter).or_default();
        debt.add(usage, [owner]);
        debt.is_partial |= one.is_older;
        if one.is_in_flight {
            debt.in_flight += usage;
        }
    }

    /// Enters the debt of a process that was in the table.
    fn owe_ended(&mut self, entry: &Entry, waiter: i32) {
        // Its parent's totals will contain those of its own children, debts included.
        let mut debt = self.debts.remove(&entry.pid).unwrap_or_default();
        // It may have ended without waiting for these.
        let mut usage = debt.total();
        let mut whose = debt.main_owner();
        let counted = self.counted(entry);
        debt.add(counted, [owner(entry)]);
        let parent = entry.facts.stat.parent;
        for left in self.left.iter_mut().filter(|left| left.waiter == entry.pid) {
            left.waiter = waiter;
            usage -= left.usage;
        }
        // One that is not in the table had ended, and was waited for, before this interval.
        if waiter != parent || self.is_dead(parent) || self.key(parent).is_none() {
            usage += counted;
            whose = Some(owner(entry));
        }
        if let Some(owner) = whose.filter(|_| usage.faults_minor > 0) {
            self.leave_above(Left { pid: entry.pid, waiter, reaper: None, count: 1, usage, owner, age: 0 });
        }
        // Which of those above is not known, unless the kernel has told who was the parent at the end. All get the
        // debt, so that nothing is counted twice; other usage of their children may then be missed, once.
        if waiter != parent && entry.ended.is_none() {
            for pid in self.above(waiter) {
                self.debts.entry(pid).or_default().inherit(debt.clone(), self.tick_ns);
            }
        }
        self.debts.entry(waiter).or_default().inherit(debt, self.tick_ns);
    }

    /// True for a process that has ended and that nobody has waited for yet.
    fn is_dead(&self, pid: i32) -> bool {
        let found = self.table.binary_search_by_key(&pid, |entry| entry.pid);
        found.is_ok_and(|index| self.table[index].is_dead())
    }

    /// Counts the growth of totals for waited-for children, less the debts.
    pub(super) fn settle(&mut self, waited: Vec<Waited>, around: &mut Surroundings<'_>) {
        self.claim(&waited);
        let mut suspects = self.children_of(&waited);
        for waiter in waited {
            let mut rest = waiter.usage;
            let mut owners = BTreeMap::new();
            // Page faults of those that have not been waited for yet, of how many.
            let (mut unpaid, mut owed) = (0, 0);
            if let Some(debt) = self.debts.get_mut(&waiter.pid) {
                owed = debt.total().faults_minor;
                rest -= debt.total();
                debt.pay(waiter.usage);
                unpaid = debt.total().faults_minor;
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
                // Without messages, who was seen lately says whose those are that nobody saw.
                if around.departures.is_complete {
                    self.find(&waiter, 0, (unpaid, owed));
                }
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
                self.find(&waiter, rest.exact_ns, (unpaid, owed));
                self.share(&waiter, rest, &owners);
            } else {
                self.inherit(&waiter, rest, &owners);
            }
        }
    }

    /// Takes off the weights of those whose missing time is known now. Which they are is told by nobody: of all, the share
    /// that was waited for. Nothing is known while what is owed for the others hides it.
    fn find(&mut self, waiter: &Waited, missing_ns: u64, (unpaid, owed): (u64, u64)) {
        if missing_ns == 0 && unpaid > owed / 16 {
            return;
        }
        if let Some(debt) = self.debts.get_mut(&waiter.pid) {
            debt.find(missing_ns, (unpaid, owed));
        }
        // Also of those that may turn out to have been left to one farther above.
        for left in self.left.iter_mut().filter(|left| left.waiter == waiter.pid) {
            left.owner.1 = scaled(left.owner.1, unpaid, owed);
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
        counted.without_wait()
    }

    /// Gives up debts that are old: the totals will never contain them, because nobody waited for the child.
    ///
    /// While processes that have ended are still there, neither their debts nor those of their parent grow old, nor what may
    /// have been left to it.
    pub(super) fn age_debts(&mut self) {
        self.gone.retain(|_, (_, age)| {
            *age += 1;
            *age <= GONE_SAMPLES
        });
        let late = self.late_waiters();
        let mut held = late.clone();
        held.extend(self.table.iter().filter(|entry| entry.is_dead()).map(|entry| entry.pid));
        if !late.is_empty() {
            let waiters: BTreeSet<i32> = self.left.iter().map(|left| left.waiter).collect();
            held.extend(
                waiters.into_iter().filter(|pid| self.above(*pid).iter().any(|pid| late.contains(pid))),
            );
        }
        self.left.retain_mut(|left| {
            left.age += usize::from(!held.contains(&left.waiter));
            left.age < DEBT_SAMPLES
        });
        let (tick_ns, table) = (self.tick_ns, &self.table);
        self.debts.retain(|pid, debt| {
            debt.in_flight = Usage::default();
            if !held.contains(pid) {
                debt.grow_old(tick_ns);
            }
            !debt.is_over() && table.binary_search_by_key(pid, |entry| entry.pid).is_ok()
        });
    }

    /// Processes that have not waited yet for a child that has ended.
    fn late_waiters(&self) -> BTreeSet<i32> {
        let dead = self.table.iter().filter(|entry| entry.is_dead());
        dead.map(|entry| entry.facts.stat.parent).collect()
    }
}

/// The process that waited for a child of `parent`, or will.
///
/// A parent that ended too either had waited for it, and its own parent inherited the totals, or left it to one that takes
/// orphans in.
fn waiter_above(parents: &BTreeMap<i32, i32>, parent: i32) -> i32 {
    let mut waiter = parent;
    // Process numbers are used again, and could form a ring.
    for _ in 0..parents.len() {
        match parents.get(&waiter) {
            Some(above) => waiter = *above,
            None => break,
        }
    }
    waiter
}

/// User and command of a process that ended, and what is probably not counted [ns].
fn owner(entry: &Entry) -> (Owner, u64) {
    // Without a message, all weigh the same.
    entry.missing.clone().unwrap_or_else(|| ((entry.key.clone(), Arc::clone(&entry.facts.command)), 1))
}
