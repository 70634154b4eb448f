//! The parameters of `parameters.toml`, as fields.

use serde::Deserialize;
use thinktime_engine::{Distribution, Span};
use thinktime_script::Script;

use super::levels::Preempt;
use crate::kernel::{choices, script};

choices! {
    SwapDevice { Drum, Disk }
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Parameters {
    pub users: u64,
    pub normal_users: u64,
    #[serde(deserialize_with = "script")]
    pub script: Script,
    pub normal_think: Distribution,
    pub normal_demand: f64,
    pub line_time: Span,
    pub line_overhead: Span,
    pub clock_resolution: Span,
    pub levels: u64,
    pub quantum: f64,
    pub preempt: Preempt,
    pub background: bool,
    pub background_words: u64,
    pub core: u64,
    pub partial_swap: bool,
    pub swap_device: SwapDevice,
    pub drum_revolution: f64,
    pub drum_word_time: f64,
    pub disk_seek: f64,
    pub disk_revolution: f64,
    pub disk_word_time: f64,
    pub disk_record_words: u64,
}
