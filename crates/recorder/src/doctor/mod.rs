//! The doctor: which quantities this machine measures, which it only seems to measure, and the cost of a sample.
//!
//! Nothing is inferred from versions or configuration, which distributions change: every source is read, and a
//! load of known size shows whether CPU time is sampled at the tick.

pub mod tick;

use std::fmt;
use std::io;

use serde::Serialize;
use serde_json::Value as Json;
use thinktime_tracer::{Attachment, Queueing};

use crate::doctor::tick::{Accounting, TickAccounting, try_tick};
use crate::error::RecorderError;
use crate::kernel::clock::{Clock, SystemClock};
use crate::kernel::files::Root;
use crate::kernel::host;
use crate::people::wtmpdb::Wtmpdb;
use crate::processes::exits::Exits;
use crate::processes::gpu::{Gpu, Sources};
use crate::processes::iterator::ThreadIterator;
use crate::processes::procfs::Procfs;
use crate::processes::taskstats::Taskstats;
use crate::processes::watch::scan_cost_s;
use crate::processes::{By, Facts, ProcessSource, Scan};
use crate::recording::options::RecordOptions;
use crate::sample::exact::ExactTime;
use crate::sample::modes::{ModeSampler, why_unsampled};
use crate::sample::sessions::Sessions;
use crate::sample::system::{Snapshot, SystemReader};
use crate::trace::Trace;

/// Quality with which a quantity can be measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// Measured completely.
    Measured,
    /// Measured, but by sampling at the tick, or not for all users.
    Partly,
    /// The kernel reports it, and it is always zero.
    Zero,
    /// Not available on this machine.
    Absent,
}

/// Quality with which one quantity of a recording can be measured here.
#[derive(Clone, Debug, Serialize)]
pub struct Ability {
    /// Name of the quantity.
    pub item: &'static str,
    /// Quality of its measurement.
    pub state: State,
    /// Source of the quantity, or the reason for which there is none.
    pub evidence: String,
    /// Action to take; `None` if none is needed or possible.
    pub remedy: Option<String>,
}

/// CPU time of one sample.
#[derive(Clone, Debug, Serialize)]
pub struct Cost {
    /// Part of a sample.
    pub item: &'static str,
    /// CPU time, the least of several samples [s]; `None` if the part does not work here.
    pub cpu_s: Option<f64>,
    /// Method used, or the error.
    pub note: String,
}

/// The result of an examination.
#[derive(Clone, Debug, Serialize)]
pub struct Examination {
    /// Hardware and kernel, as in the manifest of a log.
    pub machine: Json,
    /// Quantities in the order of the report.
    pub abilities: Vec<Ability>,
    /// CPU time of the parts of a sample.
    pub costs: Vec<Cost>,
    /// Processes alive during the examination.
    pub processes: usize,
}

/// Examines this machine; takes about two seconds, most of them for the test of the tick.
pub fn examine() -> Result<Examination, RecorderError> {
    let root = Root::new("/");
    let open = SystemReader::open(&root);
    let mut system =
        open.map_err(|source| crate::sample::system::ReadError::Io { path: "/proc/stat".into(), source })?;
    let snapshot = system.read(&mut Vec::new())?;
    let mut abilities = vec![
        cpu_states(try_tick()),
        interrupt_time(&snapshot),
        exact_time(&system),
        modes(ModeSampler::open(&root, RecordOptions::default().interval)),
    ];
    abilities.extend(system_wide(&system));
    let mut scan = Scan::default();
    let procfs = Procfs::open(&root, By::Uid);
    let taskstats = Taskstats::open(&root, By::Uid);
    let procfs_cost = scan_cost_of(procfs, &mut scan);
    abilities.push(process_time(&procfs_cost));
    abilities.push(process_io(&scan));
    abilities.push(other_processes(&scan));
    // The abilities above are judged by the scan of /proc, before taskstats fills `scan` again.
    let processes = scan.processes.len();
    let taskstats_cost = scan_cost_of(taskstats, &mut scan);
    let iterator_cost = scan_cost_of(ThreadIterator::open(&root, By::Uid), &mut scan);
    abilities.push(taskstats_state(&taskstats_cost));
    abilities.push(ends(&root));
    abilities.push(block_delay(&root));
    abilities.push(trace());
    abilities.push(groups(&root));
    abilities.push(sessions(&system, &root));
    abilities.push(graphics(&Gpu::examine(&root)));
    abilities.push(descriptors(processes));
    let costs = vec![
        Cost { item: "system-wide counters", cpu_s: Some(system_cost_s(&mut system)?), note: String::new() },
        cost("counters by user, from /proc", &procfs_cost),
        cost("counters by user, by taskstats", &taskstats_cost),
        cost("counters by user, by an iterator", &iterator_cost),
    ];
    Ok(Examination { machine: host::describe(&root), abilities, costs, processes })
}

