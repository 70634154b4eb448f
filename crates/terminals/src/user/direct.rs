//! Cost of one request, measured directly: the oracle for the overhead regression.
//!
//! Runs in a process that the nursery has forked, so that its image is that of a user's process: the cost of
//! a fork grows with the image copied. Each cost is measured in batches, with exact CPU clocks (scheduler run
//! time, not ticks); the result is the median of the batches with a distribution-free 95 % interval.
//!
//! The regression's coefficient of a request is its cost with the other rates held fixed. The page faults and
//! context switches that a fork causes, which the kernel counts in their own rates, are therefore subtracted
//! from the fork's `seconds` at their own measured cost; `gross_seconds` includes them.
//!
//! # Limitations
//! User time of the measuring process is subtracted by the kernel's own split over all batches; where the
//! kernel samples that split at its tick, the interval is widened by the sampling error. The kernel counts a
//! child that only ends as user time, because no tick hits it; here it counts as system time, which agrees
//! with the machine's own counters, where the few ticks that do hit such children are system time. Work that
//! the kernel defers (freeing memory in RCU callbacks, idle tasks) is not part of these costs, but is part of
//! the machine's system time. A tight loop has warm caches.

use std::os::fd::OwnedFd;

use rustix::process::{Pid, WaitOptions, waitpid};
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use rustix::time::ClockId;
use serde::{Deserialize, Serialize};

use crate::interval::{MedianInterval, median_interval};
use crate::nursery::process::{exit_now, fork_and_wait, retry};
use crate::user::busy::BusyCpus;
use crate::user::compute::nanoseconds;
use crate::user::memory::{Array, Mapping, page_bytes};
use crate::user::usage::Usage;

/// Measured cost of one kind of request.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DirectCost {
    /// Column of table `samples` that counts these requests.
    pub request: String,
    /// System CPU time of one request, without the requests of other kinds that it causes [s].
    pub seconds: f64,
    /// Lower end of the 95 % confidence interval of `seconds` [s].
    pub low: f64,
    /// Upper end of the interval [s].
    pub high: f64,
    /// Number of batches.
    pub n: usize,
    /// Description of the measurement, for a report.
    pub method: String,
    /// System CPU time of one request with all that it causes [s].
    pub gross_seconds: f64,
    /// Elapsed time of one request [s].
    pub real_seconds: f64,
    /// Minor page faults that one request causes.
    pub page_faults_minor: f64,
    /// Context switches that one request causes.
    pub context_switches: f64,
}

// Batches of some milliseconds each: long against the clocks' resolution, short against disturbances, which
// the median then ignores.
const BATCHES: usize = 41;
const FORKS_PER_BATCH: u32 = 40;
const PAGES_PER_BATCH: usize = 8192;
const ROUND_TRIPS_PER_BATCH: u32 = 2000;
/// Least number of ticks per second of CPU time (CONFIG_HZ=100), for the error of a tick-sampled split.
const TICKS_PER_S: f64 = 100.0;

/// The costs of a fork, a minor page fault and a context switch; takes five to ten seconds.
pub(crate) fn measure(array_bytes: u64) -> std::io::Result<Vec<DirectCost>> {
    let mut array = Array::resident(array_bytes)?;
    array.touch(1);
    let fault = page_fault()?;
    let switch = context_switch()?;
    // Last, since it subtracts the costs of the others. The array is resident: a fork copies its page tables.
    let fork = fork(fault.seconds, switch.seconds)?;
    Ok(vec![fork, fault, switch])
}

/// Usage of one batch, per request.
struct Batch {
    /// CPU time of the measuring process [s].
    own_s: f64,
    /// CPU time of the children that it waited for [s].
    children_s: f64,
    /// Elapsed time [s].
    real_s: f64,
    /// Usage of the whole batch, not per request.
    usage: Usage,
    /// Requests in the batch.
    requests: f64,
}

/// Usage of `work`, which makes `requests` requests.
fn batch(requests: f64, mut work: impl FnMut() -> std::io::Result<()>) -> std::io::Result<Batch> {
    let (start_ns, before) = (nanoseconds(ClockId::Monotonic), Usage::now());
    work()?;
    let usage = Usage::now().since(&before);
    let real_s = (nanoseconds(ClockId::Monotonic) - start_ns) as f64 * 1e-9 / requests;
    let per_request = |ns: u64| ns as f64 * 1e-9 / requests;
    let (own_s, children_s) = (per_request(usage.own_ns), per_request(usage.children_ns()));
    Ok(Batch { own_s, children_s, real_s, usage, requests })
}

/// Share of the measuring process's CPU time spent in the kernel.
struct SystemShare {
    share: f64,
    /// Half the 95 % interval of the share, as if each tick were a draw (binomial).
    half_width: f64,
}

