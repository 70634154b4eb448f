//! The parameters of `parameters.toml`, as fields.

use serde::de::Error as _;
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use thinktime_engine::drum::Organisation;
use thinktime_engine::{Distribution, Span};
use thinktime_script::Script;

use super::locks::Locking;
use super::versions::{VERSIONS, Version};
use crate::kernel::{OrOwn, choices, script};

choices! {
    InterruptRouting { OneProcessor, Any }
    EligibilityRule { Number, WorkingSets }
    PriorityName { OfVersion, LastPage, FirstEligible }
    LineOrder { OfVersion, Script, Random }
}

fn named<'de, D: Deserializer<'de>>(deserializer: D) -> Result<&'static Version, D::Error> {
    let name = String::deserialize(deserializer)?;
    let version = VERSIONS.iter().find(|version| version.name == name);
    version.ok_or_else(|| D::Error::custom(format!("there is no version {name}")))
}

/// Values given or default; ranges and sources are in `parameters.toml`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Parameters {
    /// Version of the system: 3.1.1 of July 1969, or System 14 of 1971; it determines every parameter set to
    /// of_version.
    #[serde(deserialize_with = "named")]
    pub version: &'static Version,
    /// GE-645 processors [processor].
    pub cpus: u64,
    /// Core memory; a page is 1024 words [Kword].
    pub core: u64,
    /// Core occupied by the resident supervisor [Kword].
    pub wired: u64,
    /// Mean path length of a page fault: before and after the wait for the page [ms].
    pub page_fault_path: OrOwn,
    /// Mean path length of the selection of a process [ms].
    pub getwork_path: OrOwn,
    /// Mean path length of a drum interrupt [ms].
    pub drum_interrupt_path: OrOwn,
    /// Mean path length of any other interrupt [ms].
    pub interrupt_path: OrOwn,
    /// Mean path length of a segment fault [ms].
    pub segment_fault_path: OrOwn,
    /// Mean path length of a gate fault [ms].
    pub gate_fault_path: OrOwn,
    /// Whether paths become longer with more than 256 Kwords of core, by the amounts in Table 3.
    pub path_growth: bool,
    /// Coefficient of variation of the path length, which is log-normal.
    pub path_cv: f64,
    /// Share of a page fault's path per examined place of core [ms].
    pub examine: OrOwn,
    /// Slowdown of two active processors that always use the same box of core; with b boxes they meet for 1/b of the
    /// time.
    pub interference: f64,
    /// Work that two processors cannot do at the same time: none; anything that uses the supervisor's tables (one
    /// lock); page control (page and segment faults, drum interrupts) and the traffic controller (getwork), one lock
    /// each.
    pub locks: Locking,
    /// Additional slowdown of the lock holder by a processor that spins for the lock.
    pub spin_interference: f64,
    /// Share of a segment fault's path under the lock of page control.
    pub segment_lock_share: f64,
    /// Share of the path of getwork under the lock of the traffic controller.
    pub traffic_lock_share: f64,
    /// Whether the lock of page control is held from a page fault until another process is selected.
    pub hold_through_getwork: bool,
    /// Processor that takes interrupts while none is idle: always the first, or any that runs user programs.
    pub interrupts: InterruptRouting,
    /// Limit on eligible processes: a number, or as many as have working sets that fit into core together.
    pub eligibility: EligibilityRule,
    /// Largest number of eligible processes; a fraction is the probability of one more [process].
    pub max_eligible: OrOwn,
    /// Queues of the traffic controller [level].
    pub levels: u64,
    /// Processor time of a process while it is eligible, in the first queue; it doubles with each further queue [s].
    pub quantum: OrOwn,
    /// Order of eligible processes of one level: the last whose page arrived first, or the first to become eligible
    /// first.
    pub priority: PriorityName,
    /// Whether a process that becomes ready takes the processor from one of lower priority.
    pub preempt: bool,
    /// Exponent with which the useful time between misses grows with the places held, for pages and segments.
    pub lifetime_exponent: f64,
    /// Mean useful time between page faults of a process with 32 pages in core [ms].
    pub headway: OrOwn,
    /// Mean useful time between gate faults [ms].
    pub gate_headway: OrOwn,
    /// Mean useful time between segment faults of a process with 8 active segments [ms].
    pub segment_headway: OrOwn,
    /// Size of the table of active segments [segment].
    pub active_segments: OrOwn,
    /// Share of a process's pages and segments still used by its next command.
    pub kept: f64,
    /// Share of the replaced pages that are written to the drum.
    pub modified: f64,
    /// Order of page transfers on the drum: the page that passes the heads first, or order of arrival.
    pub drum_organisation: Organisation,
    /// Revolution time of the drum [ms].
    pub drum_rotation: f64,
    /// Pages per revolution [page].
    pub drum_sectors: u64,
    /// Share of the pages read that come from a disk.
    pub disk_share: f64,
    /// Disk arms [arm].
    pub disk_arms: u64,
    /// Mean access time of a disk, uniform between half and one and a half of this [ms].
    pub disk_access: f64,
    /// Users logged in [user].
    pub users: u64,
    /// Script that users play repeatedly.
    #[serde(deserialize_with = "script")]
    pub script: Script,
    /// Order of its lines: in sequence, or at random.
    pub order: LineOrder,
    /// Think time of users who play the script [s].
    pub think: Value,
    /// Factor on the script's processor time.
    pub demand: OrOwn,
    /// Resolution of the clock with which users who play the script measure response times; 0: exact [s].
    pub clock_resolution: Span,
    /// Delay between the response of the system and its appearance at the terminal [s].
    pub terminal_delay: OrOwn,
    /// Time to type a line of a reply, after which the terminal interrupts [s].
    pub line_time: Span,
    /// Number of users who type lines of the script in any order instead of playing it [user].
    pub normal_users: u64,
    /// Think time of these users [s].
    pub normal_think: Distribution,
    /// Factor on the processor time of their lines.
    pub normal_demand: f64,
    /// Number of processes of the system itself, such as backup [process].
    pub housekeeping: u64,
    /// Pause of such a process [s].
    pub housekeeping_think: Distribution,
    /// Useful processor time between its pauses [s].
    pub housekeeping_cpu: Distribution,
    /// Pages it refers to [page].
    pub housekeeping_pages: u64,
}
