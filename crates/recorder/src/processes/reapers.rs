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
use super::debts::Owner;
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
    /// The one that takes orphans in to which all page faults have been moved, and not all of the CPU time.
    pub reaper: Option<i32>,
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
    /// That there are some is known by page faults, which the kernel counts one by one and few of which come after a
    /// message: the one above has more than its debts explain, and the process that was taken for the waiter has less.
    /// Which of its processes they are is told by nobody. As much is moved as was left, is missing there, and is too much
    /// here, so that nothing is counted twice whichever they were.
    pub(super) fn claim(&mut self, waited: &[Waited]) {
        if self.left.is_empty() {
            return;
        }
        // Who ended while processes were read had a parent, perhaps, that was read before it waited.
        let owed = |census: &Census, pid: &i32| {
            census.debts.get(pid).map_or_else(Usage::default, |debt| {
                let mut usage = debt.total();
                usage -= debt.in_flight;
                usage
            })
        };
        let growth = |pid| {
            let found = waited.binary_search_by_key(&pid, |waiter| waiter.pid);
            found.map_or_else(|_| Usage::default(), |index| waited[index].usage)
        };
        let mut spare = BTreeMap::new();
        for waiter in waited {
            let mut usage = waiter.usage;
            usage -= owed(self, &waiter.pid);
            if !usage.is_zero() {
                spare.insert(waiter.pid, usage);
            }
        }
        if spare.is_empty() {
            return;
        }
        let mut by_waiter: BTreeMap<(i32, Option<i32>), Vec<Left>> = BTreeMap::new();
        for left in std::mem::take(&mut self.left) {
            by_waiter.entry((left.waiter, left.reaper)).or_default().push(left);
        }
        let mut unpaid: BTreeMap<i32, Usage> = BTreeMap::new();
        for (waiter, _) in by_waiter.keys() {
            unpaid.entry(*waiter).or_insert_with(|| {
                let mut usage = owed(self, waiter);
                usage -= growth(*waiter);
                usage
            });
        }
        for ((waiter, reaper), mut all) in by_waiter {
            let unpaid = unpaid.entry(waiter).or_default();
            let each = all.iter().map(Left::faults_each).filter(|each| *each > 0).min().unwrap_or(0);
            // Of others that the waiter has waited for, some faults came after their messages.
            let above = match reaper {
                Some(reaper) => vec![reaper],
                None if each > 0 && unpaid.faults_minor + (each / 16).max(1) >= each => self.above(waiter),
                None => Vec::new(),
            };
            for above in above {
                let Some(spare) = spare.get_mut(&above).filter(|spare| spare.faults_minor >= each) else {
                    continue;
                };
                let part = self.hand_over(&mut all, above, unpaid.least(*spare));
                *spare -= part;
                *unpaid -= part;
                // The totals of the one above have these, but what is owed for others whom it has not waited for yet hides
                // their CPU time.
                for left in all.iter_mut().filter(|left| left.usage.faults_minor == 0) {
                    let exact_ns = left.usage.exact_ns.min(unpaid.exact_ns);
                    left.usage = Usage { exact_ns, ..Usage::default() };
                    left.reaper = Some(above);
                }
                if all.iter().all(|left| left.reaper.is_some()) {
                    break;
                }
            }
            self.left.extend(all.into_iter().filter(|left| !left.usage.is_zero()));
        }
    }

    /// Moves debts of processes that were left to the one `above`, `at_most` so much: from each the same share.
    fn hand_over(&mut self, all: &mut [Left], above: i32, at_most: Usage) -> Usage {
        let mut whole = Usage::default();
        for left in &*all {
            whole += left.usage;
        }
        let part = whole.least(at_most);
        let mut owners = Vec::new();
        for left in &mut *all {
            let (owner, weight) = &mut left.owner;
            let moved = scaled(*weight, part.faults_minor, whole.faults_minor);
            *weight -= moved;
            left.usage -= left.usage.share(part, whole);
            if let Some(debt) = self.debts.get_mut(&left.waiter) {
                if let Some(sum) = debt.owners.get_mut(owner) {
                    *sum = sum.saturating_sub(moved);
                }
            }
            owners.push((owner.clone(), moved));
        }
        if let Some(debt) = all.first().and_then(|left| self.debts.get_mut(&left.waiter)) {
            debt.pay(part);
        }
        self.debts.entry(above).or_default().add(part, owners);
        part
    }
}

impl Left {
    /// Page faults of one of the processes.
    fn faults_each(&self) -> u64 {
        self.usage.faults_minor / self.count.max(1)
    }
}
