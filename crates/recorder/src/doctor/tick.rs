//! A test whether `/proc/stat` measures CPU time, or samples at each tick which task is running.
//!
//! A load that computes for half of each tick's period, always the same half, uses 50 % of a CPU. A
//! kernel that samples at the tick reports none of it, or twice as much, depending on the half.

use std::io;
use std::time::Duration;

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use rustix::time::{ClockId, Timespec, clock_getres, clock_gettime};

use crate::kernel::clock::{Clock, SystemClock};
use crate::kernel::host;
use crate::proc::stat;

/// Phases of the tick's period at which the load is tried.
const PHASES: i64 = 8;
/// Length of the trial of a phase: 20 units of 10 ms of the user interface, so that rounding is 5 %.
const TRIAL: Duration = Duration::from_millis(200);
/// Trials of all phases before the answer is that none can be given.
const ATTEMPTS_MAX: usize = 4;
/// Share by which reported and used CPU time may differ over all phases: a kernel that samples hides as much at some
/// phases as it doubles at others.
const BALANCE_SHARE: f64 = 0.2;

/// CPU time in `/proc/stat` of a load in step with the tick.
#[derive(Clone, Copy, Debug)]
pub struct TickAccounting {
    /// Period of the kernel's tick [ns].
    pub tick_ns: i64,
    /// Reported over used CPU time, at the phase for which that is least.
    pub lowest: f64,
    /// Reported over used CPU time, at the phase for which that is most.
    pub highest: f64,
    /// Beginning of the load in the tick's period for which least is reported [ns].
    pub hiding_phase_ns: i64,
    /// Reported over used CPU time, all phases together.
    pub mean: f64,
}

/// How `/proc/stat` comes to its CPU times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Accounting {
    /// A task that runs at the tick has the whole period.
    Sampled,
    Measured,
    /// Other work at low priority took part in every attempt.
    Disturbed,
}

impl TickAccounting {
    /// Ticks per second.
    pub fn hertz(&self) -> f64 {
        1e9 / self.tick_ns as f64
    }

    /// The verdict: sampled if one phase hides most of the load, since other work in state `nice` can only add to what
    /// is reported.
    pub fn verdict(&self) -> Accounting {
        if self.lowest < 0.5 {
            Accounting::Sampled
        } else if (self.mean - 1.0).abs() < BALANCE_SHARE {
            Accounting::Measured
        } else {
            Accounting::Disturbed
        }
    }
}

/// Period of the kernel's tick [ns]: the resolution of its coarse clock.
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

/// Lowers the priority of this thread to a little below the usual, permanently. Its CPU time is then reported as `nice`,
/// a state in which hardly anything else runs, so that it can be distinguished from other work.
pub fn lower_priority() -> io::Result<()> {
    // A higher one, as after `nice -n -5`, must fall below the usual too.
    let now = rustix::process::nice(0)?;
    Ok(rustix::process::nice(1 - now.min(0)).map(drop)?)
}

/// CPU time of a CPU in state `nice`, as reported by `/proc/stat` [s].
fn reported_s(cpu: usize) -> io::Result<f64> {
    let text = std::fs::read("/proc/stat")?;
    let stat = stat::parse(&text, "/proc/stat").map_err(io::Error::other)?;
    let its_own = stat.cpus.iter().find(|(number, _)| *number as usize == cpu);
    let (_, ticks) = its_own.ok_or_else(|| io::Error::other(format!("/proc/stat has no CPU {cpu}")))?;
    Ok(ticks.nice as f64 / host::clock_ticks() as f64)
}

/// Runs a load of known size in step with the tick; takes about two seconds, and on a busy machine up to eight.
pub fn try_tick() -> io::Result<TickAccounting> {
    // In a thread of its own: its binding to one CPU and its priority end with it.
    let thread = std::thread::spawn(|| {
        let cpu = bind()?;
        lower_priority()?;
        let mut found = try_phases(cpu)?;
        for _ in 1..ATTEMPTS_MAX {
            if found.verdict() != Accounting::Disturbed {
                break;
            }
            found = try_phases(cpu)?;
        }
        Ok(found)
    });
    thread.join().map_err(|_| io::Error::other("the trial stopped"))?
}

/// Binds this thread to one CPU, permanently; its number.
fn bind() -> io::Result<usize> {
    let allowed = sched_getaffinity(None)?;
    // The last one: on most machines the first serves most interrupts.
    let cpu = (0..CpuSet::MAX_CPU).rev().find(|cpu| allowed.is_set(*cpu));
    let cpu = cpu.ok_or_else(|| io::Error::other("no CPU is allowed"))?;
    let mut only = CpuSet::new();
    only.set(cpu);
    // Ticks of different CPUs may be at different phases: a load that moved would be in step with none.
    sched_setaffinity(None, &only)?;
    Ok(cpu)
}

fn try_phases(cpu: usize) -> io::Result<TickAccounting> {
    let tick_ns = tick_ns();
    let mut result =
        TickAccounting { tick_ns, lowest: f64::INFINITY, highest: 0.0, hiding_phase_ns: 0, mean: 0.0 };
    let (mut all_reported_s, mut all_used_s) = (0.0, 0.0);
    for phase in 0..PHASES {
        let phase_ns = phase * tick_ns / PHASES;
        let (before_s, used) = (reported_s(cpu)?, SystemClock.thread_cpu_ns());
        compute_in_step(tick_ns, phase_ns, now_ns() + TRIAL.as_nanos() as i64);
        let used_s = (SystemClock.thread_cpu_ns() - used) as f64 * 1e-9;
        // The denominator is exact; a trial that got no CPU must not divide by zero.
        let trial_s = reported_s(cpu)? - before_s;
        all_reported_s += trial_s;
        all_used_s += used_s;
        let ratio = trial_s / used_s.max(1e-3);
        if ratio < result.lowest {
            (result.lowest, result.hiding_phase_ns) = (ratio, phase_ns);
        }
        result.highest = result.highest.max(ratio);
    }
    result.mean = all_reported_s / all_used_s.max(1e-3);
    Ok(result)
}
