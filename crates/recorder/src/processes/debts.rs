//! What the census keeps of processes that have ended: what was counted for them already, and those no scan saw.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::census::Key;
use super::usage::{Usage, scaled};

/// Samples for which a debt is kept: a parent that waits does so within an interval or two.
pub(super) const DEBT_SAMPLES: usize = 3;
/// Owners of a debt: more have no share in what was not counted.
const OWNERS_MAX: usize = 1024;

/// Weights of owners over which it is kept how much was missing indeed [ns].
const FOUND_MEMORY_NS: u64 = 10_000_000_000;

/// User and command of processes that ended.
pub(super) type Owner = (Key, Arc<str>);

/// Usage already counted for ended children of a process, which is in the process's totals now or soon.
#[derive(Clone, Debug, Default)]
pub(super) struct Debt {
    /// By its age in samples, so that what nobody waits for does not hide the rest of the others for ever.
    usage: [Usage; DEBT_SAMPLES],
    /// Users and commands of the children, with the CPU time that is probably not counted yet [ns].
    pub owners: BTreeMap<Owner, u64>,
    /// One of the children had children of its own that nobody told of, so that the totals will contain more.
    pub is_partial: bool,
    /// The part of children that ended while the processes were read.
    pub in_flight: Usage,
    /// What was missing of those that were waited for, as the totals had it, and as their weights had it [ns].
    found_ns: (u64, u64),
    /// Samples since something was added.
    age: usize,
}

impl Debt {
    pub fn total(&self) -> Usage {
        self.usage.iter().fold(Usage::default(), |mut sum, usage| {
            sum += *usage;
            sum
        })
    }

    /// The one of the owners of whom most is not counted yet.
    pub fn main_owner(&self) -> Option<(Owner, u64)> {
        let most = self.owners.iter().max_by_key(|(_, weight)| **weight);
        most.map(|(owner, weight)| (owner.clone(), *weight))
    }

    /// Takes off what the totals of the process have now. The oldest first: it ended first.
    pub fn pay(&mut self, mut paid: Usage) {
        for usage in self.usage.iter_mut().rev() {
            let owed = *usage;
            *usage -= paid;
            paid -= owed;
        }
    }

    /// Adds the debts of a process that ended to those of the one that waits for it. None is old there: only from now
    /// on can the totals of that one have them.
    pub fn inherit(&mut self, other: Debt, tick_ns: u64) {
        self.is_partial |= other.is_partial;
        let weights = other.owners.iter().map(|(owner, told)| (owner.clone(), other.weight(*told, tick_ns)));
        self.add(other.total(), weights);
    }

    /// The weight of a child beside children of others: some processes can miss a tick, and never do, as those that sleep
    /// until they end. As much less as it was with those before.
    pub fn weight(&self, told_ns: u64, tick_ns: u64) -> u64 {
        let (found, told) = self.found_ns;
        let (found, told) = (found.saturating_add(tick_ns), told.saturating_add(tick_ns));
        scaled(told_ns, found.min(told), told)
    }

    /// Takes the weights off of those that were waited for, of whom `missing_ns` was missing: all of them but for the
    /// share of page faults that is still owed.
    pub fn find(&mut self, missing_ns: u64, (unpaid, owed): (u64, u64)) {
        let mut told_ns = 0u64;
        for weight in self.owners.values_mut() {
            let left = scaled(*weight, unpaid, owed);
            told_ns = told_ns.saturating_add(*weight - left);
            *weight = left;
        }
        self.owners.retain(|_, weight| *weight > 0);
        let (found, told) = &mut self.found_ns;
        (*found, *told) = (found.saturating_add(missing_ns), told.saturating_add(told_ns));
        if *told > FOUND_MEMORY_NS {
            (*found, *told) = (*found / 2, *told / 2);
        }
    }

    /// True if nothing needs it any more.
    pub fn is_over(&self) -> bool {
        self.total().is_zero() && self.found_ns == (0, 0)
    }

    /// Begins the next sample. What is old is given up, but for two ticks, because the totals are cut to whole ticks.
    pub fn grow_old(&mut self, tick_ns: u64) {
        let oldest = self.usage[DEBT_SAMPLES - 1].exact_ns.min(2 * tick_ns);
        self.usage.rotate_right(1);
        self.usage[0] = Usage::default();
        self.usage[DEBT_SAMPLES - 1] += Usage { exact_ns: oldest, ..Usage::default() };
        self.age += 1;
        if self.age >= DEBT_SAMPLES {
            self.owners.clear();
        }
    }

    pub fn add(&mut self, usage: Usage, owners: impl IntoIterator<Item = (Owner, u64)>) {
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

/// A process that ended and that no scan saw, or several with the same parent.
#[derive(Debug)]
pub(super) struct Unseen {
    /// Process number; 0 for several.
    pub pid: i32,
    /// The process that had to wait for it, and, once that is known to have ended, the one that takes its place.
    pub parent: i32,
    pub owner: Owner,
    /// Processes.
    pub count: u64,
    pub usage: Usage,
    pub missing_ns: u64,
    /// It began before the messages: it may have waited for children that nobody told of.
    pub is_older: bool,
    /// The parent is that of a parent which ended.
    pub is_passed_on: bool,
    /// It ended while the processes were read.
    pub is_in_flight: bool,
}
