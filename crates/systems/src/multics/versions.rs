//! Differences between the system of 1969 and that of 1971: path lengths, and installation.

use super::events::EVENTS;
use super::traffic::Order;

/// Defaults of the parameters that differ between the versions.
#[derive(Clone, Copy, Debug)]
pub(super) struct Version {
    /// Name in the parameter `version`.
    pub name: &'static str,
    /// Mean length of the paths with 256 Kwords of core, by event [ms].
    pub paths_ms: [f64; EVENTS],
    /// Growth of these lengths with each further 128 Kwords of core [ms].
    pub growth_ms: [f64; EVENTS],
    /// Mean useful time between page faults with 32 pages in core [ms].
    pub headway_ms: f64,
    /// Mean useful time between gate faults [ms].
    pub gate_headway_ms: f64,
    /// Mean useful time between segment faults with 8 active segments [ms].
    pub segment_headway_ms: f64,
    /// Entries of the table of active segments.
    pub active_segments: u64,
    /// Share of a page fault's path per examined place of core [ms].
    pub examine_ms: f64,
    /// Processor time of a process while it is eligible, in the first queue [s].
    pub quantum_s: f64,
    /// Largest number of eligible processes.
    pub max_eligible: f64,
    /// Factor on the script's processor time.
    pub demand: f64,
    /// Order of the eligible processes of a level.
    pub order: Order,
    /// Delay between a response and its appearance at the terminal [s].
    pub terminal_delay_s: f64,
    /// Whether the script's lines are taken at random.
    pub shuffled: bool,
}

/// The 3.1.1 system (July and August 1969), and System 14 (January to April 1971).
pub(super) const VERSIONS: [Version; 2] = [
    Version {
        name: "3.1.1",
        paths_ms: [6.9, 0.99, 1.10, 3.41, 25.0, 4.0],
        growth_ms: [0.0; EVENTS],
        headway_ms: 5.4,
        gate_headway_ms: 50.0,
        segment_headway_ms: 22.0,
        active_segments: 78,
        examine_ms: 0.3,
        quantum_s: 1.5,
        max_eligible: 4.0,
        demand: 1.0,
        order: Order::FirstEligible,
        terminal_delay_s: 1.0,
        shuffled: false,
    },
    Version {
        name: "14",
        paths_ms: [1.95, 0.99, 1.10, 3.41, 15.37, 3.67],
        growth_ms: [0.30, 0.42, 0.32, 0.65, 0.2, 0.0],
        headway_ms: 4.65,
        gate_headway_ms: 50.4,
        segment_headway_ms: 396.0,
        active_segments: 300,
        examine_ms: 0.0,
        quantum_s: 1.5,
        max_eligible: 4.5,
        demand: 2.0,
        order: Order::LastReady,
        terminal_delay_s: 0.0,
        shuffled: true,
    },
];
