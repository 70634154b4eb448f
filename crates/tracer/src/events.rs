//! Single events: each CPU has a ring of records, which is read while the programs write to it.

use std::sync::Arc;

use crate::layout::{
    ACCOUNTS, QUEUED, RECORD_BYTES, RECORDS, RING, RING_BYTES, RING_LOST, RING_TAIL, reason_of_event,
};
use crate::mapped::Mapped;
use crate::tracer::Account;

/// Words of a record.
const WORDS: usize = RECORD_BYTES / 8;

/// What the programs wrote at once, as they wrote it: up to three events. There may be millions a second.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record([u64; WORDS]);

impl Record {
    /// Bytes of a record that is kept aside.
    pub const BYTES: usize = RECORD_BYTES;
    /// Most events of a record.
    pub const EVENTS_MAX: usize = 3;

    /// Monotonic time [ns].
    pub fn time_ns(&self) -> u64 {
        self.0[1]
    }

    /// The record as bytes.
    pub fn to_bytes(&self) -> [u8; RECORD_BYTES] {
        let mut bytes = [0; RECORD_BYTES];
        for (to, word) in bytes.chunks_exact_mut(8).zip(self.0) {
            to.copy_from_slice(&word.to_ne_bytes());
        }
        bytes
    }

    /// The record that these bytes hold; `None` if they are too few.
    pub fn of_bytes(bytes: &[u8]) -> Option<Record> {
        let mut words = [0; WORDS];
        for (word, from) in words.iter_mut().zip(bytes.get(..RECORD_BYTES)?.chunks_exact(8)) {
            *word = u64::from_ne_bytes(from.try_into().ok()?);
        }
        Some(Record(words))
    }

    /// The CPU on which it was written: the reader puts it in place of the number in the ring.
    fn cpu(&self) -> u16 {
        self.0[0] as u16
    }

    /// Adds what happened to `into`: of a switch, in this order, that a task left the CPU, that another was woken, and that
    /// it was given the CPU. The wake-up may have been long before.
    pub fn events(&self, into: &mut Vec<Event>) {
        let [first, time_ns, amount, queued_ns, waited_ns, task, next, accounts] = self.0;
        let [kind, reason, queued, waited] = ((first >> 32) as u32).to_le_bytes();
        let halves = |word: u64| (word as u32, (word >> 32) as u32);
        let known = |amount: u64| (amount != u64::MAX).then_some(amount);
        let (account, next_account) = (accounts as u16, (accounts >> 16) as u16);
        let Some(kind) = RECORDS.get(usize::from(kind)).copied() else { return };
        let (task, process) = halves(task);
        let mut event = Event {
            time_ns,
            amount: known(amount),
            task,
            process,
            account,
            cpu: Some(self.cpu()),
            kind,
            reason,
        };
        if kind != "switch" {
            into.push(event);
            return;
        }
        if task != 0 {
            into.push(Event { kind: "switch_out", ..event });
        }
        (event.task, event.process) = halves(next);
        if event.task == 0 {
            return;
        }
        event.account = next_account;
        if let Some(queued_ns) = known(queued_ns) {
            if QUEUED.get(usize::from(queued)).is_some_and(|how| *how != "preempted") {
                // The program that tells of it does not run where the task was woken.
                let (time_ns, cpu) = (time_ns.saturating_sub(queued_ns), None);
                let amount = known(waited_ns);
                into.push(Event { kind: "wake_up", time_ns, amount, reason: waited, cpu, ..event });
            }
        }
        into.push(Event { kind: "dispatch", amount: known(queued_ns), reason: queued, ..event });
    }
}

/// An event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// Monotonic time [ns].
    pub time_ns: u64,
    /// Length [ns], or size [byte] of a request that is issued; `None` where its beginning was not seen.
    pub amount: Option<u64>,
    /// Number of the thread.
    pub task: u32,
    /// Number of its process; 0 where that is not told.
    pub process: u32,
    /// Number of the account, for [`Events::account`].
    pub account: u16,
    /// CPU on which it happened; `None` where that is not told.
    pub cpu: Option<u16>,
    /// Kind of event.
    pub kind: &'static str,
    reason: u8,
}

impl Event {
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
        self.kind == "block_issue"
    }

    /// How that ended which the amount measures; `None` where there is no choice.
    pub fn reason(&self) -> Option<&'static str> {
        reason_of_event(self.kind, usize::from(self.reason))
    }
}

/// Reader of the rings.
#[derive(Debug)]
pub struct Events {
    accounts: Arc<Mapped>,
    records: Mapped,
    rings: Mapped,
    /// Records read so far, by CPU.
    tails: Vec<u64>,
}

impl Events {
    pub(crate) fn new(accounts: Arc<Mapped>, records: Mapped, rings: Mapped, cpus: usize) -> Events {
        Events { accounts, records, rings, tails: vec![0; cpus] }
    }

    /// Adds the records since the last call to `into`: those of each CPU in order, one CPU after the other.
    pub fn read(&mut self, into: &mut Vec<Record>) {
        for (cpu, tail) in self.tails.iter_mut().enumerate() {
            let before = *tail;
            loop {
                let place = (*tail % RING as u64) as usize;
                let at = (cpu * RING + place) * RECORD_BYTES;
                // The first number is written last: what comes after it is complete.
                if self.records.u32(at) != (*tail + 1) as u32 {
                    break;
                }
                let mut words = self.records.words(at);
                words[0] = words[0] >> 32 << 32 | cpu as u64;
                into.push(Record(words));
                *tail += 1;
            }
            if *tail != before {
                self.rings.put_u64(cpu * RING_BYTES + RING_TAIL, *tail);
            }
        }
    }

    /// Records that found no room in the rings so far.
    pub fn lost(&self) -> u64 {
        (0..self.tails.len()).map(|cpu| self.rings.u64(cpu * RING_BYTES + RING_LOST)).sum()
    }

    /// Whose an event is.
    pub fn account(&self, number: u16) -> Account {
        Account::read(&self.accounts, usize::from(number).min(ACCOUNTS - 1))
    }
}
