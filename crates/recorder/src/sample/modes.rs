//! CPU time in user mode and in the kernel, sampled by a clock of our own on each CPU.
//!
//! The kernel charges each of its ticks to the mode that it interrupts. But it also changes processes at its ticks: on
//! a busy CPU, a short run begins after one tick and is over before the next, so that no tick ever meets it. Work that
//! comes in short runs of kernel code (a child that is forked, runs and exits; an answer to a packet) then counts as
//! user time of whoever computes beside it. A clock whose period has no common multiple with the tick's meets every
//! mode as often as it lasts.
//!
//! The clock is the kernel's software event `cpu-clock` (`perf_event_open`), one for each CPU, silent while the CPU is
//! idle. A sample is a header of 8 bytes, which names the mode.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use thinktime_tracer::PerformanceEvent;

use crate::kernel::files::Root;
use crate::proc::stat::CpuTicks;

/// Least period [ns]: the golden section of a tick of 4 ms. Longer ones are multiples of it.
const PERIOD_NS: u64 = 2_472_136;
/// Samples of each CPU that an interval needs at most: the share of a mode is then known to 3 % of the CPU (standard
/// error). Longer intervals are sampled more slowly. A sample interrupts for 13 us where this was measured, a virtual
/// machine, so that the usual interval of 5 s costs less than a thousandth of a busy CPU.
const SAMPLES_PER_INTERVAL: u128 = 350;
/// Periods of the ticks that kernels have [s].
const TICKS_S: [f64; 5] = [0.001, 0.002, 1.0 / 300.0, 0.004, 0.01];
/// Samples over which phases are to be spread over a tick, and the widest gap between them that is allowed, as a share
/// of its period.
const SPREAD_OVER: i32 = 200;
const GAP_MAX: f64 = 0.05;
/// Bytes of the ring of a CPU: 4096 samples, so that a sample of the log may be four times as late as usual.
const RING_BYTES: usize = 32 * 1024;

const TYPE_SOFTWARE: u32 = 1;
const SOFTWARE_CPU_CLOCK: u64 = 0;
/// Bit `exclude_idle` of `flags`.
const EXCLUDE_IDLE: u64 = 1 << 7;
/// Places of `data_head` and `data_tail` in the first page of the mapping [byte].
const HEAD: usize = 1024;
const TAIL: usize = 1032;
/// Kinds of record.
const RECORD_LOST: u32 = 2;
const RECORD_SAMPLE: u32 = 9;
/// Bits of a record's `misc` that hold the mode, and two of the modes. A guest's time is its host's user time.
const MODE_MASK: u16 = 7;
const MODE_KERNEL: u16 = 1;

/// Samples since the sampler was opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Modes {
    /// In user mode.
    pub user: u64,
    /// In the kernel, on behalf of a task.
    pub kernel: u64,
    /// That found no room, or whose CPU was not watched: an interval in which this grows is not measured.
    pub lost: u64,
}

/// The samples of one CPU.
#[derive(Debug)]
struct Ring {
    cpu: u32,
    /// First page: the kernel's account of the ring; then the ring.
    mapping: NonNull<u8>,
    page_bytes: usize,
    tail: u64,
    /// Ends the event when it is closed.
    _event: OwnedFd,
}

// SAFETY: the mapping belongs to this value alone, and whoever has the value may read it.
unsafe impl Send for Ring {}

impl Ring {
    fn open(cpu: u32, period_ns: u64) -> io::Result<Ring> {
        let event = PerformanceEvent {
            kind: TYPE_SOFTWARE,
            config: SOFTWARE_CPU_CLOCK,
            sample_period: period_ns,
            flags: EXCLUDE_IDLE,
        };
        let event = event.open(cpu as i32)?;
        let page_bytes = rustix::param::page_size();
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: a new mapping, which replaces none.
        let mapping = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                page_bytes + ring_bytes(page_bytes),
                protection,
                libc::MAP_SHARED,
                event.as_raw_fd(),
                0,
            )
        };
        if mapping == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let mapping = NonNull::new(mapping.cast()).ok_or(io::ErrorKind::AddrNotAvailable)?;
        Ok(Ring { cpu, mapping, page_bytes, tail: 0, _event: event })
    }

    /// A word that this process and the kernel share, `offset` bytes into the mapping.
    fn word(&self, offset: usize) -> &AtomicU64 {
        // SAFETY: the offset is within the mapping and a multiple of 8, and all access to the word is atomic.
        unsafe { &*self.mapping.as_ptr().add(offset).cast::<AtomicU64>() }
    }

    /// Adds the samples since the last call to `modes`, and makes room for others.
    fn drain(&mut self, modes: &mut Modes) {
        // Acquire: the records before the head were written before it.
        let head = self.word(HEAD).load(Ordering::Acquire);
        let bytes = ring_bytes(self.page_bytes) as u64;
        // Records are multiples of 8 bytes, so that none of their words is cut at the end of the ring.
        let at = |place: u64| self.word(self.page_bytes + (place % bytes) as usize).load(Ordering::Relaxed);
        let mut place = self.tail;
        while place < head {
            let header = Header::of(at(place));
            match header.kind {
                RECORD_SAMPLE if header.mode == MODE_KERNEL => modes.kernel += 1,
                RECORD_SAMPLE => modes.user += 1,
                // Header, number of the event, number of samples lost.
                RECORD_LOST => modes.lost += at(place + 16),
                _ => {}
            }
            place += u64::from(header.bytes).max(8);
        }
        self.tail = head;
        // Release: the kernel may overwrite what has been read.
        self.word(TAIL).store(head, Ordering::Release);
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        // SAFETY: the mapping was made with this length, and nothing refers to it any longer.
        unsafe {
            libc::munmap(self.mapping.as_ptr().cast(), self.page_bytes + ring_bytes(self.page_bytes));
        }
    }
}

