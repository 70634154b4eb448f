//! The parameters of `parameters.toml`, as fields.

use serde::Deserialize;
use serde_json::Value;
use thinktime_engine::controller::Sweep;
use thinktime_engine::disk::QueueDiscipline;
use thinktime_engine::{Distribution, Span};

use crate::kernel::choices;

choices! {
    FullBlockWrites { AtOnce, Delayed }
    SleepResolution { Individual, Shared }
    SwapperRule { Unix6, Balanced }
    MemoryManagement { Swapping, Paging }
    DiskModel { Rl01, Simple }
    CylinderCrossing { Revolution, Seek }
    FileLayout { Spaced, Contiguous, Scattered }
    WorkloadName { Prototypes, Children }
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Parameters {
    pub memory: u64,
    pub cpu_speed: f64,
    pub call_time: f64,
    pub block_time: f64,
    pub character_time: f64,
    pub interrupt_time: f64,
    pub copy_time: f64,
    pub baud: u64,
    pub high_water: u64,
    pub low_water: u64,
    pub buffers: u64,
    pub read_ahead: bool,
    pub full_block_writes: FullBlockWrites,
    pub update_interval: Span,
    pub other_inodes: u64,
    pub sleep_resolution: SleepResolution,
    pub minimum_time_out: u64,
    pub minimum_time_in: u64,
    pub swapper: SwapperRule,
    pub target_ready: u64,
    pub balance_wait: u64,
    pub init_size: u64,
    pub update_size: u64,
    pub shell_size: u64,
    pub parent_size: u64,
    pub memory_management: MemoryManagement,
    pub page_size: u64,
    pub page_share: f64,
    pub page_modified: f64,
    pub disk: DiskModel,
    pub cylinder_crossing: CylinderCrossing,
    pub disk_policy: QueueDiscipline,
    pub sweep: Sweep,
    pub drives: u64,
    pub overlapped_seeks: bool,
    pub access_time: Span,
    pub cylinder_time: Span,
    pub transfer_time: Span,
    pub cylinders: u64,
    pub blocks_per_cylinder: u64,
    pub swap_drive: u64,
    pub swap_cylinder: u64,
    pub swap_blocks: u64,
    pub file_drive: u64,
    pub file_cylinder: u64,
    pub file_span: u64,
    pub file_layout: FileLayout,
    pub file_places: u64,
    pub address_blocks: bool,
    pub workload: WorkloadName,
    pub processes: u64,
    pub size: Value,
    pub text: u64,
    pub interactions: u64,
    pub warm_up_on_output: bool,
    pub pc: u64,
    pub compute: Value,
    pub pause: Distribution,
    pub strings: Distribution,
    pub string_length: u64,
    pub operations: Distribution,
    pub operation_bytes: Distribution,
    pub write_share: f64,
    pub seek_share: f64,
    pub seek_unit: u64,
    pub file_blocks: u64,
    pub cycles: u64,
    pub cycle_time: Span,
    pub reads: u64,
    pub read_time: f64,
    pub shared_file_blocks: u64,
    pub cycle_pause: Span,
}
