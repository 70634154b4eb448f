//! Usage of processes that have ended, from the messages of their ends: counted for the user of each at once.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::census::{Census, Entry, Key, Surroundings};
use super::commands;
use super::debts::Unseen;
use super::departures::Departed;
use super::reapers::Left;
use super::usage::{Usage, lifetime, scaled};
use super::{By, Facts};

/// CPU time missing of a process whose whole life was read: the totals are cut to ticks [ns].
const ROUNDING_NS: u64 = 1;
/// Time by the tick from which a process tells its own user and system time [ns].
const OWN_STATES_NS: u64 = 20_000_000;
/// Time by the tick over which the user and system time of a user's short processes is averaged [ns].
const STATES_MEMORY_NS: u64 = 10_000_000_000;

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
            debt.pay(one.usage.without_wait());
        }
        // Whose child it is now has been read.
        self.left.retain(|left| left.pid != entry.pid);
        entry.ended = Some(one.usage.without_wait());
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
        // The reading may name one that ended before, but that of a process which waits for its parent came later.
        if !(entry.facts.stat.state == b'Z' && entry.facts.had_one_thread) {
            entry.facts.stat.parent = departed.parent;
        }
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
        // Nobody has waited for it yet, and those for whom it did not are another's now.
        if let Some(debt) = in_table.and_then(|_| self.debts.get(&departed.pid)) {
            let (pid, usage) = (departed.pid, debt.total());
            if let Some(owner) = debt.main_owner() {
                self.leave_above(Left { pid, waiter: pid, reaper: None, count: 1, usage, owner, age: 0 });
            }
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
            count: departed.count,
            usage: departed.usage,
            missing_ns: departed.missing_ns,
            is_older: false,
            is_passed_on: departed.is_passed_on,
            is_in_flight: departed.is_in_flight,
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
}

/// CPU time of the whole life of a process that has ended, by its reading [ns]; 0 where this does not tell it.
fn whole_ns(facts: &Facts, tick_ns: u64) -> u64 {
    let is_told = facts.stat.state == b'Z' && facts.had_one_thread && facts.run_ns.is_some();
    if is_told { lifetime(facts, tick_ns).exact_ns } else { 0 }
}
