//! `/proc/meminfo`: how memory is used now.

use std::fmt::Display;

use super::{ParseError, items, lines, number, shown};

/// Gauges in KiB.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Meminfo {
    pub total: Option<u64>,
    pub free: Option<u64>,
    pub available: Option<u64>,
    pub buffers: Option<u64>,
    pub cached: Option<u64>,
    pub anonymous: Option<u64>,
    pub dirty: Option<u64>,
    pub slab: Option<u64>,
    pub page_tables: Option<u64>,
    pub committed: Option<u64>,
    pub swap_total: Option<u64>,
    pub swap_free: Option<u64>,
}

/// Reads `/proc/meminfo`.
pub fn parse(text: &[u8], path: impl Display) -> Result<Meminfo, ParseError> {
    let mut memory = Meminfo::default();
    for (at, line) in lines(text) {
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
            ParseError::new(&path, at, shown(key), format!("{:?} is no number of 64 bits", shown(value)))
        })?);
    }
    Ok(memory)
}
