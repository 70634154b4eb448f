//! Rows of one interval, from the snapshots at its two ends.

use thinktime_log::{Row, Value, vocabulary};

use crate::proc::pressure::Pressure;
use crate::proc::stat::CpuTicks;
use crate::sample::counters::{Differences, Family};
use crate::sample::devices::{Devices, DiskDelta, NetDelta};
use crate::sample::sheet::{Draft, Sheet};
use crate::sample::system::Snapshot;

/// Sheets of the system-wide tables.
#[derive(Debug)]
pub struct SystemSheets {
    /// A row an interval.
    pub samples: Sheet,
    /// A row for each CPU that was not idle throughout.
    pub cpus: Sheet,
    /// A row for each disk with a request.
    pub disks: Sheet,
    /// A row for each interface with traffic.
    pub interfaces: Sheet,
}

/// Rows of one interval, without the columns of `samples` that the processes and the recorder itself add.
pub struct SystemRows<'a> {
    /// Row of `samples`, to be completed.
    pub sample: Draft<'a>,
    /// Rows of `cpus`.
    pub cpus: Vec<Row>,
    /// Rows of `disks`.
    pub disks: Vec<Row>,
    /// Rows of `interfaces`.
    pub interfaces: Vec<Row>,
    /// CPU time outside idle as sampled at the tick, summed over the CPUs [s].
    pub busy_sampled_s: f64,
}

/// Beginning and length of the interval, and the kernel's unit of CPU time.
#[derive(Clone, Copy, Debug)]
pub struct Interval {
    /// Beginning by the wall clock [µs since 1970 UTC].
    pub start_us: i64,
    /// Length by the monotonic clock, since the wall clock may be set meanwhile [s].
    pub length_s: f64,
    /// Length of a clock tick of `/proc/stat` [s].
    pub tick_s: f64,
}

impl Default for SystemSheets {
    fn default() -> Self {
        SystemSheets {
            samples: Sheet::new(vocabulary::samples()),
            cpus: Sheet::new(vocabulary::cpus()),
            disks: Sheet::new(vocabulary::disks()),
            interfaces: Sheet::new(vocabulary::interfaces()),
        }
    }
}

impl SystemSheets {
    /// Rows for the interval from `before` to `after`.
    pub fn rows(
        &self,
        interval: Interval,
        before: &Snapshot,
        after: &Snapshot,
        devices: &mut Devices,
        differences: &mut Differences,
    ) -> SystemRows<'_> {
        let mut sample = self.samples.row();
        sample.set("start", Value::Time(interval.start_us));
        sample.set("length_s", interval.length_s);
        let total = CpuDelta::between(&before.stat.total, &after.stat.total, differences, "all CPUs");
        total.write(&mut sample, interval.tick_s);
        kernel_events(&mut sample, before, after, differences);
        memory_flow(&mut sample, before, after, differences);
        pressure(&mut sample, before, after, differences);
        gauges(&mut sample, after);
        let cpus = self.cpu_rows(interval, before, after, differences);
        let disks = self.disk_rows(interval, before, after, devices, differences, &mut sample);
        let interfaces = self.interface_rows(interval, before, after, differences, &mut sample);
        SystemRows { sample, cpus, disks, interfaces, busy_sampled_s: total.busy() as f64 * interval.tick_s }
    }

    fn cpu_rows(
        &self,
        interval: Interval,
        before: &Snapshot,
        after: &Snapshot,
        differences: &mut Differences,
    ) -> Vec<Row> {
        let mut rows = Vec::new();
        for (cpu, now) in &after.stat.cpus {
            // A CPU that was not there before was plugged in: its interval is not known.
            let Ok(index) = before.stat.cpus.binary_search_by_key(cpu, |(number, _)| *number) else {
                continue;
            };
            let delta = CpuDelta::between(&before.stat.cpus[index].1, now, differences, "one CPU");
            // An absent row means idle, which most CPUs of large machines are most of the time.
            if delta.busy() == 0 && delta.steal.unwrap_or(0) == 0 {
                continue;
            }
            let mut row = self.cpus.row();
            row.set("start", Value::Time(interval.start_us));
            row.set("cpu", u64::from(*cpu));
            delta.write(&mut row, interval.tick_s);
            rows.push(row.finish());
        }
        rows
    }

    fn disk_rows(
        &self,
        interval: Interval,
        before: &Snapshot,
        after: &Snapshot,
        devices: &mut Devices,
        differences: &mut Differences,
        sample: &mut Draft<'_>,
    ) -> Vec<Row> {
        let (Some(old), Some(new)) = (&before.disks, &after.disks) else { return Vec::new() };
        let mut rows = Vec::new();
        let mut total = DiskDelta::zero();
        for disk in new {
            let class = devices.class(&disk.name);
            if class.is_part {
                continue;
            }
            // A disk that was plugged in has no earlier reading: its counters may not have begun at zero.
            let Some(previous) = old.iter().find(|other| other.name == disk.name) else { continue };
            // With a request in progress the disk is busy, even if none ended in the interval.
            if disk == previous && disk.in_progress == 0 {
                continue;
            }
            let delta = DiskDelta::between(previous, disk, differences);
            if class.is_physical {
                // Devices on top of others have rows, but are not in the total: their requests reach the
                // disks below and are counted there.
                total.add(&delta);
            }
            let mut row = self.disks.row();
            row.set("start", Value::Time(interval.start_us));
            row.set("device", disk.name.as_str());
            row.set("in_progress", disk.in_progress);
            delta.write(&mut row);
            rows.push(row.finish());
        }
        sample.set("disk_reads", total.reads);
        sample.set("disk_writes", total.writes);
        sample.set("disk_read_bytes", total.read_bytes);
        sample.set("disk_write_bytes", total.write_bytes);
        sample.set("disk_busy_s", total.busy_s);
        rows
    }

    fn interface_rows(
        &self,
        interval: Interval,
        before: &Snapshot,
        after: &Snapshot,
        differences: &mut Differences,
        sample: &mut Draft<'_>,
    ) -> Vec<Row> {
        let (Some(old), Some(new)) = (&before.interfaces, &after.interfaces) else { return Vec::new() };
        let mut rows = Vec::new();
        let mut total = NetDelta::zero();
        let mut loopback = NetDelta::zero();
        for interface in new {
            let Some(previous) = old.iter().find(|other| other.name == interface.name) else { continue };
            if interface == previous {
                continue;
            }
            let delta = NetDelta::between(previous, interface, differences);
            if interface.name == "lo" {
                loopback.add(&delta)
            } else {
                total.add(&delta)
            }
            let mut row = self.interfaces.row();
            row.set("start", Value::Time(interval.start_us));
            row.set("interface", interface.name.as_str());
            delta.write(&mut row);
            rows.push(row.finish());
        }
        sample.set("net_packets_in", total.packets_in);
        sample.set("net_packets_out", total.packets_out);
        sample.set("net_bytes_in", total.bytes_in);
        sample.set("net_bytes_out", total.bytes_out);
        // Each packet over the loopback is sent once and received once: sent packets are counted.
        sample.set("loopback_packets", loopback.packets_out);
        sample.set("loopback_bytes", loopback.bytes_out);
        rows
    }
}

