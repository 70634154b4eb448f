//! What is counted and averaged over a run, beside what CP counts itself.

use thinktime_engine::{Balance, Batches, Level, Tally, Time};

use super::dusetimr::Counters;
use super::services::{KINDS, Spent};

/// Totals since statistics began, and what is averaged.
#[derive(Clone, Debug, Default)]
pub(super) struct Measures {
    pub totals: Counters,
    pub spent: [Spent; KINDS],
    /// Processor time of segments that a stop of the machine cut short, and of the one that was in progress when
    /// statistics began, before that [ns].
    pub cut_short: u64,
    pub earlier: u64,
    pub restarts: u64,
    /// 1 while the machine is up, and while its processor waits.
    pub up: Level,
    pub waiting: Level,
    pub signed_on: Level,
    pub active_sum: u64,
    pub observations: u64,
    pub interactions: Balance,
    pub responses: Tally,
    pub batches: Batches,
}

impl Measures {
    /// Statistics begin anew; the segment in progress has run for `earlier`.
    pub fn restart(&mut self, now: Time, earlier: u64) {
        let (mut up, mut waiting, mut signed_on) = (self.up, self.waiting, self.signed_on);
        for level in [&mut up, &mut waiting, &mut signed_on] {
            level.restart(now);
        }
        let mut interactions = self.interactions;
        interactions.restart(now);
        *self = Measures { up, waiting, signed_on, interactions, earlier, ..Measures::default() };
    }
}
