//! `/proc/vmstat`: the flow of pages.

use std::fmt::Display;

use super::{ParseError, items, lines, number, shown};

/// Counters since boot. Older kernels count reclaim and allocation by zone: the zones are summed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Vmstat {
    /// Read from block devices, in KiB.
    pub paged_in_kib: Option<u64>,
    pub paged_out_kib: Option<u64>,
    /// Pages.
    pub swap_in: Option<u64>,
    pub swap_out: Option<u64>,
    /// All page faults, the major ones among them.
    pub faults: Option<u64>,
    pub faults_major: Option<u64>,
    pub allocated: Option<u64>,
    pub freed: Option<u64>,
    pub stolen: Option<u64>,
    pub scanned: Option<u64>,
}

/// Adds to a sum that is absent until its first part comes.
fn add(sum: &mut Option<u64>, part: u64) {
    *sum = Some(sum.unwrap_or(0).wrapping_add(part));
}

/// Of the two ways in which newer kernels split one amount (by who reclaims, by what is reclaimed),
/// only the first is summed, which is also the only one of older kernels.
fn is_reclaim(key: &[u8], prefix: &[u8]) -> bool {
    key.strip_prefix(prefix).is_some_and(|by| by != b"anon" && by != b"file" && by != b"direct_throttle")
}

/// Reads `/proc/vmstat`.
pub fn parse(text: &[u8], path: impl Display) -> Result<Vmstat, ParseError> {
    let mut vmstat = Vmstat::default();
    for (at, line) in lines(text) {
        // Only these families are read; `nr_free_pages` and other gauges may be anything.
        if !line.starts_with(b"pg") && !line.starts_with(b"psw") {
            continue;
        }
        let mut words = items(line);
        let key = words.next().unwrap_or_default();
        let value = words.next().unwrap_or_default();
        let value = number(value).ok_or_else(|| {
            ParseError::new(&path, at, shown(key), format!("{:?} is no number of 64 bits", shown(value)))
        })?;
        match key {
            b"pgpgin" => vmstat.paged_in_kib = Some(value),
            b"pgpgout" => vmstat.paged_out_kib = Some(value),
            b"pswpin" => vmstat.swap_in = Some(value),
            b"pswpout" => vmstat.swap_out = Some(value),
            b"pgfault" => vmstat.faults = Some(value),
            b"pgmajfault" => vmstat.faults_major = Some(value),
            b"pgfree" => vmstat.freed = Some(value),
            _ if key.starts_with(b"pgalloc_") => add(&mut vmstat.allocated, value),
            _ if is_reclaim(key, b"pgsteal_") => add(&mut vmstat.stolen, value),
            _ if is_reclaim(key, b"pgscan_") => add(&mut vmstat.scanned, value),
            _ => {}
        }
    }
    Ok(vmstat)
}
