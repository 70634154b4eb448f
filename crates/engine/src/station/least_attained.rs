//! Least attained service first (foreground-background, FB): the limit of feedback queues for short slices.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use crate::calendar::{Calendar, Priority, Slot};
use crate::time::Time;

use super::{Roster, Station, Visit};

/// One server, shared in equal parts by the customers that have had the least service (Schrage 1967).
///
/// Customers with equal service form a group; the groups are a stack, the one with the least on top. When
/// the top has caught up with the next, they join. Remainders below a nanosecond each are carried over, as in
/// [`ProcessorSharing`](super::ProcessorSharing).
#[derive(Clone, Debug)]
pub struct LeastAttained {
    roster: Roster,
    slot: Slot,
    /// By falling service; the last, which has had the least, is served.
    groups: Vec<Group>,
    /// Customers that have all their demand, and leave now.
    finished: VecDeque<u32>,
    arrivals: u64,
    updated: Time,
}

#[derive(Clone, Debug, Default)]
struct Group {
    /// Service that every member has had [ns].
    attained: u64,
    /// Service given that does not make a nanosecond for every member [ns].
    rest: u64,
    /// (demand, order of coming, customer), the least first.
    members: BinaryHeap<Reverse<(u64, u64, u32)>>,
}

impl Group {
    /// Shares `given` nanoseconds of service in equal whole parts.
    fn share(&mut self, given: u64) {
        let given = given + self.rest;
        let members = self.members.len() as u64;
        self.attained += given / members;
        self.rest = given % members;
    }

    /// Service so far of all members [ns].
    fn received(&self) -> u128 {
        u128::from(self.attained) * self.members.len() as u128 + u128::from(self.rest)
    }
}

impl LeastAttained {
    /// An idle server; `slot` is the near slot of its next event.
    pub fn new(roster: Roster, slot: Slot) -> LeastAttained {
        LeastAttained {
            roster,
            slot,
            groups: Vec::new(),
            finished: VecDeque::new(),
            arrivals: 0,
            updated: Time::ZERO,
        }
    }

    /// Gives the service since the last update, sets aside the customers that have all, and joins equal groups.
    fn advance(&mut self, now: Time) {
        if let Some(group) = self.groups.last_mut() {
            group.share(now.since(self.updated).0);
        }
        self.updated = now;
        while let Some(group) = self.groups.last_mut() {
            // Equality is exact, since shares are whole nanoseconds and `schedule` waits for the last of
            // them.
            while group.members.peek().is_some_and(|Reverse((demand, ..))| *demand == group.attained) {
                self.finished.extend(group.members.pop().map(|Reverse((.., customer))| customer));
            }
            if group.members.is_empty() {
                self.groups.pop();
            } else if !self.join() {
                break;
            }
        }
    }

    /// Joins the top with the next where they are equal.
    fn join(&mut self) -> bool {
        let [.., next, top] = &mut self.groups[..] else { return false };
        if next.attained != top.attained {
            return false;
        }
        next.members.append(&mut top.members);
        // The rest may now exceed the number of members: the next share gives it out.
        next.rest += top.rest;
        self.groups.pop();
        true
    }

    /// Sets the next event.
    fn schedule(&self, calendar: &mut Calendar) {
        let mut wait = None;
        if let Some(top) = self.groups.last() {
            // Whichever comes first: a member has all its demand, or the group catches up with the next.
            let demand = top.members.peek().map_or(u64::MAX, |Reverse((demand, ..))| *demand);
            let next = self.groups.len().checked_sub(2).map_or(u64::MAX, |below| self.groups[below].attained);
            let needed = u128::from(demand.min(next) - top.attained) * top.members.len() as u128;
            wait = Some(needed.saturating_sub(u128::from(top.rest)));
        }
        // Several may finish at once; a station returns one customer for each time it is due.
        if !self.finished.is_empty() {
            wait = Some(0);
        }
        if let Some(wait) = wait {
            calendar.set_after(self.slot, wait, Priority::Completion);
        }
    }
}

impl Station for LeastAttained {
    fn arrive(&mut self, visit: Visit, calendar: &mut Calendar) {
        let now = calendar.now();
        self.advance(now);
        self.roster.enter(visit, now);
        if self.groups.is_empty() && self.finished.is_empty() {
            self.roster.busy.begin(now);
        }
        self.arrivals += 1;
        // A newcomer has had nothing: it is served alone until it has caught up, unless others also had
        // nothing.
        if self.groups.last().is_none_or(|top| top.attained > 0) {
            self.groups.push(Group::default());
        }
        if let Some(top) = self.groups.last_mut() {
            top.members.push(Reverse((visit.demand.0, self.arrivals, visit.customer)));
        }
        self.schedule(calendar);
    }

    fn due(&mut self, _: Slot, calendar: &mut Calendar) -> Option<u32> {
        let now = calendar.now();
        self.advance(now);
        let served = self.finished.pop_front();
        if let Some(customer) = served {
            self.roster.leave(customer, now);
            if self.groups.is_empty() && self.finished.is_empty() {
                self.roster.busy.end(now);
            }
        }
        self.schedule(calendar);
        served
    }

    rostered!();

    fn received(&self, now: Time) -> u128 {
        let finished = self.finished.iter().map(|customer| u128::from(self.roster.demand(*customer).0));
        let groups = self.groups.iter().map(Group::received);
        let since = if self.groups.is_empty() { 0 } else { u128::from(now.since(self.updated).0) };
        finished.chain(groups).sum::<u128>() + since
    }
}
