//! What the census keeps of processes that have ended: what was counted for them already, and those no scan saw.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::census::Key;
use super::usage::Usage;

/// Samples for which a debt is kept: a parent that waits does so within an interval or two.
pub(super) const DEBT_SAMPLES: usize = 3;
/// Owners of a debt: more have no share in what was not counted.
const OWNERS_MAX: usize = 1024;

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
    pub fn inherit(&mut self, other: Debt) {
        self.is_partial |= other.is_partial;
        self.add(other.total(), other.owners);
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
    pub parent: i32,
    pub owner: Owner,
    pub usage: Usage,
    pub missing_ns: u64,
    /// It began before the messages: it may have waited for children that nobody told of.
    pub is_older: bool,
    /// The parent is that of a parent which ended.
    pub is_passed_on: bool,
}
