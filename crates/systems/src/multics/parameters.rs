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

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Parameters {
    #[serde(deserialize_with = "named")]
    pub version: &'static Version,
    pub cpus: u64,
    pub core: u64,
    pub wired: u64,
    pub page_fault_path: OrOwn,
    pub getwork_path: OrOwn,
    pub drum_interrupt_path: OrOwn,
    pub interrupt_path: OrOwn,
    pub segment_fault_path: OrOwn,
    pub gate_fault_path: OrOwn,
    pub path_growth: bool,
    pub path_cv: f64,
    pub examine: OrOwn,
    pub interference: f64,
    pub locks: Locking,
    pub spin_interference: f64,
    pub segment_lock_share: f64,
    pub traffic_lock_share: f64,
    pub hold_through_getwork: bool,
    pub interrupts: InterruptRouting,
    pub eligibility: EligibilityRule,
    pub max_eligible: OrOwn,
    pub levels: u64,
    pub quantum: OrOwn,
    pub priority: PriorityName,
    pub preempt: bool,
    pub lifetime_exponent: f64,
    pub headway: OrOwn,
    pub gate_headway: OrOwn,
    pub segment_headway: OrOwn,
    pub active_segments: OrOwn,
    pub kept: f64,
    pub modified: f64,
    pub drum_organisation: Organisation,
    pub drum_rotation: f64,
    pub drum_sectors: u64,
    pub disk_share: f64,
    pub disk_arms: u64,
    pub disk_access: f64,
    pub users: u64,
    #[serde(deserialize_with = "script")]
    pub script: Script,
    pub order: LineOrder,
    pub think: Value,
    pub demand: OrOwn,
    pub clock_resolution: Span,
    pub terminal_delay: OrOwn,
    pub line_time: Span,
    pub normal_users: u64,
    pub normal_think: Distribution,
    pub normal_demand: f64,
    pub housekeeping: u64,
    pub housekeeping_think: Distribution,
    pub housekeeping_cpu: Distribution,
    pub housekeeping_pages: u64,
}
