//! `/proc/vmstat`: page faults, paging, swapping and reclaim.

use std::fmt::Display;

use super::{ParseError, items, lines, number, shown};

/// Counters since boot. Kernels before 4.8 count reclaim by zone, all count allocation by zone: zones are summed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Vmstat {
    /// Read from block devices, by the page cache and by swapping [KiB].
    pub paged_in_kib: Option<u64>,
    /// Written to block devices [KiB].
    pub paged_out_kib: Option<u64>,
    /// Pages read from swap.
    pub swap_in: Option<u64>,
    /// Pages written to swap.
    pub swap_out: Option<u64>,
    /// All page faults, the major ones included.
    pub faults: Option<u64>,
    /// Page faults that read from a disk.
    pub faults_major: Option<u64>,
    /// Pages allocated.
    pub allocated: Option<u64>,
    /// Pages freed.
    pub freed: Option<u64>,
    /// Pages reclaimed: taken from a cache or a process, as the kernel's `pgsteal`.
    pub stolen: Option<u64>,
    /// Pages examined for reclaim.
    pub scanned: Option<u64>,
    /// Page faults served with a huge page.
    pub faults_huge: Option<u64>,
    /// Pages of files that were modified.
    pub dirtied: Option<u64>,
    /// Pages of files that were written back.
    pub written: Option<u64>,
}

impl Vmstat {
    /// Lines that the file lacks.
    pub fn absent(&self) -> impl Iterator<Item = &'static str> {
        let counters = [
            ("pgpgin", self.paged_in_kib),
            ("pgpgout", self.paged_out_kib),
            ("pswpin", self.swap_in),
            ("pswpout", self.swap_out),
            ("pgfault", self.faults),
            ("pgmajfault", self.faults_major),
            ("pgalloc_*", self.allocated),
            ("pgfree", self.freed),
            ("pgsteal_*", self.stolen),
            ("pgscan_*", self.scanned),
            ("thp_fault_alloc", self.faults_huge),
            ("nr_dirtied", self.dirtied),
            ("nr_written", self.written),
        ];
        counters.into_iter().filter(|(_, counter)| counter.is_none()).map(|(name, _)| name)
    }
}

/// Adds to a sum that stays absent if the kernel prints no term of it.
fn add(sum: &mut Option<u64>, part: u64) {
    *sum = Some(sum.unwrap_or(0).wrapping_add(part));
}

/// True if `key` is a term of the sum that starts with `prefix`.
///
/// Since 5.8 kernels split one amount in two ways: by who reclaims and by what is reclaimed. Only the first is
/// summed, which is also the only one of older kernels; both together would count each page twice.
fn is_reclaim(key: &[u8], prefix: &[u8]) -> bool {
    key.strip_prefix(prefix).is_some_and(|by| by != b"anon" && by != b"file" && by != b"direct_throttle")
}

/// Counters among lines of which most are gauges.
const SINGLE: [&[u8]; 3] = [b"thp_fault_alloc", b"nr_dirtied", b"nr_written"];

/// Counters from the text of `/proc/vmstat`.
pub fn parse(text: &[u8], path: impl Display) -> Result<Vmstat, ParseError> {
    let mut vmstat = Vmstat::default();
    for (row, line) in lines(text) {
        let mut words = items(line);
        let key = words.next().unwrap_or_default();
        // Only these are read; `nr_free_pages` and other gauges may be anything.
        if !key.starts_with(b"pg") && !key.starts_with(b"psw") && !SINGLE.contains(&key) {
            continue;
        }
        let value = words.next().unwrap_or_default();
        let value = number(value).ok_or_else(|| {
            ParseError::new(&path, row, shown(key), format!("{:?} is not a 64-bit number", shown(value)))
        })?;
        match key {
            b"pgpgin" => vmstat.paged_in_kib = Some(value),
            b"pgpgout" => vmstat.paged_out_kib = Some(value),
            b"pswpin" => vmstat.swap_in = Some(value),
            b"pswpout" => vmstat.swap_out = Some(value),
            b"pgfault" => vmstat.faults = Some(value),
            b"pgmajfault" => vmstat.faults_major = Some(value),
            b"pgfree" => vmstat.freed = Some(value),
            b"thp_fault_alloc" => vmstat.faults_huge = Some(value),
            b"nr_dirtied" => vmstat.dirtied = Some(value),
            b"nr_written" => vmstat.written = Some(value),
            _ if key.starts_with(b"pgalloc_") => add(&mut vmstat.allocated, value),
            _ if is_reclaim(key, b"pgsteal_") => add(&mut vmstat.stolen, value),
            _ if is_reclaim(key, b"pgscan_") => add(&mut vmstat.scanned, value),
            _ => {}
        }
    }
    Ok(vmstat)
}
