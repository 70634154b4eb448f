//! Files of a control group: `key value` lines, devices, and limits (cgroups(7), Documentation/admin-guide/
//! cgroup-v2.rst and cgroup-v1/ of the kernel).
//!
//! Keys that a kernel lacks are absent. A value that is no number is absent too: a group may vanish while its file is
//! read, which leaves a part of it.

use super::{items, lines, number};

/// Values of the lines `key value`.
pub fn keyed(text: &[u8]) -> impl Iterator<Item = (&[u8], u64)> {
    lines(text).filter_map(|(_, line)| {
        let mut words = items(line);
        Some((words.next()?, number(words.next()?)?))
    })
}

/// A file that is one number; `None` for `max`, for the largest number of pages, which says the same, and for what is
/// no number.
pub fn single(text: &[u8]) -> Option<u64> {
    const NO_LIMIT: u64 = 1 << 62;
    number(text.trim_ascii()).filter(|value| *value < NO_LIMIT)
}

/// Sums over the devices.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Transfers {
    /// Amount read.
    pub read: u64,
    /// Amount written.
    pub written: u64,
}

/// Bytes and operations in `io.stat` of version 2: `8:0 rbytes=1 wbytes=2 rios=3 wios=4 ...`.
pub fn io_stat(text: &[u8]) -> (Transfers, Transfers) {
    let (mut bytes, mut operations) = (Transfers::default(), Transfers::default());
    for word in lines(text).flat_map(|(_, line)| items(line)) {
        let mut parts = word.splitn(2, |byte| *byte == b'=');
        let (Some(key), Some(value)) = (parts.next(), parts.next().and_then(number)) else { continue };
        let sum = match key {
            b"rbytes" => &mut bytes.read,
            b"wbytes" => &mut bytes.written,
            b"rios" => &mut operations.read,
            b"wios" => &mut operations.written,
            _ => continue,
        };
        *sum = sum.saturating_add(value);
    }
    (bytes, operations)
}

/// Bytes or operations in a `blkio.throttle` file of version 1: `8:0 Read 1`, `8:0 Write 2`, ..., `Total 3`.
pub fn blkio(text: &[u8]) -> Transfers {
    let mut sums = Transfers::default();
    for (_, line) in lines(text) {
        let mut words = items(line).skip(1);
        let (direction, value) = (words.next(), words.next().and_then(number).unwrap_or(0));
        let sum = match direction {
            Some(b"Read") => &mut sums.read,
            Some(b"Write") => &mut sums.written,
            _ => continue,
        };
        *sum = sum.saturating_add(value);
    }
    sums
}
