//! Disks and network interfaces: activity of each in an interval, and which of them add up.

use std::collections::BTreeMap;

use thinktime_log::vocabulary::STACKED_DISKS;

use crate::kernel::files::Root;
use crate::proc::diskstats::{Disk, SECTOR_BYTES};
use crate::proc::net_dev::Interface;
use crate::sample::counters::{Differences, Family};
use crate::sample::sheet::Draft;

/// Kind of block device that a name stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeviceClass {
    /// A partition: not counted, because its disk is.
    pub is_part: bool,
    /// Hardware. Requests to devices on top of it (device mapper, RAID, loop) would be counted twice.
    pub is_physical: bool,
}

/// Classifies block devices, by `/sys/block` if it is mounted and by name otherwise.
#[derive(Debug)]
pub struct Devices {
    root: Root,
    /// Classes determined so far.
    classes: BTreeMap<String, DeviceClass>,
    has_sys: bool,
}

impl Devices {
    /// A classifier for the devices below `root`.
    pub fn new(root: &Root) -> Devices {
        Devices { root: root.clone(), classes: BTreeMap::new(), has_sys: root.exists("/sys/block") }
    }

    /// The class of the block device `name`.
    pub fn class(&mut self, name: &str) -> DeviceClass {
        if let Some(class) = self.classes.get(name) {
            return *class;
        }
        let class = if self.has_sys { self.by_sys(name) } else { by_name(name) };
        // Determined once: a name keeps its class as long as the machine runs.
        self.classes.insert(name.into(), class);
        class
    }

    fn by_sys(&self, name: &str) -> DeviceClass {
        // sysfs cannot have a slash in a name, such as cciss/c0d0.
        let folder = format!("/sys/block/{}", name.replace('/', "!"));
        // Partitions are folders within that of their disk.
        let is_part = !self.root.exists(&folder);
        DeviceClass { is_part, is_physical: !is_part && self.root.exists(&format!("{folder}/device")) }
    }
}

/// The class by the naming rules of the kernel's drivers.
pub fn by_name(name: &str) -> DeviceClass {
    let ends_in_digit = name.ends_with(|last: char| last.is_ascii_digit());
    let numbered = [
        "nvme", "mmcblk", "loop", "nbd", "zram", "ram", "md", "dm-", "cciss/", "pmem", "bcache", "drbd", "sr",
    ];
    let is_part = if numbered.iter().any(|prefix| name.starts_with(prefix)) {
        // nvme0n1p2: a `p` between two digits.
        let digits = name.trim_end_matches(|last: char| last.is_ascii_digit());
        ends_in_digit
            && digits.strip_suffix('p').is_some_and(|disk| disk.ends_with(|last: char| last.is_ascii_digit()))
    } else {
        ends_in_digit
    };
    let is_physical = !is_part && !STACKED_DISKS.iter().any(|prefix| name.starts_with(prefix));
    DeviceClass { is_part, is_physical }
}

/// Adds a term to a sum that is unknown as soon as one term is.
fn sum<T: std::ops::Add<Output = T>>(total: &mut Option<T>, part: Option<T>) {
    *total = total.take().zip(part).map(|(total, part)| total + part);
}

/// Activity of one disk in an interval; `None` for a counter that was reset in it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DiskDelta {
    /// Reads completed.
    pub reads: Option<u64>,
    /// Writes completed.
    pub writes: Option<u64>,
    /// Bytes read.
    pub read_bytes: Option<u64>,
    /// Bytes written.
    pub write_bytes: Option<u64>,
    /// Time from request to completion, summed over reads [s].
    pub read_wait_s: Option<f64>,
    /// Time from request to completion, summed over writes [s].
    pub write_wait_s: Option<f64>,
    /// Time with at least one request in progress [s].
    pub busy_s: Option<f64>,
    /// Requests in progress, integrated over time [s].
    pub queue_s: Option<f64>,
}

impl DiskDelta {
    /// The neutral element of [`DiskDelta::add`].
    pub fn zero() -> DiskDelta {
        DiskDelta {
            reads: Some(0),
            writes: Some(0),
            read_bytes: Some(0),
            write_bytes: Some(0),
            read_wait_s: Some(0.0),
            write_wait_s: Some(0.0),
            busy_s: Some(0.0),
            queue_s: Some(0.0),
        }
    }

    /// Activity from `before` to `after`.
    pub fn between(before: &Disk, after: &Disk, differences: &mut Differences) -> DiskDelta {
        let mut take = |family, item: &str, before, after| {
            differences.take(family, before, after, || format!("/proc/diskstats {item}"))
        };
        let bytes = |sectors: Option<u64>| sectors.map(|sectors| sectors.saturating_mul(SECTOR_BYTES));
        let seconds = |milliseconds: Option<u64>| milliseconds.map(|value| value as f64 * 1e-3);
        DiskDelta {
            reads: take(Family::DiskAmounts, "reads", before.reads, after.reads),
            writes: take(Family::DiskAmounts, "writes", before.writes, after.writes),
            read_bytes: bytes(take(
                Family::DiskAmounts,
                "sectors read",
                before.read_sectors,
                after.read_sectors,
            )),
            write_bytes: bytes(take(
                Family::DiskAmounts,
                "sectors written",
                before.write_sectors,
                after.write_sectors,
            )),
            read_wait_s: seconds(take(Family::DiskMilliseconds, "ms reading", before.read_ms, after.read_ms)),
            write_wait_s: seconds(take(
                Family::DiskMilliseconds,
                "ms writing",
                before.write_ms,
                after.write_ms,
            )),
            busy_s: seconds(take(Family::DiskMilliseconds, "ms busy", before.busy_ms, after.busy_ms)),
            queue_s: seconds(take(Family::DiskMilliseconds, "ms weighted", before.queue_ms, after.queue_ms)),
        }
    }

