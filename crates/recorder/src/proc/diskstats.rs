//! `/proc/diskstats`: operations, sectors and times of every block device.
//!
//! Fields: Documentation/admin-guide/iostats.rst of the kernel. Newer kernels append discards (4.18) and
//! flushes (5.5), which are not read.

use std::fmt::Display;

use super::{Fields, ParseError, items, lines, shown};

/// Bytes of a sector in this file, whatever the device's own sector size is.
pub const SECTOR_BYTES: u64 = 512;

/// Counters of one device since it appeared.
///
/// The kernel keeps the times in 32 bits: they start again at zero after 49.7 days of device time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Disk {
    /// Name as below `/sys/block`, with `/` instead of `!`.
    pub name: String,
    /// Reads completed; adjacent ones that the kernel merged count once.
    pub reads: u64,
    /// Amount read [sectors of [`SECTOR_BYTES`]].
    pub read_sectors: u64,
    /// Time from request to completion, summed over reads [ms].
    pub read_ms: u64,
    /// Writes completed; adjacent ones that the kernel merged count once.
    pub writes: u64,
    /// Amount written [sectors of [`SECTOR_BYTES`]].
    pub write_sectors: u64,
    /// Time from request to completion, summed over writes [ms].
    pub write_ms: u64,
    /// Requests issued and not completed, now.
    pub in_progress: u64,
    /// Time with at least one request in progress [ms].
    pub busy_ms: u64,
    /// Requests in progress, integrated over time [ms].
    pub queue_ms: u64,
}

/// Counters of every device and partition listed in `/proc/diskstats`.
pub fn parse(text: &[u8], path: impl Display) -> Result<Vec<Disk>, ParseError> {
    let mut disks = Vec::new();
    for (row, line) in lines(text) {
        // Kernels before 2.6.25 have four counters for a partition instead of eleven: no times, so not read.
        if items(line).count() <= 7 {
            continue;
        }
        // The device numbers come first; logs and users name devices.
        let mut words = items(line).skip(2);
        let name = words.next().map(shown).unwrap_or_default();
        let mut fields = Fields::new(words, &path, row);
        let reads = fields.need("reads completed")?;
        fields.need("reads merged")?;
        let (read_sectors, read_ms) = (fields.need("sectors read")?, fields.need("ms reading")?);
        let writes = fields.need("writes completed")?;
        fields.need("writes merged")?;
        let (write_sectors, write_ms) = (fields.need("sectors written")?, fields.need("ms writing")?);
        disks.push(Disk {
            name,
            reads,
            read_sectors,
            read_ms,
            writes,
            write_sectors,
            write_ms,
            // Kernels that miscounted print it with a sign; a count below zero means no request.
            in_progress: u64::try_from(fields.need_signed("in progress")?)
                .ok()
                .filter(|in_progress| *in_progress <= i32::MAX as u64)
                .unwrap_or(0),
            busy_ms: fields.need("ms busy")?,
            queue_ms: fields.need("ms weighted")?,
        });
    }
    Ok(disks)
}