fn ability(item: &'static str, state: State, evidence: impl Into<String>, remedy: Option<&str>) -> Ability {
    Ability { item, state, evidence: evidence.into(), remedy: remedy.map(str::to_owned) }
}

fn cpu_states(tick: io::Result<TickAccounting>) -> Ability {
    let item = "CPU time by state";
    match tick {
        Ok(tick) if tick.verdict() == Accounting::Sampled => ability(
            item,
            State::Partly,
            format!(
                "sampled at the tick ({:.0} per second): a load in step with the tick was counted as {:.0} % to {:.0} % of its CPU time",
                tick.hertz(),
                100.0 * tick.lowest,
                100.0 * tick.highest
            ),
            Some(
                "use cpu_exact_s for loads driven by timers; a kernel with CONFIG_VIRT_CPU_ACCOUNTING_GEN, booted with nohz_full, measures the states exactly",
            ),
        ),
        Ok(tick) if tick.verdict() == Accounting::Disturbed => ability(
            item,
            State::Partly,
            format!(
                "too busy to tell whether it is sampled at the tick: with other work at low priority, a load was counted as {:.0} % of its CPU time",
                100.0 * tick.mean
            ),
            Some("ask again when no work at low priority (nice) runs"),
        ),
        Ok(tick) => ability(
            item,
            State::Measured,
            format!(
                "a load in step with the tick was counted as {:.0} % to {:.0} % of its CPU time",
                100.0 * tick.lowest,
                100.0 * tick.highest
            ),
            None,
        ),
        Err(error) => ability(item, State::Partly, format!("the test of the tick failed: {error}"), None),
    }
}

/// Interrupts so far above which a time of zero cannot be the true one: each takes about a microsecond, and the
/// kernel's unit is 10 ms.
const INTERRUPTS_MIN: u64 = 10_000;

fn interrupt_time(snapshot: &Snapshot) -> Ability {
    let item = "CPU time in hardware interrupts";
    let served = snapshot.stat.interrupts.unwrap_or(0);
    match snapshot.stat.total.irq {
        None => ability(item, State::Absent, "this kernel does not report it", None),
        Some(0) if served > INTERRUPTS_MIN => ability(
            item,
            State::Zero,
            format!(
                "zero after {served} interrupts: their time is counted for the state that they interrupt"
            ),
            Some("use a kernel with CONFIG_IRQ_TIME_ACCOUNTING"),
        ),
        Some(_) => ability(item, State::Measured, "accounted", None),
    }
}

