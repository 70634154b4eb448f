//! Whom a process was left to whose parent ended without waiting for it.
//!
//! Which process waited for one whose parent ended too is told by nobody: the one above, or one that takes orphans in,
//! which is process 1 or stands between the two (`PR_SET_CHILD_SUBREAPER`, the first process of a container). It is found
//! by the page faults, which all totals count.
//!
//! # Limitations
//! The first process of a container that its children entered from outside stands nowhere above them: what they leave to
//! it counts again for its user. So does what a process left to one between, if both end in the same interval and the one between first.

use std::collections::BTreeMap;

use super::census::{Census, Waited};
use super::debts::{Debt, Owner};
use super::usage::{Usage, scaled};

/// Processes above one that are looked at.
const ABOVE_MAX: usize = 64;
/// Processes whose parent ended too that are kept: more are leftovers.
const LEFT_MAX: usize = 4096;

/// Processes whose parent ended too, and may have left them to one that takes orphans in.
///
/// Parents that end without waiting are common: the monitor of an sshd leaves the process that served the user.
#[derive(Debug)]
pub(super) struct Left {
    /// Process number; 0 for several.
    pub pid: i32,
    /// Process that has the debt.
    pub waiter: i32,
    /// Processes.
    pub count: u64,
    /// The debt.
    pub usage: Usage,
    pub owner: (Owner, u64),
    pub age: usize,
}

impl Census {
    /// Processes above `pid` that are alive, the nearest first; the last is process 1.
    pub(super) fn above(&self, pid: i32) -> Vec<i32> {
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

    pub(super) fn leave_above(&mut self, left: Left) {
        if left.waiter != 1 && self.left.len() < LEFT_MAX {
            self.left.push(left);
        }
    }

    /// Moves the debts of processes that were left to one that takes orphans in there.
    ///
    /// They are known by their page faults, which the kernel counts one by one and few of which come after a message:
    /// the one above has more than its debts explain, and the process that was taken for the waiter has less. Of several
    /// processes that are known by their sum only, as many are moved as both have room for.
    pub(super) fn claim(&mut self, waited: &[Waited]) {
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
        let mut unpaid: BTreeMap<i32, Usage> = BTreeMap::new();
        for left in &self.left {
            unpaid.entry(left.waiter).or_insert_with(|| {
                let mut usage = owed(self, left.waiter);
                usage -= growth(left.waiter);
                usage
            });
        }
        self.left.sort_by_key(|left| std::cmp::Reverse(left.faults_each()));
        for mut left in std::mem::take(&mut self.left) {
            let each = left.faults_each();
            let unpaid = unpaid.entry(left.waiter).or_default();
            // Of others that the waiter has waited for, some faults came after their messages.
            let least = each - (each / 16).max(1).min(each);
            let may_be_above = |unpaid: &Usage| each > 0 && unpaid.faults_minor >= least;
            let above = if may_be_above(unpaid) { self.above(left.waiter) } else { Vec::new() };
            for reaper in above {
                let Some(spare) = spare.get_mut(&reaper).filter(|spare| spare.faults_minor >= each) else {
                    continue;
                };
                if !may_be_above(unpaid) {
                    break;
                }
                let part = left.usage.least(*unpaid).least(*spare);
                let (owner, weight) = &mut left.owner;
                let moved = scaled(*weight, part.faults_minor, left.usage.faults_minor);
                *weight -= moved;
                if let Some(debt) = self.debts.get_mut(&left.waiter) {
                    debt.pay(part);
                    if let Some(sum) = debt.owners.get_mut(owner) {
                        *sum = sum.saturating_sub(moved);
                    }
                }
                let owners = [(owner.clone(), moved)];
                self.debts.entry(reaper).or_default().add(part, owners);
                left.count -= (part.faults_minor / each).min(left.count);
                left.usage -= part;
                *spare -= part;
                *unpaid -= part;
                if left.count == 0 {
                    break;
                }
            }
            if left.count > 0 {
                self.left.push(left);
            }
        }
    }
}

impl Left {
    /// Page faults of one of the processes.
    fn faults_each(&self) -> u64 {
        self.usage.faults_minor / self.count.max(1)
    }
}