/// Size of a ring: pages, in number a power of two.
fn ring_bytes(page_bytes: usize) -> usize {
    RING_BYTES.max(page_bytes)
}

/// Header of a record: `u32` kind, `u16` misc, `u16` size, in the order of this machine's bytes.
struct Header {
    kind: u32,
    mode: u16,
    bytes: u16,
}

impl Header {
    fn of(word: u64) -> Header {
        let [k0, k1, k2, k3, m0, m1, b0, b1] = word.to_ne_bytes();
        Header {
            kind: u32::from_ne_bytes([k0, k1, k2, k3]),
            mode: u16::from_ne_bytes([m0, m1]) & MODE_MASK,
            bytes: u16::from_ne_bytes([b0, b1]),
        }
    }
}

/// Time between two samples of a CPU for intervals of length `interval` [ns]: the least that takes no more samples than
/// an interval needs, and is in step with no tick.
fn period_ns(interval: Duration) -> u64 {
    let wanted = (interval.as_nanos() / SAMPLES_PER_INTERVAL).div_ceil(u128::from(PERIOD_NS));
    let wanted = u64::try_from(wanted.max(1)).unwrap_or(1);
    let mut periods = (wanted..2 * wanted + 10).map(|multiple| PERIOD_NS.saturating_mul(multiple));
    let is_spread = |period_ns: &u64| TICKS_S.iter().all(|tick_s| widest_gap(*period_ns, *tick_s) < GAP_MAX);
    periods.find(is_spread).unwrap_or_else(|| PERIOD_NS.saturating_mul(wanted))
}

/// Widest gap between the phases at which samples meet a tick, as a share of its period.
fn widest_gap(period_ns: u64, tick_s: f64) -> f64 {
    let phase = |sample: i32| (f64::from(sample) * (period_ns as f64 * 1e-9 / tick_s)).fract();
    let mut phases: Vec<f64> = (0..SPREAD_OVER).map(phase).collect();
    phases.sort_by(f64::total_cmp);
    // Around the end of the period, the last is next to the first, which is 0.
    phases.push(1.0);
    phases.windows(2).map(|pair| pair[1] - pair[0]).fold(0.0, f64::max)
}

/// Samples the mode of every CPU.
#[derive(Debug)]
pub struct ModeSampler {
    rings: Vec<Ring>,
    period_ns: u64,
    modes: Modes,
}

impl ModeSampler {
    /// Source of the samples, for the manifest.
    pub const NAME: &'static str = "perf_event_open cpu-clock";

    /// A sampler of the CPUs of this machine, whose files are below `root`, for intervals of length `interval`.
    pub fn open(root: &Root, interval: Duration) -> io::Result<ModeSampler> {
        let text = root.text("/proc/stat").ok_or(io::ErrorKind::NotFound)?;
        let stat = crate::proc::stat::parse(text.as_bytes(), "/proc/stat").map_err(io::Error::other)?;
        let period_ns = period_ns(interval);
        let rings: io::Result<_> = stat.cpus.iter().map(|(cpu, _)| Ring::open(*cpu, period_ns)).collect();
        Ok(ModeSampler { rings: rings?, period_ns, modes: Modes::default() })
    }

    /// Time between two samples of a CPU [s].
    pub fn period_s(&self) -> f64 {
        self.period_ns as f64 * 1e-9
    }

