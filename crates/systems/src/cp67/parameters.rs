//! The parameters of `parameters.toml`, as fields.

use serde::de::Error as _;
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use thinktime_engine::drum::Organisation;
use thinktime_engine::{Distribution, Span};

use super::periods::{PERIODS, Period};
use crate::kernel::{OrOwn, choices};

choices! {
    ScheduleName { OfPeriod, Experiment }
    AlgorithmName { OfVersion, Old, New, Counterbalanced }
}

/// Version of CP.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub(super) enum VersionName {
    #[serde(rename = "of_period")]
    OfPeriod,
    #[serde(rename = "II")]
    Two,
    #[serde(rename = "III")]
    Three,
}

fn named<'de, D: Deserializer<'de>>(deserializer: D) -> Result<&'static Period, D::Error> {
    let name = String::deserialize(deserializer)?;
    let period = PERIODS.iter().find(|period| period.name == name);
    period.ok_or_else(|| D::Error::custom(format!("there is no period {name}")))
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Parameters {
    #[serde(deserialize_with = "named")]
    pub period: &'static Period,
    pub schedule: ScheduleName,
    pub observations: OrOwn,
    pub version: VersionName,
    pub core_boxes: OrOwn,
    pub free_fret: AlgorithmName,
    pub first_shift: OrOwn,
    pub evening: OrOwn,
    pub night: OrOwn,
    pub weekend: OrOwn,
    pub day_sigma: f64,
    pub users: u64,
    pub restarts_per_day: f64,
    pub interactive: QueueParameters,
    pub batch: QueueParameters,
    pub time_slice: Span,
    pub cp_pages: u64,
    pub changed_share: f64,
    pub drum_organisation: Organisation,
    pub drum_revolution: Span,
    pub drum_pages: f64,
    pub drum_start: Span,
    pub spindles: u64,
    pub channels: u64,
    pub seek_share: f64,
    pub longest_seek: Span,
    pub disk_revolution: Span,
    pub disk_transfer: Span,
    pub lines_per_block: f64,
    pub printer_block_time: Span,
    pub print_delay: f64,
    pub reading_time: f64,
    pub reading_user_time: f64,
    pub reading_vsio: f64,
    pub reading_pages: f64,
    pub vsio: ServiceParameters,
    pub vmio: ServiceParameters,
    pub page_io: ServiceParameters,
    pub spool_io: ServiceParameters,
    pub page_io_path_version_two: Span,
    pub state_spread: f64,
    pub state_time: f64,
    pub path_variation: f64,
    pub privileged_share: OrOwn,
    pub base_path: OrOwn,
    pub free_time_old: Span,
    pub fret_time_old: Span,
    pub free_time_new: Span,
    pub fret_time_new: Span,
    pub find_time: Span,
    pub redispatch_time: Span,
    pub base_passes: f64,
    pub log_on_time: f64,
    pub log_off_time: f64,
    pub activities: f64,
    pub activity_time: f64,
    pub piece_time: Span,
    pub piece_pause: f64,
    pub session: f64,
    pub task: f64,
    pub break_share: f64,
    #[serde(rename = "break")]
    pub break_time: f64,
    pub mix_day: Value,
    pub mix_evening: Value,
    pub mix_night: Value,
    pub day_guest_sigma: f64,
    pub complexity_spread: f64,
    pub line_complexity_spread: f64,
    pub privileged_spread: f64,
    pub problem_sigma: f64,
    pub working_set_sigma: f64,
    pub reference_sigma: f64,
    pub lines_sigma: f64,
    pub edit: ClassParameters,
    pub develop: ClassParameters,
    pub compute: ClassParameters,
    pub guest: ClassParameters,
    pub line_problem_time: Span,
    pub line_time: Span,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct QueueParameters {
    pub users_per_box: f64,
    pub cpu_limit: Span,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ServiceParameters {
    pub path: Span,
    pub free_calls: f64,
    pub passes: f64,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ClassParameters {
    pub think: Distribution,
    pub problem: Distribution,
    pub vsio_gap: f64,
    pub vsio_sigma: f64,
    pub output_lines: f64,
    pub print_share: f64,
    pub print_lines: f64,
    pub working_set: f64,
    pub reference_rate: f64,
    pub new_pages: f64,
}
