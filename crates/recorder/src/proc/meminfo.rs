//! `/proc/meminfo`: present use of memory.
//!
//! Fields: Documentation/filesystems/proc.rst of the kernel.

use std::fmt::Display;

use super::{ParseError, items, lines, number, shown};

/// Gauges [KiB]; `None` where the kernel does not print the line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Meminfo {
    /// Usable memory, without what the kernel's image takes [KiB].
    pub total: Option<u64>,
    /// Memory used for nothing [KiB].
    pub free: Option<u64>,
    /// Kernel's estimate of what new programs can get without swapping (since 3.14) [KiB].
    pub available: Option<u64>,
    /// Cached disk blocks that are not file contents, such as metadata of file systems [KiB].
    pub buffers: Option<u64>,
    /// Cached file contents, tmpfs and shared memory included [KiB].
    pub cached: Option<u64>,
    /// Mapped pages without a file behind them: heaps and stacks [KiB].
    pub anonymous: Option<u64>,
    /// File contents to be written to disk [KiB].
    pub dirty: Option<u64>,
    /// Objects of the kernel: inodes, directory entries, network buffers [KiB].
    pub slab: Option<u64>,
    /// Page tables of processes [KiB].
    pub page_tables: Option<u64>,
    /// Memory promised to processes, used or not [KiB].
    pub committed: Option<u64>,
    /// Size of the swap areas [KiB].
    pub swap_total: Option<u64>,
    /// Free part of the swap areas [KiB].
    pub swap_free: Option<u64>,
}

impl Meminfo {
    /// Lines that the file lacks.
    pub fn absent(&self) -> impl Iterator<Item = &'static str> {
        let gauges = [
            ("MemTotal", self.total),
            ("MemFree", self.free),
            ("MemAvailable", self.available),
            ("Buffers", self.buffers),
            ("Cached", self.cached),
            ("AnonPages", self.anonymous),
            ("Dirty", self.dirty),
            ("Slab", self.slab),
            ("PageTables", self.page_tables),
            ("Committed_AS", self.committed),
            ("SwapTotal", self.swap_total),
            ("SwapFree", self.swap_free),
        ];
        gauges.into_iter().filter(|(_, gauge)| gauge.is_none()).map(|(name, _)| name)
    }
}

/// Gauges from the text of `/proc/meminfo`.
pub fn parse(text: &[u8], path: impl Display) -> Result<Meminfo, ParseError> {
    let mut memory = Meminfo::default();
    for (row, line) in lines(text) {
        let mut words = items(line);
        let gauge = match words.next().unwrap_or_default() {
            b"MemTotal:" => &mut memory.total,
            b"MemFree:" => &mut memory.free,
            b"MemAvailable:" => &mut memory.available,
            b"Buffers:" => &mut memory.buffers,
            b"Cached:" => &mut memory.cached,
            b"AnonPages:" => &mut memory.anonymous,
            b"Dirty:" => &mut memory.dirty,
            b"Slab:" => &mut memory.slab,
            b"PageTables:" => &mut memory.page_tables,
            b"Committed_AS:" => &mut memory.committed,
            b"SwapTotal:" => &mut memory.swap_total,
            b"SwapFree:" => &mut memory.swap_free,
            _ => continue,
        };
        let value = words.next().unwrap_or_default();
        *gauge = Some(number(value).ok_or_else(|| {
            let key = line.split(|byte| *byte == b':').next().unwrap_or_default();
            ParseError::new(&path, row, shown(key), format!("{:?} is not a 64-bit number", shown(value)))
        })?);
    }
    Ok(memory)
}
