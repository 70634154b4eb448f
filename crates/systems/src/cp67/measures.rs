//! Counts and averages over a run, in addition to CP's own counters.

use thinktime_engine::{Balance, Batches, Level, Tally, Time};

use super::dusetimr::Counters;
use super::services::{KINDS, Spent};

/// Totals since statistics began, and averages.
#[derive(Clone, Debug, Default)]
pub(super) struct Measures {
    /// CP's counters since statistics began.
    pub totals: Counters,
    /// CP time by kind of request.
    pub spent: [Spent; KINDS],
    /// Processor time of segments that a stop of the machine cut short [ns].
    pub cut_short: u64,
    /// Processor time of the segment in progress when statistics began, before that [ns].
    pub earlier: u64,
    /// Restarts of the system.
    pub restarts: u64,
    /// 1 while the machine is up.
    pub up: Level,
    /// 1 while its processor waits.
    pub waiting: Level,
    /// Users signed on.
    pub signed_on: Level,
    /// Active users, summed over the observations.
    pub active_sum: u64,
    /// Observations of DUSETIMR.
    pub observations: u64,
    /// Interactions in progress.
    pub interactions: Balance,
    /// Times from a typed line to the last line of its answer.
    pub responses: Tally,
    /// The series of these times.
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
