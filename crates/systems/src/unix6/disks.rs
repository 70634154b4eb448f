//! The drives, and the places of swap area and files on them.

use serde_json::{Value, json};
use thinktime_engine::controller::{Controller, Policy};
use thinktime_engine::disk::{Geometry, Rotation, Transfer};
use thinktime_engine::{Calendar, Component, Span, Streams};

use super::files::FilePlace;
use super::meters::Counts;
use super::parameters::{CylinderCrossing, DiskModel, Parameters};
use super::units::{BLOCK_BYTES, DISKS};
use crate::kernel::{ParameterError, Settings, refuse};

/// The drives, and the places of swap area and files on them.
#[derive(Clone, Debug)]
pub(super) struct Disks {
    /// Drives on the controller, one or two.
    pub drives: u32,
    /// Every drive is alike.
    geometry: Geometry,
    /// Order of service.
    policy: Policy,
    /// Drive of the swap area.
    pub swap_drive: u32,
    /// First block of the swap area.
    pub swap_start: u64,
    /// Length of the swap area [block].
    pub swap_blocks: u64,
    /// Drive of the files.
    pub file_drive: u32,
    /// First block of the first file.
    pub file_start: u64,
    /// Blocks from there on that belong to the files [block].
    pub file_span: u64,
}

/// The devices that input and output need, lent by the machine for one piece of work.
pub(super) struct Io<'a> {
    /// Where transfers are asked for.
    pub disks: &'a mut Controller,
    /// Where they are counted.
    pub counts: &'a mut Counts,
    /// Where their ends become due.
    pub calendar: &'a mut Calendar,
}

/// An RL01 (Table I): 256 cylinders of two tracks of 20 blocks, 15 ms to the next cylinder, 55 ms over the mean
/// distance of two cylinders, which is 85, and 100 ms over all (the maker's value): linear between these.
const RL01: Geometry = Geometry {
    cylinders: 256,
    tracks_per_cylinder: 2,
    blocks_per_track: 20,
    revolution: Span(25_000_000),
    start: Span::ZERO,
    seek: Span(15_000_000),
    seek_further: Span(476_190),
    seek_far: Some((85, Span(264_706))),
    rotation: Rotation::Position,
    transfer: Transfer::Revolutions,
};

/// The drive of the parameters.
fn geometry(parameters: &Parameters) -> Geometry {
    if parameters.disk == DiskModel::Rl01 {
        let transfer = match parameters.cylinder_crossing {
            CylinderCrossing::Seek => Transfer::Tracks,
            CylinderCrossing::Revolution => Transfer::Revolutions,
        };
        return Geometry { transfer, ..RL01 };
    }
    let further = parameters.cylinder_time;
    Geometry {
        cylinders: parameters.cylinders,
        tracks_per_cylinder: 1,
        blocks_per_track: parameters.blocks_per_cylinder,
        revolution: Span::ZERO,
        start: parameters.access_time,
        seek: further,
        seek_further: further,
        seek_far: None,
        // The simple disk has one access time, which contains the latency.
        rotation: Rotation::Fixed(Span::ZERO),
        transfer: Transfer::Each(parameters.transfer_time),
    }
}

impl Disks {
    /// The drives of `parameters`; the swap area begins at block `swap_start`, or at a cylinder of the parameters.
    pub fn new(parameters: &Parameters, swap_start: Option<u64>) -> Disks {
        let geometry = geometry(parameters);
        let drives = parameters.drives as u32;
        // On a machine with one drive everything lies on that.
        let drive = |given: u64| (given as u32).min(drives - 1);
        let per_cylinder = geometry.tracks_per_cylinder * geometry.blocks_per_track;
        Disks {
            drives,
            geometry,
            policy: Policy {
                discipline: parameters.disk_policy,
                sweep: parameters.sweep,
                overlapped_seeks: parameters.overlapped_seeks,
                pause: Span::from_seconds(parameters.interrupt_time),
            },
            swap_drive: drive(parameters.swap_drive),
            swap_start: swap_start.unwrap_or(parameters.swap_cylinder * per_cylinder),
            swap_blocks: parameters.swap_blocks,
            file_drive: drive(parameters.file_drive),
            file_start: parameters.file_cylinder * per_cylinder,
            file_span: parameters.file_span,
        }
    }

