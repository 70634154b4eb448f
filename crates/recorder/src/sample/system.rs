//! System-wide sources: opened at start and read at every sample; absent ones are named.

use std::io;

use crate::kernel::files::{KernelFile, Root};
use crate::proc::{
    ParseError, diskstats, diskstats::Disk, loadavg, loadavg::Loadavg, meminfo, meminfo::Meminfo, net_dev,
    net_dev::Interface, pressure, pressure::Pressure, stat, stat::Stat, vmstat, vmstat::Vmstat,
};
use crate::sample::exact::ExactTime;
use crate::sample::missing::{Missing, SourceFailure, why_missing};
use crate::sample::sessions::Sessions;

/// All system-wide counters and gauges at one moment. Absent ones are `None`, never zero.
#[derive(Clone, Debug, Default)]
pub struct Snapshot {
    /// `/proc/stat`, the only source without which nothing is recorded.
    pub stat: Stat,
    /// `/proc/vmstat`.
    pub vmstat: Option<Vmstat>,
    /// `/proc/diskstats`.
    pub disks: Option<Vec<Disk>>,
    /// `/proc/net/dev`.
    pub interfaces: Option<Vec<Interface>>,
    /// `/proc/meminfo`.
    pub memory: Option<Meminfo>,
    /// `/proc/loadavg`.
    pub load: Option<Loadavg>,
    /// `/proc/pressure/cpu`.
    pub pressure_cpu: Option<Pressure>,
    /// `/proc/pressure/memory`.
    pub pressure_memory: Option<Pressure>,
    /// `/proc/pressure/io`.
    pub pressure_io: Option<Pressure>,
    /// Exact CPU time of all tasks since boot [ns].
    pub exact_ns: Option<u64>,
    /// Logged-in sessions.
    pub sessions: Option<u64>,
}

/// Reads the system-wide sources.
#[derive(Debug)]
pub struct SystemReader {
    stat: KernelFile,
    vmstat: Option<KernelFile>,
    disks: Option<KernelFile>,
    interfaces: Option<KernelFile>,
    memory: Option<KernelFile>,
    load: Option<KernelFile>,
    pressure_cpu: Option<KernelFile>,
    pressure_memory: Option<KernelFile>,
    pressure_io: Option<KernelFile>,
    /// Source of the exact CPU time.
    pub exact: ExactTime,
    /// Source of the number of sessions.
    pub sessions: Sessions,
    buffer: Vec<u8>,
    /// Sources that this machine does not have, with the reasons.
    pub missing: Missing,
}

/// The file if it can be read once. Opening is not enough: with PSI switched off, only reading fails.
fn open_and_try(root: &Root, name: &str, missing: &mut Missing, buffer: &mut Vec<u8>) -> Option<KernelFile> {
    let tried = KernelFile::open(root, name).and_then(|file| file.read(buffer).map(|_| ()).map(|()| file));
    tried.inspect_err(|error| drop(missing.insert(name.into(), why_missing(name, error)))).ok()
}

impl SystemReader {
    /// Opens every source. Only `/proc/stat` has to exist.
    pub fn open(root: &Root) -> io::Result<SystemReader> {
        let mut missing = Missing::new();
        let mut buffer = Vec::new();
        let mut open = |name: &str| open_and_try(root, name, &mut missing, &mut buffer);
        let vmstat = open("/proc/vmstat");
        let disks = open("/proc/diskstats");
        let interfaces = open("/proc/net/dev");
        let memory = open("/proc/meminfo");
        let load = open("/proc/loadavg");
        let pressure_cpu = open("/proc/pressure/cpu");
        let pressure_memory = open("/proc/pressure/memory");
        let pressure_io = open("/proc/pressure/io");
        let exact = ExactTime::open(root, &mut missing);
        let sessions = Sessions::open(root, &mut missing);
        let stat = KernelFile::open(root, "/proc/stat")?;
        Ok(SystemReader {
            stat,
            vmstat,
            disks,
            interfaces,
            memory,
            load,
            pressure_cpu,
            pressure_memory,
            pressure_io,
            exact,
            sessions,
            buffer,
            missing,
        })
    }

    /// CPU time of all tasks since `snapshot` [ns]; `None` where it is not measured.
    pub fn exact_since(&mut self, snapshot: &Snapshot) -> Option<u64> {
        // A failure is reported at the next sample, which reads the same source.
        let now_ns = self.exact.read(&mut self.buffer, &mut Vec::new())?;
        Some(now_ns.saturating_sub(snapshot.exact_ns?))
    }

    /// Snapshot of all sources. One that fails is `None` in it and is added to `failures`; only failure of
    /// `/proc/stat` is an error.
    pub fn read(&mut self, failures: &mut Vec<SourceFailure>) -> Result<Snapshot, ReadError> {
        let buffer = &mut self.buffer;
        // One buffer for all files: it has grown to the longest of them after the first sample.
        let text =
            self.stat.read(buffer).map_err(|source| ReadError::Io { path: "/proc/stat".into(), source })?;
        let stat = stat::parse(text, "/proc/stat")?;
        let vmstat = read(&self.vmstat, buffer, failures, vmstat::parse);
        let disks = read(&self.disks, buffer, failures, diskstats::parse);
        let interfaces = read(&self.interfaces, buffer, failures, net_dev::parse);
        let memory = read(&self.memory, buffer, failures, meminfo::parse);
        let load = read(&self.load, buffer, failures, loadavg::parse);
        name_absent(&mut self.missing, "/proc/vmstat", vmstat.iter().flat_map(Vmstat::absent));
        name_absent(&mut self.missing, "/proc/meminfo", memory.iter().flat_map(Meminfo::absent));
        let pressure_cpu = read(&self.pressure_cpu, buffer, failures, pressure::parse);
        let pressure_memory = read(&self.pressure_memory, buffer, failures, pressure::parse);
        let pressure_io = read(&self.pressure_io, buffer, failures, pressure::parse);
        let exact_ns = self.exact.read(buffer, failures);
        let sessions = self.sessions.count(buffer);
        Ok(Snapshot {
            stat,
            vmstat,
            disks,
            interfaces,
            memory,
            load,
            pressure_cpu,
            pressure_memory,
            pressure_io,
            exact_ns,
            sessions,
        })
    }
}

/// Names the lines that a file lacks: without them its columns are null although the file can be read.
fn name_absent(missing: &mut Missing, file: &str, lines: impl Iterator<Item = &'static str>) {
    for line in lines {
        missing.entry(format!("{file} {line}")).or_insert_with(|| "the file has no such line".into());
    }
}

/// `/proc/stat` could not be read: there is nothing to record.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    #[error("cannot read {path}: {source}; is /proc mounted?")]
    Io { path: String, source: io::Error },
    #[error(transparent)]
    Parse(#[from] ParseError),
}

/// Contents of one source; failure is recorded in `failures`.
fn read<'a, T>(
    file: &'a Option<KernelFile>,
    buffer: &mut Vec<u8>,
    failures: &mut Vec<SourceFailure>,
    parse: impl FnOnce(&[u8], &'a str) -> Result<T, ParseError>,
) -> Option<T> {
    let file = file.as_ref()?;
    let parsed = match file.read(buffer) {
        Ok(text) => parse(text, &file.name).map_err(|error| error.to_string()),
        Err(error) => Err(error.to_string()),
    };
    parsed.map_err(|reason| failures.push(SourceFailure { name: file.name.clone(), reason })).ok()
}
