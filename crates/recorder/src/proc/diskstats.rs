//! `/proc/diskstats`: what every block device did.

use std::fmt::Display;

use super::{Fields, ParseError, items, lines, shown};

/// Bytes of a sector in this file, whatever the device's own sector is.
pub const SECTOR_BYTES: u64 = 512;

/// Counters of one device since it appeared. The times are milliseconds in 32 bits.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Disk {
    pub name: String,
    pub reads: u64,
    pub read_sectors: u64,
    pub read_ms: u64,
    pub writes: u64,
    pub write_sectors: u64,
    pub write_ms: u64,
    pub in_progress: u64,
    pub busy_ms: u64,
    /// Requests in progress, integrated over time.
    pub queue_ms: u64,
}

/// Reads `/proc/diskstats`. Partitions in the four-field form of kernels before 2.6.25 are passed over.
pub fn parse(text: &[u8], path: impl Display) -> Result<Vec<Disk>, ParseError> {
    let mut disks = Vec::new();
    for (at, line) in lines(text) {
        if items(line).count() <= 7 {
            continue;
        }
        let mut words = items(line).skip(2);
        let name = words.next().map(shown).unwrap_or_default();
        let mut fields = Fields::new(words, &path, at);
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
            // Printed with a sign by kernels that miscounted; below zero is none.
            in_progress: u64::try_from(fields.need_signed("in progress")?).unwrap_or(0),
            busy_ms: fields.need("ms busy")?,
            queue_ms: fields.need("ms weighted")?,
        });
    }
    Ok(disks)
}