/// CPU time by state in an interval [tick].
struct CpuDelta {
    user: Option<u64>,
    nice: Option<u64>,
    system: Option<u64>,
    irq: Option<u64>,
    softirq: Option<u64>,
    steal: Option<u64>,
    idle: Option<u64>,
    iowait: Option<u64>,
}

impl CpuDelta {
    fn between(before: &CpuTicks, after: &CpuTicks, differences: &mut Differences, of: &str) -> CpuDelta {
        let mut take = |family, state: &str, before: Option<u64>, after: Option<u64>| {
            differences.take_optional(family, before, after, || format!("/proc/stat {state} of {of}"))
        };
        CpuDelta {
            user: take(Family::CpuBusy, "user", Some(before.user), Some(after.user)),
            nice: take(Family::CpuBusy, "nice", Some(before.nice), Some(after.nice)),
            system: take(Family::CpuBusy, "system", Some(before.system), Some(after.system)),
            irq: take(Family::CpuBusy, "irq", before.irq, after.irq),
            softirq: take(Family::CpuBusy, "softirq", before.softirq, after.softirq),
            steal: take(Family::CpuBusy, "steal", before.steal, after.steal),
            idle: take(Family::CpuIdle, "idle", Some(before.idle), Some(after.idle)),
            iowait: take(Family::CpuIdle, "iowait", before.iowait, after.iowait),
        }
    }

    /// Time in all states that are work, neither idle nor stolen [tick].
    fn busy(&self) -> u64 {
        // Guest time is not added: the kernel has it in `user` and `nice` already.
        [self.user, self.nice, self.system, self.irq, self.softirq].into_iter().flatten().sum()
    }

    fn write(&self, row: &mut Draft<'_>, tick_s: f64) {
        let states = [
            ("user_s", self.user),
            ("nice_s", self.nice),
            ("system_s", self.system),
            ("irq_s", self.irq),
            ("softirq_s", self.softirq),
            ("steal_s", self.steal),
            ("idle_s", self.idle),
            ("iowait_s", self.iowait),
        ];
        for (column, ticks) in states {
            row.set(column, ticks.map(|ticks| ticks as f64 * tick_s));
        }
    }
}

/// Switches, interrupts and forks.
fn kernel_events(sample: &mut Draft<'_>, before: &Snapshot, after: &Snapshot, differences: &mut Differences) {
    let (old, new) = (&before.stat, &after.stat);
    let mut take = |family, name: &str, before, after| {
        differences.take_optional(family, before, after, || format!("/proc/stat {name}"))
    };
    let switches = take(Family::KernelEvents, "ctxt", old.context_switches, new.context_switches);
    let interrupts = take(Family::KernelEvents, "intr", old.interrupts, new.interrupts);
    let forks = take(Family::Forks, "processes", old.forks, new.forks);
    sample.set("context_switches", switches);
    sample.set("interrupts", interrupts);
    sample.set("forks", forks);
    for (index, name) in vocabulary::SOFTIRQ_TYPES.iter().enumerate() {
        // Older kernels have fewer types: the rest stays null.
        let (old, new) = (old.softirqs.get(index).copied(), new.softirqs.get(index).copied());
        sample.set(&format!("softirq_{name}"), take(Family::SoftirqByType, "softirq by type", old, new));
    }
}