    /// Samples so far. `cpus` are those of the machine now: what is no longer among them is given up, and what is new
    /// is sampled from now on.
    pub fn read(&mut self, cpus: &[(u32, CpuTicks)]) -> Modes {
        for ring in &mut self.rings {
            ring.drain(&mut self.modes);
        }
        self.rings.retain(|ring| cpus.iter().any(|(cpu, _)| *cpu == ring.cpu));
        for (cpu, _) in cpus {
            if !self.rings.iter().any(|ring| ring.cpu == *cpu) {
                self.modes.lost += 1;
                self.rings.extend(Ring::open(*cpu, self.period_ns));
            }
        }
        self.modes
    }
}

/// Reason for which modes cannot be sampled, with the remedy if there is one.
pub fn why_unsampled(error: &io::Error) -> String {
    match error.raw_os_error() {
        Some(libc::EACCES | libc::EPERM) => {
            "not permitted: run as root, give CAP_PERFMON, or set kernel.perf_event_paranoid to 0; in a container, also allow the system call perf_event_open"
                .into()
        }
        Some(libc::ENOSYS) => "this kernel has no performance events (CONFIG_PERF_EVENTS)".into(),
        _ => error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sampler() -> Option<ModeSampler> {
        ModeSampler::open(&Root::new("/"), Duration::from_secs(1))
            .inspect_err(|error| eprintln!("skipped: {}", why_unsampled(error)))
            .ok()
    }

    fn cpus() -> Vec<(u32, CpuTicks)> {
        let text = std::fs::read("/proc/stat").unwrap();
        crate::proc::stat::parse(&text, "/proc/stat").unwrap().cpus
    }

    /// CPU time of this thread [s].
    fn used_s() -> f64 {
        let now = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
        now.tv_sec as f64 + now.tv_nsec as f64 * 1e-9
    }

    /// Samples of the machine while this thread uses a second of CPU time on `work`.
    fn during(sampler: &mut ModeSampler, mut work: impl FnMut()) -> Modes {
        let (before, start_s) = (sampler.read(&cpus()), used_s());
        while used_s() - start_s < 1.0 {
            (0..100).for_each(|_| work());
        }
        let after = sampler.read(&cpus());
        assert_eq!(after.lost, before.lost, "samples of 4096 / 404.5 Hz = 10 s have room");
        Modes { user: after.user - before.user, kernel: after.kernel - before.kernel, lost: 0 }
    }

    #[test]
    fn a_second_of_either_mode_is_sampled_as_such() {
        let Some(mut sampler) = sampler() else { return };
        let expected = 1.0 / sampler.period_s();
        let mut word = 1u64;
        let user = during(&mut sampler, || {
            word = std::hint::black_box((0..1000).fold(word, |word, step| word.rotate_left(7) ^ step));
        });
        // Others on the machine only add samples. What is missing is at most the error of periodic sampling, and
        // interrupts; a tenth is far beyond both.
        assert!(user.user as f64 > 0.9 * expected, "{user:?} of {expected}");
        let (zeros, mut page) = (std::fs::File::open("/dev/zero").unwrap(), vec![0u8; 1 << 20]);
        let kernel = during(&mut sampler, || {
            rustix::io::pread(&zeros, &mut page, 0).unwrap();
        });
        assert!(kernel.kernel as f64 > 0.9 * expected, "{kernel:?} of {expected}");
    }

    #[test]
    fn long_intervals_are_sampled_more_slowly_and_never_in_step_with_the_tick() {
        for tenths in (1..=100).chain((100..=36_000).step_by(50)) {
            let interval = Duration::from_millis(100 * tenths);
            let period_ns = period_ns(interval);
            let samples = interval.as_nanos() as f64 / period_ns as f64;
            assert!(samples <= 350.0, "{interval:?}: {samples}");
            // A short interval has fewer, since no period is shorter than the least.
            assert!(samples > 200.0 || tenths <= 15, "{interval:?}: {samples}");
            for tick_s in TICKS_S {
                let gap = widest_gap(period_ns, tick_s);
                assert!(gap < 0.05, "{interval:?}, tick {tick_s}: {gap}");
            }
        }
    }

    #[test]
    fn a_period_in_step_with_the_tick_leaves_a_gap() {
        // Every second, third or fifth tick, and one that drifts through the tick in an hour.
        for period_ns in [4_000_000, 2_000_000, 20_000_000, 4_000_004] {
            assert!(widest_gap(period_ns, 0.004) > 0.4, "{period_ns}");
        }
    }

    #[test]
    fn a_cpu_that_was_not_watched_makes_the_interval_unmeasured() {
        let Some(mut sampler) = sampler() else { return };
        let here = cpus();
        let before = sampler.read(&here[..1]);
        let after = sampler.read(&here);
        assert_eq!(after.lost - before.lost, here.len() as u64 - 1);
        assert_eq!(sampler.read(&here).lost, after.lost, "from now on it is watched");
    }
}