impl SystemShare {
    fn of(batches: &[Batch]) -> SystemShare {
        // Over all batches: in one of them the split has far too few ticks.
        let sum =
            |part: fn(&Usage) -> u64| batches.iter().map(|batch| part(&batch.usage)).sum::<u64>() as f64;
        let (user_ns, system_ns) = (sum(|usage| usage.own_user_ns), sum(|usage| usage.own_system_ns));
        let ticks = ((user_ns + system_ns) * 1e-9 * TICKS_PER_S).max(1.0);
        let share = if user_ns + system_ns > 0.0 { system_ns / (user_ns + system_ns) } else { 1.0 };
        SystemShare { share, half_width: 1.96 * (share * (1.0 - share) / ticks).sqrt() }
    }

    /// Median over batches of (CPU time of the process, times the share, plus that of others in the
    /// kernel), with the errors of the batches and of the share in its interval.
    fn cost(&self, batches: impl Iterator<Item = (f64, f64)>) -> MedianInterval {
        let (process_s, costs): (Vec<f64>, Vec<f64>) =
            batches.map(|(own_s, others_s)| (own_s, self.share * own_s + others_s)).unzip();
        let by_share = median_interval(process_s).median * self.half_width;
        let MedianInterval { median, low, high, n } = median_interval(costs);
        MedianInterval {
            median,
            // The two errors are independent: their squares add.
            low: (median - by_share.hypot(median - low)).max(0.0),
            high: median + by_share.hypot(high - median),
            n,
        }
    }
}

/// Mean of one amount per request over all batches.
fn mean_per_request(batches: &[Batch], part: fn(&Usage) -> u64) -> f64 {
    let requests: f64 = batches.iter().map(|batch| batch.requests).sum();
    batches.iter().map(|batch| part(&batch.usage)).sum::<u64>() as f64 / requests
}

/// Median elapsed time of a request [s].
fn real_seconds(batches: &[Batch]) -> f64 {
    median_interval(batches.iter().map(|batch| batch.real_s).collect()).median
}

/// Cost of a fork with exit and wait, less that of the faults and switches that it causes.
fn fork(fault_s: f64, switch_s: f64) -> std::io::Result<DirectCost> {
    let busy = BusyCpus::start()?;
    // Outside the batches: the first fork has cold caches.
    fork_and_wait(false)?;
    let batches = (0..BATCHES)
        .map(|_| {
            batch(f64::from(FORKS_PER_BATCH), || {
                for _ in 0..FORKS_PER_BATCH {
                    fork_and_wait(false)?;
                }
                Ok(())
            })
        })
        .collect::<std::io::Result<Vec<Batch>>>()?;
    drop(busy);
    let system = SystemShare::of(&batches);
    let faults = mean_per_request(&batches, |usage| usage.page_faults_minor);
    let switches = mean_per_request(&batches, |usage| usage.context_switches);
    let gross = system.cost(batches.iter().map(|batch| (batch.own_s, batch.children_s)));
    let caused_s = faults * fault_s + switches * switch_s;
    Ok(DirectCost {
        request: "forks".into(),
        seconds: gross.median - caused_s,
        low: gross.low - caused_s,
        high: gross.high - caused_s,
        n: gross.n,
        method: format!(
            "median of {BATCHES} batches of {FORKS_PER_BATCH} fork + exit + wait while every CPU is busy with others, \
             exact CPU time of the child and the system part ({:.0} %) of the parent's; less {faults:.0} page faults and {switches:.1} context switches \
             at their own cost",
            100.0 * system.share
        ),
        gross_seconds: gross.median,
        real_seconds: real_seconds(&batches),
        page_faults_minor: faults,
        context_switches: switches,
    })
}

/// Cost of a minor page fault on a fresh page, with its share of mapping and unmapping.
fn page_fault() -> std::io::Result<DirectCost> {
    let batches = (0..BATCHES)
        .map(|_| {
            batch(PAGES_PER_BATCH as f64, || {
                Mapping::new(PAGES_PER_BATCH * page_bytes())?.touch(1);
                Ok(())
            })
        })
        .collect::<std::io::Result<Vec<Batch>>>()?;
    let system = SystemShare::of(&batches);
    let faults_per_page = mean_per_request(&batches, |usage| usage.page_faults_minor).max(f64::MIN_POSITIVE);
    let cost = system.cost(batches.iter().map(|batch| (batch.own_s / faults_per_page, 0.0)));
    Ok(DirectCost {
        request: "page_faults_minor".into(),
        seconds: cost.median,
        low: cost.low,
        high: cost.high,
        n: cost.n,
        method: format!(
            "median of {BATCHES} batches of {PAGES_PER_BATCH} fresh anonymous pages, mapped, touched and unmapped, \
             exact CPU time, system share {:.0} %",
            100.0 * system.share
        ),
        gross_seconds: cost.median,
        real_seconds: real_seconds(&batches),
        page_faults_minor: 1.0,
        context_switches: 0.0,
    })
}