fn exact_time(system: &SystemReader) -> Ability {
    let item = "exact CPU time of the machine";
    match &system.exact {
        ExactTime::Cpuacct(file) => ability(item, State::Measured, format!("from {}", file.name), None),
        ExactTime::Cgroup2(_) => ability(
            item,
            State::Measured,
            "from cpu.stat of the top control groups, and the kernel threads",
            Some("use --by uid, session or cgroup: with --by none the kernel threads are left out"),
        ),
        ExactTime::RunQueues(file) => ability(
            item,
            State::Measured,
            format!("from {}; a run is counted when the task leaves its CPU", file.name),
            None,
        ),
        ExactTime::Processes => ability(
            item,
            State::Partly,
            "summed over the processes; those that start and end between two samples are missing unless their parent waits for them",
            Some("mount cgroup version 2, or cpuacct, at /sys/fs/cgroup"),
        ),
    }
}

fn modes(sampler: io::Result<ModeSampler>) -> Ability {
    let item = "user and system time apart from the tick";
    match sampler {
        Ok(sampler) => ability(
            item,
            State::Measured,
            format!(
                "each CPU is sampled every {:.1} ms, less often in longer intervals",
                1000.0 * sampler.period_s()
            ),
            None,
        ),
        Err(error) => {
            let remedy = "run as root, or give CAP_PERFMON: by ticks alone, costs of requests are too low on busy CPUs";
            ability(item, State::Absent, why_unsampled(&error), Some(remedy))
        }
    }
}

/// Each system-wide file, and the quantities that come from it.
const FILES: [(&str, &str); 8] = [
    ("/proc/vmstat", "paging and swapping"),
    ("/proc/diskstats", "disks"),
    ("/proc/net/dev", "network"),
    ("/proc/meminfo", "memory"),
    ("/proc/loadavg", "load averages"),
    ("/proc/pressure/cpu", "pressure on the CPUs (PSI)"),
    ("/proc/pressure/memory", "pressure on memory (PSI)"),
    ("/proc/pressure/io", "pressure on the disks (PSI)"),
];

fn system_wide(system: &SystemReader) -> Vec<Ability> {
    let of_file = |(file, item): &(&str, &'static str)| match system.missing.get(*file) {
        None => ability(item, State::Measured, format!("from {file}"), None),
        Some(why) => {
            // Only pressure can be switched on; for the other files there is no remedy but another kernel.
            let remedy = if why.contains("CONFIG_PSI") {
                Some(
                    "boot a kernel with CONFIG_PSI, with psi=1 on its command line where it is off by default",
                )
            } else if why.contains("psi=1") {
                Some("boot with psi=1 on the kernel's command line")
            } else {
                None
            };
            ability(item, State::Absent, why.clone(), remedy)
        }
    };
    FILES.iter().map(of_file).collect()
}