    /// Adds the activity of another disk.
    pub fn add(&mut self, other: &DiskDelta) {
        sum(&mut self.reads, other.reads);
        sum(&mut self.writes, other.writes);
        sum(&mut self.read_bytes, other.read_bytes);
        sum(&mut self.write_bytes, other.write_bytes);
        sum(&mut self.read_wait_s, other.read_wait_s);
        sum(&mut self.write_wait_s, other.write_wait_s);
        sum(&mut self.busy_s, other.busy_s);
        sum(&mut self.queue_s, other.queue_s);
    }

    /// Sets the columns of table `disks`.
    pub fn write(&self, row: &mut Draft<'_>) {
        row.set("reads", self.reads);
        row.set("writes", self.writes);
        row.set("read_bytes", self.read_bytes);
        row.set("write_bytes", self.write_bytes);
        row.set("read_wait_s", self.read_wait_s);
        row.set("write_wait_s", self.write_wait_s);
        row.set("busy_s", self.busy_s);
        row.set("queue_s", self.queue_s);
    }
}

/// Traffic of one interface in an interval; `None` for a counter that was reset in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NetDelta {
    /// Packets received.
    pub packets_in: Option<u64>,
    /// Packets sent.
    pub packets_out: Option<u64>,
    /// Bytes received.
    pub bytes_in: Option<u64>,
    /// Bytes sent.
    pub bytes_out: Option<u64>,
    /// Damaged or failed packets, received and sent together.
    pub errors: Option<u64>,
    /// Dropped packets, received and sent together.
    pub drops: Option<u64>,
}

impl NetDelta {
    /// The neutral element of [`NetDelta::add`].
    pub fn zero() -> NetDelta {
        let none = Some(0);
        NetDelta {
            packets_in: none,
            packets_out: none,
            bytes_in: none,
            bytes_out: none,
            errors: none,
            drops: none,
        }
    }

    /// Traffic from `before` to `after`.
    pub fn between(before: &Interface, after: &Interface, differences: &mut Differences) -> NetDelta {
        let mut take = |item: &str, before, after| {
            differences.take(Family::Network, before, after, || format!("/proc/net/dev {item}"))
        };
        let mut both = |item: &str, received: (u64, u64), sent: (u64, u64)| {
            let mut total = take(item, received.0, received.1);
            sum(&mut total, take(item, sent.0, sent.1));
            total
        };
        let errors =
            both("errors", (before.errors_in, after.errors_in), (before.errors_out, after.errors_out));
        let drops = both("drops", (before.drops_in, after.drops_in), (before.drops_out, after.drops_out));
        NetDelta {
            packets_in: take("packets received", before.packets_in, after.packets_in),
            packets_out: take("packets sent", before.packets_out, after.packets_out),
            bytes_in: take("bytes received", before.bytes_in, after.bytes_in),
            bytes_out: take("bytes sent", before.bytes_out, after.bytes_out),
            errors,
            drops,
        }
    }

    /// Adds the traffic of another interface.
    pub fn add(&mut self, other: &NetDelta) {
        sum(&mut self.packets_in, other.packets_in);
        sum(&mut self.packets_out, other.packets_out);
        sum(&mut self.bytes_in, other.bytes_in);
        sum(&mut self.bytes_out, other.bytes_out);
        sum(&mut self.errors, other.errors);
        sum(&mut self.drops, other.drops);
    }

    /// Sets the columns of table `interfaces`.
    pub fn write(&self, row: &mut Draft<'_>) {
        row.set("packets_in", self.packets_in);
        row.set("packets_out", self.packets_out);
        row.set("bytes_in", self.bytes_in);
        row.set("bytes_out", self.bytes_out);
        row.set("errors", self.errors);
        row.set("drops", self.drops);
    }
}

#[cfg(test)]
mod tests {
    use super::by_name;

    #[test]
    fn names_of_disks() {
        for (name, is_part, is_physical) in [
            ("sda", false, true),
            ("sda1", true, false),
            ("vda", false, true),
            ("xvdb2", true, false),
            ("nvme0n1", false, true),
            ("nvme0n1p2", true, false),
            ("mmcblk0", false, true),
            ("mmcblk0p1", true, false),
            ("dm-3", false, false),
            ("md127", false, false),
            ("loop7", false, false),
            ("zram0", false, false),
            ("cciss/c0d0", false, true),
            ("cciss/c0d0p1", true, false),
            ("sr0", false, true),
        ] {
            let class = by_name(name);
            assert_eq!((class.is_part, class.is_physical), (is_part, is_physical), "{name}");
        }
    }
}
