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

/// Values given or default; ranges and sources are in `parameters.toml`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Parameters {
    /// Users at typewriter terminals, each with one workspace [user].
    pub users: u64,
    /// Time a user takes to think and type an input [s].
    pub insertion_time: Distribution,
    /// Time the typewriter takes to type the reply, before the next insertion begins [s].
    pub reply_time: Distribution,
    /// Rule that selects the workspace to swap in: original and modified as measured and simulated in the paper, fb2
    /// and fb_infinity as proposed there; for comparison mlf (feedback with `levels` levels) and srpt (shortest
    /// remaining service, which a real system cannot know).
    pub scheduler: SchedulerName,
    /// Levels of mlf; level k ends when 2^(k+1) - 1 time slices have been received.
    pub levels: u64,
    /// Rule that selects the resident workspace for the next slice: in turn, or the one the scheduler prefers.
    pub dispatcher: DispatcherName,
    /// Longest uninterrupted run of the interpreter for one workspace [s].
    pub time_slice: Span,
    /// Supervisor time before each time slice [s].
    pub dispatch_overhead: Span,
    /// Processor time that each disk access takes, before the next time slice: the supervisor's, and what a channel of
    /// the Model 50 takes of the processor while it moves data [s].
    pub access_overhead: Span,
    /// Time slices after which a resident workspace must leave even without another cause; also those of a turn in
    /// fb2 and mlf: driven out before, a workspace keeps its place in its queue [slice].
    pub slices_before_swap: u64,
    /// Modified scheduler: search for background workspaces from the start of the address list, or onwards from the
    /// disk arm as the original scheduler does.
    pub background_search: Search,
    /// Original scheduler: whether a search continues with the last criterion of the previous search; false: every
    /// search begins with workspaces that wait for their first slice.
    pub criterion_persists: bool,
    /// Compute transactions (Table 1).
    pub compute: ClassParameters,
    /// Commands (Table 1).
    pub command: ClassParameters,
    /// Output-bound transactions (Table 1).
    pub output_bound: ClassParameters,
    /// Processor time in which an output-bound transaction fills all output buffers; one with less than twice this
    /// demand fills them once, half-way [s].
    pub output_burst: Span,
    /// Time the typewriter takes to empty the buffers while the transaction waits [s].
    pub output_drain: Distribution,
    /// Disk accesses of a command to libraries and their directory; the command occupies a region meanwhile [access].
    pub library_accesses: u64,
    /// Regions of main memory, each with room for a workspace of 36 000 bytes [region].
    pub regions: u64,
    /// Shortest movement of the arm [s].
    pub disk_seek: Span,
    /// Additional time for a movement across all workspaces, in proportion to the distance [s].
    pub disk_seek_across: f64,
    /// Rotation time of the disk; latency is uniform from zero to this [s].
    pub disk_rotation: Span,
    /// Transfer time of a workspace [s].
    pub disk_transfer: Span,
}

/// A class of inputs.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ClassParameters {
    /// Share of all inputs; the shares of the three classes add up to 1.
    pub share: f64,
    /// Processor time that an input demands [s].
    pub service: Distribution,
}