/// Cost of a context switch between two processes on one CPU.
fn context_switch() -> std::io::Result<DirectCost> {
    let allowed = sched_getaffinity(None)?;
    // On two CPUs each process would wake an idle CPU instead of switching.
    pin(&allowed)?;
    let mut partner = Partner::start()?;
    let requests = f64::from(2 * ROUND_TRIPS_PER_BATCH);
    let mut costs = Vec::with_capacity(BATCHES);
    let mut batches = Vec::with_capacity(BATCHES);
    for _ in 0..BATCHES {
        let partner_before_ns = partner.cpu_ns()?;
        let batch = batch(requests, || (0..ROUND_TRIPS_PER_BATCH).try_for_each(|_| partner.round_trip()))?;
        let partner_s = (partner.cpu_ns()? - partner_before_ns) as f64 * 1e-9 / requests;
        // The partner does the same work, so that its share of kernel time is the same.
        costs.push((batch.own_s + partner_s, 0.0));
        batches.push(batch);
    }
    drop(partner);
    sched_setaffinity(None, &allowed)?;
    let system = SystemShare::of(&batches);
    let cost = system.cost(costs.into_iter());
    // A switch comes with a write and a read here; a pipe within one process has these two alone.
    let bare_s = cost.median - system.share * pipe_alone()?;
    Ok(DirectCost {
        request: "context_switches".into(),
        seconds: cost.median,
        low: cost.low,
        high: cost.high,
        n: cost.n,
        method: format!(
            "median of {BATCHES} batches of {ROUND_TRIPS_PER_BATCH} round trips over two pipes between two processes on \
             one CPU, two switches each with the write and the read that cause it, exact CPU time of both, system \
             share {:.0} %; without the write and the read {:.2} us",
            100.0 * system.share,
            1e6 * bare_s
        ),
        gross_seconds: cost.median,
        real_seconds: real_seconds(&batches),
        page_faults_minor: 0.0,
        context_switches: 1.0,
    })
}

/// Keeps this process, and those that it forks, on the last CPU that it may use.
fn pin(allowed: &CpuSet) -> std::io::Result<()> {
    let last = (0..CpuSet::MAX_CPU).rev().find(|&cpu| allowed.is_set(cpu));
    let mut one = CpuSet::new();
    one.set(last.unwrap_or(0));
    Ok(sched_setaffinity(None, &one)?)
}

/// CPU time of a byte written to a pipe and read back by the same process [s].
fn pipe_alone() -> std::io::Result<f64> {
    let (read, write) = rustix::pipe::pipe()?;
    let mut byte = [0u8];
    let mut costs = Vec::with_capacity(BATCHES);
    for _ in 0..BATCHES {
        let result = batch(f64::from(ROUND_TRIPS_PER_BATCH), || {
            for _ in 0..ROUND_TRIPS_PER_BATCH {
                retry(|| rustix::io::write(&write, &byte))?;
                retry(|| rustix::io::read(&read, &mut byte))?;
            }
            Ok(())
        })?;
        costs.push(result.own_s);
    }
    Ok(median_interval(costs).median)
}

/// The process at the other end of two pipes, which returns each byte.
struct Partner {
    pid: Pid,
    /// Pipe to the partner; `None` once it is closed to end the partner.
    output: Option<OwnedFd>,
    /// Pipe from the partner.
    input: OwnedFd,
}

impl Partner {
    fn start() -> std::io::Result<Partner> {
        let (partner_input, output) = rustix::pipe::pipe()?;
        let (input, partner_output) = rustix::pipe::pipe()?;
        // SAFETY: this process has one thread, and the child ends by _exit.
        match unsafe { libc::fork() } {
            0 => {
                // Or this copy would keep the pipe open, and the loop below would never end.
                drop(output);
                let mut byte = [0u8];
                // Ends at the end of file, when the other process closes its end or has ended.
                while let Ok(1) = retry(|| rustix::io::read(&partner_input, &mut byte)) {
                    if retry(|| rustix::io::write(&partner_output, &byte)).is_err() {
                        break;
                    }
                }
                exit_now(0)
            }
            pid => match Pid::from_raw(pid).filter(|_| pid > 0) {
                Some(pid) => Ok(Partner { pid, output: Some(output), input }),
                None => Err(std::io::Error::last_os_error()),
            },
        }
    }

    /// Sends a byte and waits for its return: two switches.
    fn round_trip(&mut self) -> std::io::Result<()> {
        let Some(output) = &self.output else { return Ok(()) };
        let mut byte = [0u8];
        retry(|| rustix::io::write(output, &byte))?;
        match retry(|| rustix::io::read(&self.input, &mut byte))? {
            1 => Ok(()),
            _ => Err(std::io::ErrorKind::UnexpectedEof.into()),
        }
    }

    /// Exact CPU time of the partner so far [ns].
    fn cpu_ns(&self) -> std::io::Result<u64> {
        let mut clock: libc::clockid_t = 0;
        let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        // SAFETY: both calls only write to the variables they are given; the partner is an unawaited
        // child, so its pid is its own.
        let failed = unsafe {
            libc::clock_getcpuclockid(self.pid.as_raw_nonzero().get(), &mut clock) != 0
                || libc::clock_gettime(clock, &mut time) != 0
        };
        if failed {
            return Err(std::io::Error::other("cannot read the CPU clock of the other process"));
        }
        Ok(time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64)
    }
}

impl Drop for Partner {
    fn drop(&mut self) {
        self.output = None;
        let _ = retry(|| waitpid(Some(self.pid), WaitOptions::empty()));
    }
}