/// Name of a source, CPU time of its scan [s], and whether it measures waiting for a CPU.
type ScanCost = io::Result<(&'static str, f64, bool)>;

fn scan_cost_of<S: ProcessSource>(source: io::Result<S>, scan: &mut Scan) -> ScanCost {
    let mut source = source?;
    let cpu_s = scan_cost_s(&mut source, scan)?;
    // One more in which every process is read: the abilities below are judged by all of them.
    source.refresh_all();
    source.scan(scan, None)?;
    Ok((source.name(), cpu_s, source.measures_wait()))
}

fn cost(item: &'static str, measured: &ScanCost) -> Cost {
    match measured {
        Ok((name, cpu_s, _)) => Cost { item, cpu_s: Some(*cpu_s), note: (*name).into() },
        Err(error) => Cost { item, cpu_s: None, note: error.to_string() },
    }
}

fn process_time(measured: &ScanCost) -> Ability {
    let item = "exact CPU time by user";
    match measured {
        Ok((_, _, true)) => ability(item, State::Measured, "from /proc/PID/schedstat, in nanoseconds", None),
        Ok((_, _, false)) => ability(
            item,
            State::Partly,
            "/proc/PID/schedstat is absent or zero: exact in total, with a resolution of 10 ms",
            Some("use a kernel with CONFIG_SCHED_INFO"),
        ),
        Err(error) => ability(item, State::Absent, error.to_string(), Some("mount /proc")),
    }
}

/// True for a process of another user, which an unprivileged recorder may not read completely.
fn is_others(facts: &Facts) -> bool {
    !facts.stat.is_kernel_thread && facts.uid != rustix::process::geteuid().as_raw()
}

fn process_io(scan: &Scan) -> Ability {
    let item = "disk I/O by user";
    let others: Vec<&Facts> = scan.facts.iter().filter(|facts| is_others(facts)).collect();
    let readable = others.iter().filter(|facts| facts.io.is_some()).count();
    // The recorder may always read its own file: if even that is missing, the kernel has none.
    if scan.facts.iter().all(|facts| facts.io.is_none()) {
        let remedy = Some("use a kernel with CONFIG_TASK_IO_ACCOUNTING");
        return ability(item, State::Absent, "/proc/PID/io cannot be read", remedy);
    }
    if readable < others.len() {
        let evidence =
            format!("readable for {readable} of {} processes of other users, and for your own", others.len());
        return ability(
            item,
            State::Partly,
            evidence,
            Some("run as root, or give CAP_SYS_PTRACE and CAP_DAC_READ_SEARCH"),
        );
    }
    ability(item, State::Measured, "of all processes", None)
}

fn other_processes(scan: &Scan) -> Ability {
    let item = "processes of other users";
    // /proc mounted with hidepid=1 lists processes and denies their files, with hidepid=2 it does not list them.
    let sees_first = scan.processes.first().is_some_and(|(pid, _)| *pid == 1);
    if scan.unreadable > 0 || !sees_first {
        let evidence = format!(
            "{} processes are listed but not readable, process 1 is {}",
            scan.unreadable,
            if sees_first { "visible" } else { "hidden" }
        );
        return ability(item, State::Partly, evidence, Some("run as root, or mount /proc with hidepid=0"));
    }
    ability(item, State::Measured, "all are visible", None)
}

fn taskstats_state(measured: &ScanCost) -> Ability {
    let item = "taskstats";
    match measured {
        Ok(_) => ability(item, State::Measured, "usable; --method auto uses it if it costs less", None),
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => ability(
            item,
            State::Absent,
            "not permitted",
            Some("run as root, or give CAP_NET_ADMIN; not needed where schedstat is available"),
        ),
        Err(error) => ability(item, State::Absent, error.to_string(), None),
    }
}

fn block_delay(root: &Root) -> Ability {
    let item = "time that processes wait for disks and swap";
    match root.text("/proc/sys/kernel/task_delayacct").as_deref() {
        Some("0") => ability(
            item,
            State::Zero,
            "always zero: delay accounting is switched off, so that io_delay_s and swap_delay_s are null",
            Some("switch it on with sysctl kernel.task_delayacct=1 before the processes start"),
        ),
        Some(_) => ability(
            item,
            State::Measured,
            "accounted by the kernel; of the first thread of each process, swap by taskstats only",
            None,
        ),
        None => ability(item, State::Absent, "this kernel does not have kernel.task_delayacct", None),
    }
}

/// Whether processes that come and go between two samples are known.
fn ends(root: &Root) -> Ability {
    let item = "processes that come and go between two samples";
    match Exits::open(root) {
        Ok(_) => {
            ability(item, State::Measured, "from the exit messages of taskstats, each by its user", None)
        }
        Err(error) => ability(
            item,
            State::Partly,
            format!("no exit messages ({error}): their CPU time counts for the user who waited for them"),
            Some("run as root outside containers, or give CAP_NET_ADMIN, with Linux 5.19 or later"),
        ),
    }
}

/// Whether programs in the kernel can count where the time of tasks goes: attached for a moment.
fn trace() -> Ability {
    let item = "slices and waits of tasks by kind (--trace)";
    match Trace::open(&RecordOptions::default()) {
        Ok(trace) => {
            let missing = trace.missing().map(|(quantity, why)| format!("; {quantity} not: {why}"));
            let refused = trace.refused().map(|(way, why)| format!("; not by {way}: {why}"));
            let (places, has_structures) = match trace.attachment() {
                Attachment::TpBtf => ("tracepoints with typed arguments", true),
                Attachment::RawTracepoint => ("raw tracepoints", true),
                Attachment::Tracepoint => ("tracepoints with fields alone", false),
            };
            let queueing = match trace.queueing() {
                Queueing::Scheduler => "when a task was queued by the scheduler's own times",
                Queueing::WakeUps if has_structures => {
                    "when a task was queued by programs at wake-ups, at twice the cost, since this kernel keeps no such times"
                }
                Queueing::WakeUps => "when a task was queued by programs at wake-ups, at twice the cost",
            };
            let evidence = format!(
                "by programs at {places} ({}); {queueing}{}{}",
                trace.attachment().name(),
                refused.collect::<String>(),
                missing.collect::<String>()
            );
            let remedy =
                "a kernel with its debugging information (CONFIG_DEBUG_INFO_BTF), Linux 5.15 or later";
            match has_structures {
                true => ability(item, State::Measured, evidence, None),
                false => ability(item, State::Partly, evidence, Some(remedy)),
            }
        }
        Err(error) => ability(
            item,
            State::Absent,
            error.to_string(),
            Some(
                "without it, run_delay_s from schedstat and io_delay_s from delay accounting say how long users and commands waited",
            ),
        ),
    }
}

fn groups(root: &Root) -> Ability {
    let item = "control groups";
    let mounts = root.text("/proc/self/mounts").unwrap_or_default();
    // The third word of a mount is the type of its file system.
    let has = |kind: &str| mounts.lines().any(|line| line.split(' ').nth(2) == Some(kind));
    let evidence = match (has("cgroup"), has("cgroup2")) {
        (true, true) => "versions 1 and 2 are mounted",
        (true, false) => "version 1 is mounted",
        (false, true) => "version 2 is mounted",
        (false, false) => {
            return ability(item, State::Absent, "none is mounted", Some("use --by uid or --by session"));
        }
    };
    ability(item, State::Measured, evidence, None)
}

fn sessions(system: &SystemReader, root: &Root) -> Ability {
    let item = "logged-in sessions";
    let mut wtmpdb = Wtmpdb::new(root);
    wtmpdb.refresh(SystemClock.now());
    let also = match wtmpdb.state() {
        None => String::new(),
        Some((path, _, Some(problem))) => format!("; {} is left out: {problem}", path.display()),
        Some((path, open, None)) => {
            let entries = if open == 1 { "entry" } else { "entries" };
            format!("; who comes from where also from {}: {open} open {entries} of this boot", path.display())
        }
    };
    match &system.sessions {
        Sessions::Terminals => ability(
            item,
            State::Partly,
            format!(
                "neither utmp nor systemd-logind is available: sessions that own a terminal are counted{also}"
            ),
            Some("use --by uid, session or cgroup: with --by none they are not counted"),
        ),
        source => ability(item, State::Measured, format!("from {}{also}", source.name()), None),
    }
}

/// What tells the time and memory that users have of graphics devices.
fn graphics(sources: &Sources) -> Ability {
    let item = "GPU time and memory by user";
    let Sources { devices, drivers, clients, telling, cards } = sources;
    let mut evidence = Vec::new();
    let mut remedy = None;
    if *devices > 0 {
        let names = drivers.iter().map(String::as_str).collect::<Vec<_>>().join(", ");
        evidence.push(format!(
            "{devices} by drivers of the kernel ({names}): {telling} of {clients} openings tell the time of engines"
        ));
        if telling < clients {
            remedy = Some("use a kernel whose driver has drm-engine- or drm-cycles- in fdinfo".to_owned());
        } else if *clients == 0 {
            remedy = Some(
                "nobody uses one, or those who do are not seen: run as root, or give CAP_SYS_PTRACE".into(),
            );
        }
    }
    let by_library = || {
        Some(
            "use `thinktime record` outside of containers, with libnvidia-ml.so.1 of the same driver installed, \
             version 510 or later; time of engines needs Maxwell or later without MIG"
                .to_owned(),
        )
    };
    match cards {
        Ok((cards, problems)) => {
            evidence.push(format!("{cards} by NVML, the library of NVIDIA's driver"));
            evidence.extend(problems.iter().cloned());
            remedy = remedy.or_else(|| by_library().filter(|_| !problems.is_empty()));
        }
        Err(_) if sources.is_without_nvidia() => {}
        Err(why) => {
            evidence.push(format!("NVIDIA's cards not: {why}"));
            remedy = by_library();
        }
    }
    let state = match (cards.is_ok() || telling > &0, remedy.is_some()) {
        (true, false) => State::Measured,
        (true, true) => State::Partly,
        (false, _) if *devices > 0 => State::Partly,
        (false, _) => State::Absent,
    };
    if evidence.is_empty() {
        evidence.push("there is no graphics device".into());
    }
    Ability { item, state, evidence: evidence.join("; "), remedy }
}

fn descriptors(processes: usize) -> Ability {
    let item = "open files";
    let limits = rustix::process::getrlimit(rustix::process::Resource::Nofile);
    let hard = limits.maximum.unwrap_or(u64::MAX);
    let evidence = format!("limit of {hard} open files for {processes} processes");
    // The recorder keeps two files open for each process, and leaves some for everything else.
    if (processes as u64).saturating_mul(3) > hard {
        let remedy = "raise the hard limit (LimitNOFILE= of the unit); otherwise files are opened again for every sample, at about twice the cost";
        return ability(item, State::Partly, evidence, Some(remedy));
    }
    ability(item, State::Measured, evidence, None)
}

/// CPU time of a sample of the system-wide counters: the least of five, as other load can only add to it [s].
fn system_cost_s(system: &mut SystemReader) -> Result<f64, RecorderError> {
    let mut least = f64::INFINITY;
    for _ in 0..5 {
        let before = SystemClock.thread_cpu_ns();
        system.read(&mut Vec::new())?;
        least = least.min((SystemClock.thread_cpu_ns() - before) as f64 * 1e-9);
    }
    Ok(least)
}

impl fmt::Display for Examination {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = |key: &str| self.machine.get(key).and_then(Json::as_str).unwrap_or("?").to_owned();
        let cpus = self.machine.get("cpus").and_then(Json::as_u64).unwrap_or(0);
        writeln!(out, "{} {} on {}, {cpus} CPUs", text("system"), text("kernel"), text("cpu_model"))?;
        let headings = [
            (State::Measured, "Measured"),
            (State::Partly, "Measured in part"),
            (State::Zero, "Reported by the kernel, but always zero"),
            (State::Absent, "Not available on this machine"),
        ];
        for (state, heading) in headings {
            let of_state: Vec<&Ability> =
                self.abilities.iter().filter(|ability| ability.state == state).collect();
            if of_state.is_empty() {
                continue;
            }
            writeln!(out, "\n{heading}")?;
            for ability in of_state {
                writeln!(out, "  {}: {}", ability.item, ability.evidence)?;
                if let Some(remedy) = &ability.remedy {
                    writeln!(out, "      -> {remedy}")?;
                }
            }
        }
        writeln!(out, "\nCPU time of a sample, {} processes", self.processes)?;
        for cost in &self.costs {
            let time = cost.cpu_s.map_or("-".to_owned(), |cpu_s| format!("{:.3} ms", 1e3 * cpu_s));
            let note = if cost.note.is_empty() { String::new() } else { format!("  ({})", cost.note) };
            writeln!(out, "  {:<32} {time:>10}{note}", cost.item)?;
        }
        Ok(())
    }
}