    /// Refuses areas that overlap or reach over the end of a drive; the files take `files` blocks.
    pub fn check(
        &self,
        parameters: &Parameters,
        settings: &Settings,
        files: u64,
    ) -> Result<(), ParameterError> {
        self.check_swap_area(parameters, settings)?;
        if files > self.file_span {
            let remedy = format!("give at least the {files} blocks of all files, or fewer or smaller files");
            return Err(refuse!(settings, parameters.file_span, &remedy));
        }
        let size = self.geometry.blocks();
        let files_end = self.file_start + self.file_span;
        let cylinder = |block: u64| self.geometry.cylinder(block);
        let swap_end = self.swap_start + self.swap_blocks;
        if files_end > size {
            let remedy = format!(
                "give a span of files that ends within the drive's {size} blocks, not at {files_end}, or a lower \
                 file_cylinder"
            );
            return Err(refuse!(settings, parameters.file_span, &remedy));
        }
        let apart = swap_end <= self.file_start || files_end <= self.swap_start;
        // Overlapping areas would corrupt nothing here, but shorten the seeks between them.
        if self.swap_drive == self.file_drive && !apart {
            if !parameters.swap_start.is_string() {
                let remedy = format!(
                    "give a block from {files_end} on: on the same drive the files take blocks {} to {}",
                    self.file_start,
                    files_end - 1
                );
                return Err(refuse!(settings, parameters.swap_start, &remedy));
            }
            let remedy = format!(
                "give a cylinder from {} on: on the same drive the files take cylinders {} to {}",
                cylinder(files_end) + 1,
                cylinder(self.file_start),
                cylinder(files_end)
            );
            return Err(refuse!(settings, parameters.swap_cylinder, &remedy));
        }
        Ok(())
    }

    fn check_swap_area(&self, parameters: &Parameters, settings: &Settings) -> Result<(), ParameterError> {
        let (size, end) = (self.geometry.blocks(), self.swap_start + self.swap_blocks);
        if end <= size {
            return Ok(());
        }
        let remedy = format!("give a swap area that ends within the drive's {size} blocks, not at {end}");
        Err(refuse!(settings, parameters.swap_blocks, &remedy))
    }

    /// Refuses places of files, of `space` blocks each, that overlap, or reach into the swap area or over the end of
    /// their drive.
    pub fn check_places(
        &self,
        parameters: &Parameters,
        settings: &Settings,
        places: &[FilePlace],
        space: u64,
    ) -> Result<(), ParameterError> {
        self.check_swap_area(parameters, settings)?;
        let refuse = |remedy: &str| Err(refuse!(settings, parameters.shared_file_places, remedy));
        let mut pieces = Vec::new();
        for place in places {
            match place {
                FilePlace::From(first) => pieces.push((*first, first.saturating_add(space))),
                FilePlace::Blocks(blocks) if blocks.len() as u64 == space => {
                    pieces.extend(blocks.iter().map(|block| (*block, block.saturating_add(1))));
                }
                FilePlace::Blocks(_) => {
                    return refuse(&format!(
                        "give {space} blocks for each file: those of shared_file_blocks, and its blocks of addresses"
                    ));
                }
            }
        }
        pieces.sort_unstable();
        let size = self.geometry.blocks();
        if pieces.last().is_some_and(|(_, end)| *end > size) {
            return refuse(&format!("give blocks below {size}, the end of the drive"));
        }
        if pieces.windows(2).any(|two| two[0].1 > two[1].0) {
            return refuse("give each block of the drive to one file, and once");
        }
        let (from, to) = (self.swap_start, self.swap_start + self.swap_blocks);
        let inside = |(first, end): &(u64, u64)| *first < to && from < *end;
        if self.swap_drive == self.file_drive && pieces.iter().any(inside) {
            return refuse(&format!(
                "give blocks outside the swap area, which has those from {from} to {} of the same drive",
                to - 1
            ));
        }
        Ok(())
    }

    /// The controller with its drives. Customers: each buffer, the swapper, and with paging each process.
    pub fn controller(&self, buffers: u32, processes: u32, streams: &Streams) -> Controller {
        let drives = vec![self.geometry; self.drives as usize];
        let stream = streams.stream(Component("disks"), 0);
        Controller::new("disk controller", &drives, self.policy, DISKS, buffers + 1 + processes, stream)
    }

    /// The maker's data, for the log: mean access over all pairs of cylinders, and time of a byte.
    pub fn describe(&self) -> Value {
        let geometry = &self.geometry;
        // Mean of |i - j| over all pairs of n cylinders, (n - 1/n) / 3.
        let distance = (geometry.cylinders as f64 - 1.0 / geometry.cylinders as f64) / 3.0;
        let seek = geometry.seek_time(distance.round() as u64).seconds();
        let latency = geometry.revolution.seconds() / 2.0;
        let block = geometry.transfer_time(0, 1).seconds();
        let drive = |number: u32| {
            json!({
                "name": format!("drive{number}"),
                "cylinders": geometry.cylinders,
                "tracks_per_cylinder": geometry.tracks_per_cylinder,
                "blocks_per_track": geometry.blocks_per_track,
                "block_bytes": BLOCK_BYTES,
                "start_s": geometry.start.seconds(),
                "track_to_track_seek_s": geometry.seek.seconds(),
                "mean_seek_s": seek,
                "mean_latency_s": latency,
                "mean_access_s": geometry.start.seconds() + seek + latency,
                "transfer_s_per_byte": block / BLOCK_BYTES as f64,
            })
        };
        (0..self.drives).map(drive).collect()
    }
}
