//! Estimated cost of a run.

use super::config::{Config, Workload};
use super::machine::HERTZ;
use crate::kernel::{Cost, RunLength, rate, throughput};

/// Events and steps of a block that is read or written: the call, the block, the disk, its interrupt.
const EVENTS_PER_BLOCK: f64 = 12.0;
/// Events and steps of an interaction besides its transfers: computing, the pause, swaps.
const EVENTS_PER_INTERACTION: f64 = 20.0;
/// Memory of a process with its random streams [byte].
const PROCESS_BYTES: f64 = 4096.0;
/// Memory of a block buffer, or of the place of a block of a file [byte].
const BLOCK_BYTES: f64 = 128.0;

impl Config {
    /// Estimated events and memory of a run.
    pub(super) fn cost(&self, RunLength { length_s, .. }: RunLength) -> Cost {
        let workers = f64::from(self.workers());
        let (files, blocks) = self.files();
        let buffers = f64::from(self.buffers);
        let update = length_s * rate(self.update_interval.seconds());
        // An update writes each i-node and each buffer that has changed.
        let per_update = 10.0 + self.other_inodes as f64 + files as f64 + buffers.min(100.0);
        let cost = Cost::default()
            .events("length", HERTZ as f64 * length_s)
            .events("update_interval", update * per_update)
            .bytes("processes", PROCESS_BYTES * workers)
            .bytes("buffers", BLOCK_BYTES * buffers)
            .bytes("file_blocks", BLOCK_BYTES * files as f64 * blocks as f64)
            .bytes("memory", BLOCK_BYTES * self.frames() as f64);
        match &self.workload {
            Workload::Prototypes(plan) => {
                let (operations, strings) = (plan.operations.mean(), plan.strings.mean());
                let blocks = (plan.bytes.mean() / 512.0).clamp(1.0, plan.file_blocks as f64);
                // A string wakes its writer each time that the line has run down to the low water mark.
                let room = (self.line.high_water - self.line.low_water).max(1) as f64;
                let writes = strings * (plan.characters as f64 / room + 1.0);
                let demand = plan.compute.mean() / self.speed
                    + operations * (self.costs.call.seconds() + blocks * self.costs.block.seconds())
                    + strings * self.costs.call.seconds();
                let most = length_s * throughput(workers, plan.pause.mean(), demand, 1.0);
                let interactions = most.min(workers * plan.interactions as f64);
                cost.events("interactions", EVENTS_PER_INTERACTION * interactions)
                    .events("operations", EVENTS_PER_BLOCK * interactions * operations * blocks)
                    .events("strings", EVENTS_PER_BLOCK * interactions * writes)
            }
            Workload::Children(plan) => {
                let reads = plan.reads as f64;
                let demand = plan.compute.seconds() / self.speed
                    + reads * (self.costs.call.seconds() + self.costs.block.seconds());
                let most = length_s * throughput(workers, plan.pause.seconds(), demand, 1.0);
                let cycles = most.min(workers * plan.cycles as f64);
                cost.events("cycles", EVENTS_PER_INTERACTION * cycles)
                    .events("reads", EVENTS_PER_BLOCK * cycles * reads)
            }
        }
    }
}
