//! Whether `/proc/stat` measures CPU time, or looks at each tick who is running.
//!
//! A load that computes for half of each tick's period, always the same half, uses 50 % of a CPU. A
//! kernel that samples at the tick shows nothing of it, or twice as much, depending on the half.

use std::io;
use std::time::Duration;

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use rustix::time::{ClockId, Timespec, clock_getres, clock_gettime};

use crate::kernel::clock::{Clock, SystemClock};
use crate::kernel::host;
use crate::proc::stat;

/// Phases of the tick's period at which the load is tried.
const PHASES: i64 = 8;
/// How long each is tried: enough for the 10 ms of the user interface to be fine.
const TRIAL: Duration = Duration::from_millis(200);

/// What `/proc/stat` made of a load in step with the tick.
#[derive(Clone, Copy, Debug)]
pub struct TickAccounting {
    /// Period of the kernel's tick.
    pub tick_ns: i64,
    /// Shown over used CPU time, at the phase that shows least.
    pub lowest: f64,
    /// And at the one that shows most.
    pub highest: f64,
    /// Where in the tick's period the load begins that shows least.
    pub hiding_phase_ns: i64,
}

impl TickAccounting {
    /// Ticks per second.
    pub fn hertz(&self) -> f64 {
        1e9 / self.tick_ns as f64
    }

    /// True where one phase hides most of the load. Other work at a nice value can only add to it.
    pub fn is_sampled(&self) -> bool {
        self.lowest < 0.5
    }
}

/// Period of the kernel's tick: the resolution of its coarse clock.
fn tick_ns() -> i64 {
    let period = clock_getres(ClockId::MonotonicCoarse);
    (period.tv_sec * 1_000_000_000 + period.tv_nsec).clamp(500_000, 20_000_000)
}

fn now_ns() -> i64 {
    let now: Timespec = clock_gettime(ClockId::Monotonic);
    now.tv_sec * 1_000_000_000 + now.tv_nsec
}

/// Computes for half of each period, beginning `phase_ns` into it, until `end_ns`.
pub fn compute_in_step(tick_ns: i64, phase_ns: i64, end_ns: i64) {
    loop {
        let now = now_ns();
        if now >= end_ns {
            return;
        }
        // The next beginning: phases are counted on the monotonic clock, whose zero the tick need not share;
        // all phases are tried, so that only their differences matter.
        let begin = (now - phase_ns).div_euclid(tick_ns) * tick_ns + tick_ns + phase_ns;
        std::thread::sleep(Duration::from_nanos((begin - now) as u64));
        while now_ns() < begin + tick_ns / 2 {
            std::hint::spin_loop();
        }
    }
}

/// Gives way a little to everything else, for good. What the thread uses is then shown as `nice`, a
/// state that hardly anything else is in, so that its share can be told from other work.
pub fn give_way() -> io::Result<()> {
    Ok(rustix::process::nice(1).map(drop)?)
}

/// CPU time in state `nice` of all CPUs, in seconds.
fn shown_s() -> io::Result<f64> {
    let text = std::fs::read("/proc/stat")?;
    let stat = stat::parse(&text, "/proc/stat").map_err(io::Error::other)?;
    Ok(stat.total.nice as f64 / host::clock_ticks() as f64)
}

/// Tries a load of known size in step with the tick; takes about two seconds.
pub fn try_tick() -> io::Result<TickAccounting> {
    // In a thread of its own, which is bound to one CPU, gives way, and keeps that to itself.
    let thread = std::thread::spawn(try_phases);
    thread.join().map_err(|_| io::Error::other("the trial stopped"))?
}

fn try_phases() -> io::Result<TickAccounting> {
    let allowed = sched_getaffinity(None)?;
    // The last one: the first serves most interrupts.
    let cpu = (0..CpuSet::MAX_CPU).rev().find(|cpu| allowed.is_set(*cpu));
    let cpu = cpu.ok_or_else(|| io::Error::other("no CPU is allowed"))?;
    let mut only = CpuSet::new();
    only.set(cpu);
    // Ticks of different CPUs may be at different phases: a load that moved would be in step with none.
    sched_setaffinity(None, &only)?;
    give_way()?;
    let tick_ns = tick_ns();
    let mut found = TickAccounting { tick_ns, lowest: f64::INFINITY, highest: 0.0, hiding_phase_ns: 0 };
    for phase in 0..PHASES {
        let phase_ns = phase * tick_ns / PHASES;
        let (shown, used) = (shown_s()?, SystemClock.thread_cpu_ns());
        compute_in_step(tick_ns, phase_ns, now_ns() + TRIAL.as_nanos() as i64);
        let used_s = (SystemClock.thread_cpu_ns() - used) as f64 * 1e-9;
        // The denominator is exact; a trial that got no CPU must not divide by zero.
        let ratio = (shown_s()? - shown) / used_s.max(1e-3);
        if ratio < found.lowest {
            (found.lowest, found.hiding_phase_ns) = (ratio, phase_ns);
        }
        found.highest = found.highest.max(ratio);
    }
    Ok(found)
}
