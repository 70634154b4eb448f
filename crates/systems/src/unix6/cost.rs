//! Estimated cost of a run.

use super::config::{Config, Workload};
use super::machine::HERTZ;
use crate::kernel::{Cost, RunLength, rate, throughput};

/// Events and steps of a block that is read or written: the call, the block, the disk, its interrupt.
const EVENTS_PER_BLOCK: f64 = 3.2;
/// Of a block at a random place, which is in no buffer.
const EVENTS_PER_RANDOM_BLOCK: f64 = 7.0;
/// Of a wait for the terminal line.
const EVENTS_PER_WAIT: f64 = 2.2;
/// Events and steps of an interaction besides its transfers: computing, the pause, swaps.
const EVENTS_PER_INTERACTION: f64 = 7.0;
/// Share of the i-nodes and buffers that an update writes.
const WRITTEN_SHARE: f64 = 0.33;
/// Ticks of the clock, per second of a run that lasts until the disk has served all: it mostly ends earlier.
const TICKS_PER_S: f64 = 0.4 * HERTZ as f64;
/// Time of the disk for a block that is read or written, those that are in a buffer included [s].
const DISK_S: f64 = 0.03;
/// Time of the disk for a click of an image that is swapped [s].
const SWAP_S_PER_CLICK: f64 = 0.0002;
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
            .events("update_interval", WRITTEN_SHARE * update * per_update)
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
                    + strings * (self.costs.call.seconds() + self.costs.print(plan.characters).seconds());
                let per_s = throughput(workers, plan.pause.mean(), demand, 1.0)
                    .min(rate(operations * blocks * DISK_S + self.swap_s()));
                // The run ends with the last interaction of the last worker.
                let interactions = (length_s * per_s).min(workers * plan.interactions as f64);
                cost.events("length", TICKS_PER_S * length_s.min(interactions / per_s))
                    .events("interactions", EVENTS_PER_INTERACTION * interactions)
                    .events("operations", EVENTS_PER_BLOCK * interactions * operations * blocks)
                    .events("strings", EVENTS_PER_WAIT * interactions * writes)
            }
            Workload::Children(plan) => {
                let reads = plan.reads as f64;
                let demand = plan.compute.seconds() / self.speed
                    + reads * (self.costs.call.seconds() + self.costs.block.seconds());
                let per_s = throughput(workers, plan.pause.seconds(), demand, 1.0)
                    .min(rate(reads * DISK_S + self.swap_s()));
                let cycles = (length_s * per_s).min(workers * plan.cycles as f64);
                cost.events("length", TICKS_PER_S * length_s.min(cycles / per_s))
                    .events("cycles", EVENTS_PER_INTERACTION * cycles)
                    .events("reads", EVENTS_PER_RANDOM_BLOCK * cycles * reads)
            }
        }
    }
    /// Time of the disk for the swaps of an interaction: the share of the images that memory does not hold goes out and
    /// comes in [s].
    fn swap_s(&self) -> f64 {
        let images = self.images() as f64;
        if self.frames() > 0 || images <= self.memory as f64 {
            return 0.0;
        }
        let mean = images / f64::from(self.workers()).max(1.0);
        2.0 * mean * SWAP_S_PER_CLICK * (1.0 - self.memory as f64 / images)
    }
}
