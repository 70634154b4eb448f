//! Processes that ended in an interval: each by itself, or many by parent, user and name.

use std::collections::BTreeMap;

use super::usage::Usage;
use crate::proc::process_stat::Name;

/// A process that ended, or several with the same parent, user and name that began after the last sample.
#[derive(Clone, Debug, Default)]
pub struct Departed {
    /// Process number; 0 for several.
    pub pid: i32,
    /// Process number of the parent at the end.
    pub parent: i32,
    /// Real user at the end.
    pub uid: u32,
    /// Name at the end.
    pub name: Name,
    /// Everything used from start to end, without user and system time.
    pub usage: Usage,
    /// User and system time as sampled at the tick [ns].
    pub ticks_ns: (u64, u64),
    /// The part of its CPU time in which it left the CPU to others, by the priority at its end [ns].
    pub low_priority_ns: u64,
    /// The part of its CPU time that is known from its life only: what a hypervisor took may be in it [ns].
    pub by_life_ns: u64,
    /// CPU time that is probably not in the usage: since the last tick, and for giving back memory [ns].
    pub missing_ns: u64,
    /// Time from start to end, summed [ns].
    pub lifetime_ns: u64,
    /// Processes.
    pub count: u64,
    /// Earliest and latest start after boot [ns]; of a single process.
    pub start_ns: (i64, i64),
    /// It began after the last sample.
    pub is_new: bool,
    /// Its own parent ended too, and `parent` is the one above.
    pub is_passed_on: bool,
    /// It ended while the processes were read: its parent may have been read before it waited.
    pub is_in_flight: bool,
}

/// The processes that ended since the last sample.
#[derive(Clone, Debug, Default)]
pub struct Departures {
    /// Every one of them is here: the messages are permitted, and none was lost.
    pub is_complete: bool,
    /// Each by itself.
    pub single: Vec<Departed>,
    /// By parent, user and name, and whether they were passed on: these began after the last scan.
    pub grouped: BTreeMap<(i32, u32, Name, bool), Departed>,
}

impl Departures {
    /// Leaves out of what is known from lives only as much as was stolen: from each the same share.
    pub(super) fn leave_out(&mut self, stolen_ns: u64) {
        let all = || self.single.iter().chain(self.grouped.values());
        let by_life_ns = all().fold(0u64, |sum, departed| sum.saturating_add(departed.by_life_ns));
        let stolen_ns = stolen_ns.min(by_life_ns);
        if stolen_ns == 0 {
            return;
        }
        for departed in self.single.iter_mut().chain(self.grouped.values_mut()) {
            // Rounded up: what is too little comes with the totals of the parent, what is too much comes twice.
            let share = (u128::from(departed.by_life_ns) * u128::from(stolen_ns)).div_ceil(by_life_ns.into());
            let out_ns = u64::try_from(share).unwrap_or(u64::MAX);
            departed.by_life_ns = departed.by_life_ns.saturating_sub(out_ns);
            departed.usage.exact_ns = departed.usage.exact_ns.saturating_sub(out_ns);
            departed.low_priority_ns = departed.low_priority_ns.saturating_sub(out_ns);
            departed.missing_ns = departed.missing_ns.saturating_add(out_ns / 2);
        }
    }

    /// Adds a process to those with the same parent, user and name.
    pub fn group(&mut self, departed: Departed) {
        // Its children that were grouped before belong to its own parent now, as what they used does in the kernel.
        let of_it = (departed.pid, 0, Name::default(), false)..=(departed.pid, u32::MAX, Name::LAST, true);
        let children: Vec<_> = self.grouped.range(of_it).map(|(key, _)| *key).collect();
        for key in children {
            if let Some(mut child) = self.grouped.remove(&key) {
                (child.parent, child.is_passed_on) = (departed.parent, true);
                self.add(child);
            }
        }
        self.add(Departed { pid: 0, ..departed });
    }

    fn add(&mut self, departed: Departed) {
        let key = (departed.parent, departed.uid, departed.name, departed.is_passed_on);
        let sum = self.grouped.entry(key).or_insert_with(|| Departed {
            parent: departed.parent,
            uid: departed.uid,
            name: departed.name,
            is_new: true,
            is_passed_on: departed.is_passed_on,
            ..Departed::default()
        });
        sum.usage += departed.usage;
        sum.ticks_ns.0 = sum.ticks_ns.0.saturating_add(departed.ticks_ns.0);
        sum.ticks_ns.1 = sum.ticks_ns.1.saturating_add(departed.ticks_ns.1);
        sum.low_priority_ns = sum.low_priority_ns.saturating_add(departed.low_priority_ns);
        sum.by_life_ns = sum.by_life_ns.saturating_add(departed.by_life_ns);
        sum.missing_ns = sum.missing_ns.saturating_add(departed.missing_ns);
        sum.lifetime_ns = sum.lifetime_ns.saturating_add(departed.lifetime_ns);
        sum.count += departed.count;
    }
}
