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

    /// Unit of the amount: symbol or noun.
    pub fn unit(&self) -> &'static str {
        if self.is_size() { "byte" } else { "s" }
    }

    /// The amount in this unit.
    pub fn amount_in_unit(&self) -> Option<f64> {
        let scale = if self.is_size() { 1.0 } else { 1e-9 };
        self.amount.map(|amount| amount as f64 * scale)
    }

    fn is_size(&self) -> bool {
        self.kind() == "block_issue"
    }

    /// Bytes of an event that is kept aside.
    pub const BYTES: usize = EVENT_BYTES;

    /// The event as bytes.
    pub fn to_bytes(&self) -> [u8; EVENT_BYTES] {
        let mut bytes = [0; EVENT_BYTES];
        bytes[..8].copy_from_slice(&self.time_ns.to_ne_bytes());
        bytes[8..16].copy_from_slice(&self.amount.unwrap_or(u64::MAX).to_ne_bytes());
        bytes[16..20].copy_from_slice(&self.task.to_ne_bytes());
        bytes[20..24].copy_from_slice(&self.process.to_ne_bytes());
        bytes[24..26].copy_from_slice(&self.account.to_ne_bytes());
        bytes[26..28].copy_from_slice(&self.cpu.to_ne_bytes());
        (bytes[28], bytes[29]) = (self.kind, self.reason);
        bytes
    }

    /// The event that these bytes hold; `None` if they are too few.
    pub fn of_bytes(bytes: &[u8]) -> Option<Event> {
        let (time, rest) = bytes.split_first_chunk()?;
        let (amount, rest) = rest.split_first_chunk()?;
        let (task, rest) = rest.split_first_chunk()?;
        let (process, rest) = rest.split_first_chunk()?;
        let (account, rest) = rest.split_first_chunk()?;
        let (cpu, rest) = rest.split_first_chunk()?;
        let amount = u64::from_ne_bytes(*amount);
        Some(Event {
            time_ns: u64::from_ne_bytes(*time),
            amount: (amount != u64::MAX).then_some(amount),
            task: u32::from_ne_bytes(*task),
            process: u32::from_ne_bytes(*process),
            account: u16::from_ne_bytes(*account),
            cpu: u16::from_ne_bytes(*cpu),
            kind: *rest.first()?,
            reason: *rest.get(1)?,
        })
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
