//! Differences of cumulative counters: their width in the kernel, and the meaning of a step back.

/// Number of bits in which the kernel counts, before the counter starts again at zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Width {
    /// `u32`.
    Bits32,
    /// The kernel's `unsigned long`: 32 bits on 32-bit machines.
    Long,
    /// `u64`.
    Bits64,
}

/// A family of counters that behave alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    /// Busy states of `/proc/stat`.
    CpuBusy,
    /// Idle and I/O wait of `/proc/stat`: the kernel lets both run backwards.
    CpuIdle,
    /// `intr` and `ctxt`.
    KernelEvents,
    /// `processes` of `/proc/stat`.
    Forks,
    /// `softirq` of `/proc/stat`, one type.
    SoftirqByType,
    /// `/proc/vmstat`.
    Vmstat,
    /// Operations and sectors of `/proc/diskstats`.
    DiskAmounts,
    /// Milliseconds of `/proc/diskstats`: start again after 49.7 days of device time.
    DiskMilliseconds,
    /// `/proc/net/dev`.
    Network,
    /// Microseconds of `/proc/pressure`.
    Pressure,
    /// Nanoseconds of cpuacct, cpu.stat and schedstat.
    ExactTime,
}

/// The one table of widths (Linux sources, fs/proc/stat.c, mm/vmstat.c, block/genhd.c,
/// net/core/net-procfs.c, kernel/sched/psi.c).
const WIDTHS: [(Family, Width); 11] = [
    (Family::CpuBusy, Width::Bits64),
    (Family::CpuIdle, Width::Bits64),
    (Family::KernelEvents, Width::Bits64),
    (Family::Forks, Width::Long),
    (Family::SoftirqByType, Width::Bits32),
    (Family::Vmstat, Width::Long),
    (Family::DiskAmounts, Width::Long),
    (Family::DiskMilliseconds, Width::Bits32),
    (Family::Network, Width::Bits64),
    (Family::Pressure, Width::Bits64),
    (Family::ExactTime, Width::Bits64),
];

impl Family {
    /// Width of this family's counters in the kernel.
    pub fn width(self) -> Width {
        WIDTHS.iter().find(|(family, _)| *family == self).map_or(Width::Bits64, |(_, width)| *width)
    }

    /// True if a small step back is an artefact of the kernel's accounting and counts as no growth.
    fn may_step_back(self) -> bool {
        self == Family::CpuIdle
    }
}

/// A counter that went back, for the incidents of the manifest.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Setback {
    /// Kind of incident: `counter_wrap` or `counter_reset`.
    pub kind: &'static str,
    /// File and field, such as `/proc/stat ctxt`.
    pub counter: String,
}

/// Takes differences of counters, and collects the counters that went back.
#[derive(Debug)]
pub struct Differences {
    long_bits: u32,
    /// Incidents since they were last taken.
    pub setbacks: Vec<Setback>,
}

impl Differences {
    /// `long_bits` is the width of the recorded kernel's `unsigned long`.
    pub fn new(long_bits: u32) -> Differences {
        Differences { long_bits, setbacks: Vec::new() }
    }

    fn bits(&self, family: Family) -> u32 {
        match family.width() {
            Width::Bits32 => 32,
            Width::Long => self.long_bits,
            Width::Bits64 => 64,
        }
    }

    /// Growth of the counter; `None` when it cannot be determined.
    ///
    /// A counter that falls from the upper half of its range by more than half of it has started
    /// again at zero. Any other fall is a reset, after which the growth is unknown.
    ///
    /// `name` is called only for a counter that went back: naming thousands of counters at every sample
    /// would cost more than subtracting them.
    pub fn take(
        &mut self,
        family: Family,
        before: u64,
        after: u64,
        name: impl FnOnce() -> String,
    ) -> Option<u64> {
        if after >= before {
            return Some(after - before);
        }
        if family.may_step_back() {
            self.setbacks
                .push(Setback { kind: "counter_reset", counter: format!("{} ran backwards", name()) });
            return Some(0);
        }
        let bits = self.bits(family);
        // 32 or 64 bits, never 0: the shift cannot overflow.
        let mask = u64::MAX >> (64 - bits);
        let grown = after.wrapping_sub(before) & mask;
        let wrapped = before <= mask && before > mask / 2 && grown <= mask / 2;
        let kind = if wrapped { "counter_wrap" } else { "counter_reset" };
        self.setbacks.push(Setback { kind, counter: name() });
        wrapped.then_some(grown)
    }

    /// The same for a counter that this kernel may lack.
    pub fn take_optional(
        &mut self,
        family: Family,
        before: Option<u64>,
        after: Option<u64>,
        name: impl FnOnce() -> String,
    ) -> Option<u64> {
        self.take(family, before?, after?, name)
    }
}
