//! Averages over a run, in addition to the meters of the system.

use thinktime_engine::{Balance, Batches, Span, Tally, Time};

use super::ttm::Meters;
use super::users::Charged;

/// Count and sum of responses [ns].
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Mean {
    /// Number of observations.
    count: u64,
    /// Their sum [ns].
    pub sum: u128,
}

impl Mean {
    /// Adds one observation.
    pub fn record(&mut self, observed: Span) {
        self.count += 1;
        self.sum += u128::from(observed.0);
    }

    /// Mean [s]; not a number where nothing was observed.
    pub fn seconds(&self) -> f64 {
        self.sum as f64 / self.count as f64 * 1e-9
    }
}

/// Averages over a run, in addition to the meters of the system.
#[derive(Clone, Debug, Default)]
pub(super) struct Measures {
    /// When statistics began.
    pub since: Time,
    /// The meters when statistics began.
    pub at_start: Meters,
    /// Lines typed and not yet answered.
    pub interactions: Balance,
    /// Processor time charged to completed interactions [ns].
    pub charged: u128,
    /// Processor time charged to interactions in progress when statistics began, before that [ns].
    pub charged_earlier: u128,
    /// Responses as the users that play the script read them, where they wait.
    pub all: Mean,
    /// Those of them without heavy commands.
    pub light: Mean,
    /// Those of heavy commands.
    pub heavy: Mean,
    /// By line of the script that is waited for.
    pub by_line: Vec<Mean>,
    /// Exact responses of all users.
    pub responses: Tally,
    /// The series of these responses.
    pub batches: Batches,
    /// Times from asking for a page to the end of its interrupt.
    pub page_waits: Mean,
    /// Places of core that the hand looked at.
    pub examined: u64,
    /// Processes that lost their processor to another.
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

    /// Adds the charge of an interaction that is complete.
    pub fn completed(&mut self, charged: &Charged) {
        self.charged += u128::from(charged.all());
    }
}
