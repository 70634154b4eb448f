//! The parameters of `parameters.toml`, as fields.

use serde::Deserialize;
use thinktime_engine::{Distribution, Span};

use crate::kernel::choices;

choices! {
    SchedulerName {
        Original, Modified, Fb2, FbInfinity,
        /// Feedback with a given number of levels.
        Mlf,
        /// Shortest remaining service.
        Srpt
    }
    /// Where a search by address begins.
    Search { Arm, List }
    DispatcherName { RoundRobin, Scheduler }
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Parameters {
    pub users: u64,
    pub insertion_time: Distribution,
    pub reply_time: Distribution,
    pub scheduler: SchedulerName,
    pub levels: u64,
    pub dispatcher: DispatcherName,
    pub time_slice: Span,
    pub dispatch_overhead: Span,
    pub slices_before_swap: u64,
    pub background_search: Search,
    pub criterion_persists: bool,
    pub compute: ClassParameters,
    pub command: ClassParameters,
    pub output_bound: ClassParameters,
    pub output_burst: Span,
    pub output_drain: Distribution,
    pub library_accesses: u64,
    pub regions: u64,
    pub disk_seek: Span,
    pub disk_seek_across: f64,
    pub disk_rotation: Span,
    pub disk_transfer: Span,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ClassParameters {
    pub share: f64,
    pub service: Distribution,
}
