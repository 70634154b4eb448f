//! Whom a process was left to whose parent ended without waiting for it.
//!
//! Which process waited for one whose parent ended too is told by nobody: the one above, or one that takes orphans in,
//! which is process 1 or stands between the two (`PR_SET_CHILD_SUBREAPER`, the first process of a container). It is found
//! by the page faults, which all totals count.
//!
//! # Limitations
//! The first process of a container that its children entered from outside stands nowhere above them: what they leave to
//! it counts again for its user.

use std::collections::BTreeMap;

use super::census::{Census, Waited};
use super::debts::{Debt, Owner};
use super::usage::Usage;

/// Processes above one that are looked at.
const ABOVE_MAX: usize = 64;
/// Processes whose parent ended too that are kept: more are leftovers.
const LEFT_MAX: usize = 4096;

/// A process whose parent ended too, and may have left it to one that takes orphans in.
///
/// Parents that end without waiting are common: the monitor of an sshd leaves the process that served the user.
#[derive(Debug)]
pub(super) struct Left {
    /// Process that has the debt.
    pub waiter: i32,
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
    /// the one above has more than its debts explain, and the process that was taken for the waiter has less.
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
}