/// Page faults, paging, swapping and reclaim.
fn memory_flow(sample: &mut Draft<'_>, before: &Snapshot, after: &Snapshot, differences: &mut Differences) {
    let (Some(old), Some(new)) = (&before.vmstat, &after.vmstat) else { return };
    let mut take = |name: &str, before, after| {
        differences.take_optional(Family::Vmstat, before, after, || format!("/proc/vmstat {name}"))
    };
    let faults = take("pgfault", old.faults, new.faults);
    let major = take("pgmajfault", old.faults_major, new.faults_major);
    // Both grow while the file is read: a major fault may be in one of them only.
    let minor = faults.zip(major).map(|(all, major)| all.saturating_sub(major));
    sample.set("page_faults_minor", minor);
    sample.set("page_faults_major", major);
    let bytes = |kib: Option<u64>| kib.map(|kib| kib.saturating_mul(1024));
    sample.set("paged_in_bytes", bytes(take("pgpgin", old.paged_in_kib, new.paged_in_kib)));
    sample.set("paged_out_bytes", bytes(take("pgpgout", old.paged_out_kib, new.paged_out_kib)));
    sample.set("swap_in_pages", take("pswpin", old.swap_in, new.swap_in));
    sample.set("swap_out_pages", take("pswpout", old.swap_out, new.swap_out));
    sample.set("pages_reclaimed", take("pgsteal", old.stolen, new.stolen));
    sample.set("pages_scanned", take("pgscan", old.scanned, new.scanned));
    sample.set("pages_allocated", take("pgalloc", old.allocated, new.allocated));
    sample.set("pages_freed", take("pgfree", old.freed, new.freed));
    sample.set("page_faults_huge", take("thp_fault_alloc", old.faults_huge, new.faults_huge));
    sample.set("pages_dirtied", take("nr_dirtied", old.dirtied, new.dirtied));
    sample.set("pages_written_back", take("nr_written", old.written, new.written));
}

/// Stall times. CPUs have no `full`: while one task waits for a CPU, another uses it.
fn pressure(sample: &mut Draft<'_>, before: &Snapshot, after: &Snapshot, differences: &mut Differences) {
    let mut take = |column: &str, before: Option<u64>, after: Option<u64>| {
        let grown =
            differences.take_optional(Family::Pressure, before, after, || format!("pressure {column}"));
        sample.set(column, grown.map(|microseconds| microseconds as f64 * 1e-6));
    };
    let some = |of: &Option<Pressure>| of.and_then(|pressure| pressure.some_us);
    let full = |of: &Option<Pressure>| of.and_then(|pressure| pressure.full_us);
    take("psi_cpu_some_s", some(&before.pressure_cpu), some(&after.pressure_cpu));
    take("psi_memory_some_s", some(&before.pressure_memory), some(&after.pressure_memory));
    take("psi_memory_full_s", full(&before.pressure_memory), full(&after.pressure_memory));
    take("psi_io_some_s", some(&before.pressure_io), some(&after.pressure_io));
    take("psi_io_full_s", full(&before.pressure_io), full(&after.pressure_io));
}

/// Values at the end of the interval; all others are differences over it.
fn gauges(sample: &mut Draft<'_>, after: &Snapshot) {
    sample.set("runnable", after.stat.runnable);
    sample.set("blocked", after.stat.blocked);
    sample.set("threads", after.load.and_then(|load| load.threads));
    sample.set("load_1m", after.load.map(|load| load.one_minute));
    sample.set("load_5m", after.load.map(|load| load.five_minutes));
    sample.set("load_15m", after.load.map(|load| load.fifteen_minutes));
    sample.set("sessions", after.sessions);
    let Some(memory) = &after.memory else { return };
    let gauges = [
        ("memory_total_bytes", memory.total),
        ("memory_free_bytes", memory.free),
        ("memory_available_bytes", memory.available),
        ("memory_buffers_bytes", memory.buffers),
        ("memory_cached_bytes", memory.cached),
        ("memory_anonymous_bytes", memory.anonymous),
        ("memory_dirty_bytes", memory.dirty),
        ("memory_slab_bytes", memory.slab),
        ("memory_page_tables_bytes", memory.page_tables),
        ("memory_committed_bytes", memory.committed),
        ("swap_total_bytes", memory.swap_total),
        ("swap_free_bytes", memory.swap_free),
    ];
    for (column, kib) in gauges {
        sample.set(column, kib.map(|kib| kib.saturating_mul(1024)));
    }
}
