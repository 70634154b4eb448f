//! What is averaged over a run, beside what the system meters itself.

use thinktime_engine::{Balance, Batches, Span, Tally, Time};

use super::ttm::Meters;
use super::users::Charged;

/// Count and sum of responses [ns].
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Mean {
    pub count: u64,
    pub sum: u128,
}

impl Mean {
    pub fn record(&mut self, observed: Span) {
        self.count += 1;
        self.sum += u128::from(observed.0);
    }

    /// Mean [s]; not a number where nothing was observed.
    pub fn seconds(&self) -> f64 {
        self.sum as f64 / self.count as f64 * 1e-9
    }
}

#[derive(Clone, Debug, Default)]
pub(super) struct Measures {
    pub since: Time,
    /// The meters when statistics began.
    pub at_start: Meters,
    pub interactions: Balance,
    /// What completed interactions were charged with, and what those in progress had been charged with when statistics
    /// began [ns].
    pub charged: u128,
    pub charged_earlier: u128,
    /// Responses as the users that play the script read them: of interactions that are waited for, all, without the
    /// heavy commands, and heavy ones; and by number.
    pub all: Mean,
    pub light: Mean,
    pub heavy: Mean,
    pub by_line: Vec<Mean>,
    /// Exact responses of all users.
    pub responses: Tally,
    pub batches: Batches,
    pub page_waits: Mean,
    pub examined: u64,
    pub preemptions: u64,
}

impl Measures {
    pub fn new(waiting_lines: usize) -> Measures {
        Measures { by_line: vec![Mean::default(); waiting_lines], ..Measures::default() }
    }

    /// Statistics begin anew at `now`.
    pub fn restart(&mut self, now: Time, meters: Meters, in_progress: u128) {
        let mut interactions = self.interactions;
        interactions.restart(now);
        *self = Measures {
            since: now,
            at_start: meters,
            interactions,
            charged_earlier: in_progress,
            ..Measures::new(self.by_line.len())
        };
    }

    pub fn completed(&mut self, charged: &Charged) {
        self.charged += u128::from(charged.all());
    }
}
