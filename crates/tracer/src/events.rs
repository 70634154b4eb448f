//! Single events: each CPU has a ring of them, which is read while the programs write to it.

use std::sync::Arc;

use crate::layout::{ACCOUNTS, EVENT_BYTES, EVENTS, RING, RING_BYTES, RING_LOST, RING_TAIL, reason_of_event};
use crate::mapped::Mapped;
use crate::tracer::Account;

/// An event as the programs write it; compact, since there may be millions a second.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// Monotonic time [ns].
    pub time_ns: u64,
    /// Length [ns], or size [byte] of a request that is issued; `None` where its beginning was not seen.
    pub amount: Option<u64>,
    /// Number of the thread.
    pub task: u32,
    /// Number of its process.
    pub process: u32,
    /// Number of the account, for [`Events::account`].
    pub account: u16,
    /// CPU on which it happened.
    pub cpu: u16,
    kind: u8,
    reason: u8,
}

impl Event {
    /// Kind of event.
    pub fn kind(&self) -> &'static str {
        EVENTS.get(usize::from(self.kind)).copied().unwrap_or("unknown")
    }

    /// How that ended which the amount measures; `None` where there is no choice.
    pub fn reason(&self) -> Option<&'static str> {
        reason_of_event(usize::from(self.kind), usize::from(self.reason))
    }
}

/// Reader of the rings.
#[derive(Debug)]
pub struct Events {
    accounts: Arc<Mapped>,
    events: Mapped,
    rings: Mapped,
    /// Events read so far, by CPU.
    tails: Vec<u64>,
}

impl Events {
    pub(crate) fn new(accounts: Arc<Mapped>, events: Mapped, rings: Mapped, cpus: usize) -> Events {
        Events { accounts, events, rings, tails: vec![0; cpus] }
    }

    /// Adds the events since the last call to `into`: those of each CPU in order, one CPU after the other.
    pub fn read(&mut self, into: &mut Vec<Event>) {
        for (cpu, tail) in self.tails.iter_mut().enumerate() {
            let before = *tail;
            loop {
                let place = (*tail % RING as u64) as usize;
                let at = (cpu * RING + place) * EVENT_BYTES;
                // The first word is written last: what comes after it is complete.
                if self.events.u32(at) != (*tail + 1) as u32 {
                    break;
                }
                let task = self.events.u32(at + 4);
                let word = self.events.u64(at + 8);
                let amount = self.events.u64(at + 24);
                into.push(Event {
                    time_ns: self.events.u64(at + 16),
                    amount: (amount != u64::MAX).then_some(amount),
                    task,
                    process: word as u32,
                    account: (word >> 32) as u16,
                    cpu: cpu as u16,
                    kind: (word >> 48) as u8,
                    reason: (word >> 56) as u8,
                });
                *tail += 1;
            }
            if *tail != before {
                self.rings.put_u64(cpu * RING_BYTES + RING_TAIL, *tail);
            }
        }
    }

    /// Events that found no room in the rings so far.
    pub fn lost(&self) -> u64 {
        (0..self.tails.len()).map(|cpu| self.rings.u64(cpu * RING_BYTES + RING_LOST)).sum()
    }

    /// Whose an event is.
    pub fn account(&self, number: u16) -> Account {
        Account::read(&self.accounts, usize::from(number).min(ACCOUNTS - 1))
    }
}
